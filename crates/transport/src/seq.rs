//! TCP sequence numbers: 32 bits that wrap, compared as serial numbers.
//!
//! RFC 9293, section 3.4. Of two numbers, the one that comes first is the one from which the other
//! is reached by going forward less than 2^31. There is deliberately no `Ord`: the order is not
//! transitive over the whole circle.

use core::ops::{Add, AddAssign, Sub};

/// The number of a byte in the sequence space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// The signed distance from `other` to `self`: positive if `self` comes later.
    #[inline]
    pub const fn offset_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0).cast_signed()
    }

    /// Whether `self` comes strictly before `other`.
    #[inline]
    pub const fn is_before(self, other: Self) -> bool {
        self.offset_from(other) < 0
    }

    /// Whether `self` comes strictly after `other`.
    #[inline]
    pub const fn is_after(self, other: Self) -> bool {
        self.offset_from(other) > 0
    }

    /// Whether `self` lies in `from..=to`. Exact for any span below 2^31.
    #[inline]
    pub const fn is_within(self, from: Self, to: Self) -> bool {
        self.0.wrapping_sub(from.0) <= to.0.wrapping_sub(from.0)
    }

    /// The earlier of two numbers.
    #[inline]
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        if other.is_before(self) { other } else { self }
    }

    /// The later of two numbers.
    #[inline]
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if other.is_after(self) { other } else { self }
    }

    /// The distance from `earlier` to `self`, or zero if `earlier` is not earlier.
    #[inline]
    pub const fn since(self, earlier: Self) -> u32 {
        if self.is_after(earlier) { self.0.wrapping_sub(earlier.0) } else { 0 }
    }
}

impl Add<u32> for Seq {
    type Output = Self;

    #[inline]
    fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

impl AddAssign<u32> for Seq {
    #[inline]
    fn add_assign(&mut self, bytes: u32) {
        *self = *self + bytes;
    }
}

impl Sub<u32> for Seq {
    type Output = Self;

    #[inline]
    fn sub(self, bytes: u32) -> Self {
        Self(self.0.wrapping_sub(bytes))
    }
}

impl Sub for Seq {
    type Output = u32;

    /// How far `self` lies ahead of `earlier` on the circle.
    #[inline]
    fn sub(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

/// The bytes from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first byte.
    pub start: Seq,
    /// One past the last byte.
    pub end: Seq,
}

impl Range {
    /// The range from `start` to `end`.
    #[inline]
    pub const fn new(start: Seq, end: Seq) -> Self {
        Self { start, end }
    }

    /// Bytes in the range; zero if it is inverted.
    #[inline]
    pub const fn len(self) -> u32 {
        self.end.since(self.start)
    }

    /// Whether the range is empty or inverted.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether `seq` is one of the bytes.
    #[inline]
    pub const fn contains(self, seq: Seq) -> bool {
        !seq.is_before(self.start) && seq.is_before(self.end)
    }

    /// The bytes of this range that come before `edge`.
    #[inline]
    pub const fn len_before(self, edge: Seq) -> u32 {
        self.end.min(edge).since(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        for base in [0, 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX - 1, u32::MAX] {
            let a = Seq(base);
            let b = a + 3;
            assert!(a.is_before(b) && b.is_after(a), "{base}");
            assert!(!a.is_before(a) && !a.is_after(a), "{base}");
            assert_eq!((b - a, b.since(a), a.since(b)), (3, 3, 0));
            assert_eq!((a.offset_from(b), b.offset_from(a)), (-3, 3));
            assert_eq!((a.min(b), a.max(b), b.min(a), b.max(a)), (a, b, a, b));
            assert_eq!(b - 3, a);
        }
    }

    #[test]
    fn half_the_circle_is_the_limit_of_order() {
        let a = Seq(5);
        assert!((a + 0x7FFF_FFFF).is_after(a));
        assert!((a + 0x8000_0001).is_before(a));
    }

    #[test]
    fn within_includes_both_ends() {
        let (from, to) = (Seq(u32::MAX), Seq(3));
        let inside = |seq: u32| Seq(seq).is_within(from, to);
        assert!(inside(u32::MAX) && inside(0) && inside(3));
        assert!(!inside(u32::MAX - 1) && !inside(4));
    }

    #[test]
    fn inverted_ranges_are_empty() {
        let range = |start, end| Range::new(Seq(start), Seq(end));
        assert_eq!(range(u32::MAX, 2).len(), 3);
        assert!(range(2, u32::MAX).is_empty() && range(2, 2).is_empty());
        assert!(range(4, 6).contains(Seq(4)) && !range(4, 6).contains(Seq(6)));
        assert_eq!(range(4, 9).len_before(Seq(6)), 2);
        assert_eq!(range(4, 9).len_before(Seq(3)), 0);
        assert_eq!(range(4, 9).len_before(Seq(12)), 5);
    }
}
