//! Handshakes into which old segments of other connections fall.

use alloc::vec::Vec;

use tidegate_units::{Span, Time};

use crate::segment::Flags;
use crate::seq::Seq;
use crate::{Config, Endpoint, Segment, State, cc};

/// Both ends of a connection, and the segments in flight to each.
struct Pair {
    ends: [Endpoint; 2],
    in_flight: [Vec<Segment>; 2],
    sent: u32,
}

impl Pair {
    fn new() -> Self {
        let cc = cc::Config::named("dctcp").unwrap();
        let config = Config::default();
        Self {
            ends: [
                Endpoint::connect(&config, &cc, Seq(100)).unwrap(),
                Endpoint::listen(&config, &cc, Seq(900)).unwrap(),
            ],
            in_flight: [Vec::new(), Vec::new()],
            sent: 0,
        }
    }

    /// Every segment in flight arrives, and the answers are in flight.
    fn exchange(&mut self, now: Time) {
        for side in [0, 1] {
            for segment in core::mem::take(&mut self.in_flight[side]) {
                self.ends[side].on_segment(&segment, now);
            }
            if self.ends[side].poll_timeout().is_some_and(|due| due <= now) {
                self.ends[side].on_timeout(now);
            }
            while let Some(segment) = self.ends[side].poll_segment(now) {
                self.ends[side].check();
                self.in_flight[1 - side].push(segment);
                self.sent += 1;
            }
        }
    }
}

#[test]
fn an_old_syn_at_a_client_does_not_make_both_ends_answer_each_other() {
    let mut pair = Pair::new();
    let old = Segment {
        seq: Seq(5_000_000),
        flags: Flags::SYN,
        mss: 1460,
        window: 65_535,
        ..Segment::default()
    };
    // The client's SYN leaves; the old one arrives before its answer.
    let mut now = Time::ZERO;
    let syn = pair.ends[0].poll_segment(now).unwrap();
    pair.in_flight[1].push(syn);
    pair.in_flight[0].push(old);
    for _ in 0..20_000 {
        pair.exchange(now);
        now += Span::from_us(10);
    }
    assert!(pair.sent < 20, "{} segments in 200 ms", pair.sent);
    assert_eq!(pair.ends[0].state(), State::Closed);
    assert!(pair.ends[0].is_broken(), "the client learns it at once");
}
