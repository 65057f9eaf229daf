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

use super::tolerance::{Difference, Scale};
use super::{Claim, Published, Side};
use crate::estimate::{Estimate, Looks};
use crate::number::Number;

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
    /// Range of a claim; `None` for curves and claims that are not testable.
    pub(crate) fn of(claim: &Claim) -> Option<Self> {
        let read_off = claim.read_off.as_ref().map_or(0.0, |reach| reach.value);
        match &claim.paper {
            Published::About { value, neutral, no_difference } => {
                let scale = Scale::of(claim, neutral.as_ref());
                let is_none = *no_difference || (claim.is_change() && value.value == 0.0);
                let difference = if is_none { Difference::None } else { Difference::Claimed };
                let (low, high) = scale.around(value.value, difference);
                Some(Self::between(low - read_off, high + read_off, scale.neutral()))
            }
            Published::Between { low, high, is_bound } => {
                let scale = Scale::of(claim, None);
                let ends = if *is_bound {
                    (low.value, high.value)
                } else {
                    let ends = |number: &Number| scale.around(number.value, Difference::Claimed);
                    (ends(low).0, ends(high).1)
                };
                Some(Self::between(ends.0 - read_off, ends.1 + read_off, scale.neutral()))
            }
            Published::Bound { side, number, is_strict } => {
                Some(Self::beyond(*side, number.value, *is_strict, claim.is_change()))
            }
            Published::Curve { .. } | Published::NotTestable(_) => None,
        }
    }

    /// Range of a point of a curve.
    pub(crate) fn of_point(claim: &Claim, value: &Number) -> Self {
        let read_off = claim.read_off.as_ref().map_or(0.0, |reach| reach.value);
        let scale = Scale::of(claim, None);
        let (low, high) = scale.around(value.value, Difference::OfCurve);
        Self::between(low - read_off, high + read_off, scale.neutral())
    }

    /// Range on the side of the claimed direction; `None` without a direction.
    pub(crate) fn of_direction(&self) -> Option<Self> {
        let (neutral, side) = (self.neutral?, self.side?);
        let side = if side < 0.0 { Side::AtMost } else { Side::AtLeast };
        Some(Self::beyond(side, neutral, true, true))
    }

    fn between(low: f64, high: f64, neutral: Option<f64>) -> Self {
        let mut region = Self { low, high, is_strict: false, neutral, side: None };
        region.side =
            neutral.filter(|&neutral| !region.contains(neutral)).map(|neutral| low - neutral);
        region
    }

    /// Ends; a bound has one that is infinite.
    pub(crate) const fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
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

    /// Verdict for an estimate with its interval.
    pub(crate) fn standing(&self, (low, high): (f64, f64)) -> Standing {
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

    /// Number of repetitions at the first look that would decide, if they vary like the finished
    /// ones; `None` if no affordable number would.
    pub(crate) fn runs_to_decide(&self, estimate: &Estimate, looks: Looks) -> Option<usize> {
        let ends = [self.low, self.high].into_iter();
        let distance = ends.map(|end| (estimate.value - end).abs()).fold(f64::INFINITY, f64::min);
        looks.after(estimate.runs).find(|&runs| {
            let reach = estimate.reach_with(runs, looks);
            reach.is_some_and(|reach| reach < distance)
        })
    }
}

fn slack(number: f64) -> f64 {
    1e-9 * number.abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;

    /// Range of a claim about a change, or about a number without `against`.
    fn region(rest: &str) -> Region {
        let text = format!(
            "[figure]\nid = \"x-f1\"\nshows = \"a\"\nsource = \"b\"\n[[figure.claim]]\nsays = \"c\"\n\
             of = \"load *, A\"\n{rest}\n"
        );
        let figure = Figure::parse(&text).unwrap_or_else(|wrong| panic!("{}", wrong.message));
        Region::of(&figure.unwrap().claims[0]).unwrap()
    }

    fn change(rest: &str) -> Region {
        region(&format!("measure = \"fct_mean\"\nagainst = \"load *, B\"\n{rest}"))
    }

    fn goodput(rest: &str) -> Region {
        region(&format!("measure = {{ of = \"goodput\" }}\n{rest}"))
    }

    fn at(region: &Region, value: f64) -> Standing {
        region.standing((value, value))
    }

    #[test]
    fn a_change_holds_if_its_whole_interval_is_in_the_accepted_range() {
        // A ratio of 0.64, from 0.512 to 0.8.
        let region = change("paper = \"-36%\"");
        for (low, high, expected) in [
            (-0.488, -0.2, Standing::Confirmed),
            (-0.489, -0.2, Standing::Open),
            (-0.488, -0.199, Standing::Open),
            // The number itself is inside, but so is no difference within chance.
            (-0.76, 0.0, Standing::Open),
            (-0.60, -0.488, Standing::Open),
            (-0.60, -0.4881, Standing::SameDirection),
            (-0.2, -0.10, Standing::Open),
            (-0.199, -0.001, Standing::SameDirection),
            (-0.199, 0.0, Standing::Excluded),
            (0.1, 0.2, Standing::Excluded),
        ] {
            assert_eq!(region.standing((low, high)), expected, "{low} to {high}");
        }
    }

    #[test]
    fn a_number_has_a_direction_if_the_claim_names_the_neutral_value() {
        let region = goodput("paper = \"670Mbps\"");
        assert_eq!(at(&region, 639e6), Standing::Confirmed);
        assert_eq!(at(&region, 703e6), Standing::Confirmed);
        assert_eq!(at(&region, 637e6), Standing::Excluded);
        let region = goodput("paper = \"684Mbps\"\nneutral = \"475Mbps\"");
        assert_eq!(at(&region, 571e6), Standing::Confirmed);
        assert_eq!(at(&region, 569e6), Standing::SameDirection);
        assert_eq!(at(&region, 475e6), Standing::Excluded);
        assert_eq!(at(&region, 470e6), Standing::Excluded);
    }

    #[test]
    fn no_difference_has_no_direction() {
        for rest in ["paper = \"0%\"", "paper = \"-1%\"\nno_difference = true"] {
            let region = change(rest);
            assert!(!region.has_direction() && region.of_direction().is_none());
            // On the other side, but within: no sign rule.
            assert_eq!(region.standing((0.01, 0.029)), Standing::Confirmed);
            assert_eq!(region.standing((0.01, 0.06)), Standing::Open);
            assert_eq!(region.standing((0.06, 0.07)), Standing::Excluded);
            assert_eq!(region.standing((-0.08, -0.07)), Standing::Excluded);
        }
        assert!(change("paper = \"-1%\"").has_direction());
    }

    #[test]
    fn a_bound_holds_if_the_whole_interval_is_on_its_side() {
        let gain = change("at_most = \"-30%\"");
        assert_eq!(gain.standing((-0.5, -0.3)), Standing::Confirmed);
        assert_eq!(gain.standing((-0.5, -0.29)), Standing::Open);
        assert_eq!(gain.standing((-0.3, -0.1)), Standing::Open);
        assert_eq!(gain.standing((-0.29, -0.1)), Standing::SameDirection);
        assert_eq!(gain.standing((-0.29, 0.0)), Standing::Excluded);
        let harm = change("at_most = \"1.2%\"");
        assert_eq!(harm.standing((-0.1, 0.012)), Standing::Confirmed);
        assert_eq!(harm.standing((-0.1, 0.013)), Standing::Open);
        assert_eq!(harm.standing((0.013, 0.014)), Standing::Excluded);
        let least = region("measure = \"fct_mean\"\nat_least = \"2ms\"");
        assert_eq!(at(&least, 0.002), Standing::Confirmed);
        assert_eq!(at(&least, 0.0019), Standing::Excluded);
    }

    #[test]
    fn a_strict_bound_is_not_satisfied_by_its_own_number() {
        let below = change("below = \"0%\"");
        assert_eq!(at(&below, 0.0), Standing::Excluded);
        assert_eq!(at(&below, -0.001), Standing::Confirmed);
        assert_eq!(below.standing((-0.1, 0.0)), Standing::Open);
        assert_eq!(below.standing((0.0, 0.1)), Standing::Excluded);
        let above = region("measure = { of = \"loss\" }\nabove = \"0.3%\"");
        assert_eq!(at(&above, 0.003), Standing::Excluded);
        assert_eq!(at(&above, 0.0031), Standing::Confirmed);
    }

    #[test]
    fn the_direction_of_a_claim_is_a_side_of_no_difference() {
        let lower = change("paper = \"-36%\"").of_direction().unwrap();
        assert_eq!(at(&lower, -0.01), Standing::Confirmed);
        assert_eq!(at(&lower, 0.0), Standing::Excluded);
        assert_eq!(lower.standing((-0.1, 0.1)), Standing::Open);
        let higher = change("at_least = \"20%\"").of_direction().unwrap();
        assert_eq!(at(&higher, 0.01), Standing::Confirmed);
    }

    #[test]
    fn both_ends_of_a_published_range_have_their_tolerance() {
        // 0.9 and 0.99: from 0.9 times its root to 0.99 over its root.
        let region = change("paper = [\"-10%\", \"-1%\"]");
        let (low, high) = region.ends();
        assert!((low - (0.9_f64.powf(1.5) - 1.0)).abs() < 1e-12, "{low}");
        assert!((high - (0.99_f64.sqrt() - 1.0)).abs() < 1e-12, "{high}");
        assert_eq!(region.standing((-0.004, -0.002)), Standing::SameDirection);
        assert_eq!(region.standing((-0.004, 0.001)), Standing::Excluded);
        // Bounds have none, and no direction.
        let region = change("between = [\"-4%\", \"4%\"]");
        assert_eq!(region.ends(), (-0.04, 0.04));
        assert_eq!(region.standing((0.05, 0.06)), Standing::Excluded);
    }

    #[test]
    fn the_accuracy_of_reading_a_figure_comes_on_top() {
        let (low, high) = change("paper = \"-36%\"\nread_off = \"1%\"").ends();
        assert!((low + 0.498).abs() < 1e-9 && (high + 0.19).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn the_number_of_runs_that_would_decide_makes_the_interval_fit() {
        let region = change("paper = \"-36%\"");
        let looks = Looks::new(5);
        // 0.1 from the nearer end.
        let estimate = Estimate { value: -0.3, deviation: Some(0.2), runs: 5 };
        let reach = |runs| estimate.reach_with(runs, looks).unwrap();
        let runs = region.runs_to_decide(&estimate, looks).unwrap();
        assert!(reach(runs) < 0.1 && reach(runs / 2) > 0.1, "{runs}");
        assert_eq!(runs, 40);
        // At the edge itself no number does.
        let edge = Estimate { value: -0.2, ..estimate };
        assert_eq!(region.runs_to_decide(&edge, looks), None);
        let single = Estimate { deviation: None, runs: 1, ..estimate };
        assert_eq!(region.runs_to_decide(&single, looks), None, "it has no interval");
    }
}
