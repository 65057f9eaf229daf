//! Devices: sources and sinks of frames.

pub mod memory;
pub mod packet_socket;
pub mod tap;

use tidegate_units::Time;

use crate::frame::TAG;

/// Most frames taken from or given to a device at once: few enough that the frames of other ports
/// do not wait long, and that they fit the 96 KB of a port by default; many enough to share a
/// system call.
pub const BURST: usize = 32;

/// Most frames taken from a device at once while others wait for their departure, which may be
/// near: some microseconds of work.
pub const SHORT_BURST: usize = 8;

/// A received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Captured bytes, from the first address on, without checksum.
    pub bytes: &'a [u8],
    /// Outermost VLAN tag, if the device removed it.
    pub tag: Option<[u8; TAG]>,
    /// Length without the tag: more than `bytes` if the device had to truncate it.
    pub len: usize,
    /// Arrival time, as known to the device.
    pub arrival: Time,
    /// Whether its sender left the TCP or UDP checksum to hardware.
    pub is_unfinished: bool,
}

/// Reason why no frame was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The interface is down or gone.
    LinkDown,
    /// The first frame was not sent: the interface, or the device behind it, has no room now, or
    /// never has room for a frame of this length. It does not say which.
    NoBuffer,
    /// The first frame can never be sent, for example because it is too long for the interface.
    Refused,
}

/// An interface.
pub trait Device {
    /// Hands over received frames, at most `most`, in order. Does not wait. Returns their number.
    fn receive(&mut self, now: Time, most: usize, take: impl FnMut(Received<'_>)) -> usize;

    /// Sends as many of the first frames as there is room for, and returns their number. Does not
    /// wait.
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, SendError>;

    /// Checks the link; called some times a second. Returns whether it is up, and has been since
    /// the last call.
    fn maintain(&mut self) -> bool {
        true
    }

    /// Received frames that could not be handed over.
    fn missed(&self) -> u64 {
        0
    }

    /// Frames received without a checksum because the sender left it to hardware.
    fn unfinished(&self) -> u64 {
        0
    }
}
