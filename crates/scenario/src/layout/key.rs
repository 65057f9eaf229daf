//! Keys of sections: names, docs, defaults and value shapes.

use std::borrow::Cow;

use tidegate_units::{Field, Form, Ratio, Setting};

use super::{Profiles, Section};
use crate::text::document::quoted;

/// Word for the rate of the host links.
pub(crate) const HOSTS: &str = "hosts";

/// Word for the oversubscription of the leaves.
pub(crate) const FABRIC: &str = "fabric";

/// A key of a section.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) doc: Cow<'static, str>,
    pub(crate) shape: Shape,
    /// Default as TOML; `None` if the key is required or has no default.
    pub(crate) default: Option<String>,
    /// Default kind of the table, if it differs from the section's.
    pub(crate) kind: Option<&'static str>,
}

/// Shape of a key's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A setting, or this word, which takes the value from the topology.
    Derived(Form, &'static str),
    /// The word `none`, or a table.
    OptionalTable(&'static Section),
    /// The name of a published set of settings.
    Profile(&'static [&'static str]),
    /// Ports, links or flows: a word, a number, a name, or a list of names and numbers.
    Selection(&'static [&'static str]),
    /// A setting.
    Setting(Form),
    /// A table, or one of these words.
    Table(&'static Section, &'static [&'static str]),
    /// Tables, as `[[name]]`.
    Tables(&'static Section),
}

impl Shape {
    /// Section of the table or tables.
    pub(crate) const fn section(self) -> Option<&'static Section> {
        match self {
            Self::OptionalTable(section) | Self::Table(section, _) | Self::Tables(section) => {
                Some(section)
            }
            _ => None,
        }
    }
}

impl Key {
    /// A key whose doc is a doc comment.
    pub(crate) fn new(name: &'static str, doc: &'static str, shape: Shape) -> Self {
        Self { name, doc: tidy(doc).into(), shape, default: None, kind: None }
    }

    /// The same with a default, as TOML.
    pub(crate) fn or(self, default: impl Into<String>) -> Self {
        Self { default: Some(default.into()), ..self }
    }

    /// A setting, with its default.
    pub(crate) fn setting<T: Setting>(
        name: &'static str,
        doc: &'static str,
        default: Option<&T>,
    ) -> Self {
        let default = default.map(|value| toml_of(T::FORM, &value.write()));
        Self { default, ..Self::new(name, doc, Shape::Setting(T::FORM)) }
    }

    /// A field of a part with its default.
    pub(super) fn field(field: &Field, default: Option<String>) -> Self {
        let default = default.map(|text| toml_of(field.form, &text));
        Self { default, ..Self::new(field.name, field.doc, Shape::Setting(field.form)) }
    }

    /// The key `profile`.
    pub(super) fn profile(profiles: Profiles) -> Self {
        let words = profiles.names.join("`, `");
        let doc = format!("Published set of settings; other keys override it: `{words}`.");
        Self {
            name: "profile",
            doc: doc.into(),
            shape: Shape::Profile(profiles.names),
            default: profiles.default.map(quoted),
            kind: None,
        }
    }
}

/// A doc comment as running text.
pub(crate) fn tidy(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text of a setting as TOML.
pub(crate) fn toml_of(form: Form, text: &str) -> String {
    match form {
        Form::Bool | Form::Number(_) => text.to_owned(),
        Form::Ratio => decimal(text).unwrap_or_else(|| quoted(text)),
        Form::Optional(_) if text == "none" => "\"none\"".into(),
        Form::Optional(inner) => toml_of(*inner, text),
        Form::List(_) if text.is_empty() => "[]".into(),
        Form::List(inner) => {
            let items: Vec<String> =
                text.split(',').map(|item| toml_of(*inner, item.trim())).collect();
            format!("[{}]", items.join(", "))
        }
        _ => quoted(text),
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
