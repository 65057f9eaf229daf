//! One heap of arrivals: simple, and slow with many packets in flight.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use tidegate_units::Time;

use super::{Arrival, Calendar, Goal, Rank};

/// The calendar of the reference engine.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    noted: BinaryHeap<Reverse<Noted>>,
    pushed: u64,
}

/// Ordered by the rule of the calendar.
#[derive(Debug)]
struct Noted {
    arrival: Arrival,
    rank: Rank,
    pushed: u64,
    goal: Goal,
}

impl Heap {
    /// When the next packet arrives.
    pub(crate) fn next_at(&self) -> Option<Time> {
        let first = self.noted.peek();
        first.map(|Reverse(noted)| noted.arrival.at)
    }

    /// Takes the next packet.
    pub(crate) fn pop(&mut self) -> Option<(Arrival, Goal)> {
        let Reverse(noted) = self.noted.pop()?;
        Some((noted.arrival, noted.goal))
    }
}

impl Calendar for Heap {
    fn push(&mut self, arrival: Arrival, goal: Goal, rank: Rank) {
        let pushed = self.pushed;
        self.pushed += 1;
        self.noted.push(Reverse(Noted {
            arrival,
            rank,
            pushed,
            goal,
        }));
    }
}

impl Noted {
    const fn key(&self) -> (Time, Rank, u64) {
        (self.arrival.at, self.rank, self.pushed)
    }
}

impl PartialEq for Noted {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Noted {}

impl PartialOrd for Noted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Noted {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
