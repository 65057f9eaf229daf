//! Effect of a later setting on an earlier one.

use crate::layout::Section;
use crate::text::document::{Node, Step, Table, Value, now};

/// Names in a path, the current one for a renamed table.
pub(super) fn names(path: &[Step]) -> Vec<String> {
    path.iter().map(|step| now(&step.name).to_owned()).collect()
}

/// Whether a value set at `path` is lost once a sweep sets `node` at `later`. A table with a kind
/// replaces all keys except the shared ones. So does a kind alone that differs from the kind of the
/// table at that path in `root`.
pub(super) fn undoes(later: &[Step], node: &Node, path: &[Step], root: &Table) -> bool {
    let (later, path) = (names(later), names(path));
    if path.starts_with(&later) {
        return match (&node.value, path.get(later.len())) {
            (Value::Table(table), Some(key)) => table.get(key).is_some() || !is_common(&later, key),
            _ => true,
        };
    }
    match later.split_last() {
        Some((last, table)) if last == "kind" => {
            path.starts_with(table)
                && node.scalar() != kind(root, table)
                && path.get(table.len()).is_none_or(|key| !is_common(table, key))
        }
        _ => false,
    }
}

/// Whether a key of the table at a path survives a change of kind.
fn is_common(table: &[String], key: &str) -> bool {
    let (_, common) = Section::selects(table).unwrap_or_default();
    common.contains(&key)
}

/// Kind of the table at a path, or its default kind.
fn kind(root: &Table, path: &[String]) -> Option<String> {
    let (default, _) = Section::selects(path).unwrap_or_default();
    let named = table_at(root, path).and_then(|table| table.text("kind"));
    named.or(default).map(str::to_owned)
}

fn table_at<'a>(root: &'a Table, path: &[String]) -> Option<&'a Table> {
    let Some((first, mut rest)) = path.split_first() else {
        return Some(root);
    };
    let mut node = root.get(first)?;
    loop {
        match &node.value {
            Value::Table(table) => return table_at(table, rest),
            Value::List(items) => {
                let (item, below) = rest.split_first()?;
                node = items.get(item.parse::<usize>().ok()?)?;
                rest = below;
            }
            _ => return None,
        }
    }
}
