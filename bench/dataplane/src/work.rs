//! The loops. The work is inlined into them, as a host inlines it into its own loop; the same loops
//! around no work show what is theirs.

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
    decision_loop(iterations, |cx, sojourn| {
        let at_enqueue = marker.on_enqueue(cx);
        let at_dequeue = marker.on_dequeue(cx, sojourn);
        u32::from(at_enqueue.or(at_dequeue) != Verdict::Pass)
    });
}

/// The same loop around nothing.
pub(crate) fn no_decisions(iterations: u32) {
    decision_loop(iterations, |cx, _| cx.queue_bytes);
}

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "the loop must be compiled around each kind of work"
)]
fn decision_loop(iterations: u32, mut decide: impl FnMut(&Cx, Span) -> u32) {
    let mut cx = Cx {
        now: Time::from_ms(1),
        queue: black_box(QueueId(0)),
        queue_bytes: 0,
        queue_packets: 0,
        port_bytes: 0,
        port_packets: 0,
        pool_bytes: 0,
        pkt: black_box(PKT),
    };
    let mut packets = 0;
    let mut sum = 0_u32;
    for _ in 0..iterations {
        packets = if packets == DEEPEST { 0 } else { packets + 1 };
        cx.now += PACKET_TIME;
        cx.queue_packets = packets;
        cx.queue_bytes = packets * PKT.len;
        cx.port_packets = cx.queue_packets;
        cx.port_bytes = cx.queue_bytes;
        let sojourn = PACKET_TIME * u64::from(packets);
        sum = sum.wrapping_add(decide(&cx, sojourn));
    }
    black_box(sum);
}

/// Enqueues `iterations` packets, and takes one for each once enough are held.
pub(crate) fn pairs<M: Marker, S: Scheduler>(marker: M, scheduler: S, iterations: u32) {
    let queues = scheduler.queues();
    let mut port = Port::new(&PortConfig::default(), marker, scheduler);
    let limit = Bytes::from_kb(300);
    let mut buffer = PerPort::new(4, limit).expect("4 ports of 300 KB are a valid buffer");
    pair_loop(queues, iterations, |pkt, queue, now| {
        let accepted = port.enqueue(PktId(pkt.len), *pkt, queue, now, &mut buffer);
        if accepted.is_err() || port.packets() <= HELD {
            return 0;
        }
        match port.dequeue(now, &mut buffer) {
            Some(departure) => departure.id.0 + u32::from(departure.ecn.bits()),
            None => 0,
        }
    });
    black_box(port.stats());
}

/// The same loop around nothing.
pub(crate) fn no_pairs(queues: u8, iterations: u32) {
    pair_loop(queues, iterations, |_, queue, _| u32::from(queue.0));
}

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "the loop must be compiled around each kind of work"
)]
fn pair_loop(queues: u8, iterations: u32, mut pair: impl FnMut(&Pkt, QueueId, Time) -> u32) {
    let pkt = black_box(PKT);
    let queues = black_box(queues);
    let mut now = Time::ZERO;
    let mut queue = 0;
    let mut sum = 0_u32;
    for _ in 0..iterations {
        now += PACKET_TIME;
        queue += 1;
        if queue == queues {
            queue = 0;
        }
        sum = sum.wrapping_add(pair(&pkt, QueueId(queue), now));
    }
    black_box((sum, now));
}
