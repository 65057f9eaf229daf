//! Round-trip times and the retransmission timeout (RFC 6298).
//!
//! One segment is timed at a time, and never one that was sent again (Karn's rule): a sample per
//! round trip, as the RFC has it. Times are kept in picoseconds, so the smoothing needs no scaling.

use tidegate_units::{Span, Time};

use crate::config::{ClockReading, Config};
use crate::seq::Seq;

/// The estimate of the round-trip time.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Rtt {
    /// The timeout with backoff, kept because every ACK asks for it.
    timeout: Span,
    /// When the segment being timed was sent, or the end of time if none is; and one past its last
    /// byte.
    timed_from: Time,
    timed_end: Seq,
    /// How often the timeout was doubled since the last sample.
    backoff: u32,
    /// The timeout before backoff, clamped.
    base: Span,
    smoothed: Option<Span>,
    variation: Span,
    min: Span,
    max: Span,
    granularity: Span,
    /// Added to every sample besides the ticks that went by.
    extra: Span,
}

impl Rtt {
    /// No sample yet.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            smoothed: None,
            variation: Span::ZERO,
            base: config.rto_initial,
            timeout: config.rto_initial,
            backoff: 0,
            timed_from: Time::MAX,
            timed_end: Seq(0),
            min: config.rto_min,
            max: config.rto_max,
            granularity: config.clock_granularity,
            extra: match config.clock_reading {
                ClockReading::Elapsed => Span::ZERO,
                ClockReading::PlusOne => config.clock_granularity,
            },
        }
    }

    /// A segment that ends at `end` is sent for the first time.
    #[inline]
    pub(crate) fn on_sent(&mut self, end: Seq, now: Time) {
        if self.timed_from == Time::MAX {
            self.timed_from = now;
            self.timed_end = end;
        }
    }

    /// Something is sent again: an ACK could now answer either copy, or come late because of the
    /// hole that is being repaired.
    pub(crate) fn on_retransmission(&mut self) {
        self.timed_from = Time::MAX;
    }

    /// Everything before `ack` was acknowledged. Answers with the sample, if there is one.
    #[inline]
    pub(crate) fn on_ack(&mut self, ack: Seq, now: Time) -> Option<Span> {
        let sent = self.timed_from;
        if sent == Time::MAX || ack.is_before(self.timed_end) {
            return None;
        }
        self.timed_from = Time::MAX;
        let rtt = self.elapsed(sent, now);
        self.sample(rtt);
        Some(rtt)
    }

    /// The retransmission timer ran out: the timeout doubles (rule 5.5).
    pub(crate) fn on_timeout(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
        self.timed_from = Time::MAX;
        self.back_off();
    }

    /// The handshake needed a retransmission: the timeout starts at `rto` (rule 5.7), unless there
    /// is a sample.
    pub(crate) fn restart_at(&mut self, rto: Span) {
        self.backoff = 0;
        if self.smoothed.is_none() {
            self.base = self.base.max(rto).min(self.max);
        }
        self.back_off();
    }

    /// The timeout, with backoff.
    #[inline]
    pub(crate) const fn timeout(&self) -> Span {
        self.timeout
    }

    /// Doubles the timeout as often as the backoff says.
    fn back_off(&mut self) {
        // 2^64 ps are 213 days: a larger factor is beyond any maximum.
        let factor = 1_u64.checked_shl(self.backoff).unwrap_or(u64::MAX);
        self.timeout = (self.base * factor).min(self.max);
    }

    /// The timeout without backoff and without its lower bound.
    pub(crate) fn unclamped(&self) -> Span {
        match self.smoothed {
            None => self.base,
            Some(smoothed) => smoothed + (self.variation * 4).max(self.granularity),
        }
    }

    /// The smoothed round-trip time, once there is a sample.
    pub(crate) fn smoothed(&self) -> Option<Span> {
        self.smoothed
    }

    /// The deviation of samples from it; zero before there is one.
    pub(crate) const fn variation(&self) -> Span {
        self.variation
    }

    /// The time between two readings of a clock that ticks every `granularity`, as samples count
    /// it.
    pub(crate) fn elapsed(&self, from: Time, to: Time) -> Span {
        let tick = self.granularity.as_ps();
        let ticks = (to.as_ps() / tick).saturating_sub(from.as_ps() / tick);
        Span::from_ps(ticks * tick) + self.extra
    }

    #[cold]
    fn sample(&mut self, rtt: Span) {
        // Karn's rule: only a sample ends the backoff. If the round trip is longer than the
        // timeout, no segment is answered before it is sent again until the timeout has grown.
        self.backoff = 0;
        let (smoothed, variation) = match self.smoothed {
            None => (rtt, Span::from_ps(rtt.as_ps() / 2)),
            Some(old) => {
                let error = (old - rtt).max(rtt - old);
                // β = 1/4 and α = 1/8, rounded down.
                let variation = part(self.variation, 3, 4) + part(error, 1, 4);
                (part(old, 7, 8) + part(rtt, 1, 8), variation)
            }
        };
        self.smoothed = Some(smoothed);
        self.variation = variation;
        self.base = self.unclamped().max(self.min).min(self.max);
        self.timeout = self.base;
    }
}

/// `span · n / d`, rounded down.
fn part(span: Span, n: u64, d: u64) -> Span {
    Span::from_ps(span.as_ps() / d * n + span.as_ps() % d * n / d)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config { rto_min: Span::from_ms(1), ..Config::default() }
    }

    /// Times one segment from `sent` to `acked`, in microseconds.
    fn time(rtt: &mut Rtt, sent: u64, acked: u64) {
        rtt.on_sent(Seq(10), Time::from_us(sent));
        rtt.on_ack(Seq(10), Time::from_us(acked));
    }

    #[test]
    fn samples_smooth_as_in_rfc_6298() {
        let mut rtt = Rtt::new(&config());
        assert_eq!(rtt.timeout(), Span::from_secs(1));
        // First sample R = 800 µs: SRTT = 800, RTTVAR = 400, RTO = 800 + 1600 = 2400.
        time(&mut rtt, 0, 800);
        assert_eq!(rtt.smoothed(), Some(Span::from_us(800)));
        assert_eq!(rtt.timeout(), Span::from_us(2_400));
        // R = 1600: RTTVAR = 300 + 200 = 500, SRTT = 700 + 200 = 900, RTO = 2900.
        time(&mut rtt, 1_000, 2_600);
        assert_eq!(rtt.smoothed(), Some(Span::from_us(900)));
        assert_eq!(rtt.timeout(), Span::from_us(2_900));
        // R = 100: RTTVAR = 375 + 200 = 575, SRTT = 787.5 + 12.5 = 800, RTO = 3100.
        time(&mut rtt, 3_000, 3_100);
        assert_eq!(rtt.smoothed(), Some(Span::from_us(800)));
        assert_eq!(rtt.timeout(), Span::from_us(3_100));
    }

    #[test]
    fn the_timeout_is_clamped_and_the_unclamped_one_is_not() {
        let mut rtt = Rtt::new(&config());
        time(&mut rtt, 0, 100);
        assert_eq!(rtt.unclamped(), Span::from_us(300));
        assert_eq!(rtt.timeout(), Span::from_ms(1));
        time(&mut rtt, 0, 200_000_000);
        assert_eq!(rtt.timeout(), Span::from_secs(60));
    }

    #[test]
    fn the_clock_counts_whole_ticks() {
        let granularity = Span::from_ms(1);
        let mut rtt = Rtt::new(&Config { clock_granularity: granularity, ..config() });
        // From 0.9 ms to 1.1 ms one tick passes; from 2.1 to 2.9 none.
        time(&mut rtt, 900, 1_100);
        assert_eq!(rtt.smoothed(), Some(granularity));
        let mut rtt = Rtt::new(&Config { clock_granularity: granularity, ..config() });
        time(&mut rtt, 2_100, 2_900);
        assert_eq!(rtt.smoothed(), Some(Span::ZERO));
        // RTTVAR is zero, so G stands in for it.
        assert_eq!(rtt.unclamped(), granularity);
    }

    #[test]
    fn a_clock_that_adds_a_tick_never_reads_zero() {
        let granularity = Span::from_ms(1);
        let mut rtt = Rtt::new(&Config {
            clock_granularity: granularity,
            clock_reading: ClockReading::PlusOne,
            ..config()
        });
        time(&mut rtt, 2_100, 2_900);
        assert_eq!(rtt.smoothed(), Some(granularity));
        assert_eq!(rtt.variation(), Span::from_us(500));
        // 3 ms of the clock and one more: SRTT = 7/8 + 4/8, RTTVAR = 3/4 · 0.5 + 3/4.
        time(&mut rtt, 3_900, 6_100);
        assert_eq!(rtt.smoothed(), Some(Span::from_us(1_375)));
        assert_eq!(rtt.variation(), Span::from_us(1_125));
    }

    #[test]
    fn timeouts_double_up_to_the_maximum_and_a_sample_ends_them() {
        let mut rtt = Rtt::new(&config());
        for seconds in [2, 4, 8, 16, 32, 60, 60] {
            rtt.on_timeout();
            assert_eq!(rtt.timeout(), Span::from_secs(seconds));
        }
        for _ in 0..100 {
            rtt.on_timeout();
        }
        assert_eq!(rtt.timeout(), Span::from_secs(60));
        rtt.on_ack(Seq(1), Time::from_secs(9));
        assert_eq!(rtt.timeout(), Span::from_secs(60), "nothing was timed");
        time(&mut rtt, 0, 100_000);
        assert_eq!(rtt.timeout(), Span::from_ms(300));
    }

    #[test]
    fn retransmitted_segments_are_not_timed() {
        let mut rtt = Rtt::new(&config());
        rtt.on_sent(Seq(10), Time::ZERO);
        rtt.on_retransmission();
        rtt.on_ack(Seq(10), Time::from_us(50));
        assert_eq!(rtt.smoothed(), None);
        rtt.on_sent(Seq(20), Time::ZERO);
        rtt.on_sent(Seq(30), Time::from_us(20));
        rtt.on_ack(Seq(15), Time::from_us(30));
        assert_eq!(rtt.smoothed(), None, "the timed segment is not yet acknowledged");
        rtt.on_ack(Seq(20), Time::from_us(40));
        assert_eq!(rtt.smoothed(), Some(Span::from_us(40)));
    }

    #[test]
    fn a_lost_syn_starts_the_timeout_at_three_seconds() {
        let mut rtt = Rtt::new(&config());
        rtt.on_timeout();
        rtt.restart_at(Span::from_secs(3));
        assert_eq!(rtt.timeout(), Span::from_secs(3));
    }
}
