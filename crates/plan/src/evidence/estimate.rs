//! Estimates with confidence intervals, written with no more digits than the interval allows.

use tidegate_results::format::Prefix;
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
        let (divisor, unit) = scaled(unit, self.value);
        let value = self.value / divisor;
        let text = match self.reach.map(|reach| reach / divisor) {
            Some(reach) if reach > 0.0 => {
                let decimals = decimals(reach);
                format!("{} ±{}", fixed(value, decimals), fixed(reach, decimals))
            }
            _ => three_digits(value),
        };
        format!("{text} {unit}").trim_end().to_owned()
    }
}

/// Decimals that the half width allows: two of its digits if it begins with 1 or 2, else one.
/// Negative decimals are unknown digits before the point.
#[expect(clippy::cast_possible_truncation, reason = "the logarithm of a number is small")]
fn decimals(reach: f64) -> i32 {
    let order = reach.log10().floor();
    let is_short = reach / 10_f64.powf(order) < 3.0;
    i32::from(is_short) - order as i32
}

fn fixed(value: f64, decimals: i32) -> String {
    match usize::try_from(decimals) {
        Ok(decimals) => format!("{value:.decimals$}"),
        Err(_) => {
            let step = 10_f64.powi(-decimals);
            format!("{:.0}", (value / step).round() * step)
        }
    }
}

fn three_digits(value: f64) -> String {
    if value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    tidegate_results::format::three_digits(value)
}

/// Divisor of a value, and the unit after the division.
pub(crate) fn scaled(unit: &str, value: f64) -> (f64, String) {
    let known = ["s", "B", "bit/s"].into_iter().find(|known| *known == unit);
    known.map_or_else(
        || (1.0, unit.to_owned()),
        |unit| {
            let prefix = Prefix::of(unit, value);
            (prefix.divisor, prefix.unit())
        },
    )
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
                let decimals = decimals(reach).min(1);
                let value = fixed(percent, decimals);
                let sign = if percent > 0.0 && !is_zero(&value) { "+" } else { "" };
                let value = if is_zero(&value) { value.replace('-', "") } else { value };
                format!("{sign}{value} ±{}%", fixed(reach, decimals))
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
    fn a_number_has_no_more_digits_than_its_interval() {
        let shown = |value, reach, unit| Estimate { value, reach: Some(reach) }.shown(unit);
        assert_eq!(shown(1.234_567e-3, 0.051e-3, "s"), "1.23 ±0.05 ms");
        assert_eq!(shown(1.234_567e-3, 0.151e-3, "s"), "1.23 ±0.15 ms");
        assert_eq!(shown(12_345.0, 400.0, ""), "12300 ±400");
        assert_eq!(shown(67_512.0, 1_234.0, "B"), "67.5 ±1.2 KB");
        assert_eq!(shown(9.87e9, 2.2e9, "bit/s"), "9.9 ±2.2 Gbps");
        let alone = Estimate { value: 3.0, reach: None };
        assert_eq!(alone.shown(""), "3");
    }

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
