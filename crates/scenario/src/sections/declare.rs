//! Declaration of sections: [`section!`] makes one struct of a section's keys, and with it the
//! reader, the writer and the layout.

use tidegate_units::Setting;

use crate::files::Listed;
use crate::layout::Shape;
pub(crate) use crate::layout::{Key, Section};
pub(crate) use crate::settings::reader::{Located, Reader};
pub(crate) use crate::settings::writer::Writer;
use crate::text::document::{Node, Value};
use crate::text::problem::Location;
pub(crate) use crate::text::problem::Problem;

/// Contents of a table.
pub(crate) trait Table: Sized {
    const SECTION: &'static Section;

    /// Names of the declared keys.
    const KEYS: &'static [&'static str] = &[];

    /// Whether the table is written as `{ … }`.
    const INLINE: bool = false;

    /// Reads the table.
    fn read(reader: &Reader<'_>) -> Result<Self, Problem>;

    /// Writes all values.
    fn lines(&self, _out: &mut Writer<'_>) {}

    /// Writes all tables.
    fn tables(&self, _out: &mut Writer<'_>) {}

    /// Writes the table below its header.
    fn write(item: &Located<Self>, out: &mut Writer<'_>) {
        item.lines(out);
        item.tables(out);
    }
}

/// Names of keys, and their doc comments.
type Name = &'static str;

/// Value of a key.
pub(crate) trait Item: Sized {
    /// Type of a default in a declaration.
    type Default;

    fn key(name: Name, doc: Name, default: Option<Self::Default>) -> Key;

    fn load(
        reader: &Reader<'_>,
        key: Name,
        default: Option<Self::Default>,
    ) -> Result<Self, Problem>;

    /// Writes the key's line, unless it is a table.
    fn line(&self, _key: &str, _out: &mut Writer<'_>) {}

    /// Writes the key's table or tables.
    fn table(&self, _key: &str, _out: &mut Writer<'_>) {}
}

/// Declares a section: its heading, its description, and its keys with doc, type and default.
/// `key(file)` also declares the module of that file, with the section of the key.
///
/// `settings` adds the fields of a library's settings as keys, `checked by` names a function that
/// refuses combinations of values, and `written by` one that writes the table in another order than
/// values first, then tables. `catalogue` and `settings` declare the section of a library's type.
macro_rules! section {
    (
        $title:literal,
        $(#[doc = $doc:literal])+
        pub(crate) struct $name:ident {
            $($(#[doc = $key_doc:literal])+ $key:ident $(($file:ident))?: $kind:ty $(= $default:expr)?,)*
            $(settings $part:ident: $settings:ty,)?
        }
        $(checked by $check:path)?
        $(; const $const:ident)?
        $(; written by $write:path)?
    ) => {
        $($(pub(crate) mod $file;)?)*

        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        pub(crate) struct $name {
            $($(#[doc = $key_doc])+ pub(crate) $key: $kind,)*
            $(pub(crate) $part: $settings,)?
        }

        const _: () = {
            use $crate::sections::declare::*;

            impl $name {
                pub(crate) fn keys() -> Vec<Key> {
                    vec![$(<$kind as Item>::key(
                        stringify!($key),
                        concat!($($key_doc),+),
                        None $(.or(Some($default)))?,
                    )),*]
                }
            }

            impl Table for $name {
                const SECTION: &'static Section = &Section {
                    title: $title,
                    doc: concat!($($doc),+),
                    own_keys: |_| $name::keys(),
                    $(part: |_, _| Some(Box::new(<$settings>::default())),)?
                    ..Section::PLAIN
                };

                const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];
                $(const $const: bool = true;)?

                fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
                    let item = Self {
                        $($key: {
                            let default = None $(.or(Some($default)))?;
                            <$kind as Item>::load(reader, stringify!($key), default)?
                        },)*
                        $($part: reader.filled(<$settings>::default())?,)?
                    };
                    $($check(&item, reader)?;)?
                    Ok(item)
                }

                fn lines(&self, out: &mut Writer<'_>) {
                    $(self.$key.line(stringify!($key), out);)*
                    $(out.part(&self.$part, |_| true);)?
                }

                fn tables(&self, out: &mut Writer<'_>) {
                    $(self.$key.table(stringify!($key), out);)*
                }

                $(fn write(item: &Located<Self>, out: &mut Writer<'_>) {
                    $write(item, out);
                })?
            }
        };
    };
    (
        $title:literal,
        $(#[doc = $doc:literal])+
        catalogue $config:ty $(= $kind:literal)? $(, $field:ident: $value:expr)*
    ) => {
        const _: () = {
            use $crate::sections::declare::*;

            impl Table for $config {
                const SECTION: &'static Section = &Section {
                    title: $title,
                    doc: concat!($($doc),+),
                    $($field: $value,)*
                    ..Section::catalogue::<$config>(section!(@kind $($kind)?))
                };

                fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
                    reader.chosen()
                }

                fn write(item: &Located<Self>, out: &mut Writer<'_>) {
                    out.kind(&item.locs);
                    out.part(&item.item, |_| true);
                }
            }
        };
    };
    ($title:literal, $(#[doc = $doc:literal])+ settings $settings:ty) => {
        const _: () = {
            use $crate::sections::declare::*;

            impl Table for $settings {
                const SECTION: &'static Section = &Section {
                    title: $title,
                    doc: concat!($($doc),+),
                    part: |_, _| Some(Box::new(<$settings>::default())),
                    ..Section::PLAIN
                };

                fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
                    reader.filled(<$settings>::default())
                }

                fn lines(&self, out: &mut Writer<'_>) {
                    out.part(self, |_| true);
                }
            }
        };
    };
    (@kind) => { None };
    (@kind $kind:literal) => { Some($kind) };
}
pub(crate) use section;

impl<T: Setting> Item for T {
    type Default = T;

    fn key(name: Name, doc: Name, default: Option<T>) -> Key {
        Key::setting(name, doc, default.as_ref())
    }

    fn load(reader: &Reader<'_>, key: Name, default: Option<T>) -> Result<Self, Problem> {
        reader.value(key, || default.expect("a setting is declared with its default"))
    }

    fn line(&self, key: &str, out: &mut Writer<'_>) {
        out.setting(key, self);
    }
}

/// A setting that is written only if it is set; `none` by default.
#[derive(Clone, Debug)]
pub(crate) struct Rare<T>(pub(crate) Option<T>);

impl<T: Setting> Item for Rare<T> {
    type Default = Option<T>;

    fn key(name: Name, doc: Name, default: Option<Option<T>>) -> Key {
        <Option<T> as Item>::key(name, doc, default.or(Some(None)))
    }

    fn load(reader: &Reader<'_>, key: Name, _: Option<Option<T>>) -> Result<Self, Problem> {
        reader.value(key, || None).map(Self)
    }

    fn line(&self, key: &str, out: &mut Writer<'_>) {
        if let Some(value) = &self.0 {
            out.setting(key, value);
        }
    }
}

/// Free text that may be absent.
#[derive(Clone, Debug)]
pub(crate) struct Text(pub(crate) Option<String>);

impl Item for Text {
    type Default = ();

    fn key(name: Name, doc: Name, _: Option<()>) -> Key {
        Key::setting::<String>(name, doc, None)
    }

    fn load(reader: &Reader<'_>, key: Name, _: Option<()>) -> Result<Self, Problem> {
        reader.text(key).map(Self)
    }

    fn line(&self, key: &str, out: &mut Writer<'_>) {
        if let Some(text) = &self.0 {
            out.setting(key, text);
        }
    }
}

/// Words, names and numbers of ports, links or flows, each with its location.
pub(crate) type Selection = Vec<(String, Location)>;

/// A selection, from these words or by name and number.
#[derive(Clone, Debug)]
pub(crate) struct Selected<const FLOWS: bool>(pub(crate) Selection);

/// Ports or links: `all`, `none`, `switches`, names and numbers.
pub(crate) type Ports = Selected<false>;

/// Flows: `all`, `none` and numbers.
pub(crate) type Flows = Selected<true>;

impl<const FLOWS: bool> Item for Selected<FLOWS> {
    type Default = ();

    fn key(name: Name, doc: Name, _: Option<()>) -> Key {
        let words: &[&str] = if FLOWS { &["all", "none"] } else { &["all", "none", "switches"] };
        Key::new(name, doc, Shape::Selection(words)).or("\"none\"")
    }

    fn load(reader: &Reader<'_>, key: Name, _: Option<()>) -> Result<Self, Problem> {
        selection(reader, key).map(Self)
    }

    fn line(&self, key: &str, out: &mut Writer<'_>) {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        out.names(key, &names);
    }
}

fn selection(reader: &Reader<'_>, key: &str) -> Result<Selection, Problem> {
    let Some(node) = reader.get(key) else {
        return Ok(Vec::new());
    };
    let items = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut found = Vec::new();
    for item in items {
        let Some(text) = item.scalar() else {
            let message = format!("an item of `{key}` is {}, and should be a name", item.noun());
            return Err(Problem::new(message).at(&item.loc));
        };
        for part in text.split(',') {
            found.push((part.trim().to_owned(), item.loc.clone()));
        }
    }
    Ok(found)
}

impl<T: Table> Located<T> {
    /// Reads a table. Without a kind it is of `kind`, or else of the section's default.
    pub(crate) fn of(node: &Node, kind: Option<&str>, files: &Listed<'_>) -> Result<Self, Problem> {
        let kind = kind.or(T::SECTION.default_kind);
        let reader = Reader::new(node, T::SECTION, kind, files)?;
        let item = T::read(&reader)?;
        Ok(reader.located(item))
    }
}

/// A table. Its default in a declaration is a kind.
impl<T: Table> Item for Located<T> {
    type Default = &'static str;

    fn key(name: Name, doc: Name, kind: Option<&'static str>) -> Key {
        Key { kind, ..Key::new(name, doc, Shape::Table(T::SECTION, &[])) }
    }

    fn load(reader: &Reader<'_>, key: Name, kind: Option<&'static str>) -> Result<Self, Problem> {
        Self::of(&reader.below(key), kind, reader.files)
    }

    fn table(&self, key: &str, out: &mut Writer<'_>) {
        if T::INLINE {
            out.inline(key, |out| self.lines(out));
        } else {
            T::write(self, &mut out.below(key));
        }
    }
}

/// A table, or `none`.
#[derive(Clone, Debug)]
pub(crate) struct Optional<T>(pub(crate) Option<Located<T>>);

/// Default of an optional table whose key shows none.
pub(crate) struct NotShown;

impl<T: Table> Item for Optional<T> {
    type Default = NotShown;

    fn key(name: Name, doc: Name, default: Option<NotShown>) -> Key {
        let key = Key::new(name, doc, Shape::OptionalTable(T::SECTION));
        if default.is_some() { key } else { key.or("\"none\"") }
    }

    fn load(reader: &Reader<'_>, key: Name, _: Option<NotShown>) -> Result<Self, Problem> {
        let node = reader.optional(key);
        node.map(|node| Located::of(node, None, reader.files)).transpose().map(Self)
    }

    fn line(&self, key: &str, out: &mut Writer<'_>) {
        if self.0.is_none() {
            out.line(key, "\"none\"");
        }
    }

    fn table(&self, key: &str, out: &mut Writer<'_>) {
        if let Some(table) = &self.0 {
            table.table(key, out);
        }
    }
}

/// Tables, as `[[key]]`.
#[derive(Clone, Debug)]
pub(crate) struct Tables<T>(pub(crate) Vec<Located<T>>);

impl<T: Table> Item for Tables<T> {
    type Default = ();

    fn key(name: Name, doc: Name, _: Option<()>) -> Key {
        Key::new(name, doc, Shape::Tables(T::SECTION))
    }

    fn load(reader: &Reader<'_>, key: Name, _: Option<()>) -> Result<Self, Problem> {
        let nodes = reader.tables(key)?.iter();
        nodes.map(|node| Located::of(node, None, reader.files)).collect::<Result<_, _>>().map(Self)
    }

    fn table(&self, key: &str, out: &mut Writer<'_>) {
        for (number, table) in self.0.iter().enumerate() {
            T::write(table, &mut out.item(key, number));
        }
    }
}
