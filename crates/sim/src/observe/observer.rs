//! The observer of a run: schedules samples, and records them.

use tidegate_units::{ConfigError, Time};

use super::flow::{Follower, received_by};
use super::link::LinkState;
use super::port::Observers;
use super::series::Series;
use super::{
    Convention, Observations, ObservedFlow, ObservedLink, ObservedPortFlows, Window, port_flows,
};
use crate::network::LinkId;
use crate::setup::Setup;
use crate::world::Engine;

/// Observations during a run.
pub(crate) struct Observer<'a> {
    setup: &'a Setup,
    /// Time of the next observation; [`Time::MAX`] if there are no more.
    next_at: Time,
    links: Vec<LinkId>,
    flows: Vec<u32>,
    /// State at both ends of the window.
    ends: [Option<Snapshot>; 2],
    sampler: Option<Sampler>,
    /// Ports with journals, and the flow of each of their packets.
    journals: Vec<(LinkId, Vec<Option<u32>>)>,
}

/// Counters of the selected links and flows at one moment.
struct Snapshot {
    links: Vec<LinkState>,
    received: Vec<u64>,
}

/// Takes samples.
struct Sampler {
    series: Series,
    window: Window,
    limit: usize,
    /// Size classes, if flows at ports are distinguished.
    convention: Option<Convention>,
    followers: Vec<Follower>,
}

impl<'a> Observer<'a> {
    /// Observes a run that starts, or names a queue that does not exist.
    pub(crate) fn new(setup: &'a Setup, engine: &impl Engine) -> Result<Self, ConfigError> {
        let observe = &setup.observe;
        let sampler = match &observe.series {
            None => None,
            Some(sampling) => {
                for &(link, queue) in &sampling.queues {
                    let queues = engine.link(link).queues();
                    if queue.0 >= queues {
                        let found = format!("{queue} of link {}", link.0);
                        let allowed = format!("queues 0 to {}", queues.saturating_sub(1));
                        let field = "observe.series.queues";
                        return Err(ConfigError::out_of_range(field, found, allowed));
                    }
                }
                let window = sampling.window.unwrap_or(observe.window);
                Some(Sampler {
                    series: Series::new(sampling, &observe.ports_with_flows(setup), window.from),
                    window,
                    convention: observe.port_flows.as_ref().map(|flows| flows.convention),
                    limit: sampling.limit as usize,
                    followers: sampling.flows.iter().copied().map(Follower::new).collect(),
                })
            }
        };
        let mut observer = Self {
            setup,
            next_at: Time::MAX,
            links: observe.links.list(setup.network.links().len(), LinkId),
            flows: observe.flows.list(setup.flows.len(), |flow| flow),
            ends: [None, None],
            sampler,
            journals: (observe.journal.iter())
                .flat_map(|journal| &journal.ports)
                .map(|&link| (link, Vec::new()))
                .collect(),
        };
        observer.look_ahead();
        Ok(observer)
    }

    /// Time of the next observation, if there is one up to `last`.
    #[inline]
    pub(crate) fn next_until(&self, last: Time) -> Option<Time> {
        (self.next_at != Time::MAX && self.next_at <= last).then_some(self.next_at)
    }

    /// Records the observations due at `now`, before any event at `now`.
    #[cold]
    pub(crate) fn look(&mut self, engine: &impl Engine, now: Time) {
        let window = self.setup.observe.window;
        for (index, end) in [window.from, window.to].into_iter().enumerate() {
            if end == now && self.ends[index].is_none() {
                self.ends[index] = Some(self.snapshot(engine, now));
            }
        }
        if let Some(sampler) = &mut self.sampler
            && sampler.next_at() == now
        {
            sampler.sample(engine, now);
        }
        self.look_ahead();
    }

    /// Finds the flows of packets recorded since the last call. A port knows only the connections
    /// of its packets, and a connection has one flow after the other.
    #[inline]
    pub(crate) fn find_flows(&mut self, engine: &impl Engine) {
        for (link, flows) in &mut self.journals {
            // If packets are recorded, the network has only one part.
            let journal = observers(engine, *link).and_then(Observers::journal);
            if let (Some(journal), Some(hosts)) = (journal, engine.hosts().next()) {
                journal.find_flows(hosts, flows);
            }
        }
    }

    /// Results at the end of the run. Counters run until `closed`, the end of the bucket in which
    /// the run ended; only one of the engines has observed the time between.
    pub(crate) fn finish(
        mut self,
        engine: &impl Engine,
        ended_at: Time,
        closed: Time,
    ) -> Observations {
        let asked = self.setup.observe.window;
        let [from, to] = [asked.from, asked.to].map(|at| if at <= ended_at { at } else { closed });
        let window = Window { from, to: to.max(from) };
        // A run that ended before the window has no results.
        let [before, after] = std::mem::take(&mut self.ends);
        let last = || self.snapshot(engine, closed);
        let before = before.filter(|_| asked.from <= ended_at).unwrap_or_else(last);
        let after = after.filter(|_| asked.to <= ended_at).unwrap_or_else(last);
        let links = self.links.iter().enumerate().map(|(index, &link)| {
            let states = [before.links[index], after.links[index]];
            let rate = self.setup.network.link(link).rate;
            ObservedLink::new(link, rate, window, self.setup.accounting, states)
        });
        let received_at = |flow: u32| {
            let results = engine.hosts().map(|hosts| &hosts.results[flow as usize]);
            let times = results.map(|result| result.received_at);
            times.min().unwrap_or(Time::MAX)
        };
        let flows = self.flows.iter().enumerate().map(|(index, &number)| {
            let received = [before.received[index], after.received[index]];
            let flow = &self.setup.flows[number as usize];
            ObservedFlow::new(number, flow, received_at(number), window, received)
        });
        let ports = self.setup.observe.watched_ports(self.setup);
        let queues = ports.into_iter().filter_map(|link| {
            let observed = observers(engine, link)?.observed(closed);
            Some(observed.map(move |queue| (link, queue)))
        });
        let ports = self.setup.observe.ports_with_flows(self.setup);
        let port_flows = ports.into_iter().filter_map(|link| {
            let port = observers(engine, link)?;
            Some(ObservedPortFlows {
                link,
                active: port.flows()?.counts(closed),
                decisions: port.decisions(),
            })
        });
        let journals = std::mem::take(&mut self.journals).into_iter();
        let journals = journals.filter_map(|(link, flows)| {
            let journal = observers(engine, link)?.journal()?;
            Some(journal.observed(link, &flows))
        });
        let mut host_waits = Vec::new();
        for hosts in engine.hosts() {
            hosts.add_waits(&mut host_waits);
        }
        Observations {
            host_waits,
            journals: journals.collect(),
            window,
            queues: queues.flatten().collect(),
            links: links.collect(),
            flows: flows.collect(),
            port_flows: port_flows.collect(),
            series: self.sampler.map(|sampler| {
                let mut series = sampler.series;
                series.cut(ended_at);
                series
            }),
        }
    }

    fn look_ahead(&mut self) {
        let window = self.setup.observe.window;
        let mut next_at = Time::MAX;
        if !self.links.is_empty() || !self.flows.is_empty() {
            next_at = match &self.ends {
                [None, _] => window.from,
                [Some(_), None] => window.to,
                [Some(_), Some(_)] => Time::MAX,
            };
        }
        if let Some(sampler) = &self.sampler {
            next_at = next_at.min(sampler.next_at());
        }
        self.next_at = next_at;
    }

    fn snapshot(&self, engine: &impl Engine, now: Time) -> Snapshot {
        let state = |&link: &LinkId| {
            let view = engine.link(link);
            LinkState { count: view.count, pauses: view.pauses(now) }
        };
        Snapshot {
            links: self.links.iter().map(state).collect(),
            received: received_by(&engine.hosts().collect::<Vec<_>>(), &self.flows),
        }
    }
}

/// Observers of a link's port, if any.
fn observers(engine: &impl Engine, link: LinkId) -> Option<&Observers> {
    engine.link(link).observers()
}

impl Sampler {
    /// Time of the next sample.
    fn next_at(&self) -> Time {
        let next = self.series.time(self.series.len() as u64);
        if next <= self.window.to { next } else { Time::MAX }
    }

    fn sample(&mut self, engine: &impl Engine, now: Time) {
        let series = &mut self.series;
        series.active_flows.push(engine.tally().live);
        for queue in &mut series.queues {
            let sample = engine.link(queue.link).sample(queue.queue);
            queue.samples.push(sample);
        }
        for link in &mut series.links {
            link.bytes.push(engine.link(link.link).count.bytes);
        }
        if !series.flows.is_empty() {
            let hosts = engine.hosts().collect::<Vec<_>>();
            for (flow, follower) in series.flows.iter_mut().zip(&mut self.followers) {
                flow.samples.push(follower.look(&hosts, now));
            }
        }
        for port in &mut series.port_flows {
            let seen = observers(engine, port.link).and_then(Observers::flows);
            let (Some(seen), Some(convention)) = (seen, self.convention) else {
                continue;
            };
            // If flows at ports are observed, the network has only one part.
            if let Some(hosts) = engine.hosts().next() {
                let sample = port_flows::sample(seen, hosts, convention, now);
                port.samples.push(sample);
            }
            for (waiting, follower) in port.waiting.iter_mut().zip(&self.followers) {
                let sink = follower.sink();
                waiting.push(sink.map_or(0, |sink| seen.bytes(sink.flow())));
            }
        }
        if series.len() > self.limit {
            series.thin_out();
        }
    }
}
