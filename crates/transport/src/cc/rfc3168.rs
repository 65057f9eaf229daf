//! Standard ECN: treat an echoed mark as a loss, at most once per window of data.
//!
//! RFC 3168, section 6.1.2. The window and ssthresh fall to half of the flight, at least two
//! segments; the next new segment carries CWR; the window does not grow until an ACK covers data
//! sent after the reduction. A loss in the window of a reduction is repaired without another cut,
//! and an echo in the window of a loss is ignored.
//!
//! Differs from RFC 3168: with a window of one segment and an echo, the next segment leaves when
//! the previous one is acknowledged; it does not wait for the retransmission timer.

use tidegate_units::{ConfigError, settings};

use super::cwnd::{OncePerWindow, Regrowth};
use super::{
    Acked, CongestionControl, Cwnd, CwndParams, EctUse, Flight, Pace, Phase, Reaction, Timeout,
};
use crate::seq::Seq;

settings! {
    /// Parameters of standard ECN.
    #[named("rfc3168", "TCP: standard ECN, halves its window on a mark", "transports/rfc3168.md")]
    pub struct Config {
        /// How sending slows down. Linux thins it out, FreeBSD cuts at once.
        pub pace: Pace = Pace::AtOnce,
        /// Growth after a reduction. Default: RFC 3168, as in FreeBSD and Linux.
        pub regrowth: Regrowth = Regrowth::Frozen,
    }
}

/// Standard ECN.
#[derive(Clone, Debug)]
pub struct Rfc3168 {
    cwnd: Cwnd,
    reduced: OncePerWindow,
    pace: Pace,
}

impl Rfc3168 {
    /// Standard ECN with these parameters.
    pub fn new(config: &Config, params: &CwndParams) -> Result<Self, ConfigError> {
        Ok(Self {
            cwnd: Cwnd::new(params),
            reduced: OncePerWindow::new(config.regrowth),
            pace: config.pace,
        })
    }
}

impl CongestionControl for Rfc3168 {
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
            self.cwnd.halve(acked.flight);
            self.reduced.on_mark(acked.sent);
            if acked.may_grow && self.reduced.grows_when_cut() {
                self.cwnd.grow_after_cut(acked.bytes);
            }
            return Reaction::Reduced(self.pace);
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
            self.cwnd.halve(flight.bytes);
        }
        self.reduced.on_loss(flight.sent);
    }

    /// The window has answered marks of data up to `ack`: its ACK may still carry ECE.
    fn on_recovered(&mut self, ack: Seq) {
        self.reduced.on_loss(ack);
    }

    fn on_timeout(&mut self, flight: &Flight, timeout: Timeout) {
        self.cwnd.collapse(self.cwnd.half(flight.bytes), timeout);
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

    fn cc() -> Rfc3168 {
        let mut cc = Rfc3168::new(&Config::default(), &params()).unwrap();
        cc.begin(&start(1000, 10_000));
        cc
    }

    #[test]
    fn a_mark_halves_once_per_window_and_freezes_growth() {
        let mut cc = cc();
        assert_eq!(cc.on_ack(&ack(1, 10, true)), Reaction::Reduced(Pace::AtOnce));
        assert_eq!((cc.window(), cc.ssthresh()), (5000, 5000));
        for i in 2..=10 {
            assert_eq!(cc.on_ack(&ack(i, 15, true)), Reaction::None);
            assert_eq!(cc.window(), 5000);
        }
        // The first ACK of data sent after the cut ends it: five outstanding, down to two and a
        // half, and the floor of two segments is not reached.
        assert_eq!(cc.on_ack(&ack(11, 15, true)), Reaction::Reduced(Pace::AtOnce));
        assert_eq!(cc.window(), 2500);
    }

    #[test]
    fn the_floor_is_two_segments() {
        let mut cc = cc();
        cc.on_ack(&ack(1, 3, true));
        assert_eq!(cc.window(), 2000);
    }

    #[test]
    fn a_loss_after_a_mark_does_not_cut_again_and_a_mark_after_a_loss_neither() {
        let mut marked = cc();
        marked.on_ack(&ack(1, 10, true));
        marked.on_loss(&flight(1, 10));
        assert_eq!(marked.window(), 5000);
        marked.on_recovered(Seq(10_000));
        assert_eq!(marked.on_ack(&ack(11, 20, true)), Reaction::Reduced(Pace::AtOnce));

        let mut lost = cc();
        lost.on_loss(&flight(0, 10));
        let mut echo = ack(1, 10, true);
        echo.phase = Phase::FastRecovery;
        assert_eq!(lost.on_ack(&echo), Reaction::None);
        assert_eq!(lost.window(), 5000);

        let mut timed_out = cc();
        timed_out.on_timeout(&flight(0, 10), Timeout::First);
        assert_eq!(timed_out.on_ack(&ack(1, 10, true)), Reaction::None);
        assert_eq!((timed_out.window(), timed_out.ssthresh()), (2000, 5000), "slow start goes on");
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
