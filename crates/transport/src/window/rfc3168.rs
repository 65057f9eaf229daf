//! Standard ECN: treat an echoed mark as a loss, at most once per window of data.
//!
//! RFC 3168, section 6.1.2. The window and the threshold fall to half of the flight, at least two
//! segments; the next new segment carries CWR; the window does not grow until an ACK covers data
//! sent after the reduction. A loss in the window of a reduction is repaired without another cut,
//! and an echo in the window of a loss is ignored.
//!
//! Differs from RFC 3168: with a window of one segment and an echo, the next segment leaves when
//! the previous one is acknowledged; it does not wait for the retransmission timer.

use tidegate_units::{ConfigError, settings};

use super::cwnd::{OncePerWindow, Regrowth};
use super::{
    Acked, Basis, Cwnd, EctUse, Flight, Pace, Phase, Reaction, Restart, Timeout, WindowRule,
};
use crate::seq::Seq;

settings! {
    /// Parameters of standard ECN.
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
    pub fn new(config: &Config, basis: &Basis) -> Result<Self, ConfigError> {
        Ok(Self {
            cwnd: Cwnd::new(basis),
            reduced: OncePerWindow::new(config.regrowth),
            pace: config.pace,
        })
    }
}

impl WindowRule for Rfc3168 {
    fn begin(&mut self, mss: u32, initial: u32, _first: Seq) {
        self.cwnd.begin(mss, initial);
    }

    #[inline]
    fn on_ack(&mut self, acked: &Acked) -> Reaction {
        let grows = self.reduced.on_ack(acked.ack, acked.echo);
        if acked.echo && acked.phase == Phase::Open && !self.reduced.is_open() {
            self.cwnd.halve(acked.flight);
            self.reduced.on_mark(acked.sent);
            return Reaction::Reduced(self.pace);
        }
        if acked.may_grow && grows {
            self.cwnd.grow(acked.bytes);
        }
        Reaction::None
    }

    fn on_loss(&mut self, flight: &Flight) {
        if !self.reduced.is_open() {
            self.cwnd.halve(flight.bytes);
        }
        self.reduced.on_loss(flight.sent);
    }

    fn on_recovered(&mut self, _ack: Seq) {
        self.reduced.clear();
    }

    fn on_timeout(&mut self, flight: &Flight, timeout: Timeout) {
        self.cwnd.collapse(self.cwnd.half(flight.bytes), timeout);
        self.reduced.on_loss(flight.sent);
    }

    fn on_idle(&mut self, restart: Restart, _next: Seq) {
        self.cwnd.restart(restart);
    }

    #[inline]
    fn window(&self) -> u32 {
        self.cwnd.window()
    }

    #[inline]
    fn threshold(&self) -> u32 {
        self.cwnd.threshold()
    }

    #[inline]
    fn ect(&self) -> EctUse {
        EctUse::Data
    }
}
