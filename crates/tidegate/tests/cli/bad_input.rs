//! Mistakes: each a clear message and a fitting exit code.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::program::{Room, Said, TINY};

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
    assert!(!room.path().join("tidegate-results").exists(), "nothing is begun");
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
    wrong("negative-rate", &TINY.replace("hosts = 4", "hosts = 4\nhost_rate = \"-1Gbps\""));
}

#[test]
fn unreachable_hosts() {
    wrong("unreachable-host", &TINY.replace("to = \"3\"", "to = \"17\""));
}

#[test]
fn a_file_that_does_not_exist() {
    let room = Room::new("no-file");
    room.run("run nowhere.toml").is("no-file");
    room.run("check nowhere.toml").ended(2);
}

#[test]
fn an_invalid_override() {
    let room = Room::with_tiny("override");
    room.run("run tiny.toml --set switch.buffer.limt=60KB").is("wrong-override");
    room.run("run tiny.toml --set nonsense").ended(2);
}

#[test]
fn an_unknown_baseline() {
    let room = Room::with_tiny("baseline");
    room.run("run tiny.toml --quiet --baseline codel").is("wrong-baseline");
}

#[test]
fn a_trace_of_a_missing_flow() {
    let room = Room::with_tiny("no-flow");
    let said = room.run("run tiny.toml --quiet --trace 1000000");
    said.ended(2);
    for expected in [
        "`trace` is 1000000, which is out of range (at the point",
        "observe.trace=1000000\n   |               ^^^^^^^\n  help: allowed: 0 to ",
    ] {
        assert!(said.stderr.contains(expected), "{}", said.stderr);
    }
    for malformed in ["x", "-1", "1.5", "4294967296"] {
        let said = room.run(&format!("run tiny.toml --quiet --trace {malformed}"));
        said.ended(2);
        let expected = format!(
            "invalid value '{malformed}' for '--trace <FLOW>': allowed: a flow's number in order of start, from 0"
        );
        assert!(said.stderr.contains(&expected), "{}", said.stderr);
    }
    assert!(!room.path().join("tidegate-results").exists(), "nothing is begun");
    let live = room.run("run tiny.toml --on live --trace 0");
    live.ended(2);
    assert!(live.stderr.contains("tcpdump"), "{}", live.stderr);
}

#[test]
fn an_unknown_command() {
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
    let output = room.command(&["list"]).stdout(Stdio::from(full)).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("error: standard output: No space left"), "{stderr}");
}

/// Output of a copy of the program in its own folder, with an empty PATH.
fn alone(room: &Room, arguments: &[&str]) -> Said {
    let copy = room.path().join("tidegate");
    if !copy.exists() {
        // Another process writes the copy: a program that another test starts while this process
        // has the file open would inherit the open file, and a file open for writing cannot be run.
        let cp = Command::new("cp")
            .args([env!("CARGO_BIN_EXE_tidegate").as_ref(), copy.as_path()])
            .status();
        assert!(cp.unwrap().success());
    }
    let mut command = Command::new(copy);
    let output = command.args(arguments).env("PATH", "/none").output();
    Said::new(&arguments.join(" "), &output.unwrap())
}

#[test]
fn a_missing_program_of_the_kernel_s_side_names_its_build_command() {
    for (command, clang, words) in [
        ("host", "clang", ["load", "tg_dctcp", "--set", "gain=1/8", "--dry-run"]),
        ("qdisc", "clang-19", ["load", "eth0", "--set", "rtt=50us", "--dry-run"]),
    ] {
        let name = format!("tidegate-{command}");
        let room = Room::new(&format!("no-{command}"));
        let said = alone(&room, &[command, "status"]);
        said.ended(2);
        said.reports(&format!("`tidegate {command}` needs the program {name}"));
        let packages = "libbpf-dev libelf-dev zlib1g-dev bpftool make pkg-config";
        said.reports(&format!("apt-get install {clang} {packages}"));
        said.reports(&format!("cargo build --release --package {name} --features bpf"));
        // Mistakes are found without it.
        alone(&room, &[command, "lod"]).ended(2);
        alone(&room, &[command, "--help"]).ended(0);
        // With it, it gets the same words.
        let program = room.path().join(&name);
        let write = r#"printf '#!/bin/sh\necho "$@"\nexit 7\n' > "$0" && chmod 755 "$0""#;
        let sh = Command::new("sh").args(["-c", write]).arg(&program).status();
        assert!(sh.unwrap().success());
        let said = alone(&room, &[&[command], &words[..]].concat());
        said.ended(7);
        assert_eq!(said.stdout, format!("{}\n", words.join(" ")));
    }
}

#[test]
fn a_file_that_never_ends_is_refused_by_name_and_limit() {
    let room = Room::with_tiny("endless");
    let sizes = TINY.replace("\"web-search\"", "\"file:/dev/zero\"");
    room.write("sizes.toml", &sizes);
    room.write("list.toml", "[topology]\nkind = \"star\"\nhosts = 4\n[[traffic]]\nkind = \"list\"\nfile = \"/dev/zero\"\n");
    for (line, said) in [
        ("run /dev/zero", "`/dev/zero` cannot be read: it is longer than 4 MiB"),
        ("run sizes.toml", "`/dev/zero` cannot be read: it is longer than 64 MiB"),
        ("run list.toml", "`/dev/zero` cannot be read: it is longer than 64 MiB"),
        ("run list.toml", "raise the limit: --max-file 1GiB"),
        ("run list.toml --max-file 70MiB", "`/dev/zero` cannot be read: it is longer than 70 MiB"),
        ("plan /dev/zero", "`/dev/zero` cannot be read: it is longer than 64 MiB"),
        ("plan web --current /dev/zero", "`/dev/zero` cannot be read: it is longer than 64 MiB"),
    ] {
        let ran = room.run(line);
        ran.ended(2);
        ran.reports(said);
    }
    let zeros = File::open("/dev/zero").unwrap();
    let output = room.command(&["run", "-"]).stdin(zeros).output().unwrap();
    let ran = Said::new("run -", &output);
    ran.ended(2);
    ran.reports("standard input: it is longer than 64 MiB");
}

#[test]
fn text_that_is_not_utf_8_is_named_with_its_line() {
    let room = Room::new("latin-1");
    let bytes = b"name = \"tiny\"\n# a fa\xe7ade\n";
    std::fs::write(room.path().join("latin.toml"), bytes).unwrap();
    let said = room.run("run latin.toml");
    said.ended(2);
    said.reports(
        "`latin.toml` cannot be read: line 2 is not UTF-8 (byte 0xe7): save the file as UTF-8",
    );
}
