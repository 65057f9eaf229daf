//! A value ordered by its key alone, for heaps.

use std::cmp::Ordering;

/// A value with the key that orders it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByKey<K, T> {
    pub(crate) key: K,
    pub(crate) value: T,
}

impl<K: Ord, T> PartialEq for ByKey<K, T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<K: Ord, T> Eq for ByKey<K, T> {}

impl<K: Ord, T> PartialOrd for ByKey<K, T> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, T> Ord for ByKey<K, T> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}
