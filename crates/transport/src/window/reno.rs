//! Reno: halve the window on loss, ignore marks.
//!
//! RFC 5681. With SACK or NewReno recovery around it this is what the papers call plain TCP or
//! SACK TCP. Its packets are not ECN-capable.

use tidegate_units::{ConfigError, settings};

use super::{Acked, Basis, Cwnd, EctUse, Flight, Reaction, Restart, Timeout, WindowRule};
use crate::seq::Seq;

settings! {
    /// Parameters of Reno: none.
    pub struct Config {}
}

/// Reno.
#[derive(Clone, Debug)]
pub struct Reno {
    cwnd: Cwnd,
}

impl Reno {
    /// Reno with these parameters.
    pub fn new(_config: &Config, basis: &Basis) -> Result<Self, ConfigError> {
        Ok(Self {
            cwnd: Cwnd::new(basis),
        })
    }
}

impl WindowRule for Reno {
    fn begin(&mut self, mss: u32, initial: u32, _first: Seq) {
        self.cwnd.begin(mss, initial);
    }

    #[inline]
    fn on_ack(&mut self, acked: &Acked) -> Reaction {
        if acked.may_grow {
            self.cwnd.grow(acked.bytes);
        }
        Reaction::None
    }

    fn on_loss(&mut self, flight: &Flight) {
        self.cwnd.halve(flight.bytes);
    }

    fn on_timeout(&mut self, flight: &Flight, timeout: Timeout) {
        self.cwnd.collapse(self.cwnd.half(flight.bytes), timeout);
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
        EctUse::None
    }
}
