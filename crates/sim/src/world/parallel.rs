//! One run on several threads.
//!
//! The network is divided into parts, whole switches with their hosts ([`Partition`]). Each part is
//! a world of its own, on which one thread works. The events of a part within a bucket depend only
//! on packets that it has received before. So the parts work side by side and exchange packets
//! where they may be needed next: after levels of ports whose links lead to other parts, or at the
//! end of each step.
//!
//! The outcome is identical to a single-threaded run, to the byte:
//!
//! - the order of arrivals at a port is a rule about times and links, and packets of one link come
//!   from one part, in their order;
//! - all randomness belongs to a port, a host or a flow;
//! - within a bucket a host knows only its own state; hosts' common work is done at its end
//!   ([`ParallelEngine::end_bucket`]), for all parts on one thread;
//! - connections are numbered in the order of the flows that open them
//!   ([`ParallelEngine::assign`]);
//! - whether switches are coupled, and where time is skipped, is decided for all parts at once;
//! - observations and counters are read from each part when all are at the same time, and summed.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tidegate_transport::Segment;
use tidegate_units::{ConfigError, QueueId, Time};

use super::{ByBucket, Engine, Progress, Worker, World};
use crate::calendar::{
    Arrival, BucketPlan, Buckets, Calendar as _, Destination, InBuckets as _, PartCalendar, Rank,
};
use crate::fabric::Fabric;
use crate::flow::Flow;
use crate::hosts::numbers::Slots;
use crate::hosts::{Home, Hosts, Numbers};
use crate::network::{HostId, LinkId};
use crate::packet::{EndId, Packet, Side};
use crate::partition::Partition;
use crate::setup::Setup;

/// The fast engine on several threads.
pub(crate) struct ParallelEngine {
    /// All parts, between two jobs.
    #[expect(clippy::vec_box, reason = "the parts are sent between threads")]
    parts: Vec<Box<Part>>,
    /// One thread for each part except the first, which the engine's own thread works on.
    threads: Vec<Thread>,
    partition: Arc<Partition>,
    slots: Slots,
    flows: Arc<[Flow]>,
    /// All flows before this one have a slot if they need one.
    assigned: usize,
    /// Number of the next flows of a pair that will find an idle connection.
    promised: BTreeMap<(HostId, HostId), usize>,
    /// Packets that arrived in the last bucket.
    load: usize,
    /// By slot: part of the connection's source.
    sources: Vec<u16>,
    /// Levels of ports that are served without an exchange between them.
    stages: Vec<Range<usize>>,
    /// Routes of a connection that other parts need.
    words: Vec<u32>,
}

/// A part of the network.
struct Part {
    worker: Worker<PartCalendar>,
    /// By part: packets from there, and packets to there.
    inbox: Vec<Mail>,
    outbox: Vec<Mail>,
}

/// Packets on their way from one part to another, in the order in which they left.
#[derive(Default)]
struct Mail {
    arrivals: Vec<Arrival>,
    /// The packets.
    packets: Vec<Packet>,
    /// Segments of the packets that cannot hold them.
    segments: Vec<Segment>,
    /// Queue of each packet at the previous switch, under BFC.
    queues: Vec<QueueId>,
    /// Number of pause frames.
    pauses: u32,
}

/// Work of each part until the next exchange.
#[derive(Clone, Debug)]
struct Job {
    /// Work at its switches,
    switches: Switches,
    /// and whether its hosts are served.
    hosts: bool,
    /// Events before this time are handled.
    stop: Time,
}

#[derive(Clone, Debug)]
enum Switches {
    /// No work.
    None,
    /// Ports of these levels.
    Levels(Range<usize>),
    /// All events of a step.
    Step,
}

/// A thread that works on one part.
struct Thread {
    jobs: SyncSender<(Job, Box<Part>)>,
    done: Receiver<Box<Part>>,
}

/// Fewest arrivals in a bucket for which passing parts to other threads and back pays off.
const LEAST_LOAD: usize = 1 << 9;

impl Thread {
    fn new(number: usize) -> std::io::Result<Self> {
        let (jobs, inbox) = sync_channel::<(Job, Box<Part>)>(1);
        let (outbox, done) = sync_channel(1);
        thread::Builder::new().name(format!("part {number}")).spawn(move || {
            while let Ok((job, mut part)) = inbox.recv() {
                part.work(&job);
                if outbox.send(part).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { jobs, done })
    }
}

impl Part {
    fn work(&mut self, job: &Job) {
        let (worker, stop) = (&mut self.worker, job.stop);
        if !matches!(&job.switches, Switches::Levels(levels) if levels.start > 0) {
            let calendar = worker.world.fabric.calendar.buckets_mut();
            calendar.go_on();
        }
        self.take_mail();
        match &job.switches {
            Switches::None => {}
            Switches::Levels(levels) => self.worker.work_at_levels(levels.clone(), stop),
            Switches::Step => self.worker.work_at_switches(stop),
        }
        if job.hosts {
            self.worker.work_at_hosts(stop);
        }
        self.post();
    }

    /// Schedules the packets that came from other parts.
    fn take_mail(&mut self) {
        let World { fabric, hosts, .. } = &mut self.worker.world;
        for mail in &mut self.inbox {
            let mut segments = mail.segments.drain(..);
            let mut queues = mail.queues.drain(..);
            for (arrival, mut packet) in mail.arrivals.drain(..).zip(mail.packets.drain(..)) {
                if packet.is_pause() {
                    fabric.take_pause_over();
                } else if packet.spilled != 0 {
                    let segment =
                        segments.next().expect("a spilled segment is sent with its packet");
                    packet.spilled = hosts.spilled.insert(segment) + 1;
                }
                let rank = Rank::of(&packet);
                let packet = fabric.packets.insert(packet);
                if let Some(queue) = queues.next() {
                    fabric.set_queue_before(packet, queue);
                }
                let arrival = Arrival { packet, ..arrival };
                fabric.calendar.buckets_mut().push(arrival, Destination::Switch, rank);
            }
            mail.pauses = 0;
        }
    }

    /// Sends packets to other parts.
    fn post(&mut self) {
        let World { fabric, hosts, .. } = &mut self.worker.world;
        for (part, mail) in self.outbox.iter_mut().enumerate() {
            let mut arrivals = std::mem::take(&mut fabric.calendar.outgoing[part]);
            for arrival in &arrivals {
                mail.queues.extend(fabric.queue_before(arrival.packet));
                let packet = fabric.packets.take(arrival.packet);
                if packet.is_pause() {
                    fabric.hand_pause_over();
                    mail.pauses += 1;
                } else if packet.spilled != 0 {
                    mail.segments.push(hosts.spilled.take(packet.spilled - 1));
                }
                mail.packets.push(packet);
            }
            std::mem::swap(&mut mail.arrivals, &mut arrivals);
            // Its previous contents have been taken.
            fabric.calendar.outgoing[part] = arrivals;
        }
    }
}

impl ParallelEngine {
    /// Whether the network of a setup can be divided and there are threads for the parts. Not under
    /// BFC, where a switch takes one arrival at a time after all earlier events anywhere; and not
    /// if flows at ports are observed, which needs all connections in one place.
    pub(crate) fn suits(setup: &Setup) -> bool {
        let threads = setup.threads.get();
        let observe = &setup.observe;
        let is_whole = setup.flow_control.is_some()
            || observe.port_flows.is_some()
            || observe.journal.is_some();
        threads > 1 && !is_whole && Partition::new(&setup.network, threads).count() > 1
    }

    /// Serves all parts' switches until `stop`, and their hosts too if `is_last`.
    fn work_all(&mut self, switches: Switches, is_last: bool, stop: Time) {
        let mut job = Job { switches, hosts: false, stop };
        if !is_last {
            self.exchange_after(&job);
            return;
        }
        self.promised.clear();
        let mut done = self.now();
        while let Some(cut) = self.assign(done, stop) {
            // Switches first: the hosts of a bucket come after them.
            if !matches!(job.switches, Switches::None) {
                self.exchange_after(&job);
                job.switches = Switches::None;
            }
            self.exchange_after(&Job { hosts: true, stop: cut, ..job.clone() });
            self.promised.clear();
            done = cut;
        }
        job.hosts = true;
        self.exchange_after(&job);
    }

    /// Assigns slots to flows that start before `stop` and find no idle connection, after hosts
    /// have handled all events before `done`. Whether a connection is idle may depend on events at
    /// the source meanwhile. If so, returns the time that the hosts must reach before it is known.
    fn assign(&mut self, done: Time, stop: Time) -> Option<Time> {
        while let Some(flow) = self.flows.get(self.assigned).filter(|flow| flow.start < stop) {
            let part = usize::from(self.partition.of_host(flow.src));
            let hosts = &mut self.parts[part].worker.world.hosts;
            let pair = (flow.src, flow.dst);
            let (idle, busy) = match hosts.pair(pair) {
                None => (0, 0),
                Some(pair) => (pair.idle.len(), pair.busy),
            };
            let promised = self.promised.get(&pair).copied().unwrap_or(0);
            if promised < idle {
                self.promised.insert(pair, promised + 1);
            } else if busy > 0 && flow.start > done {
                return Some(flow.start);
            } else {
                hosts.give_slot(self.slots.take(hosts.bucket(flow.start)));
            }
            self.assigned += 1;
        }
        None
    }

    /// Runs a job on all parts, and exchanges their packets.
    fn exchange_after(&mut self, job: &Job) {
        const PANICKED: &str = "no thread of the run has panicked";
        if self.load < LEAST_LOAD {
            self.parts.iter_mut().for_each(|part| part.work(job));
        } else {
            for (thread, part) in self.threads.iter().zip(self.parts.drain(1..)) {
                thread.jobs.send((job.clone(), part)).expect(PANICKED);
            }
            self.parts[0].work(job);
            for thread in &self.threads {
                self.parts.push(thread.done.recv().expect(PANICKED));
            }
        }
        for from in 0..self.parts.len() {
            for to in 0..self.parts.len() {
                let mail = std::mem::take(&mut self.parts[from].outbox[to]);
                let taken = std::mem::replace(&mut self.parts[to].inbox[from], mail);
                self.parts[from].outbox[to] = taken;
            }
            self.announce(from);
        }
    }

    /// Tells other parts about the flows that have started in this one.
    fn announce(&mut self, part: usize) {
        let mut opened = std::mem::take(&mut self.hosts_of(part).opened);
        for opened in opened.drain(..) {
            if opened.is_new {
                let slot = opened.slot as usize;
                let slots = self.sources.len().max(slot + 1);
                self.sources.resize(slots, 0);
                self.sources[slot] = part as u16; // fewer than 2^16
            }
            let World { fabric, hosts, .. } = &self.parts[part].worker.world;
            let place = hosts.route_words(opened.slot);
            self.words.clear();
            self.words.extend_from_slice(&fabric.routes[place.clone()]);
            for (other, to) in self.parts.iter_mut().enumerate() {
                if other != part {
                    let World { fabric, hosts, .. } = &mut to.worker.world;
                    fabric.make_room_for_routes(place.end);
                    fabric.routes[place.clone()].copy_from_slice(&self.words);
                    hosts.on_opened(opened);
                }
            }
        }
        self.hosts_of(part).opened = opened;
    }

    fn hosts_of(&mut self, part: usize) -> &mut Hosts {
        &mut self.parts[part].worker.world.hosts
    }

    /// The hosts of the part that contains a connection's source.
    fn source_of(&mut self, slot: u32) -> &mut Hosts {
        self.hosts_of(usize::from(self.sources[slot as usize]))
    }

    /// Frees the slots of connections that are over and of which no packet is left in any part.
    fn release(&mut self, part: usize, begin: Time) {
        let mut over = std::mem::take(&mut self.hosts_of(part).over);
        over.retain(|&slot| {
            let source = self.hosts_of(part);
            let connection = &source.connections[slot as usize];
            let in_flight = connection.in_flight;
            let sink = source.flows[connection.flow as usize].dst;
            let bucket = source.bucket(begin);
            let other = usize::from(self.partition.of_host(sink));
            let elsewhere = if other == part {
                0
            } else {
                self.hosts_of(other).connections[slot as usize].in_flight
            };
            let is_left = in_flight + elsewhere != 0;
            if !is_left {
                self.hosts_of(part).forget(slot);
                self.hosts_of(other).forget(slot);
                self.slots.give_back(bucket, slot);
            }
            is_left
        });
        self.hosts_of(part).over = over;
    }

    /// The longest window from `now` on in which every switch of the network can be served port by
    /// port.
    fn widest(&self, now: Time) -> Option<usize> {
        let mut mail = self.parts.iter().flat_map(|part| &part.inbox);
        if mail.any(|mail| mail.pauses > 0) {
            return None;
        }
        let mut windows = self.plan().windows(now);
        for world in self.worlds() {
            windows.start = world.fabric.widest(windows.clone())?;
        }
        windows.next()
    }

    /// Serves switches' ports level by level until `stop`, and then hosts if they come next.
    fn work_by_level(&mut self, stop: Time, are_hosts_next: bool) {
        for stage in 0..self.stages.len() {
            let levels = Switches::Levels(self.stages[stage].clone());
            let is_last = are_hosts_next && stage + 1 == self.stages.len();
            self.work_all(levels, is_last, stop);
        }
    }
}

/// Divides the levels where packets go to other parts that may need them at the next level.
fn stages(setup: &Setup, plan: &BucketPlan, partition: &Partition) -> Vec<Range<usize>> {
    let network = &setup.network;
    let mut crosses = vec![false; plan.count()];
    for (link, level) in (0..).map(LinkId).zip(plan.levels()) {
        crosses[level] |= partition.parts(network, link);
    }
    let mut stages = Vec::new();
    let mut begin = 0;
    for (level, crosses) in crosses.into_iter().enumerate() {
        if crosses || level + 1 == plan.count() {
            stages.push(begin..level + 1);
            begin = level + 1;
        }
    }
    stages
}

impl Engine for ParallelEngine {
    type Calendar = PartCalendar;

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let network = &setup.network;
        let partition = Arc::new(Partition::new(network, setup.threads.get()));
        let count = partition.count();
        let routes = Arc::new(setup.routes()?);
        let plan = BucketPlan::new(setup, &routes);
        let flows: Arc<[_]> = setup.flows.as_slice().into();
        let of_links: Arc<[u16]> = partition.of_links(network).into();
        let mut parts = Vec::with_capacity(count);
        for part in 0..count as u16 {
            let buckets = Buckets::new(&plan, setup.horizon());
            let calendar = PartCalendar::new(buckets, Arc::clone(&of_links), part, count);
            let is_own = |node| partition.of(node) == part;
            let fabric = Fabric::new(setup, calendar, &plan, is_own)?;
            let home = Home { partition: Arc::clone(&partition), part };
            let hosts = Hosts::new(
                setup,
                Arc::clone(&flows),
                Arc::clone(&routes),
                plan.width(),
                Numbers::Given(VecDeque::new()),
                Some(home),
            )?;
            let world = World::begin(plan.clone(), fabric, hosts);
            parts.push(Box::new(Part {
                worker: Worker::new(setup, world),
                inbox: (0..count).map(|_| Mail::default()).collect(),
                outbox: (0..count).map(|_| Mail::default()).collect(),
            }));
        }
        let pool_below = parts.iter().map(|part| part.worker.world.fabric.pool_below());
        let pool_below = pool_below.min().unwrap_or(u32::MAX);
        for part in &mut parts {
            part.worker.world.fabric.limit_pool_below(pool_below);
        }
        let threads = (1..count).map(Thread::new);
        let threads = threads.collect::<Result<Vec<_>, _>>().map_err(|error| {
            ConfigError::out_of_range(
                "threads",
                count,
                format!("as many as the system can start: {error}"),
            )
        })?;
        let probes = setup.probes.iter();
        Ok(Self {
            stages: stages(setup, &plan, &partition),
            sources: probes.map(|probe| partition.of_host(probe.src)).collect(),
            parts,
            threads,
            partition,
            slots: Slots::new(setup.probes.len() as u32),
            flows,
            assigned: 0,
            promised: BTreeMap::new(),
            load: 0,
            words: Vec::new(),
        })
    }

    fn worlds(&self) -> impl Iterator<Item = &World<PartCalendar>> {
        self.parts.iter().map(|part| &part.worker.world)
    }

    fn worlds_mut(&mut self) -> impl Iterator<Item = &mut World<PartCalendar>> {
        self.parts.iter_mut().map(|part| &mut part.worker.world)
    }

    fn advance(&mut self, until: Time) -> Progress {
        self.advance_by_bucket(until)
    }

    fn horizon(&self) -> Time {
        self.end()
    }

    fn reach(&mut self, at: Time) {
        self.reach_by_bucket(at);
    }
}

impl ByBucket for ParallelEngine {
    fn end(&self) -> Time {
        self.any_world().fabric.calendar.buckets().end()
    }

    fn work(&mut self, stop: Time) {
        if !self.any_world().fabric.has_coupling() {
            self.work_by_level(stop, true);
            return;
        }
        let mut now = self.now();
        while now < stop {
            if let Some(window) = self.widest(now) {
                now = self.plan().end_of_window(now, window).min(stop);
                self.worlds_mut().for_each(|world| world.fabric.uncouple());
                self.work_by_level(now, now == stop);
            } else {
                now = self.plan().end_of_step(now).min(stop);
                self.work_all(Switches::Step, now == stop, now);
            }
        }
    }

    /// Does the work of [`Hosts::end_bucket`] where the two ends of a connection may be in
    /// different parts.
    fn end_bucket(&mut self) {
        let begin = self.plan().begin_of_bucket(self.now());
        for part in 0..self.parts.len() {
            while let World { fabric, hosts, .. } = &mut self.parts[part].worker.world
                && let Some((id, _)) = fabric.reports.dropped.pop()
            {
                let packet = fabric.packets.take(id.0);
                hosts.on_dropped(&packet);
                let slot = packet.end().slot();
                self.source_of(slot as u32).connections[slot].in_flight -= 1;
            }
            while let Some((slot, at)) = self.hosts_of(part).given_up.pop() {
                let source = EndId::new(slot, Side::Source);
                self.source_of(slot).break_flow(source, at);
            }
        }
        for part in 0..self.parts.len() {
            self.release(part, begin);
        }
        let parts = self.parts.iter_mut();
        let loads = parts.map(|part| std::mem::take(&mut part.worker.load));
        self.load = loads.sum();
    }

    fn turn(&mut self) {
        self.worlds_mut().for_each(|world| world.fabric.calendar.buckets_mut().turn());
    }

    fn next_if_at_rest(&mut self) -> Option<Time> {
        if !self.worlds().all(World::is_at_rest) {
            return None;
        }
        self.parts.iter_mut().for_each(|part| part.take_mail());
        self.worlds().map(World::next_at).min()
    }

    fn skip_to(&mut self, time: Time) {
        self.worlds_mut().for_each(|world| world.skip_to(time));
    }
}
