//! Documentation pages of names.

use tidegate_units::About;

// `PAGES`, all pages by their paths below `docs`.
include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Page of a part, or its sections of a shared page.
pub(super) fn page(about: &About) -> String {
    match about.page.split_once('#') {
        None => text(about.page).to_owned(),
        Some((path, headings)) => {
            let headings = headings.split('#').collect::<Vec<_>>();
            described(about.name, about.summary, path, &headings)
        }
    }
}

/// Page from a name, its line, and sections of another page.
pub(super) fn described(name: &str, line: &str, path: &str, headings: &[&str]) -> String {
    let parts = headings.iter().map(|heading| match below(path, heading) {
        // A term at the start of its paragraph needs no heading, nor does the name itself.
        part if *heading == name || part.starts_with("**") => part,
        part => format!("## {heading}\n\n{part}"),
    });
    let parts = parts.collect::<Vec<_>>().join("\n\n");
    format!("# {name}\n\n{}.\n\n{parts}\n", capital(line))
}

/// Text of a page; empty if there is none.
pub(crate) fn text(path: &str) -> &'static str {
    let found = PAGES.iter().find(|(known, _)| *known == path);
    found.map_or("", |(_, text)| text)
}

/// Section of a page below a heading, or the paragraph that begins with a term.
pub(super) fn below(path: &str, heading: &str) -> String {
    let page = text(path);
    if let Some((_, text)) = page.split_once(&format!("\n## {heading}\n")) {
        let end = text.find("\n## ").unwrap_or(text.len());
        return text[..end].trim().to_owned();
    }
    let Some(begin) = page.find(&format!("\n**{heading}")) else {
        return String::new();
    };
    // The paragraph ends at the next term or heading.
    let rest = &page[begin + 1..];
    let ends = ["\n\n**", "\n## "].map(|end| rest.find(end).unwrap_or(rest.len()));
    let end = ends.into_iter().min().unwrap_or(rest.len());
    rest[..end].trim().to_owned()
}

/// First sentence of a text.
pub(super) fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.find(". ").or_else(|| text.strip_suffix('.').map(str::len));
    text[..end.unwrap_or(text.len())].to_owned()
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), chars.as_str()))
}

/// Cell of the row for `name` in the first table of a page that has one, as plain text.
pub(super) fn cell(path: &str, name: &str, column: usize) -> String {
    let page = text(path);
    let quoted = format!("`{name}`");
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').skip(1).map(str::trim).collect::<Vec<_>>());
    let mut cells = cells.filter(|cells| {
        let first = cells.first().copied().unwrap_or_default();
        first == name || first.contains(&quoted)
    });
    let found = cells.next().and_then(|cells| cells.get(column).copied());
    found.unwrap_or_default().replace('`', "")
}
