//! A world: network and hosts under one calendar, and the two engines that move it.

use tidegate_units::{ConfigError, Span, Time};

use crate::calendar::sort::ByTime;
use crate::calendar::{Arrival, Buckets, Calendar, Destination, Heap, Plan};
use crate::capture::{Captured, Recorder};
use crate::fabric::{EngineCounters, Fabric, LinkView};
use crate::hosts::Hosts;
use crate::network::LinkId;
use crate::pause::{ClassPauses, Deadlock};
use crate::routes::Routes;
use crate::setup::Setup;

/// Network and hosts, and the time up to which everything has happened.
pub(crate) struct World<C> {
    plan: Plan,
    fabric: Fabric<C>,
    hosts: Hosts,
    now: Time,
    /// What left on links that are captured, and no capture has taken.
    captured: Vec<(Time, LinkId, Captured)>,
}

impl<C: Calendar> World<C> {
    /// A world at time zero.
    fn new(setup: &Setup, calendar: impl FnOnce(&Plan) -> C) -> Result<Self, ConfigError> {
        let routes = Routes::new(&setup.network)?.with_ecmp(setup.ecmp);
        let plan = Plan::new(setup, &routes);
        let mut fabric = Fabric::new(setup, calendar(&plan), &plan)?;
        let mut hosts = Hosts::new(setup, routes, plan.width())?;
        hosts.start_probes(&mut fabric);
        Ok(Self {
            plan,
            fabric,
            hosts,
            now: Time::ZERO,
            captured: Vec::new(),
        })
    }

    /// Has the hosts take note of what was dropped: at the end of a bucket, or of the run, on every engine.
    #[inline]
    fn end_bucket(&mut self) {
        self.hosts.take_dropped(&mut self.fabric);
    }

    /// Looks at what left on links that are captured, before it goes on.
    #[inline]
    fn collect_captured(&mut self) {
        if !self.fabric.reports.captured.is_empty() {
            let Self { fabric, hosts, .. } = self;
            let seen = fabric.reports.captured.drain(..);
            let captured =
                seen.map(|(at, link, id)| (at, link, hosts.captured(&fabric.packets[id])));
            self.captured.extend(captured);
        }
    }
}

/// What moves a world.
pub(crate) trait Engine: Sized {
    /// Where its packets are noted.
    type Calendar: Calendar;

    /// A world at time zero.
    fn new(setup: &Setup) -> Result<Self, ConfigError>;

    fn world(&self) -> &World<Self::Calendar>;

    fn world_mut(&mut self) -> &mut World<Self::Calendar>;

    /// Does everything that happens before `until`, or a part of it: enough to look at the world
    /// once in a while.
    fn advance(&mut self, until: Time) -> Progress;

    /// The next step of [`advance`](Self::advance) does nothing at this time or later. The engine can
    /// [`reach`](Self::reach) any time before it.
    fn horizon(&self) -> Time;

    /// Does everything that happens before `at`, which lies before the horizon, and nothing else: the
    /// next [`advance`](Self::advance) ends where it would have ended.
    fn reach(&mut self, at: Time);

    /// The time up to which everything has happened.
    fn now(&self) -> Time {
        self.world().now
    }

    #[cfg(test)]
    fn fabric(&self) -> &Fabric<Self::Calendar> {
        &self.world().fabric
    }

    fn hosts(&self) -> &Hosts {
        &self.world().hosts
    }

    fn hosts_mut(&mut self) -> &mut Hosts {
        &mut self.world_mut().hosts
    }

    /// Has these links captured.
    fn capture(&mut self, links: &[LinkId]) {
        self.world_mut().fabric.capture_links(links);
    }

    /// Shows a capture what has left since the last time.
    fn record(&mut self, recorder: &mut dyn Recorder) {
        let world = self.world_mut();
        world.collect_captured();
        for (at, link, captured) in world.captured.drain(..) {
            recorder.note(at, link, captured);
        }
        recorder.write(world.now);
    }

    /// How the classes of all links were paused until `now`.
    fn class_pauses(&self, now: Time) -> Vec<ClassPauses> {
        self.world().fabric.class_pauses(now)
    }

    /// Which classes of links will never run again.
    fn deadlocks(&self) -> Vec<Deadlock> {
        self.world().fabric.deadlocks()
    }

    /// How switches were served.
    fn counters(&self) -> EngineCounters {
        self.world().fabric.counters()
    }

    /// How the time of the run is cut.
    fn plan(&self) -> &Plan {
        &self.world().plan
    }

    /// Reads a link's port and counters.
    fn link(&self, link: LinkId) -> LinkView<'_> {
        self.world().fabric.view(link)
    }
}

/// How far an engine came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Some of the work is done.
    Going,
    /// Everything before the given time is done.
    Reached,
    /// Nothing will ever happen again.
    Silent,
}

/// The fast engine: buckets of time, see [`Buckets`].
pub(crate) struct BucketEngine {
    world: World<Buckets>,
    /// What arrives now.
    arrivals: Vec<Arrival>,
    /// What arrives at switches in a step, by level.
    taken: Vec<Vec<Arrival>>,
    by_time: ByTime,
    /// Whether packets arrive at a host in the order in which they left for it.
    arrive_in_order: bool,
}

impl Engine for BucketEngine {
    type Calendar = Buckets;

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let world = World::new(setup, |plan| Buckets::new(plan, setup.horizon()))?;
        Ok(Self {
            taken: vec![Vec::new(); world.plan.count()],
            world,
            arrivals: Vec::new(),
            by_time: ByTime::default(),
            // A pause frame overtakes the packet that is being sent, and an interrupt is a timer.
            arrive_in_order: setup.host_delay.values.is_empty()
                && !setup.sends_pauses()
                && setup.host_receive.is_off(),
        })
    }

    fn world(&self) -> &World<Buckets> {
        &self.world
    }

    fn world_mut(&mut self) -> &mut World<Buckets> {
        &mut self.world
    }

    fn advance(&mut self, until: Time) -> Progress {
        let end = self.world.fabric.calendar.end();
        let stop = end.min(until);
        self.work(stop);
        self.world.end_bucket();
        self.world.now = stop;
        if stop < end {
            return Progress::Reached;
        }
        self.world.fabric.calendar.turn();
        // A paused port may hold packets for a long time, with nothing on any link.
        let is_still = !self.world.fabric.is_sending() && self.world.fabric.calendar.is_empty();
        if is_still || self.world.fabric.is_quiet() {
            let arrival = self.world.fabric.calendar.earliest().unwrap_or(Time::MAX);
            let departure = self.world.fabric.next_start().unwrap_or(Time::MAX);
            let next = arrival.min(departure).min(self.world.hosts.next_at());
            if next == Time::MAX {
                return Progress::Silent;
            }
            if next >= self.world.fabric.calendar.end() {
                let skipped = next.min(until);
                self.world.fabric.calendar.skip_to(skipped);
                self.world.now = self.world.fabric.calendar.begin();
            }
        }
        if self.world.now >= until {
            Progress::Reached
        } else {
            Progress::Going
        }
    }

    fn horizon(&self) -> Time {
        self.world.fabric.calendar.end()
    }

    fn reach(&mut self, at: Time) {
        if at > self.world.now {
            self.work(at);
            self.world.now = at;
        }
    }
}

impl BucketEngine {
    /// Does what happens in the open bucket before `stop`.
    fn work(&mut self, stop: Time) {
        if !self.world.fabric.has_coupling() {
            self.work_by_level(stop);
            return;
        }
        // A bucket that is a step is known when it begins: there is no need for a bound.
        if self.world.plan.is_stepped() && self.world.fabric.uncouple() {
            self.work_by_level(stop);
            return;
        }
        let mut now = self.world.now;
        while now < stop {
            now = self.world.plan.end_of_step(now).min(stop);
            self.work_step(now);
        }
    }

    /// Does what happens before `stop`, ports of switches level by level.
    fn work_by_level(&mut self, stop: Time) {
        for level in 0..self.world.plan.count() {
            let fabric = &mut self.world.fabric;
            fabric.calendar.take(level, stop, &mut self.arrivals);
            fabric.serve_switches(level, &self.arrivals, stop);
            self.world.collect_captured();
        }
        self.work_at_hosts(stop);
    }

    /// Does what happens before `stop`, which is at most a step away.
    fn work_step(&mut self, stop: Time) {
        let fabric = &mut self.world.fabric;
        for (level, arrivals) in self.taken.iter_mut().enumerate() {
            fabric.calendar.take(level, stop, arrivals);
        }
        fabric.calendar.go_on();
        fabric.serve_step(&mut self.taken, stop);
        self.world.collect_captured();
        self.work_at_hosts(stop);
    }

    /// Does what happens at hosts before `stop`, when switches have done so.
    fn work_at_hosts(&mut self, stop: Time) {
        let levels = self.world.plan.count();
        let World { fabric, hosts, .. } = &mut self.world;
        fabric.calendar.take(levels, stop, &mut self.arrivals);
        fabric.plan_sends(&self.arrivals);
        let slot = (fabric.calendar.begin(), fabric.calendar.width());
        let answers_only =
            self.arrive_in_order && hosts.only_answer(stop, stop - fabric.calendar.begin());
        if answers_only {
            // What arrives at a host comes from one link, in order already.
            for arrival in &self.arrivals {
                hosts.deliver(fabric, arrival);
            }
        } else {
            let arrivals = self.by_time.sort(&self.arrivals, slot, &fabric.packets);
            hosts.act_and_deliver(fabric, arrivals);
        }
        if !self.arrivals.is_empty() {
            hosts.progress_at = fabric.calendar.end();
        }
        while hosts.next_at() < stop {
            hosts.wake(fabric);
        }
        fabric.serve_hosts(stop);
    }
}

/// The reference engine: one event at a time. Every arrival is taken from a heap, and every start of
/// a transmission happens when it is due, found by asking all ports.
pub(crate) struct HeapEngine {
    world: World<Heap>,
}

impl Engine for HeapEngine {
    type Calendar = Heap;

    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        Ok(Self {
            world: World::new(setup, |_| Heap::default())?,
        })
    }

    fn world(&self) -> &World<Heap> {
        &self.world
    }

    fn world_mut(&mut self) -> &mut World<Heap> {
        &mut self.world
    }

    fn advance(&mut self, until: Time) -> Progress {
        let [departure, own, arrival] = self.dates();
        let next = departure.min(own).min(arrival);
        if next == Time::MAX {
            self.world.end_bucket();
            return Progress::Silent;
        }
        // The fast engine looks at the world between buckets, and so does this one.
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
                    self.world.hosts.progress_at = end;
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
            // A step into another bucket does nothing there.
            Some(next) => match self.plan().begin_of_bucket(next) {
                bucket if bucket > self.world.now => bucket,
                _ => next + Span::from_ps(1),
            },
        }
    }

    /// There is nothing to do: the next event does not come before.
    fn reach(&mut self, at: Time) {
        self.world.now = self.world.now.max(at);
    }
}

impl HeapEngine {
    /// When the next packet leaves a port, the next host acts, and the next packet arrives.
    fn dates(&self) -> [Time; 3] {
        [
            self.world.fabric.next_start().unwrap_or(Time::MAX),
            self.world.hosts.next_at(),
            self.world.fabric.calendar.next_at().unwrap_or(Time::MAX),
        ]
    }
}
