//! Summary of a scenario: network, marking, traffic, load and estimated time.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde_json::{Value, json};
use tidegate_results::format::{percent, quantity};
use tidegate_results::record::Setting;
use tidegate_scenario::{Experiment, Outline, Scenario, Threshold};
use tidegate_sim::observe::statistics::{real, seconds};
use tidegate_units::{Rate, Span};

use crate::text::count;

/// First run of each point.
fn points(plan: &[Experiment]) -> impl Iterator<Item = &Experiment> + Clone {
    plan.iter().filter(|run| run.replication == 0)
}

fn outlines(plan: &[Experiment]) -> impl Iterator<Item = &Outline> + Clone {
    points(plan).map(|run| &*run.outline)
}

/// Summary of a scenario and its runs.
pub fn summary(file: &str, scenario: &Scenario, plan: &[Experiment]) -> String {
    let mut lines = vec![format!("{file}: {}", scenario.title)];
    let mut line = |name: &str, text: &str| lines.push(format!("  {name:<9} {text}"));
    let mut above = String::new();
    for Setting { key, value } in setup(plan) {
        // Only lists of settings are wrapped.
        let lines = match key.as_str() {
            "scheduler" | "buffer" | "nic" => wrapped(&value),
            _ => vec![value],
        };
        for text in lines {
            line(if key == above { "" } else { &key }, &text);
            above.clone_from(&key);
        }
    }
    line("runs", &runs(scenario, plan));
    lines.push(String::new());
    lines.join("\n")
}

/// Network, marking, scheduler, buffer, hosts, traffic and load of a plan. A setting that differs
/// between points has an entry for each value.
pub fn setup(plan: &[Experiment]) -> Vec<Setting> {
    let networks = different(outlines(plan).map(network));
    let schemes = different(outlines(plan).map(scheme));
    let hosts = different(outlines(plan).map(hosts));
    let schedulers = outlines(plan).map(|outline| outline.scheduler.clone());
    let buffers = outlines(plan).map(|outline| outline.buffer.clone());
    let nics = outlines(plan).map(|outline| outline.nic.clone());
    let parts = [
        ("network", networks),
        ("marking", schemes),
        ("scheduler", different(schedulers)),
        ("buffer", different(buffers)),
        ("nic", different(nics)),
        ("hosts", hosts),
        ("traffic", vec![traffic(plan)]),
        ("load", vec![load(plan)]),
    ];
    let setting = |(key, values): (&str, Vec<String>)| {
        let key = key.to_owned();
        let values = values.into_iter();
        values.map(move |value| Setting { key: key.clone(), value })
    };
    parts.into_iter().flat_map(setting).collect()
}

/// Wraps a list of settings behind commas and semicolons, so that it fits beside its name.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in text.split_inclusive([',', ';']) {
        let last = lines.last_mut().expect("there is a line from the beginning");
        if !last.is_empty() && last.chars().count() + part.chars().count() > ROOM {
            lines.push(format!("  {}", part.trim_start()));
        } else {
            last.push_str(part);
        }
    }
    lines
}

/// Columns beside the name, of 80.
const ROOM: usize = 80 - 12;

/// The first few different lines of a list.
fn different(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut more = 0;
    for text in texts {
        if found.contains(&text) {
            continue;
        }
        if found.len() < MOST_LINES {
            found.push(text);
        } else {
            more += 1;
        }
    }
    if more > 0 {
        found.push(format!("… and {more} more"));
    }
    found
}

const MOST_LINES: usize = 12;

fn network(outline: &Outline) -> String {
    let rates = |rates: &[Rate]| {
        let texts: Vec<String> = rates.iter().map(ToString::to_string).collect();
        texts.join(", ")
    };
    let hosts = count(outline.hosts as usize, "host");
    let mut parts =
        vec![outline.topology.clone(), format!("{hosts} at {}", rates(&outline.host_rates))];
    if !outline.fabric_rates.is_empty() {
        parts.push(format!("switches at {}", rates(&outline.fabric_rates)));
    }
    if let Some((least, most)) = outline.base_rtt {
        parts.push(format!("base RTT {}", range(&time(seconds(least)), &time(seconds(most)))));
    }
    parts.join(", ")
}

/// Assumptions about hosts.
fn hosts(outline: &Outline) -> String {
    let each = outline.transports.iter().map(|transport| {
        let settings = transport.settings.iter();
        let settings: Vec<String> =
            settings.map(|(name, value)| format!("{} {value}", name.replace('_', " "))).collect();
        match settings.as_slice() {
            [] => transport.cc.clone(),
            _ => format!("{}: {}", transport.cc, settings.join(", ")),
        }
    });
    different(each).join("; ")
}

fn scheme(outline: &Outline) -> String {
    let thresholds: Vec<String> = outline.thresholds.iter().map(threshold).collect();
    match thresholds.as_slice() {
        [] => outline.scheme.clone(),
        _ => format!("{}: {}", outline.scheme, thresholds.join(", ")),
    }
}

fn threshold(threshold: &Threshold) -> String {
    let at_rates = threshold.at_rates.iter();
    let others: Vec<String> = at_rates.map(|(rate, other)| format!("{other} at {rate}")).collect();
    let name = threshold.name.replace('_', " ");
    match others.as_slice() {
        [] => format!("{name} {}", threshold.value),
        _ => format!("{name} {} = {}", threshold.value, others.join(", ")),
    }
}

fn traffic(plan: &[Experiment]) -> String {
    let offered = || outlines(plan).map(|outline| &outline.offered);
    let flows = extremes(offered().map(|offered| real(offered.flows)), &whole);
    let bytes = |bytes| quantity(bytes, "B");
    let bytes = extremes(offered().map(|offered| real(offered.payload)), &bytes);
    let spans = extremes(offered().map(|offered| seconds(offered.span)), &time);
    let endless = extremes(offered().map(|offered| real(offered.endless)), &whole);
    let some = if offered().all(|offered| offered.flows == 0) {
        String::new()
    } else if offered().all(|offered| offered.span == Span::ZERO) {
        format!("{flows} flows, {bytes} in total, all starting at once")
    } else {
        format!("{flows} flows, {bytes} in total, arriving within {spans}")
    };
    let others = if offered().any(|offered| offered.endless > 0) {
        format!("{endless} endless flows, which use the remaining bandwidth")
    } else {
        String::new()
    };
    match (some.is_empty(), others.is_empty()) {
        (false, false) => format!("{some}; {others}"),
        (true, true) => "no flows".to_owned(),
        _ => some + &others,
    }
}

fn load(plan: &[Experiment]) -> String {
    let busiest = || outlines(plan).filter_map(|outline| outline.busiest.as_ref());
    let highest = busiest().max_by(|one, other| one.1.total_cmp(&other.1));
    let Some((link, _)) = highest else {
        let is_endless = |outline: &Outline| outline.offered.endless > 0;
        let text = if outlines(plan).any(is_endless) {
            "endless flows only, limited by congestion control"
        } else {
            "no sustained load"
        };
        return text.to_owned();
    };
    let loads = extremes(busiest().map(|(_, load)| *load), &percent);
    format!("{loads} of the busiest link, {link}, including headers, excluding ACKs")
}

fn runs(scenario: &Scenario, plan: &[Experiment]) -> String {
    let points = count(points(plan).count(), "point");
    format!(
        "{}: {points}, {}; estimated time {} on one core",
        count(plan.len(), "run"),
        count(scenario.runs() as usize, "seed"),
        time(total(plan))
    )
}

/// The offered load of a plan.
pub fn load_line(plan: &[Experiment]) -> String {
    format!("offered load: {}", load(plan))
}

/// Arrival time of the flows, and estimated time of the runs that are `open`.
pub fn time_line(plan: &[Experiment], open: usize, jobs: NonZeroUsize) -> String {
    let jobs = jobs.get().min(open.max(1));
    let part = real(open as u64) / real(plan.len().max(1) as u64);
    let spans = outlines(plan).map(|outline| seconds(outline.offered.span));
    format!(
        "flows arrive within {}; estimated time {} with {}",
        extremes(spans, &time),
        time(total(plan) * part / real(jobs as u64)),
        count(jobs, "job")
    )
}

/// Estimated time of several plans, each with the number of its open runs.
pub fn estimate<'a>(
    plans: impl Iterator<Item = (&'a [Experiment], usize)>,
    jobs: NonZeroUsize,
) -> String {
    let open = |(plan, open): (&[Experiment], usize)| {
        total(plan) * real(open as u64) / real(plan.len().max(1) as u64)
    };
    time(plans.map(open).sum::<f64>() / real(jobs.get() as u64))
}

/// Each warning once, with its points if they are not all.
pub fn warnings(plan: &[Experiment]) -> Vec<String> {
    // Grouped by their advice: the numbers differ from point to point.
    let mut found: BTreeMap<String, Vec<(&str, &str)>> = BTreeMap::new();
    for run in points(plan) {
        for text in &run.outline.warnings {
            let advice = text.lines().last().unwrap_or_default();
            let about = text.split_whitespace().next().unwrap_or_default();
            let same = found.entry(format!("{about} {advice}")).or_default();
            same.push((&run.label, text));
        }
    }
    let all = points(plan).count();
    let shown = found.into_values().map(|same| {
        let (label, text) = same[same.len() - 1];
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let points = match same.len() {
            number if number == all && all == 1 => String::new(),
            number if number == all => " (at all points)".to_owned(),
            1 => format!(" (at `{label}`)"),
            number => format!(" (at `{label}`, and {} others)", number - 1),
        };
        format!("{first}{points}\n{rest}").trim_end().to_owned()
    });
    shown.collect()
}

/// The summary as JSON.
pub fn json(scenario: &Scenario, plan: &[Experiment]) -> Value {
    let point = |run: &Experiment| {
        let outline = &*run.outline;
        let texts = |rates: &[Rate]| -> Vec<String> { rates.iter().map(Rate::to_string).collect() };
        let threshold = |threshold: &Threshold| {
            let at_rates = threshold.at_rates.iter();
            json!({
                "name": threshold.name,
                "value": threshold.value,
                "is": at_rates.map(|(rate, text)| json!({ "at": rate.to_string(), "value": text }))
                    .collect::<Vec<_>>(),
            })
        };
        json!({
            "label": run.label,
            "topology": outline.topology,
            "hosts": outline.hosts,
            "switches": outline.switches,
            "host_rates": texts(&outline.host_rates),
            "fabric_rates": texts(&outline.fabric_rates),
            "base_rtt_s": outline.base_rtt.map(|(least, most)| [seconds(least), seconds(most)]),
            "scheme": outline.scheme,
            "thresholds": outline.thresholds.iter().map(threshold).collect::<Vec<_>>(),
            "scheduler": outline.scheduler,
            "buffer": outline.buffer,
            "nic": outline.nic,
            "transports": outline.transports.iter().map(|transport| json!({
                "rule": transport.cc,
                "settings": transport.settings.iter()
                    .map(|(name, value)| (String::from(*name), Value::from(value.as_str())))
                    .collect::<serde_json::Map<_, _>>(),
            })).collect::<Vec<_>>(),
            "flows": outline.offered.flows,
            "endless_flows": outline.offered.endless,
            "payload_bytes": outline.offered.payload,
            "arrival_span_s": seconds(outline.offered.span),
            "offered_load": outline.busiest.as_ref().map(|(_, load)| *load),
            "busiest_link": outline.busiest.as_ref().map(|(link, _)| link.clone()),
            "estimated_s": outline.seconds(),
            "warnings": outline.warnings,
        })
    };
    json!({
        "points": points(plan).map(point).collect::<Vec<_>>(),
        "estimated_s": total(plan),
        "notes": scenario.notes,
        "warnings": warnings(plan),
    })
}

/// Estimated time of all runs on one core, in seconds.
fn total(plan: &[Experiment]) -> f64 {
    plan.iter().map(|run| run.outline.seconds()).sum()
}

/// Minimum and maximum of some numbers.
fn extremes(numbers: impl Iterator<Item = f64>, shown: &dyn Fn(f64) -> String) -> String {
    let range_of = |range: Option<(f64, f64)>, number: f64| {
        let (least, most) = range.unwrap_or((number, number));
        Some((least.min(number), most.max(number)))
    };
    let (least, most) = numbers.fold(None, range_of).unwrap_or_default();
    range(&shown(least), &shown(most))
}

fn range(least: &str, most: &str) -> String {
    if least == most { least.to_owned() } else { format!("{least} to {most}") }
}

fn whole(number: f64) -> String {
    format!("{number:.0}")
}

/// Formats seconds.
pub fn time(seconds: f64) -> String {
    match seconds {
        long if long >= 7_200.0 => format!("{:.1} h", long / 3_600.0),
        long if long >= 120.0 => format!("{:.0} min", long / 60.0),
        short => quantity(short, "s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_are_minutes_and_hours() {
        let times = [0.0, 36.61e-6, 0.0047, 4.56, 90.0, 400.0, 10_000.0].map(time);
        let expected = ["0 s", "36.6 µs", "4.70 ms", "4.56 s", "90 s", "7 min", "2.8 h"];
        assert_eq!(times, expected);
        assert_eq!(extremes([0.5, 0.1, 0.3].into_iter(), &|x| format!("{x}")), "0.1 to 0.5");
    }
}
