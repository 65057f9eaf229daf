//! What was varied to find out why a claim does not hold, one assumption at a time.

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::figure::{Claim, Figure};

/// A figure run again with one assumption changed, and what that moved.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// What was changed, in words.
    pub changed: String,
    /// The settings that change it, as `key=value`. Empty: no setting does.
    #[serde(default)]
    pub set: Vec<String>,
    /// The claims that were looked at.
    pub moved: Vec<Spanned<Moved>>,
}

/// A claim in a trial.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// How the claim begins.
    pub claim: String,
    /// What was measured without the change.
    pub before: String,
    /// What was measured with it.
    pub after: String,
}

impl Moved {
    /// The claim of the figure that it is about: the first that begins so.
    pub(super) fn find<'a>(&self, claims: &'a [Claim]) -> Option<&'a Claim> {
        let is_meant = |claim: &&Claim| claim.says.starts_with(&self.claim);
        claims.iter().find(is_meant)
    }
}

/// A claim of a trial, with all that is shown of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Varied {
    /// What was changed, in words.
    pub changed: String,
    /// The settings that change it, as `key=value`.
    pub set: Vec<String>,
    /// The claim in words.
    pub claim: String,
    /// What the paper says, in words.
    pub paper: String,
    /// What was measured without the change.
    pub before: String,
    /// What was measured with it.
    pub after: String,
}

impl Varied {
    /// All claims of all trials of a figure.
    pub fn of(figure: &Figure) -> Vec<Self> {
        let claims = &figure.claims;
        let pairs = figure.trials.iter().flat_map(|trial| {
            let moved = trial.moved.iter().map(Spanned::get_ref);
            moved.map(move |moved| (trial, moved))
        });
        let varied = |(trial, moved): (&Trial, &Moved)| {
            let claim = moved.find(claims)?;
            Some(Self {
                changed: trial.changed.clone(),
                set: trial.set.clone(),
                claim: claim.says.clone(),
                paper: claim.paper.words(),
                before: moved.before.clone(),
                after: moved.after.clone(),
            })
        };
        pairs.filter_map(varied).collect()
    }

    /// The options of `tidegate reproduce` that make it; empty if none do.
    pub fn options(&self) -> String {
        let option = |set: &String| format!("--set '{set}'");
        self.set.iter().map(option).collect::<Vec<_>>().join(" ")
    }

    /// All of it in a line.
    pub fn line(&self) -> String {
        let how = match self.options() {
            none if none.is_empty() => none,
            options => format!(" ({options})"),
        };
        let Self {
            changed,
            claim,
            paper,
            before,
            after,
            ..
        } = self;
        format!("{changed}{how}: {claim}: {after} instead of {before} (paper: {paper})")
    }
}
