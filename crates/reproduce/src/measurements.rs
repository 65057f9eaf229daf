//! Measurements of a figure: all numbers that its claims need, small enough to be kept in
//! `docs/reproduction`. Verdicts are derived from them on demand, by the current claims.

use std::fmt::Write;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tidegate_report::reading;

use super::claim::Claim;
use super::entry::{Entry, Tried, Version};
use super::estimate::Looks;
use super::figure::Trial;
use super::library;
use super::measured::{self, Found, Point};
use super::numbers::Numbers;
pub use super::numbers::Runs;
use super::pattern;
use super::summaries::{self, Summary};

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
    /// Numbers of its runs.
    #[serde(default, skip_serializing_if = "Numbers::is_empty")]
    pub numbers: Numbers,
    /// Means of its claims, from before numbers were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claims: Vec<Summary>,
    /// Measurements with one assumption changed.
    pub trials: Vec<TrialMeasurements>,
}

/// Measurements for a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Number of runs of its points without results.
    pub unfinished: usize,
    /// Number of finished runs without such a number, such as a time until something that never
    /// happens.
    pub numberless: usize,
    /// Measurements at its points.
    pub points: Vec<Point>,
    /// Number of points that a claim about the best one chooses from.
    pub among: usize,
    /// Looks at the figure.
    pub looks: Looks,
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
    /// Numbers of its runs.
    #[serde(default, skip_serializing_if = "Numbers::is_empty")]
    pub numbers: Numbers,
    /// Means of the figure's own runs of the same points, from before numbers were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    before: Vec<Summary>,
    /// Means of the runs of the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    after: Vec<Summary>,
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
        let is_own = |label: &str| library::of_other_figure(label).is_none();
        let runs = own.records.iter().filter(|record| is_own(&record.run.label)).count();
        let of_trial = |(tried, (runs, command)): (&Tried, &(Runs<'_>, String))| {
            let trial = &tried.trial;
            TrialMeasurements {
                trial: trial.name.clone(),
                set: trial.set.clone(),
                command: command.clone(),
                numbers: Numbers::new(trial.claims(figure), *runs),
                before: Vec::new(),
                after: Vec::new(),
            }
        };
        Self {
            figure: figure.id.clone(),
            version: version.name().to_owned(),
            cut: entry.cut.clone(),
            revision: revision.to_owned(),
            settings: library::file(&figure.id).map_or_else(String::new, library::settings),
            command: command.to_owned(),
            runs,
            planned: runs + own.unfinished.len(),
            numbers: Numbers::new(figure.claims.iter(), own),
            claims: Vec::new(),
            trials: entry.trials.iter().zip(trials).map(of_trial).collect(),
        }
    }

    /// Measurements for a claim.
    pub(super) fn answer(&self, entry: &Entry, claim: &Claim) -> Answer {
        let figure = &entry.figure;
        let found = measured::found(claim, &figure.claims, &self.numbers);
        // The figure's own runs at the points of a trial are the same runs.
        let of_trials = self.trials.iter().flat_map(|trial| &trial.before);
        let summaries: Vec<Summary> = self.claims.iter().chain(of_trials).cloned().collect();
        answer_from(found, entry, &entry.scenario.labels(), claim, &summaries)
    }

    /// Measurements for a trial, if its overrides have not changed.
    pub(super) fn of_trial(&self, trial: &Trial) -> Option<&TrialMeasurements> {
        let is_same = |of: &&TrialMeasurements| of.trial == trial.name && of.set == trial.set;
        self.trials.iter().find(is_same)
    }

    /// Measurements for a claim of a trial, before and after the change.
    pub(super) fn trial_answers(
        &self,
        entry: &Entry,
        trial: &Trial,
        measured: &TrialMeasurements,
        claim: &Claim,
    ) -> (Answer, Answer) {
        let figure = &entry.figure;
        let same = self.numbers.at(|label| trial.runs(figure, label));
        let before = measured::found(claim, &figure.claims, &same);
        let after = measured::found(claim, &figure.claims, &measured.numbers);
        let labels = entry.scenario.labels().into_iter();
        let labels: Vec<&str> = labels.filter(|label| trial.runs(figure, label)).collect();
        (
            answer_from(before, entry, &labels, claim, &measured.before),
            answer_from(after, entry, &labels, claim, &measured.after),
        )
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
        std::fs::write(folder.join(format!("{}.json", self.figure)), self.text()?)
    }

    /// The file: JSON with a line for each point.
    pub fn text(&self) -> io::Result<String> {
        Ok(lines(&serde_json::to_value(self)?, 0) + "\n")
    }

    /// Whether the full version was run, with all runs of its own and of its trials.
    pub fn is_whole(&self) -> bool {
        let is_there =
            |trial: &TrialMeasurements| trial.numbers.is_whole() || !trial.after.is_empty();
        let tried = self.trials.iter().all(is_there);
        self.version == Version::Full.name() && self.runs == self.planned && tried
    }
}

/// The answer from the numbers of runs, or else from means, at the points with some labels.
fn answer_from(
    found: Found,
    entry: &Entry,
    labels: &[&str],
    claim: &Claim,
    summaries: &[Summary],
) -> Answer {
    let is_empty = found.points.is_empty() && found.numberless + found.unfinished == 0;
    let old = || summaries::found(claim, &entry.figure.claims, labels, summaries);
    let found = if is_empty { old().unwrap_or(found) } else { found };
    let fits = labels.iter().filter(|label| pattern::fits(&claim.of, label)).count();
    Answer::of(found, fits, Looks::new(entry.scenario.runs() as usize))
}

/// JSON in which only objects and lists of objects are folded.
fn lines(value: &serde_json::Value, depth: usize) -> String {
    use serde_json::Value;
    let is_flat = |value: &Value| match value {
        Value::Array(items) => items.iter().all(|item| !item.is_object()),
        Value::Object(fields) => fields.contains_key("label") || fields.contains_key("of"),
        _ => true,
    };
    let (open, items, close) = match value {
        value if is_flat(value) => return value.to_string(),
        Value::Array(items) => {
            ('[', items.iter().map(|item| lines(item, depth + 1)).collect::<Vec<_>>(), ']')
        }
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| format!("\"{key}\": {}", lines(value, depth + 1));
            ('{', fields.iter().map(field).collect(), '}')
        }
        value => return value.to_string(),
    };
    let mut text = String::from(open);
    for (place, item) in items.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        write!(text, "{comma}\n{}{item}", "  ".repeat(depth + 1)).expect("a string takes all");
    }
    write!(text, "\n{}{close}", "  ".repeat(depth)).expect("a string takes all");
    text
}

impl Answer {
    /// Measures one of a figure's claims in its runs.
    pub fn new(claim: &Claim, claims: &[Claim], runs: Runs<'_>, looks: Looks) -> Self {
        let numbers = Numbers::new(claims.iter(), runs);
        let found = measured::found(claim, claims, &numbers);
        Self::of(found, 0, looks)
    }

    /// `fits` is the number of points that the claim chooses from.
    fn of(found: Found, fits: usize, looks: Looks) -> Self {
        let Found { points, numberless, unfinished } = found;
        Self { unfinished, numberless, among: fits.max(points.len()), points, looks }
    }
}
