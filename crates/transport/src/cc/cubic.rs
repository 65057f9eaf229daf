//! CUBIC: after a reduction the window follows a cubic function of time, flat around the window
//! that the congestion occurred at.
//!
//! RFC 9438. Section numbers in comments are its own. HyStart++ (RFC 9406) is optional and in
//! `hystart.rs`.
//!
//! The RFC counts windows in segments and time in seconds. Here windows are bytes, segments times
//! the MSS, and the cubic function counts microseconds. K is rounded down to a microsecond, and
//! the distance of the cubic function from W_max down to a byte. The window keeps fractions of
//! 2^-16 byte, so that no growth is lost to rounding.

use alloc::boxed::Box;
use core::mem;

use tidegate_units::{ConfigError, Ratio, Span, Time, settings};

use super::cwnd::{OncePerWindow, Regrowth};
use super::hystart::{HyStart, SlowStartGrowth};
use super::{
    Acked, CongestionControl, Cwnd, CwndParams, EctUse, Flight, Needs, Pace, Phase, Reaction,
    Restart, SmoothedRtt, Start, Timeout,
};
use crate::seq::Seq;

settings! {
    /// Parameters of CUBIC.
    #[named("cubic", "TCP: after a reduction the window follows a cubic function of time",
        "transports/cubic.md")]
    pub struct Config {
        /// Part of the flight that a congestion event leaves (β; RFC 9438, section 4.6: 0.7).
        pub beta: Ratio = Ratio::new(7, 10).expect("not zero"),
        /// Scale of the cubic function in segments per cubic second (C; RFC 9438, section 5: 0.4).
        pub c: Ratio = Ratio::new(2, 5).expect("not zero"),
        /// Lower W_max further if congestion occurs below the last one, to make room for new flows
        /// (RFC 9438, section 4.7).
        pub fast_convergence: bool = true,
        /// Leave the first slow start when round trips become longer (HyStart++, RFC 9406). RFC
        /// 9438, section 4.10 recommends it. It reacts to a rise of at least 4 ms, far above the
        /// round trips of a datacenter.
        pub hystart: bool = false,
        /// How sending slows down after a mark. Linux thins it out, FreeBSD cuts at once.
        pub pace: Pace = Pace::AtOnce,
    }
}

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    cwnd: Cwnd,
    /// Part of the window below one byte, in 2^-16 bytes.
    fraction: u16,
    reduced: OncePerWindow,
    /// W_max in bytes (section 4.1.2), or zero if it is undefined: before the first reduction and
    /// after a timeout.
    w_max: u32,
    /// `cwnd_prior`: the window before the last reduction.
    prior: u32,
    /// The congestion avoidance stage, from the first ACK that may grow the window in it.
    stage: Stage,
    rtt: SmoothedRtt,
    /// Whether the last ACK left nothing in flight.
    is_drained: bool,
    /// HyStart++, in the first slow start.
    hystart: Option<Box<HyStart>>,
    beta: Ratio,
    c: Ratio,
    fast_convergence: bool,
    pace: Pace,
}

/// A congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// t: the time since the stage began, without times in which the application limited the
    /// window (section 4.2). The longest span stands for no stage.
    elapsed: Span,
    /// When `elapsed` was brought up to date; the end of time after an idle time.
    at: Time,
    /// K in microseconds: when the cubic function reaches W_max.
    k: u64,
    /// W_est, the window of a Reno flow in the same place, in 2^-16 bytes.
    w_est: u64,
}

impl Stage {
    const NONE: Self = Self { elapsed: Span::MAX, at: Time::MAX, k: 0, w_est: 0 };

    fn is_on(&self) -> bool {
        self.elapsed != Span::MAX
    }
}

impl Cubic {
    /// CUBIC with these parameters.
    pub fn new(config: &Config, params: &CwndParams) -> Result<Self, ConfigError> {
        if config.beta == Ratio::ZERO || config.beta >= Ratio::ONE {
            let allowed = "above 0, below 1";
            return Err(ConfigError::out_of_range("beta", config.beta, allowed));
        }
        if config.c == Ratio::ZERO {
            return Err(ConfigError::out_of_range("c", config.c, "above 0"));
        }
        Ok(Self {
            cwnd: Cwnd::new(params),
            fraction: 0,
            reduced: OncePerWindow::new(Regrowth::Frozen),
            w_max: 0,
            prior: 0,
            stage: Stage::NONE,
            rtt: SmoothedRtt::default(),
            is_drained: false,
            hystart: config.hystart.then(Box::default),
            beta: config.beta,
            c: config.c,
            fast_convergence: config.fast_convergence,
            pace: config.pace,
        })
    }

    /// Sections 4.6 and 4.7: a congestion event. The window falls to β of the flight, at least
    /// `least` segments.
    fn reduce(&mut self, flight: u32, least: u32) {
        let (window, mss) = (self.cwnd.window(), self.cwnd.mss());
        self.prior = window;
        self.w_max = if self.fast_convergence && window < self.w_max {
            // cwnd · (1 + β) / 2
            u64::midpoint(window.into(), self.beta.of(window.into())) as u32
        } else {
            window
        };
        let rest = self.beta.of(flight.into()) as u32;
        self.cut(rest.max(least * mss).min(window), rest.max(2 * mss));
    }

    /// Sets window and ssthresh. The stage is over, and so is the first slow start.
    fn cut(&mut self, window: u32, ssthresh: u32) {
        self.cwnd.cut_to(window, ssthresh);
        self.fraction = 0;
        self.stage = Stage::NONE;
        self.hystart = None;
    }

    /// An ACK may open the window.
    fn grow(&mut self, acked: &Acked, was_drained: bool) {
        if self.cwnd.is_slow_start() {
            self.grow_in_slow_start(acked);
        } else {
            self.grow_in_avoidance(acked, was_drained);
        }
    }

    /// Section 4.10: slow start as in Reno, or HyStart++.
    fn grow_in_slow_start(&mut self, acked: &Acked) {
        self.stage = Stage::NONE;
        let growth =
            self.hystart.as_mut().map_or(SlowStartGrowth::Full, |hystart| hystart.on_ack(acked));
        match growth {
            SlowStartGrowth::Full => self.cwnd.grow(acked.bytes),
            SlowStartGrowth::Part(divisor) => {
                let counted = self.cwnd.counted(acked.bytes) / divisor;
                self.cwnd.raise_to(self.cwnd.window().saturating_add(counted));
            }
            SlowStartGrowth::Over => {
                // No congestion occurred: W_max is undefined and cwnd_prior is the window.
                let window = self.cwnd.window();
                self.prior = window;
                self.cut(window, window);
            }
        }
    }

    fn grow_in_avoidance(&mut self, acked: &Acked, was_drained: bool) {
        let (window, mss) = (self.cwnd.window(), self.cwnd.mss());
        let mut stage = if self.stage.is_on() { self.stage } else { self.begin_stage(acked.now) };
        let mut passed = acked.now - stage.at;
        if was_drained {
            // Nothing was in flight: all but a round trip of the time was idle (section 5.8).
            passed = passed.min(self.rtt.get().unwrap_or(Span::ZERO));
        }
        stage.elapsed = stage.elapsed + passed;
        stage.at = acked.now;

        // Section 4.3, equation 4: W_est += α · segments_acked / cwnd. With α = 3(1 − β)/(1 + β) a
        // sawtooth has the average of Reno's; above `cwnd_prior` α is 1.
        let (part, whole) = (u64::from(self.beta.numerator()), u64::from(self.beta.denominator()));
        let is_below_prior = stage.w_est < fixed(self.prior);
        let alpha = if is_below_prior { (3 * (whole - part), whole + part) } else { (1, 1) };
        let step = (u128::from(acked.bytes) * u128::from(mss) * u128::from(alpha.0)) << 16;
        let step = step / (u128::from(window) * u128::from(alpha.1));
        stage.w_est = stage.w_est.saturating_add(u64::try_from(step).unwrap_or(u64::MAX));

        let before = fixed(window) + u64::from(self.fraction);
        let after = if fixed(self.w_cubic(&stage, stage.elapsed)) < stage.w_est {
            // Section 4.3, the Reno-friendly region. A window that is already larger stays.
            before.max(stage.w_est)
        } else {
            // Sections 4.4 and 4.5, the concave and the convex region: the target is the cubic
            // function in one round trip, between the window and one and a half of it.
            let ahead = stage.elapsed + self.rtt.get().unwrap_or(Span::ZERO);
            let most = window.saturating_add(window / 2);
            let target = self.w_cubic(&stage, ahead).clamp(window, most);
            let counted = u128::from(self.cwnd.counted(acked.bytes));
            let step = ((u128::from(target - window) * counted) << 16) / u128::from(window);
            before.saturating_add(u64::try_from(step).unwrap_or(u64::MAX))
        };
        self.stage = stage;
        self.cwnd.raise_to(u32::try_from(after >> 16).unwrap_or(u32::MAX));
        // The lower sixteen bits.
        self.fraction = after as u16;
    }

    /// Section 4.2: a stage begins. Without a W_max above the window (first stage, after a timeout,
    /// or grown beyond it in slow start) K is zero and the window is W_max (sections 4.8 and 4.10).
    fn begin_stage(&mut self, now: Time) -> Stage {
        self.cwnd.end_slow_start();
        let window = self.cwnd.window();
        if self.w_max <= window {
            self.w_max = window;
        }
        // K³ = (W_max − cwnd_epoch) / C, in segments: below 2^124.
        let distance = u128::from(self.w_max - window) * u128::from(self.c.denominator());
        let scale = u128::from(self.cwnd.mss()) * u128::from(self.c.numerator());
        let k = cube_root(distance * CUBIC_MICROSECONDS / scale);
        Stage { elapsed: Span::ZERO, at: now, k, w_est: fixed(window) }
    }

    /// `W_cubic(t)` = C · (t − K)³ + W_max (section 4.2, equation 1), in bytes.
    fn w_cubic(&self, stage: &Stage, t: Span) -> u32 {
        let t = t.as_ps() / PS_PER_US;
        // K is below 2^42 µs. The cube is at most 2^126, and a product that saturates still exceeds
        // every window after the division.
        let distance = u128::from(t.abs_diff(stage.k).min(1 << 42));
        let scale = u128::from(self.cwnd.mss()) * u128::from(self.c.numerator());
        let below = u128::from(self.c.denominator()) * CUBIC_MICROSECONDS;
        let change = (distance * distance * distance).saturating_mul(scale) / below;
        let change = u32::try_from(change).unwrap_or(u32::MAX);
        if t < stage.k {
            self.w_max.saturating_sub(change)
        } else {
            self.w_max.saturating_add(change)
        }
    }
}

/// Picoseconds in a microsecond.
const PS_PER_US: u64 = 1_000_000;

/// Cubic microseconds in a cubic second.
const CUBIC_MICROSECONDS: u128 = 1_000_000_000_000_000_000;

/// Bytes in 2^-16 bytes.
fn fixed(bytes: u32) -> u64 {
    u64::from(bytes) << 16
}

/// The cube root, rounded down, of a number below 2^126.
fn cube_root(number: u128) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..42).rev() {
        let next = root | 1 << bit;
        if next * next * next <= number {
            root = next;
        }
    }
    // Below 2^42.
    root as u64
}

impl CongestionControl for Cubic {
    #[inline]
    fn cwnd(&self) -> &Cwnd {
        &self.cwnd
    }

    fn cwnd_mut(&mut self) -> &mut Cwnd {
        &mut self.cwnd
    }

    fn begin(&mut self, start: &Start) {
        self.cwnd.begin(start);
        if let Some(hystart) = &mut self.hystart {
            hystart.begin(start.first);
        }
    }

    fn needs(&self) -> Needs {
        Needs { samples: self.hystart.is_some(), pacing: false }
    }

    fn on_ack(&mut self, acked: &Acked) -> Reaction {
        if let Some(rtt) = acked.rtt {
            self.rtt.take(rtt);
        }
        let was_drained = mem::replace(&mut self.is_drained, acked.in_flight() == 0);
        let grows = self.reduced.on_ack(acked.ack, acked.echo);
        if acked.echo && acked.phase == Phase::Open && !self.reduced.is_open() {
            // Section 4.6: for a mark the window may fall to one segment, for a loss to two.
            self.reduce(acked.flight, 1);
            self.reduced.on_mark(acked.sent);
            return Reaction::Reduced(self.pace);
        }
        if acked.may_grow && grows {
            self.grow(acked, was_drained);
        } else if acked.bytes > 0 {
            // Section 5.8: time in which the application limited the window does not count.
            self.stage.at = acked.now;
        }
        Reaction::None
    }

    /// A loss of data that was sent after the last reaction is a congestion event of its own, also
    /// of its first byte, which no ACK has passed (RFC 3168, section 6.1.2).
    fn on_loss(&mut self, flight: &Flight) {
        if !self.reduced.covers(flight.una) {
            self.reduce(flight.bytes, 2);
        }
        self.reduced.on_loss(flight.sent);
    }

    /// The window has answered marks of data up to `ack`: its ACK may still carry ECE.
    fn on_recovered(&mut self, ack: Seq) {
        self.reduced.on_loss(ack);
    }

    /// Section 4.8: as Reno, with β. The next stage begins without a W_max.
    fn on_timeout(&mut self, flight: &Flight, timeout: Timeout) {
        let rest = self.beta.of(flight.bytes.into()) as u32;
        if timeout == Timeout::First {
            // A repeated timeout sets no ssthresh, and `cwnd_prior` belongs to it (section 4.3).
            self.prior = self.cwnd.window();
        }
        self.w_max = 0;
        self.fraction = 0;
        self.stage = Stage::NONE;
        self.hystart = None;
        self.cwnd.collapse(rest.max(2 * self.cwnd.mss()), timeout);
        self.reduced.on_loss(flight.sent);
    }

    fn on_idle(&mut self, restart: Restart, _next: Seq) {
        let before = self.cwnd.window();
        self.cwnd.restart(restart);
        if self.cwnd.window() != before {
            // W_est and K belong to the window before the restart.
            self.fraction = 0;
            self.stage = Stage::NONE;
        }
        // Section 5.8: the time up to the next ACK does not count.
        self.stage.at = Time::MAX;
    }

    #[inline]
    fn ect(&self) -> EctUse {
        EctUse::Data
    }
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "the oracle computes in floating point")]
mod tests {
    extern crate std;

    use tidegate_units::Rng;

    use super::*;
    use crate::cc::testing::{ack, flight, params, start};

    const MSS: u32 = 1000;

    fn cubic(initial: u32) -> Cubic {
        let mut cubic = Cubic::new(&Config::default(), &params()).unwrap();
        cubic.begin(&start(MSS, initial * MSS));
        cubic
    }

    /// An ACK of one segment of a window in use.
    fn ack_at(now: Time) -> Acked {
        Acked { now, ..ack(1, 100, false) }
    }

    /// The exact root and its neighbours.
    #[test]
    fn cube_roots_are_rounded_down() {
        let cases = [
            (0, 0),
            (1, 1),
            (7, 1),
            (8, 2),
            (26, 2),
            (27, 3),
            (28, 3),
            (u128::MAX >> 2, (1 << 42) - 1),
        ];
        for (number, root) in cases {
            assert_eq!(cube_root(number), root, "{number}");
        }
        for root in [3_u64, 1_000_000, 3_000_000, (1 << 41) + 1] {
            let cube = u128::from(root).pow(3);
            assert_eq!([cube - 1, cube, cube + 1].map(cube_root), [root - 1, root, root]);
        }
    }

    #[test]
    fn the_cubic_function_saturates_far_from_k() {
        let mut cubic = cubic(10);
        cubic.w_max = 36 * MSS;
        let stage = |k| Stage { elapsed: Span::ZERO, at: Time::ZERO, k, w_est: 0 };
        assert_eq!(cubic.w_cubic(&stage(3_000_000), Span::from_secs(3)), 36 * MSS);
        assert_eq!(cubic.w_cubic(&stage(1 << 41), Span::ZERO), 0);
        assert_eq!(cubic.w_cubic(&stage(0), Span::MAX), u32::MAX);
    }

    #[test]
    fn the_first_stage_without_a_reduction_begins_at_w_max() {
        let mut cubic = cubic(10);
        cubic.cwnd_mut().cut_to(10 * MSS, 10 * MSS);
        cubic.on_ack(&ack_at(Time::from_secs(1)));
        assert_eq!((cubic.w_max, cubic.stage.k), (10 * MSS, 0));
    }

    #[test]
    fn slow_start_ends_a_stage() {
        let mut cubic = cubic(10);
        cubic.on_loss(&flight(0, 10));
        cubic.on_recovered(Seq(10_000));
        cubic.on_ack(&ack_at(Time::from_secs(1)));
        assert!(cubic.stage.is_on());
        cubic.on_timeout(&flight(0, 7), Timeout::First);
        cubic.on_ack(&ack_at(Time::from_secs(2)));
        assert!(!cubic.stage.is_on());
        assert_eq!(cubic.window(), 2 * MSS);
    }

    #[test]
    fn the_window_keeps_to_its_upper_bound() {
        let mut cubic = cubic(10);
        cubic.begin(&Start { max: 12 * MSS, ..start(MSS, 10 * MSS) });
        cubic.on_loss(&flight(0, 10));
        cubic.on_recovered(Seq(10_000));
        for second in 0..100 {
            cubic.on_ack(&ack_at(Time::from_secs(second)));
        }
        assert_eq!(cubic.window(), 12 * MSS);
    }

    /// RFC 3168, section 6.1.2: the first byte after a reaction carries CWR, and its loss is a
    /// congestion event of its own.
    #[test]
    fn a_loss_of_the_first_byte_after_a_mark_reduces_again() {
        let mut cubic = cubic(10);
        assert_ne!(cubic.on_ack(&ack(1, 10, true)), Reaction::None);
        assert_eq!(cubic.window(), 7 * MSS);
        let mut earlier = cubic.clone();
        earlier.on_loss(&flight(9, 17));
        assert_eq!(earlier.window(), 7 * MSS, "sent before the reaction");
        cubic.on_loss(&flight(10, 17));
        assert_eq!(cubic.window(), 4_900);
    }

    #[test]
    fn a_mark_on_the_ack_that_ends_recovery_is_answered_for() {
        let mut cubic = cubic(10);
        cubic.on_loss(&flight(0, 10));
        cubic.on_recovered(Seq(10_000));
        assert_eq!(cubic.on_ack(&ack(10, 17, true)), Reaction::None);
        assert!(cubic.window() >= 7 * MSS);
        assert_ne!(cubic.on_ack(&ack(11, 17, true)), Reaction::None, "data after the loss");
    }

    /// With a stage from before the idle time the first ACK would take the window back to 13 000.
    #[test]
    fn an_idle_time_that_lowers_the_window_ends_the_stage() {
        let mut cubic = cubic(10);
        cubic.cwnd_mut().cut_to(7 * MSS, 7 * MSS);
        for _ in 0..60 {
            cubic.on_ack(&ack_at(Time::from_secs(1)));
        }
        assert!(cubic.window() > 12 * MSS);
        cubic.on_idle(Restart::AtMostInitial, Seq(0));
        assert_eq!(cubic.window(), 10 * MSS);
        cubic.on_ack(&ack_at(Time::from_secs(3)));
        assert_eq!(cubic.window(), 10_100);
    }

    /// Section 5.8: the window is the one after 100 us, not after two seconds.
    #[test]
    fn time_without_data_in_flight_does_not_count() {
        let rtt = Some(Span::from_us(100));
        let window_after = |pause: Span, in_flight: u32| {
            let mut cubic = cubic(36);
            cubic.on_loss(&flight(0, 36));
            cubic.on_recovered(Seq(36_000));
            let now = Time::from_secs(10);
            let first = Acked { now, rtt, ..ack(37, 37 + in_flight, false) };
            cubic.on_ack(&first);
            cubic.on_ack(&Acked { now: now + pause, rtt, ..ack(38, 100, false) });
            cubic.window()
        };
        assert_eq!(window_after(Span::from_secs(2), 0), window_after(Span::from_us(100), 0));
        assert!(window_after(Span::from_secs(2), 10) > window_after(Span::from_secs(2), 0));
    }

    /// Section 4.3: `cwnd_prior` is the window when ssthresh was last set.
    #[test]
    fn a_repeated_timeout_keeps_the_window_before_the_first() {
        let mut cubic = cubic(10);
        cubic.on_timeout(&flight(0, 10), Timeout::First);
        cubic.on_timeout(&flight(0, 1), Timeout::Repeated);
        assert_eq!(cubic.prior, 10 * MSS);
    }

    /// C = 10^-7 and W_max = 100 segments: K is 669 s, and the function begins at the window.
    #[test]
    fn a_small_c_gives_a_late_k() {
        let c = Ratio::new(1, 10_000_000).unwrap();
        let mut cubic = Cubic::new(&Config { c, ..Config::default() }, &params()).unwrap();
        cubic.begin(&start(MSS, 100 * MSS));
        cubic.on_loss(&flight(0, 100));
        let stage = cubic.begin_stage(Time::ZERO);
        assert_eq!(stage.k / 1_000_000, 669);
        let begin = cubic.w_cubic(&stage, Span::ZERO);
        assert!((69_990..=70_010).contains(&begin), "{begin}");
    }

    #[test]
    fn samples_on_every_ack_are_needed_only_with_hystart() {
        assert!(!cubic(10).needs().any());
        let config = Config { hystart: true, ..Config::default() };
        let mut cubic = Cubic::new(&config, &params()).unwrap();
        assert!(cubic.needs().samples);
        cubic.on_loss(&flight(0, 10));
        assert!(!cubic.needs().any(), "HyStart++ is for the first slow start");
    }

    #[test]
    fn the_end_of_hystart_begins_a_stage_with_k_of_zero() {
        let config = Config { hystart: true, ..Config::default() };
        let mut cubic = Cubic::new(&config, &params()).unwrap();
        cubic.begin(&start(MSS, 10 * MSS));
        // Nine ACKs a round, of 1 ms in the first and then of 80 ms; `sent` ends the next round.
        for i in 1..=63 {
            let rtt = if i <= 9 { Span::from_ms(1) } else { Span::from_ms(80) };
            let now = Time::from_ms(u64::from(i));
            let end = (i - 1) / 9 * 9 + 18;
            cubic.on_ack(&Acked { now, rtt: Some(rtt), ..ack(i, end, false) });
        }
        let window = cubic.window();
        assert_eq!(
            (cubic.ssthresh(), cubic.prior, cubic.hystart.is_none()),
            (window, window, true)
        );
        cubic.on_ack(&ack_at(Time::from_secs(1)));
        assert_eq!((cubic.w_max, cubic.stage.k), (window, 0));
    }

    /// RFC 9438 in floating point, in segments and seconds, as the text has it.
    struct Model {
        cwnd: f64,
        ssthresh: f64,
        w_max: Option<f64>,
        prior: f64,
        /// Start, K and W_est of a stage.
        stage: Option<(f64, f64, f64)>,
        srtt: Option<f64>,
    }

    /// Segments rounded down to a byte, as the sender's window is.
    fn whole_bytes(segments: f64) -> f64 {
        (segments * f64::from(MSS)).floor() / f64::from(MSS)
    }

    impl Model {
        fn loss(&mut self) {
            self.prior = whole_bytes(self.cwnd);
            self.w_max = Some(match self.w_max {
                Some(w_max) if self.cwnd < w_max => self.cwnd * (1.0 + 0.7) / 2.0,
                _ => self.cwnd,
            });
            self.ssthresh = whole_bytes(whole_bytes(self.cwnd) * 0.7).max(2.0);
            self.cwnd = self.ssthresh.min(self.cwnd);
            self.stage = None;
        }

        fn timeout(&mut self) {
            self.prior = whole_bytes(self.cwnd);
            self.w_max = None;
            self.ssthresh = whole_bytes(whole_bytes(self.cwnd) * 0.7).max(2.0);
            self.cwnd = 1.0;
            self.stage = None;
        }

        /// Takes an ACK. Returns whether the regions of sections 4.3 and 4.4 are within two bytes
        /// of each other, so that rounding decides between them.
        fn ack(&mut self, now: f64, rtt: f64) -> bool {
            self.srtt = Some(self.srtt.map_or(rtt, |old| old * 7.0 / 8.0 + rtt / 8.0));
            if self.cwnd < self.ssthresh {
                self.cwnd += 1.0;
                return false;
            }
            let epoch = whole_bytes(self.cwnd);
            let w_max = *self.w_max.get_or_insert(epoch);
            let w_max = w_max.max(epoch);
            if self.stage.is_none() {
                self.w_max = Some(w_max);
                self.stage = Some((now, ((w_max - epoch) / 0.4).cbrt(), epoch));
            }
            let w_max = self.w_max.unwrap();
            let (begin, k, w_est) = self.stage.as_mut().unwrap();
            let t = now - *begin;
            let alpha = if *w_est >= self.prior { 1.0 } else { 3.0 * (1.0 - 0.7) / (1.0 + 0.7) };
            let window = whole_bytes(self.cwnd);
            *w_est += alpha / window;
            let w_cubic = |t: f64| 0.4 * (t - *k).powi(3) + w_max;
            if w_cubic(t) < *w_est {
                self.cwnd = self.cwnd.max(*w_est);
            } else {
                let target = w_cubic(t + self.srtt.unwrap()).clamp(window, 1.5 * window);
                self.cwnd += (target - window) / window;
            }
            (w_cubic(t) - *w_est).abs() * f64::from(MSS) < 2.0
        }
    }

    #[test]
    fn the_window_follows_the_rfc_in_floating_point() {
        let mut ties = 0;
        for seed in 0..50 {
            let mut rng = Rng::new(seed, 9438);
            let mut draw = |below: u32| rng.next_u32() % below;
            let initial = 2 + draw(200);
            let mut cubic = cubic(initial);
            let mut model = Model {
                cwnd: f64::from(initial),
                ssthresh: f64::INFINITY,
                w_max: None,
                prior: 0.0,
                stage: None,
                srtt: None,
            };
            let mut now = Time::ZERO;
            for step in 0..3000 {
                now += Span::from_us(u64::from(1 + draw(20_000)));
                let seconds = now.as_ps() as f64 / 1e12;
                let window = Flight { bytes: cubic.window(), ..flight(0, 0) };
                match draw(400) {
                    0 => {
                        cubic.on_timeout(&window, Timeout::First);
                        cubic.on_recovered(Seq(0));
                        model.timeout();
                    }
                    1..=3 => {
                        cubic.on_loss(&window);
                        cubic.on_recovered(Seq(0));
                        model.loss();
                    }
                    _ => {
                        let rtt = u64::from(50 + draw(100_000));
                        cubic.on_ack(&Acked { rtt: Some(Span::from_us(rtt)), ..ack_at(now) });
                        if model.ack(seconds, rtt as f64 / 1e6) {
                            let fraction = f64::from(cubic.fraction) / 65_536.0;
                            model.cwnd = (f64::from(cubic.window()) + fraction) / f64::from(MSS);
                            ties += 1;
                        }
                    }
                }
                let (ours, wanted) = (f64::from(cubic.window()), model.cwnd * f64::from(MSS));
                let error = (ours - wanted).abs();
                // Where W_est is as good as equal to cwnd_prior, α may change an ACK sooner.
                let alpha_step = f64::from(MSS) * f64::from(MSS) / wanted;
                assert!(
                    error <= 2.0 + wanted / 1000.0 + alpha_step,
                    "{seed}/{step}: {ours}, not {wanted}"
                );
            }
        }
        assert!(ties < 1500, "{ties} of 150 000 steps are left to rounding");
    }
}
