//! Soak test: everything at once for a long time. Traffic, links that go down and come back,
//! changing thresholds, broadcast storms, changing MTUs, and clients of the endpoint.
//!
//! At the end of each minute everything pauses, and the counts of the kernels on both sides are
//! compared with the switch's: every frame has arrived, or a counter says why not.

use std::fs;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use serde::Serialize;
use tidegate_dataplane::mark;
use tidegate_units::{Rate, Rng, Span, Time};

use super::{BURST, Row, frame, port};
use crate::clock::Clock;
use crate::config::{Config, Options};
use crate::counters::{Counters, PortCounters};
use crate::device::Device;
use crate::device::packet_socket::PacketSocket;
use crate::endpoint::{Endpoint, fetch};
use crate::error::Error;
use crate::namespace::Namespace;
use crate::run::Live;
use crate::sys::process;

/// Events of a minute, and the balance of its frames.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Minute {
    /// Number of the minute, from one.
    pub number: u32,
    /// Frames sent by the hosts' kernels, since the start.
    pub offered: u64,
    /// Frames that left the switch, since the start.
    pub forwarded: u64,
    /// Frames that the switch dropped for any reason, since the start.
    pub dropped: u64,
    /// Frames for which the kernel had no room in the ring, since the start.
    pub missed: u64,
    /// Disturbances in this minute.
    pub chaos: Chaos,
    /// Frames that appeared in the switch minus frames that disappeared: zero.
    pub imbalance: i128,
    /// Frames that hosts sent, that did not arrive at the switch, and that no counter has: zero.
    pub lost_before: i64,
    /// Frames that the switch sent, that did not arrive, and that no counter has: zero.
    pub lost_behind: i64,
    /// Memory of the process, in KiB.
    pub memory: u64,
}

/// Number of disturbances of each kind.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Chaos {
    /// Links that went down and came back.
    pub flaps: u64,
    /// Changes of the marking.
    pub reloads: u64,
    /// Bursts of broadcasts.
    pub storms: u64,
    /// Changes of an interface's MTU, and back.
    pub mtu_changes: u64,
    /// Requests for counters that were answered.
    pub scrapes: u64,
    /// Requests for counters without an answer.
    pub failed_scrapes: u64,
}

impl Minute {
    /// Frames that the switch has seen.
    const fn seen(&self) -> u64 {
        self.forwarded + self.dropped + self.missed
    }

    /// Whether all frames are accounted for and all requests were answered.
    pub const fn is_whole(&self) -> bool {
        self.imbalance == 0
            && self.lost_before == 0
            && self.lost_behind == 0
            && self.chaos.failed_scrapes == 0
    }
}

/// The length of a minute.
const MINUTE: Span = Span::from_secs(60);

/// Time without any movement before frames are counted, and number of attempts.
const PAUSE: Span = Span::from_ms(500);
const MOST_PAUSES: u32 = 20;

/// Continuous traffic between the hosts, in each direction.
const LOAD: Rate = Rate::from_bps(200_000_000).expect("above zero");

/// Rate of the wires: twice a host's traffic, which storms exceed.
const WIRE: Rate = Rate::from_bps(400_000_000).expect("above zero");

/// Frames of a storm.
const STORM: usize = 20_000;

/// Runs all disturbances for this time, or until `stop` is set, and passes every minute to
/// `report`. Needs `CAP_SYS_ADMIN` and `CAP_NET_ADMIN`.
pub fn soak(
    span: Span,
    stop: &AtomicBool,
    mut report: impl FnMut(&Minute),
) -> Result<Vec<Minute>, Error> {
    let row = Row::new()?;
    let endpoint = Endpoint::listen(SocketAddr::from(([127, 0, 0, 1], 0)), &[])?;
    let stage = Stage::default();
    thread::scope(|scope| {
        let over = Over(&stage.is_over);
        let switch = scope.spawn(|| run_switch(&row, &endpoint, &stage));
        for (namespace, from) in [(&row.left, 0), (&row.right, 1)] {
            let stage = &stage;
            scope.spawn(move || namespace.run(|| send(from, stage)));
        }
        let minutes = carry_on(&row, span, stop, endpoint.address(), &stage, &mut report);
        drop(over);
        switch.join().expect("the switch does not panic")?;
        minutes
    })
}

/// Ends all threads when this thread ends for any reason.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// State shared by the threads.
#[derive(Default)]
struct Stage {
    is_over: AtomicBool,
    /// Whether the switch is open.
    is_open: AtomicBool,
    is_running: AtomicBool,
    /// Number of marking changes requested.
    reloads: AtomicU64,
    /// Number of storms requested.
    storms: AtomicU64,
    counters: Mutex<Counters>,
}

impl Stage {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

fn run_switch(row: &Row, endpoint: &Endpoint, stage: &Stage) -> Result<(), Error> {
    let mut config = Config::new();
    config.ports = ["left", "right"].map(|name| port(name, WIRE)).into();
    row.middle.run(|| {
        let mut live = Live::open(&config)?;
        // Without priority the ring overflows more often, which is counted.
        let _ = process::raise_priority();
        crate::drop_privileges()?;
        let mut reloads = 0;
        live.run(|live| {
            if stage.is_over() {
                return ControlFlow::Break(());
            }
            endpoint.serve(|| live.counters());
            let wanted = stage.reloads.load(Ordering::Relaxed);
            if wanted != reloads {
                reloads = wanted;
                let changed = live.set_marking(&marking(wanted));
                debug_assert!(changed.is_ok(), "the schemes work with these ports");
            }
            stage.is_open.store(true, Ordering::Relaxed);
            if !stage.is_running.load(Ordering::Relaxed)
                && let Ok(mut counters) = stage.counters.lock()
            {
                *counters = live.counters();
            }
            ControlFlow::Continue(())
        })
    })?
}

/// The schemes, one after the other.
fn marking(number: u64) -> mark::Config {
    let names = ["tcn", "codel", "queue-red", "drop-tail"];
    let name = names[(number % names.len() as u64) as usize];
    mark::Config::named(name).unwrap_or_else(|| Config::new().marking)
}

/// Sends to the other host at a steady rate, and storms on request.
fn send(from: u8, stage: &Stage) -> Result<(), Error> {
    let clock = Clock::start();
    let mut sender = PacketSocket::open("host", &Options::default(), clock)?;
    let mut steady = frame(1514);
    steady[5] = 2 - from;
    steady[11] = 1 + from;
    let mut broadcast = frame(60);
    broadcast[..6].fill(0xFF);
    broadcast[11] = 1 + from;
    let pause = tidegate_units::ByteTime::new(LOAD).span(BURST as u32 * 1538);
    let (mut due, mut storms, mut looked_at) = (Time::ZERO, 0, Time::ZERO);
    while !stage.is_over() {
        let now = clock.now();
        if now - looked_at > Span::from_ms(50) {
            looked_at = now;
            sender.maintain();
            // Frames from the other side are read, so that their ring does not fill.
            while sender.receive(now, BURST, |_| {}) > 0 {}
        }
        let wanted = stage.storms.load(Ordering::Relaxed);
        if wanted != storms {
            storms = wanted;
            for _ in 0..STORM / BURST {
                let _ = sender.send(&[broadcast.as_slice(); BURST]);
            }
        }
        // A link that is down accepts nothing.
        if stage.is_running.load(Ordering::Relaxed) {
            let _ = sender.send(&[steady.as_slice(); BURST]);
        }
        due = due.max(now) + pause;
        clock.sleep_until(due);
    }
    Ok(())
}

fn carry_on(
    row: &Row,
    span: Span,
    stop: &AtomicBool,
    address: SocketAddr,
    stage: &Stage,
    report: &mut impl FnMut(&Minute),
) -> Result<Vec<Minute>, Error> {
    let clock = Clock::start();
    while !stage.is_open.load(Ordering::Relaxed) && !stage.is_over() {
        clock.sleep_until(clock.now() + Span::from_ms(10));
    }
    // Frames that the kernels exchanged before.
    let ledger = Ledger { row, stage, before: kernels(row)? };
    let mut rng = Rng::new(1, 0);
    let mut minutes = Vec::new();
    let end = Time::ZERO + span;
    while clock.now() < end && !stop.load(Ordering::Relaxed) {
        let until = end.min(clock.now() + MINUTE);
        let mut chaos = Chaos::default();
        stage.is_running.store(true, Ordering::Relaxed);
        while clock.now() + PAUSE < until && !stop.load(Ordering::Relaxed) {
            strike(row, rng.next_u32(), address, stage, &mut chaos)?;
            clock.sleep_until(clock.now() + Span::from_ms(200));
        }
        stage.is_running.store(false, Ordering::Relaxed);
        // 2^32 minutes are 8,000 years.
        let minute = ledger.settle(chaos, minutes.len() as u32 + 1, clock)?;
        report(&minute);
        minutes.push(minute);
    }
    Ok(minutes)
}

/// Causes a disturbance.
fn strike(
    row: &Row,
    draw: u32,
    address: SocketAddr,
    stage: &Stage,
    chaos: &mut Chaos,
) -> Result<(), Error> {
    let name = ["left", "right"][(draw >> 16) as usize % 2];
    match draw % 8 {
        0 | 1 => {
            // The host's side goes down: frames in flight to the switch still arrive, as on a
            // cable.
            let host = if name == "left" { &row.left } else { &row.right };
            host.ip("link set host down")?;
            host.ip("link set host up")?;
            chaos.flaps += 1;
        }
        2 | 3 => {
            stage.reloads.fetch_add(1, Ordering::Relaxed);
            chaos.reloads += 1;
        }
        4 => {
            stage.storms.fetch_add(1, Ordering::Relaxed);
            chaos.storms += 1;
        }
        5 => {
            // Below 1280 the kernel would restart IPv6, and send packets of its own.
            row.middle.ip(&format!("link set {name} mtu 1280"))?;
            row.middle.ip(&format!("link set {name} mtu 1500"))?;
            chaos.mtu_changes += 1;
        }
        _ => {
            if fetch(address).is_ok() {
                chaos.scrapes += 1;
            } else {
                chaos.failed_scrapes += 1;
            }
        }
    }
    Ok(())
}

/// Counts of the kernel for some interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kernel {
    receive_drops: u64,
    sent: u64,
}

impl std::ops::Add for Kernel {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            receive_drops: self.receive_drops + other.receive_drops,
            sent: self.sent + other.sent,
        }
    }
}

/// Both hosts, and both interfaces of the switch.
fn kernels(row: &Row) -> Result<[Kernel; 2], Error> {
    let read = |namespace: &Namespace, name: &str| {
        let text = namespace.run(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        let text = text.map_err(Error::system("read counters", "no capability"))?;
        Ok::<_, Error>(interface(&text, name))
    };
    let hosts = read(&row.left, "host")? + read(&row.right, "host")?;
    let ports = read(&row.middle, "left")? + read(&row.middle, "right")?;
    Ok([hosts, ports])
}

/// Compares the switch's counts with the kernels' since the start.
struct Ledger<'a> {
    row: &'a Row,
    stage: &'a Stage,
    before: [Kernel; 2],
}

impl Ledger<'_> {
    /// Waits until nothing moves any more, and compares the counts.
    fn settle(&self, chaos: Chaos, number: u32, clock: Clock) -> Result<Minute, Error> {
        let mut last = self.account(chaos, number)?;
        for _ in 0..MOST_PAUSES {
            clock.sleep_until(clock.now() + PAUSE);
            let next = self.account(chaos, number)?;
            let is_still = next.offered == last.offered && next.seen() == last.seen();
            last = next;
            if is_still {
                break;
            }
        }
        Ok(last)
    }

    fn account(&self, chaos: Chaos, number: u32) -> Result<Minute, Error> {
        let counters = self.stage.counters.lock();
        let counters = counters.map_or_else(|_| Counters::default(), |counters| counters.clone());
        let sum = |of: fn(&PortCounters) -> u64| counters.ports.iter().map(of).sum::<u64>();
        let [hosts, ports] = kernels(self.row)?;
        let [hosts_before, ports_before] = self.before;
        let offered = hosts.sent - hosts_before.sent;
        let missed = sum(|port| port.missed);
        let dropped_before = ports.receive_drops - ports_before.receive_drops;
        let came = sum(|port| port.received.packets) + missed;
        let forwarded = sum(|port| port.sent.packets);
        let arrived = ports.sent - ports_before.sent;
        Ok(Minute {
            number,
            offered,
            forwarded,
            dropped: sum(PortCounters::dropped),
            missed,
            chaos,
            imbalance: counters.imbalance(),
            lost_before: lost(offered, came, dropped_before),
            // From Linux 6.18 on, the kernel reports its drops here, and such a frame was not
            // forwarded.
            lost_behind: forwarded.cast_signed() - arrived.cast_signed(),
            memory: memory(),
        })
    }
}

/// Frames missing of those sent: neither arrived nor dropped by the kernel, which may have told the
/// sender. Negative if more arrived than were sent.
const fn lost(sent: u64, came: u64, dropped: u64) -> i64 {
    match sent.checked_sub(came) {
        Some(missing) => missing.saturating_sub(dropped).cast_signed(),
        None => sent.cast_signed() - came.cast_signed(),
    }
}

/// Counts of an interface, from text in the form of `/proc/net/dev`.
fn interface(text: &str, name: &str) -> Kernel {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let counts = lines.find(|(found, _)| found.trim() == name);
    let counts: Vec<u64> = counts.map_or_else(Vec::new, |(_, counts)| {
        let counts = counts.split_ascii_whitespace();
        counts.filter_map(|count| count.parse().ok()).collect()
    });
    let at = |place: usize| counts.get(place).copied().unwrap_or(0);
    Kernel { receive_drops: at(3), sent: at(9) }
}

/// Resident memory of this process, in KiB; zero if it cannot be read.
fn memory() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_read_from_its_line() {
        let text = "Inter-|   Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n \
                    left: 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160\n";
        let found = interface(text, "left");
        assert_eq!((found.receive_drops, found.sent), (40, 100));
        assert_eq!(interface(text, "right"), Kernel::default());
    }

    #[test]
    fn frames_dropped_by_the_kernel_are_not_lost() {
        assert_eq!([lost(10, 10, 3), lost(10, 8, 3), lost(10, 5, 3)], [0, 0, 2]);
        assert_eq!(lost(10, 11, 3), -1);
    }

    #[test]
    fn minute_is_complete_only_without_losses() {
        let whole = Minute::default();
        assert!(whole.is_whole() && memory() > 0);
        for broken in [
            Minute { imbalance: 1, ..whole.clone() },
            Minute { lost_before: 1, ..whole.clone() },
            Minute { lost_behind: -1, ..whole.clone() },
        ] {
            assert!(!broken.is_whole());
        }
    }
}
