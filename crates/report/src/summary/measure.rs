//! What is measured of a run: the columns of a table, each with its definition.
//!
//! Of flows only those that count are taken, and of times only those of flows that finished; warnings
//! say how many did not.

use crate::record::{Class, Distribution, Flow, Record};
use crate::statistics::bootstrap::{BLOCKS, Sample, Statistic};
use crate::statistics::{P99, jain, mean, rank, real, weighted_percentile};

use super::{Better, Metric};

/// A metric and where its value comes from.
pub(super) struct Measure {
    pub(super) metric: Metric,
    pub(super) of: Of,
}

/// Where a value comes from.
pub(super) enum Of {
    /// A number of each flow that counts.
    Flows(fn(&Flow) -> Option<f64>, Statistic),
    /// One class of service or one queue number: the value, and how many things it rests on.
    Part(fn(&Record, u8) -> Option<(f64, usize)>),
    /// The round-trip times of probes.
    Probes(Statistic),
    /// The run as a whole: the value, and how many things it rests on.
    Run(fn(&Record) -> Option<(f64, usize)>),
}

/// A measure of the whole network, or of one class of service or queue number.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) measure: &'static Measure,
    /// `None` for the whole.
    pub(super) part: Option<u8>,
}

/// What a run gives for a measure.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) value: f64,
    /// How many flows, probes, queues, links or runs it rests on.
    pub(super) samples: usize,
}

impl Measure {
    /// The measure of the whole network.
    pub(super) const fn whole(&'static self) -> Column {
        Column {
            measure: self,
            part: None,
        }
    }
}

impl Column {
    /// The value of a run, if it has one.
    pub(super) fn found(self, record: &Record) -> Option<Found> {
        let (value, samples) = match self.measure.of {
            Of::Flows(value, statistic) => {
                let flows = counted(record).filter(|flow| self.has(flow));
                calculate(flows.filter_map(value).collect(), statistic)?
            }
            Of::Part(value) => value(record, self.part?)?,
            Of::Probes(statistic) => {
                let times = record.probes.iter().map(|probe| seconds(probe.rtt_ps));
                calculate(times.collect(), statistic)?
            }
            Of::Run(value) => value(record)?,
        };
        value.is_finite().then_some(Found { value, samples })
    }

    /// The single values of a run and their blocks, if the measure has such.
    pub(super) fn sample(self, record: &Record) -> Option<Sample> {
        match self.measure.of {
            Of::Flows(value, _) => {
                let value = |flow: &Flow| value(flow).filter(|_| self.has(flow));
                Some(Sample::new(blocked(record, value)))
            }
            Of::Probes(_) => {
                let count = record.probes.len().max(1);
                let probes = record.probes.iter().enumerate();
                Some(Sample::new(probes.map(|(index, probe)| {
                    (seconds(probe.rtt_ps), index * BLOCKS / count)
                })))
            }
            Of::Part(_) | Of::Run(_) => None,
        }
    }

    /// Whether the blocks of two runs are of the same things.
    pub(super) fn is_paired(self, run: &Record, other: &Record) -> bool {
        let key = |flow: &Flow| (flow.number, flow.start_ps, flow.bytes);
        match self.measure.of {
            Of::Flows(..) => counted(run).map(key).eq(counted(other).map(key)),
            Of::Probes(_) => run.probes.len() == other.probes.len(),
            Of::Part(_) | Of::Run(_) => false,
        }
    }

    /// What is asked of the single values.
    pub(super) fn statistic(self) -> Option<Statistic> {
        match self.measure.of {
            Of::Flows(_, statistic) | Of::Probes(statistic) => Some(statistic),
            Of::Part(_) | Of::Run(_) => None,
        }
    }

    fn has(self, flow: &Flow) -> bool {
        self.part.is_none_or(|service| flow.service == service)
    }
}

/// The statistic of values, and how many there are.
fn calculate(mut values: Vec<f64>, statistic: Statistic) -> Option<(f64, usize)> {
    let value = match statistic {
        Statistic::Mean => mean(&values)?,
        Statistic::Percentile(fraction) => {
            let rank = rank(values.len(), fraction)?;
            *values.select_nth_unstable_by(rank, f64::total_cmp).1
        }
    };
    Some((value, values.len()))
}

/// The numbers of the flows that count, with their blocks: a flow's block depends on its place among
/// all that count, so that the same flows form a block whatever is asked of them, under every scheme.
pub(super) fn blocked(
    record: &Record,
    value: impl Fn(&Flow) -> Option<f64>,
) -> impl Iterator<Item = (f64, usize)> {
    let count = counted(record).count().max(1);
    let flows = counted(record).enumerate();
    flows.filter_map(move |(index, flow)| Some((value(flow)?, index * BLOCKS / count)))
}

/// The flows that count.
pub(super) fn counted(record: &Record) -> impl Iterator<Item = &Flow> {
    record.flows.iter().filter(|flow| flow.counts)
}

/// How many flows that count should have ended and did not.
pub(super) fn unfinished(record: &Record) -> usize {
    counted(record)
        .filter(|flow| flow.bytes.is_some() && flow.fct_ps.is_none())
        .count()
}

/// Completion time divided by that in an empty network.
pub(super) fn slowdown(flow: &Flow) -> Option<f64> {
    let ideal = flow.ideal_ps.filter(|&ideal| ideal > 0)?;
    Some(seconds(flow.fct_ps?) / seconds(ideal))
}

pub(super) fn completion(flow: &Flow) -> Option<f64> {
    flow.fct_ps.map(seconds)
}

fn of_class(flow: &Flow, class: Class) -> Option<f64> {
    completion(flow).filter(|_| flow.class == class)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a figure for people needs no more than 53 bits"
)]
pub(super) fn seconds(ps: u64) -> f64 {
    ps as f64 / 1e12
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a figure for people needs no more than 53 bits"
)]
pub(super) fn count(number: u64) -> f64 {
    number as f64
}

pub(super) const fn measure(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    better: Better,
    of: Of,
) -> Measure {
    Measure {
        metric: Metric {
            name,
            title,
            unit,
            better,
        },
        of,
    }
}

pub(super) const MEAN: Statistic = Statistic::Mean;
pub(super) const TAIL: Statistic = Statistic::Percentile(P99);

/// All measures, in the order of a table's columns.
pub(super) const MEASURES: [Measure; 19] = {
    use Better::{Higher, Lower, Neither};
    use Of::{Flows, Probes, Run};
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
        measure("marks", "marks", "", Neither, Run(marks)),
        measure("drops", "drops", "", Lower, Run(drops)),
        measure("timeouts", "timeouts", "", Lower, Run(timeouts)),
        measure("retransmissions", "resent", "", Lower, Run(retransmissions)),
        measure("unfinished", "unfinished", "", Lower, Run(left_over)),
        measure("queue_mean", "queue mean", "B", Lower, Run(queue_mean)),
        measure("queue_p99", "queue p99", "B", Lower, Run(queue_p99)),
        measure("goodput", "goodput", "bit/s", Higher, Flows(goodput, MEAN)),
        measure("fairness", "fairness", "", Higher, Run(fairness)),
        measure("utilisation", "utilisation", "", Higher, Run(utilisation)),
        measure("rtt_mean", "probe rtt mean", "s", Lower, Probes(MEAN)),
        measure("rtt_p99", "probe rtt p99", "s", Lower, Probes(TAIL)),
    ]
};

pub(super) fn small(flow: &Flow) -> Option<f64> {
    of_class(flow, Class::Small)
}

pub(super) fn medium(flow: &Flow) -> Option<f64> {
    of_class(flow, Class::Medium)
}

pub(super) fn large(flow: &Flow) -> Option<f64> {
    of_class(flow, Class::Large)
}

pub(super) fn goodput(flow: &Flow) -> Option<f64> {
    flow.goodput_bps.map(count)
}

#[expect(clippy::unnecessary_wraps, reason = "other measures may have no value")]
fn marks(record: &Record) -> Option<(f64, usize)> {
    Some((count(record.counters.marks.values().sum()), 1))
}

#[expect(clippy::unnecessary_wraps, reason = "other measures may have no value")]
fn drops(record: &Record) -> Option<(f64, usize)> {
    Some((count(record.counters.drops.values().sum()), 1))
}

#[expect(clippy::unnecessary_wraps, reason = "other measures may have no value")]
fn timeouts(record: &Record) -> Option<(f64, usize)> {
    Some((count(record.counters.timeouts), 1))
}

#[expect(clippy::unnecessary_wraps, reason = "other measures may have no value")]
fn retransmissions(record: &Record) -> Option<(f64, usize)> {
    Some((count(record.counters.retransmissions), 1))
}

fn left_over(record: &Record) -> Option<(f64, usize)> {
    let flows = counted(record).filter(|flow| flow.bytes.is_some()).count();
    (flows > 0).then(|| (real(unfinished(record)), flows))
}

/// Bytes in an observed queue, any of them, at any moment of the window.
fn queue_mean(record: &Record) -> Option<(f64, usize)> {
    mean_of(record.queues.iter().map(|queue| &queue.bytes))
}

/// What the bytes in an observed queue, any of them, do not exceed in 99 of 100 moments of the window.
fn queue_p99(record: &Record) -> Option<(f64, usize)> {
    p99_of(record.queues.iter().map(|queue| (&queue.bytes, 1.0)))
}

/// The mean of the means of distributions, and how many have one: a queue that was watched for no time
/// has none.
pub(super) fn mean_of<'a>(all: impl Iterator<Item = &'a Distribution>) -> Option<(f64, usize)> {
    let means = all.map(|one| one.mean).filter(|mean| mean.is_finite());
    let means: Vec<f64> = means.collect();
    Some((mean(&means)?, means.len()))
}

/// The 99th percentile of distributions put together, each with its weight, and how many there are.
pub(super) fn p99_of<'a>(
    all: impl Iterator<Item = (&'a Distribution, f64)>,
) -> Option<(f64, usize)> {
    let with: Vec<_> = all.filter(|(one, _)| !one.quantiles.is_empty()).collect();
    let weighted = |&(one, weight): &(&'a Distribution, f64)| {
        masses(one).map(move |(value, mass)| (value, mass * weight))
    };
    let mut masses: Vec<_> = with.iter().flat_map(weighted).collect();
    Some((weighted_percentile(&mut masses, P99)?, with.len()))
}

/// A distribution as values with the probability that each represents: what lies between two quantiles
/// counts as the upper one, what lies behind the last as the largest value.
fn masses(distribution: &Distribution) -> impl Iterator<Item = (f64, f64)> {
    let end = (1.0, distribution.max);
    let mut before = 0.0;
    distribution
        .quantiles
        .iter()
        .copied()
        .chain([end])
        .map(move |(probability, value)| {
            let mass = (probability - before).max(0.0);
            before = probability;
            (value, mass)
        })
}

/// Jain's index over the goodputs of flows that never end.
fn fairness(record: &Record) -> Option<(f64, usize)> {
    let endless = counted(record).filter(|flow| flow.bytes.is_none());
    let goodputs: Vec<f64> = endless.filter_map(goodput).collect();
    let several = goodputs.len() > 1;
    several
        .then(|| Some((jain(&goodputs)?, goodputs.len())))
        .flatten()
}

/// The part of the time in which an observed link, any of them, sent.
fn utilisation(record: &Record) -> Option<(f64, usize)> {
    let parts = record.links.iter().map(|link| link.utilisation);
    let parts: Vec<f64> = parts.filter(|part| part.is_finite()).collect();
    Some((mean(&parts)?, parts.len()))
}
