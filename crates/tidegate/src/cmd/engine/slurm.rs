//! Slurm: shards as tasks of job arrays.

use std::fmt::Write;
use std::process::Command;

use super::{Engine, Job, Known, said};
use crate::cmd::run::quoted;
use crate::output::Error;

const WHO: &str = "Slurm";

/// What a cluster allows whose configuration does not say: Slurm's default.
const MAX_ARRAY_SIZE: u32 = 1001;

/// What tells tasks which shards they are.
const OURS: [&str; 5] = ["--array", "-a", "--parsable", "--wrap", "--export"];

pub(super) struct Slurm {
    /// For `sbatch`.
    options: Vec<String>,
}

impl Slurm {
    pub(super) fn new(options: &[String]) -> Result<Self, Error> {
        let is_ours = |option: &&String| {
            let name = option.split('=').next().unwrap_or_default();
            OURS.contains(&name)
        };
        if let Some(option) = options.iter().find(is_ours) {
            return Err(Error::new(format!(
                "--engine-option {option} is reserved: tidegate sets it itself\n\
                 hint: other sbatch options are passed on, such as --partition=short or --time=30"
            )));
        }
        Ok(Self { options: options.to_vec() })
    }
}

impl Engine for Slurm {
    fn check(&self) -> Result<u32, Error> {
        // It may be installed and without a cluster.
        said(Command::new("sbatch").arg("--version"), WHO)?;
        let config = said(Command::new("scontrol").args(["show", "config"]), WHO)?;
        let size = config.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            let value = value.trim().parse().ok();
            value.filter(|_| key.trim() == "MaxArraySize")
        });
        // Its largest index is one less, and ours begin with one.
        Ok(size.unwrap_or(MAX_ARRAY_SIZE).saturating_sub(1).max(1))
    }

    fn submit(&self, job: &Job<'_>, shards: &[u32]) -> Result<String, Error> {
        let path = job.part.join("job.sh");
        job.home.write(&path, script(job).as_bytes())?;
        let mut command = Command::new("sbatch");
        command
            .arg("--parsable")
            .arg(format!("--job-name=tidegate-{}", job.name))
            .arg(format!("--array={}", ranges(shards)))
            .arg(format!("--output={}", job.log("%a").display()))
            // A node that fails gives its tasks back, and a task that goes on adds to its log.
            .args(["--requeue", "--open-mode=append"])
            .args(&self.options)
            .arg(&path);
        let answer = said(&mut command, WHO)?;
        // With several clusters, that of the job follows.
        let id = answer.trim().split(';').next().unwrap_or_default();
        Ok(id.to_owned())
    }

    fn ask(&mut self, jobs: &[String]) -> Result<Known, Error> {
        let mut command = Command::new("squeue");
        command
            .args(["--noheader", "--array", "--states=all", "--format=%K %T"])
            .arg(format!("--jobs={}", jobs.join(",")));
        match said(&mut command, WHO) {
            Ok(text) => Ok(known(&text)),
            // All of them ended a while ago.
            Err(Error::Other(text)) if text.contains("Invalid job id") => Ok(Known::default()),
            Err(error) => Err(error),
        }
    }

    fn cancel(&self, jobs: &[String]) -> String {
        format!("cancel them with `scancel {}`", jobs.join(" "))
    }
}

/// Reads lines with the number of a task and its state.
fn known(text: &str) -> Known {
    let mut known = Known::default();
    for line in text.lines() {
        let Some((number, state)) = line.trim().split_once(' ') else {
            continue;
        };
        match number.parse() {
            Ok(shard) if state == "CANCELLED" => known.cancelled.insert(shard),
            Ok(shard) if OVER.contains(&state) => known.over.insert(shard),
            Ok(shard) => known.open.insert(shard),
            // What had not begun has no numbers any more.
            Err(_) => {
                known.is_rest_cancelled |= state == "CANCELLED";
                false
            }
        };
    }
    known
}

/// Slurm's words for tasks that will not run any more. Those that it is about to end or to start
/// again are not.
const OVER: [&str; 8] = [
    "BOOT_FAIL",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "REVOKED",
    "TIMEOUT",
];

/// What Slurm tells a task.
const SHARD: &str = "$SLURM_ARRAY_TASK_ID";
const CORES: &str = "${SLURM_CPUS_PER_TASK:-1}";

/// What a task runs.
fn script(job: &Job<'_>) -> String {
    let words = job.words(SHARD, CORES).into_iter().map(|word| shell(&word));
    format!(
        "#!/bin/sh\n\
         # Shards of a tidegate command, one per array task.\n\
         cd {} || exit\n\
         exec {}\n",
        quoted(&job.state.directory.display().to_string()),
        words.collect::<Vec<_>>().join(" ")
    )
}

/// A word of which the shell sees these variables, and nothing else.
fn shell(word: &str) -> String {
    let Some((variable, (before, after))) = [SHARD, CORES]
        .into_iter()
        .find_map(|variable| Some((variable, word.split_once(variable)?)))
    else {
        return quoted(word);
    };
    let part = |part: &str| match part {
        "" => String::new(),
        part => quoted(part),
    };
    format!("{}\"{variable}\"{}", part(before), part(after))
}

/// Numbers in rising order as Slurm wants them: 1-3,7.
fn ranges(numbers: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let run = rest.iter().zip(first..).take_while(|(a, b)| **a == *b);
        let length = run.count();
        if !text.is_empty() {
            text.push(',');
        }
        _ = write!(text, "{first}");
        if length > 1 {
            _ = write!(text, "-{}", rest[length - 1]);
        }
        rest = &rest[length..];
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn variables_are_left_to_the_shell_and_nothing_else() {
        assert_eq!(shell("/a b/$SLURM_ARRAY_TASK_ID.json"), "'/a b/'\"$SLURM_ARRAY_TASK_ID\".json");
        assert_eq!(shell(CORES), "\"${SLURM_CPUS_PER_TASK:-1}\"");
        assert_eq!(shell("$HOME"), "'$HOME'");
    }

    #[test]
    fn states_say_what_is_lost() {
        let found =
            known("1 COMPLETED\n2 RUNNING\n3 CANCELLED\n4 PENDING\nN/A FAILED\n5 TIMEOUT\n");
        assert_eq!(found.open, BTreeSet::from([2, 4]));
        let cancelled =
            |known: &Known| (1..7).filter(|&n| known.is_cancelled(n)).collect::<Vec<_>>();
        assert_eq!(cancelled(&found), [3]);
        let found = known("1 FAILED\n2 RUNNING\nN/A CANCELLED\n");
        assert_eq!(cancelled(&found), [3, 4, 5, 6]);
    }

    #[test]
    fn numbers_are_joined_to_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[]), "");
    }
}
