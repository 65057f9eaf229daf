//! Golden vectors of congestion controls: events with the window that must follow, worked out by
//! hand from the documents. The files are `testdata/cc/*.toml`; its README has the format.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use tidegate_transport::cc::{
    self, AckKind, Acked, AnyCongestionControl, CongestionControl, CwndParams, Flight, Phase,
    Reaction, Restart, Start, Timeout,
};
use tidegate_transport::{Config, Seq};
use tidegate_units::{Rate, Setting, Settings, Span, Time};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cc: String,
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    source: String,
    #[serde(default)]
    config: BTreeMap<String, toml::Value>,
    #[serde(default)]
    endpoint: BTreeMap<String, toml::Value>,
    #[serde(default)]
    steps: Vec<Step>,
    /// The parameter that is refused.
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    at: String,
    #[serde(default)]
    does: Event,
    #[serde(default = "segment")]
    bytes: u32,
    flight: Option<u32>,
    rtt: Option<String>,
    #[serde(default)]
    echo: bool,
    #[serde(default)]
    limited: bool,
    #[serde(default = "once")]
    times: u32,
    reduces: Option<bool>,
    window: Option<u32>,
    ssthresh: Option<u32>,
    pace: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Event {
    #[default]
    Ack,
    Loss,
    Recovered,
    Timeout,
    RepeatedTimeout,
    Idle,
}

const fn segment() -> u32 {
    1000
}

const fn once() -> u32 {
    1
}

/// A congestion control in the middle of its data.
struct Sender {
    cc: AnyCongestionControl,
    una: Seq,
}

impl Sender {
    fn apply(&mut self, step: &Step) -> Reaction {
        let now = Time::ZERO + span(&step.at);
        let bytes = step.flight.unwrap_or_else(|| self.cc.window());
        let flight = Flight { now, bytes, una: self.una, sent: self.una + bytes };
        match step.does {
            Event::Ack => {
                let acked = Acked {
                    now,
                    rtt: step.rtt.as_deref().map(span),
                    ack: self.una + step.bytes,
                    sent: flight.sent.max(self.una + step.bytes),
                    bytes: step.bytes,
                    delivered: step.bytes,
                    flight: bytes,
                    echo: step.echo,
                    kind: AckKind::Advance,
                    phase: Phase::Open,
                    may_grow: !step.limited,
                };
                self.una = acked.ack;
                return self.cc.on_ack(&acked);
            }
            Event::Loss => self.cc.on_loss(&flight),
            Event::Recovered => {
                self.una = flight.sent;
                self.cc.on_recovered(self.una);
            }
            Event::Timeout => self.cc.on_timeout(&flight, Timeout::First),
            Event::RepeatedTimeout => self.cc.on_timeout(&flight, Timeout::Repeated),
            Event::Idle => self.cc.on_idle(Restart::Keep, self.una),
        }
        Reaction::None
    }
}

fn span(text: &str) -> Span {
    Span::read(text).unwrap()
}

fn text(value: &toml::Value) -> String {
    match value {
        toml::Value::Boolean(yes) => yes.to_string(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::String(text) => text.clone(),
        other => panic!("{other:?} is no parameter"),
    }
}

fn run(name: &str, case: &Case) -> Result<(), String> {
    let mut endpoint = Config { mss: 1000, ..Config::default() };
    for (field, value) in &case.endpoint {
        endpoint.set(field, &text(value)).map_err(|error| error.to_string())?;
    }
    let mut config = cc::Config::named(name).ok_or("no such congestion control")?;
    for (field, value) in &case.config {
        config.set(field, &text(value)).map_err(|error| error.to_string())?;
    }
    let params = CwndParams::new(&endpoint);
    let built = config.build(&params).map_err(|error| error.to_string());
    let cc = match (built, &case.error) {
        (Ok(cc), None) => cc,
        (Err(said), Some(field)) if said.contains(field.as_str()) => return Ok(()),
        (Ok(_), Some(field)) => return Err(format!("`{field}` is not refused")),
        (Err(said), _) => return Err(said),
    };
    let mut sender = Sender { cc, una: Seq(0) };
    sender.cc.begin(&Start {
        mss: params.mss,
        initial: params.initial,
        max: params.max,
        first: Seq(0),
    });
    for (number, step) in case.steps.iter().enumerate() {
        let mut reaction = Reaction::None;
        for _ in 0..step.times {
            reaction = sender.apply(step);
        }
        let expect = |what: &str, found: String, wanted: Option<String>| match wanted {
            Some(wanted) if wanted != found => {
                Err(format!("step {number}: {what} is {found}, not {wanted}"))
            }
            _ => Ok(()),
        };
        let cc = &sender.cc;
        expect("window", cc.window().to_string(), step.window.map(|bytes| bytes.to_string()))?;
        let wanted = step.ssthresh.map(|bytes| bytes.to_string());
        expect("ssthresh", cc.ssthresh().to_string(), wanted)?;
        let reduces = (reaction != Reaction::None).to_string();
        expect("reduces", reduces, step.reduces.map(|yes| yes.to_string()))?;
        let rate = cc.pacing_rate().map_or_else(|| "none".to_owned(), |rate: Rate| rate.write());
        expect("pace", rate, step.pace.clone())?;
    }
    Ok(())
}

#[test]
fn golden_vectors_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/cc");
    let mut count = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let file: File = toml::from_str(&fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for case in &file.case {
            count += 1;
            assert!(!case.source.is_empty(), "{}", case.name);
            if let Err(problem) = run(&file.cc, case) {
                wrong.push(format!("{}: {}: {problem}", file.cc, case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 30, "{count} cases");
}
