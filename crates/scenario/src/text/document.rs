//! A scenario as a tree of keys and values with their locations.
//!
//! Numbers stay text: `0.6` becomes an exact ratio, never a binary fraction.

use std::fmt::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::depth::{DEEPEST, too_deep};
use super::problem::{Location, Problem, Source};

/// A value and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) loc: Location,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Bool(bool),
    List(Vec<Node>),
    /// As written, in decimal.
    Number(String),
    Table(Table),
    Text(String),
}

/// Keys in the order of their file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// With `_` for each `-`: both are the same in a key.
    pub(crate) key: String,
    pub(crate) loc: Location,
    pub(crate) node: Node,
}

impl Entry {
    /// Whether `key` names this entry. A table also has its old name.
    pub(crate) fn is_called(&self, key: &str) -> bool {
        let is_table = || matches!(self.node.value, Value::Table(_));
        self.key == key || (now(&self.key) == now(key) && is_table())
    }
}

/// A renamed table: the old name, which files may still use, and the current one. A table with both
/// is refused.
const RENAMED: (&str, &str) = ("rule", "cc");

/// Current name of a table.
pub(crate) fn now(key: &str) -> &str {
    if key == RENAMED.0 { RENAMED.1 } else { key }
}

/// A table is given under both names.
pub(crate) fn both_given(first: &str, second: &str) -> Problem {
    let (old, new) = RENAMED;
    Problem::new(format!("`{first}` and `{second}` are both given"))
        .help(format!("`{old}` is the old name of `{new}`: keep `{new}`"))
}

/// Old name of a renamed table.
pub(crate) fn before(key: &str) -> Option<&'static str> {
    (key == RENAMED.1).then_some(RENAMED.0)
}

/// How a table with a kind overrides another table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlay {
    /// Keeps keys if the kind stays the same: a file over its includes.
    Merge,
    /// Drops the settings of the old kind: a sweep value or an override replaces all of them.
    Replace,
}

impl Table {
    /// Reads a file.
    pub(crate) fn parse(source: &Arc<Source>) -> Result<Self, Problem> {
        refuse_depth(source, &source.text, 0)?;
        match DeTable::parse(&source.text) {
            Ok(table) => Converter { source, shift: 0 }.table(table.into_inner()),
            Err(error) => Err(syntax(source, &error, 0)),
        }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// Entry of a key, under the key's old name too.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.is_called(key))
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let entry = self.entries.iter_mut().find(|entry| entry.is_called(key))?;
        Some(&mut entry.node)
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }

    /// The same keys with changed values.
    pub(crate) fn map(&self, change: impl Fn(&str, &Node) -> Node) -> Self {
        let changed =
            |entry: &Entry| Entry { node: change(&entry.key, &entry.node), ..entry.clone() };
        Self { entries: self.entries.iter().map(changed).collect() }
    }

    /// Value of `key`, if it is text.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn put(&mut self, key: &str, loc: &Location, node: Node) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => self.entries.push(Entry { key: key.to_owned(), loc: loc.clone(), node }),
        }
    }

    /// Merges `entry` into this table, which is at `path`.
    pub(crate) fn lay(
        &mut self,
        path: &mut Vec<String>,
        entry: &Entry,
        overlay: Overlay,
        selects: &Selects<'_>,
    ) {
        if entry.key == "kind" {
            let (default, common) = selects(path).unwrap_or_default();
            let new = entry.node.scalar();
            if new.as_deref() != self.text("kind").or(default) {
                self.entries.retain(|old| common.contains(&old.key.as_str()));
            }
        }
        let Value::Table(new) = &entry.node.value else {
            return self.put(&entry.key, &entry.loc, entry.node.clone());
        };
        let Some(Value::Table(_)) = self.get(&entry.key).map(|node| &node.value) else {
            return self.put(&entry.key, &entry.loc, entry.node.clone());
        };
        let old = self.get_mut(&entry.key).expect("it was found just now");
        let Value::Table(old) = &mut old.value else {
            return;
        };
        path.push(entry.key.clone());
        if overlay == Overlay::Replace && (new.entries.is_empty() || new.get("kind").is_some()) {
            let (_, common) = selects(path).unwrap_or_default();
            old.entries.retain(|old| common.contains(&old.key.as_str()));
        }
        // The kind first, since it clears the keys of other kinds.
        let kind = |entry: &&Entry| entry.key == "kind";
        let rest = new.entries.iter().filter(|entry| !kind(entry));
        for entry in new.entries.iter().filter(kind).chain(rest) {
            old.lay(path, entry, overlay, selects);
        }
        path.pop();
    }

    /// Sets the value at a path such as `traffic.0.load`.
    pub(crate) fn assign(
        &mut self,
        path: &[Step],
        node: &Node,
        selects: &Selects<'_>,
    ) -> Result<(), Problem> {
        self.assign_below(&mut Vec::new(), path, node, selects)
    }

    fn assign_below(
        &mut self,
        above: &mut Vec<String>,
        path: &[Step],
        node: &Node,
        selects: &Selects<'_>,
    ) -> Result<(), Problem> {
        let Some((step, rest)) = path.split_first() else {
            return Ok(());
        };
        let Some(next) = rest.first() else {
            let entry = Entry { key: step.name.clone(), loc: step.loc.clone(), node: node.clone() };
            self.lay(above, &entry, Overlay::Replace, selects);
            return Ok(());
        };
        let is_table = |node: &Node| matches!(node.value, Value::Table(_) | Value::List(_));
        above.push(step.name.clone());
        // A word may replace a table: `none`, or a packet size convention.
        let may_be_table = selects(above).is_some();
        above.pop();
        match self.get(&step.name) {
            Some(found) if is_table(found) => {}
            Some(_) if !may_be_table => {
                let message = format!("`{}` is a value and has no keys", step.name);
                return Err(Problem::new(message).at(&next.loc));
            }
            _ => {
                let empty = Node { value: Value::Table(Self::default()), loc: step.loc.clone() };
                self.put(&step.name, &step.loc, empty);
            }
        }
        let found = self.get_mut(&step.name).expect("it is a table by now");
        above.push(step.name.clone());
        let result = match &mut found.value {
            Value::Table(table) => table.assign_below(above, rest, node, selects),
            Value::List(items) => {
                let count = items.len();
                let item = next.name.parse::<usize>().ok();
                match item.and_then(|item| items.get_mut(item)) {
                    None => {
                        let known = match count {
                            0 => "it is empty".to_owned(),
                            1 => "it has one entry, `0`".to_owned(),
                            _ => format!("it has entries `0` to `{}`", count - 1),
                        };
                        let message = format!("`{}` is no entry of `{}`", next.name, step.name);
                        Err(Problem::new(message).at(&next.loc).help(known))
                    }
                    Some(item) => match (&mut item.value, rest.len()) {
                        (_, 1) => {
                            *item = node.clone();
                            Ok(())
                        }
                        (Value::Table(table), _) => {
                            above.push(next.name.clone());
                            let result = table.assign_below(above, &rest[1..], node, selects);
                            above.pop();
                            result
                        }
                        _ => {
                            let message = format!("`{}` is a value and has no keys", next.name);
                            Err(Problem::new(message).at(&rest[1].loc))
                        }
                    },
                }
            }
            _ => Ok(()),
        };
        above.pop();
        result
    }
}

/// For the table at a path: its default kind, and the keys shared by all kinds; `None` if there can
/// be no table.
pub(crate) type Selects<'a> =
    dyn Fn(&[String]) -> Option<(Option<&'static str>, &'static [&'static str])> + 'a;

/// One part of a path, and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) loc: Location,
}

/// Splits a path such as `traffic.0.load` or `sweep."traffic.0.load"` into its steps. `span` is its
/// range in the source.
pub(crate) fn steps(
    path: &str,
    source: &Arc<Source>,
    span: Range<usize>,
) -> Result<Vec<Step>, Problem> {
    let exact = source.text.get(span.clone()) == Some(path);
    let loc = |part: Range<usize>| Location {
        source: Arc::clone(source),
        span: if exact { span.start + part.start..span.start + part.end } else { span.clone() },
    };
    let mut steps = Vec::new();
    let mut begin = 0;
    while begin <= path.len() {
        if steps.len() == DEEPEST {
            let message = format!("a key has more than {DEEPEST} words");
            return Err(Problem::new(message).at(&loc(0..path.len())));
        }
        let rest = &path[begin..];
        let trimmed = rest.trim_start();
        let lead = rest.len() - trimmed.len();
        let (name, length) = match trimmed.strip_prefix('"') {
            Some(quoted) => match quoted.find('"') {
                Some(end) => (&quoted[..end], end + 2),
                None => (quoted, trimmed.len()),
            },
            None => {
                let end = trimmed.find('.').unwrap_or(trimmed.len());
                (trimmed[..end].trim_end(), end)
            }
        };
        let at = begin + lead..begin + lead + length;
        let after = &path[at.end..];
        let bad_end = !after.trim_start().is_empty() && !after.trim_start().starts_with('.');
        if name.is_empty() || bad_end {
            let message = format!("`{path}` is not a key: words joined by dots");
            return Err(Problem::new(message).at(&loc(0..path.len())));
        }
        let plain = name.trim();
        steps.push(Step {
            name: if plain.contains('.') { plain.to_owned() } else { normal(plain) },
            loc: loc(at.clone()),
        });
        begin = match after.find('.') {
            Some(dot) => at.end + dot + 1,
            None => break,
        };
    }
    Ok(steps)
}

/// Parses an override such as `switch.marking.threshold=60us` into path and value. File names in it
/// are relative to `folder`, the folder of the scenario.
pub(crate) fn read_override(
    text: &str,
    folder: Option<&PathBuf>,
) -> Result<(Vec<Step>, Node), Problem> {
    let source = Arc::new(Source {
        name: "--set".to_owned(),
        text: text.to_owned(),
        folder: folder.cloned(),
    });
    let Some((path, value)) = text.split_once('=') else {
        return Err(Problem::new("an override needs a key, `=` and a value")
            .at(&Location::whole(&source))
            .help("such as switch.marking.threshold=60us"));
    };
    // A quoted key may contain anything except a quote; no known key contains `=`.
    let steps = steps(path, &source, 0..path.len())?;
    let shift = path.len() + 1;
    refuse_depth(&source, value, shift)?;
    let node = match DeValue::parse(value.trim()) {
        Ok(parsed) => {
            let shift = shift + (value.len() - value.trim_start().len());
            Converter { source: &source, shift }.node(parsed)?
        }
        // A bare word such as 60us; broken TOML if it starts like another value.
        Err(error) if value.trim_start().starts_with(['{', '[', '"', '\'']) => {
            return Err(syntax(&source, &error, shift));
        }
        Err(_) => Node {
            value: Value::Text(value.trim().to_owned()),
            loc: Location { source: Arc::clone(&source), span: shift..text.len() },
        },
    };
    Ok((steps, node))
}

fn syntax(source: &Arc<Source>, error: &toml::de::Error, shift: usize) -> Problem {
    let span = error.span().unwrap_or(0..0);
    let loc = Location { source: Arc::clone(source), span: span.start + shift..span.end + shift };
    let said = error.message().trim().replace('\n', ", ");
    Problem::new(format!("not TOML: {said}")).at(&loc)
}

/// Refuses a text nested too deeply for the stack. It begins at `shift` in its source.
fn refuse_depth(source: &Arc<Source>, text: &str, shift: usize) -> Result<(), Problem> {
    let Some(at) = too_deep(text) else {
        return Ok(());
    };
    let loc = Location { source: Arc::clone(source), span: shift + at..shift + at + 1 };
    let message = format!("tables and lists are nested more than {DEEPEST} deep");
    Err(Problem::new(message).at(&loc))
}

/// `-` and `_` are the same in a key.
pub(crate) fn normal(key: &str) -> String {
    key.replace('-', "_")
}

/// Converts the output of the TOML parser to nodes.
struct Converter<'a> {
    source: &'a Arc<Source>,
    /// Offset of the parsed text in its source.
    shift: usize,
}

impl Converter<'_> {
    fn loc(&self, span: Range<usize>) -> Location {
        Location {
            source: Arc::clone(self.source),
            span: span.start + self.shift..span.end + self.shift,
        }
    }

    fn table(&self, table: DeTable<'_>) -> Result<Table, Problem> {
        let mut entries = Vec::new();
        for (key, value) in table {
            let loc = self.loc(key.span());
            let written = key.into_inner();
            let key = if written.contains('.') { written.into_owned() } else { normal(&written) };
            entries.push(Entry { key, loc, node: self.node(value)? });
        }
        // The parser sorts keys, but sweeps vary in the order of the file.
        entries.sort_by_key(|entry: &Entry| entry.loc.span.start);
        for (at, entry) in entries.iter().enumerate() {
            let Some(first) = entries[..at].iter().find(|first| first.is_called(&entry.key)) else {
                continue;
            };
            if first.key != entry.key {
                return Err(both_given(&first.key, &entry.key).at(&entry.loc));
            }
            let message = format!("`{}` is given twice", entry.key);
            return Err(Problem::new(message)
                .at(&entry.loc)
                .help("`-` and `_` are the same in a key"));
        }
        Ok(Table { entries })
    }

    fn node(&self, value: Spanned<DeValue<'_>>) -> Result<Node, Problem> {
        let loc = self.loc(value.span());
        let value = match value.into_inner() {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Boolean(yes) => Value::Bool(yes),
            DeValue::Float(number) => Value::Number(number.as_str().trim_start_matches('+').into()),
            DeValue::Integer(number) => Value::Number(match number.radix() {
                10 => number.as_str().trim_start_matches('+').into(),
                radix => match u128::from_str_radix(number.as_str(), radix) {
                    Ok(number) => number.to_string(),
                    Err(_) => return Err(Problem::new("the number is too large").at(&loc)),
                },
            }),
            DeValue::Array(items) => {
                let items = items.into_iter().map(|item| self.node(item));
                Value::List(items.collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => Value::Table(self.table(table)?),
            DeValue::Datetime(_) => {
                let help = "times are lengths from the start of the run, such as \"10ms\"";
                return Err(Problem::new("no setting is a date").at(&loc).help(help));
            }
        };
        Ok(Node { value, loc })
    }
}

impl Node {
    /// The value as text of a setting, unless it is a list or a table.
    pub(crate) fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Bool(yes) => Some(yes.to_string()),
            Value::Number(text) | Value::Text(text) => Some(text.clone()),
            Value::List(_) | Value::Table(_) => None,
        }
    }

    /// Type of the value, in words.
    pub(crate) const fn noun(&self) -> &'static str {
        match &self.value {
            Value::Bool(_) => "true or false",
            Value::List(_) => "a list",
            Value::Number(_) => "a number",
            Value::Table(_) => "a table",
            Value::Text(_) => "text",
        }
    }

    /// The same with the current names of renamed tables, also in dotted keys.
    fn current(&self) -> Self {
        let value = match &self.value {
            Value::List(items) => Value::List(items.iter().map(Self::current).collect()),
            Value::Table(table) => {
                let entry = |entry: &Entry| {
                    let key = entry.key.split('.').map(now).collect::<Vec<_>>().join(".");
                    Entry { key, loc: entry.loc.clone(), node: entry.node.current() }
                };
                Value::Table(Table { entries: table.entries.iter().map(entry).collect() })
            }
            other => other.clone(),
        };
        Self { value, loc: self.loc.clone() }
    }

    /// The value as TOML on one line.
    pub(crate) fn toml(&self) -> String {
        match &self.value {
            Value::Bool(yes) => yes.to_string(),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(Self::toml).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Number(text) => text.clone(),
            Value::Table(table) if table.entries.is_empty() => "{}".into(),
            Value::Table(table) => {
                let entry = |entry: &Entry| format!("{} = {}", key(&entry.key), entry.node.toml());
                let entries: Vec<String> = table.entries.iter().map(entry).collect();
                format!("{{ {} }}", entries.join(", "))
            }
            Value::Text(text) => quoted(text),
        }
    }
}

/// A text as TOML on one line, with the current names of renamed tables.
pub(crate) fn current(source: &Arc<Source>) -> Result<String, Problem> {
    let loc = Location { source: Arc::clone(source), span: 0..0 };
    let node = Node { value: Value::Table(Table::parse(source)?), loc };
    Ok(node.current().toml())
}

/// A key as TOML.
pub(crate) fn key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { quoted(key) }
}

/// A text as a TOML string on one line.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Folder of a location's file, if it is on disk.
pub(crate) fn folder(loc: &Location) -> Option<&PathBuf> {
    loc.source.folder.as_ref()
}
