//! Packets of transports other than TCP, in the room of a TCP header.

use crate::segment::Header;

/// A packet with headers of its own. A host of many connections keeps it in the room of a TCP
/// header, so that packets of all transports have one size.
pub trait Carried {
    /// The packet in the room of a header. Codepoint and payload length are in their own fields;
    /// the transport fills the others as it likes.
    fn to_header(&self) -> Header;

    /// The packet that was put there.
    fn from_header(header: &Header, is_retransmission: bool) -> Self;

    /// Whether payload of it was sent before; kept beside the header, for statistics.
    fn is_retransmission(&self) -> bool;
}
