//! Checks that a claim can both fail and hold, as far as the file alone shows.

use std::ops::Range;

use super::region::Region;
use super::{Claim, Published, Side, Take};
use crate::number::Number;
use crate::wrong::Wrong;

/// Refuses a claim that any number satisfies, that none does, or that no difference satisfies
/// although the paper claims one.
pub(super) fn check(claim: &Claim, no_difference: bool, at: &Range<usize>) -> Result<(), Wrong> {
    let wrong = |message: String| Err(Wrong { message, span: at.clone() });
    if let Some(message) = tolerance(claim) {
        return wrong(message);
    }
    let message = match &claim.paper {
        Published::About { value, within, neutral } => {
            let region = Region::about(value, within, neutral.as_ref(), claim.is_change());
            difference(&region, no_difference, value.value, within)
        }
        Published::Between { low, high, .. } if low.value > high.value => Some(format!(
            "the range is reversed: {low} is above {high}; the smaller end comes first"
        )),
        Published::Between { .. } => {
            let region = Region::of(&claim.paper, claim.is_change());
            region.and_then(|region| zero_difference(&region, no_difference))
        }
        Published::Bound { side, number, is_strict } => {
            bound(claim, *side, number, *is_strict, no_difference)
        }
        Published::Curve { points, within } => curve(claim, points, within, no_difference),
        Published::NotTestable(_) => None,
    };
    message.map_or(Ok(()), wrong)
}

/// Checks the tolerance.
fn tolerance(claim: &Claim) -> Option<String> {
    let (Published::About { within, .. }
    | Published::Curve { within, .. }
    | Published::Between { within: Some(within), .. }) = &claim.paper
    else {
        return None;
    };
    if within.value < 0.0 {
        return Some(format!("a tolerance of {within} is satisfied by nothing"));
    }
    if within.value >= 1.0 {
        return Some(format!(
            "a tolerance of {within} is satisfied by anything: it must be below 100 %"
        ));
    }
    match &claim.read_off {
        Some(reach) if reach.value > within.value => Some(format!(
            "numbers that are read off with ±{reach} cannot be judged within {within}"
        )),
        _ => None,
    }
}

/// Checks a number and whether it claims a difference.
fn difference(region: &Region, no_difference: bool, value: f64, within: &Number) -> Option<String> {
    if no_difference && region.has_direction() {
        return Some(format!(
            "`no_difference` with a published difference that is larger than the tolerance of \
             {within}"
        ));
    }
    // A neutral number itself claims no difference.
    if value == 0.0 {
        return None;
    }
    zero_difference(region, no_difference)
}

fn zero_difference(region: &Region, no_difference: bool) -> Option<String> {
    let holds = region.neutral.is_some_and(|neutral| region.contains(neutral));
    (holds && !no_difference).then(|| {
        "no difference would satisfy this claim: a smaller `within` makes it one that can fail, and \
         `no_difference = true` says that the paper claims none"
            .to_owned()
    })
}

fn bound(
    claim: &Claim,
    side: Side,
    number: &Number,
    is_strict: bool,
    no_difference: bool,
) -> Option<String> {
    let least = claim.least().unwrap_or(f64::NEG_INFINITY);
    let what = match claim.is_change() {
        true if claim.take == Take::Spread => "a spread is never below 0 %",
        true => "a change is never below -100 %",
        false => "a measured number is never below 0",
    };
    // Whether the lower limit satisfies the bound, and whether it alone does.
    let is_anything = number.value < least || (!is_strict && number.value <= least);
    let is_nothing = number.value < least || (is_strict && number.value <= least);
    match side {
        Side::AtLeast if is_anything => {
            return Some(format!("anything satisfies this bound: {what}"));
        }
        Side::AtMost if is_nothing => {
            return Some(format!("nothing satisfies this bound: {what}"));
        }
        _ => {}
    }
    // "Lower than" is `below`; "no worse than" has a tolerance.
    let is_zero = claim.is_change() && claim.take != Take::Spread && number.value == 0.0;
    (is_zero && !is_strict && !no_difference).then(|| {
        "no difference would satisfy this claim: `below` or `above` 0 % claims one, and a bound with \
         a tolerance, such as at_most = \"2%\", claims that nothing is lost"
            .to_owned()
    })
}

fn curve(
    claim: &Claim,
    points: &[(String, Number)],
    within: &Number,
    no_difference: bool,
) -> Option<String> {
    if !claim.of.contains('*') {
        return Some("`points` are texts in place of the first `*` of `of`".to_owned());
    }
    if points.len() < 3 {
        return Some("a curve has three points or more".to_owned());
    }
    let regions =
        points.iter().map(|(_, value)| Region::about(value, within, None, claim.is_change()));
    let is_flat = claim.is_change() && regions.into_iter().all(|region| !region.has_direction());
    match (is_flat, no_difference) {
        (true, false) => Some(
            "no difference would satisfy every point of this curve: a smaller `within` makes it one \
             that can fail, and `no_difference = true` says that the paper claims none"
                .to_owned(),
        ),
        (false, true) => Some(
            "`no_difference` with published differences that are larger than the tolerance"
                .to_owned(),
        ),
        _ => None,
    }
}
