//! ECN♯'s rule of thumb from percentiles of the round-trip time (ECN♯ §3.4).

use tidegate_units::{Ratio, Span};

/// Source.
pub const SECTION: &str = "ECN♯ §3.4";

/// Sojourn-time targets of ECN♯.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Targets {
    /// Sojourn time above which every packet is marked: λ · RTT of a high percentile.
    pub instantaneous: Span,
    /// Sojourn time of a standing queue above which packets are marked: λ · mean RTT.
    pub persistent: Span,
    /// Time that a queue must stand before that: about the RTT of a high percentile.
    pub interval: Span,
}

/// The targets for a transport with this `λ`, by the mean and a high percentile of the round-trip
/// time.
pub const fn targets(lambda: Ratio, mean: Span, high: Span) -> Targets {
    Targets {
        instantaneous: lambda.of_span(high),
        persistent: lambda.of_span(mean),
        interval: high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_testbed_of_the_paper_follows_the_rule() {
        // §5.2: 200, 85 and 200 µs, with λ = 1 for round trips of 85 µs on average and 200 µs at
        // most.
        let (mean, high) = (Span::from_us(85), Span::from_us(200));
        let expected = Targets {
            instantaneous: Span::from_us(200),
            persistent: Span::from_us(85),
            interval: Span::from_us(200),
        };
        assert_eq!(targets(Ratio::ONE, mean, high), expected);
    }
}
