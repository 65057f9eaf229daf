//! A world: network and hosts with one calendar, and the two engines that advance it.

mod parallel;

use std::ops::Range;
use std::sync::Arc;

use tidegate_units::{ConfigError, Span, Time};

use crate::calendar::sort::ByTime;
use crate::calendar::{Arrival, BucketPlan, Buckets, Calendar, Destination, Heap, InBuckets};
use crate::capture::{Captured, Passed, Recording};
use crate::fabric::{EngineCounters, Fabric, LinkView};
use crate::hosts::numbers::Slots;
use crate::hosts::{self, Hosts, Numbers, Tally};
use crate::network::LinkId;
use crate::pause::{ClassPauses, Deadlock};
use crate::result::FlowResult;
use crate::setup::Setup;

pub(crate) use parallel::ParallelEngine;

/// Network and hosts, with the time up to which everything has happened.
pub(crate) struct World<C> {
    plan: BucketPlan,
    fabric: Fabric<C>,
    hosts: Hosts,
    now: Time,
    /// Departures on captured links that no capture has taken yet.
    captured: Vec<(Time, LinkId, Captured)>,
    /// The only captured flow, unless all are captured, and its packets that left.
    traced: Option<u32>,
    passed: Vec<Passed>,
}

impl<C: Calendar> World<C> {
    /// A world at time zero with the whole network.
    fn new(setup: &Setup, calendar: impl FnOnce(&BucketPlan) -> C) -> Result<Self, ConfigError> {
        let routes = Arc::new(setup.routes()?);
        let plan = BucketPlan::new(setup, &routes);
        let fabric = Fabric::new(setup, calendar(&plan), &plan, |_| true)?;
        let numbers = Numbers::Own(Slots::new(setup.probes.len() as u32));
        let flows = setup.flows.as_slice().into();
        let hosts = Hosts::new(setup, flows, routes, plan.width(), numbers, None)?;
        Ok(Self::begin(plan, fabric, hosts))
    }

    fn begin(plan: BucketPlan, mut fabric: Fabric<C>, mut hosts: Hosts) -> Self {
        hosts.start_probes(&mut fabric);
        Self {
            plan,
            fabric,
            hosts,
            now: Time::ZERO,
            captured: Vec::new(),
            traced: None,
            passed: Vec::new(),
        }
    }

    /// Handles hosts' common work at the end of a bucket, or of the run, on every engine.
    #[inline]
    fn end_bucket(&mut self) {
        let begin = self.plan.begin_of_bucket(self.now);
        self.hosts.end_bucket(&mut self.fabric, begin);
    }

    /// Records departures on captured links before their packets travel on.
    #[inline]
    fn collect_captured(&mut self) {
        if !self.fabric.reports.captured.is_empty() {
            self.take_captured();
        }
    }

    /// Kept out of line for runs without captures, which check this at every level of every bucket.
    #[inline(never)]
    fn take_captured(&mut self) {
        let Self { fabric, hosts, .. } = self;
        let seen = fabric.reports.captured.drain(..);
        let seen = seen.map(|(at, link, id)| (at, link, &fabric.packets[id]));
        if let Some(flow) = self.traced {
            let own = seen.filter(|(_, _, packet)| hosts.is_of(packet, flow));
            self.passed.extend(own.map(|(at, link, packet)| Passed {
                at,
                link,
                to: packet.end().side(),
                size: packet.pkt.len,
                header: hosts.header(packet),
            }));
        } else {
            let seen = seen.map(|(at, link, packet)| (at, link, hosts.captured(packet)));
            self.captured.extend(seen);
        }
    }
}

/// An engine: advances a world, or the parts of one.
pub(crate) trait Engine: Sized {
    /// Calendar of its packets.
    type Calendar: Calendar;

    /// Creates a world at time zero.
    fn new(setup: &Setup) -> Result<Self, ConfigError>;

    /// The world, or its parts, all at the same time.
    fn worlds(&self) -> impl Iterator<Item = &World<Self::Calendar>>;

    /// The same, mutably.
    fn worlds_mut(&mut self) -> impl Iterator<Item = &mut World<Self::Calendar>>;

    /// Handles events before `until`, all or some of them: little enough to observe the world
    /// periodically.
    fn advance(&mut self, until: Time) -> Progress;

    /// The next step of [`advance`](Self::advance) handles no event at this time or later. The
    /// engine can [`reach`](Self::reach) any time before it.
    fn horizon(&self) -> Time;

    /// Handles exactly the events before `at`, which must be before the horizon: the next
    /// [`advance`](Self::advance) ends where it would have ended.
    fn reach(&mut self, at: Time);

    /// One of the worlds, for state that all share.
    fn any_world(&self) -> &World<Self::Calendar> {
        self.worlds().next().expect("there is at least one")
    }

    /// Time up to which everything has happened.
    fn now(&self) -> Time {
        self.any_world().now
    }

    #[cfg(test)]
    fn fabric(&self) -> &Fabric<Self::Calendar> {
        &self.any_world().fabric
    }

    /// Division of the run's time.
    fn plan(&self) -> &BucketPlan {
        &self.any_world().plan
    }

    /// Hosts of each part.
    fn hosts(&self) -> impl Iterator<Item = &Hosts> {
        self.worlds().map(|world| &world.hosts)
    }

    /// Totals over all flows.
    fn tally(&self) -> Tally {
        self.hosts().map(|hosts| hosts.tally).sum()
    }

    /// Whether every flow that can finish has finished, or `enough` flows.
    fn has_finished(&self, enough: Option<u32>) -> bool {
        let unfinished: Option<u32> = self.hosts().map(Hosts::unfinished).sum();
        let finished = || self.hosts().map(|hosts| hosts.tally.finished).sum::<u32>();
        unfinished == Some(0) || enough.is_some_and(|enough| finished() >= enough)
    }

    /// Time at which the last flow finished or broke, or the flow that made the number `enough`.
    fn last_finish(&self, enough: Option<u32>) -> Time {
        let finished = self.tally().finished;
        let Some(enough) = enough.filter(|&enough| enough <= finished) else {
            let last = self.hosts().map(Hosts::last_over).max();
            return last.unwrap_or(Time::ZERO);
        };
        let results = self.hosts().flat_map(|hosts| &hosts.results);
        let mut finishes = results.map(|result| result.acked_at).collect::<Vec<_>>();
        let last = (enough as usize).saturating_sub(1);
        *finishes.select_nth_unstable(last).1
    }

    /// Time of the last delivery or application write, or somewhat later.
    fn progress_at(&self) -> Time {
        let times = self.hosts().map(|hosts| hosts.progress_at);
        times.max().unwrap_or(Time::ZERO)
    }

    /// First flow found in a livelock, with the time.
    fn livelock(&self) -> Option<(Time, u32)> {
        self.hosts().filter_map(|hosts| hosts.livelock).min()
    }

    /// Reasons why flows are not finished.
    fn diagnosis(&self) -> String {
        hosts::diagnosis(&self.hosts().collect::<Vec<_>>())
    }

    /// Reason why a flow is in a livelock.
    fn livelock_diagnosis(&self, flow: u32) -> String {
        hosts::livelock_diagnosis(&self.hosts().collect::<Vec<_>>(), flow)
    }

    /// Ends the run at `end`: later events are discarded.
    fn end_run(&mut self, end: Time) {
        self.worlds_mut().for_each(|world| world.hosts.end_run(end));
    }

    /// Result of each flow.
    fn take_results(&mut self) -> Vec<FlowResult> {
        let mut parts = self.worlds_mut();
        let mut parts = parts.by_ref().map(|world| std::mem::take(&mut world.hosts.results));
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            for (result, other) in all.iter_mut().zip(&part) {
                result.add(other);
            }
        }
        all
    }

    /// The round trips of each series of probes.
    fn take_probes(&mut self, count: usize) -> Vec<Vec<(Time, Span)>> {
        let mut take = |series| {
            let mut worlds = self.worlds_mut();
            let taken = worlds.find_map(|world| world.hosts.take_probes(series));
            taken.unwrap_or_default()
        };
        (0..count).map(&mut take).collect()
    }

    /// Starts capturing the links or the flow that a recording needs.
    fn capture(&mut self, recording: &Recording<'_>) {
        let (links, flow) = (recording.links(), recording.flow());
        for world in self.worlds_mut() {
            world.fabric.capture_links(&links);
            world.traced = flow;
        }
    }

    /// Passes departures since the last call to a recording.
    fn record(&mut self, recording: &mut Recording<'_>) {
        let now = self.now();
        for world in self.worlds_mut() {
            world.collect_captured();
            match recording {
                Recording::Links(recorder) => {
                    for (at, link, captured) in &world.captured {
                        recorder.note(*at, *link, captured);
                    }
                    world.captured.clear();
                }
                Recording::Flow(trace) => {
                    world.passed.iter().for_each(|passed| trace.note(passed));
                    world.passed.clear();
                }
            }
        }
        if let Recording::Links(recorder) = recording {
            recorder.write(now);
        }
    }

    /// Pauses of the classes of all links until `now`.
    fn class_pauses(&self, now: Time) -> Vec<ClassPauses> {
        let parts = self.worlds().map(|world| world.fabric.class_pauses(now));
        let mut all = parts.flatten().collect::<Vec<_>>();
        all.sort_by_key(|pauses| pauses.of);
        all
    }

    /// Deadlocks: classes of links that will never run again.
    fn deadlocks(&self) -> Vec<Deadlock> {
        let parts = self.worlds().map(|world| &world.fabric);
        Fabric::deadlocks(&parts.collect::<Vec<_>>())
    }

    /// Counters of how switches were served.
    fn counters(&self) -> EngineCounters {
        self.worlds().map(|world| world.fabric.counters()).sum()
    }

    /// Port and counters of a link.
    fn link(&self, link: LinkId) -> LinkView<'_> {
        let mut parts = self.worlds();
        let part = parts.find(|world| world.fabric.has(link));
        let part = part.expect("every link is in a part");
        part.fabric.view(link, part.hosts.queue_view(link))
    }
}

/// Progress of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Some of the work is done.
    Going,
    /// Everything before the given time is done.
    Reached,
    /// No event will ever happen again.
    Silent,
}

/// An engine that works bucket by bucket.
trait ByBucket: Engine {
    /// End of the open bucket.
    fn end(&self) -> Time;

    /// Handles events in the open bucket before `stop`.
    fn work(&mut self, stop: Time);

    /// Handles the work at the end of a bucket, or of the run.
    fn end_bucket(&mut self);

    /// Advances to the next bucket.
    fn turn(&mut self);

    /// Time of the next event; `None` if it may be in the open bucket.
    fn next_if_at_rest(&mut self) -> Option<Time>;

    /// Advances to the bucket that contains `time`. No event may happen before it.
    fn skip_to(&mut self, time: Time);

    fn set_now(&mut self, now: Time) {
        self.worlds_mut().for_each(|world| world.now = now);
    }

    /// [`Engine::advance`].
    fn advance_by_bucket(&mut self, until: Time) -> Progress {
        let end = self.end();
        let stop = end.min(until);
        self.work(stop);
        self.end_bucket();
        self.set_now(stop);
        if stop < end {
            return Progress::Reached;
        }
        self.turn();
        if let Some(next) = self.next_if_at_rest() {
            if next == Time::MAX {
                return Progress::Silent;
            }
            if next >= self.end() {
                self.skip_to(next.min(until));
            }
        }
        if self.now() >= until { Progress::Reached } else { Progress::Going }
    }

    /// [`Engine::reach`].
    fn reach_by_bucket(&mut self, at: Time) {
        if at > self.now() {
            self.work(at);
            self.set_now(at);
        }
    }
}

/// State for working through the buckets of a world, or of a part of one.
struct Worker<C> {
    world: World<C>,
    /// Current arrivals.
    arrivals: Vec<Arrival>,
    /// Arrivals at switches in a step, by level.
    taken: Vec<Vec<Arrival>>,
    by_time: ByTime,
    /// Whether packets arrive at a host in the order in which they left for it.
    arrive_in_order: bool,
    /// Packets that have arrived at hosts.
    load: usize,
}

/// The fast engine, with buckets of time: see [`Buckets`].
pub(crate) struct BucketEngine {
    worker: Worker<Buckets>,
}

impl Engine for BucketEngine {
    type Calendar = Buckets;

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let world = World::new(setup, |plan| Buckets::new(plan, setup.horizon()))?;
        Ok(Self { worker: Worker::new(setup, world) })
    }

    fn worlds(&self) -> impl Iterator<Item = &World<Buckets>> {
        std::iter::once(&self.worker.world)
    }

    fn worlds_mut(&mut self) -> impl Iterator<Item = &mut World<Buckets>> {
        std::iter::once(&mut self.worker.world)
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

impl ByBucket for BucketEngine {
    fn end(&self) -> Time {
        self.worker.world.fabric.calendar.end()
    }

    fn work(&mut self, stop: Time) {
        let worker = &mut self.worker;
        let levels = 0..worker.world.plan.count();
        if !worker.world.fabric.has_coupling() {
            worker.work_at_levels(levels, stop);
            worker.work_at_hosts(stop);
            return;
        }
        let mut now = worker.world.now;
        while now < stop {
            let World { plan, fabric, .. } = &mut worker.world;
            if let Some(window) = fabric.widest(plan.windows(now)) {
                now = plan.end_of_window(now, window).min(stop);
                fabric.uncouple();
                worker.work_at_levels(levels.clone(), now);
            } else {
                now = plan.end_of_step(now).min(stop);
                worker.work_at_switches(now);
            }
            if now == stop || worker.world.fabric.steps_hosts() {
                worker.work_at_hosts(now);
            }
        }
    }

    fn end_bucket(&mut self) {
        self.worker.world.end_bucket();
    }

    fn turn(&mut self) {
        self.worker.world.fabric.calendar.turn();
    }

    fn next_if_at_rest(&mut self) -> Option<Time> {
        let world = &self.worker.world;
        world.is_at_rest().then(|| world.next_at())
    }

    fn skip_to(&mut self, time: Time) {
        self.worker.world.skip_to(time);
    }
}

impl<C: InBuckets> World<C> {
    /// Whether no packet arrives or leaves in the open bucket: on a slow link one packet takes many
    /// buckets, and a paused port may hold packets for a long time.
    #[inline]
    fn is_at_rest(&self) -> bool {
        let calendar = self.fabric.calendar.buckets();
        calendar.is_empty() && !self.fabric.sends_before(calendar.end())
    }

    /// Time of the next event, or an earlier time; [`Time::MAX`] if there are no more events.
    fn next_at(&self) -> Time {
        let departure = self.fabric.next_start().unwrap_or(Time::MAX);
        let next = departure.min(self.hosts.next_at());
        let arrival = self.fabric.calendar.buckets().earliest(next);
        arrival.map_or(next, |arrival| arrival.min(next))
    }

    /// Advances to the bucket that contains `time`. No event may happen before it.
    fn skip_to(&mut self, time: Time) {
        let calendar = self.fabric.calendar.buckets_mut();
        calendar.skip_to(time);
        self.now = calendar.begin();
    }
}

impl<C: InBuckets> Worker<C> {
    fn new(setup: &Setup, world: World<C>) -> Self {
        Self {
            taken: vec![Vec::new(); world.plan.count()],
            world,
            arrivals: Vec::new(),
            load: 0,
            by_time: ByTime::default(),
            // A pause frame overtakes the packet being sent, and an interrupt is a timer.
            arrive_in_order: setup.host_delay.values.is_empty()
                && !setup.sends_pauses()
                && setup.host_receive.is_off(),
        }
    }

    /// Serves the ports of switches of these levels until `stop`.
    fn work_at_levels(&mut self, levels: Range<usize>, stop: Time) {
        for level in levels {
            let fabric = &mut self.world.fabric;
            let calendar = fabric.calendar.buckets_mut();
            calendar.take(level, stop, &fabric.packets, &mut self.arrivals);
            fabric.serve_switches(level, &self.arrivals, stop);
            self.world.collect_captured();
        }
    }

    /// Serves switches until `stop`, which is at most a step away.
    fn work_at_switches(&mut self, stop: Time) {
        let fabric = &mut self.world.fabric;
        let calendar = fabric.calendar.buckets_mut();
        for (level, arrivals) in self.taken.iter_mut().enumerate() {
            calendar.take(level, stop, &fabric.packets, arrivals);
        }
        calendar.go_on();
        fabric.serve_step(&mut self.taken, stop);
        self.world.collect_captured();
    }

    /// Serves hosts until `stop`, after the switches.
    fn work_at_hosts(&mut self, stop: Time) {
        let levels = self.world.plan.count();
        let World { fabric, hosts, .. } = &mut self.world;
        let calendar = fabric.calendar.buckets_mut();
        calendar.take(levels, stop, &fabric.packets, &mut self.arrivals);
        let (begin, end, width) = (calendar.begin(), calendar.end(), calendar.width());
        self.load += self.arrivals.len();
        fabric.plan_sends(&self.arrivals);
        let answers_only = self.arrive_in_order && hosts.only_answer(stop, stop - begin);
        if answers_only {
            // Arrivals at a host come from one link, already in order.
            for arrival in &self.arrivals {
                hosts.deliver(fabric, arrival);
            }
        } else {
            let slot = (begin, width);
            let arrivals = self.by_time.sort(&self.arrivals, slot, &fabric.packets);
            hosts.act_and_deliver(fabric, arrivals);
        }
        if !self.arrivals.is_empty() {
            hosts.progress_at = hosts.progress_at.max(end);
        }
        while hosts.next_at() < stop {
            hosts.wake(fabric);
        }
        fabric.serve_hosts(stop);
    }
}

/// The reference engine: one event at a time. Arrivals are taken from a heap. Transmissions start
/// when they are due, which is found by asking all ports.
pub(crate) struct HeapEngine {
    world: World<Heap>,
}

impl Engine for HeapEngine {
    type Calendar = Heap;

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        Ok(Self { world: World::new(setup, |_| Heap::default())? })
    }

    fn worlds(&self) -> impl Iterator<Item = &World<Heap>> {
        std::iter::once(&self.world)
    }

    fn worlds_mut(&mut self) -> impl Iterator<Item = &mut World<Heap>> {
        std::iter::once(&mut self.world)
    }

    fn advance(&mut self, until: Time) -> Progress {
        let [departure, own, arrival] = self.dates();
        let next = departure.min(own).min(arrival);
        if next == Time::MAX {
            self.world.end_bucket();
            return Progress::Silent;
        }
        // Observations happen between buckets, as on the fast engine.
        let bucket = self.plan().begin_of_bucket(next.min(until));
        if bucket > self.world.now {
            self.world.end_bucket();
            self.world.now = bucket;
            return Progress::Going;
        }
        if next >= until {
            self.world.end_bucket();
            self.world.now = until;
            return Progress::Reached;
        }
        let end = self.plan().end_of_bucket(bucket);
        self.world.now = next;
        if departure <= next {
            self.world.fabric.drain(next + Span::from_ps(1));
        } else if own <= next {
            self.world.hosts.wake(&mut self.world.fabric);
        } else if let Some((arrival, destination)) = self.world.fabric.calendar.pop() {
            match destination {
                Destination::Host => {
                    self.world.hosts.receive(&mut self.world.fabric, &arrival);
                    let hosts = &mut self.world.hosts;
                    hosts.progress_at = hosts.progress_at.max(end);
                }
                Destination::Switch => self.world.fabric.arrive(&arrival),
            }
        }
        Progress::Going
    }

    fn horizon(&self) -> Time {
        let next = self.dates().into_iter().min();
        match next.filter(|&next| next != Time::MAX) {
            None => self.world.now,
            // A step into another bucket handles no event there.
            Some(next) => match self.plan().begin_of_bucket(next) {
                bucket if bucket > self.world.now => bucket,
                _ => next + Span::from_ps(1),
            },
        }
    }

    /// Nothing to do: no event is before `at`.
    fn reach(&mut self, at: Time) {
        self.world.now = self.world.now.max(at);
    }
}

impl HeapEngine {
    /// Times of the next departure from a port, the next action of a host, and the next arrival.
    fn dates(&self) -> [Time; 3] {
        [
            self.world.fabric.next_start().unwrap_or(Time::MAX),
            self.world.hosts.next_at(),
            self.world.fabric.calendar.next_at().unwrap_or(Time::MAX),
        ]
    }
}
