//! Offered load of links before a run: bytes on the wire over the time in which flows arrive.
//!
//! The bytes are the run's flows, divided into packets with their headers; ACKs and retransmissions
//! are not counted. Random arrivals are spread over all of their pairs, so that the load of a short
//! run is not the load of the one link that chance favoured. Paths of equal length share evenly.

use std::collections::BTreeMap;

use tidegate_units::{ConfigError, Rate, Span, Time};

use crate::flow::Flow;
use crate::network::{HostId, LinkId, Network};
use crate::observe::statistics::{real, seconds};
use crate::routes::Routes;
use crate::setup::{Setup, Transport};
use crate::workload::{Planned, Shares, Source, Traffic};

/// Fraction of a link's speed above which queues grow for most of the time in which flows arrive.
pub const FULL: f64 = 0.95;

/// Load that the flows of a run offer to its links.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// Number of flows that end by themselves.
    pub flows: u64,
    /// Number of flows that do not: they take the remaining capacity.
    pub endless: u64,
    /// Bytes that applications send in flows that end.
    pub payload: u64,
    /// Time in which flows arrive; zero if all of them start at once.
    pub span: Span,
    /// Number of links crossed by all packets together: data and ACKs, without retransmissions.
    /// Endless flows are assumed to fill the links of their receivers.
    pub packet_hops: f64,
    /// By link: offered load as a fraction of its speed.
    loads: Vec<f64>,
    /// By link: whether it gets steady arrivals, which the link must carry as they come.
    is_steady: Vec<bool>,
}

impl Offered {
    /// Sums the flows of a run, whose sources are in `plan`.
    pub fn new(setup: &Setup, traffic: &Traffic, plan: &[Planned]) -> Result<Self, ConfigError> {
        let routes = setup.routes()?;
        let links = setup.network.links().len();
        let mut offered = Self {
            flows: 0,
            endless: 0,
            payload: 0,
            span: Span::ZERO,
            packet_hops: 0.0,
            loads: vec![0.0; links],
            is_steady: vec![false; links],
        };
        let ends = |planned: &Planned| {
            planned.flow.bytes != Flow::ENDLESS && planned.flow.start < setup.stop.at
        };
        let mut bytes = vec![0.0; links];
        for (source, number) in traffic.sources.iter().zip(0..) {
            let mut part = Part::new(setup, &routes, source);
            let of_source = (0..).zip(plan);
            for (index, Planned { flow, .. }) in
                of_source.filter(|(_, planned)| planned.source == number && ends(planned))
            {
                part.add(flow, setup.paths.get::<usize>(index).copied())?;
            }
            offered.flows += part.flows;
            offered.payload = offered.payload.saturating_add(part.payload);
            let is_steady = matches!(source, Source::List(_) | Source::Poisson(_));
            let span = part.starts.span();
            let (of_links, hops) = part.links();
            offered.packet_hops += hops;
            for (link, &amount) in of_links.iter().enumerate() {
                bytes[link] += amount;
                if is_steady && amount > 0.0 {
                    offered.is_steady[link] = true;
                    let own = load(&setup.network, link, amount, span);
                    offered.loads[link] = offered.loads[link].max(own);
                }
            }
        }
        let mut starts = Starts::default();
        for planned in plan.iter().filter(|planned| ends(planned)) {
            starts.add(planned.flow.start);
        }
        offered.span = starts.span();
        let endless = plan.iter().filter(|planned| planned.flow.bytes == Flow::ENDLESS);
        offered.endless = endless.count() as u64;
        for (link, &amount) in bytes.iter().enumerate() {
            let together = load(&setup.network, link, amount, offered.span);
            offered.loads[link] = offered.loads[link].max(together);
        }
        offered.packet_hops += endless_hops(setup, &routes);
        Ok(offered)
    }

    /// Offered load of a link as a fraction of its speed: of all sources together or, if that is
    /// more, of one steady source over its own time. Zero if all flows start at once.
    pub fn load(&self, link: LinkId) -> f64 {
        self.loads[link.index()]
    }

    /// The link with the highest load, and that load; `None` if there is no load.
    pub fn busiest(&self) -> Option<(LinkId, f64)> {
        self.highest(|_| true)
    }

    /// The busiest link that gets more than it can carry from random arrivals or from a list, if
    /// any. Bursts and long flows are meant to fill a link and are not judged alone.
    pub fn overload(&self) -> Option<(LinkId, f64)> {
        self.highest(|link| self.is_steady[link]).filter(|&(_, load)| load > FULL)
    }

    fn highest(&self, is_meant: impl Fn(usize) -> bool) -> Option<(LinkId, f64)> {
        let mut highest = None;
        for (link, &load) in (0..).zip(&self.loads) {
            let above = highest.map_or(0.0, |(_, highest)| highest);
            if load > above && is_meant(link as usize) {
                highest = Some((LinkId(link), load));
            }
        }
        highest
    }
}

/// Bytes for a link as a fraction of its capacity in this time; zero for a span of zero.
fn load(network: &Network, link: usize, bytes: f64, span: Span) -> f64 {
    if span == Span::ZERO {
        return 0.0;
    }
    let rate = real(network.links()[link].rate.as_bps());
    bytes * 8.0 / rate / seconds(span)
}

/// Start times of flows, added in order.
#[derive(Clone, Copy, Debug, Default)]
struct Starts {
    first: Time,
    last: Time,
    /// Number of different times.
    count: u64,
}

impl Starts {
    fn add(&mut self, start: Time) {
        if self.count == 0 {
            self.first = start;
        }
        if self.count == 0 || start > self.last {
            self.last = start;
            self.count += 1;
        }
    }

    /// Time from the first start to the last, and one more gap: as many gaps as starts.
    fn span(&self) -> Span {
        let between = u128::from((self.last - self.first).as_ps());
        let count = u128::from(self.count);
        let longer = between * count / count.saturating_sub(1).max(1);
        Span::from_ps(u64::try_from(longer).unwrap_or(u64::MAX))
    }
}

/// The flows of one source.
struct Part<'a> {
    setup: &'a Setup,
    routes: &'a Routes,
    starts: Starts,
    flows: u64,
    payload: u64,
    wire: f64,
    packets: f64,
    /// Expected amounts between all hosts, if pairs are drawn.
    expected: Option<Shares>,
    /// Actual amounts between hosts otherwise.
    found: Shares,
    /// Bytes of flows whose path is given, by link.
    on_paths: Vec<f64>,
}

impl<'a> Part<'a> {
    fn new(setup: &'a Setup, routes: &'a Routes, source: &Source) -> Self {
        let rack = |host: HostId| routes.rack(host).0;
        Self {
            setup,
            routes,
            starts: Starts::default(),
            flows: 0,
            payload: 0,
            wire: 0.0,
            packets: 0.0,
            expected: source.shares(setup.network.hosts(), &rack),
            found: Shares::default(),
            on_paths: vec![0.0; setup.network.links().len()],
        }
    }

    fn add(&mut self, flow: &Flow, path: Option<u32>) -> Result<(), ConfigError> {
        let (packets, wire) = on_wire(self.setup, flow);
        self.starts.add(flow.start);
        self.flows += 1;
        self.payload = self.payload.saturating_add(flow.bytes);
        self.wire += wire;
        self.packets += packets;
        if let Some(choice) = path {
            let mut links = Vec::new();
            self.routes.path_by_choice(flow.src, flow.dst, choice, 0, &mut links)?;
            for link in links {
                self.on_paths[link.index()] += wire;
            }
        } else if self.expected.is_none() {
            let racks = [flow.src, flow.dst].map(|host| self.routes.rack(host).0);
            self.found.add((flow.src, flow.dst), racks.into(), wire);
        }
        Ok(())
    }

    /// Bytes on each link, and the number of links crossed by packets.
    fn links(self) -> (Vec<f64>, f64) {
        let shares = match self.expected {
            Some(expected) => expected.times(self.wire),
            None => self.found,
        };
        let mut links = self.on_paths;
        self.routes.spread(&self.setup.network, &shares, &mut links);
        let packet = self.wire / self.packets.max(1.0);
        let hops = links.iter().sum::<f64>() / packet.max(1.0);
        (links, hops * (1.0 + acks(self.setup)))
    }
}

/// Packets of a flow, and their bytes with headers.
fn on_wire(setup: &Setup, flow: &Flow) -> (f64, f64) {
    let payload = payload(setup, flow);
    let packets = flow.bytes.div_ceil(u64::from(payload)).max(1);
    let headers = u64::from(setup.accounting.per_packet);
    let bytes = flow.bytes.saturating_add(packets.saturating_mul(headers));
    let least = packets.saturating_mul(setup.accounting.least.into());
    (real(packets), real(bytes.max(least)))
}

/// Payload of a full packet of this flow.
fn payload(setup: &Setup, flow: &Flow) -> u32 {
    let last = setup.transports.len().saturating_sub(1);
    let transport = setup.transports.get(usize::from(flow.group).min(last));
    transport.map_or(0, Transport::payload).max(1)
}

/// ACKs per data packet.
fn acks(setup: &Setup) -> f64 {
    match setup.transports.first() {
        Some(Transport::Tcp(tcp)) => 1.0 / f64::from(tcp.sink.config.delayed_ack.max(1)),
        _ => 0.0,
    }
}

/// Links crossed by packets of endless flows, if these share the links of their receivers evenly
/// and fill them until the end of the run.
fn endless_hops(setup: &Setup, routes: &Routes) -> f64 {
    if setup.stop.at == Time::MAX {
        return 0.0;
    }
    let endless = || {
        let flows = setup.flows.iter();
        flows.filter(|flow| flow.bytes == Flow::ENDLESS && flow.start < setup.stop.at)
    };
    let mut sharing: BTreeMap<HostId, u32> = BTreeMap::new();
    for flow in endless() {
        *sharing.entry(flow.dst).or_default() += 1;
    }
    let mut path = Vec::new();
    let mut hops = 0.0;
    for flow in endless() {
        routes.path(flow.src, flow.dst, 0, &mut path);
        let line = setup.network.bottleneck(&path).map_or(0, Rate::as_bps);
        let share = real(line) / f64::from(sharing[&flow.dst].max(1));
        let rate = flow.rate.map_or(share, |rate| share.min(real(rate.as_bps())));
        let packet = f64::from(setup.accounting.size(payload(setup, flow)));
        let packets = rate * seconds(setup.stop.at - flow.start) / 8.0 / packet;
        hops += packets * real(path.len() as u64) * (1.0 + acks(setup));
    }
    hops
}

#[cfg(test)]
mod tests;
