//! The folder of a cluster job, beside its results folder: the command, the submitted tasks, and
//! their files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tidegate_report::reading;

use super::{Target, Work};
use crate::output::Error;
use crate::version::BUILD;

/// Suffix of the folder.
const ENDING: &str = ".engine";
const STATE: &str = "engine.json";
const LOCK: &str = "lock";

/// Folder of a cluster job.
pub(crate) struct Home {
    path: PathBuf,
    folder: PathBuf,
}

/// State of a cluster job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    /// The program, its arguments and its working directory.
    pub(crate) program: Vec<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) directory: PathBuf,
    /// Build of the program. Results of other builds do not match.
    pub(crate) build: String,
    pub(crate) part: String,
    /// The program's arguments for a shard.
    pub(crate) task: Vec<String>,
    /// Folder that all tasks write to, if they share one.
    pub(crate) out: Option<PathBuf>,
    pub(crate) shards: u32,
    /// The engine's ids of the jobs.
    pub(crate) jobs: Vec<String>,
    /// Attempts of each shard.
    pub(crate) attempts: BTreeMap<u32, u32>,
}

/// Whether a cluster job fills this folder.
pub(crate) fn is_taken(folder: &Path) -> bool {
    beside(folder).is_dir()
}

fn beside(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().map(OsString::from).unwrap_or_default();
    name.push(ENDING);
    folder.with_file_name(name)
}

impl Home {
    pub(crate) fn of(folder: &Path) -> Result<Self, Error> {
        let folder = std::path::absolute(folder).map_err(unwritten(folder))?;
        Ok(Self { path: beside(&folder), folder })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Absolute path of the results folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Folder of a part.
    pub(crate) fn part(&self, part: &str) -> PathBuf {
        self.path.join(part)
    }

    /// Locks the job while the file is open: two followers would resubmit lost tasks twice.
    pub(crate) fn lock(&self) -> Result<File, Error> {
        fs::create_dir_all(&self.path).map_err(unwritten(&self.path))?;
        let path = self.path.join(LOCK);
        let file = File::create(&path).map_err(unwritten(&path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(Error::new(format!(
                "another tidegate already follows the cluster job of {}\nhint: stop it first, or let it continue",
                self.folder.display()
            ))),
            // A file system without locks does not prevent following.
            _ => Ok(file),
        }
    }

    /// The state, if anything was submitted.
    pub(crate) fn state(&self) -> Result<Option<State>, Error> {
        let path = self.path.join(STATE);
        let text = match reading::bytes(&path, reading::MADE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text
                .map_err(|error| Error::new(format!("cannot read {}: {error}", path.display())))?,
        };
        let state = serde_json::from_slice(&text);
        let state =
            state.map_err(|error| Error::new(format!("{} is damaged: {error}", path.display())))?;
        Ok(Some(state))
    }

    pub(crate) fn keep(&self, state: &State) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(state).map_err(Error::new)?;
        self.write(&self.path.join(STATE), &text)
    }

    /// Replaces a file atomically.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let partial = self.path.join("partial");
        let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
        written.map_err(unwritten(path))
    }

    /// Removes the folder if nothing was submitted.
    pub(crate) fn remove_unused(&self) {
        if !self.path.join(STATE).exists() {
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

pub(crate) fn unwritten(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::new(format!("cannot write {}: {error}", path.display()))
}

fn text(words: Vec<OsString>) -> Vec<String> {
    let text = |word: OsString| word.to_string_lossy().into_owned();
    words.into_iter().map(text).collect()
}

impl State {
    /// State before the first submission. The command is the earlier part's, if there was one: this
    /// process may only be attached.
    pub(crate) fn new(work: &Work<'_>, shards: u32, earlier: Option<Self>) -> Result<Self, Error> {
        let nowhere = |error| Error::new(format!("cannot find this program: {error}"));
        let lost = |error| Error::new(format!("cannot find the working directory: {error}"));
        let out = match work.target {
            Target::Own => None,
            Target::Shared => Some(Home::of(work.folder)?.folder),
        };
        let (arguments, directory) = match earlier {
            Some(earlier) => (earlier.arguments, earlier.directory),
            None => (text(std::env::args_os().collect()), std::env::current_dir().map_err(lost)?),
        };
        Ok(Self {
            program: vec![std::env::current_exe().map_err(nowhere)?.to_string_lossy().into_owned()],
            arguments,
            directory,
            build: BUILD.fingerprint.to_owned(),
            part: work.part.clone(),
            task: work.task.clone(),
            out,
            shards,
            jobs: Vec::new(),
            attempts: BTreeMap::new(),
        })
    }

    /// Checks that the job belongs to this command and build.
    pub(crate) fn check(&self, work: &Work<'_>) -> Result<(), Error> {
        self.check_build()?;
        if self.task != work.task {
            return Err(Error::new(format!(
                "the cluster job of {} belongs to another command: tidegate {}\nhint: choose another folder with --out",
                work.folder.display(),
                self.task.join(" ")
            )));
        }
        Ok(())
    }

    pub(crate) fn check_build(&self) -> Result<(), Error> {
        let own = BUILD.fingerprint;
        if self.build == own {
            return Ok(());
        }
        Err(Error::new(format!(
            "the tasks were submitted by another build of tidegate: {}; this one is {own}\n\
             hint: use the program that submitted them, {}, or start over with another --out",
            self.build,
            self.program.join(" ")
        )))
    }

    pub(crate) fn shards(&self) -> impl Iterator<Item = u32> {
        1..=self.shards
    }
}
