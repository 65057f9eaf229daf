//! Counters of a switch, by port and queue.
//!
//! Over all ports, frames that came in, plus frames added by flooding and probes, equal frames that
//! went out, were dropped, were filtered or are held: [`Counters::imbalance`].

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;
use tidegate_units::Span;

/// Counters of a switch at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counters {
    /// Time since the switch was created, in nanoseconds.
    pub uptime_ns: u64,
    /// Counters by port.
    pub ports: Vec<PortCounters>,
    /// Stations seen within the ageing time.
    pub stations: u64,
    /// Stations that lost their entry in the table to another: frames for them are flooded until
    /// they send again.
    pub evicted: u64,
    /// Stations seen at a different port than before: a few moves are normal, many indicate a loop.
    pub moved: u64,
}

/// Counters of a port at one moment. Received frames count at the port where they came in, all
/// others at the port where they went.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PortCounters {
    /// Name of the interface.
    pub interface: String,
    /// Whether frames can leave.
    pub is_up: bool,
    /// Whether the port is blocked because of a loop.
    pub is_blocked: bool,
    /// Whether a probe sent by this port came back recently, or another probe came back here.
    pub is_looping: bool,
    /// Time for which the interface has accepted no frame although some are due, in nanoseconds:
    /// zero as soon as it accepts one.
    pub stalled_ns: u64,
    /// Stations at this port.
    pub stations: u64,
    /// Frames received.
    pub received: Amount,
    /// Frames sent.
    pub sent: Amount,
    /// Probes of the switch that detect loops, included in the sent frames.
    pub probes: u64,
    /// Probes that came back here: there is a loop.
    pub loops: u64,
    /// Frames sent with a mark from this switch.
    pub marked: u64,
    /// Marks by rule; only rules that occurred.
    pub marks: BTreeMap<&'static str, u64>,
    /// Copies of frames received here, made because their station was unknown.
    pub flooded: u64,
    /// Frames received here that need no forwarding: for a station at this port, or for the switch
    /// itself.
    pub filtered: u64,
    /// Frames dropped, by reason; only reasons that occurred.
    pub drops: BTreeMap<&'static str, u64>,
    /// Frames that the kernel could not hand over, which are in no other counter.
    pub missed: u64,
    /// Frames whose sender left the checksum to its hardware: offloading should be off.
    pub unfinished: u64,
    /// Unfinished frames whose checksum was computed here.
    pub finished: u64,
    /// Frames waiting, including frames handed to the kernel.
    pub held: u64,
    /// Time in which packets waited and the wire was idle, beyond the time caught up, in
    /// nanoseconds.
    pub lost_ns: u64,
    /// Lateness of packets leaving the port.
    pub lateness: Quantiles,
    /// Counters by queue.
    pub queues: Vec<QueueCounters>,
}

/// Counters of a queue at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueCounters {
    /// Packets admitted.
    pub enqueued: Amount,
    /// Packets that left.
    pub dequeued: Amount,
    /// Packets waiting.
    pub held: Amount,
    /// Sojourn times of packets.
    pub sojourn: Quantiles,
}

/// Frames and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Frames.
    pub packets: u64,
    /// Bytes: of the frame at input and output, as defined by [`Count`](crate::config::Count) in
    /// queues.
    pub bytes: u64,
}

impl Amount {
    #[inline]
    pub(crate) fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// Quantiles of times in nanoseconds, each at most 1 % too high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// Number of times.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

impl Counters {
    /// Frames that appeared minus frames that disappeared; nonzero is an error.
    pub fn imbalance(&self) -> i128 {
        let sum = |of: fn(&PortCounters) -> u64| self.ports.iter().map(|p| i128::from(of(p))).sum();
        let inward: i128 = sum(|port| port.received.packets + port.flooded + port.probes);
        let outward: i128 =
            sum(|port| port.sent.packets + port.dropped() + port.filtered + port.held);
        inward - outward
    }
}

impl PortCounters {
    /// Frames dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.drops.values().sum()
    }
}

/// Reason for which the switch itself lost a frame; a port has
/// [reasons](tidegate_dataplane::DropReason) of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Loss {
    /// The frame arrived at a port that is blocked because of a loop.
    Blocked,
    /// More broadcasts than the port accepts.
    BroadcastStorm,
    /// The link of the egress port is down.
    LinkDown,
    /// In a loop: more circulating frames than a port accepts, or a frame that came back.
    LoopStorm,
    /// More multicasts than the port accepts.
    MulticastStorm,
    /// The interface, or the device behind it, had no room for it after all attempts.
    NoBuffer,
    /// All slots for frames that its port may use are taken.
    NoMemory,
    /// The frame is longer than a slot.
    Oversized,
    /// The device will never accept it.
    Refused,
    /// The frame is too short for addresses and a type.
    Runt,
    /// The interface has accepted nothing for so long that the frame was given up.
    Stalled,
    /// The frame came from a station beyond the port's limit.
    StationLimit,
    /// More frames to unknown stations than the port accepts.
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

/// Pace of a port since the last call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// Frames sent since the switch was created.
    pub(crate) sent: u64,
    /// Wire time lost since the switch was created.
    pub(crate) lost: Span,
    /// Lateness of packets.
    pub(crate) lateness: Quantiles,
}

/// A histogram of times that does not allocate.
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

    /// Returns the quantiles so far and restarts the count.
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
        // One pass for all three quantiles: a switch forwards nothing while it reads its counters.
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
    fn quantiles_are_within_one_percent() {
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
