//! The measured loops. Their work is either compiled into them, as in a host, or called through a
//! pointer that is opaque to the compiler. The same loops without work measure their own cost.

use std::hint::black_box;

use tidegate_dataplane::buffer::{self, AnyBuffer, PerPort, per_port};
use tidegate_dataplane::egress::{Egress, Offer, Sent, Served};
use tidegate_dataplane::mark::{Cx, MarkDecision, Marker};
use tidegate_dataplane::sched::Scheduler;
use tidegate_dataplane::{Departure, Pkt, Port, PortConfig};
use tidegate_units::{Bytes, Ecn, FlowId, PktId, QueueId, Size, Span, Time};

/// Packets waiting in a port: below the default thresholds of 65 packets.
const HELD: u32 = 64;
/// Buffer limit of the port in bytes.
const LIMIT: Bytes = Bytes::from_kb(300);
/// The backlog that decisions see grows to this many packets, past those thresholds, and restarts:
/// most packets pass, some are marked.
const DEEPEST: u32 = 80;
/// Packets that a host hands over in one call, if it can.
const BATCH: u32 = 4;
/// One packet of 1500 bytes at 10 Gb/s.
const PACKET_TIME: Span = Span::from_ns(1200);

const PKT: Pkt = Pkt { len: 1500, flow: FlowId(0), ecn: Ecn::Ect0, ingress: 0, rank: 0 };

/// The work compiled into the loops.
pub(crate) mod inlined {
    pub(crate) use super::{decisions, pairs};
}

/// The same work, called.
pub(crate) mod called {
    use super::{
        Cx, Marker, Pkt, QueueId, Scheduler, Span, Switch, Time, black_box, decide, decision_loop,
        pair, pair_loop,
    };

    type Decide<M> = fn(&mut M, &Cx, Span) -> u32;
    type Pair<P> = fn(&mut P, &Pkt, QueueId, Time) -> u32;

    pub(crate) fn decisions<M: Marker>(mut marker: M, iterations: u32) {
        let decide: Decide<M> = black_box(decide);
        decision_loop(iterations, |cx, sojourn| decide(&mut marker, cx, sojourn));
    }

    pub(crate) fn no_decisions(iterations: u32) {
        let decide: Decide<()> = black_box(|(), _, _| 0);
        decision_loop(iterations, |cx, sojourn| decide(&mut (), cx, sojourn));
    }

    pub(crate) fn pairs<M: Marker, S: Scheduler>(marker: M, scheduler: S, iterations: u32) {
        let queues = scheduler.queues();
        let mut switch = Switch::new(marker, scheduler);
        let pair: Pair<Switch<M, S>> = black_box(pair);
        pair_loop(queues, iterations, |pkt, queue, now| pair(&mut switch, pkt, queue, now));
        black_box(switch.port.stats());
    }

    pub(crate) fn no_pairs(queues: u8, iterations: u32) {
        let pair: Pair<()> = black_box(|(), _, _, _| 0);
        pair_loop(queues, iterations, |pkt, queue, now| pair(&mut (), pkt, queue, now));
    }
}

/// Decides on `iterations` packets, at enqueue and at dequeue.
pub(crate) fn decisions<M: Marker>(mut marker: M, iterations: u32) {
    decision_loop(iterations, |cx, sojourn| decide(&mut marker, cx, sojourn));
}

/// The same loop without work.
pub(crate) fn no_decisions(iterations: u32) {
    decision_loop(iterations, |cx, _| cx.queue_bytes);
}

#[inline]
fn decide<M: Marker>(marker: &mut M, cx: &Cx, sojourn: Span) -> u32 {
    let at_enqueue = marker.on_enqueue(cx);
    let at_dequeue = marker.on_dequeue(cx, sojourn);
    u32::from(at_enqueue.or(at_dequeue) != MarkDecision::Pass)
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the loop must be compiled around each kind of work")]
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

/// A port and its buffer.
struct Switch<M, S> {
    port: Port<M, S>,
    buffer: PerPort,
}

impl<M: Marker, S: Scheduler> Switch<M, S> {
    fn new(marker: M, scheduler: S) -> Self {
        Self {
            port: Port::new(&PortConfig::default(), marker, scheduler),
            buffer: PerPort::new(4, LIMIT).expect("4 ports of 300 KB are a valid buffer"),
        }
    }
}

/// Enqueues `iterations` packets, and takes one for each once enough are held.
pub(crate) fn pairs<M: Marker, S: Scheduler>(marker: M, scheduler: S, iterations: u32) {
    let queues = scheduler.queues();
    let mut switch = Switch::new(marker, scheduler);
    pair_loop(queues, iterations, |pkt, queue, now| pair(&mut switch, pkt, queue, now));
    black_box(switch.port.stats());
}

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "compiled into the loop, or into a function that the loop calls"
)]
fn pair<M: Marker, S: Scheduler>(
    Switch { port, buffer }: &mut Switch<M, S>,
    pkt: &Pkt,
    queue: QueueId,
    now: Time,
) -> u32 {
    let accepted = port.enqueue(PktId(pkt.len), *pkt, queue, now, buffer);
    if accepted.is_err() || port.packets() <= HELD {
        return 0;
    }
    match port.dequeue(now, buffer) {
        Some(departure) => sum(&departure),
        None => 0,
    }
}

#[inline]
fn sum(departure: &Departure) -> u32 {
    departure.id.0 + u32::from(departure.ecn.bits())
}

/// Packets arrive at the rate of the wire, behind a constant backlog, so that each arrival takes
/// one departure. The call, its arguments and reading the departure are part of the work.
pub(crate) fn virtual_pairs(port: Box<dyn Egress>, iterations: u32) {
    let (mut port, mut buffer, mut out) = filled(port);
    pair_loop(port.queues(), iterations, |pkt, queue, now| {
        let accepted = port.arrive(PktId(pkt.len), *pkt, queue, now, &mut buffer, &mut out);
        if accepted.is_err() {
            return 0;
        }
        out.pop().map_or(0, |departure| sum(&departure))
    });
    assert_eq!(port.packets(), HELD, "one departure for each arrival");
    black_box(port.stats());
}

/// The same, several packets per call. The call and its arguments are part of the work; writing
/// offers and reading departures are the host's.
pub(crate) fn served_pairs(port: Box<dyn Egress>, iterations: u32) {
    let (mut port, mut buffer, _) = filled(port);
    batch_loop(port.queues(), iterations, |offers, until, served| {
        served.sent.clear();
        port.serve(offers, until, &mut buffer, served);
    });
    assert_eq!(port.packets(), HELD, "one departure for each arrival");
    black_box(port.stats());
}

/// Fills a port with the held packets, plus one that leaves with the first arrival.
fn filled(port: Box<dyn Egress>) -> (Box<dyn Egress>, AnyBuffer, Vec<Departure>) {
    let config = buffer::Config::PerPort(per_port::Config { limit: Size::Bytes(LIMIT) });
    let mut buffer = config.build(4, port.queues()).expect("as above");
    let mut port = black_box(port);
    let mut out = Vec::with_capacity(1);
    for number in 0..=HELD {
        out.clear();
        let queue = QueueId((number % u32::from(port.queues())) as u8);
        let accepted = port.arrive(PktId(0), PKT, queue, Time::ZERO, &mut buffer, &mut out);
        accepted.expect("the buffer has room for the packets");
    }
    (port, buffer, out)
}

/// The same loop without work.
pub(crate) fn no_served_pairs(queues: u8, iterations: u32) {
    batch_loop(queues, iterations, |_, _, _| {});
}

/// Writes offers and reads departures, [`BATCH`] packets for each call.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the loop must be compiled around each kind of work")]
fn batch_loop(queues: u8, iterations: u32, mut serve: impl FnMut(&[Offer], Time, &mut Served)) {
    let offer =
        Offer { at: Time::ZERO, pkt: black_box(PKT), id: PktId(PKT.len), queue: QueueId(0) };
    let mut offers = [offer; BATCH as usize];
    let sent = Sent { end: Time::ZERO, id: PktId(0), ecn: Ecn::Ect0 };
    let mut served = Served { sent: vec![sent; BATCH as usize], dropped: Vec::new() };
    let queues = black_box(queues);
    let mut now = Time::ZERO;
    let mut queue = 0;
    let mut sum = 0_u32;
    for _ in 0..iterations / BATCH {
        for offer in &mut offers {
            now += PACKET_TIME;
            queue += 1;
            if queue == queues {
                queue = 0;
            }
            offer.at = now;
            offer.queue = QueueId(queue);
        }
        serve(black_box(&offers), now, black_box(&mut served));
        for sent in &served.sent {
            sum = sum.wrapping_add(sent.id.0 + u32::from(sent.ecn.bits()));
        }
    }
    black_box((sum, now));
}

/// The same loop without work.
pub(crate) fn no_pairs(queues: u8, iterations: u32) {
    pair_loop(queues, iterations, |_, queue, _| u32::from(queue.0));
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the loop must be compiled around each kind of work")]
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
