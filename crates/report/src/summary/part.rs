//! The same numbers for each class of service, and for the queues of each number.
//!
//! A class of service is what flows have in common that a switch separates. Its packets mostly wait
//! in one queue, but a sender may tag some of them otherwise, and a scheme may choose queues by itself:
//! so what flows got is shown by their service, and what queues did by the queue's number at its port.

use std::collections::BTreeSet;

use crate::record::{Flow, Queue, Record};
use crate::statistics::real;

use super::build::table;
use super::group::Group;
use super::measure::{
    MEAN, Measure, Of, TAIL, completion, count, counted, goodput, large, mean_of, measure, medium,
    p99_of, slowdown, small,
};
use super::{Better, Breakdown, Part, Summary};

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
    breakdown(&SERVICE, &numbers, groups, baselines)
}

/// The numbers of observed queues that sent something, if there are several.
pub(super) fn queues(groups: &[Group<'_>], baselines: &[Option<usize>]) -> Option<Breakdown> {
    let queues = records(groups).flat_map(|record| &record.queues);
    let used = queues.filter(|queue| queue.sent > 0);
    let numbers = used.map(|queue| queue.queue).collect();
    breakdown(&QUEUE, &numbers, groups, baselines)
}

fn records<'a>(groups: &'a [Group<'_>]) -> impl Iterator<Item = &'a Record> {
    groups
        .iter()
        .flat_map(|group| group.records.iter().copied())
}

fn breakdown(
    measures: &'static [Measure],
    numbers: &BTreeSet<u8>,
    groups: &[Group<'_>],
    baselines: &[Option<usize>],
) -> Option<Breakdown> {
    if numbers.len() < 2 {
        return None;
    }
    let found = numbers.iter().map(|&number| {
        let table = table(measures.iter(), Some(number), groups, baselines);
        (number, table)
    });
    let found: Vec<_> = found.collect();
    // A class without large flows has no number for them, but a place.
    let all = measures.iter().map(|measure| measure.metric);
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

/// What is measured of a class of service, in the order of a table's columns.
pub(super) const SERVICE: [Measure; 14] = {
    use Better::{Higher, Lower, Neither};
    use Of::{Flows, Part};
    [
        measure(
            "fct_mean",
            "overall mean",
            "s",
            Lower,
            Flows(completion, MEAN),
        ),
        measure(
            "fct_small_mean",
            "small mean",
            "s",
            Lower,
            Flows(small, MEAN),
        ),
        measure("fct_small_p99", "small p99", "s", Lower, Flows(small, TAIL)),
        measure(
            "fct_medium_mean",
            "medium mean",
            "s",
            Lower,
            Flows(medium, MEAN),
        ),
        measure(
            "fct_large_mean",
            "large mean",
            "s",
            Lower,
            Flows(large, MEAN),
        ),
        measure(
            "slowdown_mean",
            "slowdown mean",
            "",
            Lower,
            Flows(slowdown, MEAN),
        ),
        measure(
            "slowdown_p99",
            "slowdown p99",
            "",
            Lower,
            Flows(slowdown, TAIL),
        ),
        measure(
            "byte_share",
            "share of bytes",
            "",
            Neither,
            Part(byte_share),
        ),
        measure(
            "goodput_share",
            "share of goodput",
            "",
            Neither,
            Part(goodput_share),
        ),
        measure("goodput", "goodput", "bit/s", Higher, Flows(goodput, MEAN)),
        measure("marks", "marks", "", Neither, Part(marks)),
        measure("timeouts", "timeouts", "", Lower, Part(timeouts)),
        measure(
            "retransmissions",
            "resent",
            "",
            Lower,
            Part(retransmissions),
        ),
        measure("unfinished", "unfinished", "", Lower, Part(unfinished)),
    ]
};

/// What is measured of the queues of a number, in the order of a table's columns.
pub(super) const QUEUE: [Measure; 8] = {
    use Better::{Lower, Neither};
    use Of::Part;
    [
        measure(
            "throughput_share",
            "share of throughput",
            "",
            Neither,
            Part(throughput_share),
        ),
        measure("queue_mean", "queue mean", "B", Lower, Part(length_mean)),
        measure("queue_p99", "queue p99", "B", Lower, Part(length_p99)),
        measure("wait_mean", "wait mean", "s", Lower, Part(wait_mean)),
        measure("wait_p99", "wait p99", "s", Lower, Part(wait_p99)),
        measure("mark_share", "share marked", "", Neither, Part(mark_share)),
        measure("queue_marks", "marks", "", Neither, Part(queue_marks)),
        measure("queue_drops", "drops", "", Lower, Part(queue_drops)),
    ]
};

/// A class's part of what a sum over the flows that count is for all classes.
fn share(record: &Record, service: u8, bytes: fn(&Flow) -> Option<u64>) -> Option<(f64, usize)> {
    let (mut own, mut all, mut flows) = (0.0, 0.0, 0);
    for flow in counted(record) {
        let Some(bytes) = bytes(flow) else { continue };
        all += count(bytes);
        if flow.service == service {
            own += count(bytes);
            flows += 1;
        }
    }
    (all > 0.0).then(|| (own / all, flows))
}

/// Of the bytes of flows that finished.
fn byte_share(record: &Record, service: u8) -> Option<(f64, usize)> {
    share(record, service, |flow| flow.fct_ps.and(flow.bytes))
}

/// Of the bytes that arrived in the observed window.
fn goodput_share(record: &Record, service: u8) -> Option<(f64, usize)> {
    share(record, service, |flow| flow.received)
}

/// A sum over the flows of a class that count.
fn sum(record: &Record, service: u8, of: fn(&Flow) -> u32) -> Option<(f64, usize)> {
    let own = || counted(record).filter(|flow| flow.service == service);
    let flows = own().count();
    (flows > 0).then(|| (own().map(|flow| f64::from(of(flow))).sum(), flows))
}

fn marks(record: &Record, service: u8) -> Option<(f64, usize)> {
    sum(record, service, |flow| flow.marks)
}

fn timeouts(record: &Record, service: u8) -> Option<(f64, usize)> {
    sum(record, service, |flow| flow.timeouts)
}

fn retransmissions(record: &Record, service: u8) -> Option<(f64, usize)> {
    sum(record, service, |flow| flow.retransmissions)
}

fn unfinished(record: &Record, service: u8) -> Option<(f64, usize)> {
    let can_end = |flow: &&Flow| flow.service == service && flow.bytes.is_some();
    let own = || counted(record).filter(can_end);
    let flows = own().count();
    let left = own().filter(|flow| flow.fct_ps.is_none()).count();
    (flows > 0).then(|| (real(left), flows))
}

/// The observed queues of a number.
fn numbered(record: &Record, number: u8) -> impl Iterator<Item = &Queue> {
    let queues = record.queues.iter();
    queues.filter(move |queue| queue.queue == number)
}

/// Of the bytes that observed ports sent.
fn throughput_share(record: &Record, number: u8) -> Option<(f64, usize)> {
    let all: f64 = record
        .queues
        .iter()
        .map(|queue| count(queue.sent_bytes))
        .sum();
    let own: f64 = numbered(record, number)
        .map(|queue| count(queue.sent_bytes))
        .sum();
    (all > 0.0).then(|| (own / all, numbered(record, number).count()))
}

fn length_mean(record: &Record, number: u8) -> Option<(f64, usize)> {
    mean_of(numbered(record, number).map(|queue| &queue.bytes))
}

fn length_p99(record: &Record, number: u8) -> Option<(f64, usize)> {
    p99_of(numbered(record, number).map(|queue| (&queue.bytes, 1.0)))
}

/// Of packets, whatever queue they waited in.
fn wait_mean(record: &Record, number: u8) -> Option<(f64, usize)> {
    let (mut waited, mut packets) = (0.0, 0.0);
    for queue in numbered(record, number).filter(|queue| queue.wait_ps.mean.is_finite()) {
        waited += queue.wait_ps.mean * count(queue.sent);
        packets += count(queue.sent);
    }
    (packets > 0.0).then(|| (waited / packets / 1e12, numbered(record, number).count()))
}

fn wait_p99(record: &Record, number: u8) -> Option<(f64, usize)> {
    let used = numbered(record, number).filter(|queue| queue.sent > 0);
    let (ps, queues) = p99_of(used.map(|queue| (&queue.wait_ps, count(queue.sent))))?;
    Some((ps / 1e12, queues))
}

fn queue_marks(record: &Record, number: u8) -> Option<(f64, usize)> {
    counts(record, number, |queue| queue.marks.values().sum())
}

fn queue_drops(record: &Record, number: u8) -> Option<(f64, usize)> {
    counts(record, number, |queue| queue.drops.values().sum())
}

fn counts(record: &Record, number: u8, of: fn(&Queue) -> u64) -> Option<(f64, usize)> {
    let queues = numbered(record, number).count();
    let sum = numbered(record, number).map(|queue| count(of(queue))).sum();
    (queues > 0).then_some((sum, queues))
}

/// The part of the packets sent that were marked in the queue.
fn mark_share(record: &Record, number: u8) -> Option<(f64, usize)> {
    let (sent, queues) = counts(record, number, |queue| queue.sent)?;
    let (marks, _) = queue_marks(record, number)?;
    (sent > 0.0).then(|| (marks / sent, queues))
}
