//! PIFO: each arriving packet gets a rank, and the packet with the smallest rank leaves first, from
//! any queue. Of equal ranks the earliest arrival leaves first.
//!
//! Sivaraman et al., "Programmable Packet Scheduling at Line Rate", SIGCOMM 2016; TCN (section 2.2)
//! names it as a scheduler that ECN must work with. A rank is assigned once, on arrival. Packets of
//! one queue can overtake each other, so queues are classes for counters and marks, not lists. Four
//! ranks:
//!
//! - STFQ, start-time fair queueing (section 2.1 there; Goyal, Vin and Cheng, SIGCOMM 1996): the
//!   virtual start time, `max(V, finish)`, where `finish` is the virtual end of the queue's
//!   previous packet and `V` the rank of the packet that left last. `finish` then grows by `L/w`.
//!   As in the paper of 2016, a pause does not change `V`; in the paper of 1996 it moves `V` to the
//!   largest finish.
//! - LSTF, least slack time first (Mittal et al., "Universal Packet Scheduling", NSDI 2016): the
//!   time of arrival plus the slack in [`Pkt::rank`], which is the time at which the slack is used
//!   up.
//! - SRPT, shortest remaining processing time: the bytes that the flow has left to send, in
//!   [`Pkt::rank`]. A later packet has fewer bytes left, so that it overtakes earlier packets of
//!   its own flow.
//! - pFabric (Alizadeh et al., SIGCOMM 2013): the same rank selects a flow, but the flow's earliest
//!   packet leaves. No rank assigned on arrival can do this.
//!
//! `V` is not stored: when it advances, every finish that it passes is raised to it, so that a rank
//! is the finish. STFQ's times wrap. No waiting rank and no finish is before `V`, because `V` was
//! the smallest rank when it was set and later ranks are not smaller. None is more than 2^53, the
//! virtual time of a port full of bytes, past `V`. So two ranks can be compared by their
//! difference.
//!
//! Differs from the paper: the number of classes and the width of a rank are unlimited, and packets
//! are in a heap. A packet costs the logarithm of the number of waiting packets, with STFQ also a
//! look at each class, with pFabric one at each waiting packet.

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
        /// Time at which the slack is used up.
        Lstf = "lstf",
        /// Bytes that the flow has left to send; selects the flow, whose earliest packet leaves.
        Pfabric = "pfabric",
        /// Bytes that the flow has left to send.
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
        /// Weight of each queue, 1 to 65535. Their number is the number of queues; only STFQ reads
        /// the values.
        pub weights: Vec<u32> = alloc::vec![1],
    }
}

impl RankFunction {
    /// Whether the rank depends on the bytes that a packet's flow has left to send.
    const fn reads_remainder(self) -> bool {
        matches!(self, Self::Pfabric | Self::Srpt)
    }
}

impl super::Config {
    /// Whether packets are ranked by the bytes that their flows have left to send.
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

/// The waiting packets, of all groups if there are several.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Ranks {
    /// A binary heap: no entry leaves after the entries at twice its index plus one and plus two.
    /// Entries of paused queues come after all others.
    heap: Vec<Entry>,
    /// Arrivals so far, which break ties between equal ranks. 2^64 packets never arrive.
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
    /// First queue of the entry's group.
    group: u8,
    /// Whether the entry's queue is paused.
    is_aside: bool,
}

/// State of a queue. It takes 12 bytes, so that a port stays below 1 KiB with the largest scheme
/// state.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Class {
    /// Virtual end of the last packet that came, or `V` if that is later; the lower half first.
    /// Used by STFQ only.
    finish: [u32; 2],
    /// Weight. Its inverse would take 8 more bytes; a division costs little beside the heap.
    weight: u16,
}

/// States of queues with these weights.
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

    /// Inserts an entry into the heap.
    #[inline]
    fn push(&mut self, entry: Entry) {
        self.heap.push(entry);
        self.rise(self.heap.len() - 1);
    }

    /// Removes the first entry of a heap that is not empty.
    #[inline]
    fn pop(&mut self) -> Entry {
        let first = self.heap.swap_remove(0);
        self.sink(0);
        first
    }

    /// Removes the earliest entry of the first entry's flow.
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

    /// Moves the entry at an index up to its position.
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

    /// Moves the entry at an index, if there is one, down to its position.
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

    /// Moves the packets of a queue behind all others, or back to their positions.
    #[cold]
    fn set_aside(&mut self, queue: QueueId, is_aside: bool) {
        for entry in self.heap.iter_mut().filter(|entry| entry.queue == queue) {
            entry.is_aside = is_aside;
        }
        // A sorted list is a heap.
        self.heap.sort_unstable_by(|a, b| {
            if a.leaves_before(b, self.rank) {
                core::cmp::Ordering::Less
            } else {
                core::cmp::Ordering::Greater
            }
        });
    }

    /// Removes the first packet, which belongs to one of these classes.
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
    /// Whether this entry leaves before another: not paused first, then by group, rank and arrival.
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
    /// Virtual start of a packet of `len` bytes that arrives now.
    #[inline]
    fn start(&mut self, len: u32) -> u64 {
        let start = self.finish();
        let worth = Inverse::of(u32::from(self.weight)).times(len);
        self.set_finish(start.wrapping_add(worth));
        start
    }

    /// Advances `V` to `virtual_time`.
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
        // At most 128, as checked with the weights.
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

    fn withdraw(&mut self, queue: QueueId, _: &[u32], _: Time, _: impl FnMut(&Turn)) {
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
        _: &[u32],
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
        // No group above the group that was served last has any.
        self.heap.first().is_some_and(|entry| entry.group == members.first && !entry.is_aside)
    }

    fn keeps_order(&self) -> bool {
        // The start times of a queue's packets never decrease.
        self.rank == RankFunction::Stfq
    }
}

#[cfg(test)]
mod tests;
