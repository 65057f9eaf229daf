//! Range of numbers with which a claim holds, and the verdict for a measured number.
//!
//! A claim holds for a range of numbers. A measured number with its 95 % interval
//!
//! - **confirms** the claim if the whole interval is in the range,
//! - **excludes** it if the whole interval is outside,
//! - and leaves it open otherwise.
//!
//! A published difference that is larger than its tolerance has a direction: its side of no
//! difference. A smaller one has none, as the paper's own number may be chance.

use serde::{Deserialize, Deserializer, Serialize};
use tidegate_results::statistics::student;

use super::{Published, Side};
use crate::number::Number;

/// Measured number with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Measured {
    /// Mean over the repetitions; infinite for growth from zero.
    #[serde(deserialize_with = "or_infinite")]
    pub value: f64,
    /// Ends of the interval: over the repetitions, or from the blocks of a single run. `None`
    /// without an interval.
    pub interval: Option<(f64, f64)>,
    /// Repetitions.
    pub runs: usize,
}

/// JSON has no infinite numbers: `null` stands for them.
fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = Option::<f64>::deserialize(deserializer)?;
    Ok(number.unwrap_or(f64::INFINITY))
}

/// Verdict for a measured number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// The claim holds.
    Confirmed,
    /// The claim may hold or not.
    Open,
    /// The claim does not hold, but the difference has the published direction.
    SameDirection,
    /// The claim does not hold.
    Excluded,
}

/// Range of numbers with which a claim holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Region {
    low: f64,
    high: f64,
    /// Whether the ends are excluded.
    is_strict: bool,
    /// The number that means no difference, if there is one.
    pub(crate) neutral: Option<f64>,
    /// Side of the published number, if it has a direction.
    side: Option<f64>,
}

impl Region {
    /// Range around a published number.
    pub(crate) fn about(
        value: &Number,
        within: &Number,
        neutral: Option<&Number>,
        is_change: bool,
    ) -> Self {
        let reach = reach(value, within, is_change);
        let neutral = match neutral {
            Some(neutral) => Some(neutral.value),
            None => is_change.then_some(0.0),
        };
        Self::between(value.value - reach, value.value + reach, neutral)
    }

    fn between(low: f64, high: f64, neutral: Option<f64>) -> Self {
        let mut region = Self { low, high, is_strict: false, neutral, side: None };
        region.side =
            neutral.filter(|&neutral| !region.contains(neutral)).map(|neutral| low - neutral);
        region
    }

    /// Range of a published statement; `None` for curves and claims that are not testable.
    pub(crate) fn of(paper: &Published, is_change: bool) -> Option<Self> {
        match paper {
            Published::About { value, within, neutral } => {
                Some(Self::about(value, within, neutral.as_ref(), is_change))
            }
            Published::Between { low, high, within } => {
                let beyond = |end: &Number| {
                    let within = within.as_ref();
                    within.map_or(0.0, |within| reach(end, within, is_change))
                };
                let (low, high) = (low.value - beyond(low), high.value + beyond(high));
                Some(Self::between(low, high, is_change.then_some(0.0)))
            }
            Published::Bound { side, number, is_strict } => {
                Some(Self::beyond(*side, number.value, *is_strict, is_change))
            }
            Published::Curve { .. } | Published::NotTestable(_) => None,
        }
    }

    /// At least +30 %, or at most −30 %, promise a gain; other bounds promise no harm.
    fn beyond(side: Side, number: f64, is_strict: bool, is_change: bool) -> Self {
        let (low, high, way) = match side {
            Side::AtMost => (f64::NEG_INFINITY, number, -1.0),
            Side::AtLeast => (number, f64::INFINITY, 1.0),
        };
        let promises = number * way > 0.0;
        Self {
            low,
            high,
            is_strict,
            neutral: is_change.then_some(0.0),
            side: (is_change && promises).then_some(way),
        }
    }

    pub(crate) const fn has_direction(&self) -> bool {
        self.side.is_some()
    }

    /// Whether the range contains a number. A number exactly at an end, as decimal numbers are
    /// written, is inside unless the range is strict.
    pub(crate) fn contains(&self, number: f64) -> bool {
        if self.is_strict {
            return self.low < number && (number < self.high || self.high.is_infinite());
        }
        self.low - slack(self.low) <= number && number <= self.high + slack(self.high)
    }

    /// Distance of a number outside the range; 0 inside.
    pub(crate) fn deviation(&self, number: f64) -> f64 {
        (self.low - number).max(number - self.high).max(0.0)
    }

    /// Verdict for a measured number.
    pub(crate) fn standing(&self, measured: &Measured) -> Standing {
        let (low, high) = measured.interval.unwrap_or((measured.value, measured.value));
        let (low, high) = (low.min(measured.value), high.max(measured.value));
        if self.contains(low) && self.contains(high) {
            return Standing::Confirmed;
        }
        if self.meets(low, high) {
            return Standing::Open;
        }
        match (self.neutral, self.side) {
            (Some(neutral), Some(side))
                if (low - neutral) * side > 0.0 && (high - neutral) * side > 0.0 =>
            {
                Standing::SameDirection
            }
            _ => Standing::Excluded,
        }
    }

    /// Whether an interval overlaps the range.
    fn meets(&self, low: f64, high: f64) -> bool {
        if self.is_strict {
            return (low < self.high || self.high.is_infinite()) && high > self.low;
        }
        low <= self.high + slack(self.high) && high >= self.low - slack(self.low)
    }

    /// Number of repetitions that would decide, if they vary like the finished ones; `None` if no
    /// affordable number would.
    pub(crate) fn runs_to_decide(&self, measured: &Measured) -> Option<u32> {
        const MOST: u32 = 10_000;
        let (low, high) = measured.interval?;
        let ends = [self.low, self.high].into_iter();
        let distance = ends.map(|end| (measured.value - end).abs()).fold(f64::INFINITY, f64::min);
        let reach = (high - measured.value).max(measured.value - low);
        // The interval of a single run comes from many of its blocks, as good as a normal
        // distribution.
        let single = match measured.runs {
            0 | 1 => reach / 1.96,
            runs => reach * real(runs).sqrt() / student::quantile(runs - 1),
        };
        let decides = |runs: u32| {
            let runs = usize::try_from(runs).unwrap_or(usize::MAX);
            student::quantile(runs - 1) * single / real(runs).sqrt() < distance
        };
        let mut runs = 2.max(u32::try_from(measured.runs).unwrap_or(MOST) + 1);
        while runs <= MOST {
            if decides(runs) {
                return Some(runs);
            }
            // Exact for small numbers, and within a hundredth beyond.
            runs += 1 + runs / 100;
        }
        None
    }
}

fn reach(value: &Number, within: &Number, is_change: bool) -> f64 {
    if is_change { within.value } else { within.value * value.value.abs() }
}

fn slack(number: f64) -> f64 {
    1e-9 * number.abs()
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs are small")]
fn real(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    fn about(value: &str, within: &str, neutral: Option<&str>, is_change: bool) -> Region {
        let neutral = neutral.map(number);
        Region::about(&number(value), &number(within), neutral.as_ref(), is_change)
    }

    fn bound(side: Side, value: &str, is_strict: bool, is_change: bool) -> Region {
        Region::beyond(side, number(value).value, is_strict, is_change)
    }

    fn of(low: f64, high: f64) -> Measured {
        Measured { value: f64::midpoint(low, high), interval: Some((low, high)), runs: 3 }
    }

    fn at(value: f64) -> Measured {
        Measured { value, interval: None, runs: 1 }
    }

    #[test]
    fn a_change_holds_if_its_whole_interval_is_in_the_tolerance() {
        let region = about("-38%", "12%", None, true);
        for (low, high, expected) in [
            (-0.50, -0.26, Standing::Confirmed),
            (-0.501, -0.26, Standing::Open),
            (-0.50, -0.259, Standing::Open),
            // The number itself is inside, but so is no difference within chance.
            (-0.76, 0.0, Standing::Open),
            (-0.60, -0.50, Standing::Open),
            (-0.60, -0.501, Standing::SameDirection),
            (-0.26, -0.10, Standing::Open),
            (-0.259, -0.001, Standing::SameDirection),
            (-0.259, 0.0, Standing::Excluded),
            (0.1, 0.2, Standing::Excluded),
        ] {
            assert_eq!(region.standing(&of(low, high)), expected, "{low} to {high}");
        }
    }

    #[test]
    fn a_number_without_interval_is_judged_by_itself() {
        let region = about("670Mbps", "10%", None, false);
        assert_eq!(region.standing(&at(603e6)), Standing::Confirmed);
        assert_eq!(region.standing(&at(737e6)), Standing::Confirmed);
        assert_eq!(region.standing(&at(602e6)), Standing::Excluded);
        let region = about("670Mbps", "10%", Some("475Mbps"), false);
        assert_eq!(region.standing(&at(520e6)), Standing::SameDirection);
        assert_eq!(region.standing(&at(475e6)), Standing::Excluded);
        assert_eq!(region.standing(&at(470e6)), Standing::Excluded);
    }

    #[test]
    fn a_published_difference_that_is_no_larger_than_its_tolerance_has_no_direction() {
        assert!(about("-3.1%", "3%", None, true).has_direction());
        assert!(!about("-3%", "3%", None, true).has_direction());
        let region = about("-0.1%", "3%", None, true);
        assert!(!region.has_direction());
        // On the other side, but within: no sign rule.
        assert_eq!(region.standing(&of(0.01, 0.029)), Standing::Confirmed);
        assert_eq!(region.standing(&of(0.01, 0.0291)), Standing::Open);
        assert_eq!(region.standing(&of(0.03, 0.04)), Standing::Excluded);
        assert_eq!(region.standing(&of(-0.05, -0.032)), Standing::Excluded);
    }

    #[test]
    fn a_bound_holds_if_the_whole_interval_is_on_its_side() {
        let gain = bound(Side::AtMost, "-30%", false, true);
        assert_eq!(gain.standing(&of(-0.5, -0.3)), Standing::Confirmed);
        assert_eq!(gain.standing(&of(-0.5, -0.29)), Standing::Open);
        assert_eq!(gain.standing(&of(-0.3, -0.1)), Standing::Open);
        assert_eq!(gain.standing(&of(-0.29, -0.1)), Standing::SameDirection);
        assert_eq!(gain.standing(&of(-0.29, 0.0)), Standing::Excluded);
        let harm = bound(Side::AtMost, "1.2%", false, true);
        assert_eq!(harm.standing(&of(-0.1, 0.012)), Standing::Confirmed);
        assert_eq!(harm.standing(&of(-0.1, 0.013)), Standing::Open);
        assert_eq!(harm.standing(&of(0.013, 0.014)), Standing::Excluded);
        let least = bound(Side::AtLeast, "2ms", false, false);
        assert_eq!(least.standing(&at(0.002)), Standing::Confirmed);
        assert_eq!(least.standing(&at(0.0019)), Standing::Excluded);
    }

    #[test]
    fn a_strict_bound_is_not_satisfied_by_its_own_number() {
        let below = bound(Side::AtMost, "0%", true, true);
        assert_eq!(below.standing(&at(0.0)), Standing::Excluded);
        assert_eq!(below.standing(&at(-0.001)), Standing::Confirmed);
        assert_eq!(below.standing(&of(-0.1, 0.0)), Standing::Open);
        assert_eq!(below.standing(&of(0.0, 0.1)), Standing::Excluded);
        let above = bound(Side::AtLeast, "0.3%", true, false);
        assert_eq!(above.standing(&at(0.003)), Standing::Excluded);
        assert_eq!(above.standing(&at(0.0031)), Standing::Confirmed);
    }

    #[test]
    fn a_published_range_is_widened_by_its_tolerance_at_both_ends() {
        let paper = Published::Between {
            low: number("-1.38%"),
            high: number("-0.72%"),
            within: Some(number("0.1%")),
        };
        let region = Region::of(&paper, true).unwrap();
        assert_eq!(region.standing(&of(-0.0148, -0.0062)), Standing::Confirmed);
        assert_eq!(region.standing(&of(-0.0149, -0.0062)), Standing::Open);
        assert_eq!(region.standing(&of(-0.005, -0.002)), Standing::SameDirection);
        assert_eq!(region.standing(&of(-0.005, 0.001)), Standing::Excluded);
    }

    #[test]
    fn the_number_of_runs_that_would_decide_makes_the_interval_fit() {
        let region = about("-38%", "12%", None, true);
        // Three runs reach ±0.2 (t = 4.3027, so each varies by 0.0805); the nearer end is 0.08
        // away.
        let measured = Measured { value: -0.34, interval: Some((-0.54, -0.14)), runs: 3 };
        let single = 0.2 * 3f64.sqrt() / 4.3027;
        let reach = |runs: usize| student::quantile(runs - 1) * single / real(runs).sqrt();
        assert_eq!(region.runs_to_decide(&measured), Some(7));
        assert!(reach(7) < 0.08 && reach(6) > 0.08);
        // At the edge itself no number does.
        let edge = Measured { value: -0.5, ..measured };
        assert_eq!(region.runs_to_decide(&edge), None);
        assert_eq!(region.runs_to_decide(&at(-0.3)), None, "it has no interval");
        // A single run has the interval of its blocks.
        let blocks = Measured { runs: 1, ..measured };
        assert!(region.runs_to_decide(&blocks).is_some_and(|runs| runs > 7));
    }
}
