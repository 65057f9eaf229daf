//! A port behind a pointer, for hosts that drive it lazily: see [`Port::depart`].
//!
//! [`Port<AnyMarker, AnyScheduler>`](Port) chooses its scheme and its scheduler again at every hook.
//! A `dyn Egress` is a port of one scheme's own type, and serves many packets in one virtual call.
//! The crate `tidegate-ports` builds it by the names of its parts.

use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

use tidegate_units::{Ecn, PktId, QueueId, Rate, Time};

use super::{Accepted, Action, Departure, Port};
use crate::buffer::{AnyBuffer, Buffer};
use crate::mark::Marker;
use crate::sched::{QueueSet, Scheduler};
use crate::{DropReason, Pkt, PortStats, QueueStats};

/// A packet that is offered to a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// When it arrives.
    pub at: Time,
    /// What decisions need of it.
    pub pkt: Pkt,
    /// The host's packet.
    pub id: PktId,
    /// The queue it asks for.
    pub queue: QueueId,
}

/// A packet that a port has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When its last bit is on the wire.
    pub end: Time,
    /// The host's packet, in the host's hands again.
    pub id: PktId,
    /// Its codepoint now.
    pub ecn: Ecn,
}

/// What a port hands back.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// Packets to carry on, in the order in which they left.
    pub sent: Vec<Sent>,
    /// Packets to free, and when they were dropped.
    pub dropped: Vec<(PktId, Time)>,
}

/// A port of any scheme and scheduler. A host that wraps ports finds its own again through [`Any`].
pub trait Egress: Any + Send {
    /// Does all that happens at the port up to `until`: offers the packets, which come in order of
    /// time, and in between and after them takes every departure that starts no later. One call
    /// does for many packets what [`arrive`](Self::arrive) and [`drain`](Self::drain) do for each.
    /// Returns when the next departure would start, as [`next_start`](Self::next_start).
    fn serve(
        &mut self,
        offers: &[Offer],
        until: Time,
        buffer: &mut AnyBuffer,
        served: &mut Served,
    ) -> Option<Time>;

    /// Takes all departures that start no later than `now` into `out`, then offers the packet for
    /// `queue`. On `Err` the host still owns `id` and frees it.
    fn arrive(
        &mut self,
        id: PktId,
        pkt: Pkt,
        queue: QueueId,
        now: Time,
        buffer: &mut AnyBuffer,
        out: &mut Vec<Departure>,
    ) -> Result<Accepted, DropReason>;

    /// Takes all departures that start no later than `until` into `out`.
    fn drain(&mut self, until: Time, buffer: &mut AnyBuffer, out: &mut Vec<Departure>);

    /// When the next departure would start, or `None` if the port is empty. [`Time::MAX`] means
    /// that all that waits is paused.
    fn next_start(&self) -> Option<Time>;

    /// Pauses these queues from `now` on and lets all others go on, see [`Port::pause`]. The host
    /// first drains up to the present moment.
    fn pause(&mut self, queues: QueueSet, now: Time);

    /// Bytes waiting in all queues.
    fn bytes(&self) -> u32;

    /// Packets waiting in all queues.
    fn packets(&self) -> u32;

    /// Whether a queue may hold packets of any class: all are then paused together, see
    /// [`Port::pause`].
    fn shares_queues(&self) -> bool;

    /// All packets that wait, each with its queue, in no order. It is not meant to be asked often.
    fn waiting(&self) -> Vec<(PktId, QueueId)>;

    /// Number of queues.
    fn queues(&self) -> u8;

    /// The counters of `queue`, or `None` if there is no such queue.
    fn queue_stats(&self, queue: QueueId) -> Option<QueueStats>;

    /// The port's marks and drops by reason.
    fn stats(&self) -> &PortStats;

    /// The queue that the newest dropped packet was meant for, see [`Port::last_drop`].
    fn last_drop(&self) -> Option<QueueId>;

    /// The marking threshold of `queue` in bytes as it stands, if the scheme has one.
    fn threshold(&self, queue: QueueId) -> Option<u32>;

    /// The scheme's estimate of the rate at which `queue` is served, if it makes one.
    fn capacity(&self, queue: QueueId) -> Option<Rate>;

    /// How many flows the scheme holds to be active at the port, if it counts them.
    fn active_flows(&self) -> Option<u32>;

    /// How full the shared pool may be without any effect on the scheme, see
    /// [`Marker::ignores_pool_below`]: all ones if the scheme does not read it.
    fn ignores_pool_below(&self) -> u32;
}

impl<M: Marker, S: Scheduler> Port<M, S> {
    /// Takes all departures up to a packet's arrival, then offers the packet.
    #[inline]
    fn take(&mut self, offer: &Offer, buffer: &mut impl Buffer, served: &mut Served) {
        while self.ready <= offer.at {
            if self.packets() > 0 {
                if self.scheduler.is_blocked() {
                    break;
                }
                self.send(buffer, served);
            } else if self.scheduler.can_pass() {
                match self.pass_through(offer.pkt, offer.queue, offer.at, buffer) {
                    Ok((ecn, Action::Send)) => {
                        served.sent.push(Sent { end: self.busy_until, id: offer.id, ecn });
                    }
                    Ok((_, Action::Drop(_))) | Err(_) => served.dropped.push((offer.id, offer.at)),
                }
                return;
            } else {
                break;
            }
        }
        let taken = self.enqueue(offer.id, offer.pkt, offer.queue, offer.at, buffer);
        if taken.is_err() {
            served.dropped.push((offer.id, offer.at));
        }
    }

    /// Takes all departures that start no later than `until`.
    #[inline(never)]
    fn send_until(&mut self, until: Time, buffer: &mut impl Buffer, served: &mut Served) {
        while self.is_due(until) {
            self.send(buffer, served);
        }
    }

    /// Takes the next departure of a port that is not empty.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    fn send(&mut self, buffer: &mut impl Buffer, served: &mut Served) {
        let Some(Departure { id, ecn, at, action, .. }) = self.depart_at(self.ready, buffer) else {
            return;
        };
        match action {
            Action::Drop(_) => served.dropped.push((id, at)),
            Action::Send => served.sent.push(Sent { end: self.busy_until, id, ecn }),
        }
    }

    /// Whether a departure starts no later than `until`.
    #[inline]
    fn is_due(&self, until: Time) -> bool {
        self.next_start().is_some_and(|start| start <= until)
    }
}

impl<M: Marker + Send + 'static, S: Scheduler + Send + 'static> Egress for Port<M, S> {
    fn serve(
        &mut self,
        offers: &[Offer],
        until: Time,
        buffer: &mut AnyBuffer,
        served: &mut Served,
    ) -> Option<Time> {
        // The commonest buffer gets code of its own: choosing it again for every packet would cost
        // as much as all else that it does.
        if let AnyBuffer::PerPort(all) = buffer
            && let Some(mut own) = all.account(self.id.index())
        {
            for offer in offers {
                self.take(offer, &mut own, served);
            }
            if self.is_due(until) {
                self.send_until(until, &mut own, served);
            }
        } else {
            for offer in offers {
                self.take(offer, buffer, served);
            }
            self.send_until(until, buffer, served);
        }
        self.next_start()
    }

    fn arrive(
        &mut self,
        id: PktId,
        pkt: Pkt,
        queue: QueueId,
        now: Time,
        buffer: &mut AnyBuffer,
        out: &mut Vec<Departure>,
    ) -> Result<Accepted, DropReason> {
        self.take_departures(now, buffer, out);
        self.enqueue(id, pkt, queue, now, buffer)
    }

    fn drain(&mut self, until: Time, buffer: &mut AnyBuffer, out: &mut Vec<Departure>) {
        self.take_departures(until, buffer, out);
    }

    fn next_start(&self) -> Option<Time> {
        self.next_start()
    }

    fn pause(&mut self, queues: QueueSet, now: Time) {
        self.pause(queues, now);
    }

    fn bytes(&self) -> u32 {
        self.bytes()
    }

    fn packets(&self) -> u32 {
        self.packets()
    }

    fn shares_queues(&self) -> bool {
        self.marker.chooses_queues() || self.scheduler.is_merged()
    }

    fn waiting(&self) -> Vec<(PktId, QueueId)> {
        self.waiting().collect()
    }

    fn queues(&self) -> u8 {
        self.queues()
    }

    fn queue_stats(&self, queue: QueueId) -> Option<QueueStats> {
        self.queue_stats(queue)
    }

    fn stats(&self) -> &PortStats {
        self.stats()
    }

    fn last_drop(&self) -> Option<QueueId> {
        self.last_drop()
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        self.marker().threshold(queue)
    }

    fn capacity(&self, queue: QueueId) -> Option<Rate> {
        self.marker().capacity(queue)
    }

    fn active_flows(&self) -> Option<u32> {
        self.marker().flows()
    }

    fn ignores_pool_below(&self) -> u32 {
        self.marker().ignores_pool_below()
    }
}

impl<M: Marker, S: Scheduler> Port<M, S> {
    /// Compiled into both of its callers: a call would cost a packet a tenth of its instructions.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "two callers make it too long for the compiler's taste"
    )]
    fn take_departures(&mut self, until: Time, buffer: &mut AnyBuffer, out: &mut Vec<Departure>) {
        while let Some(start) = self.next_start()
            && start <= until
            && let Some(departure) = self.depart_at(start, buffer)
        {
            out.push(departure);
        }
    }
}

/// What a host sees at a glance; the scheme and the scheduler are not shown.
impl fmt::Debug for dyn Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress")
            .field("queues", &self.queues())
            .field("packets", &self.packets())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}
