//! Means and fairness, with named definitions.

use tidegate_dataplane::observe::Histogram;
use tidegate_units::Span;

/// Arithmetic mean: the sum is exact, and the quotient is rounded once. `None` without values.
pub fn mean(values: impl IntoIterator<Item = u64>) -> Option<f64> {
    let (mut sum, mut count) = (0_u128, 0_u128);
    for value in values {
        sum += u128::from(value);
        count += 1;
    }
    quotient(sum, count)
}

/// Jain's index of fairness, `(Σx)² / (n·Σx²)`: one if all are equal, `1/n` if one has everything.
/// `None` without values or if all are zero.
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

/// `above / below`, or `None` if it is undefined.
pub fn quotient(above: u128, below: u128) -> Option<f64> {
    (below > 0).then(|| real(above) / real(below))
}

/// Weighted mean, from exact sums; `None` for an empty histogram.
pub fn weighted_mean(histogram: &Histogram) -> Option<f64> {
    quotient(histogram.sum(), u128::from(histogram.total()))
}

/// Weighted standard deviation, as if all numbers of a bucket were in its middle; `None` for an
/// empty histogram.
pub fn deviation(histogram: &Histogram) -> Option<f64> {
    let mean = weighted_mean(histogram)?;
    let squares = histogram.buckets().map(|(first, last, weight)| {
        let middle = f64::midpoint(real(first), real(last));
        (middle - mean).powi(2) * real(weight)
    });
    Some((squares.sum::<f64>() / real(histogram.total())).sqrt())
}

/// A span in seconds.
pub fn seconds(span: Span) -> f64 {
    real(span.as_ps()) / 1e12
}

/// The nearest floating-point number.
#[expect(clippy::cast_precision_loss, reason = "a displayed figure needs at most 53 bits")]
pub fn real(number: impl Into<u128>) -> f64 {
    number.into() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_weighted() {
        let mut histogram = Histogram::default();
        assert_eq!(deviation(&histogram), None);
        histogram.add(10, 3);
        assert_eq!(deviation(&histogram), Some(0.0));
        histogram.add(50, 1);
        // The mean is 20; the squared deviations are 3 · 10² and 30², over 4.
        assert_eq!(deviation(&histogram), Some(300_f64.sqrt()));
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
