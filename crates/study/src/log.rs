//! The log of a results folder: one line for each run that ends.

#![expect(
    clippy::disallowed_methods,
    reason = "the program's edge: it measures how long runs take"
)]

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use serde::Serialize;
use tidegate_report::Folder;
use tidegate_scenario::Experiment;
use tidegate_sim::run::Status;

use crate::sweep::{Ending, Progress};

/// Name of the log in a results folder.
pub const LOG: &str = "log.jsonl";

/// Progress that also writes the folder's log.
pub(crate) struct Logged<'a> {
    folder: &'a Folder,
    progress: &'a dyn Progress,
    /// Start of each run that is going on.
    begun: Mutex<BTreeMap<String, Instant>>,
}

/// Line of the log.
#[derive(Serialize)]
struct Line<'a> {
    run: &'a str,
    end: &'a str,
    wall_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packet_hops: Option<u64>,
}

impl<'a> Logged<'a> {
    pub(crate) fn new(folder: &'a Folder, progress: &'a dyn Progress) -> Self {
        Self { folder, progress, begun: Mutex::default() }
    }

    fn begun(&self) -> MutexGuard<'_, BTreeMap<String, Instant>> {
        self.begun.lock().expect("no thread panics while holding it")
    }
}

impl Progress for Logged<'_> {
    fn started(&self, experiment: &Experiment, flows: usize) {
        self.begun().insert(experiment.id.clone(), Instant::now());
        self.progress.started(experiment, flows);
    }

    fn advanced(&self, experiment: &Experiment, status: Status) {
        self.progress.advanced(experiment, status);
    }

    fn ended(&self, experiment: &Experiment, ending: Ending<'_>) {
        // A run that failed before it began took no time.
        let begun = self.begun().remove(&experiment.id);
        let wall_s = begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        let (end, why, packet_hops) = match &ending {
            Ending::Failed(failure) => ("failed", Some(failure.to_string()), None),
            Ending::Finished(record) => ("finished", None, Some(record.counters.packet_hops)),
            Ending::Interrupted => ("interrupted", None, None),
        };
        // Rounded to the microsecond.
        let wall_s = (wall_s * 1e6).round() / 1e6;
        let line = Line { run: &experiment.id, end, wall_s, why, packet_hops };
        self.progress.ended(experiment, ending);
        if let Err(error) = self.folder.log(&line) {
            self.progress.warn(&error.to_string());
        }
    }
    fn warn(&self, text: &str) {
        self.progress.warn(text);
    }
}
