//! Engines as users have them: a real Slurm and a real Ray, on this machine.
//!
//! Slurm needs root and the packages slurm-wlm and munge of Debian. The tests start a cluster of
//! one node with its own key, ports and folders. Ray needs a Python that has it, which the variable
//! `TIDEGATE_RAY_PYTHON` names: it is large and slow to start. Tests that cannot run are reported
//! as skipped, by name. Clusters mostly wait, so all tests together take four minutes: all but the
//! first run only if `TIDEGATE_TEST_ENGINES` is set.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../cli/program.rs"]
#[expect(dead_code, reason = "snapshots and interruptions are for other tests")]
mod program;
mod ray;
mod slurm;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use program::{Room, TINY};
use tidegate_harness::{suite, tests};

const TESTS: &[suite::Test] = tests![
    slurm::an_array_of_60_survives_its_workers_and_its_submitter,
    ray::a_cluster_that_is_not_there_is_named_by_ray,
    ray::runs_on_ray_equal_runs_on_one_machine_to_the_byte,
    slurm::a_controller_that_does_not_answer_is_named,
    slurm::a_disk_that_is_full_or_read_only_is_named,
    slurm::a_reproduction_is_joined_and_judged,
    slurm::a_search_goes_round_by_round,
    slurm::cancelled_tasks_are_not_submitted_again,
];

fn main() -> ExitCode {
    suite::run(TESTS, |name| {
        if name.split('_').any(|word| word == "ray") {
            ray::obstacle()
        } else if name.starts_with("an_array")
            || std::env::var_os("TIDEGATE_TEST_ENGINES").is_some()
        {
            slurm::obstacle()
        } else {
            Some("takes long, and runs if TIDEGATE_TEST_ENGINES is set".to_owned())
        }
    })
}

/// A scenario with so many runs, which take a moment each.
fn scenario(runs: u32) -> String {
    let runs = format!("runs = {runs}\n");
    TINY.replace("runs = 2\n", &runs).replace(", { kind = \"none\" }", "")
}

/// Starts the program and captures its output.
fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until something is so.
#[track_caller]
fn wait_for(what: &str, is_so: impl FnMut() -> bool) {
    assert!(suite::wait_until(is_so), "{what} did not come");
}

/// Kills a running process that has this among the words of its command, and whether there was one.
fn kill_worker(word: &str) -> bool {
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|id| id.parse::<u32>().ok()) else {
            continue;
        };
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let program = fs::read_link(entry.path().join("exe")).unwrap_or_default();
        let mut words = words.split(|&byte| byte == 0);
        if program == Path::new(env!("CARGO_BIN_EXE_tidegate"))
            && words.any(|found| found == word.as_bytes())
        {
            let kill = format!("kill -KILL {id}");
            return Command::new("sh").args(["-c", &kill]).status().unwrap().success();
        }
    }
    false
}

/// The runs that a log says are finished, each as often as it says so.
fn finished(room: &Room, folder: &str) -> Vec<String> {
    let log = fs::read_to_string(room.path().join(folder).join("log.jsonl")).unwrap();
    let lines = log.lines().filter(|line| line.contains("\"finished\""));
    let id = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["run"].as_str().unwrap().to_owned()
    };
    let mut ids: Vec<String> = lines.map(id).collect();
    ids.sort();
    ids
}

/// That two folders hold the same but for their logs, and that nothing is left beside the first.
#[track_caller]
fn same(room: &Room, filled: &str, local: &str) {
    let (filled_files, local_files) = (room.results(filled), room.results(local));
    let names = |files: &[(std::path::PathBuf, Vec<u8>)]| {
        let names = files.iter().map(|(name, _)| name.clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&filled_files), names(&local_files));
    for ((name, filled), (_, local)) in filled_files.iter().zip(&local_files) {
        assert!(filled == local, "{} differs", name.display());
    }
    assert!(!room.path().join(format!("{filled}.engine")).exists());
}
