//! Messages of `check`, and of `run` before it begins.

use std::fmt::Write;

use crate::program::{Room, TINY};

#[test]
fn check_summarizes_a_scenario() {
    let room = Room::with_tiny("check");
    room.run("check tiny.toml").is("check-fine");
    let main = room.run("check main");
    main.ended(0);
    assert!(main.stdout.contains("21 runs"), "{}", main.stdout);
    let json = room.run("check tiny.toml --json");
    json.ended(0);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let means = &value[0]["means"];
    assert_eq!(means["points"].as_array().unwrap().len(), 2);
    let load = means["points"][0]["offered_load"].as_f64().unwrap();
    assert!((0.5..0.9).contains(&load), "{load}");
    assert_eq!(means["points"][0]["busiest_link"], "switch0>host3");
    assert_eq!(means["points"][0]["thresholds"][0]["value"], "20us");
}

#[test]
fn resolved_scenarios_can_be_checked_again() {
    let room = Room::with_tiny("resolved");
    let resolved = room.run("check tiny.toml --resolved");
    resolved.ended(0);
    room.write("resolved.toml", &resolved.stdout);
    room.run("check resolved.toml").ended(0);
    let mut flows = "id,start_s,src,dst,bytes\n".to_owned();
    for number in 0..1000 {
        writeln!(flows, "{number},{number}e-6,0,1,100").unwrap();
    }
    room.write("flows.csv", &flows);
    room.write("list.toml", "[[traffic]]\nkind = \"list\"\nfile = \"flows.csv\"\n");
    let resolved = room.run("check list.toml --resolved");
    resolved.ended(0);
    assert!(resolved.stdout.lines().count() < 200, "{}", resolved.stdout);
    room.write("resolved-list.toml", &resolved.stdout);
    let again = room.run("check resolved-list.toml");
    again.ended(0);
    assert!(again.stdout.contains("1000 flows"), "{}", again.stdout);
}

#[test]
fn all_errors_are_printed_at_once() {
    let room = Room::new("mistakes");
    let text = TINY
        .replace("hosts = 4", "host = 4")
        .replace("limit = \"30KB\"", "limit = \"much\"")
        .replace("load = 0.7", "load = 70");
    room.write("wrong.toml", &text);
    let said = room.run("check wrong.toml");
    said.ended(1);
    for part in ["unknown key `host`", "`much` cannot be read", "`load` is 70"] {
        said.reports(part);
    }
    let json = room.run("check wrong.toml --json");
    json.ended(1);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(value[0]["problems"].as_array().unwrap().len(), 3);
    assert_eq!(room.run("run wrong.toml").stderr, said.stderr);
}

#[test]
fn overload_is_warned_of_before_the_run() {
    let room = Room::new("overload");
    let text = TINY.replace("load = 0.7", "load = 0.7\nload_on = \"senders\"");
    room.write("silent.toml", &text);
    for command in ["check silent.toml", "run silent.toml --runs 1 --out out"] {
        let said = room.run(command);
        said.ended(0);
        said.reports("warning: switch0>host3 is offered 2");
        said.reports("load_on = \"receivers\"");
    }
    let begun = room.run("run silent.toml --runs 1 --jobs 1 --out other");
    begun.reports("offered load: 2");
    begun.reports("flows arrive within ");
    begun.reports("estimated time ");
    let fine = Room::with_tiny("no-overload").run("check tiny.toml");
    assert_eq!(fine.stderr, "");
}

#[test]
fn the_advice_for_an_overloaded_link_names_keys_of_the_traffic() {
    let room = Room::new("overload-list");
    let mut flows = String::from("id,start_s,src,dst,bytes\n");
    for number in 0..400 {
        let start = f64::from(number) * 1e-5;
        _ = writeln!(flows, "f{number},{start:.6},{},3,100000", number % 3);
    }
    room.write("flows.csv", &flows);
    room.write(
        "list.toml",
        "[topology]\nkind = \"star\"\nhosts = 4\n[[traffic]]\nkind = \"list\"\nfile = \"flows.csv\"\n",
    );
    let said = room.run("check list.toml");
    said.ended(0);
    said.reports("warning: switch0>host3 is offered ");
    said.reports("spread them over more time");
    assert!(!said.stderr.contains("`load`"), "{}", said.stderr);
}

#[test]
fn acks_later_than_the_timeout_are_warned_of() {
    let room = Room::new("late-acks");
    room.write("late.toml", &TINY.replace("tcn-sim", "tcn-testbed"));
    let said = room.run("check late.toml");
    said.ended(0);
    said.reports("`ack_delay`");
    said.reports("timeouts without a loss");
    let said = room.run("check late.toml --set transport.ack_delay=1ms");
    assert_eq!(said.stderr, "");
}

#[test]
fn a_load_relative_to_a_missing_host_rate_is_warned_of() {
    let room = Room::new("other-link");
    room.write("slow.toml", &TINY.replace("load = 0.7", "load = 0.7\nlink = \"1Gbps\""));
    let said = room.run("check slow.toml");
    said.ended(0);
    said.reports("a fraction of 1Gbps (`link`), but the host links run at 10Gbps");
}

#[test]
fn overriding_a_swept_key_ends_its_sweep_with_a_note() {
    let room = Room::new("set-swept");
    let text = TINY.replace("[sweep]", "[sweep]\n\"traffic.0.load\" = [0.3, 0.5]");
    room.write("swept.toml", &text);
    let all = room.run("check swept.toml");
    assert!(all.stdout.contains("8 runs"), "{}", all.stdout);
    let one = room.run("check swept.toml --set traffic.0.load=0.8");
    one.ended(0);
    one.reports("`traffic.0.load` is set and no longer swept: 2 values dropped");
    assert!(one.stdout.contains("4 runs"), "{}", one.stdout);
    let ran = room.run("run swept.toml --set traffic.0.load=0.8 --runs 1 --out out --json");
    ran.ended(0);
    ran.reports("no longer swept");
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(value["results"][0]["finished"], 2);
    // A key inside a value that is swept as a whole cannot be overridden.
    let undone = room.run("check swept.toml --set switch.marking.threshold=60us");
    undone.ended(1);
    undone.reports("would have no effect");
}

#[test]
fn check_finds_an_unknown_baseline() {
    let room = Room::new("check-baseline");
    room.write("wrong.toml", &format!("baseline = \"codel\"\n{TINY}"));
    let said = room.run("check wrong.toml");
    said.ended(1);
    said.reports("`baseline` is `codel`, but no point is called that");
    room.write("right.toml", &format!("baseline = \"tcn\"\n{TINY}"));
    room.run("check right.toml").ended(0);
    // A run of its own has no point to compare with.
    let alone = room.run("check right.toml --set sweep={}");
    alone.ended(0);
    alone.reports("results have no baseline");
}

#[test]
fn folders_and_missing_files_exit_with_2() {
    let room = Room::new("no-scenario");
    let folder = room.run("check .");
    folder.ended(2);
    folder.reports("cannot read .: is a folder");
    room.run("check nowhere.toml").ended(2);
}
