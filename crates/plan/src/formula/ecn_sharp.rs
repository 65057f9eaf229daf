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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_testbed_of_the_paper_follows_the_rule() {
        // §5.2: 200, 85 and 200 µs, with λ = 1 for round trips of 85 µs on average and 200 µs at
        // most.
        let rtt = Rtt { mean: Span::from_us(85), p90: Span::from_us(200) };
        let expected = Targets {
            instantaneous: Span::from_us(200),
            persistent: Span::from_us(85),
            interval: Span::from_us(200),
        };
        assert_eq!(targets(Ratio::ONE, rtt), expected);
    }
}
