//! The fabric: links, ports and switches. Packets come from hosts or links, pass ports and go onto
//! links.
//!
//! Ports are driven lazily: no event happens when a packet leaves. In the fast engine a port
//! handles a whole bucket at once: its arrivals in order, and the departures between them. If the
//! ports of a node depend on each other, because they share a pool or pause each other's
//! neighbours, the node handles one arrival at a time, with all of its ports up to date.

mod agenda;
mod bfc;
mod coupling;
mod pauses;
mod single;

use std::any::Any;

use tidegate_dataplane::buffer::AnyBuffer;
use tidegate_dataplane::egress::{Egress, Offer, Sent, Served};
use tidegate_dataplane::{Departure, PortConfig, buffer};
use tidegate_units::{ByteTime, ConfigError, PktId, PortId, QueueId, Span, Time};

use self::agenda::{Agenda, Start};
use self::bfc::Bfc;
use self::coupling::Coupling;
pub use self::coupling::EngineCounters;
use self::pauses::Pauses;
use crate::calendar::sort::{self, Batch, ByTarget};
use crate::calendar::{Arrival, BucketPlan, Calendar, Destination, Rank};
use crate::hosts::HostQueueView;
use crate::network::{Link, LinkId, Network, NodeId};
use crate::observe;
use crate::observe::port::{ObservedPort, Observers};
use crate::observe::series::QueueSample;
use crate::packet::Packet;
use crate::pause::{LinkPauses, PauseCounters};
use crate::setup::{Ports, Setup};
use crate::slab::Slab;

/// Links, ports, and the packets in them.
pub(crate) struct Fabric<C> {
    pub(crate) calendar: C,
    /// All packets, from their first host to their last.
    pub(crate) packets: Slab<Packet>,
    /// Routes of all connections: for each end the links to it, then the delay of its packets from
    /// the last link on, including its host.
    pub(crate) routes: Vec<u32>,
    wires: Vec<Wire>,
    /// Port of each link, or `None` if the link's sender is an ideal host.
    ports: Vec<Option<Box<dyn Egress>>>,
    pauses: Pauses,
    /// State of the flow control that pauses single queues, if configured.
    bfc: Option<Box<Bfc>>,
    nodes: Vec<Node>,
    busy: Busy,
    /// Whether the ports of hosts, if they have any, are served at the end of a step, with all
    /// packets that the hosts sent in it.
    gathers_sends: bool,
    /// Whether buffers need the port that a packet came in through.
    counts_ingress: bool,
    /// State shared by the ports of a switch, if any.
    coupling: Option<Box<Coupling>>,
    scratch: Scratch,
    pub(crate) reports: Reports,
}

/// Ports that hold packets, by the way in which they are served.
#[derive(Debug)]
struct Busy {
    /// Switches' ports served bucket by bucket, by level, with the next start of each.
    switches: Vec<Vec<Start>>,
    /// Hosts' ports served bucket by bucket.
    hosts: Vec<Start>,
    /// Ports served one packet at a time. None sends before its recorded time.
    alone: Vec<Start>,
    /// Coupled nodes that have such ports.
    nodes: Vec<u32>,
}

/// Lists that are filled and emptied repeatedly.
#[derive(Debug)]
struct Scratch {
    /// Packets sent in the open bucket by hosts whose ports are served bucket by bucket.
    sends: Vec<Arrival>,
    by_target: ByTarget,
    offers: Batch<Offer>,
    /// Offers to the port that is served next.
    next_offers: Batch<Offer>,
    /// Memory for sorting them.
    spare_offers: Vec<Offer>,
    served: Served,
    departures: Vec<Departure>,
}

/// Results that other modules take from the fabric.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    /// Departures on captured links: time, link and packet.
    pub(crate) captured: Vec<(Time, LinkId, u32)>,
    /// Dropped packets with their times, not yet known to the hosts.
    pub(crate) dropped: Vec<(PktId, Time)>,
}

/// A link with the state that the packet path needs, in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
struct Wire {
    delay: Span,
    byte_time: ByteTime,
    /// Time at which the wire of an ideal host is free.
    free_at: Time,
    /// Kept apart from the bytes: adjacent counters would be added with vector instructions, which
    /// cost more than two additions.
    packets: u64,
    /// Node that sends on the link.
    node: u32,
    /// Number of the port at that node.
    number: u16,
    /// Classes that the node's ingress accounting separates.
    classes: u16,
    leads_to_host: bool,
    /// Whether the link leaves a host without a port.
    is_ideal: bool,
    /// Whether departures on the link are captured.
    is_captured: bool,
    /// Whether the link leaves a host without a port, leads to a switch and is not captured.
    is_fast_path: bool,
    last_queue: u8,
    /// Whether the link is listed as busy, here or by its node.
    is_busy: bool,
    /// Whether any class of the link is paused.
    is_paused: bool,
    bytes: u64,
}

const _: () = assert!(size_of::<Wire>() == 64);

/// Traffic of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent, including the accounted overhead.
    pub bytes: u64,
    /// Pause frames that stopped a class of the link.
    pub pauses: u32,
}

/// A link as seen by observers.
#[derive(Clone, Copy)]
pub(crate) struct LinkView<'a> {
    /// Traffic so far.
    pub count: LinkCount,
    /// Port of the link, unless it leaves an ideal host.
    pub port: Option<&'a (dyn Egress + 'static)>,
    /// Queue of the sending host, if it is not a port.
    pub host: Option<HostQueueView<'a>>,
    pauses: Option<&'a LinkPauses>,
}

impl<'a> LinkView<'a> {
    /// Number of queues.
    pub(crate) fn queues(&self) -> u8 {
        match (self.port, self.host) {
            (Some(port), _) => port.queues(),
            (None, host) => u8::from(host.is_some()),
        }
    }

    /// Observers of its port, if any.
    pub(crate) fn observers(&self) -> Option<&'a Observers> {
        let Some(port) = self.port else {
            return self.host.and_then(|host| host.observers);
        };
        let port: &dyn Any = port;
        port.downcast_ref().map(ObservedPort::observers)
    }

    /// State of a queue at this moment. A queue that does not exist is empty.
    pub(crate) fn sample(&self, queue: QueueId) -> QueueSample {
        let Some(port) = self.port else {
            return QueueSample {
                bytes: self.host.map_or(0, |host| host.bytes),
                packets: self.host.map_or(0, |host| host.packets),
                threshold: None,
                capacity: None,
                flows: None,
            };
        };
        let stats = port.queue_stats(queue).unwrap_or_default();
        QueueSample {
            bytes: stats.held_bytes,
            packets: stats.held_packets,
            threshold: port.threshold(queue),
            capacity: port.capacity(queue),
            flows: port.active_flows(),
        }
    }

    /// Number and length of the link's pauses until `now`.
    pub(crate) fn pauses(&self, now: Time) -> PauseCounters {
        self.pauses.map_or_else(PauseCounters::default, |pauses| pauses.counters(now))
    }
}

/// A node, whose ports share a buffer.
#[expect(clippy::struct_excessive_bools, reason = "four independent properties")]
#[derive(Debug)]
struct Node {
    buffer: AnyBuffer,
    /// Whether this part serves the node.
    is_own: bool,
    /// Whether a decision at one port may depend on events at other ports meanwhile. If so, all of
    /// them are brought up to date, in order of time, before each arrival.
    is_coupled: bool,
    /// Whether the buffer can request pause frames.
    is_lossless: bool,
    is_busy: bool,
    /// For coupled nodes: links whose ports hold packets.
    busy: Agenda,
    /// Egress links, by port number.
    links: Vec<LinkId>,
    /// Classes that ingress accounting separates.
    classes: u16,
}

impl<C: Calendar> Fabric<C> {
    /// Creates the nodes that `is_own` accepts, with their ports and links. Other parts serve the
    /// others.
    pub(crate) fn new(
        setup: &Setup,
        calendar: C,
        plan: &BucketPlan,
        is_own: impl Fn(NodeId) -> bool,
    ) -> Result<Self, ConfigError> {
        let network = &setup.network;
        let mut nodes = (0..network.nodes()).map(|_| Vec::new()).collect::<Vec<_>>();
        let mut numbers = Vec::with_capacity(network.links().len());
        for (index, link) in network.links().iter().enumerate() {
            let links: &mut Vec<LinkId> = &mut nodes[link.from.index()];
            numbers.push(PortId(u16::try_from(links.len()).map_err(|_| {
                ConfigError::out_of_range("links", links.len() + 1, "at most 65536 at a switch")
            })?));
            links.push(LinkId(index as u32));
        }
        let mut ports = Vec::with_capacity(numbers.len());
        for ((index, link), &id) in network.links().iter().enumerate().zip(&numbers) {
            let config = PortConfig {
                id,
                rate: link.rate,
                seed: setup.seed,
                stream: index as u64,
                can_pause: setup.sends_pauses(),
                ..PortConfig::default()
            };
            let ports_of = Self::ports_of(setup, network.is_host(link.from));
            let made = match ports_of.filter(|_| is_own(link.from)) {
                None => None,
                Some(ports) => {
                    let config = PortConfig { non_ect: ports.non_ect, ..config };
                    let is_switch = !network.is_host(link.from);
                    let port = match setup.custom.as_deref().filter(|_| is_switch) {
                        Some(maker) => {
                            tidegate_ports::build_custom(&config, maker, &ports.scheduling)?
                        }
                        None => tidegate_ports::build(&config, &ports.marking, &ports.scheduling)?,
                    };
                    let (id, observe) = (LinkId(index as u32), &setup.observe);
                    Some(observe::port::observed(port, id, link.rate, observe)?)
                }
            };
            ports.push(made);
        }
        let has_coupled_ports = setup.has_coupled_ports();
        let nodes = nodes.into_iter().enumerate().map(|(node, links)| {
            let is_host = node < network.hosts() as usize;
            // With buckets, each bucket decides whether the node is coupled.
            let is_coupled = has_coupled_ports && !is_host && !C::IN_BUCKETS;
            let config = Self::ports_of(setup, is_host);
            let is_own = is_own(NodeId(node as u32)); // nodes have 32 bits
            Node::new(config, links, &ports, is_coupled, is_own)
        });
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let coupling = has_coupled_ports.then(|| {
            let is_own = |node: u32| nodes[node as usize].is_own;
            Box::new(Coupling::new(setup, plan, &ports, is_own))
        });
        let all = network.links().iter().zip(&ports).zip(&numbers);
        let is_ideal = |link: &Link| network.is_host(link.from) && setup.nic.is_none();
        let wires = all.map(|((link, port), id)| Wire {
            delay: link.delay,
            byte_time: ByteTime::new(link.rate),
            free_at: Time::ZERO,
            packets: 0,
            bytes: 0,
            node: link.from.0,
            leads_to_host: network.is_host(link.to),
            is_ideal: is_ideal(link),
            is_captured: false,
            is_fast_path: is_ideal(link) && !network.is_host(link.to),
            number: id.0,
            classes: nodes[link.from.index()].classes,
            last_queue: port.as_ref().map_or(0, |port| port.queues() - 1),
            is_busy: false,
            is_paused: false,
        });
        Ok(Self {
            calendar,
            packets: Slab::new(),
            routes: Vec::new(),
            wires: wires.collect(),
            pauses: Pauses::new(setup),
            bfc: Bfc::new(setup, &ports),
            busy: Busy {
                switches: vec![Vec::new(); plan.count()],
                hosts: Vec::new(),
                alone: Vec::new(),
                nodes: Vec::new(),
            },
            gathers_sends: C::IN_BUCKETS && setup.flow_control.is_none(),
            counts_ingress: setup.sends_pauses(),
            coupling,
            scratch: Scratch {
                sends: Vec::new(),
                by_target: ByTarget::new(ports.len().max(nodes.len())),
                offers: Batch::default(),
                next_offers: Batch::default(),
                spare_offers: Vec::new(),
                served: Served::default(),
                departures: Vec::new(),
            },
            reports: Reports::default(),
            ports,
            nodes,
        })
    }

    fn ports_of(setup: &Setup, is_host: bool) -> Option<&Ports> {
        if is_host { setup.nic.as_ref() } else { Some(&setup.switch) }
    }

    /// The first link of a packet that its host has not sent yet.
    #[inline]
    pub(crate) fn first_link(&self, packet: &Packet) -> LinkId {
        LinkId(self.routes[packet.route as usize])
    }

    /// Departure times of the first and the last bit of a packet that an ideal host sends now.
    #[inline]
    pub(crate) fn sending_times(&self, link: LinkId, size: u32, now: Time) -> [Time; 2] {
        let wire = &self.wires[link.index()];
        let start = now.max(wire.free_at);
        [start, start + wire.byte_time.span(size)]
    }

    /// Sends a packet from its host. Returns the times of [`sending_times`](Self::sending_times).
    #[expect(clippy::inline_always, reason = "most callers need none of the times")]
    #[inline(always)]
    pub(crate) fn send(&mut self, id: u32, now: Time) -> [Time; 2] {
        let packet = &mut self.packets[id];
        let [link, next] = two_words(&self.routes, packet.route);
        let (link, size) = (LinkId(link), packet.pkt.len);
        packet.route += 2;
        packet.link = link;
        let times = self.sending_times(link, size, now);
        self.start(id, size, [link, LinkId(next)], now);
        times
    }

    /// Puts a packet of its host on the first link of its route. The packet already records that
    /// link.
    #[expect(clippy::inline_always, reason = "its arguments are in registers where it is used")]
    #[inline(always)]
    pub(crate) fn start(&mut self, id: u32, size: u32, [link, next]: [LinkId; 2], now: Time) {
        let wire = &mut self.wires[link.index()];
        if !wire.is_fast_path {
            self.send_slow_path(id, link, now);
            return;
        }
        // The fast path of nearly all packets: the work of `transmit`, with everything at hand.
        wire.packets += 1;
        wire.bytes += u64::from(size);
        wire.free_at = now.max(wire.free_at) + wire.byte_time.span(size);
        let arrival = Arrival { at: wire.free_at + wire.delay, target: next.0, packet: id };
        self.calendar.push_from_host(arrival, Rank::of_data(link));
    }

    /// Sends a packet from a host that has a port, or straight to another host.
    #[inline(never)]
    fn send_slow_path(&mut self, id: u32, link: LinkId, now: Time) {
        let packet = &mut self.packets[id];
        packet.route -= 1;
        let size = packet.pkt.len;
        let wire = &mut self.wires[link.index()];
        if !wire.is_ideal {
            if self.gathers_sends {
                self.scratch.sends.push(Arrival { at: now, target: link.0, packet: id });
            } else {
                self.offer(id, now);
            }
            return;
        }
        let start = now.max(wire.free_at);
        let end = start + wire.byte_time.span(size);
        wire.free_at = end;
        self.count(link, id);
        self.capture(id, link, start);
        self.transmit(id, link, end);
    }

    /// Marks links as captured.
    pub(crate) fn capture_links(&mut self, links: &[LinkId]) {
        for link in links {
            let wire = &mut self.wires[link.index()];
            wire.is_captured = true;
            wire.is_fast_path = false;
        }
    }

    /// Records a packet that begins to leave at `start`, if its link is captured.
    #[inline]
    fn capture(&mut self, id: u32, link: LinkId, start: Time) {
        if self.wires[link.index()].is_captured {
            self.reports.captured.push((start, link, id));
        }
    }

    /// Serves the switches' ports of a level until `stop`, given the arrivals until then. None of
    /// them is coupled.
    pub(crate) fn serve_switches(&mut self, level: usize, arrivals: &[Arrival], stop: Time) {
        let mut busy = std::mem::take(&mut self.busy.switches[level]);
        self.serve(arrivals, &mut busy, stop);
        self.busy.switches[level] = busy;
    }

    /// Serves the ports of hosts until `stop`, after the hosts have sent all packets until then.
    pub(crate) fn serve_hosts(&mut self, stop: Time) {
        let mut sends = std::mem::take(&mut self.scratch.sends);
        let mut busy = std::mem::take(&mut self.busy.hosts);
        self.serve(&sends, &mut busy, stop);
        sends.clear();
        (self.scratch.sends, self.busy.hosts) = (sends, busy);
        self.drain_alone(stop);
    }

    /// Serves ports until `stop`: busy ports and ports with arrivals.
    fn serve(&mut self, arrivals: &[Arrival], busy: &mut Vec<Start>, stop: Time) {
        if arrivals.is_empty() && busy.is_empty() {
            return;
        }
        let until = stop - Span::from_ps(1);
        let mut by_target = std::mem::take(&mut self.scratch.by_target);
        by_target.chain(arrivals);
        self.scratch.offers.room(0);
        let mut index = 0;
        while let Some(start) = busy.get_mut(index) {
            // A packet may be on the wire for many buckets, and arrivals wait meanwhile.
            if start.at > until {
                index += 1;
                continue;
            }
            let link = start.link;
            let is_served_below = by_target.has(link.0);
            if !is_served_below && let Some(at) = self.serve_port(link, until) {
                start.at = at;
                index += 1;
            } else {
                self.wires[link.index()].is_busy = false;
                busy.swap_remove(index);
            }
        }
        // The offers of a port are prepared before the previous port is served: its packets,
        // scattered in memory, are then loaded during other work.
        let mut index = 0;
        if index < by_target.targets() {
            self.prepare(by_target.target(0), &by_target, arrivals);
        }
        while index < by_target.targets() {
            let link = LinkId(by_target.target(index));
            index += 1;
            std::mem::swap(&mut self.scratch.offers, &mut self.scratch.next_offers);
            if index < by_target.targets() {
                self.prepare(by_target.target(index), &by_target, arrivals);
            }
            if let Some(at) = self.serve_port(link, until) {
                let wire = &mut self.wires[link.index()];
                if !wire.is_busy {
                    wire.is_busy = true;
                    busy.push(Start { at, link });
                } else if wire.is_paused {
                    // The packets that it held are paused, but a packet that is not paused may have
                    // arrived.
                    let mut listed = busy.iter_mut().chain(&mut self.busy.alone);
                    if let Some(start) = listed.find(|start| start.link == link) {
                        start.at = at;
                    }
                }
            }
        }
        self.scratch.by_target = by_target;
    }

    /// Prepares the next offers: arrivals for the port of a link.
    #[inline]
    fn prepare(&mut self, link: u32, by_target: &ByTarget, arrivals: &[Arrival]) {
        let Self { packets, wires, scratch, counts_ingress, .. } = self;
        let last_queue = wires[link as usize].last_queue;
        let offers = scratch.next_offers.room(by_target.count(link));
        let counts_ingress = *counts_ingress;
        let in_order = by_target.write(link, arrivals, offers, |arrival| {
            let packet = &packets[arrival.packet];
            let mut pkt = packet.pkt;
            if counts_ingress {
                pkt.ingress = ingress(wires, packet);
            }
            Offer {
                at: arrival.at,
                pkt,
                id: PktId(arrival.packet),
                queue: QueueId(packet.class.min(last_queue)),
            }
        });
        if !in_order {
            let key = |offer: &Offer| (offer.at, offer.id.0);
            if offers.len() > 32 {
                sort::merge_runs(offers, &mut scratch.spare_offers, packets, key);
            } else {
                sort::insertion(offers, packets, key);
            }
        }
    }

    /// Serves a port until `until`, with its offers. Returns its next start.
    #[inline]
    fn serve_port(&mut self, link: LinkId, until: Time) -> Option<Time> {
        let Self { calendar, packets, wires, scratch: Scratch { offers, served, .. }, .. } = self;
        let wire = &mut wires[link.index()];
        let port = self.ports[link.index()].as_mut().expect("a link that is served has a port");
        let buffer = &mut self.nodes[wire.node as usize].buffer;
        let next_start = port.serve(offers.as_slice(), until, buffer, served);
        wire.packets += served.sent.len() as u64;
        let params = LinkParams::of(wire, link);
        let mut bytes = 0;
        for &Sent { end, id, ecn } in &served.sent {
            let packet = &mut packets[id.0];
            packet.pkt.ecn = ecn;
            bytes += u64::from(packet.pkt.len);
            transmit(calendar, packet, id.0, params, &self.routes, end);
        }
        let wire = &mut wires[link.index()];
        wire.bytes += bytes;
        if wire.is_captured {
            for sent in &served.sent {
                let size = packets[sent.id.0].pkt.len;
                let start = sent.end - wire.byte_time.span(size);
                self.reports.captured.push((start, link, sent.id.0));
            }
        }
        served.sent.clear();
        if !served.dropped.is_empty() {
            self.reports.dropped.append(&mut served.dropped);
        }
        next_start
    }

    #[inline]
    fn count(&mut self, link: LinkId, id: u32) {
        let wire = &mut self.wires[link.index()];
        wire.packets += 1;
        wire.bytes += u64::from(self.packets[id].pkt.len);
    }

    /// Puts a packet on a link, with its last bit leaving at `end`.
    fn transmit(&mut self, id: u32, link: LinkId, end: Time) {
        let packet = &mut self.packets[id];
        let params = LinkParams::of(&self.wires[link.index()], link);
        transmit(&mut self.calendar, packet, id, params, &self.routes, end);
    }

    /// The view of a link, with the queue of its host if the host has no port.
    pub(crate) fn view<'a>(
        &'a self,
        link: LinkId,
        host: Option<HostQueueView<'a>>,
    ) -> LinkView<'a> {
        let wire = &self.wires[link.index()];
        let pauses = self.pauses.links.get(link.index());
        LinkView {
            count: LinkCount {
                packets: wire.packets,
                bytes: wire.bytes,
                pauses: pauses.map_or(0, LinkPauses::frames),
            },
            port: self.ports[link.index()].as_deref(),
            host,
            pauses,
        }
    }

    /// Resizes the table of routes to hold `words` words.
    pub(crate) fn make_room_for_routes(&mut self, words: usize) {
        self.routes.resize(words.max(self.routes.len()), 0);
    }

    /// Whether this part serves the node that sends on a link.
    pub(crate) fn has(&self, link: LinkId) -> bool {
        self.nodes[self.wires[link.index()].node as usize].is_own
    }

    /// Delay of a packet's last bit over a link.
    pub(crate) fn delay(&self, link: LinkId) -> Span {
        self.wires[link.index()].delay
    }

    /// Whether a port that is served bucket by bucket starts to send before `end`.
    #[inline]
    pub(crate) fn sends_before(&self, end: Time) -> bool {
        let sends = |starts: &Vec<Start>| starts.iter().any(|start| start.at < end);
        sends(&self.busy.hosts) || self.busy.switches.iter().any(sends)
    }
}

/// Parameters of a link that affect a packet.
#[derive(Clone, Copy)]
struct LinkParams {
    link: LinkId,
    delay: Span,
    leads_to_host: bool,
}

impl LinkParams {
    #[inline]
    const fn of(wire: &Wire, link: LinkId) -> Self {
        Self { link, delay: wire.delay, leads_to_host: wire.leads_to_host }
    }
}

/// Schedules the arrival of a packet whose last bit leaves at `end`.
#[expect(clippy::inline_always, reason = "its arguments are in registers where it is used")]
#[inline(always)]
fn transmit<C: Calendar>(
    calendar: &mut C,
    packet: &mut Packet,
    id: u32,
    params: LinkParams,
    routes: &[u32],
    end: Time,
) {
    packet.link = params.link;
    let rank = Rank::of(packet);
    let [low, high] = two_words(routes, packet.route);
    if params.leads_to_host {
        let last = Span::from_ps(u64::from(high) << 32 | u64::from(low));
        let arrival = Arrival { at: end + last, target: params.link.0, packet: id };
        calendar.push(arrival, Destination::Host, rank);
    } else {
        packet.route += 1;
        let arrival = Arrival { at: end + params.delay, target: low, packet: id };
        calendar.push(arrival, Destination::Switch, rank);
    }
}

/// Reads two words of the table of routes with a single bounds check.
#[inline]
pub(crate) fn two_words(routes: &[u32], begin: u32) -> [u32; 2] {
    let begin = begin as usize;
    let second = routes[begin + 1];
    [routes[begin], second]
}

/// Ingress account of a packet at the switch that it has reached.
#[inline]
fn ingress(wires: &[Wire], packet: &Packet) -> u16 {
    let back = &wires[Network::reverse(packet.link).index()];
    let class = u16::from(packet.class).min(back.classes - 1);
    back.number * back.classes + class
}

/// Classes that a buffer's ingress accounting separates.
fn classes(config: &buffer::Config) -> u16 {
    u16::from(match config {
        buffer::Config::Pfc(pfc) => pfc.classes,
        buffer::Config::PfcOver(pair) => pair.0.classes,
        _ => 1,
    })
}

impl Node {
    fn new(
        ports: Option<&Ports>,
        links: Vec<LinkId>,
        made: &[Option<Box<dyn Egress>>],
        is_coupled: bool,
        is_own: bool,
    ) -> Result<Self, ConfigError> {
        let mut made = links.iter().filter_map(|link| made[link.index()].as_deref());
        let queues = made.next().map_or(1, Egress::queues);
        let unlimited =
            buffer::Config::named("unlimited").expect("`unlimited` is the name of a buffer");
        let config = ports.map_or(&unlimited, |ports| &ports.buffer);
        let count = u16::try_from(links.len()).unwrap_or(u16::MAX).max(1);
        let built = if is_own { config } else { &unlimited };
        let buffer = built.build(count, queues)?;
        let is_lossless = matches!(buffer, AnyBuffer::Pfc(_) | AnyBuffer::PfcOver(_));
        Ok(Self {
            is_own,
            is_coupled,
            classes: classes(config),
            buffer,
            is_lossless,
            is_busy: false,
            busy: Agenda::default(),
            links,
        })
    }
}
