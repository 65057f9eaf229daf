//! A scenario's text as a tree of keys and values with their spans.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its span.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

#[derive(Debug)]
pub(crate) enum Value {
    List(Vec<Node>),
    /// Text of the value without quotes.
    Scalar(String),
    /// Entries in the order of the text.
    Table(Vec<Entry>),
}

#[derive(Debug)]
pub(crate) struct Entry {
    /// Key with `_` for each `-`, as scenarios read it.
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) node: Node,
}

impl Node {
    /// Parses a text. Nothing if it is invalid.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let table = DeTable::parse(text).ok()?;
        Some(Self { span: table.span(), value: Value::Table(entries(table.into_inner())) })
    }

    /// The value at a path of keys and list indices.
    pub(crate) fn get(&self, path: &[impl AsRef<str>]) -> Option<&Self> {
        let mut node = self;
        for step in path {
            node = node.child(step.as_ref())?;
        }
        Some(node)
    }

    pub(crate) fn child(&self, step: &str) -> Option<&Self> {
        match &self.value {
            Value::List(items) => items.get(step.parse::<usize>().ok()?),
            Value::Scalar(_) => None,
            Value::Table(entries) => {
                let found = entries.iter().find(|entry| entry.key == normal(step));
                found.map(|entry| &entry.node)
            }
        }
    }

    /// Text of a scalar.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text) => Some(text),
            Value::List(_) | Value::Table(_) => None,
        }
    }

    /// Entries of a table.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            Value::List(_) | Value::Scalar(_) => &[],
        }
    }

    /// Items of a list.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            Value::Scalar(_) | Value::Table(_) => &[],
        }
    }
}

/// A key as scenarios read it. A key with a dot is a path and stays unchanged.
fn normal(key: &str) -> String {
    if key.contains('.') { key.to_owned() } else { key.replace('-', "_") }
}

fn entries(table: DeTable<'_>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| Entry {
            key_span: key.span(),
            key: normal(&key.into_inner()),
            node: node(value),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    entries
}

fn node(value: Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::Array(items) => Value::List(items.into_iter().map(node).collect()),
        DeValue::Boolean(yes) => Value::Scalar(yes.to_string()),
        DeValue::Datetime(date) => Value::Scalar(date.to_string()),
        DeValue::Float(number) => Value::Scalar(number.as_str().to_owned()),
        DeValue::Integer(number) => Value::Scalar(number.as_str().to_owned()),
        DeValue::String(text) => Value::Scalar(text.into_owned()),
        DeValue::Table(table) => Value::Table(entries(table)),
    };
    Node { span, value }
}
