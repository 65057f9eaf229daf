//! Keys of tables: their names, docs, defaults, and what they hold.

use std::borrow::Cow;

use tidegate_units::{Form, Ratio, Setting};

use super::Section;

/// A key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) doc: Cow<'static, str>,
    pub(crate) shape: Shape,
    /// The value as TOML if the key is left out; `None` if it then means nothing, or is needed.
    pub(crate) default: Option<String>,
}

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A setting, or this word, which means what the lab finds out itself.
    Derived(Form, &'static str),
    /// The word `none`, or a table.
    OptionalTable(Section),
    /// The name of a published set of settings.
    Profile(&'static [&'static str]),
    /// Ports, links or flows: a word, a number, a name or a list of names and numbers.
    Selection(&'static [&'static str]),
    /// A setting.
    Setting(Form),
    /// A table, or one of these words.
    Table(Section, &'static [&'static str]),
    /// Tables, as `[[name]]`.
    Tables(Section),
}

/// A setting's text as TOML.
pub(crate) fn toml_of(form: Form, text: &str) -> String {
    match form {
        Form::Bool | Form::Number(_) => text.to_owned(),
        Form::Ratio => decimal(text).unwrap_or_else(|| crate::text::document::quoted(text)),
        Form::Optional(_) if text == "none" => "\"none\"".into(),
        Form::Optional(inner) => toml_of(*inner, text),
        Form::List(_) if text.is_empty() => "[]".into(),
        Form::List(inner) => {
            let items: Vec<String> = text
                .split(',')
                .map(|item| toml_of(*inner, item.trim()))
                .collect();
            format!("[{}]", items.join(", "))
        }
        _ => crate::text::document::quoted(text),
    }
}

/// A ratio as a decimal number of at most four digits behind the point, if it is one.
fn decimal(text: &str) -> Option<String> {
    let ratio: Ratio = text.parse().ok()?;
    let scaled = u64::from(ratio.numerator()) * 10_000;
    let below = u64::from(ratio.denominator());
    if scaled % below != 0 {
        return None;
    }
    let (whole, rest) = (scaled / below / 10_000, scaled / below % 10_000);
    let digits = format!("{whole}.{rest:04}");
    Some(
        digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
    )
}

pub(super) fn table(name: &'static str, doc: &'static str, section: Section) -> Key {
    Key {
        name,
        doc: doc.into(),
        shape: Shape::Table(section, &[]),
        default: None,
    }
}

pub(super) fn optional_table(name: &'static str, doc: &'static str, section: Section) -> Key {
    Key {
        name,
        doc: doc.into(),
        shape: Shape::OptionalTable(section),
        default: Some("\"none\"".into()),
    }
}

pub(super) fn selection(
    name: &'static str,
    doc: &'static str,
    words: &'static [&'static str],
) -> Key {
    Key {
        name,
        doc: doc.into(),
        shape: Shape::Selection(words),
        default: Some("\"none\"".into()),
    }
}

pub(super) fn text(name: &'static str, doc: &'static str, form: Form, default: &str) -> Key {
    Key {
        default: Some(default.into()),
        ..needed(name, doc, form)
    }
}

pub(super) fn needed(name: &'static str, doc: &'static str, form: Form) -> Key {
    Key {
        name,
        doc: doc.into(),
        shape: Shape::Setting(form),
        default: None,
    }
}

pub(super) fn number(name: &'static str, doc: &'static str, most: u64, default: &str) -> Key {
    text(name, doc, Form::Number(most), default)
}

pub(super) fn setting<T: Setting>(name: &'static str, doc: &'static str, default: &T) -> Key {
    text(name, doc, T::FORM, &toml_of(T::FORM, &default.write()))
}

pub(super) fn profile_key(names: &'static [&'static str], default: Option<&'static str>) -> Key {
    let words = names.join("`, `");
    Key {
        name: "profile",
        doc: format!("A published set of settings, which other keys then change: `{words}`.")
            .into(),
        shape: Shape::Profile(names),
        default: default.map(crate::text::document::quoted),
    }
}
