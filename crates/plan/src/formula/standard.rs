//! The standard marking threshold: K = λ · C · RTT (TCN §2.1, equation 1; ECN♯ §2.1; BCC §3.1).
//!
//! Where round-trip times differ, a high percentile keeps the throughput of flows above the mean
//! (ECN♯ §2.3).

use tidegate_units::{Bytes, Rate, Ratio, Span};

/// Source.
pub const SECTION: &str = "TCN §2.1, eq. 1";

/// K, in bytes, rounded down.
pub const fn threshold(lambda: Ratio, speed: Rate, rtt: Span) -> Bytes {
    Bytes(speed.bytes_in(lambda.of_span(rtt)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_threshold_of_bcc_is_720_kb() {
        let lambda = Ratio::new(72, 100).unwrap();
        let threshold = threshold(lambda, Rate::from_gbps(100), Span::from_us(80));
        assert_eq!(threshold, Bytes::from_kb(720));
    }
}
