//! Markdown pages of the project on a terminal and as HTML.

use std::fmt::Write;
use std::mem::take;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use tidegate_study::text::{folded, width};

use crate::output::Paint;

/// Most columns of a line, except in code, on any screen.
const WIDTH: usize = 80;

fn events(page: &str) -> Parser<'_> {
    Parser::new_ext(page, Options::ENABLE_TABLES)
}

/// A page as HTML, without its links, whose targets do not exist there.
pub(crate) fn html(page: &str) -> String {
    let events = events(page).filter_map(|event| match event {
        Event::Start(Tag::Link { .. }) | Event::End(TagEnd::Link) => None,
        Event::Start(Tag::Heading { .. }) => Some(Event::Html("<h2>".into())),
        Event::End(TagEnd::Heading(_)) => Some(Event::Html("</h2>\n".into())),
        Event::Start(Tag::Table(_)) => {
            let table = "<div class=\"wide\"><table class=\"claims prose\">";
            Some(Event::Html(table.into()))
        }
        Event::End(TagEnd::Table) => Some(Event::Html("</tbody></table></div>\n".into())),
        Event::Html(text) if !text.contains("details>") => Some(Event::Text(text)),
        Event::InlineHtml(text) => Some(Event::Text(text)),
        other => Some(other),
    });
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, events);
    out
}

/// A page as text for a terminal of `columns` columns.
pub(crate) fn render(page: &str, paint: Paint, columns: usize) -> String {
    let mut screen = Screen::new(paint, columns.min(WIDTH));
    for event in events(page) {
        screen.take(event);
    }
    screen.out
}

/// A terminal to which a page is written.
struct Screen {
    out: String,
    paint: Paint,
    most: usize,
    /// Text of the current block.
    text: String,
    /// Starts of strong text in it.
    strong: Vec<usize>,
    is_heading: bool,
    /// Open lists, each with its next number if it has numbers.
    lists: Vec<Option<u64>>,
    /// Mark of the current item, until it is written.
    mark: String,
    /// Columns by which the current item is indented.
    indent: usize,
    /// Whether the last block was an item of a list.
    is_item: bool,
    rows: Vec<Vec<String>>,
}

impl Screen {
    const fn new(paint: Paint, most: usize) -> Self {
        Self {
            out: String::new(),
            paint,
            most,
            text: String::new(),
            strong: Vec::new(),
            is_heading: false,
            lists: Vec::new(),
            mark: String::new(),
            indent: 0,
            is_item: false,
            rows: Vec::new(),
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::Heading { .. }) => self.is_heading = true,
            Event::Start(Tag::Strong) => self.strong.push(self.text.len()),
            Event::Start(Tag::List(first)) => {
                self.block();
                self.lists.push(first);
            }
            Event::Start(Tag::Item) => self.begin_item(),
            Event::Start(Tag::TableHead | Tag::TableRow) => self.rows.push(Vec::new()),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.text.push_str(&text);
            }
            Event::Code(code) => match self.paint {
                Paint::Colour if !self.is_heading => self.text.push_str(&self.paint.code(&code)),
                _ => _ = write!(self.text, "`{code}`"),
            },
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::Start(Tag::Emphasis) | Event::End(TagEnd::Emphasis) => self.text.push('*'),
            Event::End(TagEnd::Strong) => {
                if let (Some(from), false) = (self.strong.pop(), self.is_heading) {
                    let strong = self.paint.bold(&self.text[from..]);
                    self.text.replace_range(from.., &strong);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                self.is_heading = false;
                let heading = self.paint.bold(&take(&mut self.text));
                self.gap(false);
                line(&mut self.out, &heading);
            }
            Event::End(TagEnd::CodeBlock) => {
                let code = take(&mut self.text);
                self.gap(false);
                for text in code.lines() {
                    line(&mut self.out, format!("    {text}").trim_end());
                }
            }
            Event::End(TagEnd::Paragraph | TagEnd::HtmlBlock) => self.block(),
            Event::End(TagEnd::Item) => {
                self.block();
                self.indent = 0;
            }
            Event::End(TagEnd::List(_)) => _ = self.lists.pop(),
            Event::End(TagEnd::TableCell) => {
                let cell = take(&mut self.text);
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell);
                }
            }
            Event::End(TagEnd::Table) => {
                let rows = take(&mut self.rows);
                self.gap(false);
                self.out.push_str(&table(&rows, self.paint, self.most));
            }
            _ => {}
        }
    }

    fn begin_item(&mut self) {
        let depth = 2 * self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.mark = format!("{:depth$}{mark}", "");
        self.indent = width(&self.mark);
    }

    /// Writes the text of the current block, if there is any.
    fn block(&mut self) {
        let text = take(&mut self.text);
        if text.is_empty() {
            return;
        }
        let mark = take(&mut self.mark);
        self.gap(!mark.is_empty());
        let indent = " ".repeat(self.indent);
        let first = if mark.is_empty() { &indent } else { &mark };
        wrap(&mut self.out, &text, (first, &indent), self.most);
    }

    /// Leaves a line free between blocks, except between items of a list.
    fn gap(&mut self, is_item: bool) {
        let within_list = is_item && self.is_item;
        if !self.out.is_empty() && !within_list {
            self.out.push('\n');
        }
        self.is_item = is_item;
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Writes a text in lines of at most `most` columns, the first after `first`, the others after
/// `others`.
fn wrap(out: &mut String, text: &str, (first, others): (&str, &str), most: usize) {
    let room = most.saturating_sub(width(first));
    for (number, text) in folded(text, room).iter().enumerate() {
        let indent = if number == 0 { first } else { others };
        line(out, &format!("{indent}{text}"));
    }
}

/// Least width of the last column.
const NARROW: usize = 24;

/// A table in columns, with line breaks in the last one. If it is too wide for that, each row
/// becomes a list under its first cell. The first row is the header.
fn table(rows: &[Vec<String>], paint: Paint, most: usize) -> String {
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
        return list(rows, paint, most);
    }
    for (number, row) in rows.iter().enumerate() {
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

/// Each row as a list, each cell after its header.
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
    fn page_is_shown_block_by_block() {
        let page = "# name\n\nOne `word` and\n**another**, see [there](x.md).\n\n    a = b\n\n\
                    - first\n  goes on\n- second\n\n| a | b |\n|---|---|\n| `x\\|y` | long \\* text |\n\n1. one\n   - two\n";
        let expected = "name\n\nOne `word` and another, see there.\n\n    a = b\n\n\
                        - first goes on\n- second\n\na      b\n`x|y`  long * text\n\n\
                        1. one\n  - two\n";
        assert_eq!(render(page, Paint::Plain, WIDTH), expected);
    }

    #[test]
    fn page_becomes_html() {
        let page = "# a < b\n\nOne `x<y>` and **two**, [there](x.md).\n\n- first\n- second\n\n```\nc & d\n```\n\n\
                    | a |\n|---|\n| <b> |\n";
        let expected = "<h2>a &lt; b</h2>\n<p>One <code>x&lt;y&gt;</code> and <strong>two</strong>, there.</p>\n\
                        <ul>\n<li>first</li>\n<li>second</li>\n</ul>\n<pre><code>c &amp; d\n</code></pre>\n\
                        <div class=\"wide\"><table class=\"claims prose\"><thead><tr><th>a</th></tr></thead><tbody>\n\
                        <tr><td>&lt;b&gt;</td></tr>\n</tbody></table></div>\n";
        assert_eq!(html(page), expected);
        assert!(html("<details>\n\na\n\n</details>\n").ends_with("<p>a</p>\n</details>\n"));
    }

    #[test]
    fn lines_fit_the_screen_with_and_without_colours() {
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
    fn wide_letters_take_two_columns_and_combining_marks_none() {
        assert_eq!(width("東京"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(width("\u{1b}[1mECN♯\u{1b}[0m"), 4);
    }

    #[test]
    fn wide_table_becomes_lists() {
        let wide = "x".repeat(60);
        let rows = vec![
            vec!["name".to_owned(), "what".to_owned(), "why".to_owned()],
            vec!["tcn".to_owned(), wide.clone(), wide.clone()],
        ];
        let shown = table(&rows, Paint::Plain, WIDTH);
        assert_eq!(shown, format!("tcn\n  what: {wide}\n  why: {wide}\n"));
    }

    #[test]
    fn unclosed_marks_are_shown_unchanged() {
        for text in ["a ` b", "a ** b", "a [b", "a [b](c", "a \\"] {
            assert_eq!(render(text, Paint::Plain, WIDTH), format!("{text}\n"));
        }
    }
}
