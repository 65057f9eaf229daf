//! Hosts that send and receive in bursts, measured in whole runs.

mod common;

use std::sync::atomic::AtomicBool;

use common::{flow, link_to, ports, run, setup, stack, star, tcp};
use tidegate_sim::observe::{Which, Window};
use tidegate_sim::run::run_by_heap;
use tidegate_sim::setup::{HostReceive, Stop, Transport};
use tidegate_sim::topology::dumbbell;
use tidegate_sim::workload::Probe;
use tidegate_sim::{End, Flow, HostId, Outcome, Setup};
use tidegate_transport::config::TsoSizing;
use tidegate_transport::protocol::dcqcn;
use tidegate_units::{Bytes, Rate, Size, Span, Time};

/// An endless flow from a host at 10 Gb/s over a cable of 1 Gb/s. A round trip takes 2 ms, which is
/// 166 packets of the cable, and the window is fixed at 120: the cable is never full.
fn slow_cable(tso: Option<Size>) -> Setup {
    let network = dumbbell::Config {
        left: 1,
        right: 1,
        bottleneck_rate: Rate::from_gbps(1),
        bottleneck_delay: Span::from_us(970),
        ..dumbbell::Config::default()
    };
    let mut stack = stack("tcn-sim", "dctcp");
    stack.config.initial_window = Size::Packets(120);
    stack.config.max_window = Some(Size::Packets(120));
    stack.config.tso = tso;
    stack.config.tso_sizing = TsoSizing::Full;
    let flows = vec![flow(Time::ZERO, 0, 1, Flow::ENDLESS)];
    let mut setup = Setup {
        switch: ports("none", "fifo", "unlimited"),
        transports: vec![tcp(stack)],
        stop: Stop { at: Time::from_ms(60), ..Stop::default() },
        ..setup(network.build().expect("the topology's settings are valid"), flows)
    };
    setup.observe.ports = Which::All;
    // The first window, which leaves at once, has passed by then.
    setup.observe.window = Window { from: Time::from_ms(10), to: Time::MAX };
    setup
}

/// Largest number of bytes in any queue.
fn peak(outcome: &Outcome) -> u64 {
    let queues = outcome.observed.queues.iter();
    queues.map(|(_, queue)| queue.bytes.max()).max().unwrap_or(0)
}

#[test]
fn segmentation_offload_raises_the_peak_of_a_queue_by_the_burst() {
    let smooth = peak(&run(&slow_cable(None)));
    assert!(smooth <= 2 * 1500, "an ACK lets one packet leave: {smooth} bytes");
    // 65536 / 1460 = 44 segments are more than a third of the window, which is 40. They arrive ten
    // times as fast as they leave: of 40, 36 wait when the last one arrives.
    let bursty = peak(&run(&slow_cable(Some(Size::Bytes(Bytes::from_kib(64))))));
    assert!(
        (35 * 1500..=37 * 1500).contains(&bursty),
        "{bursty} bytes wait after bursts of 40 packets"
    );
    // A burst of 20: 18 wait.
    let smaller = peak(&run(&slow_cable(Some(Size::Packets(20)))));
    assert!(
        (17 * 1500..=19 * 1500).contains(&smaller),
        "{smaller} bytes wait after bursts of 20 packets"
    );
}

/// 800 segments with a window of 16 from host 0 to host 1.
fn windows_of_16(receive: HostReceive) -> Setup {
    let mut stack = stack("tcn-sim", "dctcp");
    stack.config.initial_window = Size::Packets(16);
    stack.config.max_window = Some(Size::Packets(16));
    let flows = vec![flow(Time::ZERO, 0, 1, 800 * 1460)];
    Setup {
        switch: ports("none", "fifo", "unlimited"),
        transports: vec![tcp(stack)],
        host_receive: receive,
        ..setup(star(2, Span::from_us(5)), flows)
    }
}

fn packets_to(setup: &Setup, outcome: &Outcome, host: u32) -> u64 {
    outcome.links[link_to(&setup.network, host).index()].packets
}

#[test]
fn with_receive_offload_there_is_an_ack_for_each_unit() {
    let acks = |gro| {
        let setup = windows_of_16(HostReceive {
            gro,
            interrupt_delay: Span::from_us(100),
            interrupt_frames: Some(8),
            ..HostReceive::default()
        });
        let outcome = run(&setup);
        assert_eq!(packets_to(&setup, &outcome, 1), 800, "nothing is sent twice");
        assert_eq!(outcome.tally.finished, 1);
        assert_eq!(outcome.tally.delivered, outcome.tally.sent);
        packets_to(&setup, &outcome, 0)
    };
    assert_eq!(acks(None), 800, "one for each segment");
    assert_eq!(acks(Some(Bytes::from_kib(64))), 100, "units of 8");
    // 5840 bytes are 4 segments.
    assert_eq!(acks(Some(Bytes(5_840))), 200, "units of 4");
    assert_eq!(acks(Some(Bytes(5_839))), 300, "units of 3, 3 and 2");
}

/// Round trips of 40-byte pings between two hosts.
fn round_trips(receive: HostReceive) -> Vec<Span> {
    let probe = Probe {
        src: HostId(0),
        dst: HostId(1),
        start: Time::ZERO,
        every: Span::from_us(200),
        count: 50,
        bytes: 40,
        class: 0,
    };
    let outcome = run(&Setup {
        probes: vec![probe],
        host_receive: receive,
        stop: Stop { at: Time::from_ms(20), ..Stop::default() },
        ..setup(star(2, Span::from_us(5)), Vec::new())
    });
    let round_trips: Vec<Span> = outcome.probes[0].iter().map(|(_, took)| *took).collect();
    assert_eq!(round_trips.len(), 50);
    round_trips
}

/// Four times 5 us and 32 ns.
const BASE: Span = Span::from_ns(20_128);

#[test]
fn a_packet_waits_for_the_interrupt_and_goes_through_the_stack() {
    let us = Span::from_us;
    let all_take = |receive, expected| {
        let round_trips = round_trips(receive);
        assert!(round_trips.iter().all(|&took| took == expected), "{expected}: {round_trips:?}");
    };
    let off = HostReceive::default();
    all_take(off.clone(), BASE);
    let waits = HostReceive { interrupt_delay: us(20), ..off.clone() };
    all_take(waits.clone(), BASE + us(40));
    let two = HostReceive { interrupt_frames: Some(2), ..waits.clone() };
    all_take(two, BASE + us(40));
    let one = HostReceive { interrupt_frames: Some(1), ..waits.clone() };
    all_take(one, BASE);
    let stack = HostReceive { packet_time: us(3), ..waits };
    all_take(stack, BASE + us(46));
}

#[test]
fn jitter_spreads_round_trips_and_repeats_with_the_seed() {
    let receive = HostReceive {
        packet_time: Span::from_us(3),
        jitter: Span::from_us(8),
        ..HostReceive::default()
    };
    let drawn = round_trips(receive.clone());
    let (least, most) = (BASE + Span::from_us(6), BASE + Span::from_us(22));
    assert!(drawn.iter().all(|took| (least..most).contains(took)), "{drawn:?}");
    // The mean of two draws is 8 us; for 50 such sums the standard error is below half a
    // microsecond.
    let sum = drawn.iter().fold(Span::ZERO, |sum, took| sum + *took);
    let mean = Span::from_ps(sum.as_ps() / 50);
    let expected = BASE + Span::from_us(14);
    assert!(mean + Span::from_us(2) > expected && mean < expected + Span::from_us(2));
    assert_eq!(drawn, round_trips(receive.clone()));
    let fingerprint = |seed| {
        let setup = Setup { seed, ..windows_of_16(receive.clone()) };
        run(&setup).fingerprint()
    };
    assert_eq!(fingerprint(1), fingerprint(1));
    assert_ne!(fingerprint(1), fingerprint(2));
}

#[test]
fn packets_of_a_connection_do_not_overtake_each_other_in_the_stack() {
    // A jitter of many packet times would reorder them, and the receiver would report gaps.
    let setup = windows_of_16(HostReceive { jitter: Span::from_us(50), ..HostReceive::default() });
    let outcome = run(&setup);
    assert_eq!(outcome.flows[0].retransmissions, 0);
    assert_eq!(packets_to(&setup, &outcome, 1), 800);
}

#[test]
fn dcqcn_packets_need_no_interrupt() {
    let dcqcn = |receive| {
        let flows = vec![flow(Time::ZERO, 0, 1, 100_000)];
        run(&Setup {
            transports: vec![Transport::other(dcqcn::Config::default())],
            host_receive: receive,
            ..setup(star(2, Span::from_us(5)), flows)
        })
    };
    let slow = HostReceive {
        interrupt_delay: Span::from_us(500),
        packet_time: Span::from_us(30),
        ..HostReceive::default()
    };
    assert_eq!(dcqcn(slow).flows, dcqcn(HostReceive::default()).flows);
}

/// Flows from seven hosts to the eighth, all at line rate, over a buffer of ten packets without
/// marking or pauses.
fn lossy_dcqcn(flows_per_host: u32, livelock_time: Span) -> Setup {
    let flows = (0..7 * flows_per_host).map(|number| flow(Time::ZERO, number % 7, 7, 2_000_000));
    let config = dcqcn::Config { livelock_time, ..dcqcn::Config::default() };
    Setup {
        switch: ports("none", "fifo", "per-port limit=11KB"),
        transports: vec![Transport::other(config)],
        ..setup(star(8, Span::from_us(5)), flows.collect())
    }
}

#[test]
fn a_livelock_of_go_back_n_ends_the_run_with_the_name_of_a_flow() {
    let setup = lossy_dcqcn(4, Span::from_ms(2));
    let outcome = run(&setup);
    let End::Stalled(why) = &outcome.end else {
        panic!("{:?}", outcome.end);
    };
    assert!(why.starts_with("livelock: flow "), "{why}");
    assert!(why.contains("to host 7: "), "{why}");
    let by_heap = run_by_heap(&setup, &AtomicBool::new(false)).unwrap();
    assert_eq!((&by_heap.end, by_heap.ended_at), (&outcome.end, outcome.ended_at));
    assert_eq!(by_heap.fingerprint(), outcome.fingerprint());
}

#[test]
fn repeated_packets_do_not_fill_the_hosts_queue_without_bound() {
    let stop = Stop { at: Time::from_ms(60), ..Stop::default() };
    let setup = Setup { stop, ..lossy_dcqcn(40, Span::from_secs(100)) };
    let outcome = run(&setup);
    // Each byte once, and 4 ms of copies at each host, which are 4,700 packets.
    let data: u64 = setup.flows.iter().map(|flow| flow.bytes / 1_000).sum();
    let tally = outcome.tally;
    let waiting = tally.sent - tally.delivered - tally.dropped;
    assert!(waiting < data + 7 * 5_000, "{waiting} packets wait for the wires, {data} are new");
}

#[test]
fn impossible_host_settings_are_refused_by_name() {
    let field = |change: &dyn Fn(&mut HostReceive)| {
        let mut receive = HostReceive::default();
        change(&mut receive);
        receive.check().err().map(|error| error.to_string())
    };
    let refused = |name: &str, change: &dyn Fn(&mut HostReceive)| {
        let error = field(change).unwrap_or_default();
        assert!(error.contains(name), "{name}: {error}");
    };
    let us = Span::from_us;
    refused("gro", &|it| it.gro = Some(Bytes(1)));
    refused("gro", &|it| {
        it.interrupt_delay = us(1);
        it.gro = Some(Bytes(0));
    });
    refused("interrupt_frames", &|it| it.interrupt_frames = Some(1));
    refused("interrupt_frames", &|it| {
        it.interrupt_delay = us(1);
        it.interrupt_frames = Some(0);
    });
    refused("interrupt_delay", &|it| it.interrupt_delay = us(1_000_001));
    refused("packet_time", &|it| it.packet_time = us(1_000_001));
    refused("jitter", &|it| it.jitter = us(1_000_001));
    assert_eq!(
        field(&|it| {
            it.interrupt_delay = us(1_000_000);
            it.gro = Some(Bytes(1));
            it.interrupt_frames = Some(1);
        }),
        None
    );
}
