//! Evidence in words, tables and charts.

use serde_json::{Value, json};
use tidegate_report::plot::{Axis, Chart, Kind, Line, Mark, Origin};
use tidegate_report::sheet::{Part, Row as Cells};

use super::estimate::Outcome;
use super::measure::Measure;
use super::{Comparison, Evidence, Row};
use crate::marking::bytes;

/// The parts of a page: what the simulation showed.
pub fn parts(evidence: &Evidence) -> Vec<Part> {
    let shown = shown(evidence);
    let mut head = vec!["setting".to_owned(), "mark at".to_owned()];
    head.extend(shown.iter().map(|measure| measure.title().to_owned()));
    let mut lines = verdicts(evidence);
    lines.extend(evidence.notes.iter().map(|note| format!("note: {note}")));
    vec![Part {
        id: "evidence".into(),
        title: "Simulated".into(),
        intro: format!(
            "{} hosts, {:.0} % load, incast over it; means and 95 % intervals of {} seeds, the same for all \
             settings. small: up to 100 KB. large flows: the throughput of those from {} on. queue p99: of \
             the fullest queue.",
            evidence.hosts,
            evidence.load * 100.0,
            evidence.seeds,
            bytes(evidence.large),
        ),
        head,
        rows: evidence.rows.iter().map(|row| cells(row, &shown)).collect(),
        lines,
        charts: shown
            .iter()
            .filter_map(|measure| chart(evidence, *measure))
            .collect(),
        ..Part::default()
    }]
}

/// The measures that differ from nothing somewhere. The mean is left to the page's charts.
fn shown(evidence: &Evidence) -> Vec<Measure> {
    let has = |measure: &Measure| {
        let place = Measure::ALL.iter().position(|own| own == measure);
        let mut rows = evidence.rows.iter();
        place.is_some_and(|place| rows.any(|row| row.estimates[place].is_some()))
    };
    Measure::ALL
        .into_iter()
        .filter(|measure| *measure != Measure::Mean && has(measure))
        .collect()
}

fn cells(row: &Row, shown: &[Measure]) -> Cells {
    let mut cells = vec![row.label.clone(), row.set.clone()];
    for measure in shown {
        let place = Measure::ALL.iter().position(|own| own == measure);
        let estimate = place.and_then(|place| row.estimates[place]);
        cells.push(
            estimate.map_or_else(|| "-".to_owned(), |estimate| estimate.shown(measure.unit())),
        );
    }
    Cells {
        cells,
        note: String::new(),
        class: match row.comparison() {
            Comparison::Loses => "bad",
            _ => "good",
        },
    }
}

/// What it means for the formula, a line for each other setting.
fn verdicts(evidence: &Evidence) -> Vec<String> {
    evidence
        .rows
        .iter()
        .skip(1)
        .map(|row| {
            let verdict = match row.comparison() {
                Comparison::Loses => "the formula's answer loses",
                Comparison::Same => "no difference is shown",
                Comparison::Trades => "each is better in something",
                Comparison::Wins => "the formula's answer wins",
            };
            format!("{} ({}): {verdict}: {}", row.label, row.set, changes(row))
        })
        .collect()
}

/// What changes against the formula, measure by measure.
pub(crate) fn changes(row: &Row) -> String {
    let decides = [
        Measure::P99Small,
        Measure::Throughput,
        Measure::Drops,
        Measure::Pauses,
    ];
    let own = row.against.iter().filter(|against| {
        let is_count = matches!(against.measure, Measure::Drops | Measure::Pauses);
        decides.contains(&against.measure) && (!is_count || against.outcome != Outcome::Same)
    });
    let texts = own.map(|against| match against.ratio {
        Some(_) => format!("{} {}", against.measure.title(), against.shown()),
        None => format!("{} {}", against.outcome.name(), against.measure.title()),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// A chart of a measure: a point with its interval for each setting. `None` if no setting has a value.
pub fn chart(evidence: &Evidence, measure: Measure) -> Option<Chart> {
    let place = Measure::ALL.iter().position(|own| *own == measure)?;
    let names = evidence
        .rows
        .iter()
        .map(|row| format!("{}: {}", row.label, row.set))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a place among a few names")]
    let mark = |(number, row): (usize, &Row)| {
        let estimate = row.estimates[place]?;
        let ends = |reach: f64| (estimate.value - reach, estimate.value + reach);
        Some(Mark {
            x: number as f64,
            y: estimate.value,
            interval: estimate.reach.map(ends),
            samples: Some(evidence.seeds.into()),
        })
    };
    let marks: Vec<Mark> = evidence.rows.iter().enumerate().filter_map(mark).collect();
    if marks.is_empty() {
        return None;
    }
    let unit = match measure.unit() {
        "s" => "s",
        "B" => "B",
        "bit/s" => "bit/s",
        _ => "",
    };
    let title = match measure {
        Measure::P99Small => "99th percentile of small flows",
        Measure::Throughput => "throughput of large flows",
        Measure::Mean => "mean completion time",
        Measure::Drops => "packets dropped",
        Measure::Pauses => "part of the time paused, percent",
        Measure::Queue => "99th percentile of the fullest queue",
    };
    Some(Chart {
        id: measure.name(),
        title: title.to_owned(),
        kind: Kind::Dots,
        x: Axis::names("", names),
        y: Axis::linear(measure.title(), unit),
        lines: vec![Line {
            name: String::new(),
            hue: 0,
            marks,
            origin: Origin::Measured,
        }],
        notes: Vec::new(),
        commands: Vec::new(),
    })
}

/// The evidence as JSON: seconds, bytes, bits per second and percent.
pub fn json(evidence: &Evidence) -> Value {
    let row = |row: &Row| {
        let of = |(measure, estimate): (&Measure, &Option<super::Estimate>)| {
            let value = estimate.map(|estimate| {
                let (low, high) = match estimate.reach {
                    Some(reach) => (Some(estimate.value - reach), Some(estimate.value + reach)),
                    None => (None, None),
                };
                json!({
                    "value": estimate.value, "low": low, "high": high, "unit": measure.unit(),
                })
            });
            (measure.name(), value.unwrap_or(Value::Null))
        };
        let measures: serde_json::Map<String, Value> =
            Measure::ALL.iter().zip(&row.estimates).map(of).collect();
        let against = row.against.iter().map(|against| {
            let value = json!({
                "ratio": against.ratio,
                "low": against.interval.map(|interval| interval.low),
                "high": against.interval.map(|interval| interval.high),
                "outcome": against.outcome.name(),
            });
            (against.measure.name(), value)
        });
        let against: serde_json::Map<String, Value> = against.collect();
        json!({
            "setting": row.label,
            "mark_at": row.set,
            "measures": measures,
            "against_formula": against,
        })
    };
    json!({
        "hosts": evidence.hosts,
        "load": (evidence.load * 1e4).round() / 1e4,
        "seeds": evidence.seeds,
        "large_bytes": evidence.large.0,
        "formula_loses_against": evidence.losses().map(|row| row.label.clone()).collect::<Vec<_>>(),
        "settings": evidence.rows.iter().map(row).collect::<Vec<_>>(),
        "notes": evidence.notes,
    })
}
