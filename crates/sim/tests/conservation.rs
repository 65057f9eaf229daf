//! Conservation: every packet and every byte is accounted for.

mod common;

use std::sync::atomic::AtomicBool;

use common::cases::case;
use common::{Dice, flow, link_to, marking, ports, run, setup, stack, star, tcp};
use tidegate_dataplane::{DropReason, NonEct, PortStats, mark};
use tidegate_sim::setup::Stop;
use tidegate_sim::{End, Flow, Network, NodeId, Outcome, Setup, run};
use tidegate_units::{Span, Time};

/// Packets that the links to a node carried, and packets that the node sent on or dropped.
fn balance(network: &Network, outcome: &Outcome, node: NodeId) -> (u64, u64) {
    let (mut came, mut went) = (0, 0);
    for (index, link) in network.links().iter().enumerate() {
        let packets = outcome.links[index].packets;
        if link.to == node {
            came += packets;
        }
        if link.from == node {
            let port = outcome.ports[index].as_ref();
            went += packets + port.map_or(0, PortStats::total_drops);
        }
    }
    (came, went)
}

/// Stops long after the flows are over, when nothing is in flight. Another flow, which would start
/// later still, keeps the run from ending with them.
fn with_silence_at_the_end(mut setup: Setup) -> Setup {
    setup.stop = Stop { at: Time::from_secs(60), ..Stop::default() };
    setup.flows.push(flow(Time::from_secs(90), 0, 1, 1));
    setup
}

#[test]
fn every_packet_is_delivered_or_dropped_once() {
    let (mut cases, mut dropped, mut again) = (0, 0, 0);
    for seed in 10_000..10_200 {
        let setup = with_silence_at_the_end(case(seed));
        let Ok(outcome) = run::run(&setup, &AtomicBool::new(false)) else {
            continue;
        };
        let over = outcome.tally.finished + outcome.tally.broken;
        if over as usize + 1 < setup.flows.len() {
            continue;
        }
        assert_eq!(outcome.end, End::TimeUp);
        cases += 1;
        let (network, tally) = (&setup.network, &outcome.tally);
        let nodes = (0..network.nodes()).map(NodeId);
        let (mut sent, mut delivered, mut finishes) = (0, 0, 0);
        for node in nodes {
            let (came, went) = balance(network, &outcome, node);
            if network.is_host(node) {
                delivered += came;
                sent += went;
            } else {
                assert_eq!(came, went, "case {seed}: {}", network.name(node));
            }
        }
        assert_eq!(tally.sent, sent, "case {seed}");
        assert_eq!(tally.delivered, delivered, "case {seed}");
        assert_eq!(tally.sent, tally.delivered + tally.dropped, "case {seed}");
        let drops = outcome.ports.iter().flatten().map(PortStats::total_drops);
        assert_eq!(tally.dropped, drops.sum::<u64>(), "case {seed}");
        assert_eq!(tally.live, 0, "case {seed}");
        for result in &outcome.flows {
            assert!(result.received_at <= result.acked_at, "case {seed}");
            let is_finished = result.acked_at != Time::MAX;
            finishes += u32::from(is_finished);
        }
        assert_eq!(finishes, tally.finished, "case {seed}");
        dropped += u32::from(tally.dropped > 0);
        again += u32::from(outcome.flows.iter().any(|flow| flow.retransmissions > 0));
    }
    assert!(cases > 120, "only {cases} cases finished");
    assert!(dropped > 20 && again > 20, "{dropped} {again}");
}

/// Without losses the links carry each byte of each flow once, a header for each packet, and an ACK
/// for each packet.
#[test]
fn links_carry_each_byte_once() {
    let mut dice = Dice::new(3);
    let flows: Vec<Flow> = (0..200)
        .map(|number| {
            let src = dice.below(7) as u32;
            let bytes = 1 + dice.below(40_000);
            flow(Time::from_us(number * 3), src, 7, bytes)
        })
        .collect();
    let setup = Setup {
        switch: ports("tcn threshold=20us", "fifo", "unlimited"),
        ..setup(star(8, Span::from_us(5)), flows)
    };
    let outcome = run(&setup);
    assert_eq!(outcome.end, End::Finished);
    let segments = |flow: &Flow| flow.bytes.div_ceil(1460);
    for host in 0..8 {
        let to = outcome.links[link_to(&setup.network, host).index()];
        let (mut packets, mut bytes) = (0, 0);
        for flow in &setup.flows {
            if flow.dst.0 == host {
                packets += segments(flow);
                bytes += flow.bytes + 40 * segments(flow);
            } else if flow.src.0 == host {
                packets += segments(flow);
                bytes += 40 * segments(flow);
            }
        }
        assert_eq!((to.packets, to.bytes), (packets, bytes), "host {host}");
    }
    // Each mark of a data packet was set by a port, and reached the receiver.
    let marked = outcome.ports.iter().flatten().map(PortStats::total_marks);
    let seen = outcome.flows.iter().map(|flow| u64::from(flow.marks));
    let (marked, seen) = (marked.sum::<u64>(), seen.sum::<u64>());
    assert!(marked == seen && marked > 100, "{marked} {seen}");
}

#[test]
fn packets_that_cannot_be_marked_never_are() {
    for scheme in mark::Config::NAMES {
        for non_ect in [NonEct::Drop, NonEct::Pass] {
            let flows = (0..6).map(|src| flow(Time::ZERO, src, 6, 400_000));
            let mut switch = ports("none", "sp-dwrr strict=1 quanta=1500,1500", "unlimited");
            switch.marking = marking(scheme);
            switch.non_ect = non_ect;
            let setup = Setup {
                switch,
                transports: vec![tcp(stack("rfc", "reno"))],
                ..setup(star(7, Span::from_us(10)), flows.collect())
            };
            let outcome = run(&setup);
            assert_eq!(outcome.end, End::Finished, "{scheme}");
            let ports = outcome.ports.iter().flatten();
            let marks = ports.clone().map(PortStats::total_marks).sum::<u64>();
            assert_eq!(marks, 0, "{scheme}");
            let drops = ports.map(|port| port.drops(DropReason::NotCapable));
            let drops = drops.sum::<u64>();
            assert!(non_ect == NonEct::Drop || drops == 0, "{scheme}");
            if *scheme == "tcn" {
                assert_eq!(
                    drops > 0,
                    non_ect == NonEct::Drop,
                    "packets that would be marked are dropped"
                );
            }
        }
    }
}
