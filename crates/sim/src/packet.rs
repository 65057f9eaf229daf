//! A packet in flight: the state that the network needs to carry it, and the headers that most
//! packets have.

use tidegate_dataplane::Pkt;
use tidegate_transport::{Carried, Flags, Header, Segment, Seq};
use tidegate_units::{Ecn, FlowId, Time};

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

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Sends the flow's bytes.
    Source = 0,
    /// Receives them.
    Sink = 1,
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
    /// Header of the connection's transport: of a TCP segment as it is, of others as [`Carried`]
    /// stores it.
    pub(crate) header: Header,
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

    /// Sets the codepoint with which a port has sent the packet.
    #[inline]
    pub(crate) const fn set_ecn(&mut self, ecn: Ecn) {
        self.pkt.ecn = ecn;
        self.header.ecn = ecn;
    }

    /// Whether a segment has parts for which a packet has no room.
    #[inline]
    pub(crate) fn is_too_small_for(segment: &Segment) -> bool {
        segment.flags.has(Flags::SYN) || !segment.sack.is_empty()
    }

    /// The segment, without the parts for which a packet has no room.
    #[inline]
    pub(crate) fn segment(&self) -> Segment {
        Segment {
            class: self.class,
            is_retransmission: self.is_retransmission,
            ..self.header.into()
        }
    }

    /// Stores the time carried by a probe, and its length as an IP packet.
    pub(crate) fn set_probe(&mut self, sent: Time, bytes: u16) {
        self.set_number(sent.as_ps());
        self.header.window = u32::from(bytes);
    }

    /// Length of a probe as an IP packet.
    pub(crate) const fn probe_bytes(&self) -> u32 {
        self.header.window
    }

    /// Time carried by a probe.
    pub(crate) fn sent(&self) -> Time {
        Time::from_ps(self.number())
    }

    /// Stores a packet of a transport other than TCP.
    pub(crate) fn set_carried(&mut self, packet: &impl Carried) {
        self.header = packet.to_header();
        self.set_ecn(self.header.ecn);
        self.is_retransmission = packet.is_retransmission();
    }

    /// The stored packet of a transport other than TCP.
    pub(crate) fn carried<P: Carried>(&self) -> P {
        P::from_header(&self.header, self.is_retransmission)
    }

    /// Stores a number in the two sequence numbers.
    fn set_number(&mut self, number: u64) {
        self.header.seq = Seq(number as u32);
        self.header.ack = Seq((number >> 32) as u32);
    }

    fn number(&self) -> u64 {
        u64::from(self.header.ack.0) << 32 | u64::from(self.header.seq.0)
    }
}
