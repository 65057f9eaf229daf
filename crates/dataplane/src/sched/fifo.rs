//! FIFO: packets leave in the order in which they came, whatever their queue.
//!
//! Several queues share one list. They still have counters and lengths of their own, so that a
//! per-queue scheme can watch classes that are not scheduled apart.

use tidegate_units::{ConfigError, QueueId, Time};

use super::{Pick, Scheduler, Turn};

/// First in, first out.
#[derive(Clone, Debug)]
pub struct Fifo {
    queues: u8,
}

impl Fifo {
    /// A FIFO for `queues` classes.
    pub fn new(queues: u8) -> Result<Self, ConfigError> {
        Ok(Self {
            queues: super::queue_count("queues", usize::from(queues))?,
        })
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
}
