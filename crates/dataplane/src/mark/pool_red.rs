//! Per-pool RED: marks on arrival when the shared buffer pool, the packet included, is fuller than
//! a threshold.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, section 3.2.2 (service
//! pools), and "Congestion Control for High-speed Extremely Shallow-buffered Datacenter Networks",
//! `APNet` 2017, section 4.2 (shared buffer ECN/RED). The law and its options are in
//! [`red`](super::red). The counts of a correction and the average are per port.

use tidegate_units::{Bytes, ConfigError, Ratio, Size, Span};

use super::red::{Pool, Red, Thresholds, red_settings};
use super::{Cx, MarkDecision, Marker, PortInfo};

red_settings! {
    /// Parameters of per-pool RED.
    #[named("pool-red", "marks by the fill of the shared pool", "schemes/pool-red.md",
        "buffer = { kind = \"dynamic-threshold\" }\n")]
    {
        /// Mark above this use of the pool (`K`, or `K_max`). Default: the upper threshold of BCC's
        /// simulations, B − B_R / α for a pool of 3 MiB.
        #[is(threshold)]
        pub threshold: Size = Size::Bytes(Bytes(2_727_608)),
        /// Mark with a rising probability from this use on (`K_min`), or `none` for a single step.
        #[is(threshold)]
        pub min_threshold: Option<Size> = None,
        /// The probability that the rise reaches at `threshold` (`P_max`). Not used by a step.
        pub max_probability: Ratio = Ratio::ONE,
    }
    {
        /// Bytes in a packet. A pool counts bytes of packets of any size, so thresholds in packets
        /// need this value. Without it an average decays by 1500 bytes at a time.
        pub packet_size: Option<u32> = None,
    }
}

/// Per-pool RED.
#[derive(Clone, Debug)]
pub struct PoolRed(Red<Pool>);

impl PoolRed {
    /// Builds per-pool RED with these parameters.
    pub fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        let thresholds = Thresholds {
            high: config.threshold,
            low: config.min_threshold,
            max_probability: config.max_probability,
        };
        Red::new(&[thresholds], &config.law(), port).map(Self)
    }
}

impl Marker for PoolRed {
    const READS_POOL: bool = true;

    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        self.0.on_enqueue(cx)
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, _: Span) -> MarkDecision {
        self.0.on_dequeue(cx)
    }

    fn ignores_pool_below(&self) -> u32 {
        self.0.ignores_below()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::Rule;
    use crate::mark::testing::{cx, port_info};

    #[test]
    fn a_packet_is_marked_for_the_pool_that_it_would_join() {
        let mut red = PoolRed::new(&Config::default(), &port_info(1)).unwrap();
        let mut verdict = |pool_bytes| {
            let queue_bytes = u32::MAX;
            red.on_enqueue(&Cx { pool_bytes, queue_bytes, port_bytes: u32::MAX, ..cx() })
        };
        // 2 727 608 bytes including this packet's 1500.
        assert_eq!(verdict(2_726_108), MarkDecision::Pass);
        assert_eq!(verdict(2_726_109), MarkDecision::Mark(Rule::PoolLength));
    }

    #[test]
    fn thresholds_in_packets_need_the_size_of_a_packet() {
        let made = |packet_size| {
            let config = Config { threshold: Size::Packets(20), packet_size, ..Config::default() };
            PoolRed::new(&config, &port_info(1))
        };
        let error = made(None).unwrap_err().to_string();
        assert!(
            error.starts_with("threshold = 20pkts") && error.contains("`packet_size`"),
            "{error}"
        );
        let mut red = made(Some(1_538)).unwrap();
        let mut verdict = |pool_bytes| red.on_enqueue(&Cx { pool_bytes, ..cx() });
        // 20 packets of 1538 bytes, including this packet's 1500.
        assert_eq!(verdict(29_260), MarkDecision::Pass);
        assert_eq!(verdict(29_261), MarkDecision::Mark(Rule::PoolLength));
    }

    #[test]
    fn departures_are_an_option() {
        let config = Config {
            threshold: Size::Bytes(Bytes(3_000)),
            min_threshold: Some(Size::Bytes(Bytes(1_000))),
            max_probability: Ratio::ZERO,
            decide: crate::mark::red::Point::Dequeue,
            ..Config::default()
        };
        let mut red = PoolRed::new(&config, &port_info(1)).unwrap();
        let mut verdict = |pool_bytes| red.on_dequeue(&Cx { pool_bytes, ..cx() }, Span::ZERO);
        assert_eq!(
            [verdict(1_500), verdict(1_501)],
            [MarkDecision::Pass, MarkDecision::Mark(Rule::PoolLength)]
        );
    }
}
