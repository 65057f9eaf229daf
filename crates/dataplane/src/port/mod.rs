//! The pipeline of an egress port.
//!
//! On arrival the scheme may choose the queue, the buffer admits or drops, the scheme decides on a
//! mark, and the packet waits. On departure the scheduler picks a queue, the packet leaves it, its
//! bytes are released, and the scheme decides again.
//!
//! A port owns neither packet bytes nor clock nor wire. It can be driven in two ways:
//!
//! - *at the present moment*: the host calls [`Port::dequeue`] whenever its wire is free;
//! - *lazily*: the host calls [`Port::depart`] with a time, and gets the departures up to that time
//!   one by one, each with its own past time. A departure comes before an arrival at the same
//!   moment.
//!
//! A host must use one of the two: packets taken with [`Port::dequeue`] do not occupy the wire that
//! [`Port::depart`] and [`Port::next_start`] model. Times should not go back. If one does, nothing
//! breaks: a packet that leaves before its arrival has a sojourn time of zero.

pub mod egress;

use alloc::boxed::Box;

use tidegate_units::{
    ByteTime, ConfigError, Ecn, FlowId, PktId, PortId, QueueId, Rate, Span, Time, choices,
};

use crate::buffer::{Buffer, Charge, Request};
use crate::mark::custom::{self, Custom};
use crate::mark::{self, AnyMarker, Cx, MarkDecision, Marker, PortInfo, Queues};
use crate::sched::{self, AnyScheduler, Pick, QueueSet, Scheduler};
use crate::store::{Entry, List, Slot, Store};
use crate::{DropReason, Pkt, PortStats, QueueStats};

choices! {
    /// Treatment of a packet that should be marked but is not ECN-capable.
    #[non_exhaustive]
    pub enum NonEct {
        /// Passes unmarked, as in all five papers.
        Pass = "pass",
        /// Dropped, as RFC 3168, section 7 requires of a router.
        Drop = "drop",
    }
}

/// Parameters of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// Number of the port in the switch, by which the buffer knows it.
    pub id: PortId,
    /// Link speed.
    pub rate: Rate,
    /// Treatment of packets that should be marked and cannot be.
    pub non_ect: NonEct,
    /// Seed of the run, for schemes that draw at random.
    pub seed: u64,
    /// Number of the port's random stream, unique within the run.
    pub stream: u64,
    /// Whether its queues may be paused, see [`Port::pause`]; only `tidegate-ports` reads it.
    pub can_pause: bool,
}

impl Default for PortConfig {
    /// Port 0 at 10 Gb/s that is never paused and passes packets that are not ECN-capable, with
    /// seed and stream 0.
    fn default() -> Self {
        Self {
            id: PortId(0),
            rate: Rate::from_gbps(10),
            non_ect: NonEct::Pass,
            seed: 0,
            stream: 0,
            can_pause: false,
        }
    }
}

/// Result of an accepted packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accepted {
    /// Queue that the packet waits in.
    pub queue: QueueId,
    /// Current codepoint: CE if the packet was marked on arrival.
    pub ecn: Ecn,
}

impl Accepted {
    /// A packet that waits in a queue outside of any [`Port`], for observers of such a queue.
    pub const fn waiting(queue: QueueId, pkt: &Pkt) -> Self {
        Self { queue, ecn: pkt.ecn }
    }
}

/// A packet that left its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Departure {
    /// Time of departure: the start of its transmission.
    pub at: Time,
    /// Waiting time.
    pub sojourn: Span,
    /// Id of the packet, which the host owns again.
    pub id: PktId,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Length in bytes.
    pub len: u32,
    /// Queue that the packet waited in.
    pub queue: QueueId,
    /// Current codepoint: CE if the packet was marked here or before.
    pub ecn: Ecn,
    /// Instruction to send or drop the packet.
    pub action: Action,
}

impl Departure {
    /// A packet that a queue outside of any [`Port`] took in at `came` and sends at `at`, for
    /// observers of such a queue.
    pub fn sent(queue: QueueId, id: PktId, pkt: &Pkt, [came, at]: [Time; 2]) -> Self {
        Self {
            at,
            sojourn: at - came,
            id,
            flow: pkt.flow,
            len: pkt.len,
            queue,
            ecn: pkt.ecn,
            action: Action::Send,
        }
    }
}

/// Instruction to the host for a departed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Drop the packet: the wire stays free and the next packet may leave at the same time.
    Drop(DropReason),
    /// Send the packet.
    Send,
}

/// An egress port. Fields that every packet needs come first, counters of rare events last.
#[derive(Debug)]
#[repr(C)]
pub struct Port<M, S> {
    marker: M,
    queues: Box<[Queue]>,
    store: Store,
    /// Time at which the last packet sent by [`Port::depart`] is off the wire.
    busy_until: Time,
    /// Earliest time at which the next packet may leave: not before `busy_until`, and not before a
    /// packet was available to send, because it arrived or because a pause ended.
    ready: Time,
    wire: ByteTime,
    /// List of all packets, if the scheduler serves the queues as one.
    merged: List,
    bytes: u32,
    id: PortId,
    non_ect: NonEct,
    /// Queue of the newest drop; undefined before the first drop.
    last_drop: QueueId,
    scheduler: S,
    stats: PortStats,
}

/// A queue: the list of its packets and its counters. Departures are not counted: they are the
/// enqueued packets minus the held ones.
///
/// The order of the fields separates counters that change together. If they are adjacent, the
/// compiler joins them into vector instructions, which cost three times as many as plain additions.
#[derive(Debug)]
#[repr(C)]
struct Queue {
    enqueued_bytes: u64,
    bytes: u32,
    list: List,
    packets: u32,
    enqueued_packets: u64,
}

impl Port<AnyMarker, AnyScheduler> {
    /// Builds a port whose scheme and scheduler are chosen at run time, or names the parameter that
    /// cannot be used.
    pub fn build(
        config: &PortConfig,
        marking: &mark::Config,
        scheduling: &sched::Config,
    ) -> Result<Self, ConfigError> {
        let (marker, scheduler) = parts(config, marking, scheduling)?;
        Ok(Self::new(config, marker, scheduler))
    }
}

/// Builds the scheme and the scheduler of a port from their parameters.
pub fn parts(
    config: &PortConfig,
    marking: &mark::Config,
    scheduling: &sched::Config,
) -> Result<(AnyMarker, AnyScheduler), ConfigError> {
    parts_with(config, scheduling, |port| marking.build(port))
}

/// Builds a scheme from outside the library, and the scheduler of its port.
pub fn custom_parts(
    config: &PortConfig,
    factory: &dyn custom::Make,
    scheduling: &sched::Config,
) -> Result<(Custom, AnyScheduler), ConfigError> {
    parts_with(config, scheduling, |port| factory.make(port).map(Custom))
}

/// Builds the parts of a port with a scheme that `make` creates.
fn parts_with<M>(
    config: &PortConfig,
    scheduling: &sched::Config,
    make: impl FnOnce(&PortInfo) -> Result<M, ConfigError>,
) -> Result<(M, AnyScheduler), ConfigError> {
    let scheduler = scheduling.build()?;
    let port = PortInfo {
        rate: config.rate,
        queues: scheduler.queues(),
        round: &|queue| scheduler.round(queue),
        first: scheduler.first(),
        scheduler: scheduling.name(),
        seed: config.seed,
        stream: config.stream,
    };
    let marker = make(&port)?;
    Ok((marker, scheduler))
}

impl Port<Custom, AnyScheduler> {
    /// Builds a port whose scheme is not part of the library, or returns the reason why it cannot
    /// be used.
    pub fn build_custom(
        config: &PortConfig,
        factory: &dyn custom::Make,
        scheduling: &sched::Config,
    ) -> Result<Self, ConfigError> {
        let (marker, scheduler) = custom_parts(config, factory, scheduling)?;
        Ok(Self::new(config, marker, scheduler))
    }
}

impl<M: Marker, S: Scheduler> Port<M, S> {
    /// Creates an empty port with as many queues as `scheduler` serves.
    pub fn new(config: &PortConfig, marker: M, scheduler: S) -> Self {
        let queue = |_| Queue {
            list: List::EMPTY,
            bytes: 0,
            packets: 0,
            enqueued_bytes: 0,
            enqueued_packets: 0,
        };
        Self {
            queues: (0..scheduler.queues()).map(queue).collect(),
            marker,
            scheduler,
            store: Store::new(),
            merged: List::EMPTY,
            bytes: 0,
            busy_until: Time::ZERO,
            ready: Time::ZERO,
            wire: ByteTime::new(config.rate),
            id: config.id,
            non_ect: config.non_ect,
            last_drop: QueueId(0),
            stats: PortStats::default(),
        }
    }

    /// Offers a packet for `queue`. On `Err` the host still owns `id` and frees it.
    ///
    /// A host that drives the port lazily first takes the departures up to `now`.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "on the path of every packet; the compiler removes facts that the scheme does not read"
    )]
    pub fn enqueue(
        &mut self,
        id: PktId,
        mut pkt: Pkt,
        queue: QueueId,
        now: Time,
        buffer: &mut impl Buffer,
    ) -> Result<Accepted, DropReason> {
        let id_of_queue = self.marker.assign(&pkt, queue, &Lengths(&self.queues), now);
        let Some(queue) = self.queues.get_mut(id_of_queue.index()) else {
            return Err(self.ledger().reject(id_of_queue, DropReason::UnknownQueue));
        };
        let cx = Cx {
            now,
            queue: id_of_queue,
            queue_bytes: queue.bytes,
            queue_packets: queue.packets,
            port_bytes: self.bytes,
            port_packets: self.store.packets(),
            pool_bytes: pool_bytes(&self.marker, buffer, self.id, id_of_queue),
            pkt,
        };
        // No buffer of this crate holds more than 2^32 bytes for a port, but another might.
        let Some(port_bytes) = self.bytes.checked_add(pkt.len) else {
            return Err(self.ledger().reject(id_of_queue, DropReason::PortFull));
        };
        let (port, marker) = ((self.id, self.non_ect), &mut self.marker);
        let ledger = Ledger { stats: &mut self.stats, last_drop: &mut self.last_drop };
        let (charge, ecn) = admit(marker, port, &cx, ledger, buffer)?;
        pkt.ecn = ecn;

        self.bytes = port_bytes;
        queue.bytes += pkt.len;
        queue.packets += 1;
        queue.enqueued_bytes += u64::from(pkt.len);
        queue.enqueued_packets += 1;

        let entry = Entry {
            arrival: now,
            id,
            flow: pkt.flow,
            charge,
            next: Slot::NONE,
            ecn: pkt.ecn,
            queue: id_of_queue,
        };
        let was_blocked = self.scheduler.is_blocked();
        if self.scheduler.is_ranked(id_of_queue) {
            let slot = self.store.insert(entry);
            self.note_first(now, was_blocked);
            self.scheduler.on_ranked(id_of_queue, slot, &pkt, now);
        } else {
            let merged = self.scheduler.is_merged();
            let list = if merged { &mut self.merged } else { &mut queue.list };
            if self.store.push(list, entry) {
                self.note_first(now, was_blocked);
                let marker = &mut self.marker;
                let served = if merged { QueueId(0) } else { id_of_queue };
                self.scheduler.on_active(served, pkt.len, now, |turn| marker.on_turn(turn));
            }
        }
        Ok(Accepted { queue: id_of_queue, ecn: pkt.ecn })
    }

    /// Takes the next packet at the present moment `now`, or returns `None` if none may leave. The
    /// host must know that the wire is free.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "on the path of every packet; the compiler removes fields that the host does not read"
    )]
    pub fn dequeue(&mut self, now: Time, buffer: &mut impl Buffer) -> Option<Departure> {
        if self.store.packets() == 0 || self.scheduler.is_blocked() {
            return None;
        }
        let Self { marker, scheduler, queues, store, merged, .. } = self;
        let Pick { queue: served, slot } = scheduler.pick(now, |turn| marker.on_turn(turn));
        let is_merged = scheduler.is_merged();
        let id_of_queue = if is_merged { store.head_queue(*merged) } else { served };
        let queue = &mut queues[id_of_queue.index()];
        let list = if is_merged { merged } else { &mut queue.list };
        let Entry { arrival, id, flow, charge, ecn, .. } = match slot {
            Some(slot) => store.take(slot),
            None => store.pop(list),
        };
        let len = charge.bytes();
        let next = store.head_len(*list);
        scheduler.on_departed(served, len, next, now, |turn| marker.on_turn(turn));

        // Released before the lengths are written: the compiler does not know that a buffer's
        // accounts are elsewhere, and would read the lengths again.
        buffer.release(charge);
        self.bytes -= len;
        queue.bytes -= len;
        queue.packets -= 1;

        let cx = Cx {
            now,
            queue: id_of_queue,
            queue_bytes: queue.bytes,
            queue_packets: queue.packets,
            port_bytes: self.bytes,
            port_packets: self.store.packets(),
            pool_bytes: pool_bytes(marker, buffer, self.id, id_of_queue),
            pkt: Pkt { len, flow, ecn, ..Pkt::default() },
        };
        let sojourn = now - arrival;
        let ledger = Ledger { stats: &mut self.stats, last_drop: &mut self.last_drop };
        let (ecn, action) = decide_departure(marker, self.non_ect, &cx, sojourn, ledger);
        Some(Departure { at: now, sojourn, id, flow, len, queue: id_of_queue, ecn, action })
    }

    /// Does the work of [`enqueue`](Self::enqueue) and [`depart`](Self::depart) for a packet that
    /// leaves at once, because the port is ready and empty. Nothing can observe it waiting, so it
    /// is not stored. Its queue must not be ranked.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "on the path of every packet; the compiler removes facts that the scheme does not read"
    )]
    fn pass_through(
        &mut self,
        pkt: Pkt,
        queue: QueueId,
        now: Time,
        buffer: &mut impl Buffer,
    ) -> Result<(Ecn, Action), DropReason> {
        let id_of_queue = self.marker.assign(&pkt, queue, &Lengths(&self.queues), now);
        let Some(queue) = self.queues.get_mut(id_of_queue.index()) else {
            return Err(self.ledger().reject(id_of_queue, DropReason::UnknownQueue));
        };
        let marker = &mut self.marker;
        let mut cx = Cx {
            now,
            queue: id_of_queue,
            queue_bytes: 0,
            queue_packets: 0,
            port_bytes: 0,
            port_packets: 0,
            pool_bytes: pool_bytes(marker, buffer, self.id, id_of_queue),
            pkt,
        };
        let mut ledger = Ledger { stats: &mut self.stats, last_drop: &mut self.last_drop };
        let ingress = pkt.ingress;
        let request = Request { port: self.id, queue: id_of_queue, ingress, len: pkt.len };
        if let Err(reason) = buffer.pass(request) {
            return Err(ledger.reject(id_of_queue, reason));
        }
        let ecn = decide_arrival(marker, self.non_ect, &cx, ledger)?;
        queue.enqueued_bytes += u64::from(pkt.len);
        queue.enqueued_packets += 1;
        if !self.scheduler.is_merged() {
            self.scheduler.on_pass(id_of_queue, pkt.len, now, |turn| marker.on_turn(turn));
        }
        cx.pkt = Pkt { len: pkt.len, flow: pkt.flow, ecn, ..Pkt::default() };
        cx.pool_bytes = pool_bytes(marker, buffer, self.id, id_of_queue);
        let ledger = Ledger { stats: &mut self.stats, last_drop: &mut self.last_drop };
        let (ecn, action) = decide_departure(marker, self.non_ect, &cx, Span::ZERO, ledger);
        self.ready = now;
        if action == Action::Send {
            self.occupy(now, pkt.len);
        }
        Ok((ecn, action))
    }

    /// Takes the next departure that starts no later than `until` on a wire of the port's rate, or
    /// returns `None` if there is none. Call it until it returns `None`.
    #[inline]
    pub fn depart(&mut self, until: Time, buffer: &mut impl Buffer) -> Option<Departure> {
        let start = self.next_start().filter(|&start| start <= until)?;
        self.depart_at(start, buffer)
    }

    /// Takes the next departure, which starts at `start`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "on the path of every packet of a lazy host")]
    fn depart_at(&mut self, start: Time, buffer: &mut impl Buffer) -> Option<Departure> {
        let departure = self.dequeue(start, buffer)?;
        if departure.action == Action::Send {
            self.occupy(start, departure.len);
        }
        Some(departure)
    }

    /// Puts a packet of `len` bytes on the wire at `start`.
    #[inline]
    fn occupy(&mut self, start: Time, len: u32) {
        let end = start + self.wire.span(len);
        self.busy_until = end;
        self.ready = end;
    }

    /// Start of the next departure; `None` if the port is empty, [`Time::MAX`] if all waiting
    /// packets are paused. Only for a port that is driven with [`depart`](Self::depart).
    #[inline]
    pub fn next_start(&self) -> Option<Time> {
        let start = if self.scheduler.is_blocked() { Time::MAX } else { self.ready };
        (self.store.packets() > 0).then_some(start)
    }

    /// Pauses exactly these queues from `now` on and resumes all others: an empty set resumes the
    /// port. A packet on the wire finishes. All queues are paused together if they hold packets of
    /// any class, because the scheme chooses the queues or the scheduler serves all as one.
    ///
    /// A host first takes the departures up to the present moment. Only for a port that was built
    /// to be paused.
    pub fn pause(&mut self, queues: QueueSet, now: Time) {
        let Self { marker, scheduler, .. } = self;
        let queues = if marker.chooses_queues() && !queues.is_empty() {
            QueueSet::first_queues(scheduler.queues())
        } else {
            queues
        };
        let was_blocked = scheduler.is_blocked();
        scheduler.pause(queues, now, |turn| marker.on_turn(turn));
        if was_blocked {
            self.ready = self.ready.max(now);
        }
    }

    /// Bytes waiting in all queues.
    #[inline]
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Packets waiting in all queues.
    #[inline]
    pub const fn packets(&self) -> u32 {
        self.store.packets()
    }

    /// All waiting packets with their queues, unordered.
    pub fn waiting(&self) -> impl Iterator<Item = (PktId, QueueId)> {
        self.store.waiting()
    }

    /// Number of queues.
    pub fn queues(&self) -> u8 {
        self.scheduler.queues()
    }

    /// Counters of `queue`, or `None` if the queue does not exist.
    pub fn queue_stats(&self, queue: QueueId) -> Option<QueueStats> {
        let queue = self.queues.get(queue.index())?;
        Some(QueueStats {
            enqueued_packets: queue.enqueued_packets,
            enqueued_bytes: queue.enqueued_bytes,
            dequeued_packets: queue.enqueued_packets - u64::from(queue.packets),
            dequeued_bytes: queue.enqueued_bytes - u64::from(queue.bytes),
            held_packets: queue.packets,
            held_bytes: queue.bytes,
        })
    }

    /// Marks and drops of the port by reason.
    pub const fn stats(&self) -> &PortStats {
        &self.stats
    }

    /// Queue that the newest dropped packet was meant for, even if the port has no such queue. A
    /// host that counts drops by queue needs this where the scheme chooses the queues.
    pub fn last_drop(&self) -> Option<QueueId> {
        (self.stats.total_drops() > 0).then_some(self.last_drop)
    }

    /// The scheme, for its thresholds and estimates.
    pub const fn marker(&self) -> &M {
        &self.marker
    }

    /// The scheme, to change its parameters while packets wait.
    pub const fn marker_mut(&mut self) -> &mut M {
        &mut self.marker
    }

    /// The scheduler.
    pub const fn scheduler(&self) -> &S {
        &self.scheduler
    }

    fn ledger(&mut self) -> Ledger<'_> {
        Ledger { stats: &mut self.stats, last_drop: &mut self.last_drop }
    }

    /// Sets the earliest departure when the first packet comes to a port that had none to send.
    #[inline]
    fn note_first(&mut self, now: Time, was_blocked: bool) {
        if self.store.packets() == 1 || was_blocked {
            self.ready = self.ready.max(now);
        }
    }
}

/// Counters of marks and drops.
struct Ledger<'a> {
    stats: &'a mut PortStats,
    last_drop: &'a mut QueueId,
}

impl Ledger<'_> {
    #[cold]
    fn reject(&mut self, queue: QueueId, reason: DropReason) -> DropReason {
        self.stats.drops[reason as usize] += 1;
        *self.last_drop = queue;
        reason
    }
}

/// Admits an arriving packet. Returns its receipt and its codepoint.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "on the path of every packet; the compiler removes facts that the scheme does not read"
)]
fn admit(
    marker: &mut impl Marker,
    (port, non_ect): (PortId, NonEct),
    cx: &Cx,
    mut ledger: Ledger<'_>,
    buffer: &mut impl Buffer,
) -> Result<(Charge, Ecn), DropReason> {
    let request = Request { port, queue: cx.queue, ingress: cx.pkt.ingress, len: cx.pkt.len };
    let charge = match buffer.admit(request) {
        Ok(charge) => charge,
        Err(reason) => return Err(ledger.reject(cx.queue, reason)),
    };
    match decide_arrival(marker, non_ect, cx, ledger) {
        Ok(ecn) => Ok((charge, ecn)),
        Err(reason) => {
            buffer.release(charge);
            Err(reason)
        }
    }
}

/// Decides on a packet that the buffer admitted. Returns its codepoint.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "on the path of every packet; the compiler removes facts that the scheme does not read"
)]
fn decide_arrival(
    marker: &mut impl Marker,
    non_ect: NonEct,
    cx: &Cx,
    mut ledger: Ledger<'_>,
) -> Result<Ecn, DropReason> {
    let mut ecn = cx.pkt.ecn;
    if let MarkDecision::Mark(rule) = marker.on_enqueue(cx) {
        match mark(ecn, non_ect) {
            Marking::AlreadyDone | Marking::Impossible => {}
            Marking::Drop => return Err(ledger.reject(cx.queue, DropReason::NotCapable)),
            Marking::Mark => {
                ecn = Ecn::Ce;
                ledger.stats.marks[rule as usize] += 1;
            }
        }
    }
    marker.on_queued(cx);
    Ok(ecn)
}

/// Decides on a departing packet. Returns its codepoint and its action.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "on the path of every packet; the compiler removes facts that the scheme does not read"
)]
fn decide_departure(
    marker: &mut impl Marker,
    non_ect: NonEct,
    cx: &Cx,
    sojourn: Span,
    mut ledger: Ledger<'_>,
) -> (Ecn, Action) {
    let mut ecn = cx.pkt.ecn;
    let mut action = Action::Send;
    if let MarkDecision::Mark(rule) = marker.on_dequeue(cx, sojourn) {
        match mark(ecn, non_ect) {
            Marking::AlreadyDone | Marking::Impossible => {}
            Marking::Drop => action = Action::Drop(ledger.reject(cx.queue, DropReason::NotCapable)),
            Marking::Mark => {
                ecn = Ecn::Ce;
                ledger.stats.marks[rule as usize] += 1;
            }
        }
    }
    (ecn, action)
}

/// The scheme's view of the pool: zero if it does not read it, because a buffer may have to search.
#[inline]
fn pool_bytes(marker: &impl Marker, buffer: &impl Buffer, port: PortId, queue: QueueId) -> u32 {
    if marker.reads_pool() { buffer.pool_bytes(port, queue) } else { 0 }
}

/// Effect of a mark on a packet.
enum Marking {
    /// The packet already carries CE: nothing to do and nothing to count.
    AlreadyDone,
    Drop,
    Impossible,
    Mark,
}

/// The ECN rule: only ECN-capable packets are marked, and each at most once.
#[inline]
fn mark(ecn: Ecn, non_ect: NonEct) -> Marking {
    match (ecn, non_ect) {
        (Ecn::Ect0 | Ecn::Ect1, _) => Marking::Mark,
        (Ecn::Ce, _) => Marking::AlreadyDone,
        (Ecn::NotEct, NonEct::Pass) => Marking::Impossible,
        (Ecn::NotEct, NonEct::Drop) => Marking::Drop,
    }
}

/// The queues as seen by a scheme.
struct Lengths<'a>(&'a [Queue]);

impl Queues for Lengths<'_> {
    fn count(&self) -> u8 {
        // As many as the scheduler's, at most 128.
        self.0.len() as u8
    }

    #[inline]
    fn bytes(&self, queue: QueueId) -> u32 {
        self.0.get(queue.index()).map_or(0, |queue| queue.bytes)
    }

    #[inline]
    fn packets(&self, queue: QueueId) -> u32 {
        self.0.get(queue.index()).map_or(0, |queue| queue.packets)
    }
}

#[cfg(test)]
mod tests;
