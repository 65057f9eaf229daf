//! Parts known by name: schemes, schedulers, buffers, congestion controls, topologies, workload
//! sources.
//!
//! A part's settings carry its name, a one-line summary and the address of its page: they are
//! [`Named`]. [`catalogue!`](crate::catalogue!) makes one type of any number of parts. All code
//! that lists, explains, reads or writes parts goes through that type, so that a part is added in
//! one place.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{ConfigError, Field, Settings};

/// Description of a part, shown wherever parts are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// One-line summary that can follow the name.
    pub summary: &'static str,
    /// The part's page below `docs`. Each `#` adds a heading of the page, or a term that a
    /// paragraph begins with, below which the part is described. Without any `#` the whole page is
    /// about it.
    pub page: &'static str,
    /// The parts that this one is composed of, as files name them.
    pub pieces: &'static [Piece],
    /// Scenario lines that the part needs beside its own, if it cannot stand alone; examples
    /// include them.
    pub needs: &'static str,
}

/// A component of a composed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Key in files.
    pub key: &'static str,
    /// Purpose of the component.
    pub doc: &'static str,
    /// Value used in examples, or `None` if the component is optional.
    pub example: Option<&'static str>,
}

impl About {
    /// Describes a part without components.
    pub const fn new(name: &'static str, summary: &'static str, page: &'static str) -> Self {
        Self { name, summary, page, pieces: &[], needs: "" }
    }

    /// Sets the components.
    #[must_use]
    pub const fn made_of(self, pieces: &'static [Piece]) -> Self {
        Self { pieces, ..self }
    }

    /// Sets the scenario lines that the part needs beside its own.
    #[must_use]
    pub const fn needs(self, needs: &'static str) -> Self {
        Self { needs, ..self }
    }
}

/// Settings of a part known by name.
pub trait Named: Settings {
    /// Description of the part.
    const ABOUT: About;
}

/// Parameters of any part, set and read by name.
pub trait Parameters {
    /// The fields that can be set.
    fn fields(&self) -> &'static [Field];

    /// Sets one field from text.
    fn set(&mut self, field: &str, text: &str) -> Result<(), ConfigError>;

    /// The text form of one field, or `None` if there is no such field.
    fn value(&self, field: &str) -> Option<String>;
}

impl<S: Settings> Parameters for S {
    fn fields(&self) -> &'static [Field] {
        S::FIELDS
    }

    fn set(&mut self, field: &str, text: &str) -> Result<(), ConfigError> {
        Settings::set(self, field, text)
    }

    fn value(&self, field: &str) -> Option<String> {
        Settings::value(self, field)
    }
}

/// One entry of a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Description of the part.
    pub about: About,
    /// The fields that can be set.
    pub fields: &'static [Field],
}

/// Parameters of any part of one sort.
pub trait Catalogue: Parameters + Sized {
    /// All parts in order of name, composed ones included.
    fn entries() -> Vec<Entry>;

    /// Default parameters of the part called `name`; `None` if there is no such part, or if it is
    /// composed of parts that must be named.
    fn named(name: &str) -> Option<Self>;

    /// Name of the part.
    fn name(&self) -> &'static str;
}

/// Sorts entries by name. Of several with the same name, the first stays.
#[doc(hidden)]
#[must_use]
pub fn sorted(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by_key(|entry| entry.about.name);
    entries.dedup_by_key(|entry| entry.about.name);
    entries
}

/// Settings of a part without parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoSettings;

impl Settings for NoSettings {
    const FIELDS: &'static [Field] = &[];

    fn set(&mut self, field: &str, _: &str) -> Result<(), ConfigError> {
        Err(ConfigError::UnknownField { field: field.into(), known: Self::FIELDS })
    }

    fn value(&self, _: &str) -> Option<String> {
        None
    }
}

/// Declares an enum that holds the parameters of any part of one sort, from a list of all parts.
///
/// The brackets list the composed parts, which have no defaults. Each has its payload, its
/// description, and the expression that finds its own settings in the payload. `else` accepts
/// further names for parts of the list.
///
/// ```
/// use tidegate_units::{About, Catalogue, NoSettings, Span, catalogue, settings};
///
/// settings! {
///     /// Parameters of waiting.
///     #[named("wait", "waits for some time", "acts.md#wait")]
///     pub struct Wait {
///         /// Length of the wait.
///         pub time: Span = Span::from_us(10),
///     }
/// }
///
/// const BOTH: About = About::new("both", "does two things", "acts.md#both");
///
/// catalogue! {
///     /// Something to do.
///     pub enum Act {
///         [
///             /// Two things.
///             Both(Box<(Self, Self)>): BOTH, |_pair| NoSettings;
///         ]
///         Wait(Wait),
///     }
/// }
///
/// assert_eq!(Act::NAMES, ["wait"]);
/// let mut act = Act::named("wait").unwrap();
/// act.set("time", "5us").unwrap();
/// assert_eq!(act.value("time").unwrap(), "5us");
/// let names: Vec<_> = Act::entries().iter().map(|entry| entry.about.name).collect();
/// assert_eq!(names, ["both", "wait"]);
/// ```
#[macro_export]
macro_rules! catalogue {
    (
        $(#[$doc:meta])*
        pub enum $any:ident {
            [$(
                $(#[$composite_doc:meta])*
                $composite:ident($payload:ty): $about:expr, |$parts:ident| $own:expr;
            )*]
            $($variant:ident($parameters:ty),)*
        }
        $(else |$other:ident| $more:expr;)?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $any {
            $($(#[$composite_doc])* $composite($payload),)*
            $(
                #[doc = concat!("`", stringify!($parameters), "`")]
                $variant($parameters),
            )*
        }

        impl $any {
            /// Names of all parts that have default parameters.
            pub const NAMES: &'static [&'static str] =
                &[$(<$parameters as $crate::Named>::ABOUT.name),*];

            /// Default parameters of the part called `name`, or `None` if there is no such part.
            pub fn named(name: &str) -> Option<Self> {
                $(if name == <$parameters as $crate::Named>::ABOUT.name {
                    return Some(Self::$variant(<$parameters>::default()));
                })*
                $(if let Some(found) = { let $other = name; $more } {
                    return Some(found);
                })?
                None
            }

            /// Name of the part.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$composite(_) => $about.name,)*
                    $(Self::$variant(_) => <$parameters as $crate::Named>::ABOUT.name,)*
                }
            }

            /// The fields that can be set.
            pub fn fields(&self) -> &'static [$crate::Field] {
                match self {
                    $(Self::$composite($parts) => $crate::Parameters::fields(&$own),)*
                    $(Self::$variant(_) => <$parameters as $crate::Settings>::FIELDS,)*
                }
            }

            /// Sets one field from text.
            pub fn set(&mut self, field: &str, text: &str) -> Result<(), $crate::ConfigError> {
                match self {
                    $(Self::$composite($parts) => $crate::Settings::set(&mut $own, field, text),)*
                    $(Self::$variant(config) => $crate::Settings::set(config, field, text),)*
                }
            }

            /// The text form of one field, or `None` if there is no such field.
            pub fn value(&self, field: &str) -> Option<$crate::__private::String> {
                match self {
                    $(Self::$composite($parts) => $crate::Settings::value(&$own, field),)*
                    $(Self::$variant(config) => $crate::Settings::value(config, field),)*
                }
            }
        }

        impl $crate::Parameters for $any {
            fn fields(&self) -> &'static [$crate::Field] {
                self.fields()
            }

            fn set(&mut self, field: &str, text: &str) -> Result<(), $crate::ConfigError> {
                self.set(field, text)
            }

            fn value(&self, field: &str) -> Option<$crate::__private::String> {
                self.value(field)
            }
        }

        impl $crate::Catalogue for $any {
            fn entries() -> $crate::__private::Vec<$crate::Entry> {
                $crate::__private::sorted($crate::__private::Vec::from([
                    $($crate::Entry {
                        about: <$parameters as $crate::Named>::ABOUT,
                        fields: <$parameters as $crate::Settings>::FIELDS,
                    },)*
                    $($crate::Entry { about: $about, fields: &[] },)*
                ]))
            }

            fn named(name: &str) -> Option<Self> {
                Self::named(name)
            }

            fn name(&self) -> &'static str {
                self.name()
            }
        }
    };
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macros declare public items")]
mod tests {
    use alloc::boxed::Box;
    use alloc::string::ToString;

    use super::*;
    use crate::{Span, settings};

    settings! {
        /// A leaf.
        #[named("wait", "waits", "acts.md#wait")]
        pub struct Wait {
            /// Length of the wait.
            pub time: Span = Span::from_us(10),
        }
    }

    settings! {
        /// A leaf that others can be put under.
        pub struct Guard {
            /// Strictness.
            pub level: u8 = 1,
        }
    }

    impl Named for Guard {
        const ABOUT: About = About::new("guard", "guards", "acts.md#guard").made_of(&[Piece {
            key: "below",
            doc: "The guarded act.",
            example: None,
        }]);
    }

    const PAIR: About = About::new("pair", "does both", "acts.md#pair");

    catalogue! {
        /// Any of them.
        pub enum Act {
            [
                /// Two at once.
                Pair(Box<(Self, Self)>): PAIR, |_pair| NoSettings;
                /// A guard over another.
                Over(Box<(Guard, Self)>): Guard::ABOUT, |pair| pair.0;
            ]
            Guard(Guard),
            Wait(Wait),
        }
        else |name| name.strip_prefix("my-").and_then(Self::named);
    }

    #[test]
    fn entries_are_sorted_and_each_name_is_there_once() {
        let entries = Act::entries();
        let names: Vec<&str> = entries.iter().map(|entry| entry.about.name).collect();
        assert_eq!(names, ["guard", "pair", "wait"]);
        let fields: Vec<usize> = entries.iter().map(|entry| entry.fields.len()).collect();
        assert_eq!(fields, [1, 0, 1]);
        assert_eq!(entries[0].about.pieces[0].key, "below");
        assert_eq!(Act::NAMES, ["guard", "wait"]);
    }

    #[test]
    fn parts_are_made_set_and_read_by_name() {
        let mut wait = Act::named("my-wait").unwrap();
        wait.set("time", "5us").unwrap();
        assert_eq!((wait.name(), wait.value("time").unwrap().as_str()), ("wait", "5us"));
        assert_eq!(Act::named("pair"), None, "it has no defaults");
        assert_eq!(Act::named("sleep"), None);
        let mut over = Act::Over(Box::new((Guard::default(), wait.clone())));
        over.set("level", "3").unwrap();
        assert_eq!((over.name(), over.value("level").unwrap().as_str()), ("guard", "3"));
        let mut pair = Act::Pair(Box::new((over, wait)));
        assert_eq!((pair.name(), pair.fields().len(), pair.value("level")), ("pair", 0, None));
        let error = pair.set("level", "3").unwrap_err().to_string();
        assert!(error.starts_with("there is no setting `level`"), "{error}");
    }

    #[test]
    fn any_settings_are_parameters() {
        let mut all: [Box<dyn Parameters>; 2] =
            [Box::new(Wait::default()), Box::new(Act::named("wait").unwrap())];
        for part in &mut all {
            part.set("time", "7us").unwrap();
            assert_eq!(part.fields()[0].name, "time");
            assert_eq!(part.value("time").as_deref(), Some("7us"));
        }
    }
}
