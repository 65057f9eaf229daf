//! Ray: a cluster of this machine alone.

use std::ffi::OsString;
use std::process::Command;

use super::program::{Room, Said};
use super::{finished, kill_worker, same, scenario, start, wait_for};

/// A Python that has Ray.
fn python() -> Option<OsString> {
    std::env::var_os("TIDEGATE_RAY_PYTHON").filter(|path| !path.is_empty())
}

/// Why there can be no cluster here.
pub(crate) fn obstacle() -> Option<String> {
    let Some(python) = python() else {
        return Some("TIDEGATE_RAY_PYTHON names no Python with Ray".to_owned());
    };
    let import = Command::new(&python).args(["-c", "import ray"]).output();
    let is_there = import.is_ok_and(|output| output.status.success());
    (!is_there).then(|| format!("{} has no module ray", python.display()))
}

fn tidegate(room: &Room, line: &str) -> Command {
    let words: Vec<&str> = line.split(' ').collect();
    let mut command = room.command(&words);
    command.arg("--engine-option");
    let mut option = OsString::from("python=");
    option.push(python().unwrap());
    command.arg(option);
    command
}

pub(crate) fn runs_on_ray_equal_runs_on_one_machine_to_the_byte() {
    let room = Room::new("ray-runs");
    room.write("study.toml", &scenario(24));
    room.run("run study.toml --out local --quiet").ended(0);
    let line = "run study.toml --out filled --engine ray --chunk 0.000001 \
                --engine-option address=local";
    let mut submitter = start(&mut tidegate(&room, line));
    let shards = room.path().join("filled.engine/all/shards");
    wait_for("a second shard", || shards.join("2").is_dir());
    submitter.kill().unwrap();
    submitter.wait().unwrap();
    wait_for("a worker of shard 7", || kill_worker("7/24"));
    let said = room.run("attach filled");
    said.ended(0);
    said.reports("lost, the first is shard 7");
    same(&room, "filled", "local");
    assert_eq!(finished(&room, "filled"), finished(&room, "local"));
}

pub(crate) fn a_cluster_that_is_not_there_is_named_by_ray() {
    let room = Room::new("ray-silent");
    room.write("study.toml", &scenario(2));
    let line = "run study.toml --out filled --engine ray";
    let said = Said::new(line, &tidegate(&room, line).output().unwrap());
    said.ended(2);
    said.reports("cannot reach Ray at `auto`");
    assert!(!room.path().join("filled.engine").exists());
}
