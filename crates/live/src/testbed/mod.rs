//! Hosts and a switch on one machine: each host is a network namespace with the kernel's own TCP,
//! connected to the switch by a veth pair.
//!
//! [`Bed`] creates the namespaces; [`run()`] sends a [`Plan`] through them and reports the results.
//! Objects without names disappear with the process, however it ends.

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

/// Results of a plan.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Results by flow.
    pub flows: Vec<FlowResult>,
    /// Bytes received by selected flows over time, if requested.
    pub progress: Option<Progress>,
    /// By series: arrival time and round-trip time of each answer.
    pub pings: Vec<Vec<(Time, Span)>>,
    /// Observations of each port in the plan's window.
    pub ports: Vec<ObservedPort>,
    /// Total counters of the switch.
    pub counters: Counters,
    /// Total counters of the hosts' kernels.
    pub kernels: Kernels,
    /// Steal time: thousandths of processor time that a hypervisor gave to others.
    pub stolen: u32,
    /// Time at which the run ended.
    pub ended_at: Time,
    /// Reason for the end.
    pub end: End,
}

/// Reason why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All flows that can end have ended, or the requested number has.
    Finished,
    /// The caller interrupted the run.
    Interrupted,
    /// Flows wait, but nothing moves.
    Stalled,
    /// The time limit was reached.
    TimeUp,
}

/// Counters of all hosts' kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernels {
    /// Packets that arrived marked.
    pub marked: u64,
    /// Packets with a wrong checksum.
    pub damaged: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Expirations of retransmission timers.
    pub timeouts: u64,
}

/// Sends a plan through a bed with a switch of this configuration, until it ends or `interrupt` is
/// set. The configuration's ports are the bed's hosts in order; their interfaces are set here.
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
    // A handshake that starts before the switch is open is lost, and retried a second later.
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
        // A failed switch is the cause of failed traffic.
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

/// Opens the switch of a named bed, for other programs in its hosts. Moves this thread into the
/// switch's namespace permanently.
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

/// Time from the switch's start to the plan's: listeners and first connections are ready by then.
const LEAD: Span = Span::from_ms(300);

/// Additional time for each host.
const LEAD_OF_HOST: Span = Span::from_ms(10);

/// Runs the switch until it is stopped.
fn forward(
    mut live: Live,
    stop: &AtomicBool,
    ended_at: &AtomicU64,
) -> Result<(Vec<ObservedPort>, Counters), Error> {
    // Without priority the results include other processes; the lateness shows it.
    let _ = raise_priority();
    drop_privileges()?;
    live.run_until(stop)?;
    // Packets after the end of the traffic are not part of it.
    let end = Time::from_ps(ended_at.load(Ordering::Relaxed));
    Ok((live.observed(end), live.counters()))
}

/// Name of the action in errors.
const PLACE: &str = "open a connection";

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A flag that becomes true when a thread ends for any reason.
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
