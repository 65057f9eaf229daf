//! Checks that a claim can both fail and hold, as far as the file alone shows.

use std::ops::Range;

use super::region::Region;
use super::{Claim, Published, Side, Take};
use crate::number::Number;
use crate::wrong::Wrong;

/// Refuses a claim that any number satisfies, that none does, or that no difference satisfies
/// although the paper claims one.
pub(super) fn check(claim: &Claim, at: &Range<usize>) -> Result<(), Wrong> {
    let message = match &claim.paper {
        Published::About { value, neutral, no_difference } => {
            number(claim, value).or_else(|| about(claim, value, neutral.as_ref(), *no_difference))
        }
        Published::Between { low, high, .. } if low.value >= high.value => Some(format!(
            "the range is reversed: {low} is not below {high}; the smaller end comes first"
        )),
        Published::Between { low, high, is_bound: false } => number(claim, low)
            .or_else(|| number(claim, high))
            .or_else(|| Region::of(claim).and_then(|region| zero_difference(&region))),
        Published::Bound { side, number, is_strict } => bound(claim, *side, number, *is_strict),
        Published::Curve { points } => curve(claim, points),
        Published::Between { .. } | Published::NotTestable(_) => None,
    };
    message.map_or(Ok(()), |message| Err(Wrong { message, span: at.clone() }))
}

/// Refuses a direction at a further point where the claim has none.
pub(super) fn also_at(claim: &Claim, at: &Range<usize>) -> Result<(), Wrong> {
    let has_direction = Region::of(claim).is_some_and(|region| region.has_direction());
    if claim.takes_best() && claim.of.contains('*') && has_direction {
        return Ok(());
    }
    Err(Wrong {
        message: "`also_at` is of a claim about the best of several points, `take = \"smallest\"` \
                  or \"largest\", and of a difference"
            .to_owned(),
        span: at.clone(),
    })
}

/// Checks that a number has a logarithm.
fn number(claim: &Claim, number: &Number) -> Option<String> {
    let (least, what) =
        if claim.is_change() { (-1.0, "a change of -100 %") } else { (0.0, "zero") };
    let has_none = number.value <= least && !claim.is_difference;
    (has_none || (claim.is_difference && number.value == 0.0)).then(|| {
        format!(
            "tolerances are factors, and {number} is not above {what}: a bound such as `at_most` has \
             none"
        )
    })
}

/// Checks whether a published number claims a difference.
fn about(
    claim: &Claim,
    value: &Number,
    neutral: Option<&Number>,
    no_difference: bool,
) -> Option<String> {
    let region = Region::of(claim)?;
    let zero = neutral.map_or(0.0, |neutral| neutral.value);
    if no_difference && !claim.is_change() {
        return Some("`no_difference` is of a change".to_owned());
    }
    if no_difference && region.has_direction() {
        return Some(format!(
            "`no_difference` with a published difference of {value}, which is more than 5 %"
        ));
    }
    // No difference that is published as a number.
    if claim.is_change() && (no_difference || (value.value - zero).abs() < f64::EPSILON) {
        return None;
    }
    zero_difference(&region)
}

fn zero_difference(region: &Region) -> Option<String> {
    let holds = region.neutral.is_some_and(|neutral| region.contains(neutral));
    holds.then(|| {
        "no difference would satisfy this claim: `no_difference = true` says that the paper claims \
         none"
            .to_owned()
    })
}

fn bound(claim: &Claim, side: Side, number: &Number, is_strict: bool) -> Option<String> {
    let least = claim.least().unwrap_or(f64::NEG_INFINITY);
    let most = claim.most().unwrap_or(f64::INFINITY);
    let (below, above) = match claim.is_change() {
        true if claim.take == Take::Spread => ("a spread is never below 0 %", ""),
        true => ("a change is never below -100 %", ""),
        false => ("a measured number is never below 0", "this fraction is never above 100 %"),
    };
    // Whether the limit of the quantity satisfies the bound.
    let (limit, beyond, limited, other) = match side {
        Side::AtLeast => (least, number.value < least, below, above),
        Side::AtMost => (most, number.value > most, above, below),
    };
    #[expect(clippy::float_cmp, reason = "both are written in the file or in the code")]
    let at_limit = number.value == limit;
    if beyond || (at_limit && !is_strict) {
        return Some(format!("anything satisfies this bound: {limited}"));
    }
    // Whether nothing beyond the opposite limit satisfies it.
    let is_nothing = match side {
        Side::AtLeast => number.value > most || (is_strict && number.value >= most),
        Side::AtMost => number.value < least || (is_strict && number.value <= least),
    };
    if is_nothing {
        return Some(format!("nothing satisfies this bound: {other}"));
    }
    // "Lower than" is `below`; "no worse than" has a tolerance.
    let is_zero = claim.is_change() && claim.take != Take::Spread && number.value == 0.0;
    (is_zero && !is_strict).then(|| {
        "no difference would satisfy this claim: `below` or `above` 0 % claims one, and a bound with \
         a tolerance, such as at_most = \"2%\", claims that nothing is lost"
            .to_owned()
    })
}

fn curve(claim: &Claim, points: &[(String, Number)]) -> Option<String> {
    if !claim.of.contains('*') {
        return Some("`points` are texts in place of the first `*` of `of`".to_owned());
    }
    if points.len() < 3 {
        return Some("a curve has three points or more".to_owned());
    }
    points.iter().find_map(|(_, value)| number(claim, value))
}
