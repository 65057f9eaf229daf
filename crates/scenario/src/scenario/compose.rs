//! From the tree of a file to a scenario.

use std::sync::Arc;

use super::name::name_of_file;
use super::{Point, Scenario, at_point, write};
use crate::files::Listed;
use crate::files::{Files, NoFiles};
use crate::layout::Section;
use crate::sections::Described;
use crate::settings::limits::Limits;
use crate::settings::reader::Located;

use crate::sweep::{axis, settle};
use crate::text::diagnose;
use crate::text::document::{Node, Step, Table, Value};
use crate::text::problem::{Location, Problem, Source};

/// Source text of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) files: Arc<dyn Files>,
    /// With overrides.
    pub(super) table: Table,
    pub(super) whole: Location,
    /// What overrides set, and their texts.
    pub(super) overrides: Vec<(Vec<Step>, String)>,
    pub(super) limits: Limits,
}

impl Text {
    /// A text that has no file.
    pub(super) fn parse(file_name: &str, text: &str, limits: Limits) -> Result<Self, Problem> {
        let source = Source::new(file_name, text);
        let mut table = Table::parse(&source)?;
        if let Some(include) = table.remove("include") {
            return Err(Problem::new("this scenario has no file, and cannot include others")
                .at(&include.loc));
        }
        Ok(Self {
            files: Arc::new(NoFiles),
            table,
            whole: Location::whole(&source),
            overrides: Vec::new(),
            limits,
        })
    }

    /// Reads the tree of a scenario.
    pub(super) fn compose(&self) -> Result<Scenario, Problem> {
        let mut table = self.table.clone();
        let (whole, limits) = (&self.whole, &self.limits);
        let top = Location { source: Arc::clone(&whole.source), span: 0..0 };
        // Claims of a published figure change no run.
        let figure = table.remove("figure").map(|entry| entry.loc);
        let axes = match table.remove("sweep") {
            Some(sweep) => axis::axes(&sweep.node, limits)?,
            None => Vec::new(),
        };
        let (paths, overrides): (Vec<_>, Vec<_>) = self.overrides.iter().cloned().unzip();
        let (axes, notes) = settle::settle(axes, &paths, &table)?;
        axis::refuse_undone(&axes, &table)?;
        let files = Listed::new(&*self.files);
        let read = |table: &Table| -> Result<Described, Problem> {
            let node = Node { value: Value::Table(table.clone()), loc: top.clone() };
            Located::of(&node, None, &files)
        };
        let base = read(&table)?;
        let of_base = files.read_so_far();
        let name = match &base.name.0 {
            Some(name) => name.clone(),
            None => name_of_file(&whole.source.name),
        };
        let runs = u64::from(base.runs);
        let choices = axis::points(&axes, limits)?;
        if runs == 0 || runs.saturating_mul(choices.len() as u64) > limits.runs {
            let most = limits.runs / (choices.len() as u64).max(1);
            return Err(Problem::new(format!("`runs` is {runs}, which is out of range"))
                .at(base.locs.of("runs"))
                .help(format!("allowed: 1 to {most} for this sweep")));
        }
        let mut points = Vec::new();
        for choices in choices {
            let labels: Vec<&str> = choices.iter().map(|choice| choice.label.as_str()).collect();
            let (label, described) = if choices.is_empty() {
                (name.clone(), base.clone())
            } else {
                let mut table = table.clone();
                for (path, node) in choices.iter().flat_map(|choice| &choice.sets) {
                    table.assign(path, node, &Section::selects)?;
                }
                let label = labels.join(", ");
                let described = read(&table).map_err(|problem| at_point(problem, &label))?;
                (label, described)
            };
            let sets = choices.iter().flat_map(|choice| &choice.sets);
            let (names, own) = (files.names(), &whole.source.folder);
            let sets = sets.map(|(path, node)| {
                // File names in an override are relative to the scenario and stay so.
                if node.loc.source.folder == *own {
                    return override_text(path, node);
                }
                let key = path.last().map_or("", |step| step.name.as_str());
                override_text(path, &write::absolute(key, node, &names))
            });
            let sets = sets.collect();
            points.push(Point {
                label,
                settings: choices.iter().map(|choice| choice.setting.clone()).collect(),
                sets,
                described: Arc::new(described),
            });
        }
        let mut swept = files.read_so_far();
        swept.retain(|path, _| !of_base.contains_key(path));
        Ok(Scenario {
            title: base.title.0.clone().unwrap_or_else(|| name.clone()),
            baseline: base.baseline.0.clone(),
            name,
            notes,
            base,
            axes,
            files: files.names(),
            swept,
            points,
            overrides,
            limits: *limits,
            figure,
            text: None,
        })
    }

    /// Appends all other problems of this scenario.
    pub(super) fn diagnose(&self, first: Problem) -> Problem {
        diagnose::all(first, &self.table, |table| {
            let rest = Self { table: table.clone(), ..self.clone() };
            rest.compose()?.plan_points().map(|_| ())
        })
    }
}

/// A sweep value as an override.
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
