//! Pages of names in Markdown.

use std::fmt::Write;

use super::{Entry, Parameter};

/// Page of a name.
pub(crate) fn page(entry: &Entry) -> String {
    let mut page = format!("# {} · {}\n\n{}", entry.name, entry.kind.name(), described(entry));
    if !entry.example.is_empty() {
        _ = write!(page, "\n## Example\n\n```toml\n{}\n```\n", entry.example.trim_end());
    }
    page
}

/// Text of a page, with all parameters.
pub(crate) fn described(entry: &Entry) -> String {
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

/// Drops sections for developers.
fn without_sections(page: &str) -> String {
    let sections = page.split("\n## ");
    let mut kept = sections.filter(|section| !section.starts_with("Validation"));
    let first = kept.next().unwrap_or_default().to_owned();
    kept.fold(first, |page, section| format!("{page}\n## {section}")) + "\n"
}

/// Drops the first table of a section of parameters: the table from the code replaces it.
fn without_table(section: &str) -> String {
    let mut lines = section.lines().skip_while(|line| line.trim().is_empty()).peekable();
    if lines.peek().is_some_and(|line| line.starts_with("| field") || line.starts_with("| setting"))
    {
        while lines.next_if(|line| line.starts_with('|')).is_some() {}
    }
    let rest = lines.collect::<Vec<_>>().join("\n");
    format!("\n{rest}\n")
}

/// Table of the parameters, from the field tables in the code.
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

/// Truncates a long list.
fn shortened(default: &str) -> String {
    if default.chars().count() <= 24 {
        return default.to_owned();
    }
    let kept = default.chars().take(23).collect::<String>();
    format!("{kept}…")
}
