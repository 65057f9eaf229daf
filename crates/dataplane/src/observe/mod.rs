//! Observations of a port in a window of time: queue lengths, sojourn times, marks, drops, and the
//! flows present. The host reports the results of its own calls.
//!
//! A queue's length counts waiting packets only: a packet on the wire left the queue when its first
//! bit did. Lengths are weighted with the time for which they lasted, so that a packet passing
//! through an idle port has no effect on them.

mod decisions;
mod flows;
mod histogram;
mod max_min;

use alloc::boxed::Box;

use tidegate_units::{QueueId, Span, Time};

pub use decisions::{DecisionObserver, Decisions};
pub use flows::FlowObserver;
pub use histogram::Histogram;
pub use max_min::max_min;

use crate::{Action, Departure, DropReason, PortStats, Rule};

/// A window of time, which includes `from` and excludes `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start of the window.
    pub from: Time,
    /// End of the window, unless the run ends earlier.
    pub to: Time,
}

impl Default for Window {
    /// All of the time.
    fn default() -> Self {
        Self { from: Time::ZERO, to: Time::MAX }
    }
}

impl Window {
    /// Whether `at` is in the window.
    #[inline]
    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && at < self.to
    }

    /// Length of the part of `begin` to `end` that is in the window.
    #[inline]
    pub fn overlap(&self, begin: Time, end: Time) -> Span {
        end.min(self.to) - begin.max(self.from)
    }

    /// Length of the window.
    pub fn span(&self) -> Span {
        self.to - self.from
    }
}

/// Observations of one queue in the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedQueue {
    /// Number of the queue at the port.
    pub queue: QueueId,
    /// Queue length in bytes, weighted with picoseconds.
    pub bytes: Histogram,
    /// Queue length in packets, weighted with picoseconds.
    pub packets: Histogram,
    /// Sojourn times in picoseconds of packets that left in the window, each with weight one.
    /// Packets dropped at dequeue are excluded.
    pub waits: Histogram,
    /// Bytes of packets sent in the window.
    pub sent_bytes: u64,
    /// Packets marked here, by rule; see [`marks`](Self::marks).
    marks: [u64; Rule::ALL.len()],
    /// Packets dropped here, by reason; see [`drops`](Self::drops).
    drops: [u64; DropReason::ALL.len()],
}

impl ObservedQueue {
    /// Packets set to CE here because of `rule`.
    pub const fn marks(&self, rule: Rule) -> u64 {
        self.marks[rule as usize]
    }

    /// Packets dropped here because of `reason`, on arrival or at dequeue.
    pub const fn drops(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }

    /// Packets sent.
    pub const fn sent(&self) -> u64 {
        self.waits.total()
    }
}

/// Observes the queues of a port that is initially empty.
#[derive(Debug)]
pub struct PortObserver {
    window: Window,
    queues: Box<[Queue]>,
    /// Marks of the port that have been attributed to a queue.
    marks: [u64; Rule::ALL.len()],
}

#[derive(Clone, Debug)]
struct Queue {
    seen: ObservedQueue,
    bytes: u64,
    packets: u64,
    /// Time since which the queue has had this length.
    since: Time,
}

impl Queue {
    /// Keeps the length until `now`. Packets of different ports of a live switch may arrive
    /// slightly out of order, which has no effect.
    #[inline]
    fn last_until(&mut self, now: Time, window: Window) {
        let span = window.overlap(self.since, now).as_ps();
        self.seen.bytes.add(self.bytes, span);
        self.seen.packets.add(self.packets, span);
        self.since = self.since.max(now);
    }
}

impl PortObserver {
    /// Creates an observer for a port of `queues` queues with these counters so far.
    pub fn new(window: Window, queues: u8, stats: &PortStats) -> Self {
        let queue = |queue| Queue {
            seen: ObservedQueue {
                queue: QueueId(queue),
                bytes: Histogram::default(),
                packets: Histogram::default(),
                waits: Histogram::default(),
                sent_bytes: 0,
                marks: [0; Rule::ALL.len()],
                drops: [0; DropReason::ALL.len()],
            },
            bytes: 0,
            packets: 0,
            since: Time::ZERO,
        };
        Self {
            window,
            queues: (0..queues).map(queue).collect(),
            marks: Rule::ALL.map(|rule| stats.marks(rule)),
        }
    }

    /// The observed window.
    pub const fn window(&self) -> Window {
        self.window
    }

    /// Records a packet of `len` bytes admitted to `queue`.
    #[inline]
    pub fn on_accepted(&mut self, at: Time, queue: QueueId, len: u32, stats: &PortStats) {
        let waiting = &mut self.queues[queue.index()];
        waiting.last_until(at, self.window);
        waiting.bytes += u64::from(len);
        waiting.packets += 1;
        self.note_marks(at, queue, stats);
    }

    /// Records a refused packet that was meant for `queue`: the requested queue, or another one
    /// chosen by the scheme.
    #[cold]
    pub fn on_refused(&mut self, at: Time, queue: Option<QueueId>, reason: DropReason) {
        let belongs = u64::from(self.window.contains(at));
        if let Some(queue) = queue.and_then(|queue| self.queues.get_mut(queue.index())) {
            queue.seen.drops[reason as usize] += belongs;
        }
    }

    /// Records a packet that left, sent or dropped. Its marks are recorded separately.
    #[inline]
    pub fn on_departure(&mut self, at: Time, departure: &Departure) {
        let queue = &mut self.queues[departure.queue.index()];
        queue.last_until(at, self.window);
        queue.bytes = queue.bytes.saturating_sub(departure.len.into());
        queue.packets = queue.packets.saturating_sub(1);
        let belongs = u64::from(self.window.contains(at));
        match departure.action {
            Action::Drop(reason) => queue.seen.drops[reason as usize] += belongs,
            Action::Send => {
                queue.seen.waits.add(departure.sojourn.as_ps(), belongs);
                queue.seen.sent_bytes += belongs * u64::from(departure.len);
            }
        }
    }

    /// Attributes the marks that the port has made since the last call to `queue`.
    #[inline]
    pub fn note_marks(&mut self, at: Time, queue: QueueId, stats: &PortStats) {
        let belongs = self.window.contains(at);
        for (&rule, known) in Rule::ALL.iter().zip(&mut self.marks) {
            let marks = stats.marks(rule);
            if belongs {
                self.queues[queue.index()].seen.marks[rule as usize] += marks - *known;
            }
            *known = marks;
        }
    }

    /// Observations until `now`, by queue.
    pub fn observed(&self, now: Time) -> impl Iterator<Item = ObservedQueue> {
        self.queues.iter().map(move |queue| {
            let mut queue = queue.clone();
            queue.last_until(now, self.window);
            queue.seen
        })
    }
}
