//! One run as plain data: its settings and its results.
//!
//! A record holds nothing that depends on the machine or the moment: the same scenario and seed
//! give the same bytes. Times are whole picoseconds; `None` is a missing value, such as the
//! completion time of an unfinished flow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::statistics::Percentile;

/// A run and all its measurements. [`PackedRecord`](crate::PackedRecord) is the form
/// with less of each flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Record<F = Flow> {
    /// Identity and end of the run.
    pub run: Run,
    /// Totals over the whole network.
    pub counters: Counters,
    /// The observed queues.
    pub queues: Vec<Queue>,
    /// The observed links.
    pub links: Vec<Link>,
    /// Flow statistics of ports that tell flows apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub port_flows: Vec<PortFlows>,
    /// Pauses of classes of links over the whole run; `None` if switches send no pause frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Pauses>,
    /// Flows in the order of the workload, stored in a separate file.
    #[serde(skip)]
    pub flows: Vec<F>,
    /// Answered probes, stored in a separate file.
    #[serde(skip)]
    pub probes: Vec<Probe>,
    /// Quantities sampled at a fixed interval, stored in a separate file.
    #[serde(skip)]
    pub series: Series,
    /// Events of a traced flow, stored in a separate file if there are any.
    #[serde(skip)]
    pub trace: Vec<TraceEvent>,
}

/// Identity of a run, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Name, unique in its folder and valid as a file name. Repeating the run gives the same name.
    pub id: String,
    /// Settings that distinguish this point of the sweep, in the order of the sweep: full keys and
    /// values, such as `switch.marking.kind` and `tcn`.
    pub point: Vec<Setting>,
    /// Short name of the point, such as `tcn, load 0.6`.
    pub label: String,
    /// Marking scheme of the switches, such as `tcn`; empty in records of older programs.
    #[serde(default)]
    pub scheme: String,
    /// Percentile rule for completion times, set by the scenario's convention.
    #[serde(default, skip_serializing_if = "Percentile::is_default")]
    pub percentile: Percentile,
    /// Upper bounds of the scenario's own flow-size bins, without the last, which is open. Empty if
    /// the scenario defines none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<u64>,
    /// Repetition of the point, from 0.
    pub replication: u32,
    /// Seed, as text because JSON readers round large numbers.
    pub seed: String,
    /// A hash of all results of the run, in hexadecimal.
    pub fingerprint: String,
    /// Command that repeats only this run.
    pub command: String,
    /// Why the run ended.
    pub end: End,
    /// Simulated time at the end.
    pub ended_at_ps: u64,
}

/// A key of the scenario and its value as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// Full key, words joined by dots.
    pub key: String,
    /// The value.
    pub value: String,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reason", content = "detail")]
pub enum End {
    /// All flows that can end have ended.
    Finished,
    /// The user interrupted the run.
    Interrupted,
    /// Flows wait but nothing moves; the text names the cause.
    Stalled(String),
    /// The configured end time is over.
    TimeUp,
}

/// Totals over the whole network and the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets marked, by rule, without rules that marked nothing.
    pub marks: BTreeMap<String, u64>,
    /// Packets dropped, by reason, without reasons that dropped nothing.
    pub drops: BTreeMap<String, u64>,
    /// Packet-hops: packets sent, summed over all links.
    pub packet_hops: u64,
    /// Flows that started.
    pub started: u64,
    /// Flows that finished.
    pub finished: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Percentage of their completion time that the slowest small flows spent in the queues of
    /// their own hosts, behind other flows. Present only above 50 %, and not for hosts with ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_wait_percent: Option<u8>,
    /// How often the simulator served switches with a shared buffer in each mode. Not part of the
    /// result; unused modes are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub engine: BTreeMap<String, u64>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Flow number, in order of start.
    pub number: u32,
    /// Id from a flow list, otherwise empty.
    pub name: String,
    /// Traffic source, by its index in the scenario.
    pub source: u32,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Class of service, which selects the queue.
    pub service: u8,
    /// Size; `None` for an endless flow.
    pub bytes: Option<u64>,
    /// Size class, by the scenario's convention.
    pub class: Class,
    /// Whether the flow counts in results: it started after the warm-up and before the end of the
    /// measurement.
    pub counts: bool,
    /// Start time: when the application handed the flow over.
    pub start_ps: u64,
    /// Completion time by the scenario's convention; `None` if the flow did not finish.
    pub fct_ps: Option<u64>,
    /// Completion time in an empty network; `None` if undefined.
    pub ideal_ps: Option<u64>,
    /// Retransmitted segments.
    pub retransmissions: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Packets that arrived marked.
    pub marks: u32,
    /// Bytes received in the observed window, if the flow was observed.
    pub received: Option<u64>,
    /// Goodput while active in the observed window, if the flow was observed.
    pub goodput_bps: Option<u64>,
    /// Smoothed round-trip time of the sender at the end, if the transport has one.
    pub rtt_ps: Option<u64>,
    /// Round-trip time variation of the sender at the end.
    pub rtt_variation_ps: Option<u64>,
}

/// Size class of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Latency-bound flows: up to about 100 KB.
    Small,
    /// Flows between the two.
    Medium,
    /// Throughput-bound flows: from about 10 MB.
    Large,
}

impl Class {
    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

/// Measurements of a queue in the observed window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Port, such as `leaf0>host3`.
    pub port: String,
    /// Number of the queue at its port.
    pub queue: u8,
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent, including headers as packets count them; 0 in records of older programs.
    #[serde(default)]
    pub sent_bytes: u64,
    /// Queue length in bytes, weighted by time.
    pub bytes: Distribution,
    /// Queue length in packets, weighted by time.
    pub packets: Distribution,
    /// Sojourn times of packets, in picoseconds.
    pub wait_ps: Distribution,
    /// Packets marked, by rule, without rules that marked nothing.
    pub marks: BTreeMap<String, u64>,
    /// Packets dropped, by reason, without reasons that dropped nothing.
    pub drops: BTreeMap<String, u64>,
}

/// Summary of a distribution: mean, maximum and some quantiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The mean.
    #[serde(with = "real")]
    pub mean: f64,
    /// Largest value.
    #[serde(with = "real")]
    pub max: f64,
    /// Quantiles for drawing: pairs of probability and value, both rising.
    #[serde(with = "real_pairs")]
    pub quantiles: Vec<(f64, f64)>,
}

/// Measurements of a link in the observed window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Name, such as `leaf0>host3`.
    pub name: String,
    /// Link rate.
    pub rate_bps: u64,
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent, including headers as packets count them.
    pub bytes: u64,
    /// Share of time spent sending.
    #[serde(with = "real")]
    pub utilisation: f64,
    /// Payload rate.
    #[serde(with = "real")]
    pub goodput_bps: f64,
    /// Share of time in which at least one class was paused.
    #[serde(with = "real")]
    pub paused: f64,
    /// Share of time paused, for each class that was paused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paused_by_class: BTreeMap<u8, f64>,
}

/// Measurements of the flows at a port in the observed window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortFlows {
    /// Port, such as `leaf0>host3`.
    pub port: String,
    /// Number of active flows, weighted by time.
    pub active: Distribution,
    /// Comparison with the ideal marker, if enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Decisions>,
}

/// Decisions of the port's scheme and of the ideal marker about the same packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// Both marked.
    pub both: u64,
    /// Only the ideal marker marked.
    pub only_ideal: u64,
    /// Only the port's scheme marked.
    pub only_scheme: u64,
    /// Neither marked.
    pub neither: u64,
}

impl Decisions {
    /// Adds the decisions of another port.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            both: self.both + other.both,
            only_ideal: self.only_ideal + other.only_ideal,
            only_scheme: self.only_scheme + other.only_scheme,
            neither: self.neither + other.neither,
        }
    }

    /// Share of packets on which both agree; `None` without packets.
    pub fn accuracy(&self) -> Option<f64> {
        let all = self.both + self.only_ideal + self.only_scheme + self.neither;
        part(self.both + self.neither, all)
    }

    /// Share of the ideal marker's marks that the scheme makes too; `None` if the ideal marker
    /// marks nothing.
    pub fn recall(&self) -> Option<f64> {
        part(self.both, self.both + self.only_ideal)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people needs no more than 53 bits")]
fn part(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// PFC pauses in a network over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// Length above which a pause is a pause storm.
    pub storm_ps: u64,
    /// Paused classes of links, by link, then by class.
    pub classes: Vec<ClassPauses>,
    /// PFC deadlocks.
    pub deadlocks: Vec<Deadlock>,
}

impl Pauses {
    /// The classes of links with a pause storm.
    pub fn storms(&self) -> impl Iterator<Item = &ClassPauses> {
        let classes = self.classes.iter();
        classes.filter(|class| class.longest_ps > self.storm_ps)
    }
}

/// Pauses of one class of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassPauses {
    /// Link and class.
    #[serde(flatten)]
    pub of: LinkClass,
    /// Pause frames that stopped the class.
    pub pauses: u64,
    /// Total time paused.
    pub paused_ps: u64,
    /// Longest time paused without a break.
    pub longest_ps: u64,
}

/// A class of packets on a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkClass {
    /// Link, such as `leaf0>spine1`.
    pub link: String,
    /// Class.
    pub class: u8,
}

/// A PFC deadlock: classes of links that stay paused forever, because each waits for the next and
/// the last for the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlock {
    /// The cycle. The switch at the end of each link holds packets of the class that wait for the
    /// next link.
    pub cycle: Vec<LinkClass>,
    /// Other classes of links that wait for the cycle, directly or indirectly.
    pub behind: Vec<LinkClass>,
    /// Time at which the cycle closed.
    pub since_ps: u64,
}

/// An answered probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Number of the probe series.
    pub series: u32,
    /// Arrival time of the answer.
    pub at_ps: u64,
    /// Round-trip time.
    pub rtt_ps: u64,
}

/// An event of a traced flow. Byte positions start at the first byte of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When.
    pub at_ps: u64,
    /// Flow number.
    pub flow: u32,
    /// Kind of event.
    pub event: Traced,
    /// First byte of a segment, or next byte that an ACK expects.
    pub seq: u64,
    /// Bytes of a segment, or receive window of an ACK.
    pub len: u32,
    /// CWR of a sent segment, CE of an arrived segment, ECE of an ACK.
    pub flag: bool,
}

/// Kind of event of a traced flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traced {
    /// A segment was sent for the first time.
    Sent,
    /// A segment was retransmitted.
    Resent,
    /// A segment sent at this time never arrived.
    Lost,
    /// A segment arrived at the receiver.
    Arrived,
    /// An ACK arrived at the sender.
    Acked,
}

impl Traced {
    /// All variants.
    pub const ALL: [Self; 5] = [Self::Sent, Self::Resent, Self::Lost, Self::Arrived, Self::Acked];

    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Resent => "resent",
            Self::Lost => "lost",
            Self::Arrived => "arrived",
            Self::Acked => "acked",
        }
    }
}

/// Samples at a fixed interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Time of the first sample.
    pub from_ps: u64,
    /// Sampling interval.
    pub interval_ps: u64,
    /// Sampled quantities, each with one value per sample time.
    pub traces: Vec<Trace>,
}

/// Samples of one quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Owner, such as `leaf0>host3 q0`, `flow 7` or `network`.
    pub of: String,
    /// Quantity.
    pub quantity: Quantity,
    /// Samples; NaN if there is no value, such as the window of a finished flow.
    pub values: Vec<f64>,
}

/// Quantity that can be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Active flows: started and unfinished in the network, or active at a port.
    ActiveFlows,
    /// DCTCP's or DCQCN's α, the estimate of congestion, from 0 to 1.
    Alpha,
    /// A scheme's estimate of the rate at which a queue is served, in bits per second.
    Capacity,
    /// Connections with unfinished flows that have sent data through a port.
    Connections,
    /// Goodput of a flow since the last sample, in bits per second.
    Goodput,
    /// Packets of a flow that arrived marked since the last sample.
    Marks,
    /// Bytes waiting in a queue, or bytes of one flow or class of flows waiting at a port.
    QueueBytes,
    /// Packets waiting in a queue.
    QueuePackets,
    /// Sending rate of a link or a sender, in bits per second.
    Rate,
    /// Retransmission timeout (RTO), in seconds.
    Rto,
    /// Smoothed round-trip time, in seconds.
    Rtt,
    /// Round-trip time variation, in seconds.
    RttVariation,
    /// Slow start threshold, in bytes.
    Ssthresh,
    /// Marking threshold of a queue, in bytes.
    Threshold,
    /// Congestion window, in bytes.
    Window,
}

impl Quantity {
    /// All variants.
    pub const ALL: [Self; 15] = [
        Self::ActiveFlows,
        Self::Alpha,
        Self::Capacity,
        Self::Connections,
        Self::Goodput,
        Self::Marks,
        Self::QueueBytes,
        Self::QueuePackets,
        Self::Rate,
        Self::Rto,
        Self::Rtt,
        Self::RttVariation,
        Self::Ssthresh,
        Self::Threshold,
        Self::Window,
    ];

    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ActiveFlows => "active-flows",
            Self::Alpha => "alpha",
            Self::Capacity => "capacity",
            Self::Connections => "connections",
            Self::Goodput => "goodput",
            Self::Marks => "marks",
            Self::QueueBytes => "queue-bytes",
            Self::QueuePackets => "queue-packets",
            Self::Rate => "rate",
            Self::Rto => "rto",
            Self::Rtt => "rtt",
            Self::RttVariation => "rtt-variation",
            Self::Ssthresh => "ssthresh",
            Self::Threshold => "threshold",
            Self::Window => "window",
        }
    }

    /// Unit of the values: `B`, `bit/s`, `s`, or empty for counts and shares.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::ActiveFlows
            | Self::Alpha
            | Self::Connections
            | Self::Marks
            | Self::QueuePackets => "",
            Self::Capacity | Self::Goodput | Self::Rate => "bit/s",
            Self::QueueBytes | Self::Ssthresh | Self::Threshold | Self::Window => "B",
            Self::Rto | Self::Rtt | Self::RttVariation => "s",
        }
    }
}

/// Numbers in JSON, which has no infinity and no NaN: both are written as `null` and read as NaN.
mod real {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature; on 64 bits only")]
    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
    }
}

/// Pairs of [`real`] numbers.
mod real_pairs {
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ptr_arg, reason = "the signature is serde's")]
    pub(super) fn serialize<S: Serializer>(
        values: &Vec<(f64, f64)>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let finite = |value: f64| value.is_finite().then_some(value);
        to.collect_seq(values.iter().map(|&(a, b)| (finite(a), finite(b))))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(f64, f64)>, D::Error> {
        let pairs = Vec::<(Option<f64>, Option<f64>)>::deserialize(from)?;
        let real = |value: Option<f64>| value.unwrap_or(f64::NAN);
        Ok(pairs.into_iter().map(|(a, b)| (real(a), real(b))).collect())
    }
}
