//! Per-queue RED: mark on arrival when the packet's own queue, the packet included, is longer than
//! a threshold.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, sections 2.1 and 3.2.1.
//! With the standard threshold C × RTT × λ on every queue this is current practice, and what TCN is
//! compared with. The law and its options are in [`red`](super::red).

use alloc::vec::Vec;

use tidegate_units::{ConfigError, QueueId, Size, Span};

use super::red::{self, Queue, Red, Thresholds, red_settings};
use super::{Cx, Marker, Site, Verdict};

red_settings! {
    /// Parameters of per-queue RED.
    {
        /// Mark above this length of the queue (`K`, or `K_max`): one value for all queues, or one
        /// per queue. The default is that of TCN's simulations with DCTCP (section 6.2).
        pub threshold: Vec<Size> = alloc::vec![Size::Packets(65)],
        /// Mark with a rising probability from this length on (`K_min`): one value for all queues,
        /// or one per queue; empty for a single step.
        pub min_threshold: Vec<Size> = Vec::new(),
    }
}

/// Per-queue RED.
#[derive(Clone, Debug)]
pub struct QueueRed(Red<Queue>);

impl QueueRed {
    /// Per-queue RED with these parameters.
    pub fn new(config: &Config, site: &Site) -> Result<Self, ConfigError> {
        let highs = red::per_queue("threshold", &config.threshold, site.queues)?;
        let lows: Vec<Option<Size>> = if config.min_threshold.is_empty() {
            alloc::vec![None; highs.len()]
        } else {
            let lows = red::per_queue("min_threshold", &config.min_threshold, site.queues)?;
            lows.into_iter().map(Some).collect()
        };
        let pairs = highs.into_iter().zip(lows);
        let thresholds: Vec<_> = pairs.map(|(high, low)| Thresholds { high, low }).collect();
        Red::new(&thresholds, &config.law(), site).map(Self)
    }
}

impl Marker for QueueRed {
    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> Verdict {
        self.0.on_enqueue(cx)
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, _: Span) -> Verdict {
        self.0.on_dequeue(cx)
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        self.0.threshold(queue.index())
    }
}
