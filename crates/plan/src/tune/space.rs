//! The candidates of a search: all combinations of the varied values.

use std::fmt::Write;

use tidegate_units::{Bytes, Ratio, Setting, Span};

use super::vary::{Quantity, Vary};
use crate::dialect::Scheme;
use crate::evidence::Marks;
use crate::evidence::model::{Model, quoted};
use crate::formula::{ecn_sharp, sojourn};
use crate::marking::{Marking, Ramp, real};
use crate::plan::Plan;

/// A setting to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Label in tables.
    pub label: String,
    /// Value of each varied key; empty for a formula that matches none of the combinations.
    pub values: Vec<String>,
    /// Keys of the scenario with their values, as the inside of a table.
    pub sets: String,
}

/// Most candidates.
const MOST: usize = 1_000;

/// Keys of networks, for errors.
const KEYS: &str = "scale (of all thresholds), threshold[.QUEUE], min-threshold[.QUEUE], \
                    probability[.QUEUE], alpha, weight.QUEUE, scheme (queue-red, tcn, ecn-sharp), or a \
                    full key of scenarios such as switch.marking.average_weight";

/// The formula and all combinations for a network, the formula first.
pub fn of_network(
    plan: &Plan<'_>,
    model: &Model<'_>,
    varies: &[Vary],
) -> Result<Vec<Candidate>, String> {
    let base = Settings::new(plan);
    let mut candidates = vec![Candidate {
        label: "formula".to_owned(),
        values: Vec::new(),
        sets: base.table(plan, model)?,
    }];
    for values in combinations(varies)? {
        let mut setting = base.clone();
        // The scheme first: other keys change its parameters.
        let pairs = || varies.iter().zip(&values);
        let (schemes, others): (Vec<_>, Vec<_>) =
            pairs().partition(|(vary, _)| vary.key == "scheme");
        for (vary, value) in schemes.into_iter().chain(others) {
            let fail = |why: String| format!("--vary {}={value}: {why}", vary.key);
            setting.apply(plan, &vary.key, value).map_err(fail)?;
        }
        add(&mut candidates, label(varies, &values), values, setting.table(plan, model)?);
    }
    Ok(candidates)
}

/// The scenario as it is, then all combinations.
pub fn of_scenario(resolved: &str, varies: &[Vary]) -> Result<Vec<Candidate>, String> {
    let now = |vary: &Vary| {
        let value = value_of(resolved, &vary.key).ok_or_else(|| {
            format!(
                "--vary {}: the scenario has no such key\nhint: `tidegate check --resolved FILE` shows all \
                 keys with their values",
                vary.key
            )
        });
        Ok(format!("\"{}\" = {}", vary.key, value?))
    };
    let now: Result<Vec<String>, String> = varies.iter().map(now).collect();
    let mut candidates =
        vec![Candidate { label: "as it is".to_owned(), values: Vec::new(), sets: now?.join(", ") }];
    for values in combinations(varies)? {
        let sets: Vec<String> = varies
            .iter()
            .zip(&values)
            .map(|(vary, value)| format!("\"{}\" = {}", vary.key, quoted(value)))
            .collect();
        add(&mut candidates, label(varies, &values), values, sets.join(", "));
    }
    Ok(candidates)
}

/// Adds a candidate unless another sets the same. If that is the formula, it gets the values.
fn add(candidates: &mut Vec<Candidate>, label: String, values: Vec<String>, sets: String) {
    match candidates.iter_mut().find(|candidate| candidate.sets == sets) {
        Some(same) if same.values.is_empty() => same.values = values,
        Some(_) => {}
        None => candidates.push(Candidate { label, values, sets }),
    }
}

fn combinations(varies: &[Vary]) -> Result<Vec<Vec<String>>, String> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for vary in varies {
        let longer = |values: &Vec<String>| {
            let with = |value: &String| {
                let mut values = values.clone();
                values.push(value.clone());
                values
            };
            vary.values.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
        if all.len() > MOST {
            return Err(format!(
                "--vary gives more than {MOST} combinations\nhint: fewer values, such as scale=0.5..2:3"
            ));
        }
    }
    Ok(all)
}

fn label(varies: &[Vary], values: &[String]) -> String {
    let part = |(vary, value): (&Vary, &String)| {
        let name = vary.key.rsplit('.').next().unwrap_or(&vary.key);
        match vary.key.split('.').next() {
            Some("scheme") => value.clone(),
            Some("weight" | "threshold" | "min-threshold" | "probability") => {
                format!("{} {value}", vary.key)
            }
            _ => format!("{name} {value}"),
        }
    };
    varies.iter().zip(values).map(part).collect::<Vec<_>>().join(" ")
}

/// Settings of a network's switches.
#[derive(Clone)]
struct Settings {
    scheme: Scheme,
    /// Factor on all thresholds.
    scale: f64,
    marks: Marks,
    /// Share of each queue.
    weights: Vec<Option<u32>>,
    /// Full keys of the scenario with their values.
    others: Vec<(String, String)>,
}

impl Settings {
    fn new(plan: &Plan<'_>) -> Self {
        Self {
            scheme: Scheme::QueueRed,
            scale: 1.0,
            marks: Marks::formula(plan),
            weights: plan.network.queues.iter().map(|queue| queue.weight).collect(),
            others: Vec::new(),
        }
    }

    fn apply(&mut self, plan: &Plan<'_>, key: &str, value: &str) -> Result<(), String> {
        let (name, queue) = match key.split_once('.') {
            Some((name, queue)) => (name, Some(queue)),
            None => (key, None),
        };
        match (name, queue) {
            ("scale", None) => self.scale = positive(value)?,
            ("threshold" | "min-threshold", queue) => {
                let places = places(plan, queue)?;
                self.lengths(name, &places, value)?;
            }
            ("probability", queue) => {
                let places = places(plan, queue)?;
                self.probability(&places, value)?;
            }
            ("alpha", None) => {
                let alpha = Ratio::read(value).map_err(|error| error.to_string())?;
                if alpha == Ratio::ZERO {
                    return Err("α must be above 0".to_owned());
                }
                self.marks.alpha = Some(alpha);
            }
            ("weight", Some(queue)) => self.weight(plan, queue, value)?,
            ("scheme", None) => {
                let known = [Scheme::QueueRed, Scheme::Tcn, Scheme::EcnSharp];
                let scheme = Scheme::read(value).ok().filter(|scheme| known.contains(scheme));
                self.scheme = scheme.ok_or("a scheme is queue-red, tcn or ecn-sharp")?;
            }
            (_, Some(_)) => self.others.push((key.to_owned(), value.to_owned())),
            _ => return Err(format!("there is no such key\nhint: keys are {KEYS}")),
        }
        Ok(())
    }

    fn lengths(&mut self, name: &str, places: &[usize], value: &str) -> Result<(), String> {
        if self.scheme != Scheme::QueueRed {
            return Err(format!(
                "{} has no lengths\nhint: vary scale, or leave out the scheme",
                self.scheme.name()
            ));
        }
        let length = Bytes::read(value).map_err(|error| error.to_string())?;
        for &place in places {
            if let Marking::Length(ramp) = &mut self.marks.queues[place] {
                *ramp = match name {
                    // A slope keeps its form.
                    "threshold" => {
                        Ramp { min: Bytes(share(length, ramp.min, ramp.max)), max: length, ..*ramp }
                    }
                    _ => Ramp { min: length, max: Bytes(ramp.max.0.max(length.0)), ..*ramp },
                };
            }
        }
        Ok(())
    }

    fn probability(&mut self, places: &[usize], value: &str) -> Result<(), String> {
        let probability = Ratio::read(value).map_err(|error| error.to_string())?;
        if !(Ratio::ZERO < probability && probability <= Ratio::ONE) {
            return Err("a probability is above 0 and at most 1".to_owned());
        }
        let mut has_slope = false;
        for &place in places {
            if let Marking::Length(ramp) = &mut self.marks.queues[place]
                && !ramp.is_step()
            {
                ramp.probability = probability;
                has_slope = true;
            }
        }
        if !has_slope {
            return Err("every selected queue is marked at a step, which has no probability\n\
                 hint: vary min-threshold too, before it"
                .to_owned());
        }
        Ok(())
    }

    /// Gives a queue its share; the others divide the rest as before.
    fn weight(&mut self, plan: &Plan<'_>, queue: &str, value: &str) -> Result<(), String> {
        let [place] = places(plan, Some(queue))?[..] else {
            return Err("one queue is needed".to_owned());
        };
        let (Some(own), Ok(weight @ 1..=99)) = (self.weights[place], value.parse::<u32>()) else {
            return Err("a weight is 1 to 99 percent, of a queue that is not strict".to_owned());
        };
        let rest = 100 - own;
        for (number, other) in self.weights.iter_mut().enumerate() {
            *other = other.map(|share| {
                if number == place { weight } else { (share * (100 - weight) / rest.max(1)).max(1) }
            });
        }
        Ok(())
    }

    /// Keys of the scenario with their values, as the inside of a table.
    fn table(&self, plan: &Plan<'_>, model: &Model<'_>) -> Result<String, String> {
        let marks = self.marks.scaled(self.scale);
        let mut sets = format!("\"switch.marking\" = {}", self.marking(plan, model, &marks)?);
        if let Some(alpha) = marks.alpha.filter(|alpha| *alpha != plan.network.switch.alpha) {
            _ = write!(sets, ", \"{}\" = {}", model.alpha_key(), model.alphas(alpha));
        }
        let of_network = |place: usize| plan.network.queues[place].weight;
        if (0..self.weights.len()).any(|place| self.weights[place] != of_network(place)) {
            let weight = |queue: &crate::network::Queue| {
                let queues = &plan.network.queues;
                let place = queues.iter().position(|own| own.id == queue.id)?;
                self.weights[place]
            };
            if let Some(scheduler) = model.scheduler(weight) {
                _ = write!(sets, ", \"switch.scheduler\" = {scheduler}");
            }
        }
        for (key, value) in &self.others {
            _ = write!(sets, ", \"{key}\" = {}", quoted(value));
        }
        Ok(sets)
    }

    fn marking(&self, plan: &Plan<'_>, model: &Model<'_>, marks: &Marks) -> Result<String, String> {
        if self.scheme == Scheme::QueueRed {
            return Ok(marks.table(model));
        }
        let lambda = plan.network.queues.iter().find_map(|queue| queue.lambda);
        let Some((lambda, _)) = lambda else {
            return Err(format!(
                "{} follows from λ, and no queue has a transport with one",
                self.scheme.name()
            ));
        };
        let rtt = plan.network.rtt;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a time below a second has twelve digits"
        )]
        let scaled = |span: Span| (span.as_ps() as f64 * self.scale).round() as u64;
        Ok(if self.scheme == Scheme::Tcn {
            let threshold = scaled(sojourn::threshold(lambda, rtt.p90));
            format!("{{ kind = \"tcn\", threshold = \"{threshold}ps\" }}")
        } else {
            let targets = ecn_sharp::targets(lambda, rtt.mean, rtt.p90);
            format!(
                "{{ kind = \"ecn-sharp\", ins_target = \"{}ps\", pst_target = \"{}ps\", \
                 pst_interval = \"{}ps\" }}",
                scaled(targets.instantaneous),
                scaled(targets.persistent),
                targets.interval.as_ps()
            )
        })
    }
}

/// Indices of the selected queues: one by its id or name, or all.
fn places(plan: &Plan<'_>, queue: Option<&str>) -> Result<Vec<usize>, String> {
    let queues = &plan.network.queues;
    let Some(queue) = queue else {
        return Ok((0..queues.len()).collect());
    };
    let is_meant = |own: &crate::network::Queue| own.id.to_string() == queue || own.name == queue;
    match queues.iter().position(is_meant) {
        Some(place) => Ok(vec![place]),
        None => {
            let known: Vec<String> =
                queues.iter().map(|queue| format!("{} ({})", queue.id, queue.name)).collect();
            Err(format!("there is no queue `{queue}`\nhint: there are {}", known.join(", ")))
        }
    }
}

fn positive(value: &str) -> Result<f64, String> {
    let quantity = Quantity::read(value).filter(|q| q.unit.is_empty() && q.value > 0.0);
    let quantity = quantity.ok_or("a factor is a number above 0, such as 0.5")?;
    Ok(quantity.value)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a length in bytes has ten digits"
)]
fn share(length: Bytes, min: Bytes, max: Bytes) -> u64 {
    (length.0 as f64 * min.0 as f64 / max.0.max(1) as f64).round() as u64
}

/// The value of a key in a fully resolved scenario, as TOML.
fn value_of<'a>(resolved: &'a str, key: &str) -> Option<&'a str> {
    let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
    let (table, number) = match table.rsplit_once('.') {
        Some((list, number)) if number.parse::<usize>().is_ok() => {
            (list, number.parse::<usize>().ok())
        }
        _ => (table, None),
    };
    let header = match number {
        Some(_) => format!("[[{table}]]"),
        None => format!("[{table}]"),
    };
    let mut seen = 0_usize;
    let mut is_inside = table.is_empty();
    for line in resolved.lines() {
        if line.starts_with('[') {
            is_inside = line == header && number.is_none_or(|number| number == seen);
            seen += usize::from(line == header);
        } else if is_inside
            && let Some((own, value)) = line.split_once(" = ")
            && own.replace('-', "_") == name.replace('-', "_")
        {
            return Some(value);
        }
    }
    None
}

/// The loads of a list such as `0.3,0.5`.
pub fn loads(text: &str) -> Result<Vec<f64>, String> {
    let read = |value: &str| {
        let load = Ratio::read(value.trim()).ok().map(real);
        load.filter(|load| *load > 0.0 && *load <= 1.0).ok_or_else(|| {
            format!(
                "--load {text}: `{value}` is not a load\nhint: fractions of 1, such as 0.3,0.5,0.8"
            )
        })
    };
    text.split(',').map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_its_table_and_list() {
        let text = "seed = 1\n\n[switch.marking]\nkind = \"tcn\"\nthreshold = \"78us\"\n\n\
                    [[traffic]]\nload = 0.3\n\n[[traffic]]\nload = 0.4\n";
        assert_eq!(value_of(text, "switch.marking.threshold"), Some("\"78us\""));
        assert_eq!(value_of(text, "traffic.0.load"), Some("0.3"));
        assert_eq!(value_of(text, "traffic.1.load"), Some("0.4"));
        assert_eq!(value_of(text, "traffic.2.load"), None);
        assert_eq!(value_of(text, "seed"), Some("1"));
        assert_eq!(value_of(text, "switch.marking.load"), None);
    }
}
