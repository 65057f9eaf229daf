//! Datacenter ECN marking schemes, packet schedulers and switch buffers, as one library that the
//! simulator and the live switch run unchanged.
//!
//! Nothing here reads a clock, opens a socket or touches a packet's bytes: time is an argument and
//! a packet is an id with the few facts that decisions need. The crate is `no_std` to keep it so.
//!
//! A [`Port`] is the pipeline. It is generic over three parts, each an open trait:
//!
//! - a [`mark::Marker`] decides which packets are marked, one file per scheme in [`mark`];
//! - a [`sched::Scheduler`] decides which queue is served next, one file each in [`sched`];
//! - a [`buffer::Buffer`] decides which packets are admitted, one file each in [`buffer`].
//!
//! Choose the parts by type for speed, or by name at run time with [`mark::AnyMarker`],
//! [`sched::AnyScheduler`] and [`buffer::AnyBuffer`].
//!
//! ```
//! use tidegate_dataplane::{Pkt, Port, PortConfig, buffer::PerPort, mark::Tcn, sched::Fifo};
//! use tidegate_units::{Bytes, Ecn, PktId, QueueId, Rate, Span, Time};
//!
//! let config = PortConfig { rate: Rate::from_gbps(10), ..PortConfig::default() };
//! let mut port = Port::new(&config, Tcn::step(Span::from_us(78)), Fifo::new(1).unwrap());
//! let mut buffer = PerPort::new(1, Bytes::from_kb(300)).unwrap();
//!
//! let pkt = Pkt { len: 1500, ecn: Ecn::Ect0, ..Pkt::default() };
//! port.enqueue(PktId(7), pkt, QueueId(0), Time::ZERO, &mut buffer).unwrap();
//! let departure = port.dequeue(Time::from_us(79), &mut buffer).unwrap();
//! assert_eq!((departure.id, departure.ecn), (PktId(7), Ecn::Ce));
//! ```
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
pub use port::{Accepted, Action, Departure, NonEct, Port, PortConfig};
pub use stats::{DropReason, PortStats, QueueStats, Rule};
pub use store::Slot;

/// The most queues a port can have: one bit each in a 128-bit map, as on Tofino 2.
pub const MAX_QUEUES: u8 = 128;

/// The examples of the README are compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
