//! What the pages of the project say of each name.

use tidegate_units::About;

// `PAGES`, all pages by their paths below `docs`.
include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The page of a part, or what a page about several says of it.
pub(super) fn page(about: &About) -> String {
    match about.page.split_once('#') {
        None => text(about.page).to_owned(),
        Some((path, headings)) => {
            let headings = headings.split('#').collect::<Vec<_>>();
            described(about.name, about.summary, path, &headings)
        }
    }
}

/// A name with its line, and what a page says below some headings.
pub(super) fn described(name: &str, line: &str, path: &str, headings: &[&str]) -> String {
    let parts = headings.iter().map(|heading| match below(path, heading) {
        // A term that begins its paragraph needs no heading, nor does the name itself.
        part if *heading == name || part.starts_with("**") => part,
        part => format!("## {heading}\n\n{part}"),
    });
    let parts = parts.collect::<Vec<_>>().join("\n\n");
    format!("# {name}\n\n{}.\n\n{parts}\n", capital(line))
}

/// The text of a page; empty if there is none.
pub(crate) fn text(path: &str) -> &'static str {
    let found = PAGES.iter().find(|(known, _)| *known == path);
    found.map_or("", |(_, text)| text)
}

/// What a page says below a heading, or in the paragraph that begins with a term.
pub(super) fn below(path: &str, heading: &str) -> String {
    let page = text(path);
    if let Some((_, text)) = page.split_once(&format!("\n## {heading}\n")) {
        let end = text.find("\n## ").unwrap_or(text.len());
        return text[..end].trim().to_owned();
    }
    let Some(begin) = page.find(&format!("\n**{heading}")) else {
        return String::new();
    };
    // It ends where the next term or heading begins.
    let rest = &page[begin + 1..];
    let ends = ["\n\n**", "\n## "].map(|end| rest.find(end).unwrap_or(rest.len()));
    let end = ends.into_iter().min().unwrap_or(rest.len());
    rest[..end].trim().to_owned()
}

/// A text up to its first full stop.
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

/// A cell of the first table of a page that has a row for `name`, as plain text.
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
