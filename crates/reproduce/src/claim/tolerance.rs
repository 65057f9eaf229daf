//! Tolerance: one rule for the published numbers of all claims, on a logarithmic scale.
//!
//! | published | reproduced within |
//! |---|---|
//! | difference of two schemes, or from a neutral number | half of it, at most a factor of 1.5 |
//! | no difference, such as "similar"; a point of a curve at least | a factor of 1.05 |
//! | rate, of which the capacity of a link decides | a factor of 1.05 |
//! | time, length, fraction | a factor of 1.2 |
//! | number of events, such as timeouts; difference of two times | a factor of 1.5 |
//! | number found by a sweep, such as the lowest threshold | a factor of 1.1, its usual step |
//! | arithmetic | a factor of 1.005 |
//!
//! Half of a difference is taken of its logarithm: "3 times as long" is reproduced from 2 to 4.5
//! times, and "1.2 times as long" from 1.1 to 1.31. So a claim about A against B accepts exactly
//! the inverse of the claim about B against A. The accuracy of reading a figure comes on top.
//! Bounds are as published.

use super::{Claim, Take};
use crate::measure::Kind;
use crate::number::Number;

/// Largest factor between a measured and a published difference.
const MOST: f64 = 1.5;

/// Factor within which two numbers are the same.
const SAME: f64 = 1.05;

/// Kind of a number, which decides its tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// Relative change, 0 for none.
    Change,
    /// Difference of two numbers, 0 for none.
    Difference,
    /// Number with a value that means no difference, if there is one.
    Number {
        /// Kind of number.
        kind: Kind,
        /// Value that means no difference.
        neutral: Option<f64>,
    },
}

impl Scale {
    /// Scale of a claim's number.
    pub(crate) fn of(claim: &Claim, neutral: Option<&Number>) -> Self {
        if claim.is_change() {
            return Self::Change;
        }
        if claim.is_difference {
            return Self::Difference;
        }
        let kind = match claim.take {
            Take::FirstAboveZero | Take::FirstReaching(_) => Kind::Swept,
            _ => claim.measure.kind(),
        };
        Self::Number { kind, neutral: neutral.map(|neutral| neutral.value) }
    }

    /// The value that means no difference.
    pub(crate) fn neutral(self) -> Option<f64> {
        match self {
            Self::Change | Self::Difference => Some(0.0),
            Self::Number { neutral, .. } => neutral,
        }
    }

    /// Ends of the accepted range around a published number.
    pub(crate) fn around(self, value: f64, difference: Difference) -> (f64, f64) {
        match self {
            Self::Difference => {
                let (one, other) = (value / MOST, value * MOST);
                (one.min(other), one.max(other))
            }
            Self::Change => {
                let ratio = 1.0 + value;
                let factor = match difference {
                    Difference::None => SAME,
                    Difference::Claimed | Difference::OfCurve => half(ratio, difference),
                };
                (ratio / factor - 1.0, ratio * factor - 1.0)
            }
            Self::Number { kind, neutral } => {
                let factor = match neutral {
                    Some(neutral) if neutral > 0.0 => half(value / neutral, difference),
                    // The logarithm of a difference from zero is infinite.
                    _ => factor_of(kind),
                };
                (value / factor, value * factor)
            }
        }
    }
}

/// Factor of half of a ratio's logarithm.
fn half(ratio: f64, difference: Difference) -> f64 {
    let least = if difference == Difference::OfCurve { SAME } else { 1.0 };
    ratio.max(1.0 / ratio).sqrt().min(MOST).max(least)
}

/// Meaning of a published difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// The paper claims the difference.
    Claimed,
    /// The paper claims that there is none, or calls it negligible.
    None,
    /// Point of a curve, which may be near no difference.
    OfCurve,
}

const fn factor_of(kind: Kind) -> f64 {
    match kind {
        Kind::Arithmetic => 1.005,
        Kind::Events => 1.5,
        Kind::Extent => 1.2,
        Kind::Rate => SAME,
        Kind::Swept => 1.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ends: (f64, f64), low: f64, high: f64) -> bool {
        (ends.0 - low).abs() < 5e-4 && (ends.1 - high).abs() < 5e-4
    }

    #[test]
    fn half_of_a_difference_is_accepted_up_to_a_factor_of_1_5() {
        for (published, low, high) in [
            // Ratios of 0.766, 0.386, 0.056, 1.2 and 3.
            (-0.234, -0.3296, -0.1248),
            (-0.614, -0.7427, -0.421),
            (-0.944, -0.9627, -0.916),
            (0.2, 0.0954, 0.3145),
            (2.0, 1.0, 3.5),
        ] {
            let ends = Scale::Change.around(published, Difference::Claimed);
            assert!(near(ends, low, high), "{published}: {ends:?}");
        }
    }

    #[test]
    fn a_claim_and_its_inverse_accept_inverse_ratios() {
        for ratio in [0.03_f64, 0.33, 0.8, 0.95, 1.1, 3.1, 67.0] {
            let ends = |ratio: f64| Scale::Change.around(ratio - 1.0, Difference::Claimed);
            let (there, back) = (ends(ratio), ends(1.0 / ratio));
            assert!(((1.0 + there.0) * (1.0 + back.1) - 1.0).abs() < 1e-9, "{ratio}");
            assert!(there.0 * there.1 > 0.0, "{ratio}: no difference is never accepted");
        }
    }

    #[test]
    fn no_difference_and_points_of_curves_have_five_per_cent() {
        assert!(near(Scale::Change.around(0.0, Difference::None), -0.0476, 0.05));
        assert!(near(Scale::Change.around(0.014, Difference::None), -0.0343, 0.0647));
        assert!(near(Scale::Change.around(0.002, Difference::OfCurve), -0.0457, 0.0521));
        // Half of −17.4 % is more than 5 %.
        assert!(near(Scale::Change.around(-0.174, Difference::OfCurve), -0.2493, -0.0912));
    }

    #[test]
    fn numbers_have_the_factor_of_their_kind() {
        let ends = |kind, value, neutral| {
            Scale::Number { kind, neutral }.around(value, Difference::Claimed)
        };
        assert!(near(ends(Kind::Extent, 1.2, None), 1.0, 1.44));
        assert!(near(ends(Kind::Rate, 2.1, None), 2.0, 2.205));
        assert!(near(ends(Kind::Events, 3.0, None), 2.0, 4.5));
        assert!(near(ends(Kind::Swept, 1.1, None), 1.0, 1.21));
        let longer = Scale::Difference.around(-0.003, Difference::Claimed);
        assert!(near(longer, -0.0045, -0.002), "{longer:?}");
        // A difference from the neutral number: 782 instead of 475, and 125 instead of none.
        assert!(near(ends(Kind::Rate, 782.0, Some(475.0)), 609.467, 1_003.375_1));
        assert!(near(ends(Kind::Events, 125.0, Some(0.0)), 83.333_3, 187.5));
    }
}
