//! `tidegate explain`: what a name means, and how to use it.

use std::fmt::Write;

use crate::args::Explain;
use crate::catalogue::key::{self, Key};
use crate::catalogue::{self, Entry, Parameter, alias};
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

/// A key, with each table that has it.
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
    let near = catalogue::nearest(name, entries.iter().map(|entry| entry.name));
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

/// The same in Markdown, as a page.
pub(crate) fn page(entry: &Entry) -> String {
    let mut page = format!("# {} · {}\n\n{}", entry.name, entry.kind.name(), described(entry));
    if !entry.example.is_empty() {
        _ = write!(page, "\n## Example\n\n```toml\n{}\n```\n", entry.example.trim_end());
    }
    page
}

/// What its page says, with all parameters.
fn described(entry: &Entry) -> String {
    let page = entry.page.split_once('\n').map_or("", |(_, page)| page);
    let page = without_sections(page);
    let parameters = parameters(&entry.parameters);
    match page.split_once(PARAMETERS) {
        Some((before, after)) => {
            format!("{before}{PARAMETERS}\n{parameters}{}", without_table(after))
        }
        None if entry.parameters.is_empty() => page,
        None => format!("{page}\n{PARAMETERS}\n{parameters}"),
    }
}

const PARAMETERS: &str = "\n## Parameters\n";

/// A page without what only those who work on the code need.
fn without_sections(page: &str) -> String {
    let sections = page.split("\n## ");
    let mut kept = sections.filter(|section| !section.starts_with("Validation"));
    let first = kept.next().unwrap_or_default().to_owned();
    kept.fold(first, |page, section| format!("{page}\n## {section}")) + "\n"
}

/// A section of parameters without its first table, in whose place the one from the code stands.
fn without_table(section: &str) -> String {
    let mut lines = section.lines().skip_while(|line| line.trim().is_empty()).peekable();
    if lines.peek().is_some_and(|line| line.starts_with("| field") || line.starts_with("| setting"))
    {
        while lines.next_if(|line| line.starts_with('|')).is_some() {}
    }
    let rest = lines.collect::<Vec<_>>().join("\n");
    format!("\n{rest}\n")
}

/// The parameters as a table, from the code's own tables of fields.
fn parameters(parameters: &[Parameter]) -> String {
    if parameters.is_empty() {
        return "None.\n".to_owned();
    }
    let mut table = "| name | default | description |\n|---|---|---|\n".to_owned();
    for parameter in parameters {
        let default = match parameter.default.as_str() {
            "" => "empty".to_owned(),
            default => format!("`{}`", shortened(default)),
        };
        let mut doc = parameter.doc.replace('|', "/");
        for word in &parameter.words {
            _ = write!(doc, " `{}`: {}", word.name, word.doc.replace('|', "/"));
        }
        _ = writeln!(table, "| `{}` | {default} | {doc} |", parameter.name);
    }
    table
}

/// A long list cut off.
fn shortened(default: &str) -> String {
    if default.chars().count() <= 24 {
        return default.to_owned();
    }
    let kept = default.chars().take(23).collect::<String>();
    format!("{kept}…")
}
