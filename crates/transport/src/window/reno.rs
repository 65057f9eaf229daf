//! Reno: halve the window on loss, ignore marks.
//!
//! RFC 5681. With SACK or NewReno recovery around it this is what the papers call plain TCP or
//! SACK TCP. Its packets are not ECN-capable.

use tidegate_units::{ConfigError, settings};

use super::{Acked, Cwnd, CwndParams, EctUse, Flight, Reaction, Timeout, WindowRule};

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

impl WindowRule for Reno {
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
    use crate::window::testing::{ack, flight, params, start};

    fn rule() -> Reno {
        let mut rule = Reno::new(&Config::default(), &params()).unwrap();
        rule.begin(&start(1000, 10_000));
        rule
    }

    #[test]
    fn marks_mean_nothing_and_losses_halve() {
        let mut rule = rule();
        assert_eq!(rule.on_ack(&ack(1, 10, true)), Reaction::None);
        assert_eq!(rule.window(), 11_000);
        rule.on_loss(&flight(1, 11));
        assert_eq!((rule.window(), rule.ssthresh()), (5000, 5000));
        rule.on_timeout(&flight(1, 9), Timeout::First);
        assert_eq!((rule.window(), rule.ssthresh()), (1000, 4000));
        rule.on_timeout(&flight(1, 2), Timeout::Repeated);
        assert_eq!((rule.window(), rule.ssthresh()), (1000, 4000));
        assert_eq!((rule.ect(), rule.alpha()), (EctUse::None, None));
    }

    #[test]
    fn the_window_grows_only_when_it_may() {
        let mut rule = rule();
        let mut held = ack(1, 10, false);
        held.may_grow = false;
        rule.on_ack(&held);
        assert_eq!(rule.window(), 10_000);
    }
}
