//! Points in time and lengths of time, in whole picoseconds.
//!
//! A picosecond makes the time of one byte exact at every link speed in use: 800 ps at 10 Gb/s,
//! 80 ps at 100 Gb/s, 10 ps at 800 Gb/s. 2^64 ps is 213 days.

use core::ops::{Add, AddAssign, Mul, Sub};

/// A point in time: picoseconds since the start of the run.
///
/// Only `Time + Span` and `Time - Time` are defined; adding two times does not compile. Both
/// saturate: a time never passes [`Time::MAX`] and a span never falls below zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time in picoseconds. Sums and products saturate, differences stop at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

macro_rules! constructors {
    ($name:ident) => {
        impl $name {
            /// Zero picoseconds.
            pub const ZERO: Self = Self(0);
            /// The largest value, 2^64 − 1 ps: 213 days.
            pub const MAX: Self = Self(u64::MAX);

            /// From picoseconds, exact.
            #[inline]
            pub const fn from_ps(ps: u64) -> Self {
                Self(ps)
            }

            /// From nanoseconds; saturates.
            #[inline]
            pub const fn from_ns(ns: u64) -> Self {
                Self(ns.saturating_mul(1_000))
            }

            /// From microseconds; saturates.
            #[inline]
            pub const fn from_us(us: u64) -> Self {
                Self(us.saturating_mul(1_000_000))
            }

            /// From milliseconds; saturates.
            #[inline]
            pub const fn from_ms(ms: u64) -> Self {
                Self(ms.saturating_mul(1_000_000_000))
            }

            /// From seconds; saturates.
            #[inline]
            pub const fn from_secs(secs: u64) -> Self {
                Self(secs.saturating_mul(1_000_000_000_000))
            }

            /// Whole picoseconds.
            #[inline]
            pub const fn as_ps(self) -> u64 {
                self.0
            }

            /// Whole nanoseconds, rounded down.
            #[inline]
            pub const fn as_ns(self) -> u64 {
                self.0 / 1_000
            }
        }
    };
}

constructors!(Time);
constructors!(Span);

impl Add<Span> for Time {
    type Output = Self;

    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Self;

    #[inline]
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Sub for Time {
    type Output = Span;

    /// The span from `earlier` to `self`; zero if `earlier` is not earlier.
    #[inline]
    fn sub(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Span {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Self;

    #[inline]
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_agree_on_one_second() {
        let second = Span::from_secs(1);
        assert_eq!(second, Span::from_ms(1_000));
        assert_eq!(second, Span::from_us(1_000_000));
        assert_eq!(second, Span::from_ns(1_000_000_000));
        assert_eq!(second, Span::from_ps(1_000_000_000_000));
        assert_eq!(Time::from_secs(1) - Time::ZERO, second);
    }

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Time::MAX + Span::from_ps(1), Time::MAX);
        assert_eq!(Time::ZERO - Span::from_ps(1), Time::ZERO);
        assert_eq!(Time::from_ps(3) - Time::from_ps(5), Span::ZERO);
        assert_eq!(Span::from_ps(3) - Span::from_ps(5), Span::ZERO);
        assert_eq!(Span::MAX + Span::from_ps(1), Span::MAX);
        assert_eq!(Span::MAX * 2, Span::MAX);
        assert_eq!(Span::from_secs(u64::MAX), Span::MAX);
    }

    #[test]
    fn nanoseconds_round_down() {
        assert_eq!(Span::from_ps(1_999).as_ns(), 1);
        let mut t = Time::from_ns(5);
        t += Span::from_ps(999);
        assert_eq!((t.as_ps(), t.as_ns()), (5_999, 5));
    }
}
