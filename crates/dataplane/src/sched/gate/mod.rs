//! A gate in front of a scheduler, for ports that are paused by class (IEEE 802.1Qbb).
//!
//! The scheduler sees only queues that may be served. A paused queue is withdrawn from it as if it
//! had emptied, and returns as if it had got its first packet when the pause ends. So each
//! scheduler treats a paused queue like an empty one: the queue neither blocks the others nor
//! accumulates service for later. Only ranks are kept: under PIFO a packet keeps the rank of its
//! arrival.
//!
//! A port that is never paused has no gate and bears none of its cost.

use alloc::boxed::Box;

use tidegate_units::{QueueId, Time};

use super::{Pick, QueueSet, Round, Scheduler, Turn};
use crate::{Pkt, Slot};

/// A scheduler whose queues can be paused.
#[derive(Clone, Debug)]
pub struct Gate<S> {
    inner: S,
    /// Properties of the scheduler, which needs a choice for each answer if its type is not known.
    is_merged: bool,
    ranks_packets: bool,
    /// Queues that hold packets.
    waiting: QueueSet,
    paused: QueueSet,
    /// By queue: bytes of the first packet or, for a ranked queue, the number of waiting packets.
    /// Undefined while the queue is empty.
    heads: Box<[u32]>,
}

impl<S: Scheduler> Gate<S> {
    /// Creates a gate with all queues open.
    pub fn new(inner: S) -> Self {
        Self {
            waiting: QueueSet::default(),
            paused: QueueSet::default(),
            heads: (0..inner.queues()).map(|_| 0).collect(),
            is_merged: inner.is_merged(),
            ranks_packets: inner.ranks_packets(),
            inner,
        }
    }

    fn close(&mut self, queue: QueueId, now: Time, turn: impl FnMut(&Turn)) {
        if self.waiting.contains(queue) {
            self.inner.withdraw(queue, &self.heads, now, turn);
        }
    }

    fn open(&mut self, queue: QueueId, now: Time, turn: impl FnMut(&Turn)) {
        if !self.waiting.contains(queue) {
            return;
        }
        if self.is_ranked(queue) {
            self.inner.restore(queue);
        } else {
            let len = self.heads[queue.index()];
            self.inner.on_active(queue, len, now, turn);
        }
    }
}

impl<S: Scheduler> Scheduler for Gate<S> {
    const RANKS_PACKETS: bool = S::RANKS_PACKETS;

    #[inline]
    fn queues(&self) -> u8 {
        self.inner.queues()
    }

    #[inline]
    fn is_merged(&self) -> bool {
        self.is_merged
    }

    #[inline]
    fn is_ranked(&self, queue: QueueId) -> bool {
        self.ranks_packets && self.inner.is_ranked(queue)
    }

    #[inline]
    fn ranks_packets(&self) -> bool {
        self.ranks_packets
    }

    #[inline]
    fn on_ranked(&mut self, queue: QueueId, slot: Slot, pkt: &Pkt, now: Time) {
        if self.waiting.contains(queue) {
            self.heads[queue.index()] += 1;
        } else {
            self.waiting.insert(queue);
            self.heads[queue.index()] = 1;
        }
        if self.paused.contains(queue) {
            self.inner.on_ranked_aside(queue, slot, pkt, now);
        } else {
            self.inner.on_ranked(queue, slot, pkt, now);
        }
    }

    #[inline]
    fn on_active(&mut self, queue: QueueId, len: u32, now: Time, turn: impl FnMut(&Turn)) {
        self.waiting.insert(queue);
        self.heads[queue.index()] = len;
        if !self.paused.contains(queue) {
            self.inner.on_active(queue, len, now, turn);
        }
    }

    #[inline]
    fn pick(&mut self, now: Time, turn: impl FnMut(&Turn)) -> Pick {
        self.inner.pick(now, turn)
    }

    #[inline]
    fn on_departed(
        &mut self,
        queue: QueueId,
        len: u32,
        next: Option<u32>,
        now: Time,
        turn: impl FnMut(&Turn),
    ) {
        let is_ranked = self.is_ranked(queue);
        let head = &mut self.heads[queue.index()];
        let left = if is_ranked { Some(*head - 1).filter(|&packets| packets > 0) } else { next };
        match left {
            Some(left) => *head = left,
            None => self.waiting.remove(queue),
        }
        self.inner.on_departed(queue, len, next, now, turn);
    }

    fn withdraw(&mut self, queue: QueueId, heads: &[u32], now: Time, turn: impl FnMut(&Turn)) {
        self.inner.withdraw(queue, heads, now, turn);
    }

    #[inline]
    fn is_blocked(&self) -> bool {
        self.waiting.without(self.paused).is_empty()
    }

    #[inline]
    fn can_pass(&self) -> bool {
        !self.ranks_packets && self.inner.can_pass() && self.paused.is_empty()
    }

    fn pause(&mut self, queues: QueueSet, now: Time, mut turn: impl FnMut(&Turn)) {
        let queues = if self.is_merged && !queues.is_empty() {
            // One list of all classes stops with any of them.
            QueueSet::first_queues(self.queues())
        } else {
            queues
        };
        let mut closing = queues.without(self.paused);
        let mut opening = self.paused.without(queues);
        self.paused = queues;
        while let Some(queue) = closing.pop_first() {
            self.close(queue, now, &mut turn);
        }
        while let Some(queue) = opening.pop_first() {
            self.open(queue, now, &mut turn);
        }
    }

    #[inline]
    fn on_pass(&mut self, queue: QueueId, len: u32, now: Time, turn: impl FnMut(&Turn)) {
        self.inner.on_pass(queue, len, now, turn);
    }

    fn round(&self, queue: QueueId) -> Option<Round> {
        self.inner.round(queue)
    }

    fn first(&self) -> Option<QueueId> {
        self.inner.first()
    }
}

#[cfg(test)]
mod tests;
