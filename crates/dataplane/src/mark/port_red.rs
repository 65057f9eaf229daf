//! Per-port RED: mark on arrival when all queues of the port together, the packet included, are
//! longer than a threshold.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, sections 2.1 and 3.2.2.
//! Keeps latency low and throughput high, but a queue's packets are marked for the length of others,
//! which breaks the scheduler's policy. The law and its options are in [`red`](super::red).

use tidegate_units::{ConfigError, Size, Span};

use super::red::{Port, Red, Thresholds, red_settings};
use super::{Cx, Marker, Site, Verdict};

red_settings! {
    /// Parameters of per-port RED.
    {
        /// Mark above this length of all queues together (`K`, or `K_max`). The default is that of
        /// TCN's simulations with DCTCP (section 6.2).
        pub threshold: Size = Size::Packets(65),
        /// Mark with a rising probability from this length on (`K_min`), or `none` for a single step.
        pub min_threshold: Option<Size> = None,
    }
}

/// Per-port RED.
#[derive(Clone, Debug)]
pub struct PortRed(Red<Port>);

impl PortRed {
    /// Per-port RED with these parameters.
    pub fn new(config: &Config, site: &Site) -> Result<Self, ConfigError> {
        let thresholds = Thresholds {
            high: config.threshold,
            low: config.min_threshold,
        };
        Red::new(&[thresholds], &config.law(), site).map(Self)
    }
}

impl Marker for PortRed {
    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> Verdict {
        self.0.on_enqueue(cx)
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, _: Span) -> Verdict {
        self.0.on_dequeue(cx)
    }
}
