//! Requests of the page and their answers.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tidegate_sim::run::Status;

use crate::columns::Columns;
use crate::problems::{Shown, byte_at};
use crate::{complete, controls, edit, lessons, run};

/// A request of the page.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Request {
    /// Adds a second scheme beside the only one.
    Compare { text: String },
    /// Completions at an offset, in units of UTF-16.
    Complete { text: String, at: usize },
    /// Points and controls of a scenario, or its problems.
    Describe { text: String },
    /// Changes a value of the text.
    Edit { text: String, path: Vec<String>, value: String },
    /// All lessons.
    Lessons,
    /// Runs a point.
    Run { text: String, point: usize, watch: Option<String> },
}

/// Answers a request: a header of JSON, with `problems` if there are any, and columns of numbers
/// behind it. A run calls `goes_on` at intervals.
pub fn answer(request: &str, goes_on: &mut dyn FnMut(Status) -> bool) -> Vec<u8> {
    let answered = match serde_json::from_str(request) {
        Ok(Request::Run { text, point, watch }) => {
            match run::run(&text, point, watch.as_deref(), goes_on) {
                Ok(columns) => return columns,
                Err(problems) => Err(problems),
            }
        }
        Ok(Request::Compare { text }) => edited(edit::compared(&text)),
        Ok(Request::Complete { text, at }) => {
            let offered = complete::complete(&text, byte_at(&text, at));
            Ok(table(json!({ "offered": offered })))
        }
        Ok(Request::Describe { text }) => describe(&text),
        Ok(Request::Edit { text, path, value }) => edited(edit::set(&text, &path, &value)),
        Ok(Request::Lessons) => Ok(table(json!({ "lessons": lessons::LESSONS }))),
        Err(error) => Err(vec![Shown::new(format!("no such request: {error}"))]),
    };
    let header = answered.unwrap_or_else(|problems| table(json!({ "problems": problems })));
    Columns::default().behind(header)
}

/// Answer to a request that failed.
pub fn refusal(why: &str) -> Vec<u8> {
    let problems = [Shown::new(why.to_owned())];
    Columns::default().behind(table(json!({ "problems": problems })))
}

fn edited(text: Result<String, String>) -> Result<Map<String, Value>, Vec<Shown>> {
    match text {
        Ok(text) => Ok(table(json!({ "text": text }))),
        Err(why) => Err(vec![Shown::new(why)]),
    }
}

fn describe(text: &str) -> Result<Map<String, Value>, Vec<Shown>> {
    let scenario = run::parse(text)?;
    let points = run::points(&scenario, text)?;
    let labels: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
    Ok(table(json!({
        "name": scenario.name,
        "title": scenario.title,
        "points": labels,
        "controls": controls::controls(text, &points),
    })))
}

fn table(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(table) => table,
        _ => Map::new(),
    }
}
