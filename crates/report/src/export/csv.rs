//! `summary.csv`: one row for each point and metric, a column for each swept setting.

use std::collections::BTreeSet;

use tidegate_results::summary::{Estimate, Point, Summary};

const BEFORE: [&str; 3] = ["point", "label", "runs"];
const AFTER: [&str; 13] = [
    "metric",
    "unit",
    "better",
    "value",
    "low",
    "high",
    "method",
    "samples",
    "baseline",
    "ratio",
    "ratio_low",
    "ratio_high",
    "ratio_method",
];

/// The summary as CSV (RFC 4180, with line feeds). Missing values are empty.
pub fn summary(summary: &Summary) -> String {
    let keys = keys(summary);
    let fixed = |name: &str| BEFORE.contains(&name) || AFTER.contains(&name);
    let title = |&key: &&str| {
        if fixed(key) { format!("setting.{key}") } else { key.to_owned() }
    };
    let titles = BEFORE.into_iter().map(str::to_owned).chain(keys.iter().map(title));
    let mut rows = csv::Writer::from_writer(Vec::new());
    let mut write = |cells: &mut dyn Iterator<Item = String>| {
        rows.write_record(cells).expect("memory takes all rows, and all are of one length");
    };
    write(&mut titles.chain(AFTER.into_iter().map(str::to_owned)));
    for (place, point) in summary.points.iter().enumerate() {
        for (metric, estimate) in summary.metrics.iter().zip(&point.estimates) {
            let Some(estimate) = estimate else { continue };
            let before = [place.to_string(), point.label.clone(), point.runs.to_string()];
            let settings = keys.iter().map(|key| value(point, key).to_owned());
            let named = [metric.name, metric.unit, metric.better.name()].map(str::to_owned);
            let baseline = point.baseline.and_then(|place| summary.points.get(place));
            let baseline = baseline.map(|point| &*point.label);
            let cells = before.into_iter().chain(settings).chain(named);
            write(&mut cells.chain(numbers(estimate, baseline)));
        }
    }
    let bytes = rows.into_inner().expect("memory takes all rows");
    String::from_utf8(bytes).expect("cells are texts")
}

/// The keys of all points, in order of first appearance.
fn keys(summary: &Summary) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let settings = summary.points.iter().flat_map(|point| &point.settings);
    settings.map(|setting| &*setting.key).filter(|key| seen.insert(*key)).collect()
}

fn value<'a>(point: &'a Point, key: &str) -> &'a str {
    let setting = point.settings.iter().find(|setting| setting.key == key);
    setting.map_or("", |setting| &setting.value)
}

fn numbers(estimate: &Estimate, baseline: Option<&str>) -> impl Iterator<Item = String> {
    let alone = [number(estimate.value), number(estimate.low), number(estimate.high)];
    let known = [estimate.method.name().to_owned(), estimate.samples.to_string()];
    let compared = estimate.relative.map_or_else(Default::default, |relative| {
        let baseline = baseline.unwrap_or_default().to_owned();
        let numbers = [relative.ratio, relative.low, relative.high].map(number);
        let [ratio, low, high] = numbers;
        [baseline, ratio, low, high, relative.method.name().to_owned()]
    });
    alone.into_iter().chain(known).chain(compared)
}

/// The shortest text that parses to the same number.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use tidegate_results::record::Setting;
    use tidegate_results::summary::{Better, Method, Metric, Relative};

    use super::*;

    fn point(label: &str, key: &str, estimates: [Option<Estimate>; 2]) -> Point {
        let setting =
            |key: &str, value: &str| Setting { key: key.to_owned(), value: value.to_owned() };
        Point {
            label: label.to_owned(),
            settings: vec![setting("runs", "x"), setting(key, "0.5")],
            runs: 3,
            commands: Vec::new(),
            baseline: Some(0),
            estimates: estimates.into(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn each_point_and_metric_has_a_row_and_each_key_a_column() {
        let metric = |name, unit, better| Metric { name, title: name, unit, better };
        let known = Estimate {
            value: 1e-7,
            low: 0.0,
            high: f64::NAN,
            method: Method::Runs,
            samples: 7,
            relative: None,
        };
        let relative = Relative { ratio: 0.1 + 0.2, low: 0.25, high: 1e21, method: Method::Blocks };
        let compared = Estimate { relative: Some(relative), ..known };
        let table = Summary {
            metrics: vec![
                metric("fct", "s", Better::Lower),
                metric("rate", "bit/s", Better::Higher),
            ],
            points: vec![
                point("a, \"b\"", "load", [Some(known), None]),
                point("c", "other", [None, Some(compared)]),
            ],
            baseline: Some(0),
            services: None,
            queues: None,
            sizes: None,
            warnings: Vec::new(),
        };
        // A key with the name of a fixed column gets a longer name.
        let expected = "\
            point,label,runs,setting.runs,load,other,metric,unit,better,value,low,high,method,samples,\
            baseline,ratio,ratio_low,ratio_high,ratio_method\n\
            0,\"a, \"\"b\"\"\",3,x,0.5,,fct,s,lower,0.0000001,0,,runs,7,,,,,\n\
            1,c,3,x,,0.5,rate,bit/s,higher,0.0000001,0,,runs,7,\"a, \"\"b\"\"\",\
            0.30000000000000004,0.25,1000000000000000000000,blocks\n";
        assert_eq!(summary(&table), expected);
    }
}
