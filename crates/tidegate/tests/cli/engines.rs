//! Shards and engines, as far as no engine is needed.

use std::fs;
use std::process::Stdio;

use crate::program::{Room, Said, TINY};

/// The tiny scenario without its sweep, with a threshold to be tuned.
fn tunable() -> String {
    let whole = TINY.split("\n[sweep]").next().unwrap();
    let marking = "[switch]\nmarking = { kind = \"tcn\", threshold = \"20us\" }\n";
    whole.replace("runs = 2\n", "").replace("[switch]\n", marking)
}

#[test]
fn missing_engines_are_named() {
    let room = Room::with_tiny("engine-missing");
    for (words, problem) in [
        ("run tiny.toml --engine slurm", "Slurm is not installed here: there is no `sbatch`"),
        (
            "reproduce tcn-f2 --quick --engine slurm",
            "Slurm is not installed here: there is no `sbatch`",
        ),
        (
            "run tiny.toml --engine ray --engine-option python=no-python",
            "Ray is not installed here: there is no `no-python`",
        ),
        (
            "run tiny.toml --engine ray --engine-option --partition=x",
            "unknown Ray option: --engine-option --partition=x",
        ),
    ] {
        let words: Vec<&str> = words.split(' ').chain(["--out", "filled"]).collect();
        let mut command = room.command(&words);
        let said = Said::new("", &command.env("PATH", "").output().unwrap());
        said.ended(2);
        said.reports(problem);
        let left = fs::read_dir(room.path()).unwrap().count();
        assert_eq!(left, 1, "nothing is left but the scenario");
    }
}

#[test]
fn commands_without_engine_support_are_refused() {
    let room = Room::with_tiny("engine-refused");
    for (line, problem) in [
        ("run tiny.toml tiny.toml --engine slurm", "an engine runs one scenario at a time"),
        ("run tiny.toml --on live --engine slurm", "a testbed runs on this machine only"),
        ("run tiny.toml --engine slurm --shard 1/2", "cannot be used with"),
        (
            "run tiny.toml --engine slurm --engine-option --array=1-9",
            "is reserved: tidegate sets it itself",
        ),
        ("run tiny.toml --engine slurm --chunk 0", "above 0"),
        ("run tiny.toml --learn x", "required arguments"),
        ("run tiny.toml --engine pbs", "invalid value 'pbs'"),
        ("attach nowhere", "no cluster job for "),
    ] {
        let said = room.run(line);
        said.ended(2);
        said.reports(problem);
    }
    room.run("run tiny.toml --out there --quiet").ended(0);
    let said = room.run("run tiny.toml --engine slurm --out there");
    said.ended(2);
    said.reports("there already exists");
}

#[test]
fn engine_local_gives_the_same_results_as_no_engine() {
    let room = Room::with_tiny("engine-local");
    room.run("run tiny.toml --engine local --out one --quiet").ended(0);
    room.run("run tiny.toml --out other --quiet").ended(0);
    assert!(room.results("one") == room.results("other"));
}

#[test]
fn a_shard_may_run_twice_at_once() {
    let room = Room::with_tiny("shard-twice");
    room.run("run tiny.toml --out whole --quiet").ended(0);
    let words = "run tiny.toml --shard 1/1 --out part --resume --quiet --status status.json";
    let words: Vec<&str> = words.split(' ').collect();
    let both = [(), ()].map(|()| {
        let mut command = room.command(&words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    });
    for child in both {
        Said::new("", &child.wait_with_output().unwrap()).ended(0);
    }
    room.run("merge part --out joined --quiet").ended(0);
    assert!(room.results("joined") == room.results("whole"));
    let status = fs::read_to_string(room.path().join("status.json")).unwrap();
    let expected = r#"{"runs":4,"done":4,"steps":4000,"ended":"finished","why":null}"#;
    assert_eq!(status, expected);
}

#[test]
fn shards_of_two_builds_are_refused() {
    let room = Room::with_tiny("shard-builds");
    for number in [1, 2] {
        let line = format!("run tiny.toml --shard {number}/2 --out part{number} --quiet");
        room.run(&line).ended(0);
    }
    let path = room.path().join("part2/manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    let build = manifest["build"].as_str().unwrap();
    assert_eq!(build.len(), 16);
    fs::write(&path, text.replace(build, "0123456789abcdef")).unwrap();
    let said = room.run("merge part1 part2 --out joined");
    said.ended(2);
    said.reports("the program's build is \"0123456789abcdef\" there and");
    let said = room.run("run tiny.toml --shard 2/2 --out part2 --resume");
    said.ended(2);
    said.reports("the program's build is");
}

#[test]
fn shards_of_a_search_fill_one_folder_round_by_round() {
    let room = Room::new("shard-tune");
    room.write("one.toml", &tunable());
    let search =
        "tune one.toml --for mean --budget 24 --vary switch.marking.threshold=10us..40us:4";
    let local = room.run(&format!("{search} --out local --quiet"));
    local.ended(0);
    let mut rounds = 0;
    loop {
        let mut is_over = false;
        for number in [1, 2] {
            let said = room.run(&format!("{search} --shard {number}/2 --out filled"));
            said.ended(0);
            is_over = said.stderr.contains("all rounds are in filled");
        }
        if is_over {
            break;
        }
        rounds += 1;
        assert!(rounds < 9, "it does not end");
    }
    assert!(rounds > 1, "there is one round only");
    let said = room.run(&format!("{search} --out filled --resume --quiet"));
    said.ended(0);
    assert_eq!(said.stdout, local.stdout);
    assert!(room.results("filled") == room.results("local"));
    let said = room.run(&format!("{search} --shard 1/2"));
    said.ended(2);
    said.reports("the shards of a search fill one folder");
    let said = room.run("tune one.toml --budget 10min --vary switch.marking.threshold=10us..40us:4 --shard 1/2 --out x");
    said.ended(2);
    said.reports("is another number of runs on each machine");
}
