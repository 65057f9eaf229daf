//! Calendar with one heap of arrivals: simple, but slow with many packets in flight.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidegate_units::Time;

use super::{Arrival, Calendar, Destination, Rank};
use crate::by_key::ByKey;

/// Calendar of the reference engine.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    noted: BinaryHeap<Reverse<Noted>>,
    pushed: u64,
}

/// An arrival in the order of the calendar's rule, then by insertion.
type Noted = ByKey<(Time, Rank, u64), (Arrival, Destination)>;

impl Heap {
    /// Time of the next arrival.
    pub(crate) fn next_at(&self) -> Option<Time> {
        let first = self.noted.peek();
        first.map(|Reverse(noted)| noted.value.0.at)
    }

    /// Removes and returns the next arrival.
    pub(crate) fn pop(&mut self) -> Option<(Arrival, Destination)> {
        let Reverse(noted) = self.noted.pop()?;
        Some(noted.value)
    }
}

impl Calendar for Heap {
    const IN_BUCKETS: bool = false;

    fn push(&mut self, arrival: Arrival, destination: Destination, rank: Rank) {
        self.noted.push(Reverse(ByKey {
            key: (arrival.at, rank, self.pushed),
            value: (arrival, destination),
        }));
        self.pushed += 1;
    }
}
