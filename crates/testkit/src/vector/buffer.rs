//! Vectors of buffers: admissions and releases of one switch.

use std::collections::BTreeMap;

use serde::Deserialize;
use tidegate_dataplane::DropReason;
use tidegate_dataplane::buffer::{AnyBuffer, Buffer, Charge, Config, PauseAction, Request};
use tidegate_units::{ConfigError, PortId, QueueId};
use toml::Table;

use super::{Budget, Summary, VectorError, apply, made, same};

/// Most ports of a vector.
const MAX_PORTS: u16 = 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    buffer: String,
    #[serde(default)]
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(default)]
    config: Table,
    #[serde(default)]
    switch: Switch,
    error: Option<String>,
    #[serde(default)]
    steps: Vec<Step>,
}

/// The switch of the buffer.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Switch {
    ports: u16,
    queues: u8,
}

impl Default for Switch {
    fn default() -> Self {
        Self { ports: 8, queues: 8 }
    }
}

/// Exactly one of the calls, with the expected answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    admit: Option<Packet>,
    events: Option<Vec<String>>,
    pool: Option<Place>,
    release: Option<u32>,
    expect: Option<String>,
    expect_bytes: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Packet {
    id: u32,
    #[serde(default)]
    port: u16,
    #[serde(default)]
    queue: u8,
    #[serde(default = "full_packet")]
    len: u32,
    #[serde(default)]
    ingress: u16,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Place {
    port: u16,
    queue: u8,
}

const fn full_packet() -> u32 {
    1500
}

/// Runs a file of `testdata/buffer`.
pub fn run_buffer(text: &str) -> Result<Summary, VectorError> {
    let file: File = toml::from_str(text).map_err(VectorError::of_file)?;
    let mut budget = Budget::new();
    for case in &file.case {
        let of_case = |problem| VectorError::of_case(&case.name, problem);
        let buffer = build(&file.buffer, &case.config, &case.switch).map_err(of_case)?;
        let buffer = made(buffer, case.error.as_deref(), case.steps.len()).map_err(of_case)?;
        let Some(buffer) = buffer else { continue };
        let mut run = Run { buffer, charges: BTreeMap::new() };
        for (index, step) in case.steps.iter().enumerate() {
            budget
                .take(None)
                .and_then(|_| run.step(step))
                .map_err(|problem| VectorError::of_step(&case.name, index, problem))?;
        }
    }
    Ok(Summary { subject: file.buffer, cases: file.case.len(), steps: budget.spent() })
}

/// Builds the buffer. The outer error is a mistake in the file, the inner one a refusal by the
/// buffer.
fn build(
    name: &str,
    table: &Table,
    switch: &Switch,
) -> Result<Result<AnyBuffer, ConfigError>, String> {
    if switch.ports > MAX_PORTS {
        return Err(format!("switch has {} ports; allowed: up to {MAX_PORTS}", switch.ports));
    }
    let mut config = Config::named(name).ok_or_else(|| {
        let known = Config::NAMES.join(", ");
        format!("unknown buffer `{name}`; known: {known}")
    })?;
    let applied = apply(table, |field, text| config.set(field, text))?;
    Ok(applied.and_then(|()| config.build(switch.ports, switch.queues)))
}

struct Run {
    buffer: AnyBuffer,
    /// Receipts by packet.
    charges: BTreeMap<u32, Charge>,
}

impl Run {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step.call()? {
            Call::Admit(packet) => self.admit(packet, step.expect.as_deref().unwrap_or("ok")),
            Call::Events(expected) => same(&expected.join(", "), &self.events()),
            Call::Pool(place) => {
                let got = self.buffer.pool_bytes(PortId(place.port), QueueId(place.queue));
                same(&step.expect_bytes.ok_or("expect_bytes is missing")?, &got)
            }
            Call::Release(id) => {
                let charge = self.charges.remove(&id);
                self.buffer.release(charge.ok_or_else(|| format!("packet {id} is not held"))?);
                Ok(())
            }
        }
    }

    fn admit(&mut self, packet: &Packet, expected: &str) -> Result<(), String> {
        if self.charges.contains_key(&packet.id) {
            return Err(format!("packet {} is held already", packet.id));
        }
        if expected != "ok" && DropReason::ALL.iter().all(|reason| reason.name() != expected) {
            let reasons = DropReason::ALL.map(DropReason::name).join(", ");
            return Err(format!("expect: `{expected}` is none of ok, {reasons}"));
        }
        let answer = self.buffer.admit(Request {
            port: PortId(packet.port),
            queue: QueueId(packet.queue),
            ingress: packet.ingress,
            len: packet.len,
        });
        let got = match answer {
            Ok(charge) => {
                same(&packet.len, &charge.bytes())?;
                self.charges.insert(packet.id, charge);
                "ok"
            }
            Err(reason) => reason.name(),
        };
        same(&expected, &got)
    }

    /// Pauses and resumes since the last call.
    fn events(&mut self) -> String {
        let mut events = Vec::new();
        while let Some(pause) = self.buffer.poll_pause() {
            let action = match pause.action {
                PauseAction::Pause => "pause",
                PauseAction::Resume => "resume",
            };
            events.push(format!("{action} {}", pause.ingress));
        }
        events.join(", ")
    }
}

/// The call made by a step.
enum Call<'a> {
    Admit(&'a Packet),
    Events(&'a [String]),
    Pool(&'a Place),
    Release(u32),
}

impl Step {
    fn call(&self) -> Result<Call<'_>, String> {
        let calls = [
            self.admit.as_ref().map(Call::Admit),
            self.events.as_deref().map(Call::Events),
            self.pool.as_ref().map(Call::Pool),
            self.release.map(Call::Release),
        ];
        let mut calls = calls.into_iter().flatten();
        let (Some(call), None) = (calls.next(), calls.next()) else {
            return Err("a step is exactly one of admit, events, pool and release".to_owned());
        };
        match (&call, &self.expect, self.expect_bytes) {
            (Call::Admit(_), _, None) | (Call::Pool(_), None, _) | (_, None, None) => Ok(call),
            _ => Err("expect belongs to admit, and expect_bytes to pool".to_owned()),
        }
    }
}
