//! A chart in characters: lines in braille dots with a letter at each point, readable without
//! colour.

use std::fmt::Write;

use tidegate_results::format::{Prefix, quantity};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::layout::{along_scale, value_scale};
use super::palette::COLOURS;
use super::scale::AxisScale;
use super::{Chart, Kind, Line, Scale};

/// Whether to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// With escape sequences.
    Ansi,
    /// Plain text.
    None,
}

/// Rows of a chart with two numeric axes.
const ROWS: usize = 16;
/// The palette's colours as terminal colour numbers.
const CODES: [u8; COLOURS] = [32, 166, 36, 169, 74, 172, 245, 131];
const NARROWEST: usize = 40;

/// The chart in lines of at most `width` characters.
pub fn terminal(chart: &Chart, width: usize, colour: Colour) -> String {
    let width = width.max(NARROWEST);
    let mut out = String::new();
    let title =
        if chart.is_horizontal() { value_scale(chart, 5).title } else { chart.title.clone() };
    push_line(&mut out, &fitted(&title, width));
    match chart.kind {
        _ if chart.is_empty() => push_line(&mut out, "(nothing to show)"),
        Kind::Bars => bars(&mut out, chart, width, colour),
        Kind::Dots => dots(&mut out, chart, width, colour),
        Kind::Cdf | Kind::Curves | Kind::Trace => lines(&mut out, chart, width, colour),
    }
    out
}

/// A grid of characters that show dots, a letter, or nothing.
struct Canvas {
    columns: usize,
    rows: usize,
    /// Dots of a cell, in the order of Unicode's braille patterns.
    dots: Vec<u8>,
    letters: Vec<Option<char>>,
    /// Line that drew last.
    hues: Vec<usize>,
}

impl Canvas {
    fn new(columns: usize, rows: usize) -> Self {
        let cells = columns * rows;
        Self {
            columns,
            rows,
            dots: vec![0; cells],
            letters: vec![None; cells],
            hues: vec![0; cells],
        }
    }

    /// The dot at a position from 0 to 1, from the bottom left.
    fn dot(&self, (x, y): (f64, f64)) -> (i64, i64) {
        let across = (x.clamp(0.0, 1.0) * (2 * self.columns - 1) as f64).round() as i64;
        let down = ((1.0 - y.clamp(0.0, 1.0)) * (4 * self.rows - 1) as f64).round() as i64;
        (across, down)
    }

    fn set(&mut self, (x, y): (i64, i64), hue: usize) {
        // Unicode numbers the upper six dots down the columns, then the lowest two.
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let (x, y) = (x as usize, y as usize);
        let cell = (y / 4) * self.columns + x / 2;
        if let Some(dots) = self.dots.get_mut(cell) {
            *dots |= BITS[x % 2][y % 4];
            self.hues[cell] = hue;
        }
    }

    fn stroke(&mut self, from: (f64, f64), to: (f64, f64), hue: usize) {
        let (from, to) = (self.dot(from), self.dot(to));
        let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).max(1);
        for step in 0..=steps {
            let between =
                |a: i64, b: i64| a + ((b - a) * step + (b - a).signum() * steps / 2) / steps;
            self.set((between(from.0, to.0), between(from.1, to.1)), hue);
        }
    }

    /// Writes a letter, or a star over another letter.
    fn letter(&mut self, at: (f64, f64), letter: char, hue: usize) {
        let (x, y) = self.dot(at);
        let cell = (y / 4) as usize * self.columns + (x / 2) as usize;
        if let Some(place) = self.letters.get_mut(cell) {
            *place = Some(if place.is_none_or(|there| there == letter) { letter } else { '*' });
            self.hues[cell] = hue;
        }
    }

    fn row(&self, row: usize, colour: Colour) -> String {
        let mut out = String::new();
        for cell in row * self.columns..(row + 1) * self.columns {
            match (self.letters[cell], self.dots[cell]) {
                (Some(letter), _) => {
                    painted(&mut out, &letter.to_string(), self.hues[cell], colour);
                }
                (None, 0) => out.push(' '),
                (None, dots) => {
                    let pattern = char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ');
                    painted(&mut out, &pattern.to_string(), self.hues[cell], colour);
                }
            }
        }
        out.trim_end().to_owned()
    }
}

/// A chart with two numeric axes.
fn lines(out: &mut String, chart: &Chart, width: usize, colour: Colour) {
    let y = value_scale(chart, 4);
    let labels = y.ticks.iter().map(|tick| tick.label.width());
    let margin = labels.max().unwrap_or(0) + 2;
    let columns = width - margin - 1;
    let x = along_scale(chart, (columns / 12).clamp(2, 6));
    let mut canvas = Canvas::new(columns, ROWS);
    for (number, line) in chart.lines.iter().enumerate() {
        draw(&mut canvas, chart.kind, line, (&x, &y), (number, chart.lines.len()));
    }
    push_line(out, &fitted(&format!("{:>margin$}{}", "", y.title), width));
    let tick_rows: Vec<(usize, &str)> = y
        .ticks
        .iter()
        .map(|tick| (canvas.dot((0.0, y.position(tick.at))).1 as usize / 4, tick.label.as_str()))
        .collect();
    for row in 0..ROWS {
        let label = tick_rows.iter().find(|(at, _)| *at == row);
        let (text, edge) = label.map_or(("", '│'), |(_, text)| (*text, '┤'));
        let gap = margin - 1;
        push_line(out, &format!("{text:>gap$} {edge}{}", canvas.row(row, colour)));
    }
    let mut edge: Vec<char> = vec!['─'; columns];
    let mut names = vec![' '; columns];
    let mut free = 0;
    for tick in &x.ticks {
        let at = canvas.dot((x.position(tick.at), 0.0)).0 as usize / 2;
        edge[at] = '┬';
        let length = tick.label.chars().count();
        let begin = at.saturating_sub(length / 2).min(columns.saturating_sub(length));
        if begin >= free && length <= columns {
            names[begin..begin + length]
                .iter_mut()
                .zip(tick.label.chars())
                .for_each(|(to, from)| *to = from);
            free = begin + length + 1;
        }
    }
    push_line(out, &format!("{:>margin$}└{}", "", edge.iter().collect::<String>()));
    push_line(out, &format!("{:>margin$} {}", "", names.iter().collect::<String>()));
    let title = fitted(&x.title, columns);
    let indent = margin + 1 + (columns - title.width()) / 2;
    push_line(out, &format!("{:>indent$}{title}", ""));
    legend(out, chart, width, colour);
}

fn draw(
    canvas: &mut Canvas,
    kind: Kind,
    line: &Line,
    (x, y): (&AxisScale, &AxisScale),
    (number, count): (usize, usize),
) {
    let place = |mark: &super::Mark| {
        let at = (x.position(mark.x), y.position(mark.y));
        (at.0.is_finite() && at.1.is_finite()).then_some(at)
    };
    let points: Vec<Option<(f64, f64)>> = line.marks.iter().map(place).collect();
    for pair in points.windows(2) {
        if let [Some(from), Some(to)] = pair {
            if kind == Kind::Cdf {
                canvas.stroke(*from, (to.0, from.1), line.hue);
                canvas.stroke((to.0, from.1), *to, line.hue);
            } else {
                canvas.stroke(*from, *to, line.hue);
            }
        }
    }
    let letter = letter(number);
    let points: Vec<(f64, f64)> = points.into_iter().flatten().collect();
    if kind == Kind::Curves || points.len() < 8 {
        for at in points {
            canvas.letter(at, letter, line.hue);
        }
        return;
    }
    // Long lines get two letters each, at positions free of other lines.
    for half in [0.0, 0.5] {
        let share = half + (number as f64 + 0.5) / count as f64 / 2.0;
        let wanted = 0.05 + 0.9 * share;
        let by = |at: &(f64, f64)| if kind == Kind::Cdf { at.1 } else { at.0 };
        let nearest =
            points.iter().min_by(|a, b| (by(a) - wanted).abs().total_cmp(&(by(b) - wanted).abs()));
        if let Some(at) = nearest {
            canvas.letter(*at, letter, line.hue);
        }
    }
}

/// A point with its interval at each name.
fn dots(out: &mut String, chart: &Chart, width: usize, colour: Colour) {
    let x = value_scale(chart, 4);
    let Scale::Names(names) = &chart.x.scale else {
        return;
    };
    let margin = widest(names).min(width / 3) + 1;
    let figures = 22;
    let columns = width - margin - figures;
    let cell = |value: f64| (x.position_within(value) * (columns - 1) as f64).round() as usize;
    for (place, name) in names.iter().enumerate() {
        for line in &chart.lines {
            for mark in
                line.marks.iter().filter(|mark| mark.x as usize == place && mark.y.is_finite())
            {
                let (low, high) = mark.interval.unwrap_or((mark.y, mark.y));
                let (low, at, high) = (cell(low), cell(mark.y), cell(high));
                let row: String = (0..columns)
                    .map(|column| match column {
                        _ if column == at => '●',
                        _ if column == low => '├',
                        _ if column == high => '┤',
                        _ if column > low && column < high => '─',
                        _ => ' ',
                    })
                    .collect();
                out.push_str(&padded(&fitted(name, margin - 1), margin));
                painted(out, &row, line.hue, colour);
                push_line(out, &format!(" {}", estimate(mark, chart.y.unit)));
            }
        }
    }
    write_scale(out, &x, margin, columns);
}

/// Bars at each name.
fn bars(out: &mut String, chart: &Chart, width: usize, colour: Colour) {
    let x = value_scale(chart, 4);
    let Scale::Names(names) = &chart.x.scale else {
        return;
    };
    let margin = widest(names).min(width / 3) + 1;
    let figures = 12;
    let several = chart.lines.len() > 1;
    let columns = width - margin - figures - if several { 2 } else { 0 };
    for (place, name) in names.iter().enumerate() {
        let mut name = fitted(name, margin - 1);
        for (number, line) in chart.lines.iter().enumerate() {
            for mark in
                line.marks.iter().filter(|mark| mark.x as usize == place && mark.y.is_finite())
            {
                // Eighths of a cell, the finest steps in Unicode.
                let eighths = (x.position_within(mark.y) * (8 * columns) as f64).round() as u32;
                let mut bar = "█".repeat(eighths as usize / 8);
                bar.extend(
                    char::from_u32(0x2590 - eighths % 8).filter(|_| !eighths.is_multiple_of(8)),
                );
                out.push_str(&padded(&name, margin));
                name.clear();
                if several {
                    painted(out, &format!("{} ", letter(number)), line.hue, colour);
                }
                painted(out, &bar, line.hue, colour);
                push_line(out, &format!(" {}", quantity(mark.y, chart.y.unit)));
            }
        }
    }
    if several {
        legend(out, chart, width, colour);
    }
}

/// The numbers below a horizontal axis.
fn write_scale(out: &mut String, scale: &AxisScale, margin: usize, columns: usize) {
    let mut names = vec![' '; columns + 8];
    let mut free = 0;
    for tick in &scale.ticks {
        let at = (scale.position_within(tick.at) * (columns - 1) as f64).round() as usize;
        let begin = at.saturating_sub(tick.label.chars().count() / 2);
        let end = begin + tick.label.chars().count();
        if begin >= free && end <= names.len() {
            names[begin..end].iter_mut().zip(tick.label.chars()).for_each(|(to, from)| *to = from);
            free = end + 1;
        }
    }
    push_line(out, &format!("{:>margin$}{}", "", names.iter().collect::<String>()));
}

fn legend(out: &mut String, chart: &Chart, width: usize, colour: Colour) {
    let mut used = 0;
    for (number, line) in chart.lines.iter().enumerate().filter(|_| chart.lines.len() > 1) {
        let name = fitted(&line.name, width.saturating_sub(6));
        let length = name.width() + 4;
        if used > 0 && used + length > width {
            out.push('\n');
            used = 0;
        }
        painted(out, &format!("  {}", letter(number)), line.hue, colour);
        let _ = write!(out, " {name}");
        used += length;
    }
    if used > 0 {
        out.push('\n');
    }
}

/// The value and half of its interval, both with the unit of the value.
fn estimate(mark: &super::Mark, unit: &'static str) -> String {
    let Some((low, high)) = mark.interval.filter(|(low, high)| high > low) else {
        return quantity(mark.y, unit);
    };
    let prefix = Prefix::of_unit(unit, mark.y);
    let [value, half] = [mark.y, (high - low) / 2.0].map(|part| prefix.number(part));
    prefix.after(&format!("{value} ± {half}"))
}

fn painted(out: &mut String, text: &str, hue: usize, colour: Colour) {
    let _ = match colour {
        Colour::Ansi => write!(out, "\x1b[38;5;{}m{text}\x1b[0m", CODES[hue % COLOURS]),
        Colour::None => write!(out, "{text}"),
    };
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The letter of a line: A to Z, a to z, then repeated.
fn letter(number: usize) -> char {
    let letters = ('A'..='Z').chain('a'..='z');
    letters.cycle().nth(number % 52).unwrap_or('?')
}

fn widest(names: &[String]) -> usize {
    names.iter().map(|name| name.width()).max().unwrap_or(0)
}

/// The text without control characters, cut to a width.
fn fitted(text: &str, width: usize) -> String {
    let clean = text.chars().map(|letter| if letter.is_control() { '?' } else { letter });
    let clean: String = clean.collect();
    if clean.width() <= width {
        return clean;
    }
    let mut free = width.saturating_sub(1);
    let fits = |letter: &char| {
        let columns = letter.width().unwrap_or(0);
        let fits = columns <= free;
        free = free.saturating_sub(columns);
        fits
    };
    let kept: String = clean.chars().take_while(fits).collect();
    format!("{kept}…")
}

/// The text padded to a width; letters may be two columns wide.
fn padded(text: &str, width: usize) -> String {
    let space = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(space))
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Mark, Origin};
    use super::*;

    fn chart(kind: Kind, x: Axis) -> Chart {
        let line = |(hue, name): (usize, &str)| Line {
            origin: Origin::Measured,
            name: name.to_owned(),
            hue,
            marks: (0..3)
                .map(|place| {
                    let (x, y) = (f64::from(place), f64::from(place) * (2.0 + hue as f64) * 1e-4);
                    let interval = Some((0.9 * y, 1.1 * y));
                    Mark { interval, ..Mark::new(x, y) }
                })
                .collect(),
        };
        Chart {
            id: "test".to_owned(),
            title: "small p99".to_owned(),
            kind,
            x,
            y: Axis::linear("small p99", "s"),
            lines: ["tcn", "codel"].into_iter().enumerate().map(line).collect(),
            notes: Vec::new(),
            commands: Vec::new(),
        }
    }

    #[test]
    fn every_kind_of_chart_keeps_its_width() {
        let names = || Axis::names("", ["one", "two", "three"].map(str::to_owned).into());
        let charts = [
            chart(Kind::Curves, Axis::linear("load", "")),
            chart(Kind::Cdf, Axis::linear("load", "")),
            chart(Kind::Trace, Axis::linear("time", "s")),
            chart(Kind::Dots, names()),
            chart(Kind::Bars, names()),
        ];
        for chart in charts {
            for width in [0, 40, 80, 200] {
                let text = terminal(&chart, width, Colour::None);
                let longest = text.lines().map(|line| line.chars().count()).max();
                assert!(longest <= Some(width.max(NARROWEST)), "{:?} {width}:\n{text}", chart.kind);
                assert!(!text.contains('\x1b'));
                let coloured = terminal(&chart, width, Colour::Ansi);
                assert!(coloured.contains("\x1b[38;5;32m") && coloured.contains("\x1b[0m"));
            }
        }
    }

    #[test]
    fn lines_are_distinguished_without_colour() {
        let chart = chart(Kind::Curves, Axis::linear("load", ""));
        let text = terminal(&chart, 60, Colour::None);
        assert_eq!(text.matches('A').count(), 3, "two points and the legend:\n{text}");
        assert_eq!(text.matches('B').count(), 3, "{text}");
        assert_eq!(text.matches('*').count(), 1, "the point that both share:\n{text}");
        assert!(text.contains("small p99 (µs)") && text.contains("A tcn"), "{text}");
    }

    #[test]
    fn a_chart_without_data_is_labelled() {
        let mut chart = chart(Kind::Curves, Axis::linear("load", ""));
        chart.lines.clear();
        assert!(terminal(&chart, 80, Colour::None).contains("nothing to show"));
    }

    #[test]
    fn wide_letters_take_two_columns() {
        assert_eq!(fitted("東京都庁", 5), "東京…");
        assert_eq!(fitted("東京都庁", 8), "東京都庁");
        assert_eq!(padded("東京", 6), "東京  ");
        let names = ["東京", "two", "three"].map(str::to_owned);
        let text = terminal(&chart(Kind::Dots, Axis::names("", names.into())), 40, Colour::None);
        // At the first name, both lines have a point at zero.
        let begins = text.lines().filter_map(|line| line.split_once('●'));
        let begins: Vec<usize> = begins.map(|(before, _)| before.width()).collect();
        assert_eq!(begins[0], "three ".len(), "{text}");
        assert_eq!(begins[0], begins[1], "{text}");
    }

    #[test]
    fn names_cannot_send_control_sequences() {
        let mut chart = chart(Kind::Curves, Axis::linear("load", ""));
        chart.title = "\x1b[2J".to_owned();
        chart.lines[0].name = "a\nb".to_owned();
        let text = terminal(&chart, 80, Colour::None);
        assert!(!text.contains('\x1b') && text.contains("a?b"), "{text}");
    }
}
