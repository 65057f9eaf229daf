use tidegate_dataplane::{PortConfig, Rule, buffer, mark, sched};
use tidegate_units::{Ecn, FlowId, Ratio, Rng, Span};

use tidegate_dataplane::observe::Window;

use super::*;
use crate::observe::statistics::weighted_mean;

const Q0: QueueId = QueueId(0);

fn port(marking: &mark::Config, scheduling: &sched::Config, window: Window) -> ObservedPort {
    let config = PortConfig::default();
    let inner = tidegate_ports::build(&config, marking, scheduling).unwrap();
    let observers = Observers {
        queues: Some(PortObserver::new(window, inner.queues(), inner.stats())),
        ..Observers::default()
    };
    ObservedPort::new(inner, config.rate, observers)
}

fn buffer(name: &str, limit: &str) -> AnyBuffer {
    let mut config = buffer::Config::named(name).unwrap();
    config.set("limit", limit).unwrap();
    config.build(1, 3).unwrap()
}

fn packet(len: u32, flow: u32) -> Pkt {
    Pkt { len, flow: FlowId(flow), ecn: Ecn::Ect0, ..Pkt::default() }
}

fn percent(part: u32) -> Ratio {
    Ratio::new(part, 100).unwrap()
}

/// At 10 Gb/s a packet of 1500 bytes takes 1.2 µs. Three arrive at 0, 0.2 and 0.4 µs, a fourth at
/// 0.5 µs finds the buffer of 3,000 bytes full:
///
/// | from, µs | to   | waiting |
/// |----------|------|---------|
/// | 0        | 0.2  | 0       |
/// | 0.2      | 0.4  | 1       |
/// | 0.4      | 1.2  | 2       |
/// | 1.2      | 2.4  | 1       |
/// | 2.4      | 4    | 0       |
///
/// The third packet arrives at a queue of 1,500 bytes and is marked: with it, the queue is longer
/// than the threshold of 1,500. The sojourn times are 0, 1 and 2 µs.
fn four_packets(window: Window) -> ObservedQueue {
    let mut marking = mark::Config::named("queue-red").unwrap();
    marking.set("threshold", "1500B").unwrap();
    let scheduling = sched::Config::named("fifo").unwrap();
    let mut port = port(&marking, &scheduling, window);
    let mut buffer = buffer("per-port", "3000B");
    let offers = [0, 200, 400, 500].map(|ns| Offer {
        at: Time::from_ns(ns),
        pkt: packet(1500, 0),
        id: PktId(ns as u32),
        queue: Q0,
    });
    let mut served = Served::default();
    let next = port.serve(&offers, Time::from_us(3), &mut buffer, &mut served);
    assert_eq!((next, served.dropped.len()), (None, 1));
    let ends = served.sent.iter().map(|sent| sent.end.as_ns());
    assert_eq!(ends.collect::<Vec<_>>(), [1_200, 2_400, 3_600]);
    port.observers().observed(Time::from_us(4)).next().unwrap()
}

#[test]
fn lengths_are_weighted_with_the_time_they_last() {
    let seen = four_packets(Window::default());
    assert_eq!(seen.queue, Q0);
    // (1 · 1.4 µs + 2 · 0.8 µs) / 4 µs
    assert_eq!(weighted_mean(&seen.packets), Some(0.75));
    assert_eq!(weighted_mean(&seen.bytes), Some(1_125.0));
    assert_eq!((seen.packets.max(), seen.bytes.max()), (2, 3_000));
    assert_eq!((seen.sent(), seen.sent_bytes), (3, 4_500));
    // Empty for 45 % of the time, at most one packet for 80 %.
    let at = |part| seen.packets.percentile(percent(part)).unwrap();
    assert_eq!([45, 46, 80, 81].map(at), [0, 1, 1, 2]);
    assert_eq!(seen.packets.total(), Span::from_us(4).as_ps());
    assert_eq!(seen.bytes.total(), Span::from_us(4).as_ps());
}

#[test]
fn waits_marks_and_drops_are_counted_by_queue() {
    let seen = four_packets(Window::default());
    assert_eq!(seen.sent(), 3);
    assert_eq!(weighted_mean(&seen.waits), Some(1_000_000.0));
    assert_eq!(seen.waits.max(), 2_000_000);
    assert_eq!(seen.waits.percentile(percent(33)), Some(0));
    assert_eq!(seen.marks(Rule::QueueLength), 1);
    assert_eq!(seen.drops(DropReason::PortFull), 1);
    let drops = DropReason::ALL.map(|reason| seen.drops(reason));
    let marks = Rule::ALL.map(|rule| seen.marks(rule));
    assert_eq!((drops.iter().sum::<u64>(), marks.iter().sum::<u64>()), (1, 1));
}

#[test]
fn a_window_includes_only_events_inside_it() {
    let seen = four_packets(Window { from: Time::from_us(1), to: Time::from_us(2) });
    // Two packets until 1.2 µs, then one.
    assert_eq!(seen.packets.total(), Span::from_us(1).as_ps());
    assert_eq!(weighted_mean(&seen.packets), Some(1.2));
    assert_eq!((seen.sent(), seen.waits.max()), (1, 1_000_000));
    assert_eq!(seen.marks(Rule::QueueLength), 0);
    assert_eq!(seen.drops(DropReason::PortFull), 0);
    // An event at the window's start is included, an event at its end is not.
    let edges = four_packets(Window { from: Time::from_ns(1_200), to: Time::from_ns(2_400) });
    assert_eq!(edges.sent(), 1);
}

#[test]
fn a_drop_on_arrival_counts_for_the_queue_that_the_scheme_chose() {
    let marking = mark::Config::named("diff-ecn").unwrap();
    let mut scheduling = sched::Config::named("sp").unwrap();
    scheduling.set("queues", "3").unwrap();
    let mut port = port(&marking, &scheduling, Window::default());
    let mut buffer = buffer("per-port", "3000B");
    let asked = QueueId(2);
    let mut out = Vec::new();
    let mut arrive = |id| {
        let pkt = packet(1500, 0);
        port.arrive(PktId(id), pkt, asked, Time::ZERO, &mut buffer, &mut out)
    };
    // The first packet is on the wire at once, two wait, and the fourth finds no room.
    let chosen = [0, 1, 2].map(|id| arrive(id).unwrap().queue);
    assert_eq!(arrive(3), Err(DropReason::PortFull));
    assert_ne!(chosen[2], asked);
    let drops = port
        .observers()
        .observed(Time::ZERO)
        .map(|seen| (seen.queue, seen.drops(DropReason::PortFull)))
        .filter(|&(_, drops)| drops > 0);
    assert_eq!(drops.collect::<Vec<_>>(), [(chosen[2], 1)]);
}

#[test]
fn an_observed_port_behaves_like_the_port_alone() {
    let mut scheduling = sched::Config::named("sp-dwrr").unwrap();
    scheduling.set("quanta", "1500, 3000, 4500").unwrap();
    for name in mark::Config::NAMES {
        let marking = mark::Config::named(name).unwrap();
        let config = PortConfig::default();
        let mut alone = tidegate_ports::build(&config, &marking, &scheduling).unwrap();
        let mut watched = port(&marking, &scheduling, Window::default());
        let mut buffers = [buffer("per-port", "120KB"), buffer("per-port", "120KB")];
        let mut served = [Served::default(), Served::default()];
        let mut rng = Rng::new(3, 0);
        let mut now = Time::ZERO;
        for _ in 0..300 {
            let begin = now;
            // Bursts at up to four times the wire's rate, then idle time.
            let gap = if rng.next_u32().is_multiple_of(8) { 90_000 } else { 300 };
            let offers = (0..rng.next_u32() % 40)
                .map(|number| {
                    now += Span::from_ns(u64::from(rng.next_u32()) % gap);
                    let flow = rng.next_u32() % 5;
                    Offer {
                        at: now,
                        pkt: packet(64 + rng.next_u32() % 1_437, flow),
                        id: PktId(number),
                        queue: QueueId((flow % 3) as u8),
                    }
                })
                .collect::<Vec<_>>();
            let ports: [&mut dyn Egress; 2] = [&mut *alone, &mut watched];
            let mut next = Vec::new();
            for ((port, buffer), served) in ports.into_iter().zip(&mut buffers).zip(&mut served) {
                next.push(port.serve(&offers, now, buffer, served));
            }
            assert_eq!(next[0], next[1], "{name}");
            assert_eq!(served[0].sent, served[1].sent, "{name} after {begin:?}");
            assert_eq!(served[0].dropped, served[1].dropped, "{name} after {begin:?}");
        }
        assert_eq!(alone.stats(), watched.stats(), "{name}");
        assert!(alone.stats().total_drops() > 0, "{name}: the test caused no drops");
        let seen = watched.observers().observed(now).collect::<Vec<_>>();
        for rule in Rule::ALL {
            let marks = seen.iter().map(|queue| queue.marks(rule)).sum::<u64>();
            assert_eq!(marks, alone.stats().marks(rule), "{name}");
        }
        for reason in DropReason::ALL {
            let drops = seen.iter().map(|queue| queue.drops(reason)).sum::<u64>();
            assert_eq!(drops, alone.stats().drops(reason), "{name}");
        }
        for queue in &seen {
            let stats = alone.queue_stats(queue.queue).unwrap();
            assert_eq!(queue.sent(), stats.dequeued_packets, "{name}");
            assert_eq!(queue.bytes.total(), now.as_ps(), "{name}");
            assert_eq!(queue.packets.total(), now.as_ps(), "{name}");
        }
    }
}
