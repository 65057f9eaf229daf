//! Whether a claim holds in the runs of its figure.

use serde::Serialize;
use tidegate_report::Record;

use super::figure::{Claim, Published, Take};
use super::measure::Measure;
use super::pattern;

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The claim in words.
    pub claim: String,
    /// What the paper says, in words.
    pub paper: String,
    /// What was measured; `None` if nothing was.
    pub measured: Option<Measured>,
    /// Whether the number is a relative change.
    pub is_change: bool,
    /// The answer.
    pub verdict: Verdict,
    /// Why, where the numbers do not say it.
    pub note: Option<String>,
}

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is as published, within the claim's tolerance.
    Reproduced,
    /// The difference points the same way but has another size.
    SameDirection,
    /// It is not as published.
    NotReproduced,
    /// It cannot be tested, or was not in a run that was cut short.
    NotTestable,
}

impl Verdict {
    /// Its name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::SameDirection => "same direction, other size",
            Self::NotReproduced => "not reproduced",
            Self::NotTestable => "not testable",
        }
    }
}

/// A measured number and its 95 % confidence interval over the repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The mean.
    pub value: f64,
    /// The ends of the interval; `None` with a single repetition.
    pub interval: Option<(f64, f64)>,
    /// Repetitions.
    pub runs: usize,
}

/// Judges a claim by the runs of its figure.
pub fn judge(claim: &Claim, records: &[Record]) -> Finding {
    let is_change = claim.against.is_some();
    let finding = |measured, verdict, note| Finding {
        claim: claim.says.clone(),
        paper: words(&claim.paper),
        measured,
        is_change,
        verdict,
        note,
    };
    if let Published::NotTestable(why) = &claim.paper {
        return finding(None, Verdict::NotTestable, Some(why.clone()));
    }
    let values = values(claim, records);
    let Some(measured) = Measured::over(&values) else {
        let note = "no run of this version has the number".to_owned();
        return finding(None, Verdict::NotTestable, Some(note));
    };
    let verdict = verdict(&claim.paper, measured.value, is_change);
    finding(Some(measured), verdict, claim.because.clone())
}

/// The claim's number in each repetition.
fn values(claim: &Claim, records: &[Record]) -> Vec<f64> {
    let mut replications: Vec<u32> = records.iter().map(|record| record.run.replication).collect();
    replications.sort_unstable();
    replications.dedup();
    let of = |replication: u32| {
        let mut runs = records.iter().filter(move |record| record.run.replication == replication);
        let all: Vec<&Record> = runs.by_ref().collect();
        let points = all.iter().filter_map(|record| {
            let captured = pattern::captured(&claim.of, &record.run.label)?;
            let value = value(&claim.measure, record)?;
            let value = match &claim.against {
                None => value,
                Some(against) => {
                    let same = |other: &&&Record| {
                        pattern::captured(against, &other.run.label).as_ref() == Some(&captured)
                    };
                    let base = self::value(&claim.measure, all.iter().find(same)?)?;
                    change(value, base)?
                }
            };
            Some((captured.first().and_then(|text| text.parse().ok()), value))
        });
        claim.take.from(&points.collect::<Vec<_>>())
    };
    replications.into_iter().filter_map(of).collect()
}

/// The measure's value in a run.
pub(super) fn value(measure: &Measure, record: &Record) -> Option<f64> {
    match measure {
        Measure::Metric(name) => tidegate_report::summary::value(name, record),
        Measure::Special(special) => special.value(record),
    }
}

fn change(value: f64, base: f64) -> Option<f64> {
    (base != 0.0).then(|| value / base - 1.0)
}

impl Take {
    /// The value that counts, of values with the number in place of the first `*`, if it is one.
    fn from(self, points: &[(Option<f64>, f64)]) -> Option<f64> {
        let values = points.iter().map(|&(_, value)| value);
        match self {
            Self::FirstAboveZero => points
                .iter()
                .filter(|(_, value)| *value > 0.0)
                .filter_map(|&(at, _)| at)
                .reduce(f64::min),
            Self::Largest => values.reduce(f64::max),
            Self::Mean => (!points.is_empty()).then(|| values.sum::<f64>() / points.len() as f64),
            Self::Smallest => values.reduce(f64::min),
            Self::Spread => {
                let largest = values.clone().reduce(f64::max)?;
                change(largest, values.reduce(f64::min)?)
            }
        }
    }
}

impl Measured {
    /// The mean of independent repetitions, with Student's interval.
    fn over(values: &[f64]) -> Option<Self> {
        let runs = values.len();
        if runs == 0 {
            return None;
        }
        let count = runs as f64;
        let value = values.iter().sum::<f64>() / count;
        let interval = (runs > 1).then(|| {
            let squares = values.iter().map(|each| (each - value).powi(2)).sum::<f64>();
            let error = (squares / (count - 1.0) / count).sqrt();
            let half = tidegate_report::statistics::t_quantile(runs - 1) * error;
            (value - half, value + half)
        });
        Some(Self {
            value,
            interval,
            runs,
        })
    }
}

/// The answer for a measured `value`.
fn verdict(paper: &Published, value: f64, is_change: bool) -> Verdict {
    let or_not = |holds| {
        if holds {
            Verdict::Reproduced
        } else {
            Verdict::NotReproduced
        }
    };
    match paper {
        Published::AtLeast(least) => or_not(value >= least.value),
        Published::AtMost(most) => or_not(value <= most.value),
        Published::NotTestable(_) => Verdict::NotTestable,
        Published::About {
            value: published,
            within,
            neutral,
        } => {
            let published = published.value;
            // The tolerance of a change is a difference, of anything else a part of it.
            let far = if is_change {
                (value - published).abs()
            } else {
                (value - published).abs() / published.abs()
            };
            let neutral = match neutral {
                Some(neutral) => Some(neutral.value),
                None => is_change.then_some(0.0),
            };
            // A paper that says "no difference" has no direction.
            let side = |neutral| (value - neutral) * (published - neutral);
            let is_opposite = neutral.is_some_and(|neutral| published != neutral && side(neutral) < 0.0);
            let is_same = neutral.is_some_and(|neutral| side(neutral) > 0.0);
            // Computed from decimal numbers: one that is exactly at the edge belongs to it.
            if far <= within * (1.0 + 1e-9) && !is_opposite {
                Verdict::Reproduced
            } else if is_same {
                Verdict::SameDirection
            } else {
                Verdict::NotReproduced
            }
        }
    }
}

fn words(paper: &Published) -> String {
    
    match paper {
        Published::AtLeast(least) => format!("at least {}", least),
        Published::AtMost(most) => format!("at most {}", most),
        Published::About { value, .. } => value.to_string(),
        Published::NotTestable(_) => "–".to_owned(),
    }
}
