//! Charts of published figures, drawn from records.

#![expect(
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "places on a page: a float has more digits than a screen, and equal ones are copies"
)]

use tidegate_report::page::{in_numeric_order, swept_title, swept_value, thin};
use tidegate_report::plot::{Axis, Chart, Kind, Line, Mark, Origin, break_at_gaps};
use tidegate_results::Record;
use tidegate_results::record::{Class, Distribution, Quantity, Setting};
use tidegate_results::statistics::{Interval, mean, student};

use super::claim::region::Region;
use super::claim::{Claim, Published};
use super::figure::{CdfOf, Draws, Figure, Plot};
use super::measure::{Measure, all_samples};
use super::number::Number;
use super::pattern;

/// Maximum points of a line.
const MOST: usize = 1200;

/// Charts of a figure. Charts without data are left out.
pub fn charts(figure: &Figure, records: &[Record]) -> Vec<Chart> {
    let chart = |(number, plot): (usize, &Plot)| {
        let fits = |record: &&Record| pattern::fits(&plot.of, &record.run.label);
        let records: Vec<&Record> = records.iter().filter(fits).collect();
        let (kind, x, y, lines) = match &plot.draws {
            Draws::Cdf(of) => (
                Kind::Cdf,
                Axis::linear(title_of(*of), unit_of(*of)),
                Axis::linear("share", ""),
                cdf(*of, &records),
            ),
            Draws::Series { quantity, subject, from, to } => (
                Kind::Trace,
                Axis::linear("time", "s"),
                Axis::linear(quantity.name().replace('-', " "), quantity.unit()),
                traces(*quantity, subject, (from.as_ref(), to.as_ref()), &records),
            ),
            Draws::Line { y, x, normalise, published } => {
                let curves = Curves { y, x, normalise: normalise.as_deref(), records: &records };
                let mut lines = curves.measured();
                if published.is_empty() {
                    curves.add_claims(&figure.claims, &mut lines);
                } else {
                    add_published(published, &mut lines);
                }
                let (title, unit) = match normalise {
                    Some(base) => (format!("{}, {base} = 1", y.title()), ""),
                    None => (y.title().to_owned(), y.unit()),
                };
                let along = Axis::linear(swept_title(x), curves.unit());
                (Kind::Curves, along, Axis::linear(title, unit), lines)
            }
        };
        Chart {
            id: format!("{}", number + 1),
            title: plot.title.clone(),
            kind,
            x,
            y,
            lines,
            notes: Vec::new(),
            commands: records.iter().map(|record| record.run.command.clone()).collect(),
        }
    };
    let charts = figure.plots.iter().enumerate().map(chart);
    charts.filter(|chart| !chart.is_empty()).collect()
}

const fn unit_of(of: CdfOf) -> &'static str {
    match of {
        CdfOf::ActiveFlows => "",
        CdfOf::Fct | CdfOf::FctLarge | CdfOf::FctSmall | CdfOf::Rtt => "s",
    }
}

const fn title_of(of: CdfOf) -> &'static str {
    match of {
        CdfOf::ActiveFlows => "active flows",
        CdfOf::Fct => "completion time",
        CdfOf::FctLarge => "completion time of large flows",
        CdfOf::FctSmall => "completion time of small flows",
        CdfOf::Rtt => "round trip",
    }
}

/// Labels of records, each once, ordered by their numbers.
fn labels<'a>(records: &[&'a Record]) -> Vec<&'a str> {
    let mut labels: Vec<&str> = Vec::new();
    for record in records {
        if !labels.contains(&record.run.label.as_str()) {
            labels.push(&record.run.label);
        }
    }
    let order = in_numeric_order(&labels);
    order.into_iter().map(|place| labels[place]).collect()
}

/// A line per point, from all of its repetitions.
fn cdf(of: CdfOf, records: &[&Record]) -> Vec<Line> {
    let values = |record: &Record| -> Vec<f64> {
        let class = match of {
            CdfOf::ActiveFlows => {
                let ports = record.port_flows.iter();
                return ports.flat_map(|port| per_mille(&port.active)).collect();
            }
            CdfOf::Rtt => {
                let probes = record.probes.iter();
                return probes.map(|probe| probe.rtt_ps as f64 / 1e12).collect();
            }
            CdfOf::Fct => None,
            CdfOf::FctLarge => Some(Class::Large),
            CdfOf::FctSmall => Some(Class::Small),
        };
        let flows = record.flows.iter().filter(|flow| flow.counts);
        let flows = flows.filter(|flow| class.is_none_or(|class| class == flow.class));
        flows.filter_map(|flow| flow.fct_ps.map(|time| time as f64 / 1e12)).collect()
    };
    let line = |(hue, label): (usize, &str)| {
        let own = records.iter().filter(|record| record.run.label == label);
        let mut all: Vec<f64> = own.flat_map(|record| values(record)).collect();
        all.sort_by(f64::total_cmp);
        Line {
            name: label.to_owned(),
            hue,
            marks: thin::distribution(&all, MOST / 3),
            origin: Origin::Measured,
        }
    };
    labels(records).into_iter().enumerate().map(line).collect()
}

/// Values of a distribution at each thousandth of its weight.
fn per_mille(distribution: &Distribution) -> impl Iterator<Item = f64> {
    let quantiles = &distribution.quantiles;
    (1..=1000).filter_map(|part| {
        let reaches = |pair: &&(f64, f64)| pair.0 * 1000.0 >= f64::from(part) - 1e-9;
        quantiles.iter().find(reaches).map(|&(_, value)| value)
    })
}

/// A line per point and matching trace, from the first repetition.
fn traces(
    quantity: Quantity,
    subject: &str,
    (from, to): (Option<&Number>, Option<&Number>),
    records: &[&Record],
) -> Vec<Line> {
    let labels = labels(records);
    let mut lines = Vec::new();
    for &label in &labels {
        let Some(record) = records.iter().find(|record| record.run.label == label) else {
            continue;
        };
        let step = record.series.interval_ps as f64 / 1e12;
        let own: Vec<_> = all_samples(record, quantity, subject, from, to).collect();
        let is_single = own.len() == 1;
        for (of, samples) in own {
            let Some(&(begin, _)) = samples.first() else {
                continue;
            };
            let values: Vec<f64> = samples.into_iter().map(|(_, value)| value).collect();
            lines.push(Line {
                name: match (labels.len(), is_single) {
                    (_, true) => label.to_owned(),
                    (1, false) => of.to_owned(),
                    (_, false) => format!("{label}, {of}"),
                },
                hue: lines.len(),
                marks: thin::samples(&values, |place| begin + place * step, MOST).marks,
                origin: Origin::Measured,
            });
        }
    }
    lines
}

/// The number in the name of a point, such as `100us` in `interval 100us` or `2` in `2x, average`,
/// and the rest of the name.
fn number_in(value: &str) -> (&str, String) {
    let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let words = || value.split([' ', ',']).filter(|word| !word.is_empty());
    let Some(number) = words().find(is_number) else {
        return (value, String::new());
    };
    let rest: Vec<&str> = words().filter(|word| *word != number).collect();
    (number.trim_end_matches('x'), rest.join(" "))
}

/// A measure over a swept number.
struct Curves<'a> {
    y: &'a Measure,
    x: &'a str,
    normalise: Option<&'a str>,
    records: &'a [&'a Record],
}

impl Curves<'_> {
    /// Position of a point on the axis.
    fn place(&self, record: &Record) -> Option<(f64, &'static str)> {
        let along = |setting: &&Setting| setting.key == self.x;
        let setting = record.run.point.iter().find(along)?;
        swept_value(number_in(&setting.value).0)
    }

    fn unit(&self) -> &'static str {
        let mut places = self.records.iter().filter_map(|record| self.place(record));
        places.next().map_or("", |(_, unit)| unit)
    }

    /// Line of a point: its settings other than the number on the axis.
    fn line_name(&self, record: &Record) -> String {
        let name = |setting: &Setting| {
            if setting.key == self.x { number_in(&setting.value).1 } else { setting.value.clone() }
        };
        let mut names: Vec<String> = record.run.point.iter().map(name).collect();
        names.retain(|name| !name.is_empty());
        names.join(", ")
    }

    /// Value of a run, relative to its base if there is one.
    fn value(&self, record: &Record) -> Option<f64> {
        let value = self.y.value(record)?;
        let Some(base) = self.normalise else {
            return Some(value);
        };
        // The label of the base differs in one part.
        let parts: Vec<&str> = record.run.label.split(", ").collect();
        let is_base = |other: &&&Record| {
            let others: Vec<&str> = other.run.label.split(", ").collect();
            let mut apart = parts.iter().zip(&others).filter(|(a, b)| a != b);
            let differs = apart.next().map(|(_, other)| *other);
            let own = parts.contains(&base) && differs.is_none();
            others.len() == parts.len()
                && other.run.replication == record.run.replication
                && apart.next().is_none()
                && (own || differs == Some(base))
        };
        let base = self.y.value(self.records.iter().find(is_base)?)?;
        (base > 0.0).then(|| value / base)
    }

    fn measured(&self) -> Vec<Line> {
        let mut names: Vec<String> = Vec::new();
        for record in self.records {
            let name = self.line_name(record);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let line = |(hue, place): (usize, usize)| {
            let own = self.records.iter().copied();
            let own: Vec<&Record> =
                own.filter(|record| self.line_name(record) == names[place]).collect();
            Line {
                marks: self.marks(&own),
                hue,
                name: names[place].clone(),
                origin: Origin::Measured,
            }
        };
        let order = in_numeric_order(&names).into_iter().enumerate();
        let mut lines: Vec<Line> = order.map(line).collect();
        break_at_gaps(&mut lines);
        lines
    }

    fn marks(&self, own: &[&Record]) -> Vec<Mark> {
        let mut places: Vec<f64> =
            own.iter().filter_map(|record| self.place(record).map(|(place, _)| place)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let mark = |&x: &f64| {
            let here = own.iter().filter(|record| self.place(record).is_some_and(|at| at.0 == x));
            let values: Vec<f64> = here.filter_map(|record| self.value(record)).collect();
            let interval = student::interval(&values);
            Some(Mark {
                interval: interval.map(|Interval { low, high }| (low, high)),
                samples: Some(values.len() as u64),
                ..Mark::new(x, mean(&values)?)
            })
        };
        places.iter().filter_map(mark).collect()
    }

    /// Claims about points of the chart, with their tolerances.
    fn add_claims(&self, claims: &[Claim], lines: &mut Vec<Line>) {
        for claim in claims.iter().filter(|claim| claim.measure == *self.y) {
            match &claim.paper {
                Published::About { value, .. } => {
                    let region = Region::of(claim).map(|region| region.ends());
                    let placed = region
                        .and_then(|ends| self.placed(claim, (value, ends), |of| self.position(of)));
                    if let Some((line, mark)) = placed {
                        add(lines, &line, mark);
                    }
                }
                Published::Curve { points } => {
                    for (at, value) in points {
                        let position = |_: &str| self.position_on_curve(&claim.of, at);
                        let ends = Region::of_point(claim, value).ends();
                        if let Some((line, mark)) = self.placed(claim, (value, ends), position) {
                            add(lines, &line, mark);
                        }
                    }
                }
                _ => {}
            }
        }
        for line in lines.iter_mut() {
            line.marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
    }

    /// Line and mark of a published number with its accepted range. `position` finds the points of
    /// a pattern.
    fn placed(
        &self,
        claim: &Claim,
        (value, (low, high)): (&Number, (f64, f64)),
        position: impl Fn(&str) -> Option<(f64, String)>,
    ) -> Option<(String, Mark)> {
        let value = value.value;
        let mark = |of: &str, y: f64, interval: (f64, f64)| {
            let (x, line) = position(of)?;
            let mark = Mark { interval: Some(interval), ..Mark::new(x, y) };
            Some((line, mark))
        };
        match (&claim.against, self.normalise) {
            (None, None) => mark(&claim.of, value, (low, high)),
            // A change in a chart with base 1: its points are compared with the base, or they are
            // the base and the compared points have the reciprocal.
            (Some(against), Some(base)) => {
                let is_base = |pattern: &str| pattern.split(", ").any(|part| part == base);
                let ends = (1.0 + low, 1.0 + high);
                let is_curve = matches!(claim.paper, Published::Curve { .. });
                if is_base(against) {
                    mark(&claim.of, 1.0 + value, ends)
                } else if is_base(&claim.of) && ends.0 > 0.0 && !is_curve {
                    mark(against, 1.0 / (1.0 + value), (1.0 / ends.1, 1.0 / ends.0))
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    /// Axis position and line of the points that match a pattern, if they share both.
    fn position(&self, of: &str) -> Option<(f64, String)> {
        let fits = |record: &&&Record| pattern::fits(of, &record.run.label);
        let mut positions = self.records.iter().filter(fits).map(|record| {
            let place = self.place(record).map(|(place, _)| place);
            (place, self.line_name(record))
        });
        let first = positions.next()?;
        let is_single = positions.all(|position| position == first);
        Some((first.0.filter(|_| is_single)?, first.1))
    }

    /// The same for a point of a curve, which may not have been run.
    fn position_on_curve(&self, of: &str, at: &str) -> Option<(f64, String)> {
        let fits = |record: &&&Record| pattern::fits(of, &record.run.label);
        let record = self.records.iter().find(fits)?;
        Some((swept_value(at)?.0, self.line_name(record)))
    }
}

fn add_published(published: &[(String, Vec<(Number, Number)>)], lines: &mut Vec<Line>) {
    for (name, points) in published {
        for (x, y) in points {
            add(lines, name, Mark::new(x.value, y.value));
        }
    }
}

/// Adds a published point beside the measured line.
fn add(lines: &mut Vec<Line>, measured: &str, mark: Mark) {
    let name = format!("{measured} (paper)");
    if let Some(line) = lines.iter_mut().find(|line| line.name == name) {
        line.marks.push(mark);
        return;
    }
    let beside = lines.iter().find(|line| line.name == measured);
    let hue = beside.map_or(lines.len(), |line| line.hue);
    lines.push(Line { name, hue, marks: vec![mark], origin: Origin::Published });
}

#[cfg(test)]
mod tests {
    use tidegate_results::record::{Counters, Flow};

    use super::super::library;
    use super::*;

    #[test]
    fn a_point_is_placed_by_the_number_in_its_name() {
        assert_eq!(number_in("0.8"), ("0.8", String::new()));
        assert_eq!(number_in("interval 100us"), ("100us", "interval".into()));
        assert_eq!(number_in("2x, 90th percentile"), ("2", "90th percentile".into()));
        assert_eq!(number_in("RED-Tail"), ("RED-Tail", String::new()));
    }

    /// A run of TCN's sixth figure, with one small flow of this completion time.
    fn run(load: &str, scheme: &str, us: u64) -> Record {
        let setting =
            |key: &str, value: &str| Setting { key: key.to_owned(), value: value.to_owned() };
        let json = serde_json::json!({
            "run": {
                "id": format!("{scheme}-{load}"), "label": format!("load {load}, {scheme}"),
                "point": [], "replication": 0, "seed": "1", "fingerprint": "", "command": "",
                "end": { "reason": "finished" }, "ended_at_ps": 0,
            },
            "counters": Counters::default(),
            "queues": [],
            "links": [],
        });
        let mut record: Record = serde_json::from_value(json).unwrap();
        record.run.point = vec![setting("traffic.0.load", load), setting("scheme", scheme)];
        record.flows = vec![Flow {
            number: 0,
            name: String::new(),
            source: 0,
            src: 0,
            dst: 1,
            service: 0,
            bytes: Some(1_000),
            class: Class::Small,
            counts: true,
            start_ps: 0,
            fct_ps: Some(us * 1_000_000),
            ideal_ps: None,
            retransmissions: 0,
            timeouts: 0,
            marks: 0,
            received: None,
            goodput_bps: None,
            rtt_ps: None,
            rtt_variation_ps: None,
        }];
        record
    }

    fn drawn(records: &[Record], title: &str) -> Chart {
        let files = library::files();
        let file = files.iter().find(|file| file.id == "tcn-f6").unwrap();
        let charts = charts(&Figure::of_file(file).unwrap(), records);
        let found = charts.into_iter().find(|chart| chart.title == title);
        found.unwrap()
    }

    #[test]
    fn a_claim_about_one_point_is_drawn_beside_it_with_its_tolerance() {
        let records = [run("0.9", "TCN", 100), run("0.9", "RED", 200)];
        let chart = drawn(&records, "Small flows: average");
        // 61.4 % lower than RED, within a factor of 1.5: RED is at 1 / 0.386 where TCN is 1.
        let paper = chart.lines.iter().find(|line| line.name == "RED (paper)");
        let paper = paper.expect("the claim is drawn");
        assert_eq!(paper.origin, Origin::Published);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let mark = paper.marks[0];
        assert!(near(mark.x, 0.9) && near(mark.y, 1.0 / 0.386), "{mark:?}");
        let (low, high) = mark.interval.unwrap();
        assert!(near(low, 1.0 / 0.386 / 1.5) && near(high, 1.5 / 0.386));
        let measured = chart.lines.iter().find(|line| line.name == "RED").unwrap();
        assert!(measured.hue == paper.hue && near(measured.marks[0].y, 2.0));
    }

    #[test]
    fn a_load_that_one_scheme_was_not_run_at_breaks_its_line() {
        let mut records = vec![run("0.5", "RED", 1), run("0.9", "RED", 1)];
        records.extend(["0.5", "0.7", "0.9"].map(|load| run(load, "TCN", 1)));
        let chart = drawn(&records, "Small flows: average");
        let line = chart.lines.iter().find(|line| line.name == "RED").unwrap();
        assert_eq!(line.marks.len(), 3);
        assert!(line.marks[1].y.is_nan() && !line.marks[2].y.is_nan());
    }
}
