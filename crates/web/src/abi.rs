//! Functions that a browser calls: allocate a request, answer it, free the answer. All unsafe code
//! is here.
//!
//! A request is UTF-8 text in a block from [`tidegate_allocate`]. [`tidegate_answer`] takes the
//! block and returns another one, whose first eight bytes are the length of the rest. Return that
//! one to [`tidegate_free`].

#![expect(
    unsafe_code,
    reason = "memory that a script fills and reads has no owner that the compiler knows"
)]

use std::panic;
use std::ptr;

use tidegate_sim::run::Status;

// Functions of the page.
#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Reports the simulated microseconds and the finished flows of a run. Zero asks it to stop.
    fn report(now: f64, finished: u32) -> u32;

    /// Reports the reason of a panic.
    fn fault(text: *const u8, length: usize);
}

/// Allocates a block.
#[unsafe(no_mangle)]
extern "C" fn tidegate_allocate(length: usize) -> *mut u8 {
    Box::leak(vec![0; length].into_boxed_slice()).as_mut_ptr()
}

/// Frees a block.
///
/// # Safety
///
/// The block has this length, was allocated here, and is not used any more.
#[unsafe(no_mangle)]
unsafe extern "C" fn tidegate_free(block: *mut u8, length: usize) {
    // SAFETY: by contract it is the whole of a leaked boxed slice.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(block, length)) });
}

/// Answers a request.
///
/// # Safety
///
/// The block has this length, was allocated by [`tidegate_allocate`], and is not used any more.
#[unsafe(no_mangle)]
unsafe extern "C" fn tidegate_answer(request: *mut u8, length: usize) -> *mut u8 {
    panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        // SAFETY: the text lives until the call returns.
        unsafe { fault(text.as_ptr(), text.len()) };
    }));
    // SAFETY: by contract it is the whole of a leaked boxed slice.
    let request = unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(request, length)) };
    let mut goes_on = |status: Status| {
        let now = tidegate_sim::observe::statistics::real(status.now.as_ps()) / 1e6;
        // SAFETY: the arguments and the result are numbers.
        unsafe { report(now, status.finished) != 0 }
    };
    let answer = crate::answer(&String::from_utf8_lossy(&request), &mut goes_on);
    let mut block = (answer.len() as u64).to_le_bytes().to_vec();
    block.extend_from_slice(&answer);
    Box::leak(block.into_boxed_slice()).as_mut_ptr()
}
