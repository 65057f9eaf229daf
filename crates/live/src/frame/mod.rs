//! The fields of an Ethernet frame that a switch reads, and the two bits that it may write.
//!
//! Any bytes may come from a wire. A frame whose IP header is truncated, inconsistent or absent is
//! not treated as an IP packet: it is forwarded by its addresses, in the default class, and never
//! marked. Checksums are not verified, which is the receiver's task; marking keeps a correct one
//! correct and a wrong one wrong. Fragments are marked like other packets: the receiver combines
//! their codepoints (RFC 3168, section 5.3).

mod checksum;
mod mark;

pub use checksum::finish_checksum;
pub use mark::set_ce;

use std::fmt;

use tidegate_units::{Ecn, FlowId};

/// A hardware address, in the low 48 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mac(u64);

impl Mac {
    /// From the bytes in a frame.
    pub fn new(bytes: [u8; 6]) -> Self {
        Self(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// The address as a number below 2^48.
    #[inline]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Whether the address is a group address: multicast or broadcast.
    #[inline]
    pub const fn is_group(self) -> bool {
        self.0 & GROUP_BIT != 0
    }

    /// Whether the address is the broadcast address.
    #[inline]
    pub const fn is_broadcast(self) -> bool {
        self.0 == ADDRESS
    }

    /// Whether a bridge must not forward the address: the reserved block of IEEE 802.1D, table
    /// 7-10, used by pause frames, spanning tree and LLDP.
    #[inline]
    pub const fn is_link_local(self) -> bool {
        self.0 & !0xF == LINK_LOCAL
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.to_be_bytes().into_iter().enumerate().skip(2) {
            let separator = if index == 2 { "" } else { ":" };
            write!(f, "{separator}{byte:02x}")?;
        }
        Ok(())
    }
}

const ADDRESS: u64 = (1 << 48) - 1;
const GROUP_BIT: u64 = 1 << 40;
const LINK_LOCAL: u64 = 0x0180_C200_0000;

/// IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Position of a frame's IP header, and its class byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// IP version.
    pub version: Version,
    /// Bytes before the header: 14, plus 4 for each VLAN tag.
    pub offset: u8,
    /// IPv4 type of service or IPv6 traffic class: six bits of DSCP above two of ECN.
    pub class: u8,
}

impl Ip {
    /// ECN codepoint.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits(self.class)
    }
}

/// Facts about a frame that a switch needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Destination address.
    pub destination: Mac,
    /// Source address.
    pub source: Mac,
    /// IP header, if the frame has a complete one.
    pub ip: Option<Ip>,
    /// Hash of addresses, protocol and ports. All fragments of a datagram have the same hash.
    pub flow: FlowId,
}

/// Parses a frame; `None` if it is too short for addresses and a type.
#[inline]
pub fn parse(frame: &[u8]) -> Option<Facts> {
    let destination = Mac(u64_at(frame, 0)? >> 16);
    let source = Mac(u64_at(frame, 4)? & ADDRESS);
    let type_offset = type_offset(frame)?;
    // A frame that ends in a tag has no type, so it has no IP packet.
    let kind = u16_at(frame, type_offset).unwrap_or(0);
    let at = type_offset + 2;
    let packet = frame.get(at..).unwrap_or_default();
    let found = match kind {
        TYPE_IPV4 => ipv4(packet),
        TYPE_IPV6 => ipv6(packet),
        _ => None,
    };
    Some(Facts {
        destination,
        source,
        ip: found.map(|(version, class, _)| Ip {
            version,
            offset: at as u8, // At most 14 + 4 · MAX_TAGS.
            class,
        }),
        flow: found.map_or_else(|| FlowId(hash([destination.0, source.0])), |(_, _, flow)| flow),
    })
}

/// Position of a frame's type, behind its addresses and tags.
#[inline]
pub(crate) fn type_offset(frame: &[u8]) -> Option<usize> {
    let mut at = ADDRESSES;
    let mut kind = u16_at(frame, at)?;
    while is_tag(kind) && at < ADDRESSES + MAX_TAGS * TAG {
        at += TAG;
        kind = u16_at(frame, at).unwrap_or(0);
    }
    Some(at)
}

/// Class byte and flow of an IPv4 packet with a complete, consistent header.
#[inline]
fn ipv4(packet: &[u8]) -> Option<(Version, u8, FlowId)> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let header_len = usize::from(header[0] & 0xF) * 4;
    let total_len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let is_whole = header[0] >> 4 == 4
        && header_len >= header.len()
        && total_len >= header_len
        && total_len <= packet.len();
    if !is_whole {
        return None;
    }
    let addresses = u64_at(header, 12)?;
    let protocol = header[9];
    // More fragments follow, or this is not the first: only the first would have the ports.
    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3FFF != 0;
    let ports = if is_fragment { 0 } else { ports(protocol, &packet[header_len..total_len]) };
    let flow = hash([addresses, u64::from(protocol) << 32 | u64::from(ports)]);
    Some((Version::V4, header[1], FlowId(flow)))
}

/// Class byte and flow of an IPv6 packet with a complete header.
#[inline]
fn ipv6(packet: &[u8]) -> Option<(Version, u8, FlowId)> {
    let (header, payload): (&[u8; 40], _) = packet.split_first_chunk()?;
    let payload_len = usize::from(u16::from_be_bytes([header[4], header[5]]));
    if header[0] >> 4 != 6 || payload_len > payload.len() {
        return None;
    }
    let class = header[0] << 4 | header[1] >> 4;
    let next_header = header[6];
    // Ports behind extension headers, including a fragment header, are not searched.
    let ports = ports(next_header, &payload[..payload_len]);
    let flow = hash([
        u64_at(header, 8)?,
        u64_at(header, 16)?,
        u64_at(header, 24)?,
        u64_at(header, 32)?,
        u64::from(next_header) << 32 | u64::from(ports),
    ]);
    Some((Version::V6, class, FlowId(flow)))
}

/// The two ports of TCP, UDP, DCCP or SCTP as one number; zero for other protocols.
#[inline]
fn ports(protocol: u8, payload: &[u8]) -> u32 {
    match (protocol, payload.first_chunk()) {
        (6 | 17 | 33 | 132, Some(&ports)) => u32::from_be_bytes(ports),
        _ => 0,
    }
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes))
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_be_bytes(*bytes))
}

#[inline]
const fn is_tag(kind: u16) -> bool {
    matches!(kind, TYPE_VLAN | TYPE_SERVICE_VLAN)
}

/// Mixes words into 32 bits with the finalizer of `SplitMix64`, word by word.
#[inline]
fn hash<const N: usize>(words: [u64; N]) -> u32 {
    let mut state = 0;
    for word in words {
        let mut z: u64 = word ^ state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state = (z ^ (z >> 31)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    }
    (state >> 32) as u32
}

/// Bytes of the two addresses.
pub const ADDRESSES: usize = 12;
/// Bytes of a VLAN tag.
pub const TAG: usize = 4;
const MAX_TAGS: usize = 2;
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86DD;
const TYPE_VLAN: u16 = 0x8100;
const TYPE_SERVICE_VLAN: u16 = 0x88A8;

#[cfg(test)]
pub(crate) mod tests;
