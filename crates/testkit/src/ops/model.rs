//! Model of a port's content and counters: plain lists and sums, independent of the port.

use std::collections::VecDeque;

use tidegate_dataplane::mark::Cx;
use tidegate_dataplane::{DropReason, Pkt, QueueStats, Rule};
use tidegate_units::{PktId, QueueId, Time};

/// A waiting packet, with the codepoint that it was stored with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) id: PktId,
    pub(super) pkt: Pkt,
    pub(super) arrival: Time,
}

/// One queue: its packets in order of arrival, and its counters.
#[derive(Debug, Default)]
pub(super) struct QueueModel {
    pub(super) held: VecDeque<Held>,
    held_bytes: u64,
    enqueued_packets: u64,
    enqueued_bytes: u64,
    dequeued_packets: u64,
    dequeued_bytes: u64,
}

impl QueueModel {
    pub(super) fn stats(&self) -> QueueStats {
        QueueStats {
            enqueued_packets: self.enqueued_packets,
            enqueued_bytes: self.enqueued_bytes,
            dequeued_packets: self.dequeued_packets,
            dequeued_bytes: self.dequeued_bytes,
            held_packets: u32::try_from(self.held.len()).unwrap_or(u32::MAX),
            held_bytes: u32::try_from(self.held_bytes).unwrap_or(u32::MAX),
        }
    }
}

/// The whole port.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) queues: Vec<QueueModel>,
    packets: usize,
    bytes: u64,
    marks: [u64; Rule::ALL.len()],
    drops: [u64; DropReason::ALL.len()],
}

impl Model {
    pub(super) fn new(queues: u8) -> Self {
        Self {
            queues: (0..queues).map(|_| QueueModel::default()).collect(),
            packets: 0,
            bytes: 0,
            marks: [0; Rule::ALL.len()],
            drops: [0; DropReason::ALL.len()],
        }
    }

    pub(super) fn store(&mut self, queue: QueueId, held: Held) {
        let queue = &mut self.queues[queue.index()];
        let len = u64::from(held.pkt.len);
        self.packets += 1;
        self.bytes += len;
        queue.held_bytes += len;
        queue.enqueued_packets += 1;
        queue.enqueued_bytes += len;
        queue.held.push_back(held);
    }

    /// Removes a packet and returns its index in the queue, or `None` if it is not held there.
    pub(super) fn remove(&mut self, queue: QueueId, id: PktId) -> Option<(usize, Held)> {
        let queue = self.queues.get_mut(queue.index())?;
        let place = queue.held.iter().position(|held| held.id == id)?;
        let held = queue.held.remove(place)?;
        let len = u64::from(held.pkt.len);
        self.packets -= 1;
        self.bytes -= len;
        queue.held_bytes -= len;
        queue.dequeued_packets += 1;
        queue.dequeued_bytes += len;
        Some((place, held))
    }

    pub(super) const fn count_mark(&mut self, rule: Rule) {
        self.marks[rule as usize] += 1;
    }

    pub(super) const fn count_drop(&mut self, reason: DropReason) {
        self.drops[reason as usize] += 1;
    }

    pub(super) fn marks(&self, rule: Rule) -> u64 {
        self.marks[rule as usize]
    }

    pub(super) fn drops(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) const fn packets(&self) -> usize {
        self.packets
    }

    /// The packet that has waited longest; of simultaneous arrivals, the first.
    pub(super) fn oldest(&self) -> Option<&Held> {
        let fronts = self.queues.iter().filter_map(|queue| queue.held.front());
        fronts.min_by_key(|held| held.id)
    }

    /// Whether `cx` agrees with the state of the port.
    pub(super) fn is_seen_in(&self, cx: &Cx) -> bool {
        self.queues.get(cx.queue.index()).is_some_and(|queue| {
            u64::from(cx.queue_bytes) == queue.held_bytes
                && cx.queue_packets as usize == queue.held.len()
                && u64::from(cx.port_bytes) == self.bytes
                && cx.port_packets as usize == self.packets
        })
    }
}
