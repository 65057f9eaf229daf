//! Keys of sections: names, docs, defaults and value shapes.
use std::borrow::Cow;

use tidegate_units::{Form, Ratio, Setting};

use super::Section;

/// A key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) doc: Cow<'static, str>,
    pub(crate) shape: Shape,
    /// Default as TOML; `None` if the key is required or has no default.
    pub(crate) default: Option<String>,
}

/// Shape of a key's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A setting, or this word, which takes the value from the topology.
    Derived(Form, &'static str),
    /// The word `none`, or a table.
    OptionalTable(Section),
    /// Name of a published set of settings.
    Profile(&'static [&'static str]),
    /// Ports, links or flows: a word, a number, a name, or a list of names and numbers.
    Selection(&'static [&'static str]),
    /// A setting.
    Setting(Form),
    /// A table, or one of these words.
    Table(Section, &'static [&'static str]),
    /// Tables, as `[[name]]`.
    Tables(Section),
}

/// Text of a setting as TOML.
pub(crate) fn toml_of(form: Form, text: &str) -> String {
    match form {
        Form::Bool | Form::Number(_) => text.to_owned(),
        Form::Ratio => decimal(text).unwrap_or_else(|| crate::text::document::quoted(text)),
        Form::Optional(_) if text == "none" => "\"none\"".into(),
        Form::Optional(inner) => toml_of(*inner, text),
        Form::List(_) if text.is_empty() => "[]".into(),
        Form::List(inner) => {
            let items: Vec<String> =
                text.split(',').map(|item| toml_of(*inner, item.trim())).collect();
            format!("[{}]", items.join(", "))
        }
        _ => crate::text::document::quoted(text),
    }
}

/// A ratio as a decimal number, if four decimals represent it exactly.
fn decimal(text: &str) -> Option<String> {
    let ratio: Ratio = text.parse().ok()?;
    let scaled = u64::from(ratio.numerator()) * 10_000;
    let below = u64::from(ratio.denominator());
    if scaled % below != 0 {
        return None;
    }
    let (whole, rest) = (scaled / below / 10_000, scaled / below % 10_000);
    let digits = format!("{whole}.{rest:04}");
    Some(digits.trim_end_matches('0').trim_end_matches('.').to_owned())
}

type Name = &'static str;
type Doc = &'static str;

fn key(name: Name, doc: Doc, shape: Shape, default: Option<&str>) -> Key {
    Key { name, doc: doc.into(), shape, default: default.map(Into::into) }
}

pub(super) fn table(name: Name, doc: Doc, section: Section) -> Key {
    key(name, doc, Shape::Table(section, &[]), None)
}

pub(super) fn tables(name: Name, doc: Doc, section: Section) -> Key {
    key(name, doc, Shape::Tables(section), None)
}

pub(super) fn optional_table(name: Name, doc: Doc, section: Section) -> Key {
    key(name, doc, Shape::OptionalTable(section), Some("\"none\""))
}

pub(super) fn selection(name: Name, doc: Doc, words: &'static [&'static str]) -> Key {
    key(name, doc, Shape::Selection(words), Some("\"none\""))
}

pub(super) fn text(name: Name, doc: Doc, form: Form, default: &str) -> Key {
    key(name, doc, Shape::Setting(form), Some(default))
}

pub(super) fn needed(name: Name, doc: Doc, form: Form) -> Key {
    key(name, doc, Shape::Setting(form), None)
}

pub(super) fn number(name: Name, doc: Doc, most: u64, default: &str) -> Key {
    text(name, doc, Form::Number(most), default)
}

pub(super) fn setting<T: Setting>(name: Name, doc: Doc, default: &T) -> Key {
    text(name, doc, T::FORM, &toml_of(T::FORM, &default.write()))
}

pub(super) fn profile_key(names: &'static [&'static str], default: Option<&'static str>) -> Key {
    let words = names.join("`, `");
    Key {
        name: "profile",
        doc: format!("Published set of settings; other keys override it: `{words}`.").into(),
        shape: Shape::Profile(names),
        default: default.map(crate::text::document::quoted),
    }
}
