//! `tidegate testbed twin`: a scenario live and simulated, number by number.

use std::fmt::Write;

use serde::Serialize;
use tidegate_reproduce::source;
use tidegate_scenario::Experiment;
use tidegate_study::sweep;
use tidegate_testbed::Line;

use crate::args::testbed::Twin;
use crate::interrupt::{INTERRUPT, listen};
use crate::output::{Error, ExitStatus, Output, Paint};

/// A point of the scenario, live and simulated.
#[derive(Serialize)]
struct Pair {
    label: String,
    seed: u64,
    lines: Vec<Line>,
}

/// `tidegate testbed twin`.
pub(crate) fn twin(arguments: &Twin, output: Output) -> Result<ExitStatus, Error> {
    let scenario = source::read(&arguments.file, &arguments.set).map_err(Error::new)?;
    let plan = scenario.plan().map_err(Error::new)?;
    listen(output);
    let mut pairs = Vec::new();
    for (number, experiment) in plan.iter().enumerate() {
        let Experiment { label, seed, .. } = experiment;
        output.say(&format!("{} of {}: {label}, seed {seed}", number + 1, plan.len()));
        let congestion = arguments.congestion.as_deref();
        let pair =
            tidegate_testbed::twin(experiment, congestion, &INTERRUPT).map_err(|failure| {
                match failure {
                    sweep::Failure::Refused(why) => Error::new(why),
                    other => Error::new(other),
                }
            })?;
        let Some((lines, noise)) = pair else {
            output.warn("interrupted: results of the finished points follow");
            break;
        };
        let pair = Pair { label: label.clone(), seed: *seed, lines };
        if !output.json {
            output.print(&table(&pair, output.paint))?;
        }
        if let Some(complaint) = noise.complaint() {
            output.warn(&format!("{label}: {complaint}"));
        }
        pairs.push(pair);
    }
    let is_whole = pairs.len() == plan.len();
    if output.json {
        output.print_json(&pairs)?;
    }
    Ok(if is_whole { ExitStatus::Good } else { ExitStatus::Bad })
}

fn table(pair: &Pair, paint: Paint) -> String {
    let head = format!("{:<40}{:>12}{:>12}{:>8}", pair.label, "live", "simulated", "ratio");
    let mut text = format!("{}\n", paint.bold(&head));
    for line in &pair.lines {
        let ratio = line.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        _ = writeln!(
            text,
            "{:<40.40}{:>12.1}{:>12.1}{ratio:>8}",
            format!("  {}", line.what),
            line.live,
            line.simulated
        );
    }
    text.push('\n');
    text
}
