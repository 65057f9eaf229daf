//! The pairs of the ODCTCP thesis: DCTCP, ODCTCP and standard ECN on either side.
//!
//! Setup of section 4.2: 2 Mb/s, a round trip of 40 ms, a queue of 20 packets that marks above 6.

use alloc::vec::Vec;

use tidegate_units::{Rate, Span, Time};

use crate::cc::{self, dctcp};
use crate::config::{Config, Echo};
use crate::segment::Flags;
use crate::testing::{Bottleneck, Network, Side};

const MSS: u32 = 1448;

fn config(echo: Echo) -> Config {
    Config { echo, ..Config::profile("odctcp-dummynet").unwrap() }
}

fn dctcp(profile: &str) -> cc::Config {
    cc::Config::Dctcp(dctcp::Config::profile(profile).unwrap())
}

fn named(name: &str) -> cc::Config {
    cc::Config::named(name).unwrap()
}

/// Sends for ten seconds; answers the network, and the window in segments every 100 ms.
fn trace(cc: &cc::Config, echo: Echo) -> (Network, Vec<u32>) {
    let (client, server) = (config(Echo::Rfc3168), config(echo));
    let mut network = Network::new((&client, cc), (&server, cc), 1);
    network.weather.delay = Span::from_ms(20);
    network.bottleneck = Some(Bottleneck::new(Rate::from_bps(2_000_000).unwrap(), 20, 6));
    network.tracing = true;
    network.client.write(10_000_000, Time::ZERO);
    let windows = (1..=100)
        .map(|i| {
            network.run_until(Time::from_ms(100 * i), |_| false);
            network.client.cwnd() / MSS
        })
        .collect();
    (network, windows)
}

/// The part of the link's rate that was used, in percent.
fn utilisation(network: &Network) -> u64 {
    // Ten seconds at 2 Mb/s are 2.5 MB, of which 1448 of every 1500 bytes are payload.
    network.server.received() * 100 / (2_500_000 * 1448 / 1500)
}

#[test]
fn a_dctcp_sender_without_cwr_collapses_to_two_segments_against_a_standard_receiver() {
    // Thesis, figure 5.1: the window is at two segments from 1.7 s on, and stays.
    let (network, windows) = trace(&dctcp("thesis-plain"), Echo::Rfc3168);
    assert!(windows[..10].iter().any(|&window| window > 6), "{windows:?}");
    assert!(windows[25..].iter().all(|&window| window == 2), "{windows:?}");
    // Two segments per 40 ms and the queueing they do not cause: a third of the link.
    assert!(utilisation(&network) < 45, "{}", utilisation(&network));
    assert!(network.trace.iter().all(|(_, side, segment)| {
        *side == Side::Server || segment.flags.has(Flags::SYN) || !segment.flags.has(Flags::CWR)
    }));
}

#[test]
fn an_odctcp_sender_keeps_a_useful_window_against_a_standard_receiver() {
    // Thesis, figure 5.4: a straight time-sequence line.
    let (network, windows) = trace(&named("odctcp"), Echo::Rfc3168);
    assert!(windows[25..].iter().all(|&window| window > 3), "{windows:?}");
    assert!(utilisation(&network) > 90, "{}", utilisation(&network));
}

#[test]
fn every_pair_that_announces_its_reductions_uses_the_link() {
    let rules = [
        dctcp("rfc8257"),
        dctcp("linux-3.18"),
        dctcp("linux-4.9"),
        dctcp("linux-5.1"),
        dctcp("freebsd"),
        dctcp("freebsd-thesis"),
        dctcp("ns2"),
        named("odctcp"),
        named("rfc3168"),
        named("ecn-star"),
    ];
    for cc in &rules {
        for echo in [Echo::Rfc3168, Echo::DctcpPaper, Echo::DctcpTwoAcks, Echo::Odctcp] {
            let (network, windows) = trace(cc, echo);
            let used = utilisation(&network);
            assert!(used > 75, "{cc:?} to {echo:?}: {used} % {windows:?}");
        }
    }
    // With a DCTCP receiver, which echoes no more than it sees, even silence does no harm.
    let (network, windows) = trace(&dctcp("thesis-plain"), Echo::DctcpPaper);
    assert!(utilisation(&network) > 80, "{windows:?}");
}

#[test]
fn a_standard_receiver_echoes_until_cwr_and_no_longer() {
    let (network, _) = trace(&named("odctcp"), Echo::Rfc3168);
    let cwr = network.trace.iter().filter(|(_, side, segment)| {
        *side == Side::Client && segment.flags.has(Flags::CWR) && segment.len > 0
    });
    let reductions = network.client.stats().mark_reductions;
    let losses = network.client.stats().fast_recoveries + network.client.stats().timeouts;
    let announced = cwr.count() as u64;
    assert!(
        announced > 10 && announced <= reductions + losses,
        "{announced} of {reductions} + {losses}"
    );
    let acks = network.server.stats().pure_acks_sent;
    let echoes = network.client.stats().echoes_received;
    assert!(echoes * 2 < acks, "most ACKs carry no echo: {echoes} of {acks}");
}
