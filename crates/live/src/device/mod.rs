//! Where frames come from and go to.

pub mod memory;
pub mod packet_socket;
pub mod tap;

use tidegate_units::Time;

use crate::frame::TAG;

/// The most frames that are taken from or given to a device at once: few enough that the frames of
/// another port do not wait long, and that those of one port fit into the 96 KB that a port has by
/// default; many enough that a system call is shared.
pub const BURST: usize = 32;

/// The most frames that are taken from a device at once while others wait for their time to leave,
/// which may be near: some microseconds of work.
pub const SHORT_BURST: usize = 8;

/// A frame that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// What is there of it, from the first address on, without checksum.
    pub bytes: &'a [u8],
    /// The outermost VLAN tag, if the device took it out.
    pub tag: Option<[u8; TAG]>,
    /// How long it is without the tag: more than `bytes` if the device had to cut it.
    pub len: usize,
    /// When it came in, as far as the device knows.
    pub arrival: Time,
    /// Whether its sender left the checksum of TCP or UDP to hardware.
    pub is_unfinished: bool,
}

/// Why no frame was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// None can be: the interface is down or gone.
    LinkDown,
    /// The first of them was not: the interface, or what is behind it, has no room now, or never
    /// has for a frame of this length. It does not say which.
    NoBuffer,
    /// The first of them never can be, such as one that is too long for the interface.
    Refused,
}

/// An interface.
pub trait Device {
    /// Hands over what has come in, at most `most` frames, in order. Does not wait. Returns how
    /// many there were.
    fn receive(&mut self, now: Time, most: usize, take: impl FnMut(Received<'_>)) -> usize;

    /// Sends the first frames, as many as there is room for, and returns how many. Does not wait.
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, SendError>;

    /// Looks after the link, which is asked for some times a second. Returns whether it is up,
    /// and has been since the last time.
    fn maintain(&mut self) -> bool {
        true
    }

    /// Frames that came in and could not be handed over.
    fn missed(&self) -> u64 {
        0
    }

    /// Frames that came in without a checksum because the sender left it to hardware.
    fn unfinished(&self) -> u64 {
        0
    }
}
