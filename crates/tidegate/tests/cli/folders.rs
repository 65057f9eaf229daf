//! Results folders: that exist, that are half written, on a full disk, after Ctrl-C.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::evidence::STAR;
use crate::program::{Room, Said, TINY};

#[test]
fn existing_folders_are_not_overwritten() {
    let room = Room::with_tiny("exists");
    fs::create_dir(room.path().join("out")).unwrap();
    room.write("out/precious.txt", "kept");
    room.run("run tiny.toml --out out").is("folder-exists");
    room.run("run tiny.toml --out done --quiet").ended(0);
    let before = room.results("done");
    room.run("run tiny.toml --out done").is("folder-has-results");
    assert!(room.results("done") == before);
}

#[test]
fn unwritable_folders_leave_nothing_behind() {
    let room = Room::with_tiny("unmade");
    // A link to nowhere: nothing is there, and nothing can be made there.
    std::os::unix::fs::symlink("nowhere/below", room.path().join("link")).unwrap();
    let said = room.run("run tiny.toml --out link/out");
    said.ended(2);
    said.reports("hint: no run has started; use another folder with --out");
    assert!(!said.stderr.contains("finished are kept"), "{}", said.stderr);
}

#[test]
fn folders_of_a_running_program_are_locked() {
    let room = Room::with_tiny("claimed");
    room.write("star.toml", STAR);
    room.run("run tiny.toml --out out --quiet").ended(0);
    let before = room.results("out");
    let other = fs::File::open(room.path().join("out")).unwrap();
    other.lock().unwrap();
    for line in [
        "run tiny.toml",
        "tune star.toml --vary scale=0.5,2,8 --budget 30 --size 0.02",
        "reproduce tcn-f1 --quick",
    ] {
        let said = room.run(&format!("{line} --out out --resume"));
        said.ended(2);
        said.reports("another tidegate is writing to out");
    }
    assert!(room.results("out") == before);
}

#[test]
fn folders_of_other_scenarios_are_not_resumed() {
    let room = Room::with_tiny("other");
    room.run("run tiny.toml --out out --quiet").ended(0);
    room.run("run tiny.toml --out out --resume --seed 5").is("folder-of-another");
    room.run("run tiny.toml --out nowhere --resume").ended(2);
    room.run("run tiny.toml --resume").is("nothing-to-resume");
}

#[test]
fn resume_completes_a_folder() {
    let room = Room::with_tiny("half");
    room.run("run tiny.toml --out out --quiet").ended(0);
    let whole = room.results("out");
    // One run is gone, another was cut off.
    fs::remove_dir_all(room.path().join("out/runs/tcn-s1")).unwrap();
    let flows = room.path().join("out/runs/none-s2/flows.parquet");
    let bytes = fs::read(&flows).unwrap();
    fs::write(&flows, &bytes[..bytes.len() / 2]).unwrap();
    let report = room.run("report out --quiet");
    report.ended(0);
    report.reports("warning: no results for 2 runs");
    room.run("run tiny.toml --out out --resume --quiet").ended(0);
    assert!(room.results("out") == whole, "the resumed folder differs");
}

#[test]
fn folders_without_results_are_reported() {
    let room = Room::new("empty");
    fs::create_dir(room.path().join("out")).unwrap();
    room.run("report out").is("no-results");
    room.run("report nowhere").ended(2);
}

#[test]
fn folders_are_compared() {
    let room = Room::with_tiny("compare");
    room.run("run tiny.toml --out a --quiet").ended(0);
    room.run("run tiny.toml --out b --quiet --seed 7").ended(0);
    let said = room.run("report a b --quiet --out both.html");
    said.ended(0);
    assert!(said.stdout.contains("a: tcn") && said.stdout.contains("b: tcn"), "{}", said.stdout);
    assert!(room.path().join("both.html").is_file());
    // What tells the folders apart is enough.
    assert!(!said.stdout.contains("(2)"), "{}", said.stdout);
    let page = fs::read_to_string(room.path().join("both.html")).unwrap();
    assert!(!page.contains("tcn (2)"), "the page numbers them");
}

#[test]
fn comparisons_of_scenarios_show_both_titles_and_run_counts() {
    let room = Room::with_tiny("compare-titles");
    let other = TINY.replace("Two schemes on a star", "Something else");
    room.write("other.toml", &other.replace("\"tiny\"", "\"other\""));
    room.run("run tiny.toml --out a --quiet").ended(0);
    room.run("run other.toml --out b --quiet --runs 3").ended(0);
    let said = room.run("report a b --quiet --out both.html");
    said.ended(0);
    let mut lines = said.stdout.lines();
    assert_eq!(lines.next(), Some("Two schemes on a star · Something else"));
    let legend = lines.next().unwrap();
    assert!(legend.starts_with("2 to 3 runs per point;"), "{legend}");
}

#[test]
fn report_to_another_path_leaves_the_folder_unchanged() {
    let room = Room::with_tiny("read-only");
    room.run("run tiny.toml --out out --quiet").ended(0);
    // A folder, which not even root can replace by a file.
    let summary = room.path().join("out/summary.json");
    fs::remove_file(&summary).unwrap();
    fs::create_dir_all(summary.join("in-the-way")).unwrap();
    let before = room.results("out");
    let said = room.run("report out --quiet --out page.html");
    said.ended(0);
    assert!(room.path().join("page.html").is_file());
    assert!(room.results("out") == before, "the folder was written to");
    // Without a place for the page, the advice is one that works.
    let said = room.run("report out --quiet");
    said.ended(2);
    said.reports("cannot write out/summary.json");
    said.reports("hint: write the page elsewhere with `--out FILE`");
}

#[test]
fn figures_are_written_on_request() {
    let room = Room::with_tiny("figures");
    room.run("run tiny.toml --out out --quiet --figures").ended(0);
    let names = fs::read_dir(room.path().join("out/figures")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.collect::<Vec<_>>();
    for kind in ["pdf", "svg", "png"] {
        let is_kind = |name: &String| Path::new(name).extension().is_some_and(|end| end == kind);
        assert!(names.iter().any(is_kind), "{names:?}");
    }
    let drawing = room.path().join("out/figures/fct-mean.svg");
    let titled = fs::read_to_string(&drawing).unwrap();
    room.run("report out --quiet --figures --no-titles").ended(0);
    let bare = fs::read_to_string(&drawing).unwrap();
    assert!(titled.contains("font-weight=\"bold\"") && !bare.contains("font-weight=\"bold\""));
    room.run("report out --no-titles").ended(2);
}

#[test]
fn traces_are_drawn_and_change_no_result() {
    let room = Room::with_tiny("traced");
    room.run("run tiny.toml --out plain --quiet").ended(0);
    room.run("run tiny.toml --out traced --quiet --trace 0").ended(0);
    let flows = |folder: &str| {
        let mut files = room.results(folder);
        files.retain(|(path, _)| path.ends_with("flows.parquet"));
        files
    };
    assert_eq!(flows("plain"), flows("traced"));
    let runs = fs::read_dir(room.path().join("traced/runs")).unwrap();
    for run in runs {
        assert!(run.unwrap().path().join("trace.parquet").exists());
    }
    let drawn = fs::read_dir(room.path().join("traced/trace")).unwrap();
    let names = drawn.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.collect();
    for what in ["sequence", "window", "rto", "rtt", "queue-packets"] {
        let begin = format!("time-{what}");
        assert!(names.iter().any(|name| name.starts_with(&begin)), "{names:?}");
    }
    let page = fs::read_to_string(room.path().join("traced/report.html")).unwrap();
    assert!(page.contains("Time and sequence"));
    // The report can be written again from the folder.
    room.run("report traced --quiet").ended(0);
    let again = fs::read_to_string(room.path().join("traced/report.html")).unwrap();
    assert_eq!(page, again);
}

#[test]
fn a_full_disk_keeps_finished_runs() {
    let room = Room::new("disk");
    // The second point has far more flows than the files may have bytes.
    let grows = TINY.replace(
        "\"switch.marking\" = [{ kind = \"tcn\", threshold = \"20us\" }, { kind = \"none\" }]",
        "\"traffic.0.flows\" = [20, 6000]",
    );
    room.write("grows.toml", &grows.replace("\"web-search\"", "\"2KB\""));
    // A limit on the size of files fails writes as a full disk does, and needs no root.
    let limited = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_tidegate"))
        .args(["run", "grows.toml", "--out", "out", "--jobs", "1"])
        .current_dir(room.path())
        .output()
        .unwrap();
    let said = Said::new("run grows.toml", &limited);
    said.ended(2);
    said.reports("error: cannot write out/runs/");
    said.reports("hint: finished runs are kept");
    // With free space, only missing runs are run.
    let resumed = room.run("run grows.toml --out out --resume");
    resumed.ended(0);
    resumed.reports("3 runs, results in out");
}

#[test]
fn stalled_runs_are_reported_and_others_continue() {
    let room = Room::new("stalls");
    let marking =
        "\"switch.marking\" = [{ kind = \"tcn\", threshold = \"20us\" }, { kind = \"none\" }]";
    let buffers = "\"switch.buffer.limit\" = [\"100B\", \"300KB\"]";
    room.write("stalls.toml", &TINY.replace(marking, buffers));
    let said = room.run("run stalls.toml --out out --json");
    said.ended(1);
    let value: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let result = &value["results"][0];
    assert_eq!(result["finished"], 4);
    assert_eq!(result["failed"].as_array().unwrap().len(), 2);
    let why = result["failed"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("stalled: "), "{why}");
    // In parts it comes to the same.
    for shard in ["1/2", "2/2"] {
        let line = format!("run stalls.toml --shard {shard} --out part-{}", &shard[..1]);
        room.run(&line).ended(0);
    }
    let said = room.run("merge part-1 part-2 --out whole --json");
    said.ended(1);
    let merged: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(merged["failed"], result["failed"]);
}

#[test]
fn ctrl_c_keeps_finished_runs_and_resume_completes_the_folder() {
    let room = Room::new("ctrl-c");
    let longer = TINY.replace("runs = 2", "runs = 10").replace("flows = 100", "flows = 400");
    room.write("tiny.toml", &longer);
    room.run("run tiny.toml --out whole --quiet").ended(0);
    let second = room.path().join("out/runs/tcn-s2");
    let line = "run tiny.toml --out out --jobs 1";
    let said = room.interrupted(line, || second.exists());
    said.ended(1);
    said.reports("stopping; finished runs are kept");
    said.reports(" of 20 runs finished and kept in out");
    // Both schemes are compared already, on the screen and on the page.
    for scheme in ["tcn", "none"] {
        assert!(said.stdout.contains(scheme), "{}", said.stdout);
    }
    assert!(said.stdout.contains("report: out/report.html"), "{}", said.stdout);
    let page = fs::read_to_string(room.path().join("out/report.html")).unwrap();
    assert!(page.contains(" of 20 runs</span>"));
    let hint = "`tidegate run tiny.toml --out out --resume`";
    said.reports(hint);
    let kept = fs::read_dir(room.path().join("out/runs")).unwrap().count();
    assert!((2..20).contains(&kept), "{kept} runs");
    room.run("run tiny.toml --out out --resume --quiet").ended(0);
    assert!(room.results("out") == room.results("whole"), "the resumed folder differs");
}

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    let room = Room::with_tiny("jobs");
    room.run("run tiny.toml --out one --jobs 1 --quiet").ended(0);
    room.run("run tiny.toml --out four --jobs 4 --quiet").ended(0);
    assert!(room.results("one") == room.results("four"));
}

#[test]
fn commands_in_results_repeat_single_runs() {
    let room = Room::with_tiny("repeat");
    room.run("run tiny.toml --out all --quiet").ended(0);
    let text = fs::read_to_string(room.path().join("all/runs/none-s2/run.json")).unwrap();
    let run: serde_json::Value = serde_json::from_str(&text).unwrap();
    let command = run["run"]["command"].as_str().unwrap();
    let arguments = command.strip_prefix("tidegate ").unwrap();
    let script = format!("exec \"$0\" {arguments} --out alone --quiet");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_tidegate")])
        .current_dir(room.path())
        .output()
        .unwrap();
    Said::new(command, &output).ended(0);
    let runs = fs::read_dir(room.path().join("alone/runs")).unwrap();
    let runs = runs.map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    assert_eq!(runs.len(), 1);
    let text = fs::read_to_string(runs[0].join("run.json")).unwrap();
    let alone: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(alone["run"]["fingerprint"], run["run"]["fingerprint"]);
}

#[test]
fn merged_shards_equal_an_undivided_run() {
    let room = Room::with_tiny("shards");
    room.run("run tiny.toml --out whole --quiet").ended(0);
    for number in 1..=3 {
        let said = room.run(&format!("run tiny.toml --shard {number}/3 --out part{number}"));
        said.ended(0);
        said.reports(&format!("shard {number}/3: "));
    }
    let incomplete = room.run("merge part1 part3 --out bad");
    incomplete.ended(2);
    incomplete.reports("is missing");
    assert!(!room.path().join("bad").exists());
    room.run("merge part1 part2 part3 --out joined").ended(0);
    assert!(room.results("joined") == room.results("whole"), "the joined folder differs");
    // Run twice, and with learnt costs: the same runs in other slices.
    room.run("run tiny.toml --shard 1/3 --out part1 --resume").ended(0);
    for number in 1..=2 {
        room.run(&format!(
            "run tiny.toml --shard {number}/2 --learn whole --out half{number} --quiet"
        ))
        .ended(0);
    }
    room.run("merge half1 half2 part1 --out again").ended(0);
    assert!(room.results("again") == room.results("whole"), "the joined folder differs");
}

#[test]
fn merge_names_conflicts() {
    let room = Room::with_tiny("shards-wrong");
    room.run("run tiny.toml --shard 5/4").reports("no shard 5 of 4");
    room.run("run tiny.toml --out one --quiet").ended(0);
    room.run("run tiny.toml --seed 9 --out other --quiet").ended(0);
    let said = room.run("merge one other --out joined");
    said.ended(2);
    said.reports("the first seed is");
    room.run("merge nowhere --out joined").ended(2);
    // The same run with other bytes.
    room.run("run tiny.toml --out two --quiet").ended(0);
    let run = room.path().join("two/runs/tcn-s1/run.json");
    let text = fs::read_to_string(&run).unwrap().replacen("\"seed\": \"1\"", "\"seed\": \"7\"", 1);
    fs::write(&run, text).unwrap();
    let said = room.run("merge one two --out joined");
    said.ended(2);
    said.reports("tcn-s1 differs between one and two");
}

#[test]
fn merge_refuses_damaged_duplicates_and_leaves_no_folder() {
    let room = Room::with_tiny("shards-damaged");
    room.run("run tiny.toml --out good --quiet").ended(0);
    room.run("run tiny.toml --out bad --quiet").ended(0);
    let path = room.path().join("bad/runs/tcn-s1/flows.parquet");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    for line in
        ["merge good bad --out whole", "merge bad good --out whole", "merge bad --out whole"]
    {
        let said = room.run(line);
        said.ended(2);
        said.reports("bad/runs/tcn-s1/flows.parquet is damaged: its bytes have changed");
        assert!(!said.stderr.contains("merged "), "{}", said.stderr);
        assert!(!room.path().join("whole").exists(), "{line}");
    }
    room.run("merge good --out whole").ended(0);
    assert!(room.results("whole") == room.results("good"));
}

#[test]
fn failed_merges_leave_nothing_behind() {
    let room = Room::with_tiny("shards-unwritten");
    room.run("run tiny.toml --out part --quiet").ended(0);
    room.write("file", "");
    let said = room.run("merge part --out file/whole");
    said.ended(2);
    assert!(!said.stderr.contains("merged "), "{}", said.stderr);
}
