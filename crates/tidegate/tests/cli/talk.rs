//! What commands print when all is well.

use std::io::Read;
use std::process::Stdio;

use tidegate_dataplane::{mark, sched};
use tidegate_units::{Catalogue, Entry};
use unicode_width::UnicodeWidthStr;

use crate::program::{Room, Said, TINY};

#[test]
fn list_shows_the_names_of_a_kind() {
    let lines = |entries: Vec<Entry>| {
        let width = entries.iter().map(|entry| entry.about.name.len()).max().unwrap();
        let line =
            |entry: Entry| format!("  {:width$}  {}\n", entry.about.name, entry.about.summary);
        entries.into_iter().map(line).collect::<String>()
    };
    let room = Room::new("list");
    let schemes = room.run("list schemes");
    schemes.ended(0);
    assert_eq!(schemes.stdout, lines(mark::Config::entries()));
    assert_eq!(schemes.stderr, "\n`tidegate explain NAME` describes one.\n");
    let schedulers = room.run("list schedulers --quiet");
    assert_eq!(schedulers.stdout, lines(sched::Config::entries()));
    assert_eq!(schedulers.stderr, "");
}

#[test]
fn list_shows_everything_in_80_columns_or_so() {
    let said = Room::new("list-all").run("list");
    said.ended(0);
    assert!(said.stdout.contains("\nscheme\n") && said.stdout.contains("\ntopology\n"));
    let json = Room::new("list-json").run("list --json");
    json.ended(0);
    let entries: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(entries.as_array().unwrap().len() > 60);
}

#[test]
fn explain_describes_names() {
    let room = Room::new("explain");
    room.run("explain tcn").is("explain-tcn");
    room.run("explain dwrr").is("explain-dwrr");
    room.run("explain per-port").is("explain-per-port");
}

#[test]
fn every_name_can_be_explained_and_every_example_is_toml() {
    let room = Room::new("explain-all");
    let listed = room.run("list --json");
    let entries: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    for entry in entries.as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        let said = room.run(&format!("explain {name} --json"));
        said.ended(0);
        let explained: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        let kinds = explained.as_array().unwrap();
        assert!(kinds.iter().any(|found| found["kind"] == entry["kind"]), "{name}");
    }
}

#[test]
fn explain_suggests_similar_names() {
    let room = Room::new("unknown");
    room.run("explain ecnsharp").is("explain-unknown");
    room.run("explain qwertyuiop").is("explain-nothing-near");
}

#[test]
fn run_prints_a_table_a_plot_and_the_report_path() {
    let room = Room::with_tiny("run");
    room.run("run tiny.toml --jobs 2").is("run-tiny");
    assert!(room.path().join("tidegate-results/tiny/report.html").is_file());
    // Another run does not touch the first.
    let second = room.run("run tiny.toml --quiet");
    second.ended(0);
    assert!(second.stdout.contains("report: tidegate-results/tiny-2/report.html"));
}

#[test]
fn explain_knows_synonyms() {
    let room = Room::new("words");
    for (words, title, has) in [
        ("ecn#", "ecn-sharp · scheme", "pst_target"),
        ("ECN♯", "ecn-sharp · scheme", "pst_target"),
        ("red", "queue-red · scheme", "`pool-red`"),
        ("wred", "queue-red · scheme", "WRED"),
        ("k", "queue-red · scheme", "K is `threshold`"),
        ("kmin", "queue-red · scheme", "Kmin is `min_threshold`"),
        ("dctcp threshold", "queue-red · scheme", "K = C × RTT × λ"),
        ("pool", "dynamic-threshold · buffer", "`pool-red`"),
        ("rto", "rto_min · key", "transport.rto_min"),
        ("rto_min", "rto_min · key", "Lower bound of the timeout"),
        ("ecmp", "ecmp · key", "per-node"),
    ] {
        let said = room.run(&format!("explain {words}"));
        said.ended(0);
        assert!(said.stdout.contains(&format!("{title}\n")), "{words}:\n{}", said.stdout);
        assert!(said.stdout.contains(has), "{words}:\n{}", said.stdout);
        let json = room.run(&format!("explain {words} --json"));
        let found: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
        assert!(found[0]["name"].is_string(), "{words}");
    }
}

#[test]
fn tables_fit_the_screen() {
    let room = Room::with_tiny("width");
    room.run("run tiny.toml --out out --quiet").ended(0);
    for columns in [60, 80, 120] {
        let mut report = room.command(&["report", "out"]);
        report.env("COLUMNS", columns.to_string());
        let said = Said::new("report out", &report.output().unwrap());
        said.ended(0);
        for line in said.stdout.lines() {
            assert!(line.width() <= columns, "{columns} columns: {line}");
        }
        assert!(said.stdout.contains('±'), "{}", said.stdout);
    }
}

#[test]
fn wide_letters_do_not_shift_rows() {
    let room = Room::new("wide-letters");
    let marking = "{ kind = \"tcn\", threshold = \"20us\" }, { kind = \"none\" }";
    let wide = "{ label = \"東京\", kind = \"tcn\" }, { label = \"ECN#\", kind = \"none\" }";
    room.write("wide.toml", &TINY.replace(marking, wide));
    let said = room.run("run wide.toml --out out --quiet");
    said.ended(0);
    // The last column of counts is 0 in both rows.
    let rows = |label: &str| {
        let rows = said.stdout.lines();
        let rows = rows.filter(|line| line.starts_with(label) && line.ends_with(" 0"));
        rows.map(UnicodeWidthStr::width).collect::<Vec<_>>()
    };
    assert_eq!(rows("東京").len(), 1, "{}", said.stdout);
    assert_eq!(rows("東京"), rows("ECN#"), "{}", said.stdout);
    // And signs are part of the names of folders.
    assert!(room.path().join("out/runs/ecn-sharp-s1").is_dir());
}

#[test]
fn json_output_is_a_single_value_on_stdout() {
    let room = Room::with_tiny("json");
    let said = room.run("run tiny.toml --json --quiet --out out --baseline tcn");
    said.ended(0);
    let value: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let result = &value["results"][0];
    assert_eq!(result["finished"], 4);
    assert_eq!(result["report"], "out/report.html");
    assert_eq!(result["summary"]["points"][0]["label"], "tcn");
    let again = room.run("report out --json --quiet --baseline tcn");
    again.ended(0);
    let report: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(report["summary"], result["summary"], "a report from the folder says the same");
}

#[test]
fn scenarios_can_name_their_baseline() {
    let room = Room::with_tiny("baseline-of-scenario");
    let json = |command: &str| {
        let said = room.run(command);
        said.ended(0);
        serde_json::from_str::<serde_json::Value>(&said.stdout).unwrap()
    };
    let plain = json("run tiny.toml --json --quiet --out plain");
    assert!(plain["results"][0]["summary"]["baseline"].is_null());
    let named = json("run tiny.toml --json --quiet --out own --set baseline=tcn");
    assert_eq!(named["results"][0]["summary"]["baseline"], 0);
    let report = json("report own --json --quiet");
    assert_eq!(report["summary"], named["results"][0]["summary"]);
}

#[test]
fn colors_are_for_terminals_or_on_request() {
    let room = Room::new("colour");
    let is_coloured = |said: &Said| said.stdout.contains('\u{1b}');
    assert!(!is_coloured(&room.run("explain tcn")));
    assert!(is_coloured(&room.run("explain tcn --color always")));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let room = Room::new("pipe");
    let mut child =
        room.command(&["list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Closed before the first word.
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert!(!stderr.contains("error"), "{stderr}");
}

#[test]
fn generated_files_name_all_commands() {
    let room = Room::new("generated");
    for shell in ["bash", "zsh", "fish"] {
        let script = room.run(&format!("completions {shell}"));
        script.ended(0);
        assert!(script.stdout.contains("explain"), "{shell}");
    }
    let page = room.run("man");
    page.ended(0);
    assert!(page.stdout.contains(".TH tidegate 1") && page.stdout.contains("explain"));
    let pages = room.run("man --out man");
    pages.ended(0);
    assert!(room.path().join("man/tidegate-run.1").is_file(), "{}", pages.stdout);
    let schema = room.run("schema");
    schema.ended(0);
    let schema: serde_json::Value = serde_json::from_str(&schema.stdout).unwrap();
    assert!(schema["properties"]["switch"].is_object());
}
