//! Quantities over time: queues, windows, rates.

use tidegate_results::View;
use tidegate_results::record::{Quantity, Trace};

use super::super::thin::{self, Thinned};
use super::{Facet, Material, Panel, Section, Stop, named};
use crate::plot::{Axis, Chart, Kind, Line, Origin};

/// Points of all lines together, to keep the page small.
const BUDGET: usize = 100_000;
const MOST: usize = 1200;
const LEAST: usize = 100;
/// Flows or queues in one chart, and queues with their own chart.
const TOGETHER: usize = 12;
const APART: usize = 8;

/// Title of each quantity, in the order of the page.
const QUANTITIES: [(Quantity, &str); 13] = [
    (Quantity::QueueBytes, "queue length"),
    (Quantity::QueuePackets, "packets in the queue"),
    (Quantity::Threshold, "marking threshold"),
    (Quantity::Capacity, "service rate estimated by the scheme"),
    (Quantity::Goodput, "goodput"),
    (Quantity::Rate, "rate"),
    (Quantity::Window, "congestion window"),
    (Quantity::Ssthresh, "slow start threshold"),
    (Quantity::Alpha, "alpha"),
    (Quantity::Rtt, "smoothed round-trip time"),
    (Quantity::RttVariation, "round-trip time variation"),
    (Quantity::Rto, "retransmission timeout"),
    (Quantity::ActiveFlows, "active flows"),
];

/// The first run represents a point.
fn first<'a>(records: &[View<'a>]) -> Option<View<'a>> {
    records.first().copied()
}

pub(super) fn section(material: &Material) -> Section {
    let stops = material.sweep.stops();
    let drafts: Vec<Draft> = stops.iter().flat_map(|stop| drafts(material, stop)).collect();
    let lines: usize = drafts.iter().map(|draft| draft.traces.len()).sum();
    let most = (BUDGET / lines.max(1)).clamp(LEAST, MOST);
    let mut room = BUDGET;
    let mut panels = Vec::new();
    // The last swept values are the busiest, so they are drawn first.
    for draft in drafts.iter().rev() {
        let cost = most * draft.traces.len();
        if room >= cost {
            room -= cost;
            panels.push(draft.panel(most));
        }
    }
    panels.reverse();
    let left_out = drafts.len() - panels.len();
    if left_out > 0 {
        let note =
            format!("To keep the page small, {left_out} more charts of this section are left out.");
        for panel in &mut panels {
            panel.chart.notes.push(note.clone());
        }
    }
    Section {
        id: "time",
        title: "Over time",
        intro: "Samples at a fixed interval, from the first seed of each point.",
        panels,
    }
}

/// A chart before thinning.
struct Draft<'a> {
    kind: &'static str,
    what: String,
    unit: &'static str,
    facets: Vec<Facet>,
    /// Name, colour, run and samples of each line.
    traces: Vec<(String, usize, View<'a>, &'a Trace)>,
    /// Number of lines before the limit.
    known: usize,
}

fn drafts<'a>(material: &Material<'a>, stop: &Stop) -> Vec<Draft<'a>> {
    let at = material.at(stop);
    let runs: Vec<(usize, View<'_>)> =
        at.iter().filter_map(|(curve, records)| Some((*curve, first(records)?))).collect();
    let mut drafts = Vec::new();
    for (quantity, what) in QUANTITIES {
        let of_schemes = matches!(
            quantity,
            Quantity::ActiveFlows
                | Quantity::Capacity
                | Quantity::QueueBytes
                | Quantity::QueuePackets
                | Quantity::Threshold
        );
        let base = Draft {
            kind: quantity.name(),
            what: what.to_owned(),
            unit: quantity.unit(),
            facets: material.facet(stop).into_iter().collect(),
            traces: Vec::new(),
            known: 0,
        };
        if of_schemes && runs.len() > 1 {
            drafts.extend(by_owner(material, &runs, quantity, &base));
        } else {
            drafts.extend(runs.iter().map(|(curve, run)| {
                let several = (runs.len() > 1).then(|| Facet {
                    name: "setting".to_owned(),
                    value: material.sweep.curves[*curve].clone(),
                });
                together(*run, quantity, &base, several)
            }));
        }
    }
    drafts.retain(|draft| !draft.traces.is_empty());
    drafts
}

/// A chart for each queue, with a line for each scheme.
fn by_owner<'a>(
    material: &Material,
    runs: &[(usize, View<'a>)],
    quantity: Quantity,
    base: &Draft<'a>,
) -> Vec<Draft<'a>> {
    let mut owners: Vec<&str> = Vec::new();
    for (_, run) in runs {
        for trace in run.series.traces.iter().filter(|trace| trace.quantity == quantity) {
            if !owners.contains(&trace.of.as_str()) {
                owners.push(&trace.of);
            }
        }
    }
    let several = owners.len() > 1;
    let draft = |owner: &&str| {
        let traces = runs.iter().filter_map(|(curve, run)| {
            let found = run.series.traces.iter();
            let trace = found
                .into_iter()
                .find(|trace| trace.quantity == quantity && trace.of == **owner)?;
            Some((material.sweep.curves[*curve].clone(), *curve, *run, trace))
        });
        let choice =
            several.then(|| Facet { name: "queue".to_owned(), value: (*owner).to_owned() });
        let traces: Vec<_> = traces.collect();
        Draft {
            what: base.what.clone(),
            facets: base.facets.iter().cloned().chain(choice).collect(),
            known: traces.len(),
            traces,
            ..*base
        }
    };
    owners.iter().take(APART).map(draft).collect()
}

/// One chart with a line for each flow, link or queue of a run.
fn together<'a>(
    run: View<'a>,
    quantity: Quantity,
    base: &Draft<'a>,
    choice: Option<Facet>,
) -> Draft<'a> {
    let found: Vec<&Trace> =
        run.series.traces.iter().filter(|trace| trace.quantity == quantity).collect();
    let lines = found.iter().take(TOGETHER).enumerate();
    Draft {
        what: base.what.clone(),
        facets: base.facets.iter().cloned().chain(choice).collect(),
        traces: lines.map(|(hue, trace)| (trace.of.clone(), hue, run, *trace)).collect(),
        known: found.len(),
        ..*base
    }
}

impl Draft<'_> {
    fn panel(&self, most: usize) -> Panel {
        let mut notes = Vec::new();
        let mut coarsest = None;
        let lines: Vec<Line> = self
            .traces
            .iter()
            .map(|(name, hue, run, trace)| {
                let (from, step) = (run.series.from_ps as f64, run.series.interval_ps as f64);
                let time = |place: f64| (from + place * step) / 1e12;
                let Thinned { marks, pooled } = thin::samples(&trace.values, time, most);
                coarsest = coarsest.max(pooled);
                let name = name.clone();
                Line { origin: Origin::Measured, name, hue: *hue, marks }
            })
            .collect();
        if let Some(pooled) = coarsest {
            notes.push(format!("Every {pooled} samples are drawn as their minimum and maximum; the results folder has all."));
        }
        if self.known > self.traces.len() {
            notes.push(format!("Shows the first {} of {}.", self.traces.len(), self.known));
        }
        let mut commands: Vec<String> = Vec::new();
        for (_, _, run, _) in &self.traces {
            if !commands.contains(&run.run.command) {
                commands.push(run.run.command.clone());
            }
        }
        let (id, title) = named(
            &format!("time-{}", self.kind),
            &format!("{} over time", self.what),
            &self.facets,
        );
        Panel {
            chart: Chart {
                id,
                title: title.replace(", setting ", ", "),
                kind: Kind::Trace,
                x: Axis::linear("time", "s"),
                y: Axis::linear(self.what.clone(), self.unit),
                lines,
                notes,
                commands,
            },
            facets: self.facets.clone(),
        }
    }
}
