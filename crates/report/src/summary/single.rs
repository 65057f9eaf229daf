//! A metric of one run, outside of a summary.

use crate::record::Record;
use crate::statistics::Interval;

use super::Metric;
use super::measure::{MEASURES, Measure};

/// What a run gives for a metric, if it has a value.
pub fn value(metric: Metric, record: &Record) -> Option<f64> {
    measure(metric)?.found(record).map(|found| found.value)
}

/// The 95 % confidence interval of the metric within the run, from blocks of its flows or probes.
pub fn interval(metric: Metric, record: &Record) -> Option<Interval> {
    let measure = measure(metric)?;
    measure.sample(record)?.interval(measure.statistic()?)
}

/// The same of its ratio to another run, if both have the same flows or probes.
pub fn ratio_interval(metric: Metric, run: &Record, base: &Record) -> Option<Interval> {
    let measure = measure(metric)?;
    if !measure.is_paired(run, base) {
        return None;
    }
    let (run, base) = (measure.sample(run)?, measure.sample(base)?);
    run.ratio_interval(&base, measure.statistic()?)
}

fn measure(metric: Metric) -> Option<&'static Measure> {
    MEASURES.iter().find(|measure| measure.metric == metric)
}
