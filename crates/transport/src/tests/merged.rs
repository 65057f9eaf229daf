//! Segments that the receiving host has merged: one unit, one ACK, counted as the segments that it
//! was.

use alloc::vec::Vec;

use tidegate_units::{Ecn, Span, Time};

use crate::config::{AckPolicy, Config, Echo};
use crate::segment::{Flags, Header};
use crate::seq::Seq;
use crate::{Endpoint, cc};

const MSS: u32 = 1000;

fn receiver(config: &Config) -> Endpoint {
    let cc = cc::Config::named("dctcp").unwrap();
    Endpoint::established(config, &cc, Seq(0), Seq(0)).unwrap()
}

fn config() -> Config {
    Config { mss: 1000, echo: Echo::Dctcp, ..Config::default() }
}

/// So many segments in a row, from this one on.
fn unit(first: u32, segments: u32, ecn: Ecn) -> Header {
    Header {
        seq: Seq(1 + first * MSS),
        ack: Seq(1),
        len: segments * MSS,
        window: 1 << 20,
        flags: Flags::ACK,
        ecn,
    }
}

/// The ACK numbers and echoes of the segments that leave, in segments.
fn acks(endpoint: &mut Endpoint, now: Time) -> Vec<(u32, bool)> {
    let mut acks = Vec::new();
    while let Some(segment) = endpoint.poll_segment(now) {
        endpoint.check();
        acks.push(((segment.ack.0 - 1) / MSS, segment.flags.has(Flags::ECE)));
    }
    acks
}

#[test]
fn a_unit_of_two_segments_is_acknowledged_at_once_and_one_of_one_waits() {
    let mut endpoint = receiver(&config());
    let now = Time::from_us(10);
    endpoint.on_merged(&unit(0, 1, Ecn::Ect0), 1, now);
    assert_eq!(acks(&mut endpoint, now), []);
    // With the one that waits there are three.
    endpoint.on_merged(&unit(1, 2, Ecn::Ect0), 2, now);
    assert_eq!(acks(&mut endpoint, now), [(3, false)]);
    endpoint.on_merged(&unit(3, 44, Ecn::Ect0), 44, now);
    assert_eq!(acks(&mut endpoint, now), [(47, false)], "one for all of it");
    endpoint.on_merged(&unit(47, 1, Ecn::Ect0), 1, now);
    let deadline = endpoint.poll_timeout().expect("it waits for its ACK");
    endpoint.on_timeout(deadline);
    assert_eq!(acks(&mut endpoint, deadline), [(48, false)]);
    assert_eq!(endpoint.stats().segments_received, 48);
    assert_eq!(endpoint.received(), 48_000);
}

#[test]
fn more_segments_for_an_ack_than_a_unit_has_make_it_wait() {
    let mut endpoint = receiver(&Config { delayed_ack: 4, ..config() });
    let now = Time::from_us(10);
    endpoint.on_merged(&unit(0, 3, Ecn::Ect0), 3, now);
    assert_eq!(acks(&mut endpoint, now), []);
    endpoint.on_merged(&unit(3, 1, Ecn::Ect0), 1, now);
    assert_eq!(acks(&mut endpoint, now), [(4, false)]);
}

#[test]
fn every_segment_of_a_marked_unit_counts_as_marked() {
    let mut endpoint = receiver(&config());
    let now = Time::from_us(10);
    endpoint.on_merged(&unit(0, 3, Ecn::Ect0), 3, now);
    endpoint.on_merged(&unit(3, 5, Ecn::Ce), 5, now);
    assert_eq!(acks(&mut endpoint, now), [(8, true)]);
    assert_eq!(endpoint.stats().marks_received, 5);
}

#[test]
fn a_change_of_marks_between_units_is_acknowledged_with_both_states() {
    let mut endpoint = receiver(&Config { echo: Echo::DctcpTwoAcks, ..config() });
    let now = Time::from_us(10);
    endpoint.on_merged(&unit(0, 1, Ecn::Ect0), 1, now);
    endpoint.on_merged(&unit(1, 5, Ecn::Ce), 5, now);
    assert_eq!(acks(&mut endpoint, now), [(1, false), (6, true)]);
}

#[test]
fn a_unit_out_of_order_is_one_duplicate() {
    let mut endpoint = receiver(&config());
    let now = Time::from_us(10);
    endpoint.on_merged(&unit(1, 6, Ecn::Ect0), 6, now);
    let segment = endpoint.poll_segment(now).expect("a duplicate");
    assert_eq!(segment.ack, Seq(1));
    let blocks = segment.sack.as_slice();
    assert_eq!((blocks[0].start, blocks[0].end), (Seq(1001), Seq(7001)));
    assert_eq!(endpoint.poll_segment(now), None);
}

#[test]
fn linux_measures_segments_and_not_units() {
    // After its sixteen quick ACKs, a unit of one full segment is as large as others were: its ACK
    // waits.
    let mut endpoint = receiver(&Config { acks: AckPolicy::Linux, ..config() });
    let mut now = Time::from_us(10);
    let mut first = 0;
    for _ in 0..16 {
        endpoint.on_merged(&unit(first, 4, Ecn::Ect0), 4, now);
        first += 4;
        assert_eq!(acks(&mut endpoint, now), [(first, false)]);
        now += Span::from_us(100);
    }
    endpoint.on_merged(&unit(first, 1, Ecn::Ect0), 1, now);
    assert_eq!(acks(&mut endpoint, now), []);
}
