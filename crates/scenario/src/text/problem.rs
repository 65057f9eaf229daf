//! Problems of a scenario, shown with file, line and caret.
//!
//! Written by hand instead of with a diagnostics library: the usual one adds a second version of a
//! crate that terminal libraries use, and only one excerpt of one file is needed.

use std::fmt::{self, Display, Formatter, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A source of settings: a file, or an override from the command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// Name of the file, or `--set`.
    pub(crate) name: String,
    pub(crate) text: String,
    /// Folder that file names are relative to; `None` if the source is not on a disk.
    pub(crate) folder: Option<PathBuf>,
}

impl Source {
    /// A text that is not a file.
    pub(crate) fn new(name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), text: text.to_owned(), folder: None })
    }
}

/// A byte range of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) source: Arc<Source>,
    pub(crate) span: Range<usize>,
}

impl Location {
    /// The whole source.
    pub(crate) fn whole(source: &Arc<Source>) -> Self {
        Self { source: Arc::clone(source), span: 0..source.text.len() }
    }

    /// Whether it lies within another.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source)
            && other.span.start <= self.span.start
            && self.span.end <= other.span.end
    }
}

/// A problem of a scenario, with its location and advice.
///
/// Displayed as plain text:
///
/// ```text
/// unknown key `treshold`
///   --> tcn.toml:4:3
///    |
///  4 |   treshold = "78us"
///    |   ^^^^^^^^
///   help: did you mean `threshold`?
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    message: String,
    loc: Option<Box<Location>>,
    help: Option<String>,
    others: Vec<Self>,
}

impl Problem {
    /// A problem without a location.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), loc: None, help: None, others: Vec::new() }
    }

    /// Appends other problems of the same scenario.
    pub(crate) fn with(mut self, others: Vec<Self>) -> Self {
        self.others.extend(others);
        self
    }

    pub(crate) fn location(&self) -> Option<&Location> {
        self.loc.as_deref()
    }

    /// Adds a location. The first one set stays: it is the most specific.
    pub(crate) fn at(mut self, loc: &Location) -> Self {
        if self.loc.is_none() {
            self.loc = Some(Box::new(loc.clone()));
        }
        self
    }

    /// A problem with some bytes of a text that errors call `name`.
    pub fn in_text(name: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let source = Source { name: name.to_owned(), text: text.to_owned(), folder: None };
        let source = Arc::new(source);
        Self::new(message).at(&Location { source, span })
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Appends a remark to the message.
    pub(crate) fn note(mut self, note: &str) -> Self {
        self.message = format!("{} ({note})", self.message);
        self
    }

    /// Other problems of the same scenario.
    pub fn others(&self) -> &[Self] {
        &self.others
    }

    /// Message in one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Advice: a value that works.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Name of the file, or `--set` for an override.
    pub fn file(&self) -> Option<&str> {
        self.loc.as_ref().map(|loc| loc.source.name.as_str())
    }

    /// Byte range in the text of its file.
    pub fn span(&self) -> Option<Range<usize>> {
        self.loc.as_ref().map(|loc| loc.span.clone())
    }

    /// Line and column, both counted from 1.
    pub fn position(&self) -> Option<(usize, usize)> {
        let loc = self.loc.as_ref()?;
        let excerpt = Excerpt::new(loc);
        Some((excerpt.line, excerpt.column))
    }
}

impl std::error::Error for Problem {}

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(loc) = &self.loc {
            Excerpt::new(loc).write(f)?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        for other in &self.others {
            write!(f, "\n\n{other}")?;
        }
        Ok(())
    }
}

/// First line of a location, with carets below it.
struct Excerpt<'a> {
    name: &'a str,
    line: usize,
    column: usize,
    text: String,
    indent: usize,
    carets: usize,
}

/// Maximum characters of a line that are shown.
const WIDEST: usize = 160;

impl<'a> Excerpt<'a> {
    fn new(loc: &'a Location) -> Self {
        let text = &loc.source.text;
        // Spans come from the parser; a mistake there must not become a panic here.
        let begin = floor(text, loc.span.start);
        let end = floor(text, loc.span.end.max(begin));
        let line_begin = text[..begin].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[begin..].find('\n').map_or(text.len(), |at| begin + at);
        let before = text[line_begin..begin].chars().count();
        let marked = text[begin..end.min(line_end).max(begin)].trim_end();
        let shown = |text: &str| -> String {
            let plain = |c: char| if c.is_control() { ' ' } else { c };
            text.trim_end().chars().map(plain).collect()
        };
        // A long line is cut to the part around the location.
        let from = before.saturating_sub(WIDEST / 2);
        let line: String = shown(&text[line_begin..line_end]);
        let part: String = line.chars().skip(from).take(WIDEST).collect();
        let carets = marked.chars().count().clamp(1, WIDEST - WIDEST / 2);
        Self {
            name: &loc.source.name,
            line: text[..begin].matches('\n').count() + 1,
            column: before + 1,
            text: part,
            indent: before - from,
            carets,
        }
    }

    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        write!(f, "\n {margin}--> {}:{}:{}", self.name, self.line, self.column)?;
        write!(f, "\n {margin} |\n {number} | {}\n {margin} | ", self.text)?;
        (0..self.indent).try_for_each(|_| f.write_char(' '))?;
        (0..self.carets).try_for_each(|_| f.write_char('^'))
    }
}

/// Last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The name among `known` that is most similar to `word`, if similar enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| {
        let text = text.to_ascii_lowercase().replace('-', "_");
        text.replace(['#', '♯'], "_sharp")
    };
    let word = plain(word);
    // No setting has a longer name.
    if word.len() > 64 {
        return None;
    }
    let allowed = 1 + word.chars().count() / 4;
    let distances = known.into_iter().map(|name| (strsim::osa_distance(&word, &plain(name)), name));
    let close = distances.filter(|&(distance, _)| distance <= allowed);
    close.min_by_key(|&(distance, _)| distance).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loc(text: &str, span: Range<usize>) -> Location {
        let source = Source::new("a.toml", text);
        Location { source, span }
    }

    #[test]
    fn a_problem_shows_line_caret_and_advice() {
        let text = "[switch]\nmarkin = 1\n";
        let problem = Problem::new("unknown key `markin`")
            .at(&loc(text, 9..15))
            .at(&loc(text, 0..3))
            .help("did you mean `marking`?");
        let expected = [
            "unknown key `markin`",
            "  --> a.toml:2:1",
            "   |",
            " 2 | markin = 1",
            "   | ^^^^^^",
            "  help: did you mean `marking`?",
        ];
        assert_eq!(problem.to_string(), expected.join("\n"));
        assert_eq!(problem.position(), Some((2, 1)));
    }

    #[test]
    fn locations_beyond_the_text_or_inside_a_character_do_not_panic() {
        let backwards = Range { start: 3, end: 1 };
        for span in [0..0, 100..200, 1..2, backwards] {
            let shown = Problem::new("x").at(&loc("♯♯\n", span)).to_string();
            assert!(shown.contains('^'), "{shown}");
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_location() {
        let text = format!("{}key = 1{}", " ".repeat(500), "x".repeat(500));
        let shown = Problem::new("x").at(&loc(&text, 500..503)).to_string();
        assert!(shown.lines().all(|line| line.len() <= WIDEST + 8));
        assert!(shown.ends_with("^^^"));
    }

    #[test]
    fn the_nearest_name_is_near() {
        let known = ["threshold", "min_threshold", "target", "interval"];
        assert_eq!(nearest("treshold", known), Some("threshold"));
        assert_eq!(nearest("thresohld", known), Some("threshold"));
        assert_eq!(nearest("min-threshold", known), Some("min_threshold"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"x".repeat(65), known), None);
    }
}
