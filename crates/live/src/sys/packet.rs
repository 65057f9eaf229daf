//! Packet sockets: all frames of an interface, in and out.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{c_int, c_uint, sockaddr_ll};

use super::ring::Ring;
use super::{check, option, set_option};
use crate::device::BURST;

/// Result of sending some frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The interface is down or gone.
    Down,
    /// The first frame was dropped by the interface, which has no room for it, or by the device
    /// behind it.
    NoBuffer,
    /// The first frame can never be sent.
    Refused,
    /// This number of frames was accepted; the rest may be tried again.
    Taken(usize),
}

/// Creates a socket that is not yet bound and receives nothing. Needs `CAP_NET_RAW`.
pub(crate) fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers; a returned descriptor has no other owner.
    unsafe {
        let fd = check(libc::socket(libc::AF_PACKET, kind, 0))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Prepares a socket for forwarding: a ring for `frames` received frames of at most `frame_size`
/// bytes, no frames that it sends itself, and no output queue of the kernel.
pub(crate) fn prepare(socket: BorrowedFd, frames: u32, frame_size: u32) -> io::Result<Ring> {
    let version = libc::tpacket_versions::TPACKET_V2 as c_int;
    set_option(socket, libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
    let ring = Ring::new(socket, frames, frame_size)?;
    for name in [libc::PACKET_IGNORE_OUTGOING, libc::PACKET_QDISC_BYPASS] {
        set_option::<c_int>(socket, libc::SOL_PACKET, name, 1)?;
    }
    Ok(ring)
}

/// Binds a socket to all frames of an interface, for any destination.
pub(crate) fn bind(socket: BorrowedFd, index: c_int) -> io::Result<()> {
    // SAFETY: a struct of integers, for which zeroes are valid.
    let mut address: sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    // SAFETY: an address of the length given, which the kernel copies.
    check(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<sockaddr_ll>() as libc::socklen_t,
        )
    })?;
    let membership = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    let name = libc::PACKET_ADD_MEMBERSHIP;
    set_option(socket, libc::SOL_PACKET, name, membership)
}

/// Number of frames for which the ring had no room since the last call.
pub(crate) fn missed(socket: BorrowedFd) -> u32 {
    let none = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let name = libc::PACKET_STATISTICS;
    option(socket, libc::SOL_PACKET, name, none).map_or(0, |stats| stats.tp_drops)
}

/// Whether the interface went down since the last call. This leaves an error behind, which is
/// cleared here: otherwise the next call would report it, and until then polling would return at
/// once.
pub(crate) fn went_down(socket: BorrowedFd) -> bool {
    let error = option::<c_int>(socket, libc::SOL_SOCKET, libc::SO_ERROR, 0);
    error.is_ok_and(|error| error == libc::ENETDOWN)
}

/// Sends frames, at most a burst, without waiting.
pub(crate) fn send(socket: &OwnedFd, frames: &[&[u8]]) -> Outcome {
    let mut vectors = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; BURST];
    // SAFETY: structs of integers and pointers, for which zeroes are valid.
    let mut messages: [libc::mmsghdr; BURST] = unsafe { std::mem::zeroed() };
    let count = frames.len().min(BURST);
    for ((vector, message), frame) in vectors.iter_mut().zip(&mut messages).zip(frames) {
        vector.iov_base = frame.as_ptr().cast_mut().cast();
        vector.iov_len = frame.len();
        message.msg_hdr.msg_iov = vector;
        message.msg_hdr.msg_iovlen = 1;
    }
    // By number, because the function of musl's C library makes an additional call for each frame.
    // SAFETY: the first `count` messages each have one vector, of a frame that outlives the call;
    // the kernel reads the frames and writes only into `messages`.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sendmmsg,
            socket.as_fd().as_raw_fd(),
            messages.as_mut_ptr(),
            count as c_uint,
            libc::MSG_DONTWAIT as c_uint,
        )
    };
    // A number of frames, or -1.
    match check(result as c_int) {
        Ok(taken) => Outcome::Taken(taken.unsigned_abs() as usize),
        Err(error) => match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR | libc::ENOMEM) => Outcome::Taken(0),
            // A full ring, but also any frame that a veth pair did not deliver, such as a frame
            // longer than the other end accepts.
            Some(libc::ENOBUFS) => Outcome::NoBuffer,
            Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO) => Outcome::Down,
            _ => Outcome::Refused,
        },
    }
}
