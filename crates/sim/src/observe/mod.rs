//! Observations of a run: the request, and the results.
//!
//! Everything here is off by default, and observations that are off cost nothing. Observing changes
//! no result: a run has the same fingerprint with and without it.

pub mod completion;
pub mod flow;
pub mod journal;
pub mod link;
pub(crate) mod observer;
pub mod port;
pub mod port_flows;
pub mod series;
pub mod statistics;

#[cfg(test)]
mod tests;

use tidegate_units::{ConfigError, QueueId, Rate, Span};

use crate::network::LinkId;
use crate::setup::Setup;

pub use tidegate_dataplane::observe::{Decisions, Histogram, ObservedQueue, Window, max_min};

pub use completion::{Completions, Convention, Ideals};
pub use flow::ObservedFlow;
pub use journal::{Journal, ObservedPackets};
pub use link::ObservedLink;
pub use port_flows::{ObservedPortFlows, PortFlows};
pub use series::{Sampling, Series};

/// Requested observations. None by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observe {
    /// Window of all observations below.
    pub window: Window,
    /// Links whose ports keep histograms of each queue's length and sojourn times. The memory of a
    /// queue depends on its values: about 50 KiB, and never more than 180.
    pub ports: Which<LinkId>,
    /// Links whose load is measured.
    pub links: Which<LinkId>,
    /// Flows whose goodput is measured, by number.
    pub flows: Which<u32>,
    /// Ports whose flows are distinguished.
    pub port_flows: Option<PortFlows>,
    /// Quantities sampled at a fixed interval.
    pub series: Option<Sampling>,
    /// Ports whose packets are recorded one by one, in the whole run.
    pub journal: Option<Journal>,
    /// Whether to measure how long the data of small flows waits at their hosts. Not for hosts with
    /// ports.
    pub host_waits: bool,
    /// Storm threshold: a class of a link that is paused longer without a break is in a storm.
    pub storm: Span,
}

impl Default for Observe {
    fn default() -> Self {
        Self {
            window: Window::default(),
            ports: Which::None,
            links: Which::None,
            flows: Which::None,
            port_flows: None,
            series: None,
            journal: None,
            host_waits: false,
            storm: Self::STORM,
        }
    }
}

/// A selection of objects of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Which<T> {
    /// All of them.
    All,
    /// None of them.
    #[default]
    None,
    /// Only these. Results keep their order.
    Only(Vec<T>),
}

/// Results of the observations. Empty for observations that were not requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// The actual window: a run that ends earlier cuts it off at the ACK that finished the last
    /// flow.
    pub window: Window,
    /// Queues of the selected ports, each with the link of its port, in the order of selection.
    pub queues: Vec<(LinkId, ObservedQueue)>,
    /// Links, in the order of selection.
    pub links: Vec<ObservedLink>,
    /// Flows, in the order of selection.
    pub flows: Vec<ObservedFlow>,
    /// Flows at ports, in the order of selection of the ports.
    pub port_flows: Vec<ObservedPortFlows>,
    /// Quantities sampled at a fixed interval.
    pub series: Option<Series>,
    /// Packets at ports, in the order of selection of the ports.
    pub journals: Vec<ObservedPackets>,
    /// By flow: time for which its data waited at its host while the host sent other flows, if
    /// requested. Zero for all except small flows.
    pub host_waits: Vec<Span>,
}

impl Observations {
    /// Observations of a queue, if its port was selected.
    pub fn queue(&self, link: LinkId, queue: QueueId) -> Option<&ObservedQueue> {
        let mut queues = self.queues.iter();
        let found = queues.find(|(port, seen)| (*port, seen.queue) == (link, queue));
        found.map(|(_, seen)| seen)
    }

    /// Observations of a link, if it was selected.
    pub fn link(&self, link: LinkId) -> Option<&ObservedLink> {
        self.links.iter().find(|seen| seen.link == link)
    }

    /// Jain's index over the goodputs of the selected flows, including flows that received nothing;
    /// `None` if no flow received anything.
    pub fn fairness(&self) -> Option<f64> {
        let goodputs = self.flows.iter();
        statistics::jain(goodputs.map(|flow| flow.goodput().map_or(0, Rate::as_bps)))
    }
}

impl<T: Copy + PartialEq> Which<T> {
    /// Whether the selection includes `item`.
    pub fn has(&self, item: T) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(items) => items.contains(&item),
        }
    }

    /// The selected objects; `make` creates each of `count` from its number.
    fn list(&self, count: usize, make: impl Fn(u32) -> T) -> Vec<T> {
        match self {
            Self::All => (0..count as u32).map(make).collect(),
            Self::None => Vec::new(),
            Self::Only(items) => items.clone(),
        }
    }

    /// Objects that were selected one by one.
    fn named(&self) -> &[T] {
        match self {
            Self::All | Self::None => &[],
            Self::Only(items) => items,
        }
    }
}

impl Observe {
    /// A tenth of the shortest time after which switches' PFC watchdogs act.
    pub const STORM: Span = Span::from_ms(10);

    /// Checks the request before anything is built.
    pub(crate) fn check(&self, setup: &Setup) -> Result<(), ConfigError> {
        if self.window.from >= self.window.to {
            let found = format!("{} ps to {} ps", self.window.from.as_ps(), self.window.to.as_ps());
            let allowed = "an end after the beginning";
            return Err(ConfigError::out_of_range("observe.window", found, allowed));
        }
        for &link in self.ports.named() {
            check_link("observe.ports", link, setup)?;
        }
        for &link in self.links.named() {
            check_link("observe.links", link, setup)?;
        }
        for &flow in self.flows.named() {
            check_flow("observe.flows", flow, setup)?;
        }
        if let Some(flows) = &self.port_flows {
            for &link in flows.ports.named() {
                check_link("observe.port_flows.ports", link, setup)?;
            }
        }
        for &link in self.journal.iter().flat_map(|journal| &journal.ports) {
            check_link("observe.journal.ports", link, setup)?;
        }
        let Some(series) = &self.series else {
            return Ok(());
        };
        series.check()?;
        for &(link, _) in &series.queues {
            check_link("observe.series.queues", link, setup)?;
        }
        for &link in &series.links {
            check_link("observe.series.links", link, setup)?;
        }
        for &flow in &series.flows {
            check_flow("observe.series.flows", flow, setup)?;
        }
        Ok(())
    }

    /// Links whose ports keep histograms. A selection of all excludes links of ideal hosts.
    pub(crate) fn watched_ports(&self, setup: &Setup) -> Vec<LinkId> {
        ports(&self.ports, setup)
    }

    /// Links at whose ports flows are distinguished.
    pub(crate) fn ports_with_flows(&self, setup: &Setup) -> Vec<LinkId> {
        let flows = self.port_flows.as_ref();
        flows.map_or_else(Vec::new, |flows| ports(&flows.ports, setup))
    }

    /// Links of ports that were selected one by one, for any observation.
    pub(crate) fn named_ports(&self) -> impl Iterator<Item = LinkId> {
        let flows = self.port_flows.iter().flat_map(|flows| flows.ports.named());
        let journal = self.journal.iter().flat_map(|journal| &journal.ports);
        let series = self.series.iter().flat_map(|series| &series.queues);
        let ports = self.ports.named().iter().chain(flows).chain(journal);
        ports.copied().chain(series.map(|&(link, _)| link))
    }
}

fn ports(which: &Which<LinkId>, setup: &Setup) -> Vec<LinkId> {
    let mut ports = which.list(setup.network.links().len(), LinkId);
    if *which == Which::All && setup.has_ideal_hosts() {
        ports.retain(|&link| !setup.network.is_host(setup.network.link(link).from));
    }
    ports
}

fn check_link(field: &'static str, link: LinkId, setup: &Setup) -> Result<(), ConfigError> {
    let links = setup.network.links().len();
    if link.index() < links {
        return Ok(());
    }
    let allowed = format!("links 0 to {}", links.saturating_sub(1));
    Err(ConfigError::out_of_range(field, link.0, allowed))
}

fn check_flow(field: &'static str, flow: u32, setup: &Setup) -> Result<(), ConfigError> {
    let flows = setup.flows.len();
    if (flow as usize) < flows {
        return Ok(());
    }
    let allowed = match flows.checked_sub(1) {
        None => "none: the run has no flows".to_owned(),
        Some(last) => format!("flows 0 to {last}"),
    };
    Err(ConfigError::out_of_range(field, flow, allowed))
}
