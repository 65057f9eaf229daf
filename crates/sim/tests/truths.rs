//! Predictions of theory and publications, measured in whole runs.

#![expect(clippy::cast_precision_loss, reason = "shares and means of small numbers")]

mod common;

use common::{Dice, PACKET, flow, link_to, ports, run, scheduling, setup, stack, star, tcp};
use tidegate_sim::ideal::{self, Framing};
use tidegate_sim::setup::{Accounting, Stop, Transport};
use tidegate_sim::topology::{dumbbell, fat_tree, leaf_spine, parking_lot, star as star_topology};
use tidegate_sim::workload::Probe;
use tidegate_sim::{End, Flow, HostId, Network, Outcome, Routes, Setup};
use tidegate_transport::cc;
use tidegate_transport::protocol::dcqcn;
use tidegate_units::{Rate, Size, Span, Time};

/// Bytes carried by the link of each of the first hosts between two moments.
fn sent_between(setup: &Setup, hosts: u32, from: Time, to: Time) -> Vec<f64> {
    let until = |at| {
        let stop = Stop { at, ..Stop::default() };
        run(&Setup { stop, ..setup.clone() })
    };
    let [before, after] = [from, to].map(until);
    let bytes = |outcome: &Outcome, host| {
        let link = Network::reverse(link_to(&setup.network, host));
        outcome.links[link.index()].bytes
    };
    let both = (0..hosts).map(|host| (bytes(&before, host), bytes(&after, host)));
    both.map(|(before, after)| (after - before) as f64).collect()
}

fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs() / expected;
    assert!(
        error <= tolerance,
        "{what}: {found:.4} instead of {expected:.4}, off by {:.2} %",
        error * 100.0
    );
}

/// Two endless flows from each of three hosts to a fourth, with a service per sending host.
fn three_services(scheduler: &str) -> Setup {
    let flows = (0..6).map(|number| Flow {
        service: (number % 3) as u8,
        ..flow(Time::ZERO, number % 3, 3, Flow::ENDLESS)
    });
    let mut setup = setup(star(4, Span::from_us(25)), flows.collect());
    setup.switch.scheduling = scheduling(scheduler);
    setup
}

fn assert_shares(scheduler: &str, weights: [f64; 3]) {
    let setup = three_services(scheduler);
    let sent = sent_between(&setup, 3, Time::from_ms(10), Time::from_ms(30));
    let total: f64 = sent.iter().sum();
    assert_near("the link is full", total, 0.02 * 10e9 / 8.0, 0.01);
    let whole: f64 = weights.iter().sum();
    for (service, (sent, weight)) in sent.iter().zip(weights).enumerate() {
        let what = format!("{scheduler}: the share of service {service}");
        assert_near(&what, sent / total, weight / whole, 0.02);
    }
}

#[test]
fn dwrr_shares_the_link_by_quanta() {
    assert_shares("dwrr quanta=1500,1500,1500", [1.0, 1.0, 1.0]);
    assert_shares("dwrr quanta=1500,3000,4500", [1.0, 2.0, 3.0]);
}

#[test]
fn wfq_shares_the_link_by_weights() {
    assert_shares("wfq weights=1,1,1", [1.0, 1.0, 1.0]);
    assert_shares("wfq weights=1,2,3", [1.0, 2.0, 3.0]);
}

#[test]
fn strict_priority_serves_the_first_queue_first() {
    // The first service offers 4 Gb/s with its headers and gets them; the second takes the rest,
    // and the third starves.
    let mut setup = three_services("sp queues=3");
    for flow in &mut setup.flows {
        let rate = Rate::from_bps(2_000_000_000 * 1460 / 1500);
        flow.rate = rate.filter(|_| flow.service == 0);
    }
    let sent = sent_between(&setup, 3, Time::from_ms(10), Time::from_ms(30));
    let total: f64 = sent.iter().sum();
    assert_near("the first share", sent[0] / total, 0.4, 0.02);
    assert_near("the second share", sent[1] / total, 0.6, 0.02);
    assert!(sent[2] / total < 0.001, "{sent:?}");
}

/// Probes with a tiny packet every 20.3 µs from one host to another.
fn probe(src: u32, dst: u32) -> Probe {
    Probe {
        src: HostId(src),
        dst: HostId(dst),
        start: Time::ZERO,
        every: Span::from_ns(20_300),
        count: Probe::ENDLESS,
        bytes: 40,
        class: 0,
    }
}

/// Queueing delay of each probe from `from` on: its round trip minus the shortest one.
fn waits(outcome: &Outcome, series: usize, from: Time) -> Vec<Span> {
    let shortest = Span::from_us(100) + Span::from_ns(4 * 32);
    let round_trips = outcome.probes[series].iter();
    let late = round_trips.filter(|(at, _)| *at >= from);
    late.map(|(_, took)| *took - shortest).collect()
}

/// A ping of 84 bytes of IP has 122 with Ethernet framing, and one of 28 is padded to the minimum
/// frame.
#[test]
fn a_lone_ping_takes_the_time_of_its_frames() {
    let (ip, ethernet) = (Accounting::default(), Accounting::ETHERNET);
    for (accounting, bytes, size) in
        [(ip, 84, 84), (ip, 28, 28), (ethernet, 84, 122), (ethernet, 28, 84)]
    {
        let setup = Setup {
            accounting,
            probes: vec![Probe { bytes, count: 1, ..probe(0, 1) }],
            ..setup(star(2, Span::from_us(25)), vec![flow(Time::from_ms(1), 0, 1, 1_000)])
        };
        // Four links of 10 Gb/s.
        let expected = Span::from_us(100) + Span::from_ps(4 * 800 * size);
        let round_trips = &run(&setup).probes[0];
        assert_eq!(round_trips[..], [(Time::ZERO + expected, expected)]);
    }
}

/// Mean and longest queue of 8 senders to one receiver at 10 Gb/s, in packets, including the
/// remaining half of the packet on the wire on average.
fn queue_of_eight(profile: &str) -> (f64, f64) {
    let cc = cc::dctcp::Config::profile(profile).expect("the profile is known");
    let mut host = stack("tcn-micro", "dctcp");
    host.cc = cc::Config::Dctcp(cc);
    let flows = (0..8).map(|src| flow(Time::ZERO, src, 8, Flow::ENDLESS));
    let setup = Setup {
        transports: vec![tcp(host)],
        probes: vec![probe(9, 8)],
        stop: Stop { at: Time::from_ms(80), ..Stop::default() },
        ..setup(star(10, Span::from_us(25)), flows.collect())
    };
    let outcome = run(&setup);
    assert_eq!(outcome.end, End::TimeUp);
    let waits = waits(&outcome, 0, Time::from_ms(20));
    assert!(waits.len() > 2_000);
    let packets = |wait: Span| wait.as_ps() as f64 / 1_200_000.0;
    let mean = waits.iter().map(|&wait| packets(wait)).sum::<f64>() / waits.len() as f64;
    let longest = waits.iter().max().copied().map_or(0.0, packets);
    (mean - 0.5, longest)
}

/// With K = 65 packets and one ACK per packet, the TCN authors' simulator has a mean queue of 61.9
/// to 62.1 packets, and never more than 74 in the steady state.
#[test]
fn dctcp_keeps_its_queue_around_the_threshold() {
    let (mean, longest) = queue_of_eight("ns2");
    assert_near("the mean queue", mean, 62.0, 0.03);
    assert!((70.0..=78.0).contains(&longest), "{longest}");
}

/// The DCTCP of ns-3 has 55.7 packets there: it slows down over a round trip.
#[test]
fn the_dctcp_of_ns3_has_a_shorter_queue() {
    let (mean, longest) = queue_of_eight("ns3");
    assert_near("the mean queue", mean, 55.7, 0.05);
    assert!((70.0..=80.0).contains(&longest), "{longest}");
}

/// Utilization of a 10 Gb/s link by one ECN* flow whose queue is marked above `threshold`. The
/// sender's link is slightly faster, so that pairs of packets do not wait.
fn utilisation_of_ecn_star(threshold: &str) -> f64 {
    let network = dumbbell::Config {
        left: 1,
        right: 1,
        host_rate: Rate::from_bps(10_500_000_000).expect("the rate is not zero"),
        ..dumbbell::Config::default()
    };
    let network = network.build().expect("the topology's settings are valid");
    let setup = Setup {
        switch: ports(&format!("queue-red threshold={threshold}"), "fifo", "unlimited"),
        transports: vec![tcp(stack("tcn-sim", "ecn-star"))],
        ..setup(network, vec![flow(Time::ZERO, 0, 1, Flow::ENDLESS)])
    };
    let sent = sent_between(&setup, 1, Time::from_ms(20), Time::from_ms(120));
    sent[0] / (0.1 * 10e9 / 8.0)
}

/// Halving a window of C·RTT + K leaves at least C·RTT in flight if K is C·RTT. Without a queue the
/// window moves between half of C·RTT and all of it: three quarters on average.
#[test]
fn ecn_star_needs_a_queue_of_one_bandwidth_delay_product() {
    let full = utilisation_of_ecn_star("125KB");
    let bare = utilisation_of_ecn_star("1pkts");
    assert!(full > 0.995, "{full}");
    assert_near("without a queue", bare, 0.75, 0.04);
}

/// DiffECN's preliminary experiment: four senders whose applications offer 25, 13, 5 and 5 Gb/s to
/// a 40 Gb/s link, the first two before the others. The start times are closer together here.
/// Returns the rates with two flows and with four.
fn preliminary_experiment(marks: &str, schedules: &str) -> [Vec<f64>; 2] {
    let network = star_topology::Config {
        hosts: 5,
        host_rate: Rate::from_gbps(40),
        host_delay: Span::from_us(1),
        host_delays: vec![Span::from_us(13); 4],
        ..star_topology::Config::default()
    };
    let asked = [(25, 0), (13, 5), (5, 15), (5, 15)];
    let flows = asked.iter().enumerate().map(|(src, &(gbps, start))| Flow {
        rate: Rate::from_bps(gbps * 1_000_000_000 * 1460 / PACKET),
        ..flow(Time::from_ms(start), src as u32, 4, Flow::ENDLESS)
    });
    let setup = Setup {
        switch: ports(marks, schedules, "unlimited"),
        ..setup(network.build().expect("the topology's settings are valid"), flows.collect())
    };
    [(10, 15), (25, 45)].map(|(from, to)| {
        let sent = sent_between(&setup, 4, Time::from_ms(from), Time::from_ms(to));
        let seconds = (to - from) as f64 / 1e3;
        let rates = sent.iter().map(|bytes| bytes * 8.0 / 1e9 / seconds);
        rates.collect()
    })
}

/// Max-min fairness gives 25 and 13 Gb/s, then 17, 13, 5 and 5; DiffECN agrees.
#[test]
fn limited_applications_get_their_max_min_shares() {
    let marks = "diff-ecn threshold=23800B rtt=28us";
    let quanta = ["1500"; 15].join(",");
    let [two, four] = preliminary_experiment(marks, &format!("sp-dwrr strict=1 quanta={quanta}"));
    for (found, expected) in two.iter().zip([25.0, 13.0]) {
        assert_near("with two flows", *found, expected, 0.02);
    }
    for (found, expected) in four.iter().zip([17.0, 13.0, 5.0, 5.0]) {
        assert_near("with four flows", *found, expected, 0.03);
    }
}

/// With one threshold for the port, the second flow falls to 12 Gb/s when the small ones start: the
/// marks affect all flows alike (DiffECN, figure 3).
#[test]
fn a_port_threshold_slows_flows_with_small_demands() {
    let [two, four] = preliminary_experiment("port-red threshold=23800B", "fifo");
    for (found, expected) in two.iter().zip([25.0, 13.0]) {
        assert_near("with two flows", *found, expected, 0.02);
    }
    assert_near("the first flow takes the rest", four[0], 40.0 - 10.0 - four[1], 0.02);
    assert_near("the second flow", four[1], 12.3, 0.03);
    assert_near("the small ones", four[2] + four[3], 10.0, 0.02);
}

/// Queues that are offered twice their capacity converge to αB / (1 + Mα) bytes each. The longest
/// delays of tiny packets show it, to within the packet on the wire, the packet that does not fit,
/// and the increase of the threshold by a packet that leaves another queue.
#[test]
fn overloaded_queues_end_at_the_dynamic_threshold() {
    for (alpha, ratio, queues) in [("1", 1.0, 1), ("1", 1.0, 2), ("1/2", 0.5, 3), ("4", 4.0, 2)] {
        let hosts = 3 * queues + 1;
        let prober = hosts - 1;
        // DCQCN without marks sends at the speed of its link despite losses.
        let flows = (0..2 * queues).map(|src| {
            let start = Time::from_ps(u64::from(src) * 77_777);
            flow(start, src, 2 * queues + src / 2, Flow::ENDLESS)
        });
        let buffer = format!(
            "dynamic-threshold pool_size=600KB reserve_size=0B alpha={alpha} ports_per_pool={hosts}"
        );
        let setup = Setup {
            switch: ports("none", "fifo", &buffer),
            transports: vec![Transport::other(dcqcn::Config::default())],
            probes: (0..queues).map(|port| probe(prober, 2 * queues + port)).collect(),
            stop: Stop { at: Time::from_ms(12), ..Stop::default() },
            ..setup(star(hosts, Span::from_us(25)), flows.collect())
        };
        let outcome = run(&setup);
        let expected = ratio * 600_000.0 / (1.0 + f64::from(queues) * ratio);
        for series in 0..queues as usize {
            let waits = waits(&outcome, series, Time::from_ms(4));
            let longest = waits.iter().max().copied().unwrap_or_default();
            let bytes = longest.as_ps() as f64 / 800.0;
            assert!(
                (bytes - expected).abs() <= (2.0 + ratio) * 1040.0,
                "alpha {alpha}, {queues} queues: {bytes} bytes instead of {expected}"
            );
        }
    }
}

/// The stack of a sender that never waits.
fn open_window() -> Transport {
    let mut host = stack("tcn-sim", "dctcp");
    host.config.initial_window = Size::Packets(10_000);
    host.config.max_window = None;
    tcp(host)
}

#[test]
fn a_lone_flow_takes_exactly_the_ideal_time() {
    let slow = Rate::from_bps(995_000_000).expect("the rate is not zero");
    let networks = [
        star(3, Span::from_us(25)),
        dumbbell::Config { bottleneck_rate: slow, ..dumbbell::Config::default() }
            .build()
            .expect("the topology's settings are valid"),
        dumbbell::Config {
            bottleneck_rate: Rate::from_gbps(40),
            host_rate: slow,
            ..dumbbell::Config::default()
        }
        .build()
        .expect("the topology's settings are valid"),
        leaf_spine::Config::default().build().expect("the topology's settings are valid"),
        fat_tree::Config { k: 4, ..fat_tree::Config::default() }
            .build()
            .expect("the topology's settings are valid"),
        parking_lot::Config::default().build().expect("the topology's settings are valid"),
    ];
    let framing = Framing::new(1460, 40).expect("packets have a payload");
    for network in networks {
        let routes = Routes::new(&network).expect("every host is reachable");
        let dst = network.hosts() - 1;
        let mut path = Vec::new();
        routes.path(HostId(0), HostId(dst), 0, &mut path);
        for bytes in [1, 1459, 1460, 1461, 14_600, 100_000, 1_000_001, 9_999_999] {
            // The start time is not a multiple of anything.
            let flow = flow(Time::from_ps(123_456_789), 0, dst, bytes);
            let setup = Setup {
                switch: ports("none", "fifo", "unlimited"),
                transports: vec![open_window()],
                ..setup(network.clone(), vec![flow])
            };
            let outcome = run(&setup);
            let expected = ideal::completion(&network, &path, bytes, framing);
            let took = outcome.flows[0].completion(&flow);
            assert_eq!(took, Some(expected), "{bytes} bytes to host {dst}");
            // Each packet is acknowledged at once by a packet of 40 bytes. The ACK of a short last
            // packet may wait for the previous ACK on a slow link, for less than its transmission.
            let back = ideal::transit(&network, &path, 40);
            let slowest = network.bottleneck(&path).expect("the path is not empty").time_for(40);
            let acknowledged = outcome.flows[0].acknowledged(&flow);
            let late = acknowledged.expect("the flow finishes") - (expected + back);
            let is_short = bytes > 1460 && bytes % 1460 != 0;
            assert!(late == Span::ZERO || is_short && late < slowest, "{bytes} bytes: {late}");
        }
    }
}

/// Mean wait of packets of one size that arrive at random (Poisson) at a port with this load, in
/// units of a transmission. Each is a flow of its own from one of many hosts with fast links.
fn mean_wait(load_percent: u64, packets: u64) -> f64 {
    let network = star_topology::Config {
        hosts: 65,
        host_rate: Rate::from_gbps(10),
        host_rates: vec![Rate::from_gbps(400); 64],
        host_delay: Span::from_us(1),
        ..star_topology::Config::default()
    };
    let network = network.build().expect("the topology's settings are valid");
    let service = 1_200_000.0;
    let gap = Span::from_ps(120_000_000 / load_percent);
    let mut dice = Dice::new(5);
    let mut now = Time::ZERO;
    let flows = (0..packets).map(|_| {
        now += dice.until_next(gap);
        flow(now, dice.below(64) as u32, 64, 1460)
    });
    let setup =
        Setup { switch: ports("none", "fifo", "unlimited"), ..setup(network, flows.collect()) };
    let outcome = run(&setup);
    let alone = Span::from_us(2) + Span::from_ns(1_200 + 30);
    let waits = outcome.flows.iter().zip(&setup.flows).map(|(result, flow)| {
        let took = result.completion(flow).expect("every flow finishes");
        (took - alone).as_ps() as f64
    });
    waits.sum::<f64>() / packets as f64 / service
}

/// Pollaczek and Khinchine: a packet of constant size waits ρ / 2(1 − ρ) transmissions on average.
#[test]
fn random_packets_wait_as_in_an_m_d_1_queue() {
    let (half, most) = (mean_wait(50, 60_000), mean_wait(80, 120_000));
    assert_near("at half load", half, 0.5, 0.03);
    assert_near("at load 0.8", most, 2.0, 0.05);
}

/// The shortest flow goes first, and no flow's packets are reordered, so that no sender detects a
/// loss.
#[test]
fn pfabric_serves_the_shortest_flow_first_and_reorders_none() {
    let sizes = [3_000_000, 1_000_000, 30_000];
    let with = |scheduler: &str| {
        let flows = sizes.iter().zip(0..);
        let flows = flows.map(|(&bytes, host)| flow(Time::ZERO, host, 3, bytes));
        let mut setup = setup(star(4, Span::from_us(5)), flows.collect());
        setup.switch = ports("none", scheduler, "unlimited");
        run(&setup).flows
    };
    let fifo = with("fifo");
    let pfabric = with("pifo rank=pfabric");
    assert!(pfabric.iter().all(|flow| flow.retransmissions == 0));
    let ends = pfabric.iter().map(|flow| flow.received_at - Time::ZERO);
    let ends: Vec<f64> = ends.map(|span| span.as_ps() as f64 / 1e12).collect();
    // Each flow preempts those with more left: 1.03 MB, then 4.03 MB at 10 Gb/s with headers.
    assert_near("the second", ends[1], 1.03e6 * 8.0 / 10e9 * 1500.0 / 1460.0, 0.1);
    assert_near("the last", ends[0], 4.03e6 * 8.0 / 10e9 * 1500.0 / 1460.0, 0.05);
    assert!(pfabric[2].received_at < fifo[2].received_at);
    // All packets have zero slack, so that the first to arrive is served first.
    assert_eq!(with("pifo rank=lstf"), fifo);
}
