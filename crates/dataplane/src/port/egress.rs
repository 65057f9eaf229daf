//! A port behind a pointer, for hosts that drive it lazily: see [`Port::depart`].
//!
//! [`Port<AnyMarker, AnyScheduler>`](Port) selects its scheme and its scheduler again at every
//! hook. A `dyn Egress` is a port of one scheme's own type, and serves many packets in one virtual
//! call. The crate `tidegate-ports` builds it from the names of its parts.

use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

use tidegate_units::{Ecn, PktId, QueueId, Rate, Time};

use super::{Accepted, Action, Departure, Port};
use crate::buffer::{AnyBuffer, Buffer};
use crate::mark::Marker;
use crate::sched::{QueueSet, Scheduler};
use crate::{DropReason, Pkt, PortStats, QueueStats};

/// A packet offered to a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Arrival time.
    pub at: Time,
    /// Facts that decisions need.
    pub pkt: Pkt,
    /// Id of the packet.
    pub id: PktId,
    /// Requested queue.
    pub queue: QueueId,
}

/// A packet sent by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Time at which its last bit is on the wire.
    pub end: Time,
    /// Id of the packet, which the host owns again.
    pub id: PktId,
    /// Current codepoint.
    pub ecn: Ecn,
}

/// Results of serving a port.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// Packets to carry on, in order of departure.
    pub sent: Vec<Sent>,
    /// Packets to free, with the times of their drops.
    pub dropped: Vec<(PktId, Time)>,
}

/// A port of any scheme and scheduler. A host that wraps ports finds its own type again through
/// [`Any`].
pub trait Egress: Any + Send {
    /// Handles all events at the port up to `until`: offers the packets, which must be in order of
    /// time, and takes every departure that starts no later, between and after them. One call
    /// replaces [`arrive`](Self::arrive) and [`drain`](Self::drain) for many packets. Returns the
    /// start of the next departure, like [`next_start`](Self::next_start).
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

    /// Start of the next departure, or `None` if the port is empty. [`Time::MAX`] means that all
    /// waiting packets are paused.
    fn next_start(&self) -> Option<Time>;

    /// Pauses exactly these queues from `now` on and resumes all others, see [`Port::pause`]. The
    /// host first drains up to the present moment.
    fn pause(&mut self, queues: QueueSet, now: Time);

    /// Bytes waiting in all queues.
    fn bytes(&self) -> u32;

    /// Packets waiting in all queues.
    fn packets(&self) -> u32;

    /// Whether a queue may hold packets of any class. If so, all queues are paused together, see
    /// [`Port::pause`].
    fn shares_queues(&self) -> bool;

    /// All waiting packets with their queues, unordered. Slow, not for frequent calls.
    fn waiting(&self) -> Vec<(PktId, QueueId)>;

    /// Number of queues.
    fn queues(&self) -> u8;

    /// Counters of `queue`, or `None` if the queue does not exist.
    fn queue_stats(&self, queue: QueueId) -> Option<QueueStats>;

    /// Marks and drops of the port by reason.
    fn stats(&self) -> &PortStats;

    /// Queue that the newest dropped packet was meant for, see [`Port::last_drop`].
    fn last_drop(&self) -> Option<QueueId>;

    /// Current marking threshold of `queue` in bytes, if the scheme has one.
    fn threshold(&self, queue: QueueId) -> Option<u32>;

    /// Estimated service rate of `queue`, if the scheme makes such an estimate.
    fn capacity(&self, queue: QueueId) -> Option<Rate>;

    /// Number of active flows at the port, if the scheme counts them.
    fn active_flows(&self) -> Option<u32>;

    /// Pool length below which the scheme ignores the pool, see [`Marker::ignores_pool_below`]:
    /// `u32::MAX` if the scheme does not read it.
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

/// A port of its own type, or a type that wraps one. The methods of [`Egress`] are compiled in the
/// module of that type: wrappers in several modules are compiled, and compiled again,
/// independently.
pub trait TypedPort: Any + Send {
    /// Its marking scheme.
    type Marker: Marker;
    /// Its scheduler.
    type Scheduler: Scheduler;

    /// The port.
    fn port(&self) -> &Port<Self::Marker, Self::Scheduler>;

    /// The port, to change.
    fn port_mut(&mut self) -> &mut Port<Self::Marker, Self::Scheduler>;

    /// Sends every packet whose departure starts no later than `until`.
    #[doc(hidden)]
    #[inline(never)]
    fn send_until(&mut self, until: Time, buffer: &mut impl Buffer, served: &mut Served)
    where
        Self: Sized,
    {
        let port = self.port_mut();
        while port.is_due(until) {
            port.send(buffer, served);
        }
    }
}

impl<M: Marker + Send + 'static, S: Scheduler + Send + 'static> TypedPort for Port<M, S> {
    type Marker = M;
    type Scheduler = S;

    #[inline]
    fn port(&self) -> &Self {
        self
    }

    #[inline]
    fn port_mut(&mut self) -> &mut Self {
        self
    }
}

impl<P: TypedPort> Egress for P {
    fn serve(
        &mut self,
        offers: &[Offer],
        until: Time,
        buffer: &mut AnyBuffer,
        served: &mut Served,
    ) -> Option<Time> {
        // The most common buffer has code of its own: selecting it again for every packet would
        // cost as much as the rest of its work.
        if let AnyBuffer::PerPort(all) = buffer
            && let Some(mut own) = all.account(self.port().id.index())
        {
            let port = self.port_mut();
            for offer in offers {
                port.take(offer, &mut own, served);
            }
            if port.is_due(until) {
                self.send_until(until, &mut own, served);
            }
        } else {
            let port = self.port_mut();
            for offer in offers {
                port.take(offer, buffer, served);
            }
            self.send_until(until, buffer, served);
        }
        self.port().next_start()
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
        let port = self.port_mut();
        port.take_departures(now, buffer, out);
        port.enqueue(id, pkt, queue, now, buffer)
    }

    fn drain(&mut self, until: Time, buffer: &mut AnyBuffer, out: &mut Vec<Departure>) {
        self.port_mut().take_departures(until, buffer, out);
    }

    fn next_start(&self) -> Option<Time> {
        self.port().next_start()
    }

    fn pause(&mut self, queues: QueueSet, now: Time) {
        self.port_mut().pause(queues, now);
    }

    fn bytes(&self) -> u32 {
        self.port().bytes()
    }

    fn packets(&self) -> u32 {
        self.port().packets()
    }

    fn shares_queues(&self) -> bool {
        self.port().marker.chooses_queues() || self.port().scheduler.is_merged()
    }

    fn waiting(&self) -> Vec<(PktId, QueueId)> {
        self.port().waiting().collect()
    }

    fn queues(&self) -> u8 {
        self.port().queues()
    }

    fn queue_stats(&self, queue: QueueId) -> Option<QueueStats> {
        self.port().queue_stats(queue)
    }

    fn stats(&self) -> &PortStats {
        self.port().stats()
    }

    fn last_drop(&self) -> Option<QueueId> {
        self.port().last_drop()
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        self.port().marker().threshold(queue)
    }

    fn capacity(&self, queue: QueueId) -> Option<Rate> {
        self.port().marker().capacity(queue)
    }

    fn active_flows(&self) -> Option<u32> {
        self.port().marker().flows()
    }

    fn ignores_pool_below(&self) -> u32 {
        self.port().marker().ignores_pool_below()
    }
}

impl<M: Marker, S: Scheduler> Port<M, S> {
    /// Inlined into both of its callers: a call would cost a packet a tenth of its instructions.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with two callers the compiler would not inline it")]
    fn take_departures(&mut self, until: Time, buffer: &mut AnyBuffer, out: &mut Vec<Departure>) {
        while let Some(start) = self.next_start()
            && start <= until
            && let Some(departure) = self.depart_at(start, buffer)
        {
            out.push(departure);
        }
    }
}

/// Summary of a port, without its scheme and scheduler.
impl fmt::Debug for dyn Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress")
            .field("queues", &self.queues())
            .field("packets", &self.packets())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}
