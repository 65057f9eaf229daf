//! The same numbers for each class of service, and for the queues of each number.
//!
//! A class of service is what flows have in common that a switch separates. Its packets mostly wait
//! in one queue, but a sender may tag some of them otherwise, and a scheme may choose queues by itself:
//! so what flows got is shown by their service, and what queues did by the queue's number at its port.

use std::collections::BTreeSet;

use crate::record::Record;

use super::build::table;
use super::group::Group;
use super::measure::{Measure, counted, of_queue, of_service};
use super::{Breakdown, Part, Summary};

impl Breakdown {
    /// One of its parts as a summary of its own, for what shows summaries: the points of the whole
    /// with the part's numbers. Warnings are those of the whole and left out.
    pub fn summary(&self, part: &Part, whole: &Summary) -> Summary {
        let mut points = whole.points.clone();
        for (point, estimates) in points.iter_mut().zip(&part.points) {
            point.estimates.clone_from(estimates);
            point.warnings.clear();
        }
        Summary {
            metrics: self.metrics.clone(),
            points,
            baseline: whole.baseline,
            services: None,
            queues: None,
            warnings: Vec::new(),
        }
    }
}

/// The classes of service of flows that count, if there are several.
pub(super) fn services(groups: &[Group<'_>], baselines: &[Option<usize>]) -> Option<Breakdown> {
    let flows = records(groups).flat_map(counted);
    let numbers = flows.map(|flow| flow.service).collect();
    breakdown(of_service, &numbers, groups, baselines)
}

/// The numbers of observed queues that sent something, if there are several.
pub(super) fn queues(groups: &[Group<'_>], baselines: &[Option<usize>]) -> Option<Breakdown> {
    let queues = records(groups).flat_map(|record| &record.queues);
    let used = queues.filter(|queue| queue.sent > 0);
    let numbers = used.map(|queue| queue.queue).collect();
    breakdown(of_queue, &numbers, groups, baselines)
}

fn records<'a>(groups: &'a [Group<'_>]) -> impl Iterator<Item = &'a Record> {
    groups
        .iter()
        .flat_map(|group| group.records.iter().copied())
}

fn breakdown<I: Iterator<Item = &'static Measure>>(
    measures: fn() -> I,
    numbers: &BTreeSet<u8>,
    groups: &[Group<'_>],
    baselines: &[Option<usize>],
) -> Option<Breakdown> {
    if numbers.len() < 2 {
        return None;
    }
    let found = numbers.iter().map(|&number| {
        let table = table(measures(), Some(number), groups, baselines);
        (number, table)
    });
    let found: Vec<_> = found.collect();
    // A class without large flows has no number for them, but a place.
    let all = measures().map(|measure| measure.metric);
    let metrics = all.filter(|metric| found.iter().any(|(_, (has, _))| has.contains(metric)));
    let metrics: Vec<_> = metrics.collect();
    let parts = found.into_iter().map(|(number, (has, points))| {
        let places: Vec<Option<usize>> = metrics
            .iter()
            .map(|metric| has.iter().position(|own| own == metric))
            .collect();
        let spread = |point: Vec<_>| {
            let estimates = places
                .iter()
                .map(|place| place.and_then(|place| point[place]));
            estimates.collect()
        };
        Part {
            number,
            points: points.into_iter().map(spread).collect(),
        }
    });
    Some(Breakdown {
        parts: parts.collect(),
        metrics,
    })
}
