//! What the two ends agree on in the handshake, and what follows from it.

use alloc::vec::Vec;

use tidegate_units::{Ecn, Size, Time};

use crate::config::{Config, EcnFallback};
use crate::segment::Flags;
use crate::seq::Seq;
use crate::{Endpoint, Segment, window};

const T: Time = Time::ZERO;

fn config() -> Config {
    Config {
        mss: 1000,
        ..Config::default()
    }
}

fn rule(name: &str) -> window::Config {
    window::Config::named(name).unwrap()
}

fn poll(endpoint: &mut Endpoint, now: Time) -> Vec<Segment> {
    let mut segments = Vec::new();
    while let Some(segment) = endpoint.poll_segment(now) {
        endpoint.check();
        segments.push(segment);
    }
    segments
}

/// A client and a server after their handshake.
fn connect(client: &Config, server: &Config, name: &str) -> [Endpoint; 2] {
    let mut client = Endpoint::connect(client, &rule(name), Seq(0)).unwrap();
    let mut server = Endpoint::listen(server, &rule(name), Seq(0)).unwrap();
    server.on_segment(&poll(&mut client, T)[0], T);
    client.on_segment(&poll(&mut server, T)[0], T);
    server.on_segment(&poll(&mut client, T)[0], T);
    [client, server]
}

#[test]
fn a_largest_window_in_packets_is_one_of_the_agreed_size() {
    let ours = Config {
        max_window: Some(Size::Packets(12)),
        ..config()
    };
    let theirs = Config {
        mss: 100,
        ..config()
    };
    let [mut client, mut server] = connect(&ours, &theirs, "reno");
    client.write(100_000, T);
    for _ in 0..3 {
        for segment in poll(&mut client, T) {
            server.on_segment(&segment, T);
            for ack in poll(&mut server, T) {
                client.on_segment(&ack, T);
            }
        }
    }
    assert_eq!(client.cwnd(), 12 * 100);
    assert_eq!(poll(&mut client, T).len(), 12);
}

#[test]
fn a_lost_syn_may_be_repeated_without_asking_for_ecn() {
    let asks = Flags::ECE | Flags::CWR;
    for (fallback, agreed) in [(EcnFallback::Off, true), (EcnFallback::AfterSynLoss, false)] {
        let config = Config {
            ecn_fallback: fallback,
            ..config()
        };
        let mut client = Endpoint::connect(&config, &rule("dctcp"), Seq(0)).unwrap();
        let first = poll(&mut client, T)[0];
        assert!(first.flags.has(asks));
        let later = client.poll_timeout().unwrap();
        client.on_timeout(later);
        let second = poll(&mut client, later)[0];
        assert_eq!(second.flags.has(asks), agreed);

        // The first is lost.
        let mut server = Endpoint::listen(&config, &rule("dctcp"), Seq(0)).unwrap();
        server.on_segment(&second, later);
        let answer = poll(&mut server, later)[0];
        assert_eq!(answer.flags.has(Flags::ECE), agreed);

        // The first was late, and its answer comes before that of the second.
        let mut server = Endpoint::listen(&config, &rule("dctcp"), Seq(0)).unwrap();
        server.on_segment(&first, later);
        let answer = poll(&mut server, later)[0];
        assert!(answer.flags.has(Flags::ECE));
        server.on_segment(&second, later);
        client.on_segment(&answer, later);
        assert_eq!(client.is_ecn(), agreed, "{fallback:?}");
        let answer = poll(&mut server, later)[0];
        assert_eq!(answer.flags.has(Flags::ECE), agreed);
        client.write(1000, later);
        for segment in poll(&mut client, later) {
            assert_eq!(segment.ecn == Ecn::Ect0, agreed, "{segment:?}");
            server.on_segment(&segment, later);
        }
        assert_eq!(server.is_ecn(), agreed, "{fallback:?}");
        assert_eq!(server.received(), 1000);
    }
}
