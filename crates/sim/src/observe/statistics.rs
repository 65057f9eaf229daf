//! Means, percentiles and fairness, each by a definition that has a name.

use tidegate_units::{Ratio, Span, choices};

choices! {
    /// Which of `n` sorted values is a percentile. None of the rules interpolates.
    pub enum Percentile {
        /// The smallest value that at least the fraction `p` of all values do not exceed: number
        /// ⌈`p·n`⌉, counted from one.
        NearestRank = "nearest-rank",
        /// `sorted[int(p * n)]` in double precision, counted from zero, as the scripts of BCC, of
        /// ECN♯ and of the traffic generator have it.
        ScriptFloat = "script-float",
        /// `sorted[99 * n / 100]` in integers, counted from zero, as TCN's script has it.
        ScriptInteger = "script-integer",
    }
}

impl Percentile {
    /// The index of the percentile `fraction` among `count` sorted values; `None` if there are none.
    /// What lies behind the end is the last one.
    pub fn index(self, count: usize, fraction: Ratio) -> Option<usize> {
        let last = count.checked_sub(1)?;
        let (above, below) = (u128::from(fraction.numerator()), fraction.denominator());
        let product = above * count as u128;
        let below = u128::from(below);
        let index = match self {
            Self::NearestRank => product.div_ceil(below).saturating_sub(1),
            #[expect(
                clippy::cast_sign_loss,
                reason = "a fraction of a count is not negative"
            )]
            Self::ScriptFloat => (real(above) / real(below) * real(count as u128)) as u128,
            Self::ScriptInteger => product / below,
        };
        Some(usize::try_from(index).map_or(last, |index| index.min(last)))
    }

    /// The percentile `fraction` of values in rising order; `None` if there are none.
    pub fn of<T: Copy>(self, sorted: &[T], fraction: Ratio) -> Option<T> {
        let index = self.index(sorted.len(), fraction)?;
        sorted.get(index).copied()
    }
}

/// The arithmetic mean: the sum is exact, and rounded once when it is divided. `None` if there are no
/// values.
pub fn mean(values: impl IntoIterator<Item = u64>) -> Option<f64> {
    let (mut sum, mut count) = (0_u128, 0_u128);
    for value in values {
        sum += u128::from(value);
        count += 1;
    }
    quotient(sum, count)
}

/// Jain's index of fairness, `(Σx)² / (n·Σx²)`: one if all are equal, `1/n` if one has everything.
/// `None` if there are no values or all are zero.
pub fn jain(values: impl IntoIterator<Item = u64>) -> Option<f64> {
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    for value in values {
        let value = real(value);
        sum += value;
        squares += value * value;
        count += 1.0;
    }
    (squares > 0.0).then(|| sum * sum / (count * squares))
}

/// `above / below`, or `None` if that has no value.
pub fn quotient(above: u128, below: u128) -> Option<f64> {
    (below > 0).then(|| real(above) / real(below))
}

/// A time in seconds.
pub fn seconds(span: Span) -> f64 {
    real(span.as_ps()) / 1e12
}

/// The nearest number with a fraction.
#[expect(
    clippy::cast_precision_loss,
    reason = "a figure for people needs no more than 53 bits"
)]
pub fn real(number: impl Into<u128>) -> f64 {
    number.into() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const P99: Ratio = Ratio::new(99, 100).expect("the denominator is not zero");
    const HALF: Ratio = Ratio::new(1, 2).expect("the denominator is not zero");

    #[test]
    fn each_rule_finds_its_own_tail() {
        let indices = |count| {
            [
                Percentile::NearestRank,
                Percentile::ScriptFloat,
                Percentile::ScriptInteger,
            ]
            .map(|rule| rule.index(count, P99).unwrap())
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
        assert_eq!(Percentile::ScriptFloat.index(100, fraction), Some(56));
        assert_eq!(Percentile::ScriptInteger.index(100, fraction), Some(57));
    }

    #[test]
    fn percentiles_stay_within_the_values() {
        for rule in [
            Percentile::NearestRank,
            Percentile::ScriptFloat,
            Percentile::ScriptInteger,
        ] {
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
    fn a_mean_is_exact_before_it_is_divided() {
        assert_eq!(mean([]), None);
        assert_eq!(mean([1, 2, 4, 5]), Some(3.0));
        assert_eq!(mean([1, 2]), Some(1.5));
        assert_eq!(mean([u64::MAX; 4]), Some(18_446_744_073_709_551_616.0));
    }

    #[test]
    fn jain_is_one_for_equals_and_one_of_n_for_a_monopoly() {
        assert_eq!(jain([]), None);
        assert_eq!(jain([0, 0]), None);
        assert_eq!(jain([7, 7, 7, 7]), Some(1.0));
        assert_eq!(jain([5, 0, 0, 0]), Some(0.25));
        // (1 + 3)² / (2 · (1 + 9)) = 16 / 20.
        assert_eq!(jain([1, 3]), Some(0.8));
    }
}
