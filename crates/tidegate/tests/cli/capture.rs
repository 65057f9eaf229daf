//! Captures: links of a run as read by tshark, and refused captures.

use std::fs;
use std::process::Command;

use crate::program::{Room, TINY};

/// One run of the tiny scenario, with a buffer that makes its port mark.
const ONE: &str = "run tiny.toml --set sweep={} --set switch.marking.kind=tcn --set switch.marking.threshold=20us --runs 1";

/// Fields of all packets of a capture, as tshark reads them.
fn fields(room: &Room, file: &str, names: &[&str]) -> Vec<Vec<String>> {
    let output = Command::new("tshark")
        .args(["-n", "-r", file, "-T", "fields"])
        .args(names.iter().flat_map(|name| ["-e", name]))
        .current_dir(room.path())
        .env("WIRESHARK_CONFIG_DIR", env!("CARGO_TARGET_TMPDIR"))
        .env("TZ", "UTC")
        .output()
        .unwrap_or_else(|error| {
            panic!("cannot run tshark: {error}; on Debian: apt-get install tshark")
        });
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().map(|line| line.split('\t').map(str::to_owned));
    rows.map(Iterator::collect).collect()
}

#[test]
fn tshark_reads_the_links_of_a_run_with_its_marks() {
    let room = Room::with_tiny("capture");
    room.run(&format!("{ONE} --out plain --quiet")).ended(0);
    let said = room
        .run(&format!("{ONE} --out out --capture both.pcapng --at switch0>host3,host3>switch0"));
    said.ended(0);
    assert!(room.results("out") == room.results("plain"), "a capture changes results");

    let names = ["frame.interface_name", "frame.time_epoch", "ip.dsfield.ecn", "_ws.malformed"];
    let rows = fields(&room, "both.pcapng", &names);
    said.reports(&format!("{} packets in both.pcapng", rows.len()));
    let of = |link: &str| rows.iter().filter(|row| row[0] == link).count();
    let (there, back) = (of("switch0>host3"), of("host3>switch0"));
    assert!(there > 100 && back > 100 && there + back == rows.len());
    assert!(rows.iter().all(|row| row[3].is_empty()), "malformed packets");
    assert!(rows.is_sorted_by(|a, b| a[1] <= b[1]), "out of time order");
    assert!(rows.iter().all(|row| row[1].split('.').next_back().unwrap().len() == 9));

    // The marks of the port are the CE packets of its link.
    let run = fs::read_dir(room.path().join("out/runs")).unwrap().next();
    let text = fs::read_to_string(run.unwrap().unwrap().path().join("run.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let marks = record["counters"]["marks"].as_object().unwrap();
    let marks: u64 = marks.values().map(|count| count.as_u64().unwrap()).sum();
    let ce = rows.iter().filter(|row| row[0] == "switch0>host3" && row[2] == "3");
    assert!(marks > 0);
    assert_eq!(ce.count() as u64, marks);
}

#[test]
fn a_capture_with_a_limit_is_cut_with_a_warning() {
    let room = Room::with_tiny("capture-limit");
    let line = format!("{ONE} --out out --capture few.pcapng --at all --capture-limit 50");
    let said = room.run(&line);
    said.ended(0);
    said.reports("warning: the capture reached its limit of 50 packets at ");
    assert_eq!(fields(&room, "few.pcapng", &["frame.number"]).len(), 50);
}

#[test]
fn impossible_captures_are_refused_before_the_run() {
    let room = Room::with_tiny("capture-refused");
    room.write("there.pcapng", "precious");
    let refused = |line: &str, texts: &[&str]| {
        let said = room.run(line);
        said.ended(2);
        for text in texts {
            said.reports(text);
        }
        assert!(!room.path().join("tidegate-results").exists(), "{line}");
    };
    let capture = "--capture new.pcapng --at";
    refused(
        &format!("{ONE} {capture} switch0>host9"),
        &[
            "there is no link `switch0>host9` in this network",
            "did you mean `switch0>host",
            "links: host0>switch0, switch0>host0, ",
        ],
    );
    refused(&format!("{ONE} {capture} switch0"), &["in a shell the name needs quotes"]);
    refused(
        &format!("run tiny.toml {capture} all"),
        &["--capture takes a single run, and tiny.toml has 4 runs", "--set runs=1 --set seed=1"],
    );
    refused(
        &format!("{ONE} --capture there.pcapng --at all"),
        &["there.pcapng already exists", "choose another file"],
    );
    refused(
        &format!("run tiny.toml tiny.toml {capture} all"),
        &["--capture takes one scenario, and 2 files are given"],
    );
    refused(&format!("{ONE} {capture} all --resume"), &["cannot be used with"]);
    refused(&format!("{ONE} {capture} all --trace 0"), &["cannot be used with"]);
    refused(
        &format!("{ONE} {capture} all --set observe.trace=0"),
        &["a run can be captured or traced, not both"],
    );
    refused(&format!("{ONE} --capture new.pcapng"), &["--at"]);
    assert!(!room.path().join("new.pcapng").exists());
    assert_eq!(fs::read(room.path().join("there.pcapng")).unwrap(), b"precious");
    refused(
        &format!("{ONE} --capture nowhere/new.pcapng --at all"),
        &["cannot write the capture nowhere/new.pcapng: folder nowhere does not exist"],
    );
}

#[test]
fn an_interrupted_capture_leaves_no_file() {
    let room = Room::new("capture-interrupted");
    let long = TINY.replace("flows = 100", "flows = 2000000");
    room.write("tiny.toml", &long);
    let file = room.path().join("cut.pcapng");
    let line = format!("{ONE} --out out --capture cut.pcapng --at all");
    let said = room.interrupted(&line, || file.exists());
    said.ended(1);
    assert!(!file.exists());
}
