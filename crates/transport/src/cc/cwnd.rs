//! The window itself: slow start, congestion avoidance and the cuts that all congestion controls
//! share.
//!
//! RFC 5681, section 3.1, counted in bytes (RFC 3465). Fractions of a segment are kept in a byte
//! accumulator, so that no growth is lost to rounding.

use tidegate_units::choices;

use crate::config::{self, Avoidance, Config, Credit, SlowStart};
use crate::seq::Seq;

use super::{Restart, Start, Timeout};

/// Settings of the endpoint that concern the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CwndParams {
    /// Largest payload of a segment.
    pub mss: u32,
    /// The window before the first ACK, in bytes.
    pub initial: u32,
    /// Upper bound of the window, in bytes.
    pub max: u32,
    /// Segments for which one ACK counts at most (RFC 3465), or `None`: every ACK counts for one.
    pub abc: Option<u8>,
    /// Where slow start ends.
    pub slow_start: SlowStart,
    /// Amount that counts as a window in congestion avoidance.
    pub avoidance: Avoidance,
    /// Effect of a cut on growth in progress.
    pub credit: Credit,
}

impl CwndParams {
    /// The settings of `config` that concern the window.
    pub fn new(config: &Config) -> Self {
        Self {
            mss: u32::from(config.mss),
            initial: config.initial_window_bytes(),
            max: config::max_window_bytes(config.max_window, config.mss),
            abc: config.abc,
            slow_start: config.slow_start,
            avoidance: config.avoidance,
            credit: config.credit,
        }
    }

    /// Bytes for which an ACK counts at most.
    #[inline]
    fn limit(&self) -> u32 {
        self.mss.saturating_mul(u32::from(self.abc.unwrap_or(1)))
    }
}

/// A congestion window and its slow start threshold.
#[derive(Clone, Copy, Debug)]
pub struct Cwnd {
    params: CwndParams,
    window: u32,
    ssthresh: u32,
    /// Bytes acknowledged in congestion avoidance towards the next segment of growth.
    credit: u32,
    /// Bytes for which an ACK counts at most in slow start: L segments, or one after a timeout
    /// (RFC 3465, section 2.3).
    limit: u32,
}

impl Cwnd {
    /// A window at its initial size, ssthresh as high as it gets (RFC 5681, section 3.1).
    pub fn new(params: &CwndParams) -> Self {
        Self {
            params: *params,
            window: params.initial.min(params.max),
            ssthresh: u32::MAX,
            credit: 0,
            limit: params.limit(),
        }
    }

    /// Starts over with the values that the handshake negotiated.
    pub fn begin(&mut self, start: &Start) {
        *self = Self::new(&CwndParams {
            mss: start.mss,
            initial: start.initial,
            max: start.max,
            ..self.params
        });
    }

    /// Opens the window for an ACK of `bytes` new bytes.
    #[inline]
    pub fn grow(&mut self, bytes: u32) {
        let mss = self.params.mss;
        if self.is_slow_start() {
            let counted = match self.params.abc {
                None => mss,
                Some(_) => bytes.min(self.limit),
            };
            self.window = self.window.saturating_add(counted).min(self.params.max);
        } else {
            self.limit = self.params.limit();
            let counted = if self.params.abc.is_some() { bytes } else { mss };
            self.credit = self.credit.saturating_add(counted);
            // What counts of the window lacks less than a segment of it.
            if self.credit > self.window.saturating_sub(mss) {
                self.grow_if_due();
            }
        }
    }

    /// Bytes for which an ACK of `bytes` bytes counts: at most `abc` segments, or always one
    /// (RFC 3465).
    pub(super) fn counted(&self, bytes: u32) -> u32 {
        match self.params.abc {
            None => self.params.mss,
            Some(_) => bytes.min(self.params.limit()),
        }
    }

    /// Congestion avoidance has begun: the next slow start counts up to L segments of an ACK again.
    pub(super) fn end_slow_start(&mut self) {
        self.limit = self.params.limit();
    }

    /// Raises the window; ssthresh stays.
    pub(super) fn raise_to(&mut self, window: u32) {
        self.window = window.min(self.params.max).max(self.window);
    }

    /// The same on an ACK that has reduced the window. Kept apart, so that it is out of the way of
    /// all others.
    #[cold]
    #[inline(never)]
    pub fn grow_after_cut(&mut self, bytes: u32) {
        self.grow(bytes);
    }

    /// Adds one segment to the window if one window has been acknowledged, however much one ACK
    /// covers.
    #[inline(never)]
    fn grow_if_due(&mut self) {
        let mss = self.params.mss;
        let window = match self.params.avoidance {
            Avoidance::Bytes => self.window,
            Avoidance::Segments => (self.window / mss * mss).max(mss),
        };
        if self.credit >= window {
            self.credit = (self.credit - window).min(self.window);
            self.window = self.window.saturating_add(mss).min(self.params.max);
        }
    }

    /// Sets the window to `window` and ssthresh to `ssthresh`.
    pub fn cut_to(&mut self, window: u32, ssthresh: u32) {
        self.window = window.min(self.params.max);
        self.ssthresh = ssthresh;
        if self.params.credit == Credit::Dropped {
            self.credit = 0;
        }
    }

    /// Half of the flight, at least two segments (RFC 5681, equation 4).
    pub fn half(&self, flight: u32) -> u32 {
        (flight / 2).max(2 * self.params.mss)
    }

    /// Falls to half of the flight; never rises.
    pub fn halve(&mut self, flight: u32) {
        let half = self.half(flight);
        self.cut_to(half.min(self.window), half);
    }

    /// Falls to one segment; ssthresh to `ssthresh`, unless the segment had timed out before.
    pub fn collapse(&mut self, ssthresh: u32, timeout: Timeout) {
        let ssthresh = match timeout {
            Timeout::First => ssthresh,
            Timeout::Repeated => self.ssthresh,
        };
        self.cut_to(self.params.mss, ssthresh);
        self.limit = self.params.mss;
    }

    /// Applies an idle time.
    pub fn restart(&mut self, restart: Restart) {
        let initial = self.params.initial.min(self.params.max);
        match restart {
            Restart::Keep => return,
            Restart::AtMostInitial => self.window = self.window.min(initial),
            Restart::Initial => self.window = initial,
            Restart::Decay(times) => {
                // RFC 2861, section 3.2; the shift by 32 or more leaves nothing of the window.
                let kept = self.window - self.window / 4;
                self.ssthresh = self.ssthresh.max(kept);
                let decayed = self.window.checked_shr(times).unwrap_or(0);
                self.window = decayed.max(initial.min(self.window));
            }
        }
        self.credit = 0;
    }

    /// Bytes that may be in flight.
    #[inline]
    pub const fn window(&self) -> u32 {
        self.window
    }

    /// The slow start threshold.
    #[inline]
    pub const fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    /// Upper bound of the window.
    pub(super) const fn max(&self) -> u32 {
        self.params.max
    }

    /// The segment size.
    #[inline]
    pub const fn mss(&self) -> u32 {
        self.params.mss
    }

    /// Whether the window doubles every round trip.
    #[inline]
    pub const fn is_slow_start(&self) -> bool {
        match self.params.slow_start {
            SlowStart::Below => self.window < self.ssthresh,
            SlowStart::UpTo => self.window <= self.ssthresh,
        }
    }
}

choices! {
    /// Growth of the window while the data of a reduction is being acknowledged.
    #[non_exhaustive]
    pub enum Regrowth {
        /// It goes on as if nothing had happened, from the ACK that reduces on (FreeBSD, ODCTCP).
        Continues = "continues",
        /// It goes on, except on the first of a run of ACKs with ECE (ns-2).
        ExceptFirstEcho = "except-first-echo",
        /// None until an ACK covers data sent after the reduction.
        Frozen = "frozen",
    }
}

/// Allows at most one reaction per window of data, and limits growth in the meantime.
#[derive(Clone, Copy, Debug)]
pub struct OncePerWindow {
    /// One past the last byte sent before the reaction; `None` once an ACK has passed it.
    end: Option<Seq>,
    /// Whether the window may not grow before that; never set without an end.
    frozen: bool,
    /// Whether the last ACK carried ECE.
    echoing: bool,
    regrowth: Regrowth,
}

impl OncePerWindow {
    /// No reaction yet.
    pub const fn new(regrowth: Regrowth) -> Self {
        Self { end: None, frozen: false, echoing: false, regrowth }
    }

    /// Takes in an ACK. Answers whether the window may grow on it, if there is no reduction.
    #[inline]
    pub fn on_ack(&mut self, ack: Seq, echo: bool) -> bool {
        let first_echo = echo && !self.echoing;
        self.echoing = echo;
        let Some(end) = self.end else {
            return !first_echo || self.regrowth != Regrowth::ExceptFirstEcho;
        };
        // Strictly after: the ACK must cover data that was sent after the reaction, which is when
        // the segment with CWR has arrived. Forgetting the end keeps it safe from wrapping.
        if ack.is_after(end) {
            self.end = None;
            self.frozen = false;
        }
        match self.regrowth {
            Regrowth::Continues => true,
            Regrowth::ExceptFirstEcho => !first_echo,
            Regrowth::Frozen => !self.frozen,
        }
    }

    /// Whether the window may grow on the very ACK that reduces it.
    #[inline]
    pub fn grows_when_cut(&self) -> bool {
        self.regrowth == Regrowth::Continues
    }

    /// The window was reduced for a mark; the data of this window ends at `sent`.
    #[inline]
    pub fn on_mark(&mut self, sent: Seq) {
        self.end = Some(sent);
        self.frozen = true;
    }

    /// The window was reduced for a loss or a timeout: marks before `sent` are answered for.
    pub fn on_loss(&mut self, sent: Seq) {
        self.end = Some(sent);
        self.frozen = false;
    }

    /// Whether a loss of the byte at `una` belongs to the window of data of the last reaction.
    pub fn covers(&self, una: Seq) -> bool {
        self.end.is_some_and(|end| una.is_before(end))
    }

    /// Forgets the last reaction.
    pub fn clear(&mut self) {
        self.end = None;
        self.frozen = false;
    }

    /// Whether the data of the last reaction is still being acknowledged.
    #[inline]
    pub const fn is_open(&self) -> bool {
        self.end.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn cwnd(abc: Option<u8>) -> Cwnd {
        Cwnd::new(&CwndParams {
            mss: MSS,
            initial: 4 * MSS,
            max: 50 * MSS,
            abc,
            slow_start: SlowStart::Below,
            avoidance: Avoidance::Bytes,
            credit: Credit::Dropped,
        })
    }

    #[test]
    fn at_the_threshold_the_setting_decides_whether_it_is_slow_start() {
        for (slow_start, ssthresh, expected) in [
            (SlowStart::Below, 4001, 6000),
            (SlowStart::Below, 4000, 4000),
            (SlowStart::UpTo, 4000, 6000),
            (SlowStart::UpTo, 3999, 4000),
        ] {
            let mut cwnd = cwnd(Some(2));
            cwnd.params.slow_start = slow_start;
            cwnd.cut_to(4000, ssthresh);
            cwnd.grow(2000);
            assert_eq!(cwnd.window(), expected, "{slow_start:?} {ssthresh}");
        }
    }

    #[test]
    fn slow_start_counts_bytes_up_to_the_limit() {
        for (abc, bytes, expected) in [
            (None, 1, 5000),
            (None, 9000, 5000),
            (Some(1), 400, 4400),
            (Some(1), 2000, 5000),
            (Some(2), 2000, 6000),
            (Some(2), 2001, 6000),
        ] {
            let mut cwnd = cwnd(abc);
            cwnd.grow(bytes);
            assert_eq!(cwnd.window(), expected, "{abc:?} {bytes}");
        }
    }

    #[test]
    fn slow_start_at_the_threshold_itself_is_a_choice() {
        for (slow_start, expected) in [(SlowStart::Below, 4000), (SlowStart::UpTo, 5000)] {
            let mut cwnd = cwnd(Some(1));
            cwnd.params.slow_start = slow_start;
            cwnd.cut_to(4000, 4000);
            cwnd.grow(1000);
            assert_eq!(cwnd.window(), expected);
        }
    }

    #[test]
    fn after_a_timeout_slow_start_counts_one_segment_per_ack() {
        let mut cwnd = cwnd(Some(2));
        cwnd.collapse(4000, Timeout::First);
        assert_eq!((cwnd.window(), cwnd.ssthresh()), (1000, 4000));
        cwnd.grow(2000);
        assert_eq!(cwnd.window(), 2000);
        cwnd.collapse(2000, Timeout::Repeated);
        assert_eq!((cwnd.window(), cwnd.ssthresh()), (1000, 4000));
        // The slow start threshold is reached: avoidance, and the next slow start counts two again.
        for _ in 0..4 {
            cwnd.grow(2000);
        }
        assert_eq!(cwnd.window(), 4000);
        cwnd.cut_to(1000, 9000);
        cwnd.grow(2000);
        assert_eq!(cwnd.window(), 3000);
    }

    #[test]
    fn avoidance_adds_one_segment_per_window_of_bytes() {
        let mut cwnd = cwnd(Some(1));
        cwnd.cut_to(4000, 4000);
        for (bytes, expected) in [(3999, 4000), (1, 5000), (4999, 5000), (1, 6000)] {
            cwnd.grow(bytes);
            assert_eq!(cwnd.window(), expected);
        }
        // The rest counts for the next segment.
        cwnd.grow(7000);
        assert_eq!(cwnd.window(), 7000);
        cwnd.grow(6000);
        assert_eq!(cwnd.window(), 8000);
    }

    #[test]
    fn a_window_in_avoidance_is_all_of_it_or_its_whole_segments() {
        for (avoidance, due) in [(Avoidance::Bytes, 4_900), (Avoidance::Segments, 4_000)] {
            let mut cwnd = cwnd(Some(1));
            cwnd.params.avoidance = avoidance;
            cwnd.cut_to(4_900, 4_900);
            cwnd.grow(due - 1);
            assert_eq!(cwnd.window(), 4_900, "{avoidance:?}");
            cwnd.grow(1);
            assert_eq!(cwnd.window(), 5_900, "{avoidance:?}");
        }
        // A window below one segment counts as one.
        let mut cwnd = cwnd(Some(1));
        cwnd.params.avoidance = Avoidance::Segments;
        cwnd.cut_to(500, 500);
        cwnd.grow(999);
        assert_eq!(cwnd.window(), 500);
        cwnd.grow(1);
        assert_eq!(cwnd.window(), 1_500);
    }

    #[test]
    fn a_cut_drops_or_keeps_the_growth_under_way() {
        for (credit, grown) in [(Credit::Dropped, 4_000), (Credit::Kept, 5_000)] {
            let mut cwnd = cwnd(Some(1));
            cwnd.params.credit = credit;
            cwnd.cut_to(5_000, 5_000);
            cwnd.grow(3_000);
            cwnd.cut_to(4_000, 4_000);
            cwnd.grow(999);
            assert_eq!(cwnd.window(), 4_000, "{credit:?}");
            cwnd.grow(1);
            assert_eq!(cwnd.window(), grown, "{credit:?}");
        }
    }

    #[test]
    fn the_window_stays_below_its_maximum() {
        let mut cwnd = cwnd(None);
        for _ in 0..100 {
            cwnd.grow(MSS);
        }
        assert_eq!(cwnd.window(), 50_000);
        cwnd.cut_to(50_000, 1000);
        cwnd.grow(u32::MAX);
        for _ in 0..100 {
            cwnd.grow(MSS);
        }
        assert_eq!(cwnd.window(), 50_000);
    }

    #[test]
    fn idle_times_lower_the_window() {
        let after = |window, restart| {
            let mut cwnd = cwnd(None);
            cwnd.cut_to(window, 6000);
            cwnd.restart(restart);
            (cwnd.window(), cwnd.ssthresh())
        };
        assert_eq!(after(20_000, Restart::Keep), (20_000, 6000));
        assert_eq!(after(20_000, Restart::AtMostInitial), (4000, 6000));
        assert_eq!(after(2000, Restart::AtMostInitial), (2000, 6000));
        assert_eq!(after(2000, Restart::Initial), (4000, 6000));
        // Halved once and twice, then at the initial window; three quarters stay as threshold.
        assert_eq!(after(20_000, Restart::Decay(1)), (10_000, 15_000));
        assert_eq!(after(20_000, Restart::Decay(2)), (5000, 15_000));
        assert_eq!(after(20_000, Restart::Decay(3)), (4000, 15_000));
        assert_eq!(after(20_000, Restart::Decay(u32::MAX)), (4000, 15_000));
        assert_eq!(after(2000, Restart::Decay(1)), (2000, 6000));
    }

    #[test]
    fn half_of_the_flight_is_at_least_two_segments_and_never_a_rise() {
        let mut cwnd = cwnd(None);
        assert_eq!([cwnd.half(3999), cwnd.half(4000), cwnd.half(4002)], [2000, 2000, 2001]);
        cwnd.cut_to(1500, 9000);
        cwnd.halve(8000);
        assert_eq!((cwnd.window(), cwnd.ssthresh()), (1500, 4000));
    }

    #[test]
    fn one_reaction_per_window_ends_strictly_after_its_data() {
        let mut once = OncePerWindow::new(Regrowth::Frozen);
        assert!(once.on_ack(Seq(0), true));
        once.on_mark(Seq(10));
        assert!(!once.on_ack(Seq(10), true) && once.is_open());
        assert!(once.on_ack(Seq(11), true) && !once.is_open());
        // A loss answers for marks but does not freeze.
        once.on_loss(Seq(20));
        assert!(once.on_ack(Seq(15), true) && once.is_open());
        once.clear();
        assert!(!once.is_open());
        let mut once = OncePerWindow::new(Regrowth::ExceptFirstEcho);
        let grows = [true, true, false, true].map(|echo| once.on_ack(Seq(0), echo));
        assert_eq!(grows, [false, true, true, false]);
        let mut once = OncePerWindow::new(Regrowth::Continues);
        once.on_mark(Seq(10));
        assert!(once.on_ack(Seq(1), true));
    }
}
