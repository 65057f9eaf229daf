//! Queues: length, sojourn time, marks and drops.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_results::View;
use tidegate_results::record::{Distribution, Queue};

use super::super::budget::Room;
use super::{Facet, Material, Panel, Section, Stop, commands, heaviest, mean, named};
use crate::plot::{Axis, Chart, Kind, Line, Mark, Origin};

/// Queues with a distribution, and queues with a bar.
const DISTRIBUTIONS: usize = 6;
const BARS: usize = 12;

/// Points of all lines together, to keep the page small.
const BUDGET: usize = 25_000;

/// A queue by its port and number.
type Name = (String, u8);

pub(super) fn section(material: &Material) -> Section {
    let mut weights: BTreeMap<Name, u64> = BTreeMap::new();
    for queue in material.records.iter().flatten().flat_map(|record| record.queues) {
        let weight = weights.entry((queue.port.clone(), queue.queue)).or_default();
        *weight = weight.saturating_add(queue.sent);
    }
    let known = weights.len();
    let busiest = heaviest(weights, BARS);
    let stops = material.sweep.stops();
    let quantiles = longest(material);
    let each = 2 * material.curves() * quantiles;
    let apart = (BUDGET / (each * stops.len()).max(1)).clamp(1, DISTRIBUTIONS);
    let room = Room::new(BUDGET, stops.len(), each * apart / quantiles, quantiles, quantiles);
    let mut panels = Vec::new();
    for stop in stops.iter().skip(room.left_out) {
        for name in busiest.iter().take(apart) {
            let choice = (apart.min(known) > 1)
                .then(|| Facet { name: "queue".to_owned(), value: text(name) });
            panels.extend(distributions(material, stop, name, choice));
        }
    }
    room.note_omissions(&mut panels);
    if known > apart {
        let which = if apart == 1 { "busiest".to_owned() } else { format!("{apart} busiest") };
        let note =
            format!("Shows the {which} of {known} observed queues; the results folder has all.");
        for panel in &mut panels {
            panel.chart.notes.push(note.clone());
        }
    }
    for stop in &stops {
        panels.extend(counts(material, stop, &busiest));
    }
    if known > BARS {
        let note = format!("Shows the {BARS} busiest of {known} observed queues.");
        let bars = panels.iter_mut().filter(|panel| panel.chart.kind == Kind::Bars);
        bars.for_each(|panel| panel.chart.notes.push(note.clone()));
    }
    Section {
        id: "queues",
        title: "Queues",
        intro: "Length, sojourn time, marks and drops of the observed queues during the observed window.",
        panels,
    }
}

/// Number of quantiles of a distribution.
fn longest(material: &Material) -> usize {
    let queues = material.records.iter().flatten().flat_map(|record| record.queues);
    let counts = queues.map(|queue| queue.bytes.quantiles.len().max(queue.wait_ps.quantiles.len()));
    counts.max().unwrap_or(0).max(1)
}

fn text((port, number): &Name) -> String {
    format!("{port} q{number}")
}

fn find<'a>(record: View<'a>, name: &Name) -> Option<&'a Queue> {
    record.queues.iter().find(|queue| queue.port == name.0 && queue.queue == name.1)
}

/// Distributions of queue length and sojourn time.
fn distributions(
    material: &Material,
    stop: &Stop,
    name: &Name,
    choice: Option<Facet>,
) -> Vec<Panel> {
    type Part = fn(&Queue) -> &Distribution;
    let parts: [(&str, &str, &str, &'static str, f64, Part); 2] = [
        ("queue-bytes", "queue length", "bytes in the queue", "B", 1.0, |queue| &queue.bytes),
        ("queue-wait", "sojourn time", "time in the queue", "s", 1e-12, |queue| &queue.wait_ps),
    ];
    let facets: Vec<Facet> = material.facet(stop).into_iter().chain(choice).collect();
    let at = material.at(stop);
    let panel =
        |(kind, what, axis, unit, factor, part): (&str, &str, &str, &'static str, f64, Part)| {
            let lines = at.iter().map(|(curve, records)| {
                let found = records.iter().filter_map(|&record| find(record, name));
                let all: Vec<&Distribution> = found.map(part).collect();
                material.line(*curve, pooled(&all, factor))
            });
            let lines: Vec<Line> = lines.filter(|line| !line.marks.is_empty()).collect();
            let (id, title) = named(kind, what, &facets);
            let several = at.iter().any(|(_, records)| records.len() > 1);
            let share = if unit == "B" { "share of time" } else { "share of packets" };
            let note = "Each quantile is the mean over the seeds.".to_owned();
            let nothing = lines.iter().flat_map(|line| &line.marks);
            let nothing = nothing.into_iter().any(|mark| mark.x <= 0.0 && mark.y > 0.0);
            let at_edge = format!("Curves start at the left edge with the {share} at zero.");
            Panel {
                chart: Chart {
                    id,
                    title,
                    kind: Kind::Cdf,
                    x: Axis::log(axis, unit),
                    y: Axis::linear(share, ""),
                    lines,
                    notes: several
                        .then_some(note)
                        .into_iter()
                        .chain(nothing.then_some(at_edge))
                        .collect(),
                    commands: commands(at.iter().flat_map(|(_, records)| records.iter())),
                },
                facets: facets.clone(),
            }
        };
    parts.map(panel).into()
}

/// Quantiles of several seeds as one line: the mean over all seeds with the same probabilities as
/// the first.
fn pooled(all: &[&Distribution], factor: f64) -> Vec<Mark> {
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let shares = |one: &Distribution| one.quantiles.iter().map(|pair| pair.0).collect::<Vec<f64>>();
    let alike: Vec<&&Distribution> =
        all.iter().filter(|one| shares(one) == shares(first)).collect();
    let quantiles = first.quantiles.iter().enumerate();
    let value = |place: usize| mean(alike.iter().map(|one| one.quantiles[place].1));
    let mark =
        |(place, pair): (usize, &(f64, f64))| Some(Mark::new(value(place)? * factor, pair.0));
    let mut marks: Vec<Mark> = quantiles.filter_map(mark).collect();
    if let (Some(last), Some(max)) = (marks.last(), mean(alike.iter().map(|one| one.max)))
        && last.y < 1.0
    {
        marks.push(Mark::new(max * factor, 1.0));
    }
    marks
}

/// Bars of marks and drops by queue.
fn counts(material: &Material, stop: &Stop, busiest: &[Name]) -> Vec<Panel> {
    type Part = fn(&Queue) -> &BTreeMap<String, u64>;
    let parts: [(&str, &str, Part); 2] = [
        ("queue-marks", "packets marked", |queue| &queue.marks),
        ("queue-drops", "packets dropped", |queue| &queue.drops),
    ];
    let facets: Vec<Facet> = material.facet(stop).into_iter().collect();
    let at = material.at(stop);
    let panel = |(kind, what, part): (&str, &str, Part)| {
        let several = at.len() > 1;
        let lines: Vec<Line> = if several {
            let lines = at.iter().map(|(curve, records)| {
                material.line(*curve, bars(records, busiest, |queue| part(queue).values().sum()))
            });
            lines.collect()
        } else {
            by_reason(&at, busiest, part)
        };
        let nothing = lines.iter().flat_map(|line| &line.marks).all(|mark| mark.y <= 0.0);
        let (id, title) = named(kind, &format!("{what} by queue"), &facets);
        let seeds = at.iter().any(|(_, records)| records.len() > 1);
        Panel {
            chart: Chart {
                id,
                title,
                kind: Kind::Bars,
                x: Axis::names("queue", busiest.iter().map(text).collect()),
                y: Axis::linear(what, ""),
                lines: if nothing { Vec::new() } else { lines },
                notes: seeds.then(|| "Mean over the seeds.".to_owned()).into_iter().collect(),
                commands: commands(at.iter().flat_map(|(_, records)| records.iter())),
            },
            facets: facets.clone(),
        }
    };
    parts.map(panel).into()
}

fn bars(records: &[View<'_>], busiest: &[Name], count: impl Fn(&Queue) -> u64) -> Vec<Mark> {
    let places = busiest.iter().enumerate();
    let mark = |(place, name)| {
        let queues = records.iter().filter_map(|&record| find(record, name));
        Some(Mark::new(place as f64, mean(queues.map(|queue| count(queue) as f64))?))
    };
    places.filter_map(mark).collect()
}

/// For a single point, one bar for each rule or reason.
fn by_reason(
    at: &[(usize, &[View<'_>])],
    busiest: &[Name],
    part: fn(&Queue) -> &BTreeMap<String, u64>,
) -> Vec<Line> {
    let Some((_, records)) = at.first() else {
        return Vec::new();
    };
    let queues = records.iter().flat_map(|record| record.queues);
    let reasons: BTreeSet<&String> = queues.flat_map(|queue| part(queue).keys()).collect();
    let line = |(hue, reason): (usize, &String)| Line {
        origin: Origin::Measured,
        name: reason.clone(),
        hue,
        marks: bars(records, busiest, |queue| part(queue).get(reason).copied().unwrap_or(0)),
    };
    reasons.into_iter().enumerate().map(line).collect()
}
