//! A packet in flight: the state that the network needs to carry it, and its headers.

use tidegate_dataplane::Pkt;
pub(crate) use tidegate_transport::protocol::Side;
use tidegate_transport::protocol::{AnyHeader, Datagram};
use tidegate_transport::{Flags, Header, Segment};
use tidegate_units::{FlowId, Time};

use crate::network::LinkId;

/// One end of a connection: the connection's slot × 2, plus 1 at the receiver of the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EndId(pub(crate) u32);

impl EndId {
    pub(crate) const fn new(slot: u32, side: Side) -> Self {
        Self(slot << 1 | side as u32)
    }

    /// Slot of the connection in the table.
    #[inline]
    pub(crate) const fn slot(self) -> usize {
        (self.0 >> 1) as usize
    }

    #[inline]
    pub(crate) const fn side(self) -> Side {
        if self.0 & 1 == 0 { Side::Source } else { Side::Sink }
    }

    /// Id of the end at ports.
    #[inline]
    pub(crate) const fn flow(self) -> FlowId {
        FlowId(self.0)
    }

    /// The end at the other host.
    #[inline]
    pub(crate) const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// Headers of a packet, without rare parts of a TCP segment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Headers {
    /// A probe, with the departure time of its request.
    Probe(Time),
    /// A packet of a connection. A TCP header keeps the codepoint that its sender set; ports change
    /// the one in [`Packet::pkt`].
    Transport(AnyHeader),
}

impl Headers {
    /// TCP's.
    #[inline]
    pub(crate) const fn tcp(header: Header) -> Self {
        Self::Transport(AnyHeader::Tcp(header))
    }

    /// A packet of a transport other than TCP as captures show it.
    pub(crate) fn datagram(&self, port: u16, unit: u32) -> Option<Datagram> {
        match self {
            Self::Probe(_) => None,
            Self::Transport(header) => header.datagram(port, unit),
        }
    }
}

impl Default for Headers {
    fn default() -> Self {
        Self::tcp(Header::default())
    }
}

/// A packet. Rare headers are stored elsewhere, by number.
///
/// It stays in its slot of the table from its first host to its last, and takes one cache line
/// there.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Packet {
    /// Fields for ports: the flow is the packet's destination end.
    pub(crate) pkt: Pkt,
    /// Start of the rest of its route in the table of routes, behind the link that it takes next.
    pub(crate) route: u32,
    /// The link that it is on, or was on last.
    pub(crate) link: LinkId,
    pub(crate) headers: Headers,
    /// Zero if the whole segment is here, as for most packets. Otherwise the number of the stored
    /// segment plus one; or [`PAUSE`](Self::PAUSE).
    pub(crate) spilled: u32,
    /// Lower bits of the number of packets that all hosts had sent before it.
    pub(crate) serial: u16,
    /// Requested queue; for a pause frame, the requested class.
    pub(crate) class: u8,
    pub(crate) is_retransmission: bool,
}

const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// In place of a segment: a pause frame, for the node at the end of its link, without a
    /// connection.
    pub(crate) const PAUSE: u32 = u32::MAX;

    #[inline]
    pub(crate) const fn is_pause(&self) -> bool {
        self.spilled == Self::PAUSE
    }

    /// Destination end.
    #[inline]
    pub(crate) const fn end(&self) -> EndId {
        EndId(self.pkt.flow.0)
    }

    /// The TCP header, if it has one.
    #[inline]
    pub(crate) const fn tcp(&self) -> Option<&Header> {
        match &self.headers {
            Headers::Transport(AnyHeader::Tcp(header)) => Some(header),
            _ => None,
        }
    }

    /// The TCP header with the packet's codepoint, as it arrives.
    #[inline]
    pub(crate) const fn arrived_tcp(&mut self) -> Option<&mut Header> {
        match &mut self.headers {
            Headers::Transport(AnyHeader::Tcp(header)) => {
                header.ecn = self.pkt.ecn;
                Some(header)
            }
            _ => None,
        }
    }

    /// Payload bytes. Probes have none.
    #[inline]
    pub(crate) const fn payload(&self) -> u32 {
        match &self.headers {
            Headers::Probe(_) => 0,
            Headers::Transport(header) => header.payload(),
        }
    }

    /// Whether a segment has parts for which a packet has no room.
    #[inline]
    pub(crate) fn is_too_small_for(segment: &Segment) -> bool {
        segment.flags.has(Flags::SYN) || !segment.sack.is_empty()
    }

    /// The TCP segment, without the parts for which a packet has no room.
    pub(crate) fn segment(&self) -> Segment {
        Segment {
            ecn: self.pkt.ecn,
            class: self.class,
            is_retransmission: self.is_retransmission,
            ..self.tcp().copied().unwrap_or_default().into()
        }
    }
}
