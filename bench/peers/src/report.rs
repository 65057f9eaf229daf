//! Output: one JSON object with the fields of ns-3's program, and the FCT of each flow.

use std::fmt::Write as _;
use std::fs;

use tidegate_dataplane::PortStats;
use tidegate_sim::run::Outcome;
use tidegate_sim::{Flow, FlowResult};
use tidegate_units::Span;

use crate::flows::FlowList;
use crate::measure::Measured;

/// Completion times in the order of the file, in picoseconds; `None` if a flow did not finish.
pub(crate) fn completions(list: &FlowList, results: &[FlowResult]) -> Vec<Option<u64>> {
    let mut completions = vec![None; list.ids.len()];
    let flows = list.by_start.iter().zip(results).zip(&list.places);
    for ((flow, result), &place) in flows {
        completions[place] = completion(flow, result);
    }
    completions
}

fn completion(flow: &Flow, result: &FlowResult) -> Option<u64> {
    result.completion(flow).map(Span::as_ps)
}

/// Writes `id,fct_s` in the order of the list.
pub(crate) fn write_completions(
    path: &str,
    list: &FlowList,
    completions: &[Option<u64>],
) -> Result<(), String> {
    let mut text = String::from("id,fct_s\n");
    for (id, completion) in list.ids.iter().zip(completions) {
        let seconds = completion.map(|ps| format!("{}.{:012}", ps / PER_SECOND, ps % PER_SECOND));
        writeln!(text, "{id},{}", seconds.unwrap_or_default())
            .expect("writing to a string cannot fail");
    }
    fs::write(path, text).map_err(|error| format!("cannot write --fct-out '{path}': {error}"))
}

const PER_SECOND: u64 = 1_000_000_000_000;

/// Packets that arrived at the far end of a link.
pub(crate) fn hops(outcome: &Outcome) -> u64 {
    outcome.links.iter().map(|link| link.packets).sum()
}

/// The results as one line of JSON.
pub(crate) fn json(measured: &Measured, completions: &[Option<u64>]) -> String {
    let Measured { outcome, seen, .. } = measured;
    let hops = hops(outcome);
    let ports = outcome.ports.iter().flatten();
    let drops: u64 = ports.map(PortStats::total_drops).sum();
    let again = outcome.flows.iter().map(|flow| flow.retransmissions);
    let retransmissions: u64 = again.map(u64::from).sum();
    let mut finished: Vec<u64> = completions.iter().copied().flatten().collect();
    finished.sort_unstable();
    let at = |percent: usize| {
        let place = (finished.len() * percent / 100).min(finished.len().saturating_sub(1));
        finished.get(place).map_or(0.0, |&ps| seconds(ps))
    };
    let total: f64 = finished.iter().map(|&ps| seconds(ps)).sum();
    let window = seconds(seen.window.span().as_ps());
    let fields: [(&str, String); 24] = [
        ("simulator", format!("\"tidegate-{VERSION}\"")),
        ("scenario", format!("\"{}\"", measured.scenario.name())),
        ("packet_hops", hops.to_string()),
        ("cpu_seconds", measured.cpu_seconds.to_string()),
        ("cpu_seconds_is_mean_of_runs", measured.runs.to_string()),
        ("packet_hops_per_cpu_second", ratio(float(hops), measured.cpu_seconds)),
        ("sim_seconds", seconds(outcome.ended_at.as_ps()).to_string()),
        ("window_from_s", seconds(seen.window.from.as_ps()).to_string()),
        ("window_s", window.to_string()),
        ("mean_queue_packets", seen.queue.mean.to_string()),
        ("sd_queue_packets", if_known(seen.queue.deviation)),
        ("max_queue_packets", if_known(seen.queue.most)),
        ("mark_fraction", ratio(float(seen.data_marked), float(seen.data_forwarded))),
        ("data_packets_marked", seen.data_marked.to_string()),
        ("data_packets_enqueued", seen.data_forwarded.to_string()),
        ("goodput_gbps", ratio(float(seen.bytes_delivered) * 8e-9, window)),
        ("flows", completions.len().to_string()),
        ("flows_finished", finished.len().to_string()),
        ("fct_definition", "\"connect to last byte at the receiving application\"".to_owned()),
        ("fct_mean_s", ratio(total, float(finished.len() as u64))),
        ("fct_p50_s", at(50).to_string()),
        ("fct_p99_s", at(99).to_string()),
        ("drops", drops.to_string()),
        ("retransmissions", retransmissions.to_string()),
    ];
    let mut text = String::from("{");
    for (name, value) in fields {
        write!(text, "\"{name}\":{value},").expect("writing to a string cannot fail");
    }
    let memory = measured.peak_memory_kib;
    write!(text, "\"peak_memory_kib\":{memory}}}").expect("writing to a string cannot fail");
    text
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn if_known<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

fn ratio(a: f64, b: f64) -> String {
    (if b > 0.0 { a / b } else { 0.0 }).to_string()
}

fn seconds(ps: u64) -> f64 {
    float(ps) * 1e-12
}

#[expect(clippy::cast_precision_loss, reason = "printed with fewer digits than a float holds")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}
