//! TCN's sojourn-time threshold: T = λ · RTT (TCN §4.1, equation 3).
//!
//! It is the same for every speed and share: a queue with a tenth of the port drains a tenth of the
//! bytes in the same time.

use tidegate_units::{Ratio, Span};

/// Source.
pub const SECTION: &str = "TCN §4.1, eq. 3";

/// T, rounded down to a picosecond.
pub const fn threshold(lambda: Ratio, rtt: Span) -> Span {
    lambda.of_span(rtt)
}
