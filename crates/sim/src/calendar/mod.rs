//! The calendar: packets on links, by time of arrival.
//!
//! The order of events is a rule of the model, not of the engine. At one moment
//!
//! 1. packets leave ports,
//! 2. flows start, in the order of the list; timers run out, by connection; interrupts are raised,
//!    by host; packets leave the stacks of hosts, in the order in which they entered,
//! 3. packets arrive at a node, by the number of their link; on one link in the order in which they
//!    left, with a pause frame after data.
//!
//! Two calendars follow it: [`Buckets`], which is fast, and [`Heap`], which is simple and shows
//! that the first is right.

pub(crate) mod bucket_plan;
pub(crate) mod buckets;
pub(crate) mod heap;
pub(crate) mod parts;
pub(crate) mod sort;

pub(crate) use bucket_plan::BucketPlan;
pub(crate) use buckets::Buckets;
pub(crate) use heap::Heap;
pub(crate) use parts::PartCalendar;

use tidegate_units::Time;

use crate::network::LinkId;
use crate::packet::Packet;

/// A packet that will arrive.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    /// Arrival time of its last bit.
    pub(crate) at: Time,
    /// The link that the packet takes next; at a host, the link that it came on.
    pub(crate) target: u32,
    /// Number of the packet in the table of packets.
    pub(crate) packet: u32,
}

impl Arrival {
    /// Sort key: the time and the packet, which gives the rank.
    #[inline]
    pub(crate) const fn key(&self) -> (Time, u32) {
        (self.at, self.packet)
    }
}

/// Kind of node that a packet arrives at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Host,
    Switch,
}

/// Store of packets on links.
pub(crate) trait Calendar {
    /// Whether all arrivals at a port within a bucket of time are known before the port is served.
    const IN_BUCKETS: bool;

    /// Inserts a packet that has left. `rank` orders simultaneous arrivals at one target.
    fn push(&mut self, arrival: Arrival, destination: Destination, rank: Rank);

    /// Inserts a packet that has left a host for its switch.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    fn push_from_host(&mut self, arrival: Arrival, rank: Rank) {
        self.push(arrival, Destination::Switch, rank);
    }
}

/// A calendar that is emptied bucket by bucket.
pub(crate) trait InBuckets: Calendar {
    fn buckets(&self) -> &Buckets;

    fn buckets_mut(&mut self) -> &mut Buckets;
}

/// Order of simultaneous arrivals, before the order in which they left: by link, and pause frames
/// after data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u32);

impl Rank {
    /// Rank of a packet.
    #[inline]
    pub(crate) fn of(packet: &Packet) -> Self {
        Self(packet.link.0 << 1 | u32::from(packet.is_pause()))
    }

    /// Rank of data on a link.
    #[inline]
    pub(crate) const fn of_data(link: LinkId) -> Self {
        Self(link.0 << 1)
    }
}
