//! Per-port RED: marks on arrival when all queues of the port together, the packet included, are
//! longer than a threshold.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, sections 2.1 and 3.2.2.
//! Keeps latency low and throughput high, but marks a queue's packets for the length of other
//! queues, which violates the scheduler's policy. The law and its options are in
//! [`red`](super::red).

use tidegate_units::{ConfigError, Ratio, Size, Span};

use super::red::{Port, Red, Thresholds, red_settings};
use super::{Cx, MarkDecision, Marker, PortInfo};

red_settings! {
    /// Parameters of per-port RED.
    #[named("port-red", "marks by the length of all queues of the port", "schemes/port-red.md")]
    {
        /// Mark above this length of all queues together (`K`, or `K_max`). The default is from
        /// TCN's simulations with DCTCP (section 6.2).
        #[is(threshold)]
        pub threshold: Size = Size::Packets(65),
        /// Mark with a rising probability from this length on (`K_min`), or `none` for a single
        /// step.
        #[is(threshold)]
        pub min_threshold: Option<Size> = None,
        /// The probability that the rise reaches at `threshold` (`P_max`). Not used by a step.
        pub max_probability: Ratio = Ratio::ONE,
    }
}

/// Per-port RED.
#[derive(Clone, Debug)]
pub struct PortRed(Red<Port>);

impl PortRed {
    /// Builds per-port RED with these parameters.
    pub fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        let thresholds = Thresholds {
            high: config.threshold,
            low: config.min_threshold,
            max_probability: config.max_probability,
        };
        Red::new(&[thresholds], &config.law(), port).map(Self)
    }
}

impl Marker for PortRed {
    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        self.0.on_enqueue(cx)
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, _: Span) -> MarkDecision {
        self.0.on_dequeue(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;
    use crate::mark::testing::{cx, port_info};

    #[test]
    fn any_queue_is_marked_for_the_length_of_all() {
        let mut red = PortRed::new(&Config::default(), &port_info(8)).unwrap();
        let mut verdict = |queue, port_bytes| {
            let queue = tidegate_units::QueueId(queue);
            red.on_enqueue(&Cx { queue, port_bytes, ..cx() })
        };
        // 65 packets of 1500 bytes are 97 500, this packet included.
        assert_eq!(verdict(7, 96_000), MarkDecision::Pass);
        assert_eq!(verdict(7, 96_001), MarkDecision::Mark(Rule::PortLength));
        assert_eq!(verdict(0, 96_001), MarkDecision::Mark(Rule::PortLength));
    }

    #[test]
    fn departures_and_packets_are_options() {
        let config = Config {
            threshold: Size::Packets(2),
            min_threshold: Some(Size::Packets(2)),
            unit: crate::mark::red::Unit::Packets,
            decide: crate::mark::red::Point::Dequeue,
            ..Config::default()
        };
        let mut red = PortRed::new(&config, &port_info(1)).unwrap();
        let mut verdict = |port_packets| red.on_dequeue(&Cx { port_packets, ..cx() }, Span::ZERO);
        assert_eq!(
            [verdict(1), verdict(2)],
            [MarkDecision::Pass, MarkDecision::Mark(Rule::PortLength)]
        );
    }
}
