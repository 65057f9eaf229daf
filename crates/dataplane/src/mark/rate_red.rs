//! Rate-estimating RED: marks on arrival when the packet's own queue, the packet included, is
//! longer than the measured departure rate allows.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, section 3.3, Algorithm
//! 1, which takes the departure rate estimator of PIE (Pan et al., HPSR 2013). A cycle of
//! measurement starts when the queue is long enough to last through it and ends when as many bytes
//! have left; the threshold follows the smoothed rate: `K_i` = min(rate / C, 1) × `K_port`.
//!
//! Where the paper is silent, the authors' simulator decides. The queue length is read after the
//! packet was removed. The packet that starts a cycle counts. A cycle lasts until its last packet
//! is off the wire, and the next one starts at that moment if the queue is still long enough. The
//! estimate neither decays nor resets while the queue is idle. Rates are whole bits per second,
//! rounded down.

use alloc::boxed::Box;

use tidegate_units::{
    ByteTime, Bytes, ConfigError, QueueId, Rate, Ratio, Size, Span, Time, settings,
};

use super::{Cx, MarkDecision, Marker, PortInfo, red};
use crate::Rule;

settings! {
    /// Parameters of rate-estimating RED.
    #[named("rate-red", "marks by queue length, threshold by the queue's measured rate",
        "schemes/rate-red.md")]
    pub struct Config {
        /// Threshold of a queue that has the link to itself (`K_port`): C × RTT × λ. TCN, section
        /// 3.3: 125 KB.
        #[is(threshold)]
        pub port_threshold: Size = Size::Bytes(Bytes(125_000)),
        /// A cycle starts at this queue length and ends after as many bytes (`dq_thresh`). TCN,
        /// section 3.3: 10 KB as PIE recommends; 40 KB is the other value tried.
        pub measure_threshold: Bytes = Bytes(10_000),
        /// Weight of the old value when a sample is averaged in. TCN, section 3.3: 0.875.
        pub old_weight: Ratio = SEVEN_EIGHTHS,
        /// Bytes in a packet, for a threshold given in packets.
        pub packet_size: u32 = 1500,
    }
}

const SEVEN_EIGHTHS: Ratio = match Ratio::new(7, 8) {
    Some(ratio) => ratio,
    None => Ratio::ONE,
};

/// Rate-estimating RED.
#[derive(Clone, Debug)]
pub struct RateRed {
    queues: Box<[State]>,
    /// Boxed to keep the enum of all schemes small.
    cycles: Box<Cycles>,
    measure_threshold: u32,
}

/// State that is needed only when a cycle ends.
#[derive(Clone, Debug)]
struct Cycles {
    wire: ByteTime,
    old_weight: Ratio,
    /// The newest sample in bits per second; zero before the first one (`dq_rate`).
    sample: u64,
    port_threshold: u32,
    /// The queue that was sampled.
    sampled: QueueId,
}

#[derive(Clone, Debug)]
struct State {
    /// The smoothed rate in bits per second; zero before the first sample (`avg_rate`).
    average: u64,
    /// Start of the cycle (`dq_start`); `Time::MAX` between cycles.
    start: Time,
    /// Bytes that have left in this cycle (`dq_count`).
    count: u32,
    /// Length above which packets are marked: `average` as a threshold.
    threshold: u32,
}

impl State {
    const NOT_MEASURING: Time = Time::MAX;
}

impl RateRed {
    /// Builds rate-estimating RED with these parameters, on a link of the port's rate.
    pub fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        let packet = red::packet_size("packet_size", config.packet_size)?;
        let port_threshold = red::bytes("port_threshold", config.port_threshold, packet)?;
        let Ok(measure_threshold @ 1..) = u32::try_from(config.measure_threshold.0) else {
            let allowed = alloc::format!("1B to {}", Bytes(u64::from(u32::MAX)));
            let value = config.measure_threshold;
            return Err(ConfigError::out_of_range("measure_threshold", value, allowed));
        };
        if config.old_weight > Ratio::ONE {
            return Err(ConfigError::out_of_range("old_weight", config.old_weight, "0 to 1"));
        }
        let state =
            State { average: 0, start: State::NOT_MEASURING, count: 0, threshold: port_threshold };
        Ok(Self {
            queues: alloc::vec![state; usize::from(port.queues)].into(),
            cycles: Box::new(Cycles {
                wire: ByteTime::new(port.rate),
                old_weight: config.old_weight,
                sample: 0,
                port_threshold,
                sampled: QueueId(0),
            }),
            measure_threshold,
        })
    }

    /// Newest sample of a rate, before smoothing, with its queue. A departure makes at most one, so
    /// a host that reads this after each departure sees all samples.
    pub fn last_sample(&self) -> Option<(QueueId, Rate)> {
        Some((self.cycles.sampled, Rate::from_bps(self.cycles.sample)?))
    }

    /// Ends a cycle whose last packet takes until `end`, and starts the next one there if the
    /// queue, now `left` bytes long, lasts through it.
    #[cold]
    fn end_cycle(&mut self, queue: QueueId, end: Time, left: u32) {
        let Some(state) = self.queues.get_mut(queue.index()) else {
            return;
        };
        // A cycle of no duration, or slower than 1 bit per second, gives no sample.
        if let Some(rate) = Rate::from_bytes_over(u64::from(state.count), end - state.start) {
            let cycles = &mut *self.cycles;
            cycles.sample = rate.as_bps();
            cycles.sampled = queue;
            state.average = match state.average {
                0 => cycles.sample,
                average => smooth(average, cycles.sample, cycles.old_weight),
            };
            state.threshold = share(cycles.port_threshold, state.average, cycles.wire.rate());
        }
        state.count = 0;
        state.start = if left < self.measure_threshold { State::NOT_MEASURING } else { end };
    }
}

impl Marker for RateRed {
    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        let length = u64::from(cx.queue_bytes) + u64::from(cx.pkt.len);
        let state = self.queues.get(cx.queue.index());
        let hit = state.is_some_and(|state| length > u64::from(state.threshold));
        MarkDecision::mark_if(hit, Rule::QueueLength)
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, _: Span) -> MarkDecision {
        let Some(state) = self.queues.get_mut(cx.queue.index()) else {
            return MarkDecision::Pass;
        };
        if state.start == State::NOT_MEASURING {
            if cx.queue_bytes < self.measure_threshold {
                return MarkDecision::Pass;
            }
            state.start = cx.now;
        }
        state.count = state.count.saturating_add(cx.pkt.len);
        if state.count >= self.measure_threshold {
            let end = cx.now + self.cycles.wire.span(cx.pkt.len);
            self.end_cycle(cx.queue, end, cx.queue_bytes);
        }
        MarkDecision::Pass
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        Some(self.queues.get(queue.index())?.threshold)
    }

    fn capacity(&self, queue: QueueId) -> Option<Rate> {
        Rate::from_bps(self.queues.get(queue.index())?.average)
    }
}

/// The average after a sample, rounded down. `old_weight` is at most one.
fn smooth(average: u64, sample: u64, old_weight: Ratio) -> u64 {
    let old = u128::from(old_weight.numerator());
    let all = u128::from(old_weight.denominator());
    // Lies between the two values.
    ((u128::from(average) * old + u128::from(sample) * (all - old)) / all) as u64
}

/// `whole` times `bps` over `rate`, at most `whole`, rounded down. Exact for marking: a whole
/// length is above a number if and only if it is above the number rounded down.
fn share(whole: u32, bps: u64, rate: Rate) -> u32 {
    let bps = bps.min(rate.as_bps());
    // At most `whole`.
    (u128::from(whole) * u128::from(bps) / u128::from(rate.as_bps())) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::testing::{cx, port_info};

    const QUEUE: QueueId = QueueId(0);

    fn made(config: &Config) -> RateRed {
        RateRed::new(config, &port_info(2)).unwrap()
    }

    /// A packet of `len` bytes leaves at `ns` and leaves `left` bytes behind.
    fn depart(red: &mut RateRed, ns: u64, len: u32, left: u32) {
        let mut cx = Cx { now: Time::from_ns(ns), queue_bytes: left, ..cx() };
        cx.pkt.len = len;
        assert_eq!(red.on_dequeue(&cx, Span::ZERO), MarkDecision::Pass);
    }

    fn rates(red: &RateRed) -> [Option<u64>; 2] {
        let sample = red.last_sample().filter(|(queue, _)| *queue == QUEUE);
        [sample.map(|(_, rate)| rate), red.capacity(QUEUE)].map(|rate| rate.map(Rate::as_bps))
    }

    #[test]
    fn a_cycle_starts_only_at_a_long_queue_and_counts_its_first_packet() {
        let mut red = made(&Config::default());
        depart(&mut red, 0, 10_000, 9_999);
        assert_eq!(rates(&red), [None, None], "9999 bytes do not start a cycle");
        // 10 000 bytes at once, off the wire after 8 µs: the link's own rate.
        depart(&mut red, 0, 10_000, 10_000);
        assert_eq!(rates(&red), [Some(10_000_000_000); 2]);
    }

    #[test]
    fn a_cycle_ends_at_the_threshold_and_not_before() {
        let mut red = made(&Config::default());
        depart(&mut red, 0, 5_000, 20_000);
        depart(&mut red, 8_000, 4_999, 20_000);
        assert_eq!(rates(&red), [None, None]);
        // 10 000 bytes in 16 µs and the 0.8 ns that the last byte takes.
        depart(&mut red, 16_000, 1, 20_000);
        assert_eq!(rates(&red)[0], Some(10_000 * 8 * 1_000_000_000_000 / 16_000_800));
    }

    #[test]
    fn the_next_cycle_starts_where_the_last_packet_ends_if_the_queue_is_long() {
        let mut red = made(&Config::default());
        depart(&mut red, 0, 10_000, 10_000);
        // The second cycle runs from 8 µs to 16 + 8 = 24 µs: 5 Gb/s.
        depart(&mut red, 16_000, 10_000, 9_999);
        // 7/8 × 10 + 1/8 × 5 Gb/s.
        assert_eq!(rates(&red), [Some(5_000_000_000), Some(9_375_000_000)]);
        // The queue was too short for another cycle: the third cycle starts with its own first
        // packet.
        depart(&mut red, 100_000, 10_000, 10_000);
        assert_eq!(rates(&red)[0], Some(10_000_000_000));
    }

    #[test]
    fn the_count_restarts_with_each_cycle() {
        let mut red = made(&Config::default());
        depart(&mut red, 0, 10_000, 10_000);
        depart(&mut red, 8_000, 9_999, 10_000);
        depart(&mut red, 100_000, 1, 0);
        // 10 000 bytes from 8 µs to 100.0008 µs.
        assert_eq!(rates(&red)[0], Some(10_000 * 8 * 1_000_000_000_000 / 92_000_800));
    }

    #[test]
    fn the_threshold_follows_the_estimate_and_stays_below_that_of_the_port() {
        let mut red = made(&Config::default());
        assert_eq!(red.threshold(QUEUE), Some(125_000));
        // 10 000 bytes in 8 + 8 µs: 5 Gb/s.
        depart(&mut red, 0, 5_000, 10_000);
        depart(&mut red, 12_000, 5_000, 0);
        assert_eq!(rates(&red)[1], Some(5_000_000_000));
        assert_eq!(red.threshold(QUEUE), Some(62_500));
        assert_eq!(red.threshold(QueueId(1)), Some(125_000), "each queue by itself");
        assert_eq!(red.threshold(QueueId(2)), None);
        let mut verdict =
            |queue, queue_bytes| red.on_enqueue(&Cx { queue: QueueId(queue), queue_bytes, ..cx() });
        let mark = MarkDecision::Mark(Rule::QueueLength);
        assert_eq!([verdict(0, 61_000), verdict(0, 61_001)], [MarkDecision::Pass, mark]);
        assert_eq!([verdict(1, 123_500), verdict(1, 123_501)], [MarkDecision::Pass, mark]);
        assert_eq!(verdict(2, u32::MAX), MarkDecision::Pass, "the queue does not exist");
    }

    #[test]
    fn shares_and_averages_round_down() {
        let ten = Rate::from_gbps(10);
        assert_eq!(share(100, 3_333_333_333, ten), 33);
        assert_eq!(share(100, u64::MAX, ten), 100);
        assert_eq!(smooth(10, 3, SEVEN_EIGHTHS), 9);
        assert_eq!(smooth(u64::MAX, u64::MAX, SEVEN_EIGHTHS), u64::MAX);
        assert_eq!([smooth(10, 3, Ratio::ONE), smooth(10, 3, Ratio::ZERO)], [10, 3]);
    }

    #[test]
    fn a_state_takes_24_bytes() {
        assert_eq!(size_of::<State>(), 24);
        assert!(size_of::<RateRed>() <= 64);
    }

    #[test]
    fn impossible_parameters_are_named() {
        let error = |config: Config| match RateRed::new(&config, &port_info(1)) {
            Err(ConfigError::OutOfRange { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        let measure = |bytes| Config { measure_threshold: Bytes(bytes), ..Config::default() };
        assert_eq!(error(measure(0)), "measure_threshold");
        assert_eq!(error(measure(1 << 32)), "measure_threshold");
        let old_weight = Ratio::new(9, 8).unwrap();
        assert_eq!(error(Config { old_weight, ..Config::default() }), "old_weight");
        let packet_size = 0;
        assert_eq!(error(Config { packet_size, ..Config::default() }), "packet_size");
        let port_threshold = Size::Bytes(Bytes(1 << 32));
        assert_eq!(error(Config { port_threshold, ..Config::default() }), "port_threshold");
    }
}
