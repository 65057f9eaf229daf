//! WRR: weighted round robin by bytes. Each queue in turn sends what its quantum holds, and what
//! is left of the quantum is lost.
//!
//! Bai et al., "Enabling ECN in Multi-Service Multi-Queue Data Centers" (MQ-ECN), NSDI 2016, whose
//! simulator goes through all queues in the order of their numbers and passes over empty ones. A
//! turn ends when the head packet does not fit into what is left of the quantum, or when the queue
//! empties. TCN's kernel module keeps a list of active queues instead, as DWRR does: an option.
//!
//! Turns under the cyclic order are told as that simulator measures them: a queue that gets its first
//! packet joins, and an empty one that the scheduler passes over starts its measurement anew.
//!
//! Differs from the authors' code: a turn sends one packet at least, even one that is larger than
//! the quantum. Theirs would pass over that queue forever.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use tidegate_units::{ConfigError, QueueId, Time, choices, settings};

use super::queue_set::QueueSet;
use super::{Build, Divide, Pick, Round, Scheduler, Turn, TurnEvent};

choices! {
    /// Whose turn is next.
    pub enum Order {
        /// The active queue that has waited longest for its turn (TCN's kernel module).
        ActiveList = "active-list",
        /// The next active queue by number (MQ-ECN's simulator).
        Cyclic = "cyclic",
    }
}

settings! {
    /// Parameters of WRR.
    pub struct Config {
        /// Bytes each queue may send per turn, one value per queue: one full packet, 1500 bytes
        /// in MQ-ECN's simulator.
        pub quanta: Vec<u32> = alloc::vec![1500],
        /// Whose turn is next.
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
    fn queues(&self) -> usize {
        self.quanta.len()
    }

    fn part(&self, queues: Range<usize>) -> Self {
        Self {
            quanta: self.quanta[queues].to_vec(),
            ..*self
        }
    }
}

/// Weighted round robin.
#[derive(Clone, Debug)]
pub struct Wrr {
    queues: Box<[State]>,
    /// The queues that hold packets.
    active: QueueSet,
    /// What the queue whose turn it is may still send. A whole quantum: it has sent nothing.
    budget: u32,
    /// The queue whose turn it is. Outside a turn: the one whose turn was last under the cyclic
    /// order, the front of the list under the other.
    current: QueueId,
    /// The end of the list of active queues, which means nothing while none is active.
    back: QueueId,
    in_turn: bool,
    order: Order,
}

#[derive(Clone, Debug)]
struct State {
    quantum: u32,
    /// Bytes of the first packet.
    head: u32,
    /// The queue behind this one in the list.
    next: QueueId,
}

impl Wrr {
    /// A scheduler for as many queues as there are quanta.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let count = super::check_quanta(&config.quanta)?;
        let state = |&quantum| State {
            quantum,
            head: 0,
            next: QueueId(0),
        };
        Ok(Self {
            queues: config.quanta.iter().map(state).collect(),
            active: QueueSet::default(),
            budget: 0,
            // The first to be looked at is queue 0.
            current: QueueId(count - 1),
            back: QueueId(0),
            in_turn: false,
            order: config.order,
        })
    }

    /// Begins the turn of the next queue.
    #[inline]
    fn move_on(&mut self, now: Time, turn: &mut impl FnMut(&Turn)) {
        match self.order {
            Order::ActiveList => {
                if self.in_turn {
                    self.back = self.current;
                    self.current = self.queues[self.current.index()].next;
                }
            }
            Order::Cyclic => {
                let last = self.current;
                let next = self.active.above(last).first().or(self.active.first());
                self.current = next.expect("a packet waits");
                let event = TurnEvent::Skipped;
                let mut skip = |passed: Range<u8>| {
                    for queue in passed.map(QueueId) {
                        turn(&Turn { queue, now, event });
                    }
                };
                if self.current > last {
                    skip(last.0 + 1..self.current.0);
                } else {
                    skip(last.0 + 1..self.queues());
                    skip(0..self.current.0);
                }
            }
        }
        self.budget = self.queues[self.current.index()].quantum;
        self.in_turn = true;
    }
}

impl Scheduler for Wrr {
    #[inline]
    fn queues(&self) -> u8 {
        // At most 128, checked when it was made.
        self.queues.len() as u8
    }

    #[inline]
    fn on_active(&mut self, queue: QueueId, len: u32, now: Time, mut turn: impl FnMut(&Turn)) {
        self.queues[queue.index()].head = len;
        if self.order == Order::ActiveList {
            if self.active.is_empty() {
                self.current = queue;
            } else {
                self.queues[self.back.index()].next = queue;
            }
            // The list is a ring, so that sending the front to the back only moves its ends.
            self.queues[queue.index()].next = self.current;
            self.back = queue;
        }
        let event = TurnEvent::Joined;
        turn(&Turn { queue, now, event });
        self.active.insert(queue);
    }

    #[inline]
    fn pick(&mut self, now: Time, mut turn: impl FnMut(&Turn)) -> Pick {
        loop {
            if self.in_turn {
                let queue = self.current;
                let state = &self.queues[queue.index()];
                if state.head <= self.budget || self.budget == state.quantum {
                    self.budget = self.budget.saturating_sub(state.head);
                    return Pick::head(queue);
                }
                let event = TurnEvent::Ended;
                turn(&Turn { queue, now, event });
            }
            self.move_on(now, &mut turn);
        }
    }

    #[inline]
    fn on_departed(
        &mut self,
        queue: QueueId,
        len: u32,
        next: Option<u32>,
        now: Time,
        mut turn: impl FnMut(&Turn),
    ) {
        let state = &mut self.queues[queue.index()];
        if let Some(next) = next {
            state.head = next;
            return;
        }
        if self.order == Order::ActiveList {
            self.current = state.next;
            self.queues[self.back.index()].next = self.current;
        }
        self.active.remove(queue);
        self.in_turn = false;
        let event = TurnEvent::Emptied { len };
        turn(&Turn { queue, now, event });
    }

    fn round(&self, queue: QueueId) -> Option<Round> {
        let quantum = self.queues.get(queue.index())?.quantum;
        Some(Round { group: 0, quantum })
    }
}

#[cfg(test)]
mod tests;
