//! System calls of Linux that the standard library lacks, each as a safe function.
//!
//! All unsafe code of the crate is in this module. The standard library has no packet sockets, no
//! memory maps, no way to poll several descriptors, and no network namespaces.
#![expect(unsafe_code, reason = "system calls take pointers; all unsafe code is in this module")]

pub(crate) mod filter;
pub(crate) mod interface;
pub(crate) mod namespace;
pub(crate) mod packet;
pub(crate) mod process;
pub(crate) mod ring;
pub(crate) mod socket;
pub(crate) mod tap;
pub(crate) mod user;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;

use libc::{c_int, c_void};
use tidegate_units::Span;

/// Waits until one of the descriptors is readable, or for at most `timeout`. Returns early on a
/// signal.
pub(crate) fn wait_readable(descriptors: &[RawFd], timeout: Span) -> io::Result<()> {
    let mut polled = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; MAX_POLLED];
    for (polled, &fd) in polled.iter_mut().zip(descriptors) {
        polled.fd = fd;
    }
    let count = descriptors.len().min(MAX_POLLED);
    let nanoseconds = timeout.as_ns();
    let timeout = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000).cast_signed(),
        tv_nsec: (nanoseconds % 1_000_000_000).cast_signed(),
    };
    // SAFETY: the array has `count` entries and lives until the call returns; no signal mask is
    // given. Closed descriptors are reported, not touched.
    let result = unsafe {
        libc::ppoll(polled.as_mut_ptr(), count as libc::nfds_t, &raw const timeout, ptr::null())
    };
    match check(result) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        other => other.map(drop),
    }
}

/// Most ports of a switch.
const MAX_POLLED: usize = 256;

/// Turns the result of a system call into an error if it is one.
fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sets an option of a socket.
fn set_option<T: Plain>(socket: BorrowedFd, level: c_int, name: c_int, value: T) -> io::Result<()> {
    // SAFETY: the value is a plain one of the length given, which the kernel copies.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast::<c_void>(),
            size_of::<T>() as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Reads an option of a socket.
fn option<T: Plain>(socket: BorrowedFd, level: c_int, name: c_int, mut value: T) -> io::Result<T> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into a value for which any bytes are valid.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw mut value).cast::<c_void>(),
            &raw mut len,
        )
    })?;
    Ok(value)
}

/// Values that the kernel may read from and write to: integers and structs of integers.
///
/// # Safety
///
/// Any bytes are a value of the type, and it holds no pointers.
unsafe trait Plain: Copy {}

// SAFETY: an integer.
unsafe impl Plain for c_int {}
// SAFETY: integers.
unsafe impl Plain for libc::packet_mreq {}
// SAFETY: integers.
unsafe impl Plain for libc::tcp_info {}
// SAFETY: integers.
unsafe impl Plain for libc::tpacket_req {}
// SAFETY: integers.
unsafe impl Plain for libc::tpacket_stats {}
