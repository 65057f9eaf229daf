//! Verdicts: whether a claim holds in the runs of its figure.
//!
//! The rules, for the measurements at the points of a claim:
//!
//! - **reproduced**: the whole 95 % interval is within the accepted range around the published
//!   number, or on the bound's side.
//! - **inconclusive**: the interval is partly inside and partly outside; the verdict names the
//!   number of repetitions that would decide. A single repetition of several that a figure has
//!   decides nothing.
//! - **same direction, different size**: the interval is outside, but wholly on the same side of no
//!   difference as the published number.
//! - **not reproduced**: the interval is outside, without the same direction.
//! - **not testable**: the claim gives the reason.
//! - **not run**: this version of the figure has no such point, or its runs are not finished.
//!
//! The accepted range follows from the published number by one rule (`claim/tolerance.rs`), and the
//! interval holds over all looks at a claim ([`crate::estimate`]).
//!
//! A finished run may have no such number: a time until something that never happens, or the change
//! from zero to zero. A claim with such runs is inconclusive at best. Growth from zero is an
//! infinite change.
//!
//! A claim about several points, such as "at all loads", has the worst verdict of all of them. A
//! claim about the best of several points, "up to", is judged by an interval that holds for all
//! points jointly: from the lowest of their lower ends to the lowest of their upper ends, for the
//! smallest. If the paper's figure shows the same direction at a further point, the claim has the
//! worse verdict of both. A number without an interval, from a figure without randomness, is judged
//! by itself.
//!
//! A curve is one claim: reproduced if all of its points are, inconclusive if none is excluded. If
//! some are excluded, it has the same direction if it has the same shape: a rank correlation of 0.8
//! or more.
//!
//! An interval ends at the limits of its quantity: changes at −100 %, non-negative numbers at 0. A
//! number without comparison has no direction, unless the claim names its neutral value. A bound on
//! harm ("at most 1.2 % slower") has no direction either; one that promises a gain ("at least 30 %
//! faster") has.

use serde::Serialize;

use super::claim::region::{Region, Standing};
use super::claim::{Claim, Published, Take};
use super::estimate::Looks;
use super::measured::{self, Point};
use super::measurements::Answer;
use super::number::Number;
use super::{pattern, ranks};

/// Measured number with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Mean over the repetitions; infinite for growth from zero.
    pub value: f64,
    /// Ends of the interval; `None` without one.
    pub interval: Option<(f64, f64)>,
    /// Repetitions.
    pub runs: usize,
}

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Claim in words.
    pub claim: String,
    /// Name.
    pub name: Option<String>,
    /// Published statement in words.
    pub paper: String,
    /// Ends of the accepted range around the published number, or of a bound; `None` for curves and
    /// claims that are not testable.
    #[serde(skip)]
    pub accepted: Option<(f64, f64)>,
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
    pub runs_to_decide: Option<usize>,
    /// Labels of the points that leave it undecided; of a curve, the texts of the first `*`.
    #[serde(skip)]
    pub open: Vec<String>,
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
    /// Published number.
    #[serde(skip)]
    pub published: f64,
    /// Ends of the accepted range.
    #[serde(skip)]
    pub accepted: (f64, f64),
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
    let &Answer { ref points, unfinished, numberless, looks, .. } = answer;
    let region = Region::of(claim);
    let finding = Finding {
        claim: claim.says.clone(),
        name: claim.name.clone(),
        paper: claim.words(),
        accepted: region.map(|region| region.ends()),
        measured: None,
        at: None,
        curve: None,
        unit: match claim.take {
            _ if claim.is_change() => CHANGE,
            Take::FirstAboveZero | Take::FirstReaching(_) | Take::Trend => "",
            _ => claim.measure.unit(),
        },
        written_in: (claim.paper.number()).map_or(("", 1.0), Number::written_in),
        verdict: Verdict::NotRun,
        runs_to_decide: None,
        open: Vec::new(),
        unfinished,
        numberless,
        note: None,
        untallied: claim.untallied.clone(),
        is_main: claim.is_main,
    };
    let judgement = match (&claim.paper, &region) {
        (Published::NotTestable(reason), _) => {
            return Finding {
                verdict: Verdict::NotTestable,
                note: Some(reason.clone()),
                ..finding
            };
        }
        (Published::Curve { points: published }, _) => judge_curve(claim, published, answer),
        (_, Some(region)) if claim.takes_best() => judge_best(claim, region, answer),
        (_, Some(region)) => judge_points(claim, region, answer, points),
        (_, None) => None,
    };
    let Some(judgement) = judgement else {
        let cut = || "this version of the figure has no such point".to_owned();
        let notes: Vec<String> = gaps(answer).collect();
        return Finding {
            verdict: if numberless > 0 { Verdict::Inconclusive } else { Verdict::NotRun },
            note: Some(if notes.is_empty() { cut() } else { notes.join("; ") }),
            ..finding
        };
    };
    // A claim without a number in some runs, or with one run of several, is not confirmed.
    let single = numberless == 0 && looks.is_single(judgement.measured.runs);
    let (best, runs_to_decide) = match numberless {
        0 if !single => (Verdict::Reproduced, judgement.runs_to_decide),
        0 => (Verdict::Inconclusive, looks.after(1).next()),
        _ => (Verdict::Inconclusive, None),
    };
    let verdict = if single { Verdict::Inconclusive } else { judgement.verdict.max(best) };
    let few = single.then(|| "a single repetition".to_owned());
    let notes: Vec<String> = gaps(answer).chain(few).chain(claim.note.clone()).collect();
    Finding {
        open: judgement.open,
        measured: Some(judgement.measured),
        at: judgement.at,
        curve: judgement.curve,
        verdict,
        runs_to_decide: runs_to_decide.filter(|_| verdict == Verdict::Inconclusive),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        ..finding
    }
}

/// Runs without results and runs without such a number, in words.
fn gaps(answer: &Answer) -> impl Iterator<Item = String> {
    let missing = match answer.unfinished {
        0 => None,
        1 => Some("1 run that it rests on is not finished".to_owned()),
        runs => Some(format!("{runs} runs that it rests on are not finished")),
    };
    let without = match (answer.numberless, answer.points.is_empty()) {
        (0, _) => None,
        (1, true) => Some("its only finished run has no such number".to_owned()),
        (runs, true) => Some(format!("none of its {runs} runs has such a number")),
        (1, false) => Some("1 run that it rests on has no such number".to_owned()),
        (runs, false) => Some(format!("{runs} runs that it rests on have no such number")),
    };
    missing.into_iter().chain(without)
}

/// Whether the measured direction is the published one, independent of its size and uncertainty.
pub fn has_direction(claim: &Claim, answer: &Answer) -> bool {
    let bare = |point: &Point| {
        let mut point = point.clone();
        point.estimate.deviation = None;
        point
    };
    let points: Vec<Point> = if claim.takes_best() {
        measured::best(claim, &answer.points).into_iter().map(bare).collect()
    } else {
        answer.points.iter().map(bare).collect()
    };
    let judgement =
        Region::of(claim).and_then(|region| judge_points(claim, &region, answer, &points));
    judgement.is_some_and(|judgement| judgement.verdict <= Verdict::SameDirection)
}

/// The verdict, and the point that it comes from.
struct Judgement {
    verdict: Verdict,
    measured: Measured,
    at: Option<String>,
    curve: Option<Fit>,
    runs_to_decide: Option<usize>,
    open: Vec<String>,
}

/// Estimate of a point. Its interval holds jointly with the intervals of `among` points.
fn measure(claim: &Claim, point: &Point, looks: Looks, among: usize) -> Measured {
    let estimate = &point.estimate;
    let interval = estimate.interval(looks, among);
    Measured {
        value: estimate.value,
        interval: interval.map(|ends| possible(claim, estimate.value, ends)),
        runs: estimate.runs,
    }
}

/// Cuts an interval at the lower limit of its quantity: Student's intervals are symmetric. The
/// other side stays, so that it still shows the variation.
fn possible(claim: &Claim, value: f64, (low, high): (f64, f64)) -> (f64, f64) {
    let least = claim.least().map_or(low, |least| low.max(least.min(value)));
    (least, high)
}

impl Measured {
    /// Ends of the interval, or the number itself.
    fn ends(&self) -> (f64, f64) {
        let (low, high) = self.interval.unwrap_or((self.value, self.value));
        (low.min(self.value), high.max(self.value))
    }
}

/// The worst verdict of some points, with the point among these that deviates most.
fn judge_points(
    claim: &Claim,
    region: &Region,
    answer: &Answer,
    points: &[Point],
) -> Option<Judgement> {
    let looks = answer.looks;
    let measured = |point: &Point| measure(claim, point, looks, 1);
    let standing = |point: &Point| region.standing(measured(point).ends());
    let key =
        |point: &Point| (Verdict::of(standing(point)), region.deviation(point.estimate.value));
    let worst = points.iter().max_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })?;
    let verdict = key(worst).0;
    let open = || points.iter().filter(|point| standing(point) == Standing::Open);
    // One excluded point decides; otherwise all points have to be confirmed.
    let (outside, inside): (Vec<&Point>, Vec<&Point>) =
        open().partition(|point| !region.contains(point.estimate.value));
    let needed = |points: &[&Point]| {
        let runs = points.iter().map(|point| region.runs_to_decide(&point.estimate, looks));
        runs.collect::<Vec<Option<usize>>>()
    };
    let needed = match needed(&outside).into_iter().flatten().min() {
        Some(least) => Some(least),
        None => {
            let all = needed(&inside).into_iter().collect::<Option<Vec<usize>>>();
            all.and_then(|runs| runs.into_iter().max())
        }
    };
    Some(Judgement {
        verdict,
        measured: measured(worst),
        at: (points.len() > 1).then(|| worst.label.clone()),
        curve: None,
        runs_to_decide: match verdict {
            Verdict::Inconclusive => needed,
            _ => None,
        },
        open: open().map(|point| point.label.clone()).collect(),
    })
}

/// The verdict on the best point, by an interval that covers the best of all; no better than the
/// verdict on the direction at the point that the paper's figure shows too.
fn judge_best(claim: &Claim, region: &Region, answer: &Answer) -> Option<Judgement> {
    let &Answer { ref points, looks, among, .. } = answer;
    let best = measured::best(claim, points)?;
    let all = points.iter().map(|point| measure(claim, point, looks, among).interval);
    let better = |a: f64, b: f64| if claim.take == Take::Largest { a.max(b) } else { a.min(b) };
    // Only points with several repetitions have intervals.
    let joint = all
        .collect::<Option<Vec<_>>>()
        .and_then(|all| all.into_iter().reduce(|a, b| (better(a.0, b.0), better(a.1, b.1))));
    let measured =
        Measured { value: best.estimate.value, interval: joint, runs: best.estimate.runs };
    let standing = region.standing(measured.ends());
    let judgement = Judgement {
        verdict: Verdict::of(standing),
        measured,
        at: Some(best.label.clone()),
        curve: None,
        runs_to_decide: match standing {
            Standing::Open => region.runs_to_decide(&best.estimate, looks),
            _ => None,
        },
        // The interval covers the best of all.
        open: points.iter().map(|point| point.label.clone()).collect(),
    };
    let Some(text) = &claim.also_at else {
        return Some(judgement);
    };
    let is_there = |point: &&Point| {
        let captured = pattern::captured(&claim.of, &point.label);
        captured.is_some_and(|captured| captured.first() == Some(&text.as_str()))
    };
    let Some(shown) = points.iter().find(is_there) else {
        // A version or a trial may leave it out; otherwise its numbers are missing.
        return (points.len() == among).then_some(judgement);
    };
    let direction = region.of_direction()?;
    let there = judge_points(claim, &direction, answer, std::slice::from_ref(shown))?;
    // A reversed sign has no direction that could be the same.
    if there.verdict <= judgement.verdict {
        return Some(judgement);
    }
    Some(Judgement { at: Some(shown.label.clone()), ..there })
}

fn judge_curve(
    claim: &Claim,
    published: &[(String, Number)],
    answer: &Answer,
) -> Option<Judgement> {
    let &Answer { ref points, looks, .. } = answer;
    let mut fitted = Vec::new();
    let mut worst: Option<(f64, usize)> = None;
    let mut needed = Some(0);
    for (at, value) in published {
        let region = Region::of_point(claim, value);
        let Some(point) = points.iter().find(|point| point.label == *at) else {
            continue;
        };
        let measured = measure(claim, point, looks, 1);
        let standing = region.standing(measured.ends());
        if standing == Standing::Open {
            let runs = region.runs_to_decide(&point.estimate, looks);
            needed = needed.and_then(|before| Some(runs?.max(before)));
        }
        // The distance from the published number decides which point is shown.
        let scale = if claim.is_change() { 1.0 } else { value.value };
        let deviation = ((measured.value - value.value) / scale).abs();
        if worst.is_none_or(|(most, _)| deviation > most) {
            worst = Some((deviation, fitted.len()));
        }
        let fit = FitPoint {
            at: at.clone(),
            paper: value.to_string(),
            published: value.value,
            accepted: region.ends(),
            measured,
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
    let rank_correlation = ranks::correlation(&pairs.collect::<Vec<_>>());
    let has_direction =
        published.iter().any(|(_, value)| Region::of_point(claim, value).has_direction());
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
        open: fitted
            .iter()
            .filter(|(fit, _)| fit.verdict == Verdict::Inconclusive)
            .map(|(fit, _)| fit.at.clone())
            .collect(),
        curve: Some(Fit {
            inside,
            rank_correlation,
            points: fitted.into_iter().map(|(fit, _)| fit).collect(),
        }),
    })
}

#[cfg(test)]
mod tests;
