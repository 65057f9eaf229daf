//! The ring of received frames that a packet socket shares with the kernel (`TPACKET_V2`).
//!
//! The first word of each frame's header names its owner. The kernel fills the frames in order and
//! hands each over by writing that word last; frames are returned in the same way.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_void, tpacket_req, tpacket2_hdr};

use super::set_option;
use crate::frame::TAG;

/// A ring.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: NonNull<u8>,
    len: usize,
    frame_size: usize,
    frames: usize,
    next: usize,
}

/// A received frame in a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InRing<'a> {
    /// Bytes of the frame in the ring.
    pub bytes: &'a [u8],
    /// Original length.
    pub len: usize,
    /// VLAN tag that the kernel removed.
    pub tag: Option<[u8; TAG]>,
    /// Arrival time, in nanoseconds since 1970.
    pub stamp: u64,
    /// Whether the checksum was left to hardware.
    pub is_unfinished: bool,
}

// SAFETY: the ring owns its memory; only the kernel shares it.
unsafe impl Send for Ring {}

/// Bytes of a ring that a frame of at most `frame_size` bytes takes.
pub(crate) fn slot(frame_size: u32) -> u32 {
    let needed = frame_size.saturating_add(OVERHEAD);
    needed.checked_next_power_of_two().unwrap_or(1 << 31)
}

impl Ring {
    /// Creates a ring for at least `frames` frames of at most `frame_size` bytes.
    pub(super) fn new(socket: BorrowedFd, frames: u32, frame_size: u32) -> io::Result<Self> {
        let frame_size = slot(frame_size);
        let block_size = frame_size.max(BLOCK);
        let blocks = frames.div_ceil(block_size / frame_size).max(1);
        let frames = blocks * (block_size / frame_size);
        let request = tpacket_req {
            tp_block_size: block_size,
            tp_block_nr: blocks,
            tp_frame_size: frame_size,
            tp_frame_nr: frames,
        };
        set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let len = block_size as usize * blocks as usize;
        // SAFETY: a new mapping at an address chosen by the kernel; `len` is the length of the
        // ring.
        let memory = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        let memory = NonNull::new(memory.cast::<u8>()).filter(|_| memory != libc::MAP_FAILED);
        Ok(Self {
            memory: memory.ok_or_else(io::Error::last_os_error)?,
            len,
            frame_size: frame_size as usize,
            frames: frames as usize,
            next: 0,
        })
    }

    /// Passes the next frame to `take`, if there is one, and returns it to the kernel. Returns
    /// whether there was one.
    #[inline]
    pub(crate) fn take(&mut self, take: impl FnOnce(InRing<'_>)) -> bool {
        // SAFETY: the ring has `frames` frames of `frame_size` bytes, and `next` is below that.
        let frame = unsafe { self.memory.add(self.next * self.frame_size) };
        // SAFETY: each frame begins with a word of status, aligned to 16 bytes, which both sides
        // access atomically and only so.
        let status = unsafe { AtomicU32::from_ptr(frame.cast().as_ptr()) };
        let flags = status.load(Ordering::Acquire);
        if flags & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: with this status the kernel writes nothing into the frame; its header was written
        // before the status, which was read first. Any bytes are a valid header.
        let header = unsafe { frame.cast::<tpacket2_hdr>().read() };
        // For any header, the bytes stay within the frame.
        let start = usize::from(header.tp_mac).min(self.frame_size);
        let len = (header.tp_snaplen as usize).min(self.frame_size - start);
        // SAFETY: within the frame, which is ours until the status is written below.
        let bytes = unsafe { slice::from_raw_parts(frame.add(start).as_ptr(), len) };
        let tag = (flags & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
            let is_given = flags & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let kind = if is_given { header.tp_vlan_tpid } else { 0x8100 };
            let ([a, b], [c, d]) = (kind.to_be_bytes(), header.tp_vlan_tci.to_be_bytes());
            [a, b, c, d]
        });
        take(InRing {
            bytes,
            len: header.tp_len as usize,
            tag,
            stamp: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            is_unfinished: flags & libc::TP_STATUS_CSUMNOTREADY != 0,
        });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next += 1;
        if self.next == self.frames {
            self.next = 0;
        }
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this mapping was created by `new`, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast::<c_void>(), self.len) };
    }
}

/// Largest number of bytes that the kernel puts before a frame: header, address and alignment.
const OVERHEAD: u32 = 80;
const BLOCK: u32 = 1 << 16;
