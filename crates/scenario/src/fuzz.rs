//! Entry point of the fuzz target, here so that tests on a stable toolchain can call it too.

use std::sync::atomic::AtomicBool;

use tidegate_sim::run;

use super::{Experiment, Limits, Scenario};

/// Line that separates a scenario from overrides, one per line.
const SEPARATOR: &str = "\n--set\n";

/// Reads any bytes as a scenario and builds its runs. This must not panic on any input, and a valid
/// scenario must resolve to one with the same runs. The error names the violated property.
pub fn scenario(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let (text, overrides) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
    let overrides: Vec<String> = overrides.lines().map(str::to_owned).collect();
    let read = |name: &str, text: &str, overrides: &[String]| {
        Scenario::parse_within(name, text, overrides, Limits::FUZZING)
    };
    let scenario = match read("fuzz.toml", text, &overrides) {
        Ok(scenario) => scenario,
        // Formatting an error must not panic either.
        Err(problem) => return shown(&problem.to_string()),
    };
    let resolved = scenario.resolved();
    let again = read("resolved.toml", &resolved, &[])
        .map_err(|problem| format!("does not read back: {problem}\n{resolved}"))?;
    if again.resolved() != resolved {
        return Err(format!("resolves differently:\n{resolved}\n{}", again.resolved()));
    }
    match (scenario.plan(), again.plan()) {
        (Ok(before), Ok(after)) => same_runs(&before, &after),
        (Err(problem), Err(_)) => shown(&problem.to_string()),
        (before, after) => Err(format!(
            "can run: {}, and when resolved: {}\n{resolved}",
            before.map_or_else(|problem| problem.to_string(), |_| "yes".into()),
            after.map_or_else(|problem| problem.to_string(), |_| "yes".into()),
        )),
    }
}

fn shown(message: &str) -> Result<(), String> {
    match message.lines().next() {
        Some(line) if !line.trim().is_empty() => Ok(()),
        _ => Err("an error says nothing".into()),
    }
}

/// Checks that a planned run can start: the simulator builds all ports and hosts, then stops.
fn begins(run: &Experiment) -> Result<(), String> {
    let built = run.build().map_err(|problem| problem.to_string())?;
    match run::run(&built.setup, &AtomicBool::new(true)) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("was planned and does not begin: {error}")),
    }
}

fn same_runs(before: &[Experiment], after: &[Experiment]) -> Result<(), String> {
    let named = |run: &Experiment| (run.id.clone(), run.label.clone(), run.seed);
    if before.iter().map(named).ne(after.iter().map(named)) {
        return Err("has other runs when it is resolved".into());
    }
    let (Some(first), Some(again)) = (before.first(), after.first()) else {
        return Err("has no runs".into());
    };
    let built = |run: &Experiment| run.build().map(|built| format!("{built:?}"));
    begins(first)?;
    match (built(first), built(again)) {
        (Ok(one), Ok(other)) if one == other => Ok(()),
        (Ok(_), Ok(_)) => Err("its first run is another when it is resolved".into()),
        (one, other) => {
            Err(format!("was planned and is not made: {:?} {:?}", one.err(), other.err()))
        }
    }
}
