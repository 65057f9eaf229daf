//! One packet at a time: nodes whose ports depend on each other or can be paused, and everything on the
//! reference engine.

use tidegate_dataplane::buffer::{Buffer, PauseAction};
use tidegate_dataplane::egress::Egress;
use tidegate_dataplane::{Action, Departure, Pkt};
use tidegate_units::{PktId, QueueId, Span, Time};

use super::agenda::Start;
use super::{Fabric, ingress};
use crate::calendar::{Arrival, Calendar, Destination, Rank};
use crate::network::{LinkId, Network};
use crate::observe::link::PAUSE_FRAME;
use crate::packet::Packet;

impl<C: Calendar> Fabric<C> {
    /// A packet reaches a switch, when everything before that has been done.
    pub(crate) fn arrive(&mut self, arrival: &Arrival) {
        if self.packets[arrival.packet].is_pause() {
            self.on_pause(arrival);
        } else {
            self.offer(arrival.packet, arrival.at);
        }
    }

    /// Offers a packet to the port of its next link.
    pub(super) fn offer(&mut self, id: u32, now: Time) {
        let packet = &self.packets[id];
        // What the packet knows of its route begins behind its next link.
        let next = self.routes[packet.route as usize - 1];
        let link = LinkId(next);
        let node_id = self.wires[link.index()].node;
        let is_coupled = self.nodes[node_id as usize].is_coupled;
        if is_coupled {
            self.settle(node_id, now);
        }
        let packet = &self.packets[id];
        let pkt = Pkt {
            ingress: ingress(&self.wires, packet),
            ..packet.pkt
        };
        let wire = &mut self.wires[link.index()];
        let queue = QueueId(packet.class.min(wire.last_queue));
        let node = &mut self.nodes[node_id as usize];
        let port = self.ports[link.index()]
            .as_mut()
            .expect("only ideal hosts have no port");
        let (buffer, out) = (&mut node.buffer, &mut self.scratch.departures);
        let taken = port.arrive(PktId(id), pkt, queue, now, buffer, out);
        if taken.is_err() {
            self.reports.dropped.push((PktId(id), now));
        } else if !wire.is_busy {
            wire.is_busy = true;
            let at = port.next_start().expect("it took a packet");
            if is_coupled {
                node.busy.add(at, link);
                if !node.is_busy {
                    node.is_busy = true;
                    self.busy.nodes.push(node_id);
                }
            } else {
                self.busy.alone.push(Start { at, link });
            }
        }
        self.transmit_departures(link);
        if is_coupled {
            self.send_pauses(node_id, now);
        }
    }

    /// Takes everything that starts to leave before `end` at ports that are served one packet at a
    /// time.
    pub(crate) fn drain(&mut self, end: Time) {
        self.drain_alone(end);
        self.drain_coupled(end);
    }

    /// The same at ports that depend on no other.
    pub(super) fn drain_alone(&mut self, end: Time) {
        let until = end - Span::from_ps(1);
        let mut index = 0;
        while let Some(start) = self.busy.alone.get_mut(index) {
            // A packet may be on the wire for many buckets.
            if start.at > until {
                index += 1;
                continue;
            }
            let link = start.link;
            let node = &mut self.nodes[self.wires[link.index()].node as usize];
            let port = self.ports[link.index()]
                .as_mut()
                .expect("only ports are busy");
            port.drain(until, &mut node.buffer, &mut self.scratch.departures);
            match port.next_start() {
                Some(at) => {
                    start.at = at;
                    index += 1;
                }
                None => {
                    self.wires[link.index()].is_busy = false;
                    self.busy.alone.swap_remove(index);
                }
            }
            self.transmit_departures(link);
        }
    }

    /// The same at coupled nodes.
    pub(super) fn drain_coupled(&mut self, end: Time) {
        let until = end - Span::from_ps(1);
        let mut index = 0;
        while let Some(&node_id) = self.busy.nodes.get(index) {
            self.settle(node_id, until);
            let node = &mut self.nodes[node_id as usize];
            if node.busy.is_empty() {
                node.is_busy = false;
                self.busy.nodes.swap_remove(index);
            } else {
                index += 1;
            }
        }
    }

    /// Takes everything that starts to leave a coupled node no later than `until`, in order of
    /// time, and of links at one moment.
    #[inline]
    fn settle(&mut self, node_id: u32, until: Time) {
        while let Some(next) = self.nodes[node_id as usize].busy.due(until) {
            self.serve_next(node_id, next);
        }
    }

    /// Takes what starts to leave a coupled node next.
    fn serve_next(&mut self, node_id: u32, Start { at, link }: Start) {
        let node = &mut self.nodes[node_id as usize];
        let port = self.ports[link.index()]
            .as_mut()
            .expect("only ports are busy");
        port.drain(at, &mut node.buffer, &mut self.scratch.departures);
        let next = port.next_start();
        self.wires[link.index()].is_busy = next.is_some();
        node.busy.replace_first(next);
        self.transmit_departures(link);
        self.send_pauses(node_id, at);
    }

    fn transmit_departures(&mut self, link: LinkId) {
        for index in 0..self.scratch.departures.len() {
            let Departure { at, id, ecn, .. } = self.scratch.departures[index];
            if self.scratch.departures[index].action == Action::Send {
                let packet = &mut self.packets[id.0];
                packet.set_ecn(ecn);
                let span = self.wires[link.index()].byte_time.span(packet.pkt.len);
                self.count(link, id.0);
                self.capture(id.0, link, at);
                self.transmit(id.0, link, at + span);
            } else {
                self.reports.dropped.push((id, at));
            }
        }
        self.scratch.departures.clear();
    }

    /// Sends the pause frames that a node's buffer asks for.
    #[inline]
    fn send_pauses(&mut self, node_id: u32, now: Time) {
        if self.nodes[node_id as usize].is_lossless {
            self.send_pauses_of(node_id, now);
        }
    }

    fn send_pauses_of(&mut self, node_id: u32, now: Time) {
        let node = &mut self.nodes[node_id as usize];
        while let Some(pause) = node.buffer.poll_pause() {
            let link = node.links[usize::from(pause.ingress / node.classes)];
            let wire = &self.wires[link.index()];
            let packet = self.packets.insert(Packet {
                link,
                spilled: Packet::PAUSE,
                class: pause.action as u8,
                ..Packet::default()
            });
            // A pause frame does not wait for data: it goes out at once.
            let at = now + wire.byte_time.span(PAUSE_FRAME) + wire.delay;
            let (destination, target) = if wire.leads_to_host {
                (Destination::Host, link.0)
            } else {
                (Destination::Switch, Network::reverse(link).0)
            };
            let rank = Rank::of(&self.packets[packet]);
            let arrival = Arrival { at, target, packet };
            self.calendar.push(arrival, destination, rank);
            self.pauses.in_flight += 1;
        }
    }

    /// A pause frame reaches the node whose port it stops or lets go.
    #[cold]
    pub(crate) fn on_pause(&mut self, arrival: &Arrival) {
        let frame = self.packets.take(arrival.packet);
        self.pauses.in_flight -= 1;
        let (link, now) = (Network::reverse(frame.link), arrival.at);
        let wire = &mut self.wires[link.index()];
        let was_paused = wire.pauses > 0;
        if frame.class == PauseAction::Pause as u8 {
            wire.pauses += 1;
            self.pauses.received[link.index()] += 1;
        } else {
            wire.pauses = wire.pauses.saturating_sub(1);
        }
        let is_paused = wire.pauses > 0;
        if was_paused == is_paused {
            return;
        }
        if is_paused {
            self.pauses.clocks[link.index()].stop(now);
        } else {
            self.pauses.clocks[link.index()].resume(now);
        }
        let node_id = wire.node;
        if self.nodes[node_id as usize].is_coupled {
            self.settle(node_id, now);
        }
        if let Some(port) = self.ports[link.index()].as_mut() {
            let buffer = &mut self.nodes[node_id as usize].buffer;
            port.drain(now, buffer, &mut self.scratch.departures);
            port.hold(if is_paused { Time::MAX } else { now });
            if let Some(at) = port.next_start() {
                self.nodes[node_id as usize].busy.change(link, at);
                let mut alone = self.busy.alone.iter_mut();
                if let Some(start) = alone.find(|start| start.link == link) {
                    start.at = at;
                }
            }
            self.transmit_departures(link);
        }
    }

    /// When the next packet leaves a port.
    pub(crate) fn next_start(&self) -> Option<Time> {
        let nodes = self.busy.nodes.iter();
        let coupled = nodes.filter_map(|&node| self.nodes[node as usize].busy.first());
        let links = self.busy.alone.iter().map(|start| start.link);
        let ports = links.filter_map(|link| self.ports[link.index()].as_deref());
        let alone = ports.filter_map(Egress::next_start);
        alone.chain(coupled.map(|start| start.at)).min()
    }
}
