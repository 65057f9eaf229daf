//! Prints comparisons: the tables, the warnings and the path of the page.

use std::path::Path;

use serde::Serialize;
use tidegate_study::Comparison;
use tidegate_study::terminal;

use crate::output::{Error, Output};

/// A run that failed, for `--json`.
#[derive(Serialize)]
pub(crate) struct Failed {
    pub(crate) run: String,
    pub(crate) why: String,
}

impl From<(String, String)> for Failed {
    fn from((run, why): (String, String)) -> Self {
        Self { run, why }
    }
}

/// Folder of a trace's charts, in the results folder.
const TRACES: &str = "trace";

/// Prints the table, a plot, and the path of the page.
pub(crate) fn print(comparison: &Comparison, page: &Path, output: Output) -> Result<(), Error> {
    let shown = terminal::show(comparison, output.paint, output.width);
    output.print(&format!("{shown}\nreport: {}\n", page.display()))
}

/// Prints the reasons not to trust some numbers.
pub(crate) fn warn(comparison: &Comparison, output: Output) {
    for text in comparison.warnings() {
        output.warn(&text);
    }
}

/// Runs that stalled.
pub(crate) fn stalled(comparison: &Comparison) -> Vec<Failed> {
    comparison.stalled().into_iter().map(Failed::from).collect()
}

/// Draws the trace into a results folder, if there is one.
pub(crate) fn draw_trace(
    comparison: &Comparison,
    folder: &Path,
    output: Output,
) -> Result<(), Error> {
    let mut records = comparison.records.iter();
    if records.any(|record| !record.trace.is_empty()) {
        let folder = folder.join(TRACES);
        let drawn = comparison.write_trace(&folder).map_err(Error::new)?;
        output.say(&format!("{drawn} trace charts in {}", folder.display()));
    }
    Ok(())
}
