//! Shards of a command as tasks of an engine: submitted, followed, submitted again if they are
//! lost.
//!
//! An engine only maps shards to machines. What a run is and whether it is complete is for the
//! program to say: each task is this program with `--shard`, and keeps a small file that says how
//! far it is and how it ended. What was submitted is written beside the results folder, so that
//! another process can go on following.

pub(crate) mod attach;
mod follow;
mod home;
mod ray;
mod slurm;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) use self::home::is_taken;
use self::home::{Home, State};
use crate::args::engine::{Engine as Arguments, EngineName};
use crate::output::{Error, Output};

/// Runs that are to be divided among tasks.
pub(crate) struct Work<'a> {
    /// What jobs are called.
    pub(crate) name: &'a str,
    /// The results folder of the whole.
    pub(crate) folder: &'a Path,
    /// Which part of a command that divides its runs several times.
    pub(crate) part: String,
    /// The program's arguments for a shard of them, but for its number and its folder.
    pub(crate) task: Vec<String>,
    /// What each run should take on a core, in seconds.
    pub(crate) seconds: Vec<f64>,
    /// Where tasks write.
    pub(crate) target: Target,
}

/// Where tasks write what they have run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Each into a folder of its own.
    Own,
    /// All into the results folder.
    Shared,
}

/// Something that runs tasks on other machines.
trait Engine {
    /// That it is there and can be reached, and how many tasks a job can have.
    fn check(&self) -> Result<u32, Error>;

    /// Hands in these shards, and returns what they are called.
    fn submit(&self, job: &Job<'_>, shards: &[u32]) -> Result<String, Error>;

    /// What it knows of the shards of these jobs.
    fn ask(&mut self, jobs: &[String]) -> Result<Known, Error>;

    /// How jobs are ended that nobody wants any more.
    fn cancel(&self, jobs: &[String]) -> String;
}

/// What an engine knows of shards.
#[derive(Default)]
struct Known {
    /// They wait or run.
    open: BTreeSet<u32>,
    /// They have ended, well or not.
    over: BTreeSet<u32>,
    /// Somebody did not want them any more.
    cancelled: BTreeSet<u32>,
    /// Nor the others, which had not begun.
    is_rest_cancelled: bool,
}

impl Known {
    fn is_cancelled(&self, shard: u32) -> bool {
        let is_among = |shards: &BTreeSet<u32>| shards.contains(&shard);
        let is_rest = !is_among(&self.open) && !is_among(&self.over);
        is_among(&self.cancelled) || self.is_rest_cancelled && is_rest
    }
}

/// What is needed to submit tasks.
struct Job<'a> {
    name: &'a str,
    /// Where their statuses, logs and folders are.
    part: &'a Path,
    home: &'a Home,
    state: &'a State,
}

impl Job<'_> {
    /// The words of a task's command; its shard and its number of cores may be variables of a
    /// shell.
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

    /// Where a task's words go.
    fn log(&self, shard: &str) -> PathBuf {
        self.part.join(format!("log/{shard}.txt"))
    }
}

/// Has an engine run all of it, and returns the folders of the shards; `None` if they are not all
/// there, which is said then.
pub(crate) fn run(
    work: &Work<'_>,
    arguments: &Arguments,
    engine: EngineName,
    output: Output,
) -> Result<Option<Vec<PathBuf>>, Error> {
    let home = Home::of(work.folder)?;
    let _lock = home.lock()?;
    let mut engine =
        engine_of(engine, &arguments.options, &home).inspect_err(|_| home.remove_unused())?;
    let begun = home.state()?;
    let state = match begun {
        Some(state) if state.part == work.part => {
            state.check(work)?;
            state
        }
        earlier => {
            let most = engine.check().inspect_err(|_| home.remove_unused())?;
            let shards =
                tidegate_study::shard::count(&work.seconds, arguments.chunk_seconds(), most);
            State::new(work, shards, earlier)?
        }
    };
    let follower = follow::Follower::new(work, &home, state, engine.as_mut(), output);
    follower.run().inspect_err(|_| home.remove_unused())
}

fn engine_of(name: EngineName, options: &[String], home: &Home) -> Result<Box<dyn Engine>, Error> {
    Ok(match name {
        EngineName::Ray => Box::new(ray::Ray::new(options, home)?),
        _ => Box::new(slurm::Slurm::new(options)?),
    })
}

/// Removes what was written beside a results folder: all of it is in the folder now.
pub(crate) fn clean(folder: &Path, output: Output) {
    if let Ok(home) = Home::of(folder)
        && let Err(error) = std::fs::remove_dir_all(home.path())
    {
        output.warn(&format!("cannot remove {}: {error}", home.path().display()));
    }
}

/// What a program has said, or why there is nothing: `who` is what people call it.
fn said(command: &mut std::process::Command, who: &str) -> Result<String, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::new(format!(
                "{who} is not installed here: there is no `{program}`\n\
                 hint: run this on a machine that has it, or leave out --engine"
            )));
        }
        Err(error) => return Err(Error::new(format!("cannot run {program}: {error}"))),
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let talk = String::from_utf8_lossy(&output.stderr);
    let mut lines = talk.lines().map(str::trim);
    let last = lines.rfind(|line| !line.is_empty());
    let last = last.unwrap_or("no reason given");
    Err(Error::new(format!("{who} failed ({program}): {last}")))
}
