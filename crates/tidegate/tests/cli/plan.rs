//! Answers, configurations and errors of `plan`.

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

/// Blocks of the guide that show a command: the program must still print their output. A line
/// that is only an ellipsis represents omitted lines.
#[test]
fn the_guide_shows_the_output_of_the_program() {
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
            assert!(printed.contains(part), "{line}\nnot printed:\n{part}\nbut:\n{printed}");
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
    assert!(said.stdout.contains("45 KB") && said.stdout.contains("TCN §2.1"), "{}", said.stdout);
    at_80_columns(&room, "plan net.toml --out b.html --current 1MiB/2MiB/5%").ended(0);
    let page = |name: &str| fs::read_to_string(room.path().join(name)).unwrap();
    assert_eq!(page("a.html"), page("b.html"));
    assert!(
        !page("a.html").contains("src=") && page("a.html").contains("Printed settings of others")
    );
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
    // The formula costs nothing beside itself; the template costs tail latency.
    assert_eq!(value["queues"][0]["cost_against_formula"]["small_p99"]["ratio"], 1.0);
    let today = &value["today"]["queues"][0]["cost_against_formula"];
    assert!(today["small_p99"]["low"].as_f64().unwrap() > 2.0, "{today}");
    assert!(today["throughput"]["ratio"].is_f64(), "{today}");
}

#[test]
fn a_configuration_alone_goes_to_standard_output() {
    let room = Room::new("plan-emit");
    room.write("net.toml", NETWORK);
    let said = room.run("plan net.toml --emit sonic");
    said.ended(0);
    let tables: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(tables["WRED_PROFILE"]["TIDEGATE_Q0_25G"]["green_min_threshold"], "45000");
    assert!(said.stderr.contains("note: "), "{}", said.stderr);
    // The configuration, read back, has the formula's thresholds.
    room.write("config_db.json", &said.stdout);
    let again = room.run("plan net.toml --current config_db.json");
    assert!(again.stdout.contains("as the formula says"), "{}", again.stdout);
    let patch = room.run("plan net.toml --emit sonic --patch --current config_db.json");
    assert_eq!(patch.stdout, "[]\n");
    for dialect in ["eos", "junos", "nvue", "nxos", "tc"] {
        room.run(&format!("plan net.toml --emit {dialect} --quiet")).ended(0);
    }
    let refused = room.run("plan net.toml --emit nvue --scheme tcn");
    refused.ended(2);
    assert!(refused.stdout.is_empty());
    assert!(refused.stderr.contains("the nearest is queue-red"), "{}", refused.stderr);
}

#[test]
fn bad_networks_are_shown_with_line_caret_and_accepted_values() {
    let room = Room::new("plan-bad");
    let cases = [
        ("base = \"20us\"", "base = \"0us\"", "a round-trip time of zero", "net.toml:3:16"),
        ("16MB", "16KB", "a buffer of 16KB is smaller than one threshold, 45KB", "net.toml:2:21"),
        (
            "buffer = \"16MB\"",
            "chip = \"trident33\"",
            "for any other chip, write the memory instead: buffer = \"64MB\"",
            "net.toml:2:19",
        ),
    ];
    for (old, new, message, place) in cases {
        room.write("net.toml", &NETWORK.replace(old, new));
        let said = room.run("plan net.toml");
        said.ended(2);
        let parts = [message, place, "^^^", "help: "];
        assert!(parts.iter().all(|part| said.stderr.contains(part)), "{}", said.stderr);
    }
    let weights = "[[queue]]\nweight = 50\n[[queue]]\nweight = 49\n";
    room.write("net.toml", &format!("{NETWORK}{weights}"));
    let said = room.run("plan net.toml");
    said.ended(2);
    assert!(said.stderr.contains("the weights sum to 99, not to 100: 50 + 49"), "{}", said.stderr);
    room.write("flows.csv", "id,start_s,src,dst,bytes\na,0,0,8,1000\n");
    room.write("net.toml", &format!("{NETWORK}traffic = {{ trace = \"flows.csv\" }}\n"));
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
    assert!(said.stderr.contains("web, storage, training"), "{}", said.stderr);
}

#[test]
fn a_network_without_a_working_threshold_names_the_needed_changes() {
    let room = Room::new("plan-none");
    room.write("net.toml", &NETWORK.replace("16MB\", alpha = 1", "100KB\", alpha = \"1/8\""));
    let said = room.run("plan net.toml");
    said.ended(1);
    let parts = [
        "No threshold works on this network",
        "α of at least 1",
        "a buffer of at least 405 KB",
        "a round trip of at most 4.93 µs",
        "never",
    ];
    assert!(parts.iter().all(|part| said.stdout.contains(part)), "{}", said.stdout);
    let said = room.run("plan net.toml --emit eos");
    said.ended(2);
    assert!(said.stderr.contains("needed change: "), "{}", said.stderr);
}

/// A switch of four ports with a lossless queue 3: PFC and a headroom of 300,000 B.
const ROCE: &str = "mtu = 9100\nfabric = { host_ports = \"4x100G\" }\n\
    switch = { chip = \"tomahawk3\", alpha = \"1/8\", os = \"sonic\" }\nrtt = { base = \"12us\" }\n\
    queue = [ { id = 3, name = \"roce\", dscp = 26, transport = \"roce\", lossless = true } ]\n";

fn config_db(pfc: &str, profile: &str) -> String {
    let mut tables = serde_json::json!({
        "WRED_PROFILE": { "WRED": {
            "ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "1048576",
            "green_max_threshold": "2097152", "green_drop_probability": "5",
        } },
        "BUFFER_POOL": { "pool": { "type": "ingress", "mode": "dynamic", "size": "1000000" } },
        "BUFFER_PROFILE": { "pg_lossless_100000_40m_profile": {
            "pool": "pool", "size": "1248", "xon": "2288", "xoff": "300000", "dynamic_th": "-3",
        } },
        "DSCP_TO_TC_MAP": { "AZURE": { "26": "3" } },
        "TC_TO_QUEUE_MAP": { "AZURE": { "3": "3" } },
    });
    for port in ["Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24"] {
        tables["PORT"][port] = serde_json::json!({ "speed": "100000" });
        tables["PORT_QOS_MAP"][port] = serde_json::json!({
            "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_enable": pfc,
        });
        let reference = serde_json::json!({ "profile": "pg_lossless_100000_40m_profile" });
        tables["BUFFER_PG"][format!("{port}|3")] = reference;
        tables["QUEUE"][format!("{port}|3")] = serde_json::json!({ "wred_profile": profile });
    }
    tables.to_string()
}

#[test]
fn a_broken_configuration_ends_with_1_and_names_the_ports() {
    let room = Room::new("plan-broken");
    room.write("net.toml", ROCE);
    room.write("good.json", &config_db("3", "WRED"));
    let said = room.run("plan net.toml --current good.json");
    said.ended(0);
    assert!(said.stdout.contains("α 1/8]"), "{}", said.stdout);
    assert!(said.stdout.contains("not checked: "), "{}", said.stdout);
    room.write("bad.json", &config_db("4", "WERD"));
    let said = room.run("plan net.toml --current bad.json");
    said.ended(1);
    let plain: String = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "broken: PFC is off for lossless queue 3",
        "(4 ports: Ethernet0 to Ethernet24)",
        "there is no WRED_PROFILE `WERD`, which 4 rows of QUEUE refer to; did you mean `WRED`?",
    ] {
        assert!(plain.contains(part), "{part}\n{plain}");
    }
    let said = room.run("plan net.toml --current bad.json --json");
    said.ended(1);
    let value: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(value["today"]["findings"][0]["severity"], "broken");
}

#[test]
fn a_patch_is_small_explains_itself_and_lowers_nothing() {
    let room = Room::new("plan-patch");
    room.write("net.toml", ROCE);
    room.write("config_db.json", &config_db("3,4", "WRED"));
    let patch = "plan net.toml --current config_db.json --emit sonic --patch";
    let said = room.run(patch);
    said.ended(0);
    // One profile in place, and nothing else.
    let operations: Vec<serde_json::Value> = serde_json::from_str(&said.stdout).unwrap();
    let is_of_profile = |one: &serde_json::Value| {
        one["path"].as_str().is_some_and(|path| path.starts_with("/WRED_PROFILE/WRED/"))
    };
    assert!(operations.iter().all(is_of_profile), "{}", said.stdout);
    let summary = "patch: WRED_PROFILE: changes 1 row";
    assert!(said.stderr.contains(summary), "{}", said.stderr);
    // More headroom than the plan's stays.
    let said = room.run(&format!("{patch} --only buffers --headroom computed"));
    said.ended(0);
    let xoff = "/pg_lossless_100000_40m_profile/xoff";
    assert!(!said.stdout.contains(xoff), "{}", said.stdout);
    let kept = "kept: xoff of `pg_lossless_100000_40m_profile` stays 300000 B; the plan has ";
    assert!(said.stderr.contains(kept), "{}", said.stderr);
    let said = room.run(&format!("{patch} --only buffers --headroom computed --allow-reduction"));
    said.ended(0);
    assert!(said.stdout.contains(xoff), "{}", said.stdout);
    assert!(said.stderr.contains("reduced: headroom of priority group 3 falls"), "{}", said.stderr);
    let said = room.run(&format!("{patch} --only pfc"));
    said.ended(0);
    let kept = "kept: pfc_enable of PORT_QOS_MAP stays 3,4; the plan has 3 (4 rows";
    assert!(said.stderr.contains(kept), "{}", said.stderr);
    let said = room.run(&format!("{patch} --only pfc --allow-reduction"));
    said.ended(0);
    assert!(said.stderr.contains("reduced: PFC is switched off for priority 4"), "{}", said.stderr);
    let said = room.run("plan net.toml --emit eos --only pfc");
    said.ended(2);
    assert!(said.stderr.contains("--only and --headroom are for SONiC"), "{}", said.stderr);
}
