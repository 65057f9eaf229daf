//! The measured loop: a window of segments is always in flight; each arrives and is acknowledged.
//! The same loop without endpoints measures its own cost.

use std::hint::black_box;

use tidegate_transport::{Config, Endpoint, Segment, Seq, cc};
use tidegate_units::{Ecn, Span, Time};

/// The largest window, in segments.
pub(crate) const WINDOW: u32 = 64;
/// Slots for segments in flight: a power of two.
const PLACES: usize = 128;
/// One segment of 1500 bytes at 10 Gb/s.
const SEGMENT_TIME: Span = Span::from_ns(1200);

/// Segments in flight, first in, first out.
struct InFlight {
    places: [Segment; PLACES],
    first: usize,
    count: usize,
}

impl InFlight {
    fn new() -> Self {
        Self { places: [Segment::default(); PLACES], first: 0, count: 0 }
    }

    #[inline]
    fn push(&mut self, segment: Segment) {
        self.places[(self.first + self.count) % PLACES] = segment;
        self.count += 1;
    }

    #[inline]
    fn pop(&mut self) -> Segment {
        let segment = self.places[self.first];
        self.first = (self.first + 1) % PLACES;
        self.count -= 1;
        segment
    }
}

/// Moves `segments` segments from one endpoint to another.
pub(crate) fn segments(config: &Config, cc: &cc::Config, segments: u32, marking: bool) {
    let new = || Endpoint::established(config, cc, Seq(0), Seq(0)).expect("the settings are valid");
    let (mut client, mut server) = (new(), new());
    client.write(u64::from(config.mss) << 32, Time::ZERO);
    segment_loop(
        segments,
        marking,
        &mut (&mut client, &mut server),
        |(client, _), now| client.poll_segment(now),
        |(client, server), segment, now| {
            server.on_segment(segment, now);
            while let Some(ack) = server.poll_segment(now) {
                client.on_segment(&ack, now);
            }
        },
    );
    assert_eq!(client.stats().retransmissions, 0, "a run without loss has no retransmissions");
    assert!(server.received() >= u64::from(segments) * u64::from(config.mss));
    black_box((client.stats(), server.stats()));
}

/// The same loop without endpoints: as many segments leave, in bursts of the same size.
pub(crate) fn no_segments(segments: u32, per_ack: u8, marking: bool) {
    // Segments that may leave now, and segments since the last ACK.
    let mut state = (WINDOW, 0_u8);
    segment_loop(
        segments,
        marking,
        &mut state,
        |(credit, _), _| {
            *credit = credit.checked_sub(1)?;
            Some(black_box(Segment::default()))
        },
        |(credit, waiting), segment, _| {
            black_box(segment.ecn);
            *waiting += 1;
            if *waiting == per_ack {
                *credit += u32::from(per_ack);
                *waiting = 0;
            }
        },
    );
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the loop must be compiled around each kind of work")]
fn segment_loop<S>(
    segments: u32,
    marking: bool,
    state: &mut S,
    mut send: impl FnMut(&mut S, Time) -> Option<Segment>,
    mut arrive: impl FnMut(&mut S, &Segment, Time),
) {
    let mut in_flight = InFlight::new();
    let mut now = Time::ZERO;
    for number in 0..segments {
        while let Some(segment) = send(state, now) {
            in_flight.push(segment);
        }
        now += SEGMENT_TIME;
        let mut segment = in_flight.pop();
        if marking && number % 8 == 0 {
            segment.ecn = Ecn::Ce;
        }
        arrive(state, &segment, now);
    }
}
