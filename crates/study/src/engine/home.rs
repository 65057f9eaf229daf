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
use crate::Error;
use crate::study::Build;

/// Suffix of the folder.
const ENDING: &str = ".engine";
const STATE: &str = "engine.json";
const LOCK: &str = "lock";

/// Folder of a cluster job.
pub(super) struct Home {
    path: PathBuf,
    folder: PathBuf,
}

/// State of a cluster job.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    pub(super) program: Vec<String>,
    /// The program's arguments.
    pub arguments: Vec<String>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Build of the program. Results of other builds do not match.
    pub(super) build: String,
    pub(super) part: String,
    /// The program's arguments for a shard.
    pub(super) task: Vec<String>,
    /// Folder that all tasks write to, if they share one.
    pub(super) out: Option<PathBuf>,
    pub(super) shards: u32,
    /// The engine's ids of the jobs.
    pub(super) jobs: Vec<String>,
    /// Attempts of each shard.
    pub(super) attempts: BTreeMap<u32, u32>,
}

/// Whether a cluster job fills this folder.
pub fn is_taken(folder: &Path) -> bool {
    beside(folder).is_dir()
}

/// The absolute results folder and the state of a job that this build has submitted. The job's own
/// folder names it too.
pub fn find(folder: &Path, build: &Build) -> Result<(PathBuf, State), Error> {
    let mut home = Home::of(folder)?;
    let name = home.folder.file_name().and_then(|name| name.to_str());
    if let Some(name) = name.and_then(|name| name.strip_suffix(ENDING)) {
        home = Home::of(&home.folder.with_file_name(name))?;
    }
    let Some(state) = home.state()? else {
        let folder = home.folder.display();
        return Err(Error::engine(format!(
            "no cluster job for {folder}\nhint: start one with --engine; a finished and merged job \
             leaves nothing to attach to"
        )));
    };
    state.check_build(build)?;
    Ok((home.folder, state))
}

fn beside(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().map(OsString::from).unwrap_or_default();
    name.push(ENDING);
    folder.with_file_name(name)
}

impl Home {
    pub(super) fn of(folder: &Path) -> Result<Self, Error> {
        let folder = std::path::absolute(folder).map_err(Error::write(folder))?;
        Ok(Self { path: beside(&folder), folder })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Absolute path of the results folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Folder of a part.
    pub(super) fn part(&self, part: &str) -> PathBuf {
        self.path.join(part)
    }

    /// Locks the job while the file is open: two followers would resubmit lost tasks twice.
    pub(super) fn lock(&self) -> Result<File, Error> {
        fs::create_dir_all(&self.path).map_err(Error::write(&self.path))?;
        let path = self.path.join(LOCK);
        let file = File::create(&path).map_err(Error::write(&path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(Error::engine(format!(
                "another tidegate already follows the cluster job of {}\nhint: stop it first, or let it continue",
                self.folder.display()
            ))),
            // A file system without locks does not prevent following.
            _ => Ok(file),
        }
    }

    /// The state, if anything was submitted.
    pub(super) fn state(&self) -> Result<Option<State>, Error> {
        let path = self.path.join(STATE);
        let text = match reading::bytes(&path, reading::MADE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| Error::Read { path: path.clone(), error })?,
        };
        let state = serde_json::from_slice(&text);
        let state = state
            .map_err(|error| Error::engine(format!("{} is damaged: {error}", path.display())))?;
        Ok(Some(state))
    }

    pub(super) fn keep(&self, state: &State) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(state).map_err(Error::engine)?;
        self.write(&self.path.join(STATE), &text)
    }

    /// Replaces a file atomically.
    pub(super) fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let partial = self.path.join("partial");
        let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
        written.map_err(Error::write(path))
    }

    /// Removes the folder.
    pub(super) fn remove(&self) -> Result<(), Error> {
        let removed = fs::remove_dir_all(&self.path);
        removed.map_err(|error| {
            Error::engine(format!("cannot remove {}: {error}", self.path.display()))
        })
    }

    /// Removes the folder if nothing was submitted.
    pub(super) fn remove_unused(&self) {
        if !self.path.join(STATE).exists() {
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

fn text(words: Vec<OsString>) -> Vec<String> {
    let text = |word: OsString| word.to_string_lossy().into_owned();
    words.into_iter().map(text).collect()
}

impl State {
    /// State before the first submission. The command is the earlier part's, if there was one: this
    /// process may only be attached.
    pub(super) fn new(
        work: &Work<'_>,
        build: &Build,
        shards: u32,
        earlier: Option<Self>,
    ) -> Result<Self, Error> {
        let nowhere = |error| Error::engine(format!("cannot find this program: {error}"));
        let lost = |error| Error::engine(format!("cannot find the working directory: {error}"));
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
            build: build.fingerprint.to_owned(),
            part: work.part.clone(),
            task: work.task.clone(),
            out,
            shards,
            jobs: Vec::new(),
            attempts: BTreeMap::new(),
        })
    }

    /// Checks that the job belongs to this command and build.
    pub(super) fn check(&self, work: &Work<'_>, build: &Build) -> Result<(), Error> {
        self.check_build(build)?;
        if self.task != work.task {
            return Err(Error::engine(format!(
                "the cluster job of {} belongs to another command: tidegate {}\nhint: choose another folder with --out",
                work.folder.display(),
                self.task.join(" ")
            )));
        }
        Ok(())
    }

    pub(super) fn check_build(&self, build: &Build) -> Result<(), Error> {
        let own = build.fingerprint;
        if self.build == own {
            return Ok(());
        }
        Err(Error::engine(format!(
            "the tasks were submitted by another build of tidegate: {}; this one is {own}\n\
             hint: use the program that submitted them, {}, or start over with another --out",
            self.build,
            self.program.join(" ")
        )))
    }

    pub(super) fn shards(&self) -> impl Iterator<Item = u32> {
        1..=self.shards
    }
}
