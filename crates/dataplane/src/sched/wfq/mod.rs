//! WFQ: weighted fair queueing. Each head packet is stamped with a virtual finish time, and the
//! smallest stamp is served first; of equal stamps, the lowest queue.
//!
//! Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016, section 5. A packet of
//! `L` bytes in a queue of weight `w` gets the stamp `V + L/w` if it finds the queue empty, else
//! the stamp of the previous packet plus `L/w`. `V` is the virtual time of the port. In the
//! simulators and the kernel module of TCN and ECN♯ it is the largest stamp ever given. This is
//! neither the fluid model's virtual time nor a textbook's: a queue that becomes active is stamped
//! behind every packet then at a head. With `scfq` it is the stamp of the packet in service, as in
//! self-clocked fair queueing (Golestani, INFOCOM 1994). The rule there is `max(V, last stamp of
//! the queue)`; the last stamp of an empty queue has been in service, so it is never the larger.
//!
//! `V` is never reset, not even by a pause. Stamps are in units of 2^−20 bytes. They wrap, and are
//! compared by their difference. That is correct because the stamps of waiting heads and `V` are
//! never 2^63 apart. With the authors' clock, let each stamp cover the interval from the value that
//! it was counted from up to itself, at most `L/w` long. A stamp of a queue that becomes active is
//! counted from `V`, any other from the stamp just served, which was the smallest. So the waiting
//! stamps cover everything from the smallest to `V`: at most 127 · 2^52 < 2^59. With `scfq` every
//! stamp is within 2^52 of `V`.
//!
//! Differs from the authors' simulators: fixed point instead of floating point. Differs from the
//! kernel module: `L/w` is not rounded down to whole bytes, which is an option.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tidegate_units::{ConfigError, QueueId, Time, choices, settings};

use super::discipline::{Discipline, Divide, GroupView, Members};
use super::queue_set::QueueSet;
use super::virtual_time::{FRACTION, Inverse, MAX_WEIGHT, inverses, is_before};
use super::{Build, Pick, Scheduler, Turn};

choices! {
    /// Virtual time of the port.
    #[non_exhaustive]
    pub enum Clock {
        /// The largest stamp ever given to a head packet (TCN, ECN♯: simulators and module).
        Authors = "authors",
        /// The stamp of the packet in service (self-clocked fair queueing).
        Scfq = "scfq",
    }
}

choices! {
    /// Division of a length by a weight.
    #[non_exhaustive]
    pub enum Division {
        /// In units of 2^−20 bytes (TCN's simulator divides floating-point numbers).
        Exact = "exact",
        /// Down to whole bytes (TCN's kernel module, ECN♯'s simulator).
        Integer = "integer",
    }
}

settings! {
    /// Parameters of WFQ.
    #[named("wfq", "serves the head packet with the smallest virtual finish time",
        "schedulers.md#WFQ")]
    pub struct Config {
        /// Weight of each queue: 1 to 65535, or to 64 with integer division, as in TCN's kernel
        /// module. The papers use equal weights.
        pub weights: Vec<u32> = alloc::vec![1],
        /// Virtual time of the port.
        pub clock: Clock = Clock::Authors,
        /// Division of a length by a weight.
        pub division: Division = Division::Exact,
    }
}

impl Build for Config {
    type Scheduler = Wfq;

    fn build(&self) -> Result<Wfq, ConfigError> {
        Wfq::new(self)
    }
}

impl Divide for Config {
    type Discipline = Stamps;

    fn queues(&self) -> usize {
        self.weights.len()
    }

    fn divide(&self) -> Result<(Stamps, Box<[State]>), ConfigError> {
        Stamps::new(self)
    }
}

/// Weighted fair queueing.
#[derive(Clone, Debug)]
pub struct Wfq {
    queues: Box<[State]>,
    /// Queues that hold packets.
    active: QueueSet,
    virtual_time: u64,
    stamps: Stamps,
}

/// State of a queue.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct State {
    /// Stamp of the head packet. While the queue is empty it is undefined or, in groups, holds the
    /// virtual time of the group: see [`Stamps`].
    stamp: u64,
    inverse: Inverse,
}

/// Rules for stamps.
///
/// Inside groups, the stamp of the lowest empty queue holds the group's virtual time. If no queue
/// is empty, the stamps give it. With the authors' clock it is the largest stamp, because a queue's
/// stamps only rise. With the other clock it is the stamp of the packet in service:
///
/// - When a queue empties, its packet has just been picked, and its stamp is still the smallest.
/// - When a queue is withdrawn, it is the largest value that a stamp was counted from. The last
///   queue that was served or became active is counted from it, all others from earlier values.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Stamps {
    clock: Clock,
    division: Division,
}

impl Wfq {
    /// A scheduler for as many queues as there are weights.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let (stamps, queues) = Stamps::new(config)?;
        Ok(Self { queues, active: QueueSet::default(), virtual_time: 0, stamps })
    }
}

impl Stamps {
    /// The rules, and the initial states of the queues.
    fn new(config: &Config) -> Result<(Self, Box<[State]>), ConfigError> {
        let most = match config.division {
            Division::Exact => MAX_WEIGHT,
            // The largest weight with which a packet of 64 bytes still counts as a byte.
            Division::Integer => 64,
        };
        let inverses = inverses(&config.weights, most)?;
        let state = |&inverse| State { stamp: 0, inverse };
        let stamps = Self { clock: config.clock, division: config.division };
        Ok((stamps, inverses.iter().map(state).collect()))
    }

    /// Virtual time of `len` bytes in a queue.
    #[inline]
    const fn worth(self, inverse: Inverse, len: u32) -> u64 {
        let worth = inverse.times(len);
        match self.division {
            Division::Exact => worth,
            Division::Integer => worth & (u64::MAX << FRACTION),
        }
    }

    /// Stamps the first packet of an empty queue.
    #[inline]
    fn first(self, state: &mut State, len: u32, virtual_time: &mut u64) {
        state.stamp = virtual_time.wrapping_add(self.worth(state.inverse, len));
        if self.clock == Clock::Authors {
            *virtual_time = state.stamp;
        }
    }

    /// Records a packet that came to the only queue and left at once: its stamp, the largest of
    /// all, has been in service.
    #[inline]
    const fn pass(self, inverse: Inverse, len: u32, virtual_time: &mut u64) {
        *virtual_time = virtual_time.wrapping_add(self.worth(inverse, len));
    }

    /// The queue with the smallest stamp.
    #[inline]
    fn smallest(self, queues: &[State], mut active: QueueSet, virtual_time: &mut u64) -> Pick {
        let mut best = active.pop_first().expect("`pick` is called only while a packet waits");
        let mut smallest = queues[best.index()].stamp;
        while let Some(queue) = active.pop_first() {
            let stamp = queues[queue.index()].stamp;
            if is_before(stamp, smallest) {
                (best, smallest) = (queue, stamp);
            }
        }
        if self.clock == Clock::Scfq {
            *virtual_time = smallest;
        }
        Pick::head(best)
    }

    /// Stamps the packet behind one that left.
    #[inline]
    fn next(self, state: &mut State, len: u32, virtual_time: &mut u64) {
        let worth = self.worth(state.inverse, len);
        state.stamp = state.stamp.wrapping_add(worth);
        if self.clock == Clock::Authors && is_before(*virtual_time, state.stamp) {
            *virtual_time = state.stamp;
        }
    }
}

impl Scheduler for Wfq {
    #[inline]
    fn queues(&self) -> u8 {
        // At most 128, as checked by `new`.
        self.queues.len() as u8
    }

    #[inline]
    fn on_active(&mut self, queue: QueueId, len: u32, _: Time, _: impl FnMut(&Turn)) {
        let state = &mut self.queues[queue.index()];
        self.stamps.first(state, len, &mut self.virtual_time);
        self.active.insert(queue);
    }

    #[inline]
    fn pick(&mut self, _: Time, _: impl FnMut(&Turn)) -> Pick {
        self.stamps.smallest(&self.queues, self.active, &mut self.virtual_time)
    }

    #[inline]
    fn on_departed(
        &mut self,
        queue: QueueId,
        _: u32,
        next: Option<u32>,
        _: Time,
        _: impl FnMut(&Turn),
    ) {
        let Some(next) = next else {
            self.active.remove(queue);
            return;
        };
        let state = &mut self.queues[queue.index()];
        self.stamps.next(state, next, &mut self.virtual_time);
    }

    /// The queue returns with a stamp of that moment: neither the pause nor the packet at its head
    /// counts.
    fn withdraw(&mut self, queue: QueueId, _: &[u32], _: Time, _: impl FnMut(&Turn)) {
        self.active.remove(queue);
    }

    #[inline]
    fn on_pass(&mut self, queue: QueueId, len: u32, _: Time, _: impl FnMut(&Turn)) {
        let inverse = self.queues[queue.index()].inverse;
        self.stamps.pass(inverse, len, &mut self.virtual_time);
    }
}

impl Discipline for Stamps {
    type Queue = State;
    /// The virtual time.
    type Group = u64;

    fn new_group(&self, _: &Members) -> u64 {
        0
    }

    #[inline]
    fn load(&self, queues: &[State], members: &Members) -> u64 {
        if let Some(queue) = members.first_idle() {
            return queues[queue.index()].stamp;
        }
        let stamps = queues[usize::from(members.first)..usize::from(members.end)]
            .iter()
            .map(|state| state.stamp);
        let later = |a, b| match (self.clock, is_before(a, b)) {
            (Clock::Authors, true) | (Clock::Scfq, false) => b,
            (Clock::Authors, false) | (Clock::Scfq, true) => a,
        };
        stamps.reduce(later).unwrap_or(0)
    }

    #[inline]
    fn store(&self, queues: &mut [State], members: &Members, virtual_time: u64) {
        if let Some(queue) = members.first_idle() {
            queues[queue.index()].stamp = virtual_time;
        }
    }

    #[inline]
    fn on_active(
        &mut self,
        part: &mut GroupView<'_, Self>,
        queue: QueueId,
        len: u32,
        _: Time,
        _: impl FnMut(&Turn),
    ) {
        self.first(&mut part.queues[queue.index()], len, &mut part.group);
    }

    #[inline]
    fn pick(&mut self, part: &mut GroupView<'_, Self>, _: Time, _: impl FnMut(&Turn)) -> Pick {
        self.smallest(part.queues, part.members.active, &mut part.group)
    }

    #[inline]
    fn on_departed(
        &mut self,
        part: &mut GroupView<'_, Self>,
        queue: QueueId,
        _: u32,
        next: Option<u32>,
        _: Time,
        _: impl FnMut(&Turn),
    ) {
        if let Some(next) = next {
            self.next(&mut part.queues[queue.index()], next, &mut part.group);
        }
    }

    fn withdraw(
        &mut self,
        part: &mut GroupView<'_, Self>,
        _: QueueId,
        heads: &[u32],
        _: Time,
        _: impl FnMut(&Turn),
    ) {
        if self.clock == Clock::Scfq && part.members.first_idle().is_none() {
            let members = usize::from(part.members.first)..usize::from(part.members.end);
            let counted_from = part.queues[members.clone()]
                .iter()
                .zip(&heads[members])
                .map(|(state, &len)| state.stamp.wrapping_sub(self.worth(state.inverse, len)));
            let latest = counted_from.reduce(|a, b| if is_before(a, b) { b } else { a });
            part.group = latest.unwrap_or(part.group);
        }
    }

    #[inline]
    fn on_pass(
        &mut self,
        queues: &mut [State],
        first: QueueId,
        queue: QueueId,
        len: u32,
        _: Time,
        _: impl FnMut(&Turn),
    ) -> bool {
        let inverse = queues[queue.index()].inverse;
        self.pass(inverse, len, &mut queues[first.index()].stamp);
        true
    }
}

#[cfg(test)]
mod tests;
