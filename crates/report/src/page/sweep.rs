//! What a sweep varied: one number along an axis, if there is one, and the rest as names of lines.

use std::collections::BTreeSet;

use tidegate_units::{Rate, Size, Span};

use crate::record::{Record, Setting};
use crate::summary::{Point, Summary};

/// The points of a summary as lines of a chart.
pub(super) struct Sweep {
    /// The number that was swept, if any.
    pub(super) along: Option<Along>,
    /// The names of the lines, in the order of the sweep.
    pub(super) lanes: Vec<String>,
    /// The line of each point.
    pub(super) lane_of: Vec<usize>,
}

/// A number that was swept.
pub(super) struct Along {
    /// What it is called, such as `load`.
    pub(super) title: String,
    pub(super) unit: &'static str,
    /// Its value at each point, and as the scenario writes it.
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
                values: values
                    .iter()
                    .map(|value| value.0)
                    .zip(texts.map(str::to_owned))
                    .collect(),
            })
        });
        let (lanes, lane_of) = lanes(points, along.as_ref().and(key));
        Self {
            along,
            lanes,
            lane_of,
        }
    }

    /// The distinct values of what was swept, rising; one empty place if nothing was.
    pub(super) fn stops(&self) -> Vec<Option<(f64, String)>> {
        let Some(along) = &self.along else {
            return vec![None];
        };
        let mut values = along.values.clone();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        values.dedup_by(|a, b| a.0 == b.0);
        values.into_iter().map(Some).collect()
    }

    /// The point of a line at a stop.
    pub(super) fn point(&self, lane: usize, stop: Option<&(f64, String)>) -> Option<usize> {
        (0..self.lane_of.len()).find(|point| {
            let here = self.along.as_ref().map(|along| along.values[*point].0);
            self.lane_of[*point] == lane && here == stop.map(|stop| stop.0)
        })
    }

    /// The records of each point, in the order of their repetitions.
    pub(super) fn records<'a>(summary: &Summary, records: &'a [Record]) -> Vec<Vec<&'a Record>> {
        let of = |point: &Point| {
            let same = |record: &&Record| {
                record.run.point == point.settings && record.run.label == point.label
            };
            let mut found: Vec<&Record> = records.iter().filter(same).collect();
            found.sort_by_key(|record| record.run.replication);
            found
        };
        summary.points.iter().map(of).collect()
    }
}

/// The key with the most values for the same rest; none if it never has two.
fn swept_number(points: &[Point]) -> Option<&str> {
    let keys = points
        .first()?
        .settings
        .iter()
        .map(|setting| setting.key.as_str());
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
    point
        .settings
        .iter()
        .filter(|setting| setting.key != key)
        .collect()
}

/// Names for all combinations of what was not drawn along the axis.
fn lanes(points: &[Point], along: Option<&str>) -> (Vec<String>, Vec<usize>) {
    let key = along.unwrap_or("");
    let mut rests: Vec<Vec<&Setting>> = Vec::new();
    let mut lane_of = Vec::with_capacity(points.len());
    for point in points {
        let rest = rest(point, key);
        // Without a number to sweep, points that have the same settings still differ in their label.
        let known = rests.iter().position(|known| *known == rest);
        let lane = known.filter(|_| along.is_some()).unwrap_or(rests.len());
        if lane == rests.len() {
            rests.push(rest);
        }
        lane_of.push(lane);
    }
    let name = |lane: usize| {
        let mut labels = points
            .iter()
            .zip(&lane_of)
            .filter(|(_, of)| **of == lane)
            .map(|(point, _)| &point.label);
        let first = labels.next().map(String::as_str).unwrap_or_default();
        let others: Vec<&String> = labels.collect();
        // A label lists what was set. The parts that stay the same name the line.
        let parts = first.split(", ").filter(|part| {
            others
                .iter()
                .all(|label| label.split(", ").any(|other| other == *part))
        });
        let common: Vec<&str> = parts.collect();
        let values = rests[lane].iter().map(|setting| setting.value.as_str());
        match common.join(", ") {
            name if !others.is_empty() && name == first => values.collect::<Vec<_>>().join(", "),
            name if name.is_empty() => values.collect::<Vec<_>>().join(", "),
            name => name,
        }
    };
    let mut names: Vec<String> = (0..rests.len()).map(name).collect();
    // Two lines of one name cannot be told apart: number them.
    for place in 1..names.len() {
        let again = names[..place]
            .iter()
            .filter(|name| **name == names[place])
            .count();
        if again > 0 {
            names[place] = format!("{} ({})", names[place], again + 1);
        }
    }
    (names, lane_of)
}

fn text_of<'a>(point: &'a Point, key: &str) -> Option<&'a str> {
    let setting = point.settings.iter().find(|setting| setting.key == key);
    setting.map(|setting| setting.value.as_str())
}

fn value_of(point: &Point, key: &str) -> Option<(f64, &'static str)> {
    measure(text_of(point, key)?)
}

/// A value of a scenario as a number with its unit, if it is one.
fn measure(text: &str) -> Option<(f64, &'static str)> {
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

/// `traffic.0.load` is the load, `transport.rto_min` the rto min.
fn title_of(key: &str) -> String {
    let last = key.rsplit('.').find(|word| word.parse::<u32>().is_err());
    last.unwrap_or(key).replace('_', " ")
}
