//! What schedulers do inside the groups of a scheduler with two levels: no part of the library's
//! interface, since those that can be inside share how they keep their state.
//!
//! All groups share one list of what is kept of each queue, and what is kept of a group stands
//! there too, so that a port with many groups is no larger than one with few.

use alloc::boxed::Box;
use core::fmt::Debug;

use tidegate_units::{ConfigError, QueueId, Time};

use super::queue_set::QueueSet;
use super::{Build, Pick, Turn};
use crate::{Pkt, Slot};

/// Parameters that can be divided among groups of queues. FIFO's cannot: its queues share one
/// list with the whole port.
pub trait Divide: Build {
    /// What the scheduler does inside a group.
    type Discipline: Discipline;

    /// How many queues they are for.
    fn queues(&self) -> usize;

    /// The rules of the groups and the state of all queues, or which parameter cannot be used.
    fn divide(&self) -> Result<Divided<Self::Discipline>, ConfigError>;
}

/// What all groups share, and what is kept of each queue.
pub(super) type Divided<D> = (D, Box<[<D as Discipline>::Queue]>);

/// The rules of a scheduler, apart from the state of its queues. The hooks are called as those of a
/// [`Scheduler`](super::Scheduler) of one group, but queues go by their numbers at the port.
pub trait Discipline: Clone + Debug {
    /// What is kept of a queue, and room for what is kept of a group.
    type Queue: Clone + Debug;
    /// What is kept of a group.
    type Group;

    /// Whether packets wait by rank. They then come to [`on_ranked`](Self::on_ranked), and what is
    /// active is not a queue but the first queue of a group.
    const RANKED: bool = false;

    /// The state of a group that has seen no packet.
    fn new_group(&self, members: &Members) -> Self::Group;

    /// Reads the state of a group from its queues.
    fn load(&self, queues: &[Self::Queue], members: &Members) -> Self::Group;

    /// Writes the state of a group to its queues, after `members` have changed.
    fn store(&self, queues: &mut [Self::Queue], members: &Members, group: Self::Group);

    /// A queue got its first packet. It is not yet active.
    fn on_active(
        &mut self,
        part: &mut GroupView<'_, Self>,
        queue: QueueId,
        len: u32,
        now: Time,
        turn: impl FnMut(&Turn),
    );

    /// Names the packet to send. Called only while a packet of the group waits.
    fn pick(&mut self, part: &mut GroupView<'_, Self>, now: Time, turn: impl FnMut(&Turn)) -> Pick;

    /// The picked packet left its queue, which is still active.
    fn on_departed(
        &mut self,
        part: &mut GroupView<'_, Self>,
        queue: QueueId,
        len: u32,
        next: Option<u32>,
        now: Time,
        turn: impl FnMut(&Turn),
    );

    /// An active queue is paused, see [`Scheduler::withdraw`](super::Scheduler::withdraw). It is
    /// still active.
    fn withdraw(
        &mut self,
        _part: &mut GroupView<'_, Self>,
        _queue: QueueId,
        _now: Time,
        _turn: impl FnMut(&Turn),
    ) {
    }

    /// The packets of a ranked queue that was withdrawn may be served again.
    fn restore(&mut self, _queue: QueueId) {}

    /// A packet for a ranked queue that is withdrawn was stored in `slot`.
    fn on_ranked_aside(
        &mut self,
        _part: &mut GroupView<'_, Self>,
        _queue: QueueId,
        _slot: Slot,
        _pkt: &Pkt,
        _now: Time,
    ) {
    }

    /// Whether ranked packets of this group may be served, whichever was served last.
    fn has_any_ranked(&self, _members: &Members) -> bool {
        false
    }

    /// A packet for a ranked queue was stored in `slot`.
    #[inline]
    fn on_ranked(
        &mut self,
        _part: &mut GroupView<'_, Self>,
        _queue: QueueId,
        _slot: Slot,
        _pkt: &Pkt,
        _now: Time,
    ) {
    }

    /// Whether ranked packets of the group that was served last still wait.
    #[inline]
    fn has_ranked(&self, _members: &Members) -> bool {
        false
    }

    /// A packet came to a queue while its group, which begins with queue `first`, was empty, and
    /// leaves at once. Does what the hooks would have done and returns `true`, or nothing if there
    /// is no shorter way.
    #[inline]
    fn on_pass(
        &mut self,
        _queues: &mut [Self::Queue],
        _first: QueueId,
        _queue: QueueId,
        _len: u32,
        _now: Time,
        _turn: impl FnMut(&Turn),
    ) -> bool {
        false
    }

    /// Whether the packets of a queue leave in the order in which they came.
    fn keeps_order(&self) -> bool {
        true
    }

    /// Bytes that a queue may send per round, if there are rounds.
    fn quantum(_queue: &Self::Queue) -> Option<u32> {
        None
    }
}

/// The queues of a group, by their numbers at the port.
#[derive(Clone, Copy, Debug)]
pub struct Members {
    pub(super) first: u8,
    /// One past the last.
    pub(super) end: u8,
    /// Those that hold packets.
    pub(super) active: QueueSet,
}

impl Members {
    /// The lowest queue that holds no packet.
    #[inline]
    pub(super) fn first_idle(&self) -> Option<QueueId> {
        self.active.first_gap(self.first, self.end)
    }
}

/// A group with the queues of its port.
#[derive(Debug)]
pub struct GroupView<'a, D: Discipline> {
    /// All queues of the port.
    pub(super) queues: &'a mut [D::Queue],
    pub(super) group: D::Group,
    pub(super) members: Members,
}
