//! Everything sent arrives once and in order, over every kind of network.

use alloc::vec::Vec;

use tidegate_units::{Ratio, Rng, Setting, Settings, Span, Time};

use crate::config::{Config, Echo, Reader};
use crate::testing::{Network, Side, Weather};
use crate::{State, cc};

/// All congestion controls, and DCTCP in all its profiles.
pub(super) fn all_ccs() -> Vec<cc::Config> {
    let mut all: Vec<_> =
        cc::Config::NAMES.iter().map(|name| cc::Config::named(name).unwrap()).collect();
    for cc in &mut all {
        if let cc::Config::Swift(swift) = cc {
            // Round trips here are far above its target: a thousandth of a packet would take days.
            swift.min_window = Ratio::new(1, 4).unwrap();
        }
    }
    for name in cc::dctcp::Config::PROFILES {
        let profile = cc::dctcp::Config::profile(name).unwrap();
        all.push(cc::Config::Dctcp(profile));
    }
    all
}

/// Settings drawn from everything that may matter to reliability.
fn draw_config(rng: &mut Rng) -> Config {
    let mut draw = |n: u32| rng.next_u32() % n;
    let mut config = Config {
        mss: [100, 536, 1460, 8960][draw(4) as usize],
        rto_min: Span::from_us(u64::from(200 + draw(5000))),
        rto_initial: Span::from_ms(u64::from(1 + draw(20))),
        rto_max: Span::from_secs(2),
        clock_granularity: Span::from_us(u64::from(1 + draw(1000))),
        delayed_ack: 1 + draw(4) as u8,
        ack_delay: Span::from_us(u64::from(100 + draw(40_000))),
        sack: draw(3) > 0,
        dsack: draw(2) > 0,
        prr: draw(2) > 0,
        limited_transmit: draw(2) > 0,
        nagle: draw(4) == 0,
        max_retries: None,
        // Longer than a FIN may have to be repeated in the worst weather.
        time_wait: Span::from_secs(60),
        ..Config::default()
    };
    config.abc = [None, Some(1), Some(2)][draw(3) as usize];
    for (field, names) in [
        ("idle_restart", crate::config::IdleRestart::NAMES),
        ("growth", crate::config::Growth::NAMES),
        ("ecn_fallback", crate::config::EcnFallback::NAMES),
        ("syn_loss", crate::config::SynLoss::NAMES),
        ("ect_syn", crate::config::Ect::NAMES),
        ("ect_ack", crate::config::Ect::NAMES),
        ("ect_retransmission", crate::config::Ect::NAMES),
        ("echo", Echo::NAMES),
        ("repair", crate::config::Repair::NAMES),
        ("tso_sizing", crate::config::TsoSizing::NAMES),
        ("tso", &["none", "2pkts", "64KB"]),
    ] {
        config.set(field, names[draw(names.len() as u32) as usize]).unwrap();
    }
    config.check().unwrap();
    config
}

/// Sends messages both ways in bad weather, closes both ends, and expects all of it to arrive.
fn transfer(seed: u64, client: (&Config, &cc::Config), server: (&Config, &cc::Config)) {
    transfer_over(Network::new(client, server, seed), seed);
}

/// The same over a network that may have been prepared. Answers with the network afterwards.
fn transfer_over(mut network: Network, seed: u64) -> Network {
    let mut rng = Rng::new(seed, 11);
    network.weather = Weather {
        loss: [0, 10, 50, 200][(rng.next_u32() % 4) as usize],
        duplication: [0, 30][(rng.next_u32() % 2) as usize],
        marking: [0, 50, 500][(rng.next_u32() % 3) as usize],
        delay: Span::from_us(40),
        jitter: Span::from_us([0, 10, 300][(rng.next_u32() % 3) as usize]),
    };
    let limit = Time::from_secs(3000);
    let mut sent = [0, 0];
    for _ in 0..3 {
        let up = u64::from(rng.next_u32() % 60_000);
        let down = u64::from(rng.next_u32() % 10_000);
        sent = [sent[0] + up, sent[1] + down];
        let now = network.now;
        network.client.write(up, now);
        network.server.write(down, now);
        let done = network
            .run_until(limit, |n| n.server.received() == sent[0] && n.client.received() == sent[1]);
        assert!(
            done,
            "seed {seed}: stalled at {} of {sent:?}\nclient {:?}\nserver {:?}",
            network.now, network.client, network.server
        );
        // A pause, at times longer than the timeout.
        network.now += Span::from_us(u64::from(rng.next_u32() % 20_000));
    }
    let now = network.now;
    network.client.close(now);
    network.flush();
    network.server.close(now);
    let closed = network.run_until(limit, |n| {
        n.client.state() == State::Closed && n.server.state() == State::Closed
    });
    assert!(
        closed,
        "seed {seed}: not closed\nclient {:?}\nserver {:?}",
        network.client, network.server
    );
    assert!(!network.client.is_broken() && !network.server.is_broken(), "seed {seed}");
    assert_eq!([network.client.acked(), network.server.acked()], sent, "seed {seed}");
    assert_eq!([network.server.received(), network.client.received()], sent, "seed {seed}");
    assert_eq!(network.in_order(Side::Server), sent[0]);
    assert_eq!(network.in_order(Side::Client), sent[1]);
    network
}

#[test]
fn fast_paths_send_the_same_segments_as_the_slow_path() {
    let all = all_ccs();
    for seed in 0..400 {
        let mut rng = Rng::new(seed, 13);
        let client = draw_config(&mut rng);
        let server = draw_config(&mut rng);
        let mut cc = || &all[rng.next_u32() as usize % all.len()];
        let (ours, theirs) = (cc(), cc());
        let [slow, fast, headers] = [Path::Slow, Path::Fast, Path::Headers].map(|path| {
            let mut network = Network::new((&client, ours), (&server, theirs), seed);
            network.tracing = true;
            network.by_headers = path == Path::Headers;
            if path == Path::Slow {
                network.client.disable_fast_path();
                network.server.disable_fast_path();
            }
            transfer_over(network, seed)
        });
        for fast in [fast, headers] {
            assert_eq!(fast.trace.len(), slow.trace.len(), "seed {seed}");
            for (fast, slow) in fast.trace.iter().zip(&slow.trace) {
                assert_eq!(fast, slow, "seed {seed}");
            }
            assert_eq!(fast.client.stats(), slow.client.stats(), "seed {seed}");
            assert_eq!(fast.server.stats(), slow.server.stats(), "seed {seed}");
            assert_eq!(fast.client.cwnd(), slow.client.cwnd(), "seed {seed}");
            assert_eq!(fast.client.alpha(), slow.client.alpha(), "seed {seed}");
        }
    }
}

/// Which path through the code is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Fast,
    /// The fast path, asked for headers.
    Headers,
    Slow,
}

#[test]
fn everything_arrives_once_and_in_order_under_any_seed() {
    let all = all_ccs();
    for seed in 0..600 {
        let mut rng = Rng::new(seed, 3);
        let client = draw_config(&mut rng);
        let server = draw_config(&mut rng);
        let mut cc = || &all[rng.next_u32() as usize % all.len()];
        transfer(seed, (&client, cc()), (&server, cc()));
    }
}

#[test]
fn every_sender_rule_works_with_every_receiver_rule() {
    let mut seed = 10_000;
    for cc in &all_ccs() {
        for echo in Echo::NAMES {
            let mut rng = Rng::new(seed, 5);
            let server = Config { echo: Echo::read(echo).unwrap(), ..draw_config(&mut rng) };
            let client = draw_config(&mut rng);
            transfer(seed, (&client, cc), (&server, cc));
            seed += 1;
        }
    }
}

#[test]
fn a_slow_reader_stops_the_sender_and_lets_it_go_on() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed, 9);
        let client = draw_config(&mut rng);
        let server = Config {
            reader: Reader::Manual,
            receive_window: tidegate_units::Bytes(u64::from(9_000 + rng.next_u32() % 20_000)),
            ..draw_config(&mut rng)
        };
        let cc = cc::Config::named("reno").unwrap();
        let mut network = Network::new((&client, &cc), (&server, &cc), seed);
        network.weather.loss = [0, 100][(seed % 2) as usize];
        network.client.write(200_000, Time::ZERO);
        let limit = Time::from_secs(3000);
        let mut taken = 0;
        while taken < 200_000 {
            // Long enough for the window to close and to be probed.
            let until = network.now + Span::from_ms(50);
            network.run_until(until, |_| false);
            network.now = until;
            let readable = network.server.readable();
            assert!(readable <= server.receive_window.0, "seed {seed}: more than the buffer holds");
            let portion = u64::from(1 + rng.next_u32() % 9_000);
            taken += network.server.read(portion, until);
            network.flush();
            assert!(until < limit, "seed {seed}: stalled after {taken} {:?}", network.client);
        }
        assert_eq!(network.server.received(), 200_000);
    }
}
