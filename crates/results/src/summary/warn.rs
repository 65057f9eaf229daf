//! When a number should not be trusted, and what to do about it.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::brief::{Brief, View};
use crate::format::quantity;
use crate::record::{Class, Deadlock, End, LinkClass};
use crate::statistics::bootstrap::BLOCKS;
use crate::statistics::{mean, real, student, variance};

use super::group::Group;
use super::measure::{blocked, completion, counted, seconds, slowdown, unfinished};

/// Of fewer flows a 99th percentile is the largest value.
const RUN_TAIL: usize = 100;
/// Of fewer flows, all runs together, fewer than ten lie behind a 99th percentile.
const POINT_TAIL: usize = 1_000;
/// A trend is reported only if it is larger than this, and than chance would have it once in some
/// hundred times.
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
    let has_points_of = |runs: usize| groups.iter().any(|group| group.records.len() == runs);
    if has_points_of(1) {
        warnings.push(
            "points with a single run: their intervals show only chance within that run, and counts \
             have none; set runs = 5 or more to see what another seed would give"
                .to_owned(),
        );
    }
    if has_points_of(2) {
        warnings.push(
            "points with only two runs: two say little of how runs differ, so that their intervals \
             reach nine deviations to each side; set runs = 5 or more, with which it is 1.2"
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
    let mut warnings: Vec<String> = group.records.iter().filter_map(|&run| ending(run)).collect();
    warnings.extend(group.records.iter().flat_map(|&run| deadlocks(run)));
    warnings.extend(group.records.iter().filter_map(|&run| storm(run)));
    warnings.extend(waits_at_hosts(group));
    warnings.extend(left_over(group));
    warnings.extend(too_few(group));
    warnings.extend(trend(group));
    warnings
}

/// A run that did not come to its end.
fn ending(record: View<'_>) -> Option<String> {
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

/// Pauses that hold each other.
fn deadlocks(record: View<'_>) -> Vec<String> {
    let found = record.pauses.iter().flat_map(|pauses| &pauses.deadlocks);
    let warning = |deadlock: &Deadlock| {
        let first = deadlock.cycle.first();
        let cycle: Vec<String> = deadlock.cycle.iter().chain(first).map(named).collect();
        let behind = match deadlock.behind.len() {
            0 => String::new(),
            1 => ", and one more class of a link waits behind them".to_owned(),
            more => format!(", and {more} more classes of links wait behind them"),
        };
        format!(
            "in the run with seed {} pauses hold each other for good since {}: {}{behind}; break the \
             cycle, with routes that do not turn up again after they came down or with other classes",
            record.run.seed,
            time(deadlock.since_ps),
            cycle.join(" waits for ")
        )
    };
    found.map(warning).collect()
}

/// Pauses that last too long.
fn storm(record: View<'_>) -> Option<String> {
    let pauses = record.pauses?;
    let longest = pauses.storms().max_by_key(|class| class.longest_ps)?;
    let others = match pauses.storms().count() - 1 {
        0 => String::new(),
        1 => ", and another class of a link for too long as well".to_owned(),
        more => format!(", and {more} other classes of links for too long as well"),
    };
    Some(format!(
        "a pause storm in the run with seed {}: {} was paused for {} at a stretch, longer than {} \
         (observe.storm){others}; where nothing drains, look at the receivers and at deadlocks",
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

/// Small flows that spend their time in queues of hosts.
fn waits_at_hosts(group: &Group<'_>) -> Option<String> {
    let shares = group.records.iter();
    let most = shares.filter_map(|record| record.counters.host_wait_percent).max()?;
    Some(format!(
        "the slowest small flows spend {most} % of their time in the queue of their own host, before the \
         first switch, which no marking scheme changes; set transport.qdisc = \"fq\", as Linux hosts have \
         it, or describe the hosts' ports in [nic]; observe.ports takes names such as \"host0>*\""
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
            "{left} of {all} flows ({part:.2} %) did not finish and have no completion time: means \
             and percentiles are too low; let the run go on, with measure.drain = \"all-finished\" \
             or a later measure.end"
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
    let everything = of("slowdowns", |flow| flow.ideal_ps().is_some());
    // The small ones are among all: one sentence will do.
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

/// Whether the network was still filling when flows began to count.
///
/// The first fifth of the flows that count is held against the second to fourth; the last may end
/// in a network that empties. Slowdowns are compared, in logarithms and by means of blocks: sizes,
/// a few giants and neighbours that are alike then do not pass for a trend.
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
    // With few blocks the limit is that of Student's t for as rare a chance, roughly.
    let limit = CHANCE * student::quantile(first.len().min(rest.len()) - 1) / 1.96;
    let difference = (early - later).exp_m1();
    let real_trend = (early - later).abs() > limit * noise.sqrt() && difference.abs() > TREND;
    real_trend.then(|| {
        let (percent, word) = (difference.abs() * 100.0, if difference < 0.0 { "less" } else { "more" });
        format!(
            "the first fifth of the counted flows takes {percent:.0} % {word} time than the next ones: \
             the network had not settled; {}",
            advice(group, &runs)
        )
    })
}

/// A fifth of all blocks.
const FIFTH: usize = BLOCKS / 5;

/// The mean logarithm of the slowdowns in each block of a run; of completion times where there are
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

/// How long a warm-up would do, as far as the runs show it.
fn advice(group: &Group<'_>, runs: &[Vec<Option<f64>>]) -> String {
    let settled = settled_after(runs);
    let flows = settled.and_then(|blocks| {
        let first = |record: View<'_>| {
            let count = counted(record).count();
            // The first flow of the block, as blocks are cut.
            let flow = counted(record).nth((blocks * count).div_ceil(BLOCKS))?;
            Some(flow.number)
        };
        group.records.iter().filter_map(|&record| first(record)).max()
    });
    match flows {
        Some(flows) => format!(
            "raise measure.warm_up_flows to about {} (estimated from these runs by MSER), with as \
             many more flows",
            rounded(flows)
        ),
        None => {
            let all = group.records.iter().map(|&record| counted(record).count());
            format!(
                "raise measure.warm_up_flows until this is gone: it had not settled in the first \
                 half of the {} flows of a run, so begin with twice as many",
                all.max().unwrap_or(0)
            )
        }
    }
}

/// How many blocks come before the network has settled, by the marginal standard error rule: the
/// rest without them has the smallest standard error of its mean. `None` if that is half of them or
/// more, in which case the runs are too short to say. The last fifth is left out, as for the trend.
fn settled_after(runs: &[Vec<Option<f64>>]) -> Option<usize> {
    // One series for all runs, so that chance within one of them matters less.
    let over_runs = |block: usize| {
        let means: Vec<f64> = runs.iter().filter_map(|means| means[block]).collect();
        mean(&means).map(|mean| (block, mean))
    };
    let series: Vec<(usize, f64)> = (0..4 * FIFTH).filter_map(over_runs).collect();
    let error = |cut: usize| {
        let rest: Vec<f64> = series[cut..].iter().map(|&(_, mean)| mean).collect();
        Some((cut, variance(&rest)? / real(rest.len())))
    };
    // Something is to be cut, or there would be no trend; of fewer than five no variance is worth
    // much.
    let cuts = 1..series.len().saturating_sub(4);
    let best = cuts.filter_map(error).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(cut, _)| cut)?;
    (best < series.len() / 2).then(|| series[best].0)
}

/// A number of flows to two digits, rounded up.
fn rounded(flows: u32) -> u32 {
    let digits = flows.checked_ilog10().unwrap_or(0);
    let unit = 10_u32.pow(digits.saturating_sub(1));
    flows.div_ceil(unit).saturating_mul(unit)
}
