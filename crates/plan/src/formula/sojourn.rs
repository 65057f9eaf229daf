//! TCN's threshold of sojourn time: T = λ · RTT (TCN §4.1, equation 3).
//!
//! It is the same for every speed and share: a queue with a tenth of the port waits the same time
//! behind a tenth of the bytes.

use tidegate_units::{Ratio, Span};

/// Where it is printed.
pub const SECTION: &str = "TCN §4.1, eq. 3";

/// T, rounded down to a picosecond.
pub const fn threshold(lambda: Ratio, rtt: Span) -> Span {
    lambda.of_span(rtt)
}
