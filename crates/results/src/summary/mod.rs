//! The runs of one or more folders side by side: one row for each point, over all its repetitions.

mod build;
mod group;
mod measure;
mod part;
mod rank;
mod single;
#[cfg(test)]
mod tests;
mod warn;

use serde::Serialize;

pub use group::grouped;
pub use rank::{Extent, Rank};
pub use single::{interval, ratio_interval, value};

use crate::record::Setting;

/// The content of result tables and charts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Metrics with at least one value, in the order of a table's columns.
    pub metrics: Vec<Metric>,
    /// Points, in the order of the sweep.
    pub points: Vec<Point>,
    /// Index of the baseline of all points. `None` if there is no baseline, or if points have
    /// different baselines, such as one scheme at each load: see [`Point::baseline`].
    pub baseline: Option<usize>,
    /// Flows by class of service; `None` if there is only one class.
    pub services: Option<Breakdown>,
    /// Observed queues by queue number; `None` if only one number is used.
    pub queues: Option<Breakdown>,
    /// Flows by the scenario's own size bins; `None` if it defines none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Breakdown>,
    /// Warnings about all points.
    pub warnings: Vec<String>,
}

/// Results by part: class of service, queue number or flow-size bin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Breakdown {
    /// Metrics with at least one value, in the order of a table's columns.
    pub metrics: Vec<Metric>,
    /// Parts, by rising number.
    pub parts: Vec<Part>,
}

/// A class of service, the queues of one number, or a bin of flow sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Number of the class, queue or bin.
    pub number: u8,
    /// Name, if the part has one: the sizes of a bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For each of [`Summary::points`], one estimate for each of [`Breakdown::metrics`]; `None` for
    /// a missing value.
    pub points: Vec<Vec<Option<Estimate>>>,
}

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// Name in files, such as `fct_small_p99`.
    pub name: &'static str,
    /// Name for people, such as `small p99`.
    pub title: &'static str,
    /// Unit: `s`, `bit/s`, `B`, or empty for counts and ratios.
    pub unit: &'static str,
    /// Which values are better.
    pub better: Better,
}

impl Metric {
    /// All metrics, in the order of a table's columns.
    pub fn all() -> impl Iterator<Item = Self> {
        measure::of_run().map(|measure| measure.metric)
    }

    /// The metrics of a class of service, in the order of a table's columns.
    pub fn of_services() -> impl Iterator<Item = Self> {
        measure::of_service().map(|measure| measure.metric)
    }

    /// The metrics of a bin of flow sizes, in the order of a table's columns.
    pub fn of_sizes() -> impl Iterator<Item = Self> {
        measure::of_size().map(|measure| measure.metric)
    }

    /// The metrics of the queues of one number, in the order of a table's columns.
    pub fn of_queues() -> impl Iterator<Item = Self> {
        measure::of_queue().map(|measure| measure.metric)
    }
}

/// Direction in which a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Higher values are better.
    Higher,
    /// Lower values are better.
    Lower,
    /// The metric is descriptive.
    Neither,
}

impl Better {
    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Neither => "neither",
        }
    }
}

/// A point of a sweep: the same settings under several seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Short name.
    pub label: String,
    /// Settings that distinguish the point.
    pub settings: Vec<Setting>,
    /// Number of runs.
    pub runs: u32,
    /// Commands that repeat the runs.
    pub commands: Vec<String>,
    /// Index of the point's baseline.
    pub baseline: Option<usize>,
    /// One estimate for each of [`Summary::metrics`]; `None` for a missing value.
    pub estimates: Vec<Option<Estimate>>,
    /// Warnings about the point.
    pub warnings: Vec<String>,
}

/// A value with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Value: the mean over the runs.
    pub value: f64,
    /// Lower end of the 95 % confidence interval; NaN if unknown.
    pub low: f64,
    /// Upper end; NaN if unknown.
    pub high: f64,
    /// Method of the interval.
    pub method: Method,
    /// Number of flows, packets or runs behind the value.
    pub samples: u64,
    /// Ratio to the baseline, if there is one.
    pub relative: Option<Relative>,
}

impl Estimate {
    /// The 95 % confidence interval, if known.
    pub fn interval(&self) -> Option<(f64, f64)> {
        known(self.low, self.high)
    }
}

/// Method of a confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Bootstrap over blocks of one run. It covers chance within the run, not the spread between
    /// seeds.
    Blocks,
    /// No interval.
    None,
    /// Student's t over the runs of the point.
    Runs,
}

impl Method {
    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::None => "none",
            Self::Runs => "runs",
        }
    }
}

/// Ratio to the baseline, paired by seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Relative {
    /// Ratio: the geometric mean over the seeds.
    pub ratio: f64,
    /// Lower end of the 95 % confidence interval; NaN if unknown.
    pub low: f64,
    /// Upper end; NaN if unknown.
    pub high: f64,
    /// Method of the interval.
    pub method: Method,
}

impl Relative {
    /// The 95 % confidence interval, if known.
    pub fn interval(&self) -> Option<(f64, f64)> {
        known(self.low, self.high)
    }
}

fn known(low: f64, high: f64) -> Option<(f64, f64)> {
    (low.is_finite() && high.is_finite()).then_some((low, high))
}
