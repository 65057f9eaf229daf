//! Moving averages of lengths, as classic RED keeps them.

use core::num::NonZeroU64;

use tidegate_units::{Ratio, Time};

use super::{Law, USUAL_PACKET};
use crate::mark::PortInfo;

/// Rules by which averages move.
#[derive(Clone, Debug)]
pub(super) struct Averaging {
    /// The weight of a new sample (`w_q`).
    weight: Ratio,
    /// Serialization time of a packet in picoseconds.
    packet_time: NonZeroU64,
}

/// The moving average of one length.
#[derive(Clone, Debug)]
pub(super) struct Average {
    /// In units of 2^−[`Averaging::SHIFT`].
    length: u64,
    /// Start of the idle time; `Time::MAX` while the queue is not idle.
    idle_since: Time,
}

impl Default for Average {
    /// Average of a queue that has neither been sampled nor idle.
    fn default() -> Self {
        Self { length: 0, idle_since: Time::MAX }
    }
}

impl Average {
    /// Records the departure of the last packet.
    pub(super) const fn start_idling(&mut self, now: Time) {
        self.idle_since = now;
    }

    /// Average in units of 2^−[`Averaging::SHIFT`].
    pub(super) const fn length(&self) -> u64 {
        self.length
    }
}

impl Averaging {
    /// Fractional bits of an average, below the unit of the length.
    pub(super) const SHIFT: u32 = 24;

    /// Averaging by the law's settings, if it has a weight.
    pub(super) fn new(law: &Law, port: &PortInfo) -> Option<Self> {
        Some(Self {
            weight: law.average_weight?,
            packet_time: NonZeroU64::new(
                port.rate.time_for(law.packet_size.unwrap_or(USUAL_PACKET)).as_ps(),
            )
            .unwrap_or(NonZeroU64::MIN),
        })
    }

    /// Takes a sample: a packet arrived and read `length`.
    pub(super) fn sample(&self, average: &mut Average, length: u64) {
        let new = u128::from(self.weight.numerator());
        let all = u128::from(self.weight.denominator());
        let old = u128::from(average.length) * (all - new);
        let sample = u128::from(length) << Self::SHIFT;
        // Lies between the average and the sample, which has at most 33 + 24 bits.
        average.length = ((old + sample * new) / all) as u64;
        average.idle_since = Time::MAX;
    }

    /// Decays the average: a packet arrived at an empty queue.
    pub(super) fn end_idling(&self, average: &mut Average, now: Time) {
        // Floyd and Jacobson, section 4: decay as if the packets that the link could have sent in
        // the idle time had arrived at an empty queue.
        let packets = (now - average.idle_since).as_ps() / self.packet_time;
        average.length = times(average.length, power(self.keep(), packets));
        average.idle_since = Time::MAX;
    }

    /// One minus the weight, in units of 2^−63.
    fn keep(&self) -> u64 {
        let rest = u128::from(self.weight.denominator() - self.weight.numerator());
        // At most one.
        (rest * u128::from(ONE) / u128::from(self.weight.denominator())) as u64
    }
}

/// One, in units of 2^−63.
const ONE: u64 = 1 << 63;

/// `value` times `fraction`, which is at most one; rounded down.
const fn times(value: u64, fraction: u64) -> u64 {
    ((value as u128 * fraction as u128) >> 63) as u64
}

/// `base` to the power of `exponent`, each step rounded down.
fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut result = ONE;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, base);
        }
        base = times(base, base);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use tidegate_units::Span;

    use super::*;
    use crate::mark::testing::port_info;

    fn ratio(numerator: u32, denominator: u32) -> Ratio {
        Ratio::new(numerator, denominator).unwrap()
    }

    fn averaging(weight: Ratio) -> Averaging {
        let law = Law { average_weight: Some(weight), ..super::super::tests::STEP };
        Averaging::new(&law, &port_info(1)).unwrap()
    }

    #[test]
    fn an_average_moves_by_its_weight() {
        let averages = |weight, samples: &[u64]| {
            let mut average = Average::default();
            let mut next = |&sample| {
                averaging(weight).sample(&mut average, sample);
                average.length()
            };
            samples.iter().map(&mut next).collect::<Vec<_>>()
        };
        // 0.25 · 1000 = 250; 0.75 · 250 + 0.25 · 2000 = 687.5; 0.75 · 687.5 = 515.625.
        assert_eq!(
            averages(ratio(1, 4), &[1_000, 2_000, 0]),
            [250 << 24, 1_375 << 23, 4_125 << 21]
        );
        // 0.75 · 1000 = 750; 0.25 · 750 + 0.75 · 2000 = 1687.5.
        assert_eq!(averages(ratio(3, 4), &[1_000, 2_000]), [750 << 24, 3_375 << 23]);
    }

    #[test]
    fn an_average_decays_by_the_packets_that_an_idle_link_could_have_sent() {
        // A packet of 1500 bytes takes 1.2 µs at 10 Gb/s.
        let decayed = |idle: Span| {
            let (averaging, mut average) = (averaging(ratio(1, 2)), Average::default());
            averaging.sample(&mut average, 16_000);
            let empty = Time::from_us(7);
            average.start_idling(empty);
            averaging.end_idling(&mut average, empty + idle);
            average.length() >> Averaging::SHIFT
        };
        let idle = [0, 1_199, 1_200, 2_399, 3_600].map(|ns| decayed(Span::from_ns(ns)));
        assert_eq!(idle, [8_000, 8_000, 4_000, 4_000, 1_000]);
        assert_eq!(decayed(Span::MAX), 0);
    }

    #[test]
    fn a_queue_that_was_seen_busy_has_not_been_idle() {
        let (averaging, mut average) = (averaging(ratio(1, 2)), Average::default());
        average.start_idling(Time::ZERO);
        averaging.sample(&mut average, 16_000);
        averaging.end_idling(&mut average, Time::from_ns(1_200));
        assert_eq!(average.length(), 8_000 << 24);
    }

    #[test]
    fn an_average_decays_once_per_idle_time() {
        let (averaging, mut average) = (averaging(ratio(1, 2)), Average::default());
        averaging.sample(&mut average, 16_000);
        average.start_idling(Time::ZERO);
        for _ in 0..3 {
            // The pool of another port may be found empty again without a departure here.
            averaging.end_idling(&mut average, Time::from_ns(1_200));
        }
        assert_eq!(average.length(), 4_000 << 24);
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "the oracle is less precise than the code")]
    fn powers_agree_with_floating_point() {
        for weight in [ratio(1, 512), ratio(1, 2), ratio(1, 1_000_000)] {
            let keep = averaging(weight).keep();
            for exponent in [0, 1, 2, 3, 10, 1_000, 65_537] {
                let base = 1.0 - f64::from(weight.numerator()) / f64::from(weight.denominator());
                let expected = base.powi(i32::try_from(exponent).unwrap());
                let got = power(keep, exponent) as f64 / ONE as f64;
                assert!((got - expected).abs() < 1e-11, "{weight} {exponent}: {got} {expected}");
            }
        }
        assert_eq!([power(0, 0), power(0, 1), power(ONE, u64::MAX)], [ONE, 0, ONE]);
    }
}
