//! A figure run again with one assumption changed, to find out why a claim does not hold.

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::claim::Claim;
use super::figure::Figure;
use super::measurements::TrialMeasurements;
use super::pattern;
use super::verdict::{Finding, judge};

/// An assumption that is changed, and the claims that are judged again with it.
///
/// Its runs are of the same version as the figure's own, so that both can be compared.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Its name, which is that of its folder too.
    pub name: String,
    /// What is changed, in words.
    pub changed: String,
    /// The settings that change it, as `key=value`.
    pub set: Vec<String>,
    /// The points that are run again, by patterns of their labels. Empty: all that the claims need.
    #[serde(default)]
    pub only: Vec<String>,
    /// The claims that are judged again, by their names.
    pub claims: Vec<Spanned<String>>,
}

impl Trial {
    /// The claims of the figure that it is about.
    pub fn claims<'a>(&self, figure: &'a Figure) -> impl Iterator<Item = &'a Claim> {
        let names = self.claims.clone();
        figure.claims.iter().filter(move |claim| {
            let is_named = |name: &Spanned<String>| claim.name.as_ref() == Some(name.get_ref());
            names.iter().any(is_named)
        })
    }

    /// Whether it runs the point of this label.
    pub fn runs(&self, figure: &Figure, label: &str) -> bool {
        let is_kept =
            self.only.is_empty() || self.only.iter().any(|only| pattern::fits(only, label));
        let is_needed = |claim: &Claim| claim.patterns().any(|of| pattern::fits(of, label));
        is_kept && self.claims(figure).any(is_needed)
    }
}

/// A claim with one assumption changed, beside the same without the change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Varied {
    /// The trial's name.
    pub trial: String,
    /// What was changed, in words.
    pub changed: String,
    /// The command that repeats it.
    pub command: String,
    /// The claim by the figure's own runs of the same points.
    pub before: Finding,
    /// The claim by the runs of the trial.
    pub after: Finding,
}

impl Varied {
    /// Judges the claims of a trial by what was measured for it.
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

    /// All of it in a line.
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
