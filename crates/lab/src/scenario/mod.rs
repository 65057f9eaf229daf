//! Scenario files: what is simulated, written as TOML, and the runs that come of it.
//!
//! ```
//! use tidegate_lab::scenario::Scenario;
//!
//! let text = r#"
//!     name = "thresholds"
//!     runs = 2
//!     [topology]
//!     kind = "star"
//!     hosts = 3
//!     [switch]
//!     marking = { kind = "tcn" }
//!     [[traffic]]
//!     kind = "long-lived"
//!     from = "0-1"
//!     to = 2
//!     bytes = "1MB"
//!     [sweep]
//!     "switch.marking.threshold" = { from = "40us", to = "80us", step = "40us" }
//! "#;
//! let scenario = Scenario::parse("thresholds.toml", text, &[]).unwrap();
//! let labels: Vec<_> = scenario.plan().unwrap().into_iter().map(|run| run.label).collect();
//! assert_eq!(labels, ["threshold 40us", "threshold 40us", "threshold 80us", "threshold 80us"]);
//! ```
//!
//! A scenario is read in four steps, each a module: the tree of keys and values, each with its place
//! (`document`), the points of its sweep (`sweep`), typed settings (`describe`), and set-ups of the
//! simulator (`build`). What a file can say is in `layout`, which takes it from the libraries.

mod build;
mod cut;
mod describe;
mod diagnose;
mod document;
pub mod fuzz;
pub(crate) mod layout;
mod limits;
mod live_file;
mod load;
mod outline;
mod problem;
mod range;
mod reader;
mod select;
mod settle;
mod sweep;
mod traffic;
mod write;

pub use build::Built;
pub use limits::Limits;
pub use live_file::read_switch;
pub use outline::{Outline, Threshold};
pub use problem::Problem;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use tidegate_report::record::Setting;

use crate::reproduce::Figure;
use describe::Described;
use document::{Entry, Node, Step, Table};
use layout::Section;
use load::{Shelf, load};
use problem::{Place, Source};
use sweep::Axis;
use traffic::Files;

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
    points: Vec<Point>,
    overrides: Vec<String>,
    limits: Limits,
    figure: Option<(Arc<Figure>, Place)>,
    /// What it was read from, to look for more mistakes; `None` if nobody wants to know them.
    text: Option<Arc<Text>>,
}

/// What a scenario is read from.
#[derive(Clone, Debug)]
struct Text {
    /// With overrides.
    table: Table,
    whole: Place,
    /// What overrides set, and their texts.
    overrides: Vec<(Vec<Step>, String)>,
}

/// Whether all mistakes are looked for, or the first one is enough.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    All,
    First,
}

/// A scenario file that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// The name that it is found by: `tcn-f10` for `tcn/f10.toml`.
    pub id: &'static str,
    /// Its path among the others, which may include it by that.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// A point of the sweep.
#[derive(Clone, Debug)]
struct Point {
    label: String,
    settings: Vec<Setting>,
    /// What it sets, as overrides.
    sets: Vec<String>,
    described: Arc<Described>,
}

/// One run of a scenario.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Unique among the runs of the scenario, and fit for a file name.
    pub id: String,
    /// What tells its point from the others, in a few words; the scenario's name without a sweep.
    pub label: String,
    /// The same as keys and values, one for each axis of the sweep.
    pub point: Vec<Setting>,
    /// Which repetition of the point it is, from 0.
    pub replication: u32,
    /// The seed of everything random.
    pub seed: u64,
    /// What its point came to mean.
    pub outline: Arc<Outline>,
    described: Arc<Described>,
    overrides: Vec<String>,
    limits: Limits,
}

impl Scenario {
    /// Reads a file and those that it includes. `overrides` such as `switch.marking.threshold=60us`
    /// come last.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, Problem> {
        let (table, whole) = load(Shelf::Disk, path, None, &mut Vec::new())?;
        Self::new(table, &whole, overrides, Limits::default(), Search::All)
    }

    /// Reads a file that is part of the program, and those that it includes among the others.
    pub fn embedded(
        files: &'static [Embedded],
        path: &str,
        overrides: &[String],
    ) -> Result<Self, Problem> {
        let shelf = Shelf::Embedded(files);
        let (table, whole) = load(shelf, Path::new(path), None, &mut Vec::new())?;
        Self::new(table, &whole, overrides, Limits::default(), Search::All)
    }

    /// Reads a text that has no file: it cannot name others.
    pub fn parse(file_name: &str, text: &str, overrides: &[String]) -> Result<Self, Problem> {
        Self::parse_text(file_name, text, overrides, Limits::default(), Search::All)
    }

    /// The same with bounds of one's own on what it may ask for, and an error of the first mistake
    /// alone.
    pub fn parse_within(
        file_name: &str,
        text: &str,
        overrides: &[String],
        limits: Limits,
    ) -> Result<Self, Problem> {
        Self::parse_text(file_name, text, overrides, limits, Search::First)
    }

    fn parse_text(
        file_name: &str,
        text: &str,
        overrides: &[String],
        limits: Limits,
        search: Search,
    ) -> Result<Self, Problem> {
        let source = Arc::new(Source {
            name: file_name.to_owned(),
            text: text.to_owned(),
            folder: None,
        });
        let mut table = Table::parse(&source)?;
        if let Some(include) = table.remove("include") {
            return Err(
                Problem::new("this scenario has no file, and cannot include others")
                    .at(&include.place),
            );
        }
        let whole = Place::whole(&source);
        Self::new(table, &whole, overrides, limits, search)
    }

    fn new(
        mut table: Table,
        whole: &Place,
        overrides: &[String],
        limits: Limits,
        search: Search,
    ) -> Result<Self, Problem> {
        let mut read = Vec::new();
        for text in overrides {
            let (path, node) = document::read_override(text)?;
            table.assign(&path, &node, &Section::selects)?;
            read.push((path, text.clone()));
        }
        let text = Text {
            table,
            whole: whole.clone(),
            overrides: read,
        };
        match Self::compose(&text, limits) {
            Ok(mut scenario) => {
                scenario.check_baseline(&text)?;
                scenario.text = (search == Search::All).then(|| Arc::new(text));
                Ok(scenario)
            }
            Err(problem) if search == Search::All => Err(text.diagnose(problem, limits)),
            Err(problem) => Err(problem),
        }
    }

    /// Reads the tree of a scenario.
    fn compose(text: &Text, limits: Limits) -> Result<Self, Problem> {
        let mut table = text.table.clone();
        let whole = &text.whole;
        let top = Place {
            source: Arc::clone(&whole.source),
            span: 0..0,
        };
        // What a published figure claims changes no run. It is checked whenever it is there.
        let figure = match table.remove("figure") {
            Some(entry) => figure(entry)?,
            None => None,
        };
        let axes = match table.remove("sweep") {
            Some(sweep) => sweep::axes(&sweep.node, &limits)?,
            None => Vec::new(),
        };
        let set: Vec<_> = text
            .overrides
            .iter()
            .map(|(path, _)| path.clone())
            .collect();
        let (axes, notes) = settle::settle(axes, &set)?;
        let mut files = Files::default();
        let base = describe::describe(&table, &top, &mut files)?;
        let name = match &base.name {
            Some(name) => name.item.clone(),
            None => name_of_file(&whole.source.name),
        };
        let runs = u64::from(base.runs);
        let choices = sweep::points(&axes, &limits)?;
        if runs == 0 || runs.saturating_mul(choices.len() as u64) > limits.runs {
            let most = limits.runs / (choices.len() as u64).max(1);
            return Err(
                Problem::new(format!("`runs` is {runs}, which is out of range"))
                    .at(base.root.place("runs"))
                    .help(format!("allowed: 1 to {most} for this sweep")),
            );
        }
        let mut points = Vec::new();
        for choices in choices {
            let described = if choices.is_empty() {
                base.clone()
            } else {
                let mut table = table.clone();
                for (path, node) in choices.iter().flat_map(|choice| &choice.sets) {
                    table.assign(path, node, &Section::selects)?;
                }
                let described = describe::describe(&table, &top, &mut files);
                let label = |choice: &&sweep::Choice| choice.label.clone();
                let labels: Vec<String> = choices.iter().map(label).collect();
                described.map_err(|problem| at_point(problem, &labels.join(", ")))?
            };
            let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
            let sets = choices.iter().flat_map(|choice| &choice.sets);
            points.push(Point {
                label: if labels.is_empty() {
                    name.clone()
                } else {
                    labels.join(", ")
                },
                settings: choices
                    .iter()
                    .map(|choice| choice.setting.clone())
                    .collect(),
                sets: sets.map(|(path, node)| override_text(path, node)).collect(),
                described: Arc::new(described),
            });
        }
        Ok(Self {
            title: base.title.clone().unwrap_or_else(|| name.clone()),
            baseline: base.baseline.clone(),
            name,
            notes,
            base,
            axes,
            points,
            overrides: text
                .overrides
                .iter()
                .map(|(_, text)| text.clone())
                .collect(),
            limits,
            figure,
            text: None,
        })
    }

    /// That `baseline` names a point. An override that leaves points out may leave out that one.
    fn check_baseline(&mut self, text: &Text) -> Result<(), Problem> {
        let Some(name) = &self.baseline else {
            return Ok(());
        };
        let is_called = |point: &Point| is_called(name, &point.label, &point.settings);
        if self.points.iter().any(is_called) {
            return Ok(());
        }
        let changes_sweep = |(path, _): &(Vec<Step>, String)| path[0].name == "sweep";
        if text.overrides.iter().any(changes_sweep) || !self.notes.is_empty() {
            self.notes.push(format!(
                "no point is called `{name}` any more: there is no baseline"
            ));
            self.baseline = None;
            return Ok(());
        }
        let labels = self.points.iter().map(|point| format!("`{}`", point.label));
        let labels: Vec<String> = labels.collect();
        Err(
            Problem::new(format!("`baseline` is `{name}`, and no point is called so"))
                .at(self.base.root.place("baseline"))
                .help(format!("there are {}", labels.join(", "))),
        )
    }

    /// The published figure that it stands for, if it says so.
    pub fn figure(&self) -> Option<&Figure> {
        self.figure.as_ref().map(|(figure, _)| &**figure)
    }

    /// That the claims and plots of its figure are about points of its sweep.
    pub fn check_figure(&self) -> Result<(), Problem> {
        let Some((figure, place)) = &self.figure else {
            return Ok(());
        };
        let labels: Vec<&str> = self
            .points
            .iter()
            .map(|point| point.label.as_str())
            .collect();
        let settings = self.points.iter().flat_map(|point| &point.settings);
        let mut keys: Vec<&str> = settings.map(|setting| setting.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        figure.check(&labels, &keys).map_err(|wrong| {
            let found = Place {
                source: Arc::clone(&place.source),
                span: wrong.span.clone(),
            };
            let place = if wrong.span.is_empty() { place } else { &found };
            Problem::new(wrong.message).at(place)
        })
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

    /// Every run: the points of the sweep in its order, the first axis varying slowest, each with its
    /// repetitions. Each point is made once, so that all of them can run.
    pub fn plan(&self) -> Result<Vec<Experiment>, Problem> {
        let plan = self.plan_points();
        match &self.text {
            Some(text) => plan.map_err(|problem| text.diagnose(problem, self.limits)),
            None => plan,
        }
    }

    fn plan_points(&self) -> Result<Vec<Experiment>, Problem> {
        let mut taken = BTreeSet::new();
        let mut runs = Vec::new();
        for point in &self.points {
            let Described {
                seed,
                runs: count,
                root,
                ..
            } = &*point.described;
            let beyond = || {
                Problem::new("the seeds of the repetitions pass the largest number")
                    .at(root.place("seed"))
            };
            let last = seed.checked_add(u64::from(*count - 1)).ok_or_else(beyond)?;
            let outline = point.described.outline(*seed, &self.limits);
            let outline = outline.map_err(|problem| match self.axes.len() {
                0 => problem,
                _ => at_point(problem, &point.label),
            })?;
            let outline = Arc::new(outline);
            for (replication, seed) in (0..).zip(*seed..=last) {
                runs.push(self.experiment(point, &outline, (replication, seed), &mut taken));
            }
        }
        Ok(runs)
    }

    fn experiment(
        &self,
        point: &Point,
        outline: &Arc<Outline>,
        (replication, seed): (u32, u64),
        taken: &mut BTreeSet<String>,
    ) -> Experiment {
        let mut overrides = self.overrides.clone();
        if !self.axes.is_empty() {
            overrides.push("sweep={}".into());
        }
        overrides.extend(point.sets.iter().cloned());
        if self.base.runs != 1 {
            overrides.push("runs=1".into());
        }
        overrides.push(format!("seed={seed}"));
        Experiment {
            id: id(&point.label, seed, taken),
            label: point.label.clone(),
            point: point.settings.clone(),
            replication,
            seed,
            outline: Arc::clone(outline),
            described: Arc::clone(&point.described),
            overrides,
            limits: self.limits,
        }
    }

    /// The whole scenario as one TOML text with every default written out, whatever it included and
    /// whatever was overridden. It gives the same runs.
    ///
    /// Tables of sizes and lists of flows stand in it, so that it needs no other file. Three kinds of
    /// defaults stay out, as a sweep may change what they follow: settings of a receiver, which are
    /// the sender's; those of a profile that the sweep varies; and those that follow the speed of the
    /// links.
    pub fn resolved(&self) -> String {
        write::scenario(self, write::Lists::Whole)
    }

    /// The same for reading: lists of flows that are in files are named instead of written out.
    pub fn resolved_by_name(&self) -> String {
        write::scenario(self, write::Lists::Named)
    }
}

impl Experiment {
    /// Makes the run.
    pub fn build(&self) -> Result<Built, Problem> {
        self.described.build(self.seed, &self.limits)
    }

    /// The marking scheme of the switches by its name; of two at once, both: `tcn or codel`.
    pub fn scheme(&self) -> String {
        fn name(marking: &describe::Marking) -> String {
            match marking {
                describe::Marking::One(config) => config.item.name().to_owned(),
                describe::Marking::Or(pair) => format!("{} or {}", name(&pair.0), name(&pair.1)),
            }
        }
        name(&self.described.switch.marking)
    }

    /// Overrides of the scenario's file that give this run alone. Those that the scenario was read
    /// with come first.
    pub fn overrides(&self) -> Vec<String> {
        self.overrides.clone()
    }
}

impl Text {
    /// A problem of this scenario with all others behind it.
    fn diagnose(&self, first: Problem, limits: Limits) -> Problem {
        diagnose::all(first, &self.table, |table| {
            let rest = Self {
                table: table.clone(),
                ..self.clone()
            };
            Scenario::compose(&rest, limits)?.plan_points().map(|_| ())
        })
    }
}

/// Whether a point is called `name`: by its label, a part of that, or a value that it sets.
pub fn is_called(name: &str, label: &str, settings: &[Setting]) -> bool {
    let is_name = |text: &str| text.trim().eq_ignore_ascii_case(name.trim());
    let is_value = |setting: &Setting| {
        is_name(&setting.value) || is_name(&format!("{}={}", setting.key, setting.value))
    };
    label.split(',').chain([label]).any(is_name) || settings.iter().any(is_value)
}

/// Says at which point of a sweep something is wrong.
fn at_point(problem: Problem, label: &str) -> Problem {
    problem.note(&format!("at the point `{label}`"))
}

/// Reads what the file of `entry` says about a figure.
fn figure(entry: Entry) -> Result<Option<(Arc<Figure>, Place)>, Problem> {
    let Entry { place, .. } = entry;
    match Figure::parse(&place.source.text) {
        Ok(figure) => Ok(figure.map(|figure| (Arc::new(figure), place))),
        Err(wrong) => {
            let source = Arc::clone(&place.source);
            let span = wrong.span;
            Err(Problem::new(wrong.message).at(&Place { source, span }))
        }
    }
}

/// A name from that of a file.
fn name_of_file(file: &str) -> String {
    let stem = Path::new(file)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let name = slug(stem.as_deref().unwrap_or_default(), 64);
    if name.is_empty() {
        "scenario".into()
    } else {
        name
    }
}

/// Words as part of a file name: letters, digits, dots, signs that tell names apart as words, and `-`
/// for everything else.
fn slug(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if out.len() >= longest {
            break;
        }
        match (c, spelled(c)) {
            (c, _) if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            ('.' | '_', _) if !out.is_empty() => out.push(c),
            (_, Some(word)) => {
                let is_sign = !c.is_alphabetic();
                if is_sign && !out.is_empty() && !out.ends_with('-') {
                    out.push('-');
                }
                out.push_str(word);
            }
            _ if out.is_empty() || out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    out.trim_end_matches(['-', '.']).to_owned()
}

/// What is written for a sign or a letter that file names should not have, but that may be all that
/// tells two labels apart: ECN♯ and ECN* are not ECN.
const fn spelled(c: char) -> Option<&'static str> {
    Some(match c {
        '#' | '♯' => "sharp",
        '*' => "star",
        '%' => "percent",
        'µ' | 'μ' => "u",
        'α' => "alpha",
        'β' => "beta",
        'γ' => "gamma",
        'λ' => "lambda",
        _ => return None,
    })
}

/// A name for a run that no other run has.
fn id(label: &str, seed: u64, taken: &mut BTreeSet<String>) -> String {
    let words = slug(label, 80);
    let words = if words.is_empty() { "point" } else { &words };
    let mut id = format!("{words}-s{seed}");
    let mut number = 2;
    while !taken.insert(id.clone()) {
        id = format!("{words}-{number}-s{seed}");
        number += 1;
    }
    id
}

/// A value that a sweep sets, as an override.
fn override_text(path: &[Step], node: &Node) -> String {
    let keys: Vec<&str> = path.iter().map(|step| step.name.as_str()).collect();
    let is_bare = |text: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-/%".contains(c);
        !text.is_empty() && text.chars().all(fits)
    };
    let value = match node.scalar() {
        Some(text) if is_bare(&text) => text,
        _ => node.toml(),
    };
    format!("{}={value}", keys.join("."))
}

/// Scenarios that the tests of this crate read.
#[cfg(test)]
pub(crate) fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    tests::FILES.into_iter()
}

#[cfg(test)]
mod tests;
