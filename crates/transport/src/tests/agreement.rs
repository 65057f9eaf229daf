//! Results of the handshake: the values that both ends agree on, and their consequences.

use alloc::vec::Vec;

use tidegate_units::{Bytes, Ecn, Size, Time};

use crate::config::{Config, EcnFallback};
use crate::segment::Flags;
use crate::seq::Seq;
use crate::{Endpoint, Segment, cc};

const T: Time = Time::ZERO;

fn config() -> Config {
    Config { mss: 1000, ..Config::default() }
}

fn cc(name: &str) -> cc::Config {
    cc::Config::named(name).unwrap()
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
    let mut client = Endpoint::connect(client, &cc(name), Seq(0)).unwrap();
    let mut server = Endpoint::listen(server, &cc(name), Seq(0)).unwrap();
    server.on_segment(&poll(&mut client, T)[0], T);
    client.on_segment(&poll(&mut server, T)[0], T);
    server.on_segment(&poll(&mut client, T)[0], T);
    [client, server]
}

#[test]
fn a_largest_window_in_packets_is_one_of_the_agreed_size() {
    let ours = Config { max_window: Some(Size::Packets(12)), ..config() };
    let theirs = Config { mss: 100, ..config() };
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
        let config = Config { ecn_fallback: fallback, ..config() };
        let mut client = Endpoint::connect(&config, &cc("dctcp"), Seq(0)).unwrap();
        let first = poll(&mut client, T)[0];
        assert!(first.flags.has(asks));
        let later = client.poll_timeout().unwrap();
        client.on_timeout(later);
        let second = poll(&mut client, later)[0];
        assert_eq!(second.flags.has(asks), agreed);

        // The first is lost.
        let mut server = Endpoint::listen(&config, &cc("dctcp"), Seq(0)).unwrap();
        server.on_segment(&second, later);
        let answer = poll(&mut server, later)[0];
        assert_eq!(answer.flags.has(Flags::ECE), agreed);

        // The first was late, and its answer comes before the answer to the second.
        let mut server = Endpoint::listen(&config, &cc("dctcp"), Seq(0)).unwrap();
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

#[test]
fn established_pair_has_the_settings_that_a_handshake_agrees_on() {
    type Change = fn(&mut Config);
    let changes: [Change; 6] = [
        |_| {},
        |config| config.ecn = false,
        |config| config.sack = false,
        |config| config.mss = 100,
        |config| config.receive_window = Bytes(2_500),
        |config| config.ecn_request = false,
    ];
    let with = |change: Change| {
        let mut config = config();
        change(&mut config);
        config
    };
    // The client's first segment, and the server's answer if that segment is lost.
    let behaviour = |[mut client, mut server]: [Endpoint; 2]| {
        client.write(100_000, T);
        let sent = poll(&mut client, T);
        let shown = |segment: &Segment| (segment.seq, segment.len, segment.ecn, segment.flags);
        let first: Vec<_> = sent.iter().map(shown).collect();
        for segment in &sent[1..] {
            server.on_segment(segment, T);
        }
        let answers = poll(&mut server, T);
        let answers = answers.iter();
        let answers = answers.map(|segment| (segment.sack, segment.ack));
        let answers: Vec<_> = answers.collect();
        server.write(100_000, T);
        let back: Vec<_> = poll(&mut server, T).iter().map(shown).collect();
        (first, answers, back, client.cwnd(), server.cwnd())
    };
    for (ours, theirs) in
        changes.iter().flat_map(|ours| changes.iter().map(move |theirs| (ours, theirs)))
    {
        let [ours, theirs] = [*ours, *theirs].map(with);
        let by_handshake = behaviour(connect(&ours, &theirs, "dctcp"));
        let dctcp = cc("dctcp");
        let ends = [&ours, &theirs].map(|config| (config, &dctcp, Seq(0)));
        let gone_by = behaviour(Endpoint::established_pair(ends).unwrap());
        assert_eq!(gone_by, by_handshake, "{ours:?}\n{theirs:?}");
    }
}
