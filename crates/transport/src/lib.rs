#![doc = include_str!("../README.md")]
//!
//! An [`Endpoint`] is one end of a connection. Each congestion control is one file in [`cc`].
//! [`protocol`] has the transports other than TCP, and [`pias`] the tags of senders.
#![no_std]

extern crate alloc;

pub mod cc;
pub mod config;
mod endpoint;
mod lazy_deque;
pub mod pias;
mod profile;
pub mod protocol;
mod prr;
mod quick;
mod reassembly;
mod receiver;
mod rtt;
mod sack;
mod segment;
mod sender;
mod seq;
mod stats;
mod timer;

pub use config::Config;
pub use endpoint::{Endpoint, MessagePosition, State};
pub use profile::Profile;
pub use segment::{Flags, Header, SackBlocks, Segment};
pub use seq::{Range, Seq};
pub use stats::Stats;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
