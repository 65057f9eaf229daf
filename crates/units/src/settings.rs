//! Settings: a struct of parameters, declared once with defaults and their sources.
//!
//! [`settings!`](macro@crate::settings) turns the declaration into the struct, its `Default`, and a
//! table of fields that can be listed, set and read by name. Scenario files, command-line
//! overrides, golden vectors and the reference pages all use that table, so that no list of
//! parameters is written twice.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};
use core::num::IntErrorKind;
use core::str::FromStr;

use crate::{Bytes, ParseError, Rate, Ratio, Size, Span};

/// A value that a setting can hold, with a text form.
pub trait Setting: Sized {
    /// Form of the text.
    const FORM: Form;

    /// Reads the value from its text form.
    fn read(text: &str) -> Result<Self, ParseError>;
    /// The text form, which [`read`](Self::read) reads back as the same value.
    fn write(&self) -> String;
}

/// Form of a setting's text, precise enough for an editor's schema or a reference page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `true` or `false`.
    Bool,
    /// An amount of data, such as `300KB`.
    Bytes,
    /// One of a list of words.
    Choice(&'static [Choice]),
    /// Several values, such as one for each queue.
    List(&'static Self),
    /// A whole number from zero to this maximum.
    Number(u64),
    /// The word `none`, or a value.
    Optional(&'static Self),
    /// A speed, such as `10Gbps`.
    Rate,
    /// A number, a fraction or a percentage, such as `0.25`, `1/8` or `10%`.
    Ratio,
    /// An amount of data, or a number of packets such as `65pkts`.
    Size,
    /// A length of time, such as `78us`.
    Span,
    /// Any other text, described by these words.
    Text(&'static str),
}

/// One word of a setting that is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word.
    pub name: &'static str,
    /// Meaning of the word.
    pub doc: &'static str,
}

/// One field of a settings struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in files and on the command line, words joined by `_`.
    pub name: &'static str,
    /// Meaning of the field and the source of its default.
    pub doc: &'static str,
    /// Form of the field's text.
    pub form: Form,
    /// Whether the field is a length or a time above which a scheme marks.
    pub is_threshold: bool,
}

impl Field {
    /// Describes a field that is no threshold.
    pub const fn new(name: &'static str, doc: &'static str, form: Form) -> Self {
        Self { name, doc, form, is_threshold: false }
    }

    /// Makes the field a threshold: `#[is(threshold)]` in [`settings!`](crate::settings!).
    #[must_use]
    pub const fn threshold(self) -> Self {
        Self { is_threshold: true, ..self }
    }
}

/// A struct of named settings with defaults.
pub trait Settings: Default {
    /// All fields, in order of declaration.
    const FIELDS: &'static [Field];

    /// Sets one field from text. `-` and `_` in the name are the same.
    fn set(&mut self, field: &str, text: &str) -> Result<(), ConfigError>;

    /// The text form of one field, or `None` if there is no such field.
    fn value(&self, field: &str) -> Option<String>;
}

/// Error: a configuration that cannot be used. Names the field, its value and the accepted values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The value is of the right kind but outside the accepted range.
    OutOfRange {
        /// The field's name.
        field: &'static str,
        /// The value in text form.
        value: String,
        /// The allowed range, in words or numbers.
        allowed: String,
    },
    /// There is no field of this name.
    UnknownField {
        /// The name that was given.
        field: String,
        /// The fields that exist.
        known: &'static [Field],
    },
    /// The value is not of the field's kind.
    Unreadable {
        /// The field's name.
        field: &'static str,
        /// The problem with the text.
        error: ParseError,
    },
}

impl ConfigError {
    /// `value` of `field` is outside `allowed`.
    #[expect(clippy::needless_pass_by_value, reason = "call sites read better without borrows")]
    pub fn out_of_range(field: &'static str, value: impl ToString, allowed: impl ToString) -> Self {
        Self::OutOfRange { field, value: value.to_string(), allowed: allowed.to_string() }
    }
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { field, value, allowed } => {
                write!(f, "{field} = {value} is out of range; allowed: {allowed}")
            }
            Self::UnknownField { field, known } => {
                write!(f, "there is no setting `{field}`; known: ")?;
                for (i, field) in known.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { ", " }, field.name)?;
                }
                Ok(())
            }
            Self::Unreadable { field, error } => write!(f, "{field}: {error}"),
        }
    }
}

impl core::error::Error for ConfigError {}

macro_rules! setting_by_text {
    ($($kind:ident),*) => {$(
        impl Setting for $kind {
            const FORM: Form = Form::$kind;

            fn read(text: &str) -> Result<Self, ParseError> {
                text.parse()
            }

            fn write(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

setting_by_text!(Bytes, Rate, Ratio, Size, Span);

macro_rules! setting_by_number {
    ($($kind:ty: $most:literal),*) => {$(
        impl Setting for $kind {
            const FORM: Form = Form::Number(Self::MAX as u64);

            fn read(text: &str) -> Result<Self, ParseError> {
                let accepted = concat!("a whole number from 0 to ", $most);
                Self::from_str(text.trim()).map_err(|error| match error.kind() {
                    IntErrorKind::PosOverflow => ParseError::too_large(text, accepted),
                    _ => ParseError::unreadable(text, accepted),
                })
            }

            fn write(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

setting_by_number!(u8: 255, u16: 65535, u32: 4294967295, u64: 18446744073709551615);

impl Setting for bool {
    const FORM: Form = Form::Bool;

    fn read(text: &str) -> Result<Self, ParseError> {
        match text.trim() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(ParseError::not_a_choice(text, "true or false")),
        }
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

/// Any text, unchanged.
impl Setting for String {
    const FORM: Form = Form::Text("");

    fn read(text: &str) -> Result<Self, ParseError> {
        Ok(text.to_string())
    }

    fn write(&self) -> String {
        self.clone()
    }
}

/// A list, one value per queue or port: `1500, 3000`. The empty text is the empty list.
impl<T: Setting> Setting for Vec<T> {
    const FORM: Form = Form::List(&T::FORM);

    fn read(text: &str) -> Result<Self, ParseError> {
        if text.trim().is_empty() {
            return Ok(Self::new());
        }
        text.split(',').map(|item| T::read(item.trim())).collect()
    }

    fn write(&self) -> String {
        let items: Vec<String> = self.iter().map(Setting::write).collect();
        items.join(", ")
    }
}

/// An optional value: the word `none` means that it is absent.
impl<T: Setting> Setting for Option<T> {
    const FORM: Form = Form::Optional(&T::FORM);

    fn read(text: &str) -> Result<Self, ParseError> {
        if text.trim() == "none" { Ok(None) } else { T::read(text).map(Some) }
    }

    fn write(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_string(), Setting::write)
    }
}

/// Declares a settings struct: documented fields, each with its default. `#[named]` adds the
/// [description](crate::About) of a part: name, summary, page, and the scenario lines that it needs
/// if it cannot stand alone. `#[is(threshold)]` marks a field as a length or a time above which a
/// scheme marks.
///
/// ```
/// use tidegate_units::{Named, Settings, Span, settings};
///
/// settings! {
///     /// Parameters of a scheme.
///     #[named("tcn", "marks packets that waited longer than a threshold", "schemes/tcn.md")]
///     pub struct Config {
///         /// Mark strictly above this sojourn time.
///         #[is(threshold)]
///         pub threshold: Span = Span::from_us(78),
///     }
/// }
///
/// let mut config = Config::default();
/// config.set("threshold", "100.8us").unwrap();
/// assert_eq!(config.threshold, Span::from_ns(100_800));
/// assert_eq!(Config::FIELDS[0].name, "threshold");
/// assert!(Config::FIELDS[0].is_threshold);
/// assert_eq!(Config::ABOUT.name, "tcn");
/// ```
#[macro_export]
macro_rules! settings {
    (
        $(#[doc = $struct_doc:literal])*
        $(#[named($part:literal, $summary:literal, $page:literal $(, $needs:literal)?)])?
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[is($role:ident)])?
                pub $field:ident: $kind:ty = $default:expr,
            )*
        }
    ) => {
        $(#[doc = $struct_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        $(impl $crate::Named for $name {
            const ABOUT: $crate::About = $crate::About::new($part, $summary, $page)$(.needs($needs))?;
        })?

        impl $crate::Settings for $name {
            const FIELDS: &'static [$crate::Field] = &[
                $($crate::Field::new(
                    stringify!($field),
                    concat!($($doc),*),
                    <$kind as $crate::Setting>::FORM,
                )$(.$role())?,)*
            ];

            fn set(&mut self, field: &str, text: &str) -> Result<(), $crate::ConfigError> {
                let known = |name: &str| {
                    name.len() == field.len()
                        && name.bytes().zip(field.bytes())
                            .all(|(a, b)| a == b || (a == b'_' && b == b'-'))
                };
                $(if known(stringify!($field)) {
                    self.$field = $crate::Setting::read(text).map_err(|error| {
                        $crate::ConfigError::Unreadable { field: stringify!($field), error }
                    })?;
                    return Ok(());
                })*
                Err($crate::ConfigError::UnknownField {
                    field: $crate::__private::ToString::to_string(field),
                    known: Self::FIELDS,
                })
            }

            fn value(&self, field: &str) -> Option<$crate::__private::String> {
                $(if field == stringify!($field) {
                    return Some($crate::Setting::write(&self.$field));
                })*
                None
            }
        }
    };
}

/// Declares an enum of named choices: a published variant with the word that selects it.
///
/// ```
/// use tidegate_units::{Setting, choices};
///
/// choices! {
///     /// How a length is compared with a threshold.
///     pub enum Compare {
///         /// Strictly above.
///         Above = "above",
///         /// At the threshold too.
///         AtLeast = "at-least",
///     }
/// }
///
/// assert_eq!(Compare::read("at-least"), Ok(Compare::AtLeast));
/// assert_eq!(Compare::NAMES, ["above", "at-least"]);
/// ```
#[macro_export]
macro_rules! choices {
    (
        $(#[$enum_doc:meta])*
        pub enum $name:ident {
            $($(#[doc = $doc:literal])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $doc])* $variant,)*
        }

        impl $name {
            /// The words that select the variants, in order of declaration.
            pub const NAMES: &'static [&'static str] = &[$($word),*];
        }

        impl $crate::Setting for $name {
            const FORM: $crate::Form = $crate::Form::Choice(&[
                $($crate::Choice { name: $word, doc: concat!($($doc),*) },)*
            ]);

            fn read(text: &str) -> Result<Self, $crate::ParseError> {
                match text.trim() {
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::ParseError::not_a_choice(
                        text,
                        concat!("" $(, $word, "; ")*).trim_end_matches("; "),
                    )),
                }
            }

            fn write(&self) -> $crate::__private::String {
                $crate::__private::ToString::to_string(match self {
                    $(Self::$variant => $word,)*
                })
            }
        }
    };
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macros declare public items")]
mod tests {
    use alloc::vec;

    use super::*;

    choices! {
        /// A choice.
        pub enum Side {
            /// In.
            Enqueue = "enqueue",
            /// Out.
            Dequeue = "dequeue",
        }
    }

    settings! {
        /// Some settings.
        pub struct Sample {
            /// First line,
            /// second line.
            pub min_threshold: Size = Size::Packets(65),
            /// A list.
            pub quanta: Vec<u32> = vec![1500],
            /// A choice.
            pub side: Side = Side::Enqueue,
            /// Left out.
            pub limit: Option<Bytes> = None,
            /// A switch.
            pub gentle: bool = false,
        }
    }

    #[test]
    fn every_field_can_be_set_and_read_by_name() {
        let mut sample = Sample::default();
        let values = [
            ("min_threshold", "300KB"),
            ("quanta", "1500, 3000"),
            ("side", "dequeue"),
            ("limit", "1MiB"),
            ("gentle", "true"),
        ];
        for (field, text) in values {
            sample.set(field, text).unwrap();
            assert_eq!(sample.value(field).as_deref(), Some(text));
        }
        assert_eq!(sample.quanta, [1500, 3000]);
        assert_eq!(sample.side, Side::Dequeue);
        sample.set("limit", "none").unwrap();
        assert_eq!(sample.limit, None);
        sample.set("min-threshold", "1pkt").unwrap();
        assert_eq!(sample.min_threshold, Size::Packets(1));
        sample.set("quanta", "").unwrap();
        assert!(sample.quanta.is_empty());
        assert_eq!(sample.value("min-threshold"), None);
        assert_eq!(Side::NAMES, ["enqueue", "dequeue"]);
        assert_eq!(Sample::FIELDS[0].doc, " First line, second line.");
    }

    #[test]
    fn every_field_has_the_form_of_its_text() {
        let forms: Vec<Form> = Sample::FIELDS.iter().map(|field| field.form).collect();
        let choice = |name, doc| Choice { name, doc };
        let sides = [choice("enqueue", " In."), choice("dequeue", " Out.")];
        assert_eq!(forms[0], Form::Size);
        assert_eq!(forms[1], Form::List(&Form::Number(4_294_967_295)));
        assert!(matches!(forms[2], Form::Choice(found) if *found == sides));
        assert_eq!(forms[3], Form::Optional(&Form::Bytes));
        assert_eq!(forms[4], Form::Bool);
    }

    #[test]
    fn errors_name_the_true_largest_number() {
        fn largest<T: Setting>(most: u64) {
            let accepts = alloc::format!("from 0 to {most}");
            assert!(T::read(&most.to_string()).is_ok());
            let above = u128::from(most) + 1;
            let error = T::read(&above.to_string()).err().unwrap().to_string();
            assert!(error.contains("is too large") && error.ends_with(&accepts), "{error}");
        }
        largest::<u8>(u8::MAX.into());
        largest::<u16>(u16::MAX.into());
        largest::<u32>(u32::MAX.into());
        largest::<u64>(u64::MAX);
    }

    #[test]
    fn errors_name_the_field_the_value_and_the_accepted_values() {
        let mut sample = Sample::default();
        let mut error = |field, text| sample.set(field, text).unwrap_err().to_string();
        assert_eq!(
            error("threshold", "1B"),
            "there is no setting `threshold`; \
             known: min_threshold, quanta, side, limit, gentle"
        );
        assert_eq!(
            error("side", "both"),
            "side: `both` is not one of the choices; accepted: enqueue; dequeue"
        );
        assert_eq!(
            error("quanta", "1500,1500B"),
            "quanta: `1500B` cannot be read; accepted: a whole number from 0 to 4294967295"
        );
        assert_eq!(
            error("quanta", "4294967296"),
            "quanta: `4294967296` is too large; accepted: a whole number from 0 to 4294967295"
        );
        assert!(error("gentle", "yes").contains("true or false"));
        assert!(error("limit", "12").starts_with("limit: `12` has no unit"));
        assert_eq!(
            ConfigError::out_of_range("alpha", 0, "above 0").to_string(),
            "alpha = 0 is out of range; allowed: above 0"
        );
    }
}
