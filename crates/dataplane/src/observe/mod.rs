//! What is observed of a port in a part of the time: how long its queues are, how long packets wait
//! in them, what is marked and dropped, and which flows are there. The host reports what its own
//! calls returned.
//!
//! A queue's length is that of the waiting packets: without the one on the wire, which left the
//! queue when its first bit did. Lengths are weighted with the time for which they lasted, so that
//! a packet which passes through an idle port leaves no trace in them.

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

/// A part of the time: what happens at `from` belongs to it, what happens at `to` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub from: Time,
    /// Its end, unless the run ends before.
    pub to: Time,
}

impl Default for Window {
    /// All of the time.
    fn default() -> Self {
        Self { from: Time::ZERO, to: Time::MAX }
    }
}

impl Window {
    /// Whether `at` belongs to it.
    #[inline]
    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && at < self.to
    }

    /// How much of the time from `begin` to `end` belongs to it.
    #[inline]
    pub fn overlap(&self, begin: Time, end: Time) -> Span {
        end.min(self.to) - begin.max(self.from)
    }

    /// How long it is.
    pub fn span(&self) -> Span {
        self.to - self.from
    }
}

/// What was observed of one queue in the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedQueue {
    /// Its number at the port.
    pub queue: QueueId,
    /// How long it was: bytes, weighted with picoseconds.
    pub bytes: Histogram,
    /// How long it was: packets, weighted with picoseconds.
    pub packets: Histogram,
    /// How long packets waited that left in the window, in picoseconds, each with weight one. Those
    /// that were dropped on the way out are left out.
    pub waits: Histogram,
    /// Bytes of the packets that were sent in the window.
    pub sent_bytes: u64,
    /// Packets that were marked here, by rule; see [`marks`](Self::marks).
    marks: [u64; Rule::ALL.len()],
    /// Packets that were dropped here, by reason; see [`drops`](Self::drops).
    drops: [u64; DropReason::ALL.len()],
}

impl ObservedQueue {
    /// Packets that were set to CE here because of `rule`.
    pub const fn marks(&self, rule: Rule) -> u64 {
        self.marks[rule as usize]
    }

    /// Packets that were dropped here because of `reason`, on arrival or on the way out.
    pub const fn drops(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }

    /// Packets that were sent.
    pub const fn sent(&self) -> u64 {
        self.waits.total()
    }
}

/// Observes the queues of a port that is empty at first.
#[derive(Debug)]
pub struct PortObserver {
    window: Window,
    queues: Box<[Queue]>,
    /// The port's marks, as far as they have been put down to a queue.
    marks: [u64; Rule::ALL.len()],
}

#[derive(Clone, Debug)]
struct Queue {
    seen: ObservedQueue,
    bytes: u64,
    packets: u64,
    /// Since when it has this length.
    since: Time,
}

impl Queue {
    /// The length stays as it is until `now`. Packets of different ports of a live switch may come
    /// a little out of order, which leaves no trace.
    #[inline]
    fn last_until(&mut self, now: Time, window: Window) {
        let span = window.overlap(self.since, now).as_ps();
        self.seen.bytes.add(self.bytes, span);
        self.seen.packets.add(self.packets, span);
        self.since = self.since.max(now);
    }
}

impl PortObserver {
    /// For a port of so many queues, which has counted this so far.
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

    /// The part of the time that is looked at.
    pub const fn window(&self) -> Window {
        self.window
    }

    /// A packet of `len` bytes was taken into `queue`.
    #[inline]
    pub fn on_accepted(&mut self, at: Time, queue: QueueId, len: u32, stats: &PortStats) {
        let waiting = &mut self.queues[queue.index()];
        waiting.last_until(at, self.window);
        waiting.bytes += u64::from(len);
        waiting.packets += 1;
        self.note_marks(at, queue, stats);
    }

    /// A packet was refused, which was meant for `queue`: the one that it asked for, or another
    /// that the scheme has chosen.
    #[cold]
    pub fn on_refused(&mut self, at: Time, queue: Option<QueueId>, reason: DropReason) {
        let belongs = u64::from(self.window.contains(at));
        if let Some(queue) = queue.and_then(|queue| self.queues.get_mut(queue.index())) {
            queue.seen.drops[reason as usize] += belongs;
        }
    }

    /// A packet left, onto the wire or dropped. Its marks are noted apart.
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

    /// Puts the marks that the port has made since the last time down to `queue`.
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

    /// What was observed by `now`, by queue.
    pub fn observed(&self, now: Time) -> impl Iterator<Item = ObservedQueue> {
        self.queues.iter().map(move |queue| {
            let mut queue = queue.clone();
            queue.last_until(now, self.window);
            queue.seen
        })
    }
}
