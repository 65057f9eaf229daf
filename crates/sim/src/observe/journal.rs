//! Journal of a port: for each packet its arrival and departure, the queues that it met, and its
//! fate.

use tidegate_dataplane::{Accepted, Action, Departure, DropReason, Pkt, PortStats, Rule};
use tidegate_units::{Ecn, FlowId, PktId, QueueId, Time};

use super::flow;
use crate::hosts::Hosts;
use crate::network::LinkId;
use crate::packet::{EndId, Side};

/// Ports whose packets are recorded one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// Links of the ports.
    pub ports: Vec<LinkId>,
    /// Most packets recorded at a port: the first ones, at about 70 bytes each. Later packets are
    /// only counted.
    pub limit: u32,
}

impl Default for Journal {
    /// No port; a hundred thousand packets each.
    fn default() -> Self {
        Self { ports: Vec::new(), limit: 100_000 }
    }
}

/// Packets recorded at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedPackets {
    /// Link of the port.
    pub link: LinkId,
    /// Packets in order of arrival.
    pub packets: Vec<ObservedPacket>,
    /// Number of packets beyond the limit.
    pub beyond: u64,
}

/// A packet at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedPacket {
    /// Number of the flow that its connection had on arrival; `None` for probes. Packets of a flow
    /// that are still in flight when the connection's next flow starts are attributed to the next
    /// flow.
    pub flow: Option<u32>,
    /// Whether it goes to the flow's sender: an ACK, or another answer.
    pub is_answer: bool,
    /// Arrival time.
    pub arrived: Time,
    /// Time at which it began to leave or was dropped; [`Time::MAX`] if it did not.
    pub left: Time,
    /// Length in bytes.
    pub bytes: u32,
    /// Queue that it was admitted to or meant for.
    pub queue: QueueId,
    /// Bytes waiting in that queue on arrival, without this packet.
    pub queue_bytes: u32,
    /// Bytes waiting at the port on arrival, without this packet.
    pub port_bytes: u32,
    /// Codepoint on arrival.
    pub ecn: Ecn,
    /// Mark set here, if any.
    pub mark: Option<Mark>,
    /// Fate of the packet.
    pub fate: Fate,
}

/// A mark set at the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Rule that caused the mark.
    pub rule: Rule,
    /// Whether the mark was set at departure instead of arrival.
    pub is_late: bool,
}

/// Fate of a packet at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Dropped, on arrival or at dequeue.
    Dropped(DropReason),
    /// Sent.
    Sent,
    /// Still waiting at the end of the run.
    Waiting,
}

/// Records the packets of a port.
#[derive(Debug)]
pub(crate) struct PortJournal {
    limit: usize,
    packets: Vec<ObservedPacket>,
    /// Destination end of each packet.
    ends: Vec<EndId>,
    beyond: u64,
    /// By number of a waiting packet: its index in the list. Numbers are reused.
    places: Vec<u32>,
    /// Marks of the port that have been attributed to a packet.
    marks: [u64; Rule::ALL.len()],
}

/// Index of a packet that is not in the list.
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

    /// Records an admitted packet, with the bytes waiting in its queue and at the port.
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

    /// Records a refused packet that was meant for `queue`.
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

    /// Records the departure of an admitted packet.
    pub(crate) fn on_departure(&mut self, departure: &Departure, stats: &PortStats) {
        // Of the packets that leave at one moment only the last can be marked, because only it is
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

    /// Adds the flows of packets that are not yet in `flows`.
    pub(crate) fn find_flows(&self, hosts: &Hosts, flows: &mut Vec<Option<u32>>) {
        for end in &self.ends[flows.len()..] {
            let connection = &hosts.connections[end.slot()];
            flows.push(flow::carries_flows(connection).then_some(connection.flow));
        }
    }

    /// The recorded packets; `flows` has the flow of each packet.
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

    /// Rule of the mark that the port has set since the last call, if any.
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

/// A packet that has arrived and waits.
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
