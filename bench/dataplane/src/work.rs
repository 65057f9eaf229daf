//! The loops. Each makes one call per iteration through a pointer that the compiler cannot see
//! through, so that it is the same machine code around the real call and around the empty one.

use std::hint::black_box;

use tidegate_dataplane::buffer::PerPort;
use tidegate_dataplane::mark::{Cx, Marker, Verdict};
use tidegate_dataplane::sched::Scheduler;
use tidegate_dataplane::{Pkt, Port, PortConfig};
use tidegate_units::{Bytes, Ecn, FlowId, PktId, QueueId, Span, Time};

/// Packets that wait in a port: below the default thresholds of 65 packets.
const HELD: u32 = 64;
/// The backlog that decisions see grows to this many packets, past those thresholds, and starts
/// again: most packets pass, some are marked.
const DEEPEST: u32 = 80;
/// One packet of 1500 bytes at 10 Gb/s.
const PACKET_TIME: Span = Span::from_ns(1200);

const PKT: Pkt = Pkt {
    len: 1500,
    flow: FlowId(0),
    ecn: Ecn::Ect0,
    ingress: 0,
    urgency: 0,
};

/// Decides on `iterations` packets, at enqueue and at dequeue.
pub(crate) fn decisions<M: Marker>(mut marker: M, iterations: u32) {
    decision_loop(&mut marker, decide, iterations);
}

/// The same loop around nothing.
pub(crate) fn no_decisions(iterations: u32) {
    decision_loop(&mut (), |(), _, _| 0, iterations);
}

type Decide<M> = fn(&mut M, &Cx, Span) -> u32;

#[inline(never)]
fn decision_loop<M>(marker: &mut M, decide: Decide<M>, iterations: u32) {
    let decide = black_box(decide);
    let mut cx = Cx {
        now: Time::from_ms(1),
        queue: QueueId(0),
        queue_bytes: 0,
        queue_packets: 0,
        port_bytes: 0,
        port_packets: 0,
        pool_bytes: 0,
        pkt: black_box(PKT),
    };
    let mut sum = 0_u32;
    for i in 0..iterations {
        let packets = i % DEEPEST;
        cx.now += PACKET_TIME;
        cx.queue_packets = packets;
        cx.queue_bytes = packets * PKT.len;
        cx.port_packets = packets;
        cx.port_bytes = packets * PKT.len;
        let sojourn = PACKET_TIME * u64::from(packets);
        sum = sum.wrapping_add(decide(marker, &cx, sojourn));
    }
    black_box(sum);
}

fn decide<M: Marker>(marker: &mut M, cx: &Cx, sojourn: Span) -> u32 {
    let at_enqueue = marker.on_enqueue(cx);
    let at_dequeue = marker.on_dequeue(cx, sojourn);
    u32::from(at_enqueue.or(at_dequeue) != Verdict::Pass)
}

/// Enqueues `iterations` packets, and takes one for each once enough are held.
pub(crate) fn pairs<M: Marker, S: Scheduler>(marker: M, scheduler: S, iterations: u32) {
    let queues = scheduler.queues();
    let mut port = Port::new(&PortConfig::default(), marker, scheduler);
    pair_loop(&mut port, pair, queues, iterations);
    black_box(port.stats());
}

/// The same loop around nothing.
pub(crate) fn no_pairs(queues: u8, iterations: u32) {
    pair_loop(&mut (), |(), _, _, _, _| 0, queues, iterations);
}

type Pair<P> = fn(&mut P, &mut PerPort, &Pkt, QueueId, Time) -> u32;

#[inline(never)]
fn pair_loop<P>(port: &mut P, pair: Pair<P>, queues: u8, iterations: u32) {
    let pair = black_box(pair);
    let limit = Bytes::from_kb(300);
    let mut buffer = PerPort::new(4, limit).expect("4 ports of 300 KB are a valid buffer");
    let pkt = black_box(PKT);
    let mut now = Time::ZERO;
    let mut queue = 0;
    let mut sum = 0_u32;
    for _ in 0..iterations {
        now += PACKET_TIME;
        queue += 1;
        if queue == queues {
            queue = 0;
        }
        sum = sum.wrapping_add(pair(port, &mut buffer, &pkt, QueueId(queue), now));
    }
    black_box(sum);
}

fn pair<M: Marker, S: Scheduler>(
    port: &mut Port<M, S>,
    buffer: &mut PerPort,
    pkt: &Pkt,
    queue: QueueId,
    now: Time,
) -> u32 {
    let accepted = port.enqueue(PktId(pkt.len), *pkt, queue, now, buffer);
    if accepted.is_err() || port.packets() <= HELD {
        return 0;
    }
    match port.dequeue(now, buffer) {
        Some(departure) => departure.id.0 + u32::from(departure.ecn.bits()),
        None => 0,
    }
}
