//! The two published setups of DiffECN.
//!
//! Each printed threshold is kept as the `λ` that gives it at the setup's speed and round-trip
//! time, so that it follows other speeds and times as equation 1 says.

use tidegate_units::{Bytes, Ratio, Span, choices};

use super::Tables;

choices! {
    /// A published setup.
    #[non_exhaustive]
    pub enum Profile {
        /// 65 KB at 40 Gb/s and a round trip of 120 µs, eight times the latency of a link; exact
        /// tables (section VI-C).
        Simulation = "simulation",
        /// 510 cells of 80 bytes at 10 Gb/s and 190 µs; the tables of the switch program (section
        /// VI-B).
        Testbed = "testbed",
    }
}

impl Profile {
    pub(in crate::mark) const fn rtt(self) -> Span {
        match self {
            Self::Simulation => Span::from_us(120),
            Self::Testbed => Span::from_us(190),
        }
    }

    pub(in crate::mark) const fn tables(self) -> Tables {
        match self {
            Self::Simulation => Tables::Exact,
            Self::Testbed => Tables::Hardware,
        }
    }

    pub(super) const fn cell(self) -> Bytes {
        match self {
            Self::Simulation => Bytes(1),
            Self::Testbed => Bytes(80),
        }
    }

    /// `λ` of the length threshold.
    pub(super) const fn length_lambda(self) -> Ratio {
        match self {
            // 65 KB take 13 µs at 40 Gb/s.
            Self::Simulation => ratio(13, 120),
            // 40 800 bytes take 32.64 µs at 10 Gb/s.
            Self::Testbed => ratio(408, 2_375),
        }
    }

    /// `λ` of the sojourn time of TCN in the same setup: 11 µs and 30 µs.
    pub(in crate::mark) const fn sojourn_lambda(self) -> Ratio {
        match self {
            Self::Simulation => ratio(11, 120),
            Self::Testbed => ratio(3, 19),
        }
    }
}

const fn ratio(numerator: u32, denominator: u32) -> Ratio {
    Ratio::new(numerator, denominator).expect("the denominator is not zero")
}
