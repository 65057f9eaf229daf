//! Evidence for a plan: the formula's thresholds, the current ones, half and double of the
//! formula's on the simulated network, under the same seeds.
//!
//! Nothing is simulated here: [`Trial::scenario`] is a scenario, and the caller hands the records
//! of its runs to [`Evidence::new`].

pub mod estimate;
pub mod measure;
pub mod model;
mod page;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use tidegate_results::record::Record;
use tidegate_scenario::Problem;
use tidegate_units::{Bytes, Rate, Ratio, Setting, Span};

pub use page::{PARTS, chart, json, parts};

use crate::current::Current;
use crate::marking::{Marking, Ramp, time};
use crate::network::{Network, Queue};
use crate::plan::Plan;
use crate::printed;
use estimate::{Against, Estimate, Outcome};
use measure::{Measure, Values};
use model::{Model, quoted};

/// Approximate packet-hops of a run: some seconds of one core.
pub const PACKET_HOPS: f64 = 3e7;
/// Number of seeds of each setting.
pub const SEEDS: u32 = 5;

/// Thresholds of the simulated switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Marks {
    /// Threshold of each queue of the network at host ports, in their order.
    pub queues: Vec<Marking>,
    /// Whether lengths scale with the speed at other ports.
    pub in_proportion: bool,
    /// Factor of the dynamic threshold, if it differs from the network's.
    pub alpha: Option<Ratio>,
}

impl Marks {
    /// Thresholds by the formulas.
    pub fn formula(plan: &Plan<'_>) -> Self {
        let speed = plan.network.host_ports.speed;
        let of = |queue: &Queue| {
            let mut rows = plan.rows.iter();
            let row = rows.find(|row| row.queue.id == queue.id && row.speed == speed);
            row.map_or(Marking::Off, |row| row.marking)
        };
        Self {
            queues: plan.network.queues.iter().map(of).collect(),
            in_proportion: true,
            alpha: None,
        }
    }

    /// The same with all lengths and times multiplied by a factor.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let bytes = |bytes: Bytes| Bytes(times(bytes.0, factor).max(1));
        let queues = self.queues.iter().map(|marking| match *marking {
            Marking::Length(ramp) => Marking::Length(Ramp {
                min: bytes(ramp.min),
                max: bytes(ramp.max),
                probability: ramp.probability,
            }),
            Marking::Sojourn(span) => Marking::Sojourn(Span::from_ps(times(span.as_ps(), factor))),
            Marking::Off => Marking::Off,
        });
        Self { queues: queues.collect(), ..self.clone() }
    }

    /// Current thresholds. Simulated ports all have one setting: differences between ports are
    /// noted, or refused where the simulated queues would differ from the real ones.
    fn today(plan: &Plan<'_>, current: &Current, notes: &mut Vec<String>) -> Result<Self, Problem> {
        let rows = current.rows(plan);
        let host = plan.network.host_ports.speed;
        let at = |queue: &Queue, speed: Rate| {
            let own = rows.iter().filter(|row| row.queue.id == queue.id && row.speed == speed);
            own.max_by_key(|row| row.ports).map(|row| row.marking)
        };
        let of = |queue: &Queue| at(queue, host).unwrap_or(Marking::Off);
        let queues: Vec<Marking> = plan.network.queues.iter().map(of).collect();
        let mut in_proportion = false;
        if let Some(uplinks) = plan.network.uplinks.filter(|ports| ports.speed != host) {
            let differs = |queue: &&Queue| at(queue, uplinks.speed) != at(queue, host);
            in_proportion = plan.network.queues.iter().any(|queue| differs(&queue));
        }
        if in_proportion {
            notes.push(
                "today's thresholds of uplinks are simulated in proportion to the host ports'"
                    .to_owned(),
            );
        }
        let of_ports = |queue: &Queue, speed: Rate| {
            let own = rows.iter().filter(|row| row.queue.id == queue.id && row.speed == speed);
            distinct(own.map(|row| row.marking))
        };
        for queue in &plan.network.queues {
            let mut speeds = plan.network.speeds().into_iter();
            if speeds.any(|speed| of_ports(queue, speed).len() > 1) {
                notes.push(format!(
                    "ports set queue {} differently today: the most common setting is simulated",
                    queue.id
                ));
            }
        }
        check_times(plan.network, &queues, notes)?;
        let alphas = distinct(current.settings.iter().filter_map(|setting| setting.alpha));
        if let [first, _, ..] = alphas.as_slice() {
            let all: Vec<String> = alphas.iter().map(ToString::to_string).collect();
            notes.push(format!(
                "today's α is {}, by queue or port: {first} is simulated for all",
                all.join(", ")
            ));
        }
        let alpha = alphas.first().copied();
        Ok(Self {
            queues,
            in_proportion,
            alpha: alpha.filter(|alpha| *alpha != plan.network.switch.alpha),
        })
    }

    /// Shortest length at which marks begin at host ports.
    pub fn lowest(&self, network: &Network) -> Bytes {
        let speed = network.host_ports.speed;
        let lengths = self.queues.iter().filter_map(|marking| match *marking {
            Marking::Length(ramp) => Some(ramp.min),
            Marking::Sojourn(span) => Some(Bytes(speed.bytes_in(span))),
            Marking::Off => None,
        });
        lengths.min().unwrap_or(NEVER)
    }

    /// Whether nothing is marked.
    pub fn is_off(&self) -> bool {
        self.queues.iter().all(|marking| *marking == Marking::Off)
    }

    /// Thresholds of the marked queues, in a few words.
    pub fn shown(&self) -> String {
        let mut shown: Vec<String> = Vec::new();
        for marking in self.queues.iter().filter(|marking| **marking != Marking::Off) {
            let text = marking.to_string();
            if !shown.contains(&text) {
                shown.push(text);
            }
        }
        if shown.is_empty() {
            return "off".to_owned();
        }
        shown.join(", ")
    }

    /// Marking of the simulated switches, as a TOML table.
    pub fn table(&self, model: &Model<'_>) -> String {
        let network = model.network;
        let of = |queue: &Queue| {
            let place = network.queues.iter().position(|own| own.id == queue.id);
            place.map_or(Marking::Off, |place| self.queues[place])
        };
        let markings = model.by_queue(of, || Marking::Off);
        let speed = network.host_ports.speed;
        let mut sojourns = markings.iter().filter_map(|marking| match marking {
            Marking::Sojourn(span) => Some(*span),
            _ => None,
        });
        if self.is_off() {
            return "{ kind = \"none\" }".to_owned();
        }
        let has_lengths = markings.iter().any(|marking| matches!(marking, Marking::Length(_)));
        if let Some(span) = sojourns.next().filter(|_| !has_lengths) {
            return format!("{{ kind = \"tcn\", threshold = \"{}ps\" }}", span.as_ps());
        }
        let ramp = |marking: &Marking| match *marking {
            Marking::Length(ramp) => ramp,
            Marking::Sojourn(span) => Ramp::step(Bytes(speed.bytes_in(span))),
            Marking::Off => Ramp::step(NEVER),
        };
        let ramps: Vec<Ramp> = markings.iter().map(ramp).collect();
        let list = |pick: fn(&Ramp) -> Bytes| {
            let each = ramps.iter().map(|ramp| format!("\"{}B\"", pick(ramp).0.min(NEVER.0)));
            each.collect::<Vec<_>>().join(", ")
        };
        let slopes = ramps.iter().filter(|ramp| !ramp.is_step());
        let probabilities = distinct(slopes.map(|ramp| quoted(&ramp.probability.write())));
        let mut table = format!("{{ kind = \"queue-red\", threshold = [{}]", list(|ramp| ramp.max));
        let probability = match probabilities.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            _ => {
                let each = ramps.iter().map(|ramp| quoted(&ramp.probability.write()));
                Some(format!("[{}]", each.collect::<Vec<_>>().join(", ")))
            }
        };
        if let Some(probability) = probability {
            _ = write!(
                table,
                ", min_threshold = [{}], max_probability = {probability}",
                list(|ramp| ramp.min)
            );
        }
        if self.in_proportion {
            _ = write!(table, ", speed = \"{speed}\"");
        }
        table + " }"
    }
}

/// Each value once, in the order of their first.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Checks that sojourn-time thresholds can be simulated: a simulated switch has one for all queues.
fn check_times(
    network: &Network,
    queues: &[Marking],
    notes: &mut Vec<String>,
) -> Result<(), Problem> {
    let times = queues.iter().filter_map(|marking| match marking {
        Marking::Sojourn(span) => Some(*span),
        _ => None,
    });
    let times = distinct(times);
    if times.is_empty() {
        return Ok(());
    }
    let refuse = |what: String| {
        Err(Problem::new(what)
            .help("give --current one time for all queues, lengths for all, or verify without it"))
    };
    let has_lengths = |marking: &Marking| matches!(marking, Marking::Length(_));
    if queues.iter().any(has_lengths) {
        let host = network.host_ports.speed;
        if network.uplinks.is_some_and(|ports| ports.speed != host) {
            return refuse(
                "today some queues are marked by time and others by length, and ports have two speeds: times \
                 cannot be simulated as lengths"
                    .to_owned(),
            );
        }
        notes.push(format!(
            "today's times are simulated as lengths at {host}, like the thresholds of other queues"
        ));
        return Ok(());
    }
    if times.len() > 1 {
        let times: Vec<String> = times.iter().map(|span| time(*span)).collect();
        return refuse(format!(
            "today's times differ by queue ({}): simulated switches have one for all queues",
            times.join(", ")
        ));
    }
    // Marks do not change transports that ignore them.
    let is_left_out = |(queue, marking): (&Queue, &Marking)| {
        *marking == Marking::Off && queue.transport.reacts_to_marks()
    };
    if network.queues.iter().zip(queues).any(is_left_out) {
        return refuse(
            "today some queues are marked by time and others not at all: simulated switches have one time for all \
             queues"
                .to_owned(),
        );
    }
    Ok(())
}

/// A length that no queue reaches.
const NEVER: Bytes = Bytes(4_000_000_000);

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a threshold has ten digits, and its factor is not negative"
)]
fn times(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).round() as u64
}

/// A setting to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// `formula`, `today`, `half`, `double`, or the source of the setting.
    pub label: String,
    /// Thresholds.
    pub marks: Marks,
}

/// Runs that give the evidence.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    /// The simulated network.
    pub model: Model<'a>,
    /// Settings to simulate, the formula first.
    pub variants: Vec<Variant>,
    /// First seed.
    pub seed: u64,
    /// Number of seeds of each setting.
    pub seeds: u32,
    /// Length of a run relative to the usual one.
    pub size: f64,
}

impl<'a> Trial<'a> {
    /// The formula's thresholds, the current ones if given, half and double. A run has about
    /// `packet_hops` packet-hops.
    pub fn new(
        plan: &Plan<'a>,
        current: Option<&Current>,
        (seed, seeds): (u64, u32),
        packet_hops: f64,
    ) -> Result<Self, Problem> {
        let mut model = Model::new(plan.network, packet_hops)?;
        let formula = Marks::formula(plan);
        if formula.is_off() {
            return Err(Problem::new("no queue is marked: there is no threshold to verify").help(
                "give at least one queue a transport that reacts to marks, such as dctcp or dcqcn",
            ));
        }
        let variant = |label: &str, marks| Variant { label: label.to_owned(), marks };
        let (half, double) = (formula.scaled(0.5), formula.scaled(2.0));
        let mut variants = vec![variant("formula", formula)];
        if let Some(current) = current {
            let today = Marks::today(plan, current, &mut model.notes)?;
            variants.push(variant("today", today));
        }
        variants.extend([variant("half", half), variant("double", double)]);
        Ok(Self { model, variants, seed, seeds, size: packet_hops / PACKET_HOPS })
    }

    /// Adds others' printed settings for the speed of host ports, for all queues that the formula
    /// marks. At uplinks they scale with the speed if they are printed by speed.
    pub fn add_printed(&mut self) {
        let network = self.model.network;
        let host = network.host_ports.speed;
        let uplink = network.uplinks.map_or(host, |ports| ports.speed);
        let of_uplink = printed::settings(network, uplink);
        for own in printed::settings(network, host) {
            let of = |formula: &Marking| match formula {
                Marking::Off => Marking::Off,
                _ => Marking::Length(own.ramp),
            };
            let is_same =
                |other: &printed::Printed| other.source == own.source && other.ramp == own.ramp;
            let marks = Marks {
                queues: self.variants[0].marks.queues.iter().map(of).collect(),
                in_proportion: !of_uplink.iter().any(is_same),
                alpha: None,
            };
            // A label has no commas: they separate the values of a point.
            let label = own.source.replace(',', "");
            self.variants.push(Variant { label, marks });
        }
    }

    /// Shortest length at which the formula begins to mark.
    fn lowest(&self) -> Bytes {
        self.variants[0].marks.lowest(self.model.network)
    }

    /// Treatment of packets that are not ECN-capable, by variant.
    fn not_ecn(&self, records: &[Record]) -> Vec<NotEcn> {
        let sources = self.model.not_ecn_sources();
        if sources.is_empty() {
            return Vec::new();
        }
        let of = |variant: &Variant| {
            let own = || records.iter().filter(|record| record.run.label == variant.label);
            let each = |value: &dyn Fn(&Record) -> Option<f64>| {
                Estimate::of(&own().filter_map(value).collect::<Vec<f64>>())
            };
            NotEcn {
                label: variant.label.clone(),
                set: variant.marks.shown(),
                dropped: each(&|record| Some(measure::dropped_for_marks(record))),
                small_mean: each(&|record| measure::small_mean(record, &sources)),
                timeouts: each(&|record| measure::with_timeouts(record, &sources)),
            }
        };
        self.variants.iter().map(of).collect()
    }

    /// The scenario: every variant under every seed, the same seeds for all.
    pub fn scenario(&self) -> String {
        let model = &self.model;
        let mut text = model.scenario("verify", self.seed, self.seeds);
        text += "\n[sweep]\nsetting = [\n";
        for variant in &self.variants {
            let marks = &variant.marks;
            _ = write!(
                text,
                "  {{ label = {}, \"switch.marking\" = {}",
                quoted(&variant.label),
                marks.table(model)
            );
            if let Some(alpha) = marks.alpha {
                _ = write!(text, ", \"{}\" = {}", model.alpha_key(), model.alphas(alpha));
            }
            text += " },\n";
        }
        text + "]\n"
    }
}

/// Results of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Variants with their numbers, the formula first.
    pub rows: Vec<Row>,
    /// Number of simulated hosts.
    pub hosts: u32,
    /// Load of their links.
    pub load: f64,
    /// Number of seeds of each variant.
    pub seeds: u32,
    /// Least bytes of a large flow.
    pub large: Bytes,
    /// Differences between the simulation and the network.
    pub notes: Vec<String>,
    /// Most bytes in a switch queue in any run.
    pub longest: Option<f64>,
    /// Traffic that would bring queues to their thresholds.
    pub reach: String,
    /// Treatment of packets that are not ECN-capable, by variant; empty if no queue has such
    /// packets.
    pub not_ecn: Vec<NotEcn>,
}

/// Treatment of packets that are not ECN-capable with a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct NotEcn {
    /// Label of the variant.
    pub label: String,
    /// Thresholds, in a few words.
    pub set: String,
    /// Packets of a run that were dropped where others are marked.
    pub dropped: Option<Estimate>,
    /// Mean completion time of small flows, in seconds.
    pub small_mean: Option<Estimate>,
    /// Share of the flows that waited for a retransmission timeout, in percent.
    pub timeouts: Option<Estimate>,
}

/// Results of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `formula`, `today`, `half`, `double`, or the source of the setting.
    pub label: String,
    /// Thresholds, in a few words.
    pub set: String,
    /// Estimate of each of [`Measure::ALL`]; `None` where there is no value.
    pub estimates: Vec<Option<Estimate>>,
    /// Comparison with the formula, seed by seed; empty for the formula itself.
    pub against: Vec<Against>,
    /// Whether its runs and the formula's marked no packet and gave the same results.
    pub is_untested: bool,
}

/// Comparison of the formula's thresholds with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// No queue came near a threshold of either: no conclusion.
    Untested,
    /// The other is better in some measure and worse in none.
    Loses,
    /// No difference is shown.
    Same,
    /// Each is better in some measure.
    Trades,
    /// The other is worse in some measure and better in none.
    Wins,
}

impl Row {
    /// Comparison by the measures that decide.
    pub fn comparison(&self) -> Comparison {
        if self.is_untested {
            return Comparison::Untested;
        }
        let decides = |against: &&Against| {
            matches!(
                against.measure,
                Measure::P99Small | Measure::Throughput | Measure::Drops | Measure::Pauses
            )
        };
        let has = |outcome| {
            let mut deciding = self.against.iter().filter(decides);
            deciding.any(|against| against.outcome == outcome)
        };
        match (has(Outcome::Better), has(Outcome::Worse)) {
            (true, false) => Comparison::Loses,
            (false, false) => Comparison::Same,
            (true, true) => Comparison::Trades,
            (false, true) => Comparison::Wins,
        }
    }
}

impl Evidence {
    /// Results from the records of a trial, which are found by the labels of its variants.
    pub fn new(trial: &Trial<'_>, records: &[Record]) -> Self {
        let large = measure::large(trial.model.network);
        let values = |label: &str| -> Vec<(&str, Values)> {
            let own = records.iter().filter(|record| record.run.label == label);
            let measured =
                own.map(|record| (record.run.seed.as_str(), Values::of(record, Some(large))));
            measured.collect()
        };
        let formula = values("formula");
        let every = || records.iter().map(|record| Values::of(record, Some(large)));
        let row = |variant: &Variant| {
            let own = values(&variant.label);
            let of = |measure: Measure| {
                let values = own.iter().filter_map(|(_, values)| values.get(measure));
                Estimate::of(&values.collect::<Vec<f64>>())
            };
            let against = |measure: Measure| {
                let pairs = own.iter().filter_map(|(seed, values)| {
                    let (_, base) = formula.iter().find(|(base, _)| base == seed)?;
                    Some((values.get(measure)?, base.get(measure)?))
                });
                Against::of(measure, &pairs.collect::<Vec<_>>())
            };
            let marks = |values: &[(&str, Values)]| -> u64 {
                values.iter().map(|(_, values)| values.marks).sum()
            };
            let has_none = marks(&own) == 0 && marks(&formula) == 0;
            Row {
                is_untested: has_none && own == formula,
                label: variant.label.clone(),
                set: variant.marks.shown(),
                estimates: Measure::ALL.map(of).to_vec(),
                against: match variant.label.as_str() {
                    "formula" => Vec::new(),
                    _ => Measure::ALL.into_iter().filter_map(against).collect(),
                },
            }
        };
        Self {
            rows: trial.variants.iter().map(row).collect(),
            hosts: trial.model.hosts(),
            load: trial.model.load,
            seeds: trial.seeds,
            large,
            notes: trial.model.notes.clone(),
            longest: every().filter_map(|values| values.longest).reduce(f64::max),
            reach: trial.model.reach(trial.lowest(), trial.size),
            not_ecn: trial.not_ecn(records),
        }
    }

    /// Whether no queue came near a threshold of any setting, so that the runs show nothing.
    pub fn shows_nothing(&self) -> bool {
        self.rows.iter().skip(1).all(|row| row.is_untested)
    }

    /// Variants that beat the formula's thresholds.
    pub fn losses(&self) -> impl Iterator<Item = &Row> {
        let others = self.rows.iter().skip(1);
        others.filter(|row| row.comparison() == Comparison::Loses)
    }
}

/// A network to simulate with about `packet_hops` packet-hops in a run.
pub fn model(network: &Network, packet_hops: f64) -> Result<Model<'_>, Problem> {
    Model::new(network, packet_hops)
}
