//! The hosts: flows start, segments arrive, timers run out, and what the transports answer goes
//! into the network.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tidegate_transport::Segment;
use tidegate_transport::pias::{self, Pias};
use tidegate_transport::rate::dcqcn;
use tidegate_units::{ByteTime, ConfigError, Ecn, Rate, Rng, Span, Time};

use crate::calendar::{Arrival, Calendar};
use crate::capture::{Content, Shown};
use crate::connection::{Connection, Ends, Phase, Prober, Writer, arrived};
use crate::fabric::Fabric;
use crate::flow::Flow;
use crate::network::{HostId, LinkId};
use crate::packet::{EndId, Packet, Side};
use crate::result::FlowResult;
use crate::routes::Routes;
use crate::setup::{Accounting, Delayed, HostDelay, Opening, Setup, Transport};
use crate::slab::Slab;
use crate::workload::Probe;

/// All hosts.
pub(crate) struct Hosts {
    pub(crate) connections: Vec<Connection>,
    /// Places of connections that are over, by the time since when. A place is taken again only a
    /// while later, so that its number does not depend on how far ahead an engine works.
    free: BinaryHeap<Reverse<(Time, u32)>>,
    /// Idle connections by source and destination.
    idle: BTreeMap<(HostId, HostId), BinaryHeap<Reverse<u32>>>,
    timers: BinaryHeap<Reverse<(Time, Wake)>>,
    /// When the next flow starts or the next timer runs out.
    next_at: Time,
    pub(crate) flows: Vec<Flow>,
    /// Flows that have started.
    pub(crate) started: usize,
    pub(crate) results: Vec<FlowResult>,
    /// Segments that do not fit into their packets.
    wholes: Slab<Segment>,
    routes: Routes,
    /// The way that each flow takes where it has a choice, if they are named.
    paths: Vec<u32>,
    path: Vec<LinkId>,
    /// The speed of each host's link.
    lines: Vec<Rate>,
    rules: Rules,
    pub(crate) tally: Tally,
    /// When a packet was last delivered, or an application last wrote, or somewhat later.
    pub(crate) progress_at: Time,
    /// No timer that is set runs out sooner than this.
    least_timer: Span,
    /// Flows that end by themselves and have not yet.
    to_finish: u32,
    /// Whether there were any.
    has_ends: bool,
    /// When a flow last finished or broke.
    last_over: Time,
    probes: Vec<Probe>,
}

/// How a flow's way is chosen.
#[derive(Clone, Copy)]
enum Choice {
    Hash(u64),
    Named(u32),
}

/// What is to be woken: an end × 2, plus 1 for the application at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wake(u64);

impl Wake {
    const fn transport(end: EndId) -> Self {
        Self((end.0 as u64) << 1)
    }

    const fn application(end: EndId) -> Self {
        Self((end.0 as u64) << 1 | 1)
    }

    const fn end(self) -> EndId {
        EndId((self.0 >> 1) as u32)
    }

    const fn is_application(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The settings that hosts need.
struct Rules {
    transports: Vec<Transport>,
    accounting: Accounting,
    opening: Opening,
    tagging: Option<pias::Config>,
    host_delay: HostDelay,
    seed: u64,
    /// Words of the table of ways that each end has.
    stride: u32,
    /// Whether something depends on where in its flow a packet is: its tag, or its rank.
    reads_position: bool,
    /// No engine knows more than this much less than everything up to now.
    lookahead: Span,
}

/// Totals over all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Flows whose sender has the last ACK.
    pub finished: u32,
    /// Flows whose connection broke.
    pub broken: u32,
    /// Flows at work.
    pub live: u32,
    /// Packets sent by hosts.
    pub sent: u64,
    /// Packets that arrived at hosts.
    pub delivered: u64,
    /// Packets that the network dropped.
    pub dropped: u64,
}

/// The streams of random numbers that hosts draw from, apart from those of ports.
const PLACE_OF_PATHS: u64 = 1 << 40;
const PLACE_OF_DELAYS: u64 = 2 << 40;

/// A size that no run reaches, and that can be added to.
pub(crate) const ENDLESS: u64 = 1 << 62;

impl Hosts {
    pub(crate) fn new(setup: &Setup, routes: Routes) -> Result<Self, ConfigError> {
        let network = &setup.network;
        let mut lines = vec![Rate::from_gbps(1); network.hosts() as usize];
        for link in network.links() {
            if let Some(line) = lines.get_mut(link.from.index()) {
                *line = link.rate;
            }
        }
        let mut path = Vec::new();
        for (flow, &choice) in setup.flows.iter().zip(&setup.paths) {
            for (from, to) in [(flow.src, flow.dst), (flow.dst, flow.src)] {
                routes.path_by_choice(from, to, choice, 0, &mut path)?;
            }
        }
        // Whether the settings can be used is known before the run.
        for transport in &setup.transports {
            Ends::new(transport, setup.opening, lines[0], 0)?;
        }
        if let Some(config) = &setup.tagging {
            Pias::new(config)?;
        }
        let mut hosts = Self {
            connections: Vec::new(),
            free: BinaryHeap::new(),
            idle: BTreeMap::new(),
            timers: BinaryHeap::new(),
            next_at: Time::MAX,
            results: vec![FlowResult::PENDING; setup.flows.len()],
            flows: setup.flows.clone(),
            started: 0,
            wholes: Slab::new(),
            paths: setup.paths.clone(),
            path,
            lines,
            rules: Rules {
                transports: setup.transports.clone(),
                accounting: setup.accounting,
                opening: setup.opening,
                tagging: setup.tagging.clone(),
                host_delay: setup.host_delay.clone(),
                seed: setup.seed,
                // The links of a way, and two words for the host's delay.
                stride: routes.longest() + 2,
                reads_position: setup.ranks() || setup.tagging.is_some(),
                lookahead: setup.lookahead(),
            },
            routes,
            tally: Tally::default(),
            progress_at: Time::ZERO,
            least_timer: least_timer(setup),
            to_finish: setup.flows.iter().filter(|flow| ends(flow)).count() as u32,
            has_ends: setup.flows.iter().any(ends),
            last_over: Time::ZERO,
            probes: setup.probes.clone(),
        };
        hosts.look_ahead();
        Ok(hosts)
    }

    /// When the next flow starts or the next timer runs out.
    #[inline]
    pub(crate) const fn next_at(&self) -> Time {
        self.next_at
    }

    /// Whether the hosts only answer arrivals until `stop`, `ahead` from now: no flow starts and no
    /// timer runs out, not even one that is set meanwhile. Hosts do not hear of each other, so each
    /// may then be served alone.
    #[inline]
    pub(crate) fn only_answer(&self, stop: Time, ahead: Span) -> bool {
        self.next_at >= stop && ahead <= self.least_timer
    }

    fn look_ahead(&mut self) {
        let start = self
            .flows
            .get(self.started)
            .map_or(Time::MAX, |flow| flow.start);
        let timer = self.timers.peek().map_or(Time::MAX, |Reverse((at, _))| *at);
        self.next_at = start.min(timer);
    }

    /// Starts the next flow or runs the next timer.
    pub(crate) fn wake<C: Calendar>(&mut self, fabric: &mut Fabric<C>) {
        let now = self.next_at;
        if self
            .flows
            .get(self.started)
            .is_some_and(|flow| flow.start <= now)
        {
            self.start(fabric);
        } else if let Some(Reverse((_, wake))) = self.timers.pop() {
            if wake.is_application() {
                self.write_more(fabric, wake.end(), now);
            } else {
                self.on_timer(fabric, wake.end(), now);
            }
        }
        self.look_ahead();
    }

    /// A packet arrives at its host.
    #[inline]
    pub(crate) fn deliver<C: Calendar>(&mut self, fabric: &mut Fabric<C>, arrival: &Arrival) {
        let packet = &fabric.packets[arrival.packet];
        let (end, now) = (packet.end, arrival.at);
        if end == EndId::NONE {
            fabric.on_pause(arrival);
            return;
        }
        self.tally.delivered += 1;
        let connection = &mut self.connections[end.slot()];
        connection.in_flight -= 1;
        let Ends::Tcp(ends) = &mut connection.ends else {
            self.deliver_other(fabric, arrival);
            return;
        };
        let side = end.side();
        let endpoint = &mut ends[side as usize];
        if packet.whole == 0 {
            endpoint.on_segment(&packet.segment(), now);
        } else {
            let whole = self.wholes.take(packet.whole - 1);
            let ecn = packet.ecn;
            endpoint.on_segment(&Segment { ecn, ..whole }, now);
        }
        fabric.packets.free(arrival.packet);
        if arrived(endpoint, side) < connection.marks[side as usize] {
            self.pump_tcp(fabric, end, now);
        } else {
            self.turn_page(fabric, end, now);
        }
    }

    /// A packet arrives that is not TCP.
    #[inline(never)]
    fn deliver_other<C: Calendar>(&mut self, fabric: &mut Fabric<C>, arrival: &Arrival) {
        let packet = fabric.packets.take(arrival.packet);
        let (end, now) = (packet.end, arrival.at);
        let connection = &mut self.connections[end.slot()];
        match (&mut connection.ends, end.side()) {
            (Ends::Dcqcn(ends), Side::Source) => ends.0.on_packet(&packet.dcqcn(), now),
            (Ends::Dcqcn(ends), Side::Sink) => ends.1.on_packet(&packet.dcqcn(), now),
            (Ends::Prober(prober), side) => prober.on_packet(side, packet.sent(), now),
            (Ends::Tcp(_), _) => {}
        }
        if connection.ends.arrived(end.side()) < connection.marks[end.side() as usize] {
            self.pump(fabric, end, now);
        } else {
            self.turn_page(fabric, end, now);
        }
    }

    /// A packet arrives after which the flow is further than before, or over.
    #[inline(never)]
    fn turn_page<C: Calendar>(&mut self, fabric: &mut Fabric<C>, end: EndId, now: Time) {
        if self.connections[end.slot()].phase() != Phase::Over {
            self.advance(end, now);
        }
        self.pump(fabric, end, now);
        self.release_if_over(end, now);
    }

    /// The network dropped a packet.
    #[cold]
    fn on_dropped(&mut self, packet: &Packet, at: Time) {
        self.tally.dropped += 1;
        if packet.whole != 0 {
            self.wholes.take(packet.whole - 1);
        }
        self.connections[packet.end.slot()].in_flight -= 1;
        self.release_if_over(packet.end, at);
    }

    /// Hears of the packets that the network has dropped.
    #[inline]
    pub(crate) fn take_dropped<C>(&mut self, fabric: &mut Fabric<C>) {
        while let Some((id, at)) = fabric.dropped.pop() {
            let packet = fabric.packets.take(id.0);
            self.on_dropped(&packet, at);
        }
    }

    /// The receiver has everything, or the sender knows it.
    fn advance(&mut self, end: EndId, now: Time) {
        let connection = &mut self.connections[end.slot()];
        let result = &mut self.results[connection.flow as usize];
        if end.side() == Side::Sink {
            connection.enter(Phase::Received);
            result.received_at = now;
            return;
        }
        result.acked_at = now;
        self.tally.finished += 1;
        self.end_flow(end, now);
        if self.rules.opening == Opening::Persistent {
            let connection = &mut self.connections[end.slot()];
            connection.enter(Phase::Idle);
            let flow = &self.flows[connection.flow as usize];
            let idle = self.idle.entry((flow.src, flow.dst)).or_default();
            idle.push(Reverse(end.slot() as u32));
        }
    }

    /// The flow of a connection is over, one way or the other.
    fn end_flow(&mut self, end: EndId, now: Time) {
        self.last_over = self.last_over.max(now);
        let connection = &mut self.connections[end.slot()];
        self.to_finish -= u32::from(ends(&self.flows[connection.flow as usize]));
        connection.enter(Phase::Over);
        connection.writer = None;
        let counts = connection.ends.counts().since(connection.before);
        let result = &mut self.results[connection.flow as usize];
        result.retransmissions = counts.retransmissions;
        result.timeouts = counts.timeouts;
        result.marks = counts.marks;
        self.tally.live -= 1;
    }

    /// Whether every flow is finished that can, or `enough` of them.
    #[inline]
    pub(crate) fn has_finished(&self, enough: Option<u32>) -> bool {
        let finished = self.tally.finished;
        (self.has_ends && self.to_finish == 0) || enough.is_some_and(|enough| finished >= enough)
    }

    /// When the last flow finished or broke, or the one that made them `enough`.
    pub(crate) fn last_finish(&self, enough: Option<u32>) -> Time {
        let Some(enough) = enough.filter(|&enough| enough <= self.tally.finished) else {
            return self.last_over;
        };
        let finishes = self.results.iter().map(|result| result.acked_at);
        let mut finishes = finishes.collect::<Vec<_>>();
        let last = (enough as usize).saturating_sub(1);
        *finishes.select_nth_unstable(last).1
    }

    /// A packet as a capture shows it, which it is only while on its way.
    pub(crate) fn show(&self, packet: &Packet) -> Shown {
        let connection = &self.connections[packet.end.slot()];
        let slot = packet.end.slot() as u32;
        let flow = &self.flows.get(connection.flow as usize);
        let (source, sink) = match (&connection.ends, flow) {
            (Ends::Prober(prober), _) => prober.hosts,
            (_, Some(flow)) => (flow.src, flow.dst),
            (_, None) => Default::default(),
        };
        let (src, dst) = match packet.end.side() {
            Side::Source => (sink, source),
            Side::Sink => (source, sink),
        };
        let body = match &connection.ends {
            Ends::Dcqcn(_) => Content::Roce(packet.dcqcn()),
            Ends::Prober(_) => Content::Echo(packet.end.side()),
            Ends::Tcp(_) if packet.whole == 0 => Content::Tcp(packet.segment()),
            Ends::Tcp(_) => Content::Tcp(Segment {
                ecn: packet.ecn,
                ..self.wholes[packet.whole - 1]
            }),
        };
        Shown {
            src,
            dst,
            slot,
            packet: *packet,
            body,
        }
    }

    /// The round trips of the probes.
    pub(crate) fn take_probes(&mut self) -> Vec<Vec<(Time, Span)>> {
        let series = self.connections.iter_mut().filter_map(|connection| {
            let Ends::Prober(prober) = &mut connection.ends else {
                return None;
            };
            Some(std::mem::take(&mut prober.round_trips))
        });
        series.collect()
    }

    /// The run ended at `end`: what came later did not happen, and what unfinished flows have seen
    /// so far is counted.
    pub(crate) fn end_run(&mut self, end: Time) {
        for result in &mut self.results {
            if result.received_at > end {
                result.received_at = Time::MAX;
            }
            if result.acked_at != Time::MAX && result.acked_at > end {
                result.acked_at = Time::MAX;
                self.tally.finished -= 1;
                self.tally.live += 1;
            }
        }
        for connection in &self.connections {
            if connection.phase() < Phase::Idle {
                let counts = connection.ends.counts().since(connection.before);
                let result = &mut self.results[connection.flow as usize];
                result.retransmissions = counts.retransmissions;
                result.timeouts = counts.timeouts;
                result.marks = counts.marks;
            }
        }
    }

    /// What the flows that are not finished wait for.
    #[cold]
    pub(crate) fn diagnosis(&self) -> String {
        let waiting = self.connections.iter().filter(|c| c.phase() < Phase::Idle);
        let mut lines = vec![format!("{} flows wait and nothing moves", self.tally.live)];
        for connection in waiting.take(5) {
            let flow = &self.flows[connection.flow as usize];
            lines.push(format!(
                "flow {} from host {} to host {}: {} of {} bytes received, {} packets in flight, {} timeouts",
                connection.flow,
                flow.src,
                flow.dst,
                flow.bytes - (connection.goal - connection.ends.arrived(Side::Sink)).min(flow.bytes),
                flow.bytes,
                connection.in_flight,
                connection.ends.counts().since(connection.before).timeouts,
            ));
        }
        lines.join("\n")
    }

    /// Gives the place of a connection back once nothing of it is left.
    fn release_if_over(&mut self, end: EndId, now: Time) {
        let slot = end.slot();
        let connection = &mut self.connections[slot];
        if connection.phase() == Phase::Over && connection.in_flight == 0 {
            connection.armed = [Time::MAX; 2];
            self.free.push(Reverse((now, slot as u32)));
        }
    }

    /// Sends what an end has to send, and sets its timer.
    #[inline(never)]
    fn pump<C: Calendar>(&mut self, fabric: &mut Fabric<C>, end: EndId, now: Time) {
        let side = end.side();
        let connection = &mut self.connections[end.slot()];
        loop {
            let mut packet = Packet {
                end: end.peer(),
                route: end.peer().0 * self.rules.stride,
                serial: self.tally.sent as u16,
                class: connection.service,
                ..Packet::default()
            };
            let next = match (&mut connection.ends, side) {
                (Ends::Dcqcn(ends), Side::Source) => ends.0.poll_packet(now),
                (Ends::Dcqcn(ends), Side::Sink) => ends.1.poll_packet(),
                (Ends::Prober(prober), side) => {
                    let Some(sent) = prober.poll(side, now) else {
                        break;
                    };
                    packet.size = prober.size;
                    packet.set_sent(sent);
                    connection.in_flight += 1;
                    self.tally.sent += 1;
                    fabric.send(packet, now);
                    continue;
                }
                (Ends::Tcp(_), _) => return self.pump_tcp(fabric, end, now),
            };
            let Some(next) = next else { break };
            // Both fit: the set-up was checked for it.
            packet.len = next.len as u16;
            packet.size = self.rules.accounting.size(next.len) as u16;
            if next.kind != dcqcn::Kind::Data {
                // Feedback has the first class to itself, which is never paused.
                packet.class = 0;
            }
            packet.set_dcqcn(&next);
            connection.in_flight += 1;
            self.tally.sent += 1;
            fabric.send(packet, now);
        }
        if let Some(at) = connection.ends.deadline(side) {
            self.set_timer(end, at, now);
        }
    }

    /// Sends what a TCP end has to send, and sets its timer.
    #[inline]
    fn pump_tcp<C: Calendar>(&mut self, fabric: &mut Fabric<C>, end: EndId, now: Time) {
        let connection = &mut self.connections[end.slot()];
        let (side, rules) = (end.side(), &self.rules);
        let Ends::Tcp(ends) = &mut connection.ends else {
            return;
        };
        let endpoint = &mut ends[side as usize];
        loop {
            // By reference: as a value it would be copied, in pieces that its parts do not fit.
            let polled = endpoint.poll_segment(now);
            let Some(segment) = &polled else { break };
            let (mut class, mut ecn, mut urgency, mut whole) =
                (connection.service, segment.ecn, 0, 0);
            if rules.reads_position {
                let position = endpoint.position(segment);
                if let Some(tagging) = &mut connection.tagging {
                    (class, ecn) = tag(tagging, segment, position, class, now);
                }
                let left = connection.goal - position.unwrap_or(connection.goal);
                urgency = u32::try_from(left).unwrap_or(u32::MAX);
            }
            if Packet::is_too_small_for(segment) {
                whole = self.wholes.insert(*segment) + 1;
            }
            // Written in one go, each field from where it is: what is put together first and copied
            // then makes the processor wait.
            let packet = Packet {
                end: end.peer(),
                route: end.peer().0 * rules.stride,
                link: LinkId(0),
                next: LinkId(0),
                urgency,
                seq: segment.seq.0,
                ack: segment.ack.0,
                window: segment.window,
                whole,
                serial: self.tally.sent as u16,
                // Both fit: the set-up was checked for it.
                size: rules.accounting.size(segment.len) as u16,
                len: segment.len as u16,
                flags: segment.flags.bits(),
                ecn,
                class,
                is_retransmission: segment.is_retransmission,
            };
            connection.in_flight += 1;
            self.tally.sent += 1;
            fabric.send(packet, now);
        }
        // No timer that was set just now runs out before the one that is known, if that is near.
        if connection.armed[side as usize] > now + self.least_timer
            && let Some(at) = endpoint.poll_timeout()
        {
            self.set_timer(end, at, now);
        }
    }

    /// Has an end woken at `at`, if that is sooner than it would be anyway.
    #[inline]
    fn set_timer(&mut self, end: EndId, at: Time, now: Time) {
        let armed = &mut self.connections[end.slot()].armed[end.side() as usize];
        if at < *armed {
            // A time that has passed means at once.
            let at = at.max(now);
            *armed = at;
            self.arm(at, Wake::transport(end));
        }
    }

    #[inline(never)]
    fn arm(&mut self, at: Time, wake: Wake) {
        self.timers.push(Reverse((at, wake)));
        self.next_at = self.next_at.min(at);
    }

    /// The timer of an end runs out, or once would have.
    fn on_timer<C: Calendar>(&mut self, fabric: &mut Fabric<C>, end: EndId, now: Time) {
        let side = end.side();
        let connection = &mut self.connections[end.slot()];
        if connection.armed[side as usize] != now {
            return;
        }
        connection.armed[side as usize] = Time::MAX;
        let deadline = connection.ends.deadline(side);
        if deadline.is_some_and(|at| at <= now) {
            connection.ends.on_timeout(side, now);
            if connection.ends.is_broken() && connection.phase() < Phase::Idle {
                self.tally.broken += 1;
                self.end_flow(end, now);
            }
        }
        self.pump(fabric, end, now);
        self.release_if_over(end, now);
    }

    /// The application at a source writes its next bytes.
    fn write_more<C: Calendar>(&mut self, fabric: &mut Fabric<C>, end: EndId, now: Time) {
        let connection = &mut self.connections[end.slot()];
        // An application whose connection broke may have left a timer behind, for another one that
        // has its place now.
        let Some(writer) = connection.writer.as_mut().filter(|it| it.next == now) else {
            return;
        };
        let bytes = writer.left.min(u64::from(writer.chunk));
        writer.left -= bytes;
        let next = now + writer.byte_time.span(bytes as u32);
        writer.next = next;
        let has_more = writer.left > 0;
        connection.ends.write(bytes, now);
        self.progress_at = now;
        if has_more {
            self.arm(next, Wake::application(end));
        }
        self.pump(fabric, end, now);
    }

    /// Starts the next flow of the list.
    fn start<C: Calendar>(&mut self, fabric: &mut Fabric<C>) {
        let number = self.started;
        self.started += 1;
        self.tally.live += 1;
        let flow = self.flows[number];
        let now = flow.start;
        self.progress_at = now;
        let idle = self.idle.get_mut(&(flow.src, flow.dst));
        let slot = match idle.and_then(BinaryHeap::pop) {
            Some(Reverse(slot)) => slot,
            None => self.open(fabric, number),
        };
        let end = EndId::new(slot, Side::Source);
        let connection = &mut self.connections[slot as usize];
        let bytes = flow.bytes.min(ENDLESS);
        let before = connection.goal;
        connection.goal = before.saturating_add(bytes);
        connection.flow = number as u32;
        connection.service = flow.service;
        connection.enter(Phase::Sending);
        connection.before = connection.ends.counts();
        if let Some(tagging) = &mut connection.tagging {
            let unacked = before - connection.ends.arrived(Side::Source);
            tagging.on_write(before, unacked, now);
        }
        match flow.rate {
            None => {
                connection.ends.write(bytes, now);
                self.pump(fabric, end, now);
            }
            Some(rate) => {
                connection.writer = Some(Box::new(Writer {
                    left: bytes,
                    next: now,
                    chunk: CHUNK,
                    byte_time: ByteTime::new(rate),
                }));
                self.write_more(fabric, end, now);
            }
        }
    }

    /// Makes a connection for a flow and returns its place.
    fn open<C: Calendar>(&mut self, fabric: &mut Fabric<C>, number: usize) -> u32 {
        let flow = self.flows[number];
        let numbers = path_hash(self.rules.seed, number);
        let transports = &self.rules.transports;
        let transport = transports
            .get(usize::from(flow.group))
            .or(transports.last())
            .expect("there is at least one transport");
        let line = self.lines[flow.src.index()];
        let ends = Ends::new(transport, self.rules.opening, line, numbers)
            .expect("the settings were tried before the run");
        let tagging = self.rules.tagging.as_ref().map(|config| {
            Box::new(Pias::new(config).expect("the settings were tried before the run"))
        });
        let mut connection = Connection::new(ends, flow.service);
        connection.tagging = tagging;
        let free = self
            .free
            .peek()
            .filter(|Reverse((at, _))| *at + self.rules.lookahead <= flow.start);
        let slot = if free.is_some() {
            let Reverse((_, slot)) = self.free.pop().expect("it was there");
            self.connections[slot as usize] = connection;
            slot
        } else {
            self.connections.push(connection);
            self.connections.len() as u32 - 1
        };
        let delay = host_delay(&self.rules.host_delay, self.rules.seed, number);
        let delays = match self.rules.host_delay.packets {
            Delayed::Both => [delay; 2],
            Delayed::Data => [delay, Span::ZERO],
        };
        let choice = match self.paths.get(number) {
            Some(&choice) => Choice::Named(choice),
            None => Choice::Hash(numbers),
        };
        self.lay(fabric, slot, (flow.src, flow.dst), choice, delays);
        slot
    }

    /// Starts the series of probes. They have the first places in the table.
    pub(crate) fn start_probes<C: Calendar>(&mut self, fabric: &mut Fabric<C>) {
        for (number, probe) in std::mem::take(&mut self.probes).into_iter().enumerate() {
            let prober = Prober {
                every: probe.every,
                next: probe.start,
                left: probe.count,
                // Fits: the set-up was checked for it.
                size: probe.bytes as u16,
                hosts: (probe.src, probe.dst),
                to_answer: None,
                round_trips: Vec::new(),
            };
            let ends = Ends::Prober(Box::new(prober));
            let slot = number as u32;
            let mut connection = Connection::new(ends, probe.class);
            connection.armed[Side::Source as usize] = probe.start;
            self.connections.push(connection);
            let choice = Choice::Hash(u64::from(slot));
            self.lay(
                fabric,
                slot,
                (probe.src, probe.dst),
                choice,
                [Span::ZERO; 2],
            );
            self.arm(probe.start, Wake::transport(EndId::new(slot, Side::Source)));
        }
    }

    /// Writes the ways of a connection into the table, there and back.
    fn lay<C>(
        &mut self,
        fabric: &mut Fabric<C>,
        slot: u32,
        (src, dst): (HostId, HostId),
        choice: Choice,
        delays: [Span; 2],
    ) {
        let stride = self.rules.stride as usize;
        let words = self.connections.len() * 2 * stride;
        fabric.ways.resize(words.max(fabric.ways.len()), 0);
        for (side, from, to, delay) in [
            (Side::Sink, src, dst, delays[0]),
            (Side::Source, dst, src, delays[1]),
        ] {
            match choice {
                Choice::Hash(hash) => self.routes.path(from, to, hash, &mut self.path),
                Choice::Named(choice) => {
                    let found = self
                        .routes
                        .path_by_choice(from, to, choice, 0, &mut self.path);
                    found.expect("the choices were tried before the run");
                }
            }
            let begin = EndId::new(slot, side).0 as usize * stride;
            let delay = [delay.as_ps() as u32, (delay.as_ps() >> 32) as u32];
            let words = self.path.iter().map(|link| link.0).chain(delay);
            for (place, word) in fabric.ways[begin..].iter_mut().zip(words) {
                *place = word;
            }
        }
    }
}

/// The number that chooses the path of a flow's connection.
pub(crate) fn path_hash(seed: u64, flow: usize) -> u64 {
    Rng::new(seed, PLACE_OF_PATHS + flow as u64).next_u64()
}

/// What hosts add to the way of a flow's packets.
pub(crate) fn host_delay(delays: &HostDelay, seed: u64, flow: usize) -> Span {
    let values = &delays.values;
    if values.is_empty() {
        return Span::ZERO;
    }
    let draw = Rng::new(seed, PLACE_OF_DELAYS + flow as u64).next_u32();
    let index = (u64::from(draw) * values.len() as u64) >> 32;
    values[index as usize]
}

/// Whether a flow ends by itself.
const fn ends(flow: &Flow) -> bool {
    flow.bytes != Flow::ENDLESS
}

/// The shortest time for which a timer is ever set.
fn least_timer(setup: &Setup) -> Span {
    if setup.flows.iter().any(|flow| flow.rate.is_some()) {
        return Span::ZERO;
    }
    let timers = setup.transports.iter().map(|transport| match transport {
        Transport::Dcqcn(_) => Span::ZERO,
        Transport::Tcp(tcp) => {
            let stacks = [&tcp.source.config, &tcp.sink.config];
            let timers =
                stacks.map(|stack| stack.rto_min.min(stack.rto_initial).min(stack.ack_delay));
            timers[0].min(timers[1])
        }
    });
    timers.min().unwrap_or(Span::ZERO)
}

/// Bytes that an application with a rate writes at a time: a full segment of Ethernet.
const CHUNK: u32 = 1460;

/// The class that a segment's place in the flow asks for, and its codepoint then. The last class of
/// the tags is that of the flow's service.
fn tag(
    tagging: &mut Pias,
    segment: &Segment,
    position: Option<u64>,
    service: u8,
    now: Time,
) -> (u8, Ecn) {
    let class = match position {
        Some(position) => tagging.class(position, segment.len, now),
        None => Pias::CONTROL,
    };
    let ecn = if tagging.forces_ect(class) {
        Ecn::Ect0
    } else {
        segment.ecn
    };
    if class < tagging.last_class() {
        (class, ecn)
    } else {
        (class.saturating_add(service), ecn)
    }
}
