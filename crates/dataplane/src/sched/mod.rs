//! Schedulers: which queue is served next.
//!
//! A scheduler learns of the packets at the heads of its queues through two hooks, one for a queue
//! that gets its first packet and one for a packet that left, and names the queue to serve.

pub mod dwrr;
mod fifo;

pub use dwrr::Dwrr;
pub use fifo::Fifo;

use tidegate_units::{ConfigError, QueueId, Time};

use crate::{MAX_QUEUES, Pkt, Slot};

/// A change in the turn of a queue under a round-based scheduler, for schemes that measure rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The queue whose turn it is about.
    pub queue: QueueId,
    /// When: the start of the transmission that the scheduler is choosing, or the arrival.
    pub now: Time,
    /// What happened.
    pub event: TurnEvent,
}

/// What happened to a queue's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEvent {
    /// The queue became active and waits for its first turn.
    Joined,
    /// The queue has used its quantum up and goes to the back with packets left.
    Ended,
    /// The queue's last packet, of `len` bytes, begins its transmission.
    Emptied {
        /// Bytes of that packet.
        len: u32,
    },
    /// The scheduler came to the queue and found it empty (only cyclic schedulers look).
    Skipped,
}

/// A queue's part in the rounds of its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Queues with the same number take turns with each other.
    pub group: u8,
    /// Bytes the queue may send per round.
    pub quantum: u32,
}

/// What to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The queue that is served.
    pub queue: QueueId,
    /// Which of its packets: `None` for the first.
    pub slot: Option<Slot>,
}

impl Pick {
    /// The first packet of `queue`.
    #[inline]
    pub const fn head(queue: QueueId) -> Self {
        Self { queue, slot: None }
    }
}

/// Chooses among the queues of one port.
///
/// The port calls [`on_active`](Self::on_active) when a queue gets its first packet,
/// [`pick`](Self::pick) when the wire is free, removes exactly the packet that was picked, and
/// then calls [`on_departed`](Self::on_departed).
pub trait Scheduler {
    /// How many queues there are to serve.
    fn queues(&self) -> u8;

    /// Whether all queues are served as one. Their packets then wait in one list, and the other
    /// hooks speak of queue 0.
    #[inline]
    fn is_merged(&self) -> bool {
        false
    }

    /// Whether packets of `queue` wait by rank, in no list. Their arrivals then come to
    /// [`on_ranked`](Self::on_ranked) instead of [`on_active`](Self::on_active).
    #[inline]
    fn is_ranked(&self, _queue: QueueId) -> bool {
        false
    }

    /// A packet for a ranked queue was stored in `slot`.
    #[inline]
    fn on_ranked(&mut self, _queue: QueueId, _slot: Slot, _pkt: &Pkt, _now: Time) {}

    /// `queue` went from empty to holding one packet of `len` bytes.
    fn on_active(&mut self, queue: QueueId, len: u32, now: Time, turn: impl FnMut(&Turn));

    /// Names the packet to send; the caller removes it. Called only while a packet waits.
    fn pick(&mut self, now: Time, turn: impl FnMut(&Turn)) -> Pick;

    /// The picked packet of `len` bytes left `queue`, whose next packet has `next` bytes, or which
    /// is empty now.
    fn on_departed(
        &mut self,
        queue: QueueId,
        len: u32,
        next: Option<u32>,
        now: Time,
        turn: impl FnMut(&Turn),
    );

    /// The part of `queue` in the rounds, or `None` if it is not served in rounds.
    fn round(&self, _queue: QueueId) -> Option<Round> {
        None
    }
}

/// Checks a number of queues.
fn queue_count(field: &'static str, queues: usize) -> Result<u8, ConfigError> {
    match u8::try_from(queues) {
        Ok(count @ 1..=MAX_QUEUES) => Ok(count),
        _ => {
            let allowed = alloc::format!("1 to {MAX_QUEUES} queues");
            Err(ConfigError::out_of_range(
                field,
                alloc::format!("{queues} queues"),
                allowed,
            ))
        }
    }
}
