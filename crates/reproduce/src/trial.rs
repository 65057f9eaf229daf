//! Trials: a figure with one assumption changed, to find out why a claim does not hold.

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::claim::Claim;
use super::figure::Figure;
use super::measurements::TrialMeasurements;
use super::pattern;
use super::verdict::{Finding, judge};

/// Changed assumption, and the claims to judge again with it.
///
/// It runs the same version as the figure itself, so that both can be compared.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Name, also of its folder.
    pub name: String,
    /// Change in words.
    pub changed: String,
    /// Overrides, as `key=value`.
    pub set: Vec<String>,
    /// Points to run again, by patterns of their labels. Empty: all that the claims need.
    #[serde(default)]
    pub only: Vec<String>,
    /// Names of the claims to judge again.
    pub claims: Vec<Spanned<String>>,
}

impl Trial {
    /// Claims of the figure to judge again.
    pub fn claims<'a>(&self, figure: &'a Figure) -> impl Iterator<Item = &'a Claim> {
        let names = self.claims.clone();
        figure.claims.iter().filter(move |claim| {
            let is_named = |name: &Spanned<String>| claim.name.as_ref() == Some(name.get_ref());
            names.iter().any(is_named)
        })
    }

    /// Whether the trial runs the point with this label.
    pub fn runs(&self, figure: &Figure, label: &str) -> bool {
        let is_kept =
            self.only.is_empty() || self.only.iter().any(|only| pattern::fits(only, label));
        let is_needed = |claim: &Claim| claim.patterns().any(|of| pattern::fits(of, label));
        is_kept && self.claims(figure).any(is_needed)
    }
}

/// A claim with and without a changed assumption.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Varied {
    /// Name of the trial.
    pub trial: String,
    /// Change in words.
    pub changed: String,
    /// Command that repeats the trial.
    pub command: String,
    /// Claim, judged by the figure's own runs of the same points.
    pub before: Finding,
    /// Claim, judged by the runs of the trial.
    pub after: Finding,
}

impl Varied {
    /// Judges the claims of a trial by its measurements.
    pub(super) fn of(figure: &Figure, trial: &Trial, measured: &TrialMeasurements) -> Vec<Self> {
        let varied = |claim: &Claim| {
            let (before, after) = measured.answers(claim);
            Self {
                trial: trial.name.clone(),
                changed: trial.changed.clone(),
                command: measured.command.clone(),
                before: judge(claim, &before),
                after: judge(claim, &after),
            }
        };
        trial.claims(figure).map(varied).collect()
    }

    /// The whole trial in a line.
    pub fn line(&self) -> String {
        let Self { changed, command, before, after, .. } = self;
        format!(
            "{changed} ({command}): {}: {} instead of {} (paper: {})",
            after.claim,
            after.shown(),
            before.shown(),
            after.paper
        )
    }
}
