//! PIFO: each arriving packet gets a rank, and the packet with the smallest rank leaves first,
//! the earliest arrival among equal ones, whatever its queue.
//!
//! Sivaraman et al., "Programmable Packet Scheduling at Line Rate", SIGCOMM 2016; named by TCN
//! (section 2.2) as what ECN must work with. A rank is given once, on arrival. Packets of one queue
//! can overtake each other, so queues are classes to count and mark by, not lists. Three ranks:
//!
//! - STFQ, start-time fair queueing (section 2.1 there; Goyal, Vin and Cheng, SIGCOMM 1996):
//!   the virtual start time, `max(V, finish)`, where `finish` is the virtual end of the queue's packet
//!   before and `V` the rank of the packet that left last. `finish` then grows by `L/w`. As in the
//!   paper of 2016, a pause does not change `V`; in that of 1996 it moves `V` to the largest finish.
//! - LSTF, least slack time first (Mittal et al., "Universal Packet Scheduling", NSDI 2016): the
//!   time of arrival plus the slack in [`Pkt::urgency`], which is when the slack is used up.
//! - SRPT, shortest remaining processing time: the bytes that the flow has left, in
//!   [`Pkt::urgency`].
//!
//! STFQ's times wrap. No waiting rank is before `V`, because `V` was the smallest when it was set
//! and later ranks are not smaller; so ranks are compared by how far they are past `V`. A finish
//! is at most the worth of a port full of bytes past `V`, 2^53. How far one can fall behind while
//! its queue is empty is kept below 2^63: see `catch_up`.
//!
//! Differs from the paper: no limit to the number of classes or the width of a rank, and a heap,
//! so that a packet costs the logarithm of the number of packets waiting.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use tidegate_units::{ConfigError, QueueId, Span, Time, choices, settings};

use super::virtual_time::{Inverse, MAX_WEIGHT, inverses, is_before};
use super::{Build, Divide, Pick, Scheduler, Turn};
use crate::{Pkt, Slot};

choices! {
    /// What packets are ranked by.
    pub enum Rank {
        /// The moment at which the slack is used up.
        Lstf = "lstf",
        /// Bytes that the flow has left.
        Srpt = "srpt",
        /// Virtual start time.
        Stfq = "stfq",
    }
}

settings! {
    /// Parameters of PIFO.
    pub struct Config {
        /// What packets are ranked by.
        pub rank: Rank = Rank::Stfq,
        /// The weight of each queue, 1 to 65535. Only STFQ reads the values; their number is that
        /// of the queues.
        pub weights: Vec<u32> = alloc::vec![1],
    }
}

impl Build for Config {
    type Scheduler = Pifo;

    fn build(&self) -> Result<Pifo, ConfigError> {
        Pifo::new(self)
    }
}

impl Divide for Config {
    fn queues(&self) -> usize {
        self.weights.len()
    }

    fn part(&self, queues: Range<usize>) -> Self {
        Self {
            weights: self.weights[queues].to_vec(),
            ..*self
        }
    }
}

/// Push in, first out.
#[derive(Clone, Debug)]
pub struct Pifo {
    /// A binary heap: no entry leaves after those at twice its place, plus one and plus two.
    heap: Vec<Entry>,
    /// Arrivals so far, which settle equal ranks. 2^64 packets are never seen.
    arrivals: u64,
    /// Boxed to keep the enum of all schedulers small, and the groups of `sp-pifo`.
    ranking: Box<Ranking>,
}

/// Where ranks come from.
#[derive(Clone, Debug)]
enum Ranking {
    /// From what has come before: [`Rank::Stfq`].
    Stfq(Stfq),
    /// From the packet's urgency.
    Urgency { kind: Urgency, queues: u8 },
}

/// How an urgency is read. Not two more forms of [`Ranking`], which would then need a tag.
#[derive(Clone, Copy, Debug)]
enum Urgency {
    /// As slack: [`Rank::Lstf`].
    Lstf,
    /// As it is: [`Rank::Srpt`].
    Srpt,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    rank: u64,
    arrival: u64,
    slot: Slot,
    queue: QueueId,
}

#[derive(Clone, Debug)]
struct Stfq {
    virtual_time: u64,
    classes: Box<[Class]>,
}

#[derive(Clone, Debug)]
struct Class {
    /// Virtual end of the last packet that came.
    finish: u64,
    inverse: Inverse,
}

impl Pifo {
    /// A PIFO for as many queues as there are weights.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let inverses = inverses(&config.weights, MAX_WEIGHT)?;
        let class = |&inverse| Class { finish: 0, inverse };
        // At most 128, checked with the weights.
        let queues = inverses.len() as u8;
        let by = |kind| Ranking::Urgency { kind, queues };
        Ok(Self {
            heap: Vec::new(),
            arrivals: 0,
            ranking: Box::new(match config.rank {
                Rank::Lstf => by(Urgency::Lstf),
                Rank::Srpt => by(Urgency::Srpt),
                Rank::Stfq => Ranking::Stfq(Stfq {
                    virtual_time: 0,
                    classes: inverses.iter().map(class).collect(),
                }),
            }),
        })
    }

    /// Where ranks are counted from.
    #[inline]
    fn base(&self) -> u64 {
        match &*self.ranking {
            Ranking::Stfq(stfq) => stfq.virtual_time,
            Ranking::Urgency { .. } => 0,
        }
    }

    /// Puts an entry at the end of the heap and moves it up to its place.
    #[inline]
    fn push(&mut self, entry: Entry) {
        let base = self.base();
        let mut place = self.heap.len();
        self.heap.push(entry);
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent].key(base) < entry.key(base) {
                break;
            }
            self.heap.swap(place, parent);
            place = parent;
        }
    }

    /// Takes the first entry of a heap that is not empty.
    #[inline]
    fn pop(&mut self) -> Entry {
        let base = self.base();
        let first = self.heap.swap_remove(0);
        let mut place = 0;
        loop {
            let left = 2 * place + 1;
            let Some(mut child) = self.heap.get(left) else {
                return first;
            };
            let mut at = left;
            if let Some(right) = self.heap.get(left + 1)
                && right.key(base) < child.key(base)
            {
                (child, at) = (right, left + 1);
            }
            if self.heap[place].key(base) < child.key(base) {
                return first;
            }
            self.heap.swap(place, at);
            place = at;
        }
    }
}

impl Entry {
    /// What decides: the rank, then the arrival. No two entries have the same key.
    #[inline]
    const fn key(&self, base: u64) -> u128 {
        (self.rank.wrapping_sub(base) as u128) << 64 | self.arrival as u128
    }
}

impl Stfq {
    #[inline]
    fn rank(&mut self, queue: QueueId, len: u32) -> u64 {
        let class = &mut self.classes[queue.index()];
        let rank = if is_before(self.virtual_time, class.finish) {
            class.finish
        } else {
            self.virtual_time
        };
        class.finish = rank.wrapping_add(class.inverse.times(len));
        rank
    }

    #[inline]
    fn on_served(&mut self, rank: u64) {
        let quarter_changed = (self.virtual_time ^ rank) >> 62 != 0;
        self.virtual_time = rank;
        if quarter_changed {
            self.catch_up();
        }
    }

    /// Lifts to the present the finishes of classes that have long been idle. Done in each quarter
    /// of the range, so that none falls behind by half of it and looks as if it were ahead.
    #[cold]
    fn catch_up(&mut self) {
        for class in &mut self.classes {
            if is_before(class.finish, self.virtual_time) {
                class.finish = self.virtual_time;
            }
        }
    }
}

impl Scheduler for Pifo {
    #[inline]
    fn queues(&self) -> u8 {
        match &*self.ranking {
            Ranking::Stfq(stfq) => stfq.classes.len() as u8,
            Ranking::Urgency { queues, .. } => *queues,
        }
    }

    #[inline]
    fn is_ranked(&self, _: QueueId) -> bool {
        true
    }

    #[inline]
    fn on_ranked(&mut self, queue: QueueId, slot: Slot, pkt: &Pkt, now: Time) {
        let rank = match &mut *self.ranking {
            Ranking::Stfq(stfq) => stfq.rank(queue, pkt.len),
            Ranking::Urgency { kind, .. } => match kind {
                Urgency::Lstf => (now + Span::from_ps(pkt.urgency)).as_ps(),
                Urgency::Srpt => pkt.urgency,
            },
        };
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.push(Entry {
            rank,
            arrival,
            slot,
            queue,
        });
    }

    #[inline]
    fn on_active(&mut self, _: QueueId, _: u32, _: Time, _: impl FnMut(&Turn)) {}

    #[inline]
    fn pick(&mut self, _: Time, _: impl FnMut(&Turn)) -> Pick {
        let entry = self.pop();
        if let Ranking::Stfq(stfq) = &mut *self.ranking {
            stfq.on_served(entry.rank);
        }
        Pick {
            queue: entry.queue,
            slot: Some(entry.slot),
        }
    }

    #[inline]
    fn on_departed(&mut self, _: QueueId, _: u32, _: Option<u32>, _: Time, _: impl FnMut(&Turn)) {}
}

#[cfg(test)]
mod tests;
