//! Rank correlation.

#![expect(
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "numbers of points are small, and equal ones are copies"
)]

/// Spearman's rank correlation; `None` if one list is constant or there are fewer than three pairs.
pub(super) fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let first = ranks(pairs.iter().map(|pair| pair.0));
    let second = ranks(pairs.iter().map(|pair| pair.1));
    let middle = first.iter().sum::<f64>() / first.len() as f64;
    let sum = |product: &dyn Fn(f64, f64) -> f64| {
        let pairs = first.iter().zip(&second);
        pairs.map(|(a, b)| product(a - middle, b - middle)).sum::<f64>()
    };
    let spread = sum(&|a, _| a * a) * sum(&|_, b| b * b);
    (spread > 0.0).then(|| sum(&|a, b| a * b) / spread.sqrt())
}

/// Rank of each number; ties share the mean of theirs.
fn ranks(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let numbers: Vec<f64> = numbers.collect();
    let rank = |number: &f64| {
        let below = numbers.iter().filter(|other| *other < number).count();
        let equal = numbers.iter().filter(|other| *other == number).count();
        below as f64 + (equal as f64 - 1.0) / 2.0
    };
    numbers.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_equal_numbers_are_shared() {
        assert_eq!(ranks([3.0, 1.0, 3.0, 2.0].into_iter()), [2.5, 0.0, 2.5, 1.0]);
        let rising = [(1.0, 2.0), (2.0, 3.0), (3.0, 9.0)];
        assert_eq!(correlation(&rising), Some(1.0));
        let falling = [(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)];
        assert_eq!(correlation(&falling), Some(-1.0));
        assert_eq!(correlation(&[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]), None);
        assert_eq!(correlation(&rising[..2]), None);
    }
}
