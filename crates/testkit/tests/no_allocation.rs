//! A warm port allocates nothing, whatever it is made of.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tidegate_dataplane::buffer::Unlimited;
use tidegate_dataplane::{Pkt, Port, PortConfig};
use tidegate_testkit::parts;
use tidegate_units::{Ecn, FlowId, PktId, QueueId, Span, Time};

/// The system's allocator, counting what each thread asks for: the test runner allocates too.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const WARM_UP: u32 = 20_000;
const PAIRS: u32 = 20_000;
const HELD: u32 = 256;

#[test]
fn a_warm_port_allocates_nothing() {
    let mut guilty = Vec::new();
    for scheme in parts::schemes() {
        for scheduler in parts::schedulers() {
            let made = parts::make_scheduler(scheduler).expect("every choice can be made");
            let marker = parts::make_marker(scheme, &made, scheduler.name);
            let Some(marker) = marker.expect("every choice can be made") else {
                continue;
            };
            let mut port = Port::new(&PortConfig::default(), marker, made);
            let mut drive = |from: u32, count: u32| {
                for i in from..from + count {
                    let now = Time::ZERO + Span::from_ns(1200) * u64::from(i);
                    let pkt = Pkt {
                        len: 64 + i % 1437,
                        flow: FlowId(i % 50),
                        ecn: Ecn::Ect0,
                        urgency: u64::from(i % 977),
                        ..Pkt::default()
                    };
                    let queue = QueueId((i % u32::from(parts::QUEUES)) as u8);
                    let _ = port.enqueue(PktId(i), pkt, queue, now, &mut Unlimited);
                    if port.packets() > HELD {
                        port.dequeue(now, &mut Unlimited);
                    }
                }
            };
            drive(0, WARM_UP);
            let before = ALLOCATIONS.get();
            drive(WARM_UP, PAIRS);
            let allocations = ALLOCATIONS.get() - before;
            if allocations > 0 {
                guilty.push(format!("{scheme} / {scheduler}: {allocations}"));
            }
        }
    }
    assert!(
        guilty.is_empty(),
        "allocations when warm:\n{}",
        guilty.join("\n")
    );
}
