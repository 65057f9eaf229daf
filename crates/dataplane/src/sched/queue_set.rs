//! A set of queues: one bit each.

use tidegate_units::QueueId;

/// A set of queues of one port.
///
/// Two words instead of a `u128`, which would align every scheduler to 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSet([u64; 2]);

impl QueueSet {
    /// The first `count` queues.
    #[inline]
    pub const fn first_queues(count: u8) -> Self {
        let [low, high] = ones_from(count);
        Self([!low, !high])
    }

    /// Adds a queue.
    #[inline]
    pub fn insert(&mut self, queue: QueueId) {
        self.0[word(queue)] |= bit(queue);
    }

    #[inline]
    pub(super) fn remove(&mut self, queue: QueueId) {
        self.0[word(queue)] &= !bit(queue);
    }

    /// Whether the set contains a queue.
    #[inline]
    pub const fn contains(self, queue: QueueId) -> bool {
        self.0[word(queue)] & bit(queue) != 0
    }

    /// The queues of this set that are not in the other.
    #[inline]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self([self.0[0] & !other.0[0], self.0[1] & !other.0[1]])
    }

    /// Whether the set is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0[0] | self.0[1] == 0
    }

    /// The lowest queue of the set.
    #[inline]
    pub(super) const fn first(self) -> Option<QueueId> {
        let [low, high] = self.0;
        if low != 0 {
            Some(QueueId(low.trailing_zeros() as u8))
        } else if high != 0 {
            Some(QueueId(64 + high.trailing_zeros() as u8))
        } else {
            None
        }
    }

    /// The highest queue of the set.
    #[inline]
    pub(super) const fn last(self) -> Option<QueueId> {
        let [low, high] = self.0;
        if high != 0 {
            Some(QueueId(127 - high.leading_zeros() as u8))
        } else if low != 0 {
            Some(QueueId(63 - low.leading_zeros() as u8))
        } else {
            None
        }
    }

    /// The only queue in the set, if it is one of the first 64. Finds the usual single group of
    /// queues without a search.
    #[inline]
    pub(super) const fn only(self) -> Option<QueueId> {
        let [low, high] = self.0;
        if high == 0 && low.is_power_of_two() {
            Some(QueueId(low.trailing_zeros() as u8))
        } else {
            None
        }
    }

    /// The part of the set above `queue`.
    #[inline]
    pub(super) const fn above(self, queue: QueueId) -> Self {
        let [low, high] = self.0;
        // Two shifts, because a shift by 64 bits would shift by none.
        let rest = (!0 << (queue.0 & 63)) << 1;
        if queue.0 < 64 { Self([low & rest, high]) } else { Self([0, high & rest]) }
    }

    /// The part of the set from `first` up to `end`, which is not in it. Both are at most 128.
    #[inline]
    pub(super) const fn within(self, first: u8, end: u8) -> Self {
        let ([low, high], from, to) = (self.0, ones_from(first), ones_from(end));
        Self([low & from[0] & !to[0], high & from[1] & !to[1]])
    }

    /// The lowest queue from `first` up to `end` that is not in the set.
    #[inline]
    pub(super) const fn first_gap(self, first: u8, end: u8) -> Option<QueueId> {
        let [low, high] = self.0;
        Self([!low, !high]).within(first, end).first()
    }

    /// Number of queues in the set.
    pub(super) const fn len(self) -> u8 {
        (self.0[0].count_ones() + self.0[1].count_ones()) as u8
    }

    /// Removes and returns the lowest queue.
    #[inline]
    pub(super) fn pop_first(&mut self) -> Option<QueueId> {
        let queue = self.first()?;
        let word = &mut self.0[word(queue)];
        *word &= *word - 1;
        Some(queue)
    }
}

#[inline]
const fn word(queue: QueueId) -> usize {
    (queue.0 >> 6) as usize & 1
}

#[inline]
const fn bit(queue: QueueId) -> u64 {
    1 << (queue.0 & 63)
}

/// The bits of all queues from this one on.
#[inline]
const fn ones_from(queue: u8) -> [u64; 2] {
    match queue {
        0..64 => [!0 << queue, !0],
        64..128 => [0, !0 << (queue - 64)],
        _ => [0, 0],
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn set(queues: &[u8]) -> QueueSet {
        let mut set = QueueSet::default();
        for &queue in queues {
            set.insert(QueueId(queue));
        }
        set
    }

    #[test]
    fn both_words_hold_their_queues() {
        let mut all = set(&[0, 63, 64, 127]);
        let mut rest = all;
        let taken = core::iter::from_fn(|| rest.pop_first());
        assert_eq!(taken.map(|q| q.0).collect::<Vec<_>>(), [0, 63, 64, 127]);
        for (first, last) in [(0, 127), (63, 127), (64, 127), (127, 127)] {
            assert!(!all.is_empty());
            assert_eq!(all.first(), Some(QueueId(first)));
            assert_eq!(all.last(), Some(QueueId(last)));
            all.remove(QueueId(first));
        }
        assert!(all.is_empty());
        assert_eq!((all.first(), all.last()), (None, None));
        assert_eq!(set(&[3, 63]).last(), Some(QueueId(63)));
        assert_eq!(set(&[64, 70]).first(), Some(QueueId(64)));
    }

    #[test]
    fn the_only_queue_is_found_in_the_first_word() {
        for (queues, only) in [
            (&[][..], None),
            (&[0], Some(0)),
            (&[63], Some(63)),
            (&[64], None),
            (&[3, 4], None),
            (&[3, 70], None),
        ] {
            assert_eq!(set(queues).only(), only.map(QueueId), "{queues:?}");
        }
    }

    #[test]
    fn sets_are_compared_queue_by_queue() {
        assert_eq!(QueueSet::first_queues(0), set(&[]));
        assert_eq!(QueueSet::first_queues(3), set(&[0, 1, 2]));
        assert_eq!(QueueSet::first_queues(65).len(), 65);
        assert_eq!(QueueSet::first_queues(128).len(), 128);
        let some = set(&[0, 63, 64, 127]);
        assert_eq!(some.without(set(&[0, 1, 127])), set(&[63, 64]));
        assert!(some.contains(QueueId(64)) && !some.contains(QueueId(65)));
    }

    #[test]
    fn above_leaves_out_the_queue_itself() {
        let all = set(&[0, 5, 63, 64, 127]);
        for (queue, rest) in [
            (0, &[5, 63, 64, 127][..]),
            (4, &[5, 63, 64, 127]),
            (5, &[63, 64, 127]),
            (62, &[63, 64, 127]),
            (63, &[64, 127]),
            (64, &[127]),
            (126, &[127]),
            (127, &[]),
        ] {
            assert_eq!(all.above(QueueId(queue)), set(rest), "{queue}");
        }
    }

    #[test]
    fn a_range_includes_its_first_and_excludes_its_end() {
        let all = set(&[0, 5, 63, 64, 127]);
        for (first, end, part) in [
            (0, 128, &[0, 5, 63, 64, 127][..]),
            (0, 0, &[]),
            (0, 5, &[0]),
            (5, 6, &[5]),
            (6, 63, &[]),
            (6, 64, &[63]),
            (63, 65, &[63, 64]),
            (64, 127, &[64]),
            (65, 128, &[127]),
            (128, 128, &[]),
        ] {
            assert_eq!(all.within(first, end), set(part), "{first} {end}");
            assert_eq!(all.within(first, end).len(), part.len() as u8);
        }
    }

    #[test]
    fn a_gap_is_the_first_queue_missing_from_the_set() {
        let all = set(&[0, 1, 5, 63, 64, 127]);
        let gaps = [(0, 128), (5, 128), (63, 128), (63, 65), (127, 128), (0, 2), (1, 3)]
            .map(|(first, end)| all.first_gap(first, end).map(|queue| queue.0));
        assert_eq!(gaps, [Some(2), Some(6), Some(65), None, None, None, Some(2)]);
    }
}
