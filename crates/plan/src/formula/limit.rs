//! How many ports can be congested at once before drops or pauses come before marks.
//!
//! A queue may hold `α · (B − ΣQ)` (dynamic threshold; BCC §2.1). With M queues of equal length
//! that is `α · B / (1 + M · α)`, so that all of them reach K if `M ≤ B/K − 1/α`.
//!
//! For PFC the ingress length counts: in the worst case one input feeds all M congested outputs and
//! holds `M · K`, with p equally full lossless classes: `α · (B − p·M·K) ≥ M·K`, thus `M ≤ α · B /
//! (K · (1 + α · p))`. If M is the number of ports, this is the bound of DCQCN (SIGCOMM 2015), §4.

use tidegate_units::{Bytes, Ratio};

/// Source of the bound for drops.
pub const DROPS: &str = "BCC §2.1";
/// Source of the bound for pauses.
pub const PAUSES: &str = "DCQCN §4";

/// Most bytes that a queue may hold while `congested` queues are equally long, rounded down.
pub fn of_queue(buffer: Bytes, alpha: Ratio, congested: u32) -> Bytes {
    let (n, d) = parts(alpha);
    Bytes(narrow(wide(buffer) * n / (d + u128::from(congested) * n)))
}

/// Number of queues that can reach `length` before packets are dropped.
pub fn queues_before_drops(buffer: Bytes, alpha: Ratio, length: Bytes) -> u32 {
    let (n, d) = parts(alpha);
    // B/K − 1/α = (B·n − K·d) / (K·n)
    let spare = (wide(buffer) * n).saturating_sub(wide(length) * d);
    count(spare, wide(length) * n)
}

/// Number of outputs that can reach `length` before an input is paused, with this many lossless
/// classes.
pub fn outputs_before_pauses(buffer: Bytes, alpha: Ratio, classes: u32, length: Bytes) -> u32 {
    let (n, d) = parts(alpha);
    // α·B / (K·(1 + α·p)) = n·B / (K·(d + n·p))
    count(wide(buffer) * n, wide(length) * (d + n * u128::from(classes)))
}

/// 2 to the power of `exponent`, the form of `α` on most switches.
pub(crate) fn alpha_of_exponent(exponent: i32) -> Ratio {
    let power = 1 << exponent.unsigned_abs().min(30);
    let ratio = if exponent < 0 { Ratio::new(1, power) } else { Ratio::new(power, 1) };
    ratio.expect("a power of two is not zero")
}

fn parts(alpha: Ratio) -> (u128, u128) {
    (u128::from(alpha.numerator()), u128::from(alpha.denominator()))
}

fn wide(bytes: Bytes) -> u128 {
    u128::from(bytes.0)
}

fn narrow(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn count(value: u128, divisor: u128) -> u32 {
    match value.checked_div(divisor) {
        Some(count) => u32::try_from(count).unwrap_or(u32::MAX),
        None => u32::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_equal_queues_share_as_in_bcc() {
        let buffer = Bytes::from_kib(3 * 1024);
        assert_eq!(of_queue(buffer, Ratio::whole(4), 8), Bytes(381_300));
    }

    #[test]
    fn queues_before_drops_is_the_largest_count_below_the_limit() {
        let buffer = Bytes::from_kb(12_000);
        for alpha in [Ratio::new(1, 8).unwrap(), Ratio::ONE, Ratio::whole(4)] {
            for length in [10_000, 65_000, 720_000, 4_000_000] {
                let length = Bytes(length);
                let most = queues_before_drops(buffer, alpha, length);
                assert!(of_queue(buffer, alpha, most + 1) < length, "{alpha} {length}");
                assert!(most == 0 || of_queue(buffer, alpha, most) >= length, "{alpha} {length}");
            }
        }
    }

    #[test]
    fn the_bound_for_pauses_matches_dcqcn() {
        // §4: 12 MB and 22.4 KB of headroom for each of 32 ports and 8 classes leave 6.27 MB; with
        // β = 8, which is α = 1 here, marks come first up to 21.75 KB.
        let buffer = Bytes(12_000_000 - 8 * 32 * 22_400);
        let all = |length| outputs_before_pauses(buffer, Ratio::ONE, 8, Bytes(length));
        assert_eq!(all(21_750), 32);
        assert_eq!(all(21_800), 31);
    }
}
