//! Ports of every scheme and scheduler behave like the port of enums.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use tidegate_dataplane::buffer::{self, AnyBuffer, PerPort};
use tidegate_dataplane::egress::{Offer, Sent, Served};
use tidegate_dataplane::mark::{self, Cx, MarkDecision, Marker, PortInfo, Tcn, custom};
use tidegate_dataplane::sched::{self, QueueSet};
use tidegate_dataplane::{Action, Departure, DropReason, Egress, NonEct, Pkt, Port, PortConfig};
use tidegate_ports::{build, build_custom};
use tidegate_units::{Bytes, ConfigError, Ecn, PktId, QueueId, Rate, Rng, Span, Time};

const Q0: QueueId = QueueId(0);
/// Half the serialization time of 1500 bytes at 10 Gb/s.
const HALF_PACKET: Span = Span::from_ns(600);

const PKT: Pkt =
    Pkt { len: 1500, flow: tidegate_units::FlowId(0), ecn: Ecn::Ect0, ingress: 0, rank: 0 };

/// A port at 10 Gb/s that can be paused.
const PAUSABLE: PortConfig = PortConfig {
    id: tidegate_units::PortId(0),
    rate: Rate::from_gbps(10),
    non_ect: NonEct::Pass,
    seed: 0,
    stream: 0,
    can_pause: true,
};

fn scheme(name: &str) -> mark::Config {
    mark::Config::named(name).unwrap()
}

/// A scheduler with several queues.
fn scheduler(name: &str) -> sched::Config {
    let mut config = sched::Config::named(name).unwrap();
    let several = [("queues", "3"), ("quanta", "1500, 3000, 4500"), ("weights", "1, 2, 3")];
    for (field, text) in several {
        if config.value(field).is_some() {
            config.set(field, text).unwrap();
        }
    }
    config
}

fn unlimited() -> AnyBuffer {
    buffer::Config::named("unlimited").unwrap().build(1, 1).unwrap()
}

/// A host with one port.
struct Host {
    port: Box<dyn Egress>,
    buffer: AnyBuffer,
    out: Vec<Departure>,
}

impl Host {
    fn new(marking: &mark::Config, scheduling: &sched::Config) -> Self {
        Self {
            port: build(&PAUSABLE, marking, scheduling).unwrap(),
            buffer: unlimited(),
            out: Vec::new(),
        }
    }

    fn arrive(&mut self, id: u32, ns: u64) {
        self.arrive_at(id, Q0, ns);
    }

    fn arrive_at(&mut self, id: u32, queue: QueueId, ns: u64) {
        let now = Time::from_ns(ns);
        self.port.arrive(PktId(id), PKT, queue, now, &mut self.buffer, &mut self.out).unwrap();
    }

    /// Ids and start times in ns of the departures up to `ns`.
    fn drain(&mut self, ns: u64) -> Vec<(u32, u64)> {
        self.port.drain(Time::from_ns(ns), &mut self.buffer, &mut self.out);
        let started = |departure: Departure| {
            assert_eq!(departure.action, Action::Send);
            (departure.id.0, departure.at.as_ps() / 1000)
        };
        self.out.drain(..).map(started).collect()
    }

    /// Pauses exactly these queues from `ns` on.
    fn pause(&mut self, queues: &[u8], ns: u64) {
        let mut set = QueueSet::default();
        for &queue in queues {
            set.insert(QueueId(queue));
        }
        self.port.pause(set, Time::from_ns(ns));
    }

    fn next_start(&self) -> Option<u64> {
        self.port.next_start().map(|time| time.as_ps() / 1000)
    }
}

fn drop_tail() -> Host {
    Host::new(&scheme("none"), &scheduler("fifo"))
}

#[test]
fn arrival_returns_earlier_departures() {
    let mut host = drop_tail();
    host.arrive(1, 0);
    host.arrive(2, 100);
    host.arrive(3, 1200);
    let ids: Vec<_> = host.out.iter().map(|departure| departure.id.0).collect();
    assert_eq!(ids, [1, 2], "a departure at the same moment comes first");
    assert_eq!((host.port.packets(), host.port.bytes()), (1, 1500));
    assert_eq!(host.port.waiting(), [(PktId(3), Q0)]);
    host.out.clear();
    assert_eq!(host.drain(2399), []);
    assert_eq!(host.drain(2400), [(3, 2400)]);
    let stats = host.port.queue_stats(Q0).unwrap();
    assert_eq!((stats.dequeued_packets, stats.held_packets), (3, 0));
    assert_eq!(host.port.waiting(), []);
    assert_eq!(host.port.queue_stats(QueueId(3)), None);
}

#[test]
fn a_refused_packet_stays_with_the_host() {
    let mut host = drop_tail();
    let refused =
        host.port.arrive(PktId(1), PKT, QueueId(3), Time::ZERO, &mut host.buffer, &mut host.out);
    assert_eq!(refused, Err(DropReason::UnknownQueue));
    assert_eq!(host.port.stats().drops(DropReason::UnknownQueue), 1);
}

#[test]
fn a_pause_lets_the_packet_on_the_wire_finish_and_holds_the_next() {
    let mut host = drop_tail();
    host.arrive(1, 0);
    host.arrive(2, 0);
    assert_eq!(host.drain(500), [(1, 0)]);
    host.pause(&[0], 500);
    assert_eq!(host.port.next_start(), Some(Time::MAX));
    assert_eq!(host.drain(1_000_000), []);
    host.pause(&[], 1_000_000);
    assert_eq!(host.next_start(), Some(1_000_000));
    assert_eq!(host.drain(1_000_000), [(2, 1_000_000)]);
}

#[test]
fn a_resumed_port_starts_no_earlier_than_its_wire_is_free() {
    let mut host = drop_tail();
    host.arrive(1, 0);
    host.arrive(2, 0);
    assert_eq!(host.drain(0), [(1, 0)]);
    host.pause(&[0], 0);
    // Resumed while packet 1 is still on the wire, until 1200 ns.
    host.pause(&[], 700);
    assert_eq!(host.next_start(), Some(1200));
    assert_eq!(host.drain(2000), [(2, 1200)]);
}

#[test]
fn a_packet_at_an_empty_paused_port_waits_for_the_end_of_the_pause() {
    let mut host = drop_tail();
    host.pause(&[0], 0);
    assert_eq!(host.next_start(), None);
    host.arrive(1, 100);
    assert_eq!(host.drain(5000), []);
    host.pause(&[], 5000);
    assert_eq!(host.drain(5000), [(1, 5000)]);
    // The pause is over: the next packet leaves on arrival.
    host.arrive(2, 9000);
    assert_eq!(host.next_start(), Some(9000));
}

#[test]
fn a_packet_of_another_class_leaves_a_paused_port_on_arrival() {
    let mut host = Host::new(&scheme("none"), &scheduler("dwrr"));
    host.pause(&[0], 0);
    host.arrive(1, 100);
    assert_eq!(host.port.next_start(), Some(Time::MAX));
    host.arrive_at(2, QueueId(1), 700);
    assert_eq!(host.next_start(), Some(700));
    host.arrive_at(3, QueueId(2), 800);
    assert_eq!(host.drain(5000), [(2, 700), (3, 1900)]);
    // Pausing empty queues does not affect the waiting packet.
    host.pause(&[1, 2], 6000);
    assert_eq!(host.drain(9000), [(1, 6000)]);
}

#[test]
fn queues_that_hold_packets_of_any_class_are_paused_together() {
    for (marking, scheduling) in [("diff-ecn", "sp-dwrr"), ("none", "fifo")] {
        let mut host = Host::new(&scheme(marking), &scheduler(scheduling));
        host.arrive_at(1, Q0, 0);
        host.arrive_at(2, Q0, 0);
        host.pause(&[2], 600);
        assert_eq!(host.port.next_start(), Some(Time::MAX), "{scheduling}");
        host.pause(&[], 700);
        assert_eq!(host.next_start(), Some(1200), "{scheduling}");
    }
}

#[test]
fn every_pair_of_scheme_and_scheduler_agrees_with_the_port_of_enums() {
    for scheme_name in mark::Config::NAMES {
        for scheduler_name in sched::Config::NAMES {
            let (marking, scheduling) = (scheme(scheme_name), scheduler(scheduler_name));
            let config = PortConfig::default();
            let reference = Port::build(&config, &marking, &scheduling);
            let port = build(&config, &marking, &scheduling);
            let (mut reference, mut port) = match (reference, port) {
                (Ok(reference), Ok(port)) => (reference, port),
                (Err(expected), Err(error)) => {
                    assert_eq!(error, expected);
                    continue;
                }
                (reference, port) => panic!("{reference:?} but {port:?}"),
            };
            assert_eq!(port.queues(), reference.queues());
            assert!(port.queues() >= 3);
            let (mut buffer, mut reference_buffer) = (unlimited(), unlimited());
            let (mut out, mut expected) = (Vec::new(), Vec::new());
            // Bursts at twice the wire's rate, so that queues grow past the thresholds.
            for step in 0..400_u32 {
                let now = Time::ZERO + HALF_PACKET * u64::from(step / 200 * 300 + step % 200);
                let queue = QueueId((step % u32::from(port.queues())) as u8);
                let id = PktId(step);
                while let Some(departure) = reference.depart(now, &mut reference_buffer) {
                    expected.push(departure);
                }
                let accepted = port.arrive(id, PKT, queue, now, &mut buffer, &mut out);
                let reference_accepted =
                    reference.enqueue(id, PKT, queue, now, &mut reference_buffer);
                assert_eq!(accepted, reference_accepted);
                assert_eq!(port.next_start(), reference.next_start());
            }
            port.drain(Time::MAX, &mut buffer, &mut out);
            while let Some(departure) = reference.depart(Time::MAX, &mut reference_buffer) {
                expected.push(departure);
            }
            assert_eq!(out, expected, "{scheme_name} / {scheduler_name}");
            assert_eq!(port.stats(), reference.stats());
            assert_eq!(port.threshold(Q0), reference.marker().threshold(Q0));
            assert_eq!(port.capacity(Q0), reference.marker().capacity(Q0));
            assert_eq!(port.active_flows(), reference.marker().flows());
        }
    }
}

#[test]
fn serving_many_packets_at_once_agrees_with_one_by_one() {
    for scheme_name in mark::Config::NAMES {
        for scheduler_name in sched::Config::NAMES {
            for can_pause in [false, true] {
                serve_both_ways(scheme_name, scheduler_name, can_pause);
            }
        }
    }
}

fn serve_both_ways(scheme_name: &str, scheduler_name: &str, can_pause: bool) {
    let (marking, scheduling) = (scheme(scheme_name), scheduler(scheduler_name));
    let config = PortConfig { non_ect: NonEct::Drop, can_pause, ..PortConfig::default() };
    let made = [(); 2].map(|()| build(&config, &marking, &scheduling));
    let [Ok(mut one), Ok(mut many)] = made else {
        return;
    };
    let per_port = buffer::Config::named("per-port").unwrap();
    let mut buffers = [(); 2].map(|()| per_port.build(1, 3).unwrap());
    let (mut served, mut out, mut dropped) = (Served::default(), Vec::new(), Vec::new());
    let mut rng = Rng::new(5, 8);
    let (mut now, mut id) = (Time::ZERO, 0);
    // Sometimes too much for the wire, sometimes so little that it becomes idle.
    for round in 0..200 {
        if can_pause && rng.next_u32().is_multiple_of(4) {
            let mut paused = QueueSet::default();
            let classes = rng.next_u32() % 8;
            for queue in (0..3).filter(|queue| classes & 1 << queue != 0) {
                paused.insert(QueueId(queue));
            }
            many.pause(paused, now);
            one.pause(paused, now);
        }
        let most_halves = 1 + round / 10 % 6;
        let mut offers = Vec::new();
        for _ in 0..rng.next_u32() % 8 {
            now += HALF_PACKET * u64::from(rng.next_u32() % most_halves);
            let ecn = [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct][rng.next_u32() as usize % 3];
            offers.push(Offer {
                at: now,
                pkt: Pkt { ecn, ..PKT },
                id: PktId(id),
                queue: QueueId((rng.next_u32() % 4) as u8),
            });
            id += 1;
        }
        let next = many.serve(&offers, now, &mut buffers[0], &mut served);
        for Offer { at, pkt, id, queue } in offers {
            let taken = one.arrive(id, pkt, queue, at, &mut buffers[1], &mut out);
            if taken.is_err() {
                dropped.push((id, at));
            }
        }
        one.drain(now, &mut buffers[1], &mut out);
        assert_eq!(next, one.next_start(), "{scheme_name} / {scheduler_name}");
        assert_eq!(many.packets(), one.packets());
    }
    let mut sent = Vec::new();
    for Departure { at, id, ecn, action, .. } in out {
        let end = at + HALF_PACKET * 2;
        match action {
            Action::Drop(_) => dropped.push((id, at)),
            Action::Send => sent.push(Sent { end, id, ecn }),
        }
    }
    assert_eq!(served.sent, sent, "{scheme_name} / {scheduler_name}");
    for list in [&mut dropped, &mut served.dropped] {
        list.sort_by_key(|&(id, _)| id.0);
    }
    assert_eq!(served.dropped, dropped, "{scheme_name} / {scheduler_name}");
    assert_eq!(many.stats(), one.stats());
    for queue in 0..3 {
        let queue = QueueId(queue);
        assert_eq!(many.queue_stats(queue), one.queue_stats(queue));
    }
}

#[test]
fn reads_pool_is_true_for_schemes_that_read_the_pool() {
    let reads_pool = |marking: &mark::Config| {
        build(&PortConfig::default(), marking, &scheduler("sp-dwrr")).unwrap().ignores_pool_below()
            < u32::MAX
    };
    for name in mark::Config::NAMES {
        let expected = ["bcc", "pool-red"].contains(name);
        assert_eq!(reads_pool(&scheme(name)), expected, "{name}");
    }
    let pair = |first, second| mark::Config::Or(Box::new((scheme(first), scheme(second))));
    assert!(reads_pool(&pair("tcn", "pool-red")));
    assert!(reads_pool(&pair("pool-red", "tcn")));
    assert!(!reads_pool(&pair("tcn", "codel")));
}

#[test]
fn schemes_that_count_flows_report_the_number() {
    let flows_of = |marking: &mark::Config| {
        let mut host = Host::new(marking, &scheduler("sp-dwrr"));
        for flow in [7, 8, 7] {
            let pkt = Pkt { flow: tidegate_units::FlowId(flow), ..PKT };
            let Host { port, buffer, out } = &mut host;
            let taken = port.arrive(PktId(flow), pkt, Q0, Time::ZERO, buffer, out);
            assert!(taken.is_ok());
        }
        // The first packet of flow 7 has left, because it was alone.
        host.port.active_flows()
    };
    for name in mark::Config::NAMES {
        let counts = ["diff-ecn", "ideal-share", "per-flow-tcn"].contains(name);
        assert_eq!(flows_of(&scheme(name)), counts.then_some(2), "{name}");
    }
    let pair = |first, second| mark::Config::Or(Box::new((scheme(first), scheme(second))));
    assert_eq!(flows_of(&pair("tcn", "diff-ecn")), Some(2));
    assert_eq!(flows_of(&pair("per-flow-tcn", "tcn")), Some(2));
}

#[test]
fn debug_output_shows_the_packets_held() {
    let mut host = drop_tail();
    host.arrive(1, 0);
    let shown = format!("{:?}", host.port);
    assert_eq!(shown, "Egress { queues: 3, packets: 1, bytes: 1500, .. }");
}

/// TCN with a step, from outside the library.
#[derive(Debug)]
struct Step(Span);

struct OwnTcn(Tcn);

impl custom::Decide for OwnTcn {
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        self.0.on_enqueue(cx)
    }

    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        self.0.on_dequeue(cx, sojourn)
    }
}

impl custom::Make for Step {
    fn make(&self, port: &PortInfo) -> Result<Box<dyn custom::Decide>, ConfigError> {
        assert_eq!((port.rate, port.queues), (Rate::from_gbps(10), 1));
        Ok(Box::new(OwnTcn(Tcn::step(self.0))))
    }
}

#[test]
fn a_custom_tcn_decides_as_the_library_tcn() {
    let scheduling = sched::Config::named("fifo").unwrap();
    let mut marking = mark::Config::named("tcn").unwrap();
    marking.set("threshold", "3us").unwrap();
    for can_pause in [false, true] {
        let config = PortConfig { can_pause, ..PortConfig::default() };
        let own = build(&config, &marking, &scheduling).unwrap();
        let step = Step(Span::from_us(3));
        let custom = build_custom(&config, &step, &scheduling).unwrap();
        let served = [own, custom].map(|mut port| {
            let mut buffer = AnyBuffer::PerPort(PerPort::new(1, Bytes::from_kb(30)).unwrap());
            let pkt = Pkt { len: 1500, ecn: Ecn::Ect0, ..Pkt::default() };
            // Two arrivals for each departure, so that waits grow and some packets are dropped.
            let offers = (0..60).map(|id| Offer {
                at: Time::from_ns(600 * u64::from(id)),
                pkt,
                id: PktId(id),
                queue: QueueId(0),
            });
            let offers: Vec<Offer> = offers.collect();
            let mut served = Served::default();
            port.serve(&offers, Time::from_us(100), &mut buffer, &mut served);
            assert!(port.stats().total_marks() > 10 && !served.dropped.is_empty());
            (served.sent, served.dropped, port.stats().clone())
        });
        assert_eq!(served[0], served[1]);
    }
}
