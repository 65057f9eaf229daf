//! A metric of one run, outside of a summary.

use crate::View;
use crate::statistics::Interval;

use super::Metric;
use super::measure::{self, Column, Measure};

/// The value of a metric in a run, if it has one.
pub fn value<'a>(metric: Metric, record: impl Into<View<'a>>) -> Option<f64> {
    column(metric)?.found(record.into()).map(|found| found.value)
}

/// The 95 % confidence interval of the metric within the run, from blocks of its flows or probes.
pub fn interval<'a>(metric: Metric, record: impl Into<View<'a>>) -> Option<Interval> {
    interval_within(column(metric)?, record.into())
}

/// The 95 % confidence interval of a metric's ratio to another run, if both have the same flows or
/// probes.
pub fn ratio_interval<'a>(
    metric: Metric,
    run: impl Into<View<'a>>,
    base: impl Into<View<'a>>,
) -> Option<Interval> {
    ratio_within(column(metric)?, run.into(), base.into())
}

/// The interval of a column within a run.
pub(super) fn interval_within(column: Column, record: View<'_>) -> Option<Interval> {
    column.sample(record)?.interval(column.statistic()?)
}

/// The interval of the ratio of a column between two runs.
pub(super) fn ratio_within(column: Column, run: View<'_>, base: View<'_>) -> Option<Interval> {
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
