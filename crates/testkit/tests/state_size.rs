//! The state of a port of 8 queues is below 1 KiB, but for some schemes under some schedulers. All of
//! it counts: scheme, scheduler, queues, links and counters, on the heap and off it. Only the slots of
//! waiting packets do not: a new port has none, and allocates nothing else later.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;

use tidegate_dataplane::{Port, PortConfig};
use tidegate_testkit::parts;

/// The system's allocator, counting the bytes that each thread holds: the test runner has some too.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get() + layout.size().cast_signed());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const LIMIT: usize = 1024;
/// The schemes that reach the limit under some scheduler, and the most that they take: RED with a
/// moving average and a correction keeps three numbers for each queue.
const ABOVE: &[(&str, usize)] = &[("queue-red", 1080)];
/// Schemes that keep tables by flow.
const WITH_TABLES: [&str; 2] = ["diff-ecn", "per-flow-tcn"];

#[test]
fn a_port_of_eight_queues_is_below_one_kibibyte_but_for_the_listed_schemes() {
    let mut table = Vec::new();
    let mut above = BTreeMap::new();
    let schemes = parts::schemes()
        .into_iter()
        .filter(|scheme| !WITH_TABLES.contains(&scheme.name));
    for scheme in schemes {
        for scheduler in parts::schedulers() {
            let before = HELD.get();
            let made = parts::make_scheduler(scheduler).expect("every choice can be made");
            let marker = parts::make_marker(scheme, &made, scheduler.name);
            let Some(marker) = marker.expect("every choice can be made") else {
                continue;
            };
            let port = Port::new(&PortConfig::default(), marker, made);
            let heap = (HELD.get() - before).unsigned_abs();
            let bytes = heap + size_of_val(&port);
            drop(port);
            table.push(format!("{bytes:6}  {scheme} / {scheduler}"));
            if bytes >= LIMIT {
                let largest = above.entry(scheme.name).or_insert(0);
                *largest = bytes.max(*largest);
            }
        }
    }
    assert_eq!(
        above.into_iter().collect::<Vec<_>>(),
        ABOVE,
        "the state of every other port is below {LIMIT} bytes:\n{}",
        table.join("\n")
    );
}
