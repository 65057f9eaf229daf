//! HyStart++ (RFC 9406): leaves slow start when round trips become longer.
//!
//! Slow start goes on for a few rounds at a quarter of its pace first (conservative slow start),
//! and goes on at full pace if round trips become shorter again. Section numbers refer to the
//! RFC.

use tidegate_units::Span;

use super::Acked;
use crate::seq::Seq;

/// Samples of a round before it is judged (`N_RTT_SAMPLE`, section 4.3).
const SAMPLES: u8 = 8;
/// Bounds of the rise that ends slow start (`MIN_RTT_THRESH`, `MAX_RTT_THRESH`).
const LEAST_RISE: Span = Span::from_ms(4);
const MOST_RISE: Span = Span::from_ms(16);
/// Part of the round trip that is the rise, between these bounds (`MIN_RTT_DIVISOR`).
const RISE_DIVISOR: u64 = 8;
/// Part of the growth that conservative slow start keeps (`CSS_GROWTH_DIVISOR`).
const GROWTH_DIVISOR: u32 = 4;
/// Rounds of conservative slow start (`CSS_ROUNDS`).
const CONSERVATIVE_ROUNDS: u8 = 5;

/// Growth on an ACK in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlowStartGrowth {
    /// As without HyStart++.
    Full,
    /// Growth divided by this number.
    Part(u32),
    /// None: congestion avoidance begins.
    Over,
}

/// State of HyStart++.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// The round ends when this is acknowledged (`windowEnd`).
    end: Seq,
    /// Shortest round trips of the last round and of this one; `Span::MAX` for none.
    last: Span,
    current: Span,
    /// Samples of this round.
    samples: u8,
    conservative: Option<Conservative>,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// A shorter round trip than this ends it (`cssBaselineMinRtt`).
    baseline: Span,
    /// Rounds that are over, the first of which may be a part of one.
    rounds: u8,
}

impl Default for HyStart {
    fn default() -> Self {
        Self { end: Seq(0), last: Span::MAX, current: Span::MAX, samples: 0, conservative: None }
    }
}

impl HyStart {
    /// The first round begins at this number.
    pub(super) fn begin(&mut self, first: Seq) {
        *self = Self { end: first, ..Self::default() };
    }

    /// An ACK arrived in slow start.
    pub(super) fn on_ack(&mut self, acked: &Acked) -> SlowStartGrowth {
        if let Some(rtt) = acked.rtt {
            self.current = self.current.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        if self.samples >= SAMPLES {
            self.judge();
        }
        if !acked.ack.is_before(self.end) {
            self.last = self.current;
            self.current = Span::MAX;
            self.samples = 0;
            self.end = acked.sent;
            if let Some(conservative) = &mut self.conservative {
                conservative.rounds += 1;
                if conservative.rounds >= CONSERVATIVE_ROUNDS {
                    return SlowStartGrowth::Over;
                }
            }
        }
        match self.conservative {
            None => SlowStartGrowth::Full,
            Some(_) => SlowStartGrowth::Part(GROWTH_DIVISOR),
        }
    }

    /// The round has enough samples: enters or leaves conservative slow start.
    fn judge(&mut self) {
        match self.conservative {
            Some(Conservative { baseline, .. }) if self.current < baseline => {
                self.conservative = None;
            }
            None if self.last != Span::MAX => {
                let rise = Span::from_ps(self.last.as_ps() / RISE_DIVISOR);
                let rise = rise.max(LEAST_RISE).min(MOST_RISE);
                if self.current >= self.last + rise {
                    self.conservative = Some(Conservative { baseline: self.current, rounds: 0 });
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::ack;

    /// A round of `acks` ACKs with this round trip. Rounds begin at multiples of 100 segments.
    fn round(hystart: &mut HyStart, number: u32, acks: u32, rtt: Span) -> SlowStartGrowth {
        let mut growth = SlowStartGrowth::Full;
        for i in 1..=acks {
            let end = number * 100 + if i == acks { 100 } else { i };
            let sent = (number + 2) * 100;
            growth = hystart.on_ack(&Acked { rtt: Some(rtt), ..ack(end, sent, false) });
        }
        growth
    }

    fn begun() -> HyStart {
        let mut hystart = HyStart::default();
        hystart.begin(Seq(0));
        // The first ACK ends the empty first round; windowEnd is then at 100 segments.
        hystart.on_ack(&Acked { rtt: Some(Span::from_us(40_000)), ..ack(1, 100, false) });
        hystart
    }

    const QUARTER: SlowStartGrowth = SlowStartGrowth::Part(4);

    #[test]
    fn the_rise_is_an_eighth_between_4_and_16_ms() {
        for (base, below, at) in
            [(8_000, 11_999, 12_000), (40_000, 44_999, 45_000), (200_000, 215_999, 216_000)]
        {
            for (rtt, growth) in [(below, SlowStartGrowth::Full), (at, QUARTER)] {
                let mut hystart = HyStart { last: Span::from_us(base), ..begun() };
                assert_eq!(round(&mut hystart, 0, 8, Span::from_us(rtt)), growth, "{rtt}");
            }
        }
    }

    #[test]
    fn seven_samples_are_not_enough() {
        let mut hystart = begun();
        assert_eq!(round(&mut hystart, 0, 7, Span::from_ms(80)), SlowStartGrowth::Full);
    }

    #[test]
    fn a_shorter_round_trip_resumes_slow_start() {
        let mut hystart = begun();
        assert_eq!(round(&mut hystart, 0, 8, Span::from_ms(80)), QUARTER);
        hystart.end = Seq(200_000);
        assert_eq!(round(&mut hystart, 1, 8, Span::from_ms(80)), QUARTER, "as long as before");
        hystart.end = Seq(300_000);
        assert_eq!(round(&mut hystart, 2, 8, Span::from_ms(79)), SlowStartGrowth::Full);
    }

    #[test]
    fn five_rounds_end_slow_start_and_a_part_of_a_round_counts() {
        let mut hystart = begun();
        // The round in which it begins is the first.
        for number in 0..4 {
            hystart.end = Seq((number + 1) * 100_000);
            assert_eq!(round(&mut hystart, number, 8, Span::from_ms(80)), QUARTER, "{number}");
        }
        hystart.end = Seq(500_000);
        assert_eq!(round(&mut hystart, 4, 8, Span::from_ms(80)), SlowStartGrowth::Over);
    }
}
