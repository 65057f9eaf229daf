//! A scenario: what a file and its overrides come to, at every point of its sweep.

mod compose;
mod include;
mod name;
pub(crate) mod plan;
mod write;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::Files;
use crate::layout::Section;
use crate::settings::describe::Described;
use crate::settings::limits::Limits;
use crate::sweep::axis::{Axis, Coordinate};
use crate::text::document::{self, Step};
use crate::text::problem::{Location, Problem};
use compose::Text;

/// A scenario that was read and is well-formed: every key is known and every value can be read, at
/// every point of its sweep.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name in file names.
    pub name: String,
    /// What reports call it.
    pub title: String,
    /// The label of the point that all others are compared with.
    pub baseline: Option<String>,
    /// What overrides did to the sweep, for whoever gave them.
    pub notes: Vec<String>,
    base: Described,
    axes: Vec<Axis>,
    /// Names of all files as they were asked for, and those that hold from anywhere.
    files: BTreeMap<PathBuf, PathBuf>,
    /// Files that only points of the sweep name, with their texts.
    swept: BTreeMap<PathBuf, Arc<str>>,
    points: Vec<Point>,
    overrides: Vec<String>,
    limits: Limits,
    /// Where it has a `[figure]`.
    figure: Option<Location>,
    /// What it was read from, to look for more mistakes; `None` if nobody wants to know them.
    text: Option<Arc<Text>>,
}

/// Whether all mistakes are looked for, or the first one is enough.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    All,
    First,
}

/// A point of the sweep.
#[derive(Clone, Debug)]
struct Point {
    label: String,
    settings: Vec<Coordinate>,
    /// What it sets, as overrides.
    sets: Vec<String>,
    described: Arc<Described>,
}

impl Scenario {
    /// Reads a file and those that it includes. `overrides` such as `switch.marking.threshold=60us`
    /// come last.
    pub fn read(files: Arc<dyn Files>, path: &Path, overrides: &[String]) -> Result<Self, Problem> {
        let (table, whole) = include::read(&*files, path)?;
        let text = Text { files, table, whole, overrides: Vec::new(), limits: Limits::default() };
        Self::new(text, overrides, Search::All)
    }

    /// Reads a text that has no file: it cannot name others.
    pub fn parse(file_name: &str, text: &str, overrides: &[String]) -> Result<Self, Problem> {
        Self::parse_bounded(file_name, text, overrides, Limits::default())
    }

    /// The same with bounds of one's own on what it may ask for.
    pub fn parse_bounded(
        file_name: &str,
        text: &str,
        overrides: &[String],
        limits: Limits,
    ) -> Result<Self, Problem> {
        let text = Text::parse(file_name, text, limits)?;
        Self::new(text, overrides, Search::All)
    }

    /// The same with an error of the first mistake alone.
    pub(crate) fn parse_within(
        file_name: &str,
        text: &str,
        overrides: &[String],
        limits: Limits,
    ) -> Result<Self, Problem> {
        let text = Text::parse(file_name, text, limits)?;
        Self::new(text, overrides, Search::First)
    }

    fn new(mut text: Text, overrides: &[String], search: Search) -> Result<Self, Problem> {
        for set in overrides {
            let (path, node) = document::read_override(set, document::folder(&text.whole))?;
            text.table.assign(&path, &node, &Section::selects)?;
            text.overrides.push((path, set.clone()));
        }
        match text.compose() {
            Ok(mut scenario) => {
                scenario.check_baseline(&text)?;
                scenario.text = (search == Search::All).then(|| Arc::new(text));
                Ok(scenario)
            }
            Err(problem) if search == Search::All => Err(text.diagnose(problem)),
            Err(problem) => Err(problem),
        }
    }

    /// That `baseline` names a point. An override that leaves points out may leave out that one.
    fn check_baseline(&mut self, text: &Text) -> Result<(), Problem> {
        let Some(name) = &self.baseline else {
            return Ok(());
        };
        let is_called = |point: &Point| {
            let settings = point.settings.iter().map(Coordinate::pair);
            is_called(name, &point.label, settings)
        };
        if self.points.iter().any(is_called) {
            return Ok(());
        }
        let changes_sweep = |(path, _): &(Vec<Step>, String)| path[0].name == "sweep";
        if text.overrides.iter().any(changes_sweep) || !self.notes.is_empty() {
            self.notes.push(format!("no point is called `{name}` any more: there is no baseline"));
            self.baseline = None;
            return Ok(());
        }
        let labels = self.points.iter().map(|point| format!("`{}`", point.label));
        let labels: Vec<String> = labels.collect();
        Err(Problem::new(format!("`baseline` is `{name}`, and no point is called so"))
            .at(self.base.root.of("baseline"))
            .help(format!("there are {}", labels.join(", "))))
    }

    /// The text of the file that its `[figure]` is in, if it has one.
    pub fn figure(&self) -> Option<&str> {
        let loc = self.figure.as_ref()?;
        Some(&loc.source.text)
    }

    /// What is wrong with some bytes of that text; with all of the figure if there are none.
    pub fn figure_problem(&self, message: String, span: Range<usize>) -> Problem {
        let problem = Problem::new(message);
        match &self.figure {
            Some(loc) if span.is_empty() => problem.at(loc),
            Some(loc) => problem.at(&Location { source: Arc::clone(&loc.source), span }),
            None => problem,
        }
    }

    /// The labels of the points of its sweep.
    pub fn labels(&self) -> Vec<&str> {
        let points = self.points.iter();
        points.map(|point| point.label.as_str()).collect()
    }

    /// The keys that its sweep varies.
    pub fn keys(&self) -> Vec<&str> {
        let settings = self.points.iter().flat_map(|point| &point.settings);
        let mut keys: Vec<&str> = settings.map(|setting| setting.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Leaves out the points of the sweep whose labels are not wanted.
    pub fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        self.points.retain(|point| wanted(&point.label));
    }

    /// How many points its sweep has.
    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// How often each point is run.
    pub fn runs(&self) -> u32 {
        self.base.runs
    }

    /// The whole scenario as one TOML text with every default written out, whatever it included and
    /// whatever was overridden. It gives the same runs.
    ///
    /// Tables of sizes and lists of flows stand in it, so that it needs no other file but those
    /// that its sweep names: of these it says what tells their texts from others. Three kinds of
    /// defaults stay out, as a sweep may change what they follow: settings of a receiver, which are
    /// the sender's; those of a profile that the sweep varies; and those that follow the speed of
    /// the links.
    pub fn resolved(&self) -> String {
        write::scenario(self, write::Lists::Whole)
    }

    /// The same for reading: lists of flows that are in files are named instead of written out.
    pub fn resolved_by_name(&self) -> String {
        write::scenario(self, write::Lists::Named)
    }
}

/// Says at which point of a sweep something is wrong.
fn at_point(problem: Problem, label: &str) -> Problem {
    problem.note(&format!("at the point `{label}`"))
}

/// Whether a point is called `name`: by its label, a part of that, or a value that it sets.
pub fn is_called<'a>(
    name: &str,
    label: &str,
    settings: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> bool {
    let is_name = |text: &str| text.trim().eq_ignore_ascii_case(name.trim());
    let is_value =
        |(key, value): (&str, &str)| is_name(value) || is_name(&format!("{key}={value}"));
    label.split(',').chain([label]).any(is_name) || settings.into_iter().any(is_value)
}
