//! The state of a port of 8 queues is below 1 KiB: its scheme, scheduler, queues and links. What
//! does not decide anything is not state: the counters, 352 bytes whatever the parts, and the slots
//! of waiting packets.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tidegate_dataplane::{Port, PortConfig, PortStats};
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
/// Marks and drops of the port by reason, and packets and bytes in, marks and drops of each queue.
const COUNTERS: usize = size_of::<PortStats>() + 8 * 4 * size_of::<u64>();
/// Schemes that keep tables by flow.
const WITH_TABLES: [&str; 2] = ["diff-ecn", "per-flow-tcn"];

#[test]
fn a_port_of_eight_queues_is_below_one_kibibyte() {
    let mut table = Vec::new();
    let mut largest = 0;
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
            let bytes = heap + size_of_val(&port) - COUNTERS;
            drop(port);
            table.push(format!("{bytes:6}  {scheme} / {scheduler}"));
            largest = largest.max(bytes);
        }
    }
    assert!(
        largest < LIMIT,
        "the state of a port is below {LIMIT} bytes:\n{}",
        table.join("\n")
    );
}
