//! Deterministic thinning: fewer points that draw the same line.

use crate::plot::Mark;

/// Quantiles that a thinned distribution keeps exactly.
const KEPT: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// The distribution of sorted values in about `most` points: x is the value, y the share of values
/// that are not larger. Half of the points are evenly spaced; the others cover the upper tail with
/// geometric spacing.
pub fn distribution(sorted: &[f64], most: usize) -> Vec<Mark> {
    let count = sorted.len();
    let share = |place: usize| (place + 1) as f64 / count as f64;
    let mark = |place: usize| Mark::new(sorted[place], share(place));
    let begin = sorted.first().map(|first| Mark::new(*first, 0.0));
    if count <= most {
        return begin.into_iter().chain((0..count).map(mark)).collect();
    }
    let half = (most / 2).max(2);
    let even = (0..half).map(|n| n * (count - 1) / (half - 1));
    let tail = (0..half).map(|n| {
        let left = (count as f64).powf(-(n as f64) / (half - 1) as f64);
        place_of(1.0 - left, count)
    });
    let kept = KEPT.into_iter().map(|share| place_of(share, count));
    let mut places: Vec<usize> = even.chain(tail).chain(kept).collect();
    places.sort_unstable();
    places.dedup();
    begin.into_iter().chain(places.into_iter().map(mark)).collect()
}

/// Index of the quantile for a share.
fn place_of(share: f64, count: usize) -> usize {
    let place = (share * count as f64 - 1e-9).ceil() as usize;
    place.clamp(1, count) - 1
}

/// Thinned samples.
pub struct Thinned {
    /// Points.
    pub marks: Vec<Mark>,
    /// Samples per pair of points, if more than two.
    pub pooled: Option<usize>,
}

/// Samples in at most `most` points: the minimum and maximum of each time interval, in original
/// order, so that no peak is lost.
pub fn samples(values: &[f64], time: impl Fn(f64) -> f64, most: usize) -> Thinned {
    let most = most.max(4);
    if values.len() <= most {
        let marks = values.iter().enumerate();
        return Thinned {
            marks: marks.map(|(n, value)| Mark::new(time(n as f64), *value)).collect(),
            pooled: None,
        };
    }
    let pooled = values.len().div_ceil(most / 2);
    let mut marks = Vec::with_capacity(most);
    for (number, stretch) in values.chunks(pooled).enumerate() {
        let begin = (number * pooled) as f64;
        let (first, second) = extremes(stretch);
        marks.push(Mark::new(time(begin), first));
        marks.push(Mark::new(time(begin + pooled as f64 / 2.0), second));
    }
    Thinned { marks, pooled: Some(pooled) }
}

/// The lowest and highest in the order in which they came; not numbers if there are none.
fn extremes(values: &[f64]) -> (f64, f64) {
    let known = || values.iter().enumerate().filter(|(_, value)| !value.is_nan());
    let low = known().min_by(|a, b| a.1.total_cmp(b.1));
    let high = known().max_by(|a, b| a.1.total_cmp(b.1));
    match (low, high) {
        (Some(low), Some(high)) if low.0 <= high.0 => (*low.1, *high.1),
        (Some(low), Some(high)) => (*high.1, *low.1),
        _ => (f64::NAN, f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_all_kept() {
        let marks = distribution(&[1.0, 2.0, 2.0, 5.0], 100);
        let pairs: Vec<(f64, f64)> = marks.iter().map(|mark| (mark.x, mark.y)).collect();
        assert_eq!(pairs, [(1.0, 0.0), (1.0, 0.25), (2.0, 0.5), (2.0, 0.75), (5.0, 1.0)]);
        assert!(distribution(&[], 100).is_empty());
    }

    #[test]
    fn a_thinned_distribution_keeps_its_ends_and_its_tail() {
        let values: Vec<f64> = (1..=100_000).map(f64::from).collect();
        let marks = distribution(&values, 160);
        assert!(marks.len() <= 160 + KEPT.len() + 1, "{}", marks.len());
        for (x, y) in [(1.0, 0.0), (50_000.0, 0.5), (99_000.0, 0.99), (100_000.0, 1.0)] {
            let found = marks.iter().any(|mark| mark.x == x && (mark.y - y).abs() < 1e-12);
            assert!(found, "{x} {y}");
        }
        let gaps = marks.windows(2).map(|pair| pair[1].y - pair[0].y);
        assert!(gaps.fold(0.0, f64::max) < 0.02);
        assert!(marks.windows(2).all(|pair| pair[0].x <= pair[1].x && pair[0].y <= pair[1].y));
    }

    #[test]
    fn a_peak_of_one_sample_survives() {
        let mut values = vec![1.0; 100_000];
        values[77_777] = 9.0;
        values[33_333] = 0.0;
        let thinned = samples(&values, |n| n, 600);
        assert!(thinned.marks.len() <= 600);
        assert_eq!(thinned.pooled, Some(334));
        assert!(
            thinned.marks.iter().any(|mark| mark.y == 9.0 && (mark.x - 77_777.0).abs() < 334.0)
        );
        assert!(
            thinned.marks.iter().any(|mark| mark.y == 0.0 && (mark.x - 33_333.0).abs() < 334.0)
        );
    }

    #[test]
    fn gaps_without_samples_stay_gaps() {
        let mut values = vec![f64::NAN; 1000];
        values[1] = 3.0;
        let thinned = samples(&values, |n| n, 10);
        assert_eq!(thinned.marks.iter().filter(|mark| mark.y == 3.0).count(), 2);
        assert_eq!(thinned.marks.iter().filter(|mark| mark.y.is_nan()).count(), 8);
    }
}
