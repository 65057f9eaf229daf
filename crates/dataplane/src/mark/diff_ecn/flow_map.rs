//! The hardware flow map: an array of queue numbers indexed by the low bits of a flow's hash.
//!
//! DiffECN, sections IV-B.3 and V-A: 512 entries for each queue, with no check that an entry
//! belongs to the flow that reads it. Two flows with the same index share an entry and so a queue.
//!
//! The paper gives two rules for the end of an entry, and both are options: with its queue, when
//! the last packet leaves it (section IV-B), or after a period without a packet (section VII-B).
//! Under the second rule an entry may point to a queue that was given to another flow meanwhile.
//! Algorithm 1 has no branch for that, and the two flows share the queue.

use alloc::boxed::Box;
use alloc::vec;

use tidegate_units::{FlowId, QueueId, Span, Time};

use super::hash::mix;

/// Map from flows to queues, as a switch chip stores it.
#[derive(Clone, Debug)]
pub(super) struct FlowMap {
    /// Entries, a power of two of them.
    entries: Box<[Entry]>,
    life: Life,
}

/// Lifetime of an entry.
#[derive(Clone, Debug)]
pub(super) enum Life {
    /// Up to this long after the arrival of its last packet.
    Idle(Span),
    /// Until its queue is empty. Counts for each queue how often it became empty.
    Queue(Box<[u64]>),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Arrival of the last packet in picoseconds, or the number of times that the queue had been
    /// empty.
    stamp: u64,
    /// Bytes sent through the high-priority queue; saturates.
    passed: u32,
    /// `None` before the first packet.
    queue: Option<QueueId>,
}

impl FlowMap {
    /// A map of 2^`bits` entries.
    pub(super) fn new(bits: u32, life: Life) -> Self {
        let entry = Entry { stamp: 0, passed: 0, queue: None };
        Self { entries: vec![entry; 1 << bits].into(), life }
    }

    /// Records a packet of `flow` queued in `queue`, which becomes its entry's queue. `passed` of
    /// its bytes go through the high-priority queue.
    #[inline]
    pub(super) fn on_queued(&mut self, flow: FlowId, queue: QueueId, passed: u32, now: Time) {
        let before = self.find(flow, now).map_or(0, |(_, passed)| passed);
        let index = self.index(flow);
        self.entries[index] = Entry {
            stamp: match &self.life {
                Life::Idle(_) => now.as_ps(),
                Life::Queue(emptied) => emptied.get(queue.index()).copied().unwrap_or(0),
            },
            passed: before.saturating_add(passed),
            queue: Some(queue),
        };
    }

    /// Records the departure of the last packet of `queue`.
    #[inline]
    pub(super) fn on_emptied(&mut self, queue: QueueId) {
        if let Life::Queue(emptied) = &mut self.life
            && let Some(times) = emptied.get_mut(queue.index())
        {
            *times += 1;
        }
    }

    /// Queue of `flow` and its bytes that passed through the high-priority queue, or `None` if its
    /// entry is new or has ended.
    #[inline]
    pub(super) fn find(&self, flow: FlowId, now: Time) -> Option<(QueueId, u32)> {
        let entry = &self.entries[self.index(flow)];
        let queue = entry.queue?;
        let lives = match &self.life {
            // DiffECN, section VII-B: a flow that stalls for longer than the period is new.
            Life::Idle(period) => now - Time::from_ps(entry.stamp) <= *period,
            Life::Queue(emptied) => emptied.get(queue.index()) == Some(&entry.stamp),
        };
        lives.then_some((queue, entry.passed))
    }

    #[inline]
    fn index(&self, flow: FlowId) -> usize {
        mix(flow.0) as usize & (self.entries.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIGH: QueueId = QueueId(0);

    fn by_queue(bits: u32) -> FlowMap {
        FlowMap::new(bits, Life::Queue(vec![0; 4].into()))
    }

    #[test]
    fn an_entry_ends_when_its_queue_is_empty() {
        let mut map = by_queue(11);
        let (flow, now) = (FlowId(5), Time::from_us(1));
        assert_eq!(map.find(flow, now), None);
        map.on_queued(flow, QueueId(2), 0, now);
        assert_eq!(map.find(flow, Time::MAX), Some((QueueId(2), 0)));
        map.on_emptied(QueueId(3));
        assert_eq!(map.find(flow, now), Some((QueueId(2), 0)));
        map.on_emptied(QueueId(2));
        assert_eq!(map.find(flow, now), None);
        // The queue now serves another flow; the old entry stays ended.
        map.on_queued(FlowId(6), QueueId(2), 0, now);
        assert_eq!(map.find(flow, now), None);
        assert_eq!(map.find(FlowId(6), now), Some((QueueId(2), 0)));
    }

    #[test]
    fn an_entry_ends_strictly_after_its_period() {
        let mut map = FlowMap::new(11, Life::Idle(Span::from_us(285)));
        let (flow, start) = (FlowId(5), Time::from_us(100));
        map.on_queued(flow, QueueId(2), 0, start);
        map.on_emptied(QueueId(2));
        for (ps, lives) in [(284_999_999, true), (285_000_000, true), (285_000_001, false)] {
            let found = map.find(flow, start + Span::from_ps(ps));
            assert_eq!(found, lives.then_some((QueueId(2), 0)), "{ps}");
        }
        let again = start + Span::from_us(200);
        map.on_queued(flow, QueueId(2), 0, again);
        assert!(map.find(flow, again + Span::from_us(285)).is_some());
    }

    #[test]
    fn passed_bytes_add_up_until_the_entry_ends() {
        let mut map = by_queue(11);
        let (flow, now) = (FlowId(5), Time::ZERO);
        map.on_queued(flow, HIGH, 1500, now);
        map.on_queued(flow, HIGH, 64, now);
        assert_eq!(map.find(flow, now), Some((HIGH, 1564)));
        map.on_queued(flow, QueueId(1), 0, now);
        assert_eq!(map.find(flow, now), Some((QueueId(1), 1564)));
        map.on_emptied(QueueId(1));
        map.on_queued(flow, HIGH, 1500, now);
        assert_eq!(map.find(flow, now), Some((HIGH, 1500)));
        map.on_queued(flow, HIGH, u32::MAX, now);
        assert_eq!(map.find(flow, now), Some((HIGH, u32::MAX)));
    }

    #[test]
    fn flows_with_the_same_index_share_an_entry() {
        // Two entries, three flows: at least two of the flows share.
        let mut map = by_queue(1);
        let now = Time::ZERO;
        let sides = [1, 2, 3].map(|flow| mix(flow) & 1);
        for (flow, side) in (1..).zip(sides) {
            map.on_queued(FlowId(flow), QueueId(1 + side as u8), 0, now);
        }
        for (flow, side) in (1..).zip(sides) {
            assert_eq!(map.find(FlowId(flow), now), Some((QueueId(1 + side as u8), 0)));
        }
    }

    #[test]
    fn an_entry_takes_16_bytes() {
        assert_eq!(size_of::<Entry>(), 16);
    }

    #[test]
    fn an_unknown_queue_is_harmless() {
        let mut map = by_queue(1);
        map.on_queued(FlowId(0), QueueId(255), 0, Time::ZERO);
        map.on_emptied(QueueId(255));
        assert_eq!(map.find(FlowId(0), Time::ZERO), None);
    }
}
