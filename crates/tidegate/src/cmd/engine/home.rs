//! What is written beside a results folder while an engine fills it: which command it was, what was
//! submitted, and what the tasks leave.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tidegate_report::reading;

use super::{Target, Work};
use crate::embed;
use crate::output::Error;

/// What the name of a results folder is followed by.
const ENDING: &str = ".engine";
const STATE: &str = "engine.json";
const LOCK: &str = "lock";

/// The folder beside a results folder.
pub(super) struct Home {
    path: PathBuf,
    folder: PathBuf,
}

/// What was submitted.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// The program, how it was called and from where.
    pub(super) program: Vec<String>,
    pub(super) arguments: Vec<String>,
    pub(super) directory: PathBuf,
    /// Which build of the program it was: what others leave does not fit.
    pub(super) build: String,
    pub(super) part: String,
    /// The program's arguments for a shard.
    pub(super) task: Vec<String>,
    /// The folder that all tasks write to, if they do.
    pub(super) out: Option<PathBuf>,
    pub(super) shards: u32,
    /// What the engine calls them.
    pub(super) jobs: Vec<String>,
    /// How often each shard was submitted.
    pub(super) attempts: BTreeMap<u32, u32>,
}

/// Whether an engine fills this folder, or has begun to.
pub(crate) fn is_taken(folder: &Path) -> bool {
    beside(folder).is_dir()
}

fn beside(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().map(OsString::from).unwrap_or_default();
    name.push(ENDING);
    folder.with_file_name(name)
}

impl Home {
    pub(super) fn of(folder: &Path) -> Result<Self, Error> {
        let folder = std::path::absolute(folder).map_err(unwritten(folder))?;
        Ok(Self { path: beside(&folder), folder })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The results folder, from the root.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The place of a part.
    pub(super) fn part(&self, part: &str) -> PathBuf {
        self.path.join(part)
    }

    /// That nobody else follows the same tasks, while the file is open: two would submit what is
    /// lost twice.
    pub(super) fn lock(&self) -> Result<File, Error> {
        fs::create_dir_all(&self.path).map_err(unwritten(&self.path))?;
        let path = self.path.join(LOCK);
        let file = File::create(&path).map_err(unwritten(&path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(Error::new(format!(
                "another tidegate already follows the cluster job of {}\nhint: stop it first, or let it continue",
                self.folder.display()
            ))),
            // A file system without locks is no reason not to go on.
            _ => Ok(file),
        }
    }

    /// What was submitted, if anything was.
    pub(super) fn state(&self) -> Result<Option<State>, Error> {
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

    pub(super) fn keep(&self, state: &State) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(state).map_err(Error::new)?;
        self.write(&self.path.join(STATE), &text)
    }

    /// Writes a file of it, in full or not at all.
    pub(super) fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let partial = self.path.join("partial");
        let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
        written.map_err(unwritten(path))
    }

    /// Takes it away again if nothing was submitted; that nothing can be is said already.
    pub(super) fn remove_unused(&self) {
        if !self.path.join(STATE).exists() {
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

pub(super) fn unwritten(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::new(format!("cannot write {}: {error}", path.display()))
}

fn text(words: Vec<OsString>) -> Vec<String> {
    let text = |word: OsString| word.to_string_lossy().into_owned();
    words.into_iter().map(text).collect()
}

impl State {
    /// Nothing yet. The command is that of an earlier part, if there was one: this program may only
    /// follow it.
    pub(super) fn new(work: &Work<'_>, shards: u32, earlier: Option<Self>) -> Result<Self, Error> {
        let nowhere = |error| Error::new(format!("cannot find this program: {error}"));
        let lost = |error| Error::new(format!("cannot find the working directory: {error}"));
        let out = match work.target {
            Target::Own => None,
            Target::Shared => Some(Home::of(work.folder)?.folder),
        };
        let (arguments, directory) = match earlier {
            Some(earlier) => (earlier.arguments, earlier.directory),
            None => (text(embed::arguments()), std::env::current_dir().map_err(lost)?),
        };
        Ok(Self {
            program: text(embed::program().map_err(nowhere)?),
            arguments,
            directory,
            build: env!("TIDEGATE_BUILD").to_owned(),
            part: work.part.clone(),
            task: work.task.clone(),
            out,
            shards,
            jobs: Vec::new(),
            attempts: BTreeMap::new(),
        })
    }

    /// That what was submitted is what is asked for now.
    pub(super) fn check(&self, work: &Work<'_>) -> Result<(), Error> {
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

    pub(super) fn check_build(&self) -> Result<(), Error> {
        let own = env!("TIDEGATE_BUILD");
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

    pub(super) fn shards(&self) -> impl Iterator<Item = u32> {
        1..=self.shards
    }
}
