#![doc = include_str!("../README.md")]
//!
//! | type | holds | example text |
//! |---|---|---|
//! | [`Time`] | picoseconds since the start of the run | `1.5ms` |
//! | [`Span`] | a length of time, picoseconds | `78us` |
//! | [`Rate`] | bits per second, never zero | `10Gbps` |
//! | [`Bytes`] | a number of bytes | `300KB`, `3MiB` |
//! | [`Size`] | bytes, or packets not yet multiplied by a packet size | `65pkts` |
//! | [`Ratio`] | an exact fraction | `1/8`, `0.72`, `10%` |
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

/// Items that the macros of this crate need at their call sites.
#[doc(hidden)]
pub mod __private {
    pub use alloc::string::{String, ToString};
    pub use alloc::vec::Vec;

    pub use crate::catalogue::sorted;
}
