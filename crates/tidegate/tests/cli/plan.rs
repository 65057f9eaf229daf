//! What `plan` answers, emits and refuses.

use std::fs;
use std::path::Path;

use crate::program::{Room, Said};

const NETWORK: &str = "fabric = { host_ports = \"8x25Gbps\" }\n\
    switch = { buffer = \"16MB\", alpha = 1 }\n\
    rtt = { base = \"20us\" }\n";

fn at_80_columns(room: &Room, line: &str) -> Said {
    let words: Vec<&str> = line.split(' ').collect();
    let output = room.command(&words).env("COLUMNS", "80").output().unwrap();
    Said::new(line, &output)
}

/// Blocks of the guide that show a command: its output is what the program prints today. A line with an
/// ellipsis alone represents what was left out.
#[test]
fn the_guide_shows_what_the_program_prints() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = fs::read_to_string(top.join("docs/guide/plan.md")).unwrap();
    let room = Room::new("plan-guide");
    for name in ["web", "storage", "training"] {
        let text = fs::read_to_string(top.join(format!("networks/{name}.toml"))).unwrap();
        assert!(guide.contains(&text), "the guide has another {name}.toml");
        room.write(&format!("{name}.toml"), &text);
    }
    let shown = guide.split("```text\n$ tidegate ").skip(1);
    let mut blocks = 0;
    for block in shown.filter_map(|block| block.split("```").next()) {
        let (line, expected) = block.split_once('\n').unwrap();
        let said = at_80_columns(&room, line);
        let printed = format!("{}{}", said.stdout, said.stderr);
        for part in expected.split("…\n") {
            assert!(
                printed.contains(part),
                "{line}\nnot printed:\n{part}\nbut:\n{printed}"
            );
        }
        blocks += 1;
    }
    assert!(blocks >= 6, "{blocks}");
}

#[test]
fn the_answer_fits_the_screen_and_the_page_is_the_same_to_the_byte() {
    let room = Room::new("plan-answer");
    room.write("net.toml", NETWORK);
    let said = at_80_columns(&room, "plan net.toml --out a.html --current 1MiB/2MiB/5%");
    said.ended(0);
    let widest = said.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{}", said.stdout);
    assert!(
        said.stdout.contains("45 KB") && said.stdout.contains("TCN §2.1"),
        "{}",
        said.stdout
    );
    at_80_columns(&room, "plan net.toml --out b.html --current 1MiB/2MiB/5%").ended(0);
    let page = |name: &str| fs::read_to_string(room.path().join(name)).unwrap();
    assert_eq!(page("a.html"), page("b.html"));
    assert!(!page("a.html").contains("src=") && page("a.html").contains("What others print"));
}

#[test]
fn json_has_units_in_its_names() {
    let room = Room::new("plan-json");
    room.write("net.toml", NETWORK);
    let said = room.run("plan net.toml --json --current 1MiB/2MiB/5%");
    said.ended(0);
    let value: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(value["queues"][0]["marking"]["min_bytes"], 45_000);
    assert_eq!(value["queues"][0]["delay_ns"], 14_400);
    assert_eq!(value["today"]["queues"][0]["severity"], "costly");
    assert_eq!(value["works"], true);
}

#[test]
fn a_configuration_alone_goes_to_standard_output() {
    let room = Room::new("plan-emit");
    room.write("net.toml", NETWORK);
    let said = room.run("plan net.toml --emit sonic");
    said.ended(0);
    let tables: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(
        tables["WRED_PROFILE"]["TIDEGATE_Q0_25G"]["green_min_threshold"],
        "45000"
    );
    assert!(said.stderr.contains("note: "), "{}", said.stderr);
    // What was written is read back as what the formula says.
    room.write("config_db.json", &said.stdout);
    let again = room.run("plan net.toml --current config_db.json");
    assert!(
        again.stdout.contains("as the formula says"),
        "{}",
        again.stdout
    );
    let patch = room.run("plan net.toml --emit sonic --patch --current config_db.json");
    assert_eq!(patch.stdout, "[]\n");
    for dialect in ["eos", "junos", "nvue", "nxos", "tc"] {
        room.run(&format!("plan net.toml --emit {dialect} --quiet"))
            .ended(0);
    }
    let refused = room.run("plan net.toml --emit nvue --scheme tcn");
    refused.ended(2);
    assert!(refused.stdout.is_empty());
    assert!(
        refused.stderr.contains("the nearest is queue-red"),
        "{}",
        refused.stderr
    );
}

#[test]
fn bad_networks_are_shown_with_line_and_caret_and_what_is_accepted() {
    let room = Room::new("plan-bad");
    let cases = [
        (
            "base = \"20us\"",
            "base = \"0us\"",
            "a round-trip time of zero",
            "net.toml:3:16",
        ),
        (
            "16MB",
            "16KB",
            "a buffer of 16KB is smaller than one threshold, 45KB",
            "net.toml:2:21",
        ),
        (
            "buffer = \"16MB\"",
            "chip = \"trident33\"",
            "did you mean `trident3`?",
            "net.toml:2:19",
        ),
    ];
    for (old, new, message, place) in cases {
        room.write("net.toml", &NETWORK.replace(old, new));
        let said = room.run("plan net.toml");
        said.ended(2);
        let parts = [message, place, "^^^", "help: "];
        assert!(
            parts.iter().all(|part| said.stderr.contains(part)),
            "{}",
            said.stderr
        );
    }
    let weights = "[[queue]]\nweight = 50\n[[queue]]\nweight = 49\n";
    room.write("net.toml", &format!("{NETWORK}{weights}"));
    let said = room.run("plan net.toml");
    said.ended(2);
    assert!(
        said.stderr
            .contains("the weights sum to 99, not to 100: 50 + 49"),
        "{}",
        said.stderr
    );
    room.write("flows.csv", "id,start_s,src,dst,bytes\na,0,0,8,1000\n");
    room.write(
        "net.toml",
        &format!("{NETWORK}traffic = {{ trace = \"flows.csv\" }}\n"),
    );
    let said = room.run("plan net.toml");
    said.ended(2);
    assert!(said.stderr.contains("flows.csv:2:1"), "{}", said.stderr);
    room.write("net.toml", NETWORK);
    room.write("notes.txt", "buy milk\n");
    let said = room.run("plan net.toml --current notes.txt");
    said.ended(2);
    assert!(said.stderr.contains("notes.txt:1:1"), "{}", said.stderr);
    let said = room.run("plan nothing.toml");
    said.ended(2);
    assert!(
        said.stderr.contains("web, storage, training"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_network_on_which_no_threshold_works_is_answered_with_what_would_have_to_change() {
    let room = Room::new("plan-none");
    room.write(
        "net.toml",
        &NETWORK.replace("16MB\", alpha = 1", "100KB\", alpha = \"1/8\""),
    );
    let said = room.run("plan net.toml");
    said.ended(1);
    let parts = [
        "No threshold works on this network",
        "α of at least 1",
        "a buffer of at least 405 KB",
        "a round trip of at most 4.93 us",
        "never",
    ];
    assert!(
        parts.iter().all(|part| said.stdout.contains(part)),
        "{}",
        said.stdout
    );
    let said = room.run("plan net.toml --emit eos");
    said.ended(2);
    assert!(
        said.stderr.contains("what would have to change: "),
        "{}",
        said.stderr
    );
}
