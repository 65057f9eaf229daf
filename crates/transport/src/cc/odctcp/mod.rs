//! ODCTCP's sender: DCTCP that also announces its reductions to the receiver, so that it can face a
//! receiver of standard ECN.
//!
//! Kato, "Improving Transmission Performance with One-Sided Datacenter TCP", master's thesis, Keio
//! University 2013, chapters 4 and 5. It is DCTCP as the thesis puts it into FreeBSD, with CWR on
//! the next segment after a reduction, no pause in growth, a selectable α₀, and an estimate that
//! starts over after an idle time.
//!
//! Differs from the first version merged into FreeBSD: α is reset after every idle time, not only
//! after the first, and an α₀ of one means one, not 1/1024; both follow the thesis.
//!
//! The receiver's half is [`Echo::Odctcp`](crate::config::Echo).

use tidegate_units::{ConfigError, Ratio, settings};

use super::dctcp::{self, Dctcp};
use super::{
    Acked, CongestionControl, Cwnd, CwndParams, Cwr, EctUse, Flight, Reaction, Restart, Start,
    Timeout,
};
use crate::seq::Seq;

settings! {
    /// Parameters of ODCTCP.
    #[named("odctcp", "TCP: DCTCP that also works at one end only", "transports/odctcp.md")]
    pub struct Config {
        /// α before the first sample: 0 for throughput, 1 for latency (section 4.2.2).
        pub initial_alpha: Ratio = Ratio::ZERO,
        /// Weight of a new sample (`g`, section 3.2).
        pub gain: Ratio = Ratio::new(1, 16).expect("sixteen is not zero"),
    }
}

/// ODCTCP.
#[derive(Clone, Debug)]
pub struct Odctcp(Dctcp);

impl Odctcp {
    /// ODCTCP with these parameters.
    pub fn new(config: &Config, params: &CwndParams) -> Result<Self, ConfigError> {
        let dctcp = dctcp::Config {
            initial_alpha: config.initial_alpha,
            gain: config.gain,
            ..dctcp::Config::freebsd_thesis()
        };
        Dctcp::new(&dctcp, params).map(Self)
    }
}

impl CongestionControl for Odctcp {
    #[inline]
    fn cwnd(&self) -> &Cwnd {
        self.0.cwnd()
    }

    fn cwnd_mut(&mut self) -> &mut Cwnd {
        self.0.cwnd_mut()
    }

    fn begin(&mut self, start: &Start) {
        self.0.begin(start);
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the caller knows the kind of ACK, which leaves little to decide"
    )]
    fn on_ack(&mut self, acked: &Acked) -> Reaction {
        self.0.on_ack(acked)
    }

    fn on_loss(&mut self, flight: &Flight) {
        self.0.on_loss(flight);
    }

    fn on_recovered(&mut self, ack: Seq) {
        self.0.on_recovered(ack);
    }

    fn on_timeout(&mut self, flight: &Flight, timeout: Timeout) {
        self.0.on_timeout(flight, timeout);
    }

    fn on_idle(&mut self, restart: Restart, next: Seq) {
        self.0.on_idle(restart, next);
    }

    fn alpha(&self) -> Option<Ratio> {
        self.0.alpha()
    }

    #[inline]
    fn ect(&self) -> EctUse {
        self.0.ect()
    }

    fn cwr(&self) -> Cwr {
        self.0.cwr()
    }
}

#[cfg(test)]
mod model;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ack, flight, params, start};

    fn cc() -> Odctcp {
        let mut cc = Odctcp::new(&Config::default(), &params()).unwrap();
        cc.begin(&start(1000, 10_000));
        cc
    }

    #[test]
    fn odctcp_is_the_dctcp_of_the_thesis_with_cwr() {
        let mut cc = cc();
        assert_eq!((cc.cwr(), cc.ect()), (Cwr::Sent, EctUse::All));
        // α₀ = 0: the echo is handled before its ACK's sample, so the first cut is by nothing
        // (thesis, section 4.2.3); the sample then makes α = 64/1024.
        assert_ne!(cc.on_ack(&ack(1, 10, true)), Reaction::None);
        assert_eq!(cc.window(), 10_000);
        assert_eq!(cc.alpha(), Ratio::new(64, 1024));
        cc.on_loss(&flight(1, 10));
        assert_eq!(cc.window(), 5000, "half of the window before the mark");
        cc.on_recovered(Seq(10_000));
        cc.on_idle(Restart::AtMostInitial, Seq(10_000));
        assert_eq!(cc.alpha(), Some(Ratio::ZERO));
        cc.on_timeout(&flight(10, 14), Timeout::First);
        assert_eq!((cc.window(), cc.ssthresh()), (1000, 2000));
    }

    #[test]
    fn the_initial_alpha_can_be_chosen() {
        let config = Config { initial_alpha: Ratio::ONE, ..Config::default() };
        let mut cc = Odctcp::new(&config, &params()).unwrap();
        cc.begin(&start(1000, 10_000));
        cc.on_ack(&ack(1, 10, true));
        assert_eq!(cc.window(), 5000);
        let config = Config { initial_alpha: Ratio::whole(2), ..Config::default() };
        assert!(Odctcp::new(&config, &params()).is_err());
    }
}
