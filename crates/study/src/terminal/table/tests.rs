//! Tables at several widths.

use tidegate_results::format::{Prefix, quantity};
use tidegate_results::record::Setting;
use tidegate_results::summary::{Breakdown, Method, Part, Point, Relative};

use super::*;

const TIME: Metric =
    Metric { name: "fct_mean", title: "overall mean", unit: "s", better: Better::Lower };

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
    let is_compared = estimates.iter().flatten().any(|found| found.relative.is_some());
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

/// Plain tables on a screen of so many columns.
fn shown(summary: &Summary, width: usize) -> String {
    let paint = Paint::Plain;
    tables(summary, TableLayout { paint, width }).text
}

fn summary(metrics: Vec<Metric>, points: Vec<Point>) -> Summary {
    Summary {
        metrics,
        points,
        baseline: None,
        services: None,
        queues: None,
        sizes: None,
        warnings: Vec::new(),
    }
}

#[test]
fn times_share_a_unit_and_the_best_has_a_star() {
    let marks = Metric { name: "marks", title: "marks", unit: "", better: Better::Neither };
    let points = vec![
        point("a", vec![estimate(0.0123, 0.0004, None), estimate(5.0, 0.0, None)]),
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
    let found = shown(&summary(vec![TIME, marks], points), 80);
    let squeezed = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(squeezed(&found), squeezed(expected), "{found}");
    let ends = found.lines().take(4).map(|line| line.trim_end_matches('*').chars().count());
    assert!(ends.collect::<Vec<_>>().windows(2).all(|pair| pair[0] == pair[1]), "{found}");
}

#[test]
fn a_baseline_adds_ratios() {
    let points = vec![
        point("a", vec![estimate(2.0, 0.1, Some(1.0))]),
        point("b", vec![estimate(1.0, 0.1, Some(0.5))]),
    ];
    let found = shown(&summary(vec![TIME], points), 80);
    assert!(found.contains("relative to the baseline, paired by seed"), "{found}");
    assert!(found.contains("0.500*"), "{found}");
}

/// Four times, such as most results have.
fn times() -> Vec<Metric> {
    let named = |name| Metric { name, ..TIME };
    TABLES[0].iter().copied().map(named).collect()
}

#[test]
fn a_narrow_screen_gets_more_blocks_and_keeps_labels_and_intervals() {
    let label = "a label that is longer than the space that is left for it, ";
    let wide = |value: f64| vec![estimate(value, value / 3.0, None); 4];
    let points = ["tcn", "codel", "none"].map(|name| point(&format!("{label}{name}"), wide(0.05)));
    let summary = summary(times(), points.into());
    for screen in [40, 60, 80, 120] {
        let found = shown(&summary, screen);
        assert!(found.lines().all(|line| width(line) <= screen), "{found}");
        assert_eq!(found.matches('±').count(), 12, "{found}");
        assert!(found.contains("…tcn") && found.contains("…codel"), "{found}");
    }
    let blocks = |screen| shown(&summary, screen).matches("…tcn").count();
    assert_eq!((blocks(60), blocks(80)), (2, 1));
}

#[test]
fn labels_that_cannot_be_shortened_get_a_line_of_their_own() {
    let names = ["one way to say something", "and quite another thing for it"];
    let points = names.map(|name| point(name, vec![estimate(0.5, 0.1, None); 4]));
    let found = shown(&summary(times(), points.into()), 80);
    for name in names {
        assert!(found.lines().any(|line| line == name), "{found}");
    }
    assert!(found.lines().all(|line| width(line) <= 80), "{found}");
}

#[test]
fn an_interval_that_is_wider_than_the_screen_is_left_out() {
    let points = ["a", "b"].map(|name| point(name, vec![estimate(0.5, 1e30, None)]));
    let found = shown(&summary(vec![TIME], points.into()), 40);
    assert!(!found.contains('±'), "{found}");
}

#[test]
fn wide_letters_do_not_shift_their_row() {
    let points = ["東京", "tcn"].map(|name| point(name, vec![estimate(0.5, 0.1, None)]));
    let found = shown(&summary(vec![TIME], points.into()), 80);
    let ends = found.lines().map(width).collect::<Vec<_>>();
    assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{found}");
}

#[test]
fn equal_values_have_no_best() {
    let points = vec![
        point("a", vec![estimate(1.0, 0.0, None)]),
        point("b", vec![estimate(1.0, 0.0, None)]),
    ];
    assert!(!shown(&summary(vec![TIME], points), 80).contains('*'));
}

#[test]
fn tied_best_values_get_no_star() {
    let marks = |values: &[(f64, f64)]| {
        let point = |&(value, reach): &(f64, f64)| {
            point(&format!("p{value}"), vec![estimate(value, reach, None)])
        };
        let found = shown(&summary(vec![TIME], values.iter().map(point).collect()), 80);
        (found.matches('*').count(), found.matches('~').count())
    };
    // The second reaches the first, the third does not.
    assert_eq!(marks(&[(1.0, 0.2), (1.2, 0.2), (2.0, 0.2)]), (0, 2));
    assert_eq!(marks(&[(1.0, 0.01), (1.2, 0.01), (2.0, 0.01)]), (1, 0));
    // Nothing is to be said where all are alike.
    assert_eq!(marks(&[(1.0, 0.5), (1.2, 0.5)]), (0, 0));
}

/// Two schemes at two loads; the first is better at the lower one.
fn swept() -> Summary {
    let mut points = Vec::new();
    for (name, values) in [("tcn", [1.0, 4.0]), ("codel", [2.0, 3.0])] {
        for (load, value) in ["0.5", "0.9"].into_iter().zip(values) {
            let setting =
                |key: &str, value: &str| Setting { key: key.to_owned(), value: value.to_owned() };
            points.push(Point {
                settings: vec![setting("kind", name), setting("load", load)],
                ..point(&format!("{name}, load {load}"), vec![estimate(value, 0.1, None)])
            });
        }
    }
    summary(vec![TIME], points)
}

#[test]
fn best_value_is_marked_within_each_group() {
    let found = shown(&swept(), 80);
    let best = found.lines().filter(|line| line.ends_with('*'));
    let best = best.filter_map(|line| line.split_whitespace().next());
    assert_eq!(best.collect::<Vec<_>>(), ["tcn", "codel"], "{found}");
    let titles = ["load 0.5", "load 0.9"].map(|title| found.lines().position(|line| line == title));
    assert!(titles[0].is_some() && titles[0] < titles[1], "{found}");
}

#[test]
fn classes_of_service_have_a_table_unless_they_are_too_many() {
    let with = |classes: u8| {
        let mut summary = swept();
        let part = |number| Part {
            number,
            name: None,
            points: vec![vec![estimate(0.25, 0.0, None), estimate(0.5, 0.0, None)]; 4],
        };
        summary.services = Some(Breakdown {
            metrics: ["fct_small_mean", "byte_share"].map(|name| Metric { name, ..TIME }).into(),
            parts: (0..classes).map(part).collect(),
        });
        shown(&summary, 60)
    };
    let found = with(2);
    for title in ["load 0.5, service 0", "load 0.9, service 1"] {
        assert!(found.lines().any(|line| line == title), "{found}");
    }
    let many = with(9);
    assert!(many.contains("by class of service (9 in total)"), "{many}");
}

#[test]
fn queues_of_observed_ports_have_a_table_too() {
    let mut summary = swept();
    let part =
        |number| Part { number, name: None, points: vec![vec![estimate(0.25, 0.0, None)]; 4] };
    summary.queues = Some(Breakdown {
        metrics: vec![Metric { name: "wait_p99", ..TIME }],
        parts: (0..2).map(part).collect(),
    });
    let found = shown(&summary, 60);
    for line in ["by queue of the observed ports", "load 0.9, queue 1"] {
        assert!(found.contains(line), "{found}");
    }
}

#[test]
fn a_column_has_the_unit_that_the_page_has() {
    for (unit, value, shown) in [
        ("bit/s", 9.87e9, "9.870 Gbps"),
        ("bit/s", 5.5e5, "550.0 Kbps"),
        ("B", 5_000.0, "5.000 KB"),
        ("B", 2.1e6, "2.100 MB"),
        ("s", 36.6e-6, "36.60 µs"),
        ("s", 4e-9, "4.000 ns"),
        ("", 12_346.0, "12346 "),
    ] {
        let scale = Scale::of_largest(unit, [value]);
        assert_eq!(format!("{} {}", scale.number(value), scale.unit), shown);
        let of_page = Prefix::of_unit(unit, value).unit();
        assert_eq!(scale.unit, of_page);
        assert!(quantity(value, unit).ends_with(&of_page));
    }
}
