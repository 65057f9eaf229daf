//! `plan --verify` and `tune`: their runs, their results and their errors.

use std::fs;

use crate::program::{Room, Said, TINY};

/// Four hosts at one switch.
pub(crate) const STAR: &str = r#"name = "star"
title = "Four hosts"
fabric = { host_ports = "4x10Gbps" }
switch = { buffer = "4MB" }
rtt = { base = "40us" }
traffic = { workload = "web-search", load = 0.5, incast = 3 }
"#;

fn room(name: &str) -> Room {
    let room = Room::new(name);
    room.write("star.toml", STAR);
    room
}

fn json(said: &Said) -> serde_json::Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}\n{}", said.stderr))
}

#[test]
fn verifying_a_plan_twice_gives_the_same_page() {
    let room = room("verify");
    let line =
        "plan star.toml --verify --current 1MB --runs 3 --size 0.02 --quiet --json --results";
    let said = room.run(&format!("{line} a"));
    let evidence = &json(&said)["evidence"];
    let settings = evidence["settings"].as_array().unwrap();
    let labels: Vec<_> = settings.iter().map(|row| row["setting"].as_str().unwrap()).collect();
    assert_eq!(labels, ["formula", "today", "half", "double"]);
    for row in settings {
        let small = &row["measures"]["p99-small"];
        assert!(small["value"].as_f64().unwrap() > 40e-6 && small["unit"] == "s", "{row}");
        assert!(small["low"].as_f64() < small["high"].as_f64());
    }
    // Queues are as long as they may be: 1 MB is 28 times the formula's 36 KB.
    let queue = |row: usize| settings[row]["measures"]["queue"]["value"].as_f64().unwrap();
    assert!(queue(1) > 3.0 * queue(0), "today {} formula {}", queue(1), queue(0));
    assert!(queue(2) < queue(0) && queue(0) < queue(3), "half, formula, double");
    // A formula that loses is a check that failed.
    let loses = !evidence["formula_loses_against"].as_array().unwrap().is_empty();
    assert_eq!(said.code, Some(i32::from(loses)), "{}", said.stderr);
    assert_eq!(room.run(&format!("{line} b --jobs 1")).stdout, said.stdout);
    let page = |folder: &str| fs::read(room.path().join(folder).join("plan.html")).unwrap();
    assert!(page("a") == page("b"), "the pages differ");
    assert!(String::from_utf8(page("a")).unwrap().contains("99th percentile of small flows"));
}

#[test]
fn evidence_fits_the_screen_and_has_units() {
    let room = room("verify-screen");
    let said = room.run("plan star.toml --verify --runs 2 --size 0.01 --quiet");
    assert!(said.stdout.contains("Simulated"), "{}", said.stdout);
    for line in said.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(said.stdout.contains(" µs") && said.stdout.contains("Gbps"), "{}", said.stdout);
    assert!(room.path().join("tidegate-results/star-verify/plan.html").is_file());
}

#[test]
fn finished_evidence_is_not_run_again() {
    let room = room("verify-resume");
    let line = "plan star.toml --verify --runs 2 --size 0.01 --json --results out";
    let whole = room.run(line);
    whole.reports("6 runs, results in out");
    fs::remove_dir_all(room.path().join("out/runs/half-s1")).unwrap();
    let again = room.run(&format!("{line} --resume"));
    again.reports("1 run, results in out");
    assert_eq!(again.stdout, whole.stdout);
    room.run("plan star.toml --verify --runs 3 --size 0.01 --results out --resume").ended(2);
    room.run("plan star.toml --runs 3").ended(2);
}

#[test]
fn searches_repeat_by_seed_and_resume() {
    let room = room("tune");
    let line = "tune star.toml --vary scale=0.5,2,8 --budget 30 --size 0.02 --json --out";
    let said = room.run(&format!("{line} a"));
    said.ended(0);
    let found = json(&said);
    assert_eq!(found["goal"], "p99-small");
    assert_eq!(found["tried"].as_array().unwrap().len(), 4);
    // Eight times the threshold is no way to a short tail.
    assert_ne!(found["best"]["settings"]["scale"], "8");
    let page = |folder: &str| fs::read(room.path().join(folder).join("tune.html")).unwrap();
    let again = room.run(&format!("{line} b --jobs 1"));
    assert_eq!(again.stdout, said.stdout);
    assert!(page("a") == page("b"), "the pages differ");
    // A run is lost: it alone is run again.
    fs::remove_dir_all(room.path().join("a/runs/scale-8-s1")).unwrap();
    let resumed = room.run(&format!("{line} a --resume"));
    resumed.reports("1 run, results in a");
    assert_eq!(resumed.stdout, said.stdout);
}

#[test]
fn interrupted_searches_keep_finished_runs() {
    let room = room("tune-ctrl-c");
    let line = "tune star.toml --vary scale=0.5,2 --budget 30 --size 0.1 --jobs 1 --out out";
    let first = room.path().join("out/runs/formula-s1");
    let said = room.interrupted(line, || first.exists());
    said.ended(1);
    said.reports("finished and kept in out");
    said.reports("--budget 30 --seed 1 --size 0.1 --out out --resume`");
}

#[test]
fn scenarios_can_be_tuned() {
    let room = Room::new("tune-scenario");
    let plain = TINY.split("[sweep]").next().unwrap();
    room.write(
        "tiny.toml",
        &format!("{plain}\n[switch.marking]\nkind = \"tcn\"\nthreshold = \"400us\"\n"),
    );
    let line =
        "tune tiny.toml --for mean --vary switch.marking.threshold=10us..1ms:3 --budget 30 --json";
    let found = json(&room.run(line));
    assert_eq!(found["formula"]["label"], "as it is");
    assert_eq!(found["tried"].as_array().unwrap().len(), 4);
    // A baseline that the file names is none of the search.
    room.write("based.toml", &format!("baseline = \"tiny\"\n{plain}"));
    let line = "tune based.toml --for mean --vary traffic.0.load=0.2,0.4 --budget 30 --json";
    assert_eq!(json(&room.run(line))["formula"]["label"], "as it is");
    let one = TINY.replace(", { kind = \"none\" }]", "]");
    for text in [TINY, &one] {
        room.write("swept.toml", text);
        let said = room.run("tune swept.toml --vary switch.marking.threshold=10us,20us");
        said.ended(2);
        said.reports("has a sweep of its own");
    }
    let said = room.run(
        "tune tiny.toml --vary switch.marking.threshold=10us,20us --within queue<100KB --budget 30",
    );
    said.ended(2);
    said.reports("observe.ports");
    let said = room.run("tune tiny.toml --vary switch.marking.depth=1,2");
    said.ended(2);
    said.reports("the scenario has no such key");
    room.run("tune tiny.toml").reports("a scenario needs --vary");
}

#[test]
fn keys_that_cannot_be_varied_are_refused_with_alternatives() {
    let room = room("tune-bad");
    for (options, why, hint) in [
        ("--within p99<1us", "no such metric", "metrics: p99-small"),
        ("--within drops", "no `<` or `>`", "METRIC<LIMIT"),
        ("--vary scale", "there is no `=`", "KEY=a..b"),
        ("--vary depth=1,2", "no such key", "keys are scale"),
        ("--vary scale=1,2 --vary scale=3", "given twice", "all its values"),
        ("--vary scale=1", "no candidate but the formula's thresholds", "more values"),
        ("--budget 0", "is no budget", "runs such as 200"),
        ("--budget soon", "is no budget", "10min"),
        ("--budget 5", "5 runs is too few for 8 candidates", "--budget 15"),
        ("--load 2", "`2` is not a load", "0.3,0.5,0.8"),
        ("--size 0", "--size 0", "above 0"),
        ("--for speed", "p99-small", "no-drops"),
    ] {
        let said = room.run(&format!("tune star.toml {options}"));
        said.ended(2);
        said.reports(why);
        said.reports(hint);
    }
    assert!(!room.path().join("tidegate-results").exists(), "nothing has run");
}

/// Flows that are far too small for a threshold of 360 KB.
const QUIET: &str = r#"name = "quiet"
fabric = { host_ports = "4x10Gbps" }
switch = { buffer = "4MB" }
rtt = { base = "400us" }
traffic = { workload = "1KB..20KB", load = 0.1, incast = 2 }
"#;

#[test]
fn runs_whose_queues_reach_no_threshold_get_no_verdict() {
    let room = Room::new("shows-nothing");
    room.write("quiet.toml", QUIET);
    let said = room.run("plan quiet.toml --verify --runs 2 --size 0.002 --quiet");
    said.ended(1);
    let words: Vec<&str> = said.stdout.split_whitespace().collect();
    let text = words.join(" ");
    for part in [
        "no queue came near a threshold: these runs show nothing; the longest held",
        "to reach the thresholds: no load or incast of these hosts is enough",
    ] {
        assert!(text.contains(part), "{}", said.stdout);
    }
    assert!(!text.contains("the formula: "), "{}", said.stdout);
    let line = "tune quiet.toml --vary scale=0.5,2,8 --budget 20 --size 0.005 --quiet";
    let said = room.run(line);
    said.ended(1);
    let text = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("No queue came near a threshold: these runs show nothing"),
        "{}",
        said.stdout
    );
    assert!(!text.contains("Nothing beats"), "{}", said.stdout);
    let said = room.run(&format!("{line} --json --out again"));
    assert_eq!(json(&said)["ending"], "untested");
}

#[test]
fn a_lossy_and_a_lossless_profile_of_today_are_simulated_together() {
    let room = Room::new("verify-profiles");
    let text = STAR.replace(
        "rtt =",
        "queue = [{ weight = 50 }, { weight = 50, transport = \"dcqcn\", lossless = true }]\nrtt =",
    );
    room.write("star.toml", &text);
    let said = room.run(
        "plan star.toml --verify --current 0=40KB/80KB/5%,1=40KB/160KB/20% --runs 2 --size 0.005 \
         --quiet --json",
    );
    let settings = &json(&said)["evidence"]["settings"];
    assert_eq!(settings[1]["mark_at"], "40-80 KB 5%, 40-160 KB 20%", "{}", said.stderr);
}
