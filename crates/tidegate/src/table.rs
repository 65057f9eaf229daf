//! The results as a table of at most 80 columns.

use tidegate_report::summary::{Better, Estimate, Metric, Point, Summary};

use crate::markdown::{WIDTH, width};
use crate::output::Paint;

/// The metrics of the first two blocks, if the results have them.
const BLOCKS: [&[&str]; 2] = [
    &[
        "fct_mean",
        "fct_small_mean",
        "fct_small_p99",
        "fct_large_mean",
    ],
    &["marks", "drops", "timeouts", "unfinished"],
];

/// Labels are cut to what the columns leave, but never to less than this.
const LEAST_LABEL: usize = 12;

/// The table of a summary.
pub(crate) fn table(summary: &Summary, paint: Paint) -> String {
    let mut blocks = Vec::new();
    for names in BLOCKS {
        let places = names.iter().filter_map(|name| {
            summary
                .metrics
                .iter()
                .position(|metric| metric.name == *name)
        });
        blocks.push(places.collect::<Vec<_>>());
    }
    if blocks[0].is_empty() {
        // Runs without flows that end: whatever there is.
        let others = (0..summary.metrics.len()).filter(|place| !blocks[1].contains(place));
        blocks[0] = others.take(4).collect();
    }
    let mut parts = Vec::new();
    for places in blocks.iter().filter(|places| !places.is_empty()) {
        let with_intervals = block(summary, places, Shown::Interval, paint);
        let part = with_intervals.or_else(|| block(summary, places, Shown::Value, paint));
        parts.extend(part);
    }
    if summary.points.iter().any(|point| point.baseline.is_some()) {
        let title = paint.dim("divided by the baseline's, seed by seed");
        let ratios = block(summary, &blocks[0], Shown::Ratio, paint);
        parts.extend(ratios.map(|ratios| format!("{title}\n{ratios}")));
    }
    parts.join("\n")
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

/// A metric's column.
struct Column {
    head: String,
    unit: String,
    cells: Vec<String>,
    /// The best points, if there is a choice.
    best: Vec<bool>,
}

/// A block of columns, or `None` if it is wider than the screen and could be narrower.
fn block(summary: &Summary, places: &[usize], shown: Shown, paint: Paint) -> Option<String> {
    let mut out = String::new();
    let columns = places
        .iter()
        .map(|&place| column(summary, place, shown))
        .collect::<Vec<_>>();
    let points = &summary.points;
    let longest = points.iter().map(|point| point.label.chars().count()).max();
    let widths = columns.iter().map(Column::width).collect::<Vec<_>>();
    let room = WIDTH.saturating_sub(widths.iter().map(|width| width + 2).sum());
    if room < LEAST_LABEL && shown == Shown::Interval {
        return None;
    }
    let label = longest.unwrap_or(0).min(room.max(LEAST_LABEL));
    let mut row = |first: &str, cells: &mut dyn Iterator<Item = String>| {
        let mut line = format!("{first}{}", " ".repeat(label.saturating_sub(width(first))));
        for (cell, most) in cells.zip(&widths) {
            line.push_str(&" ".repeat((most + 2).saturating_sub(width(&cell))));
            line.push_str(&cell);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    };
    row(
        "",
        &mut columns
            .iter()
            .map(|column| format!("{} ", paint.bold(&column.head))),
    );
    if columns.iter().any(|column| !column.unit.is_empty()) {
        row(
            "",
            &mut columns
                .iter()
                .map(|column| format!("{} ", paint.dim(&column.unit))),
        );
    }
    for (number, point) in points.iter().enumerate() {
        let cells = columns.iter().map(|column| {
            let cell = &column.cells[number];
            match (column.best[number], paint) {
                (true, Paint::Plain) => format!("{cell}*"),
                (true, Paint::Colour) => format!("{} ", paint.best(cell)),
                (false, _) => format!("{cell} "),
            }
        });
        row(&cut(&point.label, label), &mut cells.into_iter());
    }
    Some(out)
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().chain([&self.head, &self.unit]);
        // One for the star.
        cells.map(|cell| width(cell)).max().unwrap_or(0) + 1
    }
}

fn column(summary: &Summary, place: usize, shown: Shown) -> Column {
    let metric = &summary.metrics[place];
    let of = |point: &Point| point.estimates.get(place).copied().flatten();
    let estimates = summary.points.iter().map(of).collect::<Vec<_>>();
    let scale = match shown {
        Shown::Interval | Shown::Value => Scale::new(metric, &estimates),
        Shown::Ratio => Scale::RATIO,
    };
    let number = |estimate: &Option<Estimate>| {
        let known = match (shown, *estimate) {
            (_, None) => None,
            (Shown::Interval, Some(found)) => Some((found.value, found.interval())),
            (Shown::Ratio, Some(found)) => found
                .relative
                .map(|relative| (relative.ratio, relative.interval())),
            (Shown::Value, Some(found)) => Some((found.value, None)),
        };
        known.map_or_else(
            || "-".to_owned(),
            |(value, interval)| scale.show(value, interval),
        )
    };
    Column {
        head: metric.title.to_owned(),
        unit: scale.unit.to_owned(),
        cells: estimates.iter().map(number).collect(),
        best: best(metric, &estimates),
    }
}

/// Which points have the best value. None, if all have the same or there is only one.
fn best(metric: &Metric, estimates: &[Option<Estimate>]) -> Vec<bool> {
    let values = || estimates.iter().flatten().map(|estimate| estimate.value);
    let (least, most) = (values().reduce(f64::min), values().reduce(f64::max));
    let best = match metric.better {
        Better::Higher => most,
        Better::Lower => least,
        Better::Neither => None,
    };
    let differ = least < most;
    let is_best = |estimate: &Option<Estimate>| {
        let value = estimate.map(|estimate| estimate.value);
        differ && value.is_some() && value == best
    };
    estimates.iter().map(is_best).collect()
}

/// The unit of a column and how many digits it needs.
struct Scale {
    unit: &'static str,
    factor: f64,
    digits: usize,
}

impl Scale {
    fn new(metric: &Metric, estimates: &[Option<Estimate>]) -> Self {
        let values = estimates
            .iter()
            .flatten()
            .map(|estimate| estimate.value.abs());
        let largest = values.fold(0.0, f64::max);
        let (unit, factor) = match metric.unit {
            "s" if largest < 1e-3 => ("µs", 1e6),
            "s" if largest < 1.0 => ("ms", 1e3),
            "bit/s" if largest >= 1e9 => ("Gbit/s", 1e-9),
            "bit/s" if largest >= 1e6 => ("Mbit/s", 1e-6),
            "B" if largest >= 1e4 => ("KB", 1e-3),
            "" if largest >= 1e6 => ("million", 1e-6),
            "" if largest >= 1e4 => ("thousand", 1e-3),
            unit => (unit, 1.0),
        };
        // Four figures of the largest value, but no part of a thing that is counted in whole.
        let mut counts = estimates.iter().flatten().map(|estimate| estimate.value);
        let is_count = unit.is_empty() && counts.all(|value| value.fract() == 0.0);
        let digits = match largest * factor {
            value if value >= 1000.0 || is_count => 0,
            value if value >= 100.0 => 1,
            value if value >= 10.0 => 2,
            _ => 3,
        };
        Self {
            unit,
            factor,
            digits,
        }
    }

    /// Of ratios to a baseline.
    const RATIO: Self = Self {
        unit: "",
        factor: 1.0,
        digits: 3,
    };

    /// A value, and half of its interval.
    fn show(&self, value: f64, interval: Option<(f64, f64)>) -> String {
        let number = |value: f64| format!("{:.*}", self.digits, value * self.factor);
        match interval.map(|(low, high)| (high - low) / 2.0) {
            Some(half) if half > 0.0 => format!("{} ±{}", number(value), number(half)),
            _ => number(value),
        }
    }
}

/// A label in so many columns.
fn cut(label: &str, most: usize) -> String {
    if label.chars().count() <= most {
        return label.to_owned();
    }
    let kept = label
        .chars()
        .take(most.saturating_sub(1))
        .collect::<String>();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use tidegate_report::summary::{Method, Relative};

    use super::*;

    const TIME: Metric = Metric {
        name: "fct_mean",
        title: "overall mean",
        unit: "s",
        better: Better::Lower,
    };

    #[expect(clippy::unnecessary_wraps, reason = "a summary holds them so")]
    fn estimate(value: f64, reach: f64, ratio: Option<f64>) -> Option<Estimate> {
        Some(Estimate {
            value,
            low: value - reach * 1.5,
            high: value + reach * 0.5,
            method: Method::Runs,
            samples: 3,
            relative: ratio.map(|ratio| Relative {
                ratio,
                low: f64::NAN,
                high: f64::NAN,
                method: Method::None,
            }),
        })
    }

    fn point(label: &str, estimates: Vec<Option<Estimate>>) -> Point {
        let is_compared = estimates
            .iter()
            .flatten()
            .any(|found| found.relative.is_some());
        Point {
            label: label.to_owned(),
            settings: Vec::new(),
            runs: 3,
            commands: Vec::new(),
            baseline: is_compared.then_some(0),
            estimates,
            warnings: Vec::new(),
        }
    }

    fn summary(metrics: Vec<Metric>, points: Vec<Point>) -> Summary {
        Summary {
            metrics,
            points,
            baseline: None,
            services: None,
            queues: None,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn times_share_a_unit_and_the_best_has_a_star() {
        let marks = Metric {
            name: "marks",
            title: "marks",
            unit: "",
            better: Better::Neither,
        };
        let points = vec![
            point(
                "a",
                vec![estimate(0.0123, 0.0004, None), estimate(5.0, 0.0, None)],
            ),
            point("b", vec![estimate(0.0045, f64::NAN, None), None]),
        ];
        let expected = "  overall mean
            ms
a  12.30 ±0.40
b         4.50*

      marks
a         5
b         -
";
        let found = table(&summary(vec![TIME, marks], points), Paint::Plain);
        let squeezed = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(squeezed(&found), squeezed(expected), "{found}");
        let ends = found
            .lines()
            .take(4)
            .map(|line| line.trim_end_matches('*').chars().count());
        assert!(
            ends.collect::<Vec<_>>()
                .windows(2)
                .all(|pair| pair[0] == pair[1]),
            "{found}"
        );
    }

    #[test]
    fn a_baseline_adds_ratios() {
        let points = vec![
            point("a", vec![estimate(2.0, 0.1, Some(1.0))]),
            point("b", vec![estimate(1.0, 0.1, Some(0.5))]),
        ];
        let found = table(&summary(vec![TIME], points), Paint::Plain);
        assert!(found.contains("divided by the baseline's"), "{found}");
        assert!(found.contains("0.500*"), "{found}");
    }

    #[test]
    fn wide_tables_give_up_their_intervals_and_then_their_labels() {
        let names = [
            "fct_mean",
            "fct_small_mean",
            "fct_small_p99",
            "fct_large_mean",
        ];
        let metrics = names.map(|name| Metric { name, ..TIME }).to_vec();
        let label = "a label that is much longer than the space that is left for it on the screen";
        let wide = || vec![estimate(0.5, 1e9, None); 4];
        let found = table(
            &summary(metrics, vec![point(label, wide()), point("b", wide())]),
            Paint::Plain,
        );
        assert!(!found.contains('±') && found.contains('…'), "{found}");
        assert!(found.lines().all(|line| width(line) <= WIDTH), "{found}");
    }

    #[test]
    fn equal_values_have_no_best() {
        let points = vec![
            point("a", vec![estimate(1.0, 0.0, None)]),
            point("b", vec![estimate(1.0, 0.0, None)]),
        ];
        assert!(!table(&summary(vec![TIME], points), Paint::Plain).contains('*'));
    }
}
