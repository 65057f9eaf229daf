//! Exact fractions: weights, probabilities, dynamic-threshold factors.

use core::num::NonZeroU32;

use crate::Span;

/// A non-negative fraction, kept exactly. `1/2` and `2/4` compare equal.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    numerator: u32,
    denominator: NonZeroU32,
}

impl Ratio {
    /// Zero.
    pub const ZERO: Self = Self { numerator: 0, denominator: NonZeroU32::MIN };
    /// One.
    pub const ONE: Self = Self { numerator: 1, denominator: NonZeroU32::MIN };

    /// `numerator / denominator`; `None` if the denominator is zero.
    pub const fn new(numerator: u32, denominator: u32) -> Option<Self> {
        match NonZeroU32::new(denominator) {
            Some(denominator) => Some(Self { numerator, denominator }),
            None => None,
        }
    }

    /// A whole number.
    pub const fn whole(number: u32) -> Self {
        Self { numerator: number, denominator: NonZeroU32::MIN }
    }

    /// The upper part of the fraction.
    #[inline]
    pub const fn numerator(self) -> u32 {
        self.numerator
    }

    /// The lower part of the fraction, never zero.
    #[inline]
    pub const fn denominator(self) -> u32 {
        self.denominator.get()
    }

    /// `value` times this fraction, rounded down; saturates.
    #[inline]
    pub const fn of(self, value: u64) -> u64 {
        let product = value as u128 * self.numerator as u128 / self.denominator.get() as u128;
        if product > u64::MAX as u128 { u64::MAX } else { product as u64 }
    }

    /// A span times this fraction, rounded down to a picosecond; saturates.
    #[inline]
    pub const fn of_span(self, span: Span) -> Span {
        Span::from_ps(self.of(span.as_ps()))
    }

    /// `value` divided by this fraction, rounded up; saturates, also for a fraction of zero.
    pub const fn divide_up(self, value: u64) -> u64 {
        if self.numerator == 0 {
            return u64::MAX;
        }
        let product = value as u128 * self.denominator.get() as u128;
        let quotient = product.div_ceil(self.numerator as u128);
        if quotient > u64::MAX as u128 { u64::MAX } else { quotient as u64 }
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ratio {}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        let cross = |a: &Self, b: &Self| u64::from(a.numerator) * u64::from(b.denominator.get());
        cross(self, other).cmp(&cross(other, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(numerator: u32, denominator: u32) -> Ratio {
        Ratio::new(numerator, denominator).unwrap()
    }

    #[test]
    fn equal_fractions_compare_equal() {
        assert_eq!(ratio(1, 2), ratio(2, 4));
        assert!(ratio(1, 3) < ratio(1, 2));
        assert!(ratio(u32::MAX, 1) > ratio(u32::MAX, 2));
        assert_eq!(Ratio::whole(1), Ratio::ONE);
        assert_eq!(ratio(0, 7), Ratio::ZERO);
        assert!(Ratio::new(1, 0).is_none());
    }

    #[test]
    fn of_rounds_down_and_divide_up_rounds_up() {
        assert_eq!(ratio(2, 3).of(10), 6);
        assert_eq!(ratio(2, 3).divide_up(10), 15);
        assert_eq!(ratio(3, 2).divide_up(10), 7);
        assert_eq!(Ratio::whole(2).of(u64::MAX), u64::MAX);
        assert_eq!(ratio(1, 2).divide_up(u64::MAX), u64::MAX);
        assert_eq!(Ratio::ZERO.divide_up(0), u64::MAX);
    }
}
