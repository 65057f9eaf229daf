//! `tidegate explain`: describes a name and its use.

use std::fmt::Write;

use tidegate_study::text::nearest;

use crate::args::Explain;
use crate::catalogue::key::{self, Key};
use crate::catalogue::page::described;
use crate::catalogue::{self, Entry, alias};
use crate::markdown;
use crate::output::{Error, ExitStatus, Output};

pub(crate) fn explain(arguments: &Explain, output: Output) -> Result<ExitStatus, Error> {
    let entries = catalogue::all();
    let asked = arguments.name.join(" ");
    let plain = alias::plain(&asked);
    let is_name = |name: &str| entries.iter().any(|entry| entry.name == name);
    let meant = alias::find(&plain).filter(|_| !is_name(&plain));
    let wanted = meant.map_or(plain.as_str(), |alias| alias.name);
    let found = entries.iter().filter(|entry| entry.name == wanted);
    let found = found.collect::<Vec<_>>();
    let keys = match found.as_slice() {
        [] => key::named(wanted),
        _ => Vec::new(),
    };
    if found.is_empty() && keys.is_empty() {
        return Err(unknown(&asked, &entries));
    }
    if output.json {
        match found.as_slice() {
            [] => output.print_json(&keys)?,
            found => output.print_json(&found)?,
        }
        return Ok(ExitStatus::Good);
    }
    let mut texts = Vec::new();
    if let Some(alias) = meant {
        texts.push(markdown::render(alias.says, output.paint, output.width));
    }
    texts.extend(found.iter().map(|entry| text(entry, output)));
    if !keys.is_empty() {
        texts.push(text_of_keys(&keys, output));
    }
    output.print(&texts.join("\n"))?;
    Ok(ExitStatus::Good)
}

/// Describes a key in each table that has it.
fn text_of_keys(keys: &[Key], output: Output) -> String {
    let name = keys.first().map_or("", |key| key.name.as_str());
    let mut page = String::new();
    for key in keys {
        _ = write!(page, "- `{}.{name}`", key.table);
        if !key.kinds.is_empty() {
            _ = write!(page, " of `{}`", key.kinds.join("`, `"));
        }
        _ = write!(page, ": {}", key.doc);
        if let Some(default) = &key.default {
            _ = write!(page, " Default: `{default}`.");
        }
        for (word, doc) in &key.words {
            _ = write!(page, " `{word}`: {doc}");
        }
        page.push('\n');
    }
    let page = markdown::render(&page, output.paint, output.width);
    format!("{} · key\n\n{page}", output.paint.bold(name))
}

fn unknown(name: &str, entries: &[Entry]) -> Error {
    let near = nearest(name, entries.iter().map(|entry| entry.name));
    let hint = match near.as_slice() {
        [] => "`tidegate list` shows all names".to_owned(),
        near => {
            let near = near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
            format!("did you mean {}? `tidegate list` shows all names", near.join(" or "))
        }
    };
    Error::new(format!("unknown name `{name}`\nhint: {hint}"))
}

fn text(entry: &Entry, output: Output) -> String {
    let paint = output.paint;
    let mut text = String::new();
    let (name, kind) = (paint.bold(entry.name), entry.kind.name());
    _ = writeln!(text, "{name} · {kind}\n");
    text.push_str(&markdown::render(&described(entry), paint, output.width));
    if !entry.example.is_empty() {
        _ = writeln!(text, "\n{}\n", paint.bold("Example"));
        for line in entry.example.lines() {
            text.push_str(format!("    {line}").trim_end());
            text.push('\n');
        }
    }
    text
}
