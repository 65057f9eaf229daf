//! Probes: the round trips that small packets saw.

use std::collections::BTreeSet;

use super::super::thin;
use super::{Facet, Material, Panel, Section, commands, named};
use crate::plot::{Axis, Chart, Kind, Line};

const MOST: usize = 200;
const SERIES: usize = 8;
const STOPS: usize = 12;

pub(super) fn section(material: &Material) -> Section {
    let probes = material
        .records
        .iter()
        .flatten()
        .flat_map(|record| &record.probes);
    let series: BTreeSet<u32> = probes.map(|probe| probe.series).collect();
    let stops = material.sweep.stops();
    let mut panels = Vec::new();
    for stop in stops.iter().rev().take(STOPS).rev() {
        for number in series.iter().take(SERIES) {
            let choice = (series.len() > 1).then(|| Facet {
                name: "probe".to_owned(),
                value: number.to_string(),
            });
            let facets: Vec<Facet> = material.facet(stop).into_iter().chain(choice).collect();
            let at = material.at(stop);
            let lines = at.iter().map(|(lane, records)| {
                let probes = records.iter().flat_map(|record| &record.probes);
                let own = probes.filter(|probe| probe.series == *number);
                let mut values: Vec<f64> = own.map(|probe| probe.rtt_ps as f64 / 1e12).collect();
                values.sort_by(f64::total_cmp);
                material.line(*lane, thin::distribution(&values, MOST))
            });
            let lines: Vec<Line> = lines.filter(|line| !line.marks.is_empty()).collect();
            let (id, title) = named("probe-rtt", "round-trip time of probes", &facets);
            let thinned = lines.iter().any(|line| line.marks.len() >= MOST);
            let note = format!(
                "Drawn through about {MOST} values; the ends and p50, p90, p95, p99 and p99.9 are exact."
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
    Section {
        id: "probes",
        title: "Probes",
        intro: "Small packets sent at equal times, each answered at once: what latency a request would see.",
        panels,
    }
}
