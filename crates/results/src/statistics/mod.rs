//! Means, percentiles, fairness and confidence intervals.
//!
//! Two kinds of interval, both for 95 % confidence:
//!
//! - [`student`]: over independent runs, from the spread of their values. It needs two runs and
//!   covers everything that makes runs differ: flow sizes, paths, start times.
//! - [`bootstrap`]: within one run, by resampling blocks of consecutive flows with a seeded
//!   generator. Flows that start together meet the same queues, so single flows are not
//!   independent; blocks nearly are. It cannot show the spread between seeds.

pub mod bootstrap;
mod normal;
pub mod student;

use serde::{Deserialize, Serialize};
use tidegate_units::Ratio;

/// A number with the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The fraction 0.99.
pub const P99: Ratio = Ratio::new(99, 100).expect("the denominator is not zero");

/// Rule that picks a percentile from `n` sorted values. No rule interpolates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Percentile {
    /// The smallest value that at least the fraction `p` of all values do not exceed: value
    /// ⌈`p·n`⌉, counted from one.
    #[default]
    NearestRank,
    /// `sorted[int(p * n)]` in double precision, counted from zero, as in the scripts of BCC, ECN♯
    /// and the traffic generator.
    ScriptFloat,
    /// `sorted[99 * n / 100]` in integers, counted from zero, as in TCN's script.
    ScriptInteger,
}

impl Percentile {
    /// Index of the percentile `fraction` among `count` sorted values; `None` if there are none.
    /// Indices past the end become the last one.
    pub fn rank(self, count: usize, fraction: Ratio) -> Option<usize> {
        let last = count.checked_sub(1)?;
        let (above, below) = (fraction.numerator(), fraction.denominator());
        let product = u128::from(above) * count as u128;
        let rank = match self {
            Self::NearestRank => product.div_ceil(u128::from(below)).saturating_sub(1),
            #[expect(clippy::cast_sign_loss, reason = "a fraction of a count is not negative")]
            Self::ScriptFloat => (f64::from(above) / f64::from(below) * real(count)) as u128,
            Self::ScriptInteger => product / u128::from(below),
        };
        Some(usize::try_from(rank).map_or(last, |rank| rank.min(last)))
    }

    /// The percentile `fraction` of values in rising order; `None` if there are none.
    pub fn of<T: Copy>(self, sorted: &[T], fraction: Ratio) -> Option<T> {
        sorted.get(self.rank(sorted.len(), fraction)?).copied()
    }

    /// Whether this is the usual rule.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The percentile of weighted values: the smallest value at or below which at least `fraction` of
/// all weight lies. `None` if nothing has weight.
pub fn weighted_percentile(values: &mut [(f64, f64)], fraction: Ratio) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|&(_, weight)| weight).sum();
    let part = f64::from(fraction.numerator()) / f64::from(fraction.denominator());
    // Sums of weights are rounded, so the target allows for the rounding error.
    let wanted = total * (part - 1e-12);
    let mut below = 0.0;
    let reached = values.iter().find(|&&(_, weight)| {
        below += weight;
        weight > 0.0 && below >= wanted
    });
    reached.map(|&(value, _)| value)
}

/// The arithmetic mean; `None` if there are no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / real(values.len()))
}

/// The sample variance, `Σ(x − mean)² / (n − 1)`; `None` for fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / real(values.len() - 1))
}

/// Jain's index of fairness, `(Σx)² / (n·Σx²)`: one if all are equal, `1/n` if one has everything.
/// `None` if there are no values or all are zero.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (squares > 0.0).then(|| sum * sum / (real(values.len()) * squares))
}

#[expect(clippy::cast_precision_loss, reason = "a count of values is far below 2^53")]
pub(crate) const fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Ratio = Ratio::new(1, 2).expect("the denominator is not zero");

    #[test]
    fn percentile_rules_differ_as_specified() {
        let indices = |count| {
            [Percentile::NearestRank, Percentile::ScriptFloat, Percentile::ScriptInteger]
                .map(|rule| rule.rank(count, P99).unwrap())
        };
        // Of 1 … 100 the 99th value has index 98; the scripts take the next one.
        assert_eq!(indices(100), [98, 99, 99]);
        // ⌈0.99 · 101⌉ = 100, the value at 99; 9999/100 = 99.
        assert_eq!(indices(101), [99, 99, 99]);
        // ⌈0.99 · 10⌉ = 10; int(9.9) = 9.
        assert_eq!(indices(10), [9, 9, 9]);
        assert_eq!(indices(1), [0, 0, 0]);
        assert_eq!(indices(200), [197, 198, 198]);
    }

    #[test]
    fn float_rounding_matches_the_scripts() {
        // In double precision 0.57 · 100 is 56.99999999999999.
        let fraction = Ratio::new(57, 100).unwrap();
        assert_eq!(Percentile::ScriptFloat.rank(100, fraction), Some(56));
        assert_eq!(Percentile::ScriptInteger.rank(100, fraction), Some(57));
    }

    #[test]
    fn percentiles_stay_within_the_values() {
        for rule in [Percentile::NearestRank, Percentile::ScriptFloat, Percentile::ScriptInteger] {
            assert_eq!(rule.of::<u64>(&[], HALF), None);
            assert_eq!(rule.of(&[3, 5, 9], Ratio::ZERO), Some(3));
            assert_eq!(rule.of(&[3, 5, 9], Ratio::ONE), Some(9));
            assert_eq!(rule.of(&[3, 5, 9], HALF), Some(5));
            assert_eq!(rule.of(&[3, 5, 9], Ratio::whole(u32::MAX)), Some(9));
        }
        // The lower or the upper of the two middle values.
        assert_eq!(Percentile::NearestRank.of(&[3, 5, 9, 11], HALF), Some(5));
        assert_eq!(Percentile::ScriptInteger.of(&[3, 5, 9, 11], HALF), Some(9));
    }

    #[test]
    fn a_weight_counts_as_that_many_values() {
        let mut values = [(9.0, 1.0), (3.0, 1.0), (5.0, 2.0)];
        assert_eq!(weighted_percentile(&mut values, HALF), Some(5.0));
        assert_eq!(weighted_percentile(&mut values, Ratio::new(1, 4).unwrap()), Some(3.0));
        assert_eq!(weighted_percentile(&mut values, Ratio::new(3, 4).unwrap()), Some(5.0));
        assert_eq!(weighted_percentile(&mut values, P99), Some(9.0));
        assert_eq!(weighted_percentile(&mut values, Ratio::ONE), Some(9.0));
        // 99 weights of 0.01 are 0.99, however their sum is rounded.
        let mut hundred: Vec<_> = (1..=100).map(|value| (f64::from(value), 0.01)).collect();
        assert_eq!(weighted_percentile(&mut hundred, P99), Some(99.0));
        assert_eq!(weighted_percentile(&mut [(1.0, 0.0)], HALF), None);
        assert_eq!(weighted_percentile(&mut [], HALF), None);
    }

    #[test]
    fn means_and_variances_match_the_definitions() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        // (4 + 1 + 9) / 2
        assert_eq!(variance(&[1.0, 2.0, 6.0]), Some(7.0));
        assert_eq!(variance(&[1.0]), None);
    }

    #[test]
    fn jain_is_one_for_equals_and_one_of_n_for_a_monopoly() {
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[7.0, 7.0, 7.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
    }
}
