//! FIFO: packets of all queues leave in order of arrival.
//!
//! Several queues share one list. Each still has its own counters and length, so that a per-queue
//! scheme can watch classes that are not scheduled separately.

use tidegate_units::{ConfigError, QueueId, Time, settings};

use super::{Build, Pick, Scheduler, Turn};

settings! {
    /// Parameters of FIFO.
    #[named("fifo", "serves packets of all queues in order of arrival",
        "schedulers.md#FIFO")]
    pub struct Config {
        /// Number of queues that share the list.
        pub queues: u8 = 1,
    }
}

impl Build for Config {
    type Scheduler = Fifo;

    fn build(&self) -> Result<Fifo, ConfigError> {
        Fifo::new(self.queues)
    }
}

/// First in, first out.
#[derive(Clone, Debug)]
pub struct Fifo {
    queues: u8,
}

impl Fifo {
    /// A FIFO for `queues` classes.
    pub fn new(queues: u8) -> Result<Self, ConfigError> {
        Ok(Self { queues: super::queue_count("queues", usize::from(queues))? })
    }
}

impl Scheduler for Fifo {
    #[inline]
    fn queues(&self) -> u8 {
        self.queues
    }

    #[inline]
    fn is_merged(&self) -> bool {
        true
    }

    #[inline]
    fn on_active(&mut self, _: QueueId, _: u32, _: Time, _: impl FnMut(&Turn)) {}

    #[inline]
    fn pick(&mut self, _: Time, _: impl FnMut(&Turn)) -> Pick {
        Pick::head(QueueId(0))
    }

    #[inline]
    fn on_departed(&mut self, _: QueueId, _: u32, _: Option<u32>, _: Time, _: impl FnMut(&Turn)) {}

    fn withdraw(&mut self, _: QueueId, _: &[u32], _: Time, _: impl FnMut(&Turn)) {}
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::sched::testing::Bench;

    #[test]
    fn packets_of_all_queues_leave_in_order_of_arrival() {
        let mut bench = Bench::new(Fifo::new(3).unwrap());
        for (id, queue) in [(1, 2), (2, 0), (3, 2), (4, 1)] {
            bench.enqueue(id, queue, 100);
        }
        assert_eq!(bench.drain(), [1, 2, 3, 4]);
        bench.enqueue(5, 1, 100);
        assert_eq!(bench.port.queue_stats(QueueId(1)).unwrap().held_bytes, 100);
        assert_eq!(bench.drain(), [5]);
        assert!(bench.turns().is_empty());
    }

    #[test]
    fn the_number_of_queues_is_checked() {
        assert_eq!(
            Config { queues: 0 }.build().unwrap_err().to_string(),
            "queues = 0 queues is out of range; allowed: 1 to 128 queues"
        );
        assert!(Fifo::new(129).is_err());
        assert_eq!(Fifo::new(128).unwrap().queues(), 128);
    }
}
