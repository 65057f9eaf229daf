//! Claims judged again by the runs of a trial.

use serde::Serialize;

use super::claim::Claim;
use super::entry::Entry;
use super::figure::Trial;
use super::measurements::{Measurements, TrialMeasurements};
use super::verdict::{Finding, judge};

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
    pub(super) fn of(
        entry: &Entry,
        trial: &Trial,
        measured: &Measurements,
        of_trial: &TrialMeasurements,
    ) -> Vec<Self> {
        let varied = |claim: &Claim| {
            let (before, after) = measured.trial_answers(entry, trial, of_trial, claim);
            Self {
                trial: trial.name.clone(),
                changed: trial.changed.clone(),
                command: of_trial.command.clone(),
                before: judge(claim, &before),
                after: judge(claim, &after),
            }
        };
        trial.claims(&entry.figure).map(varied).collect()
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
