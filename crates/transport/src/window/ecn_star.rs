//! ECN*: halve the window on an echoed mark, at most once per window of data.
//!
//! Wu et al., "Tuning ECN for Data Center Networks", CoNEXT 2012: standard ECN with instantaneous
//! marking. Here it is what the TCN simulations run under that name: ns-2's FullTcp/Sack with ECN.
//! The cut takes the window itself, not the flight, and stops at one segment; the window keeps
//! growing after a cut, except on the first ACK of a run with ECE; a loss in the window of a cut is
//! repaired without another cut.

use tidegate_units::{ConfigError, settings};

use super::cwnd::{OncePerWindow, Regrowth};
use super::{
    Acked, Basis, Cwnd, EctUse, Flight, Pace, Phase, Reaction, Restart, Timeout, WindowRule,
};
use crate::seq::Seq;

settings! {
    /// Parameters of ECN*.
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
    pub fn new(config: &Config, basis: &Basis) -> Result<Self, ConfigError> {
        Ok(Self {
            cwnd: Cwnd::new(basis),
            reduced: OncePerWindow::new(config.regrowth),
        })
    }

    /// Half of the window itself, not of the flight: at least one segment, the threshold two.
    fn halve(&mut self) {
        let half = self.cwnd.window() / 2;
        let mss = self.cwnd.mss();
        self.cwnd.cut_to(half.max(mss), half.max(2 * mss));
    }
}

impl WindowRule for EcnStar {
    fn begin(&mut self, mss: u32, initial: u32, _first: Seq) {
        self.cwnd.begin(mss, initial);
    }

    #[inline]
    fn on_ack(&mut self, acked: &Acked) -> Reaction {
        let grows = self.reduced.on_ack(acked.ack, acked.echo);
        if acked.echo && acked.phase == Phase::Open && !self.reduced.is_open() {
            self.halve();
            self.reduced.on_mark(acked.sent);
            return Reaction::Reduced(Pace::AtOnce);
        }
        if acked.may_grow && grows {
            self.cwnd.grow(acked.bytes);
        }
        Reaction::None
    }

    fn on_loss(&mut self, flight: &Flight) {
        if !self.reduced.is_open() {
            self.halve();
        }
        self.reduced.on_loss(flight.sent);
    }

    fn on_recovered(&mut self, _ack: Seq) {
        self.reduced.clear();
    }

    fn on_timeout(&mut self, flight: &Flight, timeout: Timeout) {
        let threshold = self.cwnd.half(self.cwnd.window());
        self.cwnd.collapse(threshold, timeout);
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
