//! Means, percentiles, fairness, and how well each is known.
//!
//! Two kinds of interval, both for 95 % confidence:
//!
//! - [`student`]: over independent runs, from the spread of what each run gives. It needs two runs, and
//!   is honest about whatever makes runs differ: flow sizes, paths, start times.
//! - [`bootstrap`]: within one run, from blocks of flows that follow each other, drawn again and again
//!   by a seeded generator. Flows that start together meet the same queues, so single flows are not
//!   independent; blocks nearly are. It cannot show what another seed would give.

pub mod bootstrap;
mod normal;
pub mod student;

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

/// The place of a percentile among `count` sorted values, from zero, by nearest rank: the smallest
/// value that at least `fraction` of all values do not exceed. `None` if there are no values.
///
/// The simulator's `observe` module defines it in the same way; nothing is interpolated.
pub fn rank(count: usize, fraction: Ratio) -> Option<usize> {
    let last = count.checked_sub(1)?;
    let product = u128::from(fraction.numerator()) * count as u128;
    let rank = product
        .div_ceil(u128::from(fraction.denominator()))
        .saturating_sub(1);
    Some(usize::try_from(rank).map_or(last, |rank| rank.min(last)))
}

/// The percentile of sorted values by nearest rank; `None` if there are none.
pub fn percentile<T: Copy>(sorted: &[T], fraction: Ratio) -> Option<T> {
    sorted.get(rank(sorted.len(), fraction)?).copied()
}

/// The percentile of values that have weights; `None` if nothing has weight. It is the smallest value
/// below or at which at least `fraction` of all weight lies.
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

/// The variance of the population that the values are a sample of, `Σ(x − mean)² / (n − 1)`; `None` of
/// fewer than two.
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

#[expect(
    clippy::cast_precision_loss,
    reason = "a count of values is far below 2^53"
)]
pub(crate) const fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_sample() {
        let sample: Vec<u32> = (1..=100).collect();
        assert_eq!(percentile(&sample, P99), Some(99));
        assert_eq!(percentile(&sample[..10], P99), Some(10));
        assert_eq!(percentile(&sample[..4], Ratio::new(1, 2).unwrap()), Some(2));
        assert_eq!(percentile(&sample, Ratio::ZERO), Some(1));
        assert_eq!(percentile(&sample, Ratio::whole(7)), Some(100));
        assert_eq!(percentile::<u32>(&[], P99), None);
    }

    #[test]
    fn weights_count_as_so_many_values() {
        let half = Ratio::new(1, 2).unwrap();
        let mut values = [(9.0, 1.0), (3.0, 1.0), (5.0, 2.0)];
        assert_eq!(weighted_percentile(&mut values, half), Some(5.0));
        assert_eq!(
            weighted_percentile(&mut values, Ratio::new(1, 4).unwrap()),
            Some(3.0)
        );
        assert_eq!(
            weighted_percentile(&mut values, Ratio::new(3, 4).unwrap()),
            Some(5.0)
        );
        assert_eq!(weighted_percentile(&mut values, P99), Some(9.0));
        assert_eq!(weighted_percentile(&mut values, Ratio::ONE), Some(9.0));
        // 99 weights of 0.01 are 0.99, whatever their sum is rounded to.
        let mut hundred: Vec<_> = (1..=100).map(|value| (f64::from(value), 0.01)).collect();
        assert_eq!(weighted_percentile(&mut hundred, P99), Some(99.0));
        assert_eq!(weighted_percentile(&mut [(1.0, 0.0)], half), None);
        assert_eq!(weighted_percentile(&mut [], half), None);
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
