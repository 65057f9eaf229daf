//! The same numbers for each class of service, and for the queues of each number.
//!
//! A class of service is what flows have in common that a switch separates. Its packets mostly wait
//! in one queue, but a sender may tag some of them otherwise, and a scheme may choose queues by
//! itself: so what flows got is shown by their service, and what queues did by the queue's number
//! at its port.

use std::collections::BTreeSet;

use tidegate_units::Bytes;

use crate::View;

use super::build::table;
use super::group::Group;
use super::measure::{Bin, Measure, Slice, counted, of_queue, of_service, of_size};
use super::{Breakdown, Part, Summary};

impl Part {
    /// What it is called, with the word for its kind if it has only a number.
    pub fn title(&self, kind: &str) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("{kind} {}", self.number),
        }
    }
}

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
            sizes: None,
            warnings: Vec::new(),
        }
    }
}

/// The classes of service of flows that count, if there are several.
pub(super) fn services(groups: &[Group<'_>], baselines: &[Option<usize>]) -> Option<Breakdown> {
    let flows = records(groups).flat_map(counted);
    let numbers: BTreeSet<u8> = flows.map(|flow| flow.service).collect();
    let slices = numbers.into_iter().map(numbered).collect();
    breakdown(of_service, slices, groups, baselines)
}

/// The scenario's own bins of sizes, if it names some: those of the first run that has any.
pub(super) fn sizes(groups: &[Group<'_>], baselines: &[Option<usize>]) -> Option<Breakdown> {
    let bins = records(groups).map(|record| &record.run.bins);
    let ends = bins.into_iter().find(|bins| !bins.is_empty())?;
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let bins = begins.zip(ends.iter().copied().chain([u64::MAX]));
    let slices = bins.zip(0..).map(|((above, up_to), number)| {
        let name = match (above, up_to) {
            (0, _) => format!("up to {}", Bytes(up_to)),
            (_, u64::MAX) => format!("above {}", Bytes(above)),
            _ => format!("{} to {}", Bytes(above), Bytes(up_to)),
        };
        (number, Some(name), Slice::Sizes(Bin { above, up_to }))
    });
    breakdown(of_size, slices.collect(), groups, baselines)
}

/// A part that has a number and no name.
fn numbered(number: u8) -> (u8, Option<String>, Slice) {
    (number, None, Slice::Number(number))
}

/// The numbers of observed queues that sent something, if there are several.
pub(super) fn queues(groups: &[Group<'_>], baselines: &[Option<usize>]) -> Option<Breakdown> {
    let queues = records(groups).flat_map(|record| record.queues);
    let used = queues.filter(|queue| queue.sent > 0);
    let numbers: BTreeSet<u8> = used.map(|queue| queue.queue).collect();
    let slices = numbers.into_iter().map(numbered).collect();
    breakdown(of_queue, slices, groups, baselines)
}

fn records<'a>(groups: &'a [Group<'_>]) -> impl Iterator<Item = View<'a>> {
    groups.iter().flat_map(|group| group.records.iter().copied())
}

fn breakdown<I: Iterator<Item = &'static Measure>>(
    measures: fn() -> I,
    slices: Vec<(u8, Option<String>, Slice)>,
    groups: &[Group<'_>],
    baselines: &[Option<usize>],
) -> Option<Breakdown> {
    if slices.len() < 2 {
        return None;
    }
    let found = slices.into_iter().map(|(number, name, slice)| {
        let table = table(measures(), slice, groups, baselines);
        ((number, name), table)
    });
    let found: Vec<_> = found.collect();
    // A class without large flows has no number for them, but a place.
    let all = measures().map(|measure| measure.metric);
    let metrics = all.filter(|metric| found.iter().any(|(_, (has, _))| has.contains(metric)));
    let metrics: Vec<_> = metrics.collect();
    let parts = found.into_iter().map(|((number, name), (has, points))| {
        let places: Vec<Option<usize>> =
            metrics.iter().map(|metric| has.iter().position(|own| own == metric)).collect();
        let spread = |point: Vec<_>| {
            let estimates = places.iter().map(|place| place.and_then(|place| point[place]));
            estimates.collect()
        };
        Part { number, name, points: points.into_iter().map(spread).collect() }
    });
    Some(Breakdown { parts: parts.collect(), metrics })
}
