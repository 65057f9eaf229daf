//! Round-trip times of probes.

use std::collections::BTreeSet;

use super::super::budget::Room;
use super::super::thin;
use super::{Facet, Material, Panel, Section, commands, named};
use crate::plot::{Axis, Chart, Kind, Line};

/// Points of all lines together, to keep the page small.
const BUDGET: usize = 20_000;
const MOST: usize = 200;
const LEAST: usize = 40;
const SERIES: usize = 6;

pub(super) fn section(material: &Material) -> Section {
    let probes = material.records.iter().flatten().flat_map(|record| record.probes);
    let series: BTreeSet<u32> = probes.map(|probe| probe.series).collect();
    let stops = material.sweep.stops();
    let lines = material.curves() * series.len().min(SERIES);
    let room = Room::new(BUDGET, stops.len(), lines, LEAST, MOST);
    let most = room.points;
    let mut panels = Vec::new();
    for stop in stops.iter().skip(room.left_out) {
        for number in series.iter().take(SERIES) {
            let choice = (series.len() > 1)
                .then(|| Facet { name: "probe".to_owned(), value: number.to_string() });
            let facets: Vec<Facet> = material.facet(stop).into_iter().chain(choice).collect();
            let at = material.at(stop);
            let lines = at.iter().map(|(curve, records)| {
                let probes = records.iter().flat_map(|record| record.probes);
                let own = probes.filter(|probe| probe.series == *number);
                let mut values: Vec<f64> = own.map(|probe| probe.rtt_ps as f64 / 1e12).collect();
                values.sort_by(f64::total_cmp);
                material.line(*curve, thin::distribution(&values, most))
            });
            let lines: Vec<Line> = lines.filter(|line| !line.marks.is_empty()).collect();
            let (id, title) = named("probe-rtt", "round-trip time of probes", &facets);
            let thinned = lines.iter().any(|line| line.marks.len() >= most);
            let note = format!(
                "Drawn from about {most} values; minimum, maximum, p50, p90, p95, p99 and p99.9 are exact."
            );
            let chart = Chart {
                id,
                title,
                kind: Kind::Cdf,
                x: Axis::log("round-trip time", "s"),
                y: Axis::linear("share of probes", ""),
                lines,
                notes: thinned.then_some(note).into_iter().collect(),
                commands: commands(at.iter().flat_map(|(_, records)| records.iter())),
            };
            panels.push(Panel { chart, facets });
        }
    }
    room.note_omissions(&mut panels);
    Section {
        id: "probes",
        title: "Probes",
        intro: "Round-trip times of small packets that are sent at a fixed interval and answered at once: the latency of a small request.",
        panels,
    }
}
