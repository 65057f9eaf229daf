//! Anything may come off the wire: it is ignored, answered or resets, and never harms the sender.

use tidegate_units::{Ecn, Rng, Span, Time};

use super::transfer::all_ccs;
use crate::config::{Config, Echo};
use crate::segment::{Flags, SackBlocks};
use crate::seq::{Range, Seq};
use crate::testing::{Network, Side};
use crate::{Endpoint, Segment, State, cc};

const T: Time = Time::ZERO;

fn established() -> Endpoint {
    let config = Config { mss: 1000, ..Config::default() };
    let cc = cc::Config::named("dctcp").unwrap();
    Endpoint::established(&config, &cc, Seq(0), Seq(0)).unwrap()
}

fn segment(seq: u32, ack: u32, len: u32, flags: Flags) -> Segment {
    Segment { seq: Seq(seq), ack: Seq(ack), len, flags, window: 1 << 16, ..Segment::default() }
}

#[test]
fn an_ack_of_unsent_data_is_answered_and_changes_nothing() {
    let mut endpoint = established();
    endpoint.write(5000, T);
    while endpoint.poll_segment(T).is_some() {}
    endpoint.on_segment(&segment(1, 5002, 0, Flags::ACK), T);
    assert_eq!((endpoint.acked(), endpoint.outstanding()), (0, 5000));
    let answer = endpoint.poll_segment(T).unwrap();
    assert_eq!((answer.ack, answer.len), (Seq(1), 0));
    // A second one right after it is not answered: it might be an answer itself.
    endpoint.on_segment(&segment(1, 5002, 0, Flags::ACK), T);
    assert_eq!(endpoint.poll_segment(T), None);
    endpoint.on_segment(&segment(1, 5001, 0, Flags::ACK), T);
    assert_eq!(endpoint.acked(), 5000);
}

#[test]
fn an_acknowledgement_older_than_any_window_is_refused_with_its_data() {
    // RFC 5961, section 5.2; the largest window that was announced is 16 MiB.
    let max_announced = 16 << 20;
    for (ack, taken) in
        [(1_u32.wrapping_sub(max_announced), 1000), (0_u32.wrapping_sub(max_announced), 0)]
    {
        let mut endpoint = established();
        endpoint.on_segment(&segment(1, ack, 1000, Flags::ACK), T);
        assert_eq!(endpoint.received(), taken, "{ack}");
        assert_eq!(endpoint.poll_segment(T).is_some(), taken == 0, "the refusal is answered");
    }
}

#[test]
fn only_a_reset_with_the_exact_sequence_number_closes() {
    for (seq, expected, answered) in [
        (1, State::Closed, false),
        (2, State::Established, true),
        (0, State::Established, false),
        (1 << 31, State::Established, false),
    ] {
        let mut endpoint = established();
        endpoint.on_segment(&segment(seq, 1, 0, Flags::RST), T);
        assert_eq!(endpoint.state(), expected, "{seq}");
        assert_eq!(endpoint.poll_segment(T).is_some(), answered, "{seq}");
    }
}

#[test]
fn a_syn_in_a_connection_is_challenged() {
    let mut endpoint = established();
    endpoint.on_segment(&segment(500, 1, 0, Flags::SYN), T);
    assert_eq!(endpoint.state(), State::Established);
    assert_eq!(endpoint.poll_segment(T).unwrap().flags, Flags::ACK);
}

#[test]
fn old_data_is_acknowledged_again_and_data_beyond_the_window_is_not_taken() {
    let mut endpoint = established();
    endpoint.on_segment(&segment(1, 1, 1000, Flags::ACK), T);
    endpoint.on_segment(&segment(1, 1, 1000, Flags::ACK), T);
    assert_eq!(endpoint.received(), 1000);
    assert_eq!(endpoint.poll_segment(T).unwrap().ack, Seq(1001));
    let beyond = 1 + 1000 + (16 << 20);
    endpoint.on_segment(&segment(beyond, 1, 1000, Flags::ACK), T);
    assert_eq!(endpoint.poll_segment(T).unwrap().sack, SackBlocks::default());
    // A part of it fits: the part is taken.
    endpoint.on_segment(&segment(beyond - 10, 1, 1000, Flags::ACK), T);
    let block = Range::new(Seq(beyond - 10), Seq(beyond));
    assert_eq!(endpoint.poll_segment(T).unwrap().sack.as_slice(), [block]);
    // More payload than any window, up to the whole sequence space.
    for len in [(1 << 30) + 1, 1 << 31, u32::MAX] {
        endpoint.on_segment(&segment(1001, 1, len, Flags::ACK), T);
        assert_eq!(endpoint.received(), 1000);
    }
}

#[test]
fn a_contradictory_fin_is_ignored() {
    let mut endpoint = established();
    endpoint.on_segment(&segment(3001, 1, 1000, Flags::ACK), T);
    // A FIN before data that has arrived.
    endpoint.on_segment(&segment(1, 1, 1000, Flags::ACK | Flags::FIN), T);
    assert_eq!((endpoint.received(), endpoint.is_finished()), (1000, false));
    endpoint.on_segment(&segment(1001, 1, 2000, Flags::ACK), T);
    endpoint.on_segment(&segment(4001, 1, 0, Flags::ACK | Flags::FIN), T);
    assert_eq!((endpoint.received(), endpoint.is_finished()), (4000, true));
    // Data after the FIN.
    endpoint.on_segment(&segment(4002, 1, 1000, Flags::ACK), T);
    assert_eq!((endpoint.received(), endpoint.state()), (4000, State::CloseWait));
}

#[test]
fn an_endpoint_that_waits_for_a_syn_refuses_everything_else() {
    let cc = cc::Config::named("reno").unwrap();
    for flags in [Flags::NONE, Flags::FIN, Flags::RST, Flags::ECE, Flags::SYN | Flags::FIN] {
        let mut endpoint = Endpoint::listen(&Config::default(), &cc, Seq(0)).unwrap();
        endpoint.on_segment(&segment(5, 5, 5, flags), T);
        assert_eq!((endpoint.state(), endpoint.poll_segment(T)), (State::Listen, None));
    }
    let mut endpoint = Endpoint::listen(&Config::default(), &cc, Seq(0)).unwrap();
    endpoint.on_segment(&segment(5, 77, 5, Flags::ACK), T);
    let reset = endpoint.poll_segment(T).unwrap();
    assert_eq!((reset.seq, reset.flags), (Seq(77), Flags::RST));
}

#[test]
fn reset_has_the_numbers_that_the_answered_segment_expects() {
    // RFC 9293, section 3.10.7.1: the number that the segment expects, or else an acknowledgement
    // of all of it.
    let mut closed = established();
    closed.abort(T);
    let reset = closed.poll_segment(T).unwrap();
    assert_eq!((reset.seq, reset.ack), (Seq(1), Seq(1)));
    assert_eq!(reset.flags, Flags::RST | Flags::ACK);
    let answer = |closed: &mut Endpoint, flags| {
        closed.on_segment(&segment(500, 77, 20, flags), T);
        closed.poll_segment(T).unwrap()
    };
    let reset = answer(&mut closed, Flags::ACK);
    assert_eq!((reset.seq, reset.ack, reset.flags), (Seq(77), Seq(0), Flags::RST));
    let reset = answer(&mut closed, Flags::SYN);
    assert_eq!((reset.seq, reset.ack), (Seq(0), Seq(521)));
    assert_eq!(reset.flags, Flags::RST | Flags::ACK);
}

/// A segment of anything, near the numbers that the connection uses.
fn anything(rng: &mut Rng, near: &Segment) -> Segment {
    let mut draw = |n: u32| rng.next_u32() % n;
    let number = |base: Seq, a: u32, b: u32| match a {
        0 => base,
        1 => base + b % 5000,
        2 => base - b % 5000,
        3 => Seq(b),
        _ => base + b % (1 << 22),
    };
    let mut sack = SackBlocks::default();
    for _ in 0..draw(5) {
        let start = number(near.ack, draw(5), draw(u32::MAX));
        let end = number(near.ack, draw(5), draw(u32::MAX));
        sack.push(Range::new(start, end));
    }
    // Resets are left out of most: they would end the run.
    let mask = if draw(50) == 0 { 0xFF } else { 0xFB };
    Segment {
        seq: number(near.seq, draw(5), draw(u32::MAX)),
        ack: number(near.ack, draw(5), draw(u32::MAX)),
        len: [0, 1, 1000, 65_000, u32::MAX][draw(5) as usize],
        window: [0, 1, 5000, 1 << 20, u32::MAX][draw(5) as usize],
        sack,
        flags: Flags::from_bits((draw(256) & mask) as u8),
        ecn: Ecn::from_bits(draw(4) as u8),
        class: 0,
        sack_permitted: draw(2) > 0,
        mss: [0, 1, 1000, u16::MAX][draw(4) as usize],
        is_retransmission: false,
    }
}

#[test]
fn garbage_never_breaks_an_invariant() {
    let all = all_ccs();
    for seed in 0..400 {
        let mut rng = Rng::new(seed, 21);
        let config = Config {
            mss: 1000,
            sack: rng.next_u32().is_multiple_of(2),
            prr: rng.next_u32().is_multiple_of(2),
            rto_min: Span::from_ms(1),
            ..Config::default()
        };
        let cc = &all[rng.next_u32() as usize % all.len()];
        let mut endpoint = match rng.next_u32() % 3 {
            0 => Endpoint::connect(&config, cc, Seq(rng.next_u32())).unwrap(),
            1 => Endpoint::listen(&config, cc, Seq(rng.next_u32())).unwrap(),
            _ => Endpoint::established(&config, cc, Seq(u32::MAX), Seq(u32::MAX)).unwrap(),
        };
        let mut now = T;
        // The mirror image of the last segment sent: close to an answer of a peer.
        let mut near = Segment::default();
        for _ in 0..300 {
            match rng.next_u32() % 12 {
                0 => endpoint.write(u64::from(rng.next_u32() % 20_000), now),
                1 => {
                    if let Some(next) = endpoint.poll_timeout() {
                        now = now.max(next);
                        endpoint.on_timeout(now);
                    }
                }
                2 if rng.next_u32().is_multiple_of(40) => endpoint.close(now),
                _ => endpoint.on_segment(&anything(&mut rng, &near), now),
            }
            endpoint.check();
            let mut burst = 0;
            while let Some(sent) = endpoint.poll_segment(now) {
                endpoint.check();
                near = Segment { seq: sent.ack, ack: sent.end(), ..sent };
                burst += 1;
                assert!(burst < 50_000, "seed {seed}: a runaway sender");
            }
            endpoint.check_waiting();
            now += Span::from_us(u64::from(rng.next_u32() % 300));
        }
    }
}

#[test]
fn a_connection_survives_garbage_from_a_third_party() {
    // Old and future numbers, senseless SACK blocks and flags, injected into a transfer. Numbers
    // that a blind attacker would have to guess are left out: they are as good as the peer's.
    for seed in 0..100 {
        let config =
            Config { rto_min: Span::from_ms(1), echo: Echo::DctcpPaper, ..Config::default() };
        let cc = cc::Config::named("dctcp").unwrap();
        let mut network = Network::new((&config, &cc), (&config, &cc), seed);
        network.weather.loss = 20;
        network.client.write(300_000, T);
        let mut rng = Rng::new(seed, 31);
        network.run_until(Time::from_secs(9), |n| n.server.received() > 0);
        let limit = Time::from_secs(100);
        while network.server.received() < 300_000 {
            assert!(network.step(limit), "seed {seed}: stalled");
            let side = if rng.next_u32().is_multiple_of(2) { Side::Client } else { Side::Server };
            let mut garbage = anything(&mut rng, &Segment::default());
            // Far from both windows: from 2^25 to 2^30 away.
            garbage.seq = network.expected(side) + ((1 << 25) + rng.next_u32() % (1 << 30));
            let now = network.now;
            if network.side(side).state() == State::Established {
                network.side(side).on_segment(&garbage, now);
                network.side(side).check();
            }
        }
        assert!(!network.client.is_broken() && !network.server.is_broken(), "seed {seed}");
    }
}
