//! Removes a part of a scenario's tree.

use super::document::{Node, Table, Value};
use super::problem::Location;

/// A removed part.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) loc: Location,
    /// Location of the enclosing table's `kind`, and of that table; neither for the whole file.
    pub(crate) kind: Option<Location>,
    pub(crate) table: Option<Location>,
}

/// Removes the innermost value that contains `loc`. A kind or a profile is removed with its table,
/// since the other keys mean nothing without it. An item of a list is removed with its list, except
/// tables and values of a sweep. `None` if there is no value.
pub(crate) fn cut(root: &mut Table, loc: &Location) -> Option<Cut> {
    // The top of a file is not a value.
    if loc.span.is_empty() {
        return None;
    }
    let mut path = find(root, loc)?;
    let is_choice = |key: Option<&String>| key.is_some_and(|key| key == "kind" || key == "profile");
    if path.len() > 1 && is_choice(path.last()) {
        path.pop();
    }
    let is_item = path.last().is_some_and(|key| key.parse::<usize>().is_ok());
    let goes_alone = path[0] == "sweep"
        || matches!(node(root, &path).map(|node| &node.value), Some(Value::Table(_)));
    if is_item && !goes_alone {
        path.pop();
    }
    remove(root, &path)
}

/// Path of the innermost value at a location.
fn find(table: &Table, at: &Location) -> Option<Vec<String>> {
    let with = |first: String, rest: Vec<String>| [vec![first], rest].concat();
    let in_item = |(number, item): (usize, &Node)| {
        let below = match &item.value {
            Value::Table(table) => find(table, at),
            _ => None,
        };
        let path = below.or_else(|| at.is_within(&item.loc).then(Vec::new))?;
        Some(with(number.to_string(), path))
    };
    table.entries().iter().find_map(|entry| {
        let below = match &entry.node.value {
            Value::Table(table) => find(table, at),
            Value::List(items) => items.iter().enumerate().find_map(in_item),
            _ => None,
        };
        let is_here = at.is_within(&entry.loc) || at.is_within(&entry.node.loc);
        let path = below.or_else(|| is_here.then(Vec::new))?;
        Some(with(entry.key.clone(), path))
    })
}

fn node<'a>(root: &'a Table, path: &[String]) -> Option<&'a Node> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(root.get(first)?, |node, key| match &node.value {
        Value::Table(table) => table.get(key),
        Value::List(items) => items.get(key.parse::<usize>().ok()?),
        _ => None,
    })
}

fn remove(root: &mut Table, path: &[String]) -> Option<Cut> {
    let loc = node(root, path)?.loc.clone();
    let (last, above) = path.split_last()?;
    let parent = node(root, above);
    let kind = parent.and_then(|parent| match &parent.value {
        Value::Table(table) => table.get("kind").map(|kind| kind.loc.clone()),
        _ => None,
    });
    let table = parent.map(|parent| parent.loc.clone());
    let mut at = &mut *root;
    let mut steps = above.iter();
    while let Some(step) = steps.next() {
        at = match &mut at.get_mut(step)?.value {
            Value::Table(table) => table,
            Value::List(items) => {
                let Some(number) = steps.next() else {
                    items.remove(last.parse::<usize>().ok()?);
                    return Some(Cut { loc, kind, table });
                };
                match &mut items.get_mut(number.parse::<usize>().ok()?)?.value {
                    Value::Table(table) => table,
                    _ => return None,
                }
            }
            _ => return None,
        };
    }
    at.remove(last)?;
    Some(Cut { loc, kind, table })
}
