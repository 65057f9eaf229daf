//! Buffers: who may store how many bytes.
//!
//! A buffer belongs to a whole switch and is handed to each port's calls. Admission returns a
//! [`Charge`], and giving that back is the only way to free its bytes: what was charged and what
//! is released cannot differ.

mod per_port;

pub use per_port::PerPort;

use alloc::format;

use tidegate_units::{Bytes, ConfigError, PortId, QueueId};

use crate::DropReason;

/// What a packet asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The egress port.
    pub port: PortId,
    /// The queue of that port.
    pub queue: QueueId,
    /// Where the packet came in, see [`Pkt::ingress`](crate::Pkt::ingress).
    pub ingress: u16,
    /// Its length in bytes.
    pub len: u32,
}

/// The receipt for admitted bytes.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an unreleased charge leaks buffer"]
pub struct Charge {
    len: u32,
    account: u32,
}

impl Charge {
    /// A receipt for `len` bytes. Only a [`Buffer`] makes one; `account` is its own number for
    /// where it booked them.
    #[inline]
    pub const fn new(len: u32, account: u32) -> Self {
        Self { len, account }
    }

    /// The bytes that were charged: the length of the packet.
    #[inline]
    pub const fn bytes(&self) -> u32 {
        self.len
    }

    /// The account that the buffer booked them on.
    #[inline]
    pub const fn account(&self) -> u32 {
        self.account
    }

    /// Moves the receipt out of a slot that is free from now on; what stays behind is never read.
    #[inline]
    pub(crate) const fn move_out(&mut self) -> Self {
        Self { ..*self }
    }
}

/// Decides what is stored.
pub trait Buffer {
    /// Charges the request's bytes, or says why not. Called once per arriving packet.
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason>;

    /// Takes a receipt back. Called once per packet that leaves, after it left its queue.
    fn release(&mut self, charge: Charge);

    /// Bytes held in the shared pool that `queue` of `port` draws from; zero if there is none.
    /// The port reads it before [`admit`](Self::admit) and after [`release`](Self::release), so
    /// that the packet in hand is never part of it.
    #[inline]
    fn pool_bytes(&self, _port: PortId, _queue: QueueId) -> u32 {
        0
    }
}

/// Checks that a limit is a number of bytes that counters can hold.
fn limit(field: &'static str, limit: Bytes) -> Result<u32, ConfigError> {
    match u32::try_from(limit.0) {
        Ok(bytes @ 1..) => Ok(bytes),
        _ => {
            let most = Bytes(u64::from(u32::MAX));
            Err(ConfigError::out_of_range(
                field,
                limit,
                format!("1B to {most}"),
            ))
        }
    }
}
