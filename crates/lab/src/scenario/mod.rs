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
mod describe;
mod document;
pub mod fuzz;
pub(crate) mod layout;
mod limits;
mod problem;
mod range;
mod reader;
mod select;
mod sweep;
mod traffic;
mod write;

pub use build::Built;
pub use limits::Limits;
pub use problem::Problem;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_report::record::Setting;

use crate::reproduce::Figure;
use describe::Described;
use document::{Entry, Node, Overlay, Step, Table, Value};
use layout::Section;
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
    base: Described,
    axes: Vec<Axis>,
    points: Vec<Point>,
    overrides: Vec<String>,
    limits: Limits,
    figure: Option<(Arc<Figure>, Place)>,
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

/// Where files come from.
#[derive(Clone, Copy)]
enum Shelf {
    Disk,
    Embedded(&'static [Embedded]),
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
    described: Arc<Described>,
    overrides: Vec<String>,
    limits: Limits,
}

/// The longest scenario file.
const LONGEST_FILE: u64 = 4 << 20;

/// How deep files may include each other.
const DEEPEST_INCLUDE: usize = 16;

impl Scenario {
    /// Reads a file and those that it includes. `overrides` such as `switch.marking.threshold=60us`
    /// come last.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, Problem> {
        let (table, whole) = load(Shelf::Disk, path, None, &mut Vec::new())?;
        Self::new(table, &whole, overrides, Limits::default())
    }

    /// Reads a file that is part of the program, and those that it includes among the others.
    pub fn embedded(
        files: &'static [Embedded],
        path: &str,
        overrides: &[String],
    ) -> Result<Self, Problem> {
        let shelf = Shelf::Embedded(files);
        let (table, whole) = load(shelf, Path::new(path), None, &mut Vec::new())?;
        Self::new(table, &whole, overrides, Limits::default())
    }

    /// Reads a text that has no file: it cannot name others.
    pub fn parse(file_name: &str, text: &str, overrides: &[String]) -> Result<Self, Problem> {
        Self::parse_within(file_name, text, overrides, Limits::default())
    }

    /// The same with bounds of one's own on what it may ask for.
    pub fn parse_within(
        file_name: &str,
        text: &str,
        overrides: &[String],
        limits: Limits,
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
        Self::new(table, &Place::whole(&source), overrides, limits)
    }

    fn new(
        mut table: Table,
        whole: &Place,
        overrides: &[String],
        limits: Limits,
    ) -> Result<Self, Problem> {
        for text in overrides {
            let (path, node) = document::read_override(text)?;
            table.assign(&path, &node, &Section::selects)?;
        }
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
            base,
            axes,
            points,
            overrides: overrides.to_vec(),
            limits,
            figure,
        })
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
            for (replication, seed) in (0..).zip(*seed..=last) {
                runs.push(self.experiment(point, replication, seed, &mut taken));
            }
            point
                .described
                .build(*seed, &self.limits)
                .map_err(|problem| match self.axes.len() {
                    0 => problem,
                    _ => at_point(problem, &point.label),
                })?;
        }
        Ok(runs)
    }

    fn experiment(
        &self,
        point: &Point,
        replication: u32,
        seed: u64,
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
        write::scenario(self)
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

impl Shelf {
    /// A name for a file that no other file has, and its text; or why it cannot be read.
    fn take(self, path: &Path) -> Result<(PathBuf, String), String> {
        match self {
            Self::Disk => {
                let said = |error: std::io::Error| error.to_string();
                let real = path.canonicalize().map_err(said)?;
                if std::fs::metadata(&real).map_err(said)?.len() > LONGEST_FILE {
                    return Err(format!("it is longer than {LONGEST_FILE} bytes"));
                }
                let text = std::fs::read_to_string(&real).map_err(said)?;
                Ok((real, text))
            }
            Self::Embedded(files) => {
                let file = files.iter().find(|file| Path::new(file.path) == path);
                let file = file.ok_or("it is not part of the program")?;
                Ok((path.to_path_buf(), file.text.to_owned()))
            }
        }
    }
}

/// Reads a file, laid over those that it includes.
fn load(
    shelf: Shelf,
    path: &Path,
    from: Option<&Place>,
    open: &mut Vec<PathBuf>,
) -> Result<(Table, Place), Problem> {
    let at = |problem: Problem| match from {
        Some(place) => problem.at(place),
        None => problem,
    };
    let (real, text) = shelf.take(path).map_err(|why| {
        let message = format!("`{}` cannot be read: {why}", path.display());
        at(Problem::new(message))
    })?;
    if open.contains(&real) {
        return Err(at(Problem::new(format!(
            "`{}` includes itself",
            path.display()
        )))
        .help("a file cannot be included by what it includes"));
    }
    if open.len() == DEEPEST_INCLUDE {
        let message = format!("files include each other more than {DEEPEST_INCLUDE} deep");
        return Err(at(Problem::new(message)));
    }
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let source = Arc::new(Source {
        name: match shelf {
            Shelf::Disk => path.display().to_string(),
            Shelf::Embedded(_) => format!("{} (built in)", path.display()),
        },
        text,
        folder: matches!(shelf, Shelf::Disk).then(|| folder.clone()),
    });
    let mut table = Table::parse(&source)?;
    let whole = Place::whole(&source);
    let Some(include) = table.remove("include") else {
        return Ok((table, whole));
    };
    open.push(real);
    let mut below = Table::default();
    for (name, place) in included(&include)? {
        let (mut table, _) = load(shelf, &folder.join(name), Some(&place), open)?;
        // Claims are about the file that they stand in.
        table.remove("figure");
        lay_over(&mut below, &table);
    }
    open.pop();
    lay_over(&mut below, &table);
    Ok((below, whole))
}

/// Lays a file over those before it.
fn lay_over(below: &mut Table, above: &Table) {
    for entry in above.entries() {
        below.lay(&mut Vec::new(), entry, Overlay::Merge, &Section::selects);
    }
}

/// The names of included files.
fn included(include: &Entry) -> Result<Vec<(String, Place)>, Problem> {
    let items = match &include.node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(&include.node),
    };
    let name = |item: &Node| match &item.value {
        Value::Text(name) => Ok((name.clone(), item.place.clone())),
        _ => Err(Problem::new(format!(
            "`include` is {}, and should be the name of a file",
            item.noun()
        ))
        .at(&item.place)),
    };
    items.iter().map(name).collect()
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

/// Words as part of a file name: letters, digits, dots, and `-` for everything else.
fn slug(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if out.len() >= longest {
            break;
        }
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            '.' | '_' if !out.is_empty() => out.push(c),
            '♯' => out.push_str("-sharp"),
            _ if out.is_empty() || out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    out.trim_end_matches(['-', '.']).to_owned()
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
