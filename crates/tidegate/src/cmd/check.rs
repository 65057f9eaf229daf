//! `tidegate check`: validates scenario files and summarizes them.

use serde_json::{Value, json};
use tidegate_reproduce::source::{self, Unread};
use tidegate_scenario::Problem;
use tidegate_study::{Error as StudyError, Study, outline};

use crate::args::Check;
use crate::outline::warn;
use crate::output::{Error, ExitStatus, Output};

pub(crate) fn check(arguments: &Check, output: Output) -> Result<ExitStatus, Error> {
    let mut status = ExitStatus::Good;
    let mut values = Vec::new();
    for file in &arguments.files {
        let read = source::read_up_to(file, &arguments.set, arguments.reading.max_file);
        let checked = read.and_then(|scenario| {
            Study::new(file, scenario, &[]).map_err(|error| match error {
                StudyError::Scenario(problem) => Unread::Problem(problem),
                error => Unread::NoFile(error.to_string()),
            })
        });
        let study = match checked {
            Err(Unread::NoFile(text)) => return Err(Error::new(text)),
            Err(Unread::Problem(problem)) => {
                status = ExitStatus::Bad;
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
            values.push(right(&study, arguments.resolved));
            continue;
        }
        if arguments.resolved {
            output.print(&study.scenario.resolved_by_name())?;
        } else {
            output.print(&study.summary())?;
        }
        warn(&study, output);
    }
    if output.json {
        output.print_json(&values)?;
    }
    Ok(status)
}

fn right(study: &Study, resolved: bool) -> Value {
    let Study { file, scenario, plan, .. } = study;
    let mut value = json!({
        "file": file,
        "ok": true,
        "name": scenario.name,
        "title": scenario.title,
        "runs": plan.len(),
        "means": outline::json(&study.scenario, &study.plan),
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
