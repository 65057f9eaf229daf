//! When a number should not be trusted, and what to do about it.

use std::collections::BTreeSet;

use crate::record::{Class, End, Flow, Record};
use crate::statistics::bootstrap::BLOCKS;
use crate::statistics::{mean, real, student, variance};

use super::group::Group;
use super::measure::{blocked, completion, counted, slowdown, unfinished};

/// Of fewer flows a 99th percentile is the largest value.
const RUN_TAIL: usize = 100;
/// Of fewer flows, all runs together, fewer than ten lie behind a 99th percentile.
const POINT_TAIL: usize = 1_000;
/// A trend is told only if it is larger than this, and than chance would have it once in some hundred
/// times.
const TREND: f64 = 0.05;
const CHANCE: f64 = 3.0;

/// What holds for all points.
pub(super) fn of_all(groups: &[Group<'_>], missing_baseline: Option<&str>) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(name) = missing_baseline {
        let labels: Vec<&str> = groups.iter().map(|group| &*group.label).collect();
        warnings.push(format!(
            "no point is called {name}, so nothing is compared with it; there are: {}",
            labels.join("; ")
        ));
    }
    if groups.iter().any(|group| group.records.len() == 1) {
        warnings.push(
            "points with a single run: their intervals show only chance within that run, and counts \
             have none; set runs = 5 or more to see what another seed would give"
                .to_owned(),
        );
    }
    let numbers: BTreeSet<usize> = groups.iter().map(|group| group.records.len()).collect();
    if numbers.len() > 1 {
        warnings.push(
            "points have different numbers of runs; comparisons use the seeds that both have"
                .to_owned(),
        );
    }
    warnings
}

/// What holds for one point.
pub(super) fn of_point(group: &Group<'_>) -> Vec<String> {
    let mut warnings: Vec<String> = group.records.iter().filter_map(|run| ending(run)).collect();
    warnings.extend(left_over(group));
    warnings.extend(too_few(group));
    warnings.extend(trend(group));
    warnings
}

/// A run that did not come to its end.
fn ending(record: &Record) -> Option<String> {
    let seed = &record.run.seed;
    match &record.run.end {
        End::Finished | End::TimeUp => None,
        End::Interrupted => Some(format!(
            "the run with seed {seed} was interrupted: its numbers are of a part of the traffic; run \
             it again"
        )),
        End::Stalled(what) => Some(format!(
            "the run with seed {seed} stalled ({what}): flows waited for ever; its times are of those \
             that finished before"
        )),
    }
}

/// Flows without a completion time.
fn left_over(group: &Group<'_>) -> Option<String> {
    let left: usize = group.records.iter().map(|record| unfinished(record)).sum();
    let counted = group.records.iter().flat_map(|record| counted(record));
    let all = counted.filter(|flow| flow.bytes.is_some()).count();
    (left > 0).then(|| {
        let part = real(left) / real(all) * 100.0;
        format!(
            "{left} of {all} flows ({part:.2} %) did not finish and have no completion time: means \
             and percentiles are too low; let the run go on, with measure.drain = \"all-finished\" \
             or a later measure.end"
        )
    })
}

/// Percentiles of too few flows.
fn too_few(group: &Group<'_>) -> Vec<String> {
    let of = |what: &str, takes: fn(&Flow) -> bool| {
        let finished = |record: &Record| {
            counted(record)
                .filter(|flow| flow.fct_ps.is_some() && takes(flow))
                .count()
        };
        let counts: Vec<usize> = group
            .records
            .iter()
            .map(|record| finished(record))
            .collect();
        let (least, all) = (counts.iter().copied().min()?, counts.iter().sum::<usize>());
        let advice = "measure longer or set more runs";
        if all == 0 {
            None
        } else if least < RUN_TAIL {
            Some(format!(
                "the p99 of {what} rests on {least} flows in a run, of which it is the largest value: \
                 it needs at least {RUN_TAIL}; {advice}"
            ))
        } else {
            (all < POINT_TAIL).then(|| {
                format!(
                    "the p99 of {what} rests on {all} flows, of which fewer than ten lie behind it: \
                     it needs {POINT_TAIL}; {advice}"
                )
            })
        }
    };
    let small = of("small flows", |flow| flow.class == Class::Small);
    let everything = of("slowdowns", |flow| flow.ideal_ps.is_some());
    // The small ones are among all: one sentence will do.
    let endings = small.or(everything);
    let nothing = group
        .records
        .iter()
        .find(|record| !record.flows.is_empty() && counted(record).next().is_none());
    let nothing = nothing.map(|record| {
        format!(
            "no flow of the run with seed {} counts: all start in the warm-up or after the \
             measurement; shorten measure.warm_up",
            record.run.seed
        )
    });
    endings.into_iter().chain(nothing).collect()
}

/// Whether the network was still filling when flows began to count.
///
/// The first fifth of the flows that count is held against the second to fourth; the last may end in
/// a network that empties. Slowdowns are compared, in logarithms and by means of blocks: sizes, a few
/// giants and neighbours that are alike then do not pass for a trend.
fn trend(group: &Group<'_>) -> Option<String> {
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for record in &group.records {
        let mut blocks = vec![Vec::new(); BLOCKS];
        let has_ideal = counted(record).any(|flow| slowdown(flow).is_some());
        let value = if has_ideal { slowdown } else { completion };
        for (value, block) in blocked(record, value) {
            if value > 0.0 {
                blocks[block].push(value.ln());
            }
        }
        let fifth = BLOCKS / 5;
        first.extend(blocks[..fifth].iter().filter_map(|block| mean(block)));
        rest.extend(
            blocks[fifth..4 * fifth]
                .iter()
                .filter_map(|block| mean(block)),
        );
    }
    let (early, later) = (mean(&first)?, mean(&rest)?);
    let noise = variance(&first)? / real(first.len()) + variance(&rest)? / real(rest.len());
    // With few blocks the limit is that of Student's t for as rare a chance, roughly.
    let limit = CHANCE * student::quantile(first.len().min(rest.len()) - 1) / 1.96;
    let difference = (early - later).exp_m1();
    let real_trend = (early - later).abs() > limit * noise.sqrt() && difference.abs() > TREND;
    real_trend.then(|| {
        let (percent, word) = (difference.abs() * 100.0, if difference < 0.0 { "less" } else { "more" });
        format!(
            "the first fifth of the counted flows takes {percent:.0} % {word} time than the next ones: \
             the network had not settled; raise measure.warm_up until this is gone"
        )
    })
}
