//! Slurm: shards are tasks of job arrays.

use std::fmt::Write;
use std::process::Command;

use super::{Engine, Job, Known, said};
use crate::Error;
use crate::text::quoted;

const WHO: &str = "Slurm";

/// Slurm's default, for clusters whose configuration does not name the limit.
const MAX_ARRAY_SIZE: u32 = 1001;

/// Options of `sbatch` that tidegate sets.
const OURS: [&str; 5] = ["--array", "-a", "--parsable", "--wrap", "--export"];

pub(super) struct Slurm {
    /// Options for `sbatch`.
    options: Vec<String>,
}

impl Slurm {
    pub(super) fn new(options: &[String]) -> Result<Self, Error> {
        let is_ours = |option: &&String| {
            let name = option.split('=').next().unwrap_or_default();
            OURS.contains(&name)
        };
        if let Some(option) = options.iter().find(is_ours) {
            return Err(Error::engine(format!(
                "--engine-option {option} is reserved: tidegate sets it itself\n\
                 hint: other sbatch options are passed on, such as --partition=short or --time=30"
            )));
        }
        Ok(Self { options: options.to_vec() })
    }
}

impl Engine for Slurm {
    fn check(&self) -> Result<u32, Error> {
        // Slurm may be installed without a cluster.
        said(Command::new("sbatch").arg("--version"), WHO)?;
        let config = said(Command::new("scontrol").args(["show", "config"]), WHO)?;
        let size = config.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            let value = value.trim().parse().ok();
            value.filter(|_| key.trim() == "MaxArraySize")
        });
        // The largest index is one less than the size, and shards begin with one.
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
            // Tasks of a failed node are requeued, and append to their logs.
            .args(["--requeue", "--open-mode=append"])
            .args(&self.options)
            .arg(&path);
        let answer = said(&mut command, WHO)?;
        // With several clusters, the job's cluster follows the id.
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
            // All jobs ended a while ago.
            Err(Error::Engine(text)) if text.contains("Invalid job id") => Ok(Known::default()),
            Err(error) => Err(error),
        }
    }

    fn cancel(&self, jobs: &[String]) -> String {
        format!("cancel them with `scancel {}`", jobs.join(" "))
    }
}

/// Parses lines with the number and the state of a task.
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
            // Tasks that had not begun have no numbers any more.
            Err(_) => {
                known.is_rest_cancelled |= state == "CANCELLED";
                false
            }
        };
    }
    known
}

/// Slurm's states of tasks that have ended for good, without those about to end or to be requeued.
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

/// Shell variables of a task.
const SHARD: &str = "$SLURM_ARRAY_TASK_ID";
const CORES: &str = "${SLURM_CPUS_PER_TASK:-1}";

/// Script of a task.
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

/// Quotes a word, except for the variables above.
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

/// Formats sorted numbers as ranges: `1-3,7`.
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
    fn quotes_everything_except_variables() {
        assert_eq!(shell("/a b/$SLURM_ARRAY_TASK_ID.json"), "'/a b/'\"$SLURM_ARRAY_TASK_ID\".json");
        assert_eq!(shell(CORES), "\"${SLURM_CPUS_PER_TASK:-1}\"");
        assert_eq!(shell("$HOME"), "'$HOME'");
    }

    #[test]
    fn distinguishes_open_lost_and_cancelled_tasks() {
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
    fn formats_numbers_as_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[]), "");
    }
}
