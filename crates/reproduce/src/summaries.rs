//! Files of measurements from before single runs were kept: the mean of each claim's points, with
//! the 95 % interval of its repetitions.
//!
//! A figure that is run again is written with its [`super::numbers`]. Until then its claims are
//! judged by these means, as far as these have the points.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use tidegate_results::statistics::student;

use super::claim::{Claim, Published, Take};
use super::estimate::Estimate;
use super::measured::{Found, Point};
use super::pattern;

/// Means for a claim.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Summary {
    /// The measured part of the claim, as its file wrote it.
    asked: Value,
    /// Number of finished runs without such a number.
    #[serde(default, skip_serializing_if = "is_zero")]
    numberless: usize,
    points: Vec<Mean>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Mean {
    label: String,
    measured: Measured,
}

/// Mean over the repetitions. The interval of a single run came from its blocks of flows, and
/// counts no longer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    #[serde(deserialize_with = "or_infinite")]
    value: f64,
    interval: Option<(f64, f64)>,
    runs: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants a function")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// JSON has no infinite numbers: `null` stands for them.
fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = Option::<f64>::deserialize(deserializer)?;
    Ok(number.unwrap_or(f64::INFINITY))
}

impl Measured {
    fn estimate(self) -> Estimate {
        let Self { value, interval, runs } = self;
        let deviation = interval.filter(|_| runs > 1).map(|(low, high)| {
            #[expect(clippy::cast_precision_loss, reason = "numbers of runs are small")]
            let root = (runs as f64).sqrt();
            (high - low) / 2.0 * root / student::quantile(runs - 1)
        });
        Estimate { value, deviation, runs }
    }
}

/// The points of a claim, by the labels of its figure's points; `None` if they are not there.
pub(super) fn found(
    claim: &Claim,
    claims: &[Claim],
    labels: &[&str],
    summaries: &[Summary],
) -> Option<Found> {
    if claim.is_difference {
        return None;
    }
    if claim.joins_points() {
        let own = summaries.iter().find(|summary| is_same(claim, &summary.asked))?;
        return Some(own.whole());
    }
    let known = index(summaries, labels);
    let point = |of: &Claim, label: &str| {
        let captured = pattern::captured(&of.of, label)?;
        let against = of.against.as_ref().map(|against| filled(against, &captured));
        known.get(&(measure(of), label.to_owned(), against)).copied()
    };
    let numberless = summaries.iter().find(|summary| is_same(claim, &summary.asked));
    let numberless = numberless.map_or(0, |summary| summary.numberless);
    let found = |points: Vec<Point>| Found { points, numberless, unfinished: 0 };
    if let Published::Curve { points } = &claim.paper {
        let is_there = |(text, _): &&(String, _)| labels.contains(&claim.with(text).of.as_str());
        let points = points.iter().filter(is_there).map(|(text, _)| {
            let at = claim.with(text);
            Some(Point { label: text.clone(), estimate: point(&at, &at.of)? })
        });
        return points.collect::<Option<Vec<_>>>().map(found);
    }
    let own = match &claim.at_best_of {
        None => claim.clone(),
        Some(other) => {
            let other = claims.iter().find(|claim| claim.name.as_ref() == Some(other))?;
            let best = self::found(other, claims, labels, summaries)?;
            let best = super::measured::best(other, &best.points)?.label.clone();
            claim.with(pattern::captured(&other.of, &best)?.first()?)
        }
    };
    // A label of another figure is the base of none of its own.
    let fits = |label: &&&str| pattern::fits(&own.of, label);
    let all = labels.iter().filter(fits).map(|label| {
        let estimate = point(&own, label)?;
        Some(Point { label: (*label).to_owned(), estimate })
    });
    let all: Option<Vec<Point>> = all.collect();
    match all.filter(|points| !points.is_empty()) {
        Some(points) => Some(found(points)),
        // Of a claim about the best point, only that point was kept.
        None if claim.takes_best() => {
            let own = summaries.iter().find(|summary| is_same(claim, &summary.asked))?;
            Some(own.whole())
        }
        None => None,
    }
}

impl Summary {
    fn whole(&self) -> Found {
        let points = self
            .points
            .iter()
            .map(|mean| Point { label: mean.label.clone(), estimate: mean.measured.estimate() });
        Found { points: points.collect(), numberless: self.numberless, unfinished: 0 }
    }
}

/// Measure, label and label of the base.
type Key = (String, String, Option<String>);

/// All points that can be told apart.
fn index(summaries: &[Summary], labels: &[&str]) -> BTreeMap<Key, Estimate> {
    let mut known = BTreeMap::new();
    for summary in summaries {
        let asked = &summary.asked;
        let text = |key: &str| asked[key].as_str();
        let (Some(of), against) = (text("of"), text("against")) else { continue };
        let is_joint = !matches!(text("take"), None | Some("largest" | "smallest"))
            || (text("take").is_none() && asked["take"].is_object());
        if is_joint {
            continue;
        }
        for Mean { label, measured } in &summary.points {
            let label =
                if asked["at"].is_array() { of.replacen('*', label, 1) } else { label.clone() };
            let Some(captured) = pattern::captured(of, &label) else { continue };
            let against = against.map(|against| filled(against, &captured));
            // An unknown label belongs to a sweep that has changed since.
            if labels.contains(&label.as_str()) {
                known.insert((asked["measure"].to_string(), label, against), measured.estimate());
            }
        }
    }
    known
}

/// A pattern with the texts of its `*`.
fn filled(pattern: &str, captured: &[&str]) -> String {
    let texts = captured.iter();
    texts.fold(pattern.to_owned(), |pattern, text| pattern.replacen('*', text, 1))
}

fn measure(claim: &Claim) -> String {
    json!(claim.measure).to_string()
}

/// Whether a file asked for the same numbers.
fn is_same(claim: &Claim, asked: &Value) -> bool {
    let mut own = json!({ "measure": claim.measure, "of": claim.of });
    if let Some(against) = &claim.against {
        own["against"] = json!(against);
    }
    if claim.take != Take::default() {
        own["take"] = json!(claim.take);
    }
    if let Published::Curve { points } = &claim.paper {
        own["at"] = points.iter().map(|(at, _)| at.as_str()).collect();
    }
    own == *asked
}
