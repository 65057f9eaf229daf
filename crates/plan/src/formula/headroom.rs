//! The room that a lossless class needs beyond its pause threshold: what is still sent to a port after it
//! asked for a pause.
//!
//! Both cables full of bits, a packet that the other side has begun, one that delays the pause frame
//! here, and what the other side sends before it must react: the pause quanta of IEEE 802.3, clause 31B.3.7,
//! of 512 bits each.

use tidegate_units::{Bytes, Rate, Span};

/// Where it comes from.
pub const SECTION: &str = "IEEE 802.3 31B.3.7";

/// The bytes of preamble, header, checksum and gap around a packet.
const FRAMING: u64 = 38;

/// The quanta within which a port must react, by its speed in Gb/s.
const QUANTA: [(u64, u64); 9] = [
    (1, 2),
    (10, 67),
    (25, 80),
    (40, 118),
    (50, 147),
    (100, 394),
    (200, 453),
    (400, 905),
    (800, 905),
];

/// The headroom of one port and class.
pub fn of_port(speed: Rate, link_delay: Span, mtu: u32) -> Bytes {
    let on_cables = speed.bytes_in(link_delay * 2);
    let packets = 2 * (u64::from(mtu) + FRAMING);
    let gbps = speed.as_bps().div_ceil(1_000_000_000);
    let known = QUANTA.iter().find(|&&(of, _)| of >= gbps);
    let quanta = known.unwrap_or(&QUANTA[QUANTA.len() - 1]).1;
    Bytes(on_cables.saturating_add(packets + quanta * 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_is_cables_packets_and_reaction() {
        // 100 Gb/s over 40 m: 5000 B on the cables, two packets of 1538 B, 394 quanta.
        let headroom = of_port(Rate::from_gbps(100), Span::from_ns(200), 1500);
        assert_eq!(headroom, Bytes(5_000 + 3_076 + 25_216));
        let faster = of_port(Rate::from_gbps(800), Span::from_ns(200), 1500);
        assert!(faster > headroom);
    }
}
