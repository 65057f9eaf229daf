//! Calendar in buckets of time. Everything that arrives at a port within a bucket is known before
//! the port is served, so that it is sorted once and does not go through a heap. See
//! [`BucketPlan`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidegate_units::{Span, Time};

use super::sort::ByTime;
use super::{Arrival, BucketPlan, Calendar, Destination, InBuckets, Rank};
use crate::by_key::ByKey;
use crate::packet::Packet;
use crate::slab::Slab;

/// Calendar of the fast engine.
#[derive(Debug)]
pub(crate) struct Buckets {
    /// Width of a bucket: 2^width picoseconds.
    width: u32,
    /// Number of the open bucket.
    current: u64,
    /// First level of the open bucket that was not taken yet.
    untaken: usize,
    /// Arrivals in the buckets from `current` on, by level and by the lower bits of the bucket's
    /// number. Hosts are the last level.
    ring: Box<[Vec<Arrival>]>,
    /// Number of buckets in the ring, minus one.
    mask: u64,
    /// By link: start of the lists of its port's level in the ring.
    ports: Box<[u32]>,
    /// Start of the hosts' lists in the ring.
    hosts: u32,
    /// Memory of buckets that are over, the last used on top: a few buffers that stay in the cache
    /// serve the whole ring.
    spare: Vec<Vec<Arrival>>,
    /// By level: arrivals of a bucket that is taken in parts.
    cuts: Box<[Cut]>,
    /// Arrivals in the ring and in cuts.
    held: usize,
    /// Arrivals beyond the buckets of the ring.
    far: BinaryHeap<Reverse<Far>>,
    far_pushed: u64,
}

/// Arrivals of a bucket that were known when its first part was taken, in order of time, so that
/// they are not searched again for each part. Later arrivals stay in the ring, only briefly.
#[derive(Debug, Default)]
struct Cut {
    /// The bucket; `None` before the first cut.
    bucket: Option<u64>,
    by_time: ByTime,
    /// Number of arrivals taken.
    taken: usize,
}

/// An arrival, ordered by its bucket and then by insertion.
type Far = ByKey<(u64, u64), (Arrival, Destination)>;

/// Fewest buckets in the ring: room for the burst of an ideal host, which sends packets back to
/// back.
const MIN_RING: u64 = 1 << 10;
/// Most buckets in the ring; arrivals with longer delays wait in the heap beside it.
const MAX_RING: u64 = 1 << 14;

impl Buckets {
    /// Creates a calendar for links on which few packets arrive later than `horizon` after they
    /// left.
    pub(crate) fn new(plan: &BucketPlan, horizon: Span) -> Self {
        let width = plan.width();
        let count = (horizon.as_ps() >> width).saturating_add(2);
        let count = count.clamp(MIN_RING, MAX_RING).next_power_of_two();
        let begin = |level: usize| level as u32 * count as u32; // few levels of at most MAX_RING
        let hosts = begin(plan.count());
        Self {
            ports: plan.levels().map(begin).collect(),
            hosts,
            width,
            current: 0,
            untaken: 0,
            ring: (0..u64::from(hosts) + count).map(|_| Vec::new()).collect(),
            mask: count - 1,
            spare: Vec::new(),
            cuts: (0..=plan.count()).map(|_| Cut::default()).collect(),
            held: 0,
            far: BinaryHeap::new(),
            far_pushed: 0,
        }
    }

    /// Width of a bucket as a power of two, in picoseconds.
    pub(crate) const fn width(&self) -> u32 {
        self.width
    }

    /// Start of the open bucket.
    #[inline]
    pub(crate) const fn begin(&self) -> Time {
        Time::from_ps(self.current << self.width)
    }

    /// End of the open bucket and start of the next.
    #[inline]
    pub(crate) const fn end(&self) -> Time {
        Time::from_ps((self.current + 1) << self.width)
    }

    /// Advances to the next bucket.
    #[inline]
    pub(crate) fn turn(&mut self) {
        self.go_to(self.current + 1);
    }

    /// Advances to the bucket that contains `time`. Nothing may arrive before it.
    pub(crate) fn skip_to(&mut self, time: Time) {
        let bucket = time.as_ps() >> self.width;
        if bucket > self.current {
            let mut passed = self.current..bucket.min(self.current + self.mask + 1);
            debug_assert!(passed.all(|passed| !self.has_arrivals(passed)), "no packet is skipped");
            self.go_to(bucket);
        }
    }

    /// Arrival of the first packet, or an earlier time. Searches only up to `bound`, so that it
    /// visits no more buckets than are skipped.
    pub(crate) fn earliest(&self, bound: Time) -> Option<Time> {
        if self.held == 0 {
            let first = self.far.peek();
            return first.map(|Reverse(far)| far.value.0.at);
        }
        let last = (bound.as_ps() >> self.width).min(self.current + self.mask);
        let first = (self.current..last).find(|&bucket| self.has_arrivals(bucket));
        Some(Time::from_ps(first.unwrap_or(last) << self.width))
    }

    /// Whether no packet arrives in the open bucket.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_arrivals(self.current)
    }

    /// Whether packets arrive in a bucket of the ring.
    #[inline]
    fn has_arrivals(&self, bucket: u64) -> bool {
        let mut places =
            (bucket & self.mask..self.ring.len() as u64).step_by(self.mask as usize + 1);
        self.held > 0 && places.any(|place| !self.ring[place as usize].is_empty())
    }

    fn go_to(&mut self, bucket: u64) {
        self.current = bucket;
        self.untaken = 0;
        let beyond = bucket + self.mask + 1;
        while let Some(Reverse(far)) = self.far.peek()
            && far.key.0 < beyond
        {
            let Some(Reverse(far)) = self.far.pop() else {
                return;
            };
            let (arrival, destination) = far.value;
            self.put(far.key.0, arrival, destination);
        }
    }

    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    fn put(&mut self, bucket: u64, arrival: Arrival, destination: Destination) {
        let begin = match destination {
            Destination::Host => self.hosts,
            Destination::Switch => self.ports[arrival.target as usize],
        };
        debug_assert!(
            bucket > self.current || u64::from(begin) >= self.untaken as u64 * (self.mask + 1),
            "an arrival is inserted before its bucket and level are taken"
        );
        let list = &mut self.ring[begin as usize + (bucket & self.mask) as usize];
        if list.len() == list.capacity() {
            make_room(list, &mut self.spare);
        }
        list.push(arrival);
        self.held += 1;
    }

    /// Takes the arrival in parts, so that they stay in registers for arrivals that are near.
    #[cold]
    #[inline(never)]
    fn put_far(
        &mut self,
        bucket: u64,
        at: Time,
        target: u32,
        packet: u32,
        destination: Destination,
    ) {
        self.far.push(Reverse(ByKey {
            key: (bucket, self.far_pushed),
            value: (Arrival { at, target, packet }, destination),
        }));
        self.far_pushed += 1;
    }

    /// Allows all levels to be taken again, up to a later time.
    pub(crate) const fn go_on(&mut self) {
        self.untaken = 0;
    }

    /// Takes the arrivals at the ports of a level in the open bucket before `stop`; the level after
    /// the last means hosts. The previous contents of `out` are dropped and its memory is reused.
    pub(crate) fn take(
        &mut self,
        level: usize,
        stop: Time,
        packets: &Slab<Packet>,
        out: &mut Vec<Arrival>,
    ) {
        let index = level as u64 * (self.mask + 1) + (self.current & self.mask);
        self.untaken = level + 1;
        out.clear();
        let is_whole = stop >= self.end();
        let slot = (self.begin(), self.width);
        let list = &mut self.ring[index as usize];
        let cut = &mut self.cuts[level];
        let is_cut = cut.bucket == Some(self.current);
        if is_whole && !is_cut {
            let before = std::mem::replace(out, std::mem::take(list));
            if before.capacity() > 0 {
                self.spare.push(before);
            }
        } else {
            if out.capacity() == 0 {
                *out = self.spare.pop().unwrap_or_default();
            }
            if !is_cut {
                cut.bucket = Some(self.current);
                cut.taken = 0;
                cut.by_time.sort(list, slot, packets);
                list.clear();
            }
            let rest = &cut.by_time.sorted()[cut.taken..];
            let due = rest.iter().take_while(|arrival| arrival.at < stop);
            out.extend(due);
            cut.taken += out.len();
            out.extend(list.extract_if(.., |arrival| arrival.at < stop));
        }
        self.held -= out.len();
    }
}

/// Grows a full list, at first with a buffer that was used before.
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
    const IN_BUCKETS: bool = true;

    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    fn push(&mut self, arrival: Arrival, destination: Destination, _rank: Rank) {
        let bucket = arrival.at.as_ps() >> self.width;
        if bucket - self.current <= self.mask {
            self.put(bucket, arrival, destination);
        } else {
            let Arrival { at, target, packet } = arrival;
            self.put_far(bucket, at, target, packet, destination);
        }
    }
}

impl InBuckets for Buckets {
    #[inline]
    fn buckets(&self) -> &Self {
        self
    }

    #[inline]
    fn buckets_mut(&mut self) -> &mut Self {
        self
    }
}
