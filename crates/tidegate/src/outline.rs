//! Prints notes, warnings and estimates before runs begin.

use std::num::NonZeroUsize;

use tidegate_scenario::{Experiment, Scenario};
use tidegate_study::{Study, outline};

use crate::output::Output;

/// Prints all notes and warnings of a scenario.
pub(crate) fn warn(study: &Study, output: Output) {
    note(&study.scenario, output);
    for text in outline::warnings(&study.plan) {
        output.warn(&text);
    }
}

/// Prints how overrides have changed the sweep.
pub(crate) fn note(scenario: &Scenario, output: Output) {
    for note in &scenario.notes {
        output.say(&format!("note: {note}"));
    }
}

/// Prints the load and the estimated time of the runs that are `open`.
pub(crate) fn announce(plan: &[Experiment], open: usize, jobs: NonZeroUsize, output: Output) {
    output.say(&outline::load_line(plan));
    output.say(&outline::time_line(plan, open, jobs));
}
