//! What a claim measures, in one run.

use std::collections::BTreeMap;

use serde::Deserialize;
use tidegate_report::Record;
use tidegate_report::record::{Class, Flow, Quantity};

use super::figure::Number;
use super::pattern;

/// A number that a run has.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Measure {
    /// One of the metrics of a summary, by name.
    Metric(String),
    /// One that figures need beside them.
    Special(Special),
}

/// Measures that summaries do not have.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "of", deny_unknown_fields)]
pub enum Special {
    /// The part of all packets that was dropped.
    Loss,
    /// The goodput of all flows of a source together, in bits per second.
    Goodput {
        /// The source, by its place in the scenario; all if absent.
        source: Option<u32>,
    },
    /// Packets marked for any reason, of those sent over all links.
    MarkFraction,
    /// A number taken from samples over time.
    Series {
        /// Which number.
        quantity: Quantity,
        /// Of what; `*` stands for any text.
        subject: String,
        /// What is taken from the samples.
        take: FromSamples,
        /// The time of the first sample that counts.
        from: Option<Number>,
        /// The time of the last.
        to: Option<Number>,
    },
    /// The goodput of the flows of a source that are on their way in the time, from samples.
    Timeouts {
        /// Of flows of this class; of all if absent.
        class: Option<Class>,
    },
    /// The mean completion time of the flows of a source.
    FctOfSource {
        /// The source, by its place in the scenario.
        source: u32,
        /// The percentile, or the mean if absent.
        percentile: Option<f64>,
    },
    /// The mean waiting time or length of the observed queues whose port fits.
    Queue {
        /// The port; `*` stands for any text.
        port: String,
        /// The queue's number; all if absent.
        queue: Option<u8>,
        /// What is taken.
        take: FromQueue,
    },
}

/// What is taken from samples.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromSamples {
    /// How often the number changed.
    Changes,
    /// The largest.
    Max,
    /// The mean.
    Mean,
    /// The smallest.
    Min,
    /// The time from the first sample that counts until all later ones are near a value.
    Settles {
        /// The value.
        at: Number,
        /// How near, as a part of it.
        within: Number,
    },
}

/// What is taken from a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromQueue {
    /// Packets dropped.
    Drops,
    /// Packets marked.
    Marks,
    /// Its longest length in bytes.
    MaxBytes,
    /// Its mean length in bytes.
    MeanBytes,
    /// Its mean length in packets.
    MeanPackets,
}

impl Special {
    /// The measure's value in a run, if it has one.
    pub fn value(&self, record: &Record) -> Option<f64> {
        match self {
            Self::Loss => {
                let dropped = sum(&record.counters.drops);
                ratio(dropped, record.counters.packet_hops as f64 + dropped)
            }
            Self::MarkFraction => ratio(
                sum(&record.counters.marks),
                record.counters.packet_hops as f64,
            ),
            Self::Goodput { source } => {
                let flows = record.flows.iter().filter(|flow| belongs(flow, *source));
                let rates: Vec<f64> = flows
                    .filter_map(|flow| flow.goodput_bps)
                    .map(|rate| rate as f64)
                    .collect();
                (!rates.is_empty()).then(|| rates.iter().sum())
            }
            Self::Timeouts { class } => {
                let flows = record.flows.iter().filter(|flow| flow.counts);
                let flows = flows.filter(|flow| class.is_none_or(|class| class == flow.class));
                Some(flows.map(|flow| f64::from(flow.timeouts)).sum())
            }
            Self::FctOfSource { source, percentile } => {
                let flows = record.flows.iter().filter(|flow| belongs(flow, Some(*source)));
                let mut times: Vec<u64> = flows.filter_map(|flow| flow.fct_ps).collect();
                times.sort_unstable();
                match percentile {
                    None => ratio(times.iter().map(|&time| time as f64).sum(), times.len() as f64),
                    Some(percentile) => nearest_rank(&times, *percentile),
                }
                .map(|picos| picos / 1e12)
            }
            Self::Series {
                quantity,
                subject,
                take,
                from,
                to,
            } => {
                let from = from.as_ref().map_or(f64::NEG_INFINITY, |time| time.value);
                let to = to.as_ref().map_or(f64::INFINITY, |time| time.value);
                let series = &record.series;
                let traces = series.traces.iter();
                let mut traces = traces
                    .filter(|trace| trace.quantity == *quantity && pattern::fits(subject, &trace.of));
                let trace = traces.next()?;
                let time = |index: usize| {
                    (series.from_ps as f64 + index as f64 * series.interval_ps as f64) / 1e12
                };
                let samples = trace.values.iter().enumerate();
                let samples: Vec<(f64, f64)> = samples
                    .map(|(index, &value)| (time(index), value))
                    .filter(|&(at, value)| from <= at && at <= to && !value.is_nan())
                    .collect();
                take.value(&samples)
            }
            Self::Queue { port, queue, take } => {
                let queues = record.queues.iter();
                let queues = queues.filter(|seen| {
                    pattern::fits(port, &seen.port) && queue.is_none_or(|queue| queue == seen.queue)
                });
                let values: Vec<f64> = queues
                    .map(|seen| match take {
                        FromQueue::Drops => sum(&seen.drops),
                        FromQueue::Marks => sum(&seen.marks),
                        FromQueue::MaxBytes => seen.bytes.max,
                        FromQueue::MeanBytes => seen.bytes.mean,
                        FromQueue::MeanPackets => seen.packets.mean,
                    })
                    .collect();
                let total = values.iter().sum::<f64>();
                match take {
                    FromQueue::Drops | FromQueue::Marks => (!values.is_empty()).then_some(total),
                    FromQueue::MaxBytes => values.into_iter().reduce(f64::max),
                    FromQueue::MeanBytes | FromQueue::MeanPackets => {
                        ratio(total, values.len() as f64)
                    }
                }
            }
        }
    }
}

impl FromSamples {
    fn value(&self, samples: &[(f64, f64)]) -> Option<f64> {
        let values = samples.iter().map(|&(_, value)| value);
        match self {
            Self::Changes => {
                let pairs = samples.windows(2).filter(|pair| pair[0].1 != pair[1].1);
                Some(pairs.count() as f64)
            }
            Self::Max => values.reduce(f64::max),
            Self::Min => values.reduce(f64::min),
            Self::Mean => ratio(values.sum(), samples.len() as f64),
            Self::Settles { at, within } => {
                let (begin, _) = samples.first()?;
                let is_far =
                    |&&(_, value): &&(f64, f64)| (value - at.value).abs() > within.value * at.value;
                let last_far = samples.iter().rev().find(is_far);
                Some(last_far.map_or(0.0, |(time, _)| time - begin))
            }
        }
    }
}

fn belongs(flow: &Flow, source: Option<u32>) -> bool {
    flow.counts && source.is_none_or(|source| source == flow.source)
}

fn sum(counts: &BTreeMap<String, u64>) -> f64 {
    counts.values().sum::<u64>() as f64
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn nearest_rank(sorted: &[u64], percentile: f64) -> Option<f64> {
    let rank = (percentile / 100.0 * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).map(|&value| value as f64)
}
