//! Comparisons on a terminal: tables and a plot.

pub mod labels;
mod table;

use std::fmt::Write;

use tidegate_report::plot::{self, Chart, Colour};
use tidegate_results::{RecordedFlow, Summary};

use self::labels::shortened;
use self::table::{TableLayout, Tables};
use crate::Comparison;
use crate::text::{count, folded};

/// Whether text has colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Without colors.
    Plain,
    /// With ANSI colors.
    Colour,
}

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }

    /// Bold text.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Less visible text.
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Names and code.
    pub fn code(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// The best value.
    pub fn best(self, text: &str) -> String {
        self.wrap("1;32", text)
    }

    /// Values that tie with the best.
    pub fn tied(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Warnings.
    pub fn warning(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// Errors.
    pub fn error(self, text: &str) -> String {
        self.wrap("1;31", text)
    }
}

/// The tables and a plot of a comparison, for a terminal of so many columns.
pub fn show(comparison: &Comparison<impl RecordedFlow>, paint: Paint, width: usize) -> String {
    let tables = table::tables(&comparison.summary, TableLayout { paint, width });
    let mut text = String::new();
    for line in folded(&comparison.title, width) {
        _ = writeln!(text, "{}", paint.bold(&line));
    }
    for line in folded(&legend(&comparison.summary, &tables), width) {
        _ = writeln!(text, "{}", paint.dim(&line));
    }
    text.push('\n');
    text.push_str(&tables.text);
    if let Some(mut chart) = comparison.chart() {
        let colour = match paint {
            Paint::Plain => Colour::None,
            Paint::Colour => Colour::Ansi,
        };
        shorten_names(&mut chart, width);
        text.push('\n');
        text.push_str(plot::terminal(&chart, width, colour).trim_end());
        text.push('\n');
    }
    text
}

/// The line that explains the tables.
fn legend(summary: &Summary, tables: &Tables) -> String {
    let runs = || summary.points.iter().map(|point| point.runs as usize);
    let (least, most) = (runs().min().unwrap_or(0), runs().max().unwrap_or(0));
    let runs = if least == most { count(most, "run") } else { format!("{least} to {most} runs") };
    let mut legend = format!("{runs} per point; ± is half of a 95 % confidence interval");
    if tables.has_best {
        let among = if tables.has_groups { "group" } else { "column" };
        _ = write!(legend, "; * is the best in its {among}");
    }
    if tables.has_tied {
        legend.push_str("; ~ ties with the best (95 % intervals overlap)");
    }
    legend
}

/// Shortens the names of a plot's lines and rows to a third of the screen.
fn shorten_names(chart: &mut Chart, width: usize) {
    let room = width / 3;
    if let plot::Scale::Names(names) = &mut chart.x.scale {
        let whole = names.iter().map(String::as_str).collect::<Vec<_>>();
        *names = shortened(&whole, room);
    }
    let whole = chart.lines.iter().map(|line| line.name.as_str());
    let names = shortened(&whole.collect::<Vec<_>>(), room);
    for (line, name) in chart.lines.iter_mut().zip(names) {
        line.name = name;
    }
}
