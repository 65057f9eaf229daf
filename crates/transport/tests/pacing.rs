//! Windows below one packet: when packets leave.

use tidegate_transport::{Config, Endpoint, Segment, Seq, cc};
use tidegate_units::{Settings, Size, Span, Time};

/// One segment of 1000 B at first, a target delay of 100 µs for every window.
fn client() -> Endpoint {
    let config = Config {
        mss: 1000,
        initial_window: Size::Packets(1),
        rto_min: Span::from_ms(10),
        ..Config::default()
    };
    let mut cc = cc::swift::Config::default();
    for (field, text) in [("base_target", "100us"), ("hops", "0"), ("flow_range", "0us")] {
        cc.set(field, text).expect("the fields are Swift's");
    }
    let cc = cc::Config::Swift(cc);
    Endpoint::established(&config, &cc, Seq(0), Seq(0)).expect("the settings can be used")
}

/// The ACK of everything before the `number`th segment.
fn ack(number: u32) -> Segment {
    Segment {
        seq: Seq(1),
        ack: Seq(1 + number * 1000),
        window: 1 << 20,
        flags: tidegate_transport::Flags::ACK,
        ..Segment::default()
    }
}

#[test]
fn a_window_below_one_packet_sends_one_every_round_trip_divided_by_it() {
    let mut client = client();
    let us = Time::from_us;
    client.write(100_000, us(0));
    assert!(client.poll_segment(us(0)).is_some());
    assert_eq!(client.poll_segment(us(0)), None, "the window is one packet");

    // A round trip of 400 µs halves the window, once each. The next packet leaves 400 µs / 0.5
    // after the first, the one after that 400 µs / 0.25 later.
    let mut sent = us(0);
    for (number, gap) in [(1, 800), (2, 1600), (3, 3200)] {
        let now = sent + Span::from_us(400);
        client.on_segment(&ack(number), now);
        assert_eq!(client.poll_segment(now), None);
        sent += Span::from_us(gap);
        assert_eq!(client.poll_timeout(), Some(sent), "packet {number}");
        let early = Time::from_ps(sent.as_ps() - 1);
        client.on_timeout(early);
        assert_eq!(client.poll_segment(early), None);
        client.on_timeout(sent);
        assert!(client.poll_segment(sent).is_some());
        assert_eq!(client.poll_segment(sent), None, "one packet is in flight");
    }
}

#[test]
fn a_window_that_grows_to_one_packet_is_not_paced_any_more() {
    let mut client = client();
    let us = Time::from_us;
    client.write(100_000, us(0));
    assert!(client.poll_segment(us(0)).is_some());
    client.on_segment(&ack(1), us(400));
    assert_eq!(client.poll_segment(us(400)), None);
    client.on_timeout(us(800));
    assert!(client.poll_segment(us(800)).is_some());
    // 50 µs are below the target: the window is one packet and a half.
    client.on_segment(&ack(2), us(850));
    assert_eq!(client.cwnd(), 1500);
    assert!(client.poll_segment(us(850)).is_some());
}

#[test]
fn a_lost_packet_of_a_paced_window_is_sent_again_by_the_timer() {
    let mut client = client();
    let us = Time::from_us;
    client.write(3000, us(0));
    assert!(client.poll_segment(us(0)).is_some());
    client.on_segment(&ack(1), us(400));
    client.on_timeout(us(800));
    let lost = client.poll_segment(us(800)).expect("the pace lets it leave");
    // Nothing arrives: the retransmission timer runs out, and the window is halved again.
    let due = client.poll_timeout().expect("the timer runs");
    assert_eq!(due, us(10_800));
    client.on_timeout(due);
    let again = client.poll_segment(due).expect("it is sent again");
    assert_eq!((again.seq, again.is_retransmission), (lost.seq, true));
    assert_eq!(client.cwnd(), 250);
}
