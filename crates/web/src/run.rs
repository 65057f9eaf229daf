//! A run for the playground: observed for playback, with the numbers of the command line.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use tidegate_dataplane::sched::Scheduler;
use tidegate_dataplane::{DropReason, Rule};
use tidegate_results::format::{percent, quantity};
use tidegate_results::summary::{self, Metric};
use tidegate_results::{Record, outcome};
use tidegate_scenario::{Built, Experiment, Limits, Scenario};
use tidegate_sim::observe::journal::{Fate, ObservedPacket};
use tidegate_sim::observe::series::{FlowSeries, SenderSample};
use tidegate_sim::observe::statistics::real;
use tidegate_sim::observe::{Journal, Sampling, Series, Which, Window};
use tidegate_sim::run::{self, Status};
use tidegate_sim::setup::{Opening, Way};
use tidegate_sim::{End, Flow, LinkId, Network, Outcome};
use tidegate_units::{Ecn, QueueId, Rate, Setting, Span, Time};

use crate::columns::Columns;
use crate::problems::Shown;

/// Limits of a scenario in a browser: the memory of a phone, and the drawing of the page.
pub const LIMITS: Limits = Limits {
    hosts: 256,
    cables: 2_048,
    flows: 20_000,
    runs: 200,
    queues: 1 << 10,
    samples: 4_000_000,
    entries: 1 << 18,
};

/// Longest text of a scenario in bytes.
pub const LONGEST: usize = 64 << 10;

/// Name of the text in errors and commands.
pub(crate) const FILE: &str = "scenario.toml";

/// Recorded packets of the watched port, samples of a series, and flows with series.
const PACKETS: u32 = 150_000;
const SAMPLES: u32 = 3_000;
const FLOWS: usize = 8;

/// Parses a text within the limits.
pub(crate) fn parse(text: &str) -> Result<Scenario, Vec<Shown>> {
    if text.len() > LONGEST {
        let message = format!(
            "the scenario has {} bytes, more than the {LONGEST} that this page takes",
            text.len()
        );
        return Err(vec![Shown::new(message)]);
    }
    Scenario::parse_bounded(FILE, text, &[], LIMITS).map_err(|problem| Shown::all(&problem, text))
}

/// The first run of each point of a scenario.
pub(crate) fn points(scenario: &Scenario, text: &str) -> Result<Vec<Experiment>, Vec<Shown>> {
    let plan = scenario.plan().map_err(|problem| Shown::all(&problem, text))?;
    let first = plan.into_iter().filter(|run| run.replication == 0);
    Ok(first.collect())
}

/// Runs a point of a scenario and returns everything for playback. `watch` is the name of the port
/// to record; `goes_on` is called at intervals.
pub(crate) fn run(
    text: &str,
    point: usize,
    watch: Option<&str>,
    goes_on: &mut dyn FnMut(Status) -> bool,
) -> Result<Vec<u8>, Vec<Shown>> {
    let scenario = parse(text)?;
    let points = points(&scenario, text)?;
    let Some(experiment) = points.get(point) else {
        let count = points.len();
        let message = format!("there is no point {point}: the scenario has {count}, from 0 on");
        return Err(vec![Shown::new(message)]);
    };
    let built = experiment.build();
    let mut built = built.map_err(|problem| Shown::all(&problem, text))?;
    let refused = |error: tidegate_units::ConfigError| vec![Shown::new(error.to_string())];
    let (link, sets) = watched(&mut built, watch)?;
    observe(&mut built, link).map_err(refused)?;
    let interrupt = AtomicBool::new(false);
    let outcome = run::run_watched(&built.setup, &interrupt, &mut |status| {
        if !goes_on(status) {
            interrupt.store(true, Ordering::Relaxed);
        }
    });
    let mut outcome = outcome.map_err(refused)?;
    // The page plays series back from columns of its own.
    let series = outcome.observed.series.take();
    let record = outcome::record(experiment, String::new(), &built, &outcome).map_err(refused)?;
    outcome.observed.series = series;
    let mut overrides = experiment.overrides();
    overrides.extend(sets);
    let seen = Seen { experiment, built: &built, outcome: &outcome, record: &record, link };
    let mut columns = Columns::default();
    seen.add_columns(&mut columns);
    let mut header = seen.header();
    header.insert("command".into(), json!(command(&overrides)));
    Ok(columns.behind(header))
}

/// Command that gives the same run.
fn command(overrides: &[String]) -> String {
    let mut command = format!("tidegate run {FILE}");
    for set in overrides {
        _ = write!(command, " --set {}", quoted(set));
    }
    command
}

/// Quotes a word for a shell like the program does: a scenario may come from a stranger's link.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+%@^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Metrics that the page shows, each with its title there.
const METRICS: [(&str, &str); 9] = [
    ("queue_mean", "mean queue"),
    ("utilisation", "link used"),
    ("goodput", "goodput of a flow"),
    ("fairness", "fairness"),
    ("fct_mean", "mean completion"),
    ("marks", "marks"),
    ("drops", "drops"),
    ("timeouts", "timeouts"),
    ("retransmissions", "resent"),
];

/// Metrics that a run has, as values and as text.
fn numbers(record: &Record) -> Vec<Value> {
    let number = |(name, title): &(&str, &str)| {
        let metric = Metric::all().find(|metric| metric.name == *name)?;
        let value = summary::value(metric, record)?;
        let text =
            if *name == "utilisation" { percent(value) } else { quantity(value, metric.unit) };
        Some(json!({ "name": name, "title": title, "value": value, "text": text }))
    };
    METRICS.iter().filter_map(number).collect()
}

/// The port to record, and the overrides for the command line. If the port is not the only observed
/// one, it becomes that. A port that does not exist in the network, because the text has changed
/// since, is ignored.
fn watched(built: &mut Built, watch: Option<&str>) -> Result<(LinkId, Vec<String>), Vec<Shown>> {
    let observe = &mut built.setup.observe;
    let named = watch.and_then(|name| built.ports.iter().position(|port| port == name));
    let named = named.map(|place| LinkId(place as u32)); // links have 32 bits
    let first = match &observe.ports {
        Which::Only(links) => links.first().copied(),
        Which::All | Which::None => None,
    };
    let network = &built.setup.network;
    let link = named.or(first).or_else(|| busiest(network, &built.setup.flows));
    let Some(link) = link else {
        return Err(vec![Shown::new("no switch of this network leads to a host")]);
    };
    if network.is_host(network.link(link).from) && built.setup.nic.is_none() {
        let name = &built.ports[link.index()];
        let message = format!("`{name}` leaves a host without [nic], which has no port to look at");
        return Err(vec![Shown::new(message)]);
    }
    if observe.ports == Which::Only(vec![link]) {
        return Ok((link, Vec::new()));
    }
    observe.ports = Which::Only(vec![link]);
    observe.links = Which::Only(vec![link]);
    let name = &built.ports[link.index()];
    let sets = ["ports", "links"].map(|key| format!("observe.{key}=[\"{name}\"]"));
    Ok((link, sets.to_vec()))
}

/// The link from a switch to the host that receives most.
fn busiest(network: &Network, flows: &[Flow]) -> Option<LinkId> {
    let mut bytes = vec![0_u64; network.hosts() as usize];
    for flow in flows {
        let got = &mut bytes[flow.dst.index()];
        *got = got.saturating_add(flow.bytes);
    }
    let links = network.links().iter().zip(0..);
    let to_hosts =
        links.filter(|(link, _)| !network.is_host(link.from) && network.is_host(link.to));
    let most =
        to_hosts.max_by_key(|(link, number)| (bytes[link.to.index()], std::cmp::Reverse(*number)));
    most.map(|(_, number)| LinkId(number))
}

/// Requests all observations for playback, which change no result.
fn observe(built: &mut Built, link: LinkId) -> Result<(), tidegate_units::ConfigError> {
    let setup = &mut built.setup;
    let is_host = setup.network.is_host(setup.network.link(link).from);
    let ports = match &setup.nic {
        Some(nic) if is_host => nic,
        _ => &setup.switch,
    };
    let queues = ports.scheduling.build()?.queues();
    setup.threads = NonZeroUsize::MIN;
    setup.observe.series = Some(Sampling {
        interval: Span::from_us(1),
        window: Some(Window::default()),
        limit: SAMPLES,
        queues: (0..queues).map(|queue| (link, QueueId(queue))).collect(),
        links: (0..setup.network.links().len() as u32).map(LinkId).collect(),
        flows: followed(&setup.network, &setup.flows, link),
    });
    setup.observe.journal = Some(Journal { ports: vec![link], limit: PACKETS });
    Ok(())
}

/// Flows whose windows are shown: the largest ones that end at the host of the link, if it leads to
/// one.
fn followed(network: &Network, flows: &[Flow], link: LinkId) -> Vec<u32> {
    let to = network.link(link).to;
    let passes = |flow: &Flow| !network.is_host(to) || flow.dst.node() == to;
    let mut numbers: Vec<u32> =
        (0_u32..).zip(flows).filter(|(_, flow)| passes(flow)).map(|(number, _)| number).collect();
    numbers.sort_by_key(|&number| (std::cmp::Reverse(flows[number as usize].bytes), number));
    numbers.truncate(FLOWS);
    numbers.sort_unstable();
    numbers
}

/// A finished run.
struct Seen<'a> {
    experiment: &'a Experiment,
    built: &'a Built,
    outcome: &'a Outcome,
    record: &'a Record,
    link: LinkId,
}

impl Seen<'_> {
    fn header(&self) -> Map<String, Value> {
        let Self { experiment, built, outcome, .. } = self;
        let outline = &experiment.outline;
        let network = &built.setup.network;
        let nodes = (0..network.nodes()).map(|node| network.name(tidegate_sim::NodeId(node)));
        let links = network.links().iter().zip(&built.ports);
        let links = links.map(|(link, name)| {
            json!({
                "from": link.from.0, "to": link.to.0, "name": name,
                "bps": link.rate.as_bps(), "delay": micros(link.delay.as_ps()),
            })
        });
        let thresholds = outline.thresholds.iter().map(|threshold| {
            let time = Span::read(&threshold.value).ok();
            let rates = threshold.at_rates.iter();
            let others: Vec<&String> = rates.map(|(_, text)| text).collect();
            json!({
                "name": threshold.name, "value": threshold.value, "also": others,
                "micros": time.map(|time| micros(time.as_ps())),
            })
        });
        let rtt =
            outline.base_rtt.map(|(least, most)| [least, most].map(|rtt| micros(rtt.as_ps())));
        let journal = outcome.observed.journals.first();
        let series = outcome.observed.series.as_ref();
        let header = json!({
            "label": experiment.label,
            "scheme": experiment.scheme(),
            "seed": experiment.seed.to_string(),
            "fingerprint": self.record.run.fingerprint,
            "end": self.end(),
            "ended": micros(outcome.ended_at.as_ps()),
            "numbers": numbers(self.record),
            "warnings": outline.warnings,
            "thresholds": thresholds.collect::<Vec<_>>(),
            "rtt": rtt,
            "hosts": network.hosts(),
            "nodes": nodes.collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
            "watched": self.link.0,
            "queues": series.map_or(0, |series| series.queues.len()),
            "packets": journal.map_or(0, |journal| journal.packets.len()),
            "beyond": journal.map_or(0, |journal| journal.beyond),
            "from": series.map_or(0.0, |series| micros(series.from.as_ps())),
            "interval": series.map_or(0.0, |series| micros(series.interval.as_ps())),
            "samples": series.map_or(0, |series| series.active_flows.len()),
            "followed": series.map_or_else(Vec::new, |series| self.followed(series)),
            "rules": Rule::ALL.map(Rule::name),
            "reasons": DropReason::ALL.map(DropReason::name),
            "hops": outcome.links.iter().map(|link| link.packets).sum::<u64>(),
        });
        match header {
            Value::Object(header) => header,
            _ => unreachable!("it was written as a table"),
        }
    }

    /// Reason for its end.
    fn end(&self) -> String {
        match &self.outcome.end {
            End::Finished => "all flows finished".to_owned(),
            End::Interrupted => "stopped: it took too long for a browser".to_owned(),
            End::Stalled(why) => format!("stalled: {why}"),
            End::TimeUp => "the time that was set is over".to_owned(),
        }
    }

    fn followed(&self, series: &Series) -> Vec<Value> {
        let one = |followed: &FlowSeries| {
            let flow = &self.built.setup.flows[followed.flow as usize];
            json!({
                "number": followed.flow, "src": flow.src.0, "dst": flow.dst.0,
                "service": flow.service,
                "bytes": (flow.bytes != Flow::ENDLESS).then_some(flow.bytes),
            })
        };
        series.flows.iter().map(one).collect()
    }

    fn add_columns(&self, columns: &mut Columns) {
        if let Some(journal) = self.outcome.observed.journals.first() {
            add_packets(columns, &journal.packets);
        }
        if let Some(series) = &self.outcome.observed.series {
            self.add_series(columns, series);
        }
        let flows = &self.built.setup.flows;
        columns.add("flow_src", flows.iter().map(|flow| flow.src.0));
        columns.add("flow_dst", flows.iter().map(|flow| flow.dst.0));
        columns.add("flow_service", flows.iter().map(|flow| flow.service));
        // Links by which data and ACKs reach the watched port's switch; -1 if they do not, or if
        // that is unknown.
        for (name, way) in [("flow_via", Way::There), ("flow_back_via", Way::Back)] {
            columns.add(name, self.vias(way));
        }
    }

    /// For each flow the link before the watched one.
    fn vias(&self, way: Way) -> Vec<i32> {
        let setup = &self.built.setup;
        let Ok(routes) = setup.routes() else {
            return Vec::new();
        };
        let via = |number: u32| {
            let flow = &setup.flows[number as usize];
            // A reused connection takes the path of its first flow.
            let is_certain =
                setup.opening != Opening::Persistent || routes.choices(flow.src, flow.dst) == 1;
            let path = setup.path(&routes, number, way).ok().filter(|_| is_certain)?;
            let place = path.iter().position(|&link| link == self.link)?;
            Some(path[place.checked_sub(1)?].0.cast_signed())
        };
        let numbers = 0..setup.flows.len() as u32; // flows have numbers of 32 bits
        numbers.map(|number| via(number).unwrap_or(-1)).collect()
    }

    fn add_series(&self, columns: &mut Columns, series: &Series) {
        columns.add("active", series.active_flows.iter().copied());
        for queue in &series.queues {
            let name = |what: &str| format!("queue{}_{what}", queue.queue.0);
            let samples = queue.samples.iter();
            columns.add(&name("bytes"), samples.clone().map(|sample| sample.bytes));
            let threshold = samples.map(|sample| sample.threshold.map_or(f32::NAN, narrow));
            columns.add(&name("threshold"), threshold);
        }
        // Utilization of each link since the sample before, link by link.
        let links = &self.built.setup.network;
        let loads = series.links.iter().flat_map(|link| {
            let most = real(links.link(link.link).rate.as_bps());
            let rates = link.rates(series.interval);
            let loads = rates.map(move |rate| (rate.map_or(0.0, bps) / most) as f32);
            std::iter::once(0.0).chain(loads).take(link.bytes.len())
        });
        columns.add("loads", loads);
        for (flow, number) in series.flows.iter().zip(0..) {
            add_flow(columns, number, flow, series.interval);
        }
    }
}

fn add_packets(columns: &mut Columns, packets: &[ObservedPacket]) {
    let all = || packets.iter();
    columns.add("p_arrived", all().map(|packet| micros(packet.arrived.as_ps())));
    let left = |packet: &ObservedPacket| match packet.left {
        Time::MAX => f64::INFINITY,
        at => micros(at.as_ps()),
    };
    columns.add("p_left", all().map(left));
    let flow = |packet: &ObservedPacket| packet.flow.map_or(-1, u32::cast_signed);
    columns.add("p_flow", all().map(flow));
    columns.add("p_bytes", all().map(|packet| packet.bytes));
    columns.add("p_queue", all().map(|packet| packet.queue.0));
    columns.add("p_queue_bytes", all().map(|packet| packet.queue_bytes));
    columns.add("p_port_bytes", all().map(|packet| packet.port_bytes));
    // 0: no mark; otherwise the rule's number from 1 on, plus 128 if marked at dequeue.
    let mark = |packet: &ObservedPacket| {
        let of = |mark: tidegate_sim::observe::journal::Mark| {
            1 + mark.rule as u8 + 128 * u8::from(mark.is_late)
        };
        packet.mark.map_or(0, of)
    };
    columns.add("p_mark", all().map(mark));
    // 0: still queued, 1: sent, from 2 on: the number of the drop reason.
    let fate = |packet: &ObservedPacket| match packet.fate {
        Fate::Waiting => 0,
        Fate::Sent => 1,
        Fate::Dropped(reason) => 2 + reason as u8,
    };
    columns.add("p_fate", all().map(fate));
    // 1: reverse packet, 2: ECN-capable, 4: arrived marked.
    let kind = |packet: &ObservedPacket| {
        u8::from(packet.is_answer)
            + 2 * u8::from(packet.ecn != Ecn::NotEct)
            + 4 * u8::from(packet.ecn == Ecn::Ce)
    };
    columns.add("p_kind", all().map(kind));
}

/// Window, estimate and goodput of a flow; NaN without a value.
fn add_flow(columns: &mut Columns, number: usize, flow: &FlowSeries, interval: Span) {
    let samples = || flow.samples.iter().map(|sample| sample.sender);
    let window = |sender: Option<SenderSample>| {
        sender.and_then(|sender| sender.window()).map_or(f32::NAN, narrow)
    };
    let alpha = |sender: Option<SenderSample>| {
        let alpha = sender.and_then(|sender| sender.alpha());
        alpha.map_or(f32::NAN, |alpha| (real(alpha) / real(1_u64 << 32)) as f32)
    };
    columns.add(&format!("flow{number}_cwnd"), samples().map(window));
    columns.add(&format!("flow{number}_alpha"), samples().map(alpha));
    let goodputs = flow.goodputs(interval);
    let goodputs = goodputs.map(|rate| rate.map_or(0.0, bps) as f32);
    let goodputs = std::iter::once(0.0).chain(goodputs).take(flow.samples.len());
    columns.add(&format!("flow{number}_bps"), goodputs);
}

fn micros(ps: u64) -> f64 {
    real(ps) / 1e6
}

fn bps(rate: Rate) -> f64 {
    real(rate.as_bps())
}

/// Drawing needs no more digits.
#[expect(clippy::cast_precision_loss, reason = "a pixel has fewer digits")]
fn narrow(number: u32) -> f32 {
    number as f32
}
