//! Numbers of connections. Ports identify flows by them, so that they must be the same on any
//! number of threads.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Slots of the table of connections.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Freed slots, by the bucket of time in which they were freed. A slot is reused only in a
    /// later bucket, so that its number does not depend on how far ahead an engine works.
    free: BinaryHeap<Reverse<(u64, u32)>>,
    /// Number of slots.
    count: u32,
}

impl Slots {
    /// Creates a table with `kept` slots that are never freed.
    pub(crate) const fn new(kept: u32) -> Self {
        Self { free: BinaryHeap::new(), count: kept }
    }

    /// Takes a slot in this bucket.
    pub(crate) fn take(&mut self, bucket: u64) -> u32 {
        let first = self.free.peek();
        if first.is_some_and(|Reverse((since, _))| *since < bucket)
            && let Some(Reverse((_, slot))) = self.free.pop()
        {
            return slot;
        }
        self.count += 1;
        self.count - 1
    }

    /// Frees a slot in this bucket.
    pub(crate) fn give_back(&mut self, bucket: u64, slot: u32) {
        self.free.push(Reverse((bucket, slot)));
    }
}

/// Source of the slots of hosts' connections.
#[derive(Debug)]
pub(crate) enum Numbers {
    /// This part has all hosts.
    Own(Slots),
    /// Other parts have hosts too: slots for the next flows that need one, in order.
    Given(VecDeque<u32>),
}

impl Numbers {
    /// Slot for the next flow, which starts in this bucket and needs one.
    pub(super) fn take(&mut self, bucket: u64) -> u32 {
        match self {
            Self::Own(slots) => slots.take(bucket),
            Self::Given(slots) => {
                let next = slots.pop_front();
                next.expect("a flow that needs a slot was assigned one")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_slot_of_the_oldest_bucket_is_taken_first() {
        let mut slots = Slots::new(1);
        assert_eq!([slots.take(0), slots.take(0), slots.take(0)], [1, 2, 3]);
        slots.give_back(5, 2);
        slots.give_back(4, 3);
        slots.give_back(5, 1);
        assert_eq!(slots.take(4), 4);
        assert_eq!(slots.take(5), 3);
        assert_eq!([slots.take(6), slots.take(6), slots.take(6)], [1, 2, 5]);
    }
}
