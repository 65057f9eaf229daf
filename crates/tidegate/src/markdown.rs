//! Shows the project's own pages on a terminal, and in a browser.
//!
//! Written by hand: the pages use headings, paragraphs, lists, tables and code, and the libraries
//! that show them bring a terminal of their own.

use std::fmt::Write;

use tidegate_report::escaped;
use unicode_width::UnicodeWidthChar;

use crate::output::Paint;

/// Lines are no longer than this, except for code, however wide the screen is.
const WIDTH: usize = 80;

/// What code begins with.
const INDENT: &str = "    ";

/// A page as text for a terminal of so many columns.
pub(crate) fn render(page: &str, paint: Paint, columns: usize) -> String {
    let most = columns.min(WIDTH);
    let mut out = String::new();
    for block in blocks(page) {
        if !out.is_empty() {
            out.push('\n');
        }
        match block {
            Block::Heading(text) => line(&mut out, &paint.bold(&inline(&text, Paint::Plain))),
            Block::Code(lines) => {
                for text in lines {
                    line(&mut out, format!("    {text}").trim_end());
                }
            }
            Block::Item(mark, text) => {
                // Items of a list stand together.
                if out.ends_with("\n\n") && previous_is_item(&out) {
                    out.pop();
                }
                let indent = " ".repeat(width(&mark));
                wrap(&mut out, &inline(&text, paint), (&mark, &indent), most);
            }
            Block::Paragraph(text) => wrap(&mut out, &inline(&text, paint), ("", ""), most),
            Block::Table(rows) => out.push_str(&table(&rows, paint, most)),
        }
    }
    out
}

/// A page as HTML, without its links: they lead to files that are not there.
pub(crate) fn html(page: &str) -> String {
    let mut out = String::new();
    for block in blocks(page) {
        let is_item = matches!(block, Block::Item(..));
        if !is_item && out.ends_with("</li>\n") {
            out.push_str("</ul>\n");
        }
        match block {
            Block::Code(lines) => {
                _ = writeln!(out, "<pre>{}</pre>", escaped(&lines.join("\n")));
            }
            Block::Heading(text) => _ = writeln!(out, "<h2>{}</h2>", marked_up(&text)),
            Block::Item(_, text) => {
                if !out.ends_with("</li>\n") {
                    out.push_str("<ul>\n");
                }
                _ = writeln!(out, "<li>{}</li>", marked_up(&text));
            }
            Block::Paragraph(text) => _ = writeln!(out, "<p>{}</p>", marked_up(&text)),
            Block::Table(rows) => {
                out.push_str("<div class=\"wide\"><table class=\"claims prose\">\n");
                for (number, row) in rows.iter().enumerate() {
                    let cell = if number == 0 { "th" } else { "td" };
                    let cells =
                        row.iter().map(|text| format!("<{cell}>{}</{cell}>", marked_up(text)));
                    _ = writeln!(out, "<tr>{}</tr>", cells.collect::<String>());
                }
                out.push_str("</table></div>\n");
            }
        }
    }
    if out.ends_with("</li>\n") {
        out.push_str("</ul>\n");
    }
    out
}

/// Code, strong words and links of a text as HTML.
fn marked_up(text: &str) -> String {
    // Letters that no page has stand for the marks while the text is escaped.
    const MARKS: [(char, &str); 4] = [
        ('\u{e000}', "<code>"),
        ('\u{e001}', "</code>"),
        ('\u{e002}', "<strong>"),
        ('\u{e003}', "</strong>"),
    ];
    let code = |code: &str| format!("\u{e000}{code}\u{e001}");
    let strong = |strong: &str| format!("\u{e002}{strong}\u{e003}");
    let shown = escaped(&inline_with(text, &code, &strong));
    let replaced = |text: String, (mark, tag): (char, &str)| text.replace(mark, tag);
    MARKS.into_iter().fold(shown, replaced)
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Whether the last block that was written is an item of a list.
fn previous_is_item(out: &str) -> bool {
    let block = out.trim_end().rsplit("\n\n").next().unwrap_or_default();
    block.lines().any(|line| item(line).is_some())
}

enum Block {
    Code(Vec<String>),
    Heading(String),
    Item(String, String),
    Paragraph(String),
    Table(Vec<Vec<String>>),
}

/// The mark and the text of a line that begins an item of a list.
fn item(line: &str) -> Option<(&str, &str)> {
    if let Some(text) = line.strip_prefix("- ") {
        return Some(("- ", text));
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_number = digits > 0 && line[digits..].starts_with(". ");
    is_number.then(|| line.split_at(digits + 2))
}

/// Cuts a page into its parts.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        if line.starts_with("```") {
            let code = lines.by_ref().take_while(|line| !line.starts_with("```"));
            blocks.push(Block::Code(code.map(str::to_owned).collect()));
        } else if line.starts_with('#') {
            let text = line.trim_start_matches('#').trim();
            blocks.push(Block::Heading(text.to_owned()));
        } else if let Some(first) = line.strip_prefix(INDENT) {
            let mut code = vec![first.to_owned()];
            while let Some(line) = lines.next_if(|line| line.starts_with(INDENT)) {
                code.push(line[INDENT.len()..].to_owned());
            }
            blocks.push(Block::Code(code));
        } else if line.starts_with('|') {
            let mut rows = vec![cells(line)];
            while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(cells(line));
            }
            let is_rule =
                |row: &[String]| row.iter().all(|cell| cell.chars().all(|c| "-: ".contains(c)));
            let has_heads = rows.iter().any(|row| is_rule(row));
            rows.retain(|row| !is_rule(row));
            if !has_heads {
                rows.insert(0, Vec::new());
            }
            blocks.push(Block::Table(rows));
        } else {
            let (mark, first) = item(line).unwrap_or(("", line));
            let mut text = first.trim().to_owned();
            let goes_on = |line: &&str| {
                let is_block = line.starts_with(['#', '|']) || line.starts_with("```");
                !line.trim().is_empty() && !is_block && item(line).is_none()
            };
            while let Some(line) = lines.next_if(goes_on) {
                text.push(' ');
                text.push_str(line.trim());
            }
            blocks.push(match mark {
                "" => Block::Paragraph(text),
                mark => Block::Item(mark.to_owned(), text),
            });
        }
    }
    blocks
}

/// The cells of a line of a table. A bar in code does not end a cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|');
    let line = line.strip_suffix('|').unwrap_or(line);
    let (mut cells, mut in_code) = (vec![String::new()], false);
    for c in line.chars() {
        in_code ^= c == '`';
        if c == '|' && !in_code {
            cells.push(String::new());
        } else if let Some(cell) = cells.last_mut() {
            cell.push(c);
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Shows code, strong words and links of a text.
fn inline(text: &str, paint: Paint) -> String {
    let code = |code: &str| match paint {
        Paint::Plain => format!("`{code}`"),
        Paint::Colour => paint.code(code),
    };
    inline_with(text, &code, &|strong| paint.bold(strong))
}

/// The same, with what becomes of code and strong words.
fn inline_with(
    text: &str,
    show_code: &dyn Fn(&str) -> String,
    show_strong: &dyn Fn(&str) -> String,
) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let (shown, left) = match c {
            '\\' => match after.chars().next() {
                Some(next) => (next.to_string(), &after[next.len_utf8()..]),
                None => (c.to_string(), after),
            },
            '`' => match after.split_once('`') {
                Some((code, left)) => (show_code(code), left),
                None => (c.to_string(), after),
            },
            '*' if after.starts_with('*') => match after[1..].split_once("**") {
                Some((strong, left)) => (show_strong(strong), left),
                None => (c.to_string(), after),
            },
            '[' => match link(after) {
                Some((text, left)) => (inline_with(text, show_code, show_strong), left),
                None => (c.to_string(), after),
            },
            _ => (c.to_string(), after),
        };
        out.push_str(&shown);
        rest = left;
    }
    out
}

/// The text of a link, and what follows it.
fn link(after_bracket: &str) -> Option<(&str, &str)> {
    let (text, rest) = after_bracket.split_once("](")?;
    let (_, left) = rest.split_once(')')?;
    (!text.contains('\n')).then_some((text, left))
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    let mut columns = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => chars.by_ref().take_while(|&c| c != 'm').for_each(drop),
            _ => columns += c.width().unwrap_or(0),
        }
    }
    columns
}

/// Writes a text in lines of at most `most` columns, with what the first and all others begin with.
fn wrap(out: &mut String, text: &str, (first, others): (&str, &str), most: usize) {
    let room = most.saturating_sub(width(first));
    for (number, text) in folded(text, room).iter().enumerate() {
        let indent = if number == 0 { first } else { others };
        line(out, &format!("{indent}{text}"));
    }
}

/// Cuts a text at its spaces into lines of at most `most` columns, if its words allow it.
pub(crate) fn folded(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if width(last) + 1 + width(word) <= most {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// The narrowest last column that is worth having.
const NARROW: usize = 24;

/// A table in columns, the last of which is folded; or, if it is too wide for that, each row as a
/// small list under its first cell. The first row has the heads, if there are any.
fn table(rows: &[Vec<String>], paint: Paint, most: usize) -> String {
    let shown = |row: &Vec<String>| row.iter().map(|cell| inline(cell, paint)).collect::<Vec<_>>();
    let rows = rows.iter().map(shown).collect::<Vec<_>>();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = String::new();
    let Some(last) = count.checked_sub(1) else {
        return out;
    };
    let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
    let widths = (0..last).map(|column| rows.iter().map(|row| width(&cell(row, column))).max());
    let widths = widths.map(Option::unwrap_or_default).collect::<Vec<_>>();
    let before = widths.iter().map(|width| width + 2).sum::<usize>();
    if before + NARROW > most {
        return list(&rows, paint, most);
    }
    for (number, row) in rows.iter().enumerate() {
        if row.is_empty() {
            continue;
        }
        let mut begin = String::new();
        for (column, widest) in widths.iter().enumerate() {
            let text = cell(row, column);
            begin.push_str(&text);
            begin.push_str(&" ".repeat(widest + 2 - width(&text)));
        }
        let folded = folded(&cell(row, last), most - before);
        for (part, text) in folded.iter().enumerate() {
            let begin = if part == 0 { begin.clone() } else { " ".repeat(before) };
            let text = format!("{begin}{text}");
            let text = text.trim_end();
            line(&mut out, &if number == 0 { paint.dim(text) } else { text.to_owned() });
        }
    }
    out
}

/// Each row as a list of what its heads say.
fn list(rows: &[Vec<String>], paint: Paint, most: usize) -> String {
    let mut out = String::new();
    let Some((heads, rows)) = rows.split_first() else {
        return out;
    };
    for row in rows {
        let (first, others) = row.split_first().map_or(("", row.as_slice()), |(f, o)| (f, o));
        if !first.is_empty() {
            line(&mut out, &paint.bold(first));
        }
        for (column, text) in others.iter().enumerate() {
            let head = heads.get(column + 1).filter(|head| !head.is_empty());
            let text = head.map_or_else(|| text.clone(), |head| format!("{head}: {text}"));
            wrap(&mut out, &text, ("  ", "    "), most);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_shown_part_by_part() {
        let page = "# name\n\nOne `word` and\n**another**, see [there](x.md).\n\n    a = b\n\n\
                    - first\n  goes on\n- second\n\n| a | b |\n|---|---|\n| `x|y` | long \\* text |\n";
        let expected = "name\n\nOne `word` and another, see there.\n\n    a = b\n\n\
                        - first goes on\n- second\n\na      b\n`x|y`  long * text\n";
        assert_eq!(render(page, Paint::Plain, WIDTH), expected);
    }

    #[test]
    fn a_page_is_html_too() {
        let page = "# a < b\n\nOne `x<y>` and **two**, [there](x.md).\n\n- first\n- second\n\n    c & d\n\n\
                    | a |\n|---|\n| <b> |\n";
        let expected = "<h2>a &lt; b</h2>\n<p>One <code>x&lt;y&gt;</code> and <strong>two</strong>, there.</p>\n\
                        <ul>\n<li>first</li>\n<li>second</li>\n</ul>\n<pre>c &amp; d</pre>\n\
                        <div class=\"wide\"><table class=\"claims prose\">\n<tr><th>a</th></tr>\n\
                        <tr><td>&lt;b&gt;</td></tr>\n</table></div>\n";
        assert_eq!(html(page), expected);
        assert!(html("- last").ends_with("</ul>\n"));
    }

    #[test]
    fn lines_are_folded_at_the_screens_columns_whatever_their_colours() {
        let text = "word `code` ".repeat(30);
        for (columns, most) in [(60, 60), (80, 80), (120, 80)] {
            for paint in [Paint::Plain, Paint::Colour] {
                let shown = render(&text, paint, columns);
                assert!(shown.lines().count() > 3);
                assert!(shown.lines().all(|line| width(line) <= most), "{shown}");
            }
        }
    }

    #[test]
    fn wide_letters_take_two_columns_and_marks_on_letters_none() {
        assert_eq!(width("東京"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(width("\u{1b}[1mECN♯\u{1b}[0m"), 4);
    }

    #[test]
    fn a_table_that_is_too_wide_becomes_lists() {
        let wide = "x".repeat(60);
        let rows = vec![
            vec!["name".to_owned(), "what".to_owned(), "why".to_owned()],
            vec!["tcn".to_owned(), wide.clone(), wide.clone()],
        ];
        let shown = table(&rows, Paint::Plain, WIDTH);
        assert_eq!(shown, format!("tcn\n  what: {wide}\n  why: {wide}\n"));
    }

    #[test]
    fn marks_that_are_not_closed_are_shown_as_they_are() {
        for text in ["a ` b", "a ** b", "a [b", "a [b](c", "a \\"] {
            assert_eq!(render(text, Paint::Plain, WIDTH), format!("{text}\n"));
        }
    }
}
