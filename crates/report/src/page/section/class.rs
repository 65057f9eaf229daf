//! Results by flow size, class of service and queue.

use tidegate_results::summary::{Breakdown, Metric, Part};

use super::{Material, Panel, Section, Stop, named};
use crate::plot::{Axis, Chart, Kind, Line, Mark};

/// Classes in one chart.
const SHOWN: usize = 16;

/// Metrics drawn by class of service, by size and by queue.
const OF_SERVICES: &[&str] = &[
    "fct_mean",
    "fct_small_p99",
    "fct_large_mean",
    "byte_share",
    "goodput_share",
    "pause_rate",
    "pause_time",
];
const OF_SIZES: &[&str] = &["fct_mean", "fct_p99", "slowdown_mean", "goodput"];
const OF_QUEUES: &[&str] = &["throughput_share", "queue_p99", "wait_p99", "mark_share"];

pub(super) fn section(material: &Material) -> Section {
    let summary = material.summary;
    let kinds = [
        ("size", summary.sizes.as_ref(), OF_SIZES),
        ("class", summary.services.as_ref(), OF_SERVICES),
        ("queue", summary.queues.as_ref(), OF_QUEUES),
    ];
    let mut panels = Vec::new();
    for stop in material.sweep.stops() {
        for (kind, breakdown, names) in kinds {
            let Some(breakdown) = breakdown else { continue };
            let metrics = breakdown.metrics.iter().enumerate();
            let drawn = metrics.filter(|(_, metric)| names.contains(&metric.name));
            let chart = |(place, metric)| chart(material, &stop, (kind, breakdown), place, metric);
            panels.extend(drawn.map(chart));
        }
    }
    Section {
        id: "classes",
        title: if summary.sizes.is_some() { "Sizes and classes" } else { "Classes of service" },
        intro: if summary.sizes.is_some() {
            "Results of flows by size and by class of service, and of the observed queues by queue number."
        } else {
            "Results of flows by class of service, and of the observed queues by queue number."
        },
        panels,
    }
}

fn chart(
    material: &Material,
    stop: &Stop,
    (kind, breakdown): (&str, &Breakdown),
    place: usize,
    metric: &Metric,
) -> Panel {
    let facets: Vec<_> = material.facet(stop).into_iter().collect();
    let shown = &breakdown.parts[..breakdown.parts.len().min(SHOWN)];
    let points = material.points(stop);
    let lines = points.iter().map(|&(curve, point)| {
        let mark = |(number, part): (usize, &Part)| {
            let estimate = part.points.get(point)?.get(place).copied().flatten()?;
            Some(Mark {
                x: number as f64,
                y: estimate.value,
                interval: estimate.interval(),
                samples: Some(estimate.samples),
            })
        };
        material.line(curve, shown.iter().enumerate().filter_map(mark).collect())
    });
    let lines: Vec<Line> = lines.filter(|line| !line.marks.is_empty()).collect();
    let nothing = lines.iter().flat_map(|line| &line.marks);
    let nothing = nothing.into_iter().all(|mark| mark.y <= 0.0);
    let what = if metric.name.starts_with("fct_") {
        format!("FCT, {}", metric.title)
    } else {
        metric.title.to_owned()
    };
    let slug = format!("{kind}-{}", metric.name.replace('_', "-"));
    let (id, title) = named(&slug, &format!("{what} by {kind}"), &facets);
    let names = shown.iter().map(|part| part.title(kind));
    let known = breakdown.parts.len();
    let note = format!("Shows the first {SHOWN} of {known}; summary.json has all.");
    let commands =
        points.iter().flat_map(|&(_, point)| material.summary.points[point].commands.clone());
    let chart = Chart {
        id,
        title,
        kind: Kind::Bars,
        x: Axis::names(kind, names.collect()),
        y: Axis::linear(what, metric.unit),
        lines: if nothing { Vec::new() } else { lines },
        notes: (known > SHOWN).then_some(note).into_iter().collect(),
        commands: commands.collect(),
    };
    Panel { chart, facets }
}
