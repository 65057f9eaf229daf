//! Service of one packet at a time: for nodes whose ports depend on each other or can be paused,
//! and for everything on the reference engine.

use tidegate_dataplane::egress::Egress;
use tidegate_dataplane::{Action, Departure, Pkt};
use tidegate_units::{PktId, QueueId, Span, Time};

use super::agenda::Start;
use super::{Fabric, ingress};
use crate::calendar::{Arrival, Calendar};
use crate::network::LinkId;

impl<C: Calendar> Fabric<C> {
    /// Handles the arrival of a packet at a switch after all earlier events.
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
        // The packet's route begins behind its next link.
        let next = self.routes[packet.route as usize - 1];
        let link = LinkId(next);
        let node_id = self.wires[link.index()].node;
        let is_coupled = self.nodes[node_id as usize].is_coupled;
        if is_coupled {
            self.settle(node_id, now);
        }
        let own_queue = self.assign_queue(id, link, now);
        let packet = &self.packets[id];
        let pkt = Pkt { ingress: ingress(&self.wires, packet), ..packet.pkt };
        let wire = &mut self.wires[link.index()];
        let queue = own_queue.unwrap_or(QueueId(packet.class.min(wire.last_queue)));
        let node = &mut self.nodes[node_id as usize];
        let port =
            self.ports[link.index()].as_mut().expect("only links of ideal hosts have no port");
        let (buffer, out) = (&mut node.buffer, &mut self.scratch.departures);
        let taken = port.arrive(PktId(id), pkt, queue, now, buffer, out);
        if taken.is_ok() && own_queue.is_some() {
            self.on_queued(id, link, queue, now);
        }
        let wire = &mut self.wires[link.index()];
        let node = &mut self.nodes[node_id as usize];
        let port = self.ports[link.index()].as_mut().expect("the port exists, as checked above");
        if taken.is_err() {
            self.reports.dropped.push((PktId(id), now));
        } else if !wire.is_busy {
            wire.is_busy = true;
            let at = port.next_start().expect("a port that accepted a packet has a next start");
            if is_coupled {
                node.busy.add(at, link);
                if !node.is_busy {
                    node.is_busy = true;
                    self.busy.nodes.push(node_id);
                }
            } else {
                self.busy.alone.push(Start { at, link });
            }
        } else if wire.is_paused {
            // The packet may be the first one that is not paused.
            let start = port.next_start();
            self.note_start(link, start);
        }
        self.transmit_departures(link);
        if is_coupled {
            self.send_pauses(node_id, now);
        }
    }

    /// Takes all departures that start before `end` at ports served one packet at a time.
    pub(crate) fn drain(&mut self, end: Time) {
        self.drain_alone(end);
        self.drain_coupled(end);
    }

    /// Takes departures at ports that depend on no other port.
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
            let port = self.ports[link.index()].as_mut().expect("a busy link has a port");
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

    /// Takes departures at coupled nodes.
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

    /// Takes all departures of a coupled node that start no later than `until`, in order of time,
    /// and of links at one moment.
    #[inline]
    pub(super) fn settle(&mut self, node_id: u32, until: Time) {
        while let Some(next) = self.nodes[node_id as usize].busy.due(until) {
            self.serve_next(node_id, next);
        }
    }

    /// Takes the next departure of a coupled node.
    fn serve_next(&mut self, node_id: u32, Start { at, link }: Start) {
        let node = &mut self.nodes[node_id as usize];
        let port = self.ports[link.index()].as_mut().expect("a busy link has a port");
        port.drain(at, &mut node.buffer, &mut self.scratch.departures);
        let next = port.next_start();
        self.wires[link.index()].is_busy = next.is_some();
        node.busy.replace_first(next);
        self.transmit_departures(link);
        self.send_pauses(node_id, at);
    }

    pub(super) fn transmit_departures(&mut self, link: LinkId) {
        for index in 0..self.scratch.departures.len() {
            let Departure { at, id, ecn, .. } = self.scratch.departures[index];
            if self.bfc.is_some() {
                self.on_departed(index, link);
            }
            if self.scratch.departures[index].action == Action::Send {
                let packet = &mut self.packets[id.0];
                packet.pkt.ecn = ecn;
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

    /// Time of the next departure from a port.
    pub(crate) fn next_start(&self) -> Option<Time> {
        let nodes = self.busy.nodes.iter();
        let coupled = nodes.filter_map(|&node| self.nodes[node as usize].busy.first());
        let links = self.busy.alone.iter().map(|start| start.link);
        let ports = links.filter_map(|link| self.ports[link.index()].as_deref());
        let alone = ports.filter_map(Egress::next_start);
        let by_bucket = self.busy.switches.iter().flatten().chain(&self.busy.hosts);
        let listed = coupled.chain(by_bucket.copied()).map(|start| start.at);
        alone.chain(listed).min()
    }
}
