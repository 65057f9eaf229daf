//! From load to unload: nothing is left.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use tidegate_harness::suite;

use crate::bed::{Bed, DEVICE, call};
use crate::program::{Loaded, command, run, succeed};

/// Settings of a port.
const PORT: &str = "--threshold 2ms --rate 50Mbps";

/// Everything that a port could leave: programs, maps, links, devices, qdiscs, filters and pins.
pub(crate) fn held() -> BTreeSet<String> {
    let programs = ProgInfoIter::default();
    let maps = MapInfoIter::default();
    let links = LinkInfoIter::default();
    let mut held: BTreeSet<_> = programs
        .map(|program| format!("program {} {}", program.id, program.name.display()))
        .chain(maps.map(|map| format!("map {} {}", map.id, map.name.display())))
        .chain(links.map(|link| format!("link {}", link.id)))
        .collect();
    for command in ["ip -oneline link show", "tc qdisc show", "tc filter show dev right egress"] {
        held.extend(call(command).lines().map(str::to_owned));
    }
    if Path::new("/sys/fs/bpf/tidegate-qdisc").exists() {
        held.insert("pins".to_owned());
    }
    held
}

/// Everything is as before, at the latest when the kernel has cleaned up.
pub(crate) fn check_nothing_is_left(before: &BTreeSet<String>) {
    // It frees programs and maps some time after the last use.
    suite::wait_until(|| held() == *before);
    assert_eq!(held(), *before);
}

pub(crate) fn after_unload_nothing_is_left() {
    let bed = Bed::new("dctcp");
    let before = held();
    let loaded = Loaded::new(DEVICE, PORT);
    let during = held();
    for left in ["pins", "tg_enqueue", "tg_mark", "tidegate0", "clsact", "matchall"] {
        assert!(during.iter().any(|line| line.contains(left)), "{left}: {during:#?}");
    }
    bed.transfer(1, 1 << 16);
    loaded.unload();
    check_nothing_is_left(&before);
}

pub(crate) fn a_dry_run_changes_nothing() {
    let _bed = Bed::new("cubic");
    let before = held();
    let said = succeed(&format!("load {DEVICE} {PORT} --dry-run"));
    assert!(said.starts_with("would load right by a BPF qdisc, tcn over fifo at 50Mbps"), "{said}");
    assert!(said.contains("\n  tc qdisc add dev tidegate0 root tidegate0\n"), "{said}");
    check_nothing_is_left(&before);
}

pub(crate) fn unload_under_load_loses_no_packet() {
    let bed = Bed::new("dctcp");
    let before = held();
    let counted = (bed.sent(), bed.received());
    let loaded = Loaded::new(DEVICE, PORT);
    let counters = thread::scope(|scope| {
        scope.spawn(|| bed.transfer(2, 1 << 20));
        // Packets wait.
        let waits = || loaded.status()["counters"]["queues"][0]["sojourn"]["p50_ns"].as_u64();
        assert!(suite::wait_until(|| waits() > Some(1_000_000)));
        loaded.unload()
    });
    let sent = counters["sent"]["packets"].as_u64().unwrap();
    assert!(sent > 100, "{counters:#}");
    // The rest of the transfer went by without a port.
    assert!(bed.sent() - counted.0 > sent);
    assert_eq!(counters["drops"], serde_json::json!({}));
    assert_eq!(bed.sent() - counted.0, bed.received() - counted.1);
    check_nothing_is_left(&before);
}

pub(crate) fn a_load_that_is_killed_leaves_nothing_or_is_cleaned_up() {
    let _bed = Bed::new("cubic");
    let before = held();
    let mut halves = 0;
    // At different moments, from before it begins until after it is done.
    let whole = time_of_a_load();
    for round in 0..12 {
        let mut load = command(&format!("load {DEVICE} {PORT} --quiet"));
        let mut child = load.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::park_timeout(whole * round / 11);
        let _ = child.kill();
        child.wait().unwrap();
        if held() == before {
            continue;
        }
        halves += 1;
        if round % 2 == 0 {
            // A load removes the remains first.
            run(&format!("load {DEVICE} {PORT}"));
        }
        succeed("unload");
        check_nothing_is_left(&before);
    }
    assert!(halves > 2, "{halves}");
}

/// Duration of a load.
#[expect(clippy::disallowed_methods, reason = "the clock of the machine is virtual")]
fn time_of_a_load() -> Duration {
    let begun = std::time::Instant::now();
    let loaded = Loaded::new(DEVICE, PORT);
    let elapsed = begun.elapsed();
    loaded.unload();
    elapsed
}

pub(crate) fn a_qdisc_and_filters_of_others_are_named_and_kept() {
    let _bed = Bed::new("cubic");
    call("tc qdisc add dev right root handle 7: prio");
    call("tc qdisc add dev right clsact");
    let filter = "protocol all pref 9 handle 1 matchall action mirred egress mirror dev lo";
    call(&format!("tc filter add dev right ingress {filter}"));
    let before = held();
    let refused = |words: &str, expected: &str| {
        let output = run(words);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), errors), (Some(2), format!("error: {expected}\n")));
    };
    refused(
        &format!("load right {PORT}"),
        "right already has the qdisc prio 7:\n\
         hint: --replace keeps it behind the port, which must be the slower of the two",
    );
    let loaded = Loaded::new("right", &format!("{PORT} --replace"));
    loaded.unload();
    check_nothing_is_left(&before);
    call(&format!("tc filter add dev right egress {filter}"));
    refused(
        &format!("load right {PORT} --replace"),
        "right already has the egress filter matchall lo, beside which a port cannot work\n\
         hint: tc filter show dev right egress",
    );
    call("tc qdisc del dev right clsact");
    call("tc qdisc add dev right ingress");
    refused(
        &format!("load right {PORT} --replace"),
        "right already has the qdisc ingress ffff:, beside which a port cannot work\n\
         hint: tc qdisc replace dev right clsact",
    );
}
