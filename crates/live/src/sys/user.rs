//! Users by name.

use std::ffi::CString;
use std::io;
use std::ptr;

use libc::{c_char, passwd};

/// User and group number of a user, or `None` if none has the name.
pub(crate) fn find(name: &str) -> io::Result<Option<(u32, u32)>> {
    let name = CString::new(name)?;
    // SAFETY: a struct of integers and pointers, for which zeroes are valid.
    let mut entry: passwd = unsafe { std::mem::zeroed() };
    let mut text = vec![0 as c_char; 1 << 14];
    let mut found: *mut passwd = ptr::null_mut();
    // SAFETY: a name that ends in zero, a place for the entry, room for its texts of the length
    // given, and a place for a pointer, which all outlive the call.
    let error = unsafe {
        libc::getpwnam_r(
            name.as_ptr(),
            &raw mut entry,
            text.as_mut_ptr(),
            text.len(),
            &raw mut found,
        )
    };
    match error {
        // Result of some systems where others return nothing.
        0 | libc::ENOENT | libc::ESRCH => {}
        error => return Err(io::Error::from_raw_os_error(error)),
    }
    Ok((!found.is_null()).then_some((entry.pw_uid, entry.pw_gid)))
}

/// User and group number of this process.
pub(crate) fn current() -> (u32, u32) {
    // SAFETY: no pointers, and neither can fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}
