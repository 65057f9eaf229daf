//! Axes of a sweep: one swept number as the x axis, if there is one, and the other settings as
//! names of lines.

use std::collections::BTreeSet;

use tidegate_results::View;
use tidegate_results::record::Setting;
use tidegate_results::summary::{self, Point, Summary};
use tidegate_units::{Rate, Size, Span};

use super::order::in_numeric_order;

/// The points of a summary as lines of a chart.
pub(super) struct Sweep {
    /// Swept number, if any.
    pub(super) along: Option<Along>,
    /// Names of the lines, in the order of the sweep.
    pub(super) curves: Vec<String>,
    /// Line of each point.
    pub(super) curve_of: Vec<usize>,
}

/// Points at one swept value, which are compared with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name and value of the swept number, such as `load 0.6`; `None` if there is none.
    pub title: Option<String>,
    /// Points.
    pub rows: Vec<Row>,
}

/// A point in its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Index in the summary.
    pub point: usize,
    /// Name that distinguishes the point in its group.
    pub name: String,
}

/// The points of a summary grouped by the swept number, if there is one, for tables.
pub fn groups(summary: &Summary) -> Vec<Group> {
    Sweep::new(summary).groups()
}

/// A swept number.
pub(super) struct Along {
    /// Name, such as `load`.
    pub(super) title: String,
    pub(super) unit: &'static str,
    /// Value at each point, and its text in the scenario.
    pub(super) values: Vec<(f64, String)>,
}

impl Sweep {
    pub(super) fn new(summary: &Summary) -> Self {
        let points = &summary.points;
        let key = swept_number(points);
        let along = key.and_then(|key| {
            let values: Option<Vec<_>> = points.iter().map(|point| value_of(point, key)).collect();
            let values = values?;
            let unit = values.first()?.1;
            let texts = points.iter().filter_map(|point| text_of(point, key));
            Some(Along {
                title: title_of(key),
                unit,
                values: values.iter().map(|value| value.0).zip(texts.map(str::to_owned)).collect(),
            })
        });
        let (names, own) = curves(points, along.as_ref().and(key));
        let order = in_numeric_order(&names);
        let place = |curve: &usize| order.iter().position(|other| other == curve);
        Self {
            along,
            curves: order.iter().map(|&curve| names[curve].clone()).collect(),
            curve_of: own.iter().filter_map(place).collect(),
        }
    }

    /// The distinct swept values, rising; a single `None` if nothing is swept.
    pub(super) fn stops(&self) -> Vec<Option<(f64, String)>> {
        let Some(along) = &self.along else {
            return vec![None];
        };
        let mut values = along.values.clone();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        values.dedup_by(|a, b| a.0 == b.0);
        values.into_iter().map(Some).collect()
    }

    /// The point of a line at a swept value.
    pub(super) fn point(&self, curve: usize, stop: Option<&(f64, String)>) -> Option<usize> {
        (0..self.curve_of.len()).find(|point| {
            let here = self.along.as_ref().map(|along| along.values[*point].0);
            self.curve_of[*point] == curve && here == stop.map(|stop| stop.0)
        })
    }

    /// The points grouped by swept value. The points of a group are compared with each other.
    pub(super) fn groups(&self) -> Vec<Group> {
        let title = |stop: &(f64, String)| {
            let along = self.along.as_ref()?;
            Some(format!("{} {}", along.title, stop.1))
        };
        let group = |stop: Option<(f64, String)>| {
            let row = |curve: usize| {
                let point = self.point(curve, stop.as_ref())?;
                let name = self.curves[curve].clone();
                Some(Row { point, name })
            };
            Group {
                title: stop.as_ref().and_then(title),
                rows: (0..self.curves.len()).filter_map(row).collect(),
            }
        };
        self.stops().into_iter().map(group).collect()
    }

    /// The records of each point, ordered by repetition. Grouping follows the summary: a repeated
    /// seed starts another point.
    pub(super) fn records<'a>(summary: &Summary, records: &[View<'a>]) -> Vec<Vec<View<'a>>> {
        let mut groups = summary::grouped(records);
        let own = |point: &Point| {
            let is_own = |(label, settings, _): &(String, &[Setting], Vec<View<'_>>)| {
                *label == point.label && *settings == point.settings
            };
            let mut own = match groups.iter().position(is_own) {
                Some(place) => groups.remove(place).2,
                None => Vec::new(),
            };
            own.sort_by_key(|record| record.run.replication);
            own
        };
        summary.points.iter().map(own).collect()
    }
}

/// Number of earlier points with the same swept value and the same other settings: points of other
/// folders, or values in different notation, such as 1ms and 1000us.
fn before(points: &[Point], place: usize, key: &str) -> usize {
    let own = &points[place];
    let same = |point: &&Point| {
        let is_here = text_of(point, key) == text_of(own, key)
            || value_of(point, key).is_some_and(|value| Some(value) == value_of(own, key));
        is_here && rest(point, key) == rest(own, key)
    };
    points[..place].iter().filter(same).count()
}

/// The key with the most values for the same other settings; `None` if no key has two.
fn swept_number(points: &[Point]) -> Option<&str> {
    let keys = points.first()?.settings.iter().map(|setting| setting.key.as_str());
    let measured = keys.filter(|key| {
        let values: Option<Vec<_>> = points.iter().map(|point| value_of(point, key)).collect();
        values.is_some_and(|values| {
            let same_unit = values.iter().all(|value| value.1 == values[0].1);
            same_unit && values.iter().any(|value| value.0 != values[0].0)
        })
    });
    let groups = |key: &str| {
        let rests: BTreeSet<Vec<&Setting>> = points.iter().map(|point| rest(point, key)).collect();
        rests.len()
    };
    measured
        .map(|key| (groups(key), key))
        .filter(|(groups, _)| *groups < points.len())
        .min_by_key(|(groups, _)| *groups)
        .map(|(_, key)| key)
}

fn rest<'a>(point: &'a Point, key: &str) -> Vec<&'a Setting> {
    point.settings.iter().filter(|setting| setting.key != key).collect()
}

/// Names for all combinations of the settings that are not on the axis.
fn curves(points: &[Point], along: Option<&str>) -> (Vec<String>, Vec<usize>) {
    let key = along.unwrap_or("");
    let mut known: Vec<(Vec<&Setting>, usize)> = Vec::new();
    let mut curve_of = Vec::with_capacity(points.len());
    for (place, point) in points.iter().enumerate() {
        let curve = (rest(point, key), before(points, place, key));
        let number = known.iter().position(|other| *other == curve).unwrap_or(known.len());
        if number == known.len() {
            known.push(curve);
        }
        curve_of.push(number);
    }
    let mut names: Vec<String> = Vec::new();
    for (number, (rest, again)) in known.iter().enumerate() {
        let own = points.iter().zip(&curve_of).filter(|(_, curve)| **curve == number);
        let labels: Vec<&str> = own.map(|(point, _)| unnumbered(&point.label, *again)).collect();
        let name = common(&labels).unwrap_or_else(|| {
            let values = rest.iter().map(|setting| setting.value.as_str());
            values.collect::<Vec<_>>().join(", ")
        });
        // Labels of several folders start with the folder's name.
        let is_taken = *again > 0 && names.contains(&name);
        names.push(if is_taken { format!("{name} ({})", again + 1) } else { name });
    }
    (names, curve_of)
}

/// The label without the number that distinguishes folders.
fn unnumbered(label: &str, again: usize) -> &str {
    let number = format!(" ({})", again + 1);
    label.strip_suffix(&number).filter(|_| again > 0).unwrap_or(label)
}

/// A label lists settings. The common parts name the line.
fn common(labels: &[&str]) -> Option<String> {
    let (first, others) = labels.split_first()?;
    let everywhere =
        |part: &&str| others.iter().all(|label| label.split(", ").any(|own| own == *part));
    let parts: Vec<&str> = first.split(", ").filter(everywhere).collect();
    let distinguished = others.is_empty() || others.iter().any(|label| label != first);
    (distinguished && !parts.is_empty()).then(|| parts.join(", "))
}

fn text_of<'a>(point: &'a Point, key: &str) -> Option<&'a str> {
    let setting = point.settings.iter().find(|setting| setting.key == key);
    setting.map(|setting| setting.value.as_str())
}

fn value_of(point: &Point, key: &str) -> Option<(f64, &'static str)> {
    measure(text_of(point, key)?)
}

/// A value of a scenario as a number with its unit, if it is a quantity.
pub fn measure(text: &str) -> Option<(f64, &'static str)> {
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some((number, ""));
    }
    if let Ok(span) = text.parse::<Span>() {
        return Some((span.as_ps() as f64 / 1e12, "s"));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((rate.as_bps() as f64, "bit/s"));
    }
    match text.parse::<Size>().ok()? {
        Size::Bytes(bytes) => Some((bytes.0 as f64, "B")),
        Size::Packets(packets) => Some((f64::from(packets), "")),
    }
}

/// The last word of a key: `load` for `traffic.0.load`, `rto min` for `transport.rto_min`.
pub fn title_of(key: &str) -> String {
    let last = key.rsplit('.').find(|word| word.parse::<u32>().is_err());
    last.unwrap_or(key).replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(label: &str, settings: &[(&str, &str)]) -> Point {
        let setting = |(key, value): &(&str, &str)| Setting {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        Point {
            label: label.to_owned(),
            settings: settings.iter().map(setting).collect(),
            runs: 1,
            commands: Vec::new(),
            baseline: None,
            estimates: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn sweep(points: Vec<Point>) -> Sweep {
        Sweep::new(&Summary {
            metrics: Vec::new(),
            points,
            baseline: None,
            services: None,
            queues: None,
            sizes: None,
            warnings: Vec::new(),
        })
    }

    #[test]
    fn the_swept_number_is_the_axis_and_other_settings_name_lines() {
        let mut points = Vec::new();
        for (kind, threshold) in [("tcn", "78us"), ("codel", "85us")] {
            for load in ["0.3", "0.5", "0.8"] {
                let label = format!("{kind}, load {load}");
                let settings =
                    [("m.kind", kind), ("m.threshold", threshold), ("traffic.0.load", load)];
                points.push(point(&label, &settings));
            }
        }
        let sweep = sweep(points);
        assert_eq!(sweep.curves, ["tcn", "codel"]);
        assert_eq!(sweep.curve_of, [0, 0, 0, 1, 1, 1]);
        assert_eq!(sweep.along.as_ref().unwrap().title, "load");
        let stops = sweep.stops();
        assert_eq!(stops.len(), 3);
        assert_eq!(sweep.point(1, stops[2].as_ref()), Some(5));
    }

    #[test]
    fn a_threshold_of_each_scheme_is_no_axis() {
        let points = vec![
            point("tcn", &[("m.kind", "tcn"), ("m.threshold", "78us")]),
            point("codel", &[("m.kind", "codel"), ("m.threshold", "85us")]),
        ];
        let sweep = sweep(points);
        assert!(sweep.along.is_none());
        assert_eq!(sweep.curves, ["tcn", "codel"]);
        assert_eq!(sweep.point(1, sweep.stops()[0].as_ref()), Some(1));
    }

    #[test]
    fn values_have_units_and_a_swept_threshold_is_an_axis() {
        let points = ["10us", "1ms", "100us"].map(|value| point(value, &[("a.threshold", value)]));
        let sweep = sweep(points.into());
        let along = sweep.along.as_ref().unwrap();
        assert_eq!((along.unit, along.title.as_str()), ("s", "threshold"));
        let stops = sweep.stops();
        let texts: Vec<&str> = stops.iter().flatten().map(|stop| stop.1.as_str()).collect();
        assert_eq!(texts, ["10us", "100us", "1ms"]);
        for (text, value) in
            [("10Gbps", (10e9, "bit/s")), ("300KB", (3e5, "B")), ("65pkts", (65.0, ""))]
        {
            assert_eq!(measure(text), Some(value));
        }
        assert_eq!(measure("tcn"), None);
        assert_eq!(measure("inf"), None);
    }

    #[test]
    fn the_same_sweep_in_two_folders_gives_two_names() {
        let mut points = Vec::new();
        for number in ["", " (2)"] {
            for load in ["0.3", "0.5"] {
                points.push(point(
                    &format!("tcn, load {load}{number}"),
                    &[("k", "tcn"), ("load", load)],
                ));
            }
        }
        let sweep = sweep(points);
        assert_eq!(sweep.curves, ["tcn", "tcn (2)"]);
        assert_eq!(sweep.curve_of, [0, 0, 1, 1]);
    }

    #[test]
    fn the_runs_of_several_folders_are_not_mixed() {
        // Three folders with the same point; only the third has a run with the second seed.
        let run = |folder: &str, label: &str, seed: &str| -> tidegate_results::Record {
            let json = serde_json::json!({
                "run": {
                    "id": format!("{folder}-{seed}"), "label": label, "point": [],
                    "replication": seed.parse::<u32>().unwrap(), "seed": seed, "fingerprint": "",
                    "command": folder, "end": { "reason": "finished" }, "ended_at_ps": 0,
                },
                "counters": tidegate_results::record::Counters::default(),
                "queues": [],
                "links": [],
            });
            serde_json::from_value(json).unwrap()
        };
        let records = [
            run("one", "a: tcn", "1"),
            run("two", "b: tcn", "1"),
            run("three", "c: tcn", "2"),
            run("three", "c: tcn", "1"),
        ];
        let summary = Summary::new(&records, None);
        let found = Sweep::records(&summary, &records.each_ref().map(View::from));
        for (point, records) in summary.points.iter().zip(&found) {
            let own: Vec<&str> = (records.iter()).map(|record| record.run.label.as_str()).collect();
            assert_eq!(own.len(), point.runs as usize, "{}", point.label);
            assert!(own.iter().all(|label| *label == point.label), "{own:?}");
        }
        let ids: Vec<&str> = (found[2].iter()).map(|record| record.run.id.as_str()).collect();
        assert_eq!(ids, ["three-1", "three-2"]);
    }

    #[test]
    fn lines_are_sorted_by_number() {
        let mut points = Vec::new();
        for threshold in ["100us", "10us"] {
            for load in ["0.3", "0.5", "0.8"] {
                let label = format!("tcn {threshold}, load {load}");
                points.push(point(&label, &[("m", threshold), ("load", load)]));
            }
        }
        let sweep = sweep(points);
        assert_eq!(sweep.curves, ["tcn 10us", "tcn 100us"]);
        assert_eq!(sweep.curve_of, [1, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn lines_with_distinct_names_get_no_number() {
        let mut points = Vec::new();
        for folder in ["a", "b"] {
            for load in ["0.3", "0.5"] {
                points.push(point(
                    &format!("{folder}: tcn, load {load}"),
                    &[("k", "tcn"), ("load", load)],
                ));
            }
        }
        assert_eq!(sweep(points).curves, ["a: tcn", "b: tcn"]);
    }

    #[test]
    fn a_value_in_two_notations_loses_no_point() {
        let mut points = Vec::new();
        for kind in ["tcn", "codel"] {
            for time in ["1ms", "1000us", "2ms"] {
                let label = format!("{kind}, time {time}");
                points.push(point(&label, &[("k", kind), ("time", time)]));
            }
        }
        let groups = sweep(points).groups();
        let mut shown: Vec<usize> =
            groups.iter().flat_map(|group| group.rows.iter().map(|row| row.point)).collect();
        shown.sort_unstable();
        assert_eq!(shown, [0, 1, 2, 3, 4, 5]);
        let names: Vec<&str> = groups[0].rows.iter().map(|row| row.name.as_str()).collect();
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
    }

    #[test]
    fn without_a_sweep_there_is_one_line_and_no_axis() {
        let sweep = sweep(vec![point("the only", &[])]);
        assert!(sweep.along.is_none());
        assert_eq!(sweep.curves, ["the only"]);
        assert!(self::sweep(Vec::new()).curves.is_empty());
    }
}
