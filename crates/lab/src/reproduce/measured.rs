//! What the runs of a figure have for a claim: a number for each of its points.

use serde::{Deserialize, Serialize};
use tidegate_report::Record;
use tidegate_report::statistics::{Interval, mean, student};

use super::claim::{Claim, Published, Take};
use super::number::Number;
use super::pattern;
use super::region::Measured;

/// A point that a claim is about.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Point {
    /// Its label; of a curve, where on it the point is: the text in place of the first `*`. Empty of a
    /// number that is taken from all points.
    pub label: String,
    /// What was measured there.
    pub measured: Measured,
}

/// The number of a run at a point.
struct AtRun<'a> {
    replication: u32,
    /// The number in place of the first `*`, if it is one.
    place: Option<f64>,
    value: f64,
    of: &'a Record,
    base: Option<&'a Record>,
}

/// The points that a claim judges: those of its curve that were run; of claims that take one number from
/// all points it is a single one.
pub fn points(claim: &Claim, records: &[Record]) -> Vec<Point> {
    let Published::Curve {
        points: published,
        within,
    } = &claim.paper
    else {
        return of_runs(claim, records);
    };
    let at = |(label, value): &(String, Number)| {
        let measured = of_runs(&claim.at(label, value, within), records);
        measured.into_iter().next().map(|point| Point {
            label: label.clone(),
            ..point
        })
    };
    published.iter().filter_map(at).collect()
}

fn of_runs(claim: &Claim, records: &[Record]) -> Vec<Point> {
    if let Some(value) = claim.measure.computed() {
        let measured = Measured {
            value,
            interval: None,
            runs: 0,
        };
        return vec![Point {
            label: String::new(),
            measured,
        }];
    }
    let values = values(claim, records);
    let all = || {
        let mut labels: Vec<&str> = Vec::new();
        for value in &values {
            if !labels.contains(&value.of.run.label.as_str()) {
                labels.push(&value.of.run.label);
            }
        }
        let point = |label: &str| {
            let own = values.iter().filter(|value| value.of.run.label == label);
            let own: Vec<&AtRun<'_>> = own.collect();
            Some(Point {
                label: label.to_owned(),
                measured: over_runs(claim, &own)?,
            })
        };
        labels.into_iter().filter_map(point).collect::<Vec<_>>()
    };
    let by = |better: fn(f64, f64) -> bool| {
        let best = all().into_iter().reduce(|best, point| {
            if better(point.measured.value, best.measured.value) {
                point
            } else {
                best
            }
        });
        best.into_iter().collect()
    };
    match &claim.take {
        Take::Each => all(),
        Take::Largest => by(|a, b| a > b),
        Take::Smallest => by(|a, b| a < b),
        Take::FirstAboveZero => by_run(&values, |own| {
            first(own.iter().filter(|value| value.value > 0.0))
        }),
        Take::FirstReaching(part) => by_run(&values, |own| {
            let largest = own.iter().map(|value| value.value).reduce(f64::max)?;
            first(
                own.iter()
                    .filter(|value| value.value >= part.value * largest),
            )
        }),
        Take::Spread => by_run(&values, |own| {
            let numbers = || own.iter().map(|value| value.value);
            change(numbers().reduce(f64::max)?, numbers().reduce(f64::min)?)
        }),
    }
}

fn first<'a, 'b: 'a>(values: impl Iterator<Item = &'a &'a AtRun<'b>>) -> Option<f64> {
    values.filter_map(|value| value.place).reduce(f64::min)
}

/// One number from all points of each repetition, and then over the repetitions.
fn by_run(values: &[AtRun<'_>], take: impl Fn(&[&AtRun<'_>]) -> Option<f64>) -> Vec<Point> {
    let mut replications: Vec<u32> = values.iter().map(|value| value.replication).collect();
    replications.sort_unstable();
    replications.dedup();
    let numbers = replications.iter().filter_map(|&replication| {
        let own = values
            .iter()
            .filter(|value| value.replication == replication);
        take(&own.collect::<Vec<_>>())
    });
    let numbers: Vec<f64> = numbers.collect();
    let measured = mean(&numbers).map(|value| Measured {
        value,
        interval: student::interval(&numbers).map(ends),
        runs: numbers.len(),
    });
    let point = measured.map(|measured| Point {
        label: String::new(),
        measured,
    });
    point.into_iter().collect()
}

/// The mean over the repetitions of a point, and its interval.
fn over_runs(claim: &Claim, values: &[&AtRun<'_>]) -> Option<Measured> {
    let numbers: Vec<f64> = values.iter().map(|value| value.value).collect();
    let of_blocks = || match values {
        [AtRun { of, base: None, .. }] => claim.measure.interval(of),
        [
            AtRun {
                of,
                base: Some(base),
                ..
            },
        ] => {
            let ratio = claim.measure.ratio_interval(of, base);
            ratio.map(|Interval { low, high }| Interval {
                low: low - 1.0,
                high: high - 1.0,
            })
        }
        _ => None,
    };
    Some(Measured {
        value: mean(&numbers)?,
        interval: student::interval(&numbers).or_else(of_blocks).map(ends),
        runs: numbers.len(),
    })
}

fn ends(Interval { low, high }: Interval) -> (f64, f64) {
    (low, high)
}

/// The numbers of all runs that a claim is about.
fn values<'a>(claim: &Claim, records: &'a [Record]) -> Vec<AtRun<'a>> {
    let value = |record: &'a Record| {
        let replication = record.run.replication;
        let captured = pattern::captured(&claim.of, &record.run.label)?;
        let value = claim.measure.value(record)?;
        let (value, base) = match &claim.against {
            None => (value, None),
            Some(against) => {
                let same = |other: &&Record| {
                    other.run.replication == replication
                        && pattern::captured(against, &other.run.label)
                            .is_some_and(|other| captured.starts_with(&other))
                };
                let base = records.iter().find(same)?;
                (change(value, claim.measure.value(base)?)?, Some(base))
            }
        };
        let place = captured.first().and_then(|text| swept(text));
        Some(AtRun {
            replication,
            place,
            value,
            of: record,
            base,
        })
    };
    records.iter().filter_map(value).collect()
}

/// The number that a text of a label is, in units of the International System.
fn swept(text: &str) -> Option<f64> {
    let number: Result<Number, _> = text.parse();
    number.ok().map(|number| number.value)
}

fn change(value: f64, base: f64) -> Option<f64> {
    (base != 0.0).then(|| value / base - 1.0)
}
