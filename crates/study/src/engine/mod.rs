//! Runs the shards of a command as tasks of an engine: submits, follows and resubmits them.
//!
//! An engine only maps shards to machines. Each task is this program with `--shard`, and writes a
//! status file with its progress and its ending. The state of the job is kept beside the results
//! folder, so that another process can follow it.

mod follow;
mod home;
mod ray;
mod slurm;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use self::follow::Follower;
use self::home::Home;
pub use self::home::{State, find, is_taken};
use crate::study::Build;
use crate::{Error, shard};

/// Engine, as the caller has chosen it.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// The engine.
    pub kind: Kind,
    /// Options of the engine.
    pub options: &'a [String],
    /// Approximate work of a task, in core seconds.
    pub chunk: f64,
}

/// Kind of engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ray, through the `ray` package of a local Python.
    Ray,
    /// Slurm, as job arrays.
    Slurm,
}

/// Runs to be divided among tasks.
#[derive(Debug)]
pub struct Work<'a> {
    /// Name of the jobs.
    pub name: &'a str,
    /// Results folder of the whole.
    pub folder: &'a Path,
    /// Part of a command that divides its runs several times.
    pub part: String,
    /// The program's arguments for a shard, without its number and its folder.
    pub task: Vec<String>,
    /// Expected time of each run on one core, in seconds.
    pub seconds: Vec<f64>,
    /// Folders that tasks write to.
    pub target: Target,
}

/// Folders that tasks write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A folder for each task.
    Own,
    /// The results folder, for all tasks.
    Shared,
}

/// Progress and messages of a job, for people.
pub trait Observer {
    /// Shows the finished runs, the finished steps of all runs, and the state of the tasks.
    fn show(&self, done: usize, steps: u64, tasks: &str);

    /// Shows a message.
    fn say(&self, text: &str);

    /// Shows a warning.
    fn warn(&self, text: &str);
}

/// Engine that runs tasks on other machines.
trait Engine {
    /// Checks that the engine is installed and reachable. Returns the maximum tasks of a job.
    fn check(&self) -> Result<u32, Error>;

    /// Submits shards and returns the id of their job.
    fn submit(&self, job: &Job<'_>, shards: &[u32]) -> Result<String, Error>;

    /// Asks for the state of the shards of these jobs.
    fn ask(&mut self, jobs: &[String]) -> Result<Known, Error>;

    /// Advice on how to cancel jobs.
    fn cancel(&self, jobs: &[String]) -> String;
}

/// State of shards, as an engine knows it.
#[derive(Default)]
struct Known {
    /// Waiting or running.
    open: BTreeSet<u32>,
    /// Ended, with or without success.
    over: BTreeSet<u32>,
    /// Cancelled.
    cancelled: BTreeSet<u32>,
    /// Whether all shards that had not begun were cancelled too.
    is_rest_cancelled: bool,
}

impl Known {
    fn is_cancelled(&self, shard: u32) -> bool {
        let is_among = |shards: &BTreeSet<u32>| shards.contains(&shard);
        let is_rest = !is_among(&self.open) && !is_among(&self.over);
        is_among(&self.cancelled) || self.is_rest_cancelled && is_rest
    }
}

/// Job to submit.
struct Job<'a> {
    name: &'a str,
    /// Folder of the status files, logs and shards.
    part: &'a Path,
    home: &'a Home,
    state: &'a State,
}

impl Job<'_> {
    /// Words of a task's command. The shard and the number of cores may be shell variables.
    fn words(&self, shard: &str, cores: &str) -> Vec<String> {
        let part = self.part.display();
        let mut words = self.state.program.clone();
        words.extend(self.state.task.iter().cloned());
        let out = match &self.state.out {
            Some(folder) => folder.display().to_string(),
            None => format!("{part}/shards/{shard}"),
        };
        let own = [
            "--shard".to_owned(),
            format!("{shard}/{}", self.state.shards),
            "--out".to_owned(),
            out,
            "--status".to_owned(),
            format!("{part}/status/{shard}.json"),
            "--jobs".to_owned(),
            cores.to_owned(),
        ];
        words.extend(own);
        words.extend(["--resume".to_owned(), "--quiet".to_owned()]);
        words
    }

    /// Log of a task.
    fn log(&self, shard: &str) -> PathBuf {
        self.part.join(format!("log/{shard}.txt"))
    }
}

/// Runs all of the work by an engine, and returns the folders of the shards; `None` after a message
/// if some are missing. Tasks run this program, of this build, in this working directory.
pub fn run(
    work: &Work<'_>,
    cluster: Cluster<'_>,
    build: &Build,
    interrupt: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Option<Vec<PathBuf>>, Error> {
    let home = Home::of(work.folder)?;
    let _lock = home.lock()?;
    let mut engine = engine_of(cluster, &home).inspect_err(|_| home.remove_unused())?;
    let begun = home.state()?;
    let state = match begun {
        Some(state) if state.part == work.part => {
            state.check(work, build)?;
            state
        }
        earlier => {
            let most = engine.check().inspect_err(|_| home.remove_unused())?;
            let shards = shard::count(&work.seconds, cluster.chunk, most);
            State::new(work, build, shards, earlier)?
        }
    };
    let follower = Follower::new(work, &home, state, engine.as_mut(), observer);
    follower.run(interrupt).inspect_err(|_| home.remove_unused())
}

fn engine_of(cluster: Cluster<'_>, home: &Home) -> Result<Box<dyn Engine>, Error> {
    Ok(match cluster.kind {
        Kind::Ray => Box::new(ray::Ray::new(cluster.options, home)?),
        Kind::Slurm => Box::new(slurm::Slurm::new(cluster.options)?),
    })
}

/// Refuses a folder that exists, unless a job fills it.
pub fn check_free(folder: &Path) -> Result<(), Error> {
    if is_taken(folder) || !folder.exists() {
        return Ok(());
    }
    Err(Error::engine(format!(
        "{} already exists\nhint: choose another folder with --out, or run its missing runs on this machine \
         with --resume and without --engine",
        folder.display()
    )))
}

/// Removes the job's folder after its results were merged.
pub fn clean(folder: &Path) -> Result<(), Error> {
    Home::of(folder)?.remove()
}

/// Runs a program of an engine called `who`, and returns its output.
fn said(command: &mut Command, who: &str) -> Result<String, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::engine(format!(
                "{who} is not installed here: there is no `{program}`\n\
                 hint: run this on a machine that has it, or leave out --engine"
            )));
        }
        Err(error) => return Err(Error::engine(format!("cannot run {program}: {error}"))),
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let talk = String::from_utf8_lossy(&output.stderr);
    let mut lines = talk.lines().map(str::trim);
    let last = lines.rfind(|line| !line.is_empty());
    let last = last.unwrap_or("no reason given");
    Err(Error::engine(format!("{who} failed ({program}): {last}")))
}
