//! Measured numbers of a claim: one for each of its points.

use serde::{Deserialize, Serialize};
use tidegate_results::Record;
use tidegate_results::statistics::{Interval, mean, student};

use super::claim::{Claim, Measured, Published, Take};
use super::number::Number;
use super::pattern;

/// Point of a claim.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Point {
    /// Label; for a curve, the text of the first `*`; empty for a number from all points.
    pub label: String,
    /// Measured number.
    pub measured: Measured,
}

/// Measured numbers of a claim from the finished runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Points.
    pub points: Vec<Point>,
    /// Number of runs, or of repetitions if all points make one number, without such a number.
    pub numberless: usize,
}

/// Number of a run at a point.
struct AtRun<'a> {
    replication: u32,
    /// The number in the first `*`, if it is one.
    place: Option<f64>,
    value: f64,
    of: &'a Record,
    base: Option<&'a Record>,
}

/// The points that a claim judges: of a curve those that were run, of a number from all points a
/// single one.
pub fn found(claim: &Claim, records: &[Record]) -> Found {
    let Published::Curve { points: published, within } = &claim.paper else {
        return of_runs(claim, records);
    };
    let mut whole = Found::default();
    for (label, value) in published {
        let at = of_runs(&claim.at(label, value, within), records);
        whole.numberless += at.numberless;
        let point =
            at.points.into_iter().next().map(|point| Point { label: label.clone(), ..point });
        whole.points.extend(point);
    }
    whole
}

fn of_runs(claim: &Claim, records: &[Record]) -> Found {
    if let Some(value) = claim.measure.computed() {
        let measured = Measured { value, interval: None, runs: 0 };
        return Found { points: vec![Point { label: String::new(), measured }], numberless: 0 };
    }
    let (values, numberless) = values(claim, records);
    let mut found = match &claim.take {
        Take::Each => by_label(claim, &values),
        Take::Largest => best(by_label(claim, &values), |a, b| a > b),
        Take::Smallest => best(by_label(claim, &values), |a, b| a < b),
        Take::FirstAboveZero => {
            by_run(&values, |own| first(own.iter().filter(|value| value.value > 0.0)))
        }
        Take::FirstReaching(part) => by_run(&values, |own| {
            let largest = own.iter().map(|value| value.value).reduce(f64::max)?;
            first(own.iter().filter(|value| value.value >= part.value * largest))
        }),
        Take::Spread => by_run(&values, |own| {
            let numbers = || own.iter().map(|value| value.value);
            change(numbers().reduce(f64::max)?, numbers().reduce(f64::min)?)
        }),
    };
    found.numberless += numberless;
    found
}

/// One number per label, over its repetitions.
fn by_label(claim: &Claim, values: &[AtRun<'_>]) -> Found {
    let mut labels: Vec<&str> = Vec::new();
    for value in values {
        if !labels.contains(&value.of.run.label.as_str()) {
            labels.push(&value.of.run.label);
        }
    }
    let mut found = Found::default();
    for label in labels {
        let own = values.iter().filter(|value| value.of.run.label == label);
        let own: Vec<&AtRun<'_>> = own.collect();
        if let Some((measured, left_out)) = over_runs(claim, &own) {
            found.numberless += left_out;
            found.points.push(Point { label: label.to_owned(), measured });
        }
    }
    found
}

/// Only the point with the best number.
fn best(found: Found, better: fn(f64, f64) -> bool) -> Found {
    let best = found.points.into_iter().reduce(|best, point| {
        if better(point.measured.value, best.measured.value) { point } else { best }
    });
    Found { points: best.into_iter().collect(), ..found }
}

fn first<'a, 'b: 'a>(values: impl Iterator<Item = &'a &'a AtRun<'b>>) -> Option<f64> {
    values.filter_map(|value| value.place).reduce(f64::min)
}

/// One number from all points of each repetition, then over the repetitions.
fn by_run(values: &[AtRun<'_>], take: impl Fn(&[&AtRun<'_>]) -> Option<f64>) -> Found {
    let mut replications: Vec<u32> = values.iter().map(|value| value.replication).collect();
    replications.sort_unstable();
    replications.dedup();
    let numbers = replications.iter().filter_map(|&replication| {
        let own = values.iter().filter(|value| value.replication == replication);
        take(&own.collect::<Vec<_>>())
    });
    let numbers: Vec<f64> = numbers.collect();
    let (measured, left_out) = over(&numbers).map_or((None, 0), |(one, out)| (Some(one), out));
    let point = measured.map(|measured| Point { label: String::new(), measured });
    Found {
        points: point.into_iter().collect(),
        numberless: replications.len() - numbers.len() + left_out,
    }
}

/// Mean and interval over the repetitions of a point, and the number of repetitions left out.
fn over_runs(claim: &Claim, values: &[&AtRun<'_>]) -> Option<(Measured, usize)> {
    let numbers: Vec<f64> = values.iter().map(|value| value.value).collect();
    let of_blocks = || match values {
        [AtRun { of, base: None, .. }] => claim.measure.interval(of),
        [AtRun { of, base: Some(base), .. }] => {
            let ratio = claim.measure.ratio_interval(of, base);
            ratio.map(|Interval { low, high }| Interval { low: low - 1.0, high: high - 1.0 })
        }
        _ => None,
    };
    let (mut measured, left_out) = over(&numbers)?;
    if measured.value.is_finite() {
        measured.interval = measured.interval.or_else(|| of_blocks().map(ends));
    }
    Some((measured, left_out))
}

/// Mean and interval of numbers. Growth from zero in every repetition is infinite. Growth from zero
/// in some repetitions has no mean: these are left out and counted.
fn over(numbers: &[f64]) -> Option<(Measured, usize)> {
    let finite = numbers.iter().copied().filter(|number| number.is_finite());
    let finite: Vec<f64> = finite.collect();
    let own = if finite.is_empty() { numbers } else { &finite };
    let measured = Measured {
        value: mean(own)?,
        interval: student::interval(&finite).map(ends),
        runs: own.len(),
    };
    Some((measured, numbers.len() - own.len()))
}

fn ends(Interval { low, high }: Interval) -> (f64, f64) {
    (low, high)
}

/// Numbers of all runs of a claim, and how many runs have none. A run without its base is not
/// compared.
fn values<'a>(claim: &Claim, records: &'a [Record]) -> (Vec<AtRun<'a>>, usize) {
    let (mut values, mut numberless) = (Vec::new(), 0);
    for record in records {
        let replication = record.run.replication;
        let Some(captured) = pattern::captured(&claim.of, &record.run.label) else {
            continue;
        };
        let base = match &claim.against {
            None => None,
            Some(against) => {
                let same = |other: &&Record| {
                    other.run.replication == replication
                        && pattern::captured(against, &other.run.label)
                            .is_some_and(|other| captured.starts_with(&other))
                };
                let Some(base) = records.iter().find(same) else {
                    continue;
                };
                Some(base)
            }
        };
        let own = claim.measure.value(record);
        let value = match base {
            None => own,
            Some(base) => own.and_then(|value| change(value, claim.measure.value(base)?)),
        };
        match value {
            None => numberless += 1,
            Some(value) => values.push(AtRun {
                replication,
                place: captured.first().and_then(|text| swept(text)),
                value,
                of: record,
                base,
            }),
        }
    }
    (values, numberless)
}

/// The number in a label's text, in SI units.
fn swept(text: &str) -> Option<f64> {
    let number: Result<Number, _> = text.parse();
    number.ok().map(|number| number.value)
}

/// Relative difference of a value to its base; infinite if the base is zero. There is none if both
/// are zero, or if the base is negative.
fn change(value: f64, base: f64) -> Option<f64> {
    if base > 0.0 {
        return Some(value / base - 1.0);
    }
    (base == 0.0 && value > 0.0).then_some(f64::INFINITY)
}
