//! The state of a port of 8 queues with equal thresholds is below 1 KiB. All of it counts: scheme,
//! scheduler, queues, links and counters, on the heap and off it. Only the slots of waiting packets do
//! not: a new port has none, and allocates nothing else later.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tidegate_dataplane::buffer::PerPort;
use tidegate_dataplane::mark::AnyMarker;
use tidegate_dataplane::sched::AnyScheduler;
use tidegate_dataplane::{Pkt, Port, PortConfig};
use tidegate_testkit::parts::{self, Choice};
use tidegate_units::{Bytes, Ecn, FlowId, PktId, QueueId, Time};

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
/// Schemes that keep tables by flow.
const WITH_TABLES: [&str; 2] = ["diff-ecn", "per-flow-tcn"];
/// Schemes that mark nothing where there is no pool.
const WITHOUT_MARKS: [&str; 2] = ["none", "pool-red"];
/// The largest form of a scheme that tests in general do not try.
const BYTES_AND_AVERAGE: Choice = Choice {
    name: "queue-red",
    settings: &[
        ("threshold", "9KB"),
        ("min_threshold", "1KB"),
        ("average_weight", "1/4"),
        ("correction", "bytes"),
    ],
};

fn schemes() -> impl Iterator<Item = Choice> {
    let all = parts::schemes().into_iter().chain([BYTES_AND_AVERAGE]);
    all.filter(|scheme| !WITH_TABLES.contains(&scheme.name))
}

/// A new port and what it has on the heap, or `None` if the parts do not fit.
fn make(scheme: Choice, scheduler: Choice) -> Option<(Port<AnyMarker, AnyScheduler>, usize)> {
    let before = HELD.get();
    let made = parts::make_scheduler(scheduler).expect("every choice can be made");
    let marker = parts::make_marker(scheme, &made, scheduler.name);
    let marker = marker.expect("every choice can be made")?;
    let port = Port::new(&PortConfig::default(), marker, made);
    Some((port, (HELD.get() - before).unsigned_abs()))
}

#[test]
fn a_port_of_eight_queues_is_below_one_kibibyte() {
    let mut table = Vec::new();
    let mut largest = 0;
    for scheme in schemes() {
        for scheduler in parts::schedulers() {
            if let Some((port, heap)) = make(scheme, scheduler) {
                let bytes = heap + size_of_val(&port);
                drop(port);
                table.push(format!("{bytes:6}  {scheme} / {scheduler}"));
                largest = bytes.max(largest);
            }
        }
    }
    assert!(
        largest < LIMIT,
        "the state of some port is not below {LIMIT} bytes:\n{}",
        table.join("\n")
    );
}

/// What a burst that is marked and overflows adds to the heap of a port, which is then empty again.
fn growth(scheme: Choice, scheduler: Choice) -> Option<isize> {
    const PACKETS: u32 = 2_000;
    let (mut port, _) = make(scheme, scheduler)?;
    let mut buffer = PerPort::new(1, Bytes(1_500_000)).expect("a limit");
    let before = HELD.get();
    for id in 0..PACKETS {
        let pkt = Pkt {
            len: 1500,
            flow: FlowId(id % 50),
            ecn: Ecn::Ect0,
            ..Pkt::default()
        };
        let queue = QueueId((id % u32::from(parts::QUEUES)) as u8);
        // Full at half of them, which is counted.
        let _ = port.enqueue(PktId(id), pkt, queue, Time::ZERO, &mut buffer);
    }
    // So slow that every queue is late for long.
    for id in 0..PACKETS {
        let now = Time::from_us(1_000 * u64::from(id));
        port.dequeue(now, &mut buffer);
    }
    let growth = HELD.get() - before;
    let stats = port.stats();
    assert_eq!(stats.total_drops(), u64::from(PACKETS / 2), "{scheme}");
    assert_eq!(
        stats.total_marks() == 0,
        WITHOUT_MARKS.contains(&scheme.name),
        "{scheme} / {scheduler}"
    );
    Some(growth)
}

#[test]
fn marks_and_drops_add_nothing_to_the_slots_of_waiting_packets() {
    let none = Choice {
        name: "none",
        settings: &[],
    };
    for scheduler in parts::schedulers() {
        // The slots of 1000 packets. A scheduler adds something only where it keeps ranks.
        let slots = growth(none, scheduler).expect("every scheduler does");
        for scheme in schemes() {
            let grown = growth(scheme, scheduler).unwrap_or(slots);
            assert_eq!(grown, slots, "{scheme} / {scheduler}");
        }
    }
}
