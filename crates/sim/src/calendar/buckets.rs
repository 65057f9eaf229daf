//! Time cut into buckets that are shorter than any link: everything that arrives within a bucket is
//! known when the bucket begins, so that it is sorted once instead of going through a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidegate_units::{Span, Time};

use super::{Arrival, Calendar, Goal, Rank};
use crate::by_key::ByKey;
use crate::setup::bucket_width;

/// The calendar of the fast engine.
#[derive(Debug)]
pub(crate) struct Buckets {
    /// A bucket is 2^width picoseconds wide.
    width: u32,
    /// The number of the bucket that is open now.
    current: u64,
    /// The buckets from `current` on, by the lower bits of their number.
    ring: Box<[Bucket]>,
    /// Buffers of buckets that are over, the last used on top: a few that stay in the cache serve the
    /// whole ring.
    spare: Vec<Vec<Arrival>>,
    /// Arrivals in the ring.
    held: usize,
    /// Arrivals after the buckets of the ring.
    far: BinaryHeap<Reverse<Far>>,
    far_pushed: u64,
}

/// What arrives within one bucket at hosts and at switches. Nodes do not hear of each other within a
/// bucket, so the two kinds can be served one after the other.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    pub(crate) hosts: Vec<Arrival>,
    pub(crate) switches: Vec<Arrival>,
}

/// An arrival by its bucket, and then by when it was pushed.
type Far = ByKey<(u64, u64), (Arrival, Goal)>;

/// The fewest buckets in the ring: room for what an ideal host sends at once, which leaves one packet
/// after the other.
const MIN_RING: u64 = 1 << 10;
/// The most buckets in the ring; longer ways wait in the heap beside it.
const MAX_RING: u64 = 1 << 14;

impl Buckets {
    /// A calendar for links on which nothing arrives sooner than `lookahead` after it left, and
    /// hardly anything later than `horizon`.
    pub(crate) fn new(lookahead: Span, horizon: Span) -> Self {
        let width = bucket_width(lookahead);
        let count = (horizon.as_ps() >> width).saturating_add(2);
        let count = count.clamp(MIN_RING, MAX_RING).next_power_of_two();
        let ring = (0..count).map(|_| Bucket::default());
        Self {
            width,
            current: 0,
            ring: ring.collect(),
            spare: Vec::new(),
            held: 0,
            far: BinaryHeap::new(),
            far_pushed: 0,
        }
    }

    /// The width of a bucket as a power of two, in picoseconds.
    pub(crate) const fn width(&self) -> u32 {
        self.width
    }

    /// When the open bucket begins.
    #[inline]
    pub(crate) const fn begin(&self) -> Time {
        Time::from_ps(self.current << self.width)
    }

    /// When the open bucket ends, and the next one begins.
    #[inline]
    pub(crate) const fn end(&self) -> Time {
        Time::from_ps((self.current + 1) << self.width)
    }

    /// Goes to the next bucket.
    #[inline]
    pub(crate) fn turn(&mut self) {
        self.go_to(self.current + 1);
    }

    /// Goes on to the bucket that holds `time`, which nothing arrives before.
    pub(crate) fn skip_to(&mut self, time: Time) {
        let bucket = time.as_ps() >> self.width;
        if bucket > self.current {
            debug_assert!(self.held == 0, "no packet is passed over");
            self.go_to(bucket);
        }
    }

    /// When the first packet arrives, or a time before that.
    pub(crate) fn earliest(&self) -> Option<Time> {
        if self.held > 0 {
            return Some(self.begin());
        }
        let first = self.far.peek();
        first.map(|Reverse(far)| far.value.0.at)
    }

    /// Whether no packet is on its way.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.held == 0 && self.far.is_empty()
    }

    fn go_to(&mut self, bucket: u64) {
        self.current = bucket;
        let beyond = bucket + self.ring.len() as u64;
        while let Some(Reverse(far)) = self.far.peek()
            && far.key.0 < beyond
        {
            let Some(Reverse(far)) = self.far.pop() else {
                return;
            };
            let (arrival, goal) = far.value;
            self.put(far.key.0, arrival, goal);
        }
    }

    #[inline]
    fn put(&mut self, bucket: u64, arrival: Arrival, goal: Goal) {
        let index = bucket as usize & (self.ring.len() - 1);
        let slot = &mut self.ring[index];
        let list = match goal {
            Goal::Host => &mut slot.hosts,
            Goal::Switch => &mut slot.switches,
        };
        if list.len() == list.capacity() {
            make_room(list, &mut self.spare);
        }
        list.push(arrival);
        self.held += 1;
    }

    /// Takes the arrival in parts: they stay in registers on the way of those that are not far.
    #[cold]
    #[inline(never)]
    fn put_far(&mut self, bucket: u64, at: Time, place: u32, packet: u32, goal: Goal) {
        self.far.push(Reverse(ByKey {
            key: (bucket, self.far_pushed),
            value: (Arrival { at, place, packet }, goal),
        }));
        self.far_pushed += 1;
    }

    /// Takes what arrives in the open bucket before `stop`. What `out` held is dropped; its memory
    /// is used again.
    pub(crate) fn take(&mut self, stop: Time, out: &mut Bucket) {
        let end = self.end();
        let index = self.current as usize & (self.ring.len() - 1);
        let bucket = &mut self.ring[index];
        if stop >= end {
            let before = std::mem::replace(out, std::mem::take(bucket));
            for mut list in [before.hosts, before.switches] {
                if list.capacity() > 0 {
                    list.clear();
                    self.spare.push(list);
                }
            }
        } else {
            out.hosts.clear();
            out.switches.clear();
            let hosts = bucket.hosts.extract_if(.., |arrival| arrival.at < stop);
            out.hosts.extend(hosts);
            let switches = bucket.switches.extract_if(.., |arrival| arrival.at < stop);
            out.switches.extend(switches);
        }
        self.held -= out.hosts.len() + out.switches.len();
    }
}

/// Gives a full list more room: at first a buffer that was used before.
#[cold]
#[inline(never)]
fn make_room(list: &mut Vec<Arrival>, spare: &mut Vec<Vec<Arrival>>) {
    if list.capacity() == 0
        && let Some(used) = spare.pop()
    {
        *list = used;
    } else {
        list.reserve(1);
    }
}

impl Calendar for Buckets {
    #[inline]
    fn push(&mut self, arrival: Arrival, goal: Goal, _rank: Rank) {
        let bucket = arrival.at.as_ps() >> self.width;
        debug_assert!(bucket > self.current, "a link is longer than a bucket");
        if bucket - self.current < self.ring.len() as u64 {
            self.put(bucket, arrival, goal);
        } else {
            let Arrival { at, place, packet } = arrival;
            self.put_far(bucket, at, place, packet, goal);
        }
    }
}
