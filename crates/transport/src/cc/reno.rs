//! Reno: halve the window on loss, ignore marks.
//!
//! RFC 5681. With SACK or NewReno recovery around it the papers call it plain TCP or SACK TCP. Its
//! packets are not ECN-capable.

use tidegate_units::{ConfigError, settings};

use super::{Acked, CongestionControl, Cwnd, CwndParams, EctUse, Flight, Reaction, Timeout};

settings! {
    /// Parameters of Reno: none.
    #[named("reno", "TCP: halves its window on loss, ignores marks", "transports/reno.md")]
    pub struct Config {}
}

/// Reno.
#[derive(Clone, Debug)]
pub struct Reno {
    cwnd: Cwnd,
}

impl Reno {
    /// Reno with these parameters.
    pub fn new(_config: &Config, params: &CwndParams) -> Result<Self, ConfigError> {
        Ok(Self { cwnd: Cwnd::new(params) })
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn cwnd(&self) -> &Cwnd {
        &self.cwnd
    }

    fn cwnd_mut(&mut self) -> &mut Cwnd {
        &mut self.cwnd
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

    #[inline]
    fn ect(&self) -> EctUse {
        EctUse::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ack, flight, params, start};

    fn cc() -> Reno {
        let mut cc = Reno::new(&Config::default(), &params()).unwrap();
        cc.begin(&start(1000, 10_000));
        cc
    }

    #[test]
    fn reno_ignores_marks_and_halves_on_loss() {
        let mut cc = cc();
        assert_eq!(cc.on_ack(&ack(1, 10, true)), Reaction::None);
        assert_eq!(cc.window(), 11_000);
        cc.on_loss(&flight(1, 11));
        assert_eq!((cc.window(), cc.ssthresh()), (5000, 5000));
        cc.on_timeout(&flight(1, 9), Timeout::First);
        assert_eq!((cc.window(), cc.ssthresh()), (1000, 4000));
        cc.on_timeout(&flight(1, 2), Timeout::Repeated);
        assert_eq!((cc.window(), cc.ssthresh()), (1000, 4000));
        assert_eq!((cc.ect(), cc.alpha()), (EctUse::None, None));
    }

    #[test]
    fn the_window_grows_only_when_it_may() {
        let mut cc = cc();
        let mut held = ack(1, 10, false);
        held.may_grow = false;
        cc.on_ack(&held);
        assert_eq!(cc.window(), 10_000);
    }
}
