//! From load to unload: nothing is left.

use std::collections::BTreeSet;
use std::path::Path;

use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use tidegate_harness::suite;

use crate::bed::{Bed, DEVICE, call};
use crate::program::Loaded;

/// Everything that a port could leave: programs, maps, links, devices, qdiscs, filters and pins.
fn held() -> BTreeSet<String> {
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
fn check_nothing_is_left(before: &BTreeSet<String>) {
    // It frees programs and maps some time after the last use.
    suite::wait_until(|| held() == *before);
    assert_eq!(held(), *before);
}

pub(crate) fn after_unload_nothing_is_left() {
    let bed = Bed::new("dctcp");
    let before = held();
    let loaded = Loaded::new(DEVICE, "--threshold 2ms --rate 50Mbps");
    let during = held();
    for left in ["pins", "tg_enqueue", "tg_mark", "tidegate0", "clsact", "matchall"] {
        assert!(during.iter().any(|line| line.contains(left)), "{left}: {during:#?}");
    }
    bed.transfer(1, 1 << 16);
    loaded.unload();
    check_nothing_is_left(&before);
}
