//! The results as tables that fit the screen.

use tidegate_report::page::{self, Group};
use tidegate_results::format::Scale;
use tidegate_results::summary::{Better, Breakdown, Estimate, Extent, Metric, Rank, Summary};

use crate::labels;
use crate::markdown::{folded, width};
use crate::output::Paint;

/// The metrics of the first two tables, if the results have them.
const TABLES: [&[&str]; 2] = [
    &["fct_mean", "fct_small_mean", "fct_small_p99", "fct_large_mean"],
    &["marks", "drops", "timeouts", "unfinished"],
];

/// Those of a class of service, of which the first so many are shown that it has. The share of the
/// goodput is known where flows are observed.
const OF_SERVICE: [&str; 6] = [
    "fct_small_mean",
    "fct_medium_mean",
    "fct_large_mean",
    "goodput_share",
    "byte_share",
    "goodput",
];
/// What is shown of flows of some sizes.
const OF_SIZE: [&str; 4] = ["fct_mean", "fct_p99", "slowdown_mean", "goodput"];
/// What is shown of queues.
const OF_QUEUE: [&str; 4] = ["throughput_share", "queue_mean", "queue_p99", "wait_p99"];
const MOST_METRICS: usize = 4;

/// Classes and queues have no more rows than this: the report has them all.
const MOST_OF_PARTS: usize = 32;

/// Columns stay together if they leave this much for labels.
const LEAST_LABEL: usize = 12;

/// How tables look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) paint: Paint,
    /// The columns of the screen.
    pub(crate) width: usize,
}

/// Tables, and which of their marks need an explanation.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) text: String,
    pub(crate) has_best: bool,
    pub(crate) has_tied: bool,
    pub(crate) has_groups: bool,
}

/// The tables of a summary.
pub(crate) fn tables(summary: &Summary, look: Look) -> Tables {
    let sheet = Sheet::new(summary);
    let mut chosen = TABLES.map(|names| sheet.places(names));
    if chosen[0].is_empty() {
        // Runs without flows that end: whatever there is.
        let others = (0..summary.metrics.len()).filter(|place| !chosen[1].contains(place));
        chosen[0] = others.take(4).collect();
    }
    let mut tables = Tables { has_groups: sheet.sections.len() > 1, ..Tables::default() };
    for places in &chosen {
        tables.add("", &sheet, places, Shown::Interval, look);
    }
    if summary.points.iter().any(|point| point.baseline.is_some()) {
        let title = "relative to the baseline, paired by seed";
        tables.add(title, &sheet, &chosen[0], Shown::Ratio, look);
    }
    let parts = [
        (&summary.sizes, "size", "flow size", &OF_SIZE[..]),
        (&summary.services, "service", "class of service", &OF_SERVICE[..]),
        (&summary.queues, "queue", "queue of the observed ports", &OF_QUEUE[..]),
    ];
    for (breakdown, noun, what, names) in parts {
        let Some(breakdown) = breakdown else {
            continue;
        };
        let sheet = Sheet::of_parts(summary, breakdown, noun);
        if sheet.rows().count() <= MOST_OF_PARTS {
            let title = format!("by {what}; see the report for confidence intervals");
            let mut places = sheet.places(names);
            places.truncate(MOST_METRICS);
            tables.add(&title, &sheet, &places, Shown::Value, look);
        } else {
            let count = breakdown.parts.len();
            let text = format!("See the report for the numbers by {what} ({count} in total).");
            tables.add_line(&look.paint.dim(&text));
        }
    }
    tables
}

impl Tables {
    fn add(&mut self, title: &str, sheet: &Sheet<'_>, places: &[usize], shown: Shown, look: Look) {
        if places.is_empty() {
            return;
        }
        let columns = places.iter().map(|&place| {
            let column = column(sheet, place, shown);
            let is_too_wide = column.width() + LEAST_LABEL + GAP > look.width;
            match shown {
                Shown::Interval if is_too_wide => self::column(sheet, place, Shown::Value),
                _ => column,
            }
        });
        let columns = columns.collect::<Vec<_>>();
        let mut marks = columns.iter().flat_map(|column| &column.marks);
        self.has_best |= marks.clone().any(|mark| *mark == Some(Mark::Best));
        self.has_tied |= marks.any(|mark| *mark == Some(Mark::Tied));
        for (number, block) in blocks(sheet, &columns, look.width).iter().enumerate() {
            if number == 0 && !title.is_empty() {
                self.add_line(&look.paint.dim(title));
            } else {
                self.begin();
            }
            block.write(&mut self.text, sheet, look);
        }
    }

    /// An empty line between tables.
    fn begin(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    fn add_line(&mut self, line: &str) {
        self.begin();
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// Numbers in rows, by what is compared with each other.
struct Sheet<'a> {
    metrics: &'a [Metric],
    sections: Vec<Section<'a>>,
}

/// Rows that are compared with each other.
struct Section<'a> {
    title: Option<String>,
    rows: Vec<Row<'a>>,
    /// Whether one of them can be the best.
    is_ranked: bool,
}

struct Row<'a> {
    name: String,
    estimates: &'a [Option<Estimate>],
}

impl<'a> Sheet<'a> {
    /// The points of a summary.
    fn new(summary: &'a Summary) -> Self {
        let groups = page::groups(summary);
        let points = &summary.points;
        // A number that alone was swept needs no title for each of its values.
        let is_flat = groups.iter().all(|group| group.rows.len() == 1);
        let section = |group: Group| Section {
            rows: group
                .rows
                .into_iter()
                .map(|row| Row { estimates: &points[row.point].estimates, name: row.name })
                .collect(),
            title: group.title,
            is_ranked: true,
        };
        let flat = || Section {
            title: None,
            rows: points
                .iter()
                .map(|point| Row { name: point.label.clone(), estimates: &point.estimates })
                .collect(),
            is_ranked: false,
        };
        Self {
            metrics: &summary.metrics,
            sections: if is_flat {
                vec![flat()]
            } else {
                groups.into_iter().map(section).collect()
            },
        }
    }

    /// The parts of each point, which are called by `noun` and their number.
    fn of_parts(summary: &Summary, breakdown: &'a Breakdown, noun: &str) -> Self {
        let mut sections = Vec::new();
        let Breakdown { metrics, parts } = breakdown;
        for group in page::groups(summary) {
            if let [row] = group.rows.as_slice() {
                let rows = parts
                    .iter()
                    .map(|part| Row { name: part.title(noun), estimates: &part.points[row.point] });
                sections.push(Section {
                    title: group.title,
                    rows: rows.collect(),
                    is_ranked: false,
                });
                continue;
            }
            for part in parts {
                let title = group.title.iter().cloned().chain([part.title(noun)]);
                let rows = group
                    .rows
                    .iter()
                    .map(|row| Row { name: row.name.clone(), estimates: &part.points[row.point] });
                sections.push(Section {
                    title: Some(title.collect::<Vec<_>>().join(", ")),
                    rows: rows.collect(),
                    is_ranked: true,
                });
            }
        }
        Self { metrics, sections }
    }

    /// The places of metrics by their names, as far as they are there.
    fn places(&self, names: &[&str]) -> Vec<usize> {
        let place = |name: &&str| self.metrics.iter().position(|metric| metric.name == *name);
        names.iter().filter_map(place).collect()
    }

    fn rows(&self) -> impl Iterator<Item = &Row<'a>> {
        self.sections.iter().flat_map(|section| &section.rows)
    }
}

impl Row<'_> {
    fn estimate(&self, place: usize) -> Option<Estimate> {
        let estimate = self.estimates.get(place).copied().flatten();
        estimate.filter(|estimate| estimate.value.is_finite())
    }
}

/// What is shown of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// The value, and how far its interval reaches.
    Interval,
    /// The value divided by the baseline's, and how far its interval reaches.
    Ratio,
    /// The value alone.
    Value,
}

/// What is said of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// It is the best of its section beyond doubt.
    Best,
    /// It is one of those that may be the best.
    Tied,
}

/// A metric's column, with what all rows have in it.
struct Column {
    head: String,
    unit: String,
    cells: Vec<String>,
    marks: Vec<Option<Mark>>,
}

/// The space between columns.
const GAP: usize = 2;

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().chain([&self.head, &self.unit]);
        // One for the mark.
        cells.map(|cell| width(cell)).max().unwrap_or(0) + 1
    }
}

fn column(sheet: &Sheet<'_>, place: usize, shown: Shown) -> Column {
    let metric = &sheet.metrics[place];
    let estimates = sheet.rows().map(|row| row.estimate(place));
    let estimates = estimates.collect::<Vec<_>>();
    let scale = match shown {
        Shown::Interval | Shown::Value => Scale::of_largest(
            metric.unit,
            estimates.iter().flatten().map(|estimate| estimate.value),
        ),
        Shown::Ratio => Scale::RATIO,
    };
    let number = |estimate: &Option<Estimate>| {
        let extent = extent(*estimate, shown);
        extent.map_or_else(
            || "-".to_owned(),
            |Extent { value, low, high }| {
                let interval = (low.is_finite() && high.is_finite() && shown != Shown::Value)
                    .then_some((low, high));
                scale.with_interval(value, interval)
            },
        )
    };
    let marks = sheet.sections.iter().flat_map(|section| {
        let own = section.rows.iter();
        let own = own.map(|row| extent(row.estimate(place), shown));
        let better = if section.is_ranked { metric.better } else { Better::Neither };
        marks(better, &own.collect::<Vec<_>>())
    });
    Column {
        head: metric.title.to_owned(),
        unit: scale.unit.clone(),
        cells: estimates.iter().map(number).collect(),
        marks: marks.collect(),
    }
}

fn extent(estimate: Option<Estimate>, shown: Shown) -> Option<Extent> {
    match shown {
        Shown::Interval | Shown::Value => estimate.map(Extent::from),
        Shown::Ratio => estimate?.relative.map(Extent::from),
    }
}

/// What is said of the values of a section.
fn marks(better: Better, extents: &[Option<Extent>]) -> Vec<Option<Mark>> {
    let known = extents.iter().copied().flatten().collect::<Vec<_>>();
    let of = |extent: &Option<Extent>| match Rank::of((*extent)?, better, &known)? {
        Rank::Best => Some(Mark::Best),
        Rank::Tied => Some(Mark::Tied),
        Rank::Behind => None,
    };
    extents.iter().map(of).collect()
}

/// Columns beside each other.
struct Block<'a> {
    columns: &'a [Column],
    labels: Vec<String>,
    /// The columns of the screen that labels have; those that need more get a line of their own.
    room: usize,
}

/// Columns in as few blocks as the screen has room for.
fn blocks<'a>(sheet: &Sheet<'_>, columns: &'a [Column], screen: usize) -> Vec<Block<'a>> {
    let names = sheet.rows().map(|row| row.name.as_str());
    let names = names.collect::<Vec<_>>();
    let longest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let total = |columns: &[Column]| columns.iter().map(|column| column.width() + GAP).sum();
    let free = screen.saturating_sub(total(columns));
    let room = if free >= longest.min(LEAST_LABEL) { free } else { screen / 3 };
    let labels = labels::shortened(&names, room);
    let widths = labels.iter().map(|label| width(label));
    let room = widths.filter(|&width| width <= room).max().unwrap_or(0);
    let mut blocks = Vec::new();
    let mut rest = columns;
    while !rest.is_empty() {
        let fits = |count: &usize| room + total(&rest[..*count]) <= screen;
        let count = (1..=rest.len()).take_while(fits).last().unwrap_or(1);
        let (columns, others) = rest.split_at(count);
        blocks.push(Block { columns, labels: labels.clone(), room });
        rest = others;
    }
    blocks
}

impl Block<'_> {
    fn write(&self, out: &mut String, sheet: &Sheet<'_>, look: Look) {
        let paint = look.paint;
        let head = |column: &Column| format!("{} ", paint.bold(&column.head));
        self.write_row(out, "", self.columns.iter().map(head));
        if self.columns.iter().any(|column| !column.unit.is_empty()) {
            let unit = |column: &Column| format!("{} ", paint.dim(&column.unit));
            self.write_row(out, "", self.columns.iter().map(unit));
        }
        let mut labels = self.labels.iter().enumerate();
        for section in &sheet.sections {
            if let Some(title) = &section.title {
                out.push_str(&paint.dim(title));
                out.push('\n');
            }
            for (number, label) in labels.by_ref().take(section.rows.len()) {
                let cells = self.columns.iter().map(|column| {
                    let cell = &column.cells[number];
                    match column.marks[number] {
                        Some(Mark::Best) => format!("{}*", paint.best(cell)),
                        Some(Mark::Tied) => format!("{}~", paint.tied(cell)),
                        None => format!("{cell} "),
                    }
                });
                if width(label) > self.room {
                    for line in folded(label, look.width) {
                        out.push_str(&line);
                        out.push('\n');
                    }
                    self.write_row(out, "", cells);
                } else {
                    self.write_row(out, label, cells);
                }
            }
        }
    }

    fn write_row(&self, out: &mut String, first: &str, cells: impl Iterator<Item = String>) {
        let space = self.room.saturating_sub(width(first));
        let mut line = format!("{first}{}", " ".repeat(space));
        for (cell, column) in cells.zip(self.columns) {
            let space = (column.width() + GAP).saturating_sub(width(&cell));
            line.push_str(&" ".repeat(space));
            line.push_str(&cell);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests;
