#![doc = include_str!("../README.md")]
//!
//! A [`Port`] is the pipeline. It is generic over three parts, each an open trait:
//!
//! - a [`mark::Marker`] decides which packets are marked, one file per scheme in [`mark`];
//! - a [`sched::Scheduler`] decides which queue is served next, one file each in [`sched`];
//! - a [`buffer::Buffer`] decides which packets are admitted, one file each in [`buffer`].
//!
//! Choose the parts by type for speed, or by name at run time with [`mark::AnyMarker`],
//! [`sched::AnyScheduler`] and [`buffer::AnyBuffer`].
#![no_std]

extern crate alloc;

pub mod buffer;
pub mod classify;
pub mod mark;
pub mod observe;
mod packet;
mod port;
pub mod sched;
mod stats;
mod store;

pub use packet::Pkt;
pub use port::egress::{self, Egress};
pub use port::{Accepted, Action, Departure, NonEct, Port, PortConfig, custom_parts, parts};
pub use stats::{DropReason, PortStats, QueueStats, Rule};
pub use store::Slot;

/// Largest number of queues of a port: one bit each in a 128-bit map, as on Tofino 2.
pub const MAX_QUEUES: u8 = 128;
