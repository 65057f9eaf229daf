//! Overrides of swept keys: the value replaces the axis.

use super::axis::{Axis, Choice};
use super::undo;
use crate::text::document::{Node, Step, Table};
use crate::text::problem::Problem;

/// Relation between an override and a value of a sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overlap {
    /// The override sets everything that the value sets.
    Covered,
    /// The value overwrites part of the override.
    Partial,
    None,
}

/// Removes the axes that overrides replace, and reports them. Refuses an override that every value
/// of an axis would undo. `table` is the scenario with all overrides.
pub(crate) fn settle(
    axes: Vec<Axis>,
    overrides: &[Vec<Step>],
    table: &Table,
) -> Result<(Vec<Axis>, Vec<String>), Problem> {
    let mut notes = Vec::new();
    let mut kept = Vec::new();
    for axis in axes {
        let overlaps = |path: &Vec<Step>| {
            let choices = axis.choices.iter();
            let overlaps = choices.map(|choice| overlap(path, choice, table));
            overlaps.collect::<Vec<Overlap>>()
        };
        let covers = |path: &&Vec<Step>| {
            let mut overlaps = overlaps(path).into_iter();
            overlaps.all(|overlap| overlap == Overlap::Covered)
        };
        // A replaced sweep undoes nothing.
        if let Some(path) = overrides.iter().find(covers) {
            notes.push(format!(
                "`{}` is set and no longer swept: {} dropped",
                words(path),
                count(axis.choices.len(), "value")
            ));
            continue;
        }
        for path in overrides {
            let key = words(path);
            let overlaps = overlaps(path);
            let undone: Vec<&str> = (axis.choices.iter().zip(&overlaps))
                .filter(|(_, overlap)| **overlap != Overlap::None)
                .map(|(choice, _)| choice.label.as_str())
                .collect();
            if undone.len() == axis.choices.len() {
                return Err(refused(&axis, &key, path));
            }
            if !undone.is_empty() {
                notes.push(format!(
                    "`{key}` has no effect at {}: the sweep sets it there",
                    undone.join(", ")
                ));
            }
        }
        kept.push(axis);
    }
    Ok((kept, notes))
}

fn refused(axis: &Axis, key: &str, path: &[Step]) -> Problem {
    let message = format!(
        "`{key}` would have no effect: every value of the sweep over `{}` sets it",
        axis.key
    );
    let swept = axis.key.strip_suffix(".kind").unwrap_or(&axis.key);
    let help = if key.starts_with(&format!("{swept}.")) {
        format!(
            "replace the sweep with a whole value, such as --set '{swept}={{ kind = \"…\", … \
            }}'"
        )
    } else {
        "remove the sweep with --set 'sweep={}', or change its values in the file".to_owned()
    };
    let problem = Problem::new(message).help(help);
    match path.first() {
        Some(step) => problem.at(&step.loc),
        None => problem,
    }
}

fn overlap(path: &[Step], choice: &Choice, table: &Table) -> Overlap {
    let begins = |long: &[Step], short: &[Step]| undo::names(long).starts_with(&undo::names(short));
    let sets = || choice.sets.iter().map(|(set, node)| (set.as_slice(), node));
    let undoes = |(set, node): (&[Step], &Node)| {
        begins(set, path) || begins(path, set) || undo::undoes(set, node, path, table)
    };
    if sets().all(|(set, _)| begins(set, path)) {
        Overlap::Covered
    } else if sets().any(undoes) {
        Overlap::Partial
    } else {
        Overlap::None
    }
}

fn words(path: &[Step]) -> String {
    path.iter().map(|step| step.name.as_str()).collect::<Vec<_>>().join(".")
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
