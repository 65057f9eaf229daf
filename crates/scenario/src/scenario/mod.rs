//! A scenario: a file with its overrides, resolved at every point of its sweep.

mod compose;
mod include;
mod name;
pub(crate) mod plan;
pub(crate) mod write;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::Files;
use crate::layout::Section;
use crate::sections::Described;
use crate::settings::limits::Limits;
use crate::settings::writer::Lists;
use crate::sweep::axis::{Axis, Coordinate};
use crate::text::document::{self, Step};
use crate::text::problem::{Location, Problem};
use compose::Text;

/// A well-formed scenario: every key is known and every value is valid, at every point of its
/// sweep.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name in file names.
    pub name: String,
    /// Title in reports.
    pub title: String,
    /// Label of the point that all others are compared with.
    pub baseline: Option<String>,
    /// Effects of overrides on the sweep, for the user.
    pub notes: Vec<String>,
    base: Described,
    axes: Vec<Axis>,
    /// Names of all files: as requested, and absolute.
    files: BTreeMap<PathBuf, PathBuf>,
    /// Files named only by points of the sweep, with their texts.
    swept: BTreeMap<PathBuf, Arc<str>>,
    points: Vec<Point>,
    overrides: Vec<String>,
    limits: Limits,
    /// Location of `[figure]`.
    figure: Option<Location>,
    /// Source text, to search for further mistakes; `None` to stop at the first.
    text: Option<Arc<Text>>,
}

/// Whether to search for all mistakes or stop at the first.
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
    /// Its settings, as overrides.
    sets: Vec<String>,
    described: Arc<Described>,
}

impl Scenario {
    /// Reads a file and its includes, then applies `overrides` such as
    /// `switch.marking.threshold=60us`.
    pub fn read(files: Arc<dyn Files>, path: &Path, overrides: &[String]) -> Result<Self, Problem> {
        let (table, whole) = include::read(&*files, path)?;
        let text = Text { files, table, whole, overrides: Vec::new(), limits: Limits::default() };
        Self::new(text, overrides, Search::All)
    }

    /// Reads a text that is not a file and cannot name files.
    pub fn parse(file_name: &str, text: &str, overrides: &[String]) -> Result<Self, Problem> {
        Self::parse_bounded(file_name, text, overrides, Limits::default())
    }

    /// The same with custom limits.
    pub fn parse_bounded(
        file_name: &str,
        text: &str,
        overrides: &[String],
        limits: Limits,
    ) -> Result<Self, Problem> {
        let text = Text::parse(file_name, text, limits)?;
        Self::new(text, overrides, Search::All)
    }

    /// The same, but errors report only the first mistake.
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

    /// Checks that `baseline` names a point. An override may have removed that point.
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
            self.notes.push(format!(
                "no point is called `{name}` any more: results have no \
                baseline"
            ));
            self.baseline = None;
            return Ok(());
        }
        let labels = self.points.iter().map(|point| format!("`{}`", point.label));
        let labels: Vec<String> = labels.collect();
        Err(Problem::new(format!("`baseline` is `{name}`, but no point is called that"))
            .at(self.base.locs.of("baseline"))
            .help(format!("points: {}", labels.join(", "))))
    }

    /// Text of the file with its `[figure]`, if it has one.
    pub fn figure(&self) -> Option<&str> {
        let loc = self.figure.as_ref()?;
        Some(&loc.source.text)
    }

    /// A problem with some bytes of that text, or with the whole figure if the span is empty.
    pub fn figure_problem(&self, message: String, span: Range<usize>) -> Problem {
        let problem = Problem::new(message);
        match &self.figure {
            Some(loc) if span.is_empty() => problem.at(loc),
            Some(loc) => problem.at(&Location { source: Arc::clone(&loc.source), span }),
            None => problem,
        }
    }

    /// Labels of the points of its sweep.
    pub fn labels(&self) -> Vec<&str> {
        let points = self.points.iter();
        points.map(|point| point.label.as_str()).collect()
    }

    /// Keys that its sweep varies.
    pub fn keys(&self) -> Vec<&str> {
        let settings = self.points.iter().flat_map(|point| &point.settings);
        let mut keys: Vec<&str> = settings.map(|setting| setting.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Keeps only the points of the sweep whose labels are wanted.
    pub fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        self.points.retain(|point| wanted(&point.label));
    }

    /// Number of points of its sweep.
    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// Number of runs per point.
    pub fn runs(&self) -> u32 {
        self.base.runs
    }

    /// The whole scenario as one TOML text with every default, after includes and overrides. It
    /// gives the same runs.
    ///
    /// Tables of sizes and lists of flows are inlined, so it needs no other files except the ones
    /// named in its sweep, for which it records size and checksum. Three kinds of defaults are
    /// omitted, since a sweep may change their source: a receiver's settings that follow the
    /// sender, settings of a profile that the sweep varies, and settings that follow the rate of
    /// the links.
    pub fn resolved(&self) -> String {
        write::scenario(self, Lists::Whole)
    }

    /// The same for people: names files with lists of flows instead of inlining them.
    pub fn resolved_by_name(&self) -> String {
        write::scenario(self, Lists::Named)
    }
}

/// Adds the point of the sweep to a problem.
fn at_point(problem: Problem, label: &str) -> Problem {
    problem.note(&format!("at the point `{label}`"))
}

/// Whether a point is called `name`: by its label, a part of its label, or a value that it sets.
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
