//! The plan in words and tables, for the screen and for the page.

use serde_json::{Value, json};
use tidegate_report::plot::{Axis, Chart, Kind, Line, Mark, Origin};
use tidegate_report::sheet::{Part, Row as Cells, Sheet};
use tidegate_units::Rate;

use crate::current::{Current, CurrentRow, Finding};
use crate::dialect::{Configuration, Os, Scheme, Support};
use crate::formula::{headroom, limit, throughput};
use crate::judge::{Judgement, Severity, judge, range};
use crate::marking::{Marking, bytes, real, span, time};
use crate::measured::Change;
use crate::network::{Network, Queue, Reservation, Role, Transport};
use crate::plan::{Plan, Row};
use crate::printed::{self, Printed};

/// Parts on the screen; the page has all.
pub const ON_SCREEN: [&str; 5] = ["verdict", "answer", "why", "schemes", "today"];

/// Prefix of the ids of parts with others' printed settings, which the screen shows on request.
pub const OTHERS: &str = "others";

/// The plan, with the current settings if they are given.
pub fn sheet(plan: &Plan<'_>, current: Option<&Current>) -> Sheet {
    let network = plan.network;
    let mut parts = Vec::new();
    if !plan.works() {
        parts.push(verdict(plan));
    }
    parts.push(answer(plan));
    parts.push(why(plan));
    parts.push(schemes(plan));
    if let Some(current) = current {
        parts.push(today(plan, current));
    }
    parts.extend(others(plan));
    Sheet { title: network.title.clone(), facts: facts(network), parts }
}

/// A configuration as a part of the page.
pub fn configuration(dialect: Os, configuration: &Configuration) -> Part {
    let mut lines: Vec<String> = configuration.changes.iter().map(change).collect();
    lines.extend(configuration.notes.iter().cloned());
    Part {
        id: "configuration".into(),
        title: format!("Configuration for {}", dialect.title()),
        intro: "Rounded values, and points to check:".into(),
        lines,
        text: configuration.text.clone(),
        ..Part::default()
    }
}

/// A rounded value, in a line.
pub fn change(change: &crate::dialect::Change) -> String {
    format!("{}: {} became {} ({})", change.what, change.asked, change.emitted, change.why)
}

/// The network in a few lines.
pub fn facts(network: &Network) -> Vec<String> {
    let of = |ports: crate::network::Ports| format!("{} x {}", ports.count, ports.speed);
    let mut ports = vec![format!("{} to hosts", of(network.host_ports))];
    if let (Some(uplinks), Some(ratio)) = (network.uplinks, network.oversubscription()) {
        ports.push(format!("{} up ({} : 1)", of(uplinks), short(ratio)));
    }
    ports.push(match network.layers {
        1 => "one switch".to_owned(),
        layers => format!("{layers} layers"),
    });
    ports.push(format!("{} hosts", network.hosts));
    let pool = network.pool();
    let mut buffer = vec![format!("{} shared by {} ports", bytes(pool.size), pool.ports)];
    if network.switch.parts > 1 {
        buffer.push(format!("one of {} parts", network.switch.parts));
    }
    if let Some(chip) = network.switch.chip {
        let name = tidegate_units::Setting::write(&chip);
        buffer.push(format!("{name}, {}", chip.facts().source));
    }
    buffer.push(format!("α {}", network.switch.alpha));
    let rtt = if network.rtt.mean == network.rtt.p90 {
        format!("round trip {}", time(network.rtt.mean))
    } else {
        format!(
            "round trip {} on average, {} at the 90th percentile",
            time(network.rtt.mean),
            time(network.rtt.p90)
        )
    };
    vec![ports.join(", "), buffer.join("; "), rtt]
}

fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn verdict(plan: &Plan<'_>) -> Part {
    Part {
        id: "verdict".into(),
        title: "No threshold works on this network".into(),
        intro:
            "Full throughput needs a longer queue than the buffer lets a port hold. Each of these \
                would change that:"
                .into(),
        lines: plan.changes.clone(),
        ..Part::default()
    }
}

fn answer(plan: &Plan<'_>) -> Part {
    let head = ["queue", "ports", "mark at", "adds", "all busy", "keeps", "marks first"];
    let pauses = match plan.headroom {
        Some(_) => format!(", or pauses ({})", limit::PAUSES),
        None => String::new(),
    };
    let intro = format!(
        "adds: queueing delay at the threshold; all busy: the same with every queue backlogged; keeps: \
         share of full throughput ({}, and a model); marks first: number of congested ports up to which \
         marks come before drops ({}){pauses}.",
        throughput::SECTION,
        limit::DROPS,
    );
    Part {
        id: "answer".into(),
        title: "Mark at".into(),
        intro,
        head: head.map(str::to_owned).to_vec(),
        rows: plan.rows.iter().map(|row| answer_row(plan.network, row)).collect(),
        ..Part::default()
    }
}

fn answer_row(network: &Network, row: &Row<'_>) -> Cells {
    let mut cells =
        vec![queue_name(row.queue), ports_of(network, row.speed), row.marking.to_string()];
    if row.marking == Marking::Off {
        cells.extend(["-", "-", "-", "-"].map(str::to_owned));
    } else {
        cells.extend(meaning(&row.judgement));
    }
    Cells { cells, note: String::new(), class: if row.works() { "good" } else { "bad" } }
}

fn queue_name(queue: &Queue) -> String {
    if queue.name == format!("queue {}", queue.id) {
        queue.id.to_string()
    } else {
        format!("{} {}", queue.id, queue.name)
    }
}

fn ports_of(network: &Network, speed: Rate) -> String {
    let roles = network.ports().filter(|(_, ports)| ports.speed == speed);
    if network.speeds().len() == 1 {
        return short_speed(speed);
    }
    let names: Vec<&str> = roles.map(|(role, _): (Role, _)| role.name()).collect();
    format!("{} {}", short_speed(speed), names.join("+"))
}

/// Cells for the delay, the throughput and the ports with marks first.
fn meaning(judgement: &Judgement) -> [String; 4] {
    let is_step =
        judgement.longest.as_ps() - judgement.delay.as_ps() <= judgement.delay.as_ps() / 50;
    let adds = if is_step {
        time(judgement.delay)
    } else {
        span(&time(judgement.delay), &time(judgement.longest))
    };
    [
        adds,
        judgement.shared.map_or_else(|| "strict".to_owned(), time),
        judgement.kept.map_or_else(|| "-".to_owned(), range),
        match (judgement.congested, judgement.ports) {
            (0, _) => "never".to_owned(),
            (some, all) if some >= all => "all".to_owned(),
            (some, all) => format!("{some} of {all}"),
        },
    ]
}

fn why(plan: &Plan<'_>) -> Part {
    let mut lines: Vec<String> = Vec::new();
    for queue in &plan.network.queues {
        let of_queue = || plan.rows.iter().filter(|row| row.queue.id == queue.id);
        let Some(row) = of_queue().next() else {
            continue;
        };
        // One line for all speeds.
        let formula = match of_queue().count() {
            1 => row.formula.clone(),
            _ => row.formula.replace(&row.speed.to_string(), "C"),
        };
        let line = match formula.split_once("; ") {
            Some((formula, more)) => format!("{formula} ({}; {more})", row.section),
            None => format!("{formula} ({})", row.section),
        };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if plan.network.rtt.mean != plan.network.rtt.p90 {
        lines.push("RTT: the 90th percentile, for the throughput of far hosts (ECN♯ §2.3)".into());
    }
    let assumptions = plan.network.assumptions.iter();
    lines.extend(assumptions.map(|assumed| format!("assumed: {assumed}")));
    if let Some(room) = &plan.headroom {
        let each = |&(speed, room): &(Rate, _)| format!("{} at {speed}", bytes(room));
        let each: Vec<String> = room.of_port.iter().map(each).collect();
        lines.push(format!(
            "PFC headroom: {} for a port and class; in all {}, which leaves {} to share ({})",
            each.join(", "),
            bytes(room.all),
            bytes(room.left),
            headroom_source(plan)
        ));
    }
    lines.extend(beside_lossless(plan));
    lines.extend(not_ecn(plan));
    lines.extend(bursts(plan));
    let notes = plan.rows.iter().flat_map(|row| {
        let own = row.judgement.risks.iter().filter(|risk| risk.severity == Severity::Note);
        own.map(move |risk| format!("queue {} at {}: {}", row.queue.id, row.speed, risk.text))
    });
    lines.extend(notes);
    Part { id: "why".into(), title: "Why".into(), lines, ..Part::default() }
}

/// Source of the headroom: the running switch, a platform's table or the formula.
fn headroom_source(plan: &Plan<'_>) -> String {
    let switch = &plan.network.switch;
    if switch.reservation != Reservation::default() {
        return "as the switch reserves today".to_owned();
    }
    let reaction = switch.reaction;
    let formula = format!(
        "{}; pipelines {}, small packets {} %",
        headroom::SECTION,
        time(reaction.pipeline),
        reaction.small_packets
    );
    let shipped = |speed| switch.chip?.shipped_headroom(speed, plan.network.link_delay);
    let speeds = plan.network.speeds();
    let mut tables = speeds.iter().filter_map(|&speed| {
        let (bytes, platform) = shipped(speed)?;
        (bytes == plan.network.computed_headroom(speed)).then_some(platform)
    });
    match tables.next() {
        Some(platform) => {
            let platform = platform.rsplit('/').next().unwrap_or(platform);
            format!("{formula}; not below SONiC's table for {platform}")
        }
        None => formula,
    }
}

/// Reminders for a network with lossless queues.
fn beside_lossless(plan: &Plan<'_>) -> Vec<String> {
    let network = plan.network;
    let mut lines = Vec::new();
    if network.lossless().next().is_some() {
        lines.push(
            "PFC needs a watchdog at every port: a host that never stops pausing blocks its neighbours \
             (SONiC: pfcwd start_default)"
                .to_owned(),
        );
    }
    let is_roce = |queue: &&Queue| queue.transport == Transport::Dcqcn;
    if network.queues.iter().any(|queue| is_roce(&queue)) {
        let first = network.queues.iter().find(|queue| queue.weight.is_none());
        let queue = first.map_or_else(
            || "; this network has none".to_owned(),
            |queue| format!(", such as queue {} here", queue.id),
        );
        lines.push(format!(
            "DCQCN runs on the hosts: enable it on both NICs (rate reduction at the sender, CNPs at the \
             receiver), and give CNPs (usually DSCP 48) a strict queue without marking{queue}"
        ));
    }
    lines
}

/// Treatment of packets that are not ECN-capable in marked queues.
fn not_ecn(plan: &Plan<'_>) -> Vec<String> {
    let marked = plan.rows.iter().filter(|row| row.marking != Marking::Off);
    let mut queues: Vec<u8> =
        marked.filter(|row| row.queue.not_ecn).map(|row| row.queue.id).collect();
    queues.dedup();
    let how = match plan.network.switch.os {
        Some(os) => os.not_ecn().how(),
        None => "many switches drop them at the threshold; name the `os` to see what yours does",
    };
    let line = |queue| format!("queue {queue} carries packets that are not ECN-capable: {how}");
    queues.into_iter().map(line).collect()
}

/// Number of ports that can be in slow start at once, where the buffer does not absorb all of them.
fn bursts(plan: &Plan<'_>) -> Vec<String> {
    let lossy = plan.rows.iter().filter(|row| !row.queue.lossless && row.marking != Marking::Off);
    let mut lines: Vec<String> = Vec::new();
    for row in lossy.filter(|row| row.judgement.without_loss < row.judgement.ports) {
        let line = format!(
            "at {} the buffer absorbs a slow-start overshoot (K + C·RTT) on up to {} of {} ports at \
             once (BCC §4.3)",
            short_speed(row.speed),
            row.judgement.without_loss,
            row.judgement.ports
        );
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// A speed in few letters.
fn short_speed(speed: Rate) -> String {
    speed.to_string().replace("bps", "")
}

fn schemes(plan: &Plan<'_>) -> Part {
    let os = plan.network.switch.os;
    let title = match os {
        Some(os) => format!("Schemes on {}", os.title()),
        None => "Schemes".to_owned(),
    };
    let row = |scheme: Scheme| {
        let name = scheme.name();
        let derived = plan.schemes.iter().find(|derived| derived.name == name);
        let (setting, section) = match derived {
            Some(derived) => (derived.setting.clone(), derived.section),
            None if scheme == Scheme::QueueRed => ("as above".to_owned(), ""),
            None => return None,
        };
        let support = match os {
            Some(os) => supported(os, scheme),
            None => owners(scheme),
        };
        Some(Cells {
            cells: vec![
                name,
                if section.is_empty() { setting } else { format!("{setting} ({section})") },
            ],
            note: support,
            class: "",
        })
    };
    Part {
        id: "schemes".into(),
        title,
        head: ["scheme", "set to"].map(str::to_owned).to_vec(),
        rows: Scheme::ALL.into_iter().filter_map(row).collect(),
        ..Part::default()
    }
}

fn supported(os: Os, scheme: Scheme) -> String {
    match os.support(scheme) {
        Support::Yes(how) => format!("yes: {how}"),
        Support::Some(how) => format!("on some platforms: {how}"),
        Support::No(nearest) => format!("no; nearest: {nearest}"),
    }
}

/// Dialects that have a scheme.
fn owners(scheme: Scheme) -> String {
    let has = |os: &Os| !matches!(os.support(scheme), Support::No(_));
    let names: Vec<String> = Os::ALL
        .iter()
        .filter(|os| has(os))
        .map(|os| match os.support(scheme) {
            Support::Some(how) => format!("{} ({how})", os.name()),
            _ => os.name(),
        })
        .collect();
    match (names.as_slice(), scheme) {
        ([], _) => "in no product; its instantaneous part is tcn".to_owned(),
        (names, _) => format!("can be emitted for {}", names.join(", ")),
    }
}

fn today(plan: &Plan<'_>, current: &Current) -> Part {
    let head = ["queue", "ports", "set to", "formula", "adds", "keeps", "marks first"];
    let row = |row: &CurrentRow<'_>| {
        let [adds, _, keeps, first] = meaning(&row.judgement);
        let marks = row.marking != Marking::Off;
        let assumed = if row.is_alpha_read { "" } else { " assumed" };
        let alpha = format!("α {}{assumed}", row.alpha);
        let name = match row.ports {
            0 if current.source.contains(&row.name) => format!(" [{alpha}]"),
            0 => format!(" [{}, {alpha}]", row.name),
            1 => format!(" [{}, 1 port, {alpha}]", row.name),
            count => format!(" [{}, {count} ports, {alpha}]", row.name),
        };
        let severity = row.severity.map_or("fine", Severity::name);
        Cells {
            cells: vec![
                queue_name(row.queue),
                short_speed(row.speed),
                row.marking.to_string(),
                row.formula.to_string(),
                adds,
                if marks { keeps } else { "-".to_owned() },
                if marks { first } else { "-".to_owned() },
            ],
            note: format!("{severity}: {}{name}", row.verdict),
            class: match row.severity {
                None => "good",
                Some(_) => "bad",
            },
        }
    };
    Part {
        id: "today".into(),
        title: format!("Today: {}", current.source),
        head: head.map(str::to_owned).to_vec(),
        rows: current.rows(plan).iter().map(row).collect(),
        lines: remarks(current),
        ..Part::default()
    }
}

/// Faults, notes and unchecked settings, below the table of thresholds.
fn remarks(current: &Current) -> Vec<String> {
    let mut lines: Vec<String> = current.findings.iter().map(Finding::line).collect();
    lines.extend(current.notes.iter().map(|note| format!("note: {note}")));
    if !current.unchecked.is_empty() {
        lines.push(format!("not checked: {}", current.unchecked.join("; ")));
    }
    lines
}

/// Others' printed settings for the same ports, judged on this network: once for each transport.
fn others(plan: &Plan<'_>) -> Vec<Part> {
    let mut seen: Vec<Transport> = Vec::new();
    let mut parts = Vec::new();
    for queue in &plan.network.queues {
        let of_queue = |row: &&Row<'_>| row.queue.id == queue.id && row.marking != Marking::Off;
        let rows: Vec<&Row<'_>> = plan.rows.iter().filter(of_queue).collect();
        if !rows.is_empty() && !seen.contains(&queue.transport) {
            seen.push(queue.transport);
            parts.push(others_of(plan.network, queue, &rows));
        }
    }
    parts
}

fn others_of(network: &Network, queue: &Queue, marked: &[&Row<'_>]) -> Part {
    let head = ["source", "setting", "adds", "keeps", "marks first"];
    let mut rows = Vec::new();
    let mut charts = Vec::new();
    for row in marked {
        let formula = format!("formula at {}", short_speed(row.speed));
        let mut points = vec![(formula, row.marking)];
        let printed = printed::settings(network, row.speed);
        let point = |printed: &Printed| (printed.source.to_owned(), Marking::Length(printed.ramp));
        points.extend(printed.iter().map(point));
        for (source, marking) in &points {
            let judgement = judge(network, queue, row.speed, marking);
            let [adds, _, keeps, first] = meaning(&judgement);
            let worst = judgement.risks.first();
            let broken = worst.filter(|risk| risk.severity == Severity::Broken);
            rows.push(Cells {
                cells: vec![source.clone(), marking.to_string(), adds, keeps, first],
                note: broken.map(|risk| risk.text.clone()).unwrap_or_default(),
                class: match worst {
                    Some(risk) if risk.severity != Severity::Note => "bad",
                    _ => "good",
                },
            });
        }
        charts.push(chart(row.speed, &points));
    }
    Part {
        id: format!("{OTHERS}-{}", queue.id),
        title: format!("Printed settings of others, on this network (queue {})", queue.id),
        intro: format!(
            "Settings that vendors and publications print, judged for {} with {} on this network's buffer \
             and round trips. None of the sources knows either.",
            queue_name(queue),
            queue.transport.name()
        ),
        head: head.map(str::to_owned).to_vec(),
        rows,
        charts,
        ..Part::default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a chart needs no more digits")]
fn chart(speed: Rate, points: &[(String, Marking)]) -> Chart {
    let names: Vec<String> = points.iter().map(|(name, _)| name.clone()).collect();
    let end = |pick: fn(&crate::marking::Ramp) -> u64| -> Vec<Mark> {
        let of = |(place, (_, marking)): (usize, &(String, Marking))| match marking {
            Marking::Length(ramp) => Mark::new(place as f64, pick(ramp) as f64),
            _ => Mark::new(place as f64, f64::NAN),
        };
        points.iter().enumerate().map(of).collect()
    };
    let line = |name: &str, hue, marks| Line {
        name: name.to_owned(),
        hue,
        marks,
        origin: Origin::Published,
    };
    Chart {
        id: format!("thresholds-{speed}").to_lowercase(),
        title: format!("thresholds at {speed}"),
        kind: Kind::Dots,
        x: Axis::names("", names),
        y: Axis::log("queue length", "B"),
        lines: vec![
            line("marks begin", 0, end(|ramp| ramp.min.0)),
            line("all marked", 1, end(|ramp| ramp.max.0)),
        ],
        notes: Vec::new(),
        commands: Vec::new(),
    }
}

/// The plan as JSON: sizes in bytes, times in nanoseconds, rates in bits per second.
pub fn json(plan: &Plan<'_>, current: Option<&Current>) -> Value {
    let network = plan.network;
    let pool = network.pool();
    let rows: Vec<Value> = plan
        .rows
        .iter()
        .map(|row| {
            let mut value = marked(row.queue, row.speed, &row.marking, &row.judgement);
            value["sojourn_ns"] = row.sojourn.map(tidegate_units::Span::as_ns).into();
            value["formula"] = row.formula.clone().into();
            value["section"] = row.section.into();
            value
        })
        .collect();
    let schemes: Vec<Value> = plan
        .schemes
        .iter()
        .map(|scheme| json!({ "name": scheme.name, "setting": scheme.setting, "section": scheme.section }))
        .collect();
    let room = plan.headroom.as_ref().map(|room| {
        let each = |&(speed, size): &(Rate, tidegate_units::Bytes)| {
            json!({ "speed_bps": speed.as_bps(), "bytes": size.0 })
        };
        let each: Vec<Value> = room.of_port.iter().map(each).collect();
        json!({ "of_port": each, "all_bytes": room.all.0, "left_bytes": room.left.0 })
    });
    let today = current.map(|current| {
        let rows: Vec<Value> = current
            .rows(plan)
            .iter()
            .map(|row| {
                let mut value = marked(row.queue, row.speed, &row.marking, &row.judgement);
                value["name"] = row.name.clone().into();
                value["port_count"] = row.ports.into();
                value["verdict"] = row.verdict.clone().into();
                value["severity"] = row.severity.map(Severity::name).into();
                value["alpha"] = real(row.alpha).into();
                value
            })
            .collect();
        let finding = |finding: &Finding| {
            json!({
                "severity": finding.severity.name(),
                "text": finding.text,
                "ports": finding.ports,
            })
        };
        let findings: Vec<Value> = current.findings.iter().map(finding).collect();
        json!({
            "source": current.source,
            "queues": rows,
            "findings": findings,
            "notes": current.notes,
            "unchecked": current.unchecked,
        })
    });
    json!({
        "network": {
            "name": network.name,
            "title": network.title,
            "hosts": network.hosts,
            "layers": network.layers,
            "pool_bytes": pool.size.0,
            "pool_ports": pool.ports,
            "alpha": real(network.switch.alpha),
            "rtt_mean_ns": network.rtt.mean.as_ns(),
            "rtt_p90_ns": network.rtt.p90.as_ns(),
        },
        "works": plan.works(),
        "changes": plan.changes,
        "assumptions": network.assumptions,
        "queues": rows,
        "schemes": schemes,
        "headroom": room,
        "today": today,
    })
}

fn marked(queue: &Queue, speed: Rate, marking: &Marking, judgement: &Judgement) -> Value {
    let marking = match marking {
        Marking::Length(ramp) => json!({
            "min_bytes": ramp.min.0,
            "max_bytes": ramp.max.0,
            "probability": real(ramp.probability),
        }),
        Marking::Off => json!(null),
        Marking::Sojourn(span) => json!({ "sojourn_ns": span.as_ns() }),
    };
    // No more digits than the estimate has.
    let share = |share: f64| (share * 100.0).round() / 100.0;
    let risks: Vec<Value> = judgement
        .risks
        .iter()
        .map(|risk| json!({ "severity": risk.severity.name(), "text": risk.text }))
        .collect();
    let change = |change: Change| {
        let [ratio, low, high] = [change.ratio, change.low, change.high].map(share);
        json!({ "ratio": ratio, "low": low, "high": high })
    };
    let cost = judgement.cost.map(
        |cost| json!({ "small_p99": change(cost.tail), "throughput": change(cost.throughput) }),
    );
    json!({
        "queue": queue.id,
        "name": queue.name,
        "transport": queue.transport.name(),
        "speed_bps": speed.as_bps(),
        "marking": marking,
        "delay_ns": judgement.delay.as_ns(),
        "longest_ns": judgement.longest.as_ns(),
        "all_busy_ns": judgement.shared.map(tidegate_units::Span::as_ns),
        "throughput": judgement.kept.map(|kept| [share(kept.least), share(kept.most)]),
        "cost_against_formula": cost,
        "ports": judgement.ports,
        "marks_first_ports": judgement.congested,
        "without_loss_ports": judgement.without_loss,
        "risks": risks,
    })
}
