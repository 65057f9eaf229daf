//! From the tree of a scenario to typed settings: everything that does not need the network.

use std::num::NonZeroUsize;

use tidegate_dataplane::{NonEct, buffer, mark, sched};
use tidegate_sim::flow_control;
use tidegate_sim::observe::Convention;
use tidegate_sim::setup::{Accounting, HostDelay, HostReceive, Opening};
use tidegate_sim::workload::{self, probe};
use tidegate_sim::{Ecmp, topology};
use tidegate_transport::rate::dcqcn;
use tidegate_transport::{cc, pias};
use tidegate_units::{Parameters, Setting, Settings, Span, Time};

use super::reader::{Located, Locations, Reader, suggest};
use super::traffic::{Listed, Traffic, source};
use crate::layout::{self, LINE, Section};
use crate::text::document::{Node, Table, Value};
use crate::text::problem::{Location, Problem};

/// Settings of one run, without its seed.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) root: Locations,
    pub(crate) name: Option<Located<String>>,
    pub(crate) title: Option<String>,
    pub(crate) baseline: Option<String>,
    pub(crate) seed: u64,
    pub(crate) runs: u32,
    pub(crate) threads: NonZeroUsize,
    pub(crate) topology: Located<topology::Config>,
    pub(crate) switch: Switch,
    pub(crate) ecmp: Ecmp,
    pub(crate) flow_control: Option<Located<flow_control::Config>>,
    pub(crate) nic: Option<Switch>,
    pub(crate) transports: Vec<Transport>,
    pub(crate) opening: Opening,
    pub(crate) accounting: Accounting,
    pub(crate) tagging: Option<Located<pias::Config>>,
    pub(crate) host_delay: Located<HostDelay>,
    pub(crate) host_receive: Located<HostReceive>,
    pub(crate) traffic: Vec<Traffic>,
    pub(crate) probes: Vec<Located<probe::Config>>,
    pub(crate) window: Located<workload::Window>,
    pub(crate) convention: Convention,
    pub(crate) stalled: Span,
    pub(crate) observe: Observe,
}

/// Ports of switches, or of hosts.
#[derive(Clone, Debug)]
pub(crate) struct Switch {
    pub(crate) locs: Locations,
    pub(crate) marking: Marking,
    pub(crate) scheduler: Located<sched::Config>,
    pub(crate) buffer: Located<buffer::Config>,
    pub(crate) egress: Option<Located<buffer::Config>>,
    pub(crate) non_ect: NonEct,
}

/// A marking scheme, or two combined.
#[derive(Clone, Debug)]
pub(crate) enum Marking {
    One(Box<Located<mark::Config>>),
    Or(Box<(Self, Self)>),
}

impl Marking {
    /// Location of its name.
    pub(crate) fn loc(&self) -> &Location {
        match self {
            Self::One(config) => config.locs.of("kind"),
            Self::Or(pair) => pair.0.loc(),
        }
    }
}

/// Transport protocol of hosts.
#[derive(Clone, Debug)]
pub(crate) enum Transport {
    /// Its defaults depend on the rate of the host links.
    Dcqcn(Box<Dcqcn>),
    Tcp(Box<Tcp>),
}

#[derive(Clone, Debug)]
pub(crate) struct Dcqcn {
    pub(crate) profile: dcqcn::Profile,
    /// Settings in the file: names and validated texts.
    pub(crate) sets: Vec<(&'static str, String)>,
    pub(crate) locs: Locations,
}

#[derive(Clone, Debug)]
pub(crate) struct Tcp {
    pub(crate) config: Located<tidegate_transport::Config>,
    pub(crate) cc: Cc,
    pub(crate) receiver: Option<Receiver>,
}

#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub(crate) config: Located<tidegate_transport::Config>,
    pub(crate) cc: Option<Cc>,
}

/// A congestion control.
#[derive(Clone, Debug)]
pub(crate) struct Cc {
    /// The name of its table in the file: `cc`, or the old `rule`.
    pub(crate) spelling: &'static str,
    pub(crate) config: Located<cc::Config>,
}

/// Requested observations, by name.
#[derive(Clone, Debug)]
pub(crate) struct Observe {
    pub(crate) ports: Selection,
    pub(crate) links: Selection,
    pub(crate) flows: Selection,
    pub(crate) port_flows: Option<PortFlows>,
    pub(crate) from: Time,
    pub(crate) to: Time,
    pub(crate) series: Option<Series>,
    pub(crate) trace: Option<u32>,
    pub(crate) storm: Span,
    pub(crate) locs: Locations,
}

#[derive(Clone, Debug)]
pub(crate) struct PortFlows {
    pub(crate) ports: Selection,
    pub(crate) period: Span,
    pub(crate) ideal: Option<Span>,
    pub(crate) locs: Locations,
}

#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) interval: Span,
    pub(crate) limit: u32,
    pub(crate) queues: Selection,
    pub(crate) links: Selection,
    pub(crate) flows: Selection,
    pub(crate) locs: Locations,
}

/// Words, names and numbers, each with its location.
pub(crate) type Selection = Vec<(String, Location)>;

/// Reads the whole tree.
pub(crate) fn describe(
    root: &Table,
    whole: &Location,
    files: &mut Listed<'_>,
) -> Result<Described, Problem> {
    let node = Node { value: Value::Table(root.clone()), loc: whole.clone() };
    let reader = Reader::new(&node, Section::Root, None)?;
    let switch_node = reader.below("switch");
    let switch_reader = Reader::new(&switch_node, Section::Switch, None)?;
    let transport_node = reader.below("transport");
    let transport_reader = transport(&transport_node, Section::Transport)?;
    let mut transports = vec![one_transport(&transport_reader)?];
    for node in transport_reader.tables("group")? {
        transports.push(one_transport(&transport(node, Section::Group)?)?);
    }
    let measure_node = reader.below("measure");
    let measure = Reader::new(&measure_node, Section::Measure, None)?;
    let traffic = reader.tables("traffic")?.iter();
    let traffic = traffic.map(|node| source(node, files));
    let probe = |node: &Node| settings(node, Section::Probe, probe::Config::default());
    let probes = reader.tables("probe")?.iter().map(probe);
    Ok(Described {
        name: name(&reader)?,
        title: text(&reader, "title")?,
        baseline: text(&reader, "baseline")?,
        seed: reader.read("seed")?,
        runs: reader.read("runs")?,
        threads: threads(&reader)?,
        topology: topology(&reader.below("topology"))?,
        switch: switch(&switch_reader, DEFAULTS_OF_SWITCHES)?,
        ecmp: switch_reader.read("ecmp")?,
        flow_control: switch_reader.optional("flow_control").map(flow_control).transpose()?,
        nic: match reader.optional("nic") {
            None => None,
            Some(node) => {
                let reader = Reader::new(node, Section::Nic, None)?;
                Some(switch(&reader, DEFAULTS_OF_HOSTS)?)
            }
        },
        transports,
        opening: transport_reader.read("opening")?,
        accounting: accounting(&transport_reader)?,
        tagging: transport_reader.optional("tagging").map(tagging).transpose()?,
        host_delay: settings(
            &transport_reader.below("host_delay"),
            Section::HostDelay,
            HostDelay::default(),
        )?,
        host_receive: settings(
            &transport_reader.below("host_receive"),
            Section::HostReceive,
            HostReceive::default(),
        )?,
        traffic: traffic.collect::<Result<_, _>>()?,
        probes: probes.collect::<Result<_, _>>()?,
        convention: measure.read("convention")?,
        stalled: measure.read("stalled")?,
        window: measure.filled(workload::Window::default())?,
        observe: observe(&reader.below("observe"))?,
        root: reader.locs().clone(),
    })
}

/// Default kinds of marking and buffer.
type PortDefaults = (&'static str, &'static str);
const DEFAULTS_OF_SWITCHES: PortDefaults = ("queue-red", "per-port");
/// Equivalent to ideal ports: no marks, no limit.
const DEFAULTS_OF_HOSTS: PortDefaults = ("none", "unlimited");

fn settings<T: Parameters>(node: &Node, section: Section, item: T) -> Result<Located<T>, Problem> {
    let reader = Reader::new(node, section, None)?;
    reader.filled(item)
}

/// Number of threads per run.
fn threads(reader: &Reader<'_>) -> Result<NonZeroUsize, Problem> {
    let threads: u32 = reader.read("threads")?;
    NonZeroUsize::new(threads as usize).ok_or_else(|| {
        Problem::new("`threads` is 0, which is out of range")
            .at(reader.locs().of("threads"))
            .help(format!("allowed: 1 to {}", layout::MAX_THREADS))
    })
}

/// Name of a scenario, which becomes part of file names.
fn name(reader: &Reader<'_>) -> Result<Option<Located<String>>, Problem> {
    let Some(name) = text(reader, "name")? else {
        return Ok(None);
    };
    if !is_file_safe(&name) {
        let message = format!("`name` is `{name}`, which cannot be part of a file name");
        return Err(Problem::new(message)
            .at(reader.locs().of("name"))
            .help("1 to 64 letters, digits, `.`, `_` and `-`, the first not a `.` or `-`"));
    }
    Ok(Some(reader.located(name)))
}

/// Whether a name can be part of a file name on every system.
pub(crate) fn is_file_safe(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(fits) && !name.starts_with(['.', '-'])
}

/// Value of a free-text key.
pub(crate) fn text(reader: &Reader<'_>, key: &str) -> Result<Option<String>, Problem> {
    match reader.get(key).map(|node| (&node.value, node)) {
        None => Ok(None),
        Some((Value::Text(text), _)) => Ok(Some(text.clone())),
        Some((_, node)) => {
            let message = format!("`{key}` is {}, and should be text", node.noun());
            Err(Problem::new(message).at(&node.loc))
        }
    }
}

fn topology(node: &Node) -> Result<Located<topology::Config>, Problem> {
    let section = Section::Topology;
    let reader = Reader::new(node, section, section.default_kind())?;
    let item = topology::Config::named(reader.kind()).expect("the kind is one of the names");
    reader.filled(item)
}

fn flow_control(node: &Node) -> Result<Located<flow_control::Config>, Problem> {
    let reader = Reader::new(node, Section::FlowControl, None)?;
    let item = flow_control::Config::named(reader.kind()).expect("the kind is one of the names");
    reader.filled(item)
}

fn switch(reader: &Reader<'_>, (scheme, limit): PortDefaults) -> Result<Switch, Problem> {
    let (buffer, egress) = buffer(&reader.below("buffer"), limit)?;
    Ok(Switch {
        marking: marking(&reader.below("marking"), scheme, 0)?,
        scheduler: scheduler(&reader.below("scheduler"))?,
        buffer,
        egress,
        non_ect: reader.read("non_ect")?,
        locs: reader.locs().clone(),
    })
}

pub(crate) fn scheduler(node: &Node) -> Result<Located<sched::Config>, Problem> {
    let section = Section::Scheduler;
    let reader = Reader::new(node, section, section.default_kind())?;
    let item = sched::Config::named(reader.kind()).expect("the kind is a name");
    reader.filled(item)
}

/// Maximum nesting of combined schemes.
const DEEPEST_PAIR: u32 = 4;

pub(crate) fn marking(node: &Node, default: &str, depth: u32) -> Result<Marking, Problem> {
    let reader = Reader::new(node, Section::Marking, Some(default))?;
    if reader.kind() == "or" {
        if depth == DEEPEST_PAIR {
            let message = "schemes are nested too deeply";
            return Err(Problem::new(message).at(reader.locs().of("kind")));
        }
        let part = |key: &str| match reader.get(key) {
            Some(node) => marking(node, "queue-red", depth + 1),
            None => {
                Err(Problem::new(format!("`or` has no `{key}`")).at(reader.locs().of("kind")).help(
                    "`or` combines two schemes, first = { kind = \"…\" } and second = { kind = \
                        \"…\" }",
                ))
            }
        };
        return Ok(Marking::Or(Box::new((part("first")?, part("second")?))));
    }
    let mut item = mark::Config::named(reader.kind()).expect("the kind is one of the names");
    reader.fill(&mut item)?;
    Ok(Marking::One(Box::new(reader.located(item))))
}

pub(crate) type Buffers = (Located<buffer::Config>, Option<Located<buffer::Config>>);

pub(crate) fn buffer(node: &Node, default: &str) -> Result<Buffers, Problem> {
    let reader = Reader::new(node, Section::Buffer, Some(default))?;
    let mut item = buffer::Config::named(reader.kind()).expect("the kind is one of the names");
    reader.fill(&mut item)?;
    let egress = match reader.optional("egress") {
        None => None,
        Some(node) => {
            let section = Section::Egress;
            let reader = Reader::new(node, section, section.default_kind())?;
            let mut item = buffer::Config::named(reader.kind()).expect("the kind is a name");
            reader.fill(&mut item)?;
            Some(reader.located(item))
        }
    };
    let located = reader.located(item);
    Ok((located, egress))
}

fn transport(node: &Node, section: Section) -> Result<Reader<'_>, Problem> {
    Reader::new(node, section, section.default_kind())
}

fn one_transport(reader: &Reader<'_>) -> Result<Transport, Problem> {
    if reader.kind() == "dcqcn" {
        let profile = reader.profile().unwrap_or("paper");
        let profile = dcqcn::Profile::read(profile).expect("the profile is one of the names");
        let mut config = profile.config(LINE);
        reader.fill(&mut config)?;
        let named = dcqcn::Config::FIELDS.iter().filter(|field| reader.get(field.name).is_some());
        let text = |name| Settings::value(&config, name).unwrap_or_default();
        return Ok(Transport::Dcqcn(Box::new(Dcqcn {
            profile,
            sets: named.map(|field| (field.name, text(field.name))).collect(),
            locs: reader.locs().clone(),
        })));
    }
    let profile = reader.profile().unwrap_or(layout::PROFILE);
    let mut config = stack(profile);
    reader.fill(&mut config)?;
    let cc = cc(reader.spelling("cc"), &reader.below("cc"))?;
    let receiver = match reader.get("receiver") {
        None => None,
        Some(node) => {
            let below = Reader::new(node, Section::Receiver, None)?;
            let mut sink = below.profile().map_or_else(|| config.clone(), stack);
            below.fill(&mut sink)?;
            Some(Receiver {
                config: below.located(sink),
                cc: below.get("cc").map(|node| self::cc(below.spelling("cc"), node)).transpose()?,
            })
        }
    };
    Ok(Transport::Tcp(Box::new(Tcp { config: reader.located(config), cc, receiver })))
}

fn stack(profile: &str) -> tidegate_transport::Config {
    tidegate_transport::Config::profile(profile).expect("the profile is one of the names")
}

fn cc(spelling: &'static str, node: &Node) -> Result<Cc, Problem> {
    let section = Section::CongestionControl;
    let reader = Reader::new(node, section, section.default_kind())?;
    let item = layout::cc(reader.kind(), reader.profile()).expect("both are known names");
    Ok(Cc { spelling, config: reader.filled(item)? })
}

fn accounting(reader: &Reader<'_>) -> Result<Accounting, Problem> {
    let Some(node) = reader.get("accounting") else {
        return Ok(Accounting::default());
    };
    if let Some(word) = node.scalar() {
        return match word.as_str() {
            "ip" => Ok(Accounting::default()),
            "ethernet" => Ok(Accounting::ETHERNET),
            _ => Err(Problem::new(format!("unknown accounting `{word}`"))
                .at(&node.loc)
                .help(suggest(&word, layout::ACCOUNTINGS))),
        };
    }
    let reader = Reader::new(node, Section::Accounting, None)?;
    Ok(Accounting { per_packet: reader.read("per_packet")?, least: reader.read("least")? })
}

fn tagging(node: &Node) -> Result<Located<pias::Config>, Problem> {
    let reader = Reader::new(node, Section::Tagging, None)?;
    let profile = pias::Profile::read(reader.profile().unwrap_or("ns2"));
    let mut item = profile.expect("the profile is one of the names").config();
    reader.fill(&mut item)?;
    pias::Pias::new(&item).map_err(|error| reader.locs().problem(&error))?;
    Ok(reader.located(item))
}

fn observe(node: &Node) -> Result<Observe, Problem> {
    let reader = Reader::new(node, Section::Observe, None)?;
    let window_node = reader.below("window");
    let window = Reader::new(&window_node, Section::Window, None)?;
    let from: Span = window.read("from")?;
    let to: Option<Span> = window.read("to")?;
    let to = to.map_or(Time::MAX, |to| Time::ZERO + to);
    if Time::ZERO + from >= to {
        return Err(Problem::new("the observed window ends before it begins")
            .at(window.locs().of("to"))
            .help(format!("set `to` later than `from`, {from}")));
    }
    Ok(Observe {
        ports: selection(&reader, "ports")?,
        links: selection(&reader, "links")?,
        flows: selection(&reader, "flows")?,
        port_flows: reader.optional("port_flows").map(port_flows).transpose()?,
        from: Time::ZERO + from,
        to,
        series: reader.optional("series").map(series).transpose()?,
        trace: reader.read("trace")?,
        storm: reader.read("storm")?,
        locs: reader.locs().clone(),
    })
}

fn port_flows(node: &Node) -> Result<PortFlows, Problem> {
    let reader = Reader::new(node, Section::PortFlows, None)?;
    Ok(PortFlows {
        ports: selection(&reader, "ports")?,
        period: reader.read("period")?,
        ideal: reader.read("ideal")?,
        locs: reader.locs().clone(),
    })
}

fn series(node: &Node) -> Result<Series, Problem> {
    let reader = Reader::new(node, Section::Series, None)?;
    Ok(Series {
        interval: reader.read("interval")?,
        limit: reader.read("limit")?,
        queues: selection(&reader, "queues")?,
        links: selection(&reader, "links")?,
        flows: selection(&reader, "flows")?,
        locs: reader.locs().clone(),
    })
}

fn selection(reader: &Reader<'_>, key: &str) -> Result<Selection, Problem> {
    let Some(node) = reader.get(key) else {
        return Ok(Vec::new());
    };
    let items = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut found = Vec::new();
    for item in items {
        let Some(text) = item.scalar() else {
            let message = format!("an item of `{key}` is {}, and should be a name", item.noun());
            return Err(Problem::new(message).at(&item.loc));
        };
        for part in text.split(',') {
            found.push((part.trim().to_owned(), item.loc.clone()));
        }
    }
    Ok(found)
}
