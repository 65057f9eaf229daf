//! The operation model of a connection: everything that applications, the network and an attacker
//! can do to two endpoints, and what must hold afterwards.
//!
//! [`decode()`] turns any bytes into a setup and operations, so that random seeds in `cargo test`
//! and a fuzzer's inputs go through the same code. [`check()`] runs them.

mod check;
mod decode;

pub use check::check;
pub use decode::decode;

use tidegate_transport::{Config, Segment, Seq, window};
use tidegate_units::Span;

/// Which end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that connects.
    Client,
    /// The one that listens.
    Server,
}

impl Side {
    /// Both ends.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// The other end.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// One end before it starts.
#[derive(Clone, Debug)]
pub struct End {
    /// Its settings.
    pub config: Config,
    /// Its window rule.
    pub rule: window::Config,
    /// Its initial sequence number.
    pub iss: Seq,
}

/// One thing that the outside can do. Segments in flight are named by a number that is reduced to
/// how many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Let time pass; timers run out meanwhile.
    Advance(Span),
    /// The application closes.
    Close(Side),
    /// A segment arrives, in whatever order.
    Deliver(u8),
    /// A segment arrives and stays in flight.
    Duplicate(u8),
    /// An attacker's segment arrives. Its numbers count from what the end expects.
    Forge(Side, Segment),
    /// A segment is lost.
    Lose(u8),
    /// A segment is marked, if it is ECN-capable.
    Mark(u8),
    /// The application reads.
    Read(Side, u32),
    /// The application writes a message.
    Write(Side, u32),
}
