//! The system's allocator with a counter.
//!
//! ```
//! use tidegate_harness::allocation::{self, Counting};
//!
//! #[global_allocator]
//! static COUNTING: Counting = Counting;
//!
//! let before = allocation::count();
//! drop(Box::new(1));
//! assert_eq!(allocation::count() - before, 1);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the allocations and the bytes of each thread, because the test runner allocates too.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// Most bytes that this thread holds at once during `work`, in addition to those before. Growing
/// lists count twice while they are copied.
pub fn most_bytes<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    MOST.set(before);
    let made = work();
    (made, MOST.get() - before)
}

/// Number of allocations of this thread, if [`Counting`] is the program's allocator.
pub fn count() -> u64 {
    ALLOCATIONS.get()
}

#[expect(unsafe_code, reason = "an allocator needs unsafe code")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        HELD.set(HELD.get().saturating_add(layout.size()));
        MOST.set(MOST.get().max(HELD.get()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // Another thread may have allocated it.
        HELD.set(HELD.get().saturating_sub(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
