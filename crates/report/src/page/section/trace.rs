//! The time–sequence diagram of a traced flow, one for each setting.

use tidegate_results::View;
use tidegate_results::record::{TraceEvent, Traced};

use super::{Facet, Material, Panel, Section, named};
use crate::plot::{Axis, Chart, Kind, Line, Mark, Origin};

/// Events of all charts together, to keep the page small.
const BUDGET: usize = 40_000;
/// Height of an ACK's stroke, as a share of a full segment.
const TICK: f64 = 0.6;

/// Lines of a trace from back to front: name, and the stroke of an event on the line.
const LINES: [(&str, Stroke); 7] = [
    ("segments", |event, _| match event.event {
        Traced::Sent if !event.flag => Some(segment(event)),
        _ => None,
    }),
    ("segments with CWR", |event, _| match event.event {
        Traced::Sent | Traced::Resent if event.flag => Some(segment(event)),
        _ => None,
    }),
    ("retransmissions", |event, _| match event.event {
        Traced::Resent if !event.flag => Some(segment(event)),
        _ => None,
    }),
    ("lost", |event, _| match event.event {
        Traced::Lost => Some(segment(event)),
        _ => None,
    }),
    ("arrivals with CE", |event, _| match event.event {
        Traced::Arrived if event.flag => Some(segment(event)),
        _ => None,
    }),
    ("ACKs", |event, tick| match event.event {
        Traced::Acked if !event.flag => Some((event.seq as f64, event.seq as f64 - tick)),
        _ => None,
    }),
    ("ACKs with ECE", |event, tick| match event.event {
        Traced::Acked if event.flag => Some((event.seq as f64, event.seq as f64 - tick)),
        _ => None,
    }),
];

/// The two ends of an event's stroke, if it is on the line.
type Stroke = fn(&TraceEvent, f64) -> Option<(f64, f64)>;

fn segment(event: &TraceEvent) -> (f64, f64) {
    (event.seq as f64, event.seq as f64 + f64::from(event.len))
}

pub(super) fn section(material: &Material) -> Section {
    let runs = material.records.iter().zip(&material.summary.points);
    let runs = runs.filter_map(|(records, point)| Some((records.first().copied()?, point)));
    let runs: Vec<_> = runs.filter(|(run, _)| !run.trace.is_empty()).collect();
    let most = BUDGET / runs.len().max(1);
    let several = runs.len() > 1;
    let panels = runs.iter().map(|(run, point)| {
        let facet =
            several.then(|| Facet { name: "setting".to_owned(), value: point.label.clone() });
        panel(*run, facet.into_iter().collect(), most)
    });
    Section {
        id: "trace",
        title: "Time and sequence",
        intro: "Every segment and ACK of the traced flow. A segment is a stroke from its first to its last byte, at the time it is sent, or received if it is marked. An ACK is a stroke below the next byte it expects. See Over time for windows, round-trip times and queues.",
        panels: panels.collect(),
    }
}

fn panel(run: View<'_>, facets: Vec<Facet>, most: usize) -> Panel {
    let shown = &run.trace[..run.trace.len().min(most)];
    let full = shown.iter().filter(|event| event.event != Traced::Acked);
    let tick = full.map(|event| event.len).max().unwrap_or(0);
    let tick = f64::from(tick) * TICK;
    let lines = LINES.iter().enumerate().map(|(hue, (name, stroke))| Line {
        name: (*name).to_owned(),
        hue,
        marks: strokes(shown, *stroke, tick),
        origin: Origin::Measured,
    });
    let lines = lines.filter(|line| !line.marks.is_empty()).collect();
    let flow = shown.first().map_or(0, |event| event.flow);
    let (id, title) = named("time-sequence", &format!("flow {flow}: time and sequence"), &facets);
    let mut notes = Vec::new();
    if shown.len() < run.trace.len() {
        let last = shown.last().map_or(0.0, |event| event.at_ps as f64 / 1e12);
        notes.push(format!(
            "Shows the first {last:.3} s, {} of {} events; trace.parquet has all.",
            shown.len(),
            run.trace.len()
        ));
    }
    let chart = Chart {
        id,
        title,
        kind: Kind::Trace,
        x: Axis::linear("time", "s"),
        y: Axis::linear("sequence number", "B"),
        lines,
        notes,
        commands: vec![run.run.command.clone()],
    };
    Panel { chart, facets }
}

/// The separate strokes of a line.
fn strokes(events: &[TraceEvent], stroke: Stroke, tick: f64) -> Vec<Mark> {
    let mut marks = Vec::new();
    for event in events {
        if let Some((from, to)) = stroke(event, tick) {
            let at = event.at_ps as f64 / 1e12;
            marks.extend([Mark::new(at, from), Mark::new(at, to), Mark::new(at, f64::NAN)]);
        }
    }
    marks
}
