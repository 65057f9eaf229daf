//! A table of values with reused slots: the last one freed is the first one taken.

use std::ops::{Index, IndexMut};

/// Values by number. The table grows and never shrinks.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }

    /// Stores a value and returns its number.
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> u32
    where
        T: Default,
    {
        let slot = self.claim();
        self.values[slot as usize] = value;
        slot
    }

    /// Claims a slot whose value is not yet set.
    #[inline]
    pub(crate) fn claim(&mut self) -> u32
    where
        T: Default,
    {
        loop {
            if let Some(slot) = self.free.pop() {
                return slot;
            }
            self.grow();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self)
    where
        T: Default,
    {
        let slot = u32::try_from(self.values.len()).expect("fewer than 2^32 packets are in flight");
        if self.values.len() == self.values.capacity() {
            // Grows by a quarter, because unused slots take memory too.
            let more = (self.values.len() / 4).max(64);
            self.values.reserve_exact(more);
            // Reserves space for the case that all slots are free, so that freeing never allocates.
            let all = self.values.capacity() - self.free.len();
            self.free.reserve_exact(all);
        }
        self.values.push(T::default());
        self.free.push(slot);
    }

    /// Removes and returns a value; its number becomes free.
    #[inline]
    pub(crate) fn take(&mut self, slot: u32) -> T {
        self.free(slot);
        self.values[slot as usize]
    }

    /// Frees a number.
    #[inline]
    pub(crate) fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, slot: u32) -> &T {
        &self.values[slot as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.values[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_reused() {
        let mut slab = Slab::new();
        assert_eq!([slab.insert('a'), slab.insert('b')], [0, 1]);
        assert_eq!(slab.take(0), 'a');
        assert_eq!((slab.insert('c'), slab.insert('d')), (0, 2));
        assert_eq!([slab.take(1), slab.take(0), slab.take(2)], ['b', 'c', 'd']);
    }
}
