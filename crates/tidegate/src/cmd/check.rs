//! `tidegate check`: what scenario files came to mean, or all that is wrong with them.

use serde_json::{Value, json};
use tidegate_scenario::{Experiment, Problem, Scenario};

use super::outline;
use super::source::{self, Unread};
use crate::args::Check;
use crate::output::{Error, ExitStatus, Output};

pub(crate) fn check(arguments: &Check, output: Output) -> Result<ExitStatus, Error> {
    let mut verdict = ExitStatus::Good;
    let mut values = Vec::new();
    for file in &arguments.files {
        let checked = source::read(file, &arguments.set).and_then(|scenario| {
            let plan = scenario.plan().map_err(Unread::problem)?;
            Ok((scenario, plan))
        });
        let (scenario, plan) = match checked {
            Err(Unread::NoFile(text)) => return Err(Error::new(text)),
            Err(Unread::Problem(problem)) => {
                verdict = ExitStatus::Bad;
                if output.json {
                    values.push(wrong(file, &problem));
                } else {
                    output.fail(&problem.to_string());
                }
                continue;
            }
            Ok(read) => read,
        };
        if output.json {
            values.push(right(file, &scenario, &plan, arguments.resolved));
            continue;
        }
        if arguments.resolved {
            output.print(&scenario.resolved_by_name())?;
        } else {
            output.print(&outline::summary(file, &scenario, &plan))?;
        }
        outline::warn(&scenario, &plan, output);
    }
    if output.json {
        output.print_json(&values)?;
    }
    Ok(verdict)
}

fn right(file: &str, scenario: &Scenario, plan: &[Experiment], resolved: bool) -> Value {
    let mut value = json!({
        "file": file,
        "ok": true,
        "name": scenario.name,
        "title": scenario.title,
        "runs": plan.len(),
        "means": outline::json(scenario, plan),
    });
    if resolved {
        value["resolved"] = scenario.resolved_by_name().into();
    }
    value
}

fn wrong(file: &str, problem: &Problem) -> Value {
    let one = |problem: &Problem| {
        let (line, column) = problem.position().unzip();
        json!({
            "message": problem.message(),
            "help": problem.advice(),
            "in": problem.file(),
            "line": line,
            "column": column,
        })
    };
    let all = [problem].into_iter().chain(problem.others()).map(one);
    json!({ "file": file, "ok": false, "problems": all.collect::<Vec<_>>() })
}
