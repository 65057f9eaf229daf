//! A real TCP with every published reaction to ECN, DCQCN, and PIAS tagging.
//!
//! Free of clocks, sockets and payload: time is an argument, segments go in and come out as plain
//! values. The simulator runs two [`Endpoint`]s per connection over its network; anything else
//! that carries segments can do the same.
//!
//! ```
//! use tidegate_transport::{Config, Endpoint, Seq, window};
//! use tidegate_units::Time;
//!
//! let config = Config::default();
//! let rule = window::Config::named("dctcp").unwrap();
//! let mut client = Endpoint::connect(&config, &rule, Seq(1)).unwrap();
//! let mut server = Endpoint::listen(&config, &rule, Seq(9)).unwrap();
//! let now = Time::ZERO;
//! client.write(100_000, now);
//! loop {
//!     let mut quiet = true;
//!     while let Some(segment) = client.poll_segment(now) {
//!         server.on_segment(&segment, now);
//!         quiet = false;
//!     }
//!     while let Some(segment) = server.poll_segment(now) {
//!         client.on_segment(&segment, now);
//!         quiet = false;
//!     }
//!     if quiet {
//!         break;
//!     }
//! }
//! assert_eq!(server.received(), 100_000);
//! ```
#![no_std]

extern crate alloc;

pub mod config;
pub mod endpoint;
mod lazy_deque;
pub mod pias;
mod profile;
mod prr;
mod quick;
pub mod rate;
mod reassembly;
mod receiver;
mod rtt;
mod sack;
pub mod segment;
mod sender;
pub mod seq;
pub mod stats;
mod timer;
pub mod window;

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
