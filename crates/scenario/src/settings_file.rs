//! Settings files other than scenarios, with the same located errors and advice.
//!
//! The owner of such a file declares one struct per table with
//! [`settings!`](macro@tidegate_units::settings).

use std::path::Path;
use std::sync::Arc;

use tidegate_units::{ConfigError, Field, Form, Parameters};

use crate::settings::reader::{setting_text, suggest, unreadable};
use crate::text::document::{Entry, Node, Table, Value};
use crate::text::problem::{Location, Problem, Source};

/// A table of a file that is not a scenario.
#[derive(Clone, Debug)]
pub struct SettingsTable {
    table: Table,
    loc: Location,
}

impl SettingsTable {
    /// Reads the text of a file that errors call `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        let source =
            Arc::new(Source { name: name.to_owned(), text: text.to_owned(), folder: None });
        Ok(Self { table: Table::parse(&source)?, loc: Location { source, span: 0..0 } })
    }

    /// Applies all settings of the table to `part`. The table may also contain the tables `below`,
    /// but no other keys.
    pub fn fill(&self, part: &mut dyn Parameters, below: &[&str]) -> Result<(), Problem> {
        let fields = part.fields();
        for entry in self.table.entries() {
            if below.contains(&entry.key.as_str()) {
                continue;
            }
            match fields.iter().find(|field| field.name == entry.key) {
                Some(field) => set(part, field, &entry.node)?,
                None => return Err(unknown(entry, fields, below)),
            }
        }
        Ok(())
    }

    /// Whether the file sets a key.
    pub fn names(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// Table at a key.
    pub fn table(&self, key: &str) -> Result<Option<Self>, Problem> {
        self.table.get(key).map(|node| below(key, node)).transpose()
    }

    /// List of tables at a key; empty if the key is absent.
    pub fn tables(&self, key: &str) -> Result<Vec<Self>, Problem> {
        match self.table.get(key) {
            None => Ok(Vec::new()),
            Some(Node { value: Value::List(items), .. }) => {
                items.iter().map(|node| below(key, node)).collect()
            }
            Some(node) => {
                let message = format!("`{key}` is {}, and should be a list of tables", node.noun());
                let help = format!("write each as [[{key}]]");
                Err(Problem::new(message).at(&node.loc).help(help))
            }
        }
    }

    /// A problem with the value of a key, or with the table if the key is absent.
    pub fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        let loc = self.table.get(key).map_or(&self.loc, |node| &node.loc);
        Problem::new(message).at(loc)
    }

    /// Name of the file.
    pub fn file(&self) -> &Path {
        Path::new(&self.loc.source.name)
    }
}

fn below(key: &str, node: &Node) -> Result<SettingsTable, Problem> {
    match &node.value {
        Value::Table(table) => Ok(SettingsTable { table: table.clone(), loc: node.loc.clone() }),
        _ => {
            let message = format!("`{key}` is {}, and should be a table", node.noun());
            let help = "write keys and values in braces, or below a header";
            Err(Problem::new(message).at(&node.loc).help(help))
        }
    }
}

fn set(part: &mut dyn Parameters, field: &Field, node: &Node) -> Result<(), Problem> {
    let text = setting_text(field.name, field.form, node)?;
    let Err(error) = part.set(field.name, &text) else {
        return Ok(());
    };
    let choices = match field.form {
        Form::Choice(choices) | Form::Optional(&Form::Choice(choices)) => choices,
        _ => &[],
    };
    let problem = match &error {
        ConfigError::Unreadable { .. } if !choices.is_empty() => {
            let names: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
            let advice = suggest(&text, &names);
            let message = format!("there is no {} `{text}`", field.name.replace('_', " "));
            Problem::new(message).help(advice)
        }
        ConfigError::Unreadable { field, error } => unreadable(field, &error.to_string()),
        other => Problem::new(other.to_string()),
    };
    Err(problem.at(&node.loc))
}

fn unknown(entry: &Entry, fields: &[Field], below: &[&str]) -> Problem {
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let known = [&names, below].concat();
    Problem::new(format!("unknown key `{}`", entry.key))
        .at(&entry.loc)
        .help(suggest(&entry.key, &known))
}

#[cfg(test)]
mod tests {
    use tidegate_units::{Span, choices, settings};

    use super::*;

    choices! {
        /// A colour.
        pub enum Colour {
            /// As grass.
            Green = "green",
            /// As the sky.
            Blue = "blue",
        }
    }

    settings! {
        /// Some settings.
        pub struct Sample {
            /// A time.
            pub delay: Span = Span::ZERO,
            /// A word.
            pub colour: Option<Colour> = None,
        }
    }

    fn read(text: &str) -> Result<Sample, Problem> {
        let table = SettingsTable::parse("a.toml", text)?;
        let mut sample = Sample::default();
        table.fill(&mut sample, &["more"])?;
        for below in table.tables("more")? {
            below.fill(&mut sample, &[])?;
        }
        Ok(sample)
    }

    #[test]
    fn tables_are_read_into_settings() {
        let sample = read("delay = \"3us\"\n[[more]]\ncolour = \"blue\"\n").unwrap();
        assert_eq!(sample.delay, Span::from_us(3));
        assert_eq!(sample.colour, Some(Colour::Blue));
    }

    #[test]
    fn mistakes_are_shown_with_caret_and_advice() {
        let cases = [
            ("\ndeley = \"3us\"", "unknown key `deley`", (2, 1), "did you mean `delay`?"),
            ("colour = \"bleu\"", "there is no colour `bleu`", (1, 10), "did you mean `blue`?"),
            ("colour = \"red\"", "there is no colour `red`", (1, 10), "known: blue, green"),
            ("delay = 3", "`delay`: `3` has no unit", (1, 9), "accepted: a time"),
            (
                "more = 1",
                "`more` is a number, and should be a list of tables",
                (1, 8),
                "write each",
            ),
            ("more = [1]", "`more` is a number, and should be a table", (1, 9), "write keys"),
        ];
        for (text, message, position, help) in cases {
            let problem = read(text).unwrap_err();
            assert_eq!(problem.message(), message);
            assert_eq!(problem.position(), Some(position), "{problem}");
            assert!(problem.advice().unwrap().starts_with(help), "{problem}");
        }
    }
}
