//! The hosts: flows start, segments arrive, timers expire, and the transports' answers go into the
//! network.

mod exchange;
pub(crate) mod numbers;
mod open;
mod outcome;
mod queue;
mod reception;
mod timers;

pub(crate) use numbers::Numbers;
pub(crate) use open::{Opened, host_delay, path_hash};
pub(crate) use outcome::{diagnosis, livelock_diagnosis};
pub(crate) use queue::HostQueueView;
use queue::{HostQueues, Left};
use reception::Reception;
use timers::{Timers, Wake};

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use tidegate_transport::Segment;
use tidegate_transport::pias::{self, Pias};
use tidegate_units::{ConfigError, Rate, Span, Time};

use crate::calendar::Calendar;
use crate::connection::{Connection, Ends};
use crate::fabric::Fabric;
use crate::flow::Flow;
use crate::network::{HostId, LinkId};
use crate::packet::{EndId, Side};
use crate::partition::Partition;
use crate::result::FlowResult;
use crate::routes::Routes;
use crate::setup::{Accounting, HostDelay, Opening, Setup, ThinkTime, Transport};
use crate::slab::Slab;
use crate::workload::Probe;

/// All hosts.
pub(crate) struct Hosts {
    pub(crate) connections: Vec<Connection>,
    /// Source of that table's slots.
    numbers: Numbers,
    /// Hosts of this part, unless all are here.
    home: Option<Home>,
    /// Flows that have started in this part of the network and that other parts do not know yet.
    pub(crate) opened: Vec<Opened>,
    /// Connections that are over, but may have packets in flight.
    pub(crate) over: Vec<u32>,
    /// Connections whose receivers have given up, with the time; their sources do not know it yet.
    pub(crate) given_up: Vec<(u32, Time)>,
    /// Connections by source and destination, if they are reused.
    pairs: BTreeMap<(HostId, HostId), Pair>,
    timers: Timers,
    /// Time of the next flow start or timer.
    next_at: Time,
    pub(crate) flows: Arc<[Flow]>,
    /// First flow that has not started, of those with a source in this part.
    pub(crate) started: usize,
    pub(crate) results: Vec<FlowResult>,
    /// Segments that do not fit into their packets: SYNs, and segments with SACK blocks.
    pub(crate) spilled: Slab<Segment>,
    routes: Arc<Routes>,
    /// Path of each flow at its first choice, if given.
    paths: Vec<u32>,
    /// Flows that are sent as messages with think times.
    think_times: Vec<(u32, ThinkTime)>,
    path: Vec<LinkId>,
    /// Speed of each host's link.
    lines: Vec<Rate>,
    rules: Rules,
    pub(crate) tally: Tally,
    /// Time of the last delivery or application write, or somewhat later.
    pub(crate) progress_at: Time,
    /// First flow found in a livelock, with the time.
    pub(crate) livelock: Option<(Time, u32)>,
    /// Shortest time for which a timer is set.
    min_timer: Span,
    /// Flows that end by themselves and have not yet ended.
    to_finish: u32,
    /// Whether there were any such flows.
    has_ends: bool,
    /// Time at which a flow last finished or broke.
    last_over: Time,
    probes: Vec<Probe>,
    /// Stage between the wire and the connections, if it takes time.
    reception: Option<Box<Reception>>,
    /// Queues between the connections and the wire, unless every packet leaves as soon as it can or
    /// waits at a port.
    queues: Option<Box<HostQueues>>,
    /// By flow: time that the flow's data waited for others at its host. Empty unless requested.
    waits: Vec<HostWait>,
}

/// Time that the data of a flow has waited at its host while the wire was not sending the flow.
#[derive(Clone, Copy, Debug)]
struct HostWait {
    waited: Span,
    /// Time until which the wire sends the flow's last packet.
    until: Time,
}

impl HostWait {
    const NONE: Self = Self { waited: Span::ZERO, until: Time::ZERO };

    /// Records a packet with its arrival and the departures of its first and last bits. Packets of
    /// a flow leave in order, so that no time counts twice.
    fn note(&mut self, [came, first, last]: [Time; 3]) {
        self.waited = self.waited + (first - came.max(self.until));
        self.until = last;
    }
}

/// Connections from one host to another.
#[derive(Debug, Default)]
pub(crate) struct Pair {
    /// Idle connections.
    pub(crate) idle: BinaryHeap<Reverse<u32>>,
    /// Number of connections that carry a flow.
    pub(crate) busy: u32,
}

/// A part of the network.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) partition: Arc<Partition>,
    pub(crate) part: u16,
}

/// Settings that hosts need.
struct Rules {
    transports: Vec<Transport>,
    accounting: Accounting,
    opening: Opening,
    tagging: Option<pias::Config>,
    host_delay: HostDelay,
    seed: u64,
    /// Words of each end in the table of routes.
    stride: u32,
    /// Whether a packet's position in its flow is needed, for its tag or its rank.
    needs_offset: bool,
    /// Whether an answer may leave at once as a header: nothing needs the whole segment, and no
    /// packet waits in a queue of its host.
    answers_at_once: bool,
    /// Most bytes that a sender may have in its host's queue, by group of flows. Empty without TCP
    /// small queues.
    limits: Vec<u64>,
    /// Whether a scheduler reads the bytes that a packet's flow has left to send.
    ranks: bool,
    /// Length of a bucket of time, as a power of two in picoseconds: an engine knows everything up
    /// to its start.
    width: u32,
}

/// Totals over all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Flows whose sender has the last ACK.
    pub finished: u32,
    /// Flows whose connection broke.
    pub broken: u32,
    /// Flows in progress.
    pub live: u32,
    /// Packets sent by hosts.
    pub sent: u64,
    /// Packets that arrived at hosts.
    pub delivered: u64,
    /// Packets that the network dropped.
    pub dropped: u64,
}

impl std::iter::Sum for Tally {
    /// Sums the parts of a network.
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            finished: sum.finished + part.finished,
            broken: sum.broken + part.broken,
            // A flow is live only at its source.
            live: sum.live + part.live,
            sent: sum.sent + part.sent,
            delivered: sum.delivered + part.delivered,
            dropped: sum.dropped + part.dropped,
        })
    }
}

/// Random streams of hosts, separate from the ports'.
const PATH_STREAM: u64 = 1 << 40;
const DELAY_STREAM: u64 = 2 << 40;
const JITTER_STREAM: u64 = 3 << 40;

/// A size that no run reaches, and that can be added to without overflow.
pub(crate) const ENDLESS: u64 = 1 << 62;

/// Transport of a group of flows; groups beyond the last use the last one.
fn transport_of(transports: &[Transport], group: u8) -> &Transport {
    let own = transports.get(usize::from(group)).or(transports.last());
    own.expect("there is at least one transport")
}

impl Hosts {
    /// Creates the hosts at `home`, or all of them.
    pub(crate) fn new(
        setup: &Setup,
        flows: Arc<[Flow]>,
        routes: Arc<Routes>,
        width: u32,
        numbers: Numbers,
        home: Option<Home>,
    ) -> Result<Self, ConfigError> {
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
        // Invalid settings are found before the run.
        for transport in &setup.transports {
            Ends::new(transport, setup.opening, lines[0], 0)?;
        }
        let senders = setup.flows.iter();
        let senders = senders.map(|flow| (flow.group, lines[flow.src.index()]));
        for (group, line) in senders.collect::<BTreeSet<_>>() {
            let transport = transport_of(&setup.transports, group);
            Ends::new(transport, setup.opening, line, 0)?;
        }
        if let Some(config) = &setup.tagging {
            Pias::new(config)?;
        }
        let queues = HostQueues::new(setup)?;
        let needs_offset = setup.ranks_by_remainder() || setup.tagging.is_some();
        let waits = if setup.observe.host_waits { setup.flows.len() } else { 0 };
        let mut hosts = Self {
            connections: Vec::new(),
            numbers,
            opened: Vec::new(),
            over: Vec::new(),
            given_up: Vec::new(),
            pairs: BTreeMap::new(),
            timers: Timers::new(width),
            next_at: Time::MAX,
            results: vec![FlowResult::PENDING; setup.flows.len()],
            flows,
            started: 0,
            spilled: Slab::new(),
            paths: setup.paths.clone(),
            think_times: setup.think_times.clone(),
            path,
            lines,
            rules: Rules {
                transports: setup.transports.clone(),
                accounting: setup.accounting,
                opening: setup.opening,
                tagging: setup.tagging.clone(),
                host_delay: setup.host_delay.clone(),
                seed: setup.seed,
                // The links of a route, plus two words for the host's delay.
                stride: routes.longest() + 2,
                needs_offset,
                answers_at_once: !needs_offset && queues.is_none(),
                limits: if setup.has_fair_hosts() {
                    setup.transports.iter().map(output_limit).collect()
                } else {
                    Vec::new()
                },
                ranks: setup.ranks_by_remainder(),
                width,
            },
            routes,
            tally: Tally::default(),
            progress_at: Time::ZERO,
            livelock: None,
            min_timer: min_timer(setup),
            to_finish: 0,
            has_ends: setup.flows.iter().any(ends),
            last_over: Time::ZERO,
            probes: setup.probes.clone(),
            reception: (!setup.host_receive.is_off()).then(|| Box::new(Reception::new(setup))),
            queues,
            waits: vec![HostWait::NONE; waits],
            home,
        };
        let own = hosts.flows.iter().filter(|flow| hosts.has(flow.src));
        hosts.to_finish = own.filter(|flow| ends(flow)).count() as u32; // flows have 32 bits
        hosts.skip_others();
        hosts.look_ahead();
        Ok(hosts)
    }

    /// Whether a host is in this part.
    #[inline]
    pub(crate) fn has(&self, host: HostId) -> bool {
        let home = self.home.as_ref();
        home.is_none_or(|home| home.partition.of_host(host) == home.part)
    }

    /// Connections from one host to another, if connections are reused and there were any.
    pub(crate) fn pair(&self, pair: (HostId, HostId)) -> Option<&Pair> {
        self.pairs.get(&pair)
    }

    /// Gives a slot to the next flow that needs one.
    pub(crate) fn give_slot(&mut self, slot: u32) {
        if let Numbers::Given(slots) = &mut self.numbers {
            slots.push_back(slot);
        }
    }

    /// Skips flows that start in other parts.
    fn skip_others(&mut self) {
        while let Some(flow) = self.flows.get(self.started)
            && !self.has(flow.src)
        {
            self.started += 1;
        }
    }

    /// Time of the next flow start or timer.
    #[inline]
    pub(crate) const fn next_at(&self) -> Time {
        self.next_at
    }

    /// Whether the hosts only answer arrivals until `stop`, `ahead` from now: no flow starts and no
    /// timer expires, including timers set meanwhile. Hosts do not affect each other, so each may
    /// then be served alone.
    #[inline]
    pub(crate) fn only_answer(&self, stop: Time, ahead: Span) -> bool {
        self.queues.is_none() && self.next_at >= stop && ahead <= self.min_timer
    }

    fn look_ahead(&mut self) {
        let start = self.flows.get(self.started).map_or(Time::MAX, |flow| flow.start);
        self.next_at = start.min(self.timers.next_at());
        if let Some(reception) = &self.reception {
            self.next_at = self.next_at.min(reception.next_at());
        }
        self.look_at_queues();
    }

    /// Updates the next event after packets may have been queued at cards.
    #[inline]
    fn look_at_queues(&mut self) {
        if let Some(queues) = &self.queues {
            self.next_at = self.next_at.min(queues.next_at());
        }
    }

    /// Queue of the host that sends on a link, if there is one.
    pub(crate) fn queue_view(&self, link: LinkId) -> Option<HostQueueView<'_>> {
        self.queues.as_ref()?.view(link)
    }

    /// Handles the next event: a packet leaves its host, a flow starts, a timer expires, or a host
    /// takes in packets that waited. Departures come before other events at the same moment.
    pub(crate) fn wake<C: Calendar>(&mut self, fabric: &mut Fabric<C>) {
        let now = self.next_at;
        if let Some(queues) = self.queues.as_mut().filter(|it| it.next_at() <= now) {
            let (left, woken) = queues.go_on(fabric);
            if let Some(left) = left {
                self.note_wait(left);
            }
            if let Some(end) = woken {
                self.pump(fabric, end, now);
            }
        } else if self.flows.get(self.started).is_some_and(|flow| flow.start <= now) {
            self.start(fabric);
        } else if let Some(wake) = self.timers.next(now) {
            if wake.is_application() {
                self.write_more(fabric, wake.end(), now);
            } else {
                self.on_timer(fabric, wake.end(), now);
            }
        } else {
            self.take_in(fabric, now);
        }
        self.look_ahead();
    }

    /// Records a packet that has left its host.
    fn note_wait(&mut self, left: Left) {
        let connection = &self.connections[left.from.slot()];
        if connection.is_measured && left.from.side() == Side::Source {
            self.waits[connection.flow as usize].note(left.times);
        }
    }

    /// Adds the waiting time of each flow's data here to its waiting times in other parts.
    pub(crate) fn add_waits(&self, all: &mut Vec<Span>) {
        all.resize(self.waits.len(), Span::ZERO);
        for (sum, wait) in all.iter_mut().zip(&self.waits) {
            *sum = *sum + wait.waited;
        }
    }

    #[inline(never)]
    fn arm(&mut self, at: Time, wake: Wake) {
        self.timers.add(at, wake);
        self.next_at = self.next_at.min(at);
    }

    /// Schedules the next write of an end's application. A long think time is not a stall.
    fn write_at(&mut self, at: Time, end: EndId) {
        self.progress_at = self.progress_at.max(at);
        self.arm(at, Wake::application(end));
    }

    /// Handles the timer of an end, which may have been moved.
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
            if connection.ends.is_broken(side) {
                match side {
                    Side::Sink => self.given_up.push((end.slot() as u32, now)),
                    Side::Source => self.break_flow(end, now),
                }
            }
        }
        self.pump(fabric, end, now);
    }
}

/// Most bytes that a sender of this transport may have in its host's queue. Only TCP has a limit:
/// others send at a rate.
fn output_limit(transport: &Transport) -> u64 {
    transport.tcp().map_or(u64::MAX, |tcp| tcp.source.config.limit_output.0)
}

/// Whether a flow ends by itself.
const fn ends(flow: &Flow) -> bool {
    flow.bytes != Flow::ENDLESS
}

/// Shortest time for which a timer is ever set.
fn min_timer(setup: &Setup) -> Span {
    if setup.flows.iter().any(|flow| flow.rate.is_some()) {
        return Span::ZERO;
    }
    let least = |config: &tidegate_transport::Config| {
        config.rto_min.min(config.rto_initial).min(config.ack_delay)
    };
    let timers = setup.transports.iter().map(|transport| match transport.tcp() {
        Some(tcp) if !tcp.is_paced() => {
            let [source, sink] = tcp.configs();
            least(source).min(least(sink))
        }
        _ => Span::ZERO,
    });
    let think_times = setup.think_times.iter().map(|(_, think)| think.pause);
    timers.chain(think_times).min().unwrap_or(Span::ZERO)
}

/// Bytes that an application with a rate writes at a time: a full Ethernet segment.
const CHUNK: u32 = 1460;
