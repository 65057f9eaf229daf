//! Agreement of the simulator's switch and the live one. A scenario runs in the simulator, which
//! records arrivals at its switch and departures from it. The arrivals then go through the live
//! switch on devices in memory. The same frames leave at the same times by the same ports, byte by
//! byte with all marks.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::atomic::AtomicBool;

use tidegate_dataplane::PortStats;
use tidegate_live::config::Config;
use tidegate_live::device::memory::Memory;
use tidegate_live::switch::Switch;
use tidegate_scenario::{Experiment, Scenario};
use tidegate_sim::capture::LinkCapture;
use tidegate_sim::run::run_captured;
use tidegate_sim::{LinkId, Outcome, Setup};
use tidegate_testbed::rig;
use tidegate_units::{Span, Time};

/// Random flows and pings among six hosts, two of them with slow cables, in three services.
/// All times are whole nanoseconds, the resolution of a capture; without SACK a packet has
/// exactly the headers that the simulator counts.
const SCENARIO: &str = r#"
name = "agreement"
runs = 2

[topology]
kind = "star"
hosts = 6
host_rate = "1Gbps"
host_rates = ["100Mbps", "200Mbps"]
host_delays = ["10us", "20us", "30us", "7us"]

[transport]
sack = false

[[traffic]]
kind = "poisson"
load = 0.5
link = "1Gbps"
sizes = ["2KB..90KB"]
assignment = "uniform"
services = 3
flows = 50

[[traffic]]
kind = "burst"
to = "all"
every = "3ms"
bursts = 6
fan_in = 5
sizes = "20KB..40KB"
service = 1

[[probe]]
from = 4
to = 0
every = "150us"
class = 2

[sweep]
"switch.marking" = [
    { kind = "tcn", threshold = "150us" },
    { kind = "queue-red", threshold = "15KB" },
    { kind = "queue-red", threshold = "15KB", decide = "dequeue", label = "at dequeue" },
    { kind = "ecn-sharp" },
    { kind = "codel" },
]
"switch.scheduler" = [
    { kind = "fifo", queues = 3 },
    { kind = "dwrr", quanta = [1538, 3076, 1538] },
    { kind = "wfq", weights = [1, 2, 1] },
    { kind = "sp", queues = 3 },
]
"#;

/// A frame that was on a cable: from when on, which, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    at: Time,
    /// The host at the other end, which is the number of the switch's port.
    host: usize,
    frame: Vec<u8>,
}

#[test]
fn both_switches_send_the_same_frames_at_the_same_times() {
    let own = "switch.buffer={ kind = \"per-port\", limit = \"60KB\" }";
    assert_agreement(SCENARIO, &[own]);
}

#[test]
fn both_switches_agree_with_a_shared_buffer_and_wire_accounting() {
    let shared = "switch.buffer={ kind = \"dynamic-threshold\", pool_size = \"120KB\", \
                  reserve_size = \"3KB\" }";
    assert_agreement(SCENARIO, &[shared, "transport.accounting=ethernet"]);
}

/// Asserts that both switches agree at every point of the scenario.
fn assert_agreement(text: &str, overrides: &[&str]) {
    let overrides: Vec<_> = overrides.iter().map(|&text| text.to_owned()).collect();
    let scenario = Scenario::parse("agreement.toml", text, &overrides);
    let plan = scenario.unwrap_or_else(|problem| panic!("{problem}")).plan();
    let plan = plan.unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(plan.len(), 5 * 4 * 2);
    let (mut frames, mut marks, mut drops) = (0, 0, 0);
    for experiment in &plan {
        let name = format!("{}, seed {}", experiment.label, experiment.seed);
        let (config, recorded) = simulated(experiment);
        let found = live(&config, &recorded.came, recorded.outcome.ended_at);
        for (index, (found, expected)) in found.iter().zip(&recorded.left).enumerate() {
            assert_eq!(found, expected, "{name}: departure {index}");
        }
        assert_eq!(found.len(), recorded.left.len(), "{name}");
        let ports = recorded.outcome.ports.iter().flatten();
        let marked: u64 = ports.clone().map(PortStats::total_marks).sum();
        assert!(marked > 50, "{name}: {marked} marks");
        frames += found.len();
        marks += marked;
        drops += ports.map(PortStats::total_drops).sum::<u64>();
    }
    // The traces are worth comparing.
    let sum = format!("{frames} frames, {marks} marks, {drops} drops");
    assert!(frames > 100_000 && drops > 1_000, "{sum}");
}

/// The simulator's trace: arrivals at the switch, by time of arrival, and departures before the
/// end, both in order.
struct Recorded {
    came: Vec<Seen>,
    left: Vec<Seen>,
    outcome: Outcome,
}

/// Runs the simulator. Returns the live switch for the same scenario, and the trace.
fn simulated(experiment: &Experiment) -> (Config, Recorded) {
    let mut built = experiment.build().unwrap();
    let setup = &mut built.setup;
    for flow in &mut setup.flows {
        flow.start = Time::from_ns(flow.start.as_ns());
    }
    let links = setup.network.links().len() as u32;
    let links: Vec<_> = (0..links).map(LinkId).collect();
    let mut capture = LinkCapture::new(Vec::new(), "", &setup.network, &links).unwrap();
    let outcome = run_captured(setup, &AtomicBool::new(false), &mut capture, &mut |_| {}).unwrap();
    let (mut came, mut left) = (Vec::new(), Vec::new());
    for (at, interface, frame) in packets(&capture.finish().unwrap()) {
        let link = setup.network.link(links[interface]);
        if setup.network.is_host(link.from) {
            let wire = link.rate.time_for(size(setup, frame.len()));
            came.push((at + wire + link.delay, interface, link.from.index(), frame));
        } else if at < outcome.ended_at {
            let host = link.to.index();
            left.push(Seen { at, host, frame });
        }
    }
    // Arrivals of one moment are in the order of the links.
    came.sort_by_key(|&(at, link, ..)| (at, link));
    let came = came.into_iter();
    let came = came.map(|(at, _, host, frame)| Seen { at, host, frame });
    let recorded = Recorded { came: came.collect(), left: in_order(left), outcome };
    let mut config = rig(&built).unwrap().config;
    for port in &mut config.ports {
        // The frames have their cables behind them.
        port.uplink = None;
        port.delay = Span::ZERO;
    }
    (config, recorded)
}

/// The bytes that a frame counts in the simulator, which takes its first 54 for headers.
fn size(setup: &Setup, frame: usize) -> u32 {
    setup.accounting.size(frame as u32 - 54)
}

/// By time and port; departures of one port keep their order.
fn in_order(mut left: Vec<Seen>) -> Vec<Seen> {
    left.sort_by_key(|seen| (seen.at, seen.host));
    left
}

/// The packets of a pcapng file: time, interface, and bytes, with omitted bytes as zeros.
fn packets(file: &[u8]) -> Vec<(Time, usize, Vec<u8>)> {
    let mut packets = Vec::new();
    let mut rest = file;
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        let len = word(4) as usize;
        if word(0) == 6 {
            let at = u64::from(word(12)) << 32 | u64::from(word(16));
            let mut frame = rest[28..28 + word(20) as usize].to_vec();
            frame.resize(word(24) as usize, 0);
            packets.push((Time::from_ns(at), word(8) as usize, frame));
        }
        rest = &rest[len..];
    }
    packets
}

/// Sends the frames to the live switch, one after the other, and returns the departures before
/// `end`.
fn live(config: &Config, came: &[Seen], end: Time) -> Vec<Seen> {
    let ports = config.ports.len();
    let mut switch = Switch::new(config, vec![Memory::new(); ports]).unwrap();
    for host in 0..ports {
        switch.devices_mut()[host].push(Time::ZERO, hello(host));
    }
    switch.receive(Time::ZERO);
    let mut left = Vec::new();
    let transmit = |switch: &mut Switch<Memory>, left: &mut Vec<Seen>, at| {
        switch.transmit(at);
        for (host, device) in switch.devices_mut().iter_mut().enumerate() {
            let sent = device.sent.drain(..);
            left.extend(sent.map(|frame| Seen { at, host, frame }));
        }
    };
    for seen in came {
        // Departures of a moment come before its arrivals.
        while let Some(due) = switch.next_departure().filter(|&due| due <= seen.at) {
            transmit(&mut switch, &mut left, due);
        }
        switch.devices_mut()[seen.host].push(seen.at, seen.frame.clone());
        assert_eq!(switch.receive(seen.at), 1);
    }
    while let Some(due) = switch.next_departure() {
        transmit(&mut switch, &mut left, due);
    }
    let counters = switch.counters(end);
    assert_eq!(counters.imbalance(), 0);
    assert!(counters.ports.iter().all(|port| port.flooded == 0));
    left.retain(|seen| seen.at < end);
    in_order(left)
}

/// A frame from a host that every switch learns from and none passes on.
fn hello(host: usize) -> Vec<u8> {
    let mut hello = vec![0; 60];
    hello[..6].copy_from_slice(&[0x01, 0x80, 0xC2, 0, 0, 0x0E]);
    hello[6..12].copy_from_slice(&[2, 0, 0, 0, 0, host as u8]);
    hello
}
