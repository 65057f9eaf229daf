//! TCN: marks on dequeue when the sojourn time exceeds a threshold.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, section 4. Stateless,
//! with the same threshold for every queue under any scheduler. The probabilistic form of section
//! 4.3 marks with a rising probability between two thresholds.
//!
//! Time is exact by default. Section 4.2 suggests a 2-byte timestamp in units of 4 or 8 ns, which
//! confuses sojourn times that differ by 2^16 ticks; the authors' kernel module counts in units of
//! 1.024 µs, rounded down. Both are options.

use alloc::boxed::Box;

use tidegate_units::{ConfigError, Ratio, Rng, Span, Time, choices, settings};

use super::ramp::{Ramp, Zone};
use super::{Cx, MarkDecision, Marker, PortInfo};
use crate::Rule;

choices! {
    /// The clock that measures sojourn times.
    #[non_exhaustive]
    pub enum Clock {
        /// Picoseconds.
        Exact = "exact",
        /// A 2-byte timestamp of 4 ns ticks (section 4.2): wraps every 262 µs.
        Stamp4ns = "stamp-4ns",
        /// A 2-byte timestamp of 8 ns ticks (section 4.2): wraps every 524 µs.
        Stamp8ns = "stamp-8ns",
        /// Sojourn times in units of 1024 ns, rounded down (kernel module).
        Units1024ns = "units-1024ns",
    }
}

settings! {
    /// Parameters of TCN.
    #[named("tcn", "marks packets that waited longer than a threshold", "schemes/tcn.md")]
    pub struct Config {
        /// Mark strictly above this sojourn time (`T` or `T_max`), or `none` for RTT × λ (section
        /// 4.1). The default is from the simulations, 65 packets of 1500 bytes at 10 Gb/s (section
        /// 6.2).
        #[is(threshold)]
        pub threshold: Option<Span> = Some(Span::from_us(78)),
        /// Base round-trip time of a derived threshold (`RTT`). The default is from the simulations
        /// (section 6.2).
        pub rtt: Span = Span::from_ns(85_200),
        /// Factor of a derived threshold (`λ`), which depends on the congestion control: 1 for ECN*
        /// (section 2.1).
        pub lambda: Ratio = Ratio::ONE,
        /// Mark with a rising probability from this sojourn time on (`T_min`, section 4.3), or
        /// `none` for a single step.
        #[is(threshold)]
        pub min_threshold: Option<Span> = None,
        /// The probability that the rise reaches at `threshold` (`P_max`). Not used by a step.
        pub max_probability: Ratio = Ratio::ONE,
        /// The clock that measures sojourn times.
        pub clock: Clock = Clock::Exact,
    }
}

/// TCN.
#[derive(Clone, Debug)]
pub struct Tcn {
    /// Sojourn time up to which no form marks. The plain form, a step on an exact clock, marks
    /// every packet above it.
    threshold: Span,
    /// State of every other form; boxed because most ports do not need it.
    special: Option<Box<Special>>,
}

#[derive(Clone, Debug)]
struct Special {
    clock: Clock,
    /// Ramp in ticks of the clock. A step is a ramp of zero width.
    ramp: Ramp,
    rng: Rng,
}

impl Tcn {
    /// A step that marks packets with a sojourn time strictly above `threshold`.
    pub const fn step(threshold: Span) -> Self {
        Self { threshold, special: None }
    }

    /// Builds TCN with these parameters.
    pub fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        let clock = config.clock;
        let derived = config.lambda.of_span(config.rtt);
        let threshold = config.threshold.unwrap_or(derived);
        let high = ticks(clock, threshold.as_ps());
        let wraps = matches!(clock, Clock::Stamp4ns | Clock::Stamp8ns);
        if wraps && high > u64::from(u16::MAX) {
            let allowed = "at most 65535 ticks, the range of a 2-byte timestamp";
            return Err(ConfigError::out_of_range("threshold", threshold, allowed));
        }
        let low = config.min_threshold.unwrap_or(threshold);
        if low > threshold {
            let allowed = alloc::format!("at most the threshold, {threshold}");
            return Err(ConfigError::out_of_range("min_threshold", low, allowed));
        }
        let low = ("min_threshold", ticks(clock, low.as_ps()));
        let ramp = Ramp::new(low, high, ("max_probability", config.max_probability))?;
        if config.min_threshold.is_none() && clock == Clock::Exact {
            return Ok(Self::step(threshold));
        }
        let special = Special { clock, ramp, rng: Rng::new(port.seed, port.stream) };
        Ok(Self { threshold: Span::ZERO, special: Some(Box::new(special)) })
    }
}

impl Marker for Tcn {
    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        if sojourn <= self.threshold {
            return MarkDecision::Pass;
        }
        let hit = match &mut self.special {
            None => true,
            Some(special) => special.hit(cx.now, sojourn),
        };
        MarkDecision::mark_if(hit, Rule::Sojourn)
    }
}

impl Special {
    #[cold]
    fn hit(&mut self, now: Time, sojourn: Span) -> bool {
        match self.ramp.zone(self.measure(now, sojourn)) {
            Zone::Below => false,
            Zone::Between(chance) => u64::from(self.rng.next_u32()) < chance,
            Zone::Above => true,
        }
    }

    fn measure(&self, now: Time, sojourn: Span) -> u64 {
        match self.clock {
            Clock::Exact | Clock::Units1024ns => ticks(self.clock, sojourn.as_ps()),
            Clock::Stamp4ns | Clock::Stamp8ns => {
                let arrival = ticks(self.clock, (now - sojourn).as_ps());
                let departure = ticks(self.clock, now.as_ps());
                // The chip keeps 16 bits of each timestamp.
                departure.wrapping_sub(arrival) & u64::from(u16::MAX)
            }
        }
    }
}

/// Whole ticks of `clock` in `ps`, rounded down.
const fn ticks(clock: Clock, ps: u64) -> u64 {
    match clock {
        Clock::Exact => ps,
        Clock::Stamp4ns => ps / 4_000,
        Clock::Stamp8ns => ps / 8_000,
        Clock::Units1024ns => ps / 1_024_000,
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::mark::testing::{cx, port_info};

    fn marks(config: &Config, now: Time, sojourn: Span) -> bool {
        let mut tcn = Tcn::new(config, &port_info(1)).unwrap();
        let cx = Cx { now, ..cx() };
        tcn.on_dequeue(&cx, sojourn) == MarkDecision::Mark(Rule::Sojourn)
    }

    #[test]
    fn a_derived_threshold_is_lambda_times_the_round_trip_time() {
        let config = Config {
            threshold: None,
            rtt: Span::from_us(100),
            lambda: Ratio::new(17, 100).unwrap(),
            ..Config::default()
        };
        for (ps, expected) in [(16_999_999, false), (17_000_000, false), (17_000_001, true)] {
            let marked = marks(&config, Time::from_ms(1), Span::from_ps(ps));
            assert_eq!(marked, expected, "{ps}");
        }
        let stamped = Config { clock: Clock::Stamp4ns, lambda: Ratio::whole(3), ..config };
        let error = Tcn::new(&stamped, &port_info(1)).unwrap_err();
        assert!(error.to_string().starts_with("threshold = 300us"), "{error}");
    }

    #[test]
    fn tcn_marks_strictly_above_the_threshold() {
        let config = Config { threshold: Some(Span::from_us(78)), ..Config::default() };
        for (ps, expected) in [(77_999_999, false), (78_000_000, false), (78_000_001, true)] {
            assert_eq!(marks(&config, Time::from_ms(1), Span::from_ps(ps)), expected, "{ps}");
        }
    }

    #[test]
    fn the_kernel_clock_rounds_down_to_1024_ns() {
        // 250 units: delays from 256.0 µs to just below 257.024 µs round down to 250 and pass.
        let config = Config {
            threshold: Some(Span::from_us(256)),
            clock: Clock::Units1024ns,
            ..Config::default()
        };
        for (ns, expected) in [(256_000, false), (257_023, false), (257_024, true)] {
            assert_eq!(marks(&config, Time::from_ms(1), Span::from_ns(ns)), expected, "{ns}");
        }
    }

    #[test]
    fn a_two_byte_stamp_wraps() {
        let config = Config {
            clock: Clock::Stamp4ns,
            threshold: Some(Span::from_us(100)),
            ..Config::default()
        };
        let wrap = Span::from_ns(4 << 16);
        let now = Time::from_ms(3);
        assert!(marks(&config, now, Span::from_ns(100_004)));
        assert!(!marks(&config, now, Span::from_us(100)));
        assert!(!marks(&config, now, wrap + Span::from_us(100)), "a wait of 262 µs wraps to zero");
        assert!(marks(&config, now, wrap + Span::from_ns(100_004)));
    }

    #[test]
    fn the_probability_rises_between_the_thresholds() {
        let config = Config {
            threshold: Some(Span::from_us(200)),
            min_threshold: Some(Span::from_us(100)),
            max_probability: Ratio::new(1, 2).unwrap(),
            ..Config::default()
        };
        let mut tcn = Tcn::new(&config, &port_info(1)).unwrap();
        let mut hits = |us| {
            (0..10_000)
                .filter(|_| tcn.on_dequeue(&cx(), Span::from_us(us)) != MarkDecision::Pass)
                .count()
        };
        assert_eq!([hits(99), hits(100), hits(201)], [0, 0, 10_000]);
        assert!(hits(150).abs_diff(2_500) < 200);
        assert!(hits(200).abs_diff(5_000) < 200);
    }

    #[test]
    fn a_draw_that_equals_the_probability_does_not_mark() {
        // Over 2^32 ps the probability rises by 2^−32 per picosecond.
        let config = Config {
            threshold: Some(Span::from_ps(1 << 32)),
            min_threshold: Some(Span::ZERO),
            max_probability: Ratio::ONE,
            ..Config::default()
        };
        let port = port_info(1);
        let drawn = u64::from(Rng::new(port.seed, port.stream).next_u32());
        let sojourns = [drawn, drawn + 1].map(Span::from_ps);
        let marked = sojourns.map(|sojourn| marks(&config, Time::from_secs(1), sojourn));
        assert_eq!(marked, [false, true]);
    }

    #[test]
    fn equal_thresholds_are_a_step() {
        let config = Config { min_threshold: Some(Span::from_us(78)), ..Config::default() };
        for (ps, expected) in [(77_999_999, false), (78_000_000, false), (78_000_001, true)] {
            let sojourn = Span::from_ps(ps);
            assert_eq!(marks(&config, Time::from_ms(1), sojourn), expected, "{ps}");
        }
    }

    #[test]
    fn refused_thresholds_are_quoted_as_given() {
        let config = Config {
            min_threshold: Some(Span::from_us(79)),
            clock: Clock::Stamp4ns,
            ..Config::default()
        };
        let error = Tcn::new(&config, &port_info(1)).unwrap_err();
        let expected =
            ConfigError::out_of_range("min_threshold", "79us", "at most the threshold, 78us");
        assert_eq!(error, expected);
    }

    #[test]
    fn impossible_parameters_are_named() {
        let error = |config: Config| match Tcn::new(&config, &port_info(1)) {
            Err(ConfigError::OutOfRange { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            error(Config { max_probability: Ratio::whole(2), ..Config::default() }),
            "max_probability",
            "although a step does not use it"
        );
        let long = Span::from_ms(1);
        assert_eq!(
            error(Config { threshold: Some(long), clock: Clock::Stamp8ns, ..Config::default() }),
            "threshold"
        );
        assert_eq!(
            error(Config { min_threshold: Some(long), ..Config::default() }),
            "min_threshold"
        );
        let two = Ratio::whole(2);
        let min_threshold = Some(Span::ZERO);
        assert_eq!(
            error(Config { max_probability: two, min_threshold, ..Config::default() }),
            "max_probability"
        );
    }
}
