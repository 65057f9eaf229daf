//! How far a shard is, in a small file: what runs it keeps it, and what follows it reads it.

#![expect(
    clippy::disallowed_methods,
    reason = "the program's edge: the file is written every few seconds"
)]

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::cmd::run::is_interrupted;
use crate::output::{Error, ExitStatus, Output};
use crate::progress::STEPS;

/// How often the file is written. A thousand shards on a shared file system write a thousand of
/// them.
const PAUSE: Duration = Duration::from_secs(5);

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The runs of the shard, those that are finished, and how far all are in thousandths of a run.
    pub(crate) runs: usize,
    pub(crate) done: usize,
    pub(crate) steps: u64,
    /// How it ended, once it has.
    pub(crate) ended: Option<Ended>,
    /// Why it could not be carried out.
    pub(crate) why: Option<String>,
}

/// How a shard ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ended {
    /// All its runs are in its folder.
    Finished,
    /// It was told to stop.
    Interrupted,
    /// Some of its runs left nothing.
    Failed,
    /// It could not be carried out.
    Refused,
}

impl Report {
    /// What a file says; nothing if there is none, or half of one.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// In full or not at all. It need not survive the machine.
    fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let partial = path.with_extension(format!("{}.partial", std::process::id()));
        fs::write(&partial, serde_json::to_vec(self)?)?;
        fs::rename(&partial, path)
    }
}

/// The file of this program.
pub(crate) struct Status {
    path: PathBuf,
    all: usize,
    /// Runs that were finished before this program began.
    before: usize,
    written: Mutex<Option<Instant>>,
}

impl Status {
    pub(crate) fn new(path: &Path, all: usize, before: usize) -> Self {
        Self { path: path.to_owned(), all, before, written: Mutex::new(None) }
    }

    /// Writes it if it is time to: so many runs of this program are done, and so much of all.
    pub(crate) fn write(&self, done: usize, steps: u64) {
        let mut written = self.written.lock().expect("nobody panics while writing");
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
        // The runs matter, and not what is said about them: a disk that is full is noticed there.
        drop(report.write(&self.path));
    }
}

/// Writes down how a shard ended.
pub(crate) fn end(path: &Path, result: &Result<ExitStatus, Error>, output: Output) {
    let mut report = Report::read(path).unwrap_or_default();
    report.ended = Some(match result {
        Ok(_) if is_interrupted() => Ended::Interrupted,
        Ok(ExitStatus::Good) | Err(Error::ClosedPipe) => Ended::Finished,
        Ok(ExitStatus::Bad) => Ended::Failed,
        Err(Error::Other(_)) => Ended::Refused,
    });
    if report.ended == Some(Ended::Finished) {
        report.done = report.runs;
        report.steps = report.runs as u64 * STEPS;
    }
    if let Err(Error::Other(why)) = result {
        report.why = Some(why.clone());
    }
    if let Err(error) = report.write(path) {
        output.warn(&format!("cannot write {}: {error}", path.display()));
    }
}
