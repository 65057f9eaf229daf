//! The pipeline, observed by a scheme, a scheduler and a buffer that record their inputs.

use alloc::vec::Vec;

use tidegate_units::Bytes;

use super::*;
use crate::Rule;
use crate::Slot;
use crate::buffer::{Charge, PerPort};
use crate::mark::{DropTail, Tcn};
use crate::sched::dwrr::{self, Dwrr};
use crate::sched::strict::{self, Strict};
use crate::sched::{Fifo, Turn, TurnEvent};

/// Marks every packet on arrival, on departure or never, and records its inputs.
#[derive(Default)]
struct Probe {
    mark_on_enqueue: bool,
    mark_on_dequeue: bool,
    /// Sends every packet to this queue.
    queue: Option<QueueId>,
    enqueued: Vec<Cx>,
    queued: Vec<Cx>,
    dequeued: Vec<(Cx, Span)>,
    turns: Vec<Turn>,
}

impl Marker for Probe {
    fn reads_pool(&self) -> bool {
        true
    }

    fn assign(&mut self, _: &Pkt, proposed: QueueId, queues: &impl Queues, _: Time) -> QueueId {
        assert!(queues.count() > 0);
        self.queue.unwrap_or(proposed)
    }

    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        self.enqueued.push(*cx);
        MarkDecision::mark_if(self.mark_on_enqueue, Rule::QueueLength)
    }

    fn on_queued(&mut self, cx: &Cx) {
        self.queued.push(*cx);
    }

    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        self.dequeued.push((*cx, sojourn));
        MarkDecision::mark_if(self.mark_on_dequeue, Rule::Sojourn)
    }

    fn on_turn(&mut self, turn: &Turn) {
        self.turns.push(*turn);
    }
}

/// Admits everything, counts the bytes held, and reports all of them as one pool.
#[derive(Default)]
struct Ledger {
    held: u32,
    admitted: usize,
    released: usize,
}

impl Buffer for Ledger {
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason> {
        self.held = self.held.wrapping_add(request.len);
        self.admitted += 1;
        Ok(Charge::new(request.len, 0))
    }

    fn release(&mut self, charge: Charge) {
        self.held = self.held.wrapping_sub(charge.bytes());
        self.released += 1;
    }

    fn pool_bytes(&self, _: PortId, _: QueueId) -> u32 {
        self.held
    }
}

const Q0: QueueId = QueueId(0);
const Q1: QueueId = QueueId(1);

fn pkt(len: u32, ecn: Ecn) -> Pkt {
    Pkt { len, ecn, flow: FlowId(len), ..Pkt::default() }
}

fn dwrr(quanta: &[u32]) -> Dwrr {
    Dwrr::new(&dwrr::Config { quanta: quanta.to_vec() }).unwrap()
}

fn us(us: u64) -> Time {
    Time::from_us(us)
}

#[test]
fn the_context_excludes_the_packet_in_hand_at_both_ends() {
    let mut port = Port::new(&PortConfig::default(), Probe::default(), dwrr(&[1500, 1500]));
    let mut ledger = Ledger::default();
    port.enqueue(PktId(1), pkt(100, Ecn::Ect0), Q0, us(1), &mut ledger).unwrap();
    port.enqueue(PktId(2), pkt(200, Ecn::Ect1), Q1, us(2), &mut ledger).unwrap();
    port.enqueue(PktId(3), pkt(300, Ecn::Ect0), Q1, us(3), &mut ledger).unwrap();
    let first = port.dequeue(us(10), &mut ledger).unwrap();
    assert_eq!((first.id, first.queue, first.len, first.flow), (PktId(1), Q0, 100, FlowId(100)));
    assert_eq!((first.at, first.sojourn, first.action), (us(10), Span::from_us(9), Action::Send));
    port.dequeue(us(11), &mut ledger).unwrap();

    let probe = port.marker();
    let counts = |cx: &Cx| {
        let port = (cx.port_bytes, cx.port_packets);
        (cx.queue, (cx.queue_bytes, cx.queue_packets), port, cx.pool_bytes, cx.pkt.len)
    };
    let enqueued: Vec<_> = probe.enqueued.iter().map(counts).collect();
    assert_eq!(
        enqueued,
        [
            (Q0, (0, 0), (0, 0), 0, 100),
            (Q1, (0, 0), (100, 1), 100, 200),
            (Q1, (200, 1), (300, 2), 300, 300),
        ]
    );
    assert_eq!(probe.queued, probe.enqueued);
    let dequeued: Vec<_> = probe.dequeued.iter().map(|(cx, _)| counts(cx)).collect();
    assert_eq!(dequeued, [(Q0, (0, 0), (500, 2), 500, 100), (Q1, (300, 1), (300, 1), 300, 200)]);
    assert_eq!(probe.dequeued[1].0.pkt.ecn, Ecn::Ect1);
    assert_eq!(probe.dequeued[1].1, Span::from_us(9));
    assert_eq!((ledger.admitted, ledger.released, ledger.held), (3, 2, 300));
}

#[test]
fn capable_packets_are_marked_once_and_counted_once() {
    let probe = Probe { mark_on_enqueue: true, mark_on_dequeue: true, ..Probe::default() };
    let mut port = Port::new(&PortConfig::default(), probe, Fifo::new(1).unwrap());
    let mut ledger = Ledger::default();
    for (id, ecn) in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce].into_iter().enumerate() {
        let id = PktId(u32::try_from(id).unwrap());
        let accepted = port.enqueue(id, pkt(100, ecn), Q0, us(0), &mut ledger).unwrap();
        assert_eq!(accepted, Accepted { queue: Q0, ecn: Ecn::Ce });
        assert_eq!(port.dequeue(us(0), &mut ledger).unwrap().ecn, Ecn::Ce);
    }
    assert_eq!(port.stats().marks(Rule::QueueLength), 2, "the third came marked");
    assert_eq!((port.stats().marks(Rule::Sojourn), port.stats().total_marks()), (0, 2));
    assert_eq!(port.stats().total_drops(), 0);
}

#[test]
fn a_mark_on_departure_counts_for_its_rule() {
    let probe = Probe { mark_on_dequeue: true, ..Probe::default() };
    let mut port = Port::new(&PortConfig::default(), probe, dwrr(&[1500, 1500]));
    let mut ledger = Ledger::default();
    let accepted = port.enqueue(PktId(1), pkt(100, Ecn::Ect0), Q1, us(0), &mut ledger).unwrap();
    assert_eq!(accepted.ecn, Ecn::Ect0);
    assert_eq!(port.dequeue(us(0), &mut ledger).unwrap().ecn, Ecn::Ce);
    assert_eq!(port.stats().marks(Rule::Sojourn), 1);
    assert_eq!(port.stats().total_marks(), 1);
}

#[test]
fn packets_that_cannot_be_marked_pass_by_default() {
    let probe = Probe { mark_on_enqueue: true, mark_on_dequeue: true, ..Probe::default() };
    let mut port = Port::new(&PortConfig::default(), probe, Fifo::new(1).unwrap());
    let mut ledger = Ledger::default();
    let accepted = port.enqueue(PktId(1), pkt(100, Ecn::NotEct), Q0, us(0), &mut ledger);
    assert_eq!(accepted, Ok(Accepted { queue: Q0, ecn: Ecn::NotEct }));
    let departure = port.dequeue(us(0), &mut ledger).unwrap();
    assert_eq!((departure.ecn, departure.action), (Ecn::NotEct, Action::Send));
    assert_eq!((port.stats().total_marks(), port.stats().total_drops()), (0, 0));
}

#[test]
fn packets_that_cannot_be_marked_are_dropped_on_request() {
    let config = PortConfig { non_ect: NonEct::Drop, ..PortConfig::default() };
    let mut ledger = Ledger::default();

    let probe = Probe { mark_on_enqueue: true, ..Probe::default() };
    let mut port = Port::new(&config, probe, Fifo::new(1).unwrap());
    let refused = port.enqueue(PktId(1), pkt(100, Ecn::NotEct), Q0, us(0), &mut ledger);
    assert_eq!(refused, Err(DropReason::NotCapable));
    assert_eq!((ledger.held, ledger.released), (0, 1), "its charge went back");
    assert!(port.marker().queued.is_empty(), "the packet never waited");
    assert_eq!((port.packets(), port.bytes()), (0, 0));
    assert_eq!(port.stats().drops(DropReason::NotCapable), 1);

    let probe = Probe { mark_on_dequeue: true, ..Probe::default() };
    let mut port = Port::new(&config, probe, Fifo::new(1).unwrap());
    port.enqueue(PktId(1), pkt(100, Ecn::NotEct), Q0, us(0), &mut ledger).unwrap();
    port.enqueue(PktId(2), pkt(100, Ecn::Ect0), Q0, us(0), &mut ledger).unwrap();
    let dropped = port.depart(us(5), &mut ledger).unwrap();
    assert_eq!(dropped.action, Action::Drop(DropReason::NotCapable));
    assert_eq!((dropped.id, dropped.ecn), (PktId(1), Ecn::NotEct));
    let sent = port.depart(us(5), &mut ledger).unwrap();
    assert_eq!((sent.at, sent.action), (us(0), Action::Send), "the wire stayed free");
    assert_eq!(port.last_drop(), Some(Q0));
    assert_eq!(port.stats().total_drops(), 1);
}

#[test]
fn lazy_departures_have_their_own_past_times() {
    let mut port = Port::new(&PortConfig::default(), DropTail, Fifo::new(1).unwrap());
    let mut ledger = Ledger::default();
    assert_eq!(port.next_start(), None);
    // 1500 bytes take 1.2 µs at 10 Gb/s.
    for id in 0..3 {
        port.enqueue(PktId(id), pkt(1500, Ecn::Ect0), Q0, us(10), &mut ledger).unwrap();
    }
    assert_eq!(port.depart(us(9), &mut ledger), None, "the first starts at 10 µs");
    let mut starts = Vec::new();
    while let Some(departure) = port.depart(us(12), &mut ledger) {
        starts.push((departure.at, departure.sojourn));
    }
    let at = |ns| (Time::from_ns(ns), Span::from_ns(ns - 10_000));
    assert_eq!(starts, [at(10_000), at(11_200)]);
    assert_eq!(port.next_start(), Some(Time::from_ns(12_400)));
    assert_eq!(port.depart(Time::from_ns(12_399), &mut ledger), None);
    let last = port.depart(Time::from_ns(12_400), &mut ledger).unwrap();
    assert_eq!(last.at, Time::from_ns(12_400));
    assert_eq!(port.next_start(), None);

    // An arrival while the wire is busy waits; one on an idle wire leaves at once.
    port.enqueue(PktId(3), pkt(100, Ecn::Ect0), Q0, us(13), &mut ledger).unwrap();
    assert_eq!(port.next_start(), Some(Time::from_ns(13_600)));
    port.depart(us(20), &mut ledger).unwrap();
    port.enqueue(PktId(4), pkt(100, Ecn::Ect0), Q0, us(20), &mut ledger).unwrap();
    assert_eq!(port.depart(us(20), &mut ledger).unwrap().sojourn, Span::ZERO);
}

#[test]
fn lazy_and_immediate_driving_give_the_same_departures() {
    let arrivals = [(0, 1500), (100, 64), (1_200, 9000), (1_300, 1500), (40_000, 1500)];
    let tcn = || Tcn::step(Span::from_us(1));
    let fresh = || Port::new(&PortConfig::default(), tcn(), Fifo::new(1).unwrap());

    let (mut lazy, mut ledger) = (fresh(), Ledger::default());
    let mut lazy_departures = Vec::new();
    for (id, (ns, len)) in (0..).zip(arrivals) {
        let now = Time::from_ns(ns);
        while let Some(departure) = lazy.depart(now, &mut ledger) {
            lazy_departures.push(departure);
        }
        lazy.enqueue(PktId(id), pkt(len, Ecn::Ect0), Q0, now, &mut ledger).unwrap();
    }
    while let Some(departure) = lazy.depart(Time::MAX, &mut ledger) {
        lazy_departures.push(departure);
    }

    // The same by hand: 0–1200 ns, 1200–1251.2, 1251.2–8451.2, 8451.2–9651.2, 40000.
    let starts = [0, 1_200_000, 1_251_200, 8_451_200, 40_000_000].map(Time::from_ps);
    let (mut eager, mut ledger) = (fresh(), Ledger::default());
    let mut eager_departures = Vec::new();
    let mut next = (0..).zip(arrivals).peekable();
    for start in starts {
        while let Some((id, (ns, len))) = next.next_if(|&(_, (ns, _))| Time::from_ns(ns) <= start) {
            let now = Time::from_ns(ns);
            eager.enqueue(PktId(id), pkt(len, Ecn::Ect0), Q0, now, &mut ledger).unwrap();
        }
        eager_departures.push(eager.dequeue(start, &mut ledger).unwrap());
    }
    assert_eq!(lazy_departures, eager_departures);
    let marked: Vec<_> = lazy_departures.iter().map(|departure| departure.ecn == Ecn::Ce).collect();
    assert_eq!(marked, [false, true, false, true, false]);
}

#[test]
fn a_departure_comes_before_an_arrival_at_the_same_moment() {
    let mut port = Port::new(
        &PortConfig::default(),
        DropTail,
        Strict::new(&strict::Config::default()).unwrap(),
    );
    let mut ledger = Ledger::default();
    // The second packet starts when the first is off the wire, at 1.2 µs: when the third arrives.
    for (id, queue, ns) in [(1, Q1, 0), (2, Q1, 0), (3, Q0, 1_200)] {
        let now = Time::from_ns(ns);
        while port.depart(now, &mut ledger).is_some() {}
        port.enqueue(PktId(id), pkt(1500, Ecn::Ect0), queue, now, &mut ledger).unwrap();
    }
    assert_eq!(port.depart(Time::MAX, &mut ledger).unwrap().id, PktId(3));
    assert_eq!(port.packets(), 0, "the lower-priority packet had left");
}

#[test]
fn immediate_departures_do_not_occupy_the_wire() {
    let mut port = Port::new(&PortConfig::default(), DropTail, Fifo::new(1).unwrap());
    let mut ledger = Ledger::default();
    for id in 0..2 {
        port.enqueue(PktId(id), pkt(1500, Ecn::Ect0), Q0, us(5), &mut ledger).unwrap();
    }
    port.dequeue(us(7), &mut ledger).unwrap();
    assert_eq!(port.next_start(), Some(us(5)));
}

#[test]
fn a_time_that_goes_back_gives_a_wait_of_zero() {
    let mut port = Port::new(&PortConfig::default(), DropTail, Fifo::new(1).unwrap());
    let mut ledger = Ledger::default();
    for (id, at) in [(0, 10), (1, 3), (2, 20)] {
        port.enqueue(PktId(id), pkt(1500, Ecn::Ect0), Q0, us(at), &mut ledger).unwrap();
    }
    let early = port.dequeue(us(4), &mut ledger).unwrap();
    assert_eq!((early.id, early.sojourn), (PktId(0), Span::ZERO));
    let late = port.dequeue(us(1), &mut ledger).unwrap();
    assert_eq!((late.id, late.sojourn), (PktId(1), Span::ZERO));
    assert_eq!(port.depart(us(9), &mut ledger), None);
    assert_eq!(port.depart(us(10), &mut ledger).unwrap().sojourn, Span::ZERO);
    assert_eq!((port.packets(), port.bytes(), ledger.held), (0, 0, 0));
}

#[test]
fn a_packet_for_an_unknown_queue_is_dropped_and_counted() {
    let mut port = Port::new(&PortConfig::default(), Probe::default(), dwrr(&[1500, 1500]));
    let mut ledger = Ledger::default();
    let refused = port.enqueue(PktId(1), pkt(100, Ecn::Ect0), QueueId(2), us(0), &mut ledger);
    assert_eq!(refused, Err(DropReason::UnknownQueue));
    assert_eq!(port.stats().drops(DropReason::UnknownQueue), 1);
    assert_eq!((ledger.admitted, port.packets()), (0, 0));
    assert_eq!(port.queue_stats(QueueId(2)), None);
    assert_eq!(port.queues(), 2);
}

#[test]
fn the_scheme_may_choose_the_queue() {
    let probe = Probe { queue: Some(Q1), ..Probe::default() };
    let mut port = Port::new(&PortConfig::default(), probe, dwrr(&[1500, 1500]));
    let mut ledger = Ledger::default();
    let accepted = port.enqueue(PktId(1), pkt(100, Ecn::Ect0), Q0, us(0), &mut ledger).unwrap();
    assert_eq!(accepted.queue, Q1);
    assert_eq!(port.queue_stats(Q1).unwrap().held_bytes, 100);
}

#[test]
fn a_full_buffer_drops_and_names_the_queue() {
    let mut port = Port::new(&PortConfig::default(), Probe::default(), dwrr(&[1500, 1500]));
    let mut buffer = PerPort::new(1, Bytes(250)).unwrap();
    port.enqueue(PktId(1), pkt(200, Ecn::Ect0), Q0, us(0), &mut buffer).unwrap();
    assert_eq!(port.last_drop(), None);
    let refused = port.enqueue(PktId(2), pkt(100, Ecn::Ect0), Q1, us(0), &mut buffer);
    assert_eq!(refused, Err(DropReason::PortFull));
    assert_eq!(port.marker().enqueued.len(), 1, "the scheme does not see it");
    assert_eq!(port.stats().drops(DropReason::PortFull), 1);
    assert_eq!(port.last_drop(), Some(Q1));
    let unknown = QueueId(2);
    let refused = port.enqueue(PktId(3), pkt(1, Ecn::Ect0), unknown, us(0), &mut buffer);
    assert_eq!(refused, Err(DropReason::UnknownQueue));
    assert_eq!(port.last_drop(), Some(unknown));
}

#[test]
fn counters_at_their_limit_drop_instead_of_wrapping() {
    let mut port = Port::new(&PortConfig::default(), Probe::default(), Fifo::new(1).unwrap());
    let mut ledger = Ledger::default();
    port.enqueue(PktId(1), pkt(u32::MAX, Ecn::Ect0), Q0, us(0), &mut ledger).unwrap();
    let refused = port.enqueue(PktId(2), pkt(1, Ecn::Ect0), Q0, us(0), &mut ledger);
    assert_eq!(refused, Err(DropReason::PortFull));
    assert_eq!((ledger.admitted, port.bytes()), (1, u32::MAX));
    let departure = port.depart(Time::MAX, &mut ledger).unwrap();
    assert_eq!(departure.len, u32::MAX);
    port.enqueue(PktId(3), pkt(1, Ecn::Ect0), Q0, Time::MAX, &mut ledger).unwrap();
    assert_eq!(port.next_start(), Some(Time::MAX));
}

#[test]
fn queue_counters_balance() {
    let mut port = Port::new(&PortConfig::default(), Probe::default(), Fifo::new(2).unwrap());
    let mut ledger = Ledger::default();
    for (id, queue) in [(1, Q0), (2, Q1), (3, Q1)] {
        port.enqueue(PktId(id), pkt(100 * id, Ecn::Ect0), queue, us(0), &mut ledger).unwrap();
    }
    let order = [(); 2].map(|()| port.dequeue(us(1), &mut ledger).unwrap());
    assert_eq!(order.map(|departure| departure.id.0), [1, 2], "arrival order across queues");
    assert_eq!(order.map(|departure| departure.queue), [Q0, Q1]);
    let expected = QueueStats {
        enqueued_packets: 2,
        enqueued_bytes: 500,
        dequeued_packets: 1,
        dequeued_bytes: 200,
        held_packets: 1,
        held_bytes: 300,
    };
    assert_eq!(port.queue_stats(Q1), Some(expected));
    assert_eq!((port.packets(), port.bytes()), (1, 300));
    assert_eq!(port.dequeue(us(2), &mut ledger).unwrap().id, PktId(3));
    assert_eq!(port.dequeue(us(3), &mut ledger), None);
}

#[test]
fn the_scheme_receives_turns() {
    let mut port = Port::new(&PortConfig::default(), Probe::default(), dwrr(&[1500, 1500]));
    let mut ledger = Ledger::default();
    for (id, queue) in [(1, Q0), (2, Q0), (3, Q1)] {
        port.enqueue(PktId(id), pkt(1500, Ecn::Ect0), queue, us(0), &mut ledger).unwrap();
    }
    let order = [(); 3].map(|()| port.dequeue(us(7), &mut ledger).unwrap().id.0);
    assert_eq!(order, [1, 3, 2]);
    let events: Vec<_> = port.marker().turns.iter().map(|turn| (turn.queue, turn.event)).collect();
    assert_eq!(
        events,
        [
            (Q0, TurnEvent::Joined),
            (Q1, TurnEvent::Joined),
            (Q0, TurnEvent::Ended),
            (Q1, TurnEvent::Emptied { len: 1500 }),
            (Q0, TurnEvent::Emptied { len: 1500 }),
        ]
    );
    assert_eq!(port.marker().turns.last().unwrap().now, us(7));
}

/// Serves the newest packet, from slots that it keeps itself.
#[derive(Default)]
struct LastInFirstOut(Vec<(QueueId, Slot)>);

impl Scheduler for LastInFirstOut {
    fn queues(&self) -> u8 {
        2
    }

    fn is_ranked(&self, _: QueueId) -> bool {
        true
    }

    fn ranks_packets(&self) -> bool {
        true
    }

    fn on_ranked(&mut self, queue: QueueId, slot: Slot, _: &Pkt, _: Time) {
        self.0.push((queue, slot));
    }

    fn on_active(&mut self, _: QueueId, _: u32, _: Time, _: impl FnMut(&Turn)) {
        panic!("ranked packets never become active in a list");
    }

    fn pick(&mut self, _: Time, _: impl FnMut(&Turn)) -> Pick {
        let (queue, slot) = self.0.pop().expect("`pick` is called only while a packet waits");
        Pick { queue, slot: Some(slot) }
    }

    fn on_departed(
        &mut self,
        _: QueueId,
        _: u32,
        next: Option<u32>,
        _: Time,
        _: impl FnMut(&Turn),
    ) {
        assert_eq!(next, None);
    }

    fn withdraw(&mut self, _: QueueId, _: &[u32], _: Time, _: impl FnMut(&Turn)) {}
}

#[test]
fn a_ranked_packet_can_leave_from_any_position() {
    let scheduler = LastInFirstOut::default();
    let mut port = Port::new(&PortConfig::default(), Probe::default(), scheduler);
    let mut ledger = Ledger::default();
    for (id, queue) in [(1, Q0), (2, Q1), (3, Q0)] {
        port.enqueue(PktId(id), pkt(100 * id, Ecn::Ect0), queue, us(0), &mut ledger).unwrap();
    }
    let order = [(); 3].map(|()| port.dequeue(us(1), &mut ledger).unwrap());
    assert_eq!(order.map(|departure| departure.id.0), [3, 2, 1]);
    assert_eq!(order.map(|departure| departure.queue), [Q0, Q1, Q0]);
    assert_eq!((port.packets(), port.bytes(), ledger.held), (0, 0, 0));
}

#[test]
fn building_a_port_names_the_parameter_that_cannot_work() {
    let marking = mark::Config::named("mq-ecn").unwrap();
    let mut scheduling = sched::Config::named("dwrr").unwrap();
    scheduling.set("quanta", "1500, 3000").unwrap();
    let port = Port::build(&PortConfig::default(), &marking, &scheduling).unwrap();
    assert_eq!(port.queues(), 2);

    let wfq = sched::Config::named("wfq").unwrap();
    let error = Port::build(&PortConfig::default(), &marking, &wfq).unwrap_err();
    let ConfigError::OutOfRange { field, value, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((field, value.as_str()), ("scheduler", "wfq"));

    scheduling.set("quanta", "0").unwrap();
    assert!(Port::build(&PortConfig::default(), &marking, &scheduling).is_err());
}
