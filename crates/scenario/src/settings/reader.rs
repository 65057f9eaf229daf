//! Reads one table of a scenario: its kind, its settings, and their locations.

use std::ops::Deref;

use tidegate_units::{Catalogue, ConfigError, Field, Form, Parameters, Setting};

use crate::files::Listed;
use crate::layout::Section;
use crate::text::document::{Entry, Node, Table, Value, before, normal};
use crate::text::problem::{Location, Problem, nearest};

/// Settings and their locations.
#[derive(Clone, Debug)]
pub(crate) struct Located<T> {
    pub(crate) item: T,
    pub(crate) locs: Locations,
}

impl<T> Deref for Located<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.item
    }
}

/// Locations of a table's settings.
#[derive(Clone, Debug)]
pub(crate) struct Locations {
    section: &'static Section,
    /// Keys in addition to the section's own.
    fields: &'static [Field],
    /// The table.
    pub(crate) whole: Location,
    /// Kind and profile in effect.
    pub(crate) kind: String,
    pub(crate) profile: Option<String>,
    /// Keys in the file.
    pub(crate) named: Vec<(String, Location)>,
}

impl Locations {
    /// Whether the file sets a key.
    pub(crate) fn names(&self, key: &str) -> bool {
        self.named.iter().any(|(name, _)| name == key)
    }

    /// Names of all known keys of the table.
    fn known(&self) -> Vec<&'static str> {
        let mut names = self.section.names(&self.kind);
        names.extend(self.fields.iter().map(|field| field.name));
        names
    }

    /// Location of a key's value, otherwise of the `kind`, otherwise of the table.
    pub(crate) fn of(&self, key: &str) -> &Location {
        let named = |key: &str| self.named.iter().find(|(name, _)| name == key);
        let found = named(key).or_else(|| named("kind"));
        found.map_or(&self.whole, |(_, loc)| loc)
    }

    /// A problem with a setting of this table.
    pub(crate) fn problem(&self, error: &ConfigError) -> Problem {
        match error {
            ConfigError::OutOfRange { field, value, allowed } => {
                let last = field.rsplit('.').next().unwrap_or(field);
                let is_key = self.known().contains(&last);
                let message = match (is_key, self.names(last)) {
                    (true, false) if value == "none" => format!("`{field}` is required here"),
                    (true, false) => {
                        format!("`{field}` is {value} by default, which is out of range")
                    }
                    // A part's error may name a value of its surroundings, which is not one of its
                    // keys.
                    (false, _) if !self.kind.is_empty() => {
                        format!("`{field}` is {value}, which does not work with `{}`", self.kind)
                    }
                    _ => format!("`{field}` is {value}, which is out of range"),
                };
                Problem::new(message).at(self.of(last)).help(format!("allowed: {allowed}"))
            }
            ConfigError::Unreadable { field, error } => {
                unreadable(field, &error.to_string()).at(self.of(field))
            }
            other => Problem::new(other.to_string()).at(&self.whole),
        }
    }
}

/// A value that its setting cannot parse.
pub(crate) fn unreadable(key: &str, error: &str) -> Problem {
    // No quantity is negative.
    let is_negative = error.strip_prefix("`-").is_some_and(|rest| rest.starts_with(is_digit));
    let error = &if is_negative {
        error.replacen("cannot be read", "is negative", 1)
    } else {
        error.to_owned()
    };
    match error.split_once("; accepted: ") {
        Some((what, accepted)) => {
            Problem::new(format!("`{key}`: {what}")).help(format!("accepted: {accepted}"))
        }
        None => Problem::new(format!("`{key}`: {error}")),
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// A table that is read key by key.
pub(crate) struct Reader<'a> {
    /// Files that the table may name.
    pub(crate) files: &'a Listed<'a>,
    table: &'a Table,
    section: &'static Section,
    locs: Locations,
}

impl<'a> Reader<'a> {
    /// Reads the kind first. If the file has none, it is `default`.
    pub(crate) fn new(
        node: &'a Node,
        section: &'static Section,
        default: Option<&str>,
        files: &'a Listed<'a>,
    ) -> Result<Self, Problem> {
        Self::with_fields(node, section, default, files, &[])
    }

    /// The same for a table with additional settings.
    pub(crate) fn with_fields(
        node: &'a Node,
        section: &'static Section,
        default: Option<&str>,
        files: &'a Listed<'a>,
        fields: &'static [Field],
    ) -> Result<Self, Problem> {
        let Value::Table(table) = &node.value else {
            let message = format!("this is {}, and should be a table", node.noun());
            let help = match (section.kinds(), node.scalar()) {
                (Some(kinds), Some(word)) if kinds.contains(&word.as_str()) => {
                    format!("write it as {{ kind = \"{word}\" }}")
                }
                (Some(_), _) => "such as { kind = \"…\" }".to_owned(),
                (None, _) => "write keys and values in braces, or below a header".to_owned(),
            };
            return Err(Problem::new(message).at(&node.loc).help(help));
        };
        let loc = |entry: &Entry| (entry.key.clone(), entry.node.loc.clone());
        let mut reader = Self {
            files,
            table,
            section,
            locs: Locations {
                section,
                fields,
                whole: node.loc.clone(),
                kind: String::new(),
                profile: None,
                named: table.entries().iter().map(loc).collect(),
            },
        };
        if let Some(kinds) = section.kinds() {
            reader.locs.kind = reader.pick("kind", &kinds, default)?;
        }
        if let Some(profiles) = (section.profiles)(&reader.locs.kind)
            && table.get("profile").is_some()
        {
            reader.locs.profile = Some(reader.pick("profile", profiles.names, None)?);
        }
        reader.check_names()?;
        Ok(reader)
    }

    pub(crate) fn kind(&self) -> &str {
        &self.locs.kind
    }

    pub(crate) fn profile(&self) -> Option<&str> {
        self.locs.profile.as_deref()
    }

    pub(crate) fn locs(&self) -> &Locations {
        &self.locs
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Node> {
        self.table.get(key)
    }

    /// One of some words.
    fn pick(&self, key: &str, words: &[&str], default: Option<&str>) -> Result<String, Problem> {
        let Some(node) = self.table.get(key) else {
            return match default {
                Some(word) => Ok(word.to_owned()),
                None => Err(Problem::new(format!("the table has no `{key}`"))
                    .at(&self.locs.whole)
                    .help(format!("one of {}", words.join(", ")))),
            };
        };
        let Some(word) = node.scalar() else {
            let message = format!("`{key}` is {}, and should be a word", node.noun());
            return Err(Problem::new(message).at(&node.loc));
        };
        if words.contains(&word.as_str()) {
            return Ok(word);
        }
        let problem = Problem::new(format!("unknown {key} `{word}`")).at(&node.loc);
        Err(problem.help(suggest(&word, words)))
    }

    /// Refuses unknown keys.
    fn check_names(&self) -> Result<(), Problem> {
        let names = self.locs.known();
        let mut entries = self.table.entries().iter();
        let is_known = |entry: &Entry| names.iter().any(|name| entry.is_called(name));
        match entries.find(|entry| !is_known(entry)) {
            None => Ok(()),
            Some(entry) => Err(self.unknown(entry, &names)),
        }
    }

    fn unknown(&self, entry: &Entry, names: &[&str]) -> Problem {
        let owner = match self.locs.kind.as_str() {
            "" => String::new(),
            kind => format!(" of `{kind}`"),
        };
        let message = format!("unknown key `{}`{owner}", entry.key);
        let problem = Problem::new(message).at(&entry.loc);
        // Probably a leftover key of another kind.
        let others = self.section.kinds().unwrap_or_default();
        let knows = |kind: &&&str| self.section.names(kind).contains(&entry.key.as_str());
        match (nearest(&entry.key, names.iter().copied()), others.iter().find(knows)) {
            (None, Some(kind)) => problem.help(format!(
                "it belongs to `{kind}`; `{}` has {}",
                self.locs.kind,
                names.join(", ")
            )),
            _ => problem.help(suggest(&entry.key, names)),
        }
    }

    /// Name of a table in the file: `key`, or its old name. An absent table has the old name, so
    /// that the text of a scenario stays the same.
    pub(crate) fn spelling(&self, key: &'static str) -> &'static str {
        match self.table.entry(key) {
            Some(entry) if entry.key == key => key,
            _ => before(key).unwrap_or(key),
        }
    }

    /// Applies the settings in the file to `part`.
    pub(crate) fn fill(&self, part: &mut dyn Parameters) -> Result<(), Problem> {
        for field in part.fields() {
            if let Some(node) = self.table.get(field.name) {
                let text = setting_text(field.name, field.form, node)?;
                let set = self.set(part, field.name, &text, node);
                set.or_else(|problem| self.blame_item(part, field.name, node).and(Err(problem)))?;
            }
        }
        Ok(())
    }

    /// These settings with the file's applied.
    pub(crate) fn filled<T: Parameters>(&self, mut item: T) -> Result<T, Problem> {
        self.fill(&mut item)?;
        Ok(item)
    }

    /// The part of the table's kind with the file's settings.
    pub(crate) fn chosen<T: Catalogue>(&self) -> Result<T, Problem> {
        self.filled(T::named(self.kind()).expect("the kind is one of the names"))
    }

    /// An item read from this table.
    pub(crate) fn located<T>(&self, item: T) -> Located<T> {
        let locs = self.locs.clone();
        Located { item, locs }
    }

    /// Finds the item of a list that is invalid by itself.
    fn blame_item(
        &self,
        part: &mut dyn Parameters,
        field: &str,
        node: &Node,
    ) -> Result<(), Problem> {
        let Value::List(items) = &node.value else {
            return Ok(());
        };
        for item in items {
            self.set(part, field, &item.scalar().unwrap_or_default(), item)?;
        }
        Ok(())
    }

    /// Sets one setting to a text from `node`.
    pub(crate) fn set(
        &self,
        part: &mut dyn Parameters,
        field: &str,
        text: &str,
        node: &Node,
    ) -> Result<(), Problem> {
        part.set(field, text).map_err(|error| match error {
            ConfigError::Unreadable { field, error } => {
                unreadable(field, &error.to_string()).at(&node.loc)
            }
            other => self.locs.problem(&other),
        })
    }

    /// A setting that belongs to no part.
    pub(crate) fn value<T: Setting>(
        &self,
        key: &'static str,
        default: impl FnOnce() -> T,
    ) -> Result<T, Problem> {
        let Some(node) = self.table.get(key) else {
            return Ok(default());
        };
        let value = T::read(&setting_text(key, T::FORM, node)?);
        value.map_err(|error| unreadable(key, &error.to_string()).at(&node.loc))
    }

    /// Value of a free-text key.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, Problem> {
        match self.get(key).map(|node| (&node.value, node)) {
            None => Ok(None),
            Some((Value::Text(text), _)) => Ok(Some(text.clone())),
            Some((_, node)) => {
                let message = format!("`{key}` is {}, and should be text", node.noun());
                Err(Problem::new(message).at(&node.loc))
            }
        }
    }

    /// A table below this one; an absent table gets the location of this one.
    pub(crate) fn below(&self, key: &str) -> Node {
        self.table.get(key).cloned().unwrap_or_else(|| Node {
            value: Value::Table(Table::default()),
            loc: self.locs.whole.clone(),
        })
    }

    /// A table below this one that may be absent or `none`.
    pub(crate) fn optional(&self, key: &str) -> Option<&'a Node> {
        let node = self.table.get(key)?;
        (node.scalar().as_deref() != Some("none")).then_some(node)
    }

    /// A list of tables below this one.
    pub(crate) fn tables(&self, key: &str) -> Result<&'a [Node], Problem> {
        match self.table.get(key).map(|node| (&node.value, node)) {
            None => Ok(&[]),
            Some((Value::List(items), _)) => Ok(items),
            Some((_, node)) => {
                let message = format!("`{key}` is {}, and should be a list of tables", node.noun());
                let help = format!("write each as [[{key}]]");
                Err(Problem::new(message).at(&node.loc).help(help))
            }
        }
    }
}

/// A value as the text of a setting of this form.
pub(crate) fn setting_text(key: &str, form: Form, node: &Node) -> Result<String, Problem> {
    if let Some(text) = node.scalar() {
        return Ok(text);
    }
    let takes_list = matches!(form, Form::List(_) | Form::Text(_))
        || matches!(form, Form::Optional(Form::List(_)));
    let Value::List(items) = &node.value else {
        let message = format!("`{key}` is {}, and should be a value", node.noun());
        return Err(Problem::new(message).at(&node.loc));
    };
    if !takes_list {
        let message = format!("`{key}` is a list, and should be one value");
        return Err(Problem::new(message).at(&node.loc));
    }
    let mut texts = Vec::new();
    for item in items {
        match item.scalar() {
            Some(text) => texts.push(text),
            None => {
                let message =
                    format!("an item of `{key}` is {}, and should be a value", item.noun());
                return Err(Problem::new(message).at(&item.loc));
            }
        }
    }
    Ok(texts.join(", "))
}

/// Suggestion for an unknown `word`.
pub(crate) fn suggest(word: &str, known: &[&str]) -> String {
    match nearest(&normal(word), known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            let mut known = known.to_vec();
            known.sort_unstable();
            format!("known: {}", known.join(", "))
        }
    }
}
