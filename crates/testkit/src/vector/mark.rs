//! Vectors of marking schemes: the hooks of a [`Marker`], called with given numbers.

use serde::Deserialize;
use tidegate_dataplane::mark::{Config, Cx, MarkDecision, Marker, PortInfo, Queues};
use tidegate_dataplane::sched::{Round, Turn, TurnEvent};
use tidegate_dataplane::{MAX_QUEUES, Pkt, Rule};
use tidegate_units::{ConfigError, Ecn, FlowId, QueueId, Rate, Span};
use toml::{Table, Value};

use super::{Budget, Clock, OrNone, Summary, VectorError, apply, made, or_none, same};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scheme: String,
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
    port: Port,
    error: Option<String>,
    #[serde(default)]
    steps: Vec<Step>,
}

/// The port of a scheme.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Port {
    rate: Option<String>,
    queues: Option<u8>,
    /// Quantum of each queue of a round-based scheduler, 0 for a queue that is served without
    /// rounds. Omit it for a port without rounds.
    quanta: Option<Vec<u32>>,
    /// The queue that is served strictly first.
    first: Option<u8>,
    seed: Option<u64>,
}

/// Exactly one of the calls, with the expected answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    at: Option<String>,
    repeat: Option<u32>,
    every: Option<String>,
    assign: Option<Arrival>,
    capacity: Option<u8>,
    dequeue: Option<Moment>,
    enqueue: Option<Moment>,
    threshold: Option<u8>,
    turn: Option<TurnText>,
    expect: Option<String>,
    expect_bytes: Option<OrNone<u32>>,
    expect_queue: Option<u8>,
    expect_rate: Option<String>,
}

/// A packet and the port around it, as seen by a scheme.
#[derive(Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Moment {
    queue: u8,
    len: u32,
    ecn: String,
    flow: u32,
    queue_bytes: u32,
    queue_packets: u32,
    port_bytes: u32,
    port_packets: u32,
    pool_bytes: u32,
    sojourn: Option<String>,
}

impl Default for Moment {
    fn default() -> Self {
        Self {
            queue: 0,
            len: 1500,
            ecn: "ect0".to_owned(),
            flow: 0,
            queue_bytes: 0,
            queue_packets: 0,
            port_bytes: 0,
            port_packets: 0,
            pool_bytes: 0,
            sojourn: None,
        }
    }
}

/// A packet whose queue a scheme may choose, and the lengths of all queues.
#[derive(Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Arrival {
    flow: u32,
    len: u32,
    queue: u8,
    lengths: Vec<u32>,
    packets: Vec<u32>,
}

impl Default for Arrival {
    fn default() -> Self {
        Self { flow: 0, len: 1500, queue: 0, lengths: Vec::new(), packets: Vec::new() }
    }
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnText {
    #[serde(default)]
    queue: u8,
    event: String,
    len: Option<u32>,
}

/// Runs a file of `testdata/mark`.
pub fn run_mark(text: &str) -> Result<Summary, VectorError> {
    run_mark_with(text, |config, port| config.build(port).map(Some))
}

/// Runs a file of `testdata/mark` on another implementation of its scheme. `make` returns `None`
/// for a configuration that it does not implement, whose case is left out.
pub fn run_mark_with<M: Marker>(
    text: &str,
    mut make: impl FnMut(&Config, &PortInfo) -> Result<Option<M>, ConfigError>,
) -> Result<Summary, VectorError> {
    let file: File = toml::from_str(text).map_err(VectorError::of_file)?;
    let mut budget = Budget::new();
    let mut cases = 0;
    for case in &file.case {
        let of_case = |problem| VectorError::of_case(&case.name, problem);
        let port = PortSpec::new(&case.port).map_err(of_case)?;
        let marker = build(&file.scheme, &case.config, &port, &mut make).map_err(of_case)?;
        if let Ok(None) = marker {
            continue;
        }
        cases += 1;
        let marker = made(marker, case.error.as_deref(), case.steps.len()).map_err(of_case)?;
        let Some(marker) = marker.flatten() else { continue };
        let mut run = Run { marker, queues: port.queues, clock: Clock::default() };
        for (index, step) in case.steps.iter().enumerate() {
            run.step(step, &mut budget)
                .map_err(|problem| VectorError::of_step(&case.name, index, problem))?;
        }
    }
    Ok(Summary { subject: file.scheme, cases, steps: budget.spent() })
}

/// A [`Port`] with parsed units and defaults.
struct PortSpec {
    rate: Rate,
    queues: u8,
    quanta: Option<Vec<u32>>,
    first: Option<QueueId>,
    seed: u64,
}

impl PortSpec {
    fn new(port: &Port) -> Result<Self, String> {
        let rate = match &port.rate {
            None => Rate::from_gbps(10),
            Some(text) => text.parse().map_err(|error| format!("port.rate: {error}"))?,
        };
        let quanta = port.quanta.clone();
        let listed = quanta.as_ref().map(Vec::len);
        let queues = match (port.queues, listed) {
            (Some(queues), Some(listed)) if usize::from(queues) != listed => {
                return Err(format!("port has {queues} queues and {listed} quanta"));
            }
            (Some(queues), _) => queues,
            (None, listed) => u8::try_from(listed.unwrap_or(1)).unwrap_or(u8::MAX),
        };
        if !(1..=MAX_QUEUES).contains(&queues) {
            return Err(format!("port has {queues} queues; allowed: 1 to {MAX_QUEUES}"));
        }
        Ok(Self {
            rate,
            queues,
            quanta,
            first: port.first.map(QueueId),
            seed: port.seed.unwrap_or(1),
        })
    }

    fn round(&self, queue: QueueId) -> Option<Round> {
        let quantum = *self.quanta.as_ref()?.get(queue.index())?;
        (quantum > 0).then_some(Round { group: 0, quantum })
    }
}

/// Builds the scheme. The outer error is a mistake in the file, the inner one a refusal by the
/// scheme.
fn build<M>(
    scheme: &str,
    table: &Table,
    port: &PortSpec,
    make: &mut impl FnMut(&Config, &PortInfo) -> Result<M, ConfigError>,
) -> Result<Result<M, ConfigError>, String> {
    let config = match configure(scheme, table)? {
        Ok(config) => config,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let port = PortInfo {
        rate: port.rate,
        queues: port.queues,
        round: &|queue| port.round(queue),
        first: port.first,
        scheduler: if port.quanta.is_some() { "dwrr" } else { "fifo" },
        seed: port.seed,
        stream: 0,
    };
    Ok(make(&config, &port))
}

fn configure(scheme: &str, table: &Table) -> Result<Result<Config, ConfigError>, String> {
    if scheme == "or" {
        return configure_pair(table);
    }
    let mut config = Config::named(scheme).ok_or_else(|| {
        format!("there is no scheme `{scheme}`; known: or, {}", Config::NAMES.join(", "))
    })?;
    let applied = apply(table, |field, text| config.set(field, text))?;
    Ok(applied.map(|()| config))
}

/// A pair has a table for each member, with the member's `scheme` among the fields.
fn configure_pair(table: &Table) -> Result<Result<Config, ConfigError>, String> {
    if let Some(other) = table.keys().find(|key| !["first", "second"].contains(&key.as_str())) {
        return Err(format!("config.{other}: `or` has only `first` and `second`"));
    }
    let member = |key: &str| {
        let Some(Value::Table(member)) = table.get(key) else {
            return Err(format!("config.{key}: a table was expected"));
        };
        let mut fields = member.clone();
        let Some(Value::String(scheme)) = fields.remove("scheme") else {
            return Err(format!("config.{key}.scheme: the name of a scheme was expected"));
        };
        configure(&scheme, &fields)
    };
    let (first, second) = (member("first")?, member("second")?);
    Ok(first.and_then(|first| Ok(Config::Or(Box::new((first, second?))))))
}

struct Run<M> {
    marker: M,
    queues: u8,
    clock: Clock,
}

impl<M: Marker> Run<M> {
    fn step(&mut self, step: &Step, budget: &mut Budget) -> Result<(), String> {
        self.clock.advance(step.at.as_deref())?;
        let every = span("every", step.every.as_deref())?;
        for i in 0..budget.take(step.repeat)? {
            if i > 0 {
                self.clock.pass(every);
            }
            self.call(step).map_err(|problem| match step.repeat {
                None => problem,
                Some(_) => format!("{problem} (repeat {} at {})", i + 1, self.clock.now()),
            })?;
        }
        Ok(())
    }

    fn call(&mut self, step: &Step) -> Result<(), String> {
        match step.call()? {
            Call::Assign(arrival) => {
                let got = self.assign(arrival);
                step.expect_queue.map_or(Ok(()), |queue| same(&queue, &got.0))
            }
            Call::Capacity(queue) => {
                let got = self.marker.capacity(QueueId(queue));
                let expected = step.expect_rate.as_deref().ok_or("expect_rate is missing")?;
                let expected: Option<Rate> = match expected {
                    "none" => None,
                    text => Some(text.parse().map_err(|error| format!("expect_rate: {error}"))?),
                };
                same(&or_none(expected), &or_none(got))
            }
            Call::Dequeue(moment) => {
                let cx = self.cx(moment)?;
                let sojourn = span("sojourn", moment.sojourn.as_deref())?;
                step.expect_verdict(self.marker.on_dequeue(&cx, sojourn))
            }
            Call::Enqueue(moment) => {
                let cx = self.cx(moment)?;
                if moment.sojourn.is_some() {
                    return Err("an arriving packet has no sojourn time".to_owned());
                }
                let verdict = self.marker.on_enqueue(&cx);
                self.marker.on_queued(&cx);
                step.expect_verdict(verdict)
            }
            Call::Threshold(queue) => {
                let got = self.marker.threshold(QueueId(queue));
                let expected = step.expect_bytes.as_ref().ok_or("expect_bytes is missing")?;
                same(&or_none(expected.as_option()?), &or_none(got.as_ref()))
            }
            Call::Turn(turn) => {
                let turn = self.turn(turn)?;
                self.marker.on_turn(&turn);
                Ok(())
            }
        }
    }

    fn assign(&mut self, arrival: &Arrival) -> QueueId {
        let pkt =
            Pkt { len: arrival.len, flow: FlowId(arrival.flow), ecn: Ecn::Ect0, ..Pkt::default() };
        let lengths = Lengths { count: self.queues, arrival };
        self.marker.assign(&pkt, QueueId(arrival.queue), &lengths, self.clock.now())
    }

    fn cx(&self, moment: &Moment) -> Result<Cx, String> {
        let ecn = match moment.ecn.as_str() {
            "not-ect" => Ecn::NotEct,
            "ect0" => Ecn::Ect0,
            "ect1" => Ecn::Ect1,
            "ce" => Ecn::Ce,
            other => return Err(format!("ecn: `{other}` is none of not-ect, ect0, ect1, ce")),
        };
        Ok(Cx {
            now: self.clock.now(),
            queue: self.queue(moment.queue)?,
            queue_bytes: moment.queue_bytes,
            queue_packets: moment.queue_packets,
            port_bytes: moment.port_bytes,
            port_packets: moment.port_packets,
            pool_bytes: moment.pool_bytes,
            pkt: Pkt { len: moment.len, flow: FlowId(moment.flow), ecn, ..Pkt::default() },
        })
    }

    fn turn(&self, turn: &TurnText) -> Result<Turn, String> {
        let event = match (turn.event.as_str(), turn.len) {
            ("joined", None) => TurnEvent::Joined,
            ("ended", None) => TurnEvent::Ended,
            ("emptied", Some(len)) => TurnEvent::Emptied { len },
            ("skipped", None) => TurnEvent::Skipped,
            ("withdrawn", None) => TurnEvent::Withdrawn,
            _ => {
                let known = "a turn is joined, ended, skipped, withdrawn, or emptied with a len";
                return Err(known.to_owned());
            }
        };
        Ok(Turn { queue: self.queue(turn.queue)?, now: self.clock.now(), event })
    }

    /// A port calls its scheme only for queues that exist.
    fn queue(&self, queue: u8) -> Result<QueueId, String> {
        if queue < self.queues {
            Ok(QueueId(queue))
        } else {
            Err(format!("there is no queue {queue}; the port has {}", self.queues))
        }
    }
}

/// The call made by a step.
enum Call<'a> {
    Assign(&'a Arrival),
    Capacity(u8),
    Dequeue(&'a Moment),
    Enqueue(&'a Moment),
    Threshold(u8),
    Turn(&'a TurnText),
}

impl Call<'_> {
    /// Key of the expected answer.
    const fn answer(&self) -> &'static str {
        match self {
            Self::Assign(_) => "expect_queue",
            Self::Capacity(_) => "expect_rate",
            Self::Dequeue(_) | Self::Enqueue(_) => "expect",
            Self::Threshold(_) => "expect_bytes",
            Self::Turn(_) => "nothing",
        }
    }
}

impl Step {
    fn call(&self) -> Result<Call<'_>, String> {
        let calls = [
            self.assign.as_ref().map(Call::Assign),
            self.capacity.map(Call::Capacity),
            self.dequeue.as_ref().map(Call::Dequeue),
            self.enqueue.as_ref().map(Call::Enqueue),
            self.threshold.map(Call::Threshold),
            self.turn.as_ref().map(Call::Turn),
        ];
        let mut calls = calls.into_iter().flatten();
        let (Some(call), None) = (calls.next(), calls.next()) else {
            return Err(
                "a step is exactly one of assign, capacity, dequeue, enqueue, threshold and turn"
                    .to_owned(),
            );
        };
        let answers = [
            ("expect", self.expect.is_some()),
            ("expect_bytes", self.expect_bytes.is_some()),
            ("expect_queue", self.expect_queue.is_some()),
            ("expect_rate", self.expect_rate.is_some()),
        ];
        match answers.iter().find(|&&(key, given)| given && key != call.answer()) {
            Some((key, _)) => Err(format!("{key}: this step answers with {}", call.answer())),
            None => Ok(call),
        }
    }

    fn expect_verdict(&self, got: MarkDecision) -> Result<(), String> {
        let name = |verdict| match verdict {
            MarkDecision::Mark(rule) => Rule::name(rule),
            MarkDecision::Pass => "pass",
        };
        let Some(expected) = self.expect.as_deref() else {
            return Ok(());
        };
        if expected != "pass" && Rule::ALL.iter().all(|rule| rule.name() != expected) {
            let rules = Rule::ALL.map(Rule::name).join(", ");
            return Err(format!("expect: `{expected}` is none of pass, {rules}"));
        }
        same(&expected, &name(got))
    }
}

/// Queues described by an `assign` step. Queues without a length are empty.
struct Lengths<'a> {
    count: u8,
    arrival: &'a Arrival,
}

impl Queues for Lengths<'_> {
    fn count(&self) -> u8 {
        self.count
    }

    fn bytes(&self, queue: QueueId) -> u32 {
        self.arrival.lengths.get(queue.index()).copied().unwrap_or(0)
    }

    fn packets(&self, queue: QueueId) -> u32 {
        self.arrival.packets.get(queue.index()).copied().unwrap_or(0)
    }
}

fn span(field: &str, text: Option<&str>) -> Result<Span, String> {
    text.map_or(Ok(Span::ZERO), |text| text.parse().map_err(|error| format!("{field}: {error}")))
}
