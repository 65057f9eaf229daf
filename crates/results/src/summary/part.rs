//! Results by class of service, queue number and flow-size bin.
//!
//! Switches separate flows by class of service. The packets of a class mostly wait in one queue,
//! but a sender may tag some of them differently, and a scheme may choose queues. Flow results are
//! therefore shown by service, and queue results by the queue's number at its port.

use std::collections::BTreeSet;

use tidegate_units::Bytes;

use crate::View;

use super::build::table;
use super::group::Group;
use super::measure::{Bin, Measure, Slice, counted, of_queue, of_service, of_size};
use super::{Breakdown, Part, Summary};

impl Part {
    /// The name, or the kind and the number if there is no name.
    pub fn title(&self, kind: &str) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("{kind} {}", self.number),
        }
    }
}

impl Breakdown {
    /// One part as a summary: the points of the whole with the part's estimates, without warnings.
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

/// The scenario's own flow-size bins, taken from the first run that has them.
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

/// A part without a name.
fn numbered(number: u8) -> (u8, Option<String>, Slice) {
    (number, None, Slice::Number(number))
}

/// The numbers of observed queues that sent packets, if there are several.
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
    // A class without large flows keeps an empty cell for them.
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
