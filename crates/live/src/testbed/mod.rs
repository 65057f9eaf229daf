//! Hosts and a switch on one machine: each host a network namespace with the kernel's own TCP,
//! joined to the switch by a veth pair.
//!
//! [`Bed`] makes the namespaces, [`run()`] sends a [`Plan`] through them and reports what came of
//! it. What is made without names goes away with the process, however it ends.

mod bed;
mod connections;
mod drive;
mod note;
mod ping;
mod plan;
mod progress;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use tidegate_dataplane::observe::Window;
use tidegate_units::{Span, Time};

use crate::clock::Clock;
use crate::config::Config;
use crate::counters::Counters;
use crate::error::Error;
use crate::machine::ProcessorTime;
use crate::namespace::Namespace;
use crate::run::{Live, drop_privileges, raise_priority};
use crate::switch::ObservedPort;

pub use bed::{Bed, PREFIX, available, remove_leftovers};
pub use note::Note;
pub use plan::{Flow, FlowResult, Opening, Ping, Plan, Stop, Tcp};
pub use progress::{Progress, Sampling};

/// What came of a plan.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// By flow.
    pub flows: Vec<FlowResult>,
    /// What chosen flows received over time, if that was asked for.
    pub progress: Option<Progress>,
    /// By series: when each answer came, and how long after its question.
    pub pings: Vec<Vec<(Time, Span)>>,
    /// What was seen of each port in the plan's window.
    pub ports: Vec<ObservedPort>,
    /// What the switch did in all.
    pub counters: Counters,
    /// What the kernels of the hosts counted in all.
    pub kernels: Kernels,
    /// The part of a thousand of the processors' time that a hypervisor gave to others.
    pub stolen: u32,
    /// When it ended.
    pub ended_at: Time,
    /// Why.
    pub end: End,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All flows that can end have ended, or as many as were asked for.
    Finished,
    /// Somebody asked for it.
    Interrupted,
    /// Flows wait, but nothing moves.
    Stalled,
    /// The time that was set for it is over.
    TimeUp,
}

/// What the kernels of all hosts counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernels {
    /// Packets that came with a mark.
    pub marked: u64,
    /// Packets with a wrong checksum.
    pub damaged: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Times that a retransmission timer ran out.
    pub timeouts: u64,
}

/// Sends a plan through a bed with a switch of this configuration, until it ends or `interrupt` is
/// set. The ports of the configuration are the bed's hosts in order; their interfaces are set here.
pub fn run(
    bed: &Bed,
    config: &Config,
    plan: &Plan,
    interrupt: &AtomicBool,
) -> Result<Outcome, Error> {
    plan.check(bed.hosts().len())?;
    bed.prepare(&plan.tcp)?;
    let config = on_bed(config);
    let before = kernels(bed)?;
    let time = ProcessorTime::now();
    let clock = Clock::start();
    // A handshake that begins before the switch is open is lost, and repeated a second later.
    let mut live = bed.switch().run(|| Live::open_with(&config, clock))??;
    let start = clock.now() + LEAD + LEAD_OF_HOST * bed.hosts().len() as u64;
    live.observe(Window {
        from: start + (plan.window.from - Time::ZERO),
        to: start + (plan.window.to - Time::ZERO),
    });
    let stop = AtomicBool::new(false);
    let has_stopped = AtomicBool::new(false);
    let ended_at = AtomicU64::new(u64::MAX);
    thread::scope(|scope| {
        let (stopping, stopped) = (Flag(&stop), Flag(&has_stopped));
        let switch = scope.spawn(|| {
            let _stopped = stopped;
            forward(live, &stop, &ended_at)
        });
        let traffic = scope.spawn(|| {
            let _stopping = stopping;
            let _ = raise_priority();
            let driven = drive::drive(bed, plan, clock, start, &mut || {
                interrupt.load(Ordering::Relaxed) || has_stopped.load(Ordering::Relaxed)
            });
            ended_at.store(clock.now().as_ps(), Ordering::Relaxed);
            driven
        });
        let driven = join(traffic);
        // A switch that failed is why the traffic failed.
        let (ports, counters) = join(switch)?;
        let driven = driven?;
        Ok(Outcome {
            flows: driven.flows,
            progress: driven.progress,
            pings: driven.pings,
            ports,
            counters,
            kernels: kernels(bed)?.since(before),
            stolen: ProcessorTime::now().stolen_since(time),
            ended_at: driven.ended_at,
            end: driven.end,
        })
    })
}

/// Opens the switch of a bed with names, for programs of others in its hosts. Moves this thread
/// into the namespace of the switch, for good.
pub fn switch(config: &Config) -> Result<Live, Error> {
    Namespace::open(&bed::switch_name())?.enter()?;
    Live::open(&on_bed(config))
}

/// The switch with the interfaces of a bed.
fn on_bed(config: &Config) -> Config {
    let mut config = config.clone();
    for (port, number) in config.ports.iter_mut().zip(0..) {
        port.interface = bed::port_name(number);
    }
    config
}

/// How long after the switch the plan begins: listeners and first connections are ready by then.
const LEAD: Span = Span::from_ms(300);

/// The same for each host.
const LEAD_OF_HOST: Span = Span::from_ms(10);

/// The switch, until it is to stop.
fn forward(
    mut live: Live,
    stop: &AtomicBool,
    ended_at: &AtomicU64,
) -> Result<(Vec<ObservedPort>, Counters), Error> {
    // Without it the results show what else the machine does; their lateness shows it.
    let _ = raise_priority();
    drop_privileges()?;
    live.run_until(stop)?;
    // What came after the traffic ended is not part of it.
    let end = Time::from_ps(ended_at.load(Ordering::Relaxed));
    Ok((live.observed(end), live.counters()))
}

/// What opening a connection is called in errors.
const PLACE: &str = "open a connection";

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Becomes true with the end of a thread, however it ends.
struct Flag<'a>(&'a AtomicBool);

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn kernels(bed: &Bed) -> Result<Kernels, Error> {
    let mut sum = Kernels::default();
    for host in bed.hosts() {
        let count = |group, name| Ok::<_, Error>(host.counter(group, name)?.unwrap_or(0));
        sum.marked += count("IpExt", "InCEPkts")?;
        sum.damaged += count("Tcp", "InCsumErrors")? + count("IpExt", "InCsumErrors")?;
        sum.retransmissions += count("Tcp", "RetransSegs")?;
        sum.timeouts += count("TcpExt", "TCPTimeouts")?;
    }
    Ok(sum)
}

impl Kernels {
    const fn since(self, before: Self) -> Self {
        Self {
            marked: self.marked - before.marked,
            damaged: self.damaged - before.damaged,
            retransmissions: self.retransmissions - before.retransmissions,
            timeouts: self.timeouts - before.timeouts,
        }
    }
}
