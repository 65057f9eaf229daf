//! The round time: a moving average in fixed point, and its decay.

use tidegate_units::{Ratio, Span};

use super::Arithmetic;

/// Moving average of times, in units of its arithmetic.
#[derive(Clone, Debug)]
pub(super) struct Average {
    arithmetic: Arithmetic,
    /// Weight of the old value, below one, in units of 2^−[`bits`]; rounded down.
    weight: u32,
}

/// One idle slot, as a number of slots with 32 bits after the point.
pub(super) const ONE_SLOT: u128 = 1 << 32;

/// Number of whole slots in `span`.
pub(super) const fn whole_slots(span: Span, slot: Span) -> u64 {
    span.as_ps() / slot.as_ps()
}

/// Number of slots in `span`, with 32 fractional bits; rounded down.
pub(super) fn slots(span: Span, slot: Span) -> u128 {
    (u128::from(span.as_ps()) << 32) / u128::from(slot.as_ps())
}

impl Average {
    pub(super) fn new(arithmetic: Arithmetic, weight: Ratio) -> Self {
        let unit = 1 << bits(arithmetic);
        Self { arithmetic, weight: u32::try_from(weight.of(unit)).unwrap_or(u32::MAX) }
    }

    /// The average after another sample; rounded down.
    #[inline]
    pub(super) fn with_sample(&self, old: u64, sample: Span) -> u64 {
        let sample = match self.arithmetic {
            Arithmetic::Exact => sample.as_ps(),
            Arithmetic::Kernel => sample.as_ns(),
        };
        let bits = bits(self.arithmetic);
        let rest = (1 << bits) - u64::from(self.weight);
        let sum = u128::from(old) * u128::from(self.weight) + u128::from(sample) * u128::from(rest);
        // The weights add up to one, so the result is at most the larger of the two.
        (sum >> bits) as u64
    }

    /// `old` times the weight to the power of `exponent`, which has 32 fractional bits; rounded
    /// down.
    pub(super) fn decayed(&self, old: u64, exponent: u128) -> u64 {
        if old == 0 {
            return 0;
        }
        let base = u64::from(self.weight) << (32 - bits(self.arithmetic));
        ((u128::from(old) * u128::from(power(base, exponent))) >> 32) as u64
    }

    /// Bits per second times units of time, per byte.
    pub(super) fn rate_scale(&self) -> u128 {
        match self.arithmetic {
            Arithmetic::Exact => 8_000_000_000_000,
            Arithmetic::Kernel => 1 << 33,
        }
    }

    /// Whether a round time is at least a nanosecond. Shorter times count as none.
    #[inline]
    pub(super) fn is_measured(&self, round: u64) -> bool {
        match self.arithmetic {
            Arithmetic::Exact => round >= 1_000,
            Arithmetic::Kernel => round >= 1,
        }
    }
}

/// Fractional bits of a weight.
#[inline]
const fn bits(arithmetic: Arithmetic) -> u32 {
    match arithmetic {
        Arithmetic::Exact => 32,
        Arithmetic::Kernel => 10,
    }
}

/// `base` to the power of `exponent`, all with 32 fractional bits; `base` is below one. Each
/// multiplication and each root is rounded down.
pub(super) fn power(base: u64, exponent: u128) -> u64 {
    let times = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 32) as u64;
    let mut result = 1 << 32;
    // Integer part: a square for each binary digit.
    let (mut square, mut whole) = (base, exponent >> 32);
    while whole > 0 {
        if whole & 1 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        whole >>= 1;
    }
    // Fraction: a square root for each binary digit.
    let (mut root, mut fraction) = (base, exponent as u32);
    while fraction > 0 {
        // Below 2^32, because `base` is.
        root = (root << 32).isqrt();
        if fraction >> 31 == 1 {
            result = times(result, root);
        }
        fraction <<= 1;
    }
    result
}
