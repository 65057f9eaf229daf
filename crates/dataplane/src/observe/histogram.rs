//! A histogram of whole numbers with a relative error below 1/128.
//!
//! Buckets are log-linear: numbers below 256 have a bucket each, and every power of two above is
//! divided into 128 equal parts. The histogram has at most 7,424 buckets of eight bytes, and only
//! as many as the largest number needs: 1,800 for a queue of a megabyte.

use alloc::vec::Vec;

use tidegate_units::Ratio;

/// Every power of two is divided into 2^`PARTS` buckets.
const PARTS: u32 = 7;

/// Weight of each number: how often, or for how long, it was observed. The caller chooses the
/// weight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Weight of each bucket, up to the last nonzero one.
    weights: Vec<u64>,
    total: u64,
    /// Σ value · weight. Fits as long as the total does.
    sum: u128,
    max: u64,
}

impl Histogram {
    /// Adds a number with its weight. A zero weight has no effect.
    #[inline]
    pub fn add(&mut self, value: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        let index = bucket(value);
        if index >= self.weights.len() {
            self.grow(index);
        }
        self.weights[index] = self.weights[index].saturating_add(weight);
        self.total = self.total.saturating_add(weight);
        let part = u128::from(value) * u128::from(weight);
        self.sum = self.sum.saturating_add(part);
        self.max = self.max.max(value);
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        self.weights.resize(index + 1, 0);
    }

    /// Sum of all weights.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// The largest number, exact; zero if there is none.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// Sum of all numbers, each times its weight.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// First and last number of each bucket, with its weight.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.weights.iter().enumerate().map(|(index, &weight)| {
            let first = index.checked_sub(1).map_or(0, |before| largest(before) + 1);
            (first, largest(index), weight)
        })
    }

    /// The smallest number with at least the fraction `fraction` of all weight at or below it,
    /// rounded up to the end of its bucket but not above the maximum: never too low, and too high
    /// by less than 1/128 of itself. `None` if the histogram is empty.
    pub fn percentile(&self, fraction: Ratio) -> Option<u64> {
        if self.total == 0 {
            return None;
        }
        let part = u128::from(fraction.numerator()) * u128::from(self.total);
        let part = part.div_ceil(u128::from(fraction.denominator()));
        let rank = part.clamp(1, u128::from(self.total));
        let mut below = 0_u128;
        let index = self.weights.iter().position(|&weight| {
            below += u128::from(weight);
            below >= rank
        });
        Some(index.map_or(self.max, |index| largest(index).min(self.max)))
    }
}

/// Bucket of a number.
#[inline]
const fn bucket(value: u64) -> usize {
    if value >> PARTS == 0 {
        return value as usize;
    }
    let shift = value.ilog2() - PARTS;
    // Between 2^PARTS and 2^(PARTS + 1) − 1: the first value begins a new row.
    let leading = value >> shift;
    ((shift as usize) << PARTS) + leading as usize
}

/// Largest number of a bucket.
const fn largest(index: usize) -> u64 {
    if index >> PARTS == 0 {
        return index as u64;
    }
    let shift = (index >> PARTS) - 1;
    let leading = (index - (shift << PARTS)) as u64;
    (leading << shift) + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_join_without_gap_or_overlap() {
        let mut expected = 0;
        for index in 0..=bucket(u64::MAX) {
            assert_eq!(bucket(expected), index, "the first of its bucket");
            let end = largest(index);
            assert_eq!(bucket(end), index, "the last of its bucket");
            assert!(u128::from(end - expected) * 128 <= u128::from(expected));
            expected = end.wrapping_add(1);
        }
        assert_eq!(expected, 0, "the last bucket ends at the largest number");
        assert_eq!(bucket(u64::MAX), 7_423);
    }

    #[test]
    fn small_numbers_are_exact() {
        let mut seen = Histogram::default();
        for value in 0..256 {
            seen.add(value, 1);
        }
        for value in 0..256_u32 {
            let fraction = Ratio::new(value + 1, 256).unwrap();
            assert_eq!(seen.percentile(fraction), Some(u64::from(value)));
        }
        assert_eq!((seen.sum(), seen.max()), (255 * 128, 255));
    }

    #[test]
    fn a_weight_counts_as_that_many_numbers() {
        let mut seen = Histogram::default();
        seen.add(10, 3);
        seen.add(20, 1);
        seen.add(1_000, 0);
        assert_eq!((seen.total(), seen.max()), (4, 20));
        assert_eq!(seen.sum(), 50);
        let at = |part| seen.percentile(Ratio::new(part, 100).unwrap());
        assert_eq!([at(0), at(75), at(76), at(100)].map(Option::unwrap), [10, 10, 20, 20]);
    }

    #[test]
    fn a_percentile_is_never_too_low_and_hardly_too_high() {
        let mut seen = Histogram::default();
        for value in [1_000, 100_000, 150_001, 9_999_999] {
            seen.add(value, 1);
        }
        for (part, value) in [(1, 1_000), (2, 100_000), (3, 150_001), (4, 9_999_999)] {
            let found = seen.percentile(Ratio::new(part, 4).unwrap()).unwrap();
            assert!(value <= found && (found - value) * 128 < value, "{found}");
        }
        assert_eq!(seen.percentile(Ratio::ONE), Some(9_999_999), "the maximum is exact");
    }

    #[test]
    fn an_empty_histogram_has_no_percentile_and_the_extremes_saturate() {
        let mut seen = Histogram::default();
        assert_eq!((seen.total(), seen.percentile(Ratio::ONE)), (0, None));
        seen.add(u64::MAX, u64::MAX);
        seen.add(u64::MAX, u64::MAX);
        assert_eq!(seen.percentile(Ratio::ONE), Some(u64::MAX));
        assert_eq!(seen.total(), u64::MAX);
    }
}
