//! Golden vectors: TOML files of timed operations with expected answers.
//!
//! There is one runner per kind of part. All of them accept any text and return a [`Summary`] or a
//! [`VectorError`] that names the case and the step; none of them panics, and the work that a text
//! can cause is bounded.

mod buffer;
mod mark;
mod sched;

pub use buffer::run_buffer;
pub use mark::{run_mark, run_mark_with};
pub use sched::run_sched;

use std::fmt::{self, Display, Formatter};

use serde::Deserialize;
use tidegate_units::{ConfigError, Span, Time};
use toml::{Table, Value};

/// Most repetitions of one step.
const MAX_REPEAT: u32 = 100_000;
/// Most steps of one file, including repetitions.
const MAX_STEPS: u64 = 1_000_000;

/// Summary of a file of vectors that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The scheme, scheduler or buffer under test.
    pub subject: String,
    /// Number of cases.
    pub cases: usize,
    /// Number of steps, including repetitions.
    pub steps: u64,
}

/// The first error in a file of vectors, or in the part that it tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorError {
    case: Option<String>,
    /// Number of the step, from 1.
    step: Option<usize>,
    problem: String,
}

impl VectorError {
    fn of_file(problem: impl Display) -> Self {
        Self { case: None, step: None, problem: problem.to_string() }
    }

    fn of_case(case: &str, problem: impl Display) -> Self {
        Self { case: Some(case.to_owned()), ..Self::of_file(problem) }
    }

    fn of_step(case: &str, index: usize, problem: impl Display) -> Self {
        Self { step: Some(index + 1), ..Self::of_case(case, problem) }
    }
}

impl Display for VectorError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(case) = &self.case {
            write!(f, "case `{case}`")?;
            if let Some(step) = self.step {
                write!(f, ", step {step}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for VectorError {}

/// Steps that a file may still run.
struct Budget(u64);

impl Budget {
    const fn new() -> Self {
        Self(MAX_STEPS)
    }

    /// Takes `repeat` steps, one if absent.
    fn take(&mut self, repeat: Option<u32>) -> Result<u32, String> {
        let repeat = repeat.unwrap_or(1);
        if !(1..=MAX_REPEAT).contains(&repeat) {
            return Err(format!("repeat = {repeat} is out of range; allowed: 1 to {MAX_REPEAT}"));
        }
        let left = self.0.checked_sub(u64::from(repeat));
        self.0 = left.ok_or_else(|| format!("the file runs more than {MAX_STEPS} steps"))?;
        Ok(repeat)
    }

    const fn spent(&self) -> u64 {
        MAX_STEPS - self.0
    }
}

/// Time of a file's steps, which never goes back.
#[derive(Default)]
struct Clock(Time);

impl Clock {
    /// Advances to `at`; without it the time does not change.
    fn advance(&mut self, at: Option<&str>) -> Result<Time, String> {
        if let Some(at) = at {
            let at: Time = at.parse().map_err(|error| format!("at: {error}"))?;
            if at < self.0 {
                return Err(format!("time goes back from {} to {at}", self.0));
            }
            self.0 = at;
        }
        Ok(self.0)
    }

    fn pass(&mut self, span: Span) {
        self.0 += span;
    }

    const fn now(&self) -> Time {
        self.0
    }
}

/// A value, or the word `none` for its absence.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum OrNone<T> {
    Value(T),
    Word(String),
}

impl<T> OrNone<T> {
    fn as_option(&self) -> Result<Option<&T>, String> {
        match self {
            Self::Value(value) => Ok(Some(value)),
            Self::Word(word) if word == "none" => Ok(None),
            Self::Word(word) => Err(format!("`{word}` is neither a value nor `none`")),
        }
    }
}

fn or_none(value: Option<impl Display>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

/// Sets every field of `table` with `set`. The outer error is a mistake in the file, the inner one
/// a refusal by the part under test.
fn apply(
    table: &Table,
    mut set: impl FnMut(&str, &str) -> Result<(), ConfigError>,
) -> Result<Result<(), ConfigError>, String> {
    for (field, value) in table {
        let text = setting(value).ok_or_else(|| {
            format!("config.{field}: expected a string, integer, boolean or an array of them")
        })?;
        if let Err(refusal) = set(field, &text) {
            return Ok(Err(refusal));
        }
    }
    Ok(Ok(()))
}

/// Text form of a setting: lists are joined with `, `.
fn setting(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(scalar).collect();
            Some(items?.join(", "))
        }
        single => scalar(single),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Boolean(value) => Some(value.to_string()),
        Value::Integer(value) => Some(value.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Datetime(_) | Value::Float(_) | Value::Table(_) => None,
    }
}

/// Compares the result of building with the case: returns the object to run the steps on, or `None`
/// if it was refused as expected.
fn made<T>(
    made: Result<T, ConfigError>,
    error: Option<&str>,
    steps: usize,
) -> Result<Option<T>, String> {
    match (made, error) {
        (Ok(_), None) if steps == 0 => Err("a case needs `steps` or `error`".to_owned()),
        (Ok(thing), None) => Ok(Some(thing)),
        (Ok(_), Some(field)) => Err(format!("expected an error that names `{field}`, got none")),
        (Err(refusal), None) => Err(format!("the configuration was refused: {refusal}")),
        (Err(_), Some(_)) if steps > 0 => Err("a refused case cannot have steps".to_owned()),
        (Err(refusal), Some(field)) if names(&refusal, field) => Ok(None),
        (Err(refusal), Some(field)) => {
            Err(format!("expected an error that names `{field}`, got: {refusal}"))
        }
    }
}

fn names(error: &ConfigError, expected: &str) -> bool {
    match error {
        ConfigError::OutOfRange { field, .. } | ConfigError::Unreadable { field, .. } => {
            *field == expected
        }
        ConfigError::UnknownField { field, .. } => field == expected,
        _ => false,
    }
}

/// `expected … , got …` unless the two are the same.
fn same<T: PartialEq + Display>(expected: &T, got: &T) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("expected {expected}, got {got}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        run_mark(text).unwrap_err().to_string()
    }

    fn with_case(rest: &str) -> String {
        error(&format!("scheme = 'tcn'\n[[case]]\nname = 'c'\nsource = 's'\n{rest}"))
    }

    #[test]
    fn a_wrong_answer_names_case_step_and_both_answers() {
        let steps =
            "steps = [{ enqueue = {} }, { dequeue = { sojourn = '79us' }, expect = 'pass' }]";
        assert_eq!(with_case(steps), "case `c`, step 2: expected pass, got sojourn");
        let steps = "steps = [{ at = '1us', dequeue = {}, expect = 'sojourn', repeat = 3 }]";
        assert_eq!(
            with_case(steps),
            "case `c`, step 1: expected sojourn, got pass (repeat 1 at 1us)"
        );
    }

    #[test]
    fn the_work_of_a_file_is_bounded() {
        let repeat = |n: u64| with_case(&format!("steps = [{{ enqueue = {{}}, repeat = {n} }}]"));
        assert!(repeat(0).contains("repeat = 0 is out of range"));
        assert!(repeat(100_001).contains("repeat = 100001 is out of range"));
        let many = "{ enqueue = {}, repeat = 100000 }, ".repeat(10);
        let steps = format!("steps = [{many} {{ enqueue = {{}} }}]");
        assert_eq!(with_case(&steps), "case `c`, step 11: the file runs more than 1000000 steps");
        assert!(with_case("port = { queues = 129 }").contains("allowed: 1 to 128"));
        assert!(with_case("port = { queues = 0 }").contains("allowed: 1 to 128"));
    }

    #[test]
    fn mistakes_in_a_file_are_reported() {
        for (rest, problem) in [
            ("", "a case needs `steps` or `error`"),
            ("config = { threshold = 1.5 }", "config.threshold: expected a string"),
            ("config = { threshold = '1' }", "the configuration was refused: threshold"),
            ("error = 'threshold'", "expected an error that names `threshold`, got none"),
            ("config = { kmin = 1 }\nerror = 'k'", "expected an error that names `k`, got: there"),
            ("port = { queues = 1, quanta = [1, 2] }", "port has 1 queues and 2 quanta"),
            ("steps = [{}]", "a step is exactly one of"),
            ("steps = [{ enqueue = { queue = 1 } }]", "there is no queue 1; the port has 1"),
            ("steps = [{ enqueue = {}, expect = 'mark' }]", "`mark` is none of pass"),
            ("steps = [{ enqueue = {}, expect_queue = 1 }]", "this step answers with expect"),
            ("steps = [{ at = '1us', enqueue = {} }, { at = '0us', enqueue = {} }]", "goes back"),
            ("steps = [{ turn = { event = 'emptied' } }]", "emptied with a len"),
            ("stpes = []", "unknown field `stpes`"),
        ] {
            let error = with_case(rest);
            assert!(error.contains(problem), "{rest}: {error}");
        }
        let unknown = "scheme = 'tnc'\n[[case]]\nname = 'c'\nsource = 's'";
        assert!(error(unknown).contains("there is no scheme `tnc`; known: or, "));
    }

    #[test]
    fn a_pair_consists_of_two_tables() {
        let pair = |config: &str| {
            run_mark(&format!(
                "scheme = 'or'\n[[case]]\nname = 'c'\nsource = 's'\nconfig = {{ {config} }}\n\
                 steps = [{{ dequeue = {{ sojourn = '79us' }}, expect = 'sojourn' }}]"
            ))
            .map_err(|error| error.to_string())
        };
        assert!(pair("first = { scheme = 'none' }, second = { scheme = 'tcn' }").is_ok());
        let error = pair("first = { scheme = 'none' }").unwrap_err();
        assert!(error.contains("config.second: a table was expected"));
        let error = pair("third = {}").unwrap_err();
        assert!(error.contains("`or` has only `first` and `second`"));
    }
}
