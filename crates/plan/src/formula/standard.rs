//! The standard marking threshold: K = λ · C · RTT (TCN §2.1, equation 1; ECN♯ §2.1; BCC §3.1).

use tidegate_units::{Bytes, Rate, Ratio, Span};

/// K, in bytes, rounded down.
pub const fn threshold(lambda: Ratio, speed: Rate, rtt: Span) -> Bytes {
    Bytes(speed.bytes_in(lambda.of_span(rtt)))
}
