//! Intervals over independent runs: Student's t.

use super::{Interval, mean, real, variance};

/// The 95 % confidence interval of the mean of the population, from the values of independent runs;
/// `None` for fewer than two values.
pub fn interval(values: &[f64]) -> Option<Interval> {
    let (mean, variance) = (mean(values)?, variance(values)?);
    let reach = quantile(values.len() - 1) * (variance / real(values.len())).sqrt();
    Some(Interval { low: mean - reach, high: mean + reach })
}

/// A ratio over pairs of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The typical ratio.
    pub ratio: f64,
    /// Its 95 % confidence interval; `None` for a single pair.
    pub interval: Option<Interval>,
}

/// The typical ratio of the first to the second value of a pair. Both ran with the same seed, so
/// the influence of the seed cancels. `None` without pairs, or if a second value is zero.
///
/// The ratio is the geometric mean, with Student's t over the logarithms, so A against B is exactly
/// the inverse of B against A. If a first value is zero, which has no logarithm, it is the
/// arithmetic mean.
pub fn compare(pairs: &[(f64, f64)]) -> Option<Compared> {
    if pairs.is_empty() || pairs.iter().any(|&(_, base)| base <= 0.0) {
        return None;
    }
    let ratios: Vec<f64> = pairs.iter().map(|&(value, base)| value / base).collect();
    if ratios.iter().any(|&ratio| ratio <= 0.0) {
        let interval = interval(&ratios);
        let floored = |Interval { low, high }| Interval { low: f64::max(low, 0.0), high };
        return Some(Compared { ratio: mean(&ratios)?, interval: interval.map(floored) });
    }
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let unwound = |Interval { low, high }| Interval { low: low.exp(), high: high.exp() };
    Some(Compared { ratio: mean(&logarithms)?.exp(), interval: interval(&logarithms).map(unwound) })
}

/// The 0.975 quantile of Student's t distribution.
pub fn quantile(freedom: usize) -> f64 {
    // Table values are exact to the digits given; beyond the table, an expansion in 1/freedom is
    // good to 1e-5. A library's quantile differs in the fifth digit and would change published
    // tables of results.
    const FEW: [f64; 20] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, //
        2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    ];
    let few = freedom.checked_sub(1).map(|index| FEW.get(index));
    match few {
        None => f64::NAN,
        Some(Some(&value)) => value,
        Some(None) => {
            let (z, n) = (1.959_964_f64, real(freedom));
            let first = (z.powi(3) + z) / 4.0;
            let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
            let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
            z + first / n + second / n.powi(2) + third / n.powi(3)
        }
    }
}

/// The value that Student's t exceeds in size with probability `miss`, for any probability. For
/// 5 % it equals [`quantile`], which summaries use.
pub fn critical(miss: f64, freedom: usize) -> f64 {
    if freedom == 0 || !(0.0 < miss && miss < 1.0) {
        return f64::NAN;
    }
    // The tail falls with the value: doubled until it is below, then halved.
    let (mut low, mut high) = (0.0, 1.0);
    while tails(high, freedom) > miss {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if tails(middle, freedom) > miss { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Probability that Student's t is beyond a value on either side: the finite series for whole
/// degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn tails(value: f64, freedom: usize) -> f64 {
    let angle = (value / real(freedom).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    let (mut term, mut sum) = (if is_odd { cosine } else { 1.0 }, 0.0);
    let mut power = usize::from(is_odd);
    while power + 2 <= freedom {
        sum += term;
        power += 2;
        term *= cosine.powi(2) * real(power - 1) / real(power);
    }
    let inside =
        if is_odd { std::f64::consts::FRAC_2_PI * sum.mul_add(sine, angle) } else { sine * sum };
    1.0 - inside
}

#[cfg(test)]
mod tests {
    use tidegate_units::Rng;

    use super::super::bootstrap::tests::{gauss, uniform};
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-4
    }

    #[test]
    fn quantiles_match_printed_tables() {
        let printed = [(1, 12.7062), (2, 4.3027), (20, 2.0860), (21, 2.0796), (30, 2.0423)];
        let large = [(60, 2.0003), (120, 1.9799), (1_000, 1.9623), (10_000_000, 1.96)];
        for (freedom, value) in printed.into_iter().chain(large) {
            assert!(near(quantile(freedom), value), "{freedom}: {}", quantile(freedom));
        }
        assert!(quantile(0).is_nan());
    }

    #[test]
    fn critical_values_match_printed_tables() {
        for freedom in (1..=20).chain([30, 60, 120, 1_000]) {
            let (exact, table) = (critical(0.05, freedom), quantile(freedom));
            assert!((exact - table).abs() < 6e-5, "{freedom}: {exact} {table}");
        }
        let printed =
            [(0.01, 4, 4.6041), (0.02, 1, 31.8205), (0.025, 4, 3.4954), (0.001, 10, 4.5869)];
        for (miss, freedom, value) in printed {
            assert!(near(critical(miss, freedom), value), "{miss} {}", critical(miss, freedom));
        }
        assert!(critical(0.05, 0).is_nan() && critical(0.0, 3).is_nan());
    }

    #[test]
    fn an_interval_matches_hand_calculation() {
        // Mean 3, variance 7, 4.3027 · √(7/3) = 6.5725.
        let Interval { low, high } = interval(&[1.0, 2.0, 6.0]).unwrap();
        assert!(near(low, -3.5725) && near(high, 9.5725), "{low} {high}");
        assert_eq!(interval(&[1.0]), None);
        assert_eq!(interval(&[]), None);
    }

    #[test]
    fn a_comparison_and_its_inverse_agree() {
        let pairs = [(2.0, 1.0), (8.0, 2.0), (3.0, 3.0)];
        let swapped = pairs.map(|(a, b)| (b, a));
        let (there, back) = (compare(&pairs).unwrap(), compare(&swapped).unwrap());
        // The cube root of 2 · 4 · 1.
        assert!(near(there.ratio, 2.0) && near(back.ratio, 0.5));
        let (there, back) = (there.interval.unwrap(), back.interval.unwrap());
        assert!(near(there.low * back.high, 1.0) && near(there.high * back.low, 1.0));
    }

    #[test]
    fn the_influence_of_a_shared_seed_cancels() {
        // Runs differ tenfold, but one scheme takes half the time in each.
        let pairs = [(1.0, 2.0), (10.0, 20.0), (3.0, 6.0)];
        let Compared { ratio, interval } = compare(&pairs).unwrap();
        let Interval { low, high } = interval.unwrap();
        assert!(near(ratio, 0.5) && near(low, 0.5) && near(high, 0.5));
    }

    #[test]
    fn only_a_zero_numerator_has_a_ratio() {
        assert_eq!(compare(&[(1.0, 0.0), (1.0, 1.0)]), None);
        assert_eq!(compare(&[]), None);
        let none = compare(&[(0.0, 4.0), (1.0, 4.0)]).unwrap();
        assert!(near(none.ratio, 0.125) && none.interval.unwrap().low.abs() < 1e-12);
        assert_eq!(compare(&[(1.0, 2.0)]).unwrap().interval, None);
    }

    #[test]
    fn the_interval_of_three_runs_holds_the_truth_in_95_of_100() {
        let mut rng = Rng::new(5, 0);
        let trials = 4_000;
        let hits = (0..trials)
            .filter(|_| {
                let runs = [(); 3].map(|()| 10.0 + 3.0 * gauss(&mut rng));
                let Interval { low, high } = interval(&runs).unwrap();
                (low..=high).contains(&10.0)
            })
            .count();
        let coverage = real(hits) / f64::from(trials);
        assert!((coverage - 0.95).abs() < 0.01, "{coverage}");
    }

    #[test]
    fn the_interval_of_a_comparison_holds_the_truth_in_95_of_100() {
        // A scheme that takes 0.8 of the time, give or take 5 %, while seeds differ by a factor of
        // 4.
        let mut rng = Rng::new(6, 0);
        let trials = 4_000;
        let hits = (0..trials)
            .filter(|_| {
                let pairs = [(); 5].map(|()| {
                    let base = 1.0 + 3.0 * uniform(&mut rng);
                    (base * 0.8 * (0.05 * gauss(&mut rng)).exp(), base)
                });
                let Interval { low, high } = compare(&pairs).unwrap().interval.unwrap();
                (low..=high).contains(&0.8)
            })
            .count();
        let coverage = real(hits) / f64::from(trials);
        assert!((coverage - 0.95).abs() < 0.01, "{coverage}");
    }
}
