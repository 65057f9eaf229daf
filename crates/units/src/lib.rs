//! The quantities every other crate speaks in: time, rates, sizes, ids, ECN codepoints, exact
//! ratios, seeded randomness, and the settings built from them.
//!
//! Everything is an integer behind a newtype, so that the same input gives the same bits on every
//! machine. Arithmetic at the extremes saturates; nothing here wraps or panics. Where a result is
//! not exact, the function's doc says which way it is rounded.
//!
//! | type | holds | example text |
//! |---|---|---|
//! | [`Time`] | picoseconds since the start of the run | `1.5ms` |
//! | [`Span`] | a length of time, picoseconds | `78us` |
//! | [`Rate`] | bits per second, never zero | `10Gbps` |
//! | [`Bytes`] | a number of bytes | `300KB`, `3MiB` |
//! | [`Size`] | bytes, or packets not yet multiplied by a packet size | `65pkts` |
//! | [`Ratio`] | an exact fraction | `1/8`, `0.72`, `10%` |
//!
//! ```
//! use tidegate_units::{Rate, Span};
//!
//! let link: Rate = "10Gbps".parse().unwrap();
//! assert_eq!(link.time_for(1500), Span::from_ns(1200));
//! assert_eq!(link.bytes_in(Span::from_us(100)), 125_000);
//! ```
#![no_std]

extern crate alloc;

mod catalogue;
mod ecn;
mod ids;
mod parse;
mod rate;
mod ratio;
mod rng;
mod settings;
mod size;
mod time;

pub use catalogue::{About, Catalogue, Entry, Named, NoSettings, Parameters, Piece};
pub use ecn::Ecn;
pub use ids::{FlowId, PktId, PortId, QueueId};
pub use parse::ParseError;
pub use rate::{ByteTime, Rate};
pub use ratio::Ratio;
pub use rng::Rng;
pub use settings::{Choice, ConfigError, Field, Form, Setting, Settings};
pub use size::{Bytes, Size};
pub use time::{Span, Time};

/// What the macros of this crate need at the place where they are used.
#[doc(hidden)]
pub mod __private {
    pub use alloc::string::{String, ToString};
    pub use alloc::vec::Vec;

    pub use crate::catalogue::sorted;
}
