//! Two endpoints over a network in memory: virtual time, seeded loss, reordering, duplication and
//! marking, or a bottleneck with a queue that marks.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use tidegate_units::{Ecn, Rate, Rng, Span, Time};

use crate::config::Config;
use crate::seq::Seq;
use crate::{Endpoint, Segment, cc};

/// Which end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    pub(crate) const fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Faults of the network, as parts of a thousand, the same in both directions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    pub(crate) loss: u32,
    pub(crate) duplication: u32,
    pub(crate) marking: u32,
    /// Every segment takes `delay` and up to `jitter` more, drawn each time: they overtake.
    pub(crate) delay: Span,
    pub(crate) jitter: Span,
}

impl Weather {
    pub(crate) const FAIR: Self =
        Self { loss: 0, duplication: 0, marking: 0, delay: Span::from_us(50), jitter: Span::ZERO };
}

/// A link that only the client's segments pass: it takes time to send, queues, drops and marks.
#[derive(Clone, Debug)]
pub(crate) struct Bottleneck {
    pub(crate) rate: Rate,
    pub(crate) limit: usize,
    pub(crate) threshold: usize,
    /// When each queued segment will have left.
    departures: Vec<Time>,
}

impl Bottleneck {
    pub(crate) fn new(rate: Rate, limit: usize, threshold: usize) -> Self {
        Self { rate, limit, threshold, departures: Vec::new() }
    }

    /// Queues a segment: when it leaves, and whether it is marked; `None` if it is dropped.
    fn pass(&mut self, bytes: u32, now: Time) -> Option<(Time, bool)> {
        self.departures.retain(|&time| time > now);
        if self.departures.len() >= self.limit {
            return None;
        }
        let marked = self.departures.len() > self.threshold;
        let start = self.departures.last().copied().unwrap_or(now).max(now);
        let leaves = start + self.rate.time_for(bytes);
        self.departures.push(leaves);
        Some((leaves, marked))
    }
}

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
struct Travelling {
    to: Side,
    segment: Segment,
}

/// Two endpoints and the network between them.
pub(crate) struct Network {
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
    pub(crate) now: Time,
    pub(crate) weather: Weather,
    pub(crate) bottleneck: Option<Bottleneck>,
    /// Every segment that was sent, if `tracing`.
    pub(crate) trace: Vec<(Time, Side, Segment)>,
    pub(crate) tracing: bool,
    /// Whether segments in which nothing is special go as [`Header`](crate::Header)s.
    pub(crate) by_headers: bool,
    rng: Rng,
    events: BinaryHeap<Reverse<(Time, u64)>>,
    travelling: Vec<Option<Travelling>>,
    /// Data that has arrived at each side, by sequence number: an independent account.
    arrived: [Vec<(u64, u64)>; 2],
    isn: [Seq; 2],
}

impl Network {
    /// A client that connects and a server that listens.
    pub(crate) fn new(
        client: (&Config, &cc::Config),
        server: (&Config, &cc::Config),
        seed: u64,
    ) -> Self {
        let mut rng = Rng::new(seed, 7);
        let isn = [Seq(rng.next_u32()), Seq(rng.next_u32())];
        Self {
            client: Endpoint::connect(client.0, client.1, isn[0]).unwrap(),
            server: Endpoint::listen(server.0, server.1, isn[1]).unwrap(),
            now: Time::ZERO,
            weather: Weather::FAIR,
            bottleneck: None,
            trace: Vec::new(),
            tracing: false,
            by_headers: false,
            rng,
            events: BinaryHeap::new(),
            travelling: Vec::new(),
            arrived: [Vec::new(), Vec::new()],
            isn,
        }
    }

    fn poll(&mut self, side: Side, now: Time) -> Option<Segment> {
        let by_headers = self.by_headers;
        let endpoint = self.side(side);
        if by_headers && let Some(header) = endpoint.poll_header(now) {
            return Some(header.into());
        }
        let is_quiet = by_headers && endpoint.is_quiet();
        let segment = endpoint.poll_segment(now);
        assert!(segment.is_none() || !is_quiet, "{endpoint:?}");
        segment
    }

    pub(crate) fn side(&mut self, side: Side) -> &mut Endpoint {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Lets both endpoints send.
    pub(crate) fn flush(&mut self) {
        for side in [Side::Client, Side::Server] {
            let now = self.now;
            let mut burst = 0;
            while let Some(segment) = self.poll(side, now) {
                self.side(side).check();
                self.send(side, segment);
                burst += 1;
                assert!(burst < 100_000, "a runaway sender");
            }
            self.side(side).check_waiting();
        }
    }

    /// Goes on to the next event, if there is one up to `limit`, and answers whether there was.
    pub(crate) fn step(&mut self, limit: Time) -> bool {
        self.flush();
        let arrival = self.events.peek().map(|Reverse((time, _))| *time);
        let timeouts = [self.client.poll_timeout(), self.server.poll_timeout()];
        let next = timeouts.into_iter().flatten().chain(arrival).min();
        let Some(next) = next.filter(|&next| next <= limit) else {
            return false;
        };
        self.now = self.now.max(next);
        if arrival == Some(next) {
            self.deliver();
        } else {
            for side in [Side::Client, Side::Server] {
                let now = self.now;
                self.side(side).on_timeout(now);
                self.side(side).check();
            }
        }
        self.flush();
        true
    }

    /// Runs until `done` or until nothing happens before `limit`; answers whether it was done.
    pub(crate) fn run_until(&mut self, limit: Time, done: impl Fn(&Self) -> bool) -> bool {
        while !done(self) {
            if !self.step(limit) {
                return done(self);
            }
        }
        true
    }

    fn send(&mut self, from: Side, mut segment: Segment) {
        if self.tracing {
            self.trace.push((self.now, from, segment));
        }
        let weather = self.weather;
        if self.chance(weather.loss) {
            return;
        }
        let mut leaves = self.now;
        if from == Side::Client
            && let Some(bottleneck) = &mut self.bottleneck
        {
            let Some((time, marked)) = bottleneck.pass(segment.len + 52, self.now) else {
                return;
            };
            leaves = time;
            mark_if(&mut segment, marked);
        }
        let marked = self.chance(weather.marking);
        mark_if(&mut segment, marked);
        self.transmit(leaves, from.peer(), segment);
        if self.chance(weather.duplication) {
            self.transmit(leaves, from.peer(), segment);
        }
    }

    fn transmit(&mut self, leaves: Time, to: Side, segment: Segment) {
        let jitter = self.weather.jitter.as_ps();
        let extra = if jitter == 0 { 0 } else { self.rng.next_u64() % jitter };
        let arrives = leaves + self.weather.delay + Span::from_ps(extra);
        self.events.push(Reverse((arrives, self.travelling.len() as u64)));
        self.travelling.push(Some(Travelling { to, segment }));
    }

    fn deliver(&mut self) {
        let Some(Reverse((_, index))) = self.events.pop() else {
            return;
        };
        let Travelling { to, segment } = self.travelling[index as usize].take().unwrap();
        self.account(to, &segment);
        let now = self.now;
        let header = segment.header();
        if self.by_headers && Segment::from(header) == segment {
            self.side(to).on_header(&header, now);
        } else {
            self.side(to).on_segment(&segment, now);
        }
        self.side(to).check();
        let received = self.side(to).received();
        let arrived = self.in_order(to);
        assert!(received <= arrived, "{to:?} received what never arrived");
    }

    /// Notes the payload that arrives, by its offset in the stream.
    fn account(&mut self, to: Side, segment: &Segment) {
        if segment.len == 0 {
            return;
        }
        let first = self.isn[to.peer() as usize] + 1;
        let received = self.side(to).received();
        // The offset nearest to the received bytes: sequence numbers wrap.
        let expected = first + received as u32;
        let offset = received.cast_signed() + i64::from(segment.seq.offset_from(expected));
        let start = u64::try_from(offset).expect("payload before the beginning");
        let arrived = &mut self.arrived[to as usize];
        arrived.push((start, start + u64::from(segment.len)));
        arrived.sort_unstable();
        arrived.dedup();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for &(start, end) in arrived.iter() {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        *arrived = merged;
    }

    /// The number that `side` expects next.
    pub(crate) fn expected(&mut self, side: Side) -> Seq {
        let received = self.side(side).received();
        self.isn[side.peer() as usize] + 1 + received as u32
    }

    /// Bytes from the beginning of the stream that have arrived without a hole.
    pub(crate) fn in_order(&self, side: Side) -> u64 {
        match self.arrived[side as usize].first() {
            Some(&(0, end)) => end,
            _ => 0,
        }
    }

    fn chance(&mut self, thousandths: u32) -> bool {
        thousandths > 0 && self.rng.next_u32() % 1000 < thousandths
    }
}

fn mark_if(segment: &mut Segment, condition: bool) {
    if condition && segment.ecn.is_capable() {
        segment.ecn = Ecn::Ce;
    }
}
