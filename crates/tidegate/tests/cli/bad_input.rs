//! Mistakes: each a clear message and a fitting exit code.

use std::fs::File;
use std::process::Stdio;

use crate::program::{Room, TINY};

/// Checks and runs a scenario that is wrong.
fn wrong(name: &str, text: &str) {
    let room = Room::new(name);
    room.write("wrong.toml", text);
    let checked = room.run("check wrong.toml");
    checked.is(name);
    checked.ended(1);
    let ran = room.run("run wrong.toml");
    ran.ended(2);
    assert_eq!(ran.stderr, checked.stderr, "`run` says the same as `check`");
    assert_eq!(ran.stdout, "");
    assert!(
        !room.path().join("tidegate-results").exists(),
        "nothing is begun"
    );
}

#[test]
fn broken_toml() {
    wrong("broken-toml", &TINY.replace("[topology]", "[topology"));
}

#[test]
fn a_value_of_the_wrong_type() {
    wrong("wrong-type", &TINY.replace("hosts = 4", "hosts = \"many\""));
}

#[test]
fn an_unknown_key() {
    wrong("unknown-key", &TINY.replace("hosts = 4", "host = 4"));
}

#[test]
fn an_unknown_scheme() {
    wrong("unknown-scheme", &TINY.replace("\"none\"", "\"codle\""));
}

#[test]
fn a_negative_rate() {
    wrong(
        "negative-rate",
        &TINY.replace("hosts = 4", "hosts = 4\nhost_rate = \"-1Gbps\""),
    );
}

#[test]
fn hosts_that_cannot_be_reached() {
    wrong(
        "unreachable-host",
        &TINY.replace("to = \"3\"", "to = \"17\""),
    );
}

#[test]
fn a_file_that_does_not_exist() {
    let room = Room::new("no-file");
    room.run("run nowhere.toml").is("no-file");
    room.run("check nowhere.toml").ended(2);
}

#[test]
fn an_override_that_cannot_be() {
    let room = Room::with_tiny("override");
    room.run("run tiny.toml --set switch.buffer.limt=60KB")
        .is("wrong-override");
    room.run("run tiny.toml --set nonsense").ended(2);
}

#[test]
fn a_baseline_that_is_no_point() {
    let room = Room::with_tiny("baseline");
    room.run("run tiny.toml --quiet --baseline codel")
        .is("wrong-baseline");
}

#[test]
fn words_that_are_no_command() {
    let room = Room::new("usage");
    room.run("runn").is("usage");
    room.run("run").ended(2);
    room.run("run x.toml --jobs 0").ended(2);
    room.run("--help").ended(0);
    room.run("--version").ended(0);
}

#[test]
fn a_full_disk_behind_standard_output() {
    let room = Room::new("full");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = room
        .command(&["list"])
        .stdout(Stdio::from(full))
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.starts_with("error: standard output: No space left"),
        "{stderr}"
    );
}
