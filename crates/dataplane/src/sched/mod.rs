//! Schedulers: the rules that choose the queue to serve next.
//!
//! Two hooks tell a scheduler about the heads of its queues: one when a queue gets its first
//! packet, one when a packet has left. The scheduler then names the queue to serve. A [`Gate`] in
//! front of it hides paused queues.

mod discipline;
pub mod dwrr;
pub mod fifo;
mod gate;
pub mod layered;
pub mod pifo;
mod queue_set;
pub mod strict;
mod virtual_time;
pub mod wfq;
pub mod wrr;

pub use dwrr::Dwrr;
pub use fifo::Fifo;
pub use gate::Gate;
pub use layered::Layered;
pub use pifo::Pifo;
pub use queue_set::QueueSet;
pub use strict::Strict;
pub use wfq::Wfq;
pub use wrr::Wrr;

use tidegate_units::{ConfigError, QueueId, Settings, Time, catalogue};

use crate::{MAX_QUEUES, Pkt, Slot};

/// A change in the turn of a queue under a round-based scheduler, for schemes that measure rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The queue that has the turn.
    pub queue: QueueId,
    /// Time: the start of the transmission that the scheduler is choosing, or the arrival.
    pub now: Time,
    /// The change.
    pub event: TurnEvent,
}

/// Kind of change in a queue's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEvent {
    /// The queue got its first packet and waits for its turn.
    Joined,
    /// The queue has used up its quantum and goes to the back with packets left.
    Ended,
    /// The queue's last packet, of `len` bytes, begins its transmission.
    Emptied {
        /// Bytes of that packet.
        len: u32,
    },
    /// The scheduler reached the queue and found it empty (cyclic schedulers only).
    Skipped,
    /// The queue holds packets and is paused: it leaves without the end of a turn.
    Withdrawn,
}

/// A queue's share of the rounds of its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Group: queues with the same number take turns with each other.
    pub group: u8,
    /// Bytes the queue may send per round.
    pub quantum: u32,
}

/// A scheduler's choice of the next packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The queue that is served.
    pub queue: QueueId,
    /// The packet in the queue: `None` for the first.
    pub slot: Option<Slot>,
}

impl Pick {
    /// The first packet of `queue`.
    #[inline]
    pub const fn head(queue: QueueId) -> Self {
        Self { queue, slot: None }
    }
}

/// A scheduler: chooses among the queues of one port.
///
/// The port calls [`on_active`](Self::on_active) when a queue gets its first packet,
/// [`pick`](Self::pick) when the wire is free, removes exactly the packet that was picked, and
/// then calls [`on_departed`](Self::on_departed).
pub trait Scheduler {
    /// Number of queues to serve.
    fn queues(&self) -> u8;

    /// Whether all queues are served as one. Their packets then wait in one list, and the other
    /// hooks name queue 0.
    #[inline]
    fn is_merged(&self) -> bool {
        false
    }

    /// Whether packets of `queue` wait by rank instead of in a list. Their arrivals then call
    /// [`on_ranked`](Self::on_ranked) instead of [`on_active`](Self::on_active).
    #[inline]
    fn is_ranked(&self, _queue: QueueId) -> bool {
        false
    }

    /// Whether packets of at least one queue wait [by rank](Self::is_ranked).
    const RANKS_PACKETS: bool = false;

    /// The same for a scheduler chosen at run time.
    #[inline]
    fn ranks_packets(&self) -> bool {
        Self::RANKS_PACKETS
    }

    /// Records a packet for a ranked queue, stored in `slot`.
    #[inline]
    fn on_ranked(&mut self, _queue: QueueId, _slot: Slot, _pkt: &Pkt, _now: Time) {}

    /// Records that `queue` went from empty to holding one packet of `len` bytes.
    fn on_active(&mut self, queue: QueueId, len: u32, now: Time, turn: impl FnMut(&Turn));

    /// Chooses the packet to send; the caller removes it. Called only while a packet waits.
    fn pick(&mut self, now: Time, turn: impl FnMut(&Turn)) -> Pick;

    /// Records that the picked packet of `len` bytes left `queue`. `next` is the length of the
    /// queue's next packet, `None` if the queue is now empty.
    fn on_departed(
        &mut self,
        queue: QueueId,
        len: u32,
        next: Option<u32>,
        now: Time,
        turn: impl FnMut(&Turn),
    );

    /// Withdraws `queue`, which holds packets: it may not be served and is treated as empty until
    /// it comes back through [`on_active`](Self::on_active) or, if it is ranked, through
    /// [`restore`](Self::restore). Never called between `pick` and `on_departed`. `heads` are the
    /// lengths of the first packets of all queues that hold packets and are not ranked.
    fn withdraw(&mut self, queue: QueueId, heads: &[u32], now: Time, turn: impl FnMut(&Turn));

    /// Restores the packets of a withdrawn ranked queue, each with the rank that it got on arrival.
    fn restore(&mut self, _queue: QueueId) {}

    /// Records a packet for a withdrawn ranked queue, stored in `slot`.
    fn on_ranked_aside(&mut self, _queue: QueueId, _slot: Slot, _pkt: &Pkt, _now: Time) {}

    /// Whether there is nothing to pick although packets may wait: all are in paused queues. A
    /// scheduler without a [`Gate`] picks any waiting packet.
    #[inline]
    fn is_blocked(&self) -> bool {
        false
    }

    /// Whether a packet that finds its port ready and empty may take the shortcut
    /// [`on_pass`](Self::on_pass).
    #[inline]
    fn can_pass(&self) -> bool {
        !self.ranks_packets()
    }

    /// Pauses these queues and resumes all others. Only a scheduler behind a [`Gate`] can be
    /// paused.
    fn pause(&mut self, queues: QueueSet, _now: Time, _turn: impl FnMut(&Turn)) {
        debug_assert!(queues.is_empty(), "only a port that was built with a gate can be paused");
    }

    /// Passes through a packet of `len` bytes that came to `queue`, which is not ranked, while no
    /// packet waited anywhere, and that leaves at once. Equivalent to all three hooks above.
    #[inline]
    fn on_pass(&mut self, queue: QueueId, len: u32, now: Time, turn: impl FnMut(&Turn)) {
        pass_through(self, queue, len, now, turn);
    }

    /// The share of `queue` in the rounds, or `None` if it is not served in rounds.
    fn round(&self, _queue: QueueId) -> Option<Round> {
        None
    }

    /// The queue that is served before all others whenever it holds a packet, provided that the
    /// packets of every queue leave in order of arrival. A flow that moves from this queue to any
    /// other keeps its order.
    fn first(&self) -> Option<QueueId> {
        None
    }
}

/// Passes a packet through a scheduler without packets: arrival, pick and departure.
#[inline]
fn pass_through(
    scheduler: &mut (impl Scheduler + ?Sized),
    queue: QueueId,
    len: u32,
    now: Time,
    mut turn: impl FnMut(&Turn),
) {
    scheduler.on_active(queue, len, now, |next| turn(next));
    scheduler.pick(now, |next| turn(next));
    scheduler.on_departed(queue, len, None, now, turn);
}

/// Parameters from which a scheduler is built.
pub trait Build: Settings {
    /// The scheduler.
    type Scheduler: Scheduler;

    /// Builds the scheduler, or names the parameter that cannot be used.
    fn build(&self) -> Result<Self::Scheduler, ConfigError>;
}

/// Declares, from one list, the enum of all schedulers with its forwarding, the enum of their
/// parameters, and the names of both in files and on the command line.
macro_rules! schedulers {
    ($($variant:ident($kind:ty, $config:ty),)*) => {
        /// Any scheduler, chosen at run time.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum AnyScheduler {
            $(
                #[doc = concat!("`", stringify!($kind), "`")]
                $variant($kind),
            )*
        }

        catalogue! {
            /// Parameters of any scheduler.
            #[non_exhaustive]
            pub enum Config {
                []
                $($variant($config),)*
            }
        }

        impl Config {
            /// Builds the scheduler, or names the parameter that cannot be used.
            pub fn build(&self) -> Result<AnyScheduler, ConfigError> {
                Ok(match self {
                    $(Self::$variant(config) => AnyScheduler::$variant(config.build()?),)*
                })
            }

            /// Whether packets wait [by rank](Scheduler::RANKS_PACKETS).
            pub const fn ranks_packets(&self) -> bool {
                match self {
                    $(Self::$variant(_) => <$kind as Scheduler>::RANKS_PACKETS,)*
                }
            }
        }

        /// Calls the same expression with the scheduler, of any type.
        macro_rules! with_scheduler {
            ($any:expr, $scheduler:ident => $call:expr) => {
                match $any {
                    $($crate::sched::AnyScheduler::$variant($scheduler) => $call,)*
                }
            };
        }
    };
}

schedulers! {
    Dwrr(Dwrr, dwrr::Config),
    Fifo(Fifo, fifo::Config),
    Pifo(Pifo, pifo::Config),
    Strict(Strict, strict::Config),
    SpDwrr(Layered<dwrr::Turns>, layered::Config<dwrr::Config>),
    SpPifo(Layered<pifo::Ranks>, layered::Config<pifo::Config>),
    SpWfq(Layered<wfq::Stamps>, layered::Config<wfq::Config>),
    SpWrr(Layered<wrr::Turns>, layered::Config<wrr::Config>),
    Wfq(Wfq, wfq::Config),
    Wrr(Wrr, wrr::Config),
}

impl Scheduler for AnyScheduler {
    #[inline]
    fn queues(&self) -> u8 {
        with_scheduler!(self, scheduler => scheduler.queues())
    }

    #[inline]
    fn is_merged(&self) -> bool {
        with_scheduler!(self, scheduler => scheduler.is_merged())
    }

    #[inline]
    fn is_ranked(&self, queue: QueueId) -> bool {
        with_scheduler!(self, scheduler => scheduler.is_ranked(queue))
    }

    #[inline]
    fn ranks_packets(&self) -> bool {
        with_scheduler!(self, scheduler => scheduler.ranks_packets())
    }

    #[inline]
    fn on_ranked(&mut self, queue: QueueId, slot: Slot, pkt: &Pkt, now: Time) {
        with_scheduler!(self, scheduler => scheduler.on_ranked(queue, slot, pkt, now));
    }

    #[inline]
    fn on_active(&mut self, queue: QueueId, len: u32, now: Time, turn: impl FnMut(&Turn)) {
        with_scheduler!(self, scheduler => scheduler.on_active(queue, len, now, turn));
    }

    #[inline]
    fn pick(&mut self, now: Time, turn: impl FnMut(&Turn)) -> Pick {
        with_scheduler!(self, scheduler => scheduler.pick(now, turn))
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
        with_scheduler!(self, scheduler => scheduler.on_departed(queue, len, next, now, turn));
    }

    #[inline]
    fn on_pass(&mut self, queue: QueueId, len: u32, now: Time, turn: impl FnMut(&Turn)) {
        with_scheduler!(self, scheduler => scheduler.on_pass(queue, len, now, turn));
    }

    fn withdraw(&mut self, queue: QueueId, heads: &[u32], now: Time, turn: impl FnMut(&Turn)) {
        with_scheduler!(self, scheduler => scheduler.withdraw(queue, heads, now, turn));
    }

    fn restore(&mut self, queue: QueueId) {
        with_scheduler!(self, scheduler => scheduler.restore(queue));
    }

    fn on_ranked_aside(&mut self, queue: QueueId, slot: Slot, pkt: &Pkt, now: Time) {
        with_scheduler!(self, scheduler => scheduler.on_ranked_aside(queue, slot, pkt, now));
    }

    fn round(&self, queue: QueueId) -> Option<Round> {
        with_scheduler!(self, scheduler => scheduler.round(queue))
    }

    fn first(&self) -> Option<QueueId> {
        with_scheduler!(self, scheduler => scheduler.first())
    }
}

/// Checks a quantum per queue and returns the number of queues.
fn check_quanta(quanta: &[u32]) -> Result<u8, ConfigError> {
    let count = queue_count("quanta", quanta.len())?;
    if quanta.contains(&0) {
        let allowed = "1 byte or more per queue";
        return Err(ConfigError::out_of_range("quanta", 0, allowed));
    }
    Ok(count)
}

/// Checks a number of queues.
fn queue_count(field: &'static str, queues: usize) -> Result<u8, ConfigError> {
    match u8::try_from(queues) {
        Ok(count @ 1..=MAX_QUEUES) => Ok(count),
        _ => {
            let allowed = alloc::format!("1 to {MAX_QUEUES} queues");
            Err(ConfigError::out_of_range(field, alloc::format!("{queues} queues"), allowed))
        }
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
