//! A scenario as one TOML text with every default.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use super::Scenario;
use crate::sections::declare::{Table, Text};
use crate::settings::writer::{Lists, Writer};
use crate::text::document::{self, Node, Value, key, now, quoted};
use crate::text::problem::{Location, Source};

/// The text of a scenario.
pub(crate) fn scenario(scenario: &Scenario, lists: Lists) -> String {
    let mut root = scenario.base.clone();
    root.item.name = Text(Some(scenario.name.clone()));
    root.item.title = Text(Some(scenario.title.clone()));
    root.item.baseline = Text(scenario.baseline.clone());
    let mut text = String::new();
    let choices = scenario.axes.iter().flat_map(|axis| &axis.choices);
    let varied = choices.flat_map(|choice| &choice.sets).filter_map(|(path, _)| {
        let (last, table) = path.split_last()?;
        let table: Vec<&str> = table.iter().map(|step| now(&step.name)).collect();
        (now(&last.name) == "profile").then(|| table.join("."))
    });
    Table::write(&root, &mut Writer::new(&mut text, lists, &varied.collect()));
    sweep(scenario, &mut text);
    text
}

/// Whether two resolved texts mean the same: they may use the old and the current name of a table.
pub fn means_same(first: &str, second: &str) -> bool {
    let meaning = |text: &str| {
        // Sums of files are comments.
        let mut lines: Vec<String> =
            text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect();
        lines.push(document::current(&Source::new("scenario", text)).ok()?);
        Some(lines)
    };
    meaning(first).is_some_and(|first| meaning(second).is_some_and(|second| first == second))
}

fn sweep(scenario: &Scenario, text: &mut String) {
    if scenario.axes.is_empty() {
        return;
    }
    // Writing to a string does not fail.
    let _ = writeln!(text, "\n[sweep]");
    // An edited file invalidates the results of this scenario.
    for (path, swept) in &scenario.swept {
        let mut sum = DefaultHasher::new();
        swept.hash(&mut sum);
        let path = path.display().to_string();
        let _ = writeln!(
            text,
            "# {} has {} bytes with the sum {:016x}",
            quoted(&path),
            swept.len(),
            sum.finish()
        );
    }
    for axis in &scenario.axes {
        let values: Vec<String> = axis
            .values
            .iter()
            .map(|value| absolute(&axis.key, value, &scenario.files).toml())
            .collect();
        let _ = writeln!(text, "{} = [\n    {},\n]", key(&axis.key), values.join(",\n    "));
    }
}

/// The same value of `key` with absolute names of the files that were read.
pub(super) fn absolute(key: &str, node: &Node, files: &Names) -> Node {
    let value = match &node.value {
        Value::List(items) => {
            let items = items.iter().map(|item| absolute(key, item, files));
            Value::List(items.collect())
        }
        Value::Table(table) => Value::Table(table.map(|key, node| absolute(key, node, files))),
        Value::Text(text) => Value::Text(absolute_text(key, text, &node.loc, files)),
        other => other.clone(),
    };
    Node { value, loc: node.loc.clone() }
}

/// Names of files: as requested, and absolute.
pub(super) type Names = BTreeMap<PathBuf, PathBuf>;

fn absolute_text(key: &str, text: &str, loc: &Location, files: &Names) -> String {
    let Some(folder) = &loc.source.folder else {
        return text.to_owned();
    };
    let real = |name: &str| {
        let asked = folder.join(name);
        files.get(&asked).unwrap_or(&asked).display().to_string()
    };
    let of_list = key.rsplit('.').next() == Some("file");
    match text.strip_prefix("file:") {
        Some(name) => format!("file:{}", real(name.trim())),
        None if of_list => real(text),
        None => text.to_owned(),
    }
}
