//! A packet in flight: what the network needs to carry it, and the headers that most packets have.

use tidegate_dataplane::Pkt;
use tidegate_transport::rate::dcqcn;
use tidegate_transport::{Flags, Header, Segment, Seq};
use tidegate_units::{Ecn, FlowId, Time};

use crate::network::LinkId;

/// One end of a connection: the connection's slot × 2, plus 1 at the receiver of the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EndId(pub(crate) u32);

impl EndId {
    pub(crate) const fn new(slot: u32, side: Side) -> Self {
        Self(slot << 1 | side as u32)
    }

    /// The connection's slot in the table.
    #[inline]
    pub(crate) const fn slot(self) -> usize {
        (self.0 >> 1) as usize
    }

    #[inline]
    pub(crate) const fn side(self) -> Side {
        if self.0 & 1 == 0 { Side::Source } else { Side::Sink }
    }

    /// The end as ports know it.
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

/// A packet. Headers that few packets have are kept elsewhere, by number.
///
/// It stays in its slot of the table from its first host to its last, and has a cache line there.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Packet {
    /// What ports read: its flow is the end that it goes to.
    pub(crate) pkt: Pkt,
    /// Where the rest of its route begins in the table of routes, behind the link that it takes
    /// next.
    pub(crate) route: u32,
    /// The link that it is on, or was on last.
    pub(crate) link: LinkId,
    /// What every segment has. Other transports put their own headers there.
    pub(crate) header: Header,
    /// Zero if all of it is here, as it is of most. Otherwise where the segment is, its number
    /// plus one; or [`PAUSE`](Self::PAUSE).
    pub(crate) spilled: u32,
    /// The lower bits of how many packets all hosts had sent before it.
    pub(crate) serial: u16,
    /// The queue it asks for; of a pause frame, what it asks for.
    pub(crate) class: u8,
    pub(crate) is_retransmission: bool,
}

const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// Instead of a segment: it is a pause frame, for the node at the end of its link, and of
    /// no connection.
    pub(crate) const PAUSE: u32 = u32::MAX;

    #[inline]
    pub(crate) const fn is_pause(&self) -> bool {
        self.spilled == Self::PAUSE
    }

    /// Where it goes.
    #[inline]
    pub(crate) const fn end(&self) -> EndId {
        EndId(self.pkt.flow.0)
    }

    /// A port has sent it with this codepoint.
    #[inline]
    pub(crate) const fn set_ecn(&mut self, ecn: Ecn) {
        self.pkt.ecn = ecn;
        self.header.ecn = ecn;
    }

    /// Whether a segment has parts that a packet has no room for.
    #[inline]
    pub(crate) fn is_too_small_for(segment: &Segment) -> bool {
        segment.flags.has(Flags::SYN) || !segment.sack.is_empty()
    }

    /// The segment, without what a packet has no room for.
    #[inline]
    pub(crate) fn segment(&self) -> Segment {
        Segment {
            class: self.class,
            is_retransmission: self.is_retransmission,
            ..self.header.into()
        }
    }

    /// Puts in the time that a probe carries, and its length as an IP packet.
    pub(crate) fn set_probe(&mut self, sent: Time, bytes: u16) {
        self.set_number(sent.as_ps());
        self.header.window = u32::from(bytes);
    }

    /// The length of a probe as an IP packet.
    pub(crate) const fn probe_bytes(&self) -> u32 {
        self.header.window
    }

    /// The time that a probe carries.
    pub(crate) fn sent(&self) -> Time {
        Time::from_ps(self.number())
    }

    const ECHO: u32 = 1;
    const LAST: u32 = 2;
    /// Where the kind begins.
    const KIND: u32 = 2;

    /// Puts the headers of a DCQCN packet in.
    pub(crate) fn set_dcqcn(&mut self, packet: &dcqcn::Packet) {
        self.set_number(packet.offset);
        self.header.len = packet.len;
        self.header.window = u32::from(packet.echo) * Self::ECHO
            + u32::from(packet.last) * Self::LAST
            + ((packet.kind as u32) << Self::KIND);
        self.set_ecn(packet.ecn);
        self.is_retransmission = packet.again;
    }

    /// The DCQCN packet that was put in.
    pub(crate) fn dcqcn(&self) -> dcqcn::Packet {
        use dcqcn::Kind;
        let kinds = [Kind::Ack, Kind::Cnp, Kind::Data, Kind::Nack];
        let window = self.header.window;
        dcqcn::Packet {
            offset: self.number(),
            len: self.header.len,
            kind: kinds[(window >> Self::KIND) as usize],
            ecn: self.header.ecn,
            echo: window & Self::ECHO != 0,
            last: window & Self::LAST != 0,
            again: self.is_retransmission,
        }
    }

    /// Puts a number into the two sequence numbers.
    fn set_number(&mut self, number: u64) {
        self.header.seq = Seq(number as u32);
        self.header.ack = Seq((number >> 32) as u32);
    }

    fn number(&self) -> u64 {
        u64::from(self.header.ack.0) << 32 | u64::from(self.header.seq.0)
    }
}
