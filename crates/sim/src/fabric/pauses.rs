//! Pause frames: switches whose buffer requests them send them, and ports obey them.

use std::collections::BTreeMap;

use tidegate_dataplane::buffer::{Buffer, PauseAction};
use tidegate_dataplane::egress::Egress;
use tidegate_units::{QueueId, Time};

use super::{Fabric, Wire};
use crate::calendar::{Arrival, Calendar, Destination, Rank};
use crate::network::{LinkId, Network};
use crate::observe::link::PAUSE_FRAME;
use crate::packet::Packet;
use crate::pause::{ClassPauses, Deadlock, Hold, LinkClass, LinkPauses, find, queues_of};
use crate::setup::Setup;

/// Paused links, and pause frames on their way.
#[derive(Debug)]
pub(super) struct Pauses {
    /// Pauses by link; empty if nothing is ever paused.
    pub(super) links: Vec<LinkPauses>,
    /// Frames on their way to a switch.
    pub(super) to_switches: u32,
    /// Frames on their way to a host.
    pub(super) to_hosts: u32,
}

impl Pauses {
    pub(super) fn new(setup: &Setup) -> Self {
        let links = if setup.sends_pauses() { setup.network.links().len() } else { 0 };
        Self { links: vec![LinkPauses::default(); links], to_switches: 0, to_hosts: 0 }
    }

    /// Frames on their way to switches, or to hosts.
    pub(super) const fn in_flight(&mut self, to_host: bool) -> &mut u32 {
        if to_host { &mut self.to_hosts } else { &mut self.to_switches }
    }
}

impl<C: Calendar> Fabric<C> {
    /// Sends the pause frames that a node's buffer requests.
    #[inline]
    pub(super) fn send_pauses(&mut self, node_id: u32, now: Time) {
        if self.nodes[node_id as usize].is_lossless {
            self.send_pauses_of(node_id, now);
        }
    }

    fn send_pauses_of(&mut self, node_id: u32, now: Time) {
        let node = &mut self.nodes[node_id as usize];
        while let Some(pause) = node.buffer.poll_pause() {
            let link = node.links[usize::from(pause.ingress / node.classes)];
            let frame = Packet {
                link,
                spilled: Packet::PAUSE,
                class: (pause.ingress % node.classes) as u8,
                // No other field of the frame is read.
                is_retransmission: pause.action == PauseAction::Pause,
                ..Packet::default()
            };
            let packet = self.packets.insert(frame);
            let wire = &self.wires[link.index()];
            send_frame(&mut self.calendar, wire, (packet, &frame), now);
            *self.pauses.in_flight(wire.leads_to_host) += 1;
        }
    }

    /// Counts a pause frame out that goes to a switch in another part of the network. Frames to
    /// hosts never do: hosts are in the part of their switch.
    pub(crate) const fn hand_pause_over(&mut self) {
        self.pauses.to_switches -= 1;
    }

    /// Counts a pause frame in that comes from another part of the network.
    pub(crate) const fn take_pause_over(&mut self) {
        self.pauses.to_switches += 1;
    }

    /// Decides how the ports of hosts are served in a bucket or a part of it, given the arrivals at
    /// hosts until then: a pause frame stops a port in the middle of it.
    #[inline]
    pub(crate) fn plan_sends(&mut self, arrivals: &[Arrival]) {
        if !self.pauses.links.is_empty() {
            let is_pause = |arrival: &Arrival| self.packets[arrival.packet].is_pause();
            let is_paused = self.pauses.to_hosts > 0 && arrivals.iter().any(is_pause);
            self.gathers_sends = C::IN_BUCKETS && self.bfc.is_none() && !is_paused;
        }
    }

    /// Pauses or resumes a class at the node that a pause frame reaches.
    #[cold]
    pub(crate) fn on_pause(&mut self, arrival: &Arrival) {
        let frame = self.packets.take(arrival.packet);
        let to_host = self.wires[frame.link.index()].leads_to_host;
        *self.pauses.in_flight(to_host) -= 1;
        if self.bfc.is_some() {
            self.on_queue_pause(&frame, arrival.at);
            return;
        }
        let (link, now) = (Network::reverse(frame.link), arrival.at);
        let classes = self.wires[frame.link.index()].classes;
        let pauses = &mut self.pauses.links[link.index()];
        let is_paused = frame.is_retransmission;
        if !pauses.change(frame.class, is_paused, now) {
            return;
        }
        let wire = &mut self.wires[link.index()];
        wire.is_paused = pauses.is_any_paused();
        let queues = pauses.queues(classes, wire.last_queue);
        let node_id = wire.node;
        if self.nodes[node_id as usize].is_coupled {
            self.settle(node_id, now);
        }
        if let Some(port) = self.ports[link.index()].as_mut() {
            let buffer = &mut self.nodes[node_id as usize].buffer;
            port.drain(now, buffer, &mut self.scratch.departures);
            port.pause(queues, now);
            let start = port.next_start();
            self.note_start(link, start);
            self.transmit_departures(link);
        }
    }

    /// Updates the next start of a port, if it is listed as busy.
    pub(super) fn note_start(&mut self, link: LinkId, start: Option<Time>) {
        let Some(at) = start else {
            return;
        };
        let node = &mut self.nodes[self.wires[link.index()].node as usize];
        node.busy.change(link, at);
        let mut of_hosts = self.busy.alone.iter_mut().chain(&mut self.busy.hosts);
        if let Some(start) = of_hosts.find(|start| start.link == link) {
            start.at = at;
        }
    }

    /// Pauses of the classes of all links until `now`.
    pub(crate) fn class_pauses(&self, now: Time) -> Vec<ClassPauses> {
        let links = (0..).map(LinkId).zip(&self.pauses.links);
        links.flat_map(|(link, pauses)| pauses.results(link, now)).collect()
    }

    /// Classes of links that will never run again, in a network of these parts.
    pub(crate) fn deadlocks(parts: &[&Self]) -> Vec<Deadlock> {
        let mut paused: Vec<(LinkClass, Time)> = Vec::new();
        for part in parts {
            for (link, pauses) in (0..).map(LinkId).zip(&part.pauses.links) {
                let classes = pauses.present();
                paused.extend(classes.map(|(class, since)| (LinkClass { link, class }, since)));
            }
        }
        paused.sort_unstable();
        let mut holds = Vec::new();
        let mut indices = BTreeMap::new();
        for (of, since) in paused {
            // The node that the link leads to may have requested a resume meanwhile.
            let back = Network::reverse(of.link);
            let asked = parts.iter().find(|part| part.has(back));
            if asked.is_some_and(|part| part.pauses_class(back, of.class)) {
                indices.insert(of, holds.len());
                holds.push(Hold { of, since, waits_for: Vec::new() });
            }
        }
        if holds.is_empty() {
            return Vec::new();
        }
        for part in parts {
            for (of, egress, queue) in part.waiting_classes() {
                if let Some(&index) = indices.get(&of) {
                    holds[index].waits_for.push(part.holders(egress, queue, &indices));
                }
            }
        }
        find(&holds)
    }

    /// Whether the node that sends on a link pauses a class of the reverse link.
    fn pauses_class(&self, link: LinkId, class: u8) -> bool {
        let wire = &self.wires[link.index()];
        let ingress = wire.number * wire.classes + u16::from(class);
        self.nodes[wire.node as usize].buffer.is_paused(ingress)
    }

    /// Classes of links whose packets wait at switches, each with the link and queue that they wait
    /// for, without duplicates.
    fn waiting_classes(&self) -> Vec<(LinkClass, LinkId, QueueId)> {
        let mut all = Vec::new();
        for (egress, port) in (0..).map(LinkId).zip(&self.ports) {
            let wire = &self.wires[egress.index()];
            let is_lossless = self.nodes[wire.node as usize].is_lossless;
            let Some(port) = port.as_deref().filter(|port| is_lossless && port.packets() > 0)
            else {
                continue;
            };
            for (id, queue) in port.waiting() {
                let packet = &self.packets[id.0];
                let class = packet.class.min(wire.classes as u8 - 1);
                let link = packet.link;
                all.push((LinkClass { link, class }, egress, queue));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Indices of the paused classes of a link that hold up a queue of its port.
    fn holders(
        &self,
        egress: LinkId,
        queue: QueueId,
        indices: &BTreeMap<LinkClass, usize>,
    ) -> Vec<usize> {
        let wire = &self.wires[egress.index()];
        let shares_queues =
            self.ports[egress.index()].as_deref().is_some_and(Egress::shares_queues);
        let pauses = &self.pauses.links[egress.index()];
        let classes = pauses.present().map(|(class, _)| class);
        let stopping = classes.filter(|&class| {
            shares_queues || queues_of(class, wire.classes, wire.last_queue).any(|it| it == queue)
        });
        let holders = stopping.filter_map(|class| {
            let of = LinkClass { link: egress, class };
            indices.get(&of).copied()
        });
        holders.collect()
    }
}

/// Sends a pause frame at once: it does not wait for data.
pub(super) fn send_frame<C: Calendar>(
    calendar: &mut C,
    wire: &Wire,
    (packet, frame): (u32, &Packet),
    now: Time,
) {
    let link = frame.link;
    let at = now + wire.byte_time.span(PAUSE_FRAME) + wire.delay;
    let (destination, target) = if wire.leads_to_host {
        (Destination::Host, link.0)
    } else {
        (Destination::Switch, Network::reverse(link).0)
    };
    let arrival = Arrival { at, target, packet };
    calendar.push(arrival, destination, Rank::of(frame));
}
