//! The runs of one or more folders side by side: each point once, with its repetitions put together.

use serde::Serialize;

use crate::record::Setting;

/// What a table or a chart of results shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The metrics that have a value somewhere, in the order of a table's columns.
    pub metrics: Vec<Metric>,
    /// The points, in the order of the sweep.
    pub points: Vec<Point>,
    /// The point, by its place, that others are compared with.
    pub baseline: Option<usize>,
    /// Why some numbers should not be trusted, about all points.
    pub warnings: Vec<String>,
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

/// A point of a sweep: the same settings under several seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The point in a few words.
    pub label: String,
    /// What tells it from the others.
    pub settings: Vec<Setting>,
    /// How many runs it has.
    pub runs: u32,
    /// The commands that repeat its runs.
    pub commands: Vec<String>,
    /// Its numbers, one for each of [`Summary::metrics`]; `None` where it has no value.
    pub estimates: Vec<Option<Estimate>>,
    /// Why some of its numbers should not be trusted.
    pub warnings: Vec<String>,
}

/// A number and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The lower end of its 95 % confidence interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many flows, packets or runs it rests on.
    pub samples: u64,
    /// The number divided by the baseline's, if there is one.
    pub relative: Option<Relative>,
}

/// A number against the baseline's, seed by seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Relative {
    /// The ratio to the baseline.
    pub ratio: f64,
    /// The lower end of its 95 % confidence interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}
