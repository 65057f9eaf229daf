//! A TCP segment as the endpoints see it: headers without payload.
//!
//! The payload's bytes never exist here; `len` counts them. A host that carries segments over a
//! real network keeps the bytes and finds them by sequence number.

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

use tidegate_units::Ecn;

use crate::seq::{Range, Seq};

/// TCP header flags, with the bits they have on the wire (RFC 9293, section 3.1).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No flag at all.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// The acknowledgement field holds.
    pub const ACK: Self = Self(0x10);
    /// ECN-echo: the receiver saw a mark.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced: the sender has reacted.
    pub const CWR: Self = Self(0x80);

    /// The flags as a byte of the wire; bits that have no meaning here (PSH, URG) are dropped.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0xD7)
    }

    /// The byte of the wire.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether all flags of `other` are set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// `other` if `condition` holds, else no flag.
    #[inline]
    #[must_use]
    pub const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NONE }
    }
}

impl BitOr for Flags {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(Flags, &str); 6] = [
            (Flags::SYN, "SYN"),
            (Flags::FIN, "FIN"),
            (Flags::RST, "RST"),
            (Flags::ACK, "ACK"),
            (Flags::ECE, "ECE"),
            (Flags::CWR, "CWR"),
        ];
        let mut separator = "";
        for (flag, name) in NAMES {
            if self.has(flag) {
                write!(f, "{separator}{name}")?;
                separator = "|";
            }
        }
        if separator.is_empty() { f.write_str("-") } else { Ok(()) }
    }
}

/// Up to four SACK blocks, which is what fits a TCP header without timestamps (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [Range; Self::MAX],
    count: u8,
}

impl SackBlocks {
    /// The most blocks that fit.
    pub const MAX: usize = 4;

    /// No block.
    pub const EMPTY: Self =
        Self { blocks: [Range { start: Seq(0), end: Seq(0) }; Self::MAX], count: 0 };

    /// Adds a block; one too many is left out.
    #[inline]
    pub fn push(&mut self, block: Range) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = block;
            self.count += 1;
        }
    }

    /// The blocks, in the order of the wire.
    #[inline]
    pub fn as_slice(&self) -> &[Range] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Whether there is no block.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// One TCP segment and the two ECN bits of the packet that carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The number of the first byte, or of the SYN.
    pub seq: Seq,
    /// The next byte that the sender of this segment expects; holds if `flags` has ACK.
    pub ack: Seq,
    /// Payload bytes.
    pub len: u32,
    /// The receive window in bytes, already scaled.
    pub window: u32,
    /// Ranges received out of order.
    pub sack: SackBlocks,
    /// The header flags.
    pub flags: Flags,
    /// The codepoint: as sent on the way out, as marked by the network on the way in.
    pub ecn: Ecn,
    /// The class for the switches (PIAS tag or DSCP class). An endpoint sends 0; a host that tags
    /// flows overwrites it.
    pub class: u8,
    /// On a SYN: the sender takes SACK blocks (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// On a SYN: the largest payload that the sender takes, or zero if the option is absent.
    pub mss: u16,
    /// Whether some of these bytes were sent before: for statistics, not on the wire.
    pub is_retransmission: bool,
}

/// A segment in which nothing is special: no option, and nothing that was sent before. Nearly all
/// are such, and this is a third of the size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// As [`Segment::seq`].
    pub seq: Seq,
    /// As [`Segment::ack`].
    pub ack: Seq,
    /// As [`Segment::len`].
    pub len: u32,
    /// As [`Segment::window`].
    pub window: u32,
    /// As [`Segment::flags`].
    pub flags: Flags,
    /// As [`Segment::ecn`].
    pub ecn: Ecn,
}

impl From<Header> for Segment {
    #[inline]
    fn from(header: Header) -> Self {
        Self {
            seq: header.seq,
            ack: header.ack,
            len: header.len,
            window: header.window,
            flags: header.flags,
            ecn: header.ecn,
            ..Self::default()
        }
    }
}

impl Segment {
    /// The segment without SACK blocks and options.
    #[inline]
    pub const fn header(&self) -> Header {
        Header {
            seq: self.seq,
            ack: self.ack,
            len: self.len,
            window: self.window,
            flags: self.flags,
            ecn: self.ecn,
        }
    }

    /// Sequence numbers that the segment takes: its payload, and one each for SYN and FIN.
    #[inline]
    pub const fn seq_len(&self) -> u32 {
        let control = self.flags.has(Flags::SYN) as u32 + self.flags.has(Flags::FIN) as u32;
        self.len.saturating_add(control)
    }

    /// One past the last sequence number of the segment.
    #[inline]
    pub fn end(&self) -> Seq {
        self.seq + self.seq_len()
    }
}

const _: () = assert!(size_of::<Segment>() <= 64, "segments are copied by value");

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn flags_print_by_name() {
        assert_eq!(format!("{:?}", Flags::SYN | Flags::ECE | Flags::CWR), "SYN|ECE|CWR");
        assert_eq!(format!("{:?}", Flags::NONE), "-");
        assert_eq!(Flags::from_bits(0xFF).bits(), 0xD7);
        assert_eq!(Flags::ECE.when(false), Flags::NONE);
        assert!((Flags::ACK | Flags::ECE).has(Flags::ECE));
        assert!(!Flags::ACK.has(Flags::ACK | Flags::ECE));
    }

    #[test]
    fn syn_and_fin_take_a_number_each() {
        let segment = |flags, len| Segment { len, flags, ..Segment::default() };
        assert_eq!(segment(Flags::SYN, 0).seq_len(), 1);
        assert_eq!(segment(Flags::FIN | Flags::ACK, 10).seq_len(), 11);
        assert_eq!(segment(Flags::FIN, u32::MAX).seq_len(), u32::MAX);
        assert_eq!(segment(Flags::ACK, 10).end(), Seq(10));
    }

    #[test]
    fn a_fifth_block_is_left_out() {
        let mut blocks = SackBlocks::default();
        for i in 0..5 {
            blocks.push(Range::new(Seq(10 * i), Seq(10 * i + 5)));
        }
        assert_eq!(blocks.as_slice().len(), 4);
        assert_eq!(blocks.as_slice()[3].start, Seq(30));
    }
}
