//! Link speeds, and the time that bytes take on them.

use core::num::NonZeroU64;

use crate::Span;

/// Picoseconds that one byte takes at one bit per second.
const PS_PER_BYTE_AT_1_BPS: u64 = 8_000_000_000_000;

/// A speed in bits per second. Zero is not a rate: a link that never sends has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(NonZeroU64);

impl Rate {
    /// From bits per second; `None` for zero.
    pub const fn from_bps(bps: u64) -> Option<Self> {
        match NonZeroU64::new(bps) {
            Some(bps) => Some(Self(bps)),
            None => None,
        }
    }

    /// From gigabits (10^9 bits) per second; zero is taken as one bit per second.
    pub const fn from_gbps(gbps: u32) -> Self {
        match Self::from_bps(gbps as u64 * 1_000_000_000) {
            Some(rate) => rate,
            None => Self(NonZeroU64::MIN),
        }
    }

    /// Bits per second.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0.get()
    }

    /// Serialization time of `bytes`, rounded up so that a link never exceeds its rate; saturates.
    /// A caller that needs it per packet keeps a [`ByteTime`].
    pub const fn time_for(self, bytes: u32) -> Span {
        ByteTime::new(self).span(bytes)
    }

    /// Bytes sent in `span`, rounded down; saturates.
    pub const fn bytes_in(self, span: Span) -> u64 {
        let bytes = span.as_ps() as u128 * self.as_bps() as u128 / PS_PER_BYTE_AT_1_BPS as u128;
        saturate(bytes)
    }

    /// The rate that sends `bytes` in `span`, rounded down; `None` if it is below one bit per
    /// second or `span` is zero.
    pub const fn from_bytes_over(bytes: u64, span: Span) -> Option<Self> {
        if span.as_ps() == 0 {
            return None;
        }
        let bps = bytes as u128 * PS_PER_BYTE_AT_1_BPS as u128 / span.as_ps() as u128;
        Self::from_bps(saturate(bps))
    }
}

/// A rate prepared for the packet path. A packet's serialization time costs one multiplication, and
/// a 64-bit division only at rates where a byte does not take whole picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteTime {
    /// Picoseconds per byte, or zero if a byte does not take whole picoseconds or the product with
    /// a packet's size may overflow.
    exact: u64,
    bps: NonZeroU64,
}

impl ByteTime {
    /// Prepares `rate`.
    pub const fn new(rate: Rate) -> Self {
        let bps = rate.as_bps();
        let whole = PS_PER_BYTE_AT_1_BPS / bps;
        let is_exact = PS_PER_BYTE_AT_1_BPS.is_multiple_of(bps);
        let may_overflow = whole.checked_mul(u32::MAX as u64).is_none();
        Self { exact: if is_exact && !may_overflow { whole } else { 0 }, bps: rate.0 }
    }

    /// The rate this was prepared from.
    pub const fn rate(self) -> Rate {
        Rate(self.bps)
    }

    /// Serialization time of `bytes`, rounded up; saturates.
    #[inline]
    pub const fn span(self, bytes: u32) -> Span {
        if self.exact != 0 {
            // Cannot overflow: `new` checked the largest product.
            return Span::from_ps(self.exact * bytes as u64);
        }
        self.inexact_span(bytes)
    }

    #[cold]
    const fn inexact_span(self, bytes: u32) -> Span {
        let whole = PS_PER_BYTE_AT_1_BPS / self.bps.get();
        // Remainder per byte, in units of 1/`bps` ps.
        let rest = PS_PER_BYTE_AT_1_BPS - whole * self.bps.get();
        let rest = match rest.checked_mul(bytes as u64) {
            Some(product) => product.div_ceil(self.bps.get()),
            None => {
                // At most `bytes`, because `rest` is smaller than `bps`.
                (rest as u128 * bytes as u128).div_ceil(self.bps.get() as u128) as u64
            }
        };
        Span::from_ps(whole.saturating_mul(bytes as u64).saturating_add(rest))
    }
}

const fn saturate(value: u128) -> u64 {
    if value > u64::MAX as u128 { u64::MAX } else { value as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_takes_whole_picoseconds_at_the_usual_speeds() {
        let ps = |gbps| Rate::from_gbps(gbps).time_for(1).as_ps();
        assert_eq!([1, 10, 25, 100, 400, 800].map(ps), [8_000, 800, 320, 80, 20, 10]);
        assert_eq!(Rate::from_gbps(100).time_for(64), Span::from_ps(5_120));
    }

    #[test]
    fn an_inexact_time_is_rounded_up_once() {
        // 995 Mb/s: 8e12 / 995e6 = 8040.2010… ps a byte.
        let shaped = Rate::from_bps(995_000_000).unwrap();
        assert_eq!(shaped.time_for(1).as_ps(), 8_041);
        assert_eq!(shaped.time_for(1000).as_ps(), 8_040_202);
        // 199 bytes at 995 Mb/s are exactly 1.6 µs.
        assert_eq!(shaped.time_for(199), Span::from_ns(1_600));
    }

    #[test]
    fn the_extremes_saturate() {
        let slowest = Rate::from_bps(1).unwrap();
        let fastest = Rate::from_bps(u64::MAX).unwrap();
        assert_eq!(slowest.time_for(u32::MAX), Span::MAX);
        assert_eq!(fastest.time_for(1), Span::from_ps(1));
        assert_eq!(fastest.time_for(0), Span::ZERO);
        // 8e12 · (2^32 − 1) / (2^64 − 1) = 1862.6…
        assert_eq!(fastest.time_for(u32::MAX), Span::from_ps(1_863));
        assert_eq!(fastest.bytes_in(Span::MAX), u64::MAX);
        assert_eq!(Rate::from_bps(0), None);
    }

    #[test]
    fn bytes_and_rates_round_down() {
        assert_eq!(Rate::from_gbps(10).bytes_in(Span::from_ps(1_599)), 1);
        let rate = |bytes, ps| Rate::from_bytes_over(bytes, Span::from_ps(ps)).map(Rate::as_bps);
        assert_eq!(rate(1, 800), Some(10_000_000_000));
        assert_eq!(rate(1, 3), Some(2_666_666_666_666));
        assert_eq!(rate(0, 1), None);
        assert_eq!(rate(1, 0), None);
        assert_eq!(rate(u64::MAX, 1), Some(u64::MAX));
    }

    #[test]
    fn byte_time_keeps_its_rate() {
        let rate = Rate::from_bps(995_000_000).unwrap();
        assert_eq!(ByteTime::new(rate).rate(), rate);
    }
}
