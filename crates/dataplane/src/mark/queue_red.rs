//! Per-queue RED: marks on arrival when the packet's own queue, the packet included, is longer than
//! a threshold.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, sections 2.1 and 3.2.1.
//! With the standard threshold C × RTT × λ on every queue this is current practice, and the
//! baseline that TCN is compared with. The law and its options are in [`red`].

use alloc::vec::Vec;

use tidegate_units::{Bytes, ConfigError, QueueId, Rate, Ratio, Size, Span};

use super::red::{self, Queue, Red, Thresholds, red_settings};
use super::{Cx, MarkDecision, Marker, PortInfo};

red_settings! {
    /// Parameters of per-queue RED.
    #[named("queue-red", "marks by the length of the packet's own queue", "schemes/queue-red.md")]
    {
        /// Mark above this length of the queue (`K`, or `K_max`): one value for all queues, or one
        /// per queue. The default is from TCN's simulations with DCTCP (section 6.2).
        #[is(threshold)]
        pub threshold: Vec<Size> = alloc::vec![Size::Packets(65)],
        /// Mark with a rising probability from this length on (`K_min`): one value for all queues,
        /// or one per queue; empty for a single step.
        #[is(threshold)]
        pub min_threshold: Vec<Size> = Vec::new(),
        /// Port speed that the thresholds are given for. At other speeds they scale in proportion,
        /// as `K` = C × RTT × λ does. `none` for the same thresholds at all ports.
        pub speed: Option<Rate> = None,
        /// The probability that the rise reaches at `threshold` (`P_max`): one value for all
        /// queues, or one per queue. Not used by a step.
        pub max_probability: Vec<Ratio> = alloc::vec![Ratio::ONE],
    }
}

/// Per-queue RED.
#[derive(Clone, Debug)]
pub struct QueueRed(Red<Queue>);

impl QueueRed {
    /// Builds per-queue RED with these parameters.
    pub fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        let of_port = |sizes: Vec<Size>| match config.speed {
            Some(speed) => {
                sizes.into_iter().map(|size| in_proportion(size, port.rate, speed)).collect()
            }
            None => sizes,
        };
        let highs = of_port(red::per_queue("threshold", &config.threshold, port.queues)?);
        let lows: Vec<Option<Size>> = if config.min_threshold.is_empty() {
            alloc::vec![None; highs.len()]
        } else {
            let lows = red::per_queue("min_threshold", &config.min_threshold, port.queues)?;
            of_port(lows).into_iter().map(Some).collect()
        };
        let probabilities =
            red::per_queue("max_probability", &config.max_probability, port.queues)?;
        let of_queues = highs.into_iter().zip(lows).zip(probabilities);
        let thresholds: Vec<_> = of_queues
            .map(|((high, low), max_probability)| Thresholds { high, low, max_probability })
            .collect();
        Red::new(&thresholds, &config.law(), port).map(Self)
    }
}

/// A threshold given for ports of one speed, scaled to a port of another; rounded down.
pub fn in_proportion(size: Size, rate: Rate, speed: Rate) -> Size {
    let scaled = |length: u64| {
        let product = u128::from(length) * u128::from(rate.as_bps());
        u64::try_from(product / u128::from(speed.as_bps())).unwrap_or(u64::MAX)
    };
    match size {
        Size::Bytes(Bytes(length)) => Size::Bytes(Bytes(scaled(length))),
        Size::Packets(count) => {
            Size::Packets(scaled(u64::from(count)).try_into().unwrap_or(u32::MAX))
        }
    }
}

impl Marker for QueueRed {
    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        self.0.on_enqueue(cx)
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, _: Span) -> MarkDecision {
        self.0.on_dequeue(cx)
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        self.0.threshold(queue.index())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::Rule;
    use crate::mark::testing::{cx, port_info};

    fn made(config: &Config) -> QueueRed {
        QueueRed::new(config, &port_info(2)).unwrap()
    }

    #[test]
    fn a_queue_is_marked_for_its_own_length_only() {
        let mut red = made(&Config::default());
        let mut verdict = |queue_bytes| {
            red.on_enqueue(&Cx { queue_bytes, port_bytes: u32::MAX, pool_bytes: u32::MAX, ..cx() })
        };
        // 65 packets of 1500 bytes are 97 500, this packet included.
        assert_eq!(verdict(96_000), MarkDecision::Pass);
        assert_eq!(verdict(96_001), MarkDecision::Mark(Rule::QueueLength));
        assert_eq!(red.threshold(QueueId(1)), Some(97_500));
    }

    #[test]
    fn each_queue_can_have_its_own_thresholds() {
        let size = |bytes| Size::Bytes(Bytes(bytes));
        let config = Config {
            threshold: vec![size(3_000), size(6_000)],
            min_threshold: vec![size(3_000), size(0)],
            max_probability: vec![Ratio::ZERO],
            decide: red::Point::Dequeue,
            ..Config::default()
        };
        let mut red = made(&config);
        let mut marked = |queue, queue_bytes| {
            let cx = Cx { queue: QueueId(queue), queue_bytes, ..cx() };
            red.on_dequeue(&cx, Span::ZERO) != MarkDecision::Pass
        };
        assert_eq!([marked(0, 1_500), marked(0, 1_501)], [false, true]);
        assert_eq!([marked(1, 4_500), marked(1, 4_501)], [false, true]);
    }

    #[test]
    fn thresholds_for_one_speed_are_in_proportion_at_others() {
        let speed = port_info(2).rate;
        let at = |numerator: u64, denominator: u64| {
            let speed = Rate::from_bps(speed.as_bps() * denominator / numerator).unwrap();
            let config = Config {
                threshold: vec![Size::Bytes(Bytes(6_000)), Size::Packets(8)],
                speed: Some(speed),
                ..Config::default()
            };
            let red = made(&config);
            [QueueId(0), QueueId(1)].map(|queue| red.threshold(queue))
        };
        assert_eq!(at(1, 1), [Some(6_000), Some(12_000)]);
        assert_eq!(at(4, 1), [Some(24_000), Some(48_000)]);
        assert_eq!(at(1, 4), [Some(1_500), Some(3_000)]);
    }

    #[test]
    fn lists_of_the_wrong_length_are_named() {
        let error = |config: Config| match QueueRed::new(&config, &port_info(2)) {
            Err(ConfigError::OutOfRange { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        let three = vec![Size::Packets(1); 3];
        assert_eq!(error(Config { threshold: three.clone(), ..Config::default() }), "threshold");
        assert_eq!(error(Config { threshold: vec![], ..Config::default() }), "threshold");
        assert_eq!(error(Config { min_threshold: three, ..Config::default() }), "min_threshold");
        assert_eq!(
            error(Config { max_probability: vec![Ratio::ONE; 3], ..Config::default() }),
            "max_probability"
        );
    }
}
