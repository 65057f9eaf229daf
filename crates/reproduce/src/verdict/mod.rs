//! Verdicts: whether a claim holds in the runs of its figure.
//!
//! The rules, for the measurements at the points of a claim:
//!
//! - **reproduced**: the whole 95 % interval is within the tolerance of the published number, or on
//!   the bound's side.
//! - **inconclusive**: the interval is partly inside and partly outside; the verdict names the
//!   number of repetitions that would decide.
//! - **same direction, different size**: the interval is outside, but wholly on the same side of no
//!   difference as the published number.
//! - **not reproduced**: the interval is outside, without the same direction.
//! - **not testable**: the claim gives the reason.
//! - **not run**: this version of the figure has no such point, or its runs are not finished.
//!
//! A finished run may have no such number: a time until something that never happens, or the change
//! from zero to zero. A claim with such runs is inconclusive at best. Growth from zero is an
//! infinite change.
//!
//! A claim about several points, such as "at all loads", has the worst verdict of all of them. A
//! number without an interval, from a run without randomness or of rare events, is judged by
//! itself.
//!
//! A curve is one claim: reproduced if all of its points are, inconclusive if none is excluded. If
//! some are excluded, it has the same direction if it has the same shape: a rank correlation of 0.8
//! or more.
//!
//! The tolerance of a change is a difference (−38 % with 12 % is −50 % to −26 %), otherwise it is
//! relative to the number. A published difference within its tolerance is a claim of no difference.
//! An interval ends at the limits of its quantity: changes at −100 %, non-negative numbers at 0. A
//! number without comparison has no direction, unless the claim names its neutral value. A bound on
//! harm ("at most 1.2 % slower") has no direction either; one that promises a gain ("at least 30 %
//! faster") has.

#![expect(
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "a rank correlation: numbers of points are small, and equal ones are copies"
)]

use serde::Serialize;

pub use super::claim::Measured;
use super::claim::region::{Region, Standing};
use super::claim::{Claim, Published, Take};
use super::measured::Point;
use super::measurements::Answer;
use super::number::Number;

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Claim in words.
    pub claim: String,
    /// Name.
    pub name: Option<String>,
    /// Published statement in words.
    pub paper: String,
    /// Measured number, of the deciding point if there are several; `None` without measurements.
    pub measured: Option<Measured>,
    /// Label of that point, if there are several.
    pub at: Option<String>,
    /// Fit of a curve.
    pub curve: Option<Fit>,
    /// Unit of the number: `s`, `bit/s`, `B` or empty; `change` for a relative change.
    pub unit: &'static str,
    /// Unit of the published number, which the measured one shares, with its value in SI units;
    /// empty without one.
    #[serde(skip)]
    pub written_in: (&'static str, f64),
    /// Verdict.
    pub verdict: Verdict,
    /// Number of repetitions that would decide an inconclusive claim; `None` if too many.
    pub runs_to_decide: Option<u32>,
    /// Number of runs of its points without results.
    pub unfinished: usize,
    /// Number of finished runs without such a number.
    pub numberless: usize,
    /// Reason, if the numbers do not show it.
    pub note: Option<String>,
    /// Reason why the claim is outside the tally.
    pub untallied: Option<String>,
    /// Whether the tests assert the claim.
    pub is_main: bool,
}

/// Fit of a measured curve to a published one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Number of points within the tolerance, with their intervals.
    pub inside: usize,
    /// Spearman's rank correlation of both; `None` if one is flat.
    pub rank_correlation: Option<f64>,
    /// Points that were run.
    pub points: Vec<FitPoint>,
}

/// Point of a curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitPoint {
    /// Text of the first `*`.
    pub at: String,
    /// Published number as text.
    pub paper: String,
    /// Measured number.
    pub measured: Measured,
    /// Verdict of the point.
    pub verdict: Verdict,
}

/// Verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As published, within the claim's tolerance.
    Reproduced,
    /// The interval neither confirms nor excludes the claim.
    Inconclusive,
    /// The difference has the same direction and a different size.
    SameDirection,
    /// Not as published.
    NotReproduced,
    /// Not testable.
    NotTestable,
    /// Left out of the version that was run.
    NotRun,
}

impl Verdict {
    /// All verdicts, the best first.
    pub const ALL: [Self; 6] = [
        Self::Reproduced,
        Self::Inconclusive,
        Self::SameDirection,
        Self::NotReproduced,
        Self::NotTestable,
        Self::NotRun,
    ];

    /// Title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Inconclusive => "inconclusive",
            Self::SameDirection => "same direction, different size",
            Self::NotReproduced => "not reproduced",
            Self::NotTestable => "not testable",
            Self::NotRun => "not run",
        }
    }

    const fn of(standing: Standing) -> Self {
        match standing {
            Standing::Confirmed => Self::Reproduced,
            Standing::Open => Self::Inconclusive,
            Standing::SameDirection => Self::SameDirection,
            Standing::Excluded => Self::NotReproduced,
        }
    }
}

/// Unit of relative changes.
pub const CHANGE: &str = "change";

/// Minimum rank correlation of curves with the same shape.
const SAME_SHAPE: f64 = 0.8;

/// Judges a claim by its measurements.
pub fn judge(claim: &Claim, answer: &Answer) -> Finding {
    let &Answer { ref points, unfinished, numberless, .. } = answer;
    let missing = match unfinished {
        0 => None,
        1 => Some("1 run that it rests on is not finished".to_owned()),
        runs => Some(format!("{runs} runs that it rests on are not finished")),
    };
    let without = match (numberless, points.is_empty()) {
        (0, _) => None,
        (1, true) => Some("its only finished run has no such number".to_owned()),
        (runs, true) => Some(format!("none of its {runs} runs has such a number")),
        (1, false) => Some("1 run that it rests on has no such number".to_owned()),
        (runs, false) => Some(format!("{runs} runs that it rests on have no such number")),
    };
    let finding = Finding {
        claim: claim.says.clone(),
        name: claim.name.clone(),
        paper: claim.words(),
        measured: None,
        at: None,
        curve: None,
        unit: match claim.take {
            _ if claim.is_change() => CHANGE,
            Take::FirstAboveZero | Take::FirstReaching(_) => "",
            _ => claim.measure.unit(),
        },
        written_in: (claim.paper.number()).map_or(("", 1.0), Number::written_in),
        verdict: Verdict::NotRun,
        runs_to_decide: None,
        unfinished,
        numberless,
        note: None,
        untallied: claim.untallied.clone(),
        is_main: claim.is_main,
    };
    let points = &possible(claim, points);
    let judgement = match &claim.paper {
        Published::NotTestable(reason) => {
            return Finding {
                verdict: Verdict::NotTestable,
                note: Some(reason.clone()),
                ..finding
            };
        }
        Published::Curve { points: published, within } => {
            judge_curve(claim, published, within, points)
        }
        paper => {
            Region::of(paper, claim.is_change()).and_then(|region| judge_points(&region, points))
        }
    };
    let Some(judgement) = judgement else {
        let cut = || "this version of the figure has no such point".to_owned();
        let notes: Vec<String> = missing.into_iter().chain(without).collect();
        return Finding {
            verdict: if numberless > 0 { Verdict::Inconclusive } else { Verdict::NotRun },
            note: Some(if notes.is_empty() { cut() } else { notes.join("; ") }),
            ..finding
        };
    };
    // A claim without a number in some runs is not confirmed for all of them.
    let (best, runs_to_decide) = match numberless {
        0 => (Verdict::Reproduced, judgement.runs_to_decide),
        _ => (Verdict::Inconclusive, None),
    };
    let missing = missing.into_iter().chain(without);
    let notes: Vec<String> = missing.chain(claim.because.clone()).collect();
    Finding {
        measured: Some(judgement.measured),
        at: judgement.at,
        curve: judgement.curve,
        verdict: judgement.verdict.max(best),
        runs_to_decide,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        ..finding
    }
}

/// Cuts intervals at the limits of their quantity: Student's intervals are symmetric. The other
/// side stays, so that it still shows the variation.
fn possible(claim: &Claim, points: &[Point]) -> Vec<Point> {
    let mut points = points.to_vec();
    if let Some(least) = claim.least() {
        for Measured { value, interval, .. } in points.iter_mut().map(|point| &mut point.measured) {
            let clipped = |(low, high): (f64, f64)| (low.max(least.min(*value)), high);
            *interval = interval.map(clipped);
        }
    }
    points
}

/// Whether the measured direction is the published one, independent of its size and uncertainty.
pub fn has_direction(claim: &Claim, points: &[Point]) -> bool {
    let bare = |mut point: Point| {
        point.measured.interval = None;
        point
    };
    let points: Vec<Point> = points.iter().cloned().map(bare).collect();
    let region = Region::of(&claim.paper, claim.is_change());
    region
        .and_then(|region| judge_points(&region, &points))
        .is_some_and(|judgement| judgement.verdict <= Verdict::SameDirection)
}

/// The verdict, and the point that it comes from.
struct Judgement {
    verdict: Verdict,
    measured: Measured,
    at: Option<String>,
    curve: Option<Fit>,
    runs_to_decide: Option<u32>,
}

/// The worst verdict of all points, with the point among these that deviates most.
fn judge_points(region: &Region, points: &[Point]) -> Option<Judgement> {
    let key = |point: &Point| {
        let verdict = Verdict::of(region.standing(&point.measured));
        (verdict, region.deviation(point.measured.value))
    };
    let worst = points.iter().max_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })?;
    let verdict = key(worst).0;
    let open = points.iter().filter(|point| region.standing(&point.measured) == Standing::Open);
    // One excluded point decides; otherwise all points have to be confirmed.
    let (outside, inside): (Vec<&Point>, Vec<&Point>) =
        open.partition(|point| !region.contains(point.measured.value));
    let needed = |points: &[&Point]| {
        let runs = points.iter().map(|point| region.runs_to_decide(&point.measured));
        runs.collect::<Vec<Option<u32>>>()
    };
    let needed = match needed(&outside).into_iter().flatten().min() {
        Some(least) => Some(least),
        None => {
            let all = needed(&inside).into_iter().collect::<Option<Vec<u32>>>();
            all.and_then(|runs| runs.into_iter().max())
        }
    };
    Some(Judgement {
        verdict,
        measured: worst.measured,
        at: (points.len() > 1).then(|| worst.label.clone()),
        curve: None,
        runs_to_decide: match verdict {
            Verdict::Inconclusive => needed,
            _ => None,
        },
    })
}

fn judge_curve(
    claim: &Claim,
    published: &[(String, Number)],
    within: &Number,
    points: &[Point],
) -> Option<Judgement> {
    let mut fitted = Vec::new();
    let mut worst: Option<(f64, usize)> = None;
    let mut needed = Some(0);
    for (at, value) in published {
        let region = Region::about(value, within, None, claim.is_change());
        let Some(point) = points.iter().find(|point| point.label == *at) else {
            continue;
        };
        let standing = region.standing(&point.measured);
        if standing == Standing::Open {
            let runs = region.runs_to_decide(&point.measured);
            needed = needed.and_then(|before| Some(runs?.max(before)));
        }
        // The distance from the published number decides which point is shown.
        let scale = if claim.is_change() { 1.0 } else { value.value };
        let deviation = ((point.measured.value - value.value) / scale).abs();
        if worst.is_none_or(|(most, _)| deviation > most) {
            worst = Some((deviation, fitted.len()));
        }
        let fit = FitPoint {
            at: at.clone(),
            paper: value.to_string(),
            measured: point.measured,
            verdict: Verdict::of(standing),
        };
        fitted.push((fit, value.value));
    }
    let (_, worst) = worst?;
    let count = |verdict| {
        let own = fitted.iter().filter(|(fit, _)| fit.verdict == verdict);
        own.count()
    };
    let pairs = fitted.iter().map(|(fit, value)| (*value, fit.measured.value));
    let rank_correlation = rank_correlation(&pairs.collect::<Vec<_>>());
    let has_direction = published
        .iter()
        .any(|(_, value)| Region::about(value, within, None, claim.is_change()).has_direction());
    let excluded = count(Verdict::SameDirection) + count(Verdict::NotReproduced);
    let inside = count(Verdict::Reproduced);
    let verdict = if inside == fitted.len() {
        Verdict::Reproduced
    } else if excluded == 0 {
        Verdict::Inconclusive
    } else if has_direction && rank_correlation.is_some_and(|shape| shape >= SAME_SHAPE) {
        Verdict::SameDirection
    } else {
        Verdict::NotReproduced
    };
    Some(Judgement {
        verdict,
        measured: fitted[worst].0.measured,
        at: Some(fitted[worst].0.at.clone()),
        runs_to_decide: match verdict {
            Verdict::Inconclusive => needed.filter(|&runs| runs > 0),
            _ => None,
        },
        curve: Some(Fit {
            inside,
            rank_correlation,
            points: fitted.into_iter().map(|(fit, _)| fit).collect(),
        }),
    })
}

/// Spearman's rank correlation; `None` if one list is constant or there are fewer than three pairs.
fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let first = ranks(pairs.iter().map(|pair| pair.0));
    let second = ranks(pairs.iter().map(|pair| pair.1));
    let middle = first.iter().sum::<f64>() / first.len() as f64;
    let sum = |product: &dyn Fn(f64, f64) -> f64| {
        let pairs = first.iter().zip(&second);
        pairs.map(|(a, b)| product(a - middle, b - middle)).sum::<f64>()
    };
    let spread = sum(&|a, _| a * a) * sum(&|_, b| b * b);
    (spread > 0.0).then(|| sum(&|a, b| a * b) / spread.sqrt())
}

/// Rank of each number; ties share the mean of theirs.
fn ranks(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let numbers: Vec<f64> = numbers.collect();
    let rank = |number: &f64| {
        let below = numbers.iter().filter(|other| *other < number).count();
        let equal = numbers.iter().filter(|other| *other == number).count();
        below as f64 + (equal as f64 - 1.0) / 2.0
    };
    numbers.iter().map(rank).collect()
}

#[cfg(test)]
mod tests;
