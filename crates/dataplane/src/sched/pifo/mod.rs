//! PIFO: each arriving packet gets a rank, and the packet with the smallest rank leaves first,
//! the earliest arrival among equal ones, whatever its queue.
//!
//! Sivaraman et al., "Programmable Packet Scheduling at Line Rate", SIGCOMM 2016; named by TCN
//! (section 2.2) as what ECN must work with. A rank is given once, on arrival. Packets of one queue
//! can overtake each other, so queues are classes to count and mark by, not lists. Four ranks:
//!
//! - STFQ, start-time fair queueing (section 2.1 there; Goyal, Vin and Cheng, SIGCOMM 1996): the
//!   virtual start time, `max(V, finish)`, where `finish` is the virtual end of the queue's packet
//!   before and `V` the rank of the packet that left last. `finish` then grows by `L/w`. As in the
//!   paper of 2016, a pause does not change `V`; in that of 1996 it moves `V` to the largest
//!   finish.
//! - LSTF, least slack time first (Mittal et al., "Universal Packet Scheduling", NSDI 2016): the
//!   time of arrival plus the slack in [`Pkt::rank`], which is when the slack is used up.
//! - SRPT, shortest remaining processing time: the bytes that the flow has left, in [`Pkt::rank`].
//!   Fewer are left when a later packet leaves its host, so that it overtakes those of its own
//!   flow.
//! - pFabric (Alizadeh et al., SIGCOMM 2013): the same, but of the flow that is served the packet
//!   leaves that came first, which no rank that is given on arrival can do.
//!
//! `V` is not kept: when it moves on, every finish that it passes is lifted to it, so that a rank
//! is the finish. STFQ's times wrap. No waiting rank and no finish is before `V`, because `V` was
//! the smallest rank when it was set and later ones are not smaller, and none is more than the
//! worth of a port full of bytes past it, 2^53; so two of them are compared by their difference.
//!
//! Differs from the paper: no limit to the number of classes or the width of a rank, and a heap,
//! so that a packet costs the logarithm of the number of packets waiting, and with STFQ a look at
//! each class, with pFabric one at each packet that waits.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tidegate_units::{ConfigError, FlowId, QueueId, Span, Time, choices, settings};

use super::discipline::{Discipline, Divide, GroupView, Members};
use super::virtual_time::{Inverse, check_weights, is_before};
use super::{Build, Pick, Scheduler, Turn};
use crate::{Pkt, Slot};

choices! {
    /// The rank function.
    #[non_exhaustive]
    pub enum RankFunction {
        /// The moment at which the slack is used up.
        Lstf = "lstf",
        /// Bytes that the flow has left; of a flow the packet that came first.
        Pfabric = "pfabric",
        /// Bytes that the flow has left.
        Srpt = "srpt",
        /// Virtual start time.
        Stfq = "stfq",
    }
}

settings! {
    /// Parameters of PIFO.
    #[named("pifo", "serves the packet with the smallest rank", "schedulers.md#PIFO")]
    pub struct Config {
        /// The rank function.
        pub rank: RankFunction = RankFunction::Stfq,
        /// The weight of each queue, 1 to 65535. Only STFQ reads the values; their number is that
        /// of the queues.
        pub weights: Vec<u32> = alloc::vec![1],
    }
}

impl RankFunction {
    /// Whether it reads what a packet's flow has left to send.
    const fn reads_remainder(self) -> bool {
        matches!(self, Self::Pfabric | Self::Srpt)
    }
}

impl super::Config {
    /// Whether packets are ranked by what their flows have left to send.
    pub const fn ranks_by_remainder(&self) -> bool {
        match self {
            Self::Pifo(config) => config.rank.reads_remainder(),
            Self::SpPifo(config) => config.inner.rank.reads_remainder(),
            _ => false,
        }
    }
}

impl Build for Config {
    type Scheduler = Pifo;

    fn build(&self) -> Result<Pifo, ConfigError> {
        Pifo::new(self)
    }
}

impl Divide for Config {
    type Discipline = Ranks;

    fn queues(&self) -> usize {
        self.weights.len()
    }

    fn divide(&self) -> Result<(Ranks, Box<[Class]>), ConfigError> {
        let ranks = Ranks { heap: Vec::new(), arrivals: 0, rank: self.rank };
        Ok((ranks, classes(&self.weights)?))
    }
}

/// Push in, first out.
#[derive(Clone, Debug)]
pub struct Pifo {
    classes: Box<[Class]>,
    /// Boxed to keep the enum of all schedulers small.
    ranks: Box<Ranks>,
}

/// The packets that wait, of all groups if there are several.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Ranks {
    /// A binary heap: no entry leaves after those at twice its place, plus one and plus two.
    /// Entries of queues that are paused are behind all others.
    heap: Vec<Entry>,
    /// Arrivals so far, which settle equal ranks. 2^64 packets are never seen.
    arrivals: u64,
    rank: RankFunction,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    rank: u64,
    arrival: u64,
    slot: Slot,
    flow: FlowId,
    queue: QueueId,
    /// The first queue of its group.
    group: u8,
    /// Whether its queue is paused.
    is_aside: bool,
}

/// What is kept of a queue. It has 12 bytes, so that a port with all that a scheme may keep besides
/// stays below 1 KiB.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Class {
    /// Virtual end of the last packet that came, or `V` if that is later; the lower half first.
    /// Only STFQ has one.
    finish: [u32; 2],
    /// Not its inverse, which would take 8 bytes more than a division costs time beside the heap.
    weight: u16,
}

/// What is kept of queues with these weights.
fn classes(weights: &[u32]) -> Result<Box<[Class]>, ConfigError> {
    let weights = check_weights(weights)?;
    let class = |weight| Class { finish: [0; 2], weight };
    Ok(weights.map(class).collect())
}

impl Pifo {
    /// A PIFO for as many queues as there are weights.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let (ranks, classes) = config.divide()?;
        Ok(Self { classes, ranks: Box::new(ranks) })
    }
}

impl Ranks {
    /// Ranks a packet.
    #[inline]
    fn rank(
        &mut self,
        group: u8,
        queue: QueueId,
        class: &mut Class,
        slot: Slot,
        pkt: &Pkt,
        now: Time,
    ) -> Entry {
        let rank = match self.rank {
            RankFunction::Lstf => (now + Span::from_ps(pkt.rank)).as_ps(),
            RankFunction::Pfabric | RankFunction::Srpt => pkt.rank,
            RankFunction::Stfq => class.start(pkt.len),
        };
        let arrival = self.arrivals;
        self.arrivals += 1;
        Entry { rank, arrival, slot, flow: pkt.flow, queue, group, is_aside: false }
    }

    /// Puts an entry at its place in the heap.
    #[inline]
    fn push(&mut self, entry: Entry) {
        self.heap.push(entry);
        self.rise(self.heap.len() - 1);
    }

    /// Takes the first entry of a heap that is not empty.
    #[inline]
    fn pop(&mut self) -> Entry {
        let first = self.heap.swap_remove(0);
        self.sink(0);
        first
    }

    /// Takes the entry that came first of the flow of the first one.
    fn pop_of_flow(&mut self) -> Entry {
        let first = &self.heap[0];
        let is_same = |entry: &Entry| {
            (entry.flow, entry.group, entry.is_aside) == (first.flow, first.group, first.is_aside)
        };
        let of_flow = (0..self.heap.len()).filter(|&place| is_same(&self.heap[place]));
        let place = of_flow.min_by_key(|&place| self.heap[place].arrival);
        let place = place.unwrap_or_default();
        let entry = self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.sink(place);
            self.rise(place);
        }
        entry
    }

    /// Moves the entry at a place up to where it belongs.
    #[inline]
    fn rise(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent].leaves_before(&self.heap[place], self.rank) {
                break;
            }
            self.heap.swap(place, parent);
            place = parent;
        }
    }

    /// Moves the entry at a place, if there is one, down to where it belongs.
    #[inline]
    fn sink(&mut self, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            let Some(mut child) = self.heap.get(left) else {
                return;
            };
            let mut at = left;
            if let Some(right) = self.heap.get(left + 1)
                && right.leaves_before(child, self.rank)
            {
                (child, at) = (right, left + 1);
            }
            if self.heap[place].leaves_before(child, self.rank) {
                return;
            }
            self.heap.swap(place, at);
            place = at;
        }
    }

    /// Puts the packets of a queue behind all others, or back at their places.
    #[cold]
    fn set_aside(&mut self, queue: QueueId, is_aside: bool) {
        for entry in self.heap.iter_mut().filter(|entry| entry.queue == queue) {
            entry.is_aside = is_aside;
        }
        // In order they are a heap.
        self.heap.sort_unstable_by(|a, b| {
            if a.leaves_before(b, self.rank) {
                core::cmp::Ordering::Less
            } else {
                core::cmp::Ordering::Greater
            }
        });
    }

    /// Takes the first packet, one of these classes.
    #[inline]
    fn serve(&mut self, classes: &mut [Class]) -> Pick {
        let entry = match self.rank {
            RankFunction::Pfabric => self.pop_of_flow(),
            _ => self.pop(),
        };
        if self.rank == RankFunction::Stfq {
            for class in classes {
                class.catch_up(entry.rank);
            }
        }
        Pick { queue: entry.queue, slot: Some(entry.slot) }
    }
}

impl Entry {
    /// Whether it is served first: what is not paused, by group, then by rank, then by arrival.
    #[inline]
    const fn leaves_before(&self, other: &Self, rank: RankFunction) -> bool {
        if self.is_aside != other.is_aside {
            return other.is_aside;
        }
        if self.group != other.group {
            return self.group < other.group;
        }
        if self.rank == other.rank {
            return self.arrival < other.arrival;
        }
        match rank {
            RankFunction::Stfq => is_before(self.rank, other.rank),
            _ => self.rank < other.rank,
        }
    }
}

impl Class {
    /// The virtual start of a packet of `len` bytes that comes now.
    #[inline]
    fn start(&mut self, len: u32) -> u64 {
        let start = self.finish();
        let worth = Inverse::of(u32::from(self.weight)).times(len);
        self.set_finish(start.wrapping_add(worth));
        start
    }

    /// `V` is now `virtual_time`.
    #[inline]
    fn catch_up(&mut self, virtual_time: u64) {
        if is_before(self.finish(), virtual_time) {
            self.set_finish(virtual_time);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        let [low, high] = self.finish.map(u64::from);
        high << 32 | low
    }

    #[inline]
    const fn set_finish(&mut self, finish: u64) {
        self.finish = [finish as u32, (finish >> 32) as u32];
    }
}

impl Scheduler for Pifo {
    const RANKS_PACKETS: bool = true;

    #[inline]
    fn queues(&self) -> u8 {
        // At most 128, checked with the weights.
        self.classes.len() as u8
    }

    #[inline]
    fn is_ranked(&self, _: QueueId) -> bool {
        true
    }

    #[inline]
    fn on_ranked(&mut self, queue: QueueId, slot: Slot, pkt: &Pkt, now: Time) {
        let class = &mut self.classes[queue.index()];
        let entry = self.ranks.rank(0, queue, class, slot, pkt, now);
        self.ranks.push(entry);
    }

    #[inline]
    fn on_active(&mut self, _: QueueId, _: u32, _: Time, _: impl FnMut(&Turn)) {}

    #[inline]
    fn pick(&mut self, _: Time, _: impl FnMut(&Turn)) -> Pick {
        self.ranks.serve(&mut self.classes)
    }

    #[inline]
    fn on_departed(&mut self, _: QueueId, _: u32, _: Option<u32>, _: Time, _: impl FnMut(&Turn)) {}

    fn withdraw(&mut self, queue: QueueId, _: Time, _: impl FnMut(&Turn)) {
        self.ranks.set_aside(queue, true);
    }

    fn restore(&mut self, queue: QueueId) {
        self.ranks.set_aside(queue, false);
    }

    fn on_ranked_aside(&mut self, queue: QueueId, slot: Slot, pkt: &Pkt, now: Time) {
        let class = &mut self.classes[queue.index()];
        let entry = self.ranks.rank(0, queue, class, slot, pkt, now);
        self.ranks.push(Entry { is_aside: true, ..entry });
    }
}

impl Discipline for Ranks {
    type Queue = Class;
    type Group = ();

    const RANKED: bool = true;

    fn new_group(&self, _: &Members) {}

    #[inline]
    fn load(&self, _: &[Class], _: &Members) {}

    #[inline]
    fn store(&self, _: &mut [Class], _: &Members, (): ()) {}

    #[inline]
    fn on_active(
        &mut self,
        _: &mut GroupView<'_, Self>,
        _: QueueId,
        _: u32,
        _: Time,
        _: impl FnMut(&Turn),
    ) {
    }

    #[inline]
    fn pick(&mut self, part: &mut GroupView<'_, Self>, _: Time, _: impl FnMut(&Turn)) -> Pick {
        let Members { first, end, .. } = part.members;
        self.serve(&mut part.queues[usize::from(first)..usize::from(end)])
    }

    #[inline]
    fn on_departed(
        &mut self,
        _: &mut GroupView<'_, Self>,
        _: QueueId,
        _: u32,
        _: Option<u32>,
        _: Time,
        _: impl FnMut(&Turn),
    ) {
    }

    #[inline]
    fn on_ranked(
        &mut self,
        part: &mut GroupView<'_, Self>,
        queue: QueueId,
        slot: Slot,
        pkt: &Pkt,
        now: Time,
    ) {
        let class = &mut part.queues[queue.index()];
        let entry = self.rank(part.members.first, queue, class, slot, pkt, now);
        self.push(entry);
    }

    fn withdraw(
        &mut self,
        _: &mut GroupView<'_, Self>,
        queue: QueueId,
        _: Time,
        _: impl FnMut(&Turn),
    ) {
        self.set_aside(queue, true);
    }

    fn restore(&mut self, queue: QueueId) {
        self.set_aside(queue, false);
    }

    fn on_ranked_aside(
        &mut self,
        part: &mut GroupView<'_, Self>,
        queue: QueueId,
        slot: Slot,
        pkt: &Pkt,
        now: Time,
    ) {
        let class = &mut part.queues[queue.index()];
        let entry = self.rank(part.members.first, queue, class, slot, pkt, now);
        self.push(Entry { is_aside: true, ..entry });
    }

    fn has_any_ranked(&self, members: &Members) -> bool {
        let mut entries = self.heap.iter();
        entries.any(|entry| entry.group == members.first && !entry.is_aside)
    }

    #[inline]
    fn has_ranked(&self, members: &Members) -> bool {
        // No group above the one that was served last has any.
        self.heap.first().is_some_and(|entry| entry.group == members.first && !entry.is_aside)
    }

    fn keeps_order(&self) -> bool {
        // The start times of a queue's packets rise.
        self.rank == RankFunction::Stfq
    }
}

#[cfg(test)]
mod tests;
