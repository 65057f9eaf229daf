//! Pacing: a wire of the configured rate, kept by a loop that may be late.
//!
//! The wire is occupied from the earliest possible moment: when the previous packet was off it, or
//! when the packet arrived. A late loop sends at once, and the next packet is due as if it had been
//! on time, so that lateness costs no rate. The amount that may be caught up is limited, like the
//! bucket of TCN's prototype (Bai et al., CoNEXT 2016, section 5: 2500 bytes, 20 µs at 995 Mb/s);
//! the rest is lost and counted. Unlike a token bucket, an idle wire earns no credit: back-to-back
//! packets leave at the wire's rate from the first.

use tidegate_units::{ByteTime, Rate, Span, Time};

/// Wire of a port.
#[derive(Clone, Debug)]
pub struct Pacer {
    wire: ByteTime,
    /// Time at which the wire is free and, if packets wait, the next is due.
    due: Time,
    catch_up: Span,
    lost: Span,
}

impl Pacer {
    /// Creates a free wire that makes up for at most `catch_up` of lateness.
    pub const fn new(rate: Rate, catch_up: Span) -> Self {
        Self { wire: ByteTime::new(rate), due: Time::ZERO, catch_up, lost: Span::ZERO }
    }

    /// Records a packet that came to an empty port, where nothing was due.
    #[inline]
    pub fn on_first(&mut self, arrival: Time) {
        self.due = self.due.max(arrival);
    }

    /// Puts a packet of `len` bytes on the wire at `now`, which must not be before
    /// [`due`](Self::due). Returns its lateness.
    #[inline]
    pub fn take(&mut self, now: Time, len: u32) -> Span {
        let lateness = now - self.due;
        let start = self.due.max(now - self.catch_up);
        self.lost = self.lost + (start - self.due);
        self.due = start + self.wire.span(len);
        lateness
    }

    /// Earliest departure of the next packet, if one waits.
    #[inline]
    pub const fn due(&self) -> Time {
        self.due
    }

    /// Time in which packets waited and the wire was idle, beyond the time caught up.
    pub const fn lost(&self) -> Span {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CATCH_UP: Span = Span::from_us(100);

    /// 1250 bytes take 10 µs.
    fn pacer() -> Pacer {
        Pacer::new(Rate::from_gbps(1), CATCH_UP)
    }

    #[test]
    fn packets_leave_at_the_rate_and_idle_time_earns_no_credit() {
        let mut pacer = pacer();
        for start in [Time::from_us(500), Time::from_us(9_000)] {
            pacer.on_first(start);
            assert_eq!(pacer.due(), start);
            assert_eq!(pacer.take(start, 1250), Span::ZERO);
            assert_eq!(pacer.due(), start + Span::from_us(10));
            // The next packet arrives while the wire is still busy.
            pacer.on_first(start + Span::from_us(3));
            assert_eq!(pacer.due(), start + Span::from_us(10));
        }
        assert_eq!(pacer.lost(), Span::ZERO);
    }

    #[test]
    fn lateness_is_caught_up() {
        let mut pacer = pacer();
        pacer.on_first(Time::from_us(500));
        assert_eq!(pacer.take(Time::from_us(503), 1250), Span::from_us(3));
        assert_eq!(pacer.due(), Time::from_us(510));
        // 45 µs late: four more are due at once.
        let now = Time::from_us(555);
        let mut lateness = Vec::new();
        while pacer.due() <= now {
            lateness.push(pacer.take(now, 1250).as_ns());
        }
        assert_eq!(lateness, [45_000, 35_000, 25_000, 15_000, 5_000]);
        assert_eq!((pacer.due(), pacer.lost()), (Time::from_us(560), Span::ZERO));
    }

    #[test]
    fn lateness_beyond_the_limit_is_lost_and_counted() {
        let mut pacer = pacer();
        pacer.on_first(Time::from_us(500));
        let late = |us| Time::from_us(500) + CATCH_UP + Span::from_us(us);
        assert_eq!(pacer.take(late(0), 1250), CATCH_UP);
        assert_eq!(pacer.lost(), Span::ZERO, "as much as is caught up");
        assert_eq!(pacer.take(late(25), 1250), CATCH_UP + Span::from_us(15));
        assert_eq!(pacer.lost(), Span::from_us(15));
        assert_eq!(pacer.due(), late(25) - CATCH_UP + Span::from_us(10));
    }

    #[test]
    fn the_rate_is_kept_over_many_packets_by_a_loop_that_is_always_late() {
        // 995 Mb/s is not a whole number of picoseconds per byte.
        let rate = Rate::from_bps(995_000_000).unwrap();
        let mut pacer = Pacer::new(rate, CATCH_UP);
        let (mut bytes, mut now) = (0, Time::ZERO);
        while now < Time::from_secs(1) {
            while pacer.due() <= now {
                pacer.take(now, 1538);
                bytes += 1538;
            }
            now += Span::from_us(17);
        }
        let expected = rate.bytes_in(now - Time::ZERO);
        assert!(expected.abs_diff(bytes) <= 2 * 1538, "{bytes} of {expected}");
    }
}
