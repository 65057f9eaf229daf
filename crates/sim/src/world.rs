//! A world: network and hosts under one calendar, and the two engines that move it.

use tidegate_units::{ConfigError, Span, Time};

use crate::calendar::buckets::Bucket;
use crate::calendar::sort::ByTime;
use crate::calendar::{Buckets, Goal, Heap};
use crate::fabric::{Fabric, LinkView};
use crate::hosts::Hosts;
use crate::network::LinkId;
use crate::routes::Routes;
use crate::setup::{Setup, bucket_width};

/// What moves a world.
pub(crate) trait Engine: Sized {
    /// A world at time zero.
    fn new(setup: &Setup) -> Result<Self, ConfigError>;

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
    fn now(&self) -> Time;

    fn hosts(&self) -> &Hosts;

    fn hosts_mut(&mut self) -> &mut Hosts;

    /// Reads a link's port and counters.
    fn link(&self, link: LinkId) -> LinkView<'_>;
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
    fabric: Fabric<Buckets>,
    hosts: Hosts,
    now: Time,
    /// What arrives now.
    bucket: Bucket,
    by_time: ByTime,
    /// Whether packets arrive at a host in the order in which they left for it.
    arrive_in_order: bool,
}

impl Engine for BucketEngine {
    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let routes = Routes::new(&setup.network)?.with_ecmp(setup.ecmp);
        let calendar = Buckets::new(setup.lookahead(), setup.horizon());
        let mut fabric = Fabric::new(setup, calendar)?;
        let mut hosts = Hosts::new(setup, routes)?;
        hosts.start_probes(&mut fabric);
        Ok(Self {
            fabric,
            hosts,
            now: Time::ZERO,
            bucket: Bucket::default(),
            by_time: ByTime::default(),
            // A pause frame overtakes the packet that is being sent.
            arrive_in_order: setup.host_delay.values.is_empty() && !setup.sends_pauses(),
        })
    }

    fn advance(&mut self, until: Time) -> Progress {
        let end = self.fabric.calendar.end();
        let stop = end.min(until);
        self.work(stop);
        self.now = stop;
        if stop < end {
            return Progress::Reached;
        }
        self.fabric.calendar.turn();
        // A paused port may hold packets for a long time, with nothing on any link.
        let is_still = self.fabric.may_be_paused() && self.fabric.calendar.is_empty();
        if is_still || self.fabric.is_quiet() {
            let arrival = self.fabric.calendar.earliest().unwrap_or(Time::MAX);
            let departure = self.fabric.next_start().unwrap_or(Time::MAX);
            let next = arrival.min(departure).min(self.hosts.next_at());
            if next == Time::MAX {
                return Progress::Silent;
            }
            if next >= self.fabric.calendar.end() {
                let skipped = next.min(until);
                self.fabric.calendar.skip_to(skipped);
                self.now = self.fabric.calendar.begin();
            }
        }
        if self.now >= until {
            Progress::Reached
        } else {
            Progress::Going
        }
    }

    fn horizon(&self) -> Time {
        self.fabric.calendar.end()
    }

    fn reach(&mut self, at: Time) {
        if at > self.now {
            self.work(at);
            self.now = at;
        }
    }

    fn now(&self) -> Time {
        self.now
    }

    fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    fn hosts_mut(&mut self) -> &mut Hosts {
        &mut self.hosts
    }

    fn link(&self, link: LinkId) -> LinkView<'_> {
        self.fabric.view(link)
    }
}

impl BucketEngine {
    /// Does what happens in the open bucket before `stop`.
    fn work(&mut self, stop: Time) {
        let Self { fabric, hosts, .. } = self;
        let slot = (fabric.calendar.begin(), fabric.calendar.width());
        fabric.calendar.take(stop, &mut self.bucket);
        fabric.serve(&self.bucket.switches, stop);
        hosts.take_dropped(fabric);
        let answers_only =
            self.arrive_in_order && hosts.only_answer(stop, stop - fabric.calendar.begin());
        if answers_only {
            // What arrives at a host comes from one link, in order already.
            for arrival in &self.bucket.hosts {
                hosts.deliver(fabric, arrival);
            }
        } else {
            let arrivals = self.by_time.sort(&self.bucket.hosts, slot, &fabric.packets);
            for arrival in arrivals {
                while hosts.next_at() <= arrival.at {
                    hosts.wake(fabric);
                }
                hosts.deliver(fabric, arrival);
            }
        }
        if !self.bucket.hosts.is_empty() {
            hosts.progress_at = stop;
        }
        while hosts.next_at() < stop {
            hosts.wake(fabric);
        }
        fabric.drain(stop);
        hosts.take_dropped(fabric);
    }
}

/// The reference engine: one event at a time. Every arrival is taken from a heap, and every start of
/// a transmission happens when it is due, found by asking all ports.
pub(crate) struct HeapEngine {
    fabric: Fabric<Heap>,
    hosts: Hosts,
    now: Time,
    /// The width of a bucket as a power of two: the fast engine looks at the world between buckets,
    /// and so does this one.
    width: u32,
}

impl Engine for HeapEngine {
    fn new(setup: &Setup) -> Result<Self, ConfigError> {
        let routes = Routes::new(&setup.network)?.with_ecmp(setup.ecmp);
        let mut fabric = Fabric::new(setup, Heap::default())?;
        let mut hosts = Hosts::new(setup, routes)?;
        hosts.start_probes(&mut fabric);
        Ok(Self {
            fabric,
            hosts,
            now: Time::ZERO,
            width: bucket_width(setup.lookahead()),
        })
    }

    fn advance(&mut self, until: Time) -> Progress {
        let [departure, own, arrival] = self.dates();
        let next = departure.min(own).min(arrival);
        if next == Time::MAX {
            return Progress::Silent;
        }
        let begin = |time: Time| Time::from_ps(time.as_ps() >> self.width << self.width);
        let bucket = begin(next.min(until));
        if bucket > self.now {
            self.now = bucket;
            return Progress::Going;
        }
        if next >= until {
            self.now = until;
            return Progress::Reached;
        }
        let end = Time::from_ps(bucket.as_ps().saturating_add(1 << self.width)).min(until);
        self.now = next;
        if departure <= next {
            self.fabric.drain(next + Span::from_ps(1));
        } else if own <= next {
            self.hosts.wake(&mut self.fabric);
        } else if let Some((arrival, goal)) = self.fabric.calendar.pop() {
            match goal {
                Goal::Host => {
                    self.hosts.deliver(&mut self.fabric, &arrival);
                    self.hosts.progress_at = end;
                }
                Goal::Switch => self.fabric.arrive(&arrival),
            }
        }
        self.hosts.take_dropped(&mut self.fabric);
        Progress::Going
    }

    fn horizon(&self) -> Time {
        let next = self.dates().into_iter().min();
        match next.filter(|&next| next != Time::MAX) {
            None => self.now,
            Some(next) => next + Span::from_ps(1),
        }
    }

    /// There is nothing to do: the next event does not come before.
    fn reach(&mut self, at: Time) {
        self.now = self.now.max(at);
    }

    fn now(&self) -> Time {
        self.now
    }

    fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    fn hosts_mut(&mut self) -> &mut Hosts {
        &mut self.hosts
    }

    fn link(&self, link: LinkId) -> LinkView<'_> {
        self.fabric.view(link)
    }
}

impl HeapEngine {
    /// When the next packet leaves a port, the next host acts, and the next packet arrives.
    fn dates(&self) -> [Time; 3] {
        [
            self.fabric.next_start().unwrap_or(Time::MAX),
            self.hosts.next_at(),
            self.fabric.calendar.next_at().unwrap_or(Time::MAX),
        ]
    }
}
