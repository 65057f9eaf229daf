//! Verdicts of papers: of their headline claims, and of the figures of a setup.

use serde::Serialize;
use toml::Spanned;

use super::judged::Judged;
use super::paper::{Headline, Paper, Setup};
use super::quote;
use super::verdict::{Finding, Verdict};

/// Headline with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Answered {
    /// Figure.
    pub figure: String,
    /// Claim with its verdict.
    pub finding: Finding,
    /// Cause of the verdict.
    pub cause: String,
}

impl Paper {
    /// Headlines with their verdicts.
    pub fn answered(&self, figures: &[Judged]) -> Vec<Answered> {
        let answered = |headline: &Headline| {
            let (figure, finding) = find(figures, headline.claim.get_ref())?;
            Some(Answered {
                figure: figure.to_owned(),
                finding: finding.clone(),
                cause: quoted(headline.cause.get_ref(), figures),
            })
        };
        self.headlines.iter().filter_map(answered).collect()
    }
}

impl Setup {
    /// Tally of each figure's claims after a joint trial, or of the base setup for `None`.
    pub fn jointly(&self, trial: Option<&str>, figures: &[Judged]) -> Vec<Score> {
        let score = |id: &Spanned<String>| {
            let judged = figures.iter().find(|judged| judged.id == *id.get_ref());
            let varied = judged.map_or(&[][..], |judged| &judged.varied);
            let first = self.joint.first().map(|trial| trial.name.get_ref().as_str());
            let of_trial =
                varied.iter().filter(|varied| Some(varied.trial.as_str()) == trial.or(first));
            let after = of_trial.map(|varied| match trial {
                Some(_) => varied.after.verdict,
                None => varied.before.verdict,
            });
            Score::of(after)
        };
        self.figures.iter().map(score).collect()
    }
}

/// Tally of the claims of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Reproduced claims.
    pub reproduced: usize,
    /// Claims neither reproduced nor excluded.
    pub inconclusive: usize,
    /// All claims.
    pub claims: usize,
}

impl Score {
    fn of(verdicts: impl Iterator<Item = Verdict>) -> Self {
        verdicts.fold(Self::default(), |sum, verdict| {
            sum + Self {
                reproduced: usize::from(verdict == Verdict::Reproduced),
                inconclusive: usize::from(verdict == Verdict::Inconclusive),
                claims: 1,
            }
        })
    }
}

impl std::ops::Add for Score {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            reproduced: self.reproduced + other.reproduced,
            inconclusive: self.inconclusive + other.inconclusive,
            claims: self.claims + other.claims,
        }
    }
}

/// Inserts the measured numbers that a text quotes.
pub fn quoted(text: &str, figures: &[Judged]) -> String {
    quote::replaced(text, &|key| Some(find(figures, key)?.1.number()))
}

/// Figure and claim of a key such as `tcn-f8/small-90` or `tcn-f8/small-90@sack`.
fn find<'a>(figures: &'a [Judged], key: &str) -> Option<(&'a str, &'a Finding)> {
    let (figure, key) = key.split_once('/')?;
    let (name, trial) = quote::split(key);
    let judged = figures.iter().find(|judged| judged.id == figure)?;
    let is_own = |finding: &&Finding| finding.name.as_deref() == Some(name);
    let finding = match trial {
        None => judged.claims.iter().find(is_own),
        Some(trial) => {
            let of_trial = judged.varied.iter().filter(|varied| varied.trial == trial);
            of_trial.map(|varied| &varied.after).find(is_own)
        }
    };
    Some((&judged.id, finding?))
}
