//! Result of a search in words, tables and charts.

use serde_json::{Value, json};
use tidegate_report::plot::{Axis, Chart, Kind, Line, Mark, Origin, Scale};
use tidegate_report::sheet::{Part, Row as Cells, Sheet};
use tidegate_results::format::three_figures;
use tidegate_results::statistics::mean;
use tidegate_units::Setting;

use super::vary::{Quantity, Vary};
use super::within::{Bound, Limit};
use super::{Ending, Found, InCell, Tuning};
use crate::evidence::estimate::Estimate;
use crate::evidence::measure::Measure;

/// A search as a page.
pub fn sheet(tuning: &Tuning, found: &Found, title: &str, facts: Vec<String>) -> Sheet {
    Sheet {
        title: title.to_owned(),
        facts,
        parts: vec![verdict(tuning, found), comparison(tuning, found), sensitivity(tuning, found)],
    }
}

fn verdict(tuning: &Tuning, found: &Found) -> Part {
    let base = &tuning.candidates[0].label;
    let best = &tuning.candidates[found.best];
    let goal = tuning.request.goal.write();
    let gain = found.gain().map_or_else(String::new, super::Against::shown);
    let title = match found.ending() {
        Ending::Untested => "No queue came near a threshold: these runs show nothing".to_owned(),
        Ending::Beaten => format!("{} beats {base} for {goal}: {gain}", best.label),
        Ending::OnlyBestKeeps => format!("{} keeps the limits, {base} does not", best.label),
        Ending::FormulaStays => format!("Nothing beats {base} for {goal}"),
        Ending::NothingKeeps => "No candidate keeps the limits".to_owned(),
    };
    let mut lines = match found.ending() {
        Ending::Untested => untested(tuning, found),
        _ => vec![format!(
            "best found: {}; {} {gain} against {base}",
            best.label,
            tuning.request.goal.measure().title()
        )],
    };
    lines.extend(tuning.request.limits.iter().map(|limit| {
        let says = |keeps: bool| if keeps { "kept" } else { "missed" };
        let of = |candidate: fn(&InCell) -> &Vec<Option<Estimate>>| {
            says(found.cells.iter().all(|cell| keeps(limit, cell, candidate)))
        };
        format!(
            "limit {}: {} by {base}, {} by {}",
            written(limit),
            of(|cell| &cell.formula),
            of(|cell| &cell.best),
            best.label
        )
    }));
    let rounds: Vec<String> = tuning
        .schedule
        .rounds
        .iter()
        .map(|(kept, seeds)| format!("{kept} under {seeds} seeds"))
        .collect();
    lines.push(format!(
        "search: {}, in {}; then the best against {base} under {} seeds that the search did not use; {} \
         runs",
        rounds.join(", "),
        match tuning.cells.len() {
            1 => "one workload".to_owned(),
            count => format!("{count} loads and workloads each"),
        },
        tuning.schedule.confirm,
        tuning.schedule.runs
    ));
    Part {
        id: "verdict".into(),
        title,
        intro: "Intervals have 95 % confidence, from pairs of runs under the same seed.".into(),
        lines,
        ..Part::default()
    }
}

/// Distance of queues from their thresholds, and traffic that would reach them.
fn untested(tuning: &Tuning, found: &Found) -> Vec<String> {
    let longest = found.longest.map(|longest| {
        let length = three_figures(longest, "B");
        format!("the longest queue held {length}, and no packet was marked")
    });
    let longest = longest.unwrap_or_else(|| "no packet was marked".to_owned());
    vec![longest, format!("to reach the thresholds: {}", tuning.reach)]
}

fn keeps(limit: &Limit, cell: &InCell, of: fn(&InCell) -> &Vec<Option<Estimate>>) -> bool {
    let place = Measure::ALL.iter().position(|own| *own == limit.measure);
    let value = |estimates: &[Option<Estimate>]| {
        let estimate = place.and_then(|place| estimates[place]);
        estimate.map(|estimate| estimate.value)
    };
    limit.violation(value(of(cell)), value(&cell.formula)) <= 0.0
}

fn written(limit: &Limit) -> String {
    let sign = if limit.is_below { "<" } else { ">" };
    let bound = match limit.bound {
        Bound::OfFormula(part) => format!("{:.0} %", part * 100.0),
        Bound::Value(value) => {
            let estimate = Estimate { value, reach: None };
            estimate.shown(limit.measure.unit())
        }
    };
    format!("{} {sign} {bound}", limit.measure.name())
}

/// The best and the formula, cell by cell.
fn comparison(tuning: &Tuning, found: &Found) -> Part {
    let goal = tuning.request.goal.measure();
    let has = |measure: &Measure| {
        let place = Measure::ALL.iter().position(|own| own == measure);
        let mut cells = found.cells.iter();
        place.is_some_and(|place| cells.any(|cell| cell.formula[place].is_some()))
    };
    let shown: Vec<Measure> = Measure::ALL.into_iter().filter(has).collect();
    let mut head = vec!["setting".to_owned()];
    head.extend(shown.iter().map(|measure| measure.title().to_owned()));
    let mut rows = Vec::new();
    for cell in &found.cells {
        let (base, best) = (&tuning.candidates[0], &tuning.candidates[found.best]);
        for (candidate, estimates) in [(base, &cell.formula), (best, &cell.best)] {
            let name = match cell.label.as_str() {
                "" => candidate.label.clone(),
                label => format!("{}, {label}", candidate.label),
            };
            let of = |measure: &Measure| {
                let place = Measure::ALL.iter().position(|own| own == measure);
                let estimate = place.and_then(|place| estimates[place]);
                estimate.map_or_else(|| "-".to_owned(), |estimate| estimate.shown(measure.unit()))
            };
            let cells = std::iter::once(name).chain(shown.iter().map(of)).collect();
            let against = cell.against.as_ref().filter(|_| candidate.label == best.label);
            rows.push(Cells {
                cells,
                note: against.map_or_else(String::new, |against| {
                    format!("{} {} against {}", goal.title(), against.shown(), base.label)
                }),
                class: "",
            });
        }
    }
    Part {
        id: "comparison".into(),
        title: "Under other seeds".into(),
        intro: "small: flows up to 100 KB; large flows: throughput of flows of ten bandwidth-delay products \
                and more, of a scenario 1 MB and more; queue p99: of the fullest queue."
            .into(),
        head,
        rows,
        charts: over_loads(tuning, found).into_iter().collect(),
        ..Part::default()
    }
}

/// The goal over loads: whether the best candidate is best at all of them.
fn over_loads(tuning: &Tuning, found: &Found) -> Option<Chart> {
    let goal = tuning.request.goal.measure();
    let place = Measure::ALL.iter().position(|own| *own == goal)?;
    let is_varied = found.cells.iter().filter(|cell| cell.load.is_some()).count() > 1;
    if !is_varied {
        return None;
    }
    let line = |name: &str, hue: usize, of: fn(&InCell) -> &Vec<Option<Estimate>>| {
        let mark = |cell: &InCell| {
            let estimate = of(cell)[place]?;
            Some(Mark {
                x: cell.load?,
                y: estimate.value,
                interval: ends(&estimate),
                samples: Some(tuning.schedule.confirm.into()),
            })
        };
        let mut marks: Vec<Mark> = found.cells.iter().filter_map(mark).collect();
        marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        Line { name: name.to_owned(), hue, marks, origin: Origin::Measured }
    };
    Some(Chart {
        id: "loads".into(),
        title: format!("{} over loads", goal.title()),
        kind: Kind::Curves,
        x: Axis::linear("load", ""),
        y: Axis::linear(goal.title(), unit(goal)),
        lines: vec![
            line(&tuning.candidates[0].label, 0, |cell| &cell.formula),
            line(&tuning.candidates[found.best].label, 1, |cell| &cell.best),
        ],
        notes: Vec::new(),
        commands: Vec::new(),
    })
}

fn ends(estimate: &Estimate) -> Option<(f64, f64)> {
    let reach = estimate.reach?;
    Some((estimate.value - reach, estimate.value + reach))
}

fn unit(measure: Measure) -> &'static str {
    match measure.unit() {
        "%" => "",
        unit => unit,
    }
}

/// Effect of each varied value on the goal.
fn sensitivity(tuning: &Tuning, found: &Found) -> Part {
    let head = ["candidate", "against", "limits"];
    let rows = found.tried.iter().map(|tried| {
        let against = tried.against.as_ref();
        Cells {
            cells: vec![
                tuning.candidates[tried.candidate].label.clone(),
                against.map_or_else(|| "-".to_owned(), super::Against::shown),
                if tried.keeps_limits { "kept" } else { "missed" }.to_owned(),
            ],
            note: String::new(),
            class: if tried.keeps_limits { "good" } else { "bad" },
        }
    });
    let axes = tuning.request.varies.iter().enumerate();
    Part {
        id: "sensitivity".into(),
        title: "Sensitivity".into(),
        intro: format!(
            "{} of every candidate against {} in the first round, under {} seeds.",
            tuning.request.goal.measure().title(),
            tuning.candidates[0].label,
            tuning.schedule.rounds[0].1
        ),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        charts: axes.filter_map(|(place, vary)| chart(tuning, found, place, vary)).collect(),
        ..Part::default()
    }
}

fn chart(tuning: &Tuning, found: &Found, place: usize, vary: &Vary) -> Option<Chart> {
    let numbers: Option<Vec<Quantity>> = vary.values.iter().map(|v| Quantity::read(v)).collect();
    let numbers = numbers.filter(|numbers| numbers.iter().all(|q| q.value > 0.0));
    let mut marks = Vec::new();
    for (number, value) in vary.values.iter().enumerate() {
        let own = found.tried.iter().filter_map(|tried| {
            let candidate = &tuning.candidates[tried.candidate];
            let against = tried.against.filter(|_| candidate.values.get(place) == Some(value))?;
            Some((against.ratio?, against.interval))
        });
        let own: Vec<_> = own.collect();
        let ratios: Vec<f64> = own.iter().map(|(ratio, _)| *ratio).collect();
        #[expect(clippy::cast_precision_loss, reason = "a place among a few names")]
        let x = numbers.as_ref().map_or(number as f64, |numbers| numbers[number].value);
        marks.push(Mark {
            x,
            y: mean(&ratios).unwrap_or(f64::NAN),
            // Several candidates with this value have no common interval.
            interval: match &own[..] {
                [(_, Some(interval))] => Some((interval.low, interval.high)),
                _ => None,
            },
            samples: Some(own.len() as u64),
        });
    }
    let axis = match &numbers {
        Some(numbers) => Axis {
            title: vary.key.clone(),
            unit: match numbers[0].unit {
                "pkts" => "",
                unit => unit,
            },
            scale: Scale::Log,
        },
        None => Axis::names("", vary.values.clone()),
    };
    let goal = tuning.request.goal.measure();
    Some(Chart {
        id: format!("sensitivity-{place}"),
        title: format!("{} against {}, by {}", goal.title(), tuning.candidates[0].label, vary.key),
        kind: if numbers.is_some() { Kind::Curves } else { Kind::Dots },
        x: axis,
        y: Axis::linear("ratio", ""),
        lines: vec![Line { name: String::new(), hue: 0, marks, origin: Origin::Measured }],
        notes: Vec::new(),
        commands: Vec::new(),
    })
    .filter(|chart| !chart.is_empty())
}

/// A search as JSON: seconds, bytes, bits per second and percent.
pub fn json(tuning: &Tuning, found: &Found) -> Value {
    let estimates = |estimates: &[Option<Estimate>]| -> Value {
        let of = |(measure, estimate): (&Measure, &Option<Estimate>)| {
            let value = estimate.map(|estimate| {
                let (low, high) = ends(&estimate).unzip();
                json!({ "value": estimate.value, "low": low, "high": high, "unit": measure.unit() })
            });
            (measure.name(), value.unwrap_or(Value::Null))
        };
        Measure::ALL.iter().zip(estimates).map(of).collect::<serde_json::Map<_, _>>().into()
    };
    let against = |against: &super::Against| {
        json!({
            "measure": against.measure.name(),
            "ratio": against.ratio,
            "low": against.interval.map(|interval| interval.low),
            "high": against.interval.map(|interval| interval.high),
            "outcome": against.outcome.name(),
        })
    };
    let cell = |cell: &InCell| {
        json!({
            "cell": cell.label,
            "load": cell.load,
            "formula": estimates(&cell.formula),
            "best": estimates(&cell.best),
            "against": cell.against.as_ref().map(against),
        })
    };
    let best = &tuning.candidates[found.best];
    let settings: serde_json::Map<String, Value> = tuning
        .request
        .varies
        .iter()
        .zip(&best.values)
        .map(|(vary, value)| (vary.key.clone(), value.clone().into()))
        .collect();
    json!({
        "goal": tuning.request.goal.write(),
        "ending": match found.ending() {
            Ending::Untested => "untested",
            Ending::Beaten => "beaten",
            Ending::OnlyBestKeeps => "only-best-keeps-limits",
            Ending::FormulaStays => "formula-stays",
            Ending::NothingKeeps => "nothing-keeps-limits",
        },
        "best": { "label": best.label, "settings": settings, "keeps_limits": found.best_keeps },
        "formula": { "label": tuning.candidates[0].label, "keeps_limits": found.formula_keeps },
        "against": found.against.iter().map(against).collect::<Vec<_>>(),
        "cells": found.cells.iter().map(cell).collect::<Vec<_>>(),
        "tried": found.tried.iter().map(|tried| json!({
            "label": tuning.candidates[tried.candidate].label,
            "against": tried.against.as_ref().map(against),
            "keeps_limits": tried.keeps_limits,
        })).collect::<Vec<_>>(),
        "runs": tuning.schedule.runs,
    })
}
