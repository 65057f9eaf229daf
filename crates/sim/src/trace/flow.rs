//! What one TCP flow sends and gets back, event by event: the material of a time–sequence diagram.
//!
//! A trace reads three links, those of the flow's two hosts, and costs nothing where it is not
//! asked for: it is a capture like any other. Of packets of other flows on these links it looks at
//! the number of the flow only.

use tidegate_transport::Flags;
use tidegate_units::{ByteTime, ConfigError, Ecn, Span, Time};

use crate::capture::Passed;
use crate::flow::Flow;
use crate::network::{Link, LinkId, Network};
use crate::packet::Side;
use crate::setup::{Setup, Transport, Way};

/// One thing that happened to the flow. Bytes are counted from the first of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When: segments leave with their first bit and arrive with their last. What hosts add to the
    /// delay is not part of it.
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

/// A link that is traced.
#[derive(Clone, Copy, Debug)]
struct Wire {
    id: LinkId,
    byte_time: ByteTime,
    delay: Span,
}

impl Wire {
    /// When a packet arrives whose first bit leaves at `at`.
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
                count => format!("0 to {}, the flows of this run in order of start", count - 1),
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
        let sent = with_losses(&self.sent, &self.arrived);
        let transfers = merged(sent.as_deref().unwrap_or(&self.sent), &self.arrived);
        merged(&transfers, &self.acked)
    }

    /// The traced flow.
    pub(crate) fn flow(&self) -> u32 {
        self.flow
    }

    /// The links that it is read on.
    pub(crate) fn links(&self) -> Vec<LinkId> {
        self.links.iter().map(|wire| wire.id).collect()
    }

    /// A packet of the flow begins to leave.
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

    /// Where a segment came from in bytes of the connection. Numbers that wrap are those nearest to
    /// what was sent last.
    fn place(&mut self, seq: u32) -> u64 {
        let first = *self.first.get_or_insert(seq);
        let near = first.wrapping_add(self.end as u32);
        self.end.saturating_add_signed(i64::from(seq.wrapping_sub(near).cast_signed()))
    }
}

/// Two runs in order of time as one; at one moment the first run's events come first.
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

/// What left, with an event more behind each segment that was lost; `None` if none was.
///
/// Of the copies of a segment, those that arrived are taken to be the last. What left after
/// everything that arrived is not lost but on its way.
#[expect(
    clippy::stable_sort_primitive,
    reason = "both are nearly in order, and a stable sort finds the runs"
)]
fn with_losses(sent: &[Event], arrived: &[Event]) -> Option<Vec<Event>> {
    let in_order = sent.iter().zip(arrived).take_while(|(left, came)| left.seq == came.seq);
    let (count, mut rest) = (arrived.len(), sent.iter().skip(arrived.len()));
    if in_order.count() == count && rest.all(|event| event.kind == EventKind::Sent) {
        // The usual case: everything arrived in the order in which it left, or is on its way.
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

/// The links of switches that the data of a flow take.
fn ports(setup: &Setup, number: u32) -> Result<Vec<LinkId>, ConfigError> {
    let mut path = setup.path(&setup.routes()?, number, Way::There)?;
    path.retain(|&link| !setup.network.is_host(setup.network.link(link).from));
    Ok(path)
}

/// The links of the two hosts of a flow.
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

    /// Which of the segments are lost, one after the other and from the last to the first.
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
    fn losses_are_those_that_a_slow_search_finds() {
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
            // Some connections lose nothing, and some everything.
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
            // What is on its way at the end has not arrived, and packets may overtake each other.
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
