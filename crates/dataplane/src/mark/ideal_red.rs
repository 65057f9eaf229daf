//! Ideal RED: marks on arrival when the packet's own queue, the packet included, is longer than the
//! queue's known capacity allows.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, section 3.1, equation 2:
//! `K_i` = `C_i` × RTT × λ, with `C_i` the rate at which queue i drains. No switch knows `C_i`
//! while traffic changes (section 3.3), so this is a yardstick: capacities are configured, and a
//! host that knows the true ones can set them with [`IdealRed::set_capacity`].
//!
//! RTT × λ is exact to the picosecond and `K_i` to the byte, both rounded down.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use tidegate_units::{ConfigError, QueueId, Rate, Ratio, Size, Span, settings};

use super::red;
use super::{Cx, MarkDecision, Marker, PortInfo};
use crate::Rule;

settings! {
    /// Parameters of ideal RED.
    #[named("ideal-red", "marks by queue length, thresholds by the queues' known rates",
        "schemes/ideal-red.md")]
    pub struct Config {
        /// Rate at which each queue drains (`C_i`): one value for all queues, or one per queue.
        /// Empty: equal shares of the link.
        pub capacities: Vec<Rate> = Vec::new(),
        /// The base round-trip time. TCN, section 3.3: 100 µs.
        pub rtt: Span = Span::from_us(100),
        /// Fraction of a bandwidth-delay product that the congestion control needs (`λ`). TCN,
        /// section 2.1: 1 for ECN*.
        pub lambda: Ratio = Ratio::ONE,
        /// Thresholds (`K_i`) that replace the three fields above: one value for all queues, or one
        /// per queue. The testbed of TCN's figure 5b has 8 KB for two queues.
        #[is(threshold)]
        pub thresholds: Vec<Size> = Vec::new(),
        /// Bytes in a packet, for thresholds given in packets.
        pub packet_size: u32 = 1500,
    }
}

/// Ideal RED.
#[derive(Clone, Debug)]
pub struct IdealRed {
    /// Thresholds in bytes, by queue.
    thresholds: Box<[u32]>,
    /// RTT × λ.
    delay: Span,
}

impl IdealRed {
    /// Builds ideal RED with these parameters.
    pub fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        let delay = config.lambda.of_span(config.rtt);
        let packet = red::packet_size("packet_size", config.packet_size)?;
        let thresholds: Box<[u32]> = if config.thresholds.is_empty() {
            let capacities = capacities(&config.capacities, port)?;
            let threshold = |capacity| threshold(capacity, delay);
            capacities.into_iter().map(threshold).collect()
        } else {
            let sizes = red::per_queue("thresholds", &config.thresholds, port.queues)?;
            let threshold = |size| red::bytes("thresholds", size, packet);
            sizes.into_iter().map(threshold).collect::<Result<_, _>>()?
        };
        Ok(Self { thresholds, delay })
    }

    /// Sets the rate at which `queue` drains.
    pub fn set_capacity(&mut self, queue: QueueId, capacity: Rate) {
        if let Some(place) = self.thresholds.get_mut(queue.index()) {
            *place = threshold(capacity, self.delay);
        }
    }
}

impl Marker for IdealRed {
    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        let length = u64::from(cx.queue_bytes) + u64::from(cx.pkt.len);
        let threshold = self.thresholds.get(cx.queue.index());
        let hit = threshold.is_some_and(|&threshold| length > u64::from(threshold));
        MarkDecision::mark_if(hit, Rule::QueueLength)
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        self.thresholds.get(queue.index()).copied()
    }
}

/// TCN, equation 2; saturates.
fn threshold(capacity: Rate, delay: Span) -> u32 {
    u32::try_from(capacity.bytes_in(delay)).unwrap_or(u32::MAX)
}

/// The capacity of each queue.
fn capacities(list: &[Rate], port: &PortInfo) -> Result<Vec<Rate>, ConfigError> {
    if list.is_empty() {
        let share = port.rate.as_bps() / u64::from(port.queues.max(1));
        let share = Rate::from_bps(share).unwrap_or(port.rate);
        return Ok(alloc::vec![share; usize::from(port.queues)]);
    }
    let list = red::per_queue("capacities", list, port.queues)?;
    match list.iter().find(|&&capacity| capacity > port.rate) {
        None => Ok(list),
        Some(capacity) => {
            let allowed = format!("at most the link's {}", port.rate);
            Err(ConfigError::out_of_range("capacities", capacity, allowed))
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use tidegate_units::Bytes;

    use super::*;
    use crate::mark::testing::{cx, port_info};

    fn made(config: &Config, queues: u8) -> IdealRed {
        IdealRed::new(config, &port_info(queues)).unwrap()
    }

    fn thresholds(red: &IdealRed, queues: u8) -> Vec<Option<u32>> {
        (0..=queues).map(|queue| red.threshold(QueueId(queue))).collect()
    }

    #[test]
    fn a_threshold_is_the_capacity_times_the_delay() {
        // 10 Gb/s × 100 µs = 125 000 bytes, halved for each of two queues.
        let red = made(&Config::default(), 2);
        assert_eq!(thresholds(&red, 2), [Some(62_500), Some(62_500), None]);
        // 7.5 and 2.5 Gb/s × 80 µs × 0.72: 57.6 µs, 54 000 and 18 000 bytes.
        let config = Config {
            capacities: vec!["7.5Gbps".parse().unwrap(), "2.5Gbps".parse().unwrap()],
            rtt: Span::from_us(80),
            lambda: "0.72".parse().unwrap(),
            ..Config::default()
        };
        let red = made(&config, 2);
        assert_eq!(thresholds(&red, 2), [Some(54_000), Some(18_000), None]);
    }

    #[test]
    fn thresholds_can_be_given() {
        let config = Config {
            thresholds: vec![Size::Packets(2), Size::Bytes(Bytes(8_000))],
            ..Config::default()
        };
        let mut red = made(&config, 2);
        assert_eq!(thresholds(&red, 2), [Some(3_000), Some(8_000), None]);
        let mut verdict = |queue, queue_bytes| {
            let queue = QueueId(queue);
            red.on_enqueue(&Cx { queue, queue_bytes, ..cx() })
        };
        let mark = MarkDecision::Mark(Rule::QueueLength);
        // The packet's own 1500 bytes count.
        assert_eq!([verdict(0, 1_500), verdict(0, 1_501)], [MarkDecision::Pass, mark]);
        assert_eq!([verdict(1, 6_500), verdict(1, 6_501)], [MarkDecision::Pass, mark]);
        assert_eq!(verdict(2, u32::MAX), MarkDecision::Pass, "the queue does not exist");
    }

    #[test]
    fn a_capacity_can_be_moved() {
        let mut red = made(&Config::default(), 2);
        red.set_capacity(QueueId(1), Rate::from_gbps(10));
        red.set_capacity(QueueId(2), Rate::from_gbps(10));
        assert_eq!(thresholds(&red, 2), [Some(62_500), Some(125_000), None]);
        red.set_capacity(QueueId(0), Rate::from_bps(u64::MAX).unwrap());
        assert_eq!(red.threshold(QueueId(0)), Some(u32::MAX), "saturates");
    }

    #[test]
    fn impossible_parameters_are_named() {
        let error = |config: Config| match IdealRed::new(&config, &port_info(2)) {
            Err(ConfigError::OutOfRange { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        let capacities = |gbps: &[u32]| Config {
            capacities: gbps.iter().map(|&gbps| Rate::from_gbps(gbps)).collect(),
            ..Config::default()
        };
        assert_eq!(error(capacities(&[1, 2, 3])), "capacities");
        assert_eq!(error(capacities(&[10, 11])), "capacities");
        assert!(IdealRed::new(&capacities(&[10]), &port_info(2)).is_ok());
        let sizes = |bytes: &[u64]| Config {
            thresholds: bytes.iter().map(|&bytes| Size::Bytes(Bytes(bytes))).collect(),
            ..Config::default()
        };
        let packet_size = 0;
        assert_eq!(error(Config { packet_size, ..Config::default() }), "packet_size");
        assert_eq!(error(sizes(&[1, 2, 3])), "thresholds");
        assert_eq!(error(sizes(&[1 << 32])), "thresholds");
    }
}
