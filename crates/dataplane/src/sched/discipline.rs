//! Schedulers inside the groups of a two-level scheduler. Not part of the library's interface,
//! because these schedulers share their storage.
//!
//! All groups share one list of queue states, and the state of a group is stored there too, so that
//! a port with many groups is no larger than one with few.

use alloc::boxed::Box;
use core::fmt::Debug;

use tidegate_units::{ConfigError, QueueId, Time};

use super::queue_set::QueueSet;
use super::{Build, Pick, Turn};
use crate::{Pkt, Slot};

/// Parameters that can be divided among groups of queues. FIFO's cannot: its queues share one list
/// with the whole port.
pub trait Divide: Build {
    /// Scheduling inside a group.
    type Discipline: Discipline;

    /// Number of queues that the parameters cover.
    fn queues(&self) -> usize;

    /// Rules of the groups and state of all queues, or the parameter that cannot be used.
    fn divide(&self) -> Result<Divided<Self::Discipline>, ConfigError>;
}

/// Rules shared by all groups, and the state of each queue.
pub(super) type Divided<D> = (D, Box<[<D as Discipline>::Queue]>);

/// Rules of a scheduler, without the state of its queues. The hooks are called like the hooks of a
/// [`Scheduler`](super::Scheduler) of one group, but queues have their numbers at the port.
pub trait Discipline: Clone + Debug {
    /// State of a queue, with room for the state of a group.
    type Queue: Clone + Debug;
    /// State of a group.
    type Group;

    /// Whether packets wait by rank. They then call [`on_ranked`](Self::on_ranked), and the active
    /// set holds the first queue of a group instead of single queues.
    const RANKED: bool = false;

    /// The state of a group that has seen no packet.
    fn new_group(&self, members: &Members) -> Self::Group;

    /// Reads the state of a group from its queues.
    fn load(&self, queues: &[Self::Queue], members: &Members) -> Self::Group;

    /// Writes the state of a group to its queues, after `members` have changed.
    fn store(&self, queues: &mut [Self::Queue], members: &Members, group: Self::Group);

    /// Records the first packet of a queue that is not yet active.
    fn on_active(
        &mut self,
        part: &mut GroupView<'_, Self>,
        queue: QueueId,
        len: u32,
        now: Time,
        turn: impl FnMut(&Turn),
    );

    /// Chooses the packet to send. Called only while a packet of the group waits.
    fn pick(&mut self, part: &mut GroupView<'_, Self>, now: Time, turn: impl FnMut(&Turn)) -> Pick;

    /// Records that the picked packet left its queue, which is still active.
    fn on_departed(
        &mut self,
        part: &mut GroupView<'_, Self>,
        queue: QueueId,
        len: u32,
        next: Option<u32>,
        now: Time,
        turn: impl FnMut(&Turn),
    );

    /// Withdraws an active queue that is paused, see
    /// [`Scheduler::withdraw`](super::Scheduler::withdraw). The queue is still active.
    fn withdraw(
        &mut self,
        _part: &mut GroupView<'_, Self>,
        _queue: QueueId,
        _heads: &[u32],
        _now: Time,
        _turn: impl FnMut(&Turn),
    ) {
    }

    /// Restores the packets of a withdrawn ranked queue.
    fn restore(&mut self, _queue: QueueId) {}

    /// Records a packet for a withdrawn ranked queue, stored in `slot`.
    fn on_ranked_aside(
        &mut self,
        _part: &mut GroupView<'_, Self>,
        _queue: QueueId,
        _slot: Slot,
        _pkt: &Pkt,
        _now: Time,
    ) {
    }

    /// Whether ranked packets of this group may be served, independent of the group served last.
    fn has_any_ranked(&self, _members: &Members) -> bool {
        false
    }

    /// Records a packet for a ranked queue, stored in `slot`.
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

    /// Passes through a packet that came to a queue while its group, which begins with queue
    /// `first`, was empty, and that leaves at once. Does the work of the hooks and returns `true`,
    /// or does nothing and returns `false` if there is no shortcut.
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

    /// Whether the packets of a queue leave in order of arrival.
    fn keeps_order(&self) -> bool {
        true
    }

    /// Bytes that a queue may send per round, if the discipline has rounds.
    fn quantum(_queue: &Self::Queue) -> Option<u32> {
        None
    }
}

/// The queues of a group, by their numbers at the port.
#[derive(Clone, Copy, Debug)]
pub struct Members {
    pub(super) first: u8,
    /// End of the range, exclusive.
    pub(super) end: u8,
    /// Queues that hold packets.
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
