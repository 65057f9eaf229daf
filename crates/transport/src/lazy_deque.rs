//! Lists that most connections never need.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::ops::{Deref, DerefMut};

/// A list that is on the heap from its first use on, and before that takes no more room than a
/// pointer: a connection has several, and without losses all of them stay empty.
#[derive(Clone, Debug)]
#[expect(clippy::box_collection, reason = "a pointer where the list itself takes four words")]
pub(crate) struct LazyDeque<T>(Option<Box<VecDeque<T>>>);

impl<T: 'static> LazyDeque<T> {
    const EMPTY: &'static VecDeque<T> = &VecDeque::new();

    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// Empties the list.
    pub(crate) fn clear(&mut self) {
        if let Some(list) = &mut self.0 {
            list.clear();
        }
    }
}

impl<T: 'static> Deref for LazyDeque<T> {
    type Target = VecDeque<T>;

    #[inline]
    fn deref(&self) -> &VecDeque<T> {
        self.0.as_deref().unwrap_or(Self::EMPTY)
    }
}

/// Adding to it makes the list.
impl<T: 'static> DerefMut for LazyDeque<T> {
    fn deref_mut(&mut self) -> &mut VecDeque<T> {
        self.0.get_or_insert_default()
    }
}
