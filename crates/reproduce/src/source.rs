//! Scenarios by name: files, built-in scenarios and published figures.

use std::fmt;
use std::path::Path;

use tidegate_report::reading;
use tidegate_scenario::{Problem, Scenario};
use tidegate_study::files::{self, read_scenario_up_to};
use tidegate_units::Bytes;

use crate::{Figure, library};

/// Reads a scenario. A file takes precedence over a built-in scenario or figure of the same name.
/// `-` reads standard input.
pub fn read(file: &str, overrides: &[String]) -> Result<Scenario, Unread> {
    read_up_to(file, overrides, None)
}

/// The same with a maximum size of a file's lists and tables.
pub fn read_up_to(
    file: &str,
    overrides: &[String],
    max_file: Option<Bytes>,
) -> Result<Scenario, Unread> {
    checked(find(file, overrides, max_file)?, overrides)
}

/// Reads a scenario from its text.
pub fn parse(name: &str, text: &str, overrides: &[String]) -> Result<Scenario, Unread> {
    checked(Scenario::parse(name, text, overrides)?, overrides)
}

/// Checks the figure that a scenario reproduces, if there is one, although it changes no run.
fn checked(scenario: Scenario, overrides: &[String]) -> Result<Scenario, Unread> {
    let figure = Figure::of(&scenario)?;
    // Overrides may remove points that its claims are about.
    if let (Some(figure), []) = (figure, overrides) {
        figure.check_points(&scenario)?;
    }
    Ok(scenario)
}

fn find(file: &str, overrides: &[String], max_file: Option<Bytes>) -> Result<Scenario, Unread> {
    if file == "-" {
        let read = reading::all(std::io::stdin(), reading::WRITTEN).and_then(reading::text_of);
        let text = read.map_err(|error| Unread::NoFile(format!("standard input: {error}")))?;
        return Ok(Scenario::parse("standard input", &text, overrides)?);
    }
    let path = Path::new(file);
    let builtin = files::builtin().find(|builtin| builtin.id == file);
    match (builtin, library::scenario(file, overrides)) {
        (Some(builtin), _) if !path.exists() => {
            Ok(Scenario::parse(&format!("{file} (built in)"), builtin.text, overrides)?)
        }
        (None, Some(figure)) if !path.exists() => Ok(figure?),
        _ => match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(Unread::no_file(file, "is a folder")),
            Ok(_) => Ok(read_scenario_up_to(path, overrides, max_file)?),
            Err(error) => Err(Unread::no_file(file, &error.to_string())),
        },
    }
}

/// Reason why there is no scenario.
#[derive(Debug)]
pub enum Unread {
    /// Nothing can be read; the text says why, with a hint.
    NoFile(String),
    /// The scenario is invalid.
    Problem(Box<Problem>),
}

impl Unread {
    fn no_file(file: &str, why: &str) -> Self {
        let known = files::builtin().map(|builtin| builtin.id);
        let known = known.collect::<Vec<_>>().join(", ");
        Self::NoFile(format!(
            "cannot read {file}: {why}\nhint: give a scenario file, a built-in scenario ({known}),\n  \
             or a published figure from `tidegate list figure`"
        ))
    }
}

impl From<Problem> for Unread {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile(text) => f.write_str(text),
            Self::Problem(problem) => problem.fmt(f),
        }
    }
}
