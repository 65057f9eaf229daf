//! `tidegate testbed` and `tidegate run --on live`.

use std::path::Path;
use std::process::Stdio;

use tidegate_live::namespace::Namespace;

use super::{Folder, out, reaches, signal, talk, tidegate};

const SCENARIO: &str = r#"
name = "small"
[topology]
kind = "star"
hosts = 3
host_rate = "100Mbps"
host_delay = "50us"
[switch]
marking = { kind = "queue-red", threshold = "20pkts" }
buffer = { kind = "per-port", limit = "1MB" }
[transport]
profile = "rfc"
accounting = "ethernet"
rule = { kind = "rfc3168" }
[[traffic]]
kind = "long-lived"
from = "0-1"
to = 2
bytes = "1MB"
[[probe]]
from = 0
to = 2
every = "10ms"
[observe]
ports = ["switch0>host2"]
links = ["switch0>host2"]
flows = "all"
"#;

pub(crate) fn a_scenario_runs_on_real_packets_and_leaves_a_report() {
    let folder = Folder::new("run");
    let file = folder.file("small.toml", SCENARIO);
    let results = folder.0.join("results").display().to_string();
    let output = tidegate(&["run", &file, "--on", "live", "--json", "--out", &results]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", talk(&output));
    let printed: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
    let printed = &printed["results"][0];
    assert_eq!((&printed["finished"], &printed["failed"]), (&1.into(), &serde_json::json!([])));
    assert!(Path::new(printed["report"].as_str().unwrap()).exists());
    let manifest = std::fs::read_to_string(folder.0.join("results/manifest.json")).unwrap();
    assert!(manifest.contains("--on live"), "{manifest}");
    // The report can be rendered again from the files.
    let output = tidegate(&["report", &results]).output().unwrap();
    assert!(output.status.success(), "{}", talk(&output));
}

pub(crate) fn twin_compares_live_and_simulated() {
    let folder = Folder::new("twin");
    let file = folder.file("small.toml", SCENARIO);
    let output = tidegate(&["testbed", "twin", &file, "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", talk(&output));
    let printed: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
    let lines = printed[0]["lines"].as_array().unwrap();
    for what in [
        "switch0>host2 goodput, Mb/s",
        "switch0>host2 q0 mean, KB",
        "switch0>host2 q0 p95, KB",
        "round trip mean, us",
        "completion time mean, us",
    ] {
        let line = lines.iter().find(|line| line["what"] == what);
        let line = line.unwrap_or_else(|| panic!("no {what} in {printed}"));
        for world in ["live", "simulated"] {
            assert!(line[world].as_f64().unwrap() > 0.0, "{line}");
        }
    }
}

pub(crate) fn unsupported_scenarios_are_refused_with_a_hint() {
    let folder = Folder::new("refused");
    let file = folder.file("small.toml", SCENARIO);
    for (change, expected) in [
        ("topology={ kind = \"leaf-spine\" }", "only a star"),
        ("topology.host_rate=10Gbps", "only cables up to 1Gbps"),
        ("transport.mss=1448", "only 1460"),
    ] {
        // Another topology has no ports of these names to observe.
        let arguments = ["testbed", "twin", &file, "--set", change, "--set", "observe={}"];
        let output = tidegate(&arguments).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2), "{change}");
        let talk = talk(&output);
        assert!(talk.starts_with("error: ") || talk.contains("\nerror: "), "{talk}");
        assert!(talk.contains(&format!("hint: {expected}")), "{talk}");
    }
}

/// Why a named testbed cannot be created: another one is up.
pub(crate) fn obstacle() -> Option<String> {
    is_taken().then(|| "a testbed is up on this machine".to_owned())
}

/// Removes a testbed, even if the test fails.
struct Down;

impl Drop for Down {
    fn drop(&mut self) {
        let _ = tidegate(&["testbed", "down"]).output();
    }
}

fn is_taken() -> bool {
    let namespaces = std::fs::read_dir("/run/netns").into_iter().flatten();
    let mut names = namespaces.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.any(|name| name.starts_with("tidegate-host") || name == "tidegate-switch")
}

/// A foreign namespace with a testbed's name.
struct Foreign(&'static str);

impl Foreign {
    fn new(name: &'static str) -> Self {
        Namespace::new().unwrap().set_name(name).unwrap();
        Self(name)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = Namespace::remove(self.0);
    }
}

pub(crate) fn starting_a_testbed_removes_nothing_foreign() {
    let _down = Down;
    let folder = Folder::new("others");
    let file = folder.file("small.toml", SCENARIO);
    let up = |arguments: &[&str]| {
        let mut words = vec!["testbed", "up", &file];
        words.extend(arguments);
        tidegate(&words).output().unwrap()
    };
    // Another switch at the testbed's address is not mistaken for it.
    let other = std::net::TcpListener::bind("127.0.0.1:9755").unwrap();
    let output = up(&[]);
    assert_eq!(output.status.code(), Some(2));
    let said = talk(&output);
    assert!(said.contains("hint: another switch may use it"), "{said}");
    assert!(!is_taken());
    drop(other);
    // A file that can be read only once is refused.
    let output = tidegate(&["testbed", "up", "-"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(talk(&output).contains("a testbed needs a regular file"), "{}", talk(&output));
    let mine = Foreign::new("tidegate-mine");
    // An obstacle is named and not touched.
    let host = Foreign::new("tidegate-host1");
    let output = up(&[]);
    assert_eq!(output.status.code(), Some(2));
    let said = talk(&output);
    assert!(said.contains("tidegate-host1: it exists, and no testbed created it"), "{said}");
    assert!(Namespace::open("tidegate-host0").is_err(), "all or nothing");
    assert!(Namespace::open(host.0).is_ok());
    drop(host);

    let output = up(&["--json"]);
    assert!(output.status.success(), "{}", talk(&output));
    let printed: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
    let first = printed["process"].as_u64().unwrap();
    super::switch::assert_confined(first as u32);
    // A running testbed is stopped only on request.
    let output = up(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(talk(&output).contains("a testbed is already up\nhint: "), "{}", talk(&output));
    let path = format!("/proc/{first}/comm");
    assert!(Path::new(&path).exists() && is_taken());
    let output = up(&["--replace"]);
    assert!(output.status.success(), "{}", talk(&output));
    let output = tidegate(&["testbed", "down"]).output().unwrap();
    assert!(output.status.success(), "{}", talk(&output));
    assert!(!is_taken());
    assert!(Namespace::open(mine.0).is_ok(), "it is none of ours");
}

pub(crate) fn interrupted_start_of_a_testbed_leaves_nothing() {
    let _down = Down;
    let folder = Folder::new("interrupted");
    // Enough hosts to take a while.
    let file = folder.file("large.toml", &SCENARIO.replace("hosts = 3", "hosts = 40"));
    let arguments = ["testbed", "up", &file];
    let start = || tidegate(&arguments).stderr(Stdio::null()).spawn();
    let mut rising = start().unwrap();
    while !is_taken() {
        assert!(rising.try_wait().unwrap().is_none(), "it never was there");
        std::thread::yield_now();
    }
    tidegate_live::ask_to_end(rising.id()).unwrap();
    assert_eq!(rising.wait().unwrap().code(), Some(2));
    assert!(!is_taken());
    // A killed `up` leaves only namespaces that the next one recognises.
    let mut rising = start().unwrap();
    while !is_taken() {
        std::thread::yield_now();
    }
    rising.kill().unwrap();
    rising.wait().unwrap();
    let output = tidegate(&["testbed", "down"]).output().unwrap();
    assert!(output.status.success(), "{}", talk(&output));
    assert!(!is_taken());
}

pub(crate) fn testbed_starts_is_found_again_and_is_removed() {
    let _down = Down;
    let folder = Folder::new("up");
    let file = folder.file("small.toml", SCENARIO);
    let up = || tidegate(&["testbed", "up", &file, "--json"]).output().unwrap();
    let output = up();
    assert!(output.status.success(), "{}", talk(&output));
    let printed: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(printed["hosts"], 3);
    let [first, last] = [0, 2].map(|host| Namespace::open(&format!("tidegate-host{host}")));
    assert!(reaches(&first.unwrap(), &last.unwrap(), "10.77.0.3"));
    let view = tidegate(&["live", "top", "--count", "1"]).output().unwrap();
    assert!(out(&view).contains("3 ports"), "{}", talk(&view));
    // As after a crash: the switch is gone, its hosts remain.
    signal("KILL", printed["process"].as_u64().unwrap() as u32);
    assert!(is_taken());
    // The next `up` removes them; then `down` removes everything.
    let output = up();
    assert!(output.status.success(), "{}", talk(&output));
    assert!(talk(&output).contains("removed leftovers of a testbed"), "{}", talk(&output));
    let output = tidegate(&["testbed", "down"]).output().unwrap();
    assert!(output.status.success(), "{}", talk(&output));
    assert!(!is_taken());
    let output = tidegate(&["testbed", "down"]).output().unwrap();
    assert!(talk(&output).contains("nothing to remove"), "{}", talk(&output));
}
