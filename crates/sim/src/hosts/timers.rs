//! Timers of the hosts, in order of time.
//!
//! Hosts that pace set a timer for every packet, most of them little more than a packet ahead. A
//! heap would order all of them again and again. Here a timer waits in the list of its slot of
//! time, unordered, and is sorted with the few others of that slot when the slot is the next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidegate_units::Time;

use crate::packet::EndId;

/// Target of a timer: an end × 2, plus 1 for the application at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wake(u64);

impl Wake {
    pub(super) const fn transport(end: EndId) -> Self {
        Self((end.0 as u64) << 1)
    }

    pub(super) const fn application(end: EndId) -> Self {
        Self((end.0 as u64) << 1 | 1)
    }

    pub(super) const fn end(self) -> EndId {
        EndId((self.0 >> 1) as u32)
    }

    pub(super) const fn is_application(self) -> bool {
        self.0 & 1 == 1
    }
}

/// A wake with its time, in one number: the order of times, then of targets, in one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Timer(u128);

impl Timer {
    const fn new(at: Time, wake: Wake) -> Self {
        Self((at.as_ps() as u128) << 64 | wake.0 as u128)
    }

    const fn at(self) -> Time {
        Time::from_ps((self.0 >> 64) as u64)
    }

    const fn wake(self) -> Wake {
        // The lower half.
        Wake(self.0 as u64)
    }
}

/// All timers. Targets of one moment expire in their order.
#[derive(Debug)]
pub(super) struct Timers {
    /// Length of a slot, as a power of two in picoseconds.
    width: u32,
    /// Slot of the timer that expired last: none is added before it.
    now: u64,
    /// Timers of the first slot that has any, the latest first; empty until it is asked for.
    near: Vec<Timer>,
    near_slot: u64,
    /// Timers of the slots from `now` on, by the lower bits of their number.
    ring: Box<[Vec<Timer>]>,
    /// Whether a list of the ring has timers, one bit each.
    occupied: [u64; SLOTS / 64],
    /// Timers beyond the ring.
    far: BinaryHeap<Reverse<Timer>>,
}

/// Slots in the ring: 16 buckets of time.
const SLOTS: usize = 1 << 9;

/// Slots in a bucket, as a power of two: a slot is shorter than a packet takes.
const SLOTS_PER_BUCKET: u32 = 5;

impl Timers {
    /// No timers, in a run with buckets of 2^`width` picoseconds.
    pub(super) fn new(width: u32) -> Self {
        Self {
            width: width.saturating_sub(SLOTS_PER_BUCKET),
            now: 0,
            near: Vec::new(),
            near_slot: 0,
            ring: (0..SLOTS).map(|_| Vec::new()).collect(),
            occupied: [0; SLOTS / 64],
            far: BinaryHeap::new(),
        }
    }

    /// Adds a timer, no earlier than the last one that expired.
    #[inline]
    pub(super) fn add(&mut self, at: Time, wake: Wake) {
        let (timer, slot) = (Timer::new(at, wake), self.slot(at));
        if !self.near.is_empty() {
            if slot == self.near_slot {
                let place = self.near.partition_point(|other| *other > timer);
                self.near.insert(place, timer);
                return;
            }
            if slot < self.near_slot {
                self.put_near_back();
            }
        }
        self.put(timer, slot);
    }

    /// Time of the first timer; [`Time::MAX`] if there is none.
    #[inline]
    pub(super) fn next_at(&mut self) -> Time {
        if self.near.is_empty() {
            self.find_near();
        }
        self.near.last().map_or(Time::MAX, |timer| timer.at())
    }

    /// Takes the first timer, if it has expired.
    #[inline]
    pub(super) fn next(&mut self, now: Time) -> Option<Wake> {
        if self.next_at() > now {
            return None;
        }
        let timer = self.near.pop()?;
        self.now = self.near_slot;
        Some(timer.wake())
    }

    #[inline]
    const fn slot(&self, at: Time) -> u64 {
        at.as_ps() >> self.width
    }

    /// Puts a timer into the list of its slot.
    #[inline]
    fn put(&mut self, timer: Timer, slot: u64) {
        debug_assert!(slot >= self.now, "no timer is set in the past");
        if slot - self.now < SLOTS as u64 {
            let place = slot as usize % SLOTS;
            self.occupied[place / 64] |= 1 << (place % 64);
            self.ring[place].push(timer);
        } else {
            self.far.push(Reverse(timer));
        }
    }

    fn put_near_back(&mut self) {
        while let Some(timer) = self.near.pop() {
            self.put(timer, self.near_slot);
        }
    }

    /// Takes the timers of the first slot that has any, in order.
    #[inline(never)]
    fn find_near(&mut self) {
        let in_ring = self.first_occupied();
        let beyond = self.far.peek().map(|&Reverse(timer)| self.slot(timer.at()));
        let Some(slot) = in_ring.into_iter().chain(beyond).min() else {
            return;
        };
        self.near_slot = slot;
        if in_ring == Some(slot) {
            let place = slot as usize % SLOTS;
            self.occupied[place / 64] &= !(1 << (place % 64));
            // Both keep their memory.
            self.near.append(&mut self.ring[place]);
        }
        while let Some(&Reverse(timer)) = self.far.peek()
            && self.slot(timer.at()) == slot
        {
            self.near.push(timer);
            self.far.pop();
        }
        if self.near.len() > 1 {
            self.near.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// The first slot whose list in the ring has timers.
    fn first_occupied(&self) -> Option<u64> {
        let begin = self.now as usize % SLOTS;
        // The word of the first slot comes again at the end, for the slots before it.
        for step in 0..=SLOTS / 64 {
            let word = (begin / 64 + step) % (SLOTS / 64);
            let passed = if step == 0 { !0 << (begin % 64) } else { !0 };
            let bits = self.occupied[word] & passed;
            if bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                return Some(self.now + ((place + SLOTS - begin) % SLOTS) as u64);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::{Rng, Span};

    use super::*;

    /// The simplest table with the same order.
    #[derive(Default)]
    struct Model(BinaryHeap<Reverse<(Time, u64)>>);

    #[test]
    fn timers_expire_in_order_of_time_and_then_of_targets() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed, 0);
            let mut below = |count: u64| rng.next_u64() % count;
            let width = [0, 6, 17, 24][below(4) as usize];
            let (mut timers, mut model) = (Timers::new(width), Model::default());
            let mut now = Time::ZERO;
            let mut expired = 0;
            for step in 0..20_000_u32 {
                // Between them: the same moment, a packet, a bucket, and beyond the ring.
                let reach = [0, width.saturating_sub(4), width, width + 3, width + 8];
                let reach = reach[below(5) as usize];
                let at = now + Span::from_ps(below(1 << reach));
                let target = below(8);
                if below(5) < 3 && model.0.len() < 300 {
                    timers.add(at, Wake(target));
                    model.0.push(Reverse((at, target)));
                } else if let Some(&Reverse((next, target))) = model.0.peek() {
                    assert_eq!(timers.next_at(), next, "seed {seed}, step {step}");
                    if next > now {
                        assert_eq!(timers.next(now), None);
                        now = if step % 3 == 0 { next + (at - now) } else { next };
                    }
                    assert_eq!(timers.next(now), Some(Wake(target)), "seed {seed}, step {step}");
                    model.0.pop();
                    expired += 1;
                } else {
                    assert_eq!((timers.next_at(), timers.next(Time::MAX)), (Time::MAX, None));
                }
            }
            assert!(expired > 5_000, "{expired}");
        }
    }

    #[test]
    fn a_timer_at_the_end_of_time_never_comes_before_others() {
        let mut timers = Timers::new(24);
        timers.add(Time::MAX, Wake(1));
        timers.add(Time::from_us(3), Wake(2));
        timers.add(Time::from_us(1), Wake(3));
        let next = |timers: &mut Timers| timers.next(Time::MAX).map(|wake| wake.0);
        assert_eq!([next(&mut timers), next(&mut timers)], [Some(3), Some(2)]);
        assert_eq!([next(&mut timers), next(&mut timers)], [Some(1), None]);
    }
}
