//! Pauses by class (IEEE 802.1Qbb) in whole runs: the traffic that they stop, the traffic that they
//! do not stop, and deadlocks.

#![expect(clippy::cast_precision_loss, reason = "shares of small numbers")]

mod common;

use std::sync::atomic::AtomicBool;

use common::{flow, link_to, ports, ring, run, setup, stack, tcp};
use tidegate_sim::pause::{Deadlock, LinkClass};
use tidegate_sim::setup::{Stop, Transport};
use tidegate_sim::{Flow, HostId, LinkId, Network, Outcome, Setup};
use tidegate_transport::protocol::dcqcn;
use tidegate_units::{Rate, Size, Span, Time};

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Span = Span::from_us(1);
const RDMA: u8 = 3;
const TCP: u8 = 1;
const QUEUES: &str = "dwrr quanta=1500,1500,1500,1500";

/// Hosts 0 and 1 behind one switch, 2 to 4 behind another, and a cable between them. Hosts 0 and 2
/// send RDMA to host 4, whose link is too slow for both, so that the second switch pauses the
/// class. Host 0 also sends TCP to host 3.
fn two_classes(nic: &str) -> Setup {
    let mut network = Network::new(5, 2);
    let (left, right) = (network.switch(0), network.switch(1));
    for host in 0..5 {
        let switch = if host < 2 { left } else { right };
        network.connect(HostId(host).node(), switch, RATE, DELAY);
    }
    network.connect(left, right, RATE, DELAY);
    let endless = |src, dst, service, group| Flow {
        service,
        group,
        ..flow(Time::ZERO, src, dst, Flow::ENDLESS)
    };
    let flows = vec![
        endless(0, 4, RDMA, 0),
        endless(2, 4, RDMA, 0),
        endless(0, 3, TCP, 1),
        endless(0, 3, TCP, 1),
    ];
    let mut stack = stack("tcn-sim", "dctcp");
    // Nothing is marked and nothing is lost: a window of ten times the path keeps TCP from growing.
    stack.config.max_window = Some(Size::Packets(200));
    Setup {
        switch: ports(
            "none",
            QUEUES,
            "pfc buffer=4MB classes=4 bypass=0,1,2 headroom=60KB rule=static xoff=30KB xon=20KB",
        ),
        nic: Some(ports("none", nic, "unlimited")),
        transports: vec![Transport::other(dcqcn::Config::default()), tcp(stack)],
        ..setup(network, flows)
    }
}

/// Bits per second received by the flows of two classes between 10 and 30 ms, and the second
/// outcome.
fn rates(whole: &Setup) -> ([f64; 2], Outcome) {
    let until = |ms| {
        let stop = Stop { at: Time::from_ms(ms), ..Stop::default() };
        run(&Setup { stop, ..whole.clone() })
    };
    let [before, after] = [10, 30].map(until);
    let to = |outcome: &Outcome, host| {
        let link = link_to(&whole.network, host);
        outcome.links[link.index()].bytes as f64
    };
    let rate = |host| (to(&after, host) - to(&before, host)) * 8.0 / 0.02;
    ([rate(4), rate(3)], after)
}

/// The cable between the two switches, from the first to the second.
fn cable(setup: &Setup) -> LinkId {
    let links = setup.network.links().iter();
    let mut links = links.enumerate();
    let is_cable = |link: &tidegate_sim::Link| {
        link.from == setup.network.switch(0) && link.to == setup.network.switch(1)
    };
    let found = links.find(|(_, link)| is_cable(link)).expect("a cable connects the two switches");
    LinkId(found.0 as u32)
}

/// RDMA fills its receiver's link. On the cable its class is paused for part of the time, and TCP
/// gets the rest: at least half of the cable, its share by quanta.
#[test]
fn a_class_that_is_not_paused_keeps_its_share() {
    let setup = two_classes(QUEUES);
    let ([rdma, tcp], outcome) = rates(&setup);
    assert_eq!(outcome.tally.dropped, 0);
    assert!(rdma > 0.99 * 10e9, "RDMA: {rdma}");
    assert!(tcp > 0.49 * 10e9, "TCP: {tcp}");
    let (cable, host) = (cable(&setup), Network::reverse(link_to(&setup.network, 0)));
    for link in [cable, host] {
        let classes = outcome.pauses.iter().filter(|pauses| pauses.of.link == link);
        let classes: Vec<u8> = classes.map(|pauses| pauses.of.class).collect();
        assert_eq!(classes, [RDMA], "only RDMA is ever paused on {link:?}");
    }
    // The cable and the host's own link are never idle: whenever RDMA stops, TCP has packets.
    let carried = outcome.links[cable.index()].bytes as f64 * 8.0 / 0.03;
    assert!(carried > 0.97 * 10e9, "{carried}");
}

/// With one list at the network card, the paused packets at its head hold up TCP.
#[test]
fn a_card_with_one_queue_stops_with_any_class() {
    let ([_, apart], _) = rates(&two_classes(QUEUES));
    let ([rdma, together], outcome) = rates(&two_classes("fifo queues=4"));
    assert!(rdma > 0.99 * 10e9, "RDMA: {rdma}");
    assert!(together < 0.8 * apart, "{together} against {apart}");
    assert_eq!(outcome.tally.dropped, 0);
}

/// TCP senders with large windows on a ring of five switches, each to the host two switches on, in
/// a class of their own; and one flow in another class on the same path.
fn stuck_ring() -> Setup {
    let network = ring(5, RATE, DELAY);
    let mut flows: Vec<Flow> = (0..5)
        .map(|src| Flow { service: 1, ..flow(Time::ZERO, src, (src + 2) % 5, 5_000_000) })
        .collect();
    flows.push(Flow { service: 2, ..flow(Time::from_ms(1), 0, 2, 1_000_000) });
    let mut stack = stack("tcn-sim", "dctcp");
    stack.config.initial_window = Size::Packets(2000);
    Setup {
        switch: ports(
            "none",
            QUEUES,
            "pfc buffer=4MB classes=4 bypass=0,2,3 headroom=60KB rule=static xoff=20KB xon=15KB",
        ),
        nic: Some(ports("none", QUEUES, "unlimited")),
        transports: vec![tcp(stack)],
        stop: Stop { at: Time::from_ms(20), ..Stop::default() },
        ..setup(network, flows)
    }
}

#[test]
fn a_deadlocked_ring_is_found() {
    let setup = stuck_ring();
    let outcome = run(&setup);
    let [Deadlock { cycle, behind, since }] = &outcome.deadlocks[..] else {
        panic!("{:?}", outcome.deadlocks);
    };
    // The links around the ring in the direction of the flows, each into the switch that the next
    // one leaves.
    assert_eq!(cycle.len(), 5);
    for (place, LinkClass { link, class }) in cycle.iter().enumerate() {
        let next = cycle[(place + 1) % 5].link;
        let network = &setup.network;
        assert_eq!(network.link(*link).to, network.link(next).from);
        assert!(!network.is_host(network.link(*link).from));
        assert_eq!(*class, 1);
    }
    // All hosts wait behind it.
    let hosts = behind.iter().filter(|of| setup.network.is_host(setup.network.link(of.link).from));
    assert_eq!(hosts.count(), 5);
    assert!(*since < Time::from_ms(2), "{since:?}");
    // The pauses last to the end of the run.
    let longest = outcome.pauses.iter().map(|pauses| pauses.longest).max();
    assert!(longest >= Some(Span::from_ms(18)), "{longest:?}");
    assert_eq!(outcome.tally.dropped, 0);
    // The other class passes the same links, which are paused for the first class.
    assert_ne!(outcome.flows[5].acked_at, Time::MAX);
}

#[test]
fn both_engines_find_the_same_deadlock() {
    let setup = stuck_ring();
    let by_heap = tidegate_sim::run::run_by_heap(&setup, &AtomicBool::new(false));
    let by_heap = by_heap.expect("the setup is valid");
    let outcome = run(&setup);
    assert_eq!(outcome.deadlocks, by_heap.deadlocks);
    assert_eq!(outcome.pauses, by_heap.pauses);
}

#[test]
fn temporary_pauses_are_no_deadlock() {
    let (_, outcome) = rates(&two_classes(QUEUES));
    assert!(!outcome.pauses.is_empty());
    assert_eq!(outcome.deadlocks, []);
}
