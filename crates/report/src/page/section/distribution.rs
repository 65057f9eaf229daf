//! Distributions of completion times and slowdowns by flow size.

use tidegate_results::Brief;
use tidegate_results::View;
use tidegate_results::record::Class;

use super::super::budget::Room;
use super::super::thin;
use super::{Material, Panel, Section, Stop, commands, named};
use crate::plot::{Axis, Chart, Kind, Line};

/// Points of all lines together, to keep the page small.
const BUDGET: usize = 60_000;
const MOST: usize = 200;
const LEAST: usize = 40;

/// A drawn quantity of flows.
struct Measure {
    id: &'static str,
    title: &'static str,
    axis: &'static str,
    unit: &'static str,
    of: fn(&Brief) -> Option<f64>,
}

const MEASURES: [Measure; 2] = [
    Measure {
        id: "fct",
        title: "completion time",
        axis: "flow completion time",
        unit: "s",
        of: |flow| Some(flow.fct_ps()? as f64 / 1e12),
    },
    Measure {
        id: "slowdown",
        title: "slowdown",
        axis: "slowdown (completion time / completion time in an empty network)",
        unit: "",
        of: |flow| match (flow.fct_ps(), flow.ideal_ps()) {
            (Some(fct), Some(ideal)) if ideal > 0 => Some(fct as f64 / ideal as f64),
            _ => None,
        },
    },
];

const CLASSES: [(&str, Option<Class>); 4] = [
    ("all", None),
    ("small", Some(Class::Small)),
    ("medium", Some(Class::Medium)),
    ("large", Some(Class::Large)),
];

pub(super) fn section(material: &Material) -> Section {
    let stops = material.sweep.stops();
    let lines = material.curves() * CLASSES.len() * MEASURES.len();
    let room = Room::new(BUDGET, stops.len(), lines, LEAST, MOST);
    let mut panels = Vec::new();
    for stop in stops.iter().skip(room.left_out) {
        for measure in &MEASURES {
            panels.extend(classes(material, stop, measure, room.points));
        }
    }
    room.note_omissions(&mut panels);
    Section {
        id: "distributions",
        title: "Distributions",
        intro: "Cumulative distributions: the share of finished flows that took at most this long. Flows that started in the warm-up do not count.",
        panels,
    }
}

/// A chart for all flows, and one for each size class if there are several.
fn classes(material: &Material, stop: &Stop, measure: &Measure, most: usize) -> Vec<Panel> {
    let charts =
        CLASSES.iter().map(|(name, class)| chart(material, stop, measure, (name, *class), most));
    let panels: Vec<Panel> = charts.filter(|panel| !panel.chart.is_empty()).collect();
    // With one size class, both charts are equal.
    let single = panels.len() == 2;
    panels.into_iter().take(if single { 1 } else { CLASSES.len() }).collect()
}

fn chart(
    material: &Material,
    stop: &Stop,
    measure: &Measure,
    (name, class): (&str, Option<Class>),
    most: usize,
) -> Panel {
    let facets: Vec<_> = material.facet(stop).into_iter().collect();
    let at = material.at(stop);
    let mut notes = Vec::new();
    let mut thinned = 0;
    let mut unfinished = 0;
    let lines: Vec<Line> = at
        .iter()
        .map(|(curve, records)| {
            let (values, missing) = values(records, measure, class);
            unfinished += missing;
            thinned = thinned.max(if values.len() > most { values.len() } else { 0 });
            material.line(*curve, thin::distribution(&values, most))
        })
        .filter(|line| !line.marks.is_empty())
        .collect();
    if thinned > 0 {
        notes.push(format!(
            "Drawn from {most} of up to {thinned} values, with more of them in the tail; minimum, maximum, p50, p90, p95, p99 and p99.9 are exact."
        ));
    }
    if unfinished > 0 {
        notes.push(format!("{unfinished} unfinished flows are left out."));
    }
    let what = match class {
        None => format!("{}, all flows", measure.title),
        Some(_) => format!("{}, {name} flows", measure.title),
    };
    let (id, title) = named(&format!("cdf-{}-{name}", measure.id), &what, &facets);
    let chart = Chart {
        id,
        title,
        kind: Kind::Cdf,
        x: Axis::log(measure.axis, measure.unit),
        y: Axis::linear("share of flows", ""),
        lines,
        notes,
        commands: commands(at.iter().flat_map(|(_, records)| records.iter())),
    };
    Panel { chart, facets }
}

/// The sorted values of a class over all seeds, and the number of unfinished flows.
fn values(records: &[View<'_>], measure: &Measure, class: Option<Class>) -> (Vec<f64>, usize) {
    let flows = records.iter().flat_map(|record| record.flows());
    let wanted = flows.filter(|flow| {
        flow.counts && flow.bytes().is_some() && class.is_none_or(|class| flow.class == class)
    });
    let mut values = Vec::new();
    let mut unfinished = 0;
    for flow in wanted {
        unfinished += usize::from(flow.fct_ps().is_none());
        values.extend((measure.of)(&flow));
    }
    values.sort_by(f64::total_cmp);
    (values, unfinished)
}
