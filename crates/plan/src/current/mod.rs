//! Current settings of a network: read from a switch's configuration or from a few values, and
//! judged beside the formulas.

mod eos;
mod sonic;
mod values;

use std::path::Path;

use serde_json::Value;
use tidegate_report::reading;
use tidegate_scenario::Problem;
use tidegate_units::{Rate, Ratio};

use crate::judge::{Judgement, Risk, Severity, judge};
use crate::marking::{Marking, Ramp};
use crate::network::{Network, Queue, Reservation};
use crate::plan::{Plan, Row};

/// Current settings of a switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Current {
    /// File, or the values on the command line.
    pub source: String,
    /// Settings of the queues, once for each group of equal ports.
    pub settings: Vec<Setting>,
    /// Settings without a meaning for the network, a line each.
    pub notes: Vec<String>,
    /// Faults of the configuration apart from thresholds, worst first.
    pub findings: Vec<Finding>,
    /// Settings that were not compared with the network.
    pub unchecked: Vec<String>,
    /// PFC headroom that the switch reserves.
    pub reservation: Reservation,
    /// The tables of SONiC, to make a patch of them.
    pub tables: Option<Value>,
}

/// A fault of a running configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Severity.
    pub severity: Severity,
    /// The fault and its place in the file.
    pub text: String,
    /// Affected ports; empty if the fault is not about ports.
    pub ports: Vec<String>,
}

impl Finding {
    /// Text in a line, with the ports.
    pub fn line(&self) -> String {
        let severity = self.severity.name();
        let text = &self.text;
        match self.ports.as_slice() {
            [] => format!("{severity}: {text}"),
            [one] => format!("{severity}: {text} ({one})"),
            [first, .., last] => {
                let count = self.ports.len();
                format!("{severity}: {text} ({count} ports: {first} to {last})")
            }
        }
    }
}

/// Setting of a queue at some ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The queue; `None` for all.
    pub queue: Option<u8>,
    /// The speed of the ports; `None` for all.
    pub speed: Option<Rate>,
    /// Number of ports.
    pub ports: u32,
    /// Marking threshold.
    pub marking: Marking,
    /// Factor of the dynamic threshold, if the configuration has it.
    pub alpha: Option<Ratio>,
    /// Name in the configuration.
    pub name: String,
}

/// Current setting of a queue, beside the formula.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentRow<'a> {
    /// The queue.
    pub queue: &'a Queue,
    /// The speed.
    pub speed: Rate,
    /// Number of ports with this setting.
    pub ports: u32,
    /// Name in the configuration.
    pub name: String,
    /// Current threshold.
    pub marking: Marking,
    /// Threshold by the formula.
    pub formula: Marking,
    /// Consequences of the current threshold.
    pub judgement: Judgement,
    /// Worst consequence, in a line.
    pub verdict: String,
    /// Severity of the verdict; `None` if nothing is wrong.
    pub severity: Option<Severity>,
    /// Factor of the dynamic threshold used in the judgement.
    pub alpha: Ratio,
    /// Whether the switch's configuration has the factor; else it comes from the network file.
    pub is_alpha_read: bool,
}

impl Current {
    /// Reads a file of this name or, if there is none, values such as `1MiB/2MiB/5%`.
    pub fn read(given: &str, network: &Network) -> Result<Self, Problem> {
        if Path::new(given).exists() {
            let text = reading::text(Path::new(given), reading::WRITTEN)
                .map_err(|error| Problem::new(format!("`{given}` cannot be read: {error}")))?;
            return Self::parse(given, &text, network);
        }
        values::read(given).map(|current| current.with_strangers(network))
    }

    /// Reads the text of a file: JSON is SONiC's, anything else is EOS.
    pub fn parse(name: &str, text: &str, network: &Network) -> Result<Self, Problem> {
        let text = text.trim_start_matches('\u{feff}');
        let current = if text.trim_start().starts_with(['{', '[']) {
            sonic::read(name, text, network)
        } else {
            eos::read(name, text, network)
        };
        current.map(|current| current.with_strangers(network))
    }

    /// Notes settings for queues and speeds that the network lacks.
    fn with_strangers(mut self, network: &Network) -> Self {
        let speeds = network.speeds();
        let marked = self.settings.iter();
        for setting in marked.filter(|setting| setting.marking != Marking::Off) {
            let queue = setting.queue;
            let speed = setting.speed;
            let note = match (queue, speed) {
                (Some(id), _) if network.queues.iter().all(|queue| queue.id != id) => {
                    format!("queue {id} is set, but the network has no queue {id}")
                }
                (_, Some(speed)) if !speeds.contains(&speed) => {
                    format!("ports of {speed} are set, but the network has none")
                }
                _ => continue,
            };
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self
    }

    /// Whether a threshold or another setting breaks marking or PFC.
    pub fn is_broken(&self, plan: &Plan<'_>) -> bool {
        let rows = self.rows(plan);
        let mut severities = rows.iter().filter_map(|row| row.severity);
        let mut findings = self.findings.iter().map(|finding| finding.severity);
        severities.any(|severity| severity == Severity::Broken)
            || findings.any(|severity| severity == Severity::Broken)
    }

    /// Current setting of each queue and speed of a plan.
    pub fn rows<'a>(&self, plan: &Plan<'a>) -> Vec<CurrentRow<'a>> {
        let mut rows = Vec::new();
        for row in &plan.rows {
            let fits = |setting: &&Setting| {
                setting.queue.is_none_or(|queue| queue == row.queue.id)
                    && setting.speed.is_none_or(|speed| speed == row.speed)
            };
            let before = rows.len();
            let mut found: Vec<&Setting> = self.settings.iter().filter(fits).collect();
            // A setting of this queue takes precedence over a setting of all queues.
            if found.iter().any(|setting| setting.queue.is_some()) {
                found.retain(|setting| setting.queue.is_some());
            }
            let found = found.into_iter();
            rows.extend(found.map(|setting| current_row(plan.network, row, setting)));
            if rows.len() == before {
                rows.push(current_row(plan.network, row, &unset()));
            }
        }
        rows
    }
}

/// A queue that the configuration does not mention.
fn unset() -> Setting {
    Setting {
        queue: None,
        speed: None,
        ports: 0,
        marking: Marking::Off,
        alpha: None,
        name: "not configured".to_owned(),
    }
}

fn current_row<'a>(network: &Network, row: &Row<'a>, setting: &Setting) -> CurrentRow<'a> {
    let judgement = match setting.alpha {
        Some(alpha) if alpha != network.switch.alpha => {
            let mut other = network.clone();
            other.switch.alpha = alpha;
            judge(&other, row.queue, row.speed, &setting.marking)
        }
        _ => judge(network, row.queue, row.speed, &setting.marking),
    };
    let worst = judgement.risks.first();
    // A note holds for the formula as well, and is not the setting's fault.
    let is_own = |risk: &&Risk| risk.severity != Severity::Note;
    let (verdict, severity) = match worst.filter(is_own) {
        Some(risk) => (risk.text.clone(), Some(risk.severity)),
        None => (compare(&setting.marking, &row.marking), None),
    };
    CurrentRow {
        queue: row.queue,
        speed: row.speed,
        ports: setting.ports,
        name: setting.name.clone(),
        marking: setting.marking,
        formula: row.marking,
        judgement,
        verdict,
        severity,
        alpha: setting.alpha.unwrap_or(network.switch.alpha),
        is_alpha_read: setting.alpha.is_some(),
    }
}

/// Difference of a setting without faults from the formula.
#[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
fn compare(marking: &Marking, formula: &Marking) -> String {
    let (Marking::Length(set), Marking::Length(formula)) = (marking, formula) else {
        return "no fault found".to_owned();
    };
    let middle = |ramp: &Ramp| ramp.min.0 as f64 + ramp.max.0 as f64;
    let ratio = middle(set) / middle(formula).max(1.0);
    if (0.9..=1.1).contains(&ratio) {
        "as the formula says".to_owned()
    } else {
        format!("{ratio:.1} times the formula, within what works")
    }
}

/// Adds a port to the settings: to an equal one, if there is one.
fn add(settings: &mut Vec<Setting>, new: Setting) {
    let same = |old: &&mut Setting| {
        (old.queue, old.speed, old.marking, old.alpha, &old.name)
            == (new.queue, new.speed, new.marking, new.alpha, &new.name)
    };
    match settings.iter_mut().find(same) {
        Some(old) => old.ports += new.ports,
        None => settings.push(new),
    }
}

#[cfg(test)]
mod tests;
