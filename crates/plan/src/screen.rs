//! A sheet as text that fits a screen.

use tidegate_report::sheet::{Part, Row, Sheet};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Spaces between the columns of a table.
const GAP: usize = 2;

/// The named parts of a sheet as text of `width` columns.
pub fn screen(
    sheet: &Sheet,
    parts: &[&str],
    width: usize,
    bold: impl Fn(&str) -> String,
) -> String {
    let mut out = String::new();
    title(&mut out, &sheet.title, width, &bold);
    for fact in &sheet.facts {
        wrapped(&mut out, "  ", "    ", fact, width);
    }
    for part in &sheet.parts {
        if !parts.contains(&part.id.as_str()) {
            continue;
        }
        out.push('\n');
        title(&mut out, &part.title, width, &bold);
        write_part(&mut out, part, width);
    }
    out
}

fn title(out: &mut String, text: &str, width: usize, bold: impl Fn(&str) -> String) {
    let mut lines = String::new();
    wrapped(&mut lines, "", "", text, width);
    for line in lines.lines() {
        out.push_str(&bold(line));
        out.push('\n');
    }
}

fn write_part(out: &mut String, part: &Part, width: usize) {
    // The introduction of a list comes before it; the legend of a table comes after it.
    if part.rows.is_empty() && !part.intro.is_empty() {
        wrapped(out, "  ", "  ", &part.intro, width);
    }
    if !part.rows.is_empty() {
        table(out, part, width);
    }
    for line in &part.lines {
        wrapped(out, "  ", "    ", line, width);
    }
    if !part.rows.is_empty() && !part.intro.is_empty() {
        out.push('\n');
        wrapped(out, "  ", "  ", &part.intro, width);
    }
}

fn table(out: &mut String, part: &Part, width: usize) {
    let columns = part.head.len();
    let cells = |row: &Row, column: usize| row.cells.get(column).cloned().unwrap_or_default();
    let of_column = |column: usize| {
        let rows = part.rows.iter().map(|row| cells(row, column).width());
        rows.chain([part.head[column].width()]).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..columns).map(of_column).collect();
    if !fit(&mut widths, width) {
        return cards(out, part, width);
    }
    line(out, &part.head, &widths);
    for row in &part.rows {
        let texts: Vec<String> = (0..columns).map(|column| cells(row, column)).collect();
        line(out, &texts, &widths);
        if !row.note.is_empty() {
            wrapped(out, "      ", "      ", &row.note, width);
        }
    }
}

/// Least width that a column is folded to.
const NARROWEST: usize = 8;

/// Narrows the widest columns until a table fits, each with its gap before it. Returns whether it
/// fits.
fn fit(widths: &mut [usize], width: usize) -> bool {
    loop {
        let all: usize = widths.iter().map(|width| GAP + width).sum();
        if all <= width {
            return true;
        }
        let widest = widths.iter_mut().max().filter(|widest| **widest > NARROWEST);
        let Some(widest) = widest else {
            return false;
        };
        *widest -= 1;
    }
}

/// A cell in lines of `width` columns; a longer word is broken.
fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a line");
        let gap = usize::from(!last.is_empty());
        if last.width() + gap + word.width() <= width {
            last.push_str(&" ".repeat(gap));
            last.push_str(word);
            continue;
        }
        if !last.is_empty() {
            lines.push(String::new());
        }
        for letter in word.chars() {
            let last = lines.last_mut().expect("there is a line");
            if last.width() + letter.width().unwrap_or(0) > width {
                lines.push(letter.to_string());
            } else {
                last.push(letter);
            }
        }
    }
    lines
}

fn line(out: &mut String, texts: &[String], widths: &[usize]) {
    let cells = texts.iter().zip(widths);
    let cells: Vec<Vec<String>> = cells.map(|(text, &width)| folded(text, width)).collect();
    let lines = cells.iter().map(Vec::len).max().unwrap_or(0);
    for i in 0..lines {
        let mut text = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            let part = cell.get(i).map_or("", String::as_str);
            text += &" ".repeat(GAP);
            text += part;
            text += &" ".repeat(width.saturating_sub(part.width()));
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
}

/// A table that does not fit: each row as a paragraph, each cell after its name.
fn cards(out: &mut String, part: &Part, width: usize) {
    for row in &part.rows {
        let mut cells = row.cells.iter();
        let first = cells.next().cloned().unwrap_or_default();
        let named = part.head.iter().skip(1).zip(cells);
        let named = named.filter(|(_, cell)| !cell.is_empty());
        let rest: Vec<String> = named.map(|(name, cell)| format!("{name} {cell}")).collect();
        wrapped(out, "  ", "    ", &format!("{first}: {}", rest.join(", ")), width);
        if !row.note.is_empty() {
            wrapped(out, "      ", "      ", &row.note, width);
        }
    }
}

/// Adds words in lines of `width` columns. A line may also end after a wide letter, because East
/// Asian text has no spaces.
fn wrapped(out: &mut String, first: &str, others: &str, text: &str, width: usize) {
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        for (i, piece) in pieces(word).into_iter().enumerate() {
            let gap = usize::from(i == 0 && !is_empty);
            if !is_empty && line.width() + gap + piece.width() > width {
                out.push_str(&line);
                out.push('\n');
                others.clone_into(&mut line);
            } else {
                line += &" ".repeat(gap);
            }
            line += piece;
            is_empty = false;
        }
    }
    out.push_str(&line);
    out.push('\n');
}

/// A word cut after each of its wide letters.
fn pieces(word: &str) -> Vec<&str> {
    let is_wide = |letter: char| letter.width() == Some(2);
    let pieces: Vec<&str> = word.split_inclusive(is_wide).collect();
    if pieces.is_empty() { vec![word] } else { pieces }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_the_screen_where_words_allow() {
        let row = Row {
            cells: vec!["a cell that is rather wide".into(), "another of the kind".into()],
            note: "a note with several words that goes on and on".into(),
            class: "",
        };
        let part = Part {
            id: "p".into(),
            title: "Part of a sheet with a rather long title".into(),
            intro: "An introduction with some words in it".into(),
            head: vec!["one".into(), "two".into()],
            rows: vec![row],
            ..Part::default()
        };
        let sheet =
            Sheet { title: "Title".into(), facts: vec!["some facts".into()], parts: vec![part] };
        // The table has 49 columns.
        for width in [30, 47, 48, 49, 60, 80] {
            let text = screen(&sheet, &["p"], width, str::to_owned);
            assert!(text.lines().all(|line| line.width() <= width), "{width}\n{text}");
            assert!(text.contains("another of the kind") || width < 60);
        }
        assert!(!screen(&sheet, &[], 80, str::to_owned).contains("Part"));
    }

    #[test]
    fn text_in_wide_letters_is_folded_between_letters() {
        let title = "大規模ストレージネットワーク 100G";
        let sheet = Sheet { title: title.into(), facts: Vec::new(), parts: Vec::new() };
        let text = screen(&sheet, &[], 12, str::to_owned);
        assert_eq!(text, "大規模ストレ\nージネットワ\nーク 100G\n");
        // A break never adds or loses a letter.
        let joined: String = text.lines().collect();
        assert_eq!(joined, title);
    }

    #[test]
    fn a_long_name_is_folded_and_the_table_stays_one() {
        let row = |name: &str| Row {
            cells: [name, "100G", "400 KB"].map(str::to_owned).to_vec(),
            note: String::new(),
            class: "",
        };
        let part = Part {
            id: "p".into(),
            head: ["queue", "ports", "mark at"].map(str::to_owned).to_vec(),
            rows: vec![row("3 storage replication"), row("4 averyveryverylongword")],
            ..Part::default()
        };
        let mut out = String::new();
        table(&mut out, &part, 30);
        let expected = "  queue         ports  mark at\n  3 storage     100G   400 KB\n  replication\n  \
                        4             100G   400 KB\n  averyveryver\n  ylongword\n";
        assert_eq!(out, expected);
    }
}
