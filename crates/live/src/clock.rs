//! The only place that reads clocks and waits for them.

#![expect(clippy::disallowed_methods, reason = "a switch on real packets runs in real time")]

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tidegate_units::{Span, Time};

/// Time since a start, from a clock that never goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// Starts a clock.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    #[inline]
    pub(crate) fn now(&self) -> Time {
        let elapsed = self.0.elapsed();
        // 584 years of nanoseconds.
        Time::from_ns(elapsed.as_nanos() as u64)
    }

    /// Sleeps until `at`, or not at all if it is past.
    pub(crate) fn sleep_until(&self, at: Time) {
        thread::sleep(Duration::from_nanos((at - self.now()).as_ns()));
    }
}

/// Whether the clock has advanced so far that times will soon no longer fit: picoseconds last for
/// 213 days.
pub(crate) fn is_worn(now: Time) -> bool {
    now >= Time::ZERO + LIFETIME
}

/// Time for which a clock may be used, with a week to spare.
const LIFETIME: Span = Span::from_secs(206 * 24 * 3600);

/// Age of a moment stamped by the kernel, in nanoseconds since 1970. That clock may be set
/// meanwhile: a future stamp counts as now, and a very old one as a second ago.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since(u64);

impl Since {
    /// Reads the clock that the kernel uses for stamps.
    #[inline]
    pub(crate) fn now() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(now.map_or(0, |now| now.as_nanos() as u64))
    }

    /// Time from this moment to a later kernel stamp.
    pub(crate) const fn until(self, stamp: u64) -> Span {
        Span::from_ns(stamp.saturating_sub(self.0))
    }

    #[inline]
    pub(crate) const fn stamp(self, stamp: u64) -> Span {
        let age = self.0.saturating_sub(stamp);
        Span::from_ns(if age > LONGEST { LONGEST } else { age })
    }
}

const LONGEST: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_wears_out_before_its_range_ends() {
        let end = Time::ZERO + LIFETIME;
        assert!(!is_worn(end - Span::from_ns(1)));
        assert!(is_worn(end));
        assert!(Time::MAX - end > Span::from_secs(7 * 24 * 3600));
    }

    #[test]
    fn a_clock_that_was_set_makes_no_frame_younger_than_new_or_very_old() {
        let since = Since(5_000_000_000);
        assert_eq!(since.stamp(4_999_997_000), Span::from_us(3));
        assert_eq!(since.stamp(5_000_000_001), Span::ZERO);
        assert_eq!(since.stamp(0), Span::from_secs(1));
    }
}
