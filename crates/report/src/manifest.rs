//! `manifest.json`: what a folder's results are of, and by what they were made.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_results::record::Setting;

/// Everything that is needed to make the results again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format of the folder.
    pub format: u32,
    /// The scenario's name.
    pub name: String,
    /// The scenario in a sentence.
    pub title: String,
    /// The label of the point that all others are compared with, unless the reader names another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The scenario in full, every default written out, as TOML.
    pub scenario: String,
    /// What the scenario came to: its network, marking, hosts, traffic and load, each in a few
    /// words. Empty in folders of programs that did not write it down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<Setting>,
    /// The command that began it.
    pub command: String,
    /// What ran it, if not the simulator alone: real packets, or a scheme of the user's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The version of the program.
    pub version: String,
    /// The revision of the program's source; empty if it is not known.
    pub revision: String,
    /// What tells this build of the program from others: a sum of its source, its libraries and its
    /// compiler; empty if it is not known.
    #[serde(default)]
    pub build: String,
    /// The first seed, as text: JSON readers round large numbers.
    pub seed: String,
    /// The runs, in the order of the sweep.
    pub runs: Vec<Planned>,
}

/// A run that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Unique in its folder and fit for a file name.
    pub id: String,
    /// Its point of the sweep in a few words.
    pub label: String,
    /// Its point of the sweep.
    pub point: Vec<Setting>,
    /// Which repetition of the point it is, from 0.
    pub replication: u32,
    /// Its seed, as text.
    pub seed: String,
}

/// A line of a scenario without the folders of files: they may be elsewhere on another machine, and
/// what is in them has a sum.
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
    /// The runs by their ids, each with the number of its point in the order of the sweep, from 0.
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

    /// The first reason why runs of a folder that was begun with `self` and runs that are planned
    /// `now` cannot stand together.
    pub fn difference(&self, now: &Self) -> Option<String> {
        let texts = [
            ("the scenario's name", &self.name, &now.name),
            ("the first seed", &self.seed, &now.seed),
            ("what runs it", &self.by, &now.by),
            ("the program's version", &self.version, &now.version),
            ("the program's revision", &self.revision, &now.revision),
            ("the program's build", &self.build, &now.build),
        ];
        let text = texts.into_iter().find(|(_, there, now)| there != now);
        text.map(|(what, there, now)| format!("{what} is {there:?} there and {now:?} now"))
            .or_else(|| self.scenario_difference(now))
            .or_else(|| self.run_difference(now))
    }

    /// The first line that differs, and the section it is in.
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
