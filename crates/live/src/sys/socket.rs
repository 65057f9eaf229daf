//! The kernel's state of a socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::c_void;

use super::{check, option};

/// Number of segments that the kernel has retransmitted on a TCP connection.
pub(crate) fn retransmissions(socket: BorrowedFd) -> u32 {
    // SAFETY: a struct of integers, for which zeroes are valid.
    let zero: libc::tcp_info = unsafe { std::mem::zeroed() };
    let info = option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, zero);
    info.map_or(0, |info| info.tcpi_total_retrans)
}

/// Arrival time of the packet that was read last, in nanoseconds since 1970. The first call fails:
/// it makes the kernel start recording.
pub(crate) fn arrival(socket: BorrowedFd) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let to: *mut libc::timespec = &raw mut time;
    // SAFETY: this request writes a time to a valid place.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSTAMPNS, to.cast::<c_void>()) })?;
    let seconds = time.tv_sec.cast_unsigned();
    Ok(seconds.saturating_mul(1_000_000_000) + time.tv_nsec.cast_unsigned())
}

const SIOCGSTAMPNS: libc::Ioctl = 0x8907;
