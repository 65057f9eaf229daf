//! Evidence in words, tables and charts.

use serde_json::{Value, json};
use tidegate_report::plot::{Axis, Chart, Kind, Line, Mark, Origin};
use tidegate_report::sheet::{Part, Row as Cells};
use tidegate_results::format::three_figures;

use super::estimate::{Estimate, Outcome};
use super::measure::Measure;
use super::{Comparison, Evidence, NotEcn, Row};
use crate::marking::bytes;

/// Parts of the page with the simulated results.
pub fn parts(evidence: &Evidence) -> Vec<Part> {
    let shown = shown(evidence);
    let mut head = vec!["setting".to_owned(), "mark at".to_owned()];
    head.extend(shown.iter().map(|measure| measure.title().to_owned()));
    let mut lines = verdicts(evidence);
    lines.extend(evidence.notes.iter().map(|note| format!("note: {note}")));
    let mut parts = vec![Part {
        id: PARTS[0].into(),
        title: "Simulated".into(),
        intro: format!(
            "{} hosts, {:.0} % load plus incast; means and 95 % intervals over {} seeds, the same for all \
             settings. small: flows up to 100 KB; large flows: throughput of flows of {} and more; queue \
             p99: of the fullest queue.",
            evidence.hosts,
            evidence.load * 100.0,
            evidence.seeds,
            bytes(evidence.large),
        ),
        head,
        rows: evidence.rows.iter().map(|row| cells(row, &shown)).collect(),
        lines,
        charts: shown.iter().filter_map(|measure| chart(evidence, *measure)).collect(),
        ..Part::default()
    }];
    parts.extend(not_ecn(evidence));
    parts
}

/// The ids of the parts.
pub const PARTS: [&str; 2] = ["evidence", "not-ecn"];

/// Treatment of packets that are not ECN-capable, if a queue has some.
fn not_ecn(evidence: &Evidence) -> Option<Part> {
    let head = ["setting", "mark at", "dropped", "small mean", "timeouts"];
    let row = |row: &NotEcn| {
        let shown = |estimate: Option<Estimate>, unit: &str| {
            estimate.map_or_else(|| "-".to_owned(), |estimate| estimate.shown(unit))
        };
        Cells {
            cells: vec![
                row.label.clone(),
                row.set.clone(),
                shown(row.dropped, ""),
                shown(row.small_mean, "s"),
                shown(row.timeouts, "%"),
            ],
            note: String::new(),
            class: match row.dropped {
                Some(dropped) if dropped.value > 0.0 => "bad",
                _ => "good",
            },
        }
    };
    let rows: Vec<Cells> = evidence.not_ecn.iter().map(row).collect();
    (!rows.is_empty()).then(|| Part {
        id: PARTS[1].into(),
        title: "Packets that are not ECN-capable".into(),
        intro: "dropped: packets of a run above the threshold that cannot be marked; small mean: completion \
                time of flows up to 100 KB without ECN; timeouts: flows that waited for a retransmission \
                timeout."
            .into(),
        head: head.map(str::to_owned).to_vec(),
        rows,
        ..Part::default()
    })
}

/// Measures with a value in some row, without the mean, which only the page's charts have.
fn shown(evidence: &Evidence) -> Vec<Measure> {
    let has = |measure: &Measure| {
        let place = Measure::ALL.iter().position(|own| own == measure);
        let mut rows = evidence.rows.iter();
        place.is_some_and(|place| rows.any(|row| row.estimates[place].is_some()))
    };
    Measure::ALL.into_iter().filter(|measure| *measure != Measure::Mean && has(measure)).collect()
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
            Comparison::Loses | Comparison::Untested => "bad",
            _ => "good",
        },
    }
}

/// Comparison with the formula, a line for each other setting.
fn verdicts(evidence: &Evidence) -> Vec<String> {
    if evidence.shows_nothing() {
        let longest = evidence.longest.map_or_else(String::new, |longest| {
            format!("; the longest held {}", three_figures(longest, "B"))
        });
        return vec![
            format!("no queue came near a threshold: these runs show nothing{longest}"),
            format!("to reach the thresholds: {}", evidence.reach),
        ];
    }
    evidence
        .rows
        .iter()
        .skip(1)
        .map(|row| {
            let verdict = match row.comparison() {
                Comparison::Untested => {
                    let (label, set) = (&row.label, &row.set);
                    return format!(
                        "{label} ({set}): no queue came near a threshold, so this shows nothing"
                    );
                }
                Comparison::Loses => "beats the formula",
                Comparison::Same => "tied with the formula",
                Comparison::Trades => "better than the formula in some measures, worse in others",
                Comparison::Wins => "worse than the formula",
            };
            format!("{} ({}): {verdict}: {}", row.label, row.set, changes(row))
        })
        .collect()
}

/// Changes against the formula, measure by measure.
pub(crate) fn changes(row: &Row) -> String {
    let decides = [Measure::P99Small, Measure::Throughput, Measure::Drops, Measure::Pauses];
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

/// A chart of a measure: a point with its interval for each setting. `None` if no setting has a
/// value.
pub fn chart(evidence: &Evidence, measure: Measure) -> Option<Chart> {
    let place = Measure::ALL.iter().position(|own| *own == measure)?;
    let names = evidence.rows.iter().map(|row| format!("{}: {}", row.label, row.set)).collect();
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
        lines: vec![Line { name: String::new(), hue: 0, marks, origin: Origin::Measured }],
        notes: Vec::new(),
        commands: Vec::new(),
    })
}

fn not_ecn_row(row: &NotEcn) -> Value {
    let value = |estimate: Option<Estimate>| estimate.map(|estimate| estimate.value);
    json!({
        "setting": row.label,
        "mark_at": row.set,
        "dropped": value(row.dropped),
        "small_mean_s": value(row.small_mean),
        "timeouts_percent": value(row.timeouts),
    })
}

/// The evidence as JSON: seconds, bytes, bits per second and percent.
pub fn json(evidence: &Evidence) -> Value {
    let row = |row: &Row| {
        let of = |(measure, estimate): (&Measure, &Option<Estimate>)| {
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
        "shows_nothing": evidence.shows_nothing(),
        "not_ecn": evidence.not_ecn.iter().map(not_ecn_row).collect::<Vec<_>>(),
        "formula_loses_against": evidence.losses().map(|row| row.label.clone()).collect::<Vec<_>>(),
        "settings": evidence.rows.iter().map(row).collect::<Vec<_>>(),
        "notes": evidence.notes,
    })
}
