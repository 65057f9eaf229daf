//! Strict priority: serves the highest-priority queue that holds a packet.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, section 2.2. Each queue
//! is first in, first out, and a packet on the wire is never preempted. Queue 0 has the highest
//! priority, as in the authors' simulator and kernel module; ECN♯'s simulator has the opposite
//! order, which is an option.

use tidegate_units::{ConfigError, QueueId, Time, choices, settings};

use super::queue_set::QueueSet;
use super::{Build, Pick, Scheduler, Turn};

choices! {
    /// Queue with the highest priority.
    #[non_exhaustive]
    pub enum Order {
        /// The queue with the largest number (ECN♯'s simulator).
        HighestFirst = "highest-first",
        /// Queue 0 (TCN's simulator and kernel module).
        LowestFirst = "lowest-first",
    }
}

settings! {
    /// Parameters of strict priority.
    #[named("sp", "serves the highest-priority queue that holds a packet",
        "schedulers.md#Strict priority")]
    pub struct Config {
        /// Number of queues. ECN♯ with PIAS has 4 (its simulator), a switching chip has 8.
        pub queues: u8 = 8,
        /// Queue with the highest priority.
        pub order: Order = Order::LowestFirst,
    }
}

impl Build for Config {
    type Scheduler = Strict;

    fn build(&self) -> Result<Strict, ConfigError> {
        Strict::new(self)
    }
}

/// Strict priority.
#[derive(Clone, Debug)]
pub struct Strict {
    /// Queues that hold packets.
    active: QueueSet,
    queues: u8,
    order: Order,
}

impl Strict {
    /// Builds strict priority with these parameters.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            active: QueueSet::default(),
            queues: super::queue_count("queues", usize::from(config.queues))?,
            order: config.order,
        })
    }
}

impl Scheduler for Strict {
    #[inline]
    fn queues(&self) -> u8 {
        self.queues
    }

    #[inline]
    fn on_active(&mut self, queue: QueueId, _: u32, _: Time, _: impl FnMut(&Turn)) {
        self.active.insert(queue);
    }

    #[inline]
    fn pick(&mut self, _: Time, _: impl FnMut(&Turn)) -> Pick {
        let queue = match self.order {
            Order::HighestFirst => self.active.last(),
            Order::LowestFirst => self.active.first(),
        };
        Pick::head(queue.expect("`pick` is called only while a packet waits"))
    }

    #[inline]
    fn on_departed(
        &mut self,
        queue: QueueId,
        _: u32,
        next: Option<u32>,
        _: Time,
        _: impl FnMut(&Turn),
    ) {
        if next.is_none() {
            self.active.remove(queue);
        }
    }

    fn withdraw(&mut self, queue: QueueId, _: &[u32], _: Time, _: impl FnMut(&Turn)) {
        self.active.remove(queue);
    }

    fn first(&self) -> Option<QueueId> {
        Some(match self.order {
            Order::HighestFirst => QueueId(self.queues - 1),
            Order::LowestFirst => QueueId(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::testing::Bench;

    fn served(order: Order) -> alloc::vec::Vec<u32> {
        let mut bench = Bench::new(Strict::new(&Config { queues: 128, order }).unwrap());
        for (id, queue) in [(1, 127), (2, 5), (3, 64), (4, 5), (5, 0)] {
            bench.enqueue(id, queue, 100);
        }
        let mut served = alloc::vec![bench.dequeue()];
        // A packet that arrives during a transmission is served by its own priority.
        bench.enqueue(6, 0, 100);
        bench.enqueue(7, 127, 100);
        served.extend(bench.drain());
        assert!(bench.turns().is_empty());
        served
    }

    #[test]
    fn the_highest_priority_goes_first_and_each_queue_is_fifo() {
        assert_eq!(served(Order::LowestFirst), [5, 6, 2, 4, 3, 1, 7]);
        assert_eq!(served(Order::HighestFirst), [1, 7, 3, 2, 4, 5, 6]);
    }

    #[test]
    fn the_number_of_queues_is_checked() {
        let of =
            |queues| Config { queues, ..Config::default() }.build().map(|strict| strict.queues());
        assert_eq!((of(1), of(128)), (Ok(1), Ok(128)));
        assert!(of(0).is_err() && of(129).is_err());
    }
}
