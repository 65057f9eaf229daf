//! Measured numbers of a claim: one for each of its points.

use super::claim::{Claim, Published, Take};
use super::estimate::Estimate;
use super::number::Number;
use super::numbers::{Cell, Numbers, OfPoint};
use super::{pattern, ranks};

/// Point of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Label; for a curve, the text of the first `*`; empty for a number from all points.
    pub label: String,
    /// Measured number.
    pub estimate: Estimate,
}

/// Measured numbers of a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Points.
    pub points: Vec<Point>,
    /// Number of finished runs, or of repetitions if all points make one number, without such a
    /// number.
    pub numberless: usize,
    /// Number of runs without results.
    pub unfinished: usize,
}

/// Number of a run at a point.
struct AtRun<'a> {
    label: &'a str,
    replication: usize,
    /// The number in the first `*`, if it is one.
    place: Option<f64>,
    value: f64,
}

/// The points that a claim judges: of a curve those that were run, of a number from all points a
/// single one. `claims` are the figure's: one of them may decide the point of another.
pub fn found(claim: &Claim, claims: &[Claim], numbers: &Numbers) -> Found {
    if let Some(value) = claim.measure.computed() {
        let estimate = Estimate { value, deviation: None, runs: 0 };
        let points = vec![Point { label: String::new(), estimate }];
        return Found { points, ..Found::default() };
    }
    let unfinished = unfinished(claim, numbers);
    let found = if let Some(other) = &claim.at_best_of {
        let other = claims.iter().find(|claim| claim.name.as_ref() == Some(other));
        let best = other.and_then(|other| best_text(other, claims, numbers));
        best.map_or_else(Found::default, |text| of_runs(&claim.with(&text), numbers))
    } else if let Published::Curve { points } = &claim.paper {
        curve(claim, points, numbers)
    } else {
        of_runs(claim, numbers)
    };
    Found { unfinished, ..found }
}

fn curve(claim: &Claim, published: &[(String, Number)], numbers: &Numbers) -> Found {
    let mut whole = Found::default();
    for (label, _) in published {
        let at = of_runs(&claim.with(label), numbers);
        whole.numberless += at.numberless;
        let point = at.points.into_iter().next();
        whole.points.extend(point.map(|point| Point { label: label.clone(), ..point }));
    }
    whole
}

/// Text of the first `*` at the best point of a claim.
fn best_text(claim: &Claim, claims: &[Claim], numbers: &Numbers) -> Option<String> {
    let found = found(claim, claims, numbers);
    let best = best(claim, &found.points)?;
    let captured = pattern::captured(&claim.of, &best.label)?;
    captured.first().map(|text| (*text).to_owned())
}

/// The best of a claim's points.
pub fn best<'a>(claim: &Claim, points: &'a [Point]) -> Option<&'a Point> {
    let value = |point: &Point| point.estimate.value;
    points.iter().reduce(|best, point| {
        let is_better = match claim.take {
            Take::Largest => value(point) > value(best),
            _ => value(point) < value(best),
        };
        if is_better { point } else { best }
    })
}

fn of_runs(claim: &Claim, numbers: &Numbers) -> Found {
    let (values, numberless) = values(claim, numbers);
    let found = match &claim.take {
        Take::Each | Take::Largest | Take::Smallest => by_label(&values),
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
        Take::Trend => by_run(&values, |own| {
            let pairs = own.iter().map(|value| Some((value.place?, value.value)));
            ranks::correlation(&pairs.collect::<Option<Vec<_>>>()?)
        }),
    };
    Found { numberless: found.numberless + numberless, ..found }
}

/// One number per label, over its repetitions.
fn by_label(values: &[AtRun<'_>]) -> Found {
    let mut labels: Vec<&str> = Vec::new();
    for value in values {
        if !labels.contains(&value.label) {
            labels.push(value.label);
        }
    }
    let mut found = Found::default();
    for label in labels {
        let own = values.iter().filter(|value| value.label == label);
        let own: Vec<f64> = own.map(|value| value.value).collect();
        if let Some((estimate, left_out)) = Estimate::of(&own) {
            found.numberless += left_out;
            found.points.push(Point { label: label.to_owned(), estimate });
        }
    }
    found
}

fn first<'a, 'b: 'a>(values: impl Iterator<Item = &'a &'a AtRun<'b>>) -> Option<f64> {
    values.filter_map(|value| value.place).reduce(f64::min)
}

/// One number from all points of each repetition, then over the repetitions.
fn by_run(values: &[AtRun<'_>], take: impl Fn(&[&AtRun<'_>]) -> Option<f64>) -> Found {
    let mut replications: Vec<usize> = values.iter().map(|value| value.replication).collect();
    replications.sort_unstable();
    replications.dedup();
    let numbers = replications.iter().filter_map(|&replication| {
        let own = values.iter().filter(|value| value.replication == replication);
        take(&own.collect::<Vec<_>>())
    });
    let numbers: Vec<f64> = numbers.collect();
    let (estimate, left_out) =
        Estimate::of(&numbers).map_or((None, 0), |(one, out)| (Some(one), out));
    let point = estimate.map(|estimate| Point { label: String::new(), estimate });
    Found {
        points: point.into_iter().collect(),
        numberless: replications.len() - numbers.len() + left_out,
        unfinished: 0,
    }
}

/// Numbers of all runs of a claim, and how many runs have none. A run without its base is not
/// compared.
fn values<'a>(claim: &Claim, numbers: &'a Numbers) -> (Vec<AtRun<'a>>, usize) {
    let points = numbers.of(&claim.measure);
    let (mut values, mut numberless) = (Vec::new(), 0);
    for point in points {
        let Some(captured) = pattern::captured(&claim.of, &point.label) else {
            continue;
        };
        let base = match &claim.against {
            None => None,
            Some(against) => match base(against, &captured, points) {
                None => continue,
                found => found,
            },
        };
        for (replication, &own) in point.runs.iter().enumerate() {
            let value = match (own, base.map(|base| base.runs.get(replication))) {
                (Cell::Unfinished, _) | (_, Some(None | Some(Cell::Unfinished))) => continue,
                (Cell::Number(own), None) => Some(own),
                (Cell::Number(own), Some(Some(Cell::Number(base)))) if claim.is_difference => {
                    Some(own - base)
                }
                (Cell::Number(own), Some(Some(Cell::Number(base)))) => change(own, *base),
                (Cell::Nothing, _) | (_, Some(Some(Cell::Nothing))) => None,
            };
            match value {
                None => numberless += 1,
                Some(value) => values.push(AtRun {
                    label: &point.label,
                    replication,
                    place: captured.first().and_then(|text| swept(text)),
                    value,
                }),
            }
        }
    }
    (values, numberless)
}

/// The point to compare with: its `*` match the same texts.
fn base<'a>(against: &str, captured: &[&str], points: &'a [OfPoint]) -> Option<&'a OfPoint> {
    points.iter().find(|point| {
        let other = pattern::captured(against, &point.label);
        other.is_some_and(|other| captured.starts_with(&other))
    })
}

/// Number of runs of a claim's points without results.
fn unfinished(claim: &Claim, numbers: &Numbers) -> usize {
    let is_own = |point: &&OfPoint| claim.patterns().any(|of| pattern::fits(of, &point.label));
    let own = numbers.of(&claim.measure).iter().filter(is_own);
    own.flat_map(|point| &point.runs).filter(|cell| **cell == Cell::Unfinished).count()
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
