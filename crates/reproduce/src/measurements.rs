//! What was measured of a figure: all that its claims need of its runs, and little enough to be
//! kept in `docs/reproduction`. Verdicts are made of it whenever they are asked for, by the claims
//! as they are then.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tidegate_report::reading;
use tidegate_results::Record;

use super::claim::Claim;
use super::library::{self, Entry, Version};
use super::measured::{self, Point};
use super::pattern;
use super::trial::Trial;

/// The version of a figure that has no results.
pub const NOT_RUN_YET: &str = "not run yet";

/// What was measured of a figure.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Measurements {
    /// The figure.
    pub figure: String,
    /// The version that was run.
    pub version: String,
    /// What that version leaves out.
    pub cut: Vec<String>,
    /// The revision of the program that ran it.
    pub revision: String,
    /// A hash of the settings in its file; empty of a figure that is not part of the program.
    pub settings: String,
    /// The command that makes it.
    pub command: String,
    /// How many runs it rests on.
    pub runs: usize,
    /// How many it would rest on if all were finished.
    pub planned: usize,
    /// What was measured for its claims.
    pub claims: Vec<Answer>,
    /// What was measured with one assumption changed.
    pub trials: Vec<TrialMeasurements>,
}

/// What was measured for a claim.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// What the claim asked for, in its own words.
    pub asked: Value,
    /// How many runs of its points left no results.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished: usize,
    /// How many of its finished runs have no such number, such as a time until something that never
    /// happens.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub numberless: usize,
    /// What was measured at its points.
    pub points: Vec<Point>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants a function")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What was measured with one assumption changed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TrialMeasurements {
    /// The trial's name.
    pub trial: String,
    /// What it changes.
    pub set: Vec<String>,
    /// The command that repeats it.
    pub command: String,
    /// By the figure's own runs of the same points.
    pub before: Vec<Answer>,
    /// By the runs of the trial.
    pub after: Vec<Answer>,
}

/// The finished runs of a figure or of a trial of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Runs<'a> {
    /// What they left.
    pub records: &'a [Record],
    /// The labels of runs that left nothing, one for each run.
    pub unfinished: &'a [&'a str],
}

impl Measurements {
    /// Measures what the claims of a figure and of its trials ask for. `trials` are the runs and
    /// the commands of the entry's trials, in their order.
    pub fn new(
        entry: &Entry,
        version: Version,
        revision: &str,
        command: &str,
        own: Runs<'_>,
        trials: &[(Runs<'_>, String)],
    ) -> Self {
        let figure = &entry.figure;
        let is_own = |record: &&Record| library::of_other_figure(&record.run.label).is_none();
        let runs = own.records.iter().filter(is_own).count();
        let of_trial = |(tried, (runs, command)): (&library::Tried, &(Runs<'_>, String))| {
            let trial = &tried.trial;
            let is_tried = |record: &&Record| trial.runs(figure, &record.run.label);
            let same: Vec<Record> = own.records.iter().filter(is_tried).cloned().collect();
            let answers = |runs| {
                let claims = trial.claims(figure);
                claims.map(|claim| Answer::new(claim, runs)).collect()
            };
            let same = Runs { records: &same, unfinished: &[] };
            TrialMeasurements {
                trial: trial.name.clone(),
                set: trial.set.clone(),
                command: command.clone(),
                before: answers(same),
                after: answers(*runs),
            }
        };
        let claims = figure.claims.iter();
        Self {
            figure: figure.id.clone(),
            version: version.name().to_owned(),
            cut: entry.cut.clone(),
            revision: revision.to_owned(),
            settings: library::file(&figure.id).map_or_else(String::new, library::settings),
            command: command.to_owned(),
            runs,
            planned: runs + own.unfinished.len(),
            claims: claims.map(|claim| Answer::new(claim, own)).collect(),
            trials: entry.trials.iter().zip(trials).map(of_trial).collect(),
        }
    }

    /// What was measured for a claim, if it asks for what was measured.
    pub(super) fn answer(&self, claim: &Claim) -> Answer {
        find(&self.claims, claim)
    }

    /// What was measured for a trial, if it changes what was changed then.
    pub(super) fn of_trial(&self, trial: &Trial) -> Option<&TrialMeasurements> {
        let is_same = |of: &&TrialMeasurements| of.trial == trial.name && of.set == trial.set;
        self.trials.iter().find(is_same)
    }

    /// Nothing: the figure was not run yet, or needs no run.
    pub fn none(entry: &Entry) -> Self {
        let version = Version::Full;
        let mut none = Self::new(entry, version, "", "", Runs::default(), &[]);
        if !entry.figure.is_computed {
            NOT_RUN_YET.clone_into(&mut none.version);
        }
        none
    }

    /// Reads what is kept of a figure of the program in a folder. `None` if nothing is, or if the
    /// figure's settings were others then.
    pub fn read(folder: &Path, id: &str) -> io::Result<Option<Self>> {
        let text = match reading::bytes(&folder.join(format!("{id}.json")), reading::MADE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let kept: Self = serde_json::from_slice(&text)?;
        let settings = library::file(id).map_or_else(String::new, library::settings);
        let version = Version::ALL.into_iter();
        let version = version.into_iter().find(|v| v.name() == kept.version);
        let entry = version.and_then(|version| Entry::embedded(id, version, &[])?.ok());
        let is_same = kept.settings == settings && entry.is_some_and(|entry| entry.cut == kept.cut);
        Ok(Some(kept).filter(|_| is_same))
    }

    /// Keeps it in a folder.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        std::fs::write(folder.join(format!("{}.json", self.figure)), text)
    }

    /// Whether it is of a figure in full, with all runs of its own and of its trials.
    pub fn is_whole(&self) -> bool {
        let mut tried = self.trials.iter().flat_map(|trial| &trial.after);
        let is_there = |answer: &Answer| {
            let is_run = !answer.points.is_empty() || answer.numberless > 0;
            answer.unfinished == 0 && is_run
        };
        self.version == Version::Full.name() && self.runs == self.planned && tried.all(is_there)
    }
}

impl TrialMeasurements {
    /// What was measured for a claim before the change and after it.
    pub(super) fn answers(&self, claim: &Claim) -> (Answer, Answer) {
        (find(&self.before, claim), find(&self.after, claim))
    }
}

impl Answer {
    /// Measures what a claim asks for.
    pub fn new(claim: &Claim, runs: Runs<'_>) -> Self {
        let found = measured::found(claim, runs.records);
        let is_own = |label: &&&str| claim.patterns().any(|of| pattern::fits(of, label));
        Self {
            asked: claim.asked(),
            unfinished: match claim.measure.computed() {
                None => runs.unfinished.iter().filter(is_own).count(),
                Some(_) => 0,
            },
            numberless: found.numberless,
            points: found.points,
        }
    }
}

fn find(answers: &[Answer], claim: &Claim) -> Answer {
    let asked = claim.asked();
    let known = answers.iter().find(|answer| answer.asked == asked);
    known.cloned().unwrap_or_else(|| Answer {
        asked,
        unfinished: 0,
        numberless: 0,
        points: Vec::new(),
    })
}
