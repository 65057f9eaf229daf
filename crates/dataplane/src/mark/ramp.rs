//! The marking probability of RED: none below one threshold, certain above another, and a straight
//! line between them.

use tidegate_units::{ConfigError, Ratio};

/// A probability in units of 2^−32, from 0 to 2^32 inclusive.
pub(super) type Chance = u64;

/// A certain mark.
pub(super) const CERTAIN: Chance = 1 << 32;

/// The line from zero at `low` to `probability` at `high`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ramp {
    low: u64,
    high: u64,
    /// Probability at `high`, unless `low` equals `high`.
    probability: Ratio,
}

/// Position of a value on the ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zone {
    /// Strictly below `low`: never mark.
    Below,
    /// From `low` to `high`, both included: mark with this probability.
    Between(Chance),
    /// Strictly above `high`: always mark.
    Above,
}

impl Ramp {
    /// A ramp with `low` ≤ `high` and a probability of at most one. The field names are the user's,
    /// for error messages.
    pub(super) fn new(
        (low_field, low): (&'static str, u64),
        high: u64,
        (probability_field, probability): (&'static str, Ratio),
    ) -> Result<Self, ConfigError> {
        if low > high {
            let allowed = alloc::format!("at most the upper threshold, {high}");
            return Err(ConfigError::out_of_range(low_field, low, allowed));
        }
        if probability > Ratio::ONE {
            return Err(ConfigError::out_of_range(probability_field, probability, "0 to 1"));
        }
        Ok(Self::of(low, high, probability))
    }

    /// A ramp from checked values: `low` ≤ `high`, and a probability of at most one.
    #[inline]
    pub(super) const fn of(low: u64, high: u64, probability: Ratio) -> Self {
        Self { low, high, probability }
    }

    /// Position of `value`, with the probability rounded down.
    #[inline]
    pub(super) fn zone(&self, value: u64) -> Zone {
        if value < self.low {
            Zone::Below
        } else if value > self.high {
            Zone::Above
        } else {
            Zone::Between(self.chance(value))
        }
    }

    fn chance(&self, value: u64) -> Chance {
        let full = self.probability.of(CERTAIN);
        let (above, range) = (value - self.low, self.high - self.low);
        if range == 0 {
            // Equal thresholds are a step: only values above them are marked.
            return 0;
        }
        // `full` has at most 33 bits and `above` at most 64; the quotient is at most `full`.
        (u128::from(full) * u128::from(above) / u128::from(range)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(low: u64, high: u64, percent: u32) -> Ramp {
        let probability = Ratio::new(percent, 100).unwrap();
        Ramp::new(("low", low), high, ("max_probability", probability)).unwrap()
    }

    #[test]
    fn the_line_runs_from_zero_to_the_full_probability() {
        let ramp = ramp(100, 200, 50);
        let zones = [99, 100, 150, 200, 201].map(|value| ramp.zone(value));
        let half = CERTAIN / 2;
        assert_eq!(
            zones,
            [
                Zone::Below,
                Zone::Between(0),
                Zone::Between(half / 2),
                Zone::Between(half),
                Zone::Above
            ]
        );
    }

    #[test]
    fn the_extremes_do_not_overflow() {
        assert_eq!(ramp(0, u64::MAX, 100).zone(u64::MAX), Zone::Between(CERTAIN));
    }

    #[test]
    fn a_ramp_of_no_width_is_a_step() {
        let zones = [6, 7, 8].map(|value| ramp(7, 7, 100).zone(value));
        assert_eq!(zones, [Zone::Below, Zone::Between(0), Zone::Above]);
    }

    #[test]
    fn a_ramp_that_falls_or_exceeds_one_is_refused() {
        let one = ("max_probability", Ratio::ONE);
        assert!(Ramp::new(("kmin", 2), 1, one).is_err());
        let two = ("max_probability", Ratio::whole(2));
        assert!(Ramp::new(("kmin", 1), 1, two).is_err());
    }
}
