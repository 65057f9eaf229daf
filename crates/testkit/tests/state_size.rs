//! The state of a port with 8 queues is below 1 KiB, also with thresholds that differ by queue and
//! with any division of the queues into groups. Everything counts: scheme, scheduler, queues, links
//! and counters, on the heap and off it. The only exception are the slots of waiting packets: a new
//! port has none, and allocates nothing else later.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tidegate_dataplane::buffer::PerPort;
use tidegate_dataplane::mark::AnyMarker;
use tidegate_dataplane::sched::{self, AnyScheduler};
use tidegate_dataplane::{Pkt, Port, PortConfig};
use tidegate_testkit::parts::{self, Choice};
use tidegate_units::{Bytes, Ecn, FlowId, PktId, QueueId, Time};

/// The system's allocator, counting the bytes that each thread holds, because the test runner holds
/// some too.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "an allocator needs unsafe code")]
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
/// Schemes with tables by flow.
const WITH_TABLES: [&str; 3] = ["diff-ecn", "ideal-share", "per-flow-tcn"];
/// Schemes that mark nothing without a pool.
const WITHOUT_MARKS: [&str; 2] = ["none", "pool-red"];
const EACH: &str = "9KB, 8KB, 7KB, 6KB, 5KB, 4KB, 3KB, 2KB";
const EACH_LOW: &str = "1KB, 2KB, 1KB, 2KB, 1KB, 2KB, 1KB, 2KB";

const fn choice(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Choice {
    Choice { name, settings }
}

/// Large forms of schemes that other tests do not cover.
const LARGE: &[Choice] = &[
    choice("ecn-sharp", &[("ins_min_target", "100us")]),
    choice("ideal-red", &[("thresholds", EACH)]),
    choice("mq-ecn", &[("strict_threshold", EACH), ("threshold", "9pkts")]),
    choice(
        "port-red",
        &[
            ("threshold", "9KB"),
            ("min_threshold", "1KB"),
            ("average_weight", "1/4"),
            ("correction", "bytes"),
        ],
    ),
    choice("queue-red", &[("threshold", EACH)]),
    choice(
        "queue-red",
        &[("threshold", EACH), ("min_threshold", EACH_LOW), ("max_probability", "1/2")],
    ),
    choice(
        "queue-red",
        &[("threshold", EACH), ("min_threshold", EACH_LOW), ("average_weight", "1/4")],
    ),
    choice(
        "queue-red",
        &[
            ("threshold", EACH),
            ("min_threshold", EACH_LOW),
            ("average_weight", "1/4"),
            ("correction", "packets"),
        ],
    ),
    choice(
        "queue-red",
        &[
            ("threshold", EACH),
            ("min_threshold", EACH_LOW),
            ("average_weight", "1/4"),
            ("correction", "bytes"),
            ("decide", "dequeue"),
        ],
    ),
];

fn schemes() -> impl Iterator<Item = Choice> {
    let all = parts::schemes().into_iter().chain(LARGE.iter().copied());
    all.filter(|scheme| !WITH_TABLES.contains(&scheme.name))
}

/// The parameters of a scheduler.
fn scheduling(choice: Choice) -> sched::Config {
    let mut config =
        sched::Config::named(choice.name).expect("every scheduler in the list is known");
    for (field, text) in choice.settings {
        config.set(field, text).expect("every setting in the list is valid");
    }
    config
}

/// All lists of numbers with the sum `sum`.
fn compositions(sum: u8) -> Vec<Vec<u8>> {
    let with = |first| {
        let others = compositions(sum - first).into_iter();
        others.map(move |others| [vec![first], others].concat())
    };
    match sum {
        0 => vec![Vec::new()],
        _ => (1..=sum).flat_map(with).collect(),
    }
}

/// Text of a list of `count` values.
fn list(count: usize, value: &str) -> String {
    vec![value; count].join(", ")
}

/// Every scheduler of two levels with every division of 8 queues.
fn divisions() -> Vec<sched::Config> {
    let mut all = Vec::new();
    for strict in 0..parts::QUEUES {
        let inside = usize::from(parts::QUEUES - strict);
        for groups in compositions(parts::QUEUES - strict) {
            for (name, field) in [
                ("sp-dwrr", "quanta"),
                ("sp-pifo", "weights"),
                ("sp-wfq", "weights"),
                ("sp-wrr", "quanta"),
            ] {
                let mut config =
                    sched::Config::named(name).expect("every scheduler in the list is known");
                let sizes: Vec<_> = groups.iter().map(ToString::to_string).collect();
                for (field, text) in [
                    (field, list(inside, "1500")),
                    ("strict", strict.to_string()),
                    ("groups", sizes.join(", ")),
                ] {
                    config.set(field, &text).expect("every setting in the list is valid");
                }
                all.push(config);
            }
        }
    }
    all
}

/// A new port and its bytes on the heap, or `None` if the parts do not fit together.
fn make(
    scheme: Choice,
    scheduling: &sched::Config,
) -> Option<(Port<AnyMarker, AnyScheduler>, usize)> {
    let before = HELD.get();
    let made = scheduling.build().expect("every choice can be built");
    let marker = parts::make_marker(scheme, &made, scheduling.name());
    let marker = marker.expect("every choice can be built")?;
    let port = Port::new(&PortConfig::default(), marker, made);
    Some((port, (HELD.get() - before).unsigned_abs()))
}

/// Bytes of a new port, or `None` if the parts do not fit together.
fn size(scheme: Choice, scheduling: &sched::Config) -> Option<usize> {
    let (port, heap) = make(scheme, scheduling)?;
    Some(heap + size_of_val(&port))
}

#[test]
fn a_port_of_eight_queues_is_below_one_kibibyte() {
    let mut table = Vec::new();
    for scheme in schemes() {
        for scheduler in parts::schedulers() {
            if let Some(bytes) = size(scheme, &scheduling(scheduler)) {
                table.push((bytes, format!("{scheme} / {scheduler}")));
            }
        }
    }
    assert_small(table);
}

#[test]
fn a_port_of_eight_queues_in_any_groups_is_below_one_kibibyte() {
    let mut table = Vec::new();
    let divisions = divisions();
    assert_eq!(divisions.len(), 4 * 255, "every division once");
    for scheme in schemes() {
        for scheduling in &divisions {
            if let Some(bytes) = size(scheme, scheduling) {
                table.push((bytes, format!("{scheme} / {scheduling:?}")));
            }
        }
    }
    assert_small(table);
}

fn assert_small(mut table: Vec<(usize, String)>) {
    table.sort();
    let too_large = table.iter().filter(|(bytes, _)| *bytes >= LIMIT);
    let too_large: Vec<_> = too_large.map(|(bytes, ports)| format!("{bytes:6}  {ports}")).collect();
    assert!(
        too_large.is_empty(),
        "the state of these ports is not below {LIMIT} bytes:\n{}",
        too_large.join("\n")
    );
}

/// Bytes that a burst with marks and drops adds to the heap of a port, which is empty again
/// afterwards.
fn growth(scheme: Choice, scheduler: Choice) -> Option<isize> {
    const PACKETS: u32 = 2_000;
    let (mut port, _) = make(scheme, &scheduling(scheduler))?;
    let mut buffer = PerPort::new(1, Bytes(1_500_000)).expect("the limit is valid");
    let before = HELD.get();
    for id in 0..PACKETS {
        let pkt = Pkt { len: 1500, flow: FlowId(id % 50), ecn: Ecn::Ect0, ..Pkt::default() };
        let queue = QueueId((id % u32::from(parts::QUEUES)) as u8);
        // Full at half of them, as asserted below.
        let _ = port.enqueue(PktId(id), pkt, queue, Time::ZERO, &mut buffer);
    }
    // So slow that every queue stays late for a long time.
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
    let none = Choice { name: "none", settings: &[] };
    for scheduler in parts::schedulers() {
        // The slots of 1000 packets. A scheduler adds to them only if it keeps ranks.
        let slots = growth(none, scheduler).expect("`none` works with every scheduler");
        for scheme in schemes() {
            let grown = growth(scheme, scheduler).unwrap_or(slots);
            assert_eq!(grown, slots, "{scheme} / {scheduler}");
        }
    }
}
