//! Calendar of one part of the network.

use std::sync::Arc;

use super::{Arrival, Buckets, Calendar, Destination, InBuckets, Rank};

/// [`Buckets`] for arrivals in this part. Arrivals in other parts are set aside.
#[derive(Debug)]
pub(crate) struct PartCalendar {
    buckets: Buckets,
    /// Part of the node that sends on each link.
    parts: Arc<[u16]>,
    own: u16,
    /// Arrivals for each other part, in order of departure.
    pub(crate) outgoing: Vec<Vec<Arrival>>,
}

impl PartCalendar {
    pub(crate) fn new(buckets: Buckets, parts: Arc<[u16]>, own: u16, count: usize) -> Self {
        Self { buckets, parts, own, outgoing: vec![Vec::new(); count] }
    }
}

impl Calendar for PartCalendar {
    const IN_BUCKETS: bool = true;

    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    fn push(&mut self, arrival: Arrival, destination: Destination, rank: Rank) {
        if destination == Destination::Switch {
            let part = self.parts[arrival.target as usize];
            if part != self.own {
                self.outgoing[usize::from(part)].push(arrival);
                return;
            }
        }
        self.buckets.push(arrival, destination, rank);
    }

    /// A host is in the part of its switch.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    fn push_from_host(&mut self, arrival: Arrival, rank: Rank) {
        self.buckets.push(arrival, Destination::Switch, rank);
    }
}

impl InBuckets for PartCalendar {
    fn buckets(&self) -> &Buckets {
        &self.buckets
    }

    fn buckets_mut(&mut self) -> &mut Buckets {
        &mut self.buckets
    }
}
