//! Estimates with confidence intervals, written with no more digits than the interval allows.

use tidegate_results::format::{decimals_of, estimate, to_decimals};
use tidegate_results::statistics::{Interval, mean, student};

use super::measure::{Better, Measure};

/// An estimate over several seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean over seeds.
    pub value: f64,
    /// Half width of the 95 % confidence interval; `None` with one seed.
    pub reach: Option<f64>,
}

impl Estimate {
    /// The mean of values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let reach = student::interval(values).map(|interval| (interval.high - interval.low) / 2.0);
        Some(Self { value: mean(values)?, reach })
    }

    /// The number with its interval and unit, such as `1.23 ±0.05 ms`.
    pub fn shown(&self, unit: &str) -> String {
        estimate(self.value, self.reach, unit)
    }
}

/// Least relative difference that counts; smaller ones are ties, even if significant.
pub const MARGIN: f64 = 0.01;

/// Comparison with the formula, seed by seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Against {
    /// The measure.
    pub measure: Measure,
    /// Ratio to the formula's value; `None` where the formula has zero.
    pub ratio: Option<f64>,
    /// 95 % confidence interval of the ratio.
    pub interval: Option<Interval>,
    /// Conclusion from the interval.
    pub outcome: Outcome,
}

/// Conclusion from a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The formula is worse.
    Better,
    /// No difference is shown.
    Same,
    /// The formula is better.
    Worse,
}

impl Outcome {
    /// Name in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Same => "same",
            Self::Worse => "worse",
        }
    }
}

impl Against {
    /// Compares pairs of one seed each: a number, and the formula's. `None` without pairs.
    pub fn of(measure: Measure, pairs: &[(f64, f64)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let compared = student::compare(pairs);
        let (from_one, interval) = match compared {
            Some(compared) => {
                (compared.interval.map(|i| (i.low - 1.0, i.high - 1.0)), compared.interval)
            }
            // The formula has a zero: test the difference instead of the ratio.
            None => {
                let differences: Vec<f64> =
                    pairs.iter().map(|(value, base)| value - base).collect();
                let interval = student::interval(&differences);
                (interval.map(|i| (i.low, i.high)), None)
            }
        };
        let (low, high) = from_one.unwrap_or((-1.0, 1.0));
        let is_small = compared.is_some_and(|compared| (compared.ratio - 1.0).abs() < MARGIN);
        let is_higher = match (low > 0.0 && !is_small, high < 0.0 && !is_small) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let outcome = match (is_higher, measure.better()) {
            (None, _) => Outcome::Same,
            (Some(true), Better::Higher) | (Some(false), Better::Lower) => Outcome::Better,
            _ => Outcome::Worse,
        };
        Some(Self { measure, ratio: compared.map(|compared| compared.ratio), interval, outcome })
    }

    /// The change in percent with its interval, such as `-12 ±3%`.
    pub fn shown(&self) -> String {
        let Some(ratio) = self.ratio else {
            return self.outcome.name().to_owned();
        };
        let percent = (ratio - 1.0) * 100.0;
        match self.interval {
            Some(Interval { low, high }) if high > low => {
                let reach = (high - low) * 50.0;
                let decimals = decimals_of(reach).min(1);
                let value = to_decimals(percent, decimals);
                let sign = if percent > 0.0 && !is_zero(&value) { "+" } else { "" };
                let value = if is_zero(&value) { value.replace('-', "") } else { value };
                format!("{sign}{value} ±{}%", to_decimals(reach, decimals))
            }
            Some(_) if percent == 0.0 => "equal".to_owned(),
            _ => format!("about {percent:+.0}%"),
        }
    }
}

fn is_zero(text: &str) -> bool {
    text.bytes().all(|digit| matches!(digit, b'0' | b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_counts_only_outside_its_interval() {
        let of = |measure, pairs: &[(f64, f64)]| Against::of(measure, pairs).unwrap();
        let half = of(Measure::P99Small, &[(1.0, 2.0), (1.1, 2.2), (1.4, 2.8)]);
        assert_eq!(half.outcome, Outcome::Better);
        let half = of(Measure::Throughput, &[(1.0, 2.0), (1.1, 2.2), (1.4, 2.8)]);
        assert_eq!(half.outcome, Outcome::Worse);
        let either = of(Measure::P99Small, &[(1.0, 2.0), (2.0, 1.0), (1.0, 1.1)]);
        assert_eq!(either.outcome, Outcome::Same);
        // Half a percent, however well it is known.
        let little = of(Measure::P99Small, &[(0.995, 1.0), (0.995, 1.0), (0.995, 1.0)]);
        assert_eq!(little.outcome, Outcome::Same);
        // Drops where the formula has none.
        let some = of(Measure::Drops, &[(10.0, 0.0), (12.0, 0.0), (11.0, 0.0)]);
        assert_eq!((some.outcome, some.ratio), (Outcome::Worse, None));
        let none = of(Measure::Drops, &[(0.0, 0.0), (0.0, 0.0)]);
        assert_eq!(none.outcome, Outcome::Same);
        assert!(Against::of(Measure::Drops, &[]).is_none());
    }

    #[test]
    fn a_change_is_written_with_its_sign_and_interval() {
        let against = |ratio, low, high| Against {
            measure: Measure::P99Small,
            ratio: Some(ratio),
            interval: Some(Interval { low, high }),
            outcome: Outcome::Same,
        };
        assert_eq!(against(0.88, 0.85, 0.91).shown(), "-12 ±3%");
        assert_eq!(against(1.05, 1.0, 1.1).shown(), "+5 ±5%");
        assert_eq!(against(0.999, 0.95, 1.05).shown(), "0 ±5%");
        assert_eq!(against(1.0, 1.0, 1.0).shown(), "equal");
    }
}
