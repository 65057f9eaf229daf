//! The calendar: packets on links, by the time of their arrival.
//!
//! The order of a run is a rule about the model, not about the machinery. At one moment
//!
//! 1. packets leave ports,
//! 2. flows start, in the order of the list, and timers run out, by connection,
//! 3. packets arrive at a node, by the number of their link; on one link in the order in which they
//!    left, and a pause frame after data.
//!
//! Two machines follow it: [`Buckets`], which is fast, and [`Heap`], which is simple and shows that
//! the first is right.

pub(crate) mod buckets;
pub(crate) mod heap;
pub(crate) mod sort;

pub(crate) use buckets::Buckets;
pub(crate) use heap::Heap;

use tidegate_units::Time;

/// A packet that will arrive.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    /// When its last bit is there.
    pub(crate) at: Time,
    /// What orders arrivals of one moment at one place, before the order in which they left: the
    /// link × 2, plus 1 for a pause frame.
    pub(crate) rank: u32,
    /// Its number in the table of packets.
    pub(crate) packet: u32,
}

/// Which kind of node a packet arrives at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    Host,
    /// A switch, and the number of the place there that serves the packet: a port, or, where ports
    /// depend on each other, the whole switch.
    Switch(u32),
}

/// Where packets are noted while they travel.
pub(crate) trait Calendar {
    /// Notes a packet that has left.
    fn push(&mut self, arrival: Arrival, goal: Goal);
}
