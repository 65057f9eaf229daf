//! Whether the switch stays whole under everything at once, for long: traffic, links that go down
//! and come back, thresholds that change, storms of broadcasts, MTUs that change, and clients that
//! ask.
//!
//! At the end of each minute everything pauses, and what the kernels on both sides counted is
//! compared with what the switch counted: every frame has arrived, or some counter says why not.

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

/// What happened in a minute, and whether it adds up.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Minute {
    /// Which, from one on.
    pub number: u32,
    /// Frames that the hosts' kernels sent, since the beginning.
    pub offered: u64,
    /// Frames that left the switch, since the beginning.
    pub forwarded: u64,
    /// Frames that it dropped, whatever the reason, since the beginning.
    pub dropped: u64,
    /// Frames that the kernel had no room for in the ring, since the beginning.
    pub missed: u64,
    /// What was done to it in this minute.
    pub chaos: Chaos,
    /// Frames that appeared in the switch less those that disappeared: zero.
    pub imbalance: i128,
    /// Frames that hosts sent, that did not come in, and that no counter has: zero.
    pub lost_before: i64,
    /// Frames that the switch sent, that did not arrive, and that no counter has: zero.
    pub lost_behind: i64,
    /// Memory of the process, in KiB.
    pub memory: u64,
}

/// How often something was done.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Chaos {
    /// A link went down and came back.
    pub flaps: u64,
    /// The marking changed.
    pub reloads: u64,
    /// A burst of broadcasts.
    pub storms: u64,
    /// The MTU of an interface changed and changed back.
    pub mtu_changes: u64,
    /// Somebody asked for counters, and got them.
    pub scrapes: u64,
    /// Somebody asked and got nothing.
    pub failed_scrapes: u64,
}

impl Minute {
    /// What the switch knows of.
    const fn seen(&self) -> u64 {
        self.forwarded + self.dropped + self.missed
    }

    /// Whether all frames are accounted for and all who asked got an answer.
    pub const fn is_whole(&self) -> bool {
        self.imbalance == 0
            && self.lost_before == 0
            && self.lost_behind == 0
            && self.chaos.failed_scrapes == 0
    }
}

/// The length of a minute.
const MINUTE: Span = Span::from_secs(60);

/// How long nothing may move before all is counted, and how often that is tried.
const PAUSE: Span = Span::from_ms(500);
const MOST_PAUSES: u32 = 20;

/// What the hosts send to each other all the time, in each direction.
const LOAD: Rate = Rate::from_bps(200_000_000).expect("above zero");

/// The speed of the wires: twice what a host sends, which storms exceed.
const WIRE: Rate = Rate::from_bps(400_000_000).expect("above zero");

/// Frames of a storm.
const STORM: usize = 20_000;

/// Does everything at once for so long, or until `stop` is set, and hands every minute to `report`.
/// Needs `CAP_SYS_ADMIN` and `CAP_NET_ADMIN`.
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

/// Ends all threads, however this one ends.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the threads know of each other.
#[derive(Default)]
struct Stage {
    is_over: AtomicBool,
    /// Whether the switch is open.
    is_open: AtomicBool,
    is_running: AtomicBool,
    /// How often the marking should have changed.
    reloads: AtomicU64,
    /// How many storms there should have been.
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
        // If it may not be, the ring overflows more often, which is counted.
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

/// One scheme after the other.
fn marking(number: u64) -> mark::Config {
    let names = ["tcn", "codel", "queue-red", "drop-tail"];
    let name = names[(number % names.len() as u64) as usize];
    mark::Config::named(name).unwrap_or_else(|| Config::new().marking)
}

/// Sends to the other host at a steady rate, and storms when there should be one.
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
            // What comes from the other side is read, so that its ring does not fill.
            while sender.receive(now, BURST, |_| {}) > 0 {}
        }
        let wanted = stage.storms.load(Ordering::Relaxed);
        if wanted != storms {
            storms = wanted;
            for _ in 0..STORM / BURST {
                let _ = sender.send(&[broadcast.as_slice(); BURST]);
            }
        }
        // A link that is down takes nothing.
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
    // Whatever the kernels said to each other before.
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

/// Does one bad thing.
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
            // At the host: what is still in flight to the switch arrives, as on a cable.
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
            // Below 1280 the kernel would begin with IPv6 anew, and send packets of its own.
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

/// What the kernels counted of some interfaces.
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

/// Compares what the switch counted with what the kernels did since the beginning.
struct Ledger<'a> {
    row: &'a Row,
    stage: &'a Stage,
    before: [Kernel; 2],
}

impl Ledger<'_> {
    /// Waits until nothing moves any more, and takes stock.
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
            // What the kernel drops here it reports, at least Linux 6.18, and then it was not
            // forwarded.
            lost_behind: forwarded.cast_signed() - arrived.cast_signed(),
            memory: memory(),
        })
    }
}

/// What is missing of what was sent: neither came nor was dropped by the kernel, which may have
/// told the sender. Below zero if more came than was sent.
const fn lost(sent: u64, came: u64, dropped: u64) -> i64 {
    match sent.checked_sub(came) {
        Some(missing) => missing.saturating_sub(dropped).cast_signed(),
        None => sent.cast_signed() - came.cast_signed(),
    }
}

/// An interface in the form of `/proc/net/dev`.
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

/// The resident memory of this process, in KiB; zero where it cannot be read.
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
    fn what_the_kernel_dropped_is_not_lost() {
        assert_eq!([lost(10, 10, 3), lost(10, 8, 3), lost(10, 5, 3)], [0, 0, 2]);
        assert_eq!(lost(10, 11, 3), -1);
    }

    #[test]
    fn a_minute_is_whole_if_nothing_is_lost() {
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
