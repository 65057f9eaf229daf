//! `manifest.json`: the study of a results folder, and the program that ran it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_results::record::Setting;

/// Everything needed to reproduce the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format of the folder.
    pub format: u32,
    /// Name of the scenario.
    pub name: String,
    /// Title of the scenario.
    pub title: String,
    /// Label of the baseline, unless the reader names another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Full scenario as TOML, with all defaults.
    pub scenario: String,
    /// Resolved configuration: network, marking, hosts, traffic and load, each in a few words.
    /// Empty in folders of older programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<Setting>,
    /// Command that created the folder.
    pub command: String,
    /// Runner, if not the plain simulator: real packets, or a custom marking scheme.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Version of the program.
    pub version: String,
    /// Source revision of the program; empty if unknown.
    pub revision: String,
    /// Identity of the build: a hash of source, libraries and compiler; empty if unknown.
    #[serde(default)]
    pub build: String,
    /// First seed, as text because JSON readers round large numbers.
    pub seed: String,
    /// Runs, in the order of the sweep.
    pub runs: Vec<Planned>,
}

/// A planned run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Id, unique in its folder and valid as a file name.
    pub id: String,
    /// Short name of the run's point.
    pub label: String,
    /// Settings of the run's point.
    pub point: Vec<Setting>,
    /// Repetition of the point, from 0.
    pub replication: u32,
    /// Seed, as text.
    pub seed: String,
}

/// A line of a scenario without the directories of files. Another machine may keep files elsewhere;
/// a checksum covers their content.
pub fn without_places(line: &str) -> String {
    let mut parts = Vec::new();
    for part in line.split('"') {
        let (mark, path) = match part.strip_prefix("file:") {
            Some(path) => ("file:", path),
            None => ("", part),
        };
        let name = path.rsplit('/').next().filter(|_| path.starts_with('/'));
        parts.push(format!("{mark}{}", name.unwrap_or(path)));
    }
    parts.join("\"")
}

impl Manifest {
    /// The point number of each run id, in the order of the sweep, from 0.
    pub fn points(&self) -> BTreeMap<String, u32> {
        let mut numbers: BTreeMap<(&str, &[Setting]), u32> = BTreeMap::new();
        let mut next = 0;
        let mut points = BTreeMap::new();
        for run in &self.runs {
            let point = (run.label.as_str(), run.point.as_slice());
            let number = *numbers.entry(point).or_insert_with(|| {
                next += 1;
                next - 1
            });
            points.insert(run.id.clone(), number);
        }
        points
    }

    /// The first difference that keeps runs planned `now` out of a folder created with `self`.
    pub fn difference(&self, now: &Self) -> Option<String> {
        let texts = [
            ("the scenario's name", &self.name, &now.name),
            ("the first seed", &self.seed, &now.seed),
            ("the runner", &self.by, &now.by),
            ("the program's version", &self.version, &now.version),
            ("the program's revision", &self.revision, &now.revision),
            ("the program's build", &self.build, &now.build),
        ];
        let text = texts.into_iter().find(|(_, there, now)| there != now);
        text.map(|(what, there, now)| format!("{what} is {there:?} there and {now:?} now"))
            .or_else(|| self.scenario_difference(now))
            .or_else(|| self.run_difference(now))
    }

    /// The first different line and its section.
    fn scenario_difference(&self, now: &Self) -> Option<String> {
        let (mut old, mut new) = (self.scenario.lines(), now.scenario.lines());
        let mut section = "the scenario";
        loop {
            let (there, now) = (old.next(), new.next());
            if there.map(without_places) != now.map(without_places) {
                let (there, now) = (there.unwrap_or("nothing"), now.unwrap_or("nothing"));
                break Some(format!("in {section}, {there:?} there is {now:?} now"));
            }
            let line = there?;
            if line.starts_with('[') {
                section = line;
            }
        }
    }

    fn run_difference(&self, now: &Self) -> Option<String> {
        if self.runs.len() != now.runs.len() {
            let (there, now) = (self.runs.len(), now.runs.len());
            return Some(format!("it has {there} runs there and {now} now"));
        }
        let mut pairs = self.runs.iter().zip(&now.runs);
        let pair = pairs.find(|(there, now)| there != now);
        pair.map(|(there, now)| format!("run {} there is {} now", there.id, now.id))
    }
}
