//! The pure crates in a world without std.
#![no_std]

use core::alloc::{GlobalAlloc, Layout};

use tidegate_dataplane as _;
use tidegate_transport as _;
use tidegate_units as _;

/// The crates need an allocator to link; nothing here runs.
struct Nothing;

// SAFETY: a null pointer is how an allocator says that it has no memory.
unsafe impl GlobalAlloc for Nothing {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static NOTHING: Nothing = Nothing;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
