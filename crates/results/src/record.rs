//! One run as plain data: what was asked, what came out.
//!
//! A record holds nothing that depends on the machine or the moment: the same scenario and seed
//! give the same bytes. Times are whole picoseconds; `None` is a value that does not exist, such as
//! the completion time of a flow that did not finish.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::statistics::Percentile;

/// A run and everything that was measured in it. [`PackedRecord`](crate::PackedRecord) is the form
/// with less of each flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Record<F = Flow> {
    /// What was run.
    pub run: Run,
    /// Totals over the whole network.
    pub counters: Counters,
    /// The observed queues.
    pub queues: Vec<Queue>,
    /// The observed links.
    pub links: Vec<Link>,
    /// The flows at ports where they were told apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub port_flows: Vec<PortFlows>,
    /// How classes of links were paused over the whole run; `None` where switches pause nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Pauses>,
    /// The flows in the order of the workload. They have a file of their own.
    #[serde(skip)]
    pub flows: Vec<F>,
    /// The answered probes. They have a file of their own.
    #[serde(skip)]
    pub probes: Vec<Probe>,
    /// What was written down again and again. It has a file of its own.
    #[serde(skip)]
    pub series: Series,
    /// What happened to a flow that was traced. It has a file of its own, if there is any.
    #[serde(skip)]
    pub trace: Vec<TraceEvent>,
}

/// What was run, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Unique in its folder and fit for a file name, the same whenever the same run is repeated.
    pub id: String,
    /// What distinguishes this run from the others of its sweep, in the order of the sweep: full
    /// keys and values, such as `switch.marking.kind` and `tcn`.
    pub point: Vec<Setting>,
    /// The point in a few words, such as `tcn, load 0.6`.
    pub label: String,
    /// The marking scheme of the switches, such as `tcn`; empty in records of programs that did not
    /// write it down.
    #[serde(default)]
    pub scheme: String,
    /// Which of its sorted flows has a percentile of their times: by the scenario's convention.
    #[serde(default, skip_serializing_if = "Percentile::is_default")]
    pub percentile: Percentile,
    /// The scenario's own bins of flow sizes: the largest of each but the last, which has no end.
    /// Empty if it names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<u64>,
    /// Which repetition of the point it is, from 0.
    pub replication: u32,
    /// The seed, as text: JSON readers round large numbers.
    pub seed: String,
    /// A hash of all results of the run, in hexadecimal.
    pub fingerprint: String,
    /// The command that repeats this run alone.
    pub command: String,
    /// Why it ended.
    pub end: End,
    /// The simulated time at the end.
    pub ended_at_ps: u64,
}

/// A key of the scenario and its value as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// The full key, words joined by dots.
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
    /// Somebody asked for it.
    Interrupted,
    /// Flows wait but nothing moves; the text says what they wait for.
    Stalled(String),
    /// The time that was set for it is over.
    TimeUp,
}

/// Totals over the whole network and the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets marked, by rule. Rules that marked nothing are left out.
    pub marks: BTreeMap<String, u64>,
    /// Packets dropped, by reason. Reasons that dropped nothing are left out.
    pub drops: BTreeMap<String, u64>,
    /// Packets sent on links, every link counted.
    pub packet_hops: u64,
    /// Flows that started.
    pub started: u64,
    /// Flows that finished.
    pub finished: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Times that a retransmission timer ran out.
    pub timeouts: u64,
    /// How much of the completion times of the slowest small flows their data spent in the queues
    /// of its hosts while these sent other flows, in percent. Left out up to a half, and at hosts
    /// with ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_wait_percent: Option<u8>,
    /// How the simulator served switches whose ports share a buffer: no part of the result. Modes
    /// that were never used are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub engine: BTreeMap<String, u64>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its number, in order of start.
    pub number: u32,
    /// What the source calls it: the id of a flow list, otherwise empty.
    pub name: String,
    /// The source it comes from, by its place in the scenario.
    pub source: u32,
    /// The sending host.
    pub src: u32,
    /// The receiving host.
    pub dst: u32,
    /// The service, which chooses its queue.
    pub service: u8,
    /// Its size; `None` if it never ends.
    pub bytes: Option<u64>,
    /// Small, medium or large, by the scenario's convention.
    pub class: Class,
    /// Whether it counts: it did not start in the warm-up or after the measurement.
    pub counts: bool,
    /// When the application handed it over.
    pub start_ps: u64,
    /// Its completion time by the scenario's convention; `None` if it did not finish.
    pub fct_ps: Option<u64>,
    /// What the completion time would be in an empty network; `None` if that is not defined.
    pub ideal_ps: Option<u64>,
    /// Segments sent again.
    pub retransmissions: u32,
    /// Times that its retransmission timer ran out.
    pub timeouts: u32,
    /// Packets of it that arrived marked.
    pub marks: u32,
    /// Bytes that arrived in the observed window, if the flow was observed.
    pub received: Option<u64>,
    /// Its goodput while it was active in the observed window, if it was observed.
    pub goodput_bps: Option<u64>,
    /// The sender's smoothed round-trip time at the end, if it keeps one.
    pub rtt_ps: Option<u64>,
    /// The deviation of round-trip times from it.
    pub rtt_variation_ps: Option<u64>,
}

/// A flow's size, as results are grouped by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Those that latency decides: up to about 100 KB.
    Small,
    /// Those between.
    Medium,
    /// Those that throughput decides: from about 10 MB on.
    Large,
}

impl Class {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

/// What was seen of a queue in the observed window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Its port, such as `leaf0>host3`.
    pub port: String,
    /// Its number at the port.
    pub queue: u8,
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent, as packets count; 0 in records of programs that did not count them.
    #[serde(default)]
    pub sent_bytes: u64,
    /// Bytes that waited, weighted with time.
    pub bytes: Distribution,
    /// Packets that waited, weighted with time.
    pub packets: Distribution,
    /// How long packets waited, in picoseconds.
    pub wait_ps: Distribution,
    /// Packets marked, by rule. Rules that marked nothing are left out.
    pub marks: BTreeMap<String, u64>,
    /// Packets dropped, by reason. Reasons that dropped nothing are left out.
    pub drops: BTreeMap<String, u64>,
}

/// A distribution in short: its mean and some of its quantiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The mean.
    #[serde(with = "real")]
    pub mean: f64,
    /// The largest value.
    #[serde(with = "real")]
    pub max: f64,
    /// Pairs of probability and value, both rising: enough to draw the distribution.
    #[serde(with = "real_pairs")]
    pub quantiles: Vec<(f64, f64)>,
}

/// What was seen of a link in the observed window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Its name, such as `leaf0>host3`.
    pub name: String,
    /// Its speed.
    pub rate_bps: u64,
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent, as packets count.
    pub bytes: u64,
    /// The part of the time in which it sent.
    #[serde(with = "real")]
    pub utilisation: f64,
    /// Payload per second.
    #[serde(with = "real")]
    pub goodput_bps: f64,
    /// The part of the time in which it was paused, in any class.
    #[serde(with = "real")]
    pub paused: f64,
    /// The same of each class that was. Others are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paused_by_class: BTreeMap<u8, f64>,
}

/// What was seen of the flows at a port in the observed window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortFlows {
    /// The port, such as `leaf0>host3`.
    pub port: String,
    /// How many were active, weighted with time.
    pub active: Distribution,
    /// What the ideal marker would have done, if it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Decisions>,
}

/// Packets that the port could mark, by what two markers decided on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// Both mark.
    pub both: u64,
    /// Only the ideal one does.
    pub only_ideal: u64,
    /// Only the port's scheme does.
    pub only_scheme: u64,
    /// Neither does.
    pub neither: u64,
}

impl Decisions {
    /// These and those of another port.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            both: self.both + other.both,
            only_ideal: self.only_ideal + other.only_ideal,
            only_scheme: self.only_scheme + other.only_scheme,
            neither: self.neither + other.neither,
        }
    }

    /// The part of all packets on which both agree; `None` if there is none.
    pub fn accuracy(&self) -> Option<f64> {
        let all = self.both + self.only_ideal + self.only_scheme + self.neither;
        part(self.both + self.neither, all)
    }

    /// The part of the packets that the ideal marker marks which the scheme marks too; `None` if
    /// there is none.
    pub fn recall(&self) -> Option<f64> {
        part(self.both, self.both + self.only_ideal)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people needs no more than 53 bits")]
fn part(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// How PFC paused the links of a network over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// A pause that lasts longer is a storm.
    pub storm_ps: u64,
    /// The classes of links that were paused, by link, then by class.
    pub classes: Vec<ClassPauses>,
    /// Classes of links that hold each other for good.
    pub deadlocks: Vec<Deadlock>,
}

impl Pauses {
    /// The classes of links that were paused at a stretch for longer than they should be.
    pub fn storms(&self) -> impl Iterator<Item = &ClassPauses> {
        let classes = self.classes.iter();
        classes.filter(|class| class.longest_ps > self.storm_ps)
    }
}

/// How a class of a link was paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassPauses {
    /// Which one.
    #[serde(flatten)]
    pub of: LinkClass,
    /// Pause frames that stopped it.
    pub pauses: u64,
    /// How long it was stopped in all.
    pub paused_ps: u64,
    /// The longest time that it was stopped for without a break.
    pub longest_ps: u64,
}

/// A class of packets on a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkClass {
    /// The link, such as `leaf0>spine1`.
    pub link: String,
    /// The class.
    pub class: u8,
}

/// Classes of links that are paused for good, because each waits for the next and the last for the
/// first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlock {
    /// The cycle: the switch at the end of each link holds packets of the class that wait for the
    /// next.
    pub cycle: Vec<LinkClass>,
    /// Others that wait for one of the cycle, directly or not.
    pub behind: Vec<LinkClass>,
    /// When the cycle closed.
    pub since_ps: u64,
}

/// An answered probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The series it belongs to, by its number.
    pub series: u32,
    /// When the answer came.
    pub at_ps: u64,
    /// How long it took.
    pub rtt_ps: u64,
}

/// One thing that happened to a traced flow. Bytes are counted from the first of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When.
    pub at_ps: u64,
    /// The flow's number.
    pub flow: u32,
    /// What it was.
    pub event: Traced,
    /// The first byte of a segment, or the next one that an ACK asks for.
    pub seq: u64,
    /// Bytes of a segment, or the window that an ACK offers.
    pub len: u32,
    /// Of a segment that leaves: CWR; of one that arrives: CE; of an ACK: ECE.
    pub flag: bool,
}

/// What happens to a traced flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traced {
    /// A segment left for the first time.
    Sent,
    /// A segment left that had left before.
    Resent,
    /// A segment left, at this time, and never arrived.
    Lost,
    /// A segment arrived at the receiver.
    Arrived,
    /// An ACK arrived at the sender.
    Acked,
}

impl Traced {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Sent, Self::Resent, Self::Lost, Self::Arrived, Self::Acked];

    /// Its name in files.
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

/// Samples at equal times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The time of the first sample.
    pub from_ps: u64,
    /// The time between two.
    pub interval_ps: u64,
    /// What was sampled, each with one value a time.
    pub traces: Vec<Trace>,
}

/// The samples of one number.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// What it belongs to, such as `leaf0>host3 q0`, `flow 7` or `network`.
    pub of: String,
    /// Which number.
    pub quantity: Quantity,
    /// The samples; not a number where there was none, such as the window of a flow that is over.
    pub values: Vec<f64>,
}

/// What can be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Flows of the network that have started and are not finished, or flows that are active at a
    /// port.
    ActiveFlows,
    /// DCTCP's or DCQCN's estimate of congestion, from 0 to 1.
    Alpha,
    /// The rate at which a scheme thinks a queue is served, in bits per second.
    Capacity,
    /// Connections with unfinished flows that have sent something through a port.
    Connections,
    /// The goodput of a flow since the last sample, in bits per second.
    Goodput,
    /// Packets of a flow that arrived marked since the last sample.
    Marks,
    /// Bytes that wait in a queue, or at a port those of a flow or of a class of flows.
    QueueBytes,
    /// Packets that wait in a queue.
    QueuePackets,
    /// The speed of a link or a sender, in bits per second.
    Rate,
    /// The retransmission timeout, in seconds.
    Rto,
    /// The smoothed round-trip time, in seconds.
    Rtt,
    /// The deviation of round-trip times from the smoothed one, in seconds.
    RttVariation,
    /// The slow start threshold in bytes.
    Ssthresh,
    /// A queue's marking threshold in bytes.
    Threshold,
    /// The congestion window in bytes.
    Window,
}

impl Quantity {
    /// All of them.
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

    /// Its name in files.
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

    /// The unit of its values: `B`, `bit/s`, `s` or empty for counts and parts of one.
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

/// A number in JSON, which has none that is not finite: `null` represents it and is read as not a
/// number.
mod real {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
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
