//! PFC headroom: memory that a lossless class needs beyond its pause threshold, for packets that
//! still arrive after the port sent a pause frame.
//!
//! In flight are both cables full of bits, a packet that delays the pause frame here, the bytes
//! that the other side sends within the pause quanta of IEEE 802.3, clause 31B.3.7 (512 bits each),
//! and the bytes that arrive while the pause frame passes the pipelines and MACs of both ends.
//! Small packets waste part of the cells that they are stored in, so that their bytes take more
//! memory. A packet that the other side has just begun to send comes on top:
//!
//! `xoff = MTU + occupancy · (MTU + 2·cable·C + quanta + pipeline·C)`, in whole cells.
//!
//! SONiC computes the headroom of dynamic buffers in the same way (`buffer_headroom_mellanox.lua`).
//! Pipeline delays are not published: the delays in the catalogue are fitted, so that the result
//! follows the tables that SONiC ships for platforms with the chip (`facts/headroom.csv`). Where
//! such a table asks for more, the table counts.

use tidegate_units::{Bytes, Rate, Span};

/// Source of the formula.
pub const SECTION: &str = "IEEE 802.3 31B.3.7";

/// Bytes of preamble, header, checksum and gap around a packet.
const FRAMING: u64 = 38;

/// Bytes of the smallest packet.
const SMALLEST: u64 = 64;

/// Quanta within which a port must react, by its speed in Gb/s.
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

/// Properties of a switch that decide how much still arrives after a pause was decided, and how
/// much memory that takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// Delay of the pipelines and MACs of both ends, beyond the quanta of the standard.
    pub pipeline: Span,
    /// Share of the arriving bytes in packets of the worst size for the cells, in percent.
    pub small_packets: u32,
}

impl Reaction {
    /// Values for an unknown chip: no smaller than for any chip with a published table.
    pub const UNKNOWN: Self = Self { pipeline: Span::from_ns(2_500), small_packets: 80 };
}

/// Bytes of a cell where the size is not known.
const USUAL_CELL: u32 = 256;

/// Least headroom: below it, a port loses packets even if pipelines take no time and cells waste no
/// memory.
pub fn least(speed: Rate, link_delay: Span, mtu: u32) -> Bytes {
    let none = Reaction { pipeline: Span::ZERO, small_packets: 0 };
    of_port(speed, link_delay, mtu, 1, none)
}

/// Headroom of one port and class, in whole cells of `cell` bytes.
pub fn of_port(speed: Rate, link_delay: Span, mtu: u32, cell: u32, reaction: Reaction) -> Bytes {
    let packet = u64::from(mtu) + FRAMING;
    let on_cables = speed.bytes_in(link_delay * 2);
    let in_pipelines = speed.bytes_in(reaction.pipeline);
    let gbps = speed.as_bps().div_ceil(1_000_000_000);
    let known = QUANTA.iter().find(|&&(of, _)| of >= gbps);
    let quanta = known.unwrap_or(&QUANTA[QUANTA.len() - 1]).1 * 64;
    let in_flight = [on_cables, quanta, in_pipelines].into_iter().fold(packet, u64::saturating_add);
    let stored = packet.saturating_add(occupied(in_flight, cell, reaction.small_packets));
    let cell = u64::from(cell.max(1));
    Bytes(stored.div_ceil(cell).saturating_mul(cell))
}

/// Memory that arriving bytes occupy in cells, if `small_packets` percent of them come in packets
/// of the worst size: 64 bytes where a cell holds two or more of them, else one byte more than a
/// cell.
fn occupied(bytes: u64, cell: u32, small_packets: u32) -> u64 {
    let cell = u128::from(if cell <= 1 { USUAL_CELL } else { cell });
    let (numerator, denominator) = if cell > 2 * u128::from(SMALLEST) {
        (cell, u128::from(SMALLEST))
    } else {
        (2 * cell, cell + 1)
    };
    let small = u128::from(small_packets.min(100));
    let bytes = u128::from(bytes);
    let occupied = bytes * ((100 - small) * denominator + small * numerator);
    u64::try_from(occupied.div_ceil(100 * denominator)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Reaction = Reaction { pipeline: Span::ZERO, small_packets: 0 };

    fn at_100g(cell: u32, reaction: Reaction) -> u64 {
        of_port(Rate::from_gbps(100), Span::from_ns(200), 1500, cell, reaction).0
    }

    #[test]
    fn headroom_is_cables_packets_and_reaction() {
        // 100 Gb/s over 40 m: 5000 B on the cables, two packets of 1538 B, 394 quanta of 64 B.
        assert_eq!(at_100g(1, NONE), 5_000 + 3_076 + 25_216);
        let faster = of_port(Rate::from_gbps(800), Span::from_ns(200), 1500, 1, NONE);
        assert!(faster.0 > at_100g(1, NONE));
    }

    #[test]
    fn pipelines_add_the_bytes_that_arrive_in_them() {
        let pipeline = Span::from_ns(2_000);
        // 2 us at 100 Gb/s are 25,000 B.
        let with = Reaction { pipeline, ..NONE };
        assert_eq!(at_100g(1, with), at_100g(1, NONE) + 25_000);
    }

    #[test]
    fn small_packets_take_more_memory_than_bytes() {
        let all = Reaction { small_packets: 100, ..NONE };
        // 1538 B as they are; 1538 + 5000 + 25,216 = 31,754 B in packets of 64 B, each in a cell of
        // 192 B.
        assert_eq!(at_100g(192, all), (1_538 + 3 * 31_754_u64).div_ceil(192) * 192);
        // A cell of 128 B holds a packet of 64 B or, worse, 128 of 129 B: each takes two cells.
        assert_eq!(occupied(129, 128, 100), 256);
        assert_eq!(occupied(1_000, 129, 100), (1_000 * 129_u64).div_ceil(64));
        // Half of the bytes.
        assert_eq!(occupied(1_000, 256, 50), 500 + 2_000);
        // Cells of unknown size are as large as most.
        assert_eq!(occupied(1_000, 1, 100), 4_000);
        assert_eq!(occupied(1_000, 256, 0), 1_000);
    }

    #[test]
    fn headroom_ends_with_a_whole_cell() {
        for cell in [1, 80, 208, 254, 256] {
            let headroom = at_100g(cell, Reaction::UNKNOWN);
            assert_eq!(headroom % u64::from(cell), 0);
            assert!(headroom >= at_100g(1, NONE));
        }
    }

    #[test]
    fn extreme_values_saturate() {
        let reaction = Reaction { pipeline: Span::from_ms(10), small_packets: 100 };
        let speed = Rate::from_gbps(18_000_000);
        assert!(of_port(speed, Span::from_ms(10), 65_535, 65_536, reaction).0 > 0);
    }
}
