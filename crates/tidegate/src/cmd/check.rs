//! `tidegate check`: what is wrong with scenario files, without running them.

use serde_json::{Value, json};
use tidegate_lab::scenario::{Problem, Scenario};

use super::source::{self, Unread};
use crate::args::Check;
use crate::output::{Error, Output, Verdict};

pub(crate) fn check(arguments: &Check, output: Output) -> Result<Verdict, Error> {
    let mut verdict = Verdict::Good;
    let mut values = Vec::new();
    for file in &arguments.files {
        let checked = source::read(file, &arguments.set).and_then(|scenario| {
            let runs = scenario.plan().map_err(Unread::problem)?.len();
            Ok((scenario, runs))
        });
        match checked {
            Err(Unread::NoFile(text)) => return Err(Error::new(text)),
            Err(Unread::Problem(problem)) => {
                verdict = Verdict::Bad;
                if output.json {
                    values.push(wrong(file, &problem));
                } else {
                    output.fail(&problem.to_string());
                }
            }
            Ok((scenario, runs)) if output.json => {
                values.push(right(file, &scenario, runs, arguments.resolved));
            }
            Ok((scenario, _)) if arguments.resolved => output.print(&scenario.resolved())?,
            Ok((scenario, runs)) => {
                let runs = if runs == 1 {
                    "1 run".to_owned()
                } else {
                    format!("{runs} runs")
                };
                output.print(&format!("{file}: fine, {runs} ({})\n", scenario.title))?;
            }
        }
    }
    if output.json {
        output.print_json(&values)?;
    }
    Ok(verdict)
}

fn right(file: &str, scenario: &Scenario, runs: usize, resolved: bool) -> Value {
    let mut value = json!({
        "file": file, "ok": true, "name": scenario.name, "title": scenario.title, "runs": runs,
    });
    if resolved {
        value["resolved"] = scenario.resolved().into();
    }
    value
}

fn wrong(file: &str, problem: &Problem) -> Value {
    let (line, column) = problem.position().unzip();
    json!({
        "file": file,
        "ok": false,
        "problem": {
            "message": problem.message(),
            "help": problem.advice(),
            "in": problem.file(),
            "line": line,
            "column": column,
        },
    })
}
