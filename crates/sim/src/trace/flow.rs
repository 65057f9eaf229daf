//! What one TCP flow sends and gets back, event by event: the material of a time–sequence diagram.
//!
//! A trace reads three links, those of the flow's two hosts, and costs nothing where it is not asked for: it
//! is a capture like any other. Of packets of other flows on these links it looks at the number of the flow only.

use tidegate_transport::{Flags, Segment};
use tidegate_units::{ConfigError, Ecn, Time};

use crate::capture::{Captured, Content, Recorder};
use crate::flow::Flow;
use crate::hosts::path_hash;
use crate::network::{HostId, Link, LinkId, Network};
use crate::routes::Routes;
use crate::setup::{Setup, Transport};

/// One thing that happened to the flow. Bytes are counted from the first of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When: segments leave with their first bit and arrive with their last. What hosts add to the delay
    /// is not part of it.
    pub at: Time,
    /// What it was.
    pub kind: EventKind,
    /// The first byte of a segment, or the next one that an ACK asks for.
    pub seq: u64,
    /// Bytes of a segment, or the window that an ACK offers.
    pub len: u32,
    /// Of a segment that leaves: CWR; of one that arrives: CE; of an ACK: ECE.
    pub is_flagged: bool,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A segment left for the first time.
    Sent,
    /// A segment left that had left before.
    Resent,
    /// A segment left and never arrived.
    Lost,
    /// A segment arrived at the receiver.
    Arrived,
    /// An ACK arrived at the sender.
    Acked,
}

/// Records one flow of a run.
#[derive(Debug)]
pub struct FlowTrace {
    flow: u32,
    hosts: (HostId, HostId),
    /// From the source, to the sink, and to the source.
    links: [(LinkId, Link); 3],
    /// Those of switches that its data take.
    ports: Vec<LinkId>,
    /// The first sequence number of the connection's data.
    first: Option<u32>,
    /// The end of what has left, in bytes of the connection.
    end: u64,
    /// What left, what arrived, and the ACKs that came back: each in order of time.
    sent: Vec<Event>,
    arrived: Vec<Event>,
    acked: Vec<Event>,
}

impl FlowTrace {
    /// A trace of the flow with this number, or what speaks against it.
    pub fn new(setup: &Setup, flow: u32) -> Result<Self, ConfigError> {
        let Some(of) = setup.flows.get(flow as usize) else {
            let allowed = match setup.flows.len() {
                0 => "none: there are no flows".to_owned(),
                1 => "0, the only flow of this run".to_owned(),
                count => format!(
                    "0 to {}, the flows of this run in order of start",
                    count - 1
                ),
            };
            return Err(ConfigError::out_of_range("trace", flow, allowed));
        };
        let transport = setup.transports.get(usize::from(of.group));
        if let Some(Transport::Dcqcn(_)) = transport.or(setup.transports.last()) {
            let allowed = "flows of TCP: DCQCN has no windows and no sequence of bytes";
            return Err(ConfigError::out_of_range("trace", flow, allowed));
        }
        Ok(Self {
            flow,
            hosts: (of.src, of.dst),
            links: links(&setup.network, of),
            ports: ports(setup, flow)?,
            first: None,
            end: 0,
            sent: Vec::new(),
            arrived: Vec::new(),
            acked: Vec::new(),
        })
    }

    /// The links of switches that the flow's data go through, whose queues explain the rest.
    pub fn ports(&self) -> &[LinkId] {
        &self.ports
    }

    /// What happened, in order of time.
    pub fn finish(self) -> Vec<Event> {
        let mut events = with_losses(&self.sent, &self.arrived);
        events.reserve_exact(self.arrived.len() + self.acked.len());
        events.extend(self.arrived);
        events.extend(self.acked);
        // Three runs that are in order already: merging them is what this sort does.
        events.sort_by_key(|event| (event.at, event.kind));
        events
    }

    /// Where a segment came from in bytes of the connection. Numbers that wrap are those nearest to what was
    /// sent last.
    fn place(&mut self, seq: u32) -> u64 {
        let first = *self.first.get_or_insert(seq);
        let near = first.wrapping_add(self.end as u32);
        self.end
            .saturating_add_signed(i64::from(seq.wrapping_sub(near).cast_signed()))
    }
}

/// What left, with an event more behind each segment that was lost.
///
/// Of the copies of a segment, those that arrived are taken to be the last. What left after everything that
/// arrived is not lost but on its way.
#[expect(
    clippy::stable_sort_primitive,
    reason = "both are nearly in order, and a stable sort finds the runs"
)]
fn with_losses(sent: &[Event], arrived: &[Event]) -> Vec<Event> {
    let mut copies: Vec<(u64, usize)> = sent.iter().map(|event| event.seq).zip(0..).collect();
    copies.sort();
    let mut arrivals: Vec<u64> = arrived.iter().map(|event| event.seq).collect();
    arrivals.sort();
    let mut arrivals = arrivals.into_iter().rev().peekable();
    let mut has_arrived = vec![false; sent.len()];
    for (seq, place) in copies.into_iter().rev() {
        while arrivals.next_if(|&arrival| arrival > seq).is_some() {}
        has_arrived[place] = arrivals.next_if_eq(&seq).is_some();
    }
    let last = has_arrived.iter().rposition(|&arrived| arrived);
    let mut events = Vec::with_capacity(sent.len());
    for (place, &event) in sent.iter().enumerate() {
        events.push(event);
        if !has_arrived[place] && last.is_some_and(|last| place < last) {
            events.push(Event {
                kind: EventKind::Lost,
                ..event
            });
        }
    }
    events
}

/// The links of switches that the data of a flow take.
fn ports(setup: &Setup, number: u32) -> Result<Vec<LinkId>, ConfigError> {
    let flow = &setup.flows[number as usize];
    let routes = Routes::new(&setup.network)?.with_ecmp(setup.ecmp);
    let hash = path_hash(setup.seed, number as usize);
    let mut path = Vec::new();
    match setup.paths.get(number as usize) {
        None => routes.path(flow.src, flow.dst, hash, &mut path),
        Some(&choice) => routes.path_by_choice(flow.src, flow.dst, choice, 0, &mut path)?,
    }
    path.retain(|&link| !setup.network.is_host(setup.network.link(link).from));
    Ok(path)
}

/// The links of the two hosts of a flow.
fn links(network: &Network, flow: &Flow) -> [(LinkId, Link); 3] {
    let find = |fits: &dyn Fn(&Link) -> bool| {
        let mut links = (0..).map(LinkId).zip(network.links());
        let (id, link) = links
            .find(|(_, link)| fits(link))
            .expect("every host has a cable");
        (id, *link)
    };
    let (source, sink) = (flow.src.node(), flow.dst.node());
    [
        find(&|link| link.from == source),
        find(&|link| link.to == sink),
        find(&|link| link.to == source),
    ]
}

impl Recorder for FlowTrace {
    fn links(&self) -> Vec<LinkId> {
        self.links.iter().map(|(link, _)| *link).collect()
    }

    fn flow(&self) -> Option<u32> {
        Some(self.flow)
    }

    fn set_payload(&mut self, _payload: u32) {}

    fn note(&mut self, at: Time, link: LinkId, captured: &Captured) {
        let Content::Tcp(segment) = &captured.body else {
            return;
        };
        let Segment {
            seq,
            ack,
            len,
            window,
            flags,
            ecn,
            ..
        } = *segment;
        let [(up, _), (down, to_sink), (back, to_source)] = self.links;
        let arrival = |on: Link| at + on.rate.time_for(captured.packet.pkt.len) + on.delay;
        let is_data = (captured.src, captured.dst) == self.hosts && len > 0;
        let event = |at, kind, seq, len, is_flagged| Event {
            at,
            kind,
            seq,
            len,
            is_flagged,
        };
        if is_data && link == up {
            let seq = self.place(seq.0);
            let kind = if seq < self.end {
                EventKind::Resent
            } else {
                EventKind::Sent
            };
            self.end = self.end.max(seq + u64::from(len));
            self.sent
                .push(event(at, kind, seq, len, flags.has(Flags::CWR)));
        } else if is_data && link == down {
            let seq = self.place(seq.0);
            let is_marked = ecn == Ecn::Ce || captured.packet.header.ecn == Ecn::Ce;
            let at = arrival(to_sink);
            self.arrived
                .push(event(at, EventKind::Arrived, seq, len, is_marked));
        } else if !is_data && link == back && self.first.is_some() && flags.has(Flags::ACK) {
            let ack = self.place(ack.0);
            let at = arrival(to_source);
            let is_echo = flags.has(Flags::ECE);
            self.acked
                .push(event(at, EventKind::Acked, ack, window, is_echo));
        }
    }

    fn write(&mut self, _now: Time) {}
}
