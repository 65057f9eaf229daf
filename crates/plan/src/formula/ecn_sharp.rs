//! ECN♯'s rule of thumb from percentiles of the round-trip time (ECN♯ §3.4).

use tidegate_units::{Ratio, Span};

use crate::network::Rtt;

/// Where it is printed.
pub const SECTION: &str = "ECN♯ §3.4";

/// What ECN♯ marks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Targets {
    /// At once above this sojourn time: λ · RTT of a high percentile.
    pub instantaneous: Span,
    /// Persistently above this one: λ · mean RTT.
    pub persistent: Span,
    /// For this long: about the RTT of a high percentile.
    pub interval: Span,
}

/// The targets for a transport with this `λ`.
pub const fn targets(lambda: Ratio, rtt: Rtt) -> Targets {
    Targets {
        instantaneous: lambda.of_span(rtt.p90),
        persistent: lambda.of_span(rtt.mean),
        interval: rtt.p90,
    }
}
