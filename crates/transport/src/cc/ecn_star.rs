//! ECN*: halve the window on an echoed mark, at most once per window of data.
//!
//! Wu et al., "Tuning ECN for Data Center Networks", CoNEXT 2012: standard ECN with instantaneous
//! marking. The TCN simulations run ns-2's FullTcp/Sack with ECN under that name, which is
//! implemented here. The cut takes the window itself, not the flight, and stops at one segment; the
//! window keeps growing after a cut, except on the first ACK of a run with ECE; a loss in the
//! window of a cut is repaired without another cut.

use tidegate_units::{ConfigError, settings};

use super::cwnd::{OncePerWindow, Regrowth};
use super::{
    Acked, CongestionControl, Cwnd, CwndParams, EctUse, Flight, Pace, Phase, Reaction, Timeout,
};
use crate::seq::Seq;

settings! {
    /// Parameters of ECN*.
    #[named("ecn-star", "TCP: standard ECN over instantaneous marking (ECN*)",
        "transports/ecn-star.md")]
    pub struct Config {
        /// Growth after a reduction. Default: ns-2.
        pub regrowth: Regrowth = Regrowth::ExceptFirstEcho,
    }
}

/// ECN*.
#[derive(Clone, Debug)]
pub struct EcnStar {
    cwnd: Cwnd,
    reduced: OncePerWindow,
}

impl EcnStar {
    /// ECN* with these parameters.
    pub fn new(config: &Config, params: &CwndParams) -> Result<Self, ConfigError> {
        Ok(Self { cwnd: Cwnd::new(params), reduced: OncePerWindow::new(config.regrowth) })
    }

    /// Half of the window itself, not of the flight: at least one segment, ssthresh two.
    fn halve(&mut self) {
        let half = self.cwnd.window() / 2;
        let mss = self.cwnd.mss();
        self.cwnd.cut_to(half.max(mss), half.max(2 * mss));
    }
}

impl CongestionControl for EcnStar {
    #[inline]
    fn cwnd(&self) -> &Cwnd {
        &self.cwnd
    }

    fn cwnd_mut(&mut self) -> &mut Cwnd {
        &mut self.cwnd
    }

    #[inline]
    fn on_ack(&mut self, acked: &Acked) -> Reaction {
        let grows = self.reduced.on_ack(acked.ack, acked.echo);
        if acked.echo && acked.phase == Phase::Open && !self.reduced.is_open() {
            self.halve();
            self.reduced.on_mark(acked.sent);
            if acked.may_grow && self.reduced.grows_when_cut() {
                self.cwnd.grow_after_cut(acked.bytes);
            }
            return Reaction::Reduced(Pace::AtOnce);
        }
        if acked.may_grow && grows {
            self.cwnd.grow(acked.bytes);
        }
        Reaction::None
    }

    /// A loss of data sent after the last reaction cuts again, also of its first byte, which no ACK
    /// has passed.
    fn on_loss(&mut self, flight: &Flight) {
        if !self.reduced.covers(flight.una) {
            self.halve();
        }
        self.reduced.on_loss(flight.sent);
    }

    /// The window has answered marks of data up to `ack`: its ACK may still carry ECE.
    fn on_recovered(&mut self, ack: Seq) {
        self.reduced.on_loss(ack);
    }

    fn on_timeout(&mut self, flight: &Flight, timeout: Timeout) {
        let ssthresh = self.cwnd.half(self.cwnd.window());
        self.cwnd.collapse(ssthresh, timeout);
        self.reduced.on_loss(flight.sent);
    }

    #[inline]
    fn ect(&self) -> EctUse {
        EctUse::Data
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ack, flight, params, start};

    fn cc() -> EcnStar {
        let mut cc = EcnStar::new(&Config::default(), &params()).unwrap();
        cc.begin(&start(1000, 10_000));
        cc
    }

    #[test]
    fn a_mark_halves_the_window_itself_and_growth_goes_on() {
        let mut cc = cc();
        // Three segments outstanding of a window of ten: the window counts, not the flight.
        assert_eq!(cc.on_ack(&ack(1, 3, true)), Reaction::Reduced(Pace::AtOnce));
        assert_eq!((cc.window(), cc.ssthresh()), (5000, 5000));
        // Avoidance: five more ACKs, with or without ECE, make a segment.
        for i in 2..=3 {
            cc.on_ack(&ack(i, 3, true));
        }
        assert_eq!(cc.window(), 5000);
        for i in 4..=6 {
            cc.on_ack(&ack(i, 9, false));
        }
        assert_eq!(cc.window(), 6000);
    }

    #[test]
    fn the_floor_is_one_segment_and_the_threshold_two() {
        let mut cc = cc();
        cc.begin(&start(1000, 1000));
        cc.on_ack(&ack(1, 3, true));
        assert_eq!((cc.window(), cc.ssthresh()), (1000, 2000));
    }

    #[test]
    fn a_loss_after_a_mark_does_not_cut_again() {
        let mut cc = cc();
        cc.on_ack(&ack(1, 10, true));
        cc.on_loss(&flight(1, 10));
        assert_eq!(cc.window(), 5000);
        cc.on_recovered(Seq(10_000));
        cc.on_loss(&flight(10, 15));
        assert_eq!(cc.window(), 2500);
        cc.on_timeout(&flight(10, 15), Timeout::First);
        assert_eq!((cc.window(), cc.ssthresh()), (1000, 2000));
    }

    /// Ten segments are outstanding at the mark, and ten are acknowledged when the eleventh is
    /// lost: no ACK has passed the end of the window, but the loss has.
    #[test]
    fn a_loss_of_the_first_byte_after_the_window_of_a_mark_cuts_again() {
        let mut cc = cc();
        cc.on_ack(&ack(1, 10, true));
        assert_eq!(cc.window(), 5000);
        cc.on_loss(&flight(9, 15));
        assert_eq!(cc.window(), 5000, "the tenth segment was sent before the cut");
        let mut cc = self::cc();
        cc.on_ack(&ack(1, 10, true));
        cc.on_loss(&flight(10, 15));
        assert_eq!(cc.window(), 2500, "half of five segments");
    }

    /// The ACK of the recovery point reports on data sent before the loss was noticed.
    #[test]
    fn a_mark_on_the_ack_that_ends_recovery_does_not_cut_again() {
        let mut cc = cc();
        cc.on_loss(&flight(0, 10));
        assert_eq!(cc.window(), 5000);
        cc.on_recovered(Seq(10_000));
        assert_eq!(cc.on_ack(&ack(10, 15, true)), Reaction::None);
        assert_eq!(cc.window(), 5000);
        assert_eq!(cc.on_ack(&ack(11, 15, true)), Reaction::Reduced(Pace::AtOnce));
        assert_eq!(cc.window(), 2500);
    }
}
