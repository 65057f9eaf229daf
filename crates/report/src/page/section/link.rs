//! Goodput and pauses of links.

use std::collections::BTreeMap;

use tidegate_results::View;
use tidegate_results::record::Link;

use super::{Material, Panel, Section, Stop, commands, heaviest, mean, named};
use crate::plot::{Axis, Chart, Kind, Line, Mark};

const SHOWN: usize = 12;

pub(super) fn section(material: &Material) -> Section {
    let mut weights: BTreeMap<&str, u64> = BTreeMap::new();
    for link in material.records.iter().flatten().flat_map(|record| record.links) {
        let weight = weights.entry(&link.name).or_default();
        *weight = weight.saturating_add(link.bytes);
    }
    let known = weights.len();
    let busiest = heaviest(weights, SHOWN);
    let stops = material.sweep.stops();
    let panels = stops.iter().flat_map(|stop| charts(material, stop, &busiest, known));
    Section {
        id: "links",
        title: "Links",
        intro: "Goodput of links, and the share of time in which they were paused.",
        panels: panels.collect(),
    }
}

fn charts(material: &Material, stop: &Stop, busiest: &[&str], known: usize) -> Vec<Panel> {
    type Part = (&'static str, &'static str, &'static str, fn(&Link) -> f64);
    let parts: [Part; 2] = [
        ("link-goodput", "goodput by link", "bit/s", |link| link.goodput_bps),
        ("link-paused", "share of time paused by link", "", |link| link.paused),
    ];
    let facets: Vec<_> = material.facet(stop).into_iter().collect();
    let at = material.at(stop);
    let mut panels = Vec::new();
    for (kind, what, unit, value) in parts {
        let lines = at.iter().map(|(curve, records)| {
            let places = busiest.iter().enumerate();
            let marks = places.filter_map(|(place, name)| {
                let found = records.iter().filter_map(|&record| find(record, name));
                // A link observed for no time has no share.
                let values = found.map(value).filter(|value| value.is_finite());
                Some(Mark::new(place as f64, mean(values)?))
            });
            material.line(*curve, marks.collect())
        });
        let lines: Vec<Line> = lines.collect();
        if lines.iter().flat_map(|line| &line.marks).all(|mark| mark.y <= 0.0) {
            continue;
        }
        let (id, title) = named(kind, what, &facets);
        let mut notes = Vec::new();
        if known > busiest.len() {
            notes.push(format!("Shows the {} busiest of {known} observed links.", busiest.len()));
        }
        let names = busiest.iter().map(|name| (*name).to_owned()).collect();
        let chart = Chart {
            id,
            title,
            kind: Kind::Bars,
            x: Axis::names("link", names),
            y: Axis::linear(what.trim_end_matches(" by link"), unit),
            lines,
            notes,
            commands: commands(at.iter().flat_map(|(_, records)| records.iter())),
        };
        panels.push(Panel { chart, facets: facets.clone() });
    }
    panels
}

fn find<'a>(record: View<'a>, name: &str) -> Option<&'a Link> {
    record.links.iter().find(|link| link.name == name)
}
