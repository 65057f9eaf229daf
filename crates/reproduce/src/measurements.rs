//! Measurements of a figure: all numbers that its claims need, small enough to be kept in
//! `docs/reproduction`. Verdicts are derived from them on demand, by the current claims.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tidegate_report::reading;
use tidegate_results::Record;

use super::claim::Claim;
use super::entry::{Entry, Tried, Version};
use super::figure::Trial;
use super::library;
use super::measured::{self, Point};
use super::pattern;

/// Version of a figure without results.
pub const NOT_RUN_YET: &str = "not run yet";

/// Measurements of a figure.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Measurements {
    /// Figure.
    pub figure: String,
    /// Version that was run.
    pub version: String,
    /// Reductions of that version.
    pub cut: Vec<String>,
    /// Revision of the program.
    pub revision: String,
    /// Hash of the settings in its file; empty for a figure that is not built in.
    pub settings: String,
    /// Command that makes the figure.
    pub command: String,
    /// Number of finished runs.
    pub runs: usize,
    /// Number of planned runs.
    pub planned: usize,
    /// Measurements for its claims.
    pub claims: Vec<Answer>,
    /// Measurements with one assumption changed.
    pub trials: Vec<TrialMeasurements>,
}

/// Measurements for a claim.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The measured part of the claim, as its file wrote it.
    pub asked: Value,
    /// Number of runs of its points without results.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished: usize,
    /// Number of finished runs without such a number, such as a time until something that never
    /// happens.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub numberless: usize,
    /// Measurements at its points.
    pub points: Vec<Point>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants a function")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Measurements with one assumption changed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TrialMeasurements {
    /// Name of the trial.
    pub trial: String,
    /// Overrides of the trial.
    pub set: Vec<String>,
    /// Command that repeats the trial.
    pub command: String,
    /// From the figure's own runs of the same points.
    pub before: Vec<Answer>,
    /// From the runs of the trial.
    pub after: Vec<Answer>,
}

/// Runs of a figure or of one of its trials.
#[derive(Clone, Copy, Debug, Default)]
pub struct Runs<'a> {
    /// Records of the finished runs.
    pub records: &'a [Record],
    /// Label of each run without results.
    pub unfinished: &'a [&'a str],
}

impl Measurements {
    /// Measures the claims of a figure and of its trials. `trials` has the runs and the commands of
    /// the entry's trials, in their order.
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
        let of_trial = |(tried, (runs, command)): (&Tried, &(Runs<'_>, String))| {
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

    /// Measurements for a claim, if its measured part has not changed.
    pub(super) fn answer(&self, claim: &Claim) -> Answer {
        find(&self.claims, claim)
    }

    /// Measurements for a trial, if its overrides have not changed.
    pub(super) fn of_trial(&self, trial: &Trial) -> Option<&TrialMeasurements> {
        let is_same = |of: &&TrialMeasurements| of.trial == trial.name && of.set == trial.set;
        self.trials.iter().find(is_same)
    }

    /// No measurements: the figure was not run yet, or needs no run.
    pub fn none(entry: &Entry) -> Self {
        let version = Version::Full;
        let mut none = Self::new(entry, version, "", "", Runs::default(), &[]);
        if !entry.figure.is_computed {
            NOT_RUN_YET.clone_into(&mut none.version);
        }
        none
    }

    /// Reads the measurements of a built-in figure from a folder. `None` if there are none, or if
    /// the figure's settings have changed since.
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

    /// Writes the measurements into a folder.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        std::fs::write(folder.join(format!("{}.json", self.figure)), text)
    }

    /// Whether the full version was run, with all runs of its own and of its trials.
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
    /// Measurements for a claim before and after the change.
    pub(super) fn answers(&self, claim: &Claim) -> (Answer, Answer) {
        (find(&self.before, claim), find(&self.after, claim))
    }
}

impl Answer {
    /// Measures a claim.
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
