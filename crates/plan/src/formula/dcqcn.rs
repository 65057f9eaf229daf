//! Thresholds for DCQCN, whose senders react to a fraction of marks: `K_min`, `K_max` and `P_max`.
//!
//! They scale with the port speed and not with the round-trip time: notifications are at least 50
//! µs apart at any distance. The values come from HPCC's evaluation, whose authors took them from
//! production: 100 KB, 400 KB and 20 % at 25 Gb/s, in proportion to speed (HPCC, SIGCOMM 2019, §5.1
//! and its repository).

use tidegate_units::{Bytes, Rate, Ratio, Span};

/// Source.
pub const SECTION: &str = "HPCC §5.1";

/// `K_min` in time at the port's speed: 100 KB at 25 Gb/s.
const MIN: Span = Span::from_us(32);
/// `K_max` in time: 400 KB at 25 Gb/s.
const MAX: Span = Span::from_us(128);

/// `P_max`.
pub const PROBABILITY: Ratio = match Ratio::new(1, 5) {
    Some(ratio) => ratio,
    None => Ratio::ONE,
};

/// `K_min` and `K_max` at a speed.
pub const fn thresholds(speed: Rate) -> (Bytes, Bytes) {
    (Bytes(speed.bytes_in(MIN)), Bytes(speed.bytes_in(MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_equal_the_publication_at_its_speed() {
        let (min, max) = thresholds(Rate::from_gbps(25));
        assert_eq!((min, max), (Bytes::from_kb(100), Bytes::from_kb(400)));
    }
}
