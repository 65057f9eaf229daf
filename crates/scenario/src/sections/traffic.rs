//! `[[traffic]]`: sources of flows, and the files that they refer to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_sim::workload::{Distribution, Gaps, List, Published, Sizes, Source};
use tidegate_units::{Catalogue, Form, Setting};

use super::declare::Table;
use crate::files::Listed;
use crate::layout::{FABRIC, HOSTS, Key, Section, Shape, names, tidy, toml_of};
use crate::settings::reader::{Located, Reader, setting_text};
use crate::settings::writer::{Lists, Writer};
use crate::text::document::{Node, Value, quoted};
use crate::text::problem::Problem;

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
