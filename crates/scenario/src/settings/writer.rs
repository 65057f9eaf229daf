//! Writes tables of a scenario as TOML.

use std::collections::BTreeSet;
use std::fmt::Write;

use tidegate_units::{Field, Parameters, Setting};

use super::reader::Locations;
use crate::layout::toml_of;
use crate::text::document::{key, now, quoted};

/// How to write flows that come from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lists {
    /// All of them.
    Whole,
    /// By the name of their file.
    Named,
}

/// Writes the lines of one table.
pub(crate) struct Writer<'a> {
    pub(crate) text: &'a mut String,
    pub(crate) lists: Lists,
    /// Paths of tables whose profile a sweep varies.
    varied: &'a BTreeSet<String>,
    /// Path of the table in headers.
    path: String,
    /// Path of the table in sweeps, which number the tables of a list.
    swept: String,
}

impl<'a> Writer<'a> {
    /// Writes the top of a file.
    pub(crate) fn new(text: &'a mut String, lists: Lists, varied: &'a BTreeSet<String>) -> Self {
        Self { text, lists, varied, path: String::new(), swept: String::new() }
    }

    /// The table at a key, below its header.
    pub(crate) fn below(&mut self, key: &str) -> Writer<'_> {
        let (path, swept) = (join(&self.path, key), join(&self.swept, key));
        let _ = writeln!(self.text, "\n[{path}]");
        Writer { text: self.text, lists: self.lists, varied: self.varied, path, swept }
    }

    /// A table of the list at a key, below its header.
    pub(crate) fn item(&mut self, key: &str, number: usize) -> Writer<'_> {
        let path = join(&self.path, key);
        let swept = join(&self.swept, &format!("{key}.{number}"));
        let _ = writeln!(self.text, "\n[[{path}]]");
        Writer { text: self.text, lists: self.lists, varied: self.varied, path, swept }
    }

    /// The values of a table at a key, in braces.
    pub(crate) fn inline(&mut self, key: &str, write: impl FnOnce(&mut Self)) {
        let begin = self.text.len();
        write(self);
        let lines = self.text.split_off(begin);
        let lines: Vec<&str> = lines.lines().collect();
        self.line(key, &format!("{{ {} }}", lines.join(", ")));
    }

    pub(crate) fn line(&mut self, name: &str, value: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{} = {value}", key(name));
    }

    pub(crate) fn setting<T: Setting>(&mut self, name: &str, value: &T) {
        self.line(name, &toml_of(T::FORM, &value.write()));
    }

    pub(crate) fn kind(&mut self, locs: &Locations) {
        self.line("kind", &quoted(&locs.kind));
    }

    /// Settings of a part whose fields are `wanted`.
    pub(crate) fn part(&mut self, part: &dyn Parameters, wanted: impl Fn(&Field) -> bool) {
        for field in part.fields().iter().filter(|field| wanted(field)) {
            if let Some(text) = part.value(field.name) {
                self.line(field.name, &toml_of(field.form, &text));
            }
        }
    }

    /// Names as one text or a list.
    pub(crate) fn names(&mut self, name: &str, names: &[&str]) {
        let value = match names {
            [] => "\"none\"".to_owned(),
            [word] => quoted(word),
            names => {
                let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
                format!("[{}]", names.join(", "))
            }
        };
        self.line(name, &value);
    }

    /// Settings of a part that may have a profile.
    pub(crate) fn profiled(&mut self, part: &dyn Parameters, locs: &Locations, default: &str) {
        let varies = self.varies_profile();
        // Beside all settings a profile changes nothing, but documents their source.
        self.line("profile", &quoted(locs.profile.as_deref().unwrap_or(default)));
        self.part(part, |field| !varies || locs.names(field.name));
    }

    /// Whether a sweep varies the profile of the table: the profile then determines the settings
    /// that the file omits.
    pub(crate) fn varies_profile(&self) -> bool {
        let path: Vec<&str> = self.swept.split('.').map(now).collect();
        self.varied.contains(&path.join("."))
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
