//! Charts as JSON for the page's script.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Panel;
use super::budget::COMMANDS;
use crate::plot::{Axis, Chart, Kind, Line, Mark, Origin, Scale};

/// The data of a page, escaped for a script element.
pub(crate) fn embedded<'a>(
    title: &str,
    sweeps: &[&str],
    sections: impl Iterator<Item = (&'a str, &'a [Panel])>,
) -> String {
    let mut commands = Commands::default();
    let sections: Vec<Value> = sections
        .map(|(id, panels)| {
            let panels = panels.iter().map(|panel| panel_value(panel, &mut commands));
            json!({ "id": id, "charts": panels.collect::<Vec<Value>>() })
        })
        .collect();
    let data = json!({
        "title": title,
        "sections": sections,
        "sweeps": sweeps,
        "commands": commands.list,
    });
    // The only way out of a script element begins with "<".
    data.to_string().replace('<', "\\u003c")
}

/// Deduplicated commands, since charts share most of them.
#[derive(Default)]
struct Commands {
    list: Vec<String>,
    places: BTreeMap<String, usize>,
}

impl Commands {
    fn place(&mut self, command: &str) -> usize {
        if let Some(place) = self.places.get(command) {
            return *place;
        }
        let place = self.list.len();
        self.places.insert(command.to_owned(), place);
        self.list.push(command.to_owned());
        place
    }
}

fn panel_value(panel: &Panel, commands: &mut Commands) -> Value {
    let Panel { chart, facets } = panel;
    let shared = shared_x(chart);
    let lines = chart.lines.iter().map(|line| line_value(line, shared.is_none()));
    let kept = chart.commands.iter().take(COMMANDS);
    let places = kept.map(|command| commands.place(command));
    let mut value = json!({
        "id": chart.id,
        "title": chart.title,
        "kind": kind(chart.kind),
        "x": axis_value(&chart.x),
        "y": axis_value(&chart.y),
        "lines": lines.collect::<Vec<Value>>(),
        "notes": chart.notes,
        "commands": places.collect::<Vec<usize>>(),
        "runs": chart.commands.len(),
        "facets": facets.iter().map(|facet| json!([facet.name, facet.value])).collect::<Vec<Value>>(),
    });
    if let Some(times) = shared {
        value["times"] = json!(times);
    }
    value
}

/// The x values of all lines, if they are equal.
fn shared_x(chart: &Chart) -> Option<Vec<f64>> {
    let of = |line: &Line| line.marks.iter().map(|mark| rounded(mark.x)).collect::<Vec<f64>>();
    let first = of(chart.lines.first()?);
    (chart.kind == Kind::Trace && chart.lines.iter().all(|line| of(line) == first)).then_some(first)
}

fn line_value(line: &Line, own_x: bool) -> Value {
    let all = |of: &dyn Fn(&Mark) -> f64| -> Value {
        line.marks.iter().map(|mark| number(of(mark))).collect()
    };
    let mut value = json!({ "name": line.name, "hue": line.hue, "y": all(&|mark| mark.y) });
    if line.origin == Origin::Published {
        value["published"] = json!(true);
    }
    if own_x {
        value["x"] = all(&|mark| mark.x);
    }
    if line.marks.iter().any(|mark| mark.interval.is_some()) {
        value["low"] = all(&|mark| mark.interval.map_or(f64::NAN, |ends| ends.0));
        value["high"] = all(&|mark| mark.interval.map_or(f64::NAN, |ends| ends.1));
    }
    if line.marks.iter().any(|mark| mark.samples.is_some()) {
        value["samples"] = line.marks.iter().map(|mark| json!(mark.samples)).collect();
    }
    value
}

/// The value rounded to six digits: enough for any chart, and short in a file.
fn rounded(value: f64) -> f64 {
    if !value.is_finite() {
        return f64::NAN;
    }
    if value == 0.0 {
        return 0.0;
    }
    // Whole numbers up to 10^6 and powers of ten up to 10^22 are exact; only the last division
    // rounds.
    let places = 5 - value.abs().log10().floor() as i32;
    let power = 10_f64.powi(places.abs());
    match places {
        0..=22 => (value * power).round() / power,
        -22..0 => (value / power).round() * power,
        _ => format!("{value:.5e}").parse().unwrap_or(value),
    }
}

/// A short JSON number; `null` for NaN.
fn number(value: f64) -> Value {
    let value = rounded(value);
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}

fn axis_value(axis: &Axis) -> Value {
    let mut value = json!({ "title": axis.title, "unit": axis.unit });
    match &axis.scale {
        Scale::Linear => {}
        Scale::Log => value["log"] = json!(true),
        Scale::Names(names) => value["names"] = json!(names),
    }
    value
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Bars => "bars",
        Kind::Cdf => "cdf",
        Kind::Curves => "curves",
        Kind::Dots => "dots",
        Kind::Trace => "trace",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_six_digits() {
        assert!((rounded(123.456_789) - 123.457).abs() < 1e-12);
        let written = |value: f64| format!("{value:.5e}").parse::<f64>().unwrap();
        for value in [
            1.0,
            -1.0,
            0.1,
            0.3,
            999_999.4,
            999_999.6,
            1_000_000.0,
            123_456_789.0,
            1e-6,
            1.5e-12,
            6.02e23,
            4e-9,
            2_f64.powi(60),
            -0.000_123_456_78,
            1e-300,
            f64::MAX,
            f64::MIN_POSITIVE,
        ] {
            assert_eq!(rounded(value).to_bits(), written(value).to_bits(), "{value:e}");
        }
        assert_eq!(rounded(-0.0).to_bits(), 0, "no sign");
        assert!(rounded(f64::INFINITY).is_nan());
    }
}
