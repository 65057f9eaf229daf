//! Reading scripts, and reporting why one cannot be read.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde::Deserialize;
use tidegate_units::{Ratio, Time};
use toml::{Table, Value};

use crate::subject::{is_match, subjects};
use crate::wire::Wire;

/// Side that a case is about, which determines its subjects.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Side {
    /// The congestion controls and DCTCP profiles.
    Sender,
    /// The echo rules.
    Receiver,
    /// The published stacks: everything around the window.
    Stack,
}

/// How the endpoint under test begins.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Start {
    /// It sends a SYN at the first step.
    Connect,
    /// The handshake has gone by, with ECN and SACK where the settings have them.
    #[default]
    Established,
    /// It waits for a SYN.
    Listen,
}

/// A rule, the exchange that shows it, and who keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// Document and section.
    pub(crate) source: String,
    pub(crate) side: Side,
    pub(crate) start: Start,
    /// The congestion control where it is not under test.
    pub(crate) window: String,
    /// Settings of the endpoint, by name.
    pub(crate) config: Vec<(String, String)>,
    /// Parameters of congestion controls, by pattern of subject.
    pub(crate) tune: Vec<(String, Vec<(String, String)>)>,
    /// Patterns of subjects that keep the rule.
    pub(crate) keeps: Vec<String>,
    /// Patterns of subjects that break it on purpose, and why.
    pub(crate) breaks: Vec<(String, String)>,
    /// Why the rule does not concern the others.
    pub(crate) scope: Option<String>,
    pub(crate) steps: Vec<Step>,
}

/// Statement of a case about a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict<'a> {
    Keeps,
    Breaks(&'a str),
    NotAsked,
}

impl Case {
    /// The statement about `subject`: the longest pattern that names it decides, and breaking goes
    /// before keeping.
    pub(crate) fn verdict(&self, subject: &str) -> Verdict<'_> {
        let longest = |patterns: &mut dyn Iterator<Item = &String>| {
            patterns.filter(|pattern| is_match(pattern, subject)).map(String::len).max()
        };
        let kept = longest(&mut self.keeps.iter());
        let broken = longest(&mut self.breaks.iter().map(|(pattern, _)| pattern));
        let why = self
            .breaks
            .iter()
            .find(|(pattern, _)| is_match(pattern, subject) && Some(pattern.len()) == broken);
        match why {
            Some((_, why)) if broken >= kept => Verdict::Breaks(why),
            Some(_) => Verdict::Keeps,
            None if kept.is_some() => Verdict::Keeps,
            None => Verdict::NotAsked,
        }
    }
}

/// One line of a script: an event, then expectations.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// When; the time of the step before if absent.
    pub(crate) at: Option<Time>,
    pub(crate) actions: Vec<Action>,
    pub(crate) sends: Option<Sends>,
    pub(crate) expect: Expect,
}

/// Event at the endpoint under test.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Abort,
    Arrive(Wire),
    Close,
    Read(u64),
    Write(u64),
}

/// Segments that must have left since the last step with `sends`.
#[derive(Clone, Debug)]
pub(crate) enum Sends {
    /// Anything, at any time.
    Any,
    /// These, in this order, at the time of the step.
    Exactly(Vec<Wire>),
}

/// Expectations after a step.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// The congestion window in bytes, or how it compares with the step before.
    pub(crate) cwnd: Option<Amount>,
    /// The slow start threshold in bytes, or how it compares with the step before.
    pub(crate) ssthresh: Option<Amount>,
    /// How many bytes window and threshold may lie off a number; none if absent.
    pub(crate) within: Option<u32>,
    /// α as a fraction.
    pub(crate) alpha: Option<String>,
    /// How far α may lie from it; exact, but for the last of 31 bits, if absent.
    pub(crate) alpha_within: Option<String>,
    /// Bytes thought to be in flight (`pipe`).
    pub(crate) in_flight: Option<u32>,
    /// Bytes acknowledged by the peer.
    pub(crate) acked: Option<u64>,
    /// Bytes received in order.
    pub(crate) received: Option<u64>,
    /// Whether ECN was agreed on.
    pub(crate) ecn: Option<bool>,
    /// The state of the connection, as `Established`.
    pub(crate) state: Option<String>,
}

/// A number of bytes, or a comparison with the step before.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Amount {
    Bytes(u32),
    Compared(String),
}

impl Amount {
    /// The comparisons there are.
    const WORDS: [&str; 5] = ["same", "falls", "rises", "not-risen", "not-fallen"];

    /// Whether `now` is right, after `before`; a number may be off by `within`.
    pub(crate) fn is(&self, now: u32, before: u32, within: u32) -> bool {
        match self {
            Self::Bytes(bytes) => now.abs_diff(*bytes) <= within,
            Self::Compared(word) => match word.as_str() {
                "falls" => now < before,
                "not-fallen" => now >= before,
                "not-risen" => now <= before,
                "rises" => now > before,
                _ => now == before,
            },
        }
    }

    fn check(&self, key: &str) -> Result<(), String> {
        match self {
            Self::Compared(word) if !Self::WORDS.contains(&word.as_str()) => Err(format!(
                "{key} = \"{word}\" is neither a number of bytes nor one of {}",
                Self::WORDS.join(", ")
            )),
            Self::Bytes(_) | Self::Compared(_) => Ok(()),
        }
    }
}

impl Display for Amount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Compared(word) => f.write_str(word),
        }
    }
}

/// Problem of a script, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptError {
    file: String,
    case: Option<String>,
    /// Counted from 1.
    step: Option<usize>,
    problem: String,
}

impl Display for ScriptError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(case) = &self.case {
            write!(f, ", case `{case}`")?;
        }
        if let Some(step) = self.step {
            write!(f, ", step {step}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// The most steps that a case may have.
const MAX_STEPS: usize = 1_000;

/// Reads the cases of a file.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Case>, ScriptError> {
    let error = |case: Option<&str>, step, problem: String| ScriptError {
        file: file.to_owned(),
        case: case.map(str::to_owned),
        step,
        problem,
    };
    let of_file = |problem: String| error(None, None, problem);
    let table: Table = text.parse().map_err(|e: toml::de::Error| of_file(e.to_string()))?;
    if let Some(key) = table.keys().find(|key| *key != "case") {
        return Err(of_file(format!("unknown key `{key}`; a script has only [[case]]")));
    }
    let Some(Value::Array(cases)) = table.get("case") else {
        return Err(of_file("there is no [[case]]".to_owned()));
    };
    let mut parsed = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let name = case.get("name").and_then(Value::as_str);
        let name = name.map_or_else(|| format!("number {}", index + 1), str::to_owned);
        let of_case = |problem: String| error(Some(&name), None, problem);
        let raw: RawCase = case.clone().try_into().map_err(|e| of_case(said(&e)))?;
        let mut steps = Vec::new();
        for (index, step) in raw.steps.iter().enumerate() {
            let step =
                parse_step(step).map_err(|problem| error(Some(&name), Some(index + 1), problem))?;
            steps.push(step);
        }
        parsed.push(raw.into_case(steps).map_err(of_case)?);
    }
    Ok(parsed)
}

/// A case as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    name: String,
    source: String,
    side: Side,
    #[serde(default)]
    start: Start,
    #[serde(default)]
    window: Option<String>,
    #[serde(default)]
    config: Table,
    #[serde(default)]
    tune: BTreeMap<String, Table>,
    keeps: Vec<String>,
    #[serde(default)]
    breaks: BTreeMap<String, String>,
    #[serde(default)]
    scope: Option<String>,
    steps: Vec<Value>,
}

impl RawCase {
    fn into_case(self, steps: Vec<Step>) -> Result<Case, String> {
        if steps.is_empty() || steps.len() > MAX_STEPS {
            return Err(format!("a case has 1 to {MAX_STEPS} steps"));
        }
        let tune: Result<Vec<_>, String> = self
            .tune
            .iter()
            .map(|(pattern, table)| Ok((pattern.clone(), texts("tune", table)?)))
            .collect();
        let case = Case {
            name: self.name,
            source: self.source,
            side: self.side,
            start: self.start,
            window: self.window.unwrap_or_else(|| "rfc3168".to_owned()),
            config: texts("config", &self.config)?,
            tune: tune?,
            keeps: self.keeps,
            breaks: self.breaks.into_iter().collect(),
            scope: self.scope,
            steps,
        };
        let all = subjects(case.side);
        let patterns = case.keeps.iter().chain(case.breaks.iter().map(|(pattern, _)| pattern));
        for pattern in patterns.chain(case.tune.iter().map(|(pattern, _)| pattern)) {
            if !all.iter().any(|subject| is_match(pattern, subject)) {
                let known = all.join(", ");
                return Err(format!("`{pattern}` names no subject; there are: {known}"));
            }
        }
        let left_out = all.iter().find(|subject| case.verdict(subject) == Verdict::NotAsked);
        match (left_out, &case.scope) {
            (Some(subject), None) => Err(format!(
                "nothing is said of `{subject}`; name it, or say in `scope` why the rule is not \
                 for it"
            )),
            (None, Some(_)) => Err("`scope` is given, but every subject is named".to_owned()),
            (Some(_), Some(_)) | (None, None) => Ok(case),
        }
    }
}

/// The fields of a table as text.
fn texts(key: &str, table: &Table) -> Result<Vec<(String, String)>, String> {
    table
        .iter()
        .map(|(field, value)| {
            let text = match value {
                Value::Boolean(value) => value.to_string(),
                Value::Integer(value) => value.to_string(),
                Value::String(text) => text.clone(),
                Value::Array(_) | Value::Datetime(_) | Value::Float(_) | Value::Table(_) => {
                    return Err(format!("{key}.{field} is no string, integer or boolean"));
                }
            };
            Ok((field.clone(), text))
        })
        .collect()
}

/// A step as the file has it; the rest of its keys are expectations.
#[derive(Deserialize)]
struct RawStep {
    at: Option<String>,
    arrives: Option<Lines>,
    sends: Option<Lines>,
    write: Option<u64>,
    read: Option<u64>,
    #[serde(rename = "do")]
    order: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    One(String),
    Many(Vec<String>),
}

impl Lines {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(line) => std::slice::from_ref(line),
            Self::Many(lines) => lines,
        }
    }

    fn parse(&self) -> Result<Vec<Wire>, String> {
        self.as_slice().iter().map(|line| Wire::parse(line)).collect()
    }
}

fn parse_step(value: &Value) -> Result<Step, String> {
    const KEYS: [&str; 6] = ["at", "arrives", "sends", "write", "read", "do"];
    let Value::Table(table) = value else {
        return Err("a step is a table, such as { at = \"0ms\", write = 1000 }".to_owned());
    };
    let raw: RawStep = value.clone().try_into().map_err(|e| said(&e))?;
    let rest: Table = table
        .iter()
        .filter(|(key, _)| !KEYS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let expect: Expect = rest.try_into().map_err(|e| said(&e))?;
    let at = raw.at.map(|at| at.parse().map_err(|error| format!("at: {error}")));
    let mut actions = Vec::new();
    match raw.order.as_deref() {
        None => {}
        Some("abort") => actions.push(Action::Abort),
        Some("close") => actions.push(Action::Close),
        Some(other) => return Err(format!("do = \"{other}\" is neither abort nor close")),
    }
    actions.extend(raw.write.map(Action::Write));
    actions.extend(raw.read.map(Action::Read));
    if let Some(lines) = &raw.arrives {
        actions.extend(lines.parse()?.into_iter().map(Action::Arrive));
    }
    let sends = match &raw.sends {
        None => None,
        Some(Lines::One(word)) if word == "any" => Some(Sends::Any),
        Some(Lines::One(word)) if word == "nothing" => Some(Sends::Exactly(Vec::new())),
        Some(lines) => Some(Sends::Exactly(lines.parse()?)),
    };
    for (key, amount) in [("cwnd", &expect.cwnd), ("ssthresh", &expect.ssthresh)] {
        amount.as_ref().map_or(Ok(()), |amount| amount.check(key))?;
    }
    for (key, text) in [("alpha", &expect.alpha), ("alpha_within", &expect.alpha_within)] {
        if let Some(text) = text {
            let _: Ratio = text.parse().map_err(|error| format!("{key}: {error}"))?;
        }
    }
    Ok(Step { at: at.transpose()?, actions, sends, expect })
}

/// An error of the TOML reader, in one line.
fn said(error: &toml::de::Error) -> String {
    error.message().to_owned()
}
