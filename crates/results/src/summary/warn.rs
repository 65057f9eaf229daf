//! Warnings: why a number is not trustworthy, and the remedy.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::brief::{Brief, View};
use crate::format::quantity;
use crate::record::{Class, Deadlock, End, LinkClass};
use crate::statistics::bootstrap::BLOCKS;
use crate::statistics::{mean, real, student, variance};

use super::group::Group;
use super::measure::{blocked, completion, counted, seconds, slowdown, unfinished};

/// With fewer flows, the 99th percentile is the largest value.
const RUN_TAIL: usize = 100;
/// With fewer flows over all runs, fewer than ten lie above the 99th percentile.
const POINT_TAIL: usize = 1_000;
/// A trend is reported only if it exceeds this and is larger than chance (about one false alarm in
/// several hundred).
const TREND: f64 = 0.05;
const CHANCE: f64 = 3.0;

/// Warnings about all points.
pub(super) fn of_all(groups: &[Group<'_>], missing_baseline: Option<&str>) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(name) = missing_baseline {
        let labels: Vec<&str> = groups.iter().map(|group| &*group.label).collect();
        warnings.push(format!(
            "no point is called {name}, so there is no baseline; the points are: {}",
            labels.join("; ")
        ));
    }
    let has_points_of = |runs: usize| groups.iter().any(|group| group.records.len() == runs);
    if has_points_of(1) {
        warnings.push(
            "points with a single run: intervals cover only chance within that run, and counts have \
             no interval; set runs = 5 or more to see the spread between seeds"
                .to_owned(),
        );
    }
    if has_points_of(2) {
        warnings.push(
            "points with only two runs: 95 % intervals are ±9 standard deviations wide; set runs = 5 \
             or more (±1.2)"
                .to_owned(),
        );
    }
    let numbers: BTreeSet<usize> = groups.iter().map(|group| group.records.len()).collect();
    if numbers.len() > 1 {
        warnings.push(
            "points have different numbers of runs; comparisons use only the seeds that both points have"
                .to_owned(),
        );
    }
    warnings
}

/// Warnings about one point.
pub(super) fn of_point(group: &Group<'_>) -> Vec<String> {
    let mut warnings: Vec<String> = group.records.iter().filter_map(|&run| ending(run)).collect();
    warnings.extend(group.records.iter().flat_map(|&run| deadlocks(run)));
    warnings.extend(group.records.iter().filter_map(|&run| storm(run)));
    warnings.extend(waits_at_hosts(group));
    warnings.extend(left_over(group));
    warnings.extend(too_few(group));
    warnings.extend(trend(group));
    warnings
}

/// A run that was interrupted or stalled.
fn ending(record: View<'_>) -> Option<String> {
    let seed = &record.run.seed;
    match &record.run.end {
        End::Finished | End::TimeUp => None,
        End::Interrupted => Some(format!(
            "the run with seed {seed} was interrupted: its results cover only part of the traffic; \
             run it again"
        )),
        End::Stalled(what) => Some(format!(
            "the run with seed {seed} stalled ({what}): flows waited forever; completion times cover \
             only flows that finished before"
        )),
    }
}

/// PFC deadlocks.
fn deadlocks(record: View<'_>) -> Vec<String> {
    let found = record.pauses.iter().flat_map(|pauses| &pauses.deadlocks);
    let warning = |deadlock: &Deadlock| {
        let first = deadlock.cycle.first();
        let cycle: Vec<String> = deadlock.cycle.iter().chain(first).map(named).collect();
        let behind = match deadlock.behind.len() {
            0 => String::new(),
            1 => ", and one more class of a link waits behind this cycle".to_owned(),
            more => format!(", and {more} more classes of links wait behind this cycle"),
        };
        format!(
            "PFC deadlock in the run with seed {}, since {}: {}{behind}; break the cycle with routes \
             that never go up again after going down, or with other classes",
            record.run.seed,
            time(deadlock.since_ps),
            cycle.join(" waits for ")
        )
    };
    found.map(warning).collect()
}

/// Pause storms.
fn storm(record: View<'_>) -> Option<String> {
    let pauses = record.pauses?;
    let longest = pauses.storms().max_by_key(|class| class.longest_ps)?;
    let others = match pauses.storms().count() - 1 {
        0 => String::new(),
        1 => ", and so was another class of a link".to_owned(),
        more => format!(", and so were {more} other classes of links"),
    };
    Some(format!(
        "pause storm in the run with seed {}: {} was paused for {} without a break, longer than {} \
         (observe.storm){others}; if nothing drains, check the receivers and look for deadlocks",
        record.run.seed,
        named(&longest.of),
        time(longest.longest_ps),
        time(pauses.storm_ps)
    ))
}

fn named(LinkClass { link, class }: &LinkClass) -> String {
    format!("{link} (class {class})")
}

/// A time for people.
fn time(ps: u64) -> String {
    quantity(seconds(ps), "s")
}

/// Small flows that wait mostly in host queues.
fn waits_at_hosts(group: &Group<'_>) -> Option<String> {
    let shares = group.records.iter();
    let most = shares.filter_map(|record| record.counters.host_wait_percent).max()?;
    Some(format!(
        "the slowest small flows spend {most} % of their time in the queue of their own host, before the \
         first switch, where no marking scheme helps; set transport.qdisc = \"fq\", as on Linux hosts, or \
         describe the hosts' ports in [nic]; observe.ports accepts names such as \"host0>*\""
    ))
}

/// Flows without a completion time.
fn left_over(group: &Group<'_>) -> Option<String> {
    let left: usize = group.records.iter().map(|&record| unfinished(record)).sum();
    let counted = group.records.iter().flat_map(|&record| counted(record));
    let all = counted.filter(|flow| flow.bytes().is_some()).count();
    (left > 0).then(|| {
        let part = real(left) / real(all) * 100.0;
        format!(
            "{left} of {all} flows ({part:.2} %) did not finish and have no completion time, so means \
             and percentiles are too low; set measure.drain = \"all-finished\" or a later measure.end"
        )
    })
}

/// Percentiles of too few flows.
fn too_few(group: &Group<'_>) -> Vec<String> {
    let of = |what: &str, takes: fn(&Brief) -> bool| {
        let finished = |record: View<'_>| {
            counted(record).filter(|flow| flow.fct_ps().is_some() && takes(flow)).count()
        };
        let counts: Vec<usize> = group.records.iter().map(|&record| finished(record)).collect();
        let (least, all) = (counts.iter().copied().min()?, counts.iter().sum::<usize>());
        let advice = "measure longer or set more runs";
        if all == 0 {
            None
        } else if least < RUN_TAIL {
            Some(format!(
                "the p99 of {what} comes from only {least} flows in a run, so it is the largest value; \
                 use at least {RUN_TAIL}: {advice}"
            ))
        } else {
            (all < POINT_TAIL).then(|| {
                format!(
                    "the p99 of {what} comes from only {all} flows, fewer than ten of them above it; \
                     use at least {POINT_TAIL}: {advice}"
                )
            })
        }
    };
    let small = of("small flows", |flow| flow.class == Class::Small);
    let everything = of("slowdowns", |flow| flow.ideal_ps().is_some());
    // Small flows are among all flows, so one warning is enough.
    let endings = small.or(everything);
    let nothing = group
        .records
        .iter()
        .find(|&&record| record.flows().next().is_some() && counted(record).next().is_none());
    let nothing = nothing.map(|record| {
        format!(
            "no flow of the run with seed {} counts: all start in the warm-up or after the \
             measurement; shorten measure.warm_up",
            record.run.seed
        )
    });
    endings.into_iter().chain(nothing).collect()
}

/// Whether the network was not yet in steady state when flows began to count.
///
/// Compares the first fifth of the counted flows with the second to fourth; the last fifth may
/// finish while the network drains. It compares logarithms of slowdowns averaged over blocks, so
/// that flow sizes, a few huge flows and correlated neighbours do not look like a trend.
fn trend(group: &Group<'_>) -> Option<String> {
    let runs: Vec<Vec<Option<f64>>> =
        group.records.iter().map(|&record| block_means(record)).collect();
    let of = |blocks: Range<usize>| -> Vec<f64> {
        let runs = runs.iter().flat_map(|means| &means[blocks.clone()]);
        runs.copied().flatten().collect()
    };
    let (first, rest) = (of(0..FIFTH), of(FIFTH..4 * FIFTH));
    let (early, later) = (mean(&first)?, mean(&rest)?);
    let noise = variance(&first)? / real(first.len()) + variance(&rest)? / real(rest.len());
    // With few blocks, roughly the limit of Student's t for the same probability.
    let limit = CHANCE * student::quantile(first.len().min(rest.len()) - 1) / 1.96;
    let difference = (early - later).exp_m1();
    let real_trend = (early - later).abs() > limit * noise.sqrt() && difference.abs() > TREND;
    real_trend.then(|| {
        let (percent, word) = (difference.abs() * 100.0, if difference < 0.0 { "less" } else { "more" });
        format!(
            "the first fifth of the counted flows takes {percent:.0} % {word} time than the next ones: \
             the network was not yet in steady state; {}",
            advice(group, &runs)
        )
    })
}

/// A fifth of all blocks.
const FIFTH: usize = BLOCKS / 5;

/// The mean logarithm of the slowdowns in each block of a run, or of completion times if there are
/// no slowdowns.
fn block_means(record: View<'_>) -> Vec<Option<f64>> {
    let mut blocks = vec![Vec::new(); BLOCKS];
    let has_ideal = counted(record).any(|flow| slowdown(&flow).is_some());
    let value = if has_ideal { slowdown } else { completion };
    for (value, block) in blocked(record, value) {
        if value > 0.0 {
            blocks[block].push(value.ln());
        }
    }
    blocks.iter().map(|block| mean(block)).collect()
}

/// The advice on the warm-up, as far as the runs show its length.
fn advice(group: &Group<'_>, runs: &[Vec<Option<f64>>]) -> String {
    let steady = steady_after(runs);
    let flows = steady.and_then(|blocks| {
        let first = |record: View<'_>| {
            let count = counted(record).count();
            // First flow of the block.
            let flow = counted(record).nth((blocks * count).div_ceil(BLOCKS))?;
            Some(flow.number)
        };
        group.records.iter().filter_map(|&record| first(record)).max()
    });
    match flows {
        Some(flows) => format!(
            "raise measure.warm_up_flows to about {} (MSER estimate from these runs) and the number of \
             flows by as many",
            rounded(flows)
        ),
        None => {
            let all = group.records.iter().map(|&record| counted(record).count());
            format!(
                "raise measure.warm_up_flows until this warning disappears: the first half of the {} \
                 flows of a run did not reach steady state, so start with twice as many",
                all.max().unwrap_or(0)
            )
        }
    }
}

/// The number of blocks before steady state, by the marginal standard error rule (MSER): without
/// them, the standard error of the mean is smallest. `None` if it is half of the blocks or more,
/// because the runs are then too short to tell. The last fifth is left out, as for the trend.
fn steady_after(runs: &[Vec<Option<f64>>]) -> Option<usize> {
    // One series over all runs, to reduce noise.
    let over_runs = |block: usize| {
        let means: Vec<f64> = runs.iter().filter_map(|means| means[block]).collect();
        mean(&means).map(|mean| (block, mean))
    };
    let series: Vec<(usize, f64)> = (0..4 * FIFTH).filter_map(over_runs).collect();
    let error = |cut: usize| {
        let rest: Vec<f64> = series[cut..].iter().map(|&(_, mean)| mean).collect();
        Some((cut, variance(&rest)? / real(rest.len())))
    };
    // A trend means that at least one block is cut; the variance of fewer than five blocks is
    // useless.
    let cuts = 1..series.len().saturating_sub(4);
    let best = cuts.filter_map(error).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(cut, _)| cut)?;
    (best < series.len() / 2).then(|| series[best].0)
}

/// A number of flows, rounded up to two digits.
fn rounded(flows: u32) -> u32 {
    let digits = flows.checked_ilog10().unwrap_or(0);
    let unit = 10_u32.pow(digits.saturating_sub(1));
    flows.div_ceil(unit).saturating_mul(unit)
}
