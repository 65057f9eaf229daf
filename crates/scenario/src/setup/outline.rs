//! Outline of a point before it runs: network, thresholds, load.

use std::collections::BTreeSet;

use tidegate_dataplane::buffer;
use tidegate_dataplane::mark::{self, bcc::Parameters, queue_red::in_proportion};
use tidegate_sim::offered::Offered;
use tidegate_sim::setup::{HostReceive, Setup, Transport};
use tidegate_sim::workload::{LoadOn, Source, Traffic};
use tidegate_sim::{LinkId, Network, Routes, ideal};
use tidegate_units::{Bytes, Form, Rate, Setting, Settings, Size, Span};

use super::build::Built;

/// Outline of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Kind of its topology.
    pub topology: String,
    /// Number of hosts.
    pub hosts: u32,
    /// Number of switches.
    pub switches: u32,
    /// Rates of the host links, slowest first.
    pub host_rates: Vec<Rate>,
    /// Rates of the links between switches, slowest first.
    pub fabric_rates: Vec<Rate>,
    /// Round-trip time of a full packet and its ACK in the empty network, host delays included:
    /// minimum and maximum over all flows.
    pub base_rtt: Option<(Span, Span)>,
    /// Marking scheme of the switches.
    pub scheme: String,
    /// Its thresholds.
    pub thresholds: Vec<Threshold>,
    /// Scheduler of the switches and its settings.
    pub scheduler: String,
    /// Buffer of the switches and its settings.
    pub buffer: String,
    /// Queueing at hosts, with its settings.
    pub nic: String,
    /// Host assumptions, by transport.
    pub transports: Vec<Assumptions>,
    /// Offered load of links.
    pub offered: Offered,
    /// Name and load of the busiest link.
    pub busiest: Option<(String, f64)>,
    /// Warnings about misleading results, each with a setting that helps.
    pub warnings: Vec<String>,
}

/// Host assumptions of a transport that papers often omit, although results depend on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumptions {
    /// The congestion control of TCP, or the other transport.
    pub cc: String,
    /// Settings by name: always those for the first round trips, and those for bursts if enabled.
    pub settings: Vec<(&'static str, String)>,
}

impl Assumptions {
    fn new(transport: &Transport, setup: &Setup) -> Self {
        let tcp = match transport {
            Transport::Other(config) => {
                return Self { cc: config.name().to_owned(), settings: Vec::new() };
            }
            Transport::Tcp(tcp) => tcp,
        };
        let config = &tcp.source.config;
        let mut settings = vec![
            ("initial_window", config.initial_window.to_string()),
            ("rto_initial", config.rto_initial.to_string()),
            ("rto_min", config.rto_min.to_string()),
        ];
        if let Some(tso) = config.tso {
            settings.push(("tso", tso.to_string()));
        }
        let off = HostReceive::default();
        for field in HostReceive::FIELDS {
            let value = setup.host_receive.value(field.name);
            if value != off.value(field.name) {
                settings.extend(value.map(|value| (field.name, value)));
            }
        }
        Self { cc: tcp.source.cc.name().to_owned(), settings }
    }
}

/// Threshold of a scheme, as a time and as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// The setting.
    pub name: &'static str,
    /// Value from the file or derived by the scheme; `derived` if it differs between rates.
    pub value: String,
    /// The value in the other unit, at each rate of a switch's ports; both values if it differs.
    pub at_rates: Vec<(Rate, String)>,
}

/// Packet-hops per second on one core. On a shared virtual machine the guide's rack reaches 10
/// million, the `threshold` scenario 20 million, and `main` with its shared pools 5 million.
const HOPS_PER_SECOND: f64 = 1e7;

impl Outline {
    /// Estimated time of one run on one core, in seconds: for planning, not a promise.
    pub fn seconds(&self) -> f64 {
        self.offered.packet_hops / HOPS_PER_SECOND
    }

    /// `topology` is the name of its kind.
    pub(crate) fn new(
        built: &Built,
        traffic: &Traffic,
        topology: &str,
        mut warnings: Vec<String>,
    ) -> Result<Self, tidegate_units::ConfigError> {
        let setup = &built.setup;
        let network = &setup.network;
        let offered = Offered::new(setup, traffic, &built.plan)?;
        let name = |link: LinkId| built.ports[link.index()].clone();
        if let Some((link, load)) = offered.overload() {
            warnings.push(overload_warning(&name(link), load, traffic));
        }
        warnings.extend(timeout_warnings(setup));
        warnings.extend(bypass_warning(setup));
        warnings.extend(lossy_buffer_warning(setup));
        let is_fabric = |from, to| !network.is_host(from) && !network.is_host(to);
        let rates = |fabric: bool| -> Vec<Rate> {
            let links = network.links().iter();
            let meant = links.filter(|link| is_fabric(link.from, link.to) == fabric);
            let rates: BTreeSet<Rate> = meant.map(|link| link.rate).collect();
            rates.into_iter().collect()
        };
        let links = network.links().iter();
        let ports = links.filter(|link| !network.is_host(link.from));
        let port_rates: BTreeSet<Rate> = ports.map(|link| link.rate).collect();
        Ok(Self {
            topology: topology.to_owned(),
            hosts: network.hosts(),
            switches: network.switches(),
            host_rates: rates(false),
            fabric_rates: rates(true),
            base_rtt: base_rtt(setup)?,
            scheme: scheme(&setup.switch.marking),
            thresholds: thresholds(&setup.switch.marking, &port_rates, packet(setup)),
            scheduler: part(setup.switch.scheduling.name(), &setup.switch.scheduling),
            buffer: buffer_text(&setup.switch.buffer),
            nic: nic(setup),
            transports: {
                let transports = setup.transports.iter();
                transports.map(|it| Assumptions::new(it, setup)).collect()
            },
            busiest: offered.busiest().map(|(link, load)| (name(link), load)),
            offered,
            warnings,
        })
    }
}

/// Name of a part with its settings.
fn part(name: &str, settings: &impl tidegate_units::Parameters) -> String {
    let fields = settings.fields().iter();
    let settings: Vec<String> = fields
        .filter_map(|field| {
            let value = settings.value(field.name)?;
            let is_shown = !["", "none", "false"].contains(&value.as_str());
            is_shown.then(|| format!("{} {}", field.name.replace('_', " "), shortened(&value)))
        })
        .collect();
    match settings.as_slice() {
        [] => name.to_owned(),
        _ => format!("{name}: {}", settings.join(", ")),
    }
}

/// Shortens a list of equal values to one value and their number.
fn shortened(list: &str) -> String {
    let values: Vec<&str> = list.split(',').map(str::trim).collect();
    match values.as_slice() {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|value| value == first) => {
            format!("{} × {first}", values.len())
        }
        _ => values.join("/"),
    }
}

fn buffer_text(config: &buffer::Config) -> String {
    match config {
        buffer::Config::PfcOver(pair) => {
            let (ingress, egress) = (&pair.0, &pair.1);
            format!("{}; egress {}", part("pfc", ingress), buffer_text(egress))
        }
        one => part(one.name(), one),
    }
}

/// Queueing at hosts.
fn nic(setup: &Setup) -> String {
    let Some(nic) = &setup.nic else {
        let tcps = setup.transports.iter().filter_map(Transport::tcp);
        let limits = tcps.map(|tcp| tcp.source.config.limit_output);
        let limits: BTreeSet<String> = limits.map(|limit| limit.to_string()).collect();
        return if setup.has_fair_hosts() {
            let limits: Vec<String> = limits.into_iter().collect();
            format!("fq: a queue for each connection, limit output {}", limits.join("/"))
        } else {
            "fifo: one queue for all connections, no limit".to_owned()
        };
    };
    let marking = match scheme(&nic.marking) {
        none if none == "none" => "no marking".to_owned(),
        scheme => format!("marking {scheme}"),
    };
    let scheduler = part(nic.scheduling.name(), &nic.scheduling);
    format!("{marking}; {scheduler}; {}", buffer_text(&nic.buffer))
}

/// Size of a full packet.
fn packet(setup: &Setup) -> u32 {
    setup.accounting.size(setup.transports.first().map_or(0, Transport::payload))
}

fn overload_warning(link: &str, load: f64, traffic: &Traffic) -> String {
    let percent = load * 100.0;
    let loads = || {
        traffic.sources.iter().filter_map(|source| match source {
            Source::Poisson(config) => Some(config.load_on),
            _ => None,
        })
    };
    let has_load = loads().next().is_some();
    let per_sender = loads().any(|on| on == Some(LoadOn::Senders));
    let what = if load > 1.0 {
        "more than its capacity: the queue grows as long as flows arrive, and results depend on \
            the length of the run"
    } else {
        "close to its capacity: queues build up most of the time"
    };
    let advice = if !has_load {
        "send fewer flows over the link, spread them over more time, or raise the rate of the link"
    } else if per_sender {
        "lower `load`, which is a fraction of each sender's link here, or set load_on = \
            \"receivers\""
    } else {
        "lower `load`, or apply it to another link with `load_on`"
    };
    format!("{link} is offered {percent:.0} % of its rate, {what}\n  help: {advice}")
}

/// Warnings for receivers that may delay an ACK longer than the sender's timeout.
fn timeout_warnings(setup: &Setup) -> BTreeSet<String> {
    let each = setup.transports.iter().filter_map(|transport| {
        let Transport::Tcp(tcp) = transport else {
            return None;
        };
        let (delay, least) = (tcp.sink.config.ack_delay, tcp.source.config.rto_min);
        (tcp.sink.config.delayed_ack > 1 && delay >= least).then(|| {
            format!(
                "an ACK may be delayed by {delay} (`ack_delay`), but senders time out after \
                    {least} \
                 (`rto_min`): timeouts without a loss are possible\n  help: set \
                 transport.ack_delay below transport.rto_min, such as {}, or transport.delayed_ack \
                 to 1",
                Span::from_ps(least.as_ps() / 10)
            )
        })
    });
    each.collect()
}

/// Warning for flows that bypass PFC without any other limit.
fn bypass_warning(setup: &Setup) -> Option<String> {
    let buffer::Config::Pfc(pfc) = &setup.switch.buffer else {
        return None;
    };
    if setup.tagging.is_some() {
        return None;
    }
    let services = setup.flows.iter().map(|flow| flow.service);
    let service = services.filter(|service| pfc.bypass.contains(service)).min()?;
    Some(format!(
        "flows of service {service} queue without limit: `bypass` excludes their class from PFC, \
            and there is \
         no egress buffer\n  help: give the traffic its own class, such as service = 3, or set \
         switch.buffer.bypass = [] or switch.buffer.egress"
    ))
}

/// Warning for a transport that expects a lossless network over buffers that drop.
fn lossy_buffer_warning(setup: &Setup) -> Option<String> {
    let mut transports = setup.transports.iter().filter_map(|transport| match transport {
        Transport::Other(config) if config.needs_lossless() => Some(config.name()),
        _ => None,
    });
    let transport = transports.next()?;
    let buffer = &setup.switch.buffer;
    let drops = !matches!(
        buffer,
        buffer::Config::Pfc(_) | buffer::Config::PfcOver(_) | buffer::Config::Unlimited(_)
    );
    (drops && setup.flow_control.is_none()).then(|| {
        format!(
            "{transport} expects a lossless network, but buffers of kind \"{}\" drop packets: after \
             each loss a sender repeats everything from the lost packet on, and a busy network may \
             deliver little else (livelock)\n  help: set switch.buffer = {{ kind = \"pfc\" }}, or \
             transport.kind = \"tcp\"",
            buffer.name()
        )
    })
}

/// Minimum and maximum round-trip time of a full packet and its ACK between the hosts of flows.
fn base_rtt(setup: &Setup) -> Result<Option<(Span, Span)>, tidegate_units::ConfigError> {
    let routes = Routes::new(&setup.network)?.with_ecmp(setup.ecmp);
    let ack = setup.accounting.size(0);
    let packet = packet(setup);
    let mut path = Vec::new();
    let mut range: Option<(Span, Span)> = None;
    let pairs: BTreeSet<_> =
        setup.flows.iter().map(|flow| (flow.src, flow.dst)).take(MOST_PAIRS).collect();
    for (src, dst) in pairs {
        routes.path(src, dst, 0, &mut path);
        let back: Vec<LinkId> = path.iter().map(|&link| Network::reverse(link)).collect();
        let there = ideal::transit(&setup.network, &path, packet);
        let both = there + ideal::transit(&setup.network, &back, ack);
        let (least, most) = range.unwrap_or((both, both));
        range = Some((least.min(both), most.max(both)));
    }
    let delays = &setup.host_delay.values;
    let least = delays.iter().min().copied().unwrap_or_default();
    let most = delays.iter().max().copied().unwrap_or_default();
    Ok(range.map(|(shortest, longest)| (shortest + least, longest + most)))
}

/// Number of pairs examined; no topology has further round-trip times.
const MOST_PAIRS: usize = 10_000;

fn scheme(marking: &mark::Config) -> String {
    match marking {
        mark::Config::Or(pair) => format!("{} or {}", scheme(&pair.0), scheme(&pair.1)),
        one => one.name().to_owned(),
    }
}

/// Thresholds of a scheme: times and amounts above which it marks.
fn thresholds(marking: &mark::Config, rates: &BTreeSet<Rate>, packet: u32) -> Vec<Threshold> {
    if let mark::Config::Or(pair) = marking {
        let mut both = thresholds(&pair.0, rates, packet);
        both.extend(thresholds(&pair.1, rates, packet));
        return both;
    }
    let settled: Vec<(Rate, mark::Config)> =
        rates.iter().map(|&rate| (rate, with_derived(marking, rate))).collect();
    let threshold = |field: &tidegate_units::Field| {
        let at_rates: Vec<(Rate, String)> = settled
            .iter()
            .filter_map(|(rate, marking)| Some((*rate, marking.value(field.name)?)))
            .filter(|(_, value)| !value.is_empty() && value != "none")
            .collect();
        let (_, first) = at_rates.first()?;
        let is_one = at_rates.iter().all(|(_, value)| value == first);
        let value = if is_one { first.as_str() } else { "derived" }.to_owned();
        let shown = |(rate, value): (Rate, String)| {
            let other = in_other_unit(field.form, &value, rate, packet)?;
            let text = if is_one { other } else { format!("{value} ({other})") };
            Some((rate, text))
        };
        Some(Threshold {
            name: field.name,
            value,
            at_rates: at_rates.into_iter().filter_map(shown).collect(),
        })
    };
    let fields = marking.fields().iter();
    let fields = fields.filter(|field| field.is_threshold);
    fields.filter_map(threshold).collect()
}

/// A scheme with the thresholds it derives at a port of this rate, where the file sets none.
fn with_derived(marking: &mark::Config, rate: Rate) -> mark::Config {
    let size = |bytes: u64| Size::Bytes(Bytes(rounded(bytes)));
    let mut settled = marking.clone();
    match &mut settled {
        mark::Config::Tcn(tcn) => {
            let derived = tcn.lambda.of_span(tcn.rtt);
            tcn.threshold.get_or_insert(derived);
        }
        mark::Config::QueueRed(red) => {
            if let Some(speed) = red.speed {
                let sizes = red.threshold.iter_mut().chain(&mut red.min_threshold);
                sizes.for_each(|size| *size = in_proportion(*size, rate, speed));
            }
        }
        mark::Config::EcnSharp(sharp) => {
            let (high, low) = (sharp.rtt, sharp.mean_rtt);
            sharp.ins_target.get_or_insert(sharp.lambda.of_span(high));
            sharp.pst_target.get_or_insert(sharp.lambda.of_span(low));
        }
        mark::Config::PerFlowTcn(tcn) => tcn.threshold = Some(tcn.sojourn()),
        mark::Config::DiffEcn(diff) => {
            let derived = size(rate.bytes_in(diff.derived_time()));
            diff.threshold.get_or_insert(derived);
        }
        mark::Config::Bcc(bcc) => {
            // Parameters that do not fit this rate are reported when the network is built.
            if let Ok(derived) = Parameters::derive(bcc, rate) {
                let size = |bytes: u32| size(bytes.into());
                bcc.port_threshold.get_or_insert(size(derived.port));
                bcc.pool_threshold.get_or_insert(size(derived.pool_max));
                bcc.pool_min_threshold.get_or_insert(size(derived.pool_min));
            }
        }
        _ => {}
    }
    settled
}

/// Converts the values of a threshold: amounts to times, and times to amounts.
fn in_other_unit(form: Form, value: &str, rate: Rate, packet: u32) -> Option<String> {
    let texts = value.split(',').map(str::trim);
    let texts: Option<Vec<String>> =
        texts.map(|text| converted(unit(form), text, rate, packet)).collect();
    let mut texts = texts?;
    texts.dedup();
    Some(texts.join(", "))
}

/// Form of one value.
const fn unit(form: Form) -> Form {
    match form {
        Form::List(one) | Form::Optional(one) => unit(*one),
        one => one,
    }
}

/// Converts a time to the bytes that a link carries in it, or an amount to its transmission time.
fn converted(form: Form, text: &str, rate: Rate, packet: u32) -> Option<String> {
    match form {
        Form::Span => {
            let span = Span::read(text).ok()?;
            let bits = u128::from(rate.as_bps()) * u128::from(span.as_ps()) / 1_000_000_000_000;
            let bytes = u64::try_from(bits / 8).ok()?;
            Some(Bytes(rounded(bytes)).write())
        }
        Form::Bytes | Form::Size => {
            let bytes = Size::read(text).ok()?.in_bytes(packet);
            let ps = u128::from(bytes) * 8 * 1_000_000_000_000 / u128::from(rate.as_bps().max(1));
            Some(Span::from_ps(rounded(u64::try_from(ps).ok()?)).write())
        }
        _ => None,
    }
}

/// Rounds to three digits.
pub(crate) fn rounded(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 1_000 {
        unit *= 10;
    }
    (number + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_shown_as_time_and_as_bytes_at_each_speed() {
        let rates = BTreeSet::from([Rate::from_gbps(10), Rate::from_gbps(40)]);
        let of = |name: &str| {
            let marking = mark::Config::named(name).unwrap();
            let found = thresholds(&marking, &rates, 1500);
            let shown = |threshold: Threshold| {
                let others = threshold.at_rates.into_iter().map(|(_, text)| text);
                format!(
                    "{} {} = {}",
                    threshold.name,
                    threshold.value,
                    others.collect::<Vec<_>>().join(" | ")
                )
            };
            found.into_iter().map(shown).collect::<Vec<_>>()
        };
        assert_eq!(of("tcn"), ["threshold 78us = 97.5KB | 390KB"]);
        assert_eq!(of("queue-red"), ["threshold 65pkts = 78us | 19.5us"]);
        assert_eq!(
            of("ecn-sharp"),
            ["ins_target 200us = 250KB | 1MB", "pst_target 85us = 106KB | 425KB"]
        );
        // Its `measure_threshold` is not a marking threshold.
        assert_eq!(of("rate-red"), ["port_threshold 125KB = 100us | 25us"]);
        assert!(of("none").is_empty());
        assert_eq!(of("diff-ecn"), ["threshold derived = 16.3KB (13us) | 65KB (13us)"]);
        assert_eq!(of("per-flow-tcn"), ["threshold 11us = 13.8KB | 55KB"]);
    }

    #[test]
    fn thresholds_that_a_scheme_derives_are_shown() {
        let rates = BTreeSet::from([Rate::from_gbps(100)]);
        let of = |name: &str, absent: &[&str]| {
            let mut marking = mark::Config::named(name).unwrap();
            for field in absent {
                marking.set(field, "none").unwrap();
            }
            let found = thresholds(&marking, &rates, 1500);
            let values = found.into_iter().map(|threshold| threshold.value);
            values.collect::<Vec<_>>()
        };
        assert_eq!(of("tcn", &["threshold"]), ["85.2us"]);
        let sharp = of("ecn-sharp", &["ins_target", "pst_target"]);
        assert_eq!(sharp, ["200us", "85us"]);
        // C × RTT × λ; B − B_R / α of 2 748 496 bytes; and 800 KB less.
        assert_eq!(of("bcc", &[]), ["720KB", "2.75MB", "1.95MB"]);
    }

    #[test]
    fn shown_numbers_have_three_digits() {
        for (number, shown) in [(0, 0), (999, 999), (1_004, 1_000), (97_549, 97_500)] {
            assert_eq!(rounded(number), shown);
        }
    }
}
