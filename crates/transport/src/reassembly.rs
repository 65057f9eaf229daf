//! The receiver's record of the data that has arrived: everything before one number, and ranges
//! after it.
//!
//! Gives the SACK blocks in the order of RFC 2018, section 4: the block that contains the newest
//! segment first, then those reported most recently. Duplicates may be reported in front of them
//! (RFC 2883).

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::segment::SackBlocks;
use crate::seq::{Range, Seq};

/// The most ranges that are remembered. A peer that makes more holes than this sends its data
/// again.
const MAX_RANGES: usize = 1 << 15;

/// Outcome of an arriving range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The next bytes, with no hole behind them.
    InOrder,
    /// The next bytes, while later ones are already here: a hole was filled, at least in part.
    FilledHole,
    /// Later bytes: there is a hole before them.
    OutOfOrder,
    /// Nothing new.
    Duplicate,
}

/// Data that has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Reassembly {
    /// Everything before this has arrived.
    next: Seq,
    /// Ranges that have arrived out of order. Made by the first hole, and kept from then on: most
    /// connections never see one.
    later: Option<Box<Later>>,
}

/// Ranges that have arrived after a hole.
#[derive(Clone, Debug, Default)]
struct Later {
    /// In order, disjoint, not touching each other.
    ranges: VecDeque<Range>,
    /// The ranges reported last, newest first; each is one of `ranges`.
    recent: SackBlocks,
}

impl Reassembly {
    /// Nothing has arrived before `next`.
    pub(crate) fn new(next: Seq) -> Self {
        Self { next, later: None }
    }

    /// Takes in a range, which must not reach half the sequence space beyond `next`.
    #[inline]
    pub(crate) fn insert(&mut self, range: Range) -> Arrival {
        if range.start.is_after(self.next) {
            let later = self.later.get_or_insert_default();
            return later.insert(range);
        }
        if !range.end.is_after(self.next) {
            return Arrival::Duplicate;
        }
        self.next = range.end;
        let Some(later) = self.later.as_mut().filter(|later| !later.ranges.is_empty()) else {
            return Arrival::InOrder;
        };
        self.next = later.absorb(self.next);
        Arrival::FilledHole
    }

    /// The first part of `range` that has arrived before, if any has (RFC 2883, section 4).
    pub(crate) fn first_duplicate(&self, range: Range) -> Option<Range> {
        if range.start.is_before(self.next) {
            return Some(Range::new(range.start, range.end.min(self.next)));
        }
        let mut held = self.ranges()?.iter();
        let first = held.find(|held| held.end.is_after(range.start))?;
        let (start, end) = (range.start.max(first.start), range.end.min(first.end));
        end.is_after(start).then_some(Range::new(start, end))
    }

    /// The next `len` bytes arrived, and there are no later ones.
    #[inline]
    pub(crate) fn extend(&mut self, len: u32) {
        self.next += len;
    }

    /// Whether nothing has arrived out of order.
    #[inline]
    pub(crate) fn has_no_holes(&self) -> bool {
        self.ranges().is_none_or(VecDeque::is_empty)
    }

    fn ranges(&self) -> Option<&VecDeque<Range>> {
        self.later.as_deref().map(|later| &later.ranges)
    }

    /// Everything before this has arrived.
    #[inline]
    pub(crate) const fn next(&self) -> Seq {
        self.next
    }

    /// One past the last byte that has arrived.
    #[inline]
    pub(crate) fn highest(&self) -> Seq {
        let last = self.ranges().and_then(VecDeque::back);
        last.map_or(self.next, |last| last.end)
    }

    /// The blocks to report, after `duplicate` if there is one.
    pub(crate) fn blocks(&self, duplicate: Option<Range>) -> SackBlocks {
        let recent = self.later.as_ref().map_or(SackBlocks::EMPTY, |it| it.recent);
        let Some(duplicate) = duplicate else {
            return recent;
        };
        let mut blocks = SackBlocks::default();
        blocks.push(duplicate);
        for &block in recent.as_slice() {
            blocks.push(block);
        }
        blocks
    }
}

impl Later {
    /// Everything before `next` has arrived: drops the ranges that it has reached, and answers
    /// where the last of them leads.
    #[cold]
    fn absorb(&mut self, mut next: Seq) -> Seq {
        while let Some(&first) = self.ranges.front()
            && !first.start.is_after(next)
        {
            next = next.max(first.end);
            self.ranges.pop_front();
        }
        let mut recent = SackBlocks::default();
        for &block in self.recent.as_slice() {
            if block.start.is_after(next) {
                recent.push(block);
            }
        }
        self.recent = recent;
        next
    }

    #[cold]
    fn insert(&mut self, range: Range) -> Arrival {
        if range.is_empty() {
            return Arrival::Duplicate;
        }
        // The ranges that the new one overlaps or touches.
        let from = self.ranges.partition_point(|held| held.end.is_before(range.start));
        let to = self.ranges.partition_point(|held| !held.start.is_after(range.end));
        let mut merged = range;
        let mut known = false;
        if from < to {
            let (first, last) = (self.ranges[from], self.ranges[to - 1]);
            known = from + 1 == to
                && !range.start.is_before(first.start)
                && !range.end.is_after(first.end);
            merged = Range::new(range.start.min(first.start), range.end.max(last.end));
            self.ranges[from] = merged;
            self.ranges.drain(from + 1..to);
        } else if self.ranges.len() < MAX_RANGES {
            self.ranges.insert(from, range);
        } else {
            return Arrival::Duplicate;
        }
        self.report_first(merged);
        if known { Arrival::Duplicate } else { Arrival::OutOfOrder }
    }

    /// Puts `block` in front of the recent blocks, and drops those that it has swallowed.
    fn report_first(&mut self, block: Range) {
        let mut recent = SackBlocks::default();
        recent.push(block);
        for &old in self.recent.as_slice() {
            if !block.contains(old.start) {
                recent.push(old);
            }
        }
        self.recent = recent;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use tidegate_units::Rng;

    use super::*;

    fn range(start: u32, end: u32) -> Range {
        Range::new(Seq(start), Seq(end))
    }

    fn blocks(reassembly: &Reassembly) -> Vec<(u32, u32)> {
        let blocks = reassembly.blocks(None);
        blocks.as_slice().iter().map(|b| (b.start.0, b.end.0)).collect()
    }

    #[test]
    fn blocks_are_reported_newest_first() {
        // RFC 2018, section 7, case 3: segments of 500 from 5000; the 2nd, 4th, 6th and 8th lost.
        let mut r = Reassembly::new(Seq(5000));
        assert_eq!(r.insert(range(5000, 5500)), Arrival::InOrder);
        assert_eq!(r.insert(range(6000, 6500)), Arrival::OutOfOrder);
        assert_eq!(blocks(&r), [(6000, 6500)]);
        r.insert(range(7000, 7500));
        r.insert(range(8000, 8500));
        assert_eq!(blocks(&r), [(8000, 8500), (7000, 7500), (6000, 6500)]);
        // The fourth arrives late: it joins two blocks.
        assert_eq!(r.insert(range(6500, 7000)), Arrival::OutOfOrder);
        assert_eq!(blocks(&r), [(6000, 7500), (8000, 8500)]);
        // The second arrives: the hole is filled in part.
        assert_eq!(r.insert(range(5500, 6000)), Arrival::FilledHole);
        assert_eq!((r.next(), r.highest() != r.next()), (Seq(7500), true));
        assert_eq!(blocks(&r), [(8000, 8500)]);
        assert_eq!(r.insert(range(7500, 8000)), Arrival::FilledHole);
        assert_eq!((r.next(), r.highest() != r.next()), (Seq(8500), false));
        assert_eq!(blocks(&r), []);
    }

    #[test]
    fn duplicates_are_distinguished_and_reported_in_front() {
        let mut r = Reassembly::new(Seq(100));
        r.insert(range(200, 300));
        assert_eq!(r.insert(range(210, 290)), Arrival::Duplicate);
        assert_eq!(r.insert(range(200, 300)), Arrival::Duplicate);
        assert_eq!(r.insert(range(50, 100)), Arrival::Duplicate);
        assert_eq!(r.insert(range(250, 310)), Arrival::OutOfOrder);
        let reported = r.blocks(Some(range(50, 100)));
        assert_eq!(reported.as_slice(), [range(50, 100), range(200, 310)]);
        assert_eq!(r.insert(range(400, 400)), Arrival::Duplicate, "empty ranges are nothing");
    }

    #[test]
    fn only_the_newest_four_blocks_are_reported() {
        let mut r = Reassembly::new(Seq(0));
        for i in 1..=5 {
            r.insert(range(i * 100, i * 100 + 10));
        }
        assert_eq!(blocks(&r), [(500, 510), (400, 410), (300, 310), (200, 210)]);
    }

    #[test]
    fn any_order_ends_with_everything_in_order() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed, 1);
            let base = Seq(u32::MAX - 500);
            let mut r = Reassembly::new(base);
            let mut held = [false; 1000];
            while r.next() - base < 1000 {
                let start = rng.next_u32() % 1000;
                let end = (start + 1 + rng.next_u32() % 60).min(1000);
                let fresh = held[start as usize..end as usize].iter().any(|&byte| !byte);
                held[start as usize..end as usize].fill(true);
                let arrival = r.insert(Range::new(base + start, base + end));
                assert_eq!(arrival != Arrival::Duplicate, fresh, "seed {seed}");
                check(&r);
                let first_hole = held.iter().position(|&byte| !byte).unwrap_or(1000);
                assert_eq!((r.next() - base) as usize, first_hole, "seed {seed}");
                let later = held[first_hole..].iter().filter(|&&byte| byte).count();
                let sum: u32 = r.ranges().into_iter().flatten().map(|range| range.len()).sum();
                assert_eq!(sum as usize, later, "seed {seed}");
            }
        }
    }

    /// Ranges are in order, apart from each other and from `next`; recent blocks are among them.
    fn check(r: &Reassembly) {
        let mut last = r.next;
        let Some(later) = &r.later else { return };
        for held in &later.ranges {
            assert!(held.start.is_after(last) && !held.is_empty());
            last = held.end;
        }
        for block in later.recent.as_slice() {
            assert!(later.ranges.contains(block), "{block:?} in {later:?}");
        }
    }
}
