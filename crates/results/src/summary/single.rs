//! A metric of one run, outside of a summary.

use crate::record::Record;
use crate::statistics::Interval;

use super::Metric;
use super::measure::{self, Column, Measure};

/// What a run gives for a metric, if it has a value.
pub fn value(metric: Metric, record: &Record) -> Option<f64> {
    column(metric)?.found(record).map(|found| found.value)
}

/// The 95 % confidence interval of the metric within the run, from blocks of its flows or probes.
pub fn interval(metric: Metric, record: &Record) -> Option<Interval> {
    interval_within(column(metric)?, record)
}

/// The same of its ratio to another run, if both have the same flows or probes.
pub fn ratio_interval(metric: Metric, run: &Record, base: &Record) -> Option<Interval> {
    ratio_within(column(metric)?, run, base)
}

/// The interval of a column within a run.
pub(super) fn interval_within(column: Column, record: &Record) -> Option<Interval> {
    column.sample(record)?.interval(column.statistic()?)
}

/// The interval of the ratio of a column between two runs.
pub(super) fn ratio_within(column: Column, run: &Record, base: &Record) -> Option<Interval> {
    if !column.is_paired(run, base) {
        return None;
    }
    let (run, base) = (column.sample(run)?, column.sample(base)?);
    run.ratio_interval(&base, column.statistic()?)
}

fn column(metric: Metric) -> Option<Column> {
    let measure = measure::of_run().find(|measure| measure.metric == metric);
    measure.map(Measure::whole)
}
