//! Moving averages of lengths, as classic RED keeps them.

use alloc::boxed::Box;

use tidegate_units::{Ratio, Time};

use super::Law;
use crate::mark::Site;

/// Moving averages, one per slot.
#[derive(Clone, Debug)]
pub(super) struct Averages {
    /// The weight of a new sample (`w_q`).
    weight: Ratio,
    /// What a packet takes on the wire, in picoseconds and never zero.
    packet_time: u64,
    slots: Box<[Average]>,
}

#[derive(Clone, Debug)]
struct Average {
    /// In units of 2^−[`Averages::SHIFT`].
    length: u64,
    /// Since when the queue has been empty; the end of time if it is not.
    idle_since: Time,
}

impl Averages {
    /// An average has this many bits below the unit of the length.
    pub(super) const SHIFT: u32 = 24;

    /// Averages of zero for so many slots, if the law has any.
    pub(super) fn new(law: &Law, site: &Site, slots: usize) -> Option<Self> {
        let weight = law.average_weight?;
        let average = Average {
            length: 0,
            idle_since: Time::MAX,
        };
        Some(Self {
            weight,
            packet_time: site.rate.time_for(law.packet_size).as_ps().max(1),
            slots: alloc::vec![average; slots].into(),
        })
    }

    /// A packet arrived and read `length`.
    pub(super) fn sample(&mut self, slot: usize, length: u64) {
        if let Some(average) = self.slots.get_mut(slot) {
            let new = u128::from(self.weight.numerator());
            let all = u128::from(self.weight.denominator());
            let old = u128::from(average.length) * (all - new);
            let sample = u128::from(length) << Self::SHIFT;
            // Between the two; the sample has at most 33 + 24 bits.
            average.length = ((old + sample * new) / all) as u64;
            average.idle_since = Time::MAX;
        }
    }

    /// A packet arrived and found nothing.
    pub(super) fn end_idling(&mut self, slot: usize, now: Time) {
        let keep = self.keep();
        if let Some(average) = self.slots.get_mut(slot) {
            // Floyd and Jacobson, section 4: as if as many packets as the link could have sent in
            // the meantime had arrived at an empty queue.
            let packets = (now - average.idle_since).as_ps() / self.packet_time;
            average.length = times(average.length, power(keep, packets));
            average.idle_since = Time::MAX;
        }
    }

    /// One minus the weight, in units of 2^−63.
    fn keep(&self) -> u64 {
        let rest = u128::from(self.weight.denominator() - self.weight.numerator());
        // At most one.
        (rest * u128::from(ONE) / u128::from(self.weight.denominator())) as u64
    }

    /// The last packet left.
    pub(super) fn start_idling(&mut self, slot: usize, now: Time) {
        if let Some(average) = self.slots.get_mut(slot) {
            average.idle_since = now;
        }
    }

    /// The average in units of 2^−[`Self::SHIFT`].
    pub(super) fn length(&self, slot: usize) -> u64 {
        self.slots.get(slot).map_or(0, |average| average.length)
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
    use tidegate_units::Span;

    use super::*;
    use crate::mark::testing::site;

    fn ratio(numerator: u32, denominator: u32) -> Ratio {
        Ratio::new(numerator, denominator).unwrap()
    }

    fn averages(weight: Ratio) -> Averages {
        let law = Law {
            average_weight: Some(weight),
            ..super::super::tests::STEP
        };
        Averages::new(&law, &site(1), 1).unwrap()
    }

    #[test]
    fn an_average_moves_by_its_weight() {
        let mut averages = averages(ratio(1, 4));
        let mut average = |sample| {
            averages.sample(0, sample);
            averages.length(0)
        };
        // 0.25 · 1000 = 250; 0.75 · 250 + 0.25 · 2000 = 687.5; 0.75 · 687.5 = 515.625.
        assert_eq!(average(1_000), 250 << 24);
        assert_eq!(average(2_000), 1_375 << 23);
        assert_eq!(average(0), 4_125 << 21);
        let mut averages = self::averages(ratio(3, 4));
        for sample in [1_000, 2_000] {
            averages.sample(0, sample);
        }
        // 0.75 · 1000 = 750; 0.25 · 750 + 0.75 · 2000 = 1687.5.
        assert_eq!(averages.length(0), 3_375 << 23);
    }

    #[test]
    fn an_average_decays_by_the_packets_that_an_idle_link_could_have_sent() {
        // A packet of 1500 bytes takes 1.2 µs at 10 Gb/s.
        let decayed = |idle: Span| {
            let mut averages = averages(ratio(1, 2));
            averages.sample(0, 16_000);
            let empty = Time::from_us(7);
            averages.start_idling(0, empty);
            averages.end_idling(0, empty + idle);
            averages.length(0) >> Averages::SHIFT
        };
        let idle = [0, 1_199, 1_200, 2_399, 3_600].map(|ns| decayed(Span::from_ns(ns)));
        assert_eq!(idle, [8_000, 8_000, 4_000, 4_000, 1_000]);
        assert_eq!(decayed(Span::MAX), 0);
    }

    #[test]
    fn a_queue_that_was_seen_busy_has_not_been_idle() {
        let mut averages = averages(ratio(1, 2));
        averages.start_idling(0, Time::ZERO);
        averages.sample(0, 16_000);
        averages.end_idling(0, Time::from_ns(1_200));
        assert_eq!(averages.length(0), 8_000 << 24);
    }

    #[test]
    fn an_average_decays_once_per_idle_time() {
        let mut averages = averages(ratio(1, 2));
        averages.sample(0, 16_000);
        averages.start_idling(0, Time::ZERO);
        for _ in 0..3 {
            // The pool of another port may be found empty again without a departure here.
            averages.end_idling(0, Time::from_ns(1_200));
        }
        assert_eq!(averages.length(0), 4_000 << 24);
    }

    #[test]
    #[expect(
        clippy::cast_precision_loss,
        reason = "the oracle is less precise than the code"
    )]
    fn powers_agree_with_floating_point() {
        for weight in [ratio(1, 512), ratio(1, 2), ratio(1, 1_000_000)] {
            let keep = averages(weight).keep();
            for exponent in [0, 1, 2, 3, 10, 1_000, 65_537] {
                let base = 1.0 - f64::from(weight.numerator()) / f64::from(weight.denominator());
                let expected = base.powi(i32::try_from(exponent).unwrap());
                let got = power(keep, exponent) as f64 / ONE as f64;
                assert!(
                    (got - expected).abs() < 1e-11,
                    "{weight} {exponent}: {got} {expected}"
                );
            }
        }
        assert_eq!(
            [power(0, 0), power(0, 1), power(ONE, u64::MAX)],
            [ONE, 0, ONE]
        );
    }
}
