//! The runs of one or more folders side by side: each point once, with its repetitions put
//! together.

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

/// What a table or a chart of results shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The metrics that have a value somewhere, in the order of a table's columns.
    pub metrics: Vec<Metric>,
    /// The points, in the order of the sweep.
    pub points: Vec<Point>,
    /// The point, by its place, that all others are compared with; `None` if there is none, or if
    /// each has its own, such as the same scheme at the same load: see [`Point::baseline`].
    pub baseline: Option<usize>,
    /// The flows of each class of service; `None` if there is one class only.
    pub services: Option<Breakdown>,
    /// The observed queues of each number; `None` if only one was used.
    pub queues: Option<Breakdown>,
    /// The flows of each of the scenario's own bins of sizes; `None` if it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Breakdown>,
    /// Why some numbers should not be trusted, about all points.
    pub warnings: Vec<String>,
}

/// What the parts of a network got: its classes of service, or its queues by their number at a
/// port.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Breakdown {
    /// The metrics that have a value somewhere, in the order of a table's columns.
    pub metrics: Vec<Metric>,
    /// The parts, by rising number.
    pub parts: Vec<Part>,
}

/// A class of service, the queues of one number, or a bin of flow sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The service, the number of the queue, or that of the bin.
    pub number: u8,
    /// Its name, if it has more than a number: the sizes of a bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For each of [`Summary::points`] its numbers, one for each of [`Breakdown::metrics`]; `None`
    /// where it has no value.
    pub points: Vec<Vec<Option<Estimate>>>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// Its name in files, such as `fct_small_p99`.
    pub name: &'static str,
    /// Its name for people, such as `small p99`.
    pub title: &'static str,
    /// The unit of its values: `s`, `bit/s`, `B` or empty for counts and ratios.
    pub unit: &'static str,
    /// Which values are good.
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

/// Which values of a metric are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Large ones.
    Higher,
    /// Small ones.
    Lower,
    /// Neither: it only describes.
    Neither,
}

impl Better {
    /// Its name in files.
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
    /// The point in a few words.
    pub label: String,
    /// What distinguishes it from the others.
    pub settings: Vec<Setting>,
    /// How many runs it has.
    pub runs: u32,
    /// The commands that repeat its runs.
    pub commands: Vec<String>,
    /// The point, by its place, that it is compared with.
    pub baseline: Option<usize>,
    /// Its numbers, one for each of [`Summary::metrics`]; `None` where it has no value.
    pub estimates: Vec<Option<Estimate>>,
    /// Why some of its numbers should not be trusted.
    pub warnings: Vec<String>,
}

/// A number and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The number: of several runs, the mean of what each gives.
    pub value: f64,
    /// The lower end of its 95 % confidence interval; not a number if that is not known.
    pub low: f64,
    /// The upper end; not a number if that is not known.
    pub high: f64,
    /// Where the interval comes from.
    pub method: Method,
    /// How many flows, packets or runs it rests on.
    pub samples: u64,
    /// The number divided by the baseline's, if there is one.
    pub relative: Option<Relative>,
}

impl Estimate {
    /// Its 95 % confidence interval, if that is known.
    pub fn interval(&self) -> Option<(f64, f64)> {
        known(self.low, self.high)
    }
}

/// Where a confidence interval comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The blocks of one run, drawn again and again. It says how far chance within the run reaches,
    /// not what another seed would give.
    Blocks,
    /// There is no interval.
    None,
    /// Student's t over the runs of the point.
    Runs,
}

impl Method {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::None => "none",
            Self::Runs => "runs",
        }
    }
}

/// A number against the baseline's, seed by seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Relative {
    /// The ratio to the baseline: of several seeds, the geometric mean of what each gives.
    pub ratio: f64,
    /// The lower end of its 95 % confidence interval; not a number if that is not known.
    pub low: f64,
    /// The upper end; not a number if that is not known.
    pub high: f64,
    /// Where the interval comes from.
    pub method: Method,
}

impl Relative {
    /// Its 95 % confidence interval, if that is known.
    pub fn interval(&self) -> Option<(f64, f64)> {
        known(self.low, self.high)
    }
}

fn known(low: f64, high: f64) -> Option<(f64, f64)> {
    (low.is_finite() && high.is_finite()).then_some((low, high))
}
