//! Tables of results that fit the screen.

use tidegate_report::page::{self, Group};
use tidegate_results::format::Scale;
use tidegate_results::summary::{Better, Breakdown, Estimate, Extent, Metric, Rank, Summary};

use super::Paint;
use super::labels;
use crate::text::{folded, width};

/// Metrics of the first two tables, as far as the results have them.
const TABLES: [&[&str]; 2] = [
    &["fct_mean", "fct_small_mean", "fct_small_p99", "fct_large_mean"],
    &["marks", "drops", "timeouts", "unfinished"],
];

/// Metrics by class of service; only the first [`MOST_METRICS`] of them are shown. Goodput shares
/// need observed flows.
const OF_SERVICE: [&str; 6] = [
    "fct_small_mean",
    "fct_medium_mean",
    "fct_large_mean",
    "goodput_share",
    "byte_share",
    "goodput",
];
/// Metrics by flow size.
const OF_SIZE: [&str; 4] = ["fct_mean", "fct_p99", "slowdown_mean", "goodput"];
/// Metrics by queue.
const OF_QUEUE: [&str; 4] = ["throughput_share", "queue_mean", "queue_p99", "wait_p99"];
const MOST_METRICS: usize = 4;

/// Maximum rows of classes and queues. The report has all.
const MOST_OF_PARTS: usize = 32;

/// Columns stay together if labels get at least this width.
const LEAST_LABEL: usize = 12;

/// Layout of tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableLayout {
    pub(super) paint: Paint,
    /// Columns of the screen.
    pub(super) width: usize,
}

/// Tables, and the marks that need an explanation.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) text: String,
    pub(super) has_best: bool,
    pub(super) has_tied: bool,
    pub(super) has_groups: bool,
}

/// The tables of a summary.
pub(super) fn tables(summary: &Summary, look: TableLayout) -> Tables {
    let sheet = Sheet::new(summary);
    let mut chosen = TABLES.map(|names| sheet.places(names));
    if chosen[0].is_empty() {
        // Runs without finite flows: other metrics.
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
    fn add(
        &mut self,
        title: &str,
        sheet: &Sheet<'_>,
        places: &[usize],
        shown: Shown,
        look: TableLayout,
    ) {
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

    /// Adds an empty line between tables.
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

/// Rows of numbers, in sections whose rows are compared.
struct Sheet<'a> {
    metrics: &'a [Metric],
    sections: Vec<Section<'a>>,
}

/// Rows that are compared.
struct Section<'a> {
    title: Option<String>,
    rows: Vec<Row<'a>>,
    /// Whether the best row is marked.
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
        // A single swept number needs no title for each value.
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

    /// The parts of each point, named by `noun` and number.
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

    /// Indices of the named metrics that exist.
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

/// Form in which an estimate is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// Value and half its interval.
    Interval,
    /// Ratio to the baseline and half its interval.
    Ratio,
    /// Value alone.
    Value,
}

/// Mark of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// Best of its section.
    Best,
    /// Tied with the best: the intervals overlap.
    Tied,
}

/// Column of a metric.
struct Column {
    head: String,
    unit: String,
    cells: Vec<String>,
    marks: Vec<Option<Mark>>,
}

/// Space between columns.
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

/// Marks of the values of a section.
fn marks(better: Better, extents: &[Option<Extent>]) -> Vec<Option<Mark>> {
    let known = extents.iter().copied().flatten().collect::<Vec<_>>();
    let of = |extent: &Option<Extent>| match Rank::of((*extent)?, better, &known)? {
        Rank::Best => Some(Mark::Best),
        Rank::Tied => Some(Mark::Tied),
        Rank::Behind => None,
    };
    extents.iter().map(of).collect()
}

/// Columns side by side.
struct Block<'a> {
    columns: &'a [Column],
    labels: Vec<String>,
    /// Width of labels; wider ones get their own line.
    room: usize,
}

/// Splits columns into as few blocks as fit the screen.
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
    fn write(&self, out: &mut String, sheet: &Sheet<'_>, look: TableLayout) {
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
