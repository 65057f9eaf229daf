//! Measures of a run, one number each.

use tidegate_dataplane::DropReason;
use tidegate_results::record::{Class, Flow, Record};
use tidegate_results::summary;
use tidegate_units::{Bytes, choices};

use crate::network::Network;

choices! {
    /// Measure of a run.
    pub enum Measure {
        /// 99th percentile of the completion times of flows up to 100 KB.
        P99Small = "p99-small",
        /// Mean throughput of large flows (ten bandwidth-delay products and more).
        Throughput = "throughput",
        /// Mean completion time of all flows.
        Mean = "mean",
        /// Packets dropped.
        Drops = "drops",
        /// Share of the time that PFC pauses links.
        Pauses = "pauses",
        /// 99th percentile over time of the length of the fullest switch queue.
        Queue = "queue",
    }
}

/// Which values of a measure are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Large ones.
    Higher,
    /// Small ones.
    Lower,
}

impl Measure {
    /// All of them, in the order of columns.
    pub const ALL: [Self; 6] =
        [Self::P99Small, Self::Throughput, Self::Mean, Self::Drops, Self::Pauses, Self::Queue];

    /// Name in options and JSON.
    pub fn name(self) -> String {
        tidegate_units::Setting::write(&self)
    }

    /// Title in tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::P99Small => "small p99",
            Self::Throughput => "large flows",
            Self::Mean => "mean",
            Self::Drops => "drops",
            Self::Pauses => "paused",
            Self::Queue => "queue p99",
        }
    }

    /// Unit of the values: `s`, `bit/s`, `B`, `%` or empty for a count.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::P99Small | Self::Mean => "s",
            Self::Throughput => "bit/s",
            Self::Drops => "",
            Self::Pauses => "%",
            Self::Queue => "B",
        }
    }

    /// Which values are good.
    pub const fn better(self) -> Better {
        match self {
            Self::Throughput => Better::Higher,
            _ => Better::Lower,
        }
    }
}

/// Least bytes of a large flow without a network to derive it from.
const LARGE: Bytes = Bytes(1_000_000);

/// Least bytes of a large flow of a network, whose completion time depends on throughput.
pub fn large(network: &Network) -> Bytes {
    let product = network.host_ports.speed.bytes_in(network.rtt.p90);
    Bytes(product.saturating_mul(10))
}

/// Measured values of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Values {
    /// Value of each measure, in the order of [`Measure::ALL`].
    measures: [Option<f64>; 6],
    /// Packets marked at the observed queues; in the whole network if none is observed.
    pub marks: u64,
    /// Most bytes in an observed queue; `None` if none is observed.
    pub longest: Option<f64>,
}

impl Values {
    /// Measures a run; flows of `large` bytes are large ones.
    pub fn of(record: &Record, large: Option<Bytes>) -> Self {
        let large = large.unwrap_or(LARGE);
        let measures = Measure::ALL.map(|measure| match measure {
            Measure::P99Small => by_name("fct_small_p99", record),
            Measure::Throughput => throughput(record, large),
            Measure::Mean => by_name("fct_mean", record),
            Measure::Drops => by_name("drops", record),
            Measure::Pauses => paused(record),
            Measure::Queue => queue(record),
        });
        let queues = || record.queues.iter();
        let marks = match record.queues.as_slice() {
            [] => record.counters.marks.values().sum(),
            _ => queues().flat_map(|queue| queue.marks.values()).sum(),
        };
        Self { measures, marks, longest: queues().map(|queue| queue.bytes.max).reduce(f64::max) }
    }

    /// Value of a measure; `None` if the run has none, such as without small flows.
    pub fn get(&self, measure: Measure) -> Option<f64> {
        let place = Measure::ALL.iter().position(|own| *own == measure)?;
        self.measures[place]
    }
}

fn by_name(name: &str, record: &Record) -> Option<f64> {
    let metric = summary::Metric::all().find(|metric| metric.name == name)?;
    summary::value(metric, record)
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn throughput(record: &Record, large: Bytes) -> Option<f64> {
    let flows = record.flows.iter().filter(|flow| flow.counts);
    let rates = flows.filter_map(|flow| {
        let bytes = flow.bytes.filter(|&bytes| bytes >= large.0)?;
        Some(bytes as f64 * 8e12 / flow.fct_ps.filter(|&time| time > 0)? as f64)
    });
    let rates: Vec<f64> = rates.collect();
    tidegate_results::statistics::mean(&rates)
}

/// In percent, of all links together.
fn paused(record: &Record) -> Option<f64> {
    let shares = record.links.iter().map(|link| 100.0 * link.paused);
    // A link that was observed for no time has no share.
    let paused: Vec<f64> = shares.filter(|share| share.is_finite()).collect();
    tidegate_results::statistics::mean(&paused)
}

fn queue(record: &Record) -> Option<f64> {
    let p99 = |queue: &tidegate_results::record::Queue| {
        let mut quantiles = queue.bytes.quantiles.iter();
        let reached = quantiles.find(|(probability, _)| *probability >= 0.99);
        reached.map(|&(_, value)| value)
    };
    record.queues.iter().filter_map(p99).reduce(f64::max)
}

/// Packets that switches dropped because they are not ECN-capable and could not be marked.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn dropped_for_marks(record: &Record) -> f64 {
    let reason = DropReason::NotCapable.name();
    record.counters.drops.get(reason).copied().unwrap_or(0) as f64
}

/// Mean completion time of the small flows of these sources, in seconds.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn small_mean(record: &Record, sources: &[u32]) -> Option<f64> {
    let small = of_sources(record, sources).filter(|flow| flow.class == Class::Small);
    let times: Vec<f64> = small.filter_map(|flow| Some(flow.fct_ps? as f64 / 1e12)).collect();
    tidegate_results::statistics::mean(&times)
}

/// Share of the flows of these sources that waited for a retransmission timeout, in percent.
pub fn with_timeouts(record: &Record, sources: &[u32]) -> Option<f64> {
    let waited = of_sources(record, sources).map(|flow| match flow.timeouts {
        0 => 0.0,
        _ => 100.0,
    });
    tidegate_results::statistics::mean(&waited.collect::<Vec<f64>>())
}

fn of_sources<'a>(record: &'a Record, sources: &'a [u32]) -> impl Iterator<Item = &'a Flow> {
    let flows = record.flows.iter().filter(|flow| flow.counts);
    flows.filter(|flow| sources.contains(&flow.source))
}
