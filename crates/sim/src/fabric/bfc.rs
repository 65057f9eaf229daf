//! BFC in the fabric: assignment of packets to queues, and frames that pause single queues.
//!
//! All of this is on the path of one packet at a time: the ports of a switch hold back the same
//! neighbours, so that no port is served independently of the others.

use tidegate_dataplane::egress::Egress;
use tidegate_dataplane::{Departure, Pkt};
use tidegate_units::{QueueId, Time};

use super::Fabric;
use super::pauses::send_frame;
use crate::calendar::Calendar;
use crate::flow_control::Config;
use crate::flow_control::bfc::{CONTROL, Flagged, Hop, HostPort, Sender, SwitchPort};
use crate::network::{LinkId, Network};
use crate::packet::Packet;
use crate::setup::Setup;

/// State of BFC in a network.
#[derive(Debug)]
pub(super) struct Bfc {
    /// By link: state of the port that sends on it.
    senders: Vec<Sender>,
    /// By link: times by which packets that arrive over it are judged.
    hops: Vec<Hop>,
    /// By link: flagged packets that came over it, at the switch behind it.
    flagged: Vec<Flagged>,
    /// By packet number: BFC's fields of the packet.
    tags: Vec<Tag>,
}

/// BFC's fields of a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Tag {
    /// Queue that the packet waited in at the previous switch.
    queue: QueueId,
    /// Whether the packet is counted at the switch where it waits.
    is_flagged: bool,
}

/// Pauses of queues are counted as pauses of one class.
const CLASS: u8 = 1;

impl Bfc {
    pub(super) fn new(setup: &Setup, ports: &[Option<Box<dyn Egress>>]) -> Option<Box<Self>> {
        let Config::Bfc(config) = setup.flow_control.as_ref()?;
        let network = &setup.network;
        let links = network.links();
        let hops: Vec<Hop> = links.iter().map(|link| config.hop(link.delay)).collect();
        let mut degrees = vec![0_u64; network.nodes() as usize];
        for link in links {
            degrees[link.from.index()] += 1;
        }
        let queues = |link: usize| ports[link].as_deref().map_or(2, Egress::queues);
        let senders = links.iter().zip(0..).map(|(link, index)| {
            if network.is_host(link.from) {
                return Sender::Host(HostPort::new(queues(index)));
            }
            let degree = degrees[link.from.index()];
            let ids = config.ids(degree * u64::from(queues(index)));
            let table = (ids, config.takes);
            let stream = (setup.seed, index as u64);
            Sender::Switch(SwitchPort::new(link.rate, queues(index), table, stream))
        });
        Some(Box::new(Self {
            senders: senders.collect(),
            flagged: links.iter().map(|_| Flagged::default()).collect(),
            tags: Vec::new(),
            hops,
        }))
    }

    fn tag(&mut self, id: u32) -> &mut Tag {
        let index = id as usize;
        if index >= self.tags.len() {
            self.tags.resize(index + 1, Tag::default());
        }
        &mut self.tags[index]
    }

    /// Key of a packet at the node before the link that it came over: its queue at a switch, its
    /// flow at a host.
    fn key(&mut self, id: u32, packet: &Packet) -> u32 {
        match self.senders[packet.link.index()] {
            Sender::Host(_) => packet.pkt.flow.0,
            Sender::Switch(_) => u32::from(self.tag(id).queue.0),
        }
    }
}

/// Whether a packet carries no data. Such packets are never held back.
const fn is_control(packet: &Packet) -> bool {
    packet.payload() == 0
}

impl<C: Calendar> Fabric<C> {
    /// Queue that BFC selects for a packet at the port of a link; `None` without BFC.
    #[inline]
    pub(super) fn assign_queue(&mut self, id: u32, link: LinkId, now: Time) -> Option<QueueId> {
        let is_on = self.bfc.is_some();
        is_on.then(|| self.choose_queue(id, link, now))
    }

    fn choose_queue(&mut self, id: u32, link: LinkId, now: Time) -> QueueId {
        // Packets that have left by now no longer occupy a queue.
        self.take_departures(link, now);
        let packet = &self.packets[id];
        if is_control(packet) {
            return CONTROL;
        }
        let Some(bfc) = &mut self.bfc else {
            return CONTROL;
        };
        let flow = packet.pkt.flow;
        match &mut bfc.senders[link.index()] {
            Sender::Host(port) => port.assign(flow),
            Sender::Switch(port) => port.assign(flow, bfc.hops[packet.link.index()].sticky, now),
        }
    }

    /// Records a packet that was queued in its selected queue at the port of a link.
    pub(super) fn on_queued(&mut self, id: u32, link: LinkId, queue: QueueId, now: Time) {
        let packet = &self.packets[id];
        let Some(bfc) = self.bfc.as_mut().filter(|_| !is_control(packet)) else {
            return;
        };
        let Pkt { flow, len, .. } = packet.pkt;
        match &mut bfc.senders[link.index()] {
            Sender::Host(port) => {
                if port.on_queued(flow, queue) {
                    self.pause_queues(link, now);
                }
            }
            Sender::Switch(port) => {
                let came_over = packet.link;
                let round_trip = bfc.hops[came_over.index()].round_trip;
                if port.on_queued(flow, queue, len, round_trip) {
                    bfc.tag(id).is_flagged = true;
                    let key = bfc.key(id, packet);
                    if bfc.flagged[came_over.index()].raise(key) {
                        self.send_queue_pause(came_over, key, true, now);
                    }
                }
            }
        }
    }

    /// Records that a packet leaves the port of a link, by the index of its departure. The packet
    /// does not yet know that it is on that link.
    pub(super) fn on_departed(&mut self, departure: usize, link: LinkId) {
        let Departure { at, id, queue, len, .. } = self.scratch.departures[departure];
        let packet = &self.packets[id.0];
        let Some(bfc) = self.bfc.as_mut().filter(|_| !is_control(packet)) else {
            return;
        };
        let flow = packet.pkt.flow;
        let left = Tag { queue, is_flagged: false };
        match &mut bfc.senders[link.index()] {
            Sender::Host(port) => {
                port.on_departed(flow, queue);
                *bfc.tag(id.0) = left;
            }
            Sender::Switch(port) => {
                port.on_departed(flow, queue, len, at);
                let (came_over, key) = (packet.link, bfc.key(id.0, packet));
                let tag = std::mem::replace(bfc.tag(id.0), left);
                if tag.is_flagged && bfc.flagged[came_over.index()].lower(key) {
                    self.send_queue_pause(came_over, key, false, at);
                }
            }
        }
    }

    /// Asks the node before a link to pause or resume the queue or flow with this key.
    fn send_queue_pause(&mut self, came_over: LinkId, key: u32, is_paused: bool, now: Time) {
        let link = Network::reverse(came_over);
        let mut frame = Packet {
            link,
            spilled: Packet::PAUSE,
            class: CLASS,
            // Only this field and the key of the frame are read.
            is_retransmission: is_paused,
            ..Packet::default()
        };
        frame.pkt.flow.0 = key;
        let packet = self.packets.insert(frame);
        let wire = &self.wires[link.index()];
        send_frame(&mut self.calendar, wire, (packet, &frame), now);
        *self.pauses.in_flight(wire.leads_to_host) += 1;
    }

    /// Pauses or resumes a queue or a flow at the node that a frame reaches.
    pub(super) fn on_queue_pause(&mut self, frame: &Packet, now: Time) {
        let link = Network::reverse(frame.link);
        // Takes the packets that have left by now.
        self.take_departures(link, now);
        let is_paused = frame.is_retransmission;
        let Some(bfc) = &mut self.bfc else { return };
        let sender = &mut bfc.senders[link.index()];
        sender.pause(frame.pkt.flow.0, is_paused);
        let is_any_paused = sender.is_any_paused();
        if is_paused || !is_any_paused {
            self.pauses.links[link.index()].change(frame.class, is_paused, now);
        }
        self.wires[link.index()].is_paused = is_any_paused;
        self.pause_queues(link, now);
        let start = self.ports[link.index()].as_deref().and_then(Egress::next_start);
        self.note_start(link, start);
    }

    /// Pauses exactly the queues of a link's port that must be paused.
    fn pause_queues(&mut self, link: LinkId, now: Time) {
        if let (Some(bfc), Some(port)) = (&self.bfc, &mut self.ports[link.index()]) {
            port.pause(bfc.senders[link.index()].paused_queues(), now);
        }
    }

    /// Queue in which a packet waited that goes to another part of the network; `None` without BFC.
    pub(crate) fn queue_before(&mut self, id: u32) -> Option<QueueId> {
        let bfc = self.bfc.as_mut()?;
        Some(bfc.tag(id).queue)
    }

    /// Records the queue in which a packet from another part of the network waited.
    pub(crate) fn set_queue_before(&mut self, id: u32, queue: QueueId) {
        if let Some(bfc) = &mut self.bfc {
            *bfc.tag(id) = Tag { queue, is_flagged: false };
        }
    }

    /// Takes all departures at the node of a link's port that start no later than `now`.
    fn take_departures(&mut self, link: LinkId, now: Time) {
        let node_id = self.wires[link.index()].node;
        let node = &mut self.nodes[node_id as usize];
        if node.is_coupled {
            self.settle(node_id, now);
        } else if let Some(port) = self.ports[link.index()].as_mut() {
            port.drain(now, &mut node.buffer, &mut self.scratch.departures);
            self.transmit_departures(link);
        }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_dataplane::{buffer, sched};
    use tidegate_transport::protocol::dcqcn;
    use tidegate_units::{Rate, Span};

    use super::*;
    use crate::flow::Flow;
    use crate::flow_control::bfc;
    use crate::network::HostId;
    use crate::pause::LinkPauses;
    use crate::setup::{Ports, Transport};
    use crate::topology::leaf_spine;
    use crate::world::{BucketEngine, Engine, HeapEngine, Progress};

    /// Two racks whose hosts all send to the first two hosts, with three queues for data.
    fn overload(seed: u64) -> Setup {
        let config = leaf_spine::Config {
            leaves: 2,
            spines: 2,
            hosts_per_leaf: 4,
            host_rate: Rate::from_gbps(10),
            fabric_rate: Rate::from_gbps(10),
            host_delay: Span::from_us(2),
            fabric_delay: Span::from_us(1),
        };
        let flow = |number: u64| Flow {
            start: Time::from_us(number * 7),
            bytes: 40_000 + number * 9_000,
            src: HostId(2 + (number % 6) as u32),
            dst: HostId((number / 2 % 2) as u32),
            rate: None,
            service: 0,
            group: 0,
        };
        let network = config.build().unwrap();
        let mut setup = Setup::new(network, (0..40).map(flow).collect());
        let mut scheduling = sched::Config::named("sp-dwrr").unwrap();
        scheduling.set("strict", "1").unwrap();
        scheduling.set("quanta", "1500,1500,1500").unwrap();
        let ports = Ports {
            scheduling,
            buffer: buffer::Config::named("unlimited").unwrap(),
            ..setup.switch.clone()
        };
        setup.switch = ports.clone();
        setup.nic = Some(ports);
        setup.transports = vec![Transport::other(dcqcn::Config::default())];
        setup.flow_control = Some(Config::Bfc(bfc::Config::default()));
        setup.seed = seed;
        setup
    }

    /// After the run nothing is paused, flagged or held: every pause was resumed.
    fn ends_clean<E: Engine>(setup: &Setup) {
        let mut engine = E::new(setup).unwrap();
        let end = Time::from_ms(100);
        while engine.advance(end) == Progress::Going {}
        assert_eq!(engine.tally().live, 0, "all flows are over");
        let fabric = engine.fabric();
        let pauses: u32 = fabric.pauses.links.iter().map(LinkPauses::frames).sum();
        assert!(pauses > 100, "{pauses}");
        assert_eq!(fabric.pauses.to_switches, 0);
        assert_eq!(fabric.pauses.to_hosts, 0);
        let mut links = fabric.pauses.links.iter();
        assert!(!links.any(LinkPauses::is_any_paused));
        let bfc = fabric.bfc.as_ref().unwrap();
        assert!(bfc.flagged.iter().all(Flagged::is_empty));
        assert!(!bfc.tags.iter().any(|tag| tag.is_flagged));
        for sender in &bfc.senders {
            assert!(!sender.is_any_paused() && sender.is_empty());
        }
    }

    #[test]
    fn every_pause_is_resumed() {
        for seed in 1..4 {
            ends_clean::<BucketEngine>(&overload(seed));
            ends_clean::<HeapEngine>(&overload(seed));
        }
    }
}
