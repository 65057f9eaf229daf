//! A warm port allocates nothing, for any combination of parts.

use tidegate_dataplane::buffer::{AnyBuffer, Buffer};
use tidegate_dataplane::mark::AnyMarker;
use tidegate_dataplane::sched::AnyScheduler;
use tidegate_dataplane::{Pkt, Port, PortConfig};
use tidegate_harness::allocation::{self, Counting};
use tidegate_testkit::parts;
use tidegate_units::{Ecn, FlowId, PktId, QueueId, Span, Time};

#[global_allocator]
static COUNTING: Counting = Counting;

const WARM_UP: u32 = 20_000;
const PAIRS: u32 = 100_000;
const HELD: u32 = 256;

#[test]
fn a_warm_port_allocates_nothing() {
    let mut guilty = Vec::new();
    let (schemes, schedulers, buffers) = (parts::schemes(), parts::schedulers(), parts::buffers());
    let pairs = schemes.iter().flat_map(|scheme| {
        let buffer = &buffers[0];
        schedulers.iter().map(move |scheduler| (scheme, scheduler, buffer))
    });
    let each_buffer = buffers.iter().map(|buffer| (&schemes[0], &schedulers[0], buffer));
    for (&scheme, &scheduler, &buffer) in pairs.chain(each_buffer) {
        let made = parts::make(scheme, scheduler, buffer).expect("every choice can be built");
        let Some((marker, made, mut charged)) = made else {
            continue;
        };
        let mut port = Port::new(&PortConfig::default(), marker, made);
        drive(&mut port, &mut charged, 0, WARM_UP);
        let before = allocation::count();
        drive(&mut port, &mut charged, WARM_UP, PAIRS);
        let allocations = allocation::count() - before;
        if allocations > 0 {
            guilty.push(format!("{scheme} / {scheduler} / {buffer}: {allocations}"));
        }
    }
    assert!(guilty.is_empty(), "allocations when warm:\n{}", guilty.join("\n"));
}

/// Offers packets, and takes one for each once enough are held or the buffer is full.
fn drive(port: &mut Port<AnyMarker, AnyScheduler>, buffer: &mut AnyBuffer, from: u32, count: u32) {
    for i in from..from + count {
        let now = Time::ZERO + Span::from_ns(1200) * u64::from(i);
        let pkt = Pkt {
            len: 64 + i % 1437,
            flow: FlowId(i % 50),
            ecn: Ecn::Ect0,
            ingress: (i % 8) as u16,
            rank: u64::from(i % 977),
        };
        let queue = QueueId((i % u32::from(parts::QUEUES)) as u8);
        let is_full = port.enqueue(PktId(i), pkt, queue, now, buffer).is_err();
        if is_full || port.packets() > HELD {
            port.dequeue(now, buffer);
        }
        // Polled occasionally, so that changes accumulate in between.
        if i.is_multiple_of(64) {
            while buffer.poll_pause().is_some() {}
        }
    }
}
