//! From records to a summary.

use crate::record::Record;
use crate::statistics::student::{self, Compared};
use crate::statistics::{Interval, mean};
use crate::{RecordedFlow, View};

use super::group::{Group, Measured, baselines};
use super::measure::{self, Column, Found, Measure, Slice};
use super::single::{interval_within, ratio_within};
use super::{Estimate, Method, Metric, Point, Relative, Summary, part, warn};

impl Summary {
    /// Groups runs by point and compares each point with the baseline, if there is one. `baseline`
    /// is the label of a point, or something that several points share, such as `tcn`; each point
    /// is then compared with the most similar of them.
    pub fn new<F: RecordedFlow>(records: &[Record<F>], baseline: Option<&str>) -> Self {
        let groups = Group::all(records.iter().map(View::from));
        let places =
            baseline.map_or_else(|| vec![None; groups.len()], |name| baselines(&groups, name));
        let (metrics, estimates) = table(measure::of_run(), Slice::Whole, &groups, &places);
        let points = groups.iter().zip(&places).zip(estimates);
        let points = points.map(|((group, &place), estimates)| point(group, place, estimates));
        let single = places.first().copied().flatten();
        Self {
            metrics,
            points: points.collect(),
            baseline: single.filter(|_| places.iter().all(|&place| place == single)),
            services: part::services(&groups, &places),
            queues: part::queues(&groups, &places),
            sizes: part::sizes(&groups, &places),
            warnings: warn::of_all(&groups, baseline.filter(|_| single.is_none())),
        }
    }
}

fn point(group: &Group<'_>, place: Option<usize>, estimates: Vec<Option<Estimate>>) -> Point {
    Point {
        label: group.label.clone(),
        settings: group.settings.to_vec(),
        runs: u32::try_from(group.records.len()).unwrap_or(u32::MAX),
        commands: group.records.iter().map(|record| record.run.command.clone()).collect(),
        baseline: place,
        estimates,
        warnings: warn::of_point(group),
    }
}

/// The metrics with at least one value, and each point's estimates for them.
pub(super) fn table(
    measures: impl Iterator<Item = &'static Measure>,
    slice: Slice,
    groups: &[Group<'_>],
    baselines: &[Option<usize>],
) -> (Vec<Metric>, Vec<Vec<Option<Estimate>>>) {
    let mut metrics = Vec::new();
    let mut points = vec![Vec::new(); groups.len()];
    for measure in measures {
        let column = estimates(Column { measure, slice }, groups, baselines);
        if column.iter().any(Option::is_some) {
            metrics.push(measure.metric);
            for (point, estimate) in points.iter_mut().zip(column) {
                point.push(estimate);
            }
        }
    }
    (metrics, points)
}

/// The number of each point for a column.
pub(super) fn estimates(
    column: Column,
    groups: &[Group<'_>],
    baselines: &[Option<usize>],
) -> Vec<Option<Estimate>> {
    let found: Vec<Vec<Option<Found>>> = groups.iter().map(|group| group.found(column)).collect();
    let measured = |place: usize| Measured { group: &groups[place], found: &found[place] };
    let places = (0..groups.len()).zip(baselines);
    places.map(|(place, base)| estimate(column, measured(place), base.map(measured))).collect()
}

fn estimate(
    column: Column,
    point: Measured<'_>,
    baseline: Option<Measured<'_>>,
) -> Option<Estimate> {
    let found: Vec<Found> = point.found.iter().copied().flatten().collect();
    let values: Vec<f64> = found.iter().map(|found| found.value).collect();
    let (interval, method) = match (&point.group.records[..], student::interval(&values)) {
        (_, Some(interval)) => (Some(interval), Method::Runs),
        (&[record], None) => (interval_within(column, record), Method::Blocks),
        _ => (None, Method::None),
    };
    // No measured value is negative.
    let interval = interval.map(|Interval { low, high }| Interval { low: low.max(0.0), high });
    let (low, high, method) = ends(interval, method);
    Some(Estimate {
        value: mean(&values)?,
        low,
        high,
        method,
        samples: found.iter().map(|found| found.samples as u64).sum(),
        relative: baseline.and_then(|baseline| relative(column, point, baseline)),
    })
}

/// The ratio of a point to its baseline, over the seeds that both have.
fn relative(column: Column, point: Measured<'_>, baseline: Measured<'_>) -> Option<Relative> {
    let pairs = point.pairs(baseline);
    let values: Vec<(f64, f64)> = pairs.iter().map(|pair| pair.values).collect();
    let Compared { ratio, interval } = student::compare(&values)?;
    let (interval, method) = match (&pairs[..], interval) {
        (_, Some(interval)) => (Some(interval), Method::Runs),
        ([pair], None) => (ratio_within(column, pair.run, pair.base), Method::Blocks),
        _ => (None, Method::None),
    };
    let (low, high, method) = ends(interval, method);
    Some(Relative { ratio, low, high, method })
}

fn ends(interval: Option<Interval>, method: Method) -> (f64, f64, Method) {
    interval
        .map_or((f64::NAN, f64::NAN, Method::None), |Interval { low, high }| (low, high, method))
}
