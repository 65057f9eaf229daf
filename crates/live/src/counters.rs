//! What a switch has done, by port and queue.
//!
//! Of all ports together, what came in and what flooding and probes added is what went out, was
//! dropped, was filtered or is held: [`Counters::imbalance`].

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;
use tidegate_units::Span;

/// A switch at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counters {
    /// Since the switch was made, in nanoseconds.
    pub uptime_ns: u64,
    /// By port.
    pub ports: Vec<PortCounters>,
    /// Stations seen lately.
    pub stations: u64,
    /// Stations that gave up their place in the table to another: they are flooded for until they
    /// speak again.
    pub evicted: u64,
    /// Stations that were seen at another port than before: some move, many are a loop.
    pub moved: u64,
}

/// A port at a moment. What came in is counted where it came in, all else where it went.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PortCounters {
    /// The interface.
    pub interface: String,
    /// Whether frames can leave.
    pub is_up: bool,
    /// Whether the port is blocked because of a loop.
    pub is_blocked: bool,
    /// Whether a probe that this port sent came back lately, or another came back at it.
    pub is_looping: bool,
    /// For how long the interface has taken no frame though some should leave, in nanoseconds: zero
    /// as soon as it takes one.
    pub stalled_ns: u64,
    /// Stations at this port.
    pub stations: u64,
    /// Frames that came in.
    pub received: Amount,
    /// Frames that went out.
    pub sent: Amount,
    /// Frames of the switch's own among them, which find loops.
    pub probes: u64,
    /// Such frames that came back here: there is a loop.
    pub loops: u64,
    /// Frames that went out with a mark from this switch.
    pub marked: u64,
    /// Marks by the rule that asked for them; only rules that did.
    pub marks: BTreeMap<&'static str, u64>,
    /// Copies made of frames that came in here, because their station was not known.
    pub flooded: u64,
    /// Frames that came in here and belong nowhere else: for a station on this port, or for the
    /// switch itself.
    pub filtered: u64,
    /// Frames dropped, by reason; only reasons that occurred.
    pub drops: BTreeMap<&'static str, u64>,
    /// Frames that the kernel could not hand over, which are in no other counter.
    pub missed: u64,
    /// Frames whose sender left the checksum to its hardware: offloading should be off.
    pub unfinished: u64,
    /// Those of them whose checksum was computed here.
    pub finished: u64,
    /// Frames that wait, those handed to the kernel among them.
    pub held: u64,
    /// Time in which packets waited and the wire was idle, beyond what was caught up, in
    /// nanoseconds.
    pub lost_ns: u64,
    /// How late packets left the port.
    pub lateness: Quantiles,
    /// By queue.
    pub queues: Vec<QueueCounters>,
}

/// A queue at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueCounters {
    /// What was admitted.
    pub enqueued: Amount,
    /// What left.
    pub dequeued: Amount,
    /// What waits.
    pub held: Amount,
    /// How long packets waited.
    pub sojourn: Quantiles,
}

/// Frames and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Frames.
    pub packets: u64,
    /// Their bytes: of the frame where it came in and went out, as [`Count`](crate::config::Count)
    /// has it in queues.
    pub bytes: u64,
}

impl Amount {
    #[inline]
    pub(crate) fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// Some quantiles of times, in nanoseconds, each no more than 1 % too high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// How many there were.
    pub count: u64,
    /// Half are no longer.
    pub p50_ns: u64,
    /// All but 1 % are no longer.
    pub p99_ns: u64,
    /// All but 0.1 % are no longer.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Counters {
    /// Frames that appeared less those that disappeared: zero, or there is an error.
    pub fn imbalance(&self) -> i128 {
        let sum = |of: fn(&PortCounters) -> u64| self.ports.iter().map(|p| i128::from(of(p))).sum();
        let inward: i128 = sum(|port| port.received.packets + port.flooded + port.probes);
        let outward: i128 =
            sum(|port| port.sent.packets + port.dropped() + port.filtered + port.held);
        inward - outward
    }
}

impl PortCounters {
    /// Frames dropped, whatever the reason.
    pub fn dropped(&self) -> u64 {
        self.drops.values().sum()
    }
}

/// Why the switch itself lost a frame; a port has [reasons](tidegate_dataplane::DropReason) of its
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Loss {
    /// Came in at a port that is blocked because of a loop.
    Blocked,
    /// More broadcasts than the port may take.
    BroadcastStorm,
    /// The link of the port it should leave by is down.
    LinkDown,
    /// More frames that may go round than a port in a loop may take, or one that came back.
    LoopStorm,
    /// More multicasts than the port may take.
    MulticastStorm,
    /// The interface, or what is behind it, had no room for it, as often as it was tried.
    NoBuffer,
    /// All places for frames are taken that its port may have.
    NoMemory,
    /// Longer than a place for a frame.
    Oversized,
    /// The device will never take it.
    Refused,
    /// Too short for addresses and a type.
    Runt,
    /// The interface has taken nothing for so long that it was given up.
    Stalled,
    /// From one station more than the port may have.
    StationLimit,
    /// More frames to unknown stations than the port may take.
    UnknownStorm,
}

impl Loss {
    pub(crate) const ALL: [Self; 13] = [
        Self::Blocked,
        Self::BroadcastStorm,
        Self::LinkDown,
        Self::LoopStorm,
        Self::MulticastStorm,
        Self::NoBuffer,
        Self::NoMemory,
        Self::Oversized,
        Self::Refused,
        Self::Runt,
        Self::Stalled,
        Self::StationLimit,
        Self::UnknownStorm,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::BroadcastStorm => "broadcast-storm",
            Self::LinkDown => "link-down",
            Self::LoopStorm => "loop-storm",
            Self::MulticastStorm => "multicast-storm",
            Self::NoBuffer => "no-buffer",
            Self::NoMemory => "no-memory",
            Self::Oversized => "oversized",
            Self::Refused => "refused",
            Self::Runt => "runt",
            Self::Stalled => "stalled",
            Self::StationLimit => "station-limit",
            Self::UnknownStorm => "unknown-storm",
        }
    }
}

/// How a port has kept its pace since it was asked last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// Frames that went out, since the switch was made.
    pub(crate) sent: u64,
    /// Wire time lost, since the switch was made.
    pub(crate) lost: Span,
    /// How late packets left.
    pub(crate) lateness: Quantiles,
}

/// Times as they come, without allocation.
#[derive(Clone, Debug)]
pub(crate) struct Times(Histogram<u64>);

impl Times {
    pub(crate) fn new() -> Self {
        let made = Histogram::new_with_bounds(1, LONGEST.as_ns(), 2);
        Self(made.expect("two digits between one nanosecond and some seconds"))
    }

    #[inline]
    pub(crate) fn add(&mut self, time: Span) {
        self.0.saturating_record(time.as_ns());
    }

    /// The quantiles so far; what comes later is counted from here on.
    pub(crate) fn take(&mut self) -> Quantiles {
        let quantiles = self.quantiles();
        self.0.reset();
        quantiles
    }

    pub(crate) fn quantiles(&self) -> Quantiles {
        let count = self.0.len();
        if count == 0 {
            return Quantiles::default();
        }
        // One pass for all three: a switch that looks at its counters forwards nothing meanwhile.
        let ranks = [(1, 2), (99, 100), (999, 1_000)];
        let ranks = ranks.map(|(part, whole): (u128, u128)| {
            // At most `count`.
            (u128::from(count) * part).div_ceil(whole) as u64
        });
        let (mut seen, mut values) = (0, [0; 3]);
        for bucket in self.0.iter_recorded() {
            let before = seen;
            seen += bucket.count_since_last_iteration();
            for (value, &rank) in values.iter_mut().zip(&ranks) {
                if (before + 1..=seen).contains(&rank) {
                    *value = bucket.value_iterated_to();
                }
            }
        }
        Quantiles {
            count,
            p50_ns: values[0],
            p99_ns: values[1],
            p999_ns: values[2],
            max_ns: self.0.max(),
        }
    }
}

/// Longer times count as this long.
const LONGEST: Span = Span::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_one_per_cent() {
        let mut times = Times::new();
        assert_eq!(times.quantiles(), Quantiles::default());
        for us in 1..=1_000 {
            times.add(Span::from_us(us));
        }
        times.add(Span::from_secs(1_000));
        let found = times.quantiles();
        for (found, us) in [(found.p50_ns, 501), (found.p99_ns, 991), (found.p999_ns, 1_000)] {
            let exact = us * 1_000;
            assert!((exact..=exact + exact / 100).contains(&found), "{found} {exact}");
        }
        assert_eq!(found.count, 1_001);
        assert!(found.max_ns >= LONGEST.as_ns());
        assert_eq!(times.take(), found);
        times.add(Span::from_us(7));
        assert_eq!(times.take().count, 1, "the others were taken");
    }

    #[test]
    fn losses_are_in_counter_order() {
        let ordered = |(i, &loss): (usize, &Loss)| loss as usize == i;
        assert!(Loss::ALL.iter().enumerate().all(ordered));
    }
}
