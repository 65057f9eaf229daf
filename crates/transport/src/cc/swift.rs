//! Swift: holds the delay of the fabric at a target, with windows down to a fraction of a packet.
//!
//! Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter",
//! SIGCOMM 2020; section numbers in comments are its own. An ACK below the target delay adds to the
//! window, one above it multiplies the window, at most once a round trip. A window below one packet
//! is paced: a packet leaves every round trip divided by the window.
//!
//! The delay is the round trip of the newest segment that an ACK covers, less a constant
//! `endpoint_delay`: the paper's hosts measure the delay of both endpoints with timestamps of their
//! network cards, which segments here do not carry.
//!
//! The window is kept in 2^-16 bytes. Steps are rounded down to that, and one over the square root
//! of the window to 2^-24.

use core::fmt::Display;

use tidegate_units::{ConfigError, Rate, Ratio, Span, Time, settings};

use super::{
    Acked, CongestionControl, Cwnd, CwndParams, EctUse, Flight, Needs, Reaction, Restart,
    SmoothedRtt, Start, Timeout,
};
use crate::seq::Seq;

settings! {
    /// Parameters of Swift. The paper gives no full set; unless noted the defaults come from
    /// htsim.
    #[named("swift", "TCP: holds the delay at a target; windows go below a packet",
        "transports/swift.md")]
    pub struct Config {
        /// Target delay without hops, for a flow with a large window.
        pub base_target: Span = Span::from_us(20),
        /// Target delay for each hop (ħ, section 3.5): `base_target` / 6.55.
        pub hop_target: Span = Span::from_ns(3_053),
        /// Switches on the way of a packet. The paper reads them off the TTL. Default: leaf, spine,
        /// leaf.
        pub hops: u8 = 3,
        /// Delay of both endpoints, which is taken off each round trip (section 3.1). Default: the
        /// simulator's hosts add none of their own.
        pub endpoint_delay: Span = Span::ZERO,
        /// Largest addition to the target delay, for flows with small windows (`fs_range`, section
        /// 3.5): five times `base_target`.
        pub flow_range: Span = Span::from_us(100),
        /// Window in packets at and below which a flow gets all of `flow_range`.
        pub flow_min: Ratio = Ratio::new(1, 10).expect("not zero"),
        /// Window in packets at and above which a flow gets none of it.
        pub flow_max: Ratio = Ratio::whole(100),
        /// Additive increase in packets per round trip (`ai`, algorithm 1).
        pub increase: Ratio = Ratio::ONE,
        /// Scale of the decrease, by the part of the delay above its target (β, algorithm 1).
        pub decrease: Ratio = Ratio::new(4, 5).expect("not zero"),
        /// Largest part of the window that one decrease takes, and part that a loss takes
        /// (`max_mdf`).
        pub max_decrease: Ratio = Ratio::new(1, 2).expect("not zero"),
        /// Lower bound of the window in packets. Default: section 3.6.
        pub min_window: Ratio = Ratio::new(1, 1000).expect("not zero"),
        /// Timeouts in a row after which the window is the least one (`RETX_RESET_THRESHOLD`).
        pub reset_after: u8 = 5,
    }
}

/// Swift.
#[derive(Clone, Debug)]
pub struct Swift {
    cwnd: Cwnd,
    /// The window in 2^-16 bytes, and its lower bound: at most a packet, which fits.
    window: u64,
    least: u32,
    /// When the window was lowered last; the end of time means never.
    lowered: Time,
    rtt: SmoothedRtt,
    /// Timeouts in a row.
    timeouts: u8,
    reset_after: u8,
    /// Target delay with hops, and the delay of the endpoints.
    target: Span,
    endpoint_delay: Span,
    /// Flow scaling: its range, and one over the square root of its bounds in 2^-24.
    flow_range: Span,
    flow_from: u32,
    flow_to: u32,
    increase: Ratio,
    decrease: Ratio,
    max_decrease: Ratio,
}

impl Swift {
    /// Swift with these parameters.
    pub fn new(config: &Config, params: &CwndParams) -> Result<Self, ConfigError> {
        let out = |field, value: &dyn Display, allowed: &str| {
            Err(ConfigError::out_of_range(field, value, allowed))
        };
        let zero = Ratio::ZERO;
        if config.base_target == Span::ZERO {
            return out("base_target", &config.base_target, "above 0");
        }
        if config.flow_min < Ratio::new(1, 10_000).unwrap_or(zero) {
            return out("flow_min", &config.flow_min, "at least 1/10000");
        }
        if config.flow_max <= config.flow_min || config.flow_max > Ratio::whole(1 << 20) {
            return out("flow_max", &config.flow_max, "above flow_min, at most 2^20");
        }
        if config.increase == zero || config.increase > Ratio::whole(1000) {
            return out("increase", &config.increase, "above 0, at most 1000");
        }
        if config.max_decrease == zero || config.max_decrease >= Ratio::ONE {
            return out("max_decrease", &config.max_decrease, "above 0, below 1");
        }
        if config.min_window < Ratio::new(1, 1000).unwrap_or(zero) || config.min_window > Ratio::ONE
        {
            return out("min_window", &config.min_window, "1/1000 to 1");
        }
        if config.reset_after == 0 {
            return out("reset_after", &config.reset_after, "at least 1");
        }
        let mut swift = Self {
            cwnd: Cwnd::new(params),
            window: 0,
            least: 0,
            lowered: Time::MAX,
            rtt: SmoothedRtt::default(),
            timeouts: 0,
            reset_after: config.reset_after,
            target: config.base_target + config.hop_target * u64::from(config.hops),
            endpoint_delay: config.endpoint_delay,
            flow_range: config.flow_range,
            flow_from: inverse_root(config.flow_min.of(1 << 16)),
            flow_to: inverse_root(config.flow_max.of(1 << 16)),
            increase: config.increase,
            decrease: config.decrease,
            max_decrease: config.max_decrease,
        };
        if swift.flow_from <= swift.flow_to {
            // Their roots are the same in 2^-24.
            return out("flow_max", &config.flow_max, "further above flow_min");
        }
        // At most the packet.
        swift.least = config.min_window.of(u64::from(params.mss) << 16) as u32;
        swift.take_window();
        Ok(swift)
    }

    /// Starts at the window of `cwnd`.
    fn take_window(&mut self) {
        self.set(u64::from(self.cwnd.window()) << 16);
    }

    /// Sets the window, within its bounds. There is no slow start, and so no ssthresh.
    fn set(&mut self, window: u64) {
        // The window of the sender is at least a byte.
        let least = u64::from(self.least).max(1 << 16);
        self.window = window.min(u64::from(self.cwnd.max()) << 16).max(least);
        // At most the upper bound, which fits.
        self.cwnd.cut_to((self.window >> 16) as u32, 0);
    }

    /// The target delay at this window (section 3.5): base + hops · ħ + the part for the flow,
    /// which falls with one over the square root of the window in packets.
    fn target_delay(&self) -> Span {
        // The window in packets, in 2^-16.
        let packets = self.window / u64::from(self.cwnd.mss());
        let root = inverse_root(packets).clamp(self.flow_to, self.flow_from);
        let part = u128::from(self.flow_range.as_ps()) * u128::from(root - self.flow_to)
            / u128::from(self.flow_from - self.flow_to);
        // At most the range.
        self.target + Span::from_ps(part as u64)
    }

    /// Whether a round trip has passed since the window was lowered.
    fn may_decrease(&self, now: Time) -> bool {
        let rtt = self.rtt.get().unwrap_or(Span::ZERO);
        self.lowered == Time::MAX || now - self.lowered >= rtt
    }

    /// Lowers the window. Only a window that became smaller starts the wait for the next decrease.
    fn lower(&mut self, window: u64, now: Time) {
        let before = self.window;
        self.set(window);
        if self.window < before {
            self.lowered = now;
        }
    }

    /// Takes the largest part of the window, if a round trip has passed.
    fn lower_for_loss(&mut self, now: Time) {
        if self.may_decrease(now) {
            self.lower(self.window - self.max_decrease.of(self.window), now);
        }
    }

    /// Additive increase: `increase` packets per round trip of a window of packets, and for each
    /// packet acknowledged below that.
    fn raise(&mut self, bytes: u32) {
        let mss = u128::from(self.cwnd.mss());
        let packet = (mss as u64) << 16;
        let (upper, lower) = (self.increase.numerator(), self.increase.denominator());
        let gain = (u128::from(bytes) * u128::from(upper)) << 16;
        let step = if self.window >= packet {
            // bytes · mss / window, with the window in 2^-16 bytes: below 2^88.
            (gain * (mss << 16)) / (u128::from(self.window) * u128::from(lower))
        } else {
            gain / u128::from(lower)
        };
        self.set(self.window.saturating_add(u64::try_from(step).unwrap_or(u64::MAX)));
    }

    /// Multiplicative decrease: β times the part of the delay above the target, at most the largest
    /// part.
    fn decreased(&self, delay: Span, target: Span) -> u64 {
        let above = u128::from((delay - target).as_ps());
        let part = u128::from(self.window) * above / u128::from(delay.as_ps().max(1));
        // At most the window.
        let cut = self.decrease.of(part as u64).min(self.max_decrease.of(self.window));
        self.window - cut
    }
}

/// One over the square root of a number in 2^-16, in 2^-24; rounded down.
fn inverse_root(number: u64) -> u32 {
    // √(2^64 / n) = 2^24 / √(n / 2^16), at most 2^32.
    u32::try_from((u64::MAX / number.max(1)).isqrt()).unwrap_or(u32::MAX)
}

impl CongestionControl for Swift {
    #[inline]
    fn cwnd(&self) -> &Cwnd {
        &self.cwnd
    }

    fn cwnd_mut(&mut self) -> &mut Cwnd {
        &mut self.cwnd
    }

    fn begin(&mut self, start: &Start) {
        let before = u64::from(self.cwnd.mss());
        self.cwnd.begin(start);
        // The lower bound counts packets of the agreed size, at most as large as before.
        self.least = (u64::from(self.least) * u64::from(start.mss) / before) as u32;
        self.take_window();
    }

    fn needs(&self) -> Needs {
        Needs { samples: true, pacing: true }
    }

    /// Algorithm 1, "On Receiving ACK".
    fn on_ack(&mut self, acked: &Acked) -> Reaction {
        if acked.bytes > 0 {
            // Also without a sample, as the ACK of a retransmission.
            self.timeouts = 0;
        }
        let Some(rtt) = acked.rtt else {
            return Reaction::None;
        };
        let may_decrease = self.may_decrease(acked.now);
        self.rtt.take(rtt);
        let (delay, target) = (rtt - self.endpoint_delay, self.target_delay());
        if delay < target {
            if acked.may_grow {
                self.raise(acked.bytes);
            }
        } else if may_decrease {
            self.lower(self.decreased(delay, target), acked.now);
        }
        Reaction::None
    }

    /// Algorithm 1, "On Fast Recovery".
    fn on_loss(&mut self, flight: &Flight) {
        self.timeouts = 0;
        self.lower_for_loss(flight.now);
    }

    /// Algorithm 1, "On Retransmit Timeout".
    fn on_timeout(&mut self, flight: &Flight, _timeout: Timeout) {
        self.timeouts = self.timeouts.saturating_add(1);
        if self.timeouts >= self.reset_after {
            self.lower(u64::from(self.least), flight.now);
        } else {
            self.lower_for_loss(flight.now);
        }
    }

    fn on_idle(&mut self, restart: Restart, _next: Seq) {
        self.cwnd.restart(restart);
        let window = u64::from(self.cwnd.window()) << 16;
        // A window that stays keeps its fraction.
        if window >> 16 != self.window >> 16 {
            self.set(window);
        }
    }

    /// Section 3.6: a window below one packet leaves in one packet every round trip divided by it.
    fn pacing_rate(&self) -> Option<Rate> {
        let is_paced = self.window < u64::from(self.cwnd.mss()) << 16;
        let rtt = self.rtt.get().filter(|_| is_paced)?;
        Rate::from_bytes_over(self.window, rtt * (1 << 16))
    }

    #[inline]
    fn ect(&self) -> EctUse {
        EctUse::None
    }
}

#[cfg(test)]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the oracles compute in floating point"
)]
mod tests {
    extern crate std;

    use super::*;
    use crate::cc::testing::{ack, flight, params, start};

    fn swift(config: &Config, initial: u32) -> Swift {
        let mut swift = Swift::new(config, &params()).unwrap();
        swift.begin(&start(1000, initial));
        swift
    }

    /// A target of 100 µs for every window.
    fn plain() -> Config {
        Config {
            base_target: Span::from_us(100),
            hops: 0,
            flow_range: Span::ZERO,
            ..Config::default()
        }
    }

    fn ack_at(us: u64, rtt_us: u64) -> Acked {
        let (now, rtt) = (Time::from_us(us), Some(Span::from_us(rtt_us)));
        Acked { now, rtt, ..ack(1, 100, false) }
    }

    #[test]
    fn one_over_the_square_root_is_exact_to_a_millionth() {
        for packets in [0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0, 10_000.0] {
            let number = (packets * 65_536.0) as u64;
            let wanted = 16_777_216.0 / (number as f64 / 65_536.0).sqrt();
            let found = f64::from(inverse_root(number));
            assert!((found - wanted).abs() <= 1.0 + wanted / 1e6, "{packets}: {found} {wanted}");
        }
        assert_eq!(inverse_root(0), u32::MAX);
    }

    /// Section 3.5 in floating point: α/√cwnd + β, between zero and the range.
    #[test]
    fn the_target_follows_the_paper_in_floating_point() {
        let config = Config::default();
        let alpha = 100.0 / (1.0 / 0.1_f64.sqrt() - 1.0 / 100.0_f64.sqrt());
        let beta = -alpha / 100.0_f64.sqrt();
        for bytes in [1, 50, 100, 101, 500, 999, 1000, 5000, 20_000, 99_000, 100_000, 500_000] {
            let mut swift = swift(&config, 1000);
            swift.set(bytes << 16);
            let flow = (alpha / (bytes as f64 / 1000.0).sqrt() + beta).clamp(0.0, 100.0);
            let wanted = 20.0 + 3.0 * 3.053 + flow;
            let found = swift.target_delay().as_ps() as f64 / 1e6;
            assert!((found - wanted).abs() < 0.01, "{bytes}: {found} {wanted}");
        }
    }

    #[test]
    fn pacing_begins_below_one_packet() {
        let mut swift = swift(&plain(), 1000);
        swift.on_ack(&ack_at(0, 100));
        assert_eq!((swift.window(), swift.pacing_rate()), (1000, None));
        swift.set((1000 << 16) - 1);
        assert!(swift.pacing_rate().is_some());
    }

    #[test]
    fn an_ack_of_new_data_ends_the_count_of_timeouts_also_without_a_sample() {
        let config = Config { reset_after: 2, ..plain() };
        let mut swift = swift(&config, 32_000);
        let at = |us| Flight { now: Time::from_us(us), ..flight(0, 32) };
        swift.on_timeout(&at(0), Timeout::First);
        assert_eq!(swift.window(), 16_000);
        swift.on_ack(&Acked { rtt: None, ..ack_at(1, 0) });
        swift.on_timeout(&at(1_000_000), Timeout::First);
        assert_eq!(swift.window(), 8_000);
        swift.on_timeout(&at(2_000_000), Timeout::Repeated);
        assert_eq!(swift.window(), 1, "two in a row");
    }

    #[test]
    fn bounds_of_the_flow_part_with_equal_roots_are_refused() {
        for (least, most) in [("0.1", "0.100001"), ("1048574", "1048575")] {
            let read = |text: &str| text.parse::<Ratio>().unwrap();
            let config = Config { flow_min: read(least), flow_max: read(most), ..plain() };
            let error = std::format!("{}", Swift::new(&config, &params()).unwrap_err());
            assert!(error.contains("flow_max"), "{error}");
        }
    }

    #[test]
    fn an_ack_without_a_sample_does_not_change_the_window() {
        let mut swift = swift(&plain(), 10_000);
        swift.on_ack(&Acked { rtt: None, ..ack_at(0, 0) });
        assert_eq!(swift.window(), 10_000);
    }

    #[test]
    fn the_window_keeps_to_its_upper_bound() {
        let mut swift = swift(&plain(), 10_000);
        swift.begin(&Start { max: 10_500, ..start(1000, 10_000) });
        for us in 0..100 {
            swift.on_ack(&ack_at(us, 50));
        }
        assert_eq!(swift.window(), 10_500);
    }

    #[test]
    fn an_idle_time_lowers_the_window_as_the_endpoint_is_set_to() {
        let mut swift = swift(&plain(), 10_000);
        swift.set((20_000 << 16) + 5);
        swift.on_idle(Restart::Keep, Seq(0));
        assert_eq!(swift.window, (20_000 << 16) + 5);
        swift.on_idle(Restart::AtMostInitial, Seq(0));
        assert_eq!(swift.window, 10_000 << 16);
    }

    #[test]
    fn a_timeout_without_any_sample_lowers_the_window_each_time() {
        let mut swift = swift(&plain(), 8_000);
        for window in [4000, 2000, 1000, 500, 1] {
            swift.on_timeout(&flight(0, 8), Timeout::First);
            assert_eq!(swift.window(), window);
        }
        assert_eq!(swift.pacing_rate(), None, "no round trip is known");
    }
}
