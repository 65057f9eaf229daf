//! Pauses by class (IEEE 802.1Qbb): number and length of the pauses of each class of a link, and
//! links that wait for each other forever.

mod deadlock;

use tidegate_dataplane::sched::QueueSet;
use tidegate_units::{QueueId, Span, Time};

use crate::network::LinkId;
use crate::observe::statistics;

pub use deadlock::Deadlock;
pub(crate) use deadlock::{Hold, find};

/// Classes that can be paused independently: the priorities of IEEE 802.1Q.
pub const CLASSES: usize = 8;

/// A class of packets on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkClass {
    /// The link.
    pub link: LinkId,
    /// The class.
    pub class: u8,
}

/// Pauses of a class of a link in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassPauses {
    /// The class and its link.
    pub of: LinkClass,
    /// Pause frames that stopped the class.
    pub pauses: u32,
    /// Total time for which it was stopped.
    pub paused: Span,
    /// Longest time without a break for which it was stopped.
    pub longest: Span,
}

/// Clock that measures pauses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PauseClock {
    /// Total length of finished pauses.
    over: Span,
    /// Longest finished pause.
    longest: Span,
    /// Start of the current pause.
    since: Option<Time>,
}

impl PauseClock {
    /// Starts a pause, unless one is in progress.
    pub(crate) fn stop(&mut self, now: Time) {
        self.since = self.since.or(Some(now));
    }

    /// Ends the pause in progress, if any.
    pub(crate) fn resume(&mut self, now: Time) {
        self.over = self.paused(now);
        self.longest = self.longest(now);
        self.since = None;
    }

    /// Total length of pauses until `now`.
    pub(crate) fn paused(&self, now: Time) -> Span {
        self.over + self.present(now)
    }

    /// Longest pause until `now`.
    fn longest(&self, now: Time) -> Span {
        self.longest.max(self.present(now))
    }

    fn present(&self, now: Time) -> Span {
        self.since.map_or(Span::ZERO, |since| now - since)
    }
}

/// Pauses of one link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkPauses {
    /// Paused classes, one bit each.
    classes: u8,
    /// Clock of pauses of any class.
    any: PauseClock,
    clocks: [PauseClock; CLASSES],
    /// Pause frames for each class.
    received: [u32; CLASSES],
}

impl LinkPauses {
    /// Pauses or resumes a class. Returns whether the set of paused classes changed.
    pub(crate) fn change(&mut self, class: u8, is_paused: bool, now: Time) -> bool {
        let (before, index) = (self.classes, usize::from(class));
        if is_paused {
            self.classes |= 1 << class;
            self.received[index] += 1;
            self.clocks[index].stop(now);
            self.any.stop(now);
        } else {
            self.classes &= !(1 << class);
            self.clocks[index].resume(now);
            if self.classes == 0 {
                self.any.resume(now);
            }
        }
        self.classes != before
    }

    /// Pause frames for all classes.
    pub(crate) fn frames(&self) -> u32 {
        self.received.iter().sum()
    }

    /// Whether any class is paused.
    #[inline]
    pub(crate) const fn is_any_paused(&self) -> bool {
        self.classes != 0
    }

    /// Paused classes, each with the start of its pause.
    pub(crate) fn present(&self) -> impl Iterator<Item = (u8, Time)> {
        let all = (0..).zip(&self.clocks);
        all.filter_map(|(class, clock)| Some((class, clock.since?)))
    }

    /// Queues of a port that must be paused, if `classes` classes have queues of their own.
    pub(crate) fn queues(&self, classes: u16, last_queue: u8) -> QueueSet {
        let mut queues = QueueSet::default();
        for (class, _) in self.present() {
            for queue in queues_of(class, classes, last_queue) {
                queues.insert(queue);
            }
        }
        queues
    }

    /// Counters at `now`.
    pub(crate) fn counters(&self, now: Time) -> PauseCounters {
        PauseCounters {
            any: self.any.paused(now),
            classes: std::array::from_fn(|class| ClassCounters {
                pauses: u64::from(self.received[class]),
                paused: self.clocks[class].paused(now),
            }),
        }
    }

    /// Results of all classes that were paused until `now`.
    pub(crate) fn results(&self, link: LinkId, now: Time) -> impl Iterator<Item = ClassPauses> {
        let all = (0..).zip(self.clocks.iter().zip(self.received));
        let paused = all.filter(|(_, (_, received))| *received > 0);
        paused.map(move |(class, (clock, pauses))| ClassPauses {
            of: LinkClass { link, class },
            pauses,
            paused: clock.paused(now),
            longest: clock.longest(now),
        })
    }
}

/// Queues in which packets of a class wait. The last of `classes` also has all queues beyond it.
pub(crate) fn queues_of(class: u8, classes: u16, last_queue: u8) -> impl Iterator<Item = QueueId> {
    let first = class.min(last_queue);
    let last = if u16::from(class) + 1 == classes { last_queue } else { first };
    (first..=last).map(QueueId)
}

/// Number and length of a link's pauses at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PauseCounters {
    /// Time for which any class was paused.
    pub(crate) any: Span,
    pub(crate) classes: [ClassCounters; CLASSES],
}

/// Number and length of a class's pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Pause frames that stopped the class.
    pub pauses: u64,
    /// Time for which it was stopped.
    pub paused: Span,
}

impl ClassCounters {
    /// Fraction of a span in which it was stopped; zero for an empty span.
    pub fn share_of(&self, span: Span) -> f64 {
        let [part, whole] = [self.paused, span].map(|span| u128::from(span.as_ps()));
        statistics::quotient(part, whole).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_counts_once_from_its_start() {
        let us = Time::from_us;
        let mut clock = PauseClock::default();
        assert_eq!(clock.paused(us(5)), Span::ZERO);
        clock.stop(us(10));
        clock.stop(us(12));
        assert_eq!(clock.paused(us(15)), Span::from_us(5));
        clock.resume(us(20));
        clock.resume(us(30));
        assert_eq!(clock.paused(us(40)), Span::from_us(10));
        assert_eq!(clock.longest(us(40)), Span::from_us(10));
        clock.stop(us(50));
        assert_eq!(clock.paused(us(51)), Span::from_us(11));
        assert_eq!(clock.longest(us(60)), Span::from_us(10));
        assert_eq!(clock.longest(us(61)), Span::from_us(11));
    }

    #[test]
    fn a_link_is_paused_while_any_class_is() {
        let us = Time::from_us;
        let mut link = LinkPauses::default();
        assert!(link.change(3, true, us(10)));
        assert!(link.change(5, true, us(12)));
        assert!(!link.change(5, true, us(13)), "it was paused before");
        assert!(link.change(3, false, us(20)));
        assert!(link.is_any_paused());
        assert_eq!(link.present().collect::<Vec<_>>(), [(5, us(12))]);
        assert!(link.change(5, false, us(30)));
        assert!(!link.is_any_paused());
        let PauseCounters { any, classes } = link.counters(us(40));
        assert_eq!(any, Span::from_us(20));
        let counters = |class: usize| (classes[class].pauses, classes[class].paused);
        assert_eq!(counters(3), (1, Span::from_us(10)));
        assert_eq!(counters(5), (2, Span::from_us(18)));
        let results: Vec<_> = link.results(LinkId(4), us(40)).collect();
        assert_eq!(results.len(), 2);
        assert_eq!((results[1].of.class, results[1].longest), (5, Span::from_us(18)));
    }

    #[test]
    fn a_class_stops_the_queues_in_which_its_packets_wait() {
        let queues = |class, classes, last_queue| {
            let queues = queues_of(class, classes, last_queue);
            queues.map(|queue| queue.0).collect::<Vec<_>>()
        };
        assert_eq!(queues(3, 8, 7), [3]);
        assert_eq!(queues(7, 8, 7), [7]);
        assert_eq!(queues(5, 8, 3), [3], "classes beyond the last queue wait there");
        assert_eq!(queues(1, 2, 4), [1, 2, 3, 4], "the last class has those beyond it");
        assert_eq!(queues(0, 1, 0), [0]);
    }
}
