//! Sources of flows as typed settings, and the files that they refer to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_sim::workload::{Distribution, Gaps, LineError, List, Sizes, Source};
use tidegate_units::Setting;

use super::describe::text;
use super::reader::{Located, Reader, setting_text};
use crate::files::Files;
use crate::layout::{FABRIC, HOSTS, Section};
use crate::text::document::{Node, Value, folder};
use crate::text::problem::{Location, Problem};

/// A source of flows.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    pub(crate) source: Located<Source>,
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
    pub(crate) list: Arc<List>,
}

/// Files that a scenario refers to, each read once, and its lists of flows.
#[derive(Debug)]
pub(crate) struct Listed<'a> {
    files: &'a dyn Files,
    /// By path: absolute name and text.
    texts: BTreeMap<PathBuf, (PathBuf, Arc<str>)>,
    /// By text and group.
    lists: BTreeMap<(Arc<str>, u8), Arc<List>>,
}

/// Maximum size of a file: about a million flows.
const LONGEST: u64 = 64 << 20;

impl<'a> Listed<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, texts: BTreeMap::new(), lists: BTreeMap::new() }
    }

    /// Absolute name and text of a file, named relative to the file of the location.
    fn read(&mut self, name: &str, loc: &Location) -> Result<(PathBuf, Arc<str>), Problem> {
        let Some(folder) = folder(loc) else {
            let message = format!("the file `{name}` cannot be read from here");
            let help = "only a scenario read from a file can name other files";
            return Err(Problem::new(message).at(loc).help(help));
        };
        let path = folder.join(name);
        if let Some(known) = self.texts.get(&path) {
            return Ok(known.clone());
        }
        let (real, text) = self.files.read(&path, LONGEST).map_err(|why| {
            let message = format!("`{}` cannot be read: {why}", path.display());
            Problem::new(message).at(loc)
        })?;
        let file = (real, Arc::from(text));
        self.texts.insert(path, file.clone());
        Ok(file)
    }

    /// Names of the files read: as requested, and absolute.
    pub(crate) fn names(&self) -> BTreeMap<PathBuf, PathBuf> {
        let names = self.texts.iter();
        names.map(|(asked, (real, _))| (asked.clone(), real.clone())).collect()
    }

    /// All files read: absolute names and texts.
    pub(crate) fn read_so_far(&self) -> BTreeMap<PathBuf, Arc<str>> {
        self.texts.values().cloned().collect()
    }

    /// The flows of a list, all of one group.
    fn list(&mut self, text: &Arc<str>, group: u8) -> Result<Arc<List>, LineError> {
        let key = (Arc::clone(text), group);
        if let Some(list) = self.lists.get(&key) {
            return Ok(Arc::clone(list));
        }
        let mut list = List::parse(text)?;
        for entry in &mut list.entries {
            entry.flow.group = group;
        }
        let list = Arc::new(list);
        self.lists.insert(key, Arc::clone(&list));
        Ok(list)
    }
}

pub(crate) fn source(node: &Node, files: &mut Listed<'_>) -> Result<Traffic, Problem> {
    let reader = Reader::new(node, Section::Traffic, None)?;
    if reader.kind() == "list" {
        return list(&reader, files);
    }
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
            "gaps" => gaps_text(node, files)?,
            "sizes" => sizes_text(node, files)?,
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
    Ok(Traffic { source: reader.located(item), link, oversubscription, list: None })
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
fn sizes_text(node: &Node, files: &mut Listed<'_>) -> Result<String, Problem> {
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
fn gaps_text(node: &Node, files: &mut Listed<'_>) -> Result<String, Problem> {
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

fn list(reader: &Reader<'_>, files: &mut Listed<'_>) -> Result<Traffic, Problem> {
    let (file, lines) = (text(reader, "file")?, text(reader, "flows")?);
    let (name, (path, text)) = match (file, lines) {
        (Some(file), None) => {
            let (path, text) = files.read(&file, reader.locs().of("file"))?;
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
    let group: u8 = reader.read("group")?;
    let parsed = files.list(&text, group).map_err(|error| {
        let name = name.as_deref().unwrap_or("flows");
        Problem::new(format!("`{name}`, {error}")).at(loc)
    })?;
    Ok(Traffic {
        // The flows are added when a run is built.
        source: reader.located(Source::List(List::default())),
        link: Follows::Itself,
        oversubscription: Follows::Itself,
        list: Some(ListText { list: parsed, file: path, text, group }),
    })
}
