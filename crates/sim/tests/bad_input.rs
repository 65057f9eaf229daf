//! Invalid setups are refused with the field at fault, and runs that cannot finish end with a
//! diagnosis.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::{flow, ports, setup, stack, star, tcp};
use tidegate_sim::setup::{Accounting, Stop, Transport};
use tidegate_sim::workload::Probe;
use tidegate_sim::{End, Flow, HostId, Network, NodeId, Outcome, Setup, run};
use tidegate_transport::config::Reader;
use tidegate_transport::pias;
use tidegate_transport::protocol::dcqcn;
use tidegate_units::{Rate, Size, Span, Time};

fn outcome(setup: &Setup) -> Outcome {
    common::run(setup)
}

/// A valid run of one flow.
fn good() -> Setup {
    setup(star(3, Span::from_us(5)), vec![flow(Time::ZERO, 0, 1, 10_000)])
}

/// Asserts that both engines refuse the setup with the same error, and returns the error.
fn refusal(setup: &Setup) -> String {
    let never = AtomicBool::new(false);
    let found = run::run(setup, &never).expect_err("the setup must be refused");
    assert_eq!(run::run_by_heap(setup, &never), Err(found.clone()));
    found.to_string()
}

fn assert_refused(change: impl FnOnce(&mut Setup), beginning: &str) {
    let mut setup = good();
    change(&mut setup);
    let found = refusal(&setup);
    assert!(found.starts_with(beginning), "{found}\ninstead of {beginning}");
}

#[test]
fn a_network_that_cannot_route_is_refused() {
    let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
    let mut parted = Network::new(2, 2);
    parted.connect(NodeId(0), NodeId(2), rate, delay);
    parted.connect(NodeId(1), NodeId(3), rate, delay);
    assert_refused(|setup| setup.network = parted, "path = none from host0 to host1");
    let mut loose = Network::new(2, 1);
    loose.connect(NodeId(0), NodeId(2), rate, delay);
    assert_refused(|setup| setup.network = loose, "link = 0 links at host 1");
    assert_refused(|setup| setup.network = Network::new(0, 0), "hosts = 0");
}

#[test]
fn a_rate_of_zero_cannot_be_parsed() {
    assert_eq!(Rate::from_bps(0), None);
    let error = "0Gbps".parse::<Rate>().expect_err("a rate must not be zero");
    assert!(error.to_string().contains("0Gbps"), "{error}");
}

#[test]
fn a_link_that_takes_no_time_is_refused() {
    assert_refused(
        |setup| {
            setup.network = star(3, Span::ZERO);
            setup.accounting = Accounting { per_packet: 0, least: 0 };
        },
        "accounting = 0s",
    );
}

#[test]
fn impossible_flows_are_refused() {
    let flows = |flows: &[Flow]| {
        let flows = flows.to_vec();
        |setup: &mut Setup| setup.flows = flows
    };
    let one = flow(Time::ZERO, 0, 1, 10);
    let unknown = flow(Time::ZERO, 0, 3, 10);
    assert_refused(flows(&[one, unknown]), "host = 0 to 3 (flow 1)");
    let unknown = flow(Time::ZERO, u32::MAX, 0, 10);
    assert_refused(flows(&[unknown]), "host = 4294967295 to 0 (flow 0)");
    let own = flow(Time::ZERO, 2, 2, 10);
    assert_refused(flows(&[one, one, own]), "host = 2 to itself (flow 2)");
    let empty = flow(Time::ZERO, 0, 1, 0);
    assert_refused(flows(&[empty]), "bytes = 0 (flow 0)");
    let late = flow(Time::from_ps(1), 0, 1, 10);
    assert_refused(flows(&[late, one]), "flows = out of order");
    let endless = flow(Time::ZERO, 0, 1, Flow::ENDLESS);
    assert_refused(flows(&[endless]), "stop = none");
}

#[test]
fn impossible_transports_are_refused() {
    let with = |change: fn(&mut tidegate_transport::Config)| {
        let mut host = stack("tcn-sim", "dctcp");
        change(&mut host.config);
        move |setup: &mut Setup| setup.transports = vec![tcp(host)]
    };
    assert_refused(|setup| setup.transports.clear(), "transports = 0");
    assert_refused(with(|config| config.mss = 65_500), "mss = 65500");
    assert_refused(with(|config| config.mss = 0), "mss = 0");
    let window = Size::Packets(1 << 30);
    assert!(window.in_bytes(1460) > 1 << 30);
    assert_refused(with(|config| config.initial_window = Size::Packets(1 << 30)), "initial_window");
    assert_refused(with(|config| config.rto_min = Span::ZERO), "rto_min");
    assert_refused(
        |setup| {
            let config = dcqcn::Config { payload: 70_000, ..dcqcn::Config::default() };
            setup.transports = vec![Transport::other(config)];
        },
        "mss = 70000",
    );
    assert_refused(
        |setup| {
            let config = pias::Config { thresholds: Vec::new(), ..pias::Config::default() };
            setup.tagging = Some(config);
        },
        "thresholds",
    );
}

/// The error comes before the run, and only for hosts that send.
#[test]
fn a_sender_that_is_slower_than_its_least_rate_is_refused() {
    let mut network = Network::new(2, 1);
    for (host, rate) in [(0, Rate::from_gbps(10)), (1, Rate::from_gbps(1))] {
        network.connect(NodeId(host), NodeId(2), rate, Span::from_us(1));
    }
    let config = dcqcn::Config { min_rate: Rate::from_gbps(2), ..dcqcn::Config::default() };
    let from = |src, dst| Setup {
        transports: vec![Transport::other(config.clone())],
        flows: vec![flow(Time::ZERO, src, dst, 10_000)],
        network: network.clone(),
        ..good()
    };
    assert!(refusal(&from(1, 0)).starts_with("min_rate = 2Gbps"));
    assert_eq!(outcome(&from(0, 1)).end, End::Finished);
}

#[test]
fn impossible_ports_are_refused() {
    let switch = |marking, scheduling, buffer| {
        let made = ports(marking, scheduling, buffer);
        move |setup: &mut Setup| setup.switch = made
    };
    assert_refused(switch("mq-ecn", "fifo", "unlimited"), "scheduler = fifo");
    assert_refused(switch("none", "fifo", "per-port limit=0B"), "limit = 0B");
    assert_refused(switch("none", "dwrr quanta=1500,0", "unlimited"), "quanta = 0");
    let pfc = "pfc classes=4";
    assert_refused(switch("none", "fifo", pfc), "nic = none");
    let nic = ports("none", "fifo", pfc);
    assert_refused(|setup| setup.nic = Some(nic), "nic = pfc");
}

#[test]
fn impossible_probes_paths_and_stops_are_refused() {
    let probe = Probe {
        src: HostId(0),
        dst: HostId(9),
        start: Time::ZERO,
        every: Span::from_us(1),
        count: 1,
        bytes: 64,
        class: 0,
    };
    assert_refused(|setup| setup.probes = vec![probe], "probe = 0 to 9");
    let longest = Probe { dst: HostId(1), bytes: 65_535 - 38, ..probe };
    let too_long = Probe { bytes: longest.bytes + 1, ..longest };
    let framed = |setup: &mut Setup, probe| {
        setup.accounting = Accounting::ETHERNET;
        setup.probes = vec![probe];
    };
    assert_refused(|setup| framed(setup, too_long), "probe = 65498");
    let mut setup = good();
    framed(&mut setup, longest);
    assert!(run::run(&setup, &AtomicBool::new(false)).is_ok());
    assert_refused(|setup| setup.paths = vec![0, 0], "paths = 2");
    assert_refused(|setup| setup.stop.stalled = Span::ZERO, "stalled = 0s");
    assert_refused(
        |setup| {
            let mut host = stack("tcn-sim", "dctcp");
            host.config.reader = Reader::Manual;
            setup.transports = vec![tcp(host)];
        },
        "reader = manual",
    );
}

/// The diagnosis of a stall, the same from both engines.
fn diagnosis(setup: &Setup) -> String {
    let slow = run::run_by_heap(setup, &AtomicBool::new(false)).expect("the setup is valid");
    let fast = outcome(setup);
    assert_eq!((&fast.flows, &fast.end), (&slow.flows, &slow.end));
    match fast.end {
        End::Stalled(text) => text,
        end => panic!("{end:?} instead of a stall"),
    }
}

#[test]
fn a_buffer_smaller_than_a_packet_is_diagnosed() {
    let mut host = stack("tcn-sim", "dctcp");
    host.config.max_retries = None;
    let setup = Setup {
        switch: ports("none", "fifo", "per-port limit=1000B"),
        transports: vec![tcp(host)],
        // The second packet fits.
        flows: vec![flow(Time::ZERO, 0, 1, 10_000), flow(Time::from_us(1), 0, 2, 500)],
        ..good()
    };
    let text = diagnosis(&setup);
    assert!(text.starts_with("1 flows wait and nothing moves\n"), "{text}");
    let line = "flow 0 from host 0 to host 1: 0 of 10000 bytes received";
    assert!(text.contains(line), "{text}");
    assert!(!text.contains("flow 1"), "{text}");
    let mut endless = setup.clone();
    endless.flows.truncate(1);
    endless.flows[0].bytes = Flow::ENDLESS;
    endless.stop.at = Time::from_secs(1_000_000);
    let text = diagnosis(&endless);
    let line = "flow 0 from host 0 to host 1: 0 bytes received of a flow without end, ";
    assert!(text.contains(line), "{text}");
    let results = outcome(&setup).flows;
    assert_ne!(results[1].acked_at, Time::MAX, "a flow that can finish does");
    // A sender that gives up ends the run.
    let broken = outcome(&Setup {
        transports: vec![tcp(stack("tcn-sim", "dctcp"))],
        stop: Stop { stalled: Span::from_secs(3600), ..Stop::default() },
        ..setup
    });
    assert_eq!((broken.end, broken.tally.broken), (End::Finished, 1));
}

/// Four switches in a ring, with flows from each over the next to the one after it: every link of
/// the ring waits for the next.
#[test]
fn switches_that_pause_each_other_forever_are_diagnosed() {
    let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
    let mut ring = Network::new(4, 4);
    for host in 0..4 {
        ring.connect(NodeId(host), NodeId(4 + host), rate, delay);
    }
    for switch in 0..4 {
        ring.connect(NodeId(4 + switch), NodeId(4 + (switch + 1) % 4), rate, delay);
    }
    let flows =
        (0..4).map(|src| Flow { service: 1, ..flow(Time::ZERO, src, (src + 2) % 4, 20_000_000) });
    let setup = Setup {
        network: ring,
        flows: flows.collect(),
        // Links are chosen by number: at the first switch the link around the ring comes first.
        paths: vec![0, 1, 1, 1],
        nic: Some(ports("none", "sp queues=2", "unlimited")),
        switch: ports(
            "none",
            "sp queues=2",
            "pfc buffer=400KB classes=2 headroom=30KB rule=static xoff=3KB xon=1KB reserve=0B",
        ),
        transports: vec![Transport::other(dcqcn::Config::default())],
        stop: Stop { stalled: Span::from_secs(1), ..Stop::default() },
        ..good()
    };
    let text = diagnosis(&setup);
    assert!(text.contains("4 flows wait and nothing moves"), "{text}");
}

/// Endless flows and no time limit: an interrupt ends the run, and finished flows are kept.
#[test]
fn an_interrupt_keeps_finished_flows() {
    let setup = Setup {
        flows: vec![flow(Time::ZERO, 0, 1, 10_000), flow(Time::ZERO, 2, 1, Flow::ENDLESS - 1)],
        ..good()
    };
    let interrupt = AtomicBool::new(true);
    let at_once = run::run(&setup, &interrupt).expect("the setup is valid");
    assert_eq!(at_once.end, End::Interrupted);
    // Another run takes a while meanwhile; its length does not matter as long as it is long enough.
    for megabytes in [10, 100, 1_000] {
        let other = Setup { flows: vec![flow(Time::ZERO, 0, 1, megabytes * 1_000_000)], ..good() };
        interrupt.store(false, Ordering::Relaxed);
        let outcome = thread::scope(|scope| {
            let run = scope.spawn(|| run::run(&setup, &interrupt));
            outcome(&other);
            interrupt.store(true, Ordering::Relaxed);
            run.join().expect("the run's thread has not panicked").expect("the setup is valid")
        });
        assert_eq!(outcome.end, End::Interrupted);
        if outcome.flows[0].acked_at != Time::MAX {
            assert_eq!(outcome.flows[1].acked_at, Time::MAX);
            assert_eq!((outcome.tally.finished, outcome.tally.live), (1, 1));
            return;
        }
    }
    panic!("the first flow is never finished");
}
