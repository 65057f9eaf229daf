//! Measures of claims, for one run.

#![expect(clippy::cast_precision_loss, reason = "figures for people need no more than 53 bits")]

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess};
use serde::{Deserialize, Serialize, Serializer};
use tidegate_results::Record;
use tidegate_results::record::{
    Class, Decisions, Flow, PortFlows, Quantity, Trace, TraceEvent, Traced,
};
use tidegate_results::statistics::mean;
use tidegate_results::summary::{self, Metric};
use tidegate_sim::observe::max_min;
use tidegate_units::Ratio;

use super::arithmetic::Division;
use super::number::Number;
use super::{occupancy, pattern};

/// Metrics of summaries that are fractions of a whole.
const FRACTIONS: [&str; 5] =
    ["byte_share", "fairness", "goodput_share", "throughput_share", "utilisation"];

/// Number of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// Metric of a summary.
    Metric(Metric),
    /// Measure that only figures need.
    Special(Special),
}

/// Measures that summaries lack.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", tag = "of", deny_unknown_fields)]
pub enum Special {
    /// Error of ECN♯'s division on a chip; needs no run.
    Division(Division),
    /// Completion time of the flows of a source.
    FctOfSource {
        /// Index of the source in the scenario.
        source: u32,
        /// Percentile; the mean if absent.
        percentile: Option<u32>,
    },
    /// Standard deviation of the completion times of a source's flows.
    FctDeviation {
        /// Index of the source in the scenario.
        source: u32,
    },
    /// Mean completion time of flows of some sizes.
    FctOfSizes {
        /// Only larger flows.
        above: Option<Number>,
        /// Only flows up to this size.
        up_to: Option<Number>,
    },
    /// Total goodput of a source's flows, in bits per second.
    Goodput {
        /// Index of the source in the scenario; all if absent.
        source: Option<u32>,
    },
    /// Standard deviation of the flows' goodputs, relative to their mean.
    GoodputDeviation,
    /// Fraction of all packets that was dropped, on all links.
    Loss,
    /// The same of each observed port with a matching name, then the mean of the ports, independent
    /// of their traffic.
    LossOfPorts {
        /// Ports; `*` matches any text.
        ports: Vec<String>,
    },
    /// Fraction of packets marked for any reason, on all links.
    MarkFraction,
    /// Max-min share of a flow, in bits per second; needs no run.
    MaxMin(Share),
    /// Flows at ports that distinguish flows: mean over the matching ports, and decisions of all of
    /// them together.
    PortFlows {
        /// Port; `*` matches any text.
        port: String,
        /// Statistic.
        take: FromPortFlows,
    },
    /// Fraction of flows of some sizes that took no longer than a time. Unfinished flows took
    /// longer.
    PartWithin {
        /// Time.
        time: Number,
        /// Only flows up to this size.
        up_to: Option<Number>,
    },
    /// Bytes in all sampled queues of a port together.
    PortLength {
        /// Port; `*` matches any text.
        port: String,
        /// Percentile over time; the mean if absent.
        percentile: Option<u32>,
    },
    /// Quotient of numbers; needs no run.
    Quotient {
        /// Dividend.
        value: Number,
        /// Divisors.
        by: Vec<Number>,
    },
    /// Observed queues of the matching ports.
    Queue {
        /// Port; `*` matches any text.
        port: String,
        /// Queue number; all if absent.
        queue: Option<u8>,
        /// Statistic.
        take: FromQueue,
    },
    /// Mean round trip of probes above a base: their queueing delay.
    RttBeyond {
        /// Base.
        base: Number,
    },
    /// Segments that leave in the round trip after a segment with CWR: from its departure until its
    /// ACK arrives, and those that this ACK releases. Mean over all such segments of the traced
    /// flow.
    SegmentsAfterCwr {
        /// Part of the round trip; both together if absent.
        part: Option<AfterCwr>,
        /// Time from which segments with CWR count.
        from: Option<Number>,
    },
    /// Statistic of samples over time.
    Series {
        /// Quantity.
        quantity: Quantity,
        /// Subject; `*` matches any text.
        subject: String,
        /// Statistic of the samples.
        take: FromSamples,
        /// Time of the first sample that counts.
        from: Option<Number>,
        /// Time of the last sample that counts.
        to: Option<Number>,
        /// Interval over which samples are averaged first, so that variation from packet to packet
        /// is left out.
        averaged: Option<Number>,
        /// Subject of the divisor.
        per: Option<String>,
    },
    /// Mean of the senders' smoothed round-trip times at the end of their flows.
    Srtt {
        /// Index of the source in the scenario; all if absent.
        source: Option<u32>,
    },
    /// Standard deviation of the same.
    SrttDeviation {
        /// Index of the source in the scenario; all if absent.
        source: Option<u32>,
    },
    /// Number of retransmission timeouts.
    Timeouts {
        /// Class of the flows; all if absent.
        class: Option<Class>,
        /// Scales the number to this many flows of all classes, to compare runs with fewer flows;
        /// unscaled if absent.
        per: Option<u32>,
    },
}

/// Kind of a number, which decides how close to a published one it has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Arithmetic without a run.
    Arithmetic,
    /// Number of events, or their rate.
    Events,
    /// Time, length or fraction.
    Extent,
    /// Rate of data.
    Rate,
    /// Number found by a sweep.
    Swept,
}

/// Part of the round trip after a segment with CWR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterCwr {
    /// Segments that its ACK releases: those that leave before the next ACK arrives.
    NextBurst,
    /// Segments that leave before its ACK arrives.
    RoundTrip,
}

/// Flow among others that share a link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Rate of the link.
    capacity: Number,
    /// Demand of each flow.
    demands: Vec<Number>,
    /// Index of the flow.
    flow: usize,
}

impl Share {
    /// Max-min share by water-filling, to the bit per second.
    fn value(&self) -> Option<f64> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rates are positive, and far below 2^64 bit/s"
        )]
        let whole = |number: &Number| number.value.round() as u64;
        let demands: Vec<u64> = self.demands.iter().map(whole).collect();
        let shares = max_min(whole(&self.capacity), &demands);
        shares.get(self.flow).map(|&share| share as f64)
    }
}

/// Statistic of the flows at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromPortFlows {
    /// Fraction of decisions that agree with the ideal marker (DiffECN, equation 3).
    Accuracy,
    /// Mean number of active flows over time.
    ActiveMean,
    /// The same relative to the port's connections, both from samples.
    ActiveOfConnections,
    /// Percentile of the number of active flows over time.
    ActivePercentile(u32),
    /// Fraction of the ideal marker's marks that are marked (equation 4).
    Recall,
}

/// Statistic of samples.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromSamples {
    /// Number of changes.
    Changes,
    /// Time from the first sample that counts until all later ones are near the max-min share of a
    /// flow.
    Converges {
        /// The flow and the others on its link.
        share: Box<Share>,
        /// Tolerance, relative to the share.
        within: Number,
    },
    /// Standard deviation.
    Deviation,
    /// Maximum.
    Max,
    /// Mean.
    Mean,
    /// Minimum.
    Min,
    /// Time from the first sample that counts until the first that is near a value.
    Reaches {
        /// Value.
        at: Number,
        /// Tolerance, relative to the value.
        within: Number,
    },
    /// Time from the first sample that counts until all later ones are near a value.
    Settles {
        /// Value.
        at: Number,
        /// Tolerance, relative to the value.
        within: Number,
    },
    /// Maximum of the inputs of an exponential average, one per change.
    UnsmoothedMax {
        /// Weight of the average's old value.
        weight: Number,
    },
    /// Minimum of the same.
    UnsmoothedMin {
        /// Weight of the average's old value.
        weight: Number,
    },
}

/// Statistic of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromQueue {
    /// Packets dropped.
    Drops,
    /// Packets marked.
    Marks,
    /// Maximum length in bytes.
    MaxBytes,
    /// Mean length in bytes.
    MeanBytes,
    /// Mean length in packets.
    MeanPackets,
}

impl Measure {
    /// Value in a run, if the run has one.
    pub fn value(&self, record: &Record) -> Option<f64> {
        let value = match self {
            Self::Metric(metric) => summary::value(*metric, record),
            Self::Special(special) => special.value(record),
        };
        value.filter(|value| value.is_finite())
    }

    /// Value without a run, if it needs none.
    pub fn computed(&self) -> Option<f64> {
        match self {
            Self::Special(Special::Quotient { value, by }) => {
                Some(by.iter().fold(value.value, |value, by| value / by.value))
            }
            Self::Special(Special::Division(division)) => division.value(),
            Self::Special(Special::MaxMin(share)) => share.value(),
            _ => None,
        }
    }

    /// Whether values can be negative: differences, and inputs calculated back from an average.
    pub(super) const fn is_signed(&self) -> bool {
        matches!(
            self,
            Self::Special(
                Special::RttBeyond { .. }
                    | Special::Series {
                        take: FromSamples::UnsmoothedMax { .. } | FromSamples::UnsmoothedMin { .. },
                        ..
                    }
            )
        )
    }

    /// Kind of the values.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Special(special) => special.kind(),
            Self::Metric(metric) => match (metric.name, metric.unit) {
                ("drops" | "marks" | "pause_rate" | "retransmissions" | "timeouts", _) => {
                    Kind::Events
                }
                (_, "bit/s") => Kind::Rate,
                _ => Kind::Extent,
            },
        }
    }

    /// Whether values are fractions of a whole, from 0 to 1.
    pub(super) fn is_fraction(&self) -> bool {
        match self {
            Self::Special(special) => special.is_fraction(),
            Self::Metric(metric) => FRACTIONS.contains(&metric.name),
        }
    }

    /// Unit of the values: `s`, `bit/s`, `B`, or empty for counts and fractions.
    pub const fn unit(&self) -> &'static str {
        match self {
            Self::Metric(metric) => metric.unit,
            Self::Special(special) => special.unit(),
        }
    }

    /// Description in a few words.
    pub const fn title(&self) -> &'static str {
        match self {
            Self::Metric(metric) => metric.title,
            Self::Special(special) => special.title(),
        }
    }
}

impl Special {
    const fn kind(&self) -> Kind {
        match self {
            Self::Division(_) | Self::MaxMin(_) | Self::Quotient { .. } => Kind::Arithmetic,
            Self::Queue { take: FromQueue::Drops | FromQueue::Marks, .. }
            | Self::Timeouts { .. } => Kind::Events,
            Self::Goodput { .. }
            | Self::Series {
                take:
                    FromSamples::Max
                    | FromSamples::Mean
                    | FromSamples::Min
                    | FromSamples::UnsmoothedMax { .. }
                    | FromSamples::UnsmoothedMin { .. },
                quantity: Quantity::Capacity | Quantity::Goodput | Quantity::Rate,
                per: None,
                ..
            } => Kind::Rate,
            _ => Kind::Extent,
        }
    }

    const fn is_fraction(&self) -> bool {
        matches!(
            self,
            Self::Loss
                | Self::LossOfPorts { .. }
                | Self::MarkFraction
                | Self::PartWithin { .. }
                | Self::PortFlows {
                    take: FromPortFlows::Accuracy
                        | FromPortFlows::ActiveOfConnections
                        | FromPortFlows::Recall,
                    ..
                }
        )
    }

    const fn unit(&self) -> &'static str {
        match self {
            Self::FctDeviation { .. }
            | Self::FctOfSizes { .. }
            | Self::FctOfSource { .. }
            | Self::RttBeyond { .. }
            | Self::Srtt { .. }
            | Self::SrttDeviation { .. } => "s",
            Self::Goodput { .. } | Self::MaxMin(_) => "bit/s",
            Self::PortLength { .. } | Self::Quotient { .. } => "B",
            Self::Queue { take, .. } => match take {
                FromQueue::MaxBytes | FromQueue::MeanBytes => "B",
                FromQueue::Drops | FromQueue::Marks | FromQueue::MeanPackets => "",
            },
            Self::Series { take, quantity, per: None, .. } => match take {
                FromSamples::Changes => "",
                FromSamples::Converges { .. }
                | FromSamples::Reaches { .. }
                | FromSamples::Settles { .. } => "s",
                FromSamples::Deviation
                | FromSamples::Max
                | FromSamples::Mean
                | FromSamples::Min
                | FromSamples::UnsmoothedMax { .. }
                | FromSamples::UnsmoothedMin { .. } => quantity.unit(),
            },
            Self::Division(_)
            | Self::GoodputDeviation
            | Self::Loss
            | Self::LossOfPorts { .. }
            | Self::MarkFraction
            | Self::SegmentsAfterCwr { .. }
            | Self::PortFlows { .. }
            | Self::PartWithin { .. }
            | Self::Series { .. }
            | Self::Timeouts { .. } => "",
        }
    }

    const fn title(&self) -> &'static str {
        match self {
            Self::Division(_) => "error",
            Self::FctDeviation { .. } => "deviation of completion times",
            Self::FctOfSizes { .. } | Self::FctOfSource { .. } => "completion time",
            Self::Goodput { .. } => "goodput",
            Self::GoodputDeviation => "deviation of goodputs",
            Self::Loss | Self::LossOfPorts { .. } => "loss",
            Self::MarkFraction => "marked",
            Self::MaxMin(_) => "max-min share",
            Self::PortFlows { take, .. } => match take {
                FromPortFlows::Accuracy => "accuracy",
                FromPortFlows::ActiveMean | FromPortFlows::ActivePercentile(_) => "active flows",
                FromPortFlows::ActiveOfConnections => "active flows of connections",
                FromPortFlows::Recall => "recall",
            },
            Self::PartWithin { .. } => "part within the time",
            Self::PortLength { .. } => "port length",
            Self::Quotient { .. } => "quotient",
            Self::Queue { take, .. } => match take {
                FromQueue::Drops => "drops",
                FromQueue::Marks => "marks",
                FromQueue::MaxBytes => "longest queue",
                FromQueue::MeanBytes | FromQueue::MeanPackets => "mean queue",
            },
            Self::RttBeyond { .. } => "queueing delay",
            Self::SegmentsAfterCwr { .. } => "segments after CWR",
            Self::Series { quantity, .. } => quantity.name(),
            Self::Srtt { .. } => "smoothed round-trip time",
            Self::SrttDeviation { .. } => "deviation of round-trip times",
            Self::Timeouts { .. } => "timeouts",
        }
    }

    fn value(&self, record: &Record) -> Option<f64> {
        match self {
            Self::Division(division) => division.value(),
            Self::Loss => {
                let dropped = sum(&record.counters.drops);
                ratio(dropped, record.counters.packet_hops as f64 + dropped)
            }
            Self::LossOfPorts { ports } => loss_of_ports(record, ports),
            Self::MarkFraction => {
                ratio(sum(&record.counters.marks), record.counters.packet_hops as f64)
            }
            Self::FctDeviation { source } => {
                let flows = record.flows.iter();
                let flows = flows.filter(|flow| belongs(flow, Some(*source)));
                deviation(&flows.filter_map(completion).collect::<Vec<_>>())
            }
            Self::FctOfSizes { above, up_to } => {
                let fits = |flow: &&Flow| {
                    let bytes = flow.bytes.map_or(f64::NAN, |bytes| bytes as f64);
                    above.as_ref().is_none_or(|above| bytes > above.value)
                        && up_to.as_ref().is_none_or(|up_to| bytes <= up_to.value)
                };
                let flows = record.flows.iter().filter(|flow| belongs(flow, None));
                mean(&flows.filter(fits).filter_map(completion).collect::<Vec<_>>())
            }
            Self::GoodputDeviation => {
                let rates = record.flows.iter().filter(|flow| flow.counts);
                let rates = rates.filter_map(|flow| flow.goodput_bps);
                let rates: Vec<f64> = rates.map(|rate| rate as f64).collect();
                ratio(deviation(&rates)?, mean(&rates)?)
            }
            Self::Srtt { source } => mean(&round_trips(record, *source)),
            Self::SrttDeviation { source } => deviation(&round_trips(record, *source)),
            Self::Goodput { source } => {
                let flows = record.flows.iter().filter(|flow| belongs(flow, *source));
                let rates: Vec<f64> =
                    flows.filter_map(|flow| flow.goodput_bps).map(|rate| rate as f64).collect();
                (!rates.is_empty()).then(|| rates.iter().sum())
            }
            Self::Timeouts { class, per } => {
                let flows = || record.flows.iter().filter(|flow| flow.counts);
                let own = flows().filter(|flow| class.is_none_or(|class| class == flow.class));
                let timeouts: f64 = own.map(|flow| f64::from(flow.timeouts)).sum();
                match per {
                    None => Some(timeouts),
                    Some(per) => ratio(timeouts * f64::from(*per), flows().count() as f64),
                }
            }
            Self::FctOfSource { source, percentile } => fct_of_source(record, *source, *percentile),
            Self::RttBeyond { base } => {
                let times = record.probes.iter().map(|probe| probe.rtt_ps as f64 / 1e12);
                mean(&times.collect::<Vec<_>>()).map(|mean| mean - base.value)
            }
            Self::SegmentsAfterCwr { part, from } => {
                let from = from.as_ref().map_or(0.0, |from| from.value);
                mean(&after_cwr(&record.trace, *part, from * 1e12))
            }
            Self::Series { quantity, subject, take, from, to, averaged, per } => {
                let of = |subject: &str| {
                    let samples = samples(record, *quantity, subject, from.as_ref(), to.as_ref())?;
                    take.value(&match averaged {
                        None => samples,
                        Some(span) => average(&samples, span.value),
                    })
                };
                match per {
                    None => of(subject),
                    Some(other) => ratio(of(subject)?, of(other)?),
                }
            }
            Self::PortFlows { port, take } => take.value(record, port),
            Self::Queue { port, queue, take } => take.value(record, port, *queue),
            Self::PartWithin { time, up_to } => part_within(record, time, up_to.as_ref()),
            Self::PortLength { port, percentile } => {
                let percentile = percentile.map(|percent| (percent, record.run.percentile));
                occupancy::port_length(&record.series, port, percentile)
            }
            Self::MaxMin(_) | Self::Quotient { .. } => None,
        }
    }
}

/// Fraction of flows up to a size that took no longer than a time, of all finite flows: flows
/// without an end took longer.
fn part_within(record: &Record, time: &Number, up_to: Option<&Number>) -> Option<f64> {
    let fits = |flow: &&Flow| {
        let size = flow.bytes.map(|bytes| bytes as f64);
        size.is_some_and(|bytes| up_to.is_none_or(|up_to| bytes <= up_to.value))
    };
    let flows = record.flows.iter().filter(|flow| belongs(flow, None));
    let flows: Vec<&Flow> = flows.filter(fits).collect();
    let times = flows.iter().filter_map(|flow| completion(flow));
    let within = times.filter(|&taken| taken <= time.value);
    ratio(within.count() as f64, flows.len() as f64)
}

fn completion(flow: &Flow) -> Option<f64> {
    flow.fct_ps.map(|picos| picos as f64 / 1e12)
}

/// Number of segments that leave after each segment with CWR, from a time in picoseconds on.
/// Segments whose round trip the trace does not cover are left out.
fn after_cwr(trace: &[TraceEvent], part: Option<AfterCwr>, from: f64) -> Vec<f64> {
    let left = |event: &&TraceEvent| matches!(event.event, Traced::Sent | Traced::Resent);
    let acks = || trace.iter().filter(|event| event.event == Traced::Acked);
    // Segments that an ACK releases leave at its arrival time.
    let segments = |from: u64, to: u64| {
        let left = trace.iter().filter(left);
        left.filter(|event| (from..to).contains(&event.at_ps)).count() as f64
    };
    let mut counts = Vec::new();
    for cwr in trace.iter().filter(left) {
        if !cwr.flag || (cwr.at_ps as f64) < from {
            continue;
        }
        let end = cwr.seq + u64::from(cwr.len);
        let mut later = acks().filter(|ack| ack.at_ps > cwr.at_ps);
        let answer = later.find(|ack| ack.seq >= end);
        if let (Some(answer), Some(next)) = (answer, later.next()) {
            counts.push(match part {
                Some(AfterCwr::RoundTrip) => segments(cwr.at_ps + 1, answer.at_ps),
                Some(AfterCwr::NextBurst) => segments(answer.at_ps, next.at_ps),
                None => segments(cwr.at_ps + 1, next.at_ps),
            });
        }
    }
    counts
}

/// Final smoothed round-trip times of a source's flows, in seconds.
fn round_trips(record: &Record, source: Option<u32>) -> Vec<f64> {
    let flows = record.flows.iter().filter(|flow| belongs(flow, source));
    let times = flows.filter_map(|flow| flow.rtt_ps);
    times.map(|picos| picos as f64 / 1e12).collect()
}

/// Standard deviation of several numbers.
fn deviation(values: &[f64]) -> Option<f64> {
    let middle = mean(values).filter(|_| values.len() > 1)?;
    let squares = values.iter().map(|value| (value - middle).powi(2));
    Some((squares.sum::<f64>() / (values.len() - 1) as f64).sqrt())
}

fn fct_of_source(record: &Record, source: u32, percent: Option<u32>) -> Option<f64> {
    let flows = record.flows.iter().filter(|flow| belongs(flow, Some(source)));
    let mut times: Vec<u64> = flows.filter_map(|flow| flow.fct_ps).collect();
    times.sort_unstable();
    let picos = match percent {
        None => ratio(times.iter().map(|&time| time as f64).sum(), times.len() as f64),
        Some(percent) => {
            let rule = record.run.percentile;
            rule.of(&times, Ratio::new(percent, 100)?).map(|time| time as f64)
        }
    };
    picos.map(|picos| picos / 1e12)
}

fn loss_of_ports(record: &Record, patterns: &[String]) -> Option<f64> {
    let mut ports: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let fits = |port: &str| patterns.iter().any(|pattern| pattern::fits(pattern, port));
    for queue in record.queues.iter().filter(|queue| fits(&queue.port)) {
        let (dropped, sent) = ports.entry(&queue.port).or_default();
        *dropped += sum(&queue.drops);
        *sent += queue.sent as f64;
    }
    let losses =
        ports.values().map(|(dropped, sent)| ratio(*dropped, dropped + sent).unwrap_or(0.0));
    mean(&losses.collect::<Vec<_>>())
}

/// Times and values of the first matching trace.
fn samples(
    record: &Record,
    quantity: Quantity,
    subject: &str,
    from: Option<&Number>,
    to: Option<&Number>,
) -> Option<Vec<(f64, f64)>> {
    all_samples(record, quantity, subject, from, to).next().map(|(_, samples)| samples)
}

/// Subjects, times and values of the matching traces.
pub(super) fn all_samples<'a>(
    record: &'a Record,
    quantity: Quantity,
    subject: &'a str,
    from: Option<&Number>,
    to: Option<&Number>,
) -> impl Iterator<Item = (&'a str, Vec<(f64, f64)>)> {
    let from = from.map_or(f64::NEG_INFINITY, |time| time.value);
    let to = to.map_or(f64::INFINITY, |time| time.value);
    let series = &record.series;
    let fits =
        move |trace: &&'a Trace| trace.quantity == quantity && pattern::fits(subject, &trace.of);
    let time = move |index: usize| {
        (series.from_ps as f64 + index as f64 * series.interval_ps as f64) / 1e12
    };
    series.traces.iter().filter(fits).map(move |trace| {
        let samples = trace.values.iter().enumerate();
        let samples = samples.map(|(index, &value)| (time(index), value));
        let samples = samples.filter(|&(at, value)| from <= at && at <= to && !value.is_nan());
        (trace.of.as_str(), samples.collect())
    })
}

/// Mean of the samples within each `span` from the first on, at the time of its first sample.
fn average(samples: &[(f64, f64)], span: f64) -> Vec<(f64, f64)> {
    let begin = samples.first().map_or(0.0, |&(at, _)| at);
    let part = |at: f64| ((at - begin) / span + 1e-9).floor();
    let parts = samples.chunk_by(|one, next| part(one.0).total_cmp(&part(next.0)).is_eq());
    let whole = parts.map(|part| {
        let sum: f64 = part.iter().map(|&(_, value)| value).sum();
        (part[0].0, sum / part.len() as f64)
    });
    whole.collect()
}

impl FromQueue {
    fn value(self, record: &Record, port: &str, number: Option<u8>) -> Option<f64> {
        let queues = record.queues.iter().filter(|seen| {
            pattern::fits(port, &seen.port) && number.is_none_or(|number| number == seen.queue)
        });
        let values = queues.map(|seen| match self {
            Self::Drops => sum(&seen.drops),
            Self::Marks => sum(&seen.marks),
            Self::MaxBytes => seen.bytes.max,
            Self::MeanBytes => seen.bytes.mean,
            Self::MeanPackets => seen.packets.mean,
        });
        // A port observed for no time has no mean.
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        match self {
            Self::Drops | Self::Marks => (!values.is_empty()).then(|| values.iter().sum()),
            Self::MaxBytes => values.into_iter().reduce(f64::max),
            Self::MeanBytes | Self::MeanPackets => mean(&values),
        }
    }
}

impl FromPortFlows {
    fn value(self, record: &Record, port: &str) -> Option<f64> {
        let ports = record.port_flows.iter();
        let ports = ports.filter(|seen| pattern::fits(port, &seen.port));
        let decisions = || ports.clone().filter_map(|seen| seen.decisions).reduce(Decisions::with);
        match self {
            Self::Accuracy => decisions()?.accuracy(),
            Self::Recall => decisions()?.recall(),
            Self::ActiveMean | Self::ActiveOfConnections | Self::ActivePercentile(_) => {
                let values = ports.filter_map(|seen| self.at_port(seen, record));
                mean(&values.collect::<Vec<_>>())
            }
        }
    }

    /// Statistic of flows at one port.
    fn at_port(self, seen: &PortFlows, record: &Record) -> Option<f64> {
        match self {
            Self::Accuracy | Self::Recall => None,
            Self::ActiveMean => Some(seen.active.mean).filter(|mean| mean.is_finite()),
            Self::ActiveOfConnections => {
                let sum = |quantity| {
                    let samples = samples(record, quantity, &seen.port, None, None)?;
                    Some(samples.iter().map(|&(_, value)| value).sum())
                };
                ratio(sum(Quantity::ActiveFlows)?, sum(Quantity::Connections)?)
            }
            Self::ActivePercentile(percent) => {
                let reaches = |pair: &&(f64, f64)| pair.0 * 100.0 >= f64::from(percent) - 1e-9;
                let quantile = seen.active.quantiles.iter().find(reaches);
                quantile.map(|&(_, value)| value)
            }
        }
    }
}

impl FromSamples {
    #[expect(clippy::float_cmp, reason = "equal samples are copies of one number")]
    fn value(&self, samples: &[(f64, f64)]) -> Option<f64> {
        let values = samples.iter().map(|&(_, value)| value);
        match self {
            Self::Changes => {
                let pairs = samples.windows(2).filter(|pair| pair[0].1 != pair[1].1);
                (!samples.is_empty()).then(|| pairs.count() as f64)
            }
            Self::Deviation => deviation(&values.collect::<Vec<_>>()),
            Self::Max => values.reduce(f64::max),
            Self::Min => values.reduce(f64::min),
            Self::Mean => ratio(values.sum(), samples.len() as f64),
            Self::UnsmoothedMax { weight } => unsmoothed(samples, weight).reduce(f64::max),
            Self::UnsmoothedMin { weight } => unsmoothed(samples, weight).reduce(f64::min),
            Self::Reaches { at, within } => {
                let (begin, _) = samples.first()?;
                let is_near = |&&(_, value): &&(f64, f64)| {
                    (value - at.value).abs() <= within.value * at.value
                };
                let first = samples.iter().find(is_near)?;
                Some(first.0 - begin)
            }
            Self::Converges { share, within } => settles(samples, share.value()?, within),
            Self::Settles { at, within } => settles(samples, at.value, within),
        }
    }
}

/// Time from the first sample until all later ones are near `at`; `None` if the last one is not.
fn settles(samples: &[(f64, f64)], at: f64, within: &Number) -> Option<f64> {
    let (begin, _) = samples.first()?;
    let is_far = |&(_, value): &(f64, f64)| (value - at).abs() > within.value * at;
    match samples.iter().rposition(is_far) {
        None => Some(0.0),
        Some(last) if last + 1 == samples.len() => None,
        Some(last) => Some(samples[last].0 - begin),
    }
}

/// Inputs of an exponential average, one per change.
#[expect(clippy::float_cmp, reason = "equal samples are copies of one number")]
fn unsmoothed(samples: &[(f64, f64)], weight: &Number) -> impl Iterator<Item = f64> {
    let weight = weight.value;
    let changes = samples.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    changes.map(move |pair| (pair[1].1 - weight * pair[0].1) / (1.0 - weight))
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

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Metric(metric) => serializer.serialize_str(metric.name),
            Self::Special(special) => special.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Measure;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a metric, or a table such as { of = \"goodput\" }")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Measure, E> {
                let found = Metric::all().find(|metric| metric.name == name);
                found.map(Measure::Metric).ok_or_else(|| {
                    let known: Vec<&str> = Metric::all().map(|metric| metric.name).collect();
                    E::custom(format!("no metric is called `{name}`; known: {}", known.join(", ")))
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Measure, A::Error> {
                Special::deserialize(MapAccessDeserializer::new(map)).map(Measure::Special)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settles(at: &str, within: &str) -> FromSamples {
        FromSamples::Settles { at: at.parse().unwrap(), within: within.parse().unwrap() }
    }

    #[test]
    fn samples_settle_after_the_last_that_is_far_away() {
        let samples = [(1.0, 10.0), (2.0, 5.1), (3.0, 7.0), (4.0, 5.2), (5.0, 5.0)];
        assert_eq!(settles("5", "10%").value(&samples), Some(2.0));
        assert_eq!(settles("7", "60%").value(&samples), Some(0.0));
        assert_eq!(settles("7", "60%").value(&[]), None);
        let never = settles("7", "10%").value(&samples);
        assert_eq!(never, None, "the last one is far away");
        assert_eq!(FromSamples::Changes.value(&samples), Some(4.0));
        assert_eq!(FromSamples::Max.value(&samples), Some(10.0));
        assert_eq!(FromSamples::Min.value(&samples), Some(5.0));
    }

    #[test]
    fn samples_are_averaged_before_the_statistic() {
        let samples = [(1.0, 0.0), (1.1, 4.0), (1.2, 6.0), (1.3, 2.0), (1.4, 9.0)];
        let whole = average(&samples, 0.2);
        assert_eq!(whole, [(1.0, 2.0), (1.2, 4.0), (1.4, 9.0)]);
        assert_eq!(FromSamples::Deviation.value(&whole[..2]), Some(2_f64.sqrt()));
        assert_eq!(FromSamples::Deviation.value(&whole[..1]), None);
    }

    #[test]
    fn unsmoothing_an_average_recovers_its_samples() {
        // 8, then 4 and 12 with a weight of 0.75: 7 and 8.25.
        let samples = [(1.0, 8.0), (2.0, 7.0), (3.0, 7.0), (4.0, 8.25)];
        let weight: Number = "0.75".parse().unwrap();
        let largest = FromSamples::UnsmoothedMax { weight: weight.clone() };
        assert_eq!(largest.value(&samples), Some(12.0));
        assert_eq!(FromSamples::UnsmoothedMin { weight }.value(&samples), Some(4.0));
    }

    /// Table I of DiffECN.
    #[test]
    fn a_max_min_share_needs_no_run() {
        let share = |demands: &[&str], flow| Share {
            capacity: "40Gbps".parse().unwrap(),
            demands: demands.iter().map(|it| it.parse().unwrap()).collect(),
            flow,
        };
        let two = ["25Gbps", "13Gbps"];
        let four = ["25Gbps", "13Gbps", "5Gbps", "5Gbps"];
        for (demands, flow, gbps) in [
            (&two[..], 0, 25.0),
            (&two, 1, 13.0),
            (&four, 0, 17.0),
            (&four, 1, 13.0),
            (&four, 3, 5.0),
        ] {
            let measure = Measure::Special(Special::MaxMin(share(demands, flow)));
            assert_eq!(measure.computed(), Some(gbps * 1e9));
        }
        assert_eq!(share(&four, 4).value(), None);
        // 17 Gb/s of F1, within 5 %.
        let samples = [(1.0, 25e9), (2.0, 17.9e9), (3.0, 16.2e9), (4.0, 17e9)];
        let converges = FromSamples::Converges {
            share: Box::new(share(&four, 0)),
            within: "5%".parse().unwrap(),
        };
        assert_eq!(converges.value(&samples), Some(1.0));
    }

    #[test]
    fn active_flows_are_taken_from_quantiles() {
        let seen = PortFlows {
            port: "leaf0>host0".to_owned(),
            active: tidegate_results::record::Distribution {
                mean: 2.5,
                max: 40.0,
                quantiles: vec![(0.5, 0.0), (0.9, 4.0), (0.99, 20.0), (1.0, 40.0)],
            },
            decisions: Some(Decisions { both: 6, only_ideal: 2, only_scheme: 1, neither: 11 }),
        };
        let trace = |quantity, values: [f64; 3]| Trace {
            of: seen.port.clone(),
            quantity,
            values: values.to_vec(),
        };
        let json = serde_json::json!({
            "run": {
                "id": "", "label": "", "point": [], "replication": 0, "seed": "1", "fingerprint": "",
                "command": "", "end": { "reason": "finished" }, "ended_at_ps": 0,
            },
            "counters": tidegate_results::record::Counters::default(),
            "queues": [],
            "links": [],
        });
        let mut record: Record = serde_json::from_value(json).unwrap();
        record.series.traces = vec![
            trace(Quantity::ActiveFlows, [1.0, 2.0, 0.0]),
            trace(Quantity::Connections, [4.0, 6.0, 2.0]),
        ];
        // A port without packets does not change the fractions.
        let idle = PortFlows {
            port: "leaf0>host1".to_owned(),
            active: tidegate_results::record::Distribution::default(),
            decisions: Some(Decisions { both: 0, only_ideal: 0, only_scheme: 0, neither: 0 }),
        };
        record.port_flows = vec![seen, idle];
        for (take, expected) in [
            (FromPortFlows::ActiveOfConnections, 0.25),
            (FromPortFlows::ActiveMean, 2.5),
            (FromPortFlows::ActivePercentile(50), 0.0),
            (FromPortFlows::ActivePercentile(51), 4.0),
            (FromPortFlows::ActivePercentile(90), 4.0),
            (FromPortFlows::ActivePercentile(100), 40.0),
            (FromPortFlows::Accuracy, 17.0 / 20.0),
            (FromPortFlows::Recall, 6.0 / 8.0),
        ] {
            assert_eq!(take.value(&record, "leaf0>host0"), Some(expected), "{take:?}");
        }
        assert_eq!(FromPortFlows::Recall.value(&record, "*"), Some(0.75));
        assert_eq!(FromPortFlows::ActiveMean.value(&record, "*"), Some(1.25));
        assert_eq!(FromPortFlows::ActiveMean.value(&record, "spine*"), None);
    }

    #[test]
    fn segments_are_counted_until_the_ack_of_cwr_and_after_it() {
        let event =
            |at_ps, event, seq, flag| TraceEvent { at_ps, flow: 0, event, seq, len: 1000, flag };
        let trace = [
            event(1, Traced::Sent, 0, false),
            event(2, Traced::Sent, 1000, true),
            event(3, Traced::Sent, 2000, false),
            event(4, Traced::Acked, 1000, true),
            event(5, Traced::Sent, 3000, false),
            event(6, Traced::Arrived, 3000, true),
            // The ACK of the segment with CWR releases three, the first at once.
            event(7, Traced::Sent, 4000, false),
            event(7, Traced::Acked, 2000, false),
            event(8, Traced::Resent, 2000, false),
            event(8, Traced::Lost, 2000, false),
            event(8, Traced::Sent, 5000, false),
            event(9, Traced::Sent, 6000, true),
            event(9, Traced::Acked, 3000, false),
            event(10, Traced::Acked, 7000, false),
        ];
        let counts = |part, from| after_cwr(&trace, part, from);
        let none: [f64; 0] = [];
        assert_eq!(counts(Some(AfterCwr::RoundTrip), 0.0), [2.0]);
        assert_eq!(counts(Some(AfterCwr::NextBurst), 0.0), [3.0]);
        assert_eq!(counts(None, 2.0), [5.0]);
        assert_eq!(counts(None, 3.0), none, "its round trip is not over");
        assert_eq!(after_cwr(&trace[..13], None, 0.0), [5.0]);
        assert_eq!(after_cwr(&trace[..12], None, 0.0), none);
    }

    #[test]
    fn a_quotient_needs_no_run() {
        let measure = Measure::Special(Special::Quotient {
            value: "16MiB".parse().unwrap(),
            by: vec!["32".parse().unwrap(), "100".parse().unwrap()],
        });
        assert_eq!(measure.computed(), Some(5.12 * 1024.0));
    }
}
