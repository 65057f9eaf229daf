//! The live switch agrees with the simulator. A recorded trace of arrivals goes through the live
//! switch, stepped from event to event, and through ports driven lazily as in the simulator: the
//! same packets leave at the same times with the same marks.

use tidegate_dataplane::buffer::AnyBuffer;
use tidegate_dataplane::classify::DscpMap;
use tidegate_dataplane::egress::Egress;
use tidegate_dataplane::{Action, Departure, Pkt, Port, PortConfig, buffer, mark, sched};
use tidegate_live::counters::PortCounters;
use tidegate_live::device::memory::Memory;
use tidegate_live::frame::parse;
use tidegate_live::{Config, Switch};
use tidegate_units::{Ecn, PktId, PortId, Rng, Span, Time};

use super::{below, config, frame, hello};

const PORTS: u16 = 4;
const PACKETS: u32 = 1_500;

/// An arriving frame, with its destination.
struct Arrival {
    at: Time,
    ingress: u16,
    egress: u16,
    frame: Vec<u8>,
}

/// A sent packet: time, port, number, and whether it carried a mark.
type Sent = (Time, u16, u32, bool);

/// Results of a switch: sent packets, in order of time and port, and marks and drops by port.
#[derive(Debug, PartialEq)]
struct Outcome {
    sent: Vec<Sent>,
    marks: Vec<u64>,
    drops: Vec<u64>,
}

#[test]
fn both_worlds_decide_alike_with_every_scheme_scheduler_and_buffer() {
    let (mut compared, mut marks, mut drops) = (0, 0, 0);
    for (seed, config) in (1..).zip(configurations()) {
        let trace = trace(seed);
        let Some(expected) = simulated(&config, &trace) else {
            continue;
        };
        let found = live(&config, &trace);
        let parts = [config.marking.name(), config.scheduling.name(), config.buffer.name()];
        assert_eq!(found.sent.len(), expected.sent.len(), "{parts:?}");
        for (index, pair) in found.sent.iter().zip(&expected.sent).enumerate() {
            assert_eq!(pair.0, pair.1, "{parts:?}: departure {index}");
        }
        assert_eq!(found, expected, "{parts:?}");
        compared += 1;
        marks += expected.marks.iter().sum::<u64>();
        drops += expected.drops.iter().sum::<u64>();
    }
    // Asserts that the traces are worth comparing.
    assert!(compared > 40 && marks > 5_000 && drops > 1_000, "{compared} {marks} {drops}");
}

/// Schedulers of three queues: name, and a field with its value.
const SCHEDULERS: [(&str, &str, &str); 5] = [
    ("fifo", "queues", "3"),
    ("sp", "queues", "3"),
    ("dwrr", "quanta", "1538, 3076, 1538"),
    ("wfq", "weights", "1, 2, 1"),
    ("wrr", "quanta", "1538, 3076, 1538"),
];

/// Every scheme under every scheduler, and every buffer.
fn configurations() -> impl Iterator<Item = Config> {
    let base = move || {
        let mut config = config(PORTS);
        config.buffer.set("limit", "20KB").unwrap();
        for port in config.ports.iter_mut().skip(1).step_by(2) {
            port.rate = "100Mbps".parse().unwrap();
        }
        config
    };
    let pairs = mark::Config::NAMES.iter().flat_map(move |scheme| {
        SCHEDULERS.iter().map(move |(scheduler, field, value)| {
            let mut config = base();
            config.marking = mark::Config::named(scheme).unwrap();
            config.scheduling = sched::Config::named(scheduler).unwrap();
            config.scheduling.set(field, value).unwrap();
            config
        })
    });
    let buffers = ["dynamic-threshold", "per-queue", "unlimited"].map(|name| {
        let mut config = base();
        config.marking = mark::Config::named("tcn").unwrap();
        config.buffer = buffer::Config::named(name).unwrap();
        if name == "dynamic-threshold" {
            for (field, value) in [("pool_size", "60KB"), ("reserve_size", "3KB")] {
                config.buffer.set(field, value).unwrap();
            }
        }
        config
    });
    pairs.chain(buffers)
}

/// Frames at distinct times, in bursts that overload the ports at times.
fn trace(seed: u64) -> Vec<Arrival> {
    let mut rng = Rng::new(seed, 7);
    let mut at = Time::from_us(1);
    let mut trace = Vec::new();
    for number in 0..PACKETS {
        let gap = if (number / 100) % 2 == 0 { 6_000 } else { 60_000 };
        at += Span::from_ps(1_001 + u64::from(below(&mut rng, gap)) * 1_000);
        let ingress = below(&mut rng, u32::from(PORTS)) as u16;
        let egress = (ingress + 1 + below(&mut rng, u32::from(PORTS) - 1) as u16) % PORTS;
        let class = [0b10, 0b10, 0b10, 0b01, 0b00, 0b11][below(&mut rng, 6) as usize];
        let class = class | (below(&mut rng, 3) as u8) << 2;
        let len =
            [60, 1514, 1514, 60 + below(&mut rng, 1_400) as usize][below(&mut rng, 4) as usize];
        let mut frame = frame(ingress, egress, class, len);
        frame[46..50].copy_from_slice(&number.to_be_bytes());
        trace.push(Arrival { at, ingress, egress, frame });
    }
    trace
}

fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[46..50].try_into().unwrap())
}

/// The live switch, whose clock advances from event to event.
fn live(config: &Config, trace: &[Arrival]) -> Outcome {
    let devices = vec![Memory::new(); usize::from(PORTS)];
    let mut switch = Switch::new(config, devices).unwrap();
    for port in 0..PORTS {
        switch.devices_mut()[usize::from(port)].push(Time::ZERO, hello(port));
    }
    switch.receive(Time::ZERO);
    for arrival in trace {
        let device = &mut switch.devices_mut()[usize::from(arrival.ingress)];
        device.push(arrival.at, arrival.frame.clone());
    }
    let mut sent = Vec::new();
    let mut next_arrival = 0;
    loop {
        let arrival = trace.get(next_arrival).map(|arrival| arrival.at);
        let departure = switch.next_departure();
        let Some(now) = arrival.into_iter().chain(departure).min() else {
            break;
        };
        // A departure comes before an arrival at the same moment.
        switch.transmit(now);
        note_sent(&mut switch, now, &mut sent);
        if arrival == Some(now) {
            assert_eq!(switch.receive(now), 1);
            next_arrival += 1;
            switch.transmit(now);
            note_sent(&mut switch, now, &mut sent);
        }
    }
    let counters = switch.counters(Time::ZERO);
    assert_eq!(counters.imbalance(), 0);
    let ports = counters.ports.iter();
    Outcome {
        sent,
        marks: ports.clone().map(|port| port.marks.values().sum()).collect(),
        drops: ports.map(PortCounters::dropped).collect(),
    }
}

fn note_sent(switch: &mut Switch<Memory>, now: Time, sent: &mut Vec<Sent>) {
    for (port, device) in (0..).zip(switch.devices_mut()) {
        for frame in device.sent.drain(..) {
            let is_marked = parse(&frame).unwrap().ip.unwrap().ecn() == Ecn::Ce;
            sent.push((now, port, number(&frame), is_marked));
        }
    }
}

/// Ports driven as in the simulator for a switch with a shared buffer: all are brought up to date
/// before each arrival. `None` if the scheme cannot work there.
fn simulated(config: &Config, trace: &[Arrival]) -> Option<Outcome> {
    let options = &config.options;
    let ports = (0..).zip(&config.ports).map(|(id, port)| {
        let port_config = PortConfig {
            id: PortId(id),
            rate: port.rate,
            non_ect: options.non_ect,
            seed: options.seed,
            stream: u64::from(id),
            can_pause: false,
        };
        let port = Port::build(&port_config, &config.marking, &config.scheduling);
        port.ok().map(|port| Box::new(port) as Box<dyn Egress>)
    });
    let mut ports = ports.collect::<Option<Vec<_>>>()?;
    let queues = ports[0].queues();
    let mut buffer = config.buffer.build(PORTS, queues).unwrap();
    let dscp = DscpMap::new(&config.dscp, queues).unwrap();
    let mut departures = Vec::new();
    for (id, arrival) in (0..).zip(trace) {
        settle(&mut ports, &mut buffer, arrival.at, &mut departures);
        let facts = parse(&arrival.frame).unwrap();
        let ip = facts.ip.unwrap();
        let pkt = Pkt {
            len: options.count.bytes(arrival.frame.len()),
            flow: facts.flow,
            ecn: ip.ecn(),
            ingress: arrival.ingress,
            rank: 0,
        };
        let port = &mut ports[usize::from(arrival.egress)];
        let mut out = Vec::new();
        let queue = dscp.queue(ip.class);
        // The port counts a refusal.
        let _ = port.arrive(PktId(id), pkt, queue, arrival.at, &mut buffer, &mut out);
        assert!(out.is_empty(), "all ports were up to date");
    }
    settle(&mut ports, &mut buffer, Time::MAX, &mut departures);
    let of_port = |count: fn(&dyn Egress) -> u64| ports.iter().map(|port| count(&**port)).collect();
    Some(Outcome {
        sent: departures
            .iter()
            .filter(|(_, departure)| departure.action == Action::Send)
            .map(|&(port, Departure { at, id, ecn, .. })| {
                (at, port, number(&trace[id.index()].frame), ecn == Ecn::Ce)
            })
            .collect(),
        marks: of_port(|port| port.stats().total_marks()),
        drops: of_port(|port| port.stats().total_drops()),
    })
}

/// Takes all departures no later than `until`, in order of time, and of ports at one moment.
fn settle(
    ports: &mut [Box<dyn Egress>],
    buffer: &mut AnyBuffer,
    until: Time,
    departures: &mut Vec<(u16, Departure)>,
) {
    loop {
        let starts = (0..).zip(ports.iter());
        let starts = starts.filter_map(|(id, port)| Some((port.next_start()?, id)));
        let Some((start, id)) = starts.min().filter(|&(start, _)| start <= until) else {
            return;
        };
        let mut out = Vec::new();
        ports[usize::from(id)].drain(start, buffer, &mut out);
        departures.extend(out.into_iter().map(|departure| (id, departure)));
    }
}
