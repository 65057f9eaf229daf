//! The packets at a port one by one: when each came and left, what it met there and what became of
//! it.

use tidegate_dataplane::{Accepted, Action, Departure, DropReason, Pkt, PortStats, Rule};
use tidegate_units::{Ecn, FlowId, PktId, QueueId, Time};

use super::flow;
use crate::hosts::Hosts;
use crate::network::LinkId;
use crate::packet::{EndId, Side};

/// Ports whose packets are written down one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// The links of the ports.
    pub ports: Vec<LinkId>,
    /// The most packets of a port, which are the first; each takes about 70 bytes. Those beyond are
    /// counted.
    pub limit: u32,
}

impl Default for Journal {
    /// No port; a hundred thousand packets of each.
    fn default() -> Self {
        Self { ports: Vec::new(), limit: 100_000 }
    }
}

/// What was written down of a port's packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedPackets {
    /// The link of the port.
    pub link: LinkId,
    /// The packets in the order in which they came.
    pub packets: Vec<ObservedPacket>,
    /// How many more came.
    pub beyond: u64,
}

/// A packet at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedPacket {
    /// The flow that its connection had when it came, by number; `None` for probes. Packets of a
    /// flow that are still on their way when the connection's next one starts are taken for those
    /// of the next.
    pub flow: Option<u32>,
    /// Whether it goes to the flow's sender: an ACK, or another answer.
    pub is_answer: bool,
    /// When it came.
    pub arrived: Time,
    /// When it began to leave or was dropped; [`Time::MAX`] if it did not.
    pub left: Time,
    /// Its length.
    pub bytes: u32,
    /// The queue that it was taken into or meant for.
    pub queue: QueueId,
    /// Bytes that waited in that queue when it came, without it.
    pub queue_bytes: u32,
    /// Bytes that waited at the port then, without it.
    pub port_bytes: u32,
    /// Its codepoint when it came.
    pub ecn: Ecn,
    /// Which rule of the scheme marked it here, and when.
    pub mark: Option<Mark>,
    /// What became of it.
    pub fate: Fate,
}

/// A mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The rule that asked for it.
    pub rule: Rule,
    /// Whether it was made when the packet left, and not when it came.
    pub is_late: bool,
}

/// What became of a packet at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was dropped, on arrival or on the way out.
    Dropped(DropReason),
    /// It was sent.
    Sent,
    /// It was still there at the end of the run.
    Waiting,
}

/// Writes down the packets of a port.
#[derive(Debug)]
pub(crate) struct PortJournal {
    limit: usize,
    packets: Vec<ObservedPacket>,
    /// The end that each goes to.
    ends: Vec<EndId>,
    beyond: u64,
    /// By the packet's number while it waits: where it is in the list. Numbers are used again.
    places: Vec<u32>,
    /// The port's marks, as far as they have been put down to a packet.
    marks: [u64; Rule::ALL.len()],
}

/// A packet that is not in the list.
const BEYOND: u32 = u32::MAX;

impl PortJournal {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit: limit as usize,
            packets: Vec::new(),
            ends: Vec::new(),
            beyond: 0,
            places: Vec::new(),
            marks: [0; Rule::ALL.len()],
        }
    }

    /// A packet was taken in, where so many bytes waited in its queue and at the port.
    pub(crate) fn on_accepted(
        &mut self,
        at: Time,
        id: PktId,
        pkt: &Pkt,
        accepted: Accepted,
        met: (u32, u32),
        stats: &PortStats,
    ) {
        let rule = self.new_mark(stats);
        let place = self.add(
            pkt.flow,
            ObservedPacket {
                queue: accepted.queue,
                mark: rule.map(|rule| Mark { rule, is_late: false }),
                ..came(at, pkt, met)
            },
        );
        let number = id.0 as usize;
        if number >= self.places.len() {
            self.places.resize(number + 1, BEYOND);
        }
        self.places[number] = place;
    }

    /// A packet was refused, which was meant for `queue`.
    pub(crate) fn on_refused(
        &mut self,
        at: Time,
        pkt: &Pkt,
        queue: QueueId,
        met: (u32, u32),
        reason: DropReason,
    ) {
        self.add(
            pkt.flow,
            ObservedPacket { queue, left: at, fate: Fate::Dropped(reason), ..came(at, pkt, met) },
        );
    }

    /// A packet that was taken in left.
    pub(crate) fn on_departure(&mut self, departure: &Departure, stats: &PortStats) {
        // Of the packets that leave at one moment only the last can be marked, the one that is
        // sent.
        let is_sent = departure.action == Action::Send;
        let rule = is_sent.then(|| self.new_mark(stats)).flatten();
        let place = self.places[departure.id.0 as usize];
        let Some(packet) = self.packets.get_mut(place as usize) else {
            return;
        };
        packet.left = departure.at;
        packet.fate = match departure.action {
            Action::Drop(reason) => Fate::Dropped(reason),
            Action::Send => Fate::Sent,
        };
        if let Some(rule) = rule {
            packet.mark = Some(Mark { rule, is_late: true });
        }
    }

    /// Adds the flows of packets that are not among `flows` yet.
    pub(crate) fn find_flows(&self, hosts: &Hosts, flows: &mut Vec<Option<u32>>) {
        for end in &self.ends[flows.len()..] {
            let connection = &hosts.connections[end.slot()];
            flows.push(flow::carries_flows(connection).then_some(connection.flow));
        }
    }

    /// What was written down; `flows` has the flow of each packet.
    pub(crate) fn observed(&self, link: LinkId, flows: &[Option<u32>]) -> ObservedPackets {
        let packets = self.packets.iter().zip(flows);
        let packets = packets.map(|(&packet, &flow)| ObservedPacket { flow, ..packet });
        ObservedPackets { link, packets: packets.collect(), beyond: self.beyond }
    }

    fn add(&mut self, flow: FlowId, packet: ObservedPacket) -> u32 {
        if self.packets.len() >= self.limit {
            self.beyond += 1;
            return BEYOND;
        }
        self.packets.push(packet);
        self.ends.push(EndId(flow.0));
        self.packets.len() as u32 - 1 // the limit has 32 bits
    }

    /// The rule of the mark that the port has made since the last time, if it has.
    fn new_mark(&mut self, stats: &PortStats) -> Option<Rule> {
        let mut found = None;
        for (&rule, known) in Rule::ALL.iter().zip(&mut self.marks) {
            let marks = stats.marks(rule);
            if marks > *known {
                found = Some(rule);
            }
            *known = marks;
        }
        found
    }
}

/// A packet that has come and waits.
fn came(at: Time, pkt: &Pkt, (queue_bytes, port_bytes): (u32, u32)) -> ObservedPacket {
    ObservedPacket {
        flow: None,
        is_answer: EndId(pkt.flow.0).side() == Side::Source,
        arrived: at,
        left: Time::MAX,
        bytes: pkt.len,
        queue: QueueId(0),
        queue_bytes,
        port_bytes,
        ecn: pkt.ecn,
        mark: None,
        fate: Fate::Waiting,
    }
}
