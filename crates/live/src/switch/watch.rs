//! What is seen of a port in a part of the time: how long its queues are, how long packets wait in
//! them, what is marked and dropped.
//!
//! As in the simulator, a queue's length is that of the packets that wait, without the one on the
//! wire, and is weighted with the time for which it lasted.

use hdrhistogram::Histogram;
use tidegate_dataplane::{Action, Departure, DropReason, PortStats, Rule};
use tidegate_units::{QueueId, Span, Time};

/// A part of the time: what happens at `from` belongs to it, what happens at `to` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl Window {
    #[inline]
    fn contains(&self, at: Time) -> bool {
        self.from <= at && at < self.to
    }

    #[inline]
    fn overlap(&self, begin: Time, end: Time) -> Span {
        end.min(self.to) - begin.max(self.from)
    }
}

/// What was seen of a port.
#[derive(Clone, Debug)]
pub struct PortSeen {
    /// How long it was looked at.
    pub span: Span,
    /// Packets that went onto the wire.
    pub packets: u64,
    /// Their bytes, as they count in queues.
    pub bytes: u64,
    /// By queue.
    pub queues: Vec<QueueSeen>,
}

/// What was seen of a queue.
#[derive(Clone, Debug)]
pub struct QueueSeen {
    /// How long it was in bytes, weighted with nanoseconds.
    pub bytes: Weighted,
    /// How long it was in packets, weighted with nanoseconds.
    pub packets: Weighted,
    /// How long packets waited in nanoseconds, each with weight one.
    pub waits: Weighted,
    /// Bytes of the packets that were sent.
    pub sent_bytes: u64,
    marks: [u64; Rule::ALL.len()],
    drops: [u64; DropReason::ALL.len()],
}

impl QueueSeen {
    /// Packets that were marked because of `rule`.
    pub const fn marks(&self, rule: Rule) -> u64 {
        self.marks[rule as usize]
    }

    /// Packets that were dropped because of `reason`.
    pub const fn drops(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }
}

/// How often numbers were seen, or for how long; quantiles are within 1 %, the mean is exact.
#[derive(Clone, Debug)]
pub struct Weighted {
    histogram: Histogram<u64>,
    sum: u128,
}

impl Weighted {
    fn new() -> Self {
        let made = Histogram::new_with_bounds(1, LARGEST, 2);
        Self {
            histogram: made.expect("two digits up to a large number"),
            sum: 0,
        }
    }

    #[inline]
    fn add(&mut self, value: u64, weight: u64) {
        if weight > 0 {
            self.histogram.saturating_record_n(value, weight);
            let part = u128::from(value) * u128::from(weight);
            self.sum = self.sum.saturating_add(part);
        }
    }

    /// The sum of all numbers, each times its weight.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The sum of all weights.
    pub fn weight(&self) -> u64 {
        self.histogram.len()
    }

    /// The largest number.
    pub fn max(&self) -> u64 {
        self.histogram.max()
    }

    /// The number that so many parts of ten thousand of all weight do not exceed.
    pub fn quantile(&self, parts: u32) -> u64 {
        let value = self
            .histogram
            .value_at_quantile(f64::from(parts) / 10_000.0);
        value.min(self.max())
    }
}

/// Larger numbers, be they bytes or nanoseconds, count as this.
const LARGEST: u64 = 100_000_000_000;

/// Observes a port.
#[derive(Debug)]
pub(super) struct Watch {
    window: Window,
    queues: Box<[Queue]>,
    packets: u64,
    bytes: u64,
    /// The port's marks as far as they are put down to a queue.
    marks: [u64; Rule::ALL.len()],
}

#[derive(Debug)]
struct Queue {
    seen: QueueSeen,
    bytes: u64,
    packets: u64,
    /// Since when it has this length.
    since: Time,
}

impl Queue {
    /// The length stays as it is until `now`. Frames of different ports may come a little out of
    /// order, which leaves no trace.
    #[inline]
    fn last_until(&mut self, now: Time, window: Window) {
        let span = window.overlap(self.since, now).as_ns();
        self.seen.bytes.add(self.bytes, span);
        self.seen.packets.add(self.packets, span);
        self.since = self.since.max(now);
    }
}

impl Watch {
    /// Watches a port that is empty.
    pub(super) fn new(window: Window, queues: u8, stats: &PortStats) -> Self {
        let queue = |_| Queue {
            seen: QueueSeen {
                bytes: Weighted::new(),
                packets: Weighted::new(),
                waits: Weighted::new(),
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
            packets: 0,
            bytes: 0,
            marks: Rule::ALL.map(|rule| stats.marks(rule)),
        }
    }

    /// A packet was taken or refused.
    #[inline]
    pub(super) fn on_arrival(
        &mut self,
        at: Time,
        queue: Option<QueueId>,
        len: u32,
        refused: Option<DropReason>,
        stats: &PortStats,
    ) {
        let window = self.window;
        let queue = queue.and_then(|queue| self.queues.get_mut(queue.index()));
        let Some(queue) = queue else { return };
        match refused {
            Some(reason) => queue.seen.drops[reason as usize] += u64::from(window.contains(at)),
            None => {
                queue.last_until(at, window);
                queue.bytes += u64::from(len);
                queue.packets += 1;
                note_marks(&mut self.marks, queue, window.contains(at), stats);
            }
        }
    }

    /// A packet left, onto the wire or dropped.
    #[inline]
    pub(super) fn on_departure(&mut self, at: Time, departure: &Departure, stats: &PortStats) {
        let window = self.window;
        let belongs = u64::from(window.contains(at));
        let queue = &mut self.queues[departure.queue.index()];
        queue.last_until(at, window);
        queue.bytes = queue.bytes.saturating_sub(departure.len.into());
        queue.packets = queue.packets.saturating_sub(1);
        match departure.action {
            Action::Drop(reason) => queue.seen.drops[reason as usize] += belongs,
            Action::Send => {
                queue.seen.waits.add(departure.sojourn.as_ns(), belongs);
                queue.seen.sent_bytes += belongs * u64::from(departure.len);
                self.packets += belongs;
                self.bytes += belongs * u64::from(departure.len);
            }
        }
        note_marks(&mut self.marks, queue, window.contains(at), stats);
    }

    /// What was seen by `now`.
    pub(super) fn seen(&self, now: Time) -> PortSeen {
        let seen = |queue: &Queue| {
            let mut queue = Queue {
                seen: queue.seen.clone(),
                ..*queue
            };
            queue.last_until(now, self.window);
            queue.seen
        };
        PortSeen {
            span: self.window.overlap(Time::ZERO, now),
            packets: self.packets,
            bytes: self.bytes,
            queues: self.queues.iter().map(seen).collect(),
        }
    }
}

/// Puts the marks that the port has made since the last time down to a queue.
#[inline]
fn note_marks(
    known: &mut [u64; Rule::ALL.len()],
    queue: &mut Queue,
    belongs: bool,
    stats: &PortStats,
) {
    for (&rule, known) in Rule::ALL.iter().zip(known) {
        let marks = stats.marks(rule);
        if belongs {
            queue.seen.marks[rule as usize] += marks - *known;
        }
        *known = marks;
    }
}
