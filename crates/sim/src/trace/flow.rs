//! Trace of a TCP flow, event by event: the data of a time–sequence diagram.
//!
//! A trace reads three links of the flow's two hosts and costs nothing unless requested: it is a
//! capture like any other. For packets of other flows on these links it reads only the flow number.

use tidegate_transport::Flags;
use tidegate_units::{ByteTime, ConfigError, Ecn, Span, Time};

use crate::capture::Passed;
use crate::flow::Flow;
use crate::network::{Link, LinkId, Network};
use crate::packet::Side;
use crate::setup::{Setup, Transport, Way};

/// An event of the flow. Bytes are counted from the first byte of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event: segments leave with their first bit and arrive with their last. Host
    /// delays are not included.
    pub at: Time,
    /// Kind of event.
    pub kind: EventKind,
    /// First byte of a segment, or the acknowledgement number of an ACK.
    pub seq: u64,
    /// Bytes of a segment, or the window of an ACK.
    pub len: u32,
    /// CWR of a segment that leaves; CE of a segment that arrives; ECE of an ACK.
    pub is_flagged: bool,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A segment was sent for the first time.
    Sent,
    /// A segment was retransmitted.
    Resent,
    /// A segment was sent and never arrived.
    Lost,
    /// A segment arrived at the receiver.
    Arrived,
    /// An ACK arrived at the sender.
    Acked,
}

/// A link that is traced.
#[derive(Clone, Copy, Debug)]
struct Wire {
    id: LinkId,
    byte_time: ByteTime,
    delay: Span,
}

impl Wire {
    /// Arrival time of a packet whose first bit leaves at `at`.
    fn arrival(&self, at: Time, size: u32) -> Time {
        at + self.byte_time.span(size) + self.delay
    }
}

/// Records one flow of a run.
#[derive(Debug)]
pub struct FlowTrace {
    flow: u32,
    /// From the source, to the sink, and to the source.
    links: [Wire; 3],
    /// Links of switches on the path of its data.
    ports: Vec<LinkId>,
    /// First sequence number of the connection's data.
    first: Option<u32>,
    /// End of the bytes sent so far, as a position in the connection.
    end: u64,
    /// Segments sent, segments that arrived, and ACKs that came back: each in order of time.
    sent: Vec<Event>,
    arrived: Vec<Event>,
    acked: Vec<Event>,
}

impl FlowTrace {
    /// Creates a trace of the flow with this number, or names the reason why it cannot be traced.
    pub fn new(setup: &Setup, flow: u32) -> Result<Self, ConfigError> {
        let Some(of) = setup.flows.get(flow as usize) else {
            let allowed = match setup.flows.len() {
                0 => "none: the run has no flows".to_owned(),
                1 => "0, the only flow of this run".to_owned(),
                count => format!("0 to {}, the flows of this run in order of start", count - 1),
            };
            return Err(ConfigError::out_of_range("trace", flow, allowed));
        };
        let transport = setup.transports.get(usize::from(of.group));
        if let Some(Transport::Other(config)) = transport.or(setup.transports.last()) {
            let allowed = format!("TCP flows; this one uses {}", config.name());
            return Err(ConfigError::out_of_range("trace", flow, allowed));
        }
        Ok(Self {
            flow,
            links: links(&setup.network, of),
            ports: ports(setup, flow)?,
            first: None,
            end: 0,
            sent: Vec::new(),
            arrived: Vec::new(),
            acked: Vec::new(),
        })
    }

    /// Links of switches on the path of the flow's data, whose queues explain the rest.
    pub fn ports(&self) -> &[LinkId] {
        &self.ports
    }

    /// Events in order of time.
    pub fn finish(self) -> Vec<Event> {
        let sent = with_losses(&self.sent, &self.arrived);
        let transfers = merged(sent.as_deref().unwrap_or(&self.sent), &self.arrived);
        merged(&transfers, &self.acked)
    }

    /// Number of the traced flow.
    pub(crate) fn flow(&self) -> u32 {
        self.flow
    }

    /// Links that the trace reads.
    pub(crate) fn links(&self) -> Vec<LinkId> {
        self.links.iter().map(|wire| wire.id).collect()
    }

    /// Records that a packet of the flow begins to leave.
    pub(crate) fn note(&mut self, passed: &Passed) {
        let Passed { at, link, size, header, .. } = *passed;
        let event = |at, kind, seq, len, flag| Event {
            at,
            kind,
            seq,
            len,
            is_flagged: header.flags.has(flag),
        };
        let [up, down, back] = self.links;
        let is_data = passed.to == Side::Sink && header.len > 0;
        if is_data && link == up.id {
            let seq = self.place(header.seq.0);
            let kind = if seq < self.end { EventKind::Resent } else { EventKind::Sent };
            self.end = self.end.max(seq + u64::from(header.len));
            self.sent.push(event(at, kind, seq, header.len, Flags::CWR));
        } else if is_data && link == down.id {
            let seq = self.place(header.seq.0);
            self.arrived.push(Event {
                at: down.arrival(at, size),
                kind: EventKind::Arrived,
                seq,
                len: header.len,
                is_flagged: header.ecn == Ecn::Ce,
            });
        } else if !is_data
            && link == back.id
            && self.first.is_some()
            && header.flags.has(Flags::ACK)
        {
            let ack = self.place(header.ack.0);
            let at = back.arrival(at, size);
            let window = header.window;
            self.acked.push(event(at, EventKind::Acked, ack, window, Flags::ECE));
        }
    }

    /// Position of a segment in the connection's bytes. A sequence number that wraps is taken
    /// nearest to the last segment sent.
    fn place(&mut self, seq: u32) -> u64 {
        let first = *self.first.get_or_insert(seq);
        let near = first.wrapping_add(self.end as u32);
        self.end.saturating_add_signed(i64::from(seq.wrapping_sub(near).cast_signed()))
    }
}

/// Merges two lists in order of time; at one moment the first list's events come first.
fn merged(mut first: &[Event], second: &[Event]) -> Vec<Event> {
    debug_assert!([first, second].iter().all(|run| run.is_sorted_by_key(|event| event.at)));
    let mut events = Vec::with_capacity(first.len() + second.len());
    for &next in second {
        let before = first.iter().take_while(|event| event.at <= next.at).count();
        events.extend_from_slice(&first[..before]);
        events.push(next);
        first = &first[before..];
    }
    events.extend_from_slice(first);
    events
}

/// Events of sent segments, with an additional event after each lost segment; `None` if none was
/// lost.
///
/// Of the copies of a segment, the ones that arrived are assumed to be the last. Segments sent
/// after everything that arrived are not lost but in flight.
/// everything that arrived is not lost but on its way.
#[expect(
    clippy::stable_sort_primitive,
    reason = "both are nearly in order, and a stable sort finds the runs"
)]
fn with_losses(sent: &[Event], arrived: &[Event]) -> Option<Vec<Event>> {
    let in_order = sent.iter().zip(arrived).take_while(|(left, came)| left.seq == came.seq);
    let (count, mut rest) = (arrived.len(), sent.iter().skip(arrived.len()));
    if in_order.count() == count && rest.all(|event| event.kind == EventKind::Sent) {
        // The usual case: everything arrived in the order in which it left, or is in flight.
        return None;
    }
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
            events.push(Event { kind: EventKind::Lost, ..event });
        }
    }
    Some(events)
}

/// Links of switches on the path of a flow's data.
fn ports(setup: &Setup, number: u32) -> Result<Vec<LinkId>, ConfigError> {
    let mut path = setup.path(&setup.routes()?, number, Way::There)?;
    path.retain(|&link| !setup.network.is_host(setup.network.link(link).from));
    Ok(path)
}

/// Links of the two hosts of a flow.
fn links(network: &Network, flow: &Flow) -> [Wire; 3] {
    let find = |fits: &dyn Fn(&Link) -> bool| {
        let mut links = (0..).map(LinkId).zip(network.links());
        let (id, link) = links.find(|(_, link)| fits(link)).expect("every host has a cable");
        Wire { id, byte_time: ByteTime::new(link.rate), delay: link.delay }
    };
    let (source, sink) = (flow.src.node(), flow.dst.node());
    [
        find(&|link| link.from == source),
        find(&|link| link.to == sink),
        find(&|link| link.to == source),
    ]
}

#[cfg(test)]
mod tests {
    use tidegate_units::Rng;

    use super::*;

    /// Finds lost segments one by one, from the last to the first.
    fn lost_slowly(sent: &[Event], arrived: &[Event]) -> Vec<bool> {
        let mut arrivals: Vec<u64> = arrived.iter().map(|event| event.seq).collect();
        let mut has_arrived = false;
        let mut lost = Vec::new();
        for event in sent.iter().rev() {
            match arrivals.iter().position(|&seq| seq == event.seq) {
                Some(place) => {
                    arrivals.swap_remove(place);
                    has_arrived = true;
                    lost.push(false);
                }
                None => lost.push(has_arrived),
            }
        }
        lost.reverse();
        lost
    }

    #[test]
    fn losses_agree_with_an_exhaustive_search() {
        let event = |at, kind, seq| Event {
            at: Time::from_us(at),
            kind,
            seq,
            len: 1000,
            is_flagged: false,
        };
        for seed in 0..500 {
            let mut rng = Rng::new(seed, 0);
            let mut below = |limit: u64| rng.next_u64() % limit;
            let (mut sent, mut arrived, mut next) = (Vec::new(), Vec::new(), 0);
            // Some connections lose nothing, and some lose everything.
            let (resends, losses) = (below(4), below(6));
            for at in 0..below(60) {
                let is_again = next > 0 && below(8) < resends;
                let seq = if is_again { below(next) } else { next };
                next = next.max(seq + 1);
                let kind = if is_again { EventKind::Resent } else { EventKind::Sent };
                sent.push(event(at, kind, seq));
                if below(5) >= losses {
                    arrived.push(event(at + 10, EventKind::Arrived, seq));
                }
            }
            // Segments in flight at the end have not arrived, and packets may overtake each other.
            arrived.truncate(arrived.len().saturating_sub(below(5) as usize));
            for _ in 0..below(3) {
                if arrived.len() > 1 {
                    let place = below(arrived.len() as u64 - 1) as usize;
                    arrived.swap(place, place + 1);
                }
            }
            let expected = lost_slowly(&sent, &arrived);
            let mut found = Vec::new();
            for event in with_losses(&sent, &arrived).unwrap_or(sent) {
                match event.kind {
                    EventKind::Lost => *found.last_mut().unwrap() = true,
                    _ => found.push(false),
                }
            }
            assert_eq!(found, expected, "seed {seed}");
        }
    }

    #[test]
    fn runs_are_merged_as_a_stable_sort_would() {
        let mut rng = Rng::new(1, 0);
        for _ in 0..200 {
            let mut run = |kind| {
                let mut at = 0;
                let count = rng.next_u64() % 9;
                let event = |seq| {
                    at += rng.next_u64() % 3;
                    Event { at: Time::from_us(at), kind, seq, len: 1, is_flagged: false }
                };
                (0..count).map(event).collect::<Vec<Event>>()
            };
            let [first, second] = [EventKind::Sent, EventKind::Acked].map(&mut run);
            let mut expected = [first.clone(), second.clone()].concat();
            expected.sort_by_key(|event| event.at);
            assert_eq!(merged(&first, &second), expected);
        }
    }
}
