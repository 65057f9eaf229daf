//! A fragment as a JSON patch of a running configuration: the smallest change with the effect,
//! which never reduces protection unless allowed.

mod choose;
mod protection;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use self::protection::{larger, reductions};
use super::config_db::{OF_QUEUES, Place, lane, places, ports_of, text};

/// A patch and its effects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Operations as a JSON file.
    pub text: String,
    /// Rows added, changed and removed, a line for each table.
    pub summary: Vec<String>,
    /// Values that stay because the plan's would protect less.
    pub kept: Vec<String>,
    /// Protection of the switch that the patch would reduce.
    pub reductions: Vec<String>,
}

/// Patches a running configuration with a fragment: adds missing rows and changes different values.
/// Without a configuration, adds every row, for a switch that has each table. Larger protection
/// stays unless `allow_reduction`; `unmarked` are the queues that the plan leaves unmarked.
pub fn patch(
    fragment: &str,
    current: Option<&Value>,
    unmarked: &BTreeSet<Place>,
    allow_reduction: bool,
) -> Patch {
    let tables: Map<String, Value> =
        serde_json::from_str(fragment).expect("the fragment was written here");
    let before = current.cloned().unwrap_or_else(|| json!({}));
    let mut draft = Draft {
        operations: Vec::new(),
        after: before.clone(),
        kept: BTreeMap::new(),
        allow_reduction,
    };
    if current.is_none() {
        for (table, rows) in &tables {
            draft.after[table] = json!({});
            for (row, value) in rows.as_object().expect("a table has rows") {
                draft.set(&[table, row], value);
            }
        }
    } else {
        let mut tables = tables;
        let later = choose::marks(&mut tables, &before, &mut draft);
        let raised = choose::headroom(&mut tables, &before, &mut draft);
        choose::priority_maps(&mut tables, &before);
        choose::cables(&mut tables, &before);
        choose::references(&mut tables, &before);
        for (table, rows) in &tables {
            let rows = rows.as_object().expect("a table has rows");
            match table.as_str() {
                table if OF_QUEUES.contains(&table) => draft.places(table, rows, |key| {
                    places(key).map(|(port, number)| format!("{port}|{number}")).collect()
                }),
                "PORT_QOS_MAP" => {
                    draft.places(table, rows, |key| ports_of(key).map(str::to_owned).collect());
                }
                table => draft.rows(table, rows),
            }
        }
        if allow_reduction {
            draft.unmark(unmarked);
        }
        for (path, value) in later.iter().chain(&raised) {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            draft.set(&path, value);
        }
    }
    let text = serde_json::to_string_pretty(&draft.operations);
    Patch {
        text: text.expect("texts and maps can always be written") + "\n",
        summary: summary(&draft.operations),
        reductions: reductions(&before, &draft.after),
        kept: with_rows(draft.kept),
    }
}

/// Whether a row has all these fields.
fn has(row: &Value, fields: &Value) -> bool {
    let mut fields = fields.as_object().into_iter().flatten();
    fields.all(|(field, value)| row.get(field) == Some(value))
}

/// An unfinished patch, with the configuration that it leads to.
struct Draft {
    operations: Vec<Value>,
    after: Value,
    /// Rows by the value that stays in them.
    kept: BTreeMap<String, Vec<String>>,
    allow_reduction: bool,
}

impl Draft {
    /// Sets a value; its parent exists.
    fn set(&mut self, path: &[&str], value: &Value) {
        let (name, parents) = path.split_last().expect("a path has parts");
        let parent = parents.iter().fold(&mut self.after, |at, part| &mut at[*part]);
        let there = parent.get(name).filter(|there| !there.is_null());
        if there == Some(value) {
            return;
        }
        let op = if there.is_some() { "replace" } else { "add" };
        parent[*name] = value.clone();
        self.operations.push(json!({ "op": op, "path": pointer(path), "value": value }));
    }

    fn remove(&mut self, path: &[&str]) {
        let (name, parents) = path.split_last().expect("a path has parts");
        let parent = parents.iter().fold(&mut self.after, |at, part| &mut at[*part]);
        if parent.as_object_mut().and_then(|parent| parent.remove(*name)).is_some() {
            self.operations.push(json!({ "op": "remove", "path": pointer(path) }));
        }
    }

    /// Notes a value that stays, with its row.
    fn keep(&mut self, differs: bool, what: String, row: &str) {
        let rows = self.kept.entry(what).or_default();
        if differs && rows.last().is_none_or(|last| last != row) {
            rows.push(row.to_owned());
        }
    }

    /// Adds a missing table as a whole: a switch has no empty ones. Returns whether it did.
    fn add_table(&mut self, table: &str, rows: &Map<String, Value>) -> bool {
        if rows.is_empty() || self.after[table].is_object() {
            return false;
        }
        self.set(&[table], &Value::Object(rows.clone()));
        true
    }

    /// Sets rows to the fragment's values; other fields stay.
    fn rows(&mut self, table: &str, rows: &Map<String, Value>) {
        if self.add_table(table, rows) {
            return;
        }
        for (row, fields) in rows {
            if !self.after[table][row].is_object() {
                self.set(&[table, row], fields);
                continue;
            }
            let there = self.after[table][row].clone();
            for (field, value) in self.differing(table, row, &there, fields.as_object()) {
                self.set(&[table, row, &field], &value);
            }
            if table == "BUFFER_PROFILE" && fields.get("dynamic_th").is_some() {
                self.remove(&[table, row, "static_th"]);
            }
        }
    }

    /// Sets rows whose keys may name several ports and queues, which `split` separates. A row is
    /// split only if its queues need different values: no two rows may name the same queue.
    fn places(
        &mut self,
        table: &str,
        rows: &Map<String, Value>,
        split: impl Fn(&str) -> Vec<String>,
    ) {
        if self.add_table(table, rows) {
            return;
        }
        let mut wanted: BTreeMap<&str, &Value> =
            rows.iter().map(|(key, fields)| (key.as_str(), fields)).collect();
        let there = self.after[table].as_object().cloned().unwrap_or_default();
        for (key, row) in &there {
            let of_row = split(key);
            let mut wants: Vec<Map<String, Value>> = Vec::new();
            for place in &of_row {
                let fields = wanted.remove(place.as_str()).and_then(Value::as_object);
                wants.push(self.differing(table, place, row, fields));
            }
            let Some(first) = wants.iter().find(|fields| !fields.is_empty()) else {
                continue;
            };
            if wants.iter().all(|fields| fields == first) {
                for (field, value) in first {
                    self.set(&[table, key, field], value);
                }
                continue;
            }
            self.remove(&[table, key]);
            for (place, fields) in of_row.iter().zip(&wants) {
                let mut row = row.clone();
                for (field, value) in fields {
                    row[field] = value.clone();
                }
                self.set(&[table, place], &row);
            }
        }
        for (place, fields) in wanted {
            self.set(&[table, place], fields);
        }
    }

    /// The fields of a row that change, with their new values: a larger protection stays.
    fn differing(
        &mut self,
        table: &str,
        place: &str,
        row: &Value,
        fields: Option<&Map<String, Value>>,
    ) -> Map<String, Value> {
        let mut differing = Map::new();
        for (field, value) in fields.into_iter().flatten() {
            let value = match (text(row, field), value.as_str()) {
                (Some(there), Some(wanted)) if !self.allow_reduction => {
                    let kept = larger(table, field, there, wanted);
                    let what = format!("{field} of {table} stays {there}; the plan has {wanted}");
                    self.keep(kept == there && kept != wanted, what, place);
                    kept.into()
                }
                _ => value.clone(),
            };
            if row.get(field) != Some(&value) {
                differing.insert(field.clone(), value);
            }
        }
        differing
    }

    /// Removes the marking profile from queues that the plan leaves unmarked.
    fn unmark(&mut self, unmarked: &BTreeSet<Place>) {
        let there = self.after["QUEUE"].as_object().cloned().unwrap_or_default();
        for (key, row) in &there {
            let of_row: Vec<Place> = places(key).collect();
            let is_marked = row.get("wred_profile").is_some();
            if !is_marked || !of_row.iter().any(|place| unmarked.contains(place)) {
                continue;
            }
            if of_row.iter().all(|place| unmarked.contains(place)) {
                self.remove(&["QUEUE", key, "wred_profile"]);
                continue;
            }
            self.remove(&["QUEUE", key]);
            for place in &of_row {
                let mut row = row.clone();
                if unmarked.contains(place) {
                    row.as_object_mut().map(|row| row.remove("wred_profile"));
                }
                self.set(&["QUEUE", &format!("{}|{}", place.0, place.1)], &row);
            }
        }
    }
}

/// Rows that a patch adds, changes and removes, a line for each table.
fn summary(operations: &[Value]) -> Vec<String> {
    let mut tables: BTreeMap<String, [BTreeSet<String>; 3]> = BTreeMap::new();
    for operation in operations {
        let path = text(operation, "path").unwrap_or_default();
        let mut parts = path.split('/').skip(1);
        let table = parts.next().unwrap_or_default().to_owned();
        let Some(row) = parts.next() else {
            continue;
        };
        let kind = match (text(operation, "op"), parts.next()) {
            (_, Some(_)) | (Some("replace"), None) => 1,
            (Some("remove"), None) => 2,
            _ => 0,
        };
        tables.entry(table).or_default()[kind].insert(row.to_owned());
    }
    let line = |(table, [added, changed, removed]): (String, [BTreeSet<String>; 3])| {
        let counts = [(added, "adds"), (changed, "changes"), (removed, "removes")];
        let counts = counts.iter().filter(|(rows, _)| !rows.is_empty());
        let counts: Vec<String> = counts
            .map(|(rows, verb)| match rows.len() {
                1 => format!("{verb} 1 row"),
                count => format!("{verb} {count} rows"),
            })
            .collect();
        format!("{table}: {}", counts.join(", "))
    };
    tables.into_iter().map(line).collect()
}

/// Each text with its rows or ports, in the order of port numbers.
fn with_rows(texts: BTreeMap<String, Vec<String>>) -> Vec<String> {
    let line = |(text, mut rows): (String, Vec<String>)| {
        rows.sort_by_key(|row| lane(row));
        match rows.as_slice() {
            [] => None,
            [row] if row.is_empty() => Some(text),
            [row] => Some(format!("{text} ({row})")),
            [first, .., last] => Some(format!("{text} ({} rows: {first} to {last})", rows.len())),
        }
    };
    texts.into_iter().filter_map(line).collect()
}

/// A JSON pointer (RFC 6901).
fn pointer(place: &[&str]) -> String {
    let part = |part: &&str| format!("/{}", part.replace('~', "~0").replace('/', "~1"));
    place.iter().map(part).collect()
}
