//! Where scenarios come from: files, standard input, or the program itself.

use std::path::Path;

use tidegate_report::reading;
use tidegate_reproduce::{Figure, library};
use tidegate_scenario::{Problem, Scenario};
use tidegate_study::read_scenario;

use crate::builtin::Builtin;

/// Reads a scenario. A file goes before a built-in scenario of the same name.
pub(crate) fn read(file: &str, overrides: &[String]) -> Result<Scenario, Unread> {
    checked(find(file, overrides)?, overrides)
}

/// Reads a scenario that is a text.
pub(crate) fn parse(name: &str, text: &str, overrides: &[String]) -> Result<Scenario, Unread> {
    let scenario = Scenario::parse(name, text, overrides).map_err(Unread::problem)?;
    checked(scenario, overrides)
}

fn checked(scenario: Scenario, overrides: &[String]) -> Result<Scenario, Unread> {
    // What it claims changes no run. It is checked whenever it is there.
    let figure = Figure::of(&scenario).map_err(Unread::problem)?;
    // Overrides may change the points that it is about.
    if let (Some(figure), []) = (figure, overrides) {
        figure.check_points(&scenario).map_err(Unread::problem)?;
    }
    Ok(scenario)
}

fn find(file: &str, overrides: &[String]) -> Result<Scenario, Unread> {
    if file == "-" {
        let read = reading::all(std::io::stdin(), reading::WRITTEN).and_then(reading::text_of);
        let text = read.map_err(|error| Unread::NoFile(format!("standard input: {error}")))?;
        return Scenario::parse("standard input", &text, overrides).map_err(Unread::problem);
    }
    let path = Path::new(file);
    match (Builtin::named(file), library::scenario(file, overrides)) {
        (Some(builtin), _) if !path.exists() => {
            let name = format!("{file} (built in)");
            Scenario::parse(&name, builtin.text, overrides).map_err(Unread::problem)
        }
        (None, Some(figure)) if !path.exists() => figure.map_err(Unread::problem),
        _ => {
            match std::fs::metadata(path) {
                Ok(found) if found.is_dir() => {
                    return Err(Unread::NoFile(no_file(file, "is a folder")));
                }
                Ok(_) => {}
                Err(error) => return Err(Unread::NoFile(no_file(file, &error.to_string()))),
            }
            read_scenario(path, overrides).map_err(Unread::problem)
        }
    }
}

/// Why there is no scenario.
pub(crate) enum Unread {
    NoFile(String),
    Problem(Box<Problem>),
}

impl Unread {
    pub(crate) fn problem(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoFile(text) => f.write_str(text),
            Self::Problem(problem) => problem.fmt(f),
        }
    }
}

fn no_file(file: &str, why: &str) -> String {
    let known = crate::builtin::ALL.iter().map(|builtin| builtin.name);
    let known = known.collect::<Vec<_>>().join(", ");
    format!(
        "cannot read {file}: {why}\nhint: give a scenario file, a built-in scenario ({known}),\n  or a published figure from `tidegate list figure`"
    )
}
