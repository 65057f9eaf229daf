//! A run's links as seen by Wireshark, against the run's own counters.

#![expect(clippy::unwrap_used, reason = "a failing helper fails the test")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use tidegate_dataplane::{buffer, mark, sched};
use tidegate_sim::capture::LinkCapture;
use tidegate_sim::run::{run, run_captured, run_traced};
use tidegate_sim::setup::{Opening, Stack, Transport};
use tidegate_sim::trace::flow::{Event, EventKind, FlowTrace};
use tidegate_sim::workload::Probe;
use tidegate_sim::{Flow, HostId, LinkId, Network, NodeId, Outcome, Setup};
use tidegate_transport::protocol::dcqcn;
use tidegate_transport::{Config, cc};
use tidegate_units::{Rate, Span, Time};

/// Six hosts send to a seventh through a port that marks and, with its small buffer, drops.
fn incast() -> Setup {
    let mut network = Network::new(7, 1);
    for host in 0..7 {
        let switch = network.switch(0);
        network.connect(NodeId(host), switch, Rate::from_gbps(10), Span::from_us(10));
    }
    let flow = |host| Flow {
        start: Time::from_us(u64::from(host)),
        bytes: 400_000,
        src: HostId(host),
        dst: HostId(6),
        rate: None,
        service: 0,
        group: 0,
    };
    let mut setup = Setup::new(network, (0..6).map(flow).collect());
    setup.switch.marking = mark::Config::named("queue-red").unwrap();
    setup.switch.marking.set("threshold", "30KB").unwrap();
    setup.switch.scheduling = sched::Config::named("fifo").unwrap();
    setup.switch.buffer = buffer::Config::named("per-port").unwrap();
    setup.switch.buffer.set("limit", "48KB").unwrap();
    let stack = Stack {
        config: Config::profile("tcn-testbed").unwrap(),
        cc: cc::Config::named("dctcp").unwrap(),
    };
    setup.set_tcp(&stack);
    setup.opening = Opening::Handshake;
    setup
}

/// The link to the receiver, and the link back.
const LINKS: [LinkId; 2] = [LinkId(13), LinkId(12)];

fn captured(setup: &Setup, name: &str) -> (Outcome, Vec<Vec<String>>) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = fs::File::create(&path).unwrap();
    let mut capture = LinkCapture::new(file, "incast", &setup.network, &LINKS).unwrap();
    let outcome = run_captured(setup, &AtomicBool::new(false), &mut capture, &mut |_| {}).unwrap();
    capture.finish().unwrap();
    let names = [
        "frame.interface_name",
        "ip.dsfield.ecn",
        "tcp.flags.syn",
        "tcp.flags.ece",
        "tcp.flags.cwr",
        "tcp.options.sack_le",
        "ip.checksum.status",
        "_ws.malformed",
        "frame.time_epoch",
    ];
    let output = Command::new("tshark")
        .args(["-n", "-r", path.to_str().unwrap(), "-T", "fields"])
        .args(["-o", "ip.check_checksum:TRUE"])
        .args(names.iter().flat_map(|name| ["-e", name]))
        .env("WIRESHARK_CONFIG_DIR", env!("CARGO_TARGET_TMPDIR"))
        .env("TZ", "UTC")
        .output()
        .unwrap_or_else(|error| {
            panic!("cannot run tshark: {error}; on Debian: apt-get install tshark")
        });
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let value = |text: &str| text.replace("True", "1").replace("False", "0");
    let lines = text.lines();
    let rows = lines.map(|line| line.split('\t').map(value).collect());
    (outcome, rows.collect())
}

#[test]
fn a_captured_run_agrees_with_its_counters() {
    let setup = incast();
    let (outcome, rows) = captured(&setup, "incast.pcapng");
    let there = |row: &&Vec<String>| row[0] == "switch0>host6";
    let count = |test: &dyn Fn(&&Vec<String>) -> bool| rows.iter().filter(test).count() as u64;

    assert_eq!(count(&there), outcome.links[13].packets);
    assert_eq!(count(&|row| !there(row)), outcome.links[12].packets);
    let port = outcome.ports[13].as_ref().unwrap();
    let marked = count(&|row| there(row) && row[1] == "3");
    assert_eq!(marked, port.total_marks(), "every mark shows as CE");
    assert!(marked > 0 && port.total_drops() > 0);
    assert!(count(&|row| !there(row) && row[3] == "1" && row[2] == "0") > 0, "echoes");
    assert!(count(&|row| there(row) && row[4] == "1" && row[2] == "0") > 0, "CWR");
    assert!(count(&|row| !row[5].is_empty()) > 0, "SACK blocks");
    assert!(rows.iter().all(|row| row[6] == "1" && row[7].is_empty()));
    assert!(rows.is_sorted_by(|a, b| a[8] <= b[8]), "in the order of time");
}

#[test]
fn a_capture_changes_nothing() {
    let setup = incast();
    let plain = run(&setup, &AtomicBool::new(false)).unwrap();
    assert_eq!(captured(&setup, "same.pcapng").0.fingerprint(), plain.fingerprint());
}

#[test]
fn a_capture_stops_at_its_limit_and_reports_the_time() {
    let setup = incast();
    let never = AtomicBool::new(false);
    let capture = LinkCapture::new(Vec::new(), "", &setup.network, &LINKS).unwrap();
    let mut capture = capture.with_limit(5);
    let limited = run_captured(&setup, &never, &mut capture, &mut |_| {}).unwrap();
    capture.flush();
    assert_eq!(capture.written(), 5);
    let full_at = capture.full_at().unwrap();
    assert!(full_at > Time::ZERO && full_at < limited.ended_at);
    assert_eq!(limited.fingerprint(), run(&setup, &never).unwrap().fingerprint());

    let capture = LinkCapture::new(Vec::new(), "", &setup.network, &LINKS).unwrap();
    let mut capture = capture.with_limit(u64::MAX);
    run_captured(&setup, &never, &mut capture, &mut |_| {}).unwrap();
    capture.flush();
    let all = limited.links[13].packets + limited.links[12].packets;
    assert_eq!((capture.written(), capture.full_at()), (all, None));
}

#[test]
fn a_link_that_does_not_exist_cannot_be_captured() {
    let setup = incast();
    let refused = LinkCapture::new(Vec::new(), "", &setup.network, &[LinkId(14)]);
    let message = refused.err().unwrap().to_string();
    assert_eq!(message, "there is no link 14 to capture");
}

/// The trace of one flow of the incast agrees with the run's own counters.
#[test]
fn a_trace_has_every_segment_and_ack_of_its_flow() {
    let setup = incast();
    let never = AtomicBool::new(false);
    let plain = run(&setup, &never).unwrap();
    for number in 0..6_u32 {
        let mut trace = FlowTrace::new(&setup, number).unwrap();
        assert_eq!(trace.ports().len(), 1);
        let traced = run_traced(&setup, &never, &mut trace, &mut |_| {}).unwrap();
        assert_eq!(traced.fingerprint(), plain.fingerprint());
        let events = trace.finish();
        let count = |kind| events.iter().filter(|event| event.kind == kind).count();
        let flow = plain.flows[number as usize];
        assert_eq!(count(EventKind::Resent), flow.retransmissions as usize);
        let bytes: u64 = events
            .iter()
            .filter(|event| event.kind == EventKind::Sent)
            .map(|event| u64::from(event.len))
            .sum();
        assert_eq!(bytes, 400_000, "each byte leaves once for the first time");
        let marked = |event: &&Event| event.kind == EventKind::Arrived && event.is_flagged;
        assert_eq!(events.iter().filter(marked).count(), flow.marks as usize);
        let left = count(EventKind::Sent) + count(EventKind::Resent);
        assert_eq!(left, count(EventKind::Arrived) + count(EventKind::Lost));
        assert!(events.is_sorted_by_key(|event| event.at));
        let last = events.iter().filter(|event| event.kind == EventKind::Acked);
        assert_eq!(last.map(|event| event.seq).max(), Some(400_000));
        let echoed = events.iter().any(|event| event.kind == EventKind::Acked && event.is_flagged);
        assert_eq!(echoed, flow.marks > 0);
    }
    let lost: u64 = plain.tally.dropped;
    assert!(lost > 0, "the trace has losses to find");
}

/// Probes have no flow number, and pass the same links.
#[test]
fn probes_are_not_part_of_a_trace() {
    let mut setup = incast();
    setup.probes = vec![Probe {
        src: HostId(0),
        dst: HostId(6),
        start: Time::ZERO,
        every: Span::from_us(20),
        count: 100,
        bytes: 84,
        class: 0,
    }];
    let never = AtomicBool::new(false);
    let mut trace = FlowTrace::new(&setup, 0).unwrap();
    let outcome = run_traced(&setup, &never, &mut trace, &mut |_| {}).unwrap();
    assert!(!outcome.probes[0].is_empty());
    let events = trace.finish();
    let is_new = |event: &&Event| event.kind == EventKind::Sent;
    let sent = events.iter().filter(is_new).map(|event| u64::from(event.len));
    assert_eq!(sent.sum::<u64>(), 400_000);
    assert!(events.iter().all(|event| event.seq <= 400_000));
}

#[test]
fn tracing_an_unknown_flow_is_refused_with_the_known_ones() {
    let mut setup = incast();
    let refused = FlowTrace::new(&setup, 6).unwrap_err().to_string();
    assert_eq!(
        refused,
        "trace = 6 is out of range; allowed: 0 to 5, the flows of this run in order of start"
    );
    setup.transports = vec![Transport::other(dcqcn::Config::default())];
    let refused = FlowTrace::new(&setup, 0).unwrap_err().to_string();
    assert!(refused.contains("TCP flows"), "{refused}");
}
