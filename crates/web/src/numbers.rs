//! What a run comes to in a few numbers: those of the command line, by the same names and
//! definitions.

use serde::Serialize;
use tidegate_dataplane::PortStats;
use tidegate_scenario::Built;
use tidegate_sim::observe::statistics::{jain, mean, real, weighted_mean};
use tidegate_sim::{Flow, Outcome};
use tidegate_units::{Rate, Span};

/// A number of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Number {
    /// As tables of results have it.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) value: f64,
}

/// The numbers of a run that has them, in the order in which they are shown.
pub(crate) fn numbers(built: &Built, outcome: &Outcome) -> Vec<Number> {
    let ports = || outcome.ports.iter().flatten();
    let flows = || outcome.flows.iter();
    let all = [
        ("queue_mean", "mean queue", "B", queue_mean(outcome)),
        ("utilisation", "link used", "", utilisation(outcome)),
        ("goodput", "goodput of a flow", "bit/s", goodput(built, outcome)),
        ("fairness", "fairness", "", fairness(built, outcome)),
        ("fct_mean", "mean completion", "s", completion(built, outcome)),
        ("marks", "marks", "", Some(total(ports().map(PortStats::total_marks)))),
        ("drops", "drops", "", Some(total(ports().map(PortStats::total_drops)))),
        ("timeouts", "timeouts", "", Some(total(flows().map(|flow| u64::from(flow.timeouts))))),
        (
            "retransmissions",
            "resent",
            "",
            Some(total(flows().map(|flow| u64::from(flow.retransmissions)))),
        ),
    ];
    let number = |(name, title, unit, value): (_, _, _, Option<f64>)| {
        Some(Number { name, title, unit, value: value? })
    };
    all.into_iter().filter_map(number).collect()
}

fn total(counts: impl Iterator<Item = u64>) -> f64 {
    real(counts.sum::<u64>())
}

/// The mean of numbers that may have fractions, if there are any.
fn mean_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / real(values.len() as u64))
}

/// Of the observed queues, each by time.
fn queue_mean(outcome: &Outcome) -> Option<f64> {
    let queues = outcome.observed.queues.iter();
    let means = queues.map(|(_, seen)| weighted_mean(&seen.bytes).unwrap_or(0.0));
    mean_of(&means.collect::<Vec<_>>())
}

fn utilisation(outcome: &Outcome) -> Option<f64> {
    let links = outcome.observed.links.iter();
    let parts = links.map(|link| link.utilisation().unwrap_or(0.0));
    mean_of(&parts.collect::<Vec<_>>())
}

/// The goodputs of the observed flows that count and that `wanted` accepts.
fn goodputs(built: &Built, outcome: &Outcome, wanted: impl Fn(&Flow) -> bool) -> Vec<u64> {
    let seen = outcome.observed.flows.iter();
    let counted = seen.filter(|seen| {
        let flow = &built.setup.flows[seen.flow as usize];
        built.window.counts(seen.flow.into(), flow) && wanted(flow)
    });
    counted.map(|seen| seen.goodput().map_or(0, Rate::as_bps)).collect()
}

fn goodput(built: &Built, outcome: &Outcome) -> Option<f64> {
    mean(goodputs(built, outcome, |_| true))
}

/// Of flows that never end, if there are several.
fn fairness(built: &Built, outcome: &Outcome) -> Option<f64> {
    let goodputs = goodputs(built, outcome, |flow| flow.bytes == Flow::ENDLESS);
    (goodputs.len() > 1).then(|| jain(goodputs)).flatten()
}

/// The mean time of the flows that count and finished, in seconds.
fn completion(built: &Built, outcome: &Outcome) -> Option<f64> {
    let flows = built.setup.flows.iter().zip(&outcome.flows).zip(0..);
    let counted = flows.filter(|((flow, _), number)| built.window.counts(*number, flow));
    let times = counted.filter_map(|((flow, result), _)| built.convention.time(flow, result));
    mean(times.map(Span::as_ps)).map(|ps| ps / 1e12)
}
