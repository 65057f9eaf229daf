//! From records to a summary.

use crate::record::Record;
use crate::statistics::student::{self, Compared};
use crate::statistics::{Interval, mean};

use super::group::{Group, baselines};
use super::measure::MEASURES;
use super::single::{interval as interval_within, ratio_interval};
use super::{Estimate, Method, Point, Relative, Summary, warn};

impl Summary {
    /// Puts runs side by side: those of one point together, each point against the baseline, if there
    /// is one. `baseline` is a point's label, or something that several points have, such as `tcn`;
    /// each point is then compared with the one that is most like it.
    pub fn new(records: &[Record], baseline: Option<&str>) -> Self {
        let groups = Group::all(records);
        let places =
            baseline.map_or_else(|| vec![None; groups.len()], |name| baselines(&groups, name));
        let of = |(group, &place): (&Group<'_>, &Option<usize>)| {
            point(group, place, place.map(|place| &groups[place]))
        };
        let mut points: Vec<Point> = groups.iter().zip(&places).map(of).collect();
        let has_value =
            |index: &usize| points.iter().any(|point| point.estimates[*index].is_some());
        let kept: Vec<usize> = (0..MEASURES.len()).filter(has_value).collect();
        for point in &mut points {
            point.estimates = kept.iter().map(|&index| point.estimates[index]).collect();
        }
        let single = places.first().copied().flatten();
        Self {
            metrics: kept
                .into_iter()
                .map(|index| MEASURES[index].metric)
                .collect(),
            baseline: single.filter(|_| places.iter().all(|&place| place == single)),
            warnings: warn::of_all(&groups, baseline.filter(|_| single.is_none())),
            points,
        }
    }
}

fn point(group: &Group<'_>, place: Option<usize>, baseline: Option<&Group<'_>>) -> Point {
    Point {
        label: group.label.clone(),
        settings: group.settings.to_vec(),
        runs: u32::try_from(group.records.len()).unwrap_or(u32::MAX),
        commands: group
            .records
            .iter()
            .map(|record| record.run.command.clone())
            .collect(),
        baseline: place,
        estimates: (0..MEASURES.len())
            .map(|place| estimate(place, group, baseline))
            .collect(),
        warnings: warn::of_point(group),
    }
}

/// The number of a point for the measure at a place.
fn estimate(place: usize, group: &Group<'_>, baseline: Option<&Group<'_>>) -> Option<Estimate> {
    let found = group.found(place);
    let values: Vec<f64> = found.iter().map(|found| found.value).collect();
    let (interval, method) = match (&group.records[..], student::interval(&values)) {
        (_, Some(interval)) => (Some(interval), Method::Runs),
        ([record], None) => (
            interval_within(MEASURES[place].metric, record),
            Method::Blocks,
        ),
        _ => (None, Method::None),
    };
    // Nothing that is measured is negative.
    let interval = interval.map(|Interval { low, high }| Interval {
        low: low.max(0.0),
        high,
    });
    let (low, high, method) = ends(interval, method);
    Some(Estimate {
        value: mean(&values)?,
        low,
        high,
        method,
        samples: found.iter().map(|found| found.samples as u64).sum(),
        relative: baseline.and_then(|baseline| relative(place, group, baseline)),
    })
}

/// A point against its baseline, over the seeds that both have.
fn relative(place: usize, group: &Group<'_>, baseline: &Group<'_>) -> Option<Relative> {
    let pairs = group.pairs(baseline, place);
    let values: Vec<(f64, f64)> = pairs.iter().map(|pair| pair.values).collect();
    let Compared { ratio, interval } = student::compare(&values)?;
    let (interval, method) = match (&pairs[..], interval) {
        (_, Some(interval)) => (Some(interval), Method::Runs),
        ([pair], None) => (
            ratio_interval(MEASURES[place].metric, pair.run, pair.base),
            Method::Blocks,
        ),
        _ => (None, Method::None),
    };
    let (low, high, method) = ends(interval, method);
    Some(Relative {
        ratio,
        low,
        high,
        method,
    })
}

fn ends(interval: Option<Interval>, method: Method) -> (f64, f64, Method) {
    interval.map_or(
        (f64::NAN, f64::NAN, Method::None),
        |Interval { low, high }| (low, high, method),
    )
}
