//! From typed settings to a setup of the simulator. Every part is built once to validate it.

use std::collections::BTreeSet;

use tidegate_dataplane::mark;
use tidegate_dataplane::sched::Scheduler;
use tidegate_sim::observe::Convention;
use tidegate_sim::setup::{self, Ports, Setup, Stop};
use tidegate_sim::trace::flow::FlowTrace;
use tidegate_sim::workload::{self, Cause, Drain, List, LoadOn, Planned, Source, Window};
use tidegate_sim::{Flow, Network, NodeId, Routes};
use tidegate_transport::{Endpoint, Seq};
use tidegate_units::{ConfigError, Rate, Ratio, Time};

use super::outline::Outline;
use super::select;
use crate::sections::Described;
use crate::sections::switch::{Marking, Node};
use crate::sections::traffic::{Follows, Traffic};
use crate::sections::transport::{Stack, Tcp};
use crate::settings::limits::Limits;
use crate::settings::reader::{Located, Locations};
use crate::text::problem::Problem;

/// A run that is ready to start.
#[derive(Clone, Debug)]
pub struct Built {
    /// Input of the simulator.
    pub setup: Setup,
    /// Traced flow, which exists.
    pub trace: Option<u32>,
    /// Source of each flow, in the order of the setup's flows.
    pub plan: Vec<Planned>,
    /// Convention for completion times.
    pub convention: Convention,
    /// Flows that count.
    pub window: Window,
    /// Name of each link, such as `leaf0>host3`.
    pub ports: Vec<String>,
    /// Flow lists by source.
    lists: Vec<Option<List>>,
}

impl Built {
    /// Id of a flow in its list; empty if it comes from no list.
    pub fn name(&self, flow: usize) -> &str {
        let planned = self.plan.get(flow);
        let list = planned.and_then(|planned| self.lists.get(planned.source as usize)?.as_ref());
        planned.zip(list).map_or("", |(planned, list)| list.id(planned.index as usize))
    }
}

/// The list of a source that is one.
fn list(source: &Source) -> Option<&List> {
    match source {
        Source::List(list) => Some(list),
        _ => None,
    }
}

impl Described {
    /// Builds the run with this seed.
    pub(crate) fn build(&self, seed: u64, limits: &Limits) -> Result<Built, Problem> {
        self.build_with_sources(seed, limits).map(|(built, _)| built)
    }

    /// Outline of the run with this seed.
    pub(crate) fn outline(&self, seed: u64, limits: &Limits) -> Result<Outline, Problem> {
        let (built, traffic) = self.build_with_sources(seed, limits)?;
        let warnings = self.link_warnings(&built.setup.network);
        Outline::new(&built, &traffic, &self.topology.locs.kind, warnings)
            .map_err(|error| self.setup_problem(&error))
    }

    fn build_with_sources(
        &self,
        seed: u64,
        limits: &Limits,
    ) -> Result<(Built, workload::Traffic), Problem> {
        limits.check_topology(&self.topology)?;
        let network = self.topology.item.build();
        let network = network.map_err(|error| self.topology.locs.problem(&error))?;
        self.check_ports(&network, seed, limits)?;
        let line = host_rates(&network).into_iter().next();
        let line = line.unwrap_or(Rate::from_gbps(1));
        let transports = self.stacks();
        let transports = transports.map(|(stack, locs)| build_transport(stack, locs, line));
        let transports = transports.collect::<Result<Vec<_>, _>>()?;

        let traffic = self.sources(&network, limits)?;
        let racks = network.racks();
        let rack = |host: tidegate_sim::HostId| racks.get(host.index()).map_or(0, |rack| rack.0);
        let plan = traffic.plan(network.hosts(), &rack, seed);
        let plan = plan.map_err(|error| self.source_problem(&error))?;
        self.check_count(&plan, limits)?;
        let probes = traffic.probes(network.hosts()).map_err(|error| {
            let locs = self.probe.0.get(error.number as usize).map(|probe| &probe.locs);
            problem(&error.cause, locs.unwrap_or(&self.locs))
        })?;
        if plan.is_empty() && probes.is_empty() {
            return Err(Problem::new("the scenario sends nothing")
                .at(&self.locs.whole)
                .help("add a source of flows, such as [[traffic]] with kind = \"poisson\""));
        }
        if plan.is_empty() && self.measure.window.end.is_none() {
            return Err(Problem::new("probes alone do not end a run")
                .at(self.measure.locs.of("end"))
                .help("set a time: [measure] with end = \"10ms\""));
        }
        let flows: Vec<Flow> = plan.iter().map(|planned| planned.flow).collect();
        let window = self.measure.window.clone();
        if !flows.is_empty() {
            let checked = window.check(&flows);
            checked.map_err(|error| self.measure.locs.problem(&error))?;
        }
        let shared = &self.transport.shared;
        let receive = shared.host_receive.check();
        receive.map_err(|error| shared.host_receive.locs.problem(&error))?;
        let paths = self.list_paths(&traffic, &plan, &network)?;
        let ports = port_names(&network);
        let think_times = plan.iter().zip(0..).filter_map(|(planned, number)| {
            let source = &traffic.sources[planned.source as usize];
            source.think_times().map(|think| (number, think))
        });
        let mut setup = Setup {
            flows,
            paths,
            think_times: think_times.collect(),
            probes,
            switch: self.switch.node().ports(),
            flow_control: (self.switch.flow_control.0.as_ref()).map(|table| table.item.clone()),
            custom: None,
            nic: self.nic.0.as_ref().map(|nic| nic.node().ports()),
            transports,
            accounting: shared.accounting.0,
            opening: shared.opening,
            tagging: shared.tagging.0.as_ref().map(|tagging| tagging.item.clone()),
            host_delay: shared.host_delay.item.clone(),
            host_receive: shared.host_receive.item.clone(),
            ecmp: self.switch.ecmp,
            observe: tidegate_sim::observe::Observe::default(),
            stop: self.stop(&window),
            seed,
            threads: self.threads.count(),
            network,
        };
        setup.observe =
            select::observe(&self.observe, &setup, &ports, self.measure.convention, limits)?;
        setup.check().map_err(|error| self.setup_problem(&error))?;
        if let Some(flow) = self.observe.trace.0 {
            let traced = FlowTrace::new(&setup, flow);
            traced.map_err(|error| self.observe.locs.problem(&error))?;
        }
        let built = Built {
            setup,
            trace: self.observe.trace.0,
            plan,
            convention: self.measure.convention,
            window,
            ports,
            lists: traffic.sources.iter().map(|source| list(source).cloned()).collect(),
        };
        Ok((built, traffic))
    }

    /// Warnings for sources whose load refers to a rate that no host link has.
    fn link_warnings(&self, network: &Network) -> Vec<String> {
        let rates = host_rates(network);
        let texts: Vec<String> = rates.iter().map(ToString::to_string).collect();
        let each = (0..).zip(&self.traffic.0).filter_map(|(number, traffic): (u32, _)| {
            let Source::Poisson(config) = &traffic.source else {
                return None;
            };
            (traffic.link == Follows::Itself && !rates.contains(&config.link)).then(|| {
                format!(
                    "the load of traffic.{number} is a fraction of {} (`link`), but the host links \
                     run at {}\n  help: remove `link` to use the rate of the host links",
                    config.link,
                    texts.join(", ")
                )
            })
        });
        each.collect()
    }

    fn stop(&self, window: &Window) -> Stop {
        let finished = match window.drain {
            Drain::NthFinish => window.finishes,
            Drain::AllFinished | Drain::FixedTime => None,
        };
        Stop {
            at: window.end.map_or(Time::MAX, |end| Time::ZERO + end),
            finished: finished.map(|finishes| u32::try_from(finishes).unwrap_or(u32::MAX)),
            stalled: self.measure.stalled,
        }
    }

    /// Builds one port of each kind, and one buffer for each number of ports, to validate them.
    fn check_ports(&self, network: &Network, seed: u64, limits: &Limits) -> Result<(), Problem> {
        let mut degrees = vec![0_u32; network.nodes() as usize];
        let (mut of_switches, mut of_hosts) = (BTreeSet::new(), BTreeSet::new());
        for link in network.links() {
            degrees[link.from.index()] += 1;
            let rates = if network.is_host(link.from) { &mut of_hosts } else { &mut of_switches };
            rates.insert(link.rate);
        }
        let (hosts, switches) = degrees.split_at(network.hosts() as usize);
        let set = |rates, degrees: &[u32]| PortSet {
            rates,
            degrees: degrees.iter().copied().collect(),
            ports: degrees.iter().copied().map(u64::from).sum(),
            seed,
        };
        check_node(&self.switch.node(), &set(of_switches, switches), limits)?;
        match &self.nic.0 {
            Some(nic) => check_node(&nic.node(), &set(of_hosts, hosts), limits),
            None => Ok(()),
        }
    }

    /// Sources, completed from the topology.
    fn sources(&self, network: &Network, limits: &Limits) -> Result<workload::Traffic, Problem> {
        let mut sources = Vec::new();
        for traffic in &self.traffic.0 {
            let mut source = traffic.source.clone();
            if let Some(text) = &traffic.list {
                source = Source::List(text.list.clone());
            }
            if let Source::Poisson(config) = &mut source {
                if traffic.link == Follows::Topology {
                    config.link = common_rate(network, traffic)?;
                }
                if traffic.oversubscription == Follows::Topology {
                    let reads = matches!(
                        config.load_on,
                        Some(LoadOn::Uplinks | LoadOn::UplinksApproximate)
                    );
                    config.oversubscription = match common_oversubscription(network) {
                        Some(ratio) => ratio,
                        None if reads => {
                            let message = "the leaves of this topology have different \
                                           oversubscription ratios";
                            return Err(Problem::new(message)
                                .at(traffic.locs.of("oversubscription"))
                                .help("set the ratio, such as oversubscription = \"2\""));
                        }
                        None => Ratio::ONE,
                    };
                }
            }
            limits.check_source(&mut source, &traffic.locs, network.hosts())?;
            sources.push(source);
        }
        Ok(workload::Traffic {
            sources,
            probes: self.probe.0.iter().map(|probe| probe.item.clone()).collect(),
        })
    }

    fn check_count(&self, plan: &[Planned], limits: &Limits) -> Result<(), Problem> {
        if plan.len() as u64 <= limits.flows {
            return Ok(());
        }
        // Blames the source with the most flows.
        let mut counts = vec![0_u64; self.traffic.0.len()];
        for planned in plan {
            counts[planned.source as usize] += 1;
        }
        let most = (0..counts.len()).max_by_key(|&source| counts[source]).unwrap_or(0);
        let locs = &self.traffic.0[most].locs;
        let field = if locs.names("until") { "until" } else { "flows" };
        Err(limits.too_many_flows(plan.len() as u64).at(locs.of(field)))
    }

    /// Paths of the flows of lists; empty if none has one.
    fn list_paths(
        &self,
        traffic: &workload::Traffic,
        plan: &[Planned],
        network: &Network,
    ) -> Result<Vec<u32>, Problem> {
        let lists: Vec<Option<&List>> = traffic.sources.iter().map(list).collect();
        let entry =
            |planned: &Planned| lists[planned.source as usize]?.entries.get(planned.index as usize);
        let path = |planned: &Planned| entry(planned)?.path;
        if lists.iter().all(Option::is_none) {
            return Ok(Vec::new());
        }
        let loc = |planned: &Planned| {
            let locs = &self.traffic.0[planned.source as usize].locs;
            locs.of(if locs.names("file") { "file" } else { "flows" })
        };
        for planned in plan {
            if let Some(entry) = entry(planned)
                && entry.ack_path.is_some()
                && entry.ack_path != entry.path
            {
                let message = format!("line {}: `ack_path` differs from `path`", entry.line);
                return Err(Problem::new(message)
                    .at(loc(planned))
                    .help("ACKs follow the path of their data"));
            }
        }
        if plan.iter().all(|planned| path(planned).is_none()) {
            return Ok(Vec::new());
        }
        let routes = Routes::new(network).map_err(|error| self.setup_problem(&error))?;
        let mut chosen = Vec::with_capacity(plan.len());
        for planned in plan {
            let Some(path) = path(planned) else {
                return Err(Problem::new("some flows have a path and others have none")
                    .at(loc(planned))
                    .help("give all flows of the run a `path`, or none"));
            };
            let flow = planned.flow;
            let choices =
                routes.choices(flow.src, flow.dst).min(routes.choices(flow.dst, flow.src));
            if path >= choices {
                let line = entry(planned).map_or(0, |entry| entry.line);
                let message = format!("line {line}: there is no path {path} between these hosts");
                return Err(Problem::new(message)
                    .at(loc(planned))
                    .help(format!("paths 0 to {}", choices.saturating_sub(1))));
            }
            chosen.push(path);
        }
        Ok(chosen)
    }

    fn source_problem(&self, error: &workload::Error) -> Problem {
        let locs = self.traffic.0.get(error.number as usize).map(|traffic| &traffic.locs);
        problem(&error.cause, locs.unwrap_or(&self.locs))
    }

    /// Checks that hosts can be paused and send no pauses themselves.
    fn pause_problem(&self) -> Problem {
        match &self.nic.0 {
            None => Problem::new("lossless switches need hosts that they can pause")
                .at(match &self.switch.flow_control.0 {
                    Some(flow_control) => flow_control.locs.of("kind"),
                    None => self.switch.buffer.locs.of("kind"),
                })
                .help("add [nic]: hosts have no ports without it"),
            Some(nic) => Problem::new("hosts cannot have a lossless buffer: they forward nothing")
                .at(nic.buffer.locs.of("kind"))
                .help("use another buffer, such as { kind = \"unlimited\" }"),
        }
    }

    /// Problem of a port setting that does not work with the flow control.
    fn part_problem(&self, field: &str, value: &str, allowed: &str) -> Option<Problem> {
        let flow_control = self.switch.flow_control.0.as_ref()?;
        let (node, part) = field.split_once('.')?;
        let ports = match node {
            "switch" => self.switch.node(),
            _ => self.nic.0.as_ref()?.node(),
        };
        let loc = match part {
            "buffer" => ports.buffer.locs.of("kind"),
            "marking" => ports.marking.loc(),
            _ => ports.scheduler.locs.of("kind"),
        };
        let kind = &flow_control.locs.kind;
        let message = format!("`{kind}` does not work with the {part} `{value}`");
        Some(Problem::new(message).at(loc).help(format!("allowed: {allowed}")))
    }

    /// Error of a check of the whole setup, located at its section.
    fn setup_problem(&self, error: &ConfigError) -> Problem {
        let ConfigError::OutOfRange { field, value, allowed } = error else {
            return self.locs.problem(error);
        };
        if let Some(problem) = self.part_problem(field, value, allowed) {
            return problem;
        }
        match *field {
            "mss" | "accounting" => self.transport.locs.problem(error),
            "ids_per_queue" => (self.switch.flow_control.0.as_ref())
                .map_or(&self.locs, |table| &table.locs)
                .problem(error),
            "nic" => self.pause_problem(),
            "stalled" | "stop" => self.measure.locs.problem(error),
            field if field.starts_with("observe.") => self.observe.locs.problem(error),
            _ => self.locs.problem(error),
        }
    }
}

fn problem(cause: &Cause, locs: &Locations) -> Problem {
    match cause {
        Cause::Line(error) => {
            let loc = locs.of(if locs.names("file") { "file" } else { "flows" });
            Problem::new(error.to_string()).at(loc)
        }
        Cause::Setting(error) => locs.problem(error),
        _ => Problem::new("there are too many flows").at(&locs.whole),
    }
}

/// Names of all links.
fn port_names(network: &Network) -> Vec<String> {
    let links = network.links().iter();
    links.map(|link| network.link_name(link)).collect()
}

fn host_rates(network: &Network) -> BTreeSet<Rate> {
    let links = network.links().iter().filter(|link| network.is_host(link.from));
    links.map(|link| link.rate).collect()
}

/// Common rate of the host links, if there is one.
fn common_rate(network: &Network, traffic: &Located<Traffic>) -> Result<Rate, Problem> {
    let rates = host_rates(network);
    match (rates.first(), rates.len()) {
        (Some(&rate), 1) => Ok(rate),
        _ => Err(Problem::new("the host links have different rates")
            .at(traffic.locs.of("link"))
            .help("set the rate that the load refers to, such as link = \"10Gbps\"")),
    }
}

/// Rate of a rack's hosts divided by the rate of its uplinks, if equal for all racks; 1 without a
/// core.
fn common_oversubscription(network: &Network) -> Option<Ratio> {
    let mut sums = vec![(0_u64, 0_u64); network.nodes() as usize];
    for link in network.links() {
        let (to_hosts, to_switches) = &mut sums[link.from.index()];
        let side = if network.is_host(link.to) { to_hosts } else { to_switches };
        *side = side.saturating_add(link.rate.as_bps());
    }
    let racks: BTreeSet<NodeId> = network.racks().into_iter().collect();
    let ratio = |rack: &NodeId| match sums[rack.index()] {
        (_, 0) => Some((1, 1)),
        (to_hosts, to_switches) => {
            let divisor = greatest_common_divisor(to_hosts, to_switches);
            let part = |value: u64| u32::try_from(value / divisor).ok();
            Some((part(to_hosts)?, part(to_switches)?))
        }
    };
    let ratios: BTreeSet<_> = racks.iter().map(ratio).collect();
    match (ratios.first(), ratios.len()) {
        (Some(&Some((above, below))), 1) => Ratio::new(above, below),
        _ => None,
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

impl Node<'_> {
    /// The same for the simulator.
    pub(crate) fn ports(&self) -> Ports {
        Ports {
            marking: self.marking.config(),
            scheduling: self.scheduler.item.clone(),
            buffer: self.buffer.config(),
            non_ect: self.non_ect,
        }
    }
}

/// Ports of switches, or of hosts.
pub(crate) struct PortSet {
    /// Distinct rates of their links.
    pub(crate) rates: BTreeSet<Rate>,
    /// Distinct numbers of ports per node.
    pub(crate) degrees: BTreeSet<u32>,
    /// Total number of ports.
    pub(crate) ports: u64,
    pub(crate) seed: u64,
}

/// Refuses settings that cannot be built at these ports.
pub(crate) fn check_node(node: &Node<'_>, set: &PortSet, limits: &Limits) -> Result<(), Problem> {
    let scheduler = node.scheduler;
    let built = scheduler.item.build();
    let built = built.map_err(|error| scheduler.locs.problem(&error))?;
    let queues = built.queues();
    let round = |queue| built.round(queue);
    for &rate in &set.rates {
        let port = mark::PortInfo {
            rate,
            queues,
            round: &round,
            first: built.first(),
            scheduler: scheduler.item.name(),
            seed: set.seed,
            stream: 0,
        };
        check_marking(node.marking, &port, set.ports, limits)?;
    }
    for &degree in &set.degrees {
        let Ok(ports) = u16::try_from(degree.max(1)) else {
            let message = format!("a switch has {degree} ports, more than the maximum of 65535");
            return Err(Problem::new(message).at(node.whole));
        };
        if let Some(egress) = &node.buffer.egress {
            let made = egress.item.0.build(ports, queues);
            made.map_err(|error| egress.locs.problem(&error))?;
        }
        let made = node.buffer.config().build(ports, queues);
        made.map_err(|error| node.buffer.locs.problem(&error))?;
    }
    Ok(())
}

fn check_marking(
    marking: &Located<Marking>,
    port: &mark::PortInfo<'_>,
    ports: u64,
    limits: &Limits,
) -> Result<(), Problem> {
    match &marking.item {
        Marking::One(config) => {
            limits.check_tables(config, &marking.locs, port.queues, ports)?;
            let made = config.build(port);
            made.map(|_| ()).map_err(|error| marking.locs.problem(&error))
        }
        Marking::Or(pair) => {
            check_marking(&pair.0, port, ports, limits)?;
            check_marking(&pair.1, port, ports, limits)
        }
    }
}

impl Described {
    /// All transports with their locations, the first one first.
    fn stacks(&self) -> impl Iterator<Item = (&Stack, &Locations)> {
        let groups = self.transport.shared.group.0.iter();
        let first = (&self.transport.stack, &self.transport.locs);
        [first].into_iter().chain(groups.map(|group| (&group.item, &group.locs)))
    }
}

fn build_transport(
    stack: &Stack,
    locs: &Locations,
    line: Rate,
) -> Result<setup::Transport, Problem> {
    Ok(match stack {
        Stack::Other(other) => {
            let config = other.config(line);
            config.build(line).map_err(|error| locs.problem(&error))?;
            setup::Transport::other(config)
        }
        Stack::Tcp(tcp) => setup::Transport::Tcp(Box::new(build_tcp(tcp, locs)?)),
    })
}

fn build_tcp(tcp: &Tcp, locs: &Locations) -> Result<setup::Tcp, Problem> {
    let source = setup::Stack { config: tcp.config.clone(), cc: tcp.cc.config.item.clone() };
    check_stack(&source, locs, &tcp.cc.config.locs)?;
    let sink = match &tcp.receiver {
        None => source.clone(),
        Some(receiver) => {
            let cc = &receiver.cc.as_ref().unwrap_or(&tcp.cc).config;
            let stack = setup::Stack { config: receiver.config.clone(), cc: cc.item.clone() };
            check_stack(&stack, &receiver.locs, &cc.locs)?;
            stack
        }
    };
    Ok(setup::Tcp { source, sink })
}

fn check_stack(stack: &setup::Stack, config: &Locations, cc: &Locations) -> Result<(), Problem> {
    stack.config.check().map_err(|error| config.problem(&error))?;
    let made = Endpoint::established(&stack.config, &stack.cc, Seq(0), Seq(0));
    made.map(|_| ()).map_err(|error| cc.problem(&error))
}
