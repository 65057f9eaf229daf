//! DCTCP: reduce the window in proportion to the fraction of marked bytes, once per window of data.
//!
//! Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257. Every window of data the
//! marked fraction F enters an average, α ← (1 − g)·α + g·F; an echoed mark cuts the window to
//! (1 − α/2) of itself.
//!
//! The published DCTCPs disagree on nearly everything else. Each difference is a field with named
//! choices; [`Config::profile`] puts them together as a known implementation has them. The default
//! is RFC 8257.

mod estimate;
mod profile;
#[cfg(test)]
mod tests;

pub use estimate::{Arithmetic, Counting, Estimate, WindowEnd};

use tidegate_units::{ConfigError, Ratio, choices, settings};

use super::cwnd::{OncePerWindow, Regrowth};
use super::{
    Acked, CongestionControl, Cwnd, CwndParams, Cwr, EctUse, Flight, Pace, Phase, Reaction,
    Restart, Start, Timeout,
};
use crate::seq::Seq;

choices! {
    /// How the reduced window is rounded.
    #[non_exhaustive]
    pub enum Rounding {
        /// To the byte.
        Bytes = "bytes",
        /// The window and ssthresh down to whole segments (FreeBSD of the thesis).
        Down = "down",
        /// The cut down to whole segments of a window in whole segments (Linux); half of a window
        /// is half of its segments, rounded down.
        Packets = "packets",
        /// The slow start threshold down to whole segments, the window to the byte (ns-2).
        ThresholdDown = "threshold-down",
    }
}

choices! {
    /// Which α cuts the window, if the ACK that brings the echo also ends a window of data.
    #[non_exhaustive]
    pub enum CutAlpha {
        /// The one from before the ACK: the echo is handled first (FreeBSD).
        Before = "before",
        /// The one that the ACK's window of data makes (RFC 8257, section 3.3; Linux).
        Updated = "updated",
    }
}

choices! {
    /// The slow start threshold that goes with a window reduced for a mark.
    #[non_exhaustive]
    pub enum MarkThreshold {
        /// The larger of the window and half of the flight (ns-3 of ECN♯).
        AtLeastHalfFlight = "at-least-half-flight",
        /// The window.
        Window = "window",
    }
}

choices! {
    /// The reaction to duplicate ACKs.
    #[non_exhaustive]
    pub enum LossCut {
        /// (1 − α/2), as for a mark (Linux before 5.1, ns-3).
        Alpha = "alpha",
        /// Half of the flight.
        Half = "half",
        /// Half of the window before the last echo, if the window of data of a cut is not over
        /// (FreeBSD).
        HalfBeforeMark = "half-before-mark",
        /// Half of the window (ns-2, Linux since 5.1).
        HalfWindow = "half-window",
    }
}

choices! {
    /// A loss in the window of data whose marks already cut the window.
    #[non_exhaustive]
    pub enum LossAfterMark {
        /// Cuts again.
        Cuts = "cuts",
        /// Is only repaired (Linux before 5.1: the reduction is already under way).
        OnlyRepairs = "only-repairs",
    }
}

choices! {
    /// The slow start threshold after a retransmission timeout. The window is one segment.
    #[non_exhaustive]
    pub enum TimeoutCut {
        /// (1 − α/2) of the window (Linux before 5.1, ns-3).
        Alpha = "alpha",
        /// (1 − α/2) of the window, at least half of the flight (ns-3 of ECN♯).
        AlphaOrHalf = "alpha-or-half",
        /// Half of the flight.
        Half = "half",
        /// Half of the window, but unchanged if the last reaction was to a mark (ns-2).
        HalfUnlessMarked = "half-unless-marked",
        /// Half of the window (Linux since 5.1).
        HalfWindow = "half-window",
    }
}

choices! {
    /// Effect of an idle time on α.
    #[non_exhaustive]
    pub enum IdleAlpha {
        /// Keeps it.
        Kept = "kept",
        /// Starts the estimate over (ODCTCP thesis, section 4.2.3).
        Reset = "reset",
    }
}

settings! {
    /// Parameters of DCTCP.
    #[named("dctcp", "TCP: the window falls with the fraction of marked bytes",
        "transports/dctcp.md")]
    pub struct Config {
        /// α before the first sample (RFC 8257, section 4.2: 1).
        pub initial_alpha: Ratio = Ratio::ONE,
        /// Weight of a new sample (`g`; RFC 8257, section 4.2: 1/16).
        pub gain: Ratio = Ratio::new(1, 16).expect("sixteen is not zero"),
        /// Unit in which the marked fraction is counted.
        pub counting: Counting = Counting::Bytes,
        /// When a window of data is over and α is updated.
        pub window_end: WindowEnd = WindowEnd::After,
        /// How α is computed.
        pub arithmetic: Arithmetic = Arithmetic::Exact,
        /// Which α cuts the window.
        pub cut_alpha: CutAlpha = CutAlpha::Updated,
        /// How the reduced window is rounded.
        pub rounding: Rounding = Rounding::Bytes,
        /// Lower bound of a reduced window, in segments (RFC 5681, equation 4: two).
        pub min_window: u8 = 2,
        /// Lower bound of ssthresh, in segments.
        pub min_threshold: u8 = 2,
        /// The slow start threshold that goes with a reduced window.
        pub mark_threshold: MarkThreshold = MarkThreshold::Window,
        /// How sending slows down.
        pub pace: Pace = Pace::AtOnce,
        /// Growth after a reduction.
        pub regrowth: Regrowth = Regrowth::Frozen,
        /// Whether the receiver is notified.
        pub cwr: Cwr = Cwr::Sent,
        /// The reaction to duplicate ACKs (RFC 8257, section 3.5: as conventional TCP).
        pub loss: LossCut = LossCut::Half,
        /// A loss after a mark in the same window of data.
        pub loss_after_mark: LossAfterMark = LossAfterMark::Cuts,
        /// The slow start threshold after a timeout.
        pub timeout: TimeoutCut = TimeoutCut::Half,
        /// α after an idle time.
        pub idle_alpha: IdleAlpha = IdleAlpha::Kept,
    }
}

/// DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    cwnd: Cwnd,
    estimate: Estimate,
    reduced: OncePerWindow,
    /// The window before the last cut for a mark, or the last echo if the reaction to a loss goes
    /// by that, while the data of that window is in flight.
    before_mark: Option<u32>,
    /// Whether the last reaction of any kind was to a mark.
    marked_last: bool,
    rules: Rules,
}

/// The choices, without the numbers that went elsewhere.
#[derive(Clone, Copy, Debug)]
struct Rules {
    cut_alpha: CutAlpha,
    rounding: Rounding,
    min_window: u8,
    min_threshold: u8,
    mark_threshold: MarkThreshold,
    pace: Pace,
    cwr: Cwr,
    loss: LossCut,
    loss_after_mark: LossAfterMark,
    timeout: TimeoutCut,
    idle_alpha: IdleAlpha,
}

impl Dctcp {
    /// DCTCP with these parameters.
    pub fn new(config: &Config, params: &CwndParams) -> Result<Self, ConfigError> {
        Ok(Self {
            cwnd: Cwnd::new(params),
            estimate: Estimate::new(config, params.mss)?,
            reduced: OncePerWindow::new(config.regrowth),
            before_mark: None,
            marked_last: false,
            rules: Rules {
                cut_alpha: config.cut_alpha,
                rounding: config.rounding,
                min_window: config.min_window,
                min_threshold: config.min_threshold,
                mark_threshold: config.mark_threshold,
                pace: config.pace,
                cwr: config.cwr,
                loss: config.loss,
                loss_after_mark: config.loss_after_mark,
                timeout: config.timeout,
                idle_alpha: config.idle_alpha,
            },
        })
    }

    /// (1 − α/2) of the window, rounded, not yet bounded.
    fn scaled(&self) -> u32 {
        let window = self.cwnd.window();
        let mss = self.cwnd.mss();
        match self.rules.rounding {
            Rounding::Bytes | Rounding::ThresholdDown => window - self.estimate.half_of(window),
            Rounding::Down => (window - self.estimate.half_of(window)) / mss * mss,
            Rounding::Packets => {
                let packets = window / mss;
                (packets - self.estimate.half_of(packets)) * mss
            }
        }
    }

    /// Half of a window, at least two segments, for a loss or a timeout.
    fn half_window(&self, window: u32) -> u32 {
        match self.rules.rounding {
            Rounding::Packets => {
                let mss = self.cwnd.mss();
                self.cwnd.half(window / mss / 2 * mss * 2)
            }
            Rounding::Bytes | Rounding::Down | Rounding::ThresholdDown => self.cwnd.half(window),
        }
    }

    #[cold]
    fn cut_for_mark(&mut self, flight: u32) {
        let mss = self.cwnd.mss();
        let scaled = self.scaled();
        let window = scaled.max(mss * u32::from(self.rules.min_window));
        let ssthresh = match self.rules.mark_threshold {
            MarkThreshold::Window => scaled,
            MarkThreshold::AtLeastHalfFlight => scaled.max(flight / 2),
        };
        let ssthresh = match self.rules.rounding {
            Rounding::ThresholdDown => ssthresh / mss * mss,
            _ => ssthresh,
        };
        self.before_mark = Some(self.cwnd.window());
        self.marked_last = true;
        let ssthresh = ssthresh.max(mss * u32::from(self.rules.min_threshold));
        self.cwnd.cut_to(window.min(self.cwnd.window()), ssthresh);
    }
}

impl CongestionControl for Dctcp {
    #[inline]
    fn cwnd(&self) -> &Cwnd {
        &self.cwnd
    }

    fn cwnd_mut(&mut self) -> &mut Cwnd {
        &mut self.cwnd
    }

    fn begin(&mut self, start: &Start) {
        self.cwnd.begin(start);
        self.estimate.begin(start.mss, start.first);
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the caller knows the kind of ACK, which leaves little to decide"
    )]
    fn on_ack(&mut self, acked: &Acked) -> Reaction {
        let grows = self.reduced.on_ack(acked.ack, acked.echo);
        let is_open = self.reduced.is_open();
        if self.before_mark.is_some() {
            if !is_open {
                self.before_mark = None;
            } else if acked.echo && self.rules.loss == LossCut::HalfBeforeMark {
                self.before_mark = Some(self.cwnd.window());
            }
        }
        let cuts = acked.echo && acked.phase == Phase::Open && !is_open;
        let cuts_before = cuts && self.rules.cut_alpha == CutAlpha::Before;
        if cuts_before {
            self.cut_for_mark(acked.flight);
        }
        self.estimate.on_ack(acked);
        if cuts {
            if !cuts_before {
                self.cut_for_mark(acked.flight);
            }
            self.reduced.on_mark(acked.sent);
            if acked.may_grow && self.reduced.grows_when_cut() {
                self.cwnd.grow_after_cut(acked.bytes);
            }
            return Reaction::Reduced(self.rules.pace);
        }
        if acked.may_grow && grows {
            self.cwnd.grow(acked.bytes);
        }
        Reaction::None
    }

    fn on_loss(&mut self, flight: &Flight) {
        let marked = self.before_mark.is_some();
        self.reduced.on_loss(flight.sent);
        if marked && self.rules.loss_after_mark == LossAfterMark::OnlyRepairs {
            return;
        }
        let window = self.cwnd.window();
        let half = match self.rules.loss {
            LossCut::Alpha => {
                self.cut_for_mark(flight.bytes);
                self.marked_last = false;
                return;
            }
            LossCut::Half => self.cwnd.half(flight.bytes),
            LossCut::HalfBeforeMark => self.cwnd.half(self.before_mark.unwrap_or(window)),
            LossCut::HalfWindow => self.half_window(window),
        };
        self.cwnd.cut_to(half.min(window), half);
        self.marked_last = false;
    }

    fn on_recovered(&mut self, ack: Seq) {
        self.reduced.clear();
        self.before_mark = None;
        self.estimate.on_recovered(ack);
    }

    fn on_timeout(&mut self, flight: &Flight, timeout: Timeout) {
        let window = self.cwnd.window();
        let least = self.cwnd.mss() * u32::from(self.rules.min_threshold);
        let ssthresh = match self.rules.timeout {
            TimeoutCut::Alpha => self.scaled().max(least),
            TimeoutCut::AlphaOrHalf => self.scaled().max(flight.bytes / 2).max(least),
            TimeoutCut::Half => self.cwnd.half(flight.bytes),
            TimeoutCut::HalfUnlessMarked if self.marked_last => self.cwnd.ssthresh(),
            TimeoutCut::HalfUnlessMarked | TimeoutCut::HalfWindow => self.half_window(window),
        };
        self.cwnd.collapse(ssthresh, timeout);
        self.reduced.on_loss(flight.sent);
        self.before_mark = None;
        self.marked_last = false;
        self.estimate.on_timeout(flight);
    }

    fn on_idle(&mut self, restart: Restart, next: Seq) {
        self.cwnd.restart(restart);
        if self.rules.idle_alpha == IdleAlpha::Reset {
            self.estimate.reset(next);
        }
    }

    fn alpha(&self) -> Option<Ratio> {
        Some(self.estimate.alpha())
    }

    #[inline]
    fn ect(&self) -> EctUse {
        EctUse::All
    }

    fn cwr(&self) -> Cwr {
        self.rules.cwr
    }
}
