//! An interface without a wire: a test inserts and removes frames.

use std::collections::VecDeque;

use tidegate_units::Time;

use super::{Device, Received, SendError};

/// Frames in memory.
#[derive(Clone, Debug)]
pub struct Memory {
    incoming: VecDeque<(Time, Vec<u8>)>,
    /// Sent frames, in order.
    pub sent: Vec<Vec<u8>>,
    /// Number of frames that can still be sent; further ones must wait.
    pub room: usize,
    /// Longer frames are refused.
    pub longest: usize,
    /// Longer frames find no buffer, as with a veth pair whose other end has a smaller MTU.
    pub longest_behind: usize,
    /// Whether frames can be sent at all.
    pub is_up: bool,
}

impl Memory {
    /// An interface that is up and takes every frame.
    pub const fn new() -> Self {
        Self {
            incoming: VecDeque::new(),
            sent: Vec::new(),
            room: usize::MAX,
            longest: usize::MAX,
            longest_behind: usize::MAX,
            is_up: true,
        }
    }

    /// Inserts a received frame with this arrival time. Frames must be in order.
    pub fn push(&mut self, arrival: Time, frame: Vec<u8>) {
        self.incoming.push_back((arrival, frame));
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Device for Memory {
    fn receive(&mut self, now: Time, most: usize, mut take: impl FnMut(Received<'_>)) -> usize {
        let mut count = 0;
        while count < most
            && self.incoming.front().is_some_and(|(at, _)| *at <= now)
            && let Some((arrival, bytes)) = self.incoming.pop_front()
        {
            take(Received {
                bytes: &bytes,
                tag: None,
                len: bytes.len(),
                arrival,
                is_unfinished: false,
            });
            count += 1;
        }
        count
    }

    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, SendError> {
        if !self.is_up {
            return Err(SendError::LinkDown);
        }
        let longest = self.longest.min(self.longest_behind);
        let is_short = |frame: &&&[u8]| frame.len() <= longest;
        let taken = frames.iter().take_while(is_short).count();
        match frames.first() {
            Some(first) if first.len() > self.longest => return Err(SendError::Refused),
            Some(first) if first.len() > self.longest_behind => return Err(SendError::NoBuffer),
            _ => {}
        }
        let taken = taken.min(self.room);
        self.room -= taken;
        let frames = frames[..taken].iter();
        self.sent.extend(frames.map(|frame| frame.to_vec()));
        Ok(taken)
    }

    fn maintain(&mut self) -> bool {
        self.is_up
    }
}
