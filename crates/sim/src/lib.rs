//! A packet-level simulator of datacenter networks.
//!
//! It runs the very code that decides in a real switch ([`tidegate_dataplane`]) and in a real host
//! ([`tidegate_transport`]), on virtual time. The same set-up and seed give the same results, bit
//! by bit, on any machine.

pub mod flow;
pub mod network;
pub mod workload;

pub use flow::Flow;
pub use network::{HostId, Link, LinkId, Network, NodeId};
