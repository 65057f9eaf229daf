//! `[[traffic]]`: sources of flows, and the files that they refer to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_sim::workload::{Distribution, Gaps, LineError, List, Published, Sizes, Source};
use tidegate_units::{Catalogue, Form, Setting};

use crate::files::{Files, NoFiles};
use crate::layout::declare::Table;
use crate::layout::{FABRIC, HOSTS, Key, Section, Shape, names, tidy, toml_of};
use crate::settings::reader::{Located, Reader, setting_text};
use crate::settings::writer::{Lists, Writer};
use crate::text::document::{Node, Value, folder, quoted};
use crate::text::problem::{Location, Problem};

/// A source of flows.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    pub(crate) source: Source,
    /// Whether `link` and `oversubscription` follow the topology.
    pub(crate) link: Follows,
    pub(crate) oversubscription: Follows,
    /// Text of a list, and its file.
    pub(crate) list: Option<ListText>,
}

/// Source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    Itself,
    Topology,
}

#[derive(Clone, Debug)]
pub(crate) struct ListText {
    pub(crate) text: Arc<str>,
    /// Absolute name of the file.
    pub(crate) file: Option<PathBuf>,
    pub(crate) group: u8,
    /// Parsed flows, shared by all points of a sweep.
    pub(crate) list: List,
}

/// Files that a scenario refers to, each read once, and its lists of flows.
#[derive(Debug)]
pub(crate) struct Listed<'a> {
    files: &'a dyn Files,
    /// By path: absolute name and text.
    texts: RefCell<BTreeMap<PathBuf, (PathBuf, Arc<str>)>>,
    lists: RefCell<ListsRead>,
}

/// Flow lists that were read, by text and group.
type ListsRead = BTreeMap<(Arc<str>, u8), List>;

impl<'a> Listed<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, texts: RefCell::default(), lists: RefCell::default() }
    }

    /// No files.
    pub(crate) fn none() -> Self {
        Self::new(&NoFiles)
    }

    /// Absolute name and text of a file, named relative to the file of the location.
    fn read(&self, name: &str, loc: &Location) -> Result<(PathBuf, Arc<str>), Problem> {
        let Some(folder) = folder(loc) else {
            let message = format!("the file `{name}` cannot be read from here");
            let help = "only a scenario read from a file can name other files";
            return Err(Problem::new(message).at(loc).help(help));
        };
        let path = folder.join(name);
        if let Some(known) = self.texts.borrow().get(&path) {
            return Ok(known.clone());
        }
        let (real, text) = self.files.read(&path, self.files.longest()).map_err(|why| {
            let problem = Problem::new(format!("`{}` cannot be read: {why}", path.display()));
            let is_long = why.starts_with("it is longer than");
            let help = "raise the limit: --max-file 1GiB, or max_file=\"1GiB\" in Python";
            if is_long { problem.at(loc).help(help) } else { problem.at(loc) }
        })?;
        let file = (real, Arc::from(text));
        self.texts.borrow_mut().insert(path, file.clone());
        Ok(file)
    }

    /// Names of the files read: as requested, and absolute.
    pub(crate) fn names(&self) -> BTreeMap<PathBuf, PathBuf> {
        let texts = self.texts.borrow();
        texts.iter().map(|(asked, (real, _))| (asked.clone(), real.clone())).collect()
    }

    /// All files read: absolute names and texts.
    pub(crate) fn read_so_far(&self) -> BTreeMap<PathBuf, Arc<str>> {
        self.texts.borrow().values().cloned().collect()
    }

    /// The flows of a list, all of one group.
    fn list(&self, text: &Arc<str>, group: u8) -> Result<List, LineError> {
        let key = (Arc::clone(text), group);
        if let Some(list) = self.lists.borrow().get(&key) {
            return Ok(list.clone());
        }
        let mut list = List::parse(text)?;
        list.set_group(group);
        self.lists.borrow_mut().insert(key, list.clone());
        Ok(list)
    }
}

fn keys(kind: &str) -> Vec<Key> {
    if kind != "list" {
        return Vec::new();
    }
    let file = "CSV file of flows, `id,start_s,src,dst,bytes`, relative to the scenario.";
    vec![
        Key::setting::<String>("file", file, None),
        Key::setting::<String>("flows", "The same lines inline, instead of `file`.", None),
        Key::setting::<u8>("group", "Group of its flows in the results.", Some(&0)),
    ]
}

/// Adds files and the words for values of the topology to the keys of sources.
fn adjust(kind: &str, mut key: Key) -> Key {
    match key.name {
        "sizes" => {
            key.doc += " `file:NAME` is a table of sizes in a file: lines of `size cdf`.";
        }
        "gaps" => key.doc += " `file:NAME` is a table in a file: lines of `gap cdf`.",
        _ => {}
    }
    let is_poisson = matches!(Source::named(kind), Some(Source::Poisson(_)));
    let (word, doc) = match key.name {
        "link" if is_poisson => (HOSTS, " `hosts` is the rate of the host links of this topology."),
        "oversubscription" if is_poisson => {
            (FABRIC, " `fabric` is the ratio at the leaves of this topology.")
        }
        _ => return key,
    };
    let Shape::Setting(form) = key.shape else {
        return key;
    };
    Key {
        doc: key.doc + doc,
        shape: Shape::Derived(form, word),
        default: Some(toml_of(form, word)),
        ..key
    }
}

impl Table for Traffic {
    const SECTION: &'static Section = &Section {
        title: "[[traffic]]",
        doc: "Flows that the hosts send: any number of sources. [More on \
              workloads](../workloads.md).",
        kinds: Some(|| {
            let mut names = [&names(Source::entries())[..], Published::NAMES].concat();
            names.sort_unstable();
            names
        }),
        kind_doc: |kind, _| match Published::FORM {
            _ if kind == "list" => Some("Explicit list of flows.".into()),
            Form::Choice(sets) => sets.iter().find(|set| set.name == kind).map(|set| tidy(set.doc)),
            _ => None,
        },
        same_keys_as: |kind| Published::NAMES.contains(&kind).then_some("poisson"),
        own_keys: keys,
        adjust,
        ..Section::catalogue::<Source>(None)
    };

    fn read(reader: &Reader<'_>) -> Result<Self, Problem> {
        if reader.kind() == "list" { list(reader) } else { source(reader) }
    }

    fn write(item: &Located<Self>, out: &mut Writer<'_>) {
        out.kind(&item.locs);
        if let Some(list) = &item.list {
            out.setting("group", &list.group);
            return match &list.file {
                Some(file) if out.lists == Lists::Named => {
                    out.line("file", &quoted(&file.display().to_string()));
                }
                _ => out.line("flows", &quoted(&list.text)),
            };
        }
        for field in item.source.fields() {
            let word = match field.name {
                "link" if item.link == Follows::Topology => Some(HOSTS),
                "oversubscription" if item.oversubscription == Follows::Topology => Some(FABRIC),
                _ => None,
            };
            match (word, item.source.value(field.name)) {
                (Some(word), _) => out.line(field.name, &quoted(word)),
                (None, Some(text)) => out.line(field.name, &toml_of(field.form, &text)),
                (None, None) => {}
            }
        }
    }
}

fn source(reader: &Reader<'_>) -> Result<Traffic, Problem> {
    let mut item = Source::named(reader.kind()).expect("the kind is one of the names");
    let follows = |key: &str, word: &str| match reader.get(key) {
        Some(node) if node.scalar().as_deref() != Some(word) => Follows::Itself,
        _ => Follows::Topology,
    };
    let (link, oversubscription) = match item {
        Source::Poisson(_) => (follows("link", HOSTS), follows("oversubscription", FABRIC)),
        _ => (Follows::Itself, Follows::Itself),
    };
    for field in item.fields() {
        let Some(node) = reader.get(field.name) else {
            continue;
        };
        let derived = match field.name {
            "link" => link,
            "oversubscription" => oversubscription,
            _ => Follows::Itself,
        };
        if derived == Follows::Topology {
            continue;
        }
        let text = match field.name {
            "gaps" => gaps_text(node, reader.files)?,
            "sizes" => sizes_text(node, reader.files)?,
            name => setting_text(name, field.form, node)?,
        };
        let set = reader.set(&mut item, field.name, &text, node);
        set.map_err(|problem| {
            if field.name == "sizes" && looks_like_file(&text) {
                let name = text.trim();
                problem.help(format!("a table of sizes in a file is `file:{name}`"))
            } else {
                problem
            }
        })?;
    }
    Ok(Traffic { source: item, link, oversubscription, list: None })
}

/// Whether a word is probably the name of a file.
fn looks_like_file(text: &str) -> bool {
    let path = Path::new(text.trim());
    let has_end = path.extension().is_some_and(|end| {
        let mut letters = end.to_string_lossy().into_owned();
        letters.retain(char::is_alphabetic);
        !letters.is_empty()
    });
    text.contains('/') || (has_end && !text.starts_with(|c: char| c.is_ascii_digit()))
}

/// Text of sizes, with the tables of files inlined.
fn sizes_text(node: &Node, files: &Listed<'_>) -> Result<String, Problem> {
    let items = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut texts = Vec::new();
    for item in items {
        let text = setting_text("sizes", Sizes::FORM, item)?;
        let Some(name) = text.strip_prefix("file:") else {
            texts.push(text);
            continue;
        };
        let name = name.trim();
        let table = Distribution::parse(&files.read(name, &item.loc)?.1)
            .map_err(|error| Problem::new(format!("`{name}`, {error}")).at(&item.loc))?;
        texts.push(Sizes::Own(table).write());
    }
    Ok(texts.join(", "))
}

/// Text of gaps, with the table of a file inlined. Errors in a table name its line.
fn gaps_text(node: &Node, files: &Listed<'_>) -> Result<String, Problem> {
    let text = setting_text("gaps", Gaps::FORM, node)?;
    let (name, table) = match text.strip_prefix("file:") {
        Some(name) => (name.trim(), files.read(name.trim(), &node.loc)?.1.to_string()),
        None if Gaps::read(&text).is_ok() => return Ok(text),
        None => ("gaps", text.replace(';', "\n")),
    };
    let gaps = Gaps::parse(&table)
        .map_err(|error| Problem::new(format!("`{name}`, {error}")).at(&node.loc))?;
    Ok(gaps.write())
}

fn list(reader: &Reader<'_>) -> Result<Traffic, Problem> {
    let (file, lines) = (reader.text("file")?, reader.text("flows")?);
    let (name, (path, text)) = match (file, lines) {
        (Some(file), None) => {
            let (path, text) = reader.files.read(&file, reader.locs().of("file"))?;
            (Some(file), (Some(path), text))
        }
        (None, Some(lines)) => (None, (None, lines.into())),
        (None, None) => {
            return Err(Problem::new("the list has no flows")
                .at(reader.locs().of("kind"))
                .help("name a CSV file: file = \"flows.csv\""));
        }
        (Some(_), Some(_)) => {
            return Err(Problem::new("`file` and `flows` are both given")
                .at(reader.locs().of("flows"))
                .help("remove one of them"));
        }
    };
    let loc = reader.locs().of(if name.is_some() { "file" } else { "flows" });
    let group = reader.value("group", || 0)?;
    let parsed = reader.files.list(&text, group).map_err(|error| {
        let name = name.as_deref().unwrap_or("flows");
        Problem::new(format!("`{name}`, {error}")).at(loc)
    })?;
    Ok(Traffic {
        // The flows are added when a run is built.
        source: Source::List(List::default()),
        link: Follows::Itself,
        oversubscription: Follows::Itself,
        list: Some(ListText { list: parsed, file: path, text, group }),
    })
}
