//! Runs operations on a port and on the model, and compares them after every step.

use std::fmt::{self, Display, Formatter};

use tidegate_dataplane::buffer::Buffer;
use tidegate_dataplane::mark::{MarkDecision, Marker};
use tidegate_dataplane::sched::Scheduler;
use tidegate_dataplane::{Action, Departure, DropReason, NonEct, Pkt, Port, PortConfig, Rule};
use tidegate_units::{Ecn, PktId, PortId, QueueId, Rate, Time};

use super::Op;
use super::model::{Held, Model};
use super::recording::{Ledger, MarkerCall, RecordingMarker};

/// Way of driving a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// [`Port::depart`], with all departures up to an arrival taken before it.
    Lazy,
    /// [`Port::dequeue`], at any moment.
    Present,
}

/// Way in which a port is built and driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Way of driving the port.
    pub drive: Drive,
    /// Treatment of packets that cannot be marked.
    pub non_ect: NonEct,
    /// Order kept by its scheduler.
    pub order: Order,
}

/// Order kept by a scheduler, apart from queues that wait by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The packets of the whole port.
    PerPort,
    /// The packets of each queue.
    PerQueue,
}

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Number of the operation, from 0; one past the last operation for the final drain.
    step: usize,
    op: Option<Op>,
    what: String,
}

impl Display for Violation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.op {
            Some(op) => write!(f, "operation {} ({op:?}): {}", self.step, self.what),
            None => write!(f, "draining the port at the end: {}", self.what),
        }
    }
}

impl std::error::Error for Violation {}

/// Returns from the function with a message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

/// Wire rate of every port under test. A byte takes whole picoseconds.
const RATE: Rate = Rate::from_gbps(10);
const PORT: PortId = PortId(0);

/// Runs `ops` on a port of these parts. After every step, and while the port is drained at the end:
///
/// - packets that arrived have left or are held, in bytes and packets, per queue and in total;
/// - no packet leaves twice, changed, from a queue other than its own, or out of order within a
///   queue that is not ranked;
/// - packets that are not ECN-capable are never marked, CE stays CE, and a capable packet becomes
///   CE exactly when the scheme asks for it, which is counted for its rule;
/// - drops are counted by reason, and only packets that cannot be marked are dropped for that
///   reason;
/// - the scheme sees the port and its pools without the packet in hand;
/// - every receipt of the buffer is for one held packet, and no pool holds more than the port;
/// - a port that holds a packet yields one; driven lazily, at the announced time, which is when the
///   wire is free; and departures never go back in time.
pub fn check<M: Marker, S: Scheduler, B: Buffer>(
    setup: Setup,
    marker: M,
    scheduler: S,
    buffer: B,
    ops: &[Op],
) -> Result<(), Violation> {
    let config =
        PortConfig { id: PORT, rate: RATE, non_ect: setup.non_ect, ..PortConfig::default() };
    let queues = scheduler.queues();
    let mut run = Run {
        port: Port::new(&config, RecordingMarker::new(marker), scheduler),
        buffer: Ledger::new(buffer),
        model: Model::new(queues),
        setup,
        now: Time::ZERO,
        last_departure: Time::ZERO,
        free_at: Time::ZERO,
        next_id: 0,
    };
    for (step, &op) in ops.iter().enumerate() {
        let done = run.step(op).and_then(|()| run.audit());
        done.map_err(|what| Violation { step, op: Some(op), what })?;
    }
    run.finish().map_err(|what| Violation { step: ops.len(), op: None, what })
}

struct Run<M, S, B> {
    port: Port<RecordingMarker<M>, S>,
    buffer: Ledger<B>,
    model: Model,
    setup: Setup,
    now: Time,
    last_departure: Time,
    /// Time at which the wire is free, for a port that is driven lazily.
    free_at: Time,
    next_id: u32,
}

impl<M: Marker, S: Scheduler, B: Buffer> Run<M, S, B> {
    fn step(&mut self, op: Op) -> Result<(), String> {
        match op {
            Op::Advance(span) => self.now += span,
            Op::Dequeue => {
                self.take_one(self.now)?;
            }
            Op::Drain => self.take_all(self.now)?,
            Op::Enqueue(queue, pkt) => {
                if self.setup.drive == Drive::Lazy {
                    self.take_all(self.now)?;
                }
                self.enqueue(queue, pkt)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.take_all(Time::MAX)?;
        self.audit()?;
        ensure!(self.port.packets() == 0, "{} packets stay", self.port.packets());
        Ok(())
    }

    fn enqueue(&mut self, queue: QueueId, pkt: Pkt) -> Result<(), String> {
        let id = PktId(self.next_id);
        self.next_id += 1;
        let pools = self.pools();
        let result = self.port.enqueue(id, pkt, queue, self.now, &mut self.buffer);
        let calls = self.port.marker_mut().take();
        let verdict = match calls[..] {
            [] => None,
            [MarkerCall::Enqueue(cx, verdict), ref rest @ ..] => {
                let is_fresh = cx.pkt == pkt && cx.now == self.now && self.model.is_seen_in(&cx);
                ensure!(is_fresh, "at enqueue the scheme saw {cx:?}");
                let pool = pools.get(cx.queue.index());
                ensure!(
                    pool == Some(&cx.pool_bytes),
                    "the pool held {pool:?} before the packet, and the scheme saw {cx:?}"
                );
                let is_notified = match rest {
                    [] => true,
                    [MarkerCall::Queued(seen)] => *seen == cx,
                    _ => false,
                };
                ensure!(is_notified, "after {cx:?} the scheme saw {rest:?}");
                Some(verdict)
            }
            _ => return Err(format!("at enqueue the scheme was called for {calls:?}")),
        };
        match result {
            Ok(accepted) => {
                let verdict = verdict.ok_or("a packet was stored that the scheme never saw")?;
                ensure!(calls.len() == 2, "the scheme was not notified that a packet was stored");
                let ecn = self.settle(accepted.queue, pkt.ecn, verdict)?;
                let ecn = ecn.ok_or("a packet was stored that should have been dropped")?;
                ensure!(accepted.ecn == ecn, "expected {ecn:?}, got {accepted:?}");
                let arrival = self.now;
                let pkt = Pkt { ecn, ..pkt };
                self.model.store(accepted.queue, Held { id, pkt, arrival });
            }
            Err(reason) => {
                ensure!(calls.len() < 2, "the scheme was notified that a lost packet was stored");
                self.lose(queue, pkt, verdict, reason)?;
            }
        }
        Ok(())
    }

    /// Bytes in the pool of each queue.
    fn pools(&self) -> Vec<u32> {
        (0..self.port.queues()).map(|queue| self.buffer.pool_bytes(PORT, QueueId(queue))).collect()
    }

    /// Accounts for a packet that was dropped on arrival.
    fn lose(
        &mut self,
        queue: QueueId,
        pkt: Pkt,
        verdict: Option<MarkDecision>,
        reason: DropReason,
    ) -> Result<(), String> {
        // The scheme may have chosen a queue other than the requested one.
        let assigned = self.port.marker().assigned;
        let named = self.port.last_drop();
        ensure!(named == assigned, "a packet for {assigned:?} was dropped for {named:?}");
        self.model.count_drop(reason);
        match (reason, verdict) {
            (DropReason::UnknownQueue, None) => {
                let known = queue.index() < self.model.queues.len();
                ensure!(!known, "queue {queue} exists");
            }
            (DropReason::NotCapable, Some(verdict)) => {
                ensure!(
                    self.is_lost(pkt.ecn, verdict),
                    "{:?} was dropped for {verdict:?}",
                    pkt.ecn
                );
            }
            (DropReason::NotCapable | DropReason::UnknownQueue, _) | (_, Some(_)) => {
                return Err(format!("a drop for {reason} after {verdict:?}"));
            }
            (_, None) => {}
        }
        Ok(())
    }

    fn take_all(&mut self, until: Time) -> Result<(), String> {
        // Every departure removes one packet, so this ends.
        while self.take_one(until)? {}
        Ok(())
    }

    /// Takes one packet, if there is one to take.
    fn take_one(&mut self, until: Time) -> Result<bool, String> {
        let due = match self.setup.drive {
            Drive::Lazy => self.due(until)?,
            Drive::Present => (self.model.packets() > 0).then_some(until),
        };
        let departure = match self.setup.drive {
            Drive::Lazy => self.port.depart(until, &mut self.buffer),
            Drive::Present => self.port.dequeue(until, &mut self.buffer),
        };
        let Some(departure) = departure else {
            ensure!(due.is_none(), "no packet left, though one was due at {due:?}");
            ensure!(self.port.marker_mut().take().is_empty(), "the scheme saw a packet leave");
            return Ok(false);
        };
        ensure!(due == Some(departure.at), "due at {due:?}, got {departure:?}");
        self.depart(&departure)?;
        Ok(true)
    }

    /// Time at which the next packet must leave, if no later than `until`: as soon as there is a
    /// packet and the wire is free.
    fn due(&self, until: Time) -> Result<Option<Time>, String> {
        let start = self.model.oldest().map(|held| held.arrival.max(self.free_at));
        let said = self.port.next_start();
        ensure!(said == start, "the next packet is due at {start:?}, the port says {said:?}");
        Ok(start.filter(|&start| start <= until))
    }

    fn depart(&mut self, departure: &Departure) -> Result<(), String> {
        let &Departure { at, sojourn, id, flow, len, queue, ecn, action, .. } = departure;
        let last = self.last_departure;
        ensure!(at >= last, "a departure at {at} after one at {last}");
        self.last_departure = at;

        let oldest = self.model.oldest().map(|held| held.id);
        let Some((place, held)) = self.model.remove(queue, id) else {
            return Err(format!("packet {id} is not in queue {queue}: {departure:?}"));
        };
        let is_ordered = place == 0 || self.port.scheduler().is_ranked(queue);
        ensure!(is_ordered, "packet {id} overtook {place} others of queue {queue}");
        ensure!(
            self.setup.order == Order::PerQueue || oldest == Some(id),
            "packet {id} overtook {oldest:?}"
        );
        let is_same = (flow, len) == (held.pkt.flow, held.pkt.len);
        ensure!(is_same, "{held:?} left as {departure:?}");
        let waited = at - held.arrival;
        ensure!(sojourn == waited, "waited for {waited}, got {departure:?}");

        let calls = self.port.marker_mut().take();
        let [MarkerCall::Dequeue(cx, shown, verdict)] = calls[..] else {
            return Err(format!("at dequeue the scheme was called for {calls:?}"));
        };
        let is_fresh = cx.queue == queue && cx.now == at && shown == sojourn;
        ensure!(is_fresh && self.model.is_seen_in(&cx), "at dequeue the scheme saw {cx:?}");
        let pool = self.buffer.pool_bytes(PORT, queue);
        ensure!(
            pool == cx.pool_bytes,
            "the pool holds {pool} after the packet, and the scheme saw {cx:?}"
        );
        let seen = (cx.pkt.len, cx.pkt.flow, cx.pkt.ecn);
        let expected = (len, flow, held.pkt.ecn);
        ensure!(seen == expected, "at dequeue the scheme saw {:?}", cx.pkt);

        match self.settle(queue, held.pkt.ecn, verdict)? {
            Some(expected) => {
                ensure!(
                    action == Action::Send && ecn == expected,
                    "{verdict:?} made {departure:?}"
                );
                self.free_at = at + RATE.time_for(len);
            }
            None => {
                let reason = DropReason::NotCapable;
                ensure!(action == Action::Drop(reason), "{verdict:?} made {departure:?}");
                let named = self.port.last_drop();
                ensure!(named == Some(queue), "{departure:?} was lost for {named:?}");
                self.model.count_drop(reason);
            }
        }
        Ok(())
    }

    /// Codepoint of a packet after a verdict, with its mark counted; `None` if the packet is
    /// dropped.
    fn settle(
        &mut self,
        queue: QueueId,
        ecn: Ecn,
        verdict: MarkDecision,
    ) -> Result<Option<Ecn>, String> {
        ensure!(queue.index() < self.model.queues.len(), "there is no queue {queue}");
        Ok(match (ecn, verdict) {
            (Ecn::Ect0 | Ecn::Ect1, MarkDecision::Mark(rule)) => {
                self.model.count_mark(rule);
                Some(Ecn::Ce)
            }
            _ if self.is_lost(ecn, verdict) => None,
            _ => Some(ecn),
        })
    }

    /// Whether a verdict causes a drop.
    fn is_lost(&self, ecn: Ecn, verdict: MarkDecision) -> bool {
        let is_marked = matches!(verdict, MarkDecision::Mark(_));
        is_marked && ecn == Ecn::NotEct && self.setup.non_ect == NonEct::Drop
    }

    /// Compares every counter with the model's.
    fn audit(&self) -> Result<(), String> {
        let Self { port, buffer, model, .. } = self;
        let held = (u64::from(port.packets()), u64::from(port.bytes()));
        let expected = (model.packets() as u64, model.bytes());
        ensure!(held == expected, "the port holds {held:?} instead of {expected:?}");
        ensure!(!buffer.is_wrong, "a receipt is not for the length of its packet");
        let charged = (buffer.receipts, buffer.bytes);
        ensure!(charged == expected, "{charged:?} is charged for {expected:?}");
        for (queue, expected) in (0..).map(QueueId).zip(&model.queues) {
            let stats = port.queue_stats(queue);
            let expected = expected.stats();
            ensure!(stats == Some(expected), "queue {queue}: {stats:?} instead of {expected:?}");
            let pool = buffer.pool_bytes(PORT, queue);
            ensure!(u64::from(pool) <= model.bytes(), "the pool of queue {queue} holds {pool}");
        }
        for rule in Rule::ALL {
            let (got, expected) = (port.stats().marks(rule), model.marks(rule));
            ensure!(got == expected, "{got} marks for {} instead of {expected}", rule.name());
        }
        for reason in DropReason::ALL {
            let (got, expected) = (port.stats().drops(reason), model.drops(reason));
            ensure!(got == expected, "{got} drops for {reason} instead of {expected}");
        }
        let is_empty = model.packets() == 0;
        ensure!(port.next_start().is_none() == is_empty, "next_start and packets disagree");
        Ok(())
    }
}
