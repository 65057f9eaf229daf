//! The operation model of a connection: everything that applications, the network and an attacker
//! can do to two endpoints, and the invariants afterwards.
//!
//! [`decode()`] turns any bytes into a setup and operations, so that random seeds in `cargo test`
//! and a fuzzer's inputs use the same code. [`check()`] runs them.

mod check;
mod decode;

pub use check::check;
pub use decode::decode;

use tidegate_transport::{Config, Segment, Seq, cc};
use tidegate_units::Span;

/// End of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The connecting end.
    Client,
    /// The listening end.
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
    /// Settings of the end.
    pub config: Config,
    /// Congestion control.
    pub cc: cc::Config,
    /// Initial sequence number.
    pub iss: Seq,
}

/// An external event. Segments in flight are selected by a number modulo their count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Time passes, and timers expire meanwhile.
    Advance(Span),
    /// The application closes.
    Close(Side),
    /// A segment arrives, in any order.
    Deliver(u8),
    /// A segment arrives and stays in flight.
    Duplicate(u8),
    /// A forged segment arrives. Its numbers are relative to the end's expected ones.
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
