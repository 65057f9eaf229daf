//! Progress of a results folder, read from the folder, for any writer of it.

#![expect(
    clippy::disallowed_methods,
    reason = "the program's edge: a folder is looked at again and again"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tidegate_report::folder::Folder;
use tidegate_study::lock::is_locked;

use super::study::{ProcessState, Studies};

/// Interval between checks of a folder, and longest silence of a stream.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
const LONGEST_SILENCE: Duration = Duration::from_secs(10);

/// Most failed runs in a list.
const MOST_FAILED: usize = 20;

/// Progress of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Progress {
    pub(super) planned: usize,
    pub(super) finished: usize,
    /// Runs without results, with the reason.
    pub(super) failed: Vec<(String, String)>,
    /// Whether a program writes to it.
    pub(super) is_written: bool,
    /// Whether its table exists, which is written when all runs are finished.
    pub(super) is_whole: bool,
    /// Process that was started for it here.
    #[serde(flatten)]
    pub(super) process: ProcessState,
    /// Why it cannot be read.
    pub(super) problem: Option<String>,
}

/// Follows a folder.
pub(super) struct Follower {
    path: PathBuf,
    studies: Studies,
    folder: Option<Folder>,
    /// Runs known to be complete, which they stay.
    complete: BTreeSet<String>,
    /// Length of the log at the last reading, and failed runs in it.
    log: (u64, BTreeMap<String, String>),
    last_sent: Option<Progress>,
}

/// Line of a folder's log.
#[derive(Deserialize)]
struct Line {
    run: String,
    end: String,
    why: Option<String>,
}

impl Follower {
    pub(super) fn new(path: &Path, studies: &Studies) -> Self {
        Self {
            path: path.to_owned(),
            studies: studies.clone(),
            folder: None,
            complete: BTreeSet::new(),
            log: (0, BTreeMap::new()),
            last_sent: None,
        }
    }

    /// Waits for a change, and returns it as an event.
    pub(super) fn next_event(&mut self) -> String {
        let silent_since = Instant::now();
        loop {
            let now = self.progress();
            if self.last_sent.as_ref() != Some(&now) {
                let text = serde_json::to_string(&now).expect("numbers and texts can be written");
                self.last_sent = Some(now);
                return format!("data: {text}\n\n");
            }
            if silent_since.elapsed() > LONGEST_SILENCE {
                // A comment: writing it detects a browser that is gone.
                return ": still here\n\n".to_owned();
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Current progress.
    pub(super) fn progress(&mut self) -> Progress {
        let process = self.studies.state(&self.path);
        let is_there = self.path.join("manifest.json").is_file();
        if self.folder.is_none() || !is_there {
            // The next folder of this name may be another one.
            self.folder = None;
            self.complete.clear();
            self.log = (0, BTreeMap::new());
            match Folder::open(&self.path) {
                Ok(folder) => self.folder = Some(folder),
                Err(_) if process.is_running => {
                    return Progress { process, ..Progress::default() };
                }
                Err(error) => {
                    return Progress {
                        process,
                        problem: Some(error.to_string()),
                        ..Progress::default()
                    };
                }
            }
        }
        let Some(folder) = &self.folder else {
            return Progress::default();
        };
        let present: BTreeSet<String> = folder.present().unwrap_or_default().into_iter().collect();
        self.complete.retain(|id| present.contains(id));
        for id in present {
            if !self.complete.contains(&id) && folder.check(&id).is_ok() {
                self.complete.insert(id);
            }
        }
        let planned = folder.manifest().runs.len();
        self.read_log();
        let failed = self.log.1.iter();
        let failed = failed.filter(|(run, _)| !self.complete.contains(*run));
        let failed = failed.map(|(run, why)| (run.clone(), why.clone()));
        Progress {
            planned,
            finished: self.complete.len(),
            failed: failed.take(MOST_FAILED).collect(),
            is_written: process.is_running || is_locked(&self.path),
            is_whole: self.path.join("summary.json").is_file(),
            process,
            problem: None,
        }
    }

    /// Reads the failed runs if the log has grown.
    fn read_log(&mut self) {
        let path = self.path.join("log.jsonl");
        let length = fs::metadata(&path).map_or(0, |found| found.len());
        if length == self.log.0 {
            return;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut failed = BTreeMap::new();
        for line in text.lines() {
            // The last line may be half-written.
            let Ok(Line { run, end, why }) = serde_json::from_str(line) else {
                continue;
            };
            match (end.as_str(), why) {
                ("failed", Some(why)) => failed.insert(run, why),
                _ => failed.remove(&run),
            };
        }
        self.log = (length, failed);
    }
}
