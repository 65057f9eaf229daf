//! Counters of a port, as the programs keep them.

use std::collections::BTreeMap;

use serde::Serialize;
use tidegate_dataplane::Rule;
use tidegate_live::counters::{Amount, Quantiles};

use crate::setup::QUEUES;

/// Reasons for a drop, in the order of the C enum.
const DROPS: [&str; 5] = ["port-full", "pool-full", "not-capable", "no-memory", "link-down"];

/// Counters of a port at one moment. A packet of the kernel may have many segments.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counters {
    /// Time at which the port was loaded, in nanoseconds of the kernel's clock.
    pub started_ns: u64,
    /// Packets that came to the port.
    pub received: Amount,
    /// Packets that went out.
    pub sent: Amount,
    /// Decisions to mark, by rule; only rules that occurred.
    pub marks: BTreeMap<&'static str, u64>,
    /// Packets that got CE.
    pub marked: u64,
    /// Packets that should have got CE, and could not.
    pub unmarked: u64,
    /// Packets dropped, by reason; only reasons that occurred.
    pub drops: BTreeMap<&'static str, u64>,
    /// Time in which packets waited and the wire was idle, beyond the time caught up, in
    /// nanoseconds.
    pub lost_ns: u64,
    /// Counters by queue.
    pub queues: Vec<QueueCounters>,
}

/// Counters of a queue at one moment. Bytes are as the scheme counts them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueCounters {
    /// Packets admitted.
    pub enqueued: Amount,
    /// Packets that left.
    pub dequeued: Amount,
    /// Sojourn times of packets.
    pub sojourn: Quantiles,
}

/// Size of `struct tg_counters`.
pub(crate) const BYTES: usize =
    8 * (1 + 4 + (Rule::ALL.len() + 1) + 2 + DROPS.len() + 1 + 5 * QUEUES);

/// Steps of the histogram: below this it is exact, and above within one part of it.
const FINE: u64 = 128;

impl Counters {
    /// Reads the programs' counters and, for each queue, its histogram of sojourn times.
    pub fn read(bytes: &[u8], times: &[Vec<u8>]) -> Option<Self> {
        let mut words = words(bytes.get(..BYTES)?);
        let mut next = || words.next().unwrap_or_default();
        let amount = |next: &mut dyn FnMut() -> u64| Amount { packets: next(), bytes: next() };
        let started_ns = next();
        let received = amount(&mut next);
        let sent = amount(&mut next);
        // The first is no rule.
        next();
        let marks = Rule::ALL.map(|rule| (rule.name(), next()));
        let (marked, unmarked) = (next(), next());
        let drops = DROPS.map(|reason| (reason, next()));
        let lost_ns = next();
        let queues = times.iter().map(|times| {
            let (enqueued, dequeued) = (amount(&mut next), amount(&mut next));
            QueueCounters { enqueued, dequeued, sojourn: quantiles(times, next()) }
        });
        let queues = queues.collect();
        let occurred = |(_, count): &(&'static str, u64)| *count > 0;
        Some(Self {
            started_ns,
            received,
            sent,
            marks: marks.into_iter().filter(occurred).collect(),
            marked,
            unmarked,
            drops: drops.into_iter().filter(occurred).collect(),
            lost_ns,
            queues,
        })
    }

    /// Packets that wait.
    pub fn held(&self) -> u64 {
        let sum = |of: fn(&QueueCounters) -> u64| self.queues.iter().map(of).sum::<u64>();
        let gone = sum(|queue| queue.dequeued.packets);
        let lost = self.drops.get("link-down").copied().unwrap_or(0);
        sum(|queue| queue.enqueued.packets).saturating_sub(gone + lost)
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
}

/// Longest time of a class of the histogram.
const fn longest(class: u64) -> u64 {
    if class < 2 * FINE {
        return class;
    }
    let shift = class / FINE - 1;
    ((class % FINE + FINE + 1) << shift) - 1
}

/// Quantiles of a histogram whose longest time is known.
fn quantiles(bytes: &[u8], max_ns: u64) -> Quantiles {
    let counts: Vec<u64> = words(bytes).collect();
    let count: u64 = counts.iter().sum();
    let at = |part: u128, whole: u128| {
        // At most `count`.
        let rank = (u128::from(count) * part).div_ceil(whole) as u64;
        let mut seen = 0;
        let class = counts.iter().position(|&more| {
            seen += more;
            seen >= rank.max(1)
        });
        class.map_or(0, |class| longest(class as u64).min(max_ns))
    };
    Quantiles { count, p50_ns: at(1, 2), p99_ns: at(99, 100), p999_ns: at(999, 1_000), max_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Classes of a queue's times.
    const TIMES: usize = 28 * FINE as usize;

    /// Class of a time, as in `bpf/counters.h`.
    fn class(nanoseconds: u64) -> u64 {
        if nanoseconds < FINE {
            return nanoseconds;
        }
        let shift = u64::from(nanoseconds.ilog2()) - 7;
        (shift << 7) + (nanoseconds >> shift)
    }

    #[test]
    fn a_class_ends_less_than_one_percent_above_its_times() {
        for exponent in 0..34 {
            for time in [1_u64 << exponent, (1 << exponent) + 1, (2 << exponent) - 1, 3 << exponent]
            {
                let time = time.min((1 << 34) - 1);
                let end = longest(class(time));
                assert!(end >= time && end - time <= time / 127, "{time} {end}");
                assert_eq!(class(end), class(time), "{time}");
                assert_ne!(class(end + 1), class(time), "{time}");
                assert!(class(time) < TIMES as u64, "{time}");
            }
        }
    }

    #[test]
    fn counters_are_read_in_the_order_of_the_programs() {
        // Each word is its own number.
        let bytes: Vec<u8> = (0..(BYTES / 8) as u64).flat_map(u64::to_ne_bytes).collect();
        let mut times = vec![0; 8 * TIMES];
        times[8 * 200] = 9;
        let counters = Counters::read(&bytes, &[times, vec![0; 8 * TIMES]]).unwrap();
        assert_eq!(counters.started_ns, 0);
        assert_eq!(counters.sent, Amount { packets: 3, bytes: 4 });
        assert_eq!(counters.marks["queue-length"], 6);
        assert_eq!(counters.marks["flow-share"], 11);
        assert_eq!((counters.marked, counters.unmarked), (12, 13));
        assert_eq!(counters.drops["port-full"], 14);
        assert_eq!(counters.drops["link-down"], 18);
        assert_eq!(counters.lost_ns, 19);
        let [first, second] = &counters.queues[..] else { panic!("two queues") };
        assert_eq!(first.enqueued, Amount { packets: 20, bytes: 21 });
        assert_eq!(first.sojourn.count, 9);
        // Not above the longest time.
        assert_eq!((first.sojourn.p50_ns, first.sojourn.max_ns), (24, 24));
        assert_eq!(second.dequeued, Amount { packets: 27, bytes: 28 });
        assert_eq!(second.sojourn.count, 0);
        assert_eq!(Counters::read(&bytes[1..], &[]), None);
    }
}
