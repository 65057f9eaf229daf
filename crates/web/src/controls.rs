//! Controls of a scenario: sliders and choices, each with the path of the value that it changes.

use serde::Serialize;
use tidegate_dataplane::mark;
use tidegate_scenario::Experiment;
use tidegate_units::Catalogue;

use crate::tree::Node;

/// A slider or a choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Control {
    pub(crate) label: String,
    /// Path of its value in the text.
    pub(crate) path: Vec<String>,
    /// Point of the sweep that it belongs to; all points without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) point: Option<usize>,
    #[serde(flatten)]
    pub(crate) form: Form,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "form")]
pub(crate) enum Form {
    /// One of several tables.
    Choice { value: String, options: Vec<Choice> },
    /// A number with a unit.
    Slider {
        value: f64,
        least: f64,
        most: f64,
        /// Only whole numbers.
        whole: bool,
        /// Unit behind the number in the text. Without a unit the number has no quotes.
        unit: &'static str,
        /// Factor from the number in the text to the number on the slider.
        factor: f64,
        /// Unit on the slider.
        shown: &'static str,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Choice {
    pub(crate) name: &'static str,
    /// Description in a line.
    pub(crate) words: &'static str,
    /// Text that the choice writes.
    pub(crate) text: String,
}

/// Controls of a text with these points.
pub(crate) fn controls(text: &str, points: &[Experiment]) -> Vec<Control> {
    let Some(tree) = Node::parse(text) else {
        return Vec::new();
    };
    let mut controls = Vec::new();
    let own: Vec<Option<Vec<String>>> =
        (0..points.len()).map(|number| own_marking(&tree, number)).collect();
    if own.iter().all(Option::is_none) {
        // One scheme for all points.
        let path = path(&["switch", "marking"]);
        if let Some(point) = points.first() {
            add_scheme(&mut controls, &tree, points, point, None, &path);
        }
    }
    for (number, (point, path)) in points.iter().zip(own).enumerate() {
        if let Some(path) = path {
            add_scheme(&mut controls, &tree, points, point, Some(number), &path);
        }
    }
    let traffic = tree.child("traffic").map_or(&[][..], Node::items);
    let is_long = |source: &&Node| kind(source) == "long-lived";
    // More sliders would be indistinguishable.
    let has_few = traffic.iter().filter(is_long).count() <= 2;
    for (index, source) in traffic.iter().enumerate() {
        if has_few || !is_long(&source) {
            add_source(&mut controls, source, index);
        }
    }
    let topology = path(&["topology", "host_delay"]);
    if let Some(delay) = tree.get(&topology).and_then(Node::scalar)
        && let Some((value, "us")) = quantity(delay)
    {
        // A round trip crosses two such cables in both directions, if it has no other delays.
        let (label, factor) = if is_plain_star(&tree) {
            ("Round trip", 4.0)
        } else {
            ("Delay of a host's cable", 1.0)
        };
        controls.push(Control {
            label: label.into(),
            path: topology,
            point: None,
            form: Form::Slider {
                value,
                least: 1.0,
                most: 250.0,
                whole: false,
                unit: "us",
                factor,
                shown: "µs",
            },
        });
    }
    for key in ["limit", "pool_size"] {
        let path = path(&["switch", "buffer", key]);
        let value = tree.get(&path).and_then(Node::scalar).and_then(quantity);
        if let Some((value, unit)) = value {
            let label = if key == "limit" { "Buffer" } else { "Shared pool" };
            controls.push(slider(label, path, None, value, unit));
        }
    }
    controls
}

fn path(steps: &[&str]) -> Vec<String> {
    steps.iter().map(|&step| step.to_owned()).collect()
}

/// Whether every point has all hosts on one switch, with equal cable delays and no delays of their
/// own.
fn is_plain_star(tree: &Node) -> bool {
    let is_other =
        |key: &str| key.contains("topology") || key.replace('-', "_").contains("host_delay");
    let is_star = tree.child("topology").is_some_and(|node| kind(node) == "star");
    let adds = [["topology", "host_delays"], ["transport", "host_delay"]];
    let sweeps = tree.child("sweep").map_or(&[][..], Node::entries).iter();
    let mut swept = sweeps.flat_map(|axis| keys(&axis.key, &axis.node));
    is_star && adds.iter().all(|path| tree.get(path).is_none()) && !swept.any(is_other)
}

/// Key of an axis, and the keys of its points if they are tables.
fn keys<'a>(axis: &'a str, node: &'a Node) -> Vec<&'a str> {
    let inner = node.items().iter().flat_map(Node::entries);
    let inner = inner.map(|entry| entry.key.as_str());
    std::iter::once(axis).chain(inner).collect()
}

/// Path of a point's scheme, if the sweep has a scheme per point. With several axes a point has
/// none of its own.
fn own_marking(tree: &Node, point: usize) -> Option<Vec<String>> {
    const KEY: &str = "switch.marking";
    let sweep = tree.child("sweep")?;
    let [axis] = sweep.entries() else {
        return None;
    };
    let item = axis.node.items().get(point)?;
    let mut found = vec!["sweep".to_owned(), axis.key.clone(), point.to_string()];
    if axis.key == KEY {
        return Some(found);
    }
    if item.child(KEY).is_some() {
        found.push(KEY.to_owned());
        return Some(found);
    }
    item.get(&["switch", "marking"])?;
    found.extend(path(&["switch", "marking"]));
    Some(found)
}

fn add_scheme(
    controls: &mut Vec<Control>,
    tree: &Node,
    points: &[Experiment],
    point: &Experiment,
    number: Option<usize>,
    path: &[String],
) {
    let kind = tree.get(path).and_then(|node| node.child("kind"));
    let kind = kind.and_then(Node::scalar).unwrap_or("queue-red");
    let alone = mark::Config::entries().into_iter();
    let alone = alone.filter(|entry| entry.about.pieces.is_empty());
    // A lane without a threshold takes its neighbour's.
    let threshold = std::iter::once(point).chain(points).find_map(Threshold::of);
    controls.push(Control {
        label: "Scheme".into(),
        path: path.to_vec(),
        point: number,
        form: Form::Choice {
            value: kind.to_owned(),
            options: alone
                .map(|entry| Choice {
                    name: entry.about.name,
                    words: entry.about.summary,
                    text: scheme_text(entry.about.name, threshold.as_ref()),
                })
                .collect(),
        },
    });
    for threshold in point.outline.thresholds.iter().take(2) {
        if let Some((value, unit)) = quantity(&threshold.value) {
            let mut path = path.to_vec();
            path.push(threshold.name.to_owned());
            let label = capital(&threshold.name.replace('_', " "));
            controls.push(slider(&label, path, number, value, unit));
        }
    }
}

/// Threshold of a port, for use by another scheme.
struct Threshold {
    text: String,
    value: f64,
    unit: &'static str,
    /// Rate of the slowest host link in bits per microsecond, to convert bytes to time.
    rate: f64,
}

impl Threshold {
    /// First threshold of a point's scheme.
    fn of(point: &Experiment) -> Option<Self> {
        if POOL_WIDE.contains(&point.outline.scheme.as_str()) {
            return None;
        }
        let rate = point.outline.host_rates.first()?.as_bps();
        let first = point.outline.thresholds.first()?;
        let text = first.value.split(',').next()?.trim().to_owned();
        let (value, unit) = quantity(&text)?;
        let rate = tidegate_sim::observe::statistics::real(rate) / 1e6;
        Some(Self { text, value, unit, rate })
    }

    /// The threshold in packets or bytes as written, as a time, and in bytes.
    fn texts(&self) -> [String; 3] {
        let bits = match self.unit {
            "us" => self.value * self.rate,
            "pkts" => self.value * PACKET * 8.0,
            _ => self.value * 8e3,
        };
        let time = format!("{}us", rounded(bits / self.rate));
        let bytes = format!("{}KB", rounded(bits / 8e3));
        [self.text.clone(), time, bytes]
    }
}

/// Schemes whose first threshold applies to a whole pool.
const POOL_WIDE: [&str; 1] = ["pool-red"];

/// Bytes per packet of a threshold in packets.
const PACKET: f64 = 1500.0;

/// A scheme as TOML, with the threshold in its own unit.
fn scheme_text(name: &str, threshold: Option<&Threshold>) -> String {
    let plain = format!("{{ kind = \"{name}\" }}");
    let (Some(mut config), Some(threshold)) = (mark::Config::named(name), threshold) else {
        return plain;
    };
    let fields = config.fields().iter();
    let field = fields.into_iter().find(|field| field.is_threshold);
    let Some(field) = field.filter(|_| !POOL_WIDE.contains(&name)) else {
        return plain;
    };
    let texts = threshold.texts().into_iter();
    match { texts }.find(|text| config.set(field.name, text).is_ok()) {
        Some(text) => format!("{{ kind = \"{name}\", {} = \"{text}\" }}", field.name),
        None => plain,
    }
}

/// Rounds to three significant digits.
fn rounded(value: f64) -> f64 {
    let places = 10_f64.powf(2.0 - value.abs().max(1e-9).log10().floor());
    (value * places).round() / places
}

fn kind(node: &Node) -> &str {
    node.child("kind").and_then(Node::scalar).unwrap_or_default()
}

fn add_source(controls: &mut Vec<Control>, source: &Node, index: usize) {
    let number = |key: &str| -> Option<f64> { source.child(key)?.scalar()?.parse().ok() };
    let path = |key: &str| path(&["traffic", &index.to_string(), key]);
    let plain = |label: &str, key, value, least, most, whole| Control {
        label: label.to_owned(),
        path: path(key),
        point: None,
        form: Form::Slider { value, least, most, whole, unit: "", factor: 1.0, shown: "" },
    };
    if let Some(load) = number("load") {
        controls.push(plain("Load", "load", load, 0.05, 1.0, false));
    }
    if kind(source) == "long-lived" {
        let flows = number("flows").unwrap_or(1.0);
        let from = source.child("from").and_then(Node::scalar).unwrap_or("0");
        let label = format!("Flows from each of {from}");
        controls.push(plain(&label, "flows", flows, 1.0, 32.0, true));
    }
    if let Some(flows) = number("fan_in") {
        controls.push(plain("Flows of a burst", "fan_in", flows, 1.0, 256.0, true));
    }
}

fn slider(
    label: &str,
    path: Vec<String>,
    point: Option<usize>,
    value: f64,
    unit: &'static str,
) -> Control {
    let (least, most, whole, shown) = match unit {
        "us" => (1.0, 2_000.0, false, "µs"),
        "pkts" => (1.0, 2_000.0, true, "packets"),
        _ => (2.0, 10_000.0, false, "KB"),
    };
    Control {
        label: label.to_owned(),
        path,
        point,
        form: Form::Slider { value, least, most, whole, unit, factor: 1.0, shown },
    }
}

/// Parses a time in microseconds, packets, or bytes in thousands; nothing else.
fn quantity(text: &str) -> Option<(f64, &'static str)> {
    let text = text.trim();
    let units = text.find(|letter: char| letter.is_ascii_alphabetic() || letter == 'µ')?;
    let (number, unit) = text.split_at(units);
    let number: f64 = number.trim().replace('_', "").parse().ok()?;
    let (factor, unit) = match unit {
        "ps" => (1e-6, "us"),
        "ns" => (1e-3, "us"),
        "us" | "µs" | "μs" => (1.0, "us"),
        "ms" => (1e3, "us"),
        "s" => (1e6, "us"),
        "pkt" | "pkts" => (1.0, "pkts"),
        "B" => (1e-3, "KB"),
        "KB" | "kB" => (1.0, "KB"),
        "KiB" => (1.024, "KB"),
        "MB" => (1e3, "KB"),
        "MiB" => (1_048.576, "KB"),
        _ => return None,
    };
    Some((number * factor, unit))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lessons::LESSONS;
    use crate::{edit, run};

    #[test]
    fn quantities_have_the_unit_of_a_slider() {
        for (text, expected) in [
            ("78us", Some((78.0, "us"))),
            ("1.5ms", Some((1_500.0, "us"))),
            ("65pkts", Some((65.0, "pkts"))),
            ("300KB", Some((300.0, "KB"))),
            ("1MiB", Some((1_048.576, "KB"))),
            ("none", None),
            ("derived", None),
            ("", None),
            ("10Gbps", None),
        ] {
            assert_eq!(quantity(text), expected, "{text}");
        }
    }

    /// A host's cable delay counts four times in a round trip only if there are no other delays.
    #[test]
    fn delay_slider_has_the_right_label() {
        let labels = |text: &str| -> Vec<(String, f64)> {
            let scenario = run::parse(text).unwrap();
            let points = run::points(&scenario, text).unwrap();
            let controls = controls(text, &points).into_iter();
            let delays = controls.filter(|control| control.path == ["topology", "host_delay"]);
            let shown = delays.map(|control| match control.form {
                Form::Slider { factor, .. } => (control.label, factor),
                Form::Choice { .. } => (control.label, 0.0),
            });
            shown.collect()
        };
        let traffic = "[[traffic]]\nkind = \"burst\"\nto = \"1\"\nfan_in = 1\nsizes = \"20KB\"\n";
        let star = "[topology]\nkind = \"star\"\nhosts = 3\nhost_delay = \"10us\"\n";
        let round_trip = [("Round trip".to_owned(), 4.0)];
        let cable = [("Delay of a host's cable".to_owned(), 1.0)];
        assert_eq!(labels(&format!("{star}{traffic}")), round_trip);
        for other in [
            format!("[topology]\nkind = \"leaf-spine\"\nhost_delay = \"10us\"\n{traffic}"),
            format!("{star}host_delays = [\"5us\"]\n{traffic}"),
            format!("{star}[transport.host_delay]\nvalues = [\"5us\"]\n{traffic}"),
            format!(
                "{star}{traffic}[sweep]\n\"transport.host_delay.values\" = [[\"5us\"], [\"9us\"]]\n"
            ),
        ] {
            assert_eq!(labels(&other), cable, "{other}");
        }
    }

    /// The lesson reads back every value that a slider or choice writes.
    #[test]
    fn every_control_of_every_lesson_works() {
        for lesson in LESSONS {
            let scenario = run::parse(lesson.text).unwrap();
            let points = run::points(&scenario, lesson.text).unwrap();
            let controls = controls(lesson.text, &points);
            assert!(controls.len() > 3, "{}: {controls:?}", lesson.id);
            for control in controls {
                let written = |value: &str| {
                    let text = edit::set(lesson.text, &control.path, value).unwrap();
                    let scenario = run::parse(&text);
                    assert!(
                        scenario.is_ok(),
                        "{} {:?} {value}: {scenario:?}",
                        lesson.id,
                        control.path
                    );
                    run::points(&scenario.unwrap(), &text).is_ok()
                };
                // A written value, and another one that must be equally valid.
                let values: Vec<(String, String)> = match &control.form {
                    Form::Choice { options, .. } => options
                        .iter()
                        .map(|one| (one.text.clone(), format!("{{ kind = \"{}\" }}", one.name)))
                        .collect(),
                    Form::Slider { least, unit: "", .. } => {
                        vec![(least.to_string(), least.to_string())]
                    }
                    Form::Slider { most, unit, .. } => {
                        let text = format!("\"{most}{unit}\"");
                        vec![(text.clone(), text)]
                    }
                };
                for (value, plain) in values {
                    // Some schemes need another scheduler; a threshold never makes a scheme
                    // invalid.
                    assert_eq!(written(&value), written(&plain), "{}: {value}", lesson.id);
                }
            }
        }
    }

    /// Another scheme in a lane marks at the same sojourn time, in its own unit.
    #[test]
    fn another_scheme_keeps_the_threshold_of_the_lesson() {
        let choices = |id: &str, point: usize| -> Vec<String> {
            let lesson = LESSONS.iter().find(|lesson| lesson.id == id).unwrap();
            let scenario = run::parse(lesson.text).unwrap();
            let points = run::points(&scenario, lesson.text).unwrap();
            let mut controls = controls(lesson.text, &points).into_iter();
            let schemes = controls.find_map(|control| match control.form {
                Form::Choice { options, .. } if control.point == Some(point) => Some(options),
                _ => None,
            });
            let options = schemes.unwrap().into_iter();
            options.map(|option| option.text).collect()
        };
        for (id, point, texts) in [
            // 65 packets of 1500 bytes leave a port of 10 Gb/s in 78 us.
            (
                "tcn-dwrr",
                0,
                [
                    "{ kind = \"tcn\", threshold = \"78us\" }",
                    "{ kind = \"queue-red\", threshold = \"97.5KB\" }",
                    "{ kind = \"ecn-sharp\", ins_target = \"78us\" }",
                ],
            ),
            (
                "tcn-dwrr",
                1,
                [
                    "{ kind = \"tcn\", threshold = \"78us\" }",
                    "{ kind = \"port-red\", threshold = \"65pkts\" }",
                    "{ kind = \"bcc\", port_threshold = \"65pkts\" }",
                ],
            ),
            // The lane without marks takes the other lane's threshold; a pool has no port
            // threshold.
            (
                "incast",
                0,
                [
                    "{ kind = \"tcn\", threshold = \"24us\" }",
                    "{ kind = \"queue-red\", threshold = \"20pkts\" }",
                    "{ kind = \"pool-red\" }",
                ],
            ),
        ] {
            let found = choices(id, point);
            for text in texts {
                assert!(found.iter().any(|one| one == text), "{id}: {text}: {found:?}");
            }
        }
    }
}
