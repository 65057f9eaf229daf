//! Status file of a shard: its process writes it, and the follower of the engine reads it.

#![expect(
    clippy::disallowed_methods,
    reason = "the program's edge: the file is written every few seconds"
)]

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::Error;

/// Steps of a run.
pub const STEPS: u64 = 1_000;

/// Interval between writes. A thousand shards on a shared file system write a thousand files.
const PAUSE: Duration = Duration::from_secs(5);

/// Contents of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Runs of the shard.
    pub runs: usize,
    /// Finished runs.
    pub done: usize,
    /// Finished steps of all runs.
    pub steps: u64,
    /// Ending of the shard, once it has ended.
    pub ended: Option<Ended>,
    /// Reason why it could not be carried out.
    pub why: Option<String>,
}

/// How a shard ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// All its runs are in its folder.
    Finished,
    /// It was interrupted.
    Interrupted,
    /// Some of its runs failed.
    Failed,
    /// It could not be carried out.
    Refused,
}

impl Report {
    /// Reads a file; `None` if there is none or it is incomplete.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Replaces the file atomically, without a sync.
    fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let partial = path.with_extension(format!("{}.partial", std::process::id()));
        fs::write(&partial, serde_json::to_vec(self)?)?;
        fs::rename(&partial, path)
    }
}

/// Status file of this process.
#[derive(Debug)]
pub struct Status {
    path: PathBuf,
    all: usize,
    /// Runs that were finished before this process began.
    before: usize,
    written: Mutex<Option<Instant>>,
}

impl Status {
    /// The file of a shard with so many runs, of which some were finished before.
    pub fn new(path: &Path, all: usize, before: usize) -> Self {
        Self { path: path.to_owned(), all, before, written: Mutex::new(None) }
    }

    /// Writes the file, if it is time to, with the finished runs and steps of this process.
    pub fn write(&self, done: usize, steps: u64) {
        let mut written = self.written.lock().expect("no thread panics while writing");
        if written.is_some_and(|written| written.elapsed() < PAUSE) {
            return;
        }
        *written = Some(Instant::now());
        let report = Report {
            runs: self.all,
            done: self.before + done,
            steps: self.before as u64 * STEPS + steps,
            ..Report::default()
        };
        // A full disk is noticed when results are written.
        drop(report.write(&self.path));
    }
}

/// Records the ending of a shard, with the reason why it could not be carried out.
pub fn end(path: &Path, ended: Ended, why: Option<&str>) -> Result<(), Error> {
    let mut report = Report::read(path).unwrap_or_default();
    report.ended = Some(ended);
    report.why = why.map(str::to_owned);
    if ended == Ended::Finished {
        report.done = report.runs;
        report.steps = report.runs as u64 * STEPS;
    }
    report.write(path).map_err(Error::write(path))
}
