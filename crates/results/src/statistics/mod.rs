//! Means, percentiles, fairness, and how well each is known.
//!
//! Two kinds of interval, both for 95 % confidence:
//!
//! - [`student`]: over independent runs, from the spread of what each run gives. It needs two runs,
//!   and is honest about whatever makes runs differ: flow sizes, paths, start times.
//! - [`bootstrap`]: within one run, from blocks of flows that follow each other, drawn again and
//!   again by a seeded generator. Flows that start together meet the same queues, so single flows
//!   are not independent; blocks nearly are. It cannot show what another seed would give.

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

/// 99 of 100.
pub const P99: Ratio = Ratio::new(99, 100).expect("the denominator is not zero");

/// Which of `n` sorted values is a percentile. None of the rules interpolates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Percentile {
    /// The smallest value that at least the fraction `p` of all values do not exceed: number
    /// ⌈`p·n`⌉, counted from one.
    #[default]
    NearestRank,
    /// `sorted[int(p * n)]` in double precision, counted from zero, as the scripts of BCC, of ECN♯
    /// and of the traffic generator have it.
    ScriptFloat,
    /// `sorted[99 * n / 100]` in integers, counted from zero, as TCN's script has it.
    ScriptInteger,
}

impl Percentile {
    /// The place of the percentile `fraction` among `count` sorted values, from zero; `None` if
    /// there are none. What lies behind the end is the last one.
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

    /// Whether it is what most mean.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The percentile of values that have weights; `None` if nothing has weight. It is the smallest
/// value below or at which at least `fraction` of all weight lies.
pub fn weighted_percentile(values: &mut [(f64, f64)], fraction: Ratio) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|&(_, weight)| weight).sum();
    let part = f64::from(fraction.numerator()) / f64::from(fraction.denominator());
    // Sums of weights are rounded: what misses its place by less than that is there.
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

/// The variance of the population that the values are a sample of, `Σ(x − mean)² / (n − 1)`; `None`
/// of fewer than two.
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
    fn each_rule_finds_its_own_tail() {
        let indices = |count| {
            [Percentile::NearestRank, Percentile::ScriptFloat, Percentile::ScriptInteger]
                .map(|rule| rule.rank(count, P99).unwrap())
        };
        // Of 1 … 100 the 99th value is at 98; the scripts take the one after it.
        assert_eq!(indices(100), [98, 99, 99]);
        // ⌈0.99 · 101⌉ = 100, the value at 99; 9999/100 = 99.
        assert_eq!(indices(101), [99, 99, 99]);
        // ⌈0.99 · 10⌉ = 10; int(9.9) = 9.
        assert_eq!(indices(10), [9, 9, 9]);
        assert_eq!(indices(1), [0, 0, 0]);
        assert_eq!(indices(200), [197, 198, 198]);
    }

    #[test]
    fn a_product_that_falls_short_of_a_whole_number_is_cut_as_the_scripts_cut_it() {
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
        // The lower of the two in the middle, or the upper.
        assert_eq!(Percentile::NearestRank.of(&[3, 5, 9, 11], HALF), Some(5));
        assert_eq!(Percentile::ScriptInteger.of(&[3, 5, 9, 11], HALF), Some(9));
    }

    #[test]
    fn weights_count_as_so_many_values() {
        let mut values = [(9.0, 1.0), (3.0, 1.0), (5.0, 2.0)];
        assert_eq!(weighted_percentile(&mut values, HALF), Some(5.0));
        assert_eq!(weighted_percentile(&mut values, Ratio::new(1, 4).unwrap()), Some(3.0));
        assert_eq!(weighted_percentile(&mut values, Ratio::new(3, 4).unwrap()), Some(5.0));
        assert_eq!(weighted_percentile(&mut values, P99), Some(9.0));
        assert_eq!(weighted_percentile(&mut values, Ratio::ONE), Some(9.0));
        // 99 weights of 0.01 are 0.99, whatever their sum is rounded to.
        let mut hundred: Vec<_> = (1..=100).map(|value| (f64::from(value), 0.01)).collect();
        assert_eq!(weighted_percentile(&mut hundred, P99), Some(99.0));
        assert_eq!(weighted_percentile(&mut [(1.0, 0.0)], HALF), None);
        assert_eq!(weighted_percentile(&mut [], HALF), None);
    }

    #[test]
    fn means_and_variances_are_those_of_the_school_book() {
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
