//! Vectors of schedulers: packets through a port that marks nothing and refuses nothing.

use serde::Deserialize;
use tidegate_dataplane::buffer::Unlimited;
use tidegate_dataplane::mark::Marker;
use tidegate_dataplane::sched::{AnyScheduler, Config, Turn, TurnEvent};
use tidegate_dataplane::{Pkt, Port, PortConfig};
use tidegate_units::{ConfigError, Ecn, FlowId, PktId, QueueId, Time};
use toml::Table;

use super::{Budget, Clock, OrNone, Summary, VectorError, apply, made, or_none, same};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scheduler: String,
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
    error: Option<String>,
    #[serde(default)]
    steps: Vec<Step>,
}

/// An arrival or a departure, with the turns that it must cause, if given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    at: Option<String>,
    enqueue: Option<Arrival>,
    dequeue: Option<OrNone<u32>>,
    turns: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arrival {
    id: u32,
    #[serde(default)]
    queue: u8,
    #[serde(default = "full_packet")]
    len: u32,
    #[serde(default)]
    flow: u32,
    #[serde(default)]
    rank: u64,
}

const fn full_packet() -> u32 {
    1500
}

/// Runs a file of `testdata/sched`.
pub fn run_sched(text: &str) -> Result<Summary, VectorError> {
    let file: File = toml::from_str(text).map_err(VectorError::of_file)?;
    let mut budget = Budget::new();
    for case in &file.case {
        let of_case = |problem| VectorError::of_case(&case.name, problem);
        let scheduler = build(&file.scheduler, &case.config).map_err(of_case)?;
        let scheduler =
            made(scheduler, case.error.as_deref(), case.steps.len()).map_err(of_case)?;
        let Some(scheduler) = scheduler else { continue };
        let mut run = Run {
            port: Port::new(&PortConfig::default(), Turns::default(), scheduler),
            clock: Clock::default(),
        };
        for (index, step) in case.steps.iter().enumerate() {
            budget
                .take(None)
                .and_then(|_| run.step(step))
                .map_err(|problem| VectorError::of_step(&case.name, index, problem))?;
        }
    }
    Ok(Summary { subject: file.scheduler, cases: file.case.len(), steps: budget.spent() })
}

/// Builds the scheduler. The outer error is a mistake in the file, the inner one a refusal by the
/// scheduler.
fn build(name: &str, table: &Table) -> Result<Result<AnyScheduler, ConfigError>, String> {
    let mut config = Config::named(name).ok_or_else(|| {
        let known = Config::NAMES.join(", ");
        format!("there is no scheduler `{name}`; known: {known}")
    })?;
    let applied = apply(table, |field, text| config.set(field, text))?;
    Ok(applied.and_then(|()| config.build()))
}

/// Marks nothing and records the turns, in the form of the vectors.
#[derive(Debug, Default)]
struct Turns(Vec<String>);

impl Marker for Turns {
    fn on_turn(&mut self, turn: &Turn) {
        let queue = turn.queue;
        self.0.push(match turn.event {
            TurnEvent::Emptied { len } => format!("{queue} emptied {len}"),
            TurnEvent::Ended => format!("{queue} ended"),
            TurnEvent::Joined => format!("{queue} joined"),
            TurnEvent::Skipped => format!("{queue} skipped"),
            TurnEvent::Withdrawn => format!("{queue} withdrawn"),
        });
    }
}

struct Run {
    port: Port<Turns, AnyScheduler>,
    clock: Clock,
}

impl Run {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        let now = self.clock.advance(step.at.as_deref())?;
        self.port.marker_mut().0.clear();
        match (&step.enqueue, &step.dequeue) {
            (Some(arrival), None) => self.enqueue(arrival, now)?,
            (None, Some(expected)) => {
                let departure = self.port.dequeue(now, &mut Unlimited);
                let got = departure.map(|departure| departure.id.0);
                same(&or_none(expected.as_option()?), &or_none(got.as_ref()))?;
            }
            _ => return Err("a step is exactly one of enqueue and dequeue".to_owned()),
        }
        match &step.turns {
            Some(turns) => same(&turns.join(", "), &self.port.marker().0.join(", ")),
            None => Ok(()),
        }
    }

    fn enqueue(&mut self, arrival: &Arrival, now: Time) -> Result<(), String> {
        let pkt = Pkt {
            len: arrival.len,
            flow: FlowId(arrival.flow),
            ecn: Ecn::Ect0,
            rank: arrival.rank,
            ..Pkt::default()
        };
        let (id, queue) = (PktId(arrival.id), QueueId(arrival.queue));
        match self.port.enqueue(id, pkt, queue, now, &mut Unlimited) {
            Ok(_) => Ok(()),
            Err(reason) => Err(format!("packet {id} was dropped: {reason}")),
        }
    }
}
