//! Captures: packets that leave on chosen links, written as pcapng with real headers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use tidegate_transport::{Header, Segment};
use tidegate_units::Time;

use crate::by_key::ByKey;
use crate::network::{HostId, LinkId, Network};
use crate::packet::{Packet, Side};
use crate::trace::flow::FlowTrace;
use crate::trace::pcapng::{Capture, Interface, Payload};
use crate::trace::wire::{Body, Echo, EchoKind, PacketView};

/// A packet with the values of all its headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captured {
    pub(crate) src: HostId,
    pub(crate) dst: HostId,
    /// Slot of the connection in the table.
    pub(crate) slot: u32,
    pub(crate) packet: Packet,
    pub(crate) body: Content,
}

/// Content of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    /// A probe on its way to this side, with its length as an IP packet.
    Echo {
        to: Side,
        len: u16,
    },
    /// A packet of a transport other than TCP.
    Other,
    Tcp(Segment),
}

/// A capture of some links of a run, in the order in which packets begin to leave.
///
/// A write error does not stop the run: [`finish`](Self::finish) reports it.
pub struct LinkCapture<W: Write> {
    file: Capture<W>,
    failure: Option<io::Error>,
    links: Vec<LinkId>,
    /// Interfaces of the file, by link number.
    interfaces: Vec<Option<Interface>>,
    /// Payload of full packets of a transport other than TCP.
    payload: u32,
    /// Packets that leave later than the current time of the run: an ideal host knows them in
    /// advance.
    ahead: BinaryHeap<Reverse<Ahead>>,
    noted: u64,
    /// Largest number of packets in the file.
    limit: u64,
    written: u64,
    full_at: Option<Time>,
}

/// A packet ordered by departure time, then by link, then by the order of recording.
type Ahead = ByKey<(Time, LinkId, u64), Captured>;

/// First source port of connections; all sinks have the port below it.
const FIRST_PORT: u16 = 10_000;

/// Bytes of an echo's headers: IP and ICMP.
const ECHO_HEADERS: u32 = 28;

impl<W: Write> LinkCapture<W> {
    /// Creates a file for these links of a network, with a comment such as the run's command.
    pub fn new(out: W, comment: &str, network: &Network, links: &[LinkId]) -> io::Result<Self> {
        let mut file = Capture::new(out, comment, Payload::Omitted)?;
        let mut interfaces = vec![None; network.links().len()];
        for &id in links {
            let Some(link) = network.links().get(id.index()) else {
                let message = format!("there is no link {id} to capture");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            };
            interfaces[id.index()] = Some(file.add_link(&network.link_name(link))?);
        }
        Ok(Self {
            file,
            failure: None,
            links: links.to_vec(),
            interfaces,
            payload: 1000,
            ahead: BinaryHeap::new(),
            noted: 0,
            limit: u64::MAX,
            written: 0,
            full_at: None,
        })
    }

    /// Limits the capture to `limit` packets: the run continues without later ones.
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// Packets written so far. [`flush`](Self::flush) writes the last ones.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Time of the first packet that the limit excluded, if any.
    pub const fn full_at(&self) -> Option<Time> {
        self.full_at
    }

    /// Writes packets that leave after the end of the run, which an ideal host knows in advance.
    pub fn flush(&mut self) {
        self.write(Time::MAX);
    }

    fn write_one(&mut self, ahead: &Ahead) -> io::Result<()> {
        let (at, left_on, _) = ahead.key;
        let Some(&Some(interface)) = self.interfaces.get(left_on.index()) else {
            return Ok(());
        };
        if self.written == self.limit {
            self.full_at.get_or_insert(at);
            return Ok(());
        }
        self.written += 1;
        let Captured { src, dst, slot, packet, body, .. } = &ahead.value;
        // Ports identify connections; beyond the number of ports, connections share them.
        let source = FIRST_PORT + (slot % u32::from(u16::MAX - FIRST_PORT)) as u16;
        let (src_port, dst_port) = match packet.end().side() {
            Side::Sink => (source, FIRST_PORT - 1),
            Side::Source => (FIRST_PORT - 1, source),
        };
        let (datagram, ecn) = (packet.headers.datagram(dst_port, self.payload), packet.pkt.ecn);
        let body = match body {
            Content::Echo { to, len } => Body::Echo(Echo {
                kind: match to {
                    Side::Sink => EchoKind::Request,
                    Side::Source => EchoKind::Reply,
                },
                id: *slot as u16,
                sequence: packet.serial,
                len: u32::from(*len).saturating_sub(ECHO_HEADERS),
                ecn,
            }),
            Content::Other => match &datagram {
                Some(datagram) => Body::Udp { datagram, ecn },
                None => return Ok(()),
            },
            Content::Tcp(segment) => Body::Tcp(segment),
        };
        let view = PacketView {
            src_host: src.0,
            dst_host: dst.0,
            src_port,
            dst_port,
            dscp: packet.class,
            ip_id: packet.serial,
            body,
        };
        self.file.packet(interface, at, &view)
    }

    /// Writes the rest and returns the file, or the first error.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush();
        match self.failure {
            Some(failure) => Err(failure),
            None => self.file.finish(),
        }
    }
}

/// A packet of the traced flow, with the fields that a trace needs and no others, because every
/// copy costs time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// Time at which it begins to leave.
    pub(crate) at: Time,
    pub(crate) link: LinkId,
    /// Side that it goes to.
    pub(crate) to: Side,
    /// Bytes on the wire.
    pub(crate) size: u32,
    pub(crate) header: Header,
}

/// Recorder of departing packets.
pub(crate) enum Recording<'a> {
    /// All packets of some links.
    Links(&'a mut dyn Recorder),
    /// All packets of one flow.
    Flow(&'a mut FlowTrace),
}

impl Recording<'_> {
    /// The captured links.
    pub(crate) fn links(&self) -> Vec<LinkId> {
        match self {
            Self::Links(recorder) => recorder.links(),
            Self::Flow(trace) => trace.links(),
        }
    }

    /// The only recorded flow, unless all are recorded.
    pub(crate) fn flow(&self) -> Option<u32> {
        match self {
            Self::Links(_) => None,
            Self::Flow(trace) => Some(trace.flow()),
        }
    }
}

/// Interface from a run to its capture.
pub(crate) trait Recorder {
    /// The captured links.
    fn links(&self) -> Vec<LinkId>;

    /// Sets the payload of full packets of a transport other than TCP.
    fn set_payload(&mut self, payload: u32);

    /// Records that a packet begins to leave at `at`.
    fn note(&mut self, at: Time, link: LinkId, captured: &Captured);

    /// Writes recorded packets: everything that leaves before `now` has been recorded.
    fn write(&mut self, now: Time);
}

impl<W: Write> Recorder for LinkCapture<W> {
    fn links(&self) -> Vec<LinkId> {
        self.links.clone()
    }

    fn set_payload(&mut self, payload: u32) {
        self.payload = payload;
    }

    fn note(&mut self, at: Time, link: LinkId, captured: &Captured) {
        self.ahead.push(Reverse(ByKey { key: (at, link, self.noted), value: *captured }));
        self.noted += 1;
    }

    fn write(&mut self, now: Time) {
        while let Some(Reverse(first)) = self.ahead.peek()
            && first.key.0 < now
        {
            let Some(Reverse(first)) = self.ahead.pop() else {
                break;
            };
            if self.failure.is_none() {
                self.failure = self.write_one(&first).err();
            }
        }
    }
}
