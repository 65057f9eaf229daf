//! WRR: weighted round robin by bytes. Each queue in turn sends packets up to its quantum; the rest
//! of the quantum is lost.
//!
//! Bai et al., "Enabling ECN in Multi-Service Multi-Queue Data Centers" (MQ-ECN), NSDI 2016, whose
//! simulator visits all queues in the order of their numbers and skips empty ones. A turn ends when
//! the head packet does not fit the rest of the quantum, or when the queue empties. TCN's kernel
//! module keeps a list of active queues instead, as DWRR does: an option.
//!
//! Turns under the cyclic order are reported as that simulator measures them: a queue that gets its
//! first packet joins, and an empty queue that the scheduler skips restarts its measurement.
//!
//! Differs from the authors' code: a turn sends at least one packet, even one that is larger than
//! the quantum. Their code would skip that queue forever.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use tidegate_units::{ConfigError, QueueId, Time, choices, settings};

use super::discipline::{Discipline, Divide, GroupView, Members};
use super::queue_set::QueueSet;
use super::{Build, Pick, Round, Scheduler, Turn, TurnEvent};

choices! {
    /// Queue whose turn is next.
    #[non_exhaustive]
    pub enum Order {
        /// The active queue that has waited longest for its turn (TCN's kernel module).
        ActiveList = "active-list",
        /// The next active queue by number (MQ-ECN's simulator).
        Cyclic = "cyclic",
    }
}

settings! {
    /// Parameters of WRR.
    #[named("wrr", "serves queues in turn, one quantum each, without carry-over",
        "schedulers.md#WRR")]
    pub struct Config {
        /// Bytes that each queue may send per turn, one value per queue: one full packet, 1500
        /// bytes in MQ-ECN's simulator.
        pub quanta: Vec<u32> = alloc::vec![1500],
        /// Queue whose turn is next.
        pub order: Order = Order::Cyclic,
    }
}

impl Build for Config {
    type Scheduler = Wrr;

    fn build(&self) -> Result<Wrr, ConfigError> {
        Wrr::new(self)
    }
}

impl Divide for Config {
    type Discipline = Turns;

    fn queues(&self) -> usize {
        self.quanta.len()
    }

    fn divide(&self) -> Result<(Turns, Box<[State]>), ConfigError> {
        Ok((Turns { order: self.order }, states(&self.quanta)?))
    }
}

/// Weighted round robin.
#[derive(Clone, Debug)]
pub struct Wrr {
    queues: Box<[State]>,
    /// Queues that hold packets.
    active: QueueSet,
    cycle: Cycle,
}

/// State of a queue.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct State {
    quantum: u32,
    /// Bytes of the first packet.
    head: u32,
    /// The queue behind this one in the list.
    next: QueueId,
    /// In groups: the cycle of the group whose first queue this is. Its fields are separate, so
    /// that they fit the padding beside `next`.
    budget: u32,
    current: QueueId,
    back: QueueId,
    in_turn: bool,
}

/// Position in the rounds of a group of queues.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Cycle {
    /// Bytes that the queue whose turn it is may still send. A full quantum means that it has sent
    /// nothing.
    budget: u32,
    /// The queue whose turn it is. Outside a turn: the queue of the last turn under the cyclic
    /// order, the front of the list under the other.
    current: QueueId,
    /// End of the list of active queues, undefined while none is active.
    back: QueueId,
    in_turn: bool,
    order: Order,
}

/// WRR inside groups.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Turns {
    order: Order,
}

/// States of queues with these quanta.
fn states(quanta: &[u32]) -> Result<Box<[State]>, ConfigError> {
    super::check_quanta(quanta)?;
    let state = |&quantum| State {
        quantum,
        head: 0,
        next: QueueId(0),
        budget: 0,
        current: QueueId(0),
        back: QueueId(0),
        in_turn: false,
    };
    Ok(quanta.iter().map(state).collect())
}

impl Wrr {
    /// A scheduler for as many queues as there are quanta.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let queues = states(&config.quanta)?;
        let active = QueueSet::default();
        Ok(Self { cycle: Cycle::new(config.order, &members(&queues, active)), queues, active })
    }
}

/// All queues, as one group.
#[inline]
fn members(queues: &[State], active: QueueSet) -> Members {
    Members {
        first: 0,
        // At most 128, as checked when they were created.
        end: queues.len() as u8,
        active,
    }
}

impl Cycle {
    fn new(order: Order, members: &Members) -> Self {
        Self {
            budget: 0,
            // The first queue of the group is visited first.
            current: QueueId(members.end - 1),
            back: QueueId(0),
            in_turn: false,
            order,
        }
    }

    /// Begins the turn of the next queue.
    #[inline]
    fn move_on(
        &mut self,
        queues: &[State],
        members: &Members,
        now: Time,
        turn: &mut impl FnMut(&Turn),
    ) {
        match self.order {
            Order::ActiveList => {
                if self.in_turn {
                    self.back = self.current;
                    self.current = queues[self.current.index()].next;
                }
            }
            Order::Cyclic => {
                let (last, active) = (self.current, members.active);
                let next = active.above(last).first().or(active.first());
                self.current = next.expect("`pick` is called only while a packet waits");
                let event = TurnEvent::Skipped;
                let mut skip = |passed: Range<u8>| {
                    for queue in passed.map(QueueId) {
                        turn(&Turn { queue, now, event });
                    }
                };
                if self.current > last {
                    skip(last.0 + 1..self.current.0);
                } else {
                    skip(last.0 + 1..members.end);
                    skip(members.first..self.current.0);
                }
            }
        }
        self.budget = queues[self.current.index()].quantum;
        self.in_turn = true;
    }

    #[inline]
    fn on_active(
        &mut self,
        queues: &mut [State],
        members: &Members,
        queue: QueueId,
        len: u32,
        now: Time,
        mut turn: impl FnMut(&Turn),
    ) {
        queues[queue.index()].head = len;
        if self.order == Order::ActiveList {
            if members.active.is_empty() {
                self.current = queue;
            } else {
                queues[self.back.index()].next = queue;
            }
            // The list is a ring, so that moving the front to the back only moves its ends.
            queues[queue.index()].next = self.current;
            self.back = queue;
        }
        let event = TurnEvent::Joined;
        turn(&Turn { queue, now, event });
    }

    #[inline]
    fn pick(
        &mut self,
        queues: &[State],
        members: &Members,
        now: Time,
        mut turn: impl FnMut(&Turn),
    ) -> Pick {
        loop {
            if self.in_turn {
                let queue = self.current;
                let state = &queues[queue.index()];
                if state.head <= self.budget || self.budget == state.quantum {
                    self.budget = self.budget.saturating_sub(state.head);
                    return Pick::head(queue);
                }
                let event = TurnEvent::Ended;
                turn(&Turn { queue, now, event });
            }
            self.move_on(queues, members, now, &mut turn);
        }
    }

    #[inline]
    fn on_departed(
        &mut self,
        queues: &mut [State],
        queue: QueueId,
        len: u32,
        next: Option<u32>,
        now: Time,
        mut turn: impl FnMut(&Turn),
    ) {
        let state = &mut queues[queue.index()];
        if let Some(next) = next {
            state.head = next;
            return;
        }
        if self.order == Order::ActiveList {
            self.current = state.next;
            queues[self.back.index()].next = self.current;
        }
        self.in_turn = false;
        let event = TurnEvent::Emptied { len };
        turn(&Turn { queue, now, event });
    }
}

impl Cycle {
    /// Removes a queue from the rounds. Its turn ends, and the rest of its quantum is lost.
    #[cold]
    fn withdraw(
        &mut self,
        queues: &mut [State],
        queue: QueueId,
        now: Time,
        mut turn: impl FnMut(&Turn),
    ) {
        if self.order == Order::ActiveList {
            let mut ahead = self.back;
            while queues[ahead.index()].next != queue {
                ahead = queues[ahead.index()].next;
            }
            let next = queues[queue.index()].next;
            queues[ahead.index()].next = next;
            if self.back == queue {
                self.back = ahead;
            }
            if self.current == queue {
                self.current = next;
                self.in_turn = false;
            }
        } else if self.current == queue {
            self.in_turn = false;
        }
        let event = TurnEvent::Withdrawn;
        turn(&Turn { queue, now, event });
    }
}

impl Scheduler for Wrr {
    #[inline]
    fn queues(&self) -> u8 {
        // At most 128, as checked by `new`.
        self.queues.len() as u8
    }

    #[inline]
    fn on_active(&mut self, queue: QueueId, len: u32, now: Time, turn: impl FnMut(&Turn)) {
        let all = members(&self.queues, self.active);
        self.cycle.on_active(&mut self.queues, &all, queue, len, now, turn);
        self.active.insert(queue);
    }

    #[inline]
    fn pick(&mut self, now: Time, turn: impl FnMut(&Turn)) -> Pick {
        let all = members(&self.queues, self.active);
        self.cycle.pick(&self.queues, &all, now, turn)
    }

    #[inline]
    fn on_departed(
        &mut self,
        queue: QueueId,
        len: u32,
        next: Option<u32>,
        now: Time,
        turn: impl FnMut(&Turn),
    ) {
        if next.is_none() {
            self.active.remove(queue);
        }
        self.cycle.on_departed(&mut self.queues, queue, len, next, now, turn);
    }

    fn withdraw(&mut self, queue: QueueId, _: &[u32], now: Time, turn: impl FnMut(&Turn)) {
        self.active.remove(queue);
        self.cycle.withdraw(&mut self.queues, queue, now, turn);
    }

    fn round(&self, queue: QueueId) -> Option<Round> {
        let quantum = self.queues.get(queue.index())?.quantum;
        Some(Round { group: 0, quantum })
    }
}

impl Discipline for Turns {
    type Queue = State;
    type Group = Cycle;

    fn new_group(&self, members: &Members) -> Cycle {
        Cycle::new(self.order, members)
    }

    #[inline]
    fn load(&self, queues: &[State], members: &Members) -> Cycle {
        let State { budget, current, back, in_turn, .. } = queues[usize::from(members.first)];
        Cycle { budget, current, back, in_turn, order: self.order }
    }

    #[inline]
    fn store(&self, queues: &mut [State], members: &Members, cycle: Cycle) {
        let state = &mut queues[usize::from(members.first)];
        state.budget = cycle.budget;
        state.current = cycle.current;
        state.back = cycle.back;
        state.in_turn = cycle.in_turn;
    }

    #[inline]
    fn on_active(
        &mut self,
        part: &mut GroupView<'_, Self>,
        queue: QueueId,
        len: u32,
        now: Time,
        turn: impl FnMut(&Turn),
    ) {
        let GroupView { queues, group, members } = part;
        group.on_active(queues, members, queue, len, now, turn);
    }

    #[inline]
    fn pick(&mut self, part: &mut GroupView<'_, Self>, now: Time, turn: impl FnMut(&Turn)) -> Pick {
        part.group.pick(part.queues, &part.members, now, turn)
    }

    #[inline]
    fn on_departed(
        &mut self,
        GroupView { queues, group, .. }: &mut GroupView<'_, Self>,
        queue: QueueId,
        len: u32,
        next: Option<u32>,
        now: Time,
        turn: impl FnMut(&Turn),
    ) {
        group.on_departed(queues, queue, len, next, now, turn);
    }

    fn withdraw(
        &mut self,
        GroupView { queues, group, .. }: &mut GroupView<'_, Self>,
        queue: QueueId,
        _: &[u32],
        now: Time,
        turn: impl FnMut(&Turn),
    ) {
        group.withdraw(queues, queue, now, turn);
    }

    fn quantum(queue: &State) -> Option<u32> {
        Some(queue.quantum)
    }
}

#[cfg(test)]
mod tests;
