//! Ray: shards are tasks of a Ray cluster, run by a small Python driver that outlives this process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::{Engine, Home, Job, Known, said};
use crate::Error;
use crate::process::in_own_group;
use crate::text::quoted;

/// The driver of the Python package. Written beside the results, it always has this program's
/// version, and the cluster's machines need no package.
const DRIVER: &str = include_str!("../../../python/python/tidegate/_ray.py");
const WHO: &str = "Ray";

/// Queries with an unchanged heartbeat after which a driver counts as dead: about a minute.
const PATIENCE: u32 = 10;

pub(super) struct Ray {
    python: String,
    address: String,
    /// Cores of a task.
    cores: u32,
    home: PathBuf,
    /// Last heartbeat of each driver, and how often it was unchanged.
    beats: BTreeMap<String, (u64, u32)>,
}

/// Order for the driver.
#[derive(Serialize)]
struct Order<'a> {
    address: &'a str,
    cores: u32,
    directory: &'a Path,
    state: PathBuf,
    tasks: Vec<Task>,
}

#[derive(Serialize)]
struct Task {
    shard: u32,
    command: Vec<String>,
    log: PathBuf,
}

/// State that the driver writes.
#[derive(Serialize, Deserialize)]
struct Beat {
    beat: u64,
    open: BTreeSet<u32>,
}

impl Ray {
    pub(super) fn new(options: &[String], home: &Home) -> Result<Self, Error> {
        let mut ray = Self {
            // The Python package names its own interpreter.
            python: std::env::var_os("TIDEGATE_PYTHON")
                .and_then(|name| name.into_string().ok())
                .unwrap_or_else(|| "python3".to_owned()),
            address: "auto".to_owned(),
            cores: 1,
            home: home.path().to_owned(),
            beats: BTreeMap::new(),
        };
        for option in options {
            let wrong = || {
                Error::engine(format!(
                    "unknown Ray option: --engine-option {option}\n\
                     hint: known are address=auto, address=local, address=CLUSTER, python=PATH and num_cpus=COUNT (per task)"
                ))
            };
            let (key, value) = option.split_once('=').ok_or_else(wrong)?;
            match key {
                "address" => value.clone_into(&mut ray.address),
                "python" => value.clone_into(&mut ray.python),
                "num_cpus" => {
                    let cores = value.parse().ok().filter(|&cores| cores > 0);
                    ray.cores = cores.ok_or_else(wrong)?;
                }
                _ => return Err(wrong()),
            }
        }
        Ok(ray)
    }

    fn driver(&self) -> PathBuf {
        self.home.join("ray_driver.py")
    }

    /// State file of a driver.
    fn state(&self, job: &str) -> PathBuf {
        self.home.join(format!("{job}.state.json"))
    }
}

impl Engine for Ray {
    fn check(&self) -> Result<u32, Error> {
        fs::write(self.driver(), DRIVER).map_err(Error::write(&self.driver()))?;
        let mut command = Command::new(&self.python);
        command.arg(self.driver()).args(["check", &self.address]);
        said(&mut command, WHO).map_err(|error| match error {
            Error::Engine(text) if text.contains("No module named") => Error::engine(format!(
                "Ray is not installed for {}: there is no module `ray`\n\
                 hint: choose a Python that has it with --engine-option python=PATH",
                self.python
            )),
            Error::Engine(text) if text.contains("Ray failed") => {
                let why = text.split_once("): ").map_or(text.as_str(), |(_, why)| why);
                Error::engine(format!(
                    "cannot reach Ray at `{}`: {why}\n\
                     hint: start a cluster with `ray start --head`, or use this machine with --engine-option address=local",
                    self.address
                ))
            }
            error => error,
        })?;
        // A driver keeps all tasks in memory.
        Ok(100_000)
    }

    fn submit(&self, job: &Job<'_>, shards: &[u32]) -> Result<String, Error> {
        fs::write(self.driver(), DRIVER).map_err(Error::write(&self.driver()))?;
        let id = format!("ray-{}-{}", job.state.part, job.state.jobs.len() + 1);
        let cores = self.cores.to_string();
        let task = |&shard: &u32| Task {
            shard,
            command: job.words(&shard.to_string(), &cores),
            log: job.log(&shard.to_string()),
        };
        let order = Order {
            address: &self.address,
            cores: self.cores,
            directory: &job.state.directory,
            state: self.state(&id),
            tasks: shards.iter().map(task).collect(),
        };
        let path = self.home.join(format!("{id}.json"));
        let text = serde_json::to_vec(&order).map_err(Error::engine)?;
        job.home.write(&path, &text)?;
        let first = Beat { beat: 0, open: shards.iter().copied().collect() };
        let text = serde_json::to_vec(&first).map_err(Error::engine)?;
        job.home.write(&self.state(&id), &text)?;
        let log = self.home.join(format!("{id}.txt"));
        let words = File::create(&log).map_err(Error::write(&log))?;
        let too = words.try_clone().map_err(Error::write(&log))?;
        let mut command = Command::new(&self.python);
        command.arg(self.driver()).arg("run").arg(&path);
        command.stdin(Stdio::null()).stdout(words).stderr(too);
        let started = in_own_group(&mut command).spawn();
        started.map_err(|error| Error::engine(format!("cannot run {}: {error}", self.python)))?;
        Ok(id)
    }

    fn ask(&mut self, jobs: &[String]) -> Result<Known, Error> {
        let mut known = Known::default();
        for job in jobs {
            let path = self.state(job);
            let cannot = |why: &dyn std::fmt::Display| {
                Error::engine(format!("cannot read {}: {why}", path.display()))
            };
            let text = fs::read(&path).map_err(|error| cannot(&error))?;
            let state: Beat = serde_json::from_slice(&text).map_err(|error| cannot(&error))?;
            let (beat, same) = self.beats.entry(job.clone()).or_insert((state.beat, 0));
            *same = if *beat == state.beat { *same + 1 } else { 0 };
            *beat = state.beat;
            if *same < PATIENCE {
                known.open.extend(state.open);
            }
        }
        Ok(known)
    }

    fn cancel(&self, _: &[String]) -> String {
        format!("cancel them with `pkill -f {}`", quoted(&self.driver().display().to_string()))
    }
}
