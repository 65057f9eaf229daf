//! DWRR: deficit weighted round robin (Shreedhar and Varghese, SIGCOMM 1995).
//!
//! Active queues form a list. The front queue sends while its head packet fits its deficit, then
//! gets a quantum and goes to the back. A queue that becomes active joins at the back with a full
//! quantum. A queue that empties leaves and loses the rest of its deficit.
//!
//! As in TCN's simulator and kernel module and in ECN♯'s simulator. MQ-ECN's simulator lets a queue
//! join with no deficit and grants the quantum when its turn begins. At any moment a waiting queue
//! has one quantum less there; the order of service and the ends of turns are the same.
//!
//! Differs from the authors' code: with quanta far smaller than a packet, the rounds after the
//! first one without a packet are skipped in one step. The order of service is the same.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tidegate_units::{ConfigError, QueueId, Time, settings};

use super::discipline::{Discipline, Divide, GroupView, Members};
use super::{Build, Pick, Round, Scheduler, Turn, TurnEvent, pass_through};

settings! {
    /// Parameters of DWRR.
    #[named("dwrr", "serves queues in turn, one quantum each, and carries over the rest",
        "schedulers.md#DWRR")]
    pub struct Config {
        /// Bytes each queue may send per round, one value per queue. The papers use one full
        /// packet: 1500 bytes in TCN's simulations; figure 2 of TCN has 18000.
        pub quanta: Vec<u32> = alloc::vec![1500],
    }
}

impl Build for Config {
    type Scheduler = Dwrr;

    fn build(&self) -> Result<Dwrr, ConfigError> {
        Dwrr::new(self)
    }
}

impl Divide for Config {
    type Discipline = Turns;

    fn queues(&self) -> usize {
        self.quanta.len()
    }

    fn divide(&self) -> Result<(Turns, Box<[State]>), ConfigError> {
        Ok((Turns, states(&self.quanta)?))
    }
}

/// Deficit weighted round robin.
#[derive(Clone, Debug)]
pub struct Dwrr {
    queues: Box<[State]>,
    ring: Ring,
}

/// State of a queue.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct State {
    quantum: u32,
    /// Bytes that the queue may still send in this turn, or in its next one.
    deficit: u32,
    /// Bytes of the first packet.
    head: u32,
    /// The active queue behind this one.
    next: QueueId,
    /// In groups: the ring of the group whose first queue this is.
    ring: Ring,
}

/// The list of active queues; `front` and `back` are undefined while `active` is zero.
#[derive(Clone, Copy, Debug, Default)]
#[doc(hidden)]
pub struct Ring {
    front: QueueId,
    back: QueueId,
    active: u8,
}

/// DWRR inside groups.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Turns;

/// States of queues with these quanta.
fn states(quanta: &[u32]) -> Result<Box<[State]>, ConfigError> {
    super::check_quanta(quanta)?;
    let state =
        |&quantum| State { quantum, deficit: 0, head: 0, next: QueueId(0), ring: Ring::default() };
    Ok(quanta.iter().map(state).collect())
}

impl Dwrr {
    /// A scheduler for as many queues as there are quanta.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { queues: states(&config.quanta)?, ring: Ring::default() })
    }
}

impl Ring {
    /// Grants every active queue the quanta of all rounds except the last before one of them can
    /// send.
    #[cold]
    fn skip_rounds(self, queues: &mut [State]) {
        let mut fewest = u32::MAX;
        let mut queue = self.front;
        for _ in 0..self.active {
            let state = &queues[queue.index()];
            let missing = state.head.saturating_sub(state.deficit);
            fewest = fewest.min(missing.div_ceil(state.quantum));
            queue = state.next;
        }
        for _ in 0..self.active {
            let state = &mut queues[queue.index()];
            let granted = state.quantum.saturating_mul(fewest.saturating_sub(1));
            state.deficit = state.deficit.saturating_add(granted);
            queue = state.next;
        }
    }

    #[inline]
    fn on_active(
        &mut self,
        queues: &mut [State],
        queue: QueueId,
        len: u32,
        now: Time,
        mut turn: impl FnMut(&Turn),
    ) {
        let state = &mut queues[queue.index()];
        state.deficit = state.quantum;
        state.head = len;
        if self.active == 0 {
            self.front = queue;
        } else {
            queues[self.back.index()].next = queue;
        }
        // The list is a ring, so that moving the front to the back only moves its ends.
        queues[queue.index()].next = self.front;
        self.back = queue;
        self.active += 1;
        turn(&Turn { queue, now, event: TurnEvent::Joined });
    }

    #[inline]
    fn pick(&mut self, queues: &mut [State], now: Time, mut turn: impl FnMut(&Turn)) -> Pick {
        // Up to two rounds of 128 queues.
        let mut passed = 0_u16;
        loop {
            let queue = self.front;
            let state = &mut queues[queue.index()];
            if let Some(left) = state.deficit.checked_sub(state.head) {
                state.deficit = left;
                return Pick::head(queue);
            }
            state.deficit = state.deficit.saturating_add(state.quantum);
            self.back = queue;
            self.front = state.next;
            turn(&Turn { queue, now, event: TurnEvent::Ended });
            passed += 1;
            if passed == u16::from(self.active) {
                self.skip_rounds(queues);
            }
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
        } else {
            self.front = state.next;
            queues[self.back.index()].next = self.front;
            self.active -= 1;
            turn(&Turn { queue, now, event: TurnEvent::Emptied { len } });
        }
    }
}

impl Ring {
    /// Removes a queue from any position in the list. It loses the rest of its deficit, like a
    /// queue that empties.
    #[cold]
    fn withdraw(
        &mut self,
        queues: &mut [State],
        queue: QueueId,
        now: Time,
        mut turn: impl FnMut(&Turn),
    ) {
        let mut ahead = self.back;
        while queues[ahead.index()].next != queue {
            ahead = queues[ahead.index()].next;
        }
        let next = queues[queue.index()].next;
        queues[ahead.index()].next = next;
        if self.front == queue {
            self.front = next;
        }
        if self.back == queue {
            self.back = ahead;
        }
        self.active -= 1;
        turn(&Turn { queue, now, event: TurnEvent::Withdrawn });
    }
}

impl Scheduler for Dwrr {
    #[inline]
    fn queues(&self) -> u8 {
        // At most 128, as checked by `new`.
        self.queues.len() as u8
    }

    #[inline]
    fn on_active(&mut self, queue: QueueId, len: u32, now: Time, turn: impl FnMut(&Turn)) {
        self.ring.on_active(&mut self.queues, queue, len, now, turn);
    }

    #[inline]
    fn pick(&mut self, now: Time, turn: impl FnMut(&Turn)) -> Pick {
        self.ring.pick(&mut self.queues, now, turn)
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
        self.ring.on_departed(&mut self.queues, queue, len, next, now, turn);
    }

    fn withdraw(&mut self, queue: QueueId, _: &[u32], now: Time, turn: impl FnMut(&Turn)) {
        self.ring.withdraw(&mut self.queues, queue, now, turn);
    }

    #[inline]
    fn on_pass(&mut self, queue: QueueId, len: u32, now: Time, mut turn: impl FnMut(&Turn)) {
        if !Turns.on_pass(&mut self.queues, QueueId(0), queue, len, now, |next| turn(next)) {
            pass_through(self, queue, len, now, turn);
        }
    }

    fn round(&self, queue: QueueId) -> Option<Round> {
        self.queues.get(queue.index()).map(|state| Round { group: 0, quantum: state.quantum })
    }
}

impl Discipline for Turns {
    type Queue = State;
    type Group = Ring;

    fn new_group(&self, _: &Members) -> Ring {
        Ring::default()
    }

    #[inline]
    fn load(&self, queues: &[State], members: &Members) -> Ring {
        queues[usize::from(members.first)].ring
    }

    #[inline]
    fn store(&self, queues: &mut [State], members: &Members, ring: Ring) {
        queues[usize::from(members.first)].ring = ring;
    }

    #[inline]
    fn on_active(
        &mut self,
        GroupView { queues, group, .. }: &mut GroupView<'_, Self>,
        queue: QueueId,
        len: u32,
        now: Time,
        turn: impl FnMut(&Turn),
    ) {
        group.on_active(queues, queue, len, now, turn);
    }

    #[inline]
    fn pick(
        &mut self,
        GroupView { queues, group, .. }: &mut GroupView<'_, Self>,
        now: Time,
        turn: impl FnMut(&Turn),
    ) -> Pick {
        group.pick(queues, now, turn)
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

    #[inline]
    fn on_pass(
        &mut self,
        queues: &mut [State],
        _: QueueId,
        queue: QueueId,
        len: u32,
        now: Time,
        mut turn: impl FnMut(&Turn),
    ) -> bool {
        // A packet that fits the quantum is sent in the turn that begins with it, and the deficit
        // is lost.
        let is_one_turn = len <= queues[queue.index()].quantum;
        if is_one_turn {
            turn(&Turn { queue, now, event: TurnEvent::Joined });
            turn(&Turn { queue, now, event: TurnEvent::Emptied { len } });
        }
        is_one_turn
    }

    fn quantum(queue: &State) -> Option<u32> {
        Some(queue.quantum)
    }
}

#[cfg(test)]
mod tests;
