//! Coupling: which switches are served port by port, and which one arrival at a time.
//!
//! Ports that share a pool or pause their neighbours depend on each other, but rarely on exact
//! times. While the pool has room for all possible arrivals, every packet is admitted, no mark
//! depends on the pool, and no neighbour is paused, in any order of service. So the engine first
//! asks whether a switch's buffer has that much slack ([`Buffer::has_slack`]). There are three
//! modes:
//!
//! - *wide*: no link can bring more than its rate allows. If all switches have slack for that, a
//!   whole bucket is served level by level, as if nothing were shared, or a half, a quarter or an
//!   eighth of it;
//! - *bounded*: otherwise the bucket is divided into steps that are no longer than the shortest
//!   link. Arrivals in a step are known when it begins, and a switch with slack for just these is
//!   served port by port;
//! - *coupled*: the other switches take one arrival at a time, with all of their ports up to date.
//!   Switches with a flow control of their own are always in this mode.

use std::ops::Range;

use tidegate_dataplane::buffer::{Buffer, Influx};
use tidegate_dataplane::egress::Egress;
use tidegate_units::Time;

use super::Fabric;
use crate::calendar::sort::{self, Batch};
use crate::calendar::{Arrival, BucketPlan, Calendar};
use crate::setup::Setup;

/// State of switches whose ports depend on each other.
#[derive(Debug)]
pub(super) struct Coupling {
    switches: Vec<Switch>,
    /// By node: index of the switch in that list.
    indices: Vec<u32>,
    /// By link: level of its port.
    levels: Box<[u8]>,
    /// Pool length below which the scheme ignores the pool.
    pool_below: u32,
    /// Length of the longest packet.
    longest: u32,
    /// Indices of switches with arrivals in the step.
    touched: Vec<u32>,
    /// Arrivals at coupled switches, with the node as their target.
    by_node: Vec<Arrival>,
    /// Arrivals at one of them.
    here: Batch<Arrival>,
    counters: EngineCounters,
}

#[derive(Debug)]
struct Switch {
    node: u32,
    /// Most bytes that its links bring in each window of a [`BucketPlan`].
    influx: [Influx; BucketPlan::MAX_WINDOWS],
    /// Packets that arrive in the step.
    arrivals: u32,
}

/// Counters of how switches whose ports depend on each other were served. All zero if no ports do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Buckets, or parts of one, in which all switches were served port by port, level by level.
    pub wide_buckets: u64,
    /// Steps of a switch that was served port by port.
    pub bounded_steps: u64,
    /// Steps of a switch that took one arrival at a time.
    pub coupled_steps: u64,
}

impl std::iter::Sum for EngineCounters {
    /// Sums the parts of a network, whose wide buckets are the same.
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            wide_buckets: sum.wide_buckets.max(part.wide_buckets),
            bounded_steps: sum.bounded_steps + part.bounded_steps,
            coupled_steps: sum.coupled_steps + part.coupled_steps,
        })
    }
}

/// Flag in the number of arrivals: one of them is a pause frame.
const PAUSE: u32 = 1 << 31;

impl Coupling {
    pub(super) fn new(
        setup: &Setup,
        plan: &BucketPlan,
        ports: &[Option<Box<dyn Egress>>],
        is_own: impl Fn(u32) -> bool,
    ) -> Self {
        let network = &setup.network;
        let longest = setup.longest_packet();
        let mut indices = vec![u32::MAX; network.nodes() as usize];
        let mut switches: Vec<Switch> = Vec::new();
        for node in (network.hosts()..network.nodes()).filter(|&node| is_own(node)) {
            indices[node as usize] = switches.len() as u32;
            switches.push(Switch {
                node,
                influx: [Influx { total: 0, per_ingress: 0 }; BucketPlan::MAX_WINDOWS],
                arrivals: 0,
            });
        }
        let mut pool_below = u32::MAX;
        for (link, port) in network.links().iter().zip(ports) {
            if let Some(switch) = switches.get_mut(indices[link.to.index()] as usize) {
                for (window, influx) in switch.influx.iter_mut().enumerate() {
                    // A packet counts when its last bit arrives, and its first bit may have come
                    // long before.
                    let bytes = link.rate.bytes_in(plan.span(window));
                    let bytes = bytes.saturating_add(longest.into());
                    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                    let Influx { total, per_ingress } = influx;
                    *total = total.saturating_add(bytes);
                    *per_ingress = bytes.max(*per_ingress);
                }
            }
            if let Some(port) = port
                && !network.is_host(link.from)
            {
                pool_below = pool_below.min(port.ignores_pool_below());
            }
        }
        Self {
            switches,
            indices,
            levels: plan.levels().map(|level| level as u8).collect(),
            pool_below,
            longest,
            touched: Vec::new(),
            by_node: Vec::new(),
            here: Batch::default(),
            counters: EngineCounters::default(),
        }
    }
}

impl<C: Calendar> Fabric<C> {
    /// Whether ports of a switch may depend on each other.
    pub(crate) const fn has_coupling(&self) -> bool {
        self.coupling.is_some()
    }

    /// Whether hosts act at the end of each step instead of each bucket. No link of a host is
    /// shorter than a bucket, so that nothing at switches depends on when hosts act; but a flow
    /// control has one state for all nodes.
    pub(crate) const fn steps_hosts(&self) -> bool {
        self.bfc.is_some()
    }

    /// Counters of how switches were served.
    pub(crate) fn counters(&self) -> EngineCounters {
        let coupling = self.coupling.as_ref();
        coupling.map_or_else(EngineCounters::default, |it| it.counters)
    }

    /// The longest of these windows in which every switch can be served port by port for any
    /// possible arrivals.
    pub(crate) fn widest(&self, mut windows: Range<usize>) -> Option<usize> {
        let Some(coupling) = &self.coupling else {
            return windows.next();
        };
        // A pause frame stops a switch's port in the middle of a bucket.
        if self.bfc.is_some() || self.pauses.to_switches > 0 {
            return None;
        }
        let mut window = windows.next()?;
        for switch in &coupling.switches {
            let buffer = &self.nodes[switch.node as usize].buffer;
            // Slack for a longer window is slack for a shorter one.
            while !buffer.has_slack(switch.influx[window], coupling.pool_below) {
                window = windows.next()?;
            }
        }
        Some(window)
    }

    /// Serves every switch port by port from now on.
    pub(crate) fn uncouple(&mut self) {
        let Some(mut coupling) = self.coupling.take() else {
            return;
        };
        coupling.counters.wide_buckets += 1;
        for index in 0..coupling.switches.len() {
            self.couple(&coupling, index, false);
        }
        self.coupling = Some(coupling);
    }

    /// Pool length below which the schemes of the ports in this part ignore the pool.
    pub(crate) fn pool_below(&self) -> u32 {
        let coupling = self.coupling.as_ref();
        coupling.map_or(u32::MAX, |coupling| coupling.pool_below)
    }

    /// Lowers that limit to the network's.
    pub(crate) fn limit_pool_below(&mut self, pool_below: u32) {
        if let Some(coupling) = &mut self.coupling {
            coupling.pool_below = coupling.pool_below.min(pool_below);
        }
    }

    /// Serves the ports of switches until `stop`, given the arrivals until then, by level. No
    /// packet that leaves them arrives anywhere before `stop`.
    pub(crate) fn serve_step(&mut self, arrivals: &mut [Vec<Arrival>], stop: Time) {
        let mut coupling =
            self.coupling.take().expect("steps are served only in fabrics with coupling");
        self.find_coupled(&mut coupling, arrivals);
        for (level, arrivals) in arrivals.iter().enumerate() {
            self.serve_switches(level, arrivals, stop);
        }
        if !coupling.by_node.is_empty() {
            self.serve_coupled(&mut coupling);
        }
        self.drain_coupled(stop);
        self.coupling = Some(coupling);
    }

    /// Decides from the arrivals at each switch whether it is coupled, and removes the arrivals at
    /// coupled switches from the lists.
    fn find_coupled(&mut self, coupling: &mut Coupling, arrivals: &mut [Vec<Arrival>]) {
        for arrival in arrivals.iter().flatten() {
            let node = self.wires[arrival.target as usize].node;
            let index = coupling.indices[node as usize];
            let switch = &mut coupling.switches[index as usize];
            if switch.arrivals == 0 {
                coupling.touched.push(index);
            }
            switch.arrivals += 1;
            if self.pauses.to_switches > 0 && self.packets[arrival.packet].is_pause() {
                switch.arrivals |= PAUSE;
            }
        }
        let mut any = false;
        for touched in 0..coupling.touched.len() {
            let index = coupling.touched[touched] as usize;
            let Switch { node, influx, arrivals } = &mut coupling.switches[index];
            let arrivals = std::mem::take(arrivals);
            let total = arrivals.saturating_mul(coupling.longest);
            let influx = Influx {
                total: total.min(influx[0].total),
                per_ingress: total.min(influx[0].per_ingress),
            };
            let buffer = &self.nodes[*node as usize].buffer;
            let is_coupled = self.bfc.is_some()
                || arrivals >= PAUSE
                || !buffer.has_slack(influx, coupling.pool_below);
            self.couple(coupling, index, is_coupled);
            any |= is_coupled;
            let count = if is_coupled {
                &mut coupling.counters.coupled_steps
            } else {
                &mut coupling.counters.bounded_steps
            };
            *count += 1;
        }
        coupling.touched.clear();
        coupling.by_node.clear();
        if any {
            for list in arrivals {
                let coupled = list.extract_if(.., |arrival| {
                    let node = self.wires[arrival.target as usize].node;
                    self.nodes[node as usize].is_coupled
                });
                coupling.by_node.extend(coupled.map(|arrival| Arrival {
                    target: self.wires[arrival.target as usize].node,
                    ..arrival
                }));
            }
        }
    }

    /// Serves the arrivals at coupled switches, one after the other.
    fn serve_coupled(&mut self, coupling: &mut Coupling) {
        let Coupling { by_node, here, .. } = coupling;
        let mut by_target = std::mem::take(&mut self.scratch.by_target);
        by_target.chain(by_node);
        for index in 0..by_target.targets() {
            let target = by_target.target(index);
            let here = here.room(by_target.count(target));
            if !by_target.write(target, by_node, here, |&arrival| arrival) {
                sort::insertion(here, &self.packets, Arrival::key);
            }
            for arrival in here {
                self.arrive(arrival);
            }
        }
        self.scratch.by_target = by_target;
    }

    /// Makes a switch be served port by port, or one arrival at a time, from now on.
    #[inline]
    fn couple(&mut self, coupling: &Coupling, index: usize, is_coupled: bool) {
        let node = coupling.switches[index].node;
        if self.nodes[node as usize].is_coupled != is_coupled {
            self.change_coupling(node, is_coupled, &coupling.levels);
        }
    }

    /// Moves the busy ports of a node to the list where they are searched.
    fn change_coupling(&mut self, node_id: u32, is_coupled: bool, levels: &[u8]) {
        let node = &mut self.nodes[node_id as usize];
        node.is_coupled = is_coupled;
        if is_coupled {
            for busy in &mut self.busy.switches {
                let wires = &self.wires;
                let own = busy.extract_if(.., |start| wires[start.link.index()].node == node_id);
                own.for_each(|start| node.busy.add(start.at, start.link));
            }
            if !node.busy.is_empty() && !node.is_busy {
                node.is_busy = true;
                self.busy.nodes.push(node_id);
            }
        } else {
            for start in node.busy.drain() {
                self.busy.switches[usize::from(levels[start.link.index()])].push(start);
            }
            if node.is_busy {
                node.is_busy = false;
                self.busy.nodes.retain(|&busy| busy != node_id);
            }
        }
    }
}
