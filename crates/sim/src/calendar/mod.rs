//! The calendar: packets on links, by the time of their arrival.
//!
//! The order of a run is a rule about the model, not about the machinery. At one moment
//!
//! 1. packets leave ports,
//! 2. flows start, in the order of the list, timers run out, by connection, interrupts are raised,
//!    by host, and packets come out of the stacks of hosts, in the order in which they went in,
//! 3. packets arrive at a node, by the number of their link; on one link in the order in which they
//!    left, and a pause frame after data.
//!
//! Two machines follow it: [`Buckets`], which is fast, and [`Heap`], which is simple and shows that
//! the first is right.

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
    /// When its last bit is there.
    pub(crate) at: Time,
    /// The link that it takes next; at a host, the link that it came on.
    pub(crate) target: u32,
    /// Its number in the table of packets.
    pub(crate) packet: u32,
}

impl Arrival {
    /// What it is sorted by: its time, and its packet, which knows the rank.
    #[inline]
    pub(crate) const fn key(&self) -> (Time, u32) {
        (self.at, self.packet)
    }
}

/// Which kind of node a packet arrives at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Host,
    Switch,
}

/// Where packets are noted while they travel.
pub(crate) trait Calendar {
    /// Whether everything that arrives at a port within a bucket of time is known before it is
    /// served.
    const IN_BUCKETS: bool;

    /// Notes a packet that has left. `rank` orders arrivals of one moment at one target.
    fn push(&mut self, arrival: Arrival, destination: Destination, rank: Rank);

    /// The same of a packet that has left a host for its switch.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    fn push_from_host(&mut self, arrival: Arrival, rank: Rank) {
        self.push(arrival, Destination::Switch, rank);
    }
}

/// A calendar that is taken out bucket by bucket.
pub(crate) trait InBuckets: Calendar {
    fn buckets(&self) -> &Buckets;

    fn buckets_mut(&mut self) -> &mut Buckets;
}

/// The order of arrivals of one moment, before the order in which they left: by link, and pause
/// frames after data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u32);

impl Rank {
    /// The rank of a packet.
    #[inline]
    pub(crate) fn of(packet: &Packet) -> Self {
        Self(packet.link.0 << 1 | u32::from(packet.is_pause()))
    }

    /// The rank of data on a link.
    #[inline]
    pub(crate) const fn of_data(link: LinkId) -> Self {
        Self(link.0 << 1)
    }
}
