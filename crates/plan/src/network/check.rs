//! From the keys of a file to a network in which everything is present and in range.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tidegate_report::reading;
use tidegate_scenario::{Problem, SettingsTable};
use tidegate_sim::workload::List;
use tidegate_units::{Bytes, Parameters, Ratio, Span};

use super::keys::{self, Text};
use super::{Chip, Network, Queue, Reservation, Rtt, Switch, Trace, Traffic, Transport};
use crate::formula;
use crate::formula::headroom::Reaction;

/// The tables of a file.
const TABLES: [&str; 5] = ["fabric", "switch", "rtt", "queue", "traffic"];

/// Reads a network. `folder` holds its trace.
pub(super) fn network(file: &SettingsTable, folder: Option<&Path>) -> Result<Network, Problem> {
    let mut root = keys::Root::default();
    file.fill(&mut root, &TABLES)?;
    if !(64..=65_535).contains(&root.mtu) {
        return Err(file
            .problem("mtu", format!("`mtu` is {}, which is out of range", root.mtu))
            .help("allowed: 64 to 65535 bytes"));
    }
    let (fabric, at_fabric) = below::<keys::Fabric>(file, "fabric")?;
    let Some(host_ports) = fabric.host_ports else {
        let help = "write the ports of a leaf, such as fabric = { host_ports = \"48x25Gbps\" }";
        return Err(at_fabric.problem("host_ports", "the network has no `host_ports`").help(help));
    };
    if fabric.link_delay > LONGEST_CABLE {
        let message = format!("a cable of {} is longer than {LONGEST_CABLE}", fabric.link_delay);
        return Err(at_fabric
            .problem("link_delay", message)
            .help("the time that a bit takes one way: 5 ns for a metre, such as 200ns"));
    }
    let layers = layers(&fabric, &at_fabric)?;
    let hosts = hosts(&fabric, host_ports, &at_fabric)?;
    let (switch, at_switch) = below::<keys::Switch>(file, "switch").map_err(name_chips)?;
    let (rtt, at_rtt) = below::<keys::Rtt>(file, "rtt")?;
    let (traffic, at_traffic) = below::<keys::Traffic>(file, "traffic")?;
    let name = match &root.name {
        Some(Text(name)) => name.clone(),
        None => name_of_file(file.file()),
    };
    let (queues, assumptions) = queues(file, &root)?;
    let network = Network {
        title: root.title.clone().map_or_else(|| name.clone(), |Text(title)| title),
        name,
        host_ports,
        uplinks: fabric.uplinks,
        layers,
        hosts,
        link_delay: fabric.link_delay,
        mtu: root.mtu,
        switch: self::switch(&switch, &at_switch)?,
        rtt: self::rtt(&rtt, &at_rtt)?,
        traffic: self::traffic(traffic, &at_traffic, hosts, &queues, folder)?,
        queues,
        assumptions,
    };
    check_memory(&network, &at_switch)?;
    Ok(network)
}

/// The settings of a table below, and the table; an absent one is empty.
fn below<S: Parameters + Default>(
    file: &SettingsTable,
    key: &str,
) -> Result<(S, SettingsTable), Problem> {
    let mut settings = S::default();
    match file.table(key)? {
        None => Ok((settings, file.clone())),
        Some(table) => {
            table.fill(&mut settings, &[])?;
            Ok((settings, table))
        }
    }
}

/// Names all chips and the alternative in the help: the nearest name belongs to another chip.
fn name_chips(problem: Problem) -> Problem {
    if !problem.message().starts_with("there is no chip") {
        return problem;
    }
    problem.help(format!(
        "known: {}; for any other chip, write the memory instead: buffer = \"64MB\"",
        Chip::NAMES.join(", ")
    ))
}

/// Name of a network without one: the file's.
fn name_of_file(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| !stem.is_empty()).unwrap_or_else(|| "network".to_owned())
}

fn layers(fabric: &keys::Fabric, at: &SettingsTable) -> Result<u32, Problem> {
    let derived = if fabric.uplinks.is_some() { 2 } else { 1 };
    let layers = fabric.layers.unwrap_or(derived);
    let allowed = if fabric.uplinks.is_some() { 2..=3 } else { 1..=1 };
    if allowed.contains(&layers) {
        return Ok(layers);
    }
    let help = match (fabric.uplinks, layers) {
        (None, 2 | 3) => "a leaf below other switches has `uplinks`, such as \"8x100Gbps\"",
        (Some(_), 1) => "a single switch has no `uplinks`",
        _ => "allowed: 1 for a single switch, 2 for leaf-spine, 3 for a fat tree",
    };
    let message = format!("`layers` is {layers}, which does not match the ports");
    Err(at.problem("layers", message).help(help))
}

fn hosts(fabric: &keys::Fabric, ports: keys::Ports, at: &SettingsTable) -> Result<u32, Problem> {
    let leaves = fabric.uplinks.map_or(1, |uplinks| uplinks.count);
    let hosts = fabric.hosts.unwrap_or(ports.count * leaves);
    let most = if fabric.uplinks.is_some() { 1 << 20 } else { ports.count };
    if (2..=most).contains(&hosts) {
        return Ok(hosts);
    }
    let key = if fabric.hosts.is_some() { "hosts" } else { "host_ports" };
    let message = format!("the network has {hosts} hosts, which is out of range");
    let help = if most < 2 {
        "a network has at least two hosts: write more ports, or `uplinks` and `hosts`".to_owned()
    } else {
        format!("allowed: 2 to {most} with these ports")
    };
    Err(at.problem(key, message).help(help))
}

fn switch(switch: &keys::Switch, at: &SettingsTable) -> Result<Switch, Problem> {
    let facts = switch.chip.map(Chip::facts);
    let Some(buffer) = switch.buffer.or(facts.map(|facts| facts.buffer)) else {
        let known = Chip::NAMES.join(", ");
        return Err(at
            .problem("buffer", "the switch has neither `chip` nor `buffer`")
            .help(format!("write switch = {{ buffer = \"32MB\" }}, or a chip: {known}")));
    };
    if switch.alpha == Ratio::ZERO {
        return Err(at
            .problem("alpha", "`alpha` is 0: no queue could hold a packet")
            .help("allowed: above 0, such as 1/8 or 4"));
    }
    let parts = switch.parts.or(facts.map(|facts| facts.parts)).unwrap_or(1);
    let cell = switch.cell.or(facts.map(|facts| facts.cell)).unwrap_or(1);
    for (key, value, most) in [("parts", parts, 64), ("cell", cell, 65_536)] {
        if !(1..=most).contains(&value) {
            return Err(at
                .problem(key, format!("`{key}` is {value}, which is out of range"))
                .help(format!("allowed: 1 to {most}")));
        }
    }
    let usual = facts.map_or(Reaction::UNKNOWN, |facts| facts.reaction);
    let reaction = Reaction {
        pipeline: switch.pipeline.unwrap_or(usual.pipeline),
        small_packets: switch.small_packets.unwrap_or(usual.small_packets),
    };
    if reaction.small_packets > 100 {
        let message =
            format!("`small_packets` is {}, which is out of range", reaction.small_packets);
        return Err(at.problem("small_packets", message).help("allowed: 0 to 100 percent"));
    }
    if reaction.pipeline > LONGEST_CABLE {
        let message =
            format!("a pipeline delay of {} is longer than {LONGEST_CABLE}", reaction.pipeline);
        return Err(at.problem("pipeline", message).help("some microseconds, such as 3us"));
    }
    Ok(Switch {
        chip: switch.chip,
        buffer,
        parts,
        alpha: switch.alpha,
        reserve: switch.reserve,
        cell,
        os: switch.os,
        reaction,
        reservation: Reservation::default(),
    })
}

/// Longest propagation delay: 2000 km of cable are beyond a datacenter.
const LONGEST_CABLE: Span = Span::from_ms(10);

/// Longest round-trip time, far beyond a datacenter; nothing overflows below it.
const LONGEST_RTT: Span = Span::from_secs(10);

fn rtt(rtt: &keys::Rtt, at: &SettingsTable) -> Result<Rtt, Problem> {
    let given = [
        ("base", rtt.base),
        ("mean", rtt.mean),
        ("p90", rtt.p90),
        ("min", rtt.min),
        ("max", rtt.max),
    ];
    for (key, value) in given {
        if value == Some(Span::ZERO) && key != "min" {
            return Err(at
                .problem(key, "a round-trip time of zero: nothing travels in no time")
                .help("the time that a ping takes without load, such as 20us"));
        }
        if value.is_some_and(|value| value > LONGEST_RTT) {
            return Err(at
                .problem(key, format!("`{key}` is longer than {LONGEST_RTT}"))
                .help("the time that a ping takes without load, such as 20us"));
        }
    }
    let (mean, p90, key) = match (rtt.base, rtt.mean, rtt.p90, rtt.min, rtt.max) {
        (Some(base), None, None, None, None) => (base, base, "base"),
        (None, Some(mean), Some(p90), None, None) => (mean, p90, "mean"),
        (None, None, None, Some(min), Some(max)) => {
            let ps = |tenths: u64| (min.as_ps() * (10 - tenths) + max.as_ps() * tenths) / 10;
            (Span::from_ps(ps(5)), Span::from_ps(ps(9)), "min")
        }
        _ => {
            let key = given.iter().find(|(_, value)| value.is_some());
            return Err(at
                .problem(key.map_or("rtt", |(key, _)| key), "the round-trip time is not clear")
                .help(
                    "write rtt = { base = \"20us\" }, { mean = \"20us\", p90 = \"30us\" } or \
                     { min = \"10us\", max = \"40us\" }",
                ));
        }
    };
    if mean == Span::ZERO {
        return Err(at
            .problem("max", "a mean round-trip time of zero: nothing travels in no time")
            .help("the time that a ping takes without load, such as 20us"));
    }
    if mean > p90 {
        return Err(at
            .problem(key, format!("a mean of {mean} is above the 90th percentile, {p90}"))
            .help("the two may be swapped"));
    }
    Ok(Rtt { mean, p90 })
}

/// Most queues of a port on the supported switches.
const MOST_QUEUES: usize = 8;

/// The queues, and the assumptions about their transports.
fn queues(file: &SettingsTable, root: &keys::Root) -> Result<(Vec<Queue>, Vec<String>), Problem> {
    let tables = file.tables("queue")?;
    if tables.len() > MOST_QUEUES {
        return Err(tables[MOST_QUEUES]
            .problem("", format!("a port has {MOST_QUEUES} queues at most"))
            .help(format!("leave {} out", tables.len() - MOST_QUEUES)));
    }
    let mut queues = Vec::new();
    let mut read = Vec::new();
    let mut assumptions = Vec::new();
    for (place, table) in tables.iter().enumerate() {
        let mut queue = keys::Queue::default();
        table.fill(&mut queue, &[])?;
        let (transport, assumed) = transport(&queue, table, root, file);
        queues.push(self::queue(place, &queue, transport, table, root)?);
        let name = &queues[place].name;
        assumptions.extend(assumed.map(|assumed| format!("queue `{name}` {assumed}")));
        read.push(queue);
    }
    if queues.is_empty() {
        let queue = keys::Queue::default();
        queues.push(self::queue(0, &queue, root.transport, file, root)?);
        if !file.names("transport") {
            assumptions.push("no transport is given: planned for dctcp".to_owned());
        }
        read.push(queue);
    }
    check_numbers(&queues, &tables)?;
    share(&mut queues, &read, &tables)?;
    if queues.iter().all(|queue| queue.dscp.is_empty()) {
        for queue in &mut queues {
            queue.dscp = vec![queue.id * 8];
        }
    }
    queues.sort_by_key(|queue| queue.id);
    Ok((queues, assumptions))
}

/// The transport of a queue, and the assumption if the file names none.
fn transport(
    queue: &keys::Queue,
    at: &SettingsTable,
    root: &keys::Root,
    file: &SettingsTable,
) -> (Transport, Option<String>) {
    if at.names("transport") {
        // A key that may be left out reads `none` as absent; here it is a transport.
        return (queue.transport.unwrap_or(Transport::Unmarked), None);
    }
    if queue.strict {
        let assumed = "is strict and names no transport: not marked, as with transport = \"none\"";
        return (Transport::Unmarked, Some(assumed.to_owned()));
    }
    let assumed = (!file.names("transport"))
        .then(|| format!("names no transport: planned for {}", root.transport.name()));
    (root.transport, assumed)
}

fn queue(
    place: usize,
    queue: &keys::Queue,
    transport: Transport,
    at: &SettingsTable,
    root: &keys::Root,
) -> Result<Queue, Problem> {
    let id = queue.id.unwrap_or(u8::try_from(place).unwrap_or(u8::MAX));
    if id > 7 {
        return Err(at.problem("id", format!("there is no queue {id}")).help("allowed: 0 to 7"));
    }
    if let Some(dscp) = queue.dscp.iter().find(|&&dscp| dscp > 63) {
        return Err(at
            .problem("dscp", format!("there is no DSCP {dscp}"))
            .help("allowed: 0 to 63"));
    }
    if queue.strict && queue.weight.is_some() {
        return Err(at
            .problem("weight", "a strict queue has no weight")
            .help("leave out `weight` or `strict`"));
    }
    let transport = transport.canonical();
    let given = match queue.lambda {
        Some(lambda) => Some((lambda, at)),
        // λ of the network belongs to the network's transport.
        None if transport == root.transport.canonical() && queue.transport.is_none() => {
            root.lambda.map(|lambda| (lambda, at))
        }
        None => None,
    };
    let lambda = match given {
        Some((lambda, at)) if !(Ratio::ZERO < lambda && lambda <= Ratio::whole(100)) => {
            return Err(at
                .problem("lambda", format!("λ is {lambda}, which is out of range"))
                .help("allowed: above 0 and at most 100; published: 0.17 to 1"));
        }
        _ if !transport.reacts_to_marks() => None,
        Some((lambda, _)) => Some((lambda, "given")),
        None => transport.lambda(),
    };
    let name = match &queue.name {
        Some(Text(name)) => name.clone(),
        None => format!("queue {id}"),
    };
    Ok(Queue {
        name,
        id,
        dscp: queue.dscp.clone(),
        weight: None,
        lossless: queue.lossless,
        transport,
        lambda,
        not_ecn: queue.not_ecn,
    })
}

/// Checks that no number and no code point is given twice.
fn check_numbers(queues: &[Queue], tables: &[SettingsTable]) -> Result<(), Problem> {
    let mut owners = BTreeMap::new();
    for (queue, at) in queues.iter().zip(tables) {
        let dscps = queue.dscp.iter().map(|&dscp| ("dscp", dscp));
        for (key, number) in [("id", queue.id)].into_iter().chain(dscps) {
            if let Some(owner) = owners.insert((key, number), &queue.name) {
                let noun = if key == "id" { "number" } else { "DSCP" };
                return Err(at
                    .problem(key, format!("{noun} {number} already belongs to `{owner}`"))
                    .help("each belongs to one queue"));
            }
        }
    }
    Ok(())
}

/// Gives each queue that is not strict its share in percent.
fn share(
    queues: &mut [Queue],
    read: &[keys::Queue],
    tables: &[SettingsTable],
) -> Result<(), Problem> {
    let weighted: Vec<usize> = (0..read.len()).filter(|&i| !read[i].strict).collect();
    let given: Vec<u32> = weighted.iter().filter_map(|&i| read[i].weight).collect();
    if given.is_empty() {
        let count = u32::try_from(weighted.len()).unwrap_or(1).max(1);
        for (place, &i) in (0..).zip(&weighted) {
            queues[i].weight = Some(100 / count + u32::from(place < 100 % count));
        }
        return Ok(());
    }
    let sum: u64 = given.iter().map(|&weight| u64::from(weight)).sum();
    let last = *weighted.last().expect("a weight was given");
    let at = &tables[last];
    if let Some(&i) = weighted.iter().find(|&&i| read[i].weight.is_none()) {
        return Err(tables[i]
            .problem("weight", format!("`{}` has no weight, and others have", queues[i].name))
            .help("give each queue that is not strict a share of 100, or none of them"));
    }
    if let Some(&i) = weighted.iter().find(|&&i| read[i].weight == Some(0)) {
        return Err(tables[i]
            .problem("weight", "a weight of 0: the queue would never be served")
            .help("allowed: 1 to 100 percent"));
    }
    if sum != 100 {
        let shown: Vec<String> = given.iter().map(ToString::to_string).collect();
        return Err(at
            .problem(
                "weight",
                format!("the weights sum to {sum}, not to 100: {}", shown.join(" + ")),
            )
            .help("they are percent of the port, for all queues that are not strict"));
    }
    for &i in &weighted {
        queues[i].weight = read[i].weight;
    }
    Ok(())
}

fn traffic(
    traffic: keys::Traffic,
    at: &SettingsTable,
    hosts: u32,
    queues: &[Queue],
    folder: Option<&Path>,
) -> Result<Traffic, Problem> {
    if !(Ratio::ZERO < traffic.load && traffic.load <= Ratio::ONE) {
        return Err(at
            .problem("load", format!("a load of {} is out of range", traffic.load))
            .help("allowed: above 0 and at most 1, of the host links"));
    }
    if traffic.incast == 0 {
        return Err(at
            .problem("incast", "an incast of no host")
            .help("allowed: 1 or more hosts that answer at the same moment"));
    }
    let trace = match &traffic.trace {
        None => None,
        Some(_) if traffic.workload.is_some() => {
            return Err(at
                .problem("trace", "`trace` and `workload` are both given")
                .help("leave one of them out"));
        }
        Some(Text(name)) => Some(trace(name, at, hosts, queues, folder)?),
    };
    Ok(Traffic { workload: traffic.workload, trace, load: traffic.load, incast: traffic.incast })
}

fn trace(
    name: &str,
    at: &SettingsTable,
    hosts: u32,
    queues: &[Queue],
    folder: Option<&Path>,
) -> Result<Trace, Problem> {
    let Some(folder) = folder else {
        return Err(at.problem("trace", format!("the file `{name}` cannot be read from here")));
    };
    let file = folder.join(name);
    let shown = file.display().to_string();
    let text = reading::text(&file, reading::WRITTEN)
        .map_err(|error| at.problem("trace", format!("`{shown}` cannot be read: {error}")))?;
    let flows =
        List::parse(&text).map_err(|error| at.problem("trace", format!("`{shown}`, {error}")))?;
    let wrong = |line: u32, message: String| {
        let begin = text.split_inclusive('\n').take(line as usize - 1).map(str::len).sum();
        let line = text[begin..].lines().next().unwrap_or_default();
        Problem::in_text(&shown, &text, begin..begin + line.len(), message)
    };
    let network = at.file().display().to_string();
    let has_services = names_services(&text);
    for (index, entry) in flows.entries.iter().enumerate() {
        let id = flows.id(index);
        let (src, dst) = (entry.flow.src.0, entry.flow.dst.0);
        if let Some(&host) = [src, dst].iter().find(|&&host| host >= hosts) {
            let message = format!("flow `{id}` names host {host}, which the network lacks");
            let help = format!("allowed: 0 to {}, the hosts of {network}", hosts - 1);
            return Err(wrong(entry.line, message).help(help));
        }
        let service = entry.flow.service;
        if has_services && queues.iter().all(|queue| queue.id != service) {
            let known: Vec<String> = queues.iter().map(|queue| queue.id.to_string()).collect();
            let message = format!("flow `{id}` is of service {service}, which has no queue");
            let help = format!("allowed: {}, the queues of {network}", known.join(", "));
            return Err(wrong(entry.line, message).help(help));
        }
    }
    Ok(Trace { flows: Arc::new(flows), has_services })
}

/// Whether the line of names of a trace has a column `service`.
fn names_services(text: &str) -> bool {
    let rows = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let first = rows.map(str::trim).find(|row| !row.is_empty()).unwrap_or_default();
    first.split(',').any(|cell| cell.trim().eq_ignore_ascii_case("service"))
}

/// Checks that the memory can hold each threshold: otherwise the numbers are a mistake.
fn check_memory(network: &Network, at: &SettingsTable) -> Result<(), Problem> {
    let pool = network.pool().size;
    let slowest = network.speeds()[0];
    let least = network.queues.iter().filter_map(|queue| {
        let (lambda, _) = queue.lambda?;
        Some(formula::standard::threshold(lambda, slowest, network.rtt.p90))
    });
    let least = least.min().unwrap_or(Bytes(u64::from(network.mtu)));
    if pool > least {
        return Ok(());
    }
    let key = if at.names("buffer") { "buffer" } else { "chip" };
    Err(at.problem(key, format!("a buffer of {pool} is smaller than one threshold, {least}")).help(
        format!(
            "λ × {slowest} × {} must fit into it; check the buffer's unit and the round-trip time",
            network.rtt.p90
        ),
    ))
}
