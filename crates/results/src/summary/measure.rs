//! The metrics of a run: the columns of a table and their definitions.
//!
//! Flow metrics cover flows that count, and times cover flows that finished; a warning gives the
//! number of unfinished flows.

use crate::brief::{Brief, View};
use crate::record::{Class, ClassPauses, Distribution, Queue};
use crate::statistics::bootstrap::{BLOCKS, Sample, Statistic};
use crate::statistics::{P99, Percentile, jain, mean, real, weighted_percentile};

use super::{Better, Metric};

/// A metric and its definition.
pub(super) struct Measure {
    pub(super) metric: Metric,
    pub(super) of: Of,
}

/// A value and its sample count.
type Value = Option<(f64, usize)>;

/// Definition of a value.
pub(super) enum Of {
    /// A statistic over the flows that count.
    Flows(fn(&Brief) -> Option<f64>, Statistic),
    /// A statistic over the round-trip times of probes.
    Probes(Statistic),
    /// A value of the whole run, or of one class of service or queue number.
    Run(fn(View<'_>, Option<u8>) -> Value),
}

/// A measure of the whole network, or of one class of service or queue number.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) measure: &'static Measure,
    pub(super) slice: Slice,
}

/// Flows and queues that a column covers.
#[derive(Clone, Copy)]
pub(super) enum Slice {
    /// One class of service or queue number.
    Number(u8),
    /// One bin of flow sizes.
    Sizes(Bin),
    /// All.
    Whole,
}

/// A bin of flow sizes, without its lower bound.
#[derive(Clone, Copy)]
pub(super) struct Bin {
    pub(super) above: u64,
    pub(super) up_to: u64,
}

impl Bin {
    fn has(self, flow: &Brief) -> bool {
        let within = |bytes| self.above < bytes && bytes <= self.up_to;
        flow.bytes().is_some_and(within)
    }
}

/// The value of a measure in one run.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) value: f64,
    /// Number of flows, probes, queues, links or runs behind the value.
    pub(super) samples: usize,
}

impl Measure {
    /// The measure of the whole network.
    pub(super) const fn whole(&'static self) -> Column {
        Column { measure: self, slice: Slice::Whole }
    }
}

impl Column {
    /// The value of a run, if it has one.
    pub(super) fn found(self, record: View<'_>) -> Option<Found> {
        let (value, samples) = match self.measure.of {
            Of::Flows(value, statistic) => {
                let flows = counted(record).filter(|flow| self.has(flow));
                calculate(
                    flows.filter_map(|flow| value(&flow)).collect(),
                    statistic,
                    record.run.percentile,
                )?
            }
            Of::Probes(statistic) => {
                let times = record.probes.iter().map(|probe| seconds(probe.rtt_ps));
                calculate(times.collect(), statistic, Percentile::NearestRank)?
            }
            Of::Run(value) => value(record, self.number())?,
        };
        value.is_finite().then_some(Found { value, samples })
    }

    /// The single values of a run with their blocks, if the measure has single values.
    pub(super) fn sample(self, record: View<'_>) -> Option<Sample> {
        match self.measure.of {
            Of::Flows(value, _) => {
                let value = |flow: &Brief| value(flow).filter(|_| self.has(flow));
                Some(Sample::new(record.run.percentile, blocked(record, value)))
            }
            Of::Probes(_) => {
                // A block is a time interval over all series, which are stored one after the other.
                let series = record.probes.chunk_by(|one, next| one.series == next.series);
                let blocked = series.flat_map(|series| {
                    let block = |index| index * BLOCKS / series.len();
                    let probes = series.iter().enumerate();
                    probes.map(move |(index, probe)| (seconds(probe.rtt_ps), block(index)))
                });
                Some(Sample::new(Percentile::NearestRank, blocked))
            }
            Of::Run(_) => None,
        }
    }

    /// Whether the blocks of two runs hold the same flows or probes.
    pub(super) fn is_paired(self, run: View<'_>, other: View<'_>) -> bool {
        let key = |flow: Brief| (flow.number, flow.start_ps, flow.bytes());
        match self.measure.of {
            Of::Flows(..) => counted(run).map(key).eq(counted(other).map(key)),
            Of::Probes(_) => {
                let mut probes = run.probes.iter().zip(other.probes);
                run.probes.len() == other.probes.len()
                    && probes.all(|(one, other)| one.series == other.series)
            }
            Of::Run(_) => false,
        }
    }

    /// The statistic over the single values.
    pub(super) fn statistic(self) -> Option<Statistic> {
        match self.measure.of {
            Of::Flows(_, statistic) | Of::Probes(statistic) => Some(statistic),
            Of::Run(_) => None,
        }
    }

    fn has(self, flow: &Brief) -> bool {
        match self.slice {
            Slice::Number(number) => flow.service == number,
            Slice::Sizes(bin) => bin.has(flow),
            Slice::Whole => true,
        }
    }

    const fn number(self) -> Option<u8> {
        match self.slice {
            Slice::Number(number) => Some(number),
            Slice::Sizes(_) | Slice::Whole => None,
        }
    }
}

/// The statistic of values, and how many there are.
fn calculate(mut values: Vec<f64>, statistic: Statistic, rule: Percentile) -> Value {
    let value = match statistic {
        Statistic::Mean => mean(&values)?,
        Statistic::Percentile(fraction) => {
            let rank = rule.rank(values.len(), fraction)?;
            *values.select_nth_unstable_by(rank, f64::total_cmp).1
        }
    };
    Some((value, values.len()))
}

/// The values of the flows that count, with their blocks. A flow's block depends on its position
/// among all flows that count, so every metric and every scheme has the same flows in a block.
pub(super) fn blocked(
    record: View<'_>,
    value: impl Fn(&Brief) -> Option<f64>,
) -> impl Iterator<Item = (f64, usize)> {
    let count = counted(record).count().max(1);
    let flows = counted(record).enumerate();
    flows.filter_map(move |(index, flow)| Some((value(&flow)?, index * BLOCKS / count)))
}

/// The flows that count.
pub(super) fn counted(record: View<'_>) -> impl Iterator<Item = Brief> {
    record.flows().filter(|flow| flow.counts)
}

/// Number of flows that count, can end and did not finish.
pub(super) fn unfinished(record: View<'_>) -> usize {
    counted(record).filter(|flow| flow.bytes().is_some() && flow.fct_ps().is_none()).count()
}

/// Completion time divided by that in an empty network.
pub(super) fn slowdown(flow: &Brief) -> Option<f64> {
    let ideal = flow.ideal_ps().filter(|&ideal| ideal > 0)?;
    Some(seconds(flow.fct_ps()?) / seconds(ideal))
}

pub(super) fn completion(flow: &Brief) -> Option<f64> {
    flow.fct_ps().map(seconds)
}

fn of_class(flow: &Brief, class: Class) -> Option<f64> {
    completion(flow).filter(|_| flow.class == class)
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people needs no more than 53 bits")]
pub(super) fn seconds(ps: u64) -> f64 {
    ps as f64 / 1e12
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people needs no more than 53 bits")]
fn count(number: u64) -> f64 {
    number as f64
}

const MEAN: Statistic = Statistic::Mean;
const TAIL: Statistic = Statistic::Percentile(P99);

macro_rules! measures {
    ($($name:literal, $title:literal, $unit:literal, $better:ident, $of:ident($($what:expr),+);)*) => {
        &[$(Measure {
            metric: Metric { name: $name, title: $title, unit: $unit, better: Better::$better },
            of: Of::$of($($what),+),
        }),*]
    };
}

/// Flow metrics, for all flows or one class of service.
const OF_FLOWS: &[Measure] = measures! {
    "fct_mean", "overall mean", "s", Lower, Flows(completion, MEAN);
    "fct_small_mean", "small mean", "s", Lower, Flows(small, MEAN);
    "fct_small_p99", "small p99", "s", Lower, Flows(small, TAIL);
    "fct_medium_mean", "medium mean", "s", Lower, Flows(medium, MEAN);
    "fct_large_mean", "large mean", "s", Lower, Flows(large, MEAN);
    "slowdown_mean", "slowdown mean", "", Lower, Flows(slowdown, MEAN);
    "slowdown_p99", "slowdown p99", "", Lower, Flows(slowdown, TAIL);
};

const OF_RUN: &[Measure] = measures! {
    "marks", "marks", "", Neither, Run(|run, _| whole(run.counters.marks.values().sum()));
    "drops", "drops", "", Lower, Run(|run, _| whole(run.counters.drops.values().sum()));
    "timeouts", "timeouts", "", Lower, Run(|run, _| whole(run.counters.timeouts));
    "retransmissions", "resent", "", Lower, Run(|run, _| whole(run.counters.retransmissions));
    "unfinished", "unfinished", "", Lower, Run(left_over);
    "queue_mean", "queue mean", "B", Lower, Run(queue_mean);
    "queue_p99", "queue p99", "B", Lower, Run(queue_p99);
    "goodput", "goodput", "bit/s", Higher, Flows(goodput, MEAN);
    "fairness", "fairness", "", Higher, Run(fairness);
    "utilisation", "utilisation", "", Higher, Run(utilisation);
    "pauses", "pauses", "", Lower, Run(pauses);
    "pause_rate", "pause rate", "bit/s", Lower, Run(pause_rate);
    "pause_time", "time paused", "s", Lower, Run(pause_time);
    "pause_longest", "longest pause", "s", Lower, Run(pause_longest);
    "rtt_mean", "probe rtt mean", "s", Lower, Probes(MEAN);
    "rtt_p99", "probe rtt p99", "s", Lower, Probes(TAIL);
};

const OF_SERVICE: &[Measure] = measures! {
    "byte_share", "share of bytes", "", Neither, Run(byte_share);
    "goodput_share", "share of goodput", "", Neither, Run(goodput_share);
    "goodput", "goodput", "bit/s", Higher, Flows(goodput, MEAN);
    "marks", "marks", "", Neither, Run(|run, part| sum(run, part, |flow| flow.marks));
    "timeouts", "timeouts", "", Lower, Run(|run, part| sum(run, part, |flow| flow.timeouts));
    "retransmissions", "resent", "", Lower, Run(|run, part| sum(run, part, |flow| flow.retransmissions));
    "unfinished", "unfinished", "", Lower, Run(left_over);
    "pauses", "pauses", "", Lower, Run(pauses);
    "pause_rate", "pause rate", "bit/s", Lower, Run(pause_rate);
    "pause_time", "time paused", "s", Lower, Run(pause_time);
    "pause_longest", "longest pause", "s", Lower, Run(pause_longest);
};

const OF_SIZE: &[Measure] = measures! {
    "fct_mean", "mean", "s", Lower, Flows(completion, MEAN);
    "fct_p99", "p99", "s", Lower, Flows(completion, TAIL);
    "slowdown_mean", "slowdown mean", "", Lower, Flows(slowdown, MEAN);
    "slowdown_p99", "slowdown p99", "", Lower, Flows(slowdown, TAIL);
    "goodput", "goodput", "bit/s", Higher, Flows(goodput, MEAN);
};

const OF_QUEUE: &[Measure] = measures! {
    "throughput_share", "share of throughput", "", Neither, Run(throughput_share);
    "queue_mean", "queue mean", "B", Lower, Run(queue_mean);
    "queue_p99", "queue p99", "B", Lower, Run(queue_p99);
    "wait_mean", "wait mean", "s", Lower, Run(wait_mean);
    "wait_p99", "wait p99", "s", Lower, Run(wait_p99);
    "mark_share", "share marked", "", Neither, Run(mark_share);
    "queue_marks", "marks", "", Neither, Run(queue_marks);
    "queue_drops", "drops", "", Lower, Run(queue_drops);
};

/// All measures of a run, in the order of a table's columns.
pub(super) fn of_run() -> impl Iterator<Item = &'static Measure> {
    OF_FLOWS.iter().chain(OF_RUN)
}

/// The measures of a class of service, in the order of a table's columns.
pub(super) fn of_service() -> impl Iterator<Item = &'static Measure> {
    OF_FLOWS.iter().chain(OF_SERVICE)
}

/// The measures of a flow-size bin, in the order of a table's columns.
pub(super) fn of_size() -> impl Iterator<Item = &'static Measure> {
    OF_SIZE.iter()
}

/// The measures of a queue number, in the order of a table's columns.
pub(super) fn of_queue() -> impl Iterator<Item = &'static Measure> {
    OF_QUEUE.iter()
}

/// Whether a number belongs to the part; without a part, every number does.
fn is_of(number: u8, part: Option<u8>) -> bool {
    part.is_none_or(|part| part == number)
}

fn small(flow: &Brief) -> Option<f64> {
    of_class(flow, Class::Small)
}

fn medium(flow: &Brief) -> Option<f64> {
    of_class(flow, Class::Medium)
}

fn large(flow: &Brief) -> Option<f64> {
    of_class(flow, Class::Large)
}

fn goodput(flow: &Brief) -> Option<f64> {
    flow.goodput_bps().map(count)
}

#[expect(clippy::unnecessary_wraps, reason = "other measures may have no value")]
fn whole(total: u64) -> Value {
    Some((count(total), 1))
}

/// The flows that count, of one class of service if `part` names one.
fn served(record: View<'_>, part: Option<u8>) -> impl Iterator<Item = Brief> {
    counted(record).filter(move |flow| is_of(flow.service, part))
}

/// Number of flows that can end and did not finish.
fn left_over(record: View<'_>, part: Option<u8>) -> Value {
    let can_end = || served(record, part).filter(|flow| flow.bytes().is_some());
    let flows = can_end().count();
    let left = can_end().filter(|flow| flow.fct_ps().is_none()).count();
    (flows > 0).then(|| (real(left), flows))
}

/// The mean of the means of distributions, and their number. A queue observed for no time has no
/// mean.
fn mean_of<'a>(all: impl Iterator<Item = &'a Distribution>) -> Value {
    let means = all.map(|one| one.mean).filter(|mean| mean.is_finite());
    let means: Vec<f64> = means.collect();
    Some((mean(&means)?, means.len()))
}

/// The 99th percentile of merged, weighted distributions, and their number.
fn p99_of<'a>(all: impl Iterator<Item = (&'a Distribution, f64)>) -> Value {
    let with: Vec<_> = all.filter(|(one, _)| !one.quantiles.is_empty()).collect();
    let weighted = |&(one, weight): &(&'a Distribution, f64)| {
        masses(one).map(move |(value, mass)| (value, mass * weight))
    };
    let mut masses: Vec<_> = with.iter().flat_map(weighted).collect();
    Some((weighted_percentile(&mut masses, P99)?, with.len()))
}

/// A distribution as values with probability masses: the mass between two quantiles counts as the
/// upper one, and the mass above the last as the largest value.
fn masses(distribution: &Distribution) -> impl Iterator<Item = (f64, f64)> {
    let end = (1.0, distribution.max);
    let mut before = 0.0;
    distribution.quantiles.iter().copied().chain([end]).map(move |(probability, value)| {
        let mass = (probability - before).max(0.0);
        before = probability;
        (value, mass)
    })
}

/// Jain's index over the goodputs of endless flows.
fn fairness(record: View<'_>, _: Option<u8>) -> Value {
    let endless = counted(record).filter(|flow| flow.bytes().is_none());
    let goodputs: Vec<f64> = endless.filter_map(|flow| goodput(&flow)).collect();
    let several = goodputs.len() > 1;
    several.then(|| Some((jain(&goodputs)?, goodputs.len()))).flatten()
}

/// Share of time that observed links spent sending, on average.
fn utilisation(record: View<'_>, _: Option<u8>) -> Value {
    let parts = record.links.iter().map(|link| link.utilisation);
    let parts: Vec<f64> = parts.filter(|part| part.is_finite()).collect();
    Some((mean(&parts)?, parts.len()))
}

/// The paused classes of links, of one class if `part` names one; classes have the numbers of
/// services. `None` if switches send no pause frames.
fn paused(record: View<'_>, part: Option<u8>) -> Option<impl Iterator<Item = &ClassPauses>> {
    let classes = record.pauses?.classes.iter();
    Some(classes.filter(move |class| is_of(class.of.class, part)))
}

/// Pause frames that stopped a class of a link.
fn pauses(record: View<'_>, part: Option<u8>) -> Value {
    whole(paused(record, part)?.map(|class| class.pauses).sum())
}

/// Rate of pause frames in the whole network, at 64 bytes each.
fn pause_rate(record: View<'_>, part: Option<u8>) -> Value {
    let (frames, runs) = pauses(record, part)?;
    let span = seconds(record.run.ended_at_ps);
    (span > 0.0).then(|| (frames * PAUSE_FRAME * 8.0 / span, runs))
}

/// Bytes of a pause frame (IEEE 802.1Qbb).
const PAUSE_FRAME: f64 = 64.0;

/// Total time that classes of links were paused.
fn pause_time(record: View<'_>, part: Option<u8>) -> Value {
    let times = paused(record, part)?.map(|class| class.paused_ps);
    Some((seconds(times.sum()), 1))
}

/// Longest time that one class of a link was paused without a break.
fn pause_longest(record: View<'_>, part: Option<u8>) -> Value {
    let times = paused(record, part)?.map(|class| class.longest_ps);
    Some((seconds(times.max().unwrap_or(0)), 1))
}

/// A class's share of a sum over the flows that count.
fn share(record: View<'_>, part: Option<u8>, bytes: fn(&Brief) -> Option<u64>) -> Value {
    let (mut own, mut all, mut flows) = (0.0, 0.0, 0);
    for flow in counted(record) {
        let Some(bytes) = bytes(&flow) else { continue };
        all += count(bytes);
        if is_of(flow.service, part) {
            own += count(bytes);
            flows += 1;
        }
    }
    (all > 0.0).then(|| (own / all, flows))
}

/// Share of the bytes of finished flows.
fn byte_share(record: View<'_>, part: Option<u8>) -> Value {
    share(record, part, |flow| flow.fct_ps().and(flow.bytes()))
}

/// Share of the bytes received in the observed window.
fn goodput_share(record: View<'_>, part: Option<u8>) -> Value {
    share(record, part, Brief::received)
}

/// A sum over the flows of a class that count.
fn sum(record: View<'_>, part: Option<u8>, of: fn(&Brief) -> u32) -> Value {
    let flows = served(record, part).count();
    let values = served(record, part).map(|flow| f64::from(of(&flow)));
    (flows > 0).then(|| (values.sum(), flows))
}

/// The observed queues, of one number if `part` names one.
fn numbered(record: View<'_>, part: Option<u8>) -> impl Iterator<Item = &Queue> {
    let queues = record.queues.iter();
    queues.filter(move |queue| is_of(queue.queue, part))
}

/// Share of the bytes that observed ports sent.
fn throughput_share(record: View<'_>, part: Option<u8>) -> Value {
    let (all, _) = counts(record, None, |queue| queue.sent_bytes)?;
    let (own, queues) = counts(record, part, |queue| queue.sent_bytes).unwrap_or_default();
    (all > 0.0).then(|| (own / all, queues))
}

/// Mean length of the observed queues in bytes, over the window.
fn queue_mean(record: View<'_>, part: Option<u8>) -> Value {
    mean_of(numbered(record, part).map(|queue| &queue.bytes))
}

/// Length in bytes that an observed queue does not exceed 99 % of the time in the window.
fn queue_p99(record: View<'_>, part: Option<u8>) -> Value {
    p99_of(numbered(record, part).map(|queue| (&queue.bytes, 1.0)))
}

/// Mean sojourn time of packets over all observed queues.
fn wait_mean(record: View<'_>, part: Option<u8>) -> Value {
    let (mut waited, mut packets) = (0.0, 0.0);
    for queue in numbered(record, part).filter(|queue| queue.wait_ps.mean.is_finite()) {
        waited += queue.wait_ps.mean * count(queue.sent);
        packets += count(queue.sent);
    }
    (packets > 0.0).then(|| (waited / packets / 1e12, numbered(record, part).count()))
}

fn wait_p99(record: View<'_>, part: Option<u8>) -> Value {
    let used = numbered(record, part).filter(|queue| queue.sent > 0);
    let (ps, queues) = p99_of(used.map(|queue| (&queue.wait_ps, count(queue.sent))))?;
    Some((ps / 1e12, queues))
}

fn queue_marks(record: View<'_>, part: Option<u8>) -> Value {
    counts(record, part, |queue| queue.marks.values().sum())
}

fn queue_drops(record: View<'_>, part: Option<u8>) -> Value {
    counts(record, part, |queue| queue.drops.values().sum())
}

fn counts(record: View<'_>, part: Option<u8>, of: fn(&Queue) -> u64) -> Value {
    let queues = numbered(record, part).count();
    let sum = numbered(record, part).map(|queue| count(of(queue))).sum();
    (queues > 0).then_some((sum, queues))
}

/// Share of sent packets that the queue marked.
fn mark_share(record: View<'_>, part: Option<u8>) -> Value {
    let (sent, queues) = counts(record, part, |queue| queue.sent)?;
    let (marks, _) = queue_marks(record, part)?;
    (sent > 0.0).then(|| (marks / sent, queues))
}
