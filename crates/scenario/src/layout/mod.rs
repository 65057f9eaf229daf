//! Layout of scenario files: sections, their kinds and keys.

mod key;

pub(crate) use key::{FABRIC, HOSTS, Key, Shape, tidy, toml_of};

use tidegate_units::{About, Catalogue, Entry, Field, Parameters};

/// Heading of the section at the top of a file.
pub(crate) const TOP: &str = "At the top";

/// Default settings of a kind and profile.
pub(crate) type PartOf = fn(kind: &str, profile: Option<&str>) -> Option<Box<dyn Parameters>>;

/// A table of a scenario file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    /// Heading in the reference.
    pub(crate) title: &'static str,
    /// Description, as a doc comment.
    pub(crate) doc: &'static str,
    /// Names of the kinds; `None` for a table without kinds.
    pub(crate) kinds: Option<fn() -> Vec<&'static str>>,
    /// Catalogue entries of the kinds.
    pub(crate) entries: fn() -> Vec<Entry>,
    /// Kind of a table without `kind`; `None` if `kind` is required.
    pub(crate) default_kind: Option<&'static str>,
    /// Description of a kind, if there is a text or a page about it.
    pub(crate) kind_doc: fn(kind: &str, about: Option<About>) -> Option<String>,
    /// The kind with the same keys and other defaults, so that the reference lists the keys once.
    pub(crate) same_keys_as: fn(kind: &str) -> Option<&'static str>,
    /// Keys of a kind that exist only in files, not in a library.
    pub(crate) own_keys: fn(kind: &str) -> Vec<Key>,
    /// Default settings of a kind and profile: their fields are keys too.
    pub(crate) part: PartOf,
    /// Published sets of settings of a kind, values of the key `profile`.
    pub(crate) profiles: fn(kind: &str) -> Option<Profiles>,
    /// Changes the key that a field of the settings becomes.
    pub(crate) adjust: fn(kind: &str, key: Key) -> Key,
    /// Keys that survive a change of kind.
    pub(crate) common: &'static [&'static str],
    /// The section with the same kinds and keys, so that the reference lists them once.
    pub(crate) same_as: Option<&'static Self>,
}

/// Published sets of settings of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profiles {
    pub(crate) names: &'static [&'static str],
    /// Profile of a table without `profile`.
    pub(crate) default: Option<&'static str>,
}

/// Names of catalogue entries.
pub(crate) fn names(entries: Vec<Entry>) -> Vec<&'static str> {
    entries.into_iter().map(|entry| entry.about.name).collect()
}

impl Section {
    /// A section without keys.
    pub(crate) const PLAIN: Self = Self {
        title: "",
        doc: "",
        kinds: None,
        entries: Vec::new,
        default_kind: None,
        kind_doc: |_, _| None,
        same_keys_as: |_| None,
        own_keys: |_| Vec::new(),
        part: |_, _| None,
        profiles: |_| None,
        adjust: |_, key| key,
        common: &[],
        same_as: None,
    };

    /// A section whose kinds are the parts of a catalogue.
    pub(crate) const fn catalogue<C: Catalogue + 'static>(default: Option<&'static str>) -> Self {
        Self {
            kinds: Some(|| names(C::entries())),
            entries: C::entries,
            default_kind: default,
            part: |kind, _| Some(Box::new(C::named(kind)?)),
            ..Self::PLAIN
        }
    }

    /// Keys of all kinds that exist only in files, the default kind's first.
    pub(crate) fn keys_of_all_kinds(&self) -> Vec<Key> {
        let mut kinds = self.kinds().unwrap_or_else(|| vec![""]);
        kinds.sort_by_key(|kind| Some(*kind) != self.default_kind);
        kinds.into_iter().flat_map(self.own_keys).collect()
    }

    /// Kinds of the section; `None` for a table without kinds.
    pub(crate) fn kinds(&self) -> Option<Vec<&'static str>> {
        self.kinds.map(|names| names())
    }

    /// Catalogue entry of a kind.
    pub(crate) fn about(&self, kind: &str) -> Option<About> {
        let entries = (self.entries)();
        entries.into_iter().map(|entry| entry.about).find(|about| about.name == kind)
    }

    /// Name in the schema and in headings of kinds: the last word of the heading.
    pub(crate) fn name(&self) -> &'static str {
        if self.title == TOP {
            return "scenario";
        }
        let words = self.title.trim_matches(['[', ']']);
        words.rsplit('.').next().unwrap_or(words)
    }

    /// Default profile of a kind.
    pub(crate) fn default_profile(&self, kind: &str) -> Option<&'static str> {
        (self.profiles)(kind)?.default
    }

    /// All keys of a kind except `kind`, in the order of the reference. An unknown kind has only
    /// the shared keys.
    pub(crate) fn keys(&self, kind: &str) -> Vec<Key> {
        let mut keys = (self.own_keys)(kind);
        if let Some(profiles) = (self.profiles)(kind) {
            keys.insert(0, Key::profile(profiles));
        }
        if let Some(part) = (self.part)(kind, self.default_profile(kind)) {
            let key =
                |field: &Field| (self.adjust)(kind, Key::field(field, part.value(field.name)));
            keys.extend(part.fields().iter().map(key));
        }
        keys
    }

    /// Names of all keys of a kind, `kind` included.
    pub(crate) fn names(&self, kind: &str) -> Vec<&'static str> {
        let mut names: Vec<&str> = (self.own_keys)(kind).iter().map(|key| key.name).collect();
        if let Some(part) = (self.part)(kind, self.default_profile(kind)) {
            names.extend(part.fields().iter().map(|field| field.name));
        }
        if (self.profiles)(kind).is_some() {
            names.push("profile");
        }
        if self.kinds.is_some() {
            names.push("kind");
        }
        if self.title == TOP {
            names.push("sweep");
        }
        names
    }
}
