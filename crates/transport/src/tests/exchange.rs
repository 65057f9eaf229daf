//! Single exchanges: handshake, echo, recovery, closing, segment by segment.

use alloc::vec::Vec;

use tidegate_units::{Bytes, Ecn, Size, Span, Time};

use crate::config::{Config, Echo, Ect, IdleRestart, Reader};
use crate::segment::{Flags, SackBlocks};
use crate::seq::{Range, Seq};
use crate::{Endpoint, Segment, State, cc};

const MSS: u32 = 1000;

fn config() -> Config {
    Config {
        mss: 1000,
        rto_min: Span::from_ms(10),
        receive_window: Bytes(1 << 20),
        ..Config::default()
    }
}

fn cc(name: &str) -> cc::Config {
    cc::Config::named(name).unwrap()
}

/// An endpoint whose data begins at 1, and whose peer's data begins at 1 too.
fn established(config: &Config, name: &str) -> Endpoint {
    Endpoint::established(config, &cc(name), Seq(0), Seq(0)).unwrap()
}

fn poll(endpoint: &mut Endpoint, now: Time) -> Vec<Segment> {
    let mut sent = Vec::new();
    while let Some(segment) = endpoint.poll_segment(now) {
        endpoint.check();
        sent.push(segment);
    }
    endpoint.check_waiting();
    sent
}

/// (first byte, payload) of each segment, in bytes after the SYN.
fn shape(segments: &[Segment]) -> Vec<(u32, u32)> {
    segments.iter().map(|segment| (segment.seq.0 - 1, segment.len)).collect()
}

fn ack(number: u32, sack: &[(u32, u32)]) -> Segment {
    let mut blocks = SackBlocks::default();
    for &(start, end) in sack {
        blocks.push(Range::new(Seq(start + 1), Seq(end + 1)));
    }
    Segment {
        seq: Seq(1),
        ack: Seq(number + 1),
        window: 1 << 20,
        flags: Flags::ACK,
        sack: blocks,
        ..Segment::default()
    }
}

fn data(seq: u32, flags: Flags, ecn: Ecn) -> Segment {
    Segment {
        seq: Seq(seq + 1),
        ack: Seq(1),
        len: MSS,
        window: 1 << 20,
        flags: flags | Flags::ACK,
        ecn,
        ..Segment::default()
    }
}

const T: Time = Time::ZERO;

#[test]
fn the_handshake_asks_for_ecn_and_agrees() {
    let mut client = Endpoint::connect(&config(), &cc("dctcp"), Seq(100)).unwrap();
    let mut server = Endpoint::listen(&config(), &cc("dctcp"), Seq(500)).unwrap();
    client.write(3000, T);
    let syn = poll(&mut client, T);
    assert_eq!(syn.len(), 1, "no data before the handshake");
    assert_eq!(syn[0].flags, Flags::SYN | Flags::ECE | Flags::CWR);
    assert_eq!((syn[0].ecn, syn[0].mss, syn[0].sack_permitted), (Ecn::NotEct, 1000, true));
    server.on_segment(&syn[0], T);
    assert_eq!(server.state(), State::SynReceived);
    let answer = poll(&mut server, T);
    assert_eq!(answer[0].flags, Flags::SYN | Flags::ACK | Flags::ECE);
    assert_eq!((answer[0].seq, answer[0].ack), (Seq(500), Seq(101)));
    client.on_segment(&answer[0], T);
    assert_eq!(client.state(), State::Established);
    let third = poll(&mut client, T);
    assert_eq!((third[0].seq, third[0].len, third[0].ecn), (Seq(101), 1000, Ecn::Ect0));
    server.on_segment(&third[0], T);
    assert_eq!((server.state(), server.received()), (State::Established, 1000));
    assert!(client.is_ecn() && server.is_ecn());
}

#[test]
fn ecn_is_off_unless_both_sides_want_it() {
    let off = Config { ecn: false, ..config() };
    let silent = Config { echo: Echo::Off, ..config() };
    let cases = [
        (config(), off.clone(), "dctcp", false),
        (off, config(), "dctcp", false),
        (config(), silent.clone(), "dctcp", true),
        (silent.clone(), silent, "reno", false),
    ];
    for (ours, theirs, name, expected) in cases {
        let mut client = Endpoint::connect(&ours, &cc(name), Seq(100)).unwrap();
        let mut server = Endpoint::listen(&theirs, &cc(name), Seq(500)).unwrap();
        server.on_segment(&client.poll_segment(T).unwrap(), T);
        client.on_segment(&server.poll_segment(T).unwrap(), T);
        server.on_segment(&client.poll_segment(T).unwrap(), T);
        assert_eq!((client.is_ecn(), server.is_ecn()), (expected, expected), "{name}");
    }
}

#[test]
fn a_reflected_syn_ack_does_not_turn_ecn_on() {
    // RFC 3168, section 6.1.1.1: a SYN-ACK with both flags comes from a peer that copies bits.
    let mut client = Endpoint::connect(&config(), &cc("rfc3168"), Seq(100)).unwrap();
    client.poll_segment(T);
    let answer = Segment {
        seq: Seq(500),
        ack: Seq(101),
        window: 1 << 20,
        flags: Flags::SYN | Flags::ACK | Flags::ECE | Flags::CWR,
        ..Segment::default()
    };
    client.on_segment(&answer, T);
    assert_eq!(client.state(), State::Established);
    assert!(!client.is_ecn());
    // Without an MSS option the peer takes 536 bytes.
    client.write(600, T);
    assert_eq!(poll(&mut client, T)[0].len, 536);
}

#[test]
fn a_lost_syn_is_repeated_and_makes_the_start_cautious() {
    let mut client = Endpoint::connect(&config(), &cc("reno"), Seq(0)).unwrap();
    client.write(10_000, T);
    poll(&mut client, T);
    assert_eq!(client.poll_timeout(), Some(Time::from_secs(1)));
    let later = Time::from_secs(1);
    client.on_timeout(later);
    let again = poll(&mut client, later);
    assert!(again[0].flags.has(Flags::SYN) && again[0].is_retransmission);
    assert_eq!(client.poll_timeout(), Some(Time::from_secs(3)), "the timeout doubled");
    let answer = Segment {
        seq: Seq(0),
        ack: Seq(1),
        window: 1 << 20,
        flags: Flags::SYN | Flags::ACK,
        mss: 1000,
        ..Segment::default()
    };
    client.on_segment(&answer, later);
    assert_eq!(shape(&poll(&mut client, later)), [(0, 1000)], "one segment");
    assert_eq!(client.rto(), Span::from_secs(3));
}

#[test]
fn both_ends_may_open_at_once() {
    let mut a = Endpoint::connect(&config(), &cc("reno"), Seq(10)).unwrap();
    let mut b = Endpoint::connect(&config(), &cc("reno"), Seq(20)).unwrap();
    let (from_a, from_b) = (a.poll_segment(T).unwrap(), b.poll_segment(T).unwrap());
    a.on_segment(&from_b, T);
    b.on_segment(&from_a, T);
    assert_eq!((a.state(), b.state()), (State::SynReceived, State::SynReceived));
    let (from_a, from_b) = (a.poll_segment(T).unwrap(), b.poll_segment(T).unwrap());
    a.on_segment(&from_b, T);
    b.on_segment(&from_a, T);
    assert_eq!((a.state(), b.state()), (State::Established, State::Established));
}

#[test]
fn slow_start_and_avoidance_open_the_window_by_bytes() {
    let mut config = config();
    config.initial_window = Size::Packets(2);
    let mut endpoint = established(&config, "reno");
    endpoint.write(1_000_000, T);
    assert_eq!(shape(&poll(&mut endpoint, T)), [(0, 1000), (1000, 1000)]);
    // One ACK for two segments: with L = 1 it counts for one.
    endpoint.on_segment(&ack(2000, &[]), T);
    assert_eq!(endpoint.cwnd(), 3000);
    assert_eq!(poll(&mut endpoint, T).len(), 3);
    // L = 2 counts it for two; without byte counting every ACK counts for one.
    for (abc, bytes, expected) in
        [(Some(2), 2000, 4000), (None, 2000, 3000), (Some(1), 500, 2500), (None, 500, 3000)]
    {
        config.abc = abc;
        let mut endpoint = established(&config, "reno");
        endpoint.write(1_000_000, T);
        poll(&mut endpoint, T);
        endpoint.on_segment(&ack(bytes, &[]), T);
        assert_eq!(endpoint.cwnd(), expected, "{abc:?} {bytes}");
    }
}

#[test]
fn sack_recovery_sends_lost_segments_as_the_pipe_empties() {
    let mut endpoint = established(&config(), "reno");
    endpoint.write(1_000_000, T);
    assert_eq!(poll(&mut endpoint, T).len(), 10);
    // Segments 0 and 2 are lost. The first two reports let new data out (limited transmit).
    endpoint.on_segment(&ack(0, &[(1000, 2000)]), T);
    assert_eq!(shape(&poll(&mut endpoint, T)), [(10_000, 1000)]);
    endpoint.on_segment(&ack(0, &[(3000, 4000), (1000, 2000)]), T);
    assert_eq!(shape(&poll(&mut endpoint, T)), [(11_000, 1000)]);
    // The third: recovery. 12 segments are outstanding, of which limited transmit does not count
    // (RFC 5681, section 3.2), so the window is 5.
    endpoint.on_segment(&ack(0, &[(3000, 5000), (1000, 2000)]), T);
    assert_eq!((endpoint.cwnd(), endpoint.ssthresh()), (5000, 5000));
    let sent = poll(&mut endpoint, T);
    assert_eq!(shape(&sent), [(0, 1000)]);
    assert!(sent[0].is_retransmission);
    // In flight: 12 − 3 SACKed − lost. Lost is what lies below 1000 (3 segments later) but not
    // segment 2: only 2 segments are SACKed after it. 12 − 3 − 1 + 1 = 9.
    assert_eq!(endpoint.in_flight(), 9000);
    endpoint.on_segment(&ack(0, &[(3000, 6000), (1000, 2000)]), T);
    // Now segment 2 is lost too: 12 − 4 − 2 + 1 = 7.
    assert_eq!(endpoint.in_flight(), 7000);
    assert_eq!(shape(&poll(&mut endpoint, T)), []);
    endpoint.on_segment(&ack(0, &[(3000, 7000), (1000, 2000)]), T);
    assert_eq!(endpoint.in_flight(), 6000);
    assert_eq!(shape(&poll(&mut endpoint, T)), []);
    endpoint.on_segment(&ack(0, &[(3000, 8000), (1000, 2000)]), T);
    assert_eq!(shape(&poll(&mut endpoint, T)), []);
    endpoint.on_segment(&ack(0, &[(3000, 9000), (1000, 2000)]), T);
    assert_eq!(shape(&poll(&mut endpoint, T)), [(2000, 1000)], "four in flight: room for one");
    // Everything arrives: the window stays as the loss left it, and grows again.
    endpoint.on_segment(&ack(12_000, &[]), T);
    assert_eq!((endpoint.cwnd(), endpoint.in_flight()), (5000, 0));
    assert_eq!(poll(&mut endpoint, T).len(), 5);
    assert_eq!(endpoint.stats().timeouts, 0);
}

#[test]
fn without_sack_partial_acks_repair_one_segment_each() {
    let config = Config { sack: false, ..config() };
    let mut endpoint = established(&config, "reno");
    endpoint.write(1_000_000, T);
    poll(&mut endpoint, T);
    // Segments 0 and 4 are lost. Limited transmit on the first two duplicates.
    endpoint.on_segment(&ack(0, &[]), T);
    assert_eq!(shape(&poll(&mut endpoint, T)), [(10_000, 1000)]);
    endpoint.on_segment(&ack(0, &[]), T);
    assert_eq!(shape(&poll(&mut endpoint, T)), [(11_000, 1000)]);
    endpoint.on_segment(&ack(0, &[]), T);
    assert_eq!(shape(&poll(&mut endpoint, T)), [(0, 1000)]);
    // The window is 5 segments, inflated by 3; 12 are outstanding. Five more duplicates inflate to
    // 13 and let one new segment out.
    for _ in 0..4 {
        endpoint.on_segment(&ack(0, &[]), T);
        assert_eq!(shape(&poll(&mut endpoint, T)), []);
    }
    endpoint.on_segment(&ack(0, &[]), T);
    assert_eq!(shape(&poll(&mut endpoint, T)), [(12_000, 1000)]);
    // A partial ACK up to the second hole: it is filled at once. The inflation of 8 falls by the 4
    // acknowledged and rises by one: 5 + 5 = 10 segments, 9 of which are outstanding.
    endpoint.on_segment(&ack(4000, &[]), T);
    assert_eq!(shape(&poll(&mut endpoint, T)), [(4000, 1000), (13_000, 1000)]);
    // The ACK of everything outstanding at the loss ends the recovery: 5 segments.
    endpoint.on_segment(&ack(12_000, &[]), T);
    assert_eq!((endpoint.cwnd(), endpoint.outstanding()), (5000, 2000));
    assert_eq!(poll(&mut endpoint, T).len(), 3);
}

#[test]
fn timeout_retransmits_from_the_start_and_skips_sacked_data() {
    let mut endpoint = established(&config(), "reno");
    endpoint.write(10_000, T);
    poll(&mut endpoint, T);
    let late = endpoint.poll_timeout().unwrap();
    endpoint.on_timeout(late);
    assert_eq!((endpoint.cwnd(), endpoint.ssthresh()), (1000, 5000));
    assert_eq!(shape(&poll(&mut endpoint, late)), [(0, 1000)]);
    assert_eq!(endpoint.rto(), Span::from_secs(2));
    // The answer shows that segments 1, 3 and 4 had arrived.
    endpoint.on_segment(&ack(2000, &[(3000, 5000)]), late);
    assert_eq!(shape(&poll(&mut endpoint, late)), [(2000, 1000), (5000, 1000)]);
}

#[test]
fn delayed_acks_wait_for_a_second_segment_or_the_timer() {
    let mut endpoint = established(&config(), "reno");
    endpoint.on_segment(&data(0, Flags::NONE, Ecn::NotEct), T);
    assert_eq!(poll(&mut endpoint, T), []);
    assert_eq!(endpoint.poll_timeout(), Some(Time::from_ms(40)));
    endpoint.on_segment(&data(1000, Flags::NONE, Ecn::NotEct), T);
    assert_eq!(poll(&mut endpoint, T)[0].ack, Seq(2001));
    assert_eq!(endpoint.poll_timeout(), None);
    endpoint.on_segment(&data(2000, Flags::NONE, Ecn::NotEct), T);
    let late = Time::from_ms(40);
    endpoint.on_timeout(late);
    assert_eq!(poll(&mut endpoint, late)[0].ack, Seq(3001));
    // Out of order, and the segment that fills the hole: at once, with the block.
    endpoint.on_segment(&data(4000, Flags::NONE, Ecn::NotEct), late);
    let sent = poll(&mut endpoint, late);
    assert_eq!(sent[0].sack.as_slice(), [Range::new(Seq(4001), Seq(5001))]);
    endpoint.on_segment(&data(3000, Flags::NONE, Ecn::NotEct), late);
    let sent = poll(&mut endpoint, late);
    assert_eq!((sent[0].ack, sent[0].sack.is_empty()), (Seq(5001), true));
}

/// The segments that leave, as (ACK number, ECE), while segments with these marks and flags arrive.
fn echoes(echo: Echo, arriving: &[(Ecn, Flags)]) -> Vec<Vec<(u32, bool)>> {
    let config = Config { echo, ..config() };
    let mut endpoint = established(&config, "rfc3168");
    let mut seq = 0;
    arriving
        .iter()
        .map(|&(ecn, flags)| {
            endpoint.on_segment(&data(seq, flags, ecn), T);
            seq += MSS;
            let sent = poll(&mut endpoint, T);
            sent.iter().map(|s| ((s.ack.0 - 1) / MSS, s.flags.has(Flags::ECE))).collect()
        })
        .collect()
}

#[test]
fn each_echo_rule_keeps_its_own_law() {
    const CE: (Ecn, Flags) = (Ecn::Ce, Flags::NONE);
    const CE_CWR: (Ecn, Flags) = (Ecn::Ce, Flags::CWR);
    const PLAIN: (Ecn, Flags) = (Ecn::Ect0, Flags::NONE);
    const CWR: (Ecn, Flags) = (Ecn::Ect0, Flags::CWR);
    let (yes, no) = (true, false);
    let expect = |echo, arriving: &[(Ecn, Flags)], expected: &[&[(u32, bool)]]| {
        assert_eq!(echoes(echo, arriving), expected, "{echo:?}");
    };
    // Thesis, figure 2.2: from the mark on, until CWR.
    expect(
        Echo::Rfc3168,
        &[PLAIN, CE, PLAIN, PLAIN, CWR, PLAIN],
        &[&[], &[(2, yes)], &[], &[(4, yes)], &[], &[(6, no)]],
    );
    // A mark on the segment with CWR starts the echo again.
    expect(Echo::Rfc3168, &[CE, CE_CWR], &[&[], &[(2, yes)]]);
    // RFC 8257: every change is acknowledged at once with the new state.
    expect(Echo::Dctcp, &[PLAIN, CE, CE, PLAIN, PLAIN], &[&[], &[(2, yes)], &[], &[(4, no)], &[]]);
    // SIGCOMM paper: a change pushes the waiting ACK out with the old state.
    expect(
        Echo::DctcpPaper,
        &[PLAIN, CE, CE, PLAIN, PLAIN],
        &[&[], &[(1, no)], &[(3, yes)], &[], &[(5, no)]],
    );
    // With nothing waiting, a change is not hurried: thesis, figure 3.1, right.
    expect(Echo::DctcpPaper, &[CE, PLAIN], &[&[], &[(1, yes)]]);
    // Linux since 4.18 acknowledges the new state at once as well.
    expect(Echo::DctcpTwoAcks, &[PLAIN, CE, CE], &[&[], &[(1, no), (2, yes)], &[]]);
    // ECN♯'s ns-3 loses the mark of a segment with CWR.
    expect(Echo::DctcpCwrClears, &[CE, CE_CWR, PLAIN], &[&[], &[(1, yes)], &[(3, no)]]);
    expect(Echo::DctcpPaper, &[CE, CE_CWR], &[&[], &[(2, yes)]]);
    // ODCTCP: a change is acknowledged at once, with the new state for older data too.
    expect(Echo::Odctcp, &[PLAIN, CE], &[&[], &[(2, yes)]]);
    expect(Echo::Odctcp, &[CE, PLAIN], &[&[(1, yes)], &[(2, no)]]);
    // Thesis, figures 5.7 and 5.8: after CWR a DCTCP receiver hurries, an ODCTCP receiver waits
    // for the second segment.
    expect(Echo::Odctcp, &[CE, CWR, PLAIN], &[&[(1, yes)], &[], &[(3, no)]]);
    expect(Echo::OdctcpInverted, &[CE, CWR, PLAIN], &[&[(1, yes)], &[(2, no)], &[]]);
    expect(Echo::OdctcpInverted, &[CWR], &[&[(1, no)]]);
    expect(Echo::Off, &[CE, CE], &[&[], &[(2, no)]]);
}

#[test]
fn a_reduction_is_reported_once_on_new_data() {
    let mut endpoint = established(&config(), "rfc3168");
    endpoint.write(1_000_000, T);
    poll(&mut endpoint, T);
    let mut echo = ack(1000, &[]);
    echo.flags |= Flags::ECE;
    endpoint.on_segment(&echo, T);
    // Half of the ten segments that were outstanding.
    assert_eq!((endpoint.cwnd(), endpoint.ssthresh()), (5000, 5000));
    for number in 2..=5 {
        echo.ack = Seq(number * 1000 + 1);
        endpoint.on_segment(&echo, T);
        assert_eq!(poll(&mut endpoint, T), [], "the window is full");
    }
    echo.ack = Seq(6001);
    endpoint.on_segment(&echo, T);
    let sent = poll(&mut endpoint, T);
    assert_eq!(shape(&sent), [(10_000, 1000)]);
    assert!(sent[0].flags.has(Flags::CWR));
    endpoint.on_segment(&ack(7000, &[]), T);
    let sent = poll(&mut endpoint, T);
    assert!(!sent[0].flags.has(Flags::CWR));
    assert_eq!((endpoint.cwnd(), endpoint.stats().mark_reductions), (5000, 1));
}

#[test]
fn marks_after_a_paced_reduction_thin_sending_out() {
    let linux = cc::dctcp::Config::profile("linux-5.1").unwrap();
    let cc = cc::Config::Dctcp(linux);
    let mut endpoint = Endpoint::established(&config(), &cc, Seq(0), Seq(0)).unwrap();
    endpoint.write(1_000_000, T);
    poll(&mut endpoint, T);
    let mut echo = ack(1000, &[]);
    echo.flags |= Flags::ECE;
    let mut sent = Vec::new();
    for number in 1..=9 {
        echo.ack = Seq(number * 1000 + 1);
        endpoint.on_segment(&echo, T);
        sent.push(poll(&mut endpoint, T).len());
    }
    // α is 1, the target 5 of 10: every second ACK releases a segment, first at two delivered. At
    // the eighth, 10 − 8 + 3 = 5 are in flight: from there on, one for one.
    assert_eq!(endpoint.cwnd(), 5000);
    assert_eq!(sent, [0, 1, 0, 1, 0, 1, 0, 0, 1]);
}

#[test]
fn pure_acks_and_retransmissions_are_capable_as_the_rules_say() {
    let capable = |name: &str, config: &Config| {
        let mut endpoint = established(config, name);
        endpoint.on_segment(&data(0, Flags::NONE, Ecn::Ect0), T);
        endpoint.on_segment(&data(1000, Flags::NONE, Ecn::Ect0), T);
        let pure = poll(&mut endpoint, T)[0].ecn;
        endpoint.write(1000, T);
        let new = poll(&mut endpoint, T)[0].ecn;
        let late = endpoint.poll_timeout().unwrap();
        endpoint.on_timeout(late);
        [new, pure, poll(&mut endpoint, late)[0].ecn].map(Ecn::is_capable)
    };
    let config = config();
    assert_eq!(capable("dctcp", &config), [true; 3]);
    assert_eq!(capable("odctcp", &config), [true; 3]);
    assert_eq!(capable("rfc3168", &config), [true, false, false]);
    assert_eq!(capable("ecn-star", &config), [true, false, false]);
    assert_eq!(capable("reno", &config), [false; 3]);
    let never = Config { ect_ack: Ect::Never, ect_retransmission: Ect::Never, ..config.clone() };
    assert_eq!(capable("dctcp", &never), [true, false, false]);
    let always = Config { ect_ack: Ect::Always, ect_retransmission: Ect::Always, ..config };
    assert_eq!(capable("rfc3168", &always), [true; 3]);
}

#[test]
fn an_idle_time_resets_the_window_as_the_rule_has_it() {
    // Grown to 20 segments; SRTT is 1 ms, so the timeout is 3 ms, raised to 10 ms.
    let after = |idle_restart, pause: Span| {
        let mut endpoint = established(&Config { idle_restart, ..config() }, "reno");
        endpoint.write(10_000, T);
        poll(&mut endpoint, T);
        let mut now = Time::from_ms(1);
        for i in 1..=10 {
            endpoint.on_segment(&ack(i * 1000, &[]), now);
        }
        assert_eq!((endpoint.cwnd(), endpoint.rto()), (20_000, Span::from_ms(10)));
        // The pause counts from the last segment sent, at zero.
        now = T + pause;
        endpoint.write(1000, now);
        poll(&mut endpoint, now);
        endpoint.cwnd()
    };
    let (short, long) = (Span::from_ms(10), Span::from_ms(21));
    assert_eq!(after(IdleRestart::Rfc5681, short), 20_000, "not longer than the timeout");
    assert_eq!(after(IdleRestart::Rfc5681, long), 10_000);
    assert_eq!(after(IdleRestart::Off, long), 20_000);
    // Ten segments came from one half after 10 ms, and the initial window is the floor.
    assert_eq!(after(IdleRestart::Decay, Span::from_ms(11)), 10_000);
    // ns-2 compares with the timeout before its lower bound: 1 + 4 · 0.5 ms.
    assert_eq!(after(IdleRestart::Ns2, Span::from_ms(3)), 20_000);
    assert_eq!(after(IdleRestart::Ns2, Span::from_us(3_001)), 10_000);
}

#[test]
fn a_closed_window_is_probed_until_it_opens() {
    let config = Config { reader: Reader::Manual, receive_window: Bytes(2000), ..config() };
    let mut sender = established(&config, "reno");
    let mut receiver = established(&config, "reno");
    sender.write(5000, T);
    for segment in poll(&mut sender, T) {
        receiver.on_segment(&segment, T);
    }
    for segment in poll(&mut receiver, T) {
        assert_eq!(segment.window, 0);
        sender.on_segment(&segment, T);
    }
    assert_eq!(poll(&mut sender, T), []);
    let mut now = T;
    let mut pauses = Vec::new();
    for _ in 0..3 {
        let next = sender.poll_timeout().unwrap();
        pauses.push(next - now);
        now = next;
        sender.on_timeout(now);
        let probe = poll(&mut sender, now);
        assert_eq!(shape(&probe), [(2000, 1)]);
        receiver.on_segment(&probe[0], now);
        let answer = poll(&mut receiver, now);
        assert_eq!((answer[0].ack, answer[0].window), (Seq(2001), 0));
        sender.on_segment(&answer[0], now);
        assert_eq!(poll(&mut sender, now), []);
    }
    assert_eq!(pauses[1], pauses[0] * 2);
    assert_eq!(pauses[2], pauses[0] * 4);
    // The application reads: the receiver says so by itself.
    assert_eq!(receiver.read(2000, now), 2000);
    let update = poll(&mut receiver, now);
    assert_eq!(update[0].window, 2000);
    sender.on_segment(&update[0], now);
    assert_eq!(shape(&poll(&mut sender, now)), [(2000, 1000), (3000, 1000)]);
}

#[test]
fn a_window_that_opens_as_the_timer_runs_out_is_used_and_not_probed() {
    let config = Config { receive_window: Bytes(2000), ..config() };
    let mut sender = established(&config, "reno");
    sender.write(5000, T);
    poll(&mut sender, T);
    let closed = Segment { window: 0, ..ack(2000, &[]) };
    sender.on_segment(&closed, T);
    assert_eq!(poll(&mut sender, T), []);
    let now = sender.poll_timeout().unwrap();
    sender.on_timeout(now);
    // Before the probe was polled, the peer's update arrives.
    let open = Segment { window: 2000, ..closed };
    sender.on_segment(&open, now);
    assert_eq!(shape(&poll(&mut sender, now)), [(2000, 1000), (3000, 1000)]);
    assert_eq!(sender.stats().window_probes, 0);
    assert_eq!((sender.outstanding(), sender.in_flight()), (2000, 2000));
    assert_eq!(sender.poll_timeout(), Some(now + sender.rto()));
}

#[test]
fn a_window_that_closes_during_a_repair_is_probed_after_it() {
    let mut sender = established(&config(), "reno");
    sender.write(20_000, T);
    assert_eq!(poll(&mut sender, T).len(), 10);
    for end in [2000, 3000, 4000, 5000] {
        let closing = Segment { window: 10_000, ..ack(0, &[(1000, end)]) };
        sender.on_segment(&closing, T);
    }
    assert_eq!(sender.stats().fast_recoveries, 1);
    poll(&mut sender, T);
    sender.check_waiting();
    // All of it arrived, and nothing more is taken.
    let closed = Segment { window: 0, ..ack(10_000, &[]) };
    sender.on_segment(&closed, T);
    assert_eq!(poll(&mut sender, T), []);
    let now = sender.poll_timeout().expect("the window is probed");
    sender.on_timeout(now);
    assert_eq!(shape(&poll(&mut sender, now)), [(10_000, 1)]);
    assert_eq!(sender.stats().window_probes, 1);
}

#[test]
fn fins_close_in_order_and_resets_at_once() {
    let mut a = established(&config(), "reno");
    let mut b = established(&config(), "reno");
    a.write(500, T);
    a.close(T);
    let sent = poll(&mut a, T);
    assert_eq!((sent[0].len, sent[0].flags), (500, Flags::FIN | Flags::ACK));
    b.on_segment(&sent[0], T);
    assert_eq!((b.state(), b.received(), b.is_finished()), (State::CloseWait, 500, true));
    let answer = poll(&mut b, T);
    assert_eq!(answer[0].ack, Seq(502));
    a.on_segment(&answer[0], T);
    assert_eq!((a.state(), a.acked()), (State::FinWait2, 500));
    b.close(T);
    let fin = poll(&mut b, T);
    a.on_segment(&fin[0], T);
    assert_eq!(a.state(), State::TimeWait);
    b.on_segment(&poll(&mut a, T)[0], T);
    assert_eq!(b.state(), State::Closed);
    a.on_timeout(Time::from_secs(60));
    assert_eq!(a.state(), State::Closed);
    // Segments after that are answered with a reset.
    a.on_segment(&fin[0], T);
    assert!(a.poll_segment(T).unwrap().flags.has(Flags::RST));

    let mut a = established(&config(), "reno");
    let mut b = established(&config(), "reno");
    a.abort(T);
    b.on_segment(&a.poll_segment(T).unwrap(), T);
    assert_eq!((b.state(), b.is_broken()), (State::Closed, true));
    assert_eq!(b.poll_segment(T), None);
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let config = Config { max_retries: Some(3), ..config() };
    let mut endpoint = established(&config, "reno");
    endpoint.write(1000, T);
    poll(&mut endpoint, T);
    let mut sent = 0;
    while let Some(next) = endpoint.poll_timeout() {
        endpoint.on_timeout(next);
        sent += poll(&mut endpoint, next).len();
    }
    assert_eq!((sent, endpoint.state(), endpoint.is_broken()), (3, State::Closed, true));
}

#[test]
fn segments_know_their_place_in_the_messages() {
    let mut endpoint = established(&config(), "reno");
    endpoint.write(1500, T);
    endpoint.write(2000, T);
    let sent = poll(&mut endpoint, T);
    let places: Vec<_> = sent
        .iter()
        .map(|segment| endpoint.message_position(segment).map(|at| (at.message, at.offset)))
        .collect();
    assert_eq!(places, [Some((0, 0)), Some((0, 1000)), Some((1, 500)), Some((1, 1500))]);
    endpoint.on_segment(&ack(2000, &[]), T);
    assert_eq!(endpoint.message_position(&sent[0]), None);
    assert_eq!(endpoint.message_position(&sent[2]).map(|at| at.offset), Some(500));
}

#[test]
fn a_fin_waits_behind_a_closed_window_as_long_as_the_peer_answers() {
    let config = Config {
        reader: Reader::Manual,
        receive_window: Bytes(2000),
        max_retries: Some(2),
        ..config()
    };
    let mut sender = established(&config, "reno");
    let mut receiver = established(&config, "reno");
    sender.write(2000, T);
    let first = poll(&mut sender, T);
    sender.close(T);
    for segment in &first {
        receiver.on_segment(segment, T);
    }
    for segment in poll(&mut receiver, T) {
        sender.on_segment(&segment, T);
    }
    let mut now = T;
    let mut fin = poll(&mut sender, T);
    for _ in 0..6 {
        assert_eq!((fin[0].len, fin[0].flags.has(Flags::FIN)), (0, true));
        receiver.on_segment(&fin[0], now);
        assert!(!receiver.is_finished(), "there is no room for its number");
        for segment in poll(&mut receiver, now) {
            sender.on_segment(&segment, now);
        }
        now = sender.poll_timeout().unwrap();
        sender.on_timeout(now);
        fin = poll(&mut sender, now);
    }
    receiver.read(2000, now);
    assert_eq!(poll(&mut receiver, now)[0].window, 2000);
    receiver.on_segment(&fin[0], now);
    assert!(receiver.is_finished());
    assert_eq!((receiver.received(), receiver.state()), (2000, State::CloseWait));
}

#[test]
fn nagle_holds_a_small_segment_until_the_others_are_acknowledged() {
    let small = |nagle| {
        let mut endpoint = established(&Config { nagle, ..config() }, "reno");
        endpoint.write(100, T);
        let first = shape(&poll(&mut endpoint, T));
        endpoint.write(100, T);
        let second = shape(&poll(&mut endpoint, T));
        endpoint.on_segment(&ack(100, &[]), T);
        (first, second, shape(&poll(&mut endpoint, T)))
    };
    assert_eq!(small(false), (Vec::from([(0, 100)]), Vec::from([(100, 100)]), Vec::new()));
    assert_eq!(small(true), (Vec::from([(0, 100)]), Vec::new(), Vec::from([(100, 100)])));
}

#[test]
fn a_duplicate_is_reported_in_front_if_wanted() {
    for (dsack, expected) in [(true, 1), (false, 0)] {
        let mut endpoint = established(&Config { dsack, delayed_ack: 1, ..config() }, "reno");
        for _ in 0..2 {
            endpoint.on_segment(&data(0, Flags::NONE, Ecn::NotEct), T);
        }
        let sent = poll(&mut endpoint, T);
        assert_eq!(sent[0].ack, Seq(1001));
        assert_eq!(sent[0].sack.as_slice().len(), expected);
    }
}

#[test]
fn proportional_recovery_sends_half_of_the_delivered_data() {
    let mut endpoint = established(&Config { prr: true, ..config() }, "reno");
    endpoint.write(1_000_000, T);
    poll(&mut endpoint, T);
    // Segment 0 is lost. Two reports let new data out, which does not count when the third starts
    // the recovery: the flight is 10, the target 5.
    let mut sent = Vec::new();
    for i in 1..=9 {
        endpoint.on_segment(&ack(0, &[(1000, (i + 1) * 1000)]), T);
        sent.push(poll(&mut endpoint, T).len());
    }
    // The third report sends the lost segment at once. 5 are the target, half of the 10 without
    // limited transmit, and 12 are outstanding. So 5/12 of the data delivered in the recovery is
    // due: with the third to sixth report 0.4, 0.8, 1.25 and 1.7, of which 1 is already spent. With
    // the seventh 12 − 7 − 1 + 1 = 5 are in flight: the target is reached, and from then on one
    // leaves for each that arrives.
    assert_eq!(sent, [1, 1, 1, 0, 0, 0, 0, 1, 1]);
    assert_eq!((endpoint.cwnd(), endpoint.stats().timeouts), (5000, 0));
}

#[test]
fn after_a_timeout_sacked_data_that_the_receiver_dropped_is_sent_again() {
    // RFC 2018, section 8: the receiver may drop data that it has only SACKed.
    let mut endpoint = established(&config(), "reno");
    endpoint.write(4000, T);
    poll(&mut endpoint, T);
    endpoint.on_segment(&ack(0, &[(1000, 3000)]), T);
    poll(&mut endpoint, T);
    let late = endpoint.poll_timeout().unwrap();
    endpoint.on_timeout(late);
    assert_eq!(shape(&poll(&mut endpoint, late)), [(0, 1000)]);
    endpoint.on_segment(&ack(1000, &[]), late);
    assert_eq!(shape(&poll(&mut endpoint, late)), [(1000, 1000), (2000, 1000)]);
}

#[test]
fn no_round_trip_is_measured_over_a_repair() {
    let mut endpoint = established(&config(), "reno");
    endpoint.write(10_000, T);
    poll(&mut endpoint, T);
    let now = Time::from_ms(1);
    endpoint.on_segment(&ack(0, &[(1000, 5000)]), now);
    assert_eq!(shape(&poll(&mut endpoint, now)), [(0, 1000)]);
    endpoint.on_segment(&ack(10_000, &[]), Time::from_ms(5));
    assert_eq!(endpoint.smoothed_rtt(), None);
    // The next segment is sent once, and timed.
    endpoint.write(1000, Time::from_ms(5));
    poll(&mut endpoint, Time::from_ms(5));
    endpoint.on_segment(&ack(11_000, &[]), Time::from_ms(7));
    assert_eq!(endpoint.smoothed_rtt(), Some(Span::from_ms(2)));
}

#[test]
fn an_ack_that_advances_and_proves_a_loss_starts_the_repair() {
    let mut endpoint = established(&config(), "reno");
    endpoint.write(10_000, T);
    poll(&mut endpoint, T);
    endpoint.on_segment(&ack(1000, &[(2000, 5000)]), T);
    assert_eq!(endpoint.stats().fast_recoveries, 1);
    assert_eq!(shape(&poll(&mut endpoint, T)), [(1000, 1000)]);
}

#[test]
fn reductions_for_losses_are_reported_too_on_new_data() {
    // RFC 3168, section 6.1.2: CWR after a reduction for any reason, never on a retransmission.
    let mut endpoint = established(&config(), "rfc3168");
    endpoint.write(1_000_000, T);
    poll(&mut endpoint, T);
    endpoint.on_segment(&ack(0, &[(1000, 4000)]), T);
    let sent = poll(&mut endpoint, T);
    assert!(sent[0].is_retransmission && !sent[0].flags.has(Flags::CWR));
    endpoint.on_segment(&ack(10_000, &[]), T);
    let sent = poll(&mut endpoint, T);
    assert!(sent.len() > 1 && sent[0].flags.has(Flags::CWR) && !sent[1].flags.has(Flags::CWR));
    // Plain TCP notifies no receiver.
    let mut endpoint = established(&config(), "reno");
    endpoint.write(1_000_000, T);
    poll(&mut endpoint, T);
    endpoint.on_segment(&ack(0, &[(1000, 4000)]), T);
    poll(&mut endpoint, T);
    endpoint.on_segment(&ack(10_000, &[]), T);
    assert!(poll(&mut endpoint, T).iter().all(|segment| !segment.flags.has(Flags::CWR)));
}

#[test]
fn the_window_of_an_overtaken_segment_is_not_believed() {
    let mut endpoint = established(&config(), "reno");
    let mut newer = data(1000, Flags::NONE, Ecn::NotEct);
    newer.window = 0;
    endpoint.on_segment(&newer, T);
    endpoint.on_segment(&data(0, Flags::NONE, Ecn::NotEct), T);
    endpoint.write(1000, T);
    let sent = poll(&mut endpoint, T);
    assert!(sent.iter().all(|segment| segment.len == 0), "the window is closed: {sent:?}");
    // The same number with the same or a newer acknowledgement is.
    endpoint.on_segment(&Segment { seq: Seq(2001), ..ack(0, &[]) }, T);
    assert_eq!(shape(&poll(&mut endpoint, T)), [(0, 1000)]);
}

#[test]
fn duplicates_caused_by_a_timeout_start_no_fast_recovery() {
    // RFC 6582, section 3.2, step 2: they acknowledge no more than was sent before the timeout.
    let mut endpoint = established(&Config { sack: false, ..config() }, "reno");
    endpoint.write(1_000_000, T);
    poll(&mut endpoint, T);
    let late = endpoint.poll_timeout().unwrap();
    endpoint.on_timeout(late);
    poll(&mut endpoint, late);
    endpoint.on_segment(&ack(10_000, &[]), late);
    poll(&mut endpoint, late);
    for _ in 0..4 {
        endpoint.on_segment(&ack(10_000, &[]), late);
        poll(&mut endpoint, late);
    }
    assert_eq!(endpoint.stats().fast_recoveries, 0);
    // Once new data is acknowledged, three duplicates mean a loss again.
    endpoint.on_segment(&ack(11_000, &[]), late);
    poll(&mut endpoint, late);
    for _ in 0..3 {
        endpoint.on_segment(&ack(11_000, &[]), late);
    }
    assert_eq!(endpoint.stats().fast_recoveries, 1);
}

#[test]
fn a_paced_reduction_is_over_when_nothing_is_in_flight() {
    let linux = cc::dctcp::Config::profile("linux-5.1").unwrap();
    let cc = cc::Config::Dctcp(linux);
    let mut endpoint = Endpoint::established(&config(), &cc, Seq(0), Seq(0)).unwrap();
    endpoint.write(10_000, T);
    poll(&mut endpoint, T);
    let mut echo = ack(1000, &[]);
    echo.flags |= Flags::ECE;
    endpoint.on_segment(&echo, T);
    endpoint.on_segment(&ack(10_000, &[]), T);
    assert_eq!((endpoint.cwnd(), endpoint.outstanding()), (5000, 0));
    // The next message has the whole window, not one segment per round trip.
    endpoint.write(10_000, T);
    assert_eq!(poll(&mut endpoint, T).len(), 5);
}

#[test]
fn a_closed_connection_that_waits_is_not_broken_by_a_reset() {
    // The peer is gone already, and answers a late duplicate of ours with a RST.
    let mut a = established(&config(), "reno");
    a.close(T);
    poll(&mut a, T);
    let fin = Segment { flags: Flags::ACK | Flags::FIN, ..ack(1, &[]) };
    a.on_segment(&fin, T);
    assert_eq!(a.state(), State::TimeWait);
    let reset = Segment { seq: Seq(2), flags: Flags::RST, ..Segment::default() };
    a.on_segment(&reset, T);
    assert_eq!((a.state(), a.is_broken()), (State::TimeWait, false));
}

#[test]
fn a_reset_after_a_timeout_still_reaches_the_peer() {
    // All data arrived and all ACKs were lost. A RST with the number of the first retransmission
    // would lie before the number that the peer expects next.
    let (mut a, mut b) = (established(&config(), "reno"), established(&config(), "reno"));
    a.write(3000, T);
    for segment in poll(&mut a, T) {
        b.on_segment(&segment, T);
    }
    poll(&mut b, T);
    let timeout = a.poll_timeout().unwrap();
    a.on_timeout(timeout);
    a.abort(timeout);
    for segment in poll(&mut a, timeout) {
        b.on_segment(&segment, timeout);
    }
    assert_eq!((b.state(), b.is_broken()), (State::Closed, true));
}

#[test]
fn an_initial_window_in_packets_is_one_of_the_agreed_size() {
    let small = Config { mss: 100, ..config() };
    let mut client = Endpoint::connect(&config(), &cc("reno"), Seq(0)).unwrap();
    let mut server = Endpoint::listen(&small, &cc("reno"), Seq(0)).unwrap();
    client.write(100_000, T);
    let syn = poll(&mut client, T);
    server.on_segment(&syn[0], T);
    let answer = poll(&mut server, T);
    client.on_segment(&answer[0], T);
    assert_eq!(client.cwnd(), 10 * 100);
    assert_eq!(poll(&mut client, T).len(), 10);
}

#[test]
fn two_ends_that_open_at_the_same_time_lost_nothing() {
    let mut ends = [100, 500].map(|iss| {
        let mut end = Endpoint::connect(&config(), &cc("dctcp"), Seq(iss)).unwrap();
        end.write(20_000, T);
        end
    });
    // SYNs cross, then SYN-ACKs cross, 1 ms each way.
    for ms in 0..2 {
        let now = Time::from_ms(ms);
        let crossing = ends.each_mut().map(|end| poll(end, now));
        for (end, segment) in ends.iter_mut().zip([crossing[1][0], crossing[0][0]]) {
            end.on_segment(&segment, Time::from_ms(ms + 1));
        }
    }
    for end in &mut ends {
        assert_eq!((end.state(), end.stats().retransmissions), (State::Established, 0));
        assert_eq!(end.smoothed_rtt(), Some(Span::from_ms(2)));
        assert_eq!(end.cwnd(), 10 * MSS, "no SYN was lost");
        assert!(end.is_ecn());
    }
}

/// The next timer runs out; answers with the segments that leave.
fn expire(endpoint: &mut Endpoint) -> Vec<Segment> {
    let now = endpoint.poll_timeout().unwrap();
    endpoint.on_timeout(now);
    poll(endpoint, now)
}

/// RFC 6298, section 5.4: new data waits for a larger window, repeated data does not.
#[test]
fn a_timeout_retransmits_into_a_window_below_a_segment() {
    for (window, again) in [(600, (0, 500)), (500, (0, 500)), (300, (0, 300))] {
        let mut sender = established(&config(), "reno");
        sender.on_segment(&Segment { window: 600, ..ack(0, &[]) }, T);
        sender.write(500, T);
        assert_eq!(shape(&poll(&mut sender, T)), [(0, 500)]);
        sender.write(5_000, T);
        assert_eq!(shape(&poll(&mut sender, T)), [], "100 bytes would be a silly window");
        sender.on_segment(&Segment { window, ..ack(0, &[]) }, T);
        let rto = sender.rto();
        assert_eq!(sender.poll_timeout(), Some(T + rto));
        assert_eq!(shape(&expire(&mut sender)), [again], "window {window}");
        assert_eq!(sender.stats().retransmissions, 1);
        assert_eq!(sender.poll_timeout(), Some(T + rto + rto * 2), "the timeout doubles");
    }
}

#[test]
fn a_sack_of_part_of_a_probe_behind_sent_data_starts_no_recovery() {
    let mut sender = established(&config(), "reno");
    sender.write(10_000, T);
    assert_eq!(poll(&mut sender, T).len(), 10);
    sender.on_segment(&Segment { window: 100, ..ack(9_999, &[]) }, T);
    sender.write(5_000, T);
    poll(&mut sender, T);
    expire(&mut sender);
    expire(&mut sender);
    let now = sender.poll_timeout().unwrap() - Span::from_us(1);
    let blocks = [(10_010, 10_020), (10_030, 10_040), (10_050, 10_060)];
    sender.on_segment(&Segment { window: 100, ..ack(10_000, &blocks) }, now);
    sender.check();
    poll(&mut sender, now);
    assert_eq!(sender.stats().fast_recoveries, 0);
}

/// RFC 9293, section 3.10.7.4: the end that listened listens again, and the next SYN finds it.
#[test]
fn a_reset_in_syn_received_returns_a_passive_end_to_listen() {
    let syn = |seq| Segment {
        seq: Seq(seq),
        flags: Flags::SYN,
        mss: 1000,
        window: 65_535,
        ..Segment::default()
    };
    let reset = |seq| Segment { seq: Seq(seq), flags: Flags::RST, ..Segment::default() };
    let mut server = Endpoint::listen(&config(), &cc("reno"), Seq(900)).unwrap();
    server.on_segment(&syn(100), T);
    assert_eq!(poll(&mut server, T).len(), 1);
    let rto = server.rto();
    // The SYN-ACK is lost once: the timeout has doubled when the reset comes.
    assert_eq!(expire(&mut server).len(), 1);
    server.on_segment(&reset(101), T + rto);
    assert_eq!((server.state(), server.is_broken()), (State::Listen, false));
    assert_eq!(server.poll_timeout(), None);
    assert_eq!(poll(&mut server, T + rto), []);

    let later = Time::from_secs(60);
    server.on_segment(&syn(7_000), later);
    let answer = poll(&mut server, later);
    assert_eq!(answer.len(), 1);
    assert_eq!((answer[0].seq, answer[0].ack), (Seq(900), Seq(7_001)));
    assert!(!answer[0].is_retransmission);
    assert_eq!(server.poll_timeout(), Some(later + rto), "without backoff");
    let last = Segment { seq: Seq(7_001), ack: Seq(901), flags: Flags::ACK, ..syn(0) };
    server.on_segment(&last, later + Span::from_us(40));
    assert_eq!(server.state(), State::Established);
    assert_eq!(server.smoothed_rtt(), Some(Span::from_us(40)));

    // An end that opened actively, as both did here, has nothing to return to.
    let mut client = Endpoint::connect(&config(), &cc("reno"), Seq(900)).unwrap();
    poll(&mut client, T);
    client.on_segment(&syn(100), T);
    assert_eq!(client.state(), State::SynReceived);
    client.on_segment(&reset(101), T);
    assert_eq!((client.state(), client.is_broken()), (State::Closed, true));
}
