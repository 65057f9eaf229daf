//! A port that is observed, in the place of the port itself.

use tidegate_dataplane::buffer::AnyBuffer;
use tidegate_dataplane::egress::{Egress, Offer, Sent, Served};
use tidegate_dataplane::observe::{ObservedQueue, PortObserver, Window};
use tidegate_dataplane::sched::QueueSet;
use tidegate_dataplane::{Accepted, Action, Departure, DropReason, Pkt, PortStats, QueueStats};
use tidegate_units::{ByteTime, PktId, QueueId, Rate, Time};

/// The port, which does what it would do alone.
pub(crate) struct ObservedPort {
    inner: Box<dyn Egress>,
    wire: ByteTime,
    observer: PortObserver,
    departures: Vec<Departure>,
}

impl ObservedPort {
    /// Observes a port whose wire has this rate.
    pub(crate) fn new(inner: Box<dyn Egress>, rate: Rate, window: Window) -> Self {
        Self {
            observer: PortObserver::new(window, inner.queues(), inner.stats()),
            inner,
            wire: ByteTime::new(rate),
            departures: Vec::new(),
        }
    }

    /// What was observed by `now`.
    pub(crate) fn observed(&self, now: Time) -> impl Iterator<Item = ObservedQueue> {
        self.observer.observed(now)
    }

    /// Takes the departures one start at a time, so that each mark has its packet.
    fn settle(&mut self, until: Time, buffer: &mut AnyBuffer, out: &mut Vec<Departure>) {
        let is_due = |start: &Time| *start <= until;
        while let Some(start) = self.inner.next_start().filter(is_due) {
            let first = out.len();
            self.inner.drain(start, buffer, out);
            for departure in &out[first..] {
                self.observer.on_departure(departure.at, departure);
            }
            // At most one of them was sent, and only what is sent is marked.
            if let Some(last) = out[first..].last() {
                let stats = self.inner.stats();
                self.observer.note_marks(last.at, last.queue, stats);
            }
        }
    }

    /// Hands the departures over as [`Egress::serve`] does.
    fn hand_over(&mut self, served: &mut Served) {
        for departure in self.departures.drain(..) {
            let Departure { at, id, ecn, .. } = departure;
            match departure.action {
                Action::Drop(_) => served.dropped.push((id, at)),
                Action::Send => served.sent.push(Sent {
                    end: at + self.wire.span(departure.len),
                    id,
                    ecn,
                }),
            }
        }
    }
}

impl Egress for ObservedPort {
    fn serve(
        &mut self,
        offers: &[Offer],
        until: Time,
        buffer: &mut AnyBuffer,
        served: &mut Served,
    ) -> Option<Time> {
        let mut out = std::mem::take(&mut self.departures);
        for offer in offers {
            let taken = self.arrive(offer.id, offer.pkt, offer.queue, offer.at, buffer, &mut out);
            if taken.is_err() {
                served.dropped.push((offer.id, offer.at));
            }
        }
        self.settle(until, buffer, &mut out);
        self.departures = out;
        self.hand_over(served);
        self.inner.next_start()
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
        self.settle(now, buffer, out);
        let taken = self.inner.arrive(id, pkt, queue, now, buffer, out);
        match taken {
            Ok(accepted) => {
                let stats = self.inner.stats();
                (self.observer).on_accepted(now, accepted.queue, pkt.len, stats);
            }
            Err(reason) => {
                let queue = self.inner.last_drop();
                self.observer.on_refused(now, queue, reason);
            }
        }
        taken
    }

    fn drain(&mut self, until: Time, buffer: &mut AnyBuffer, out: &mut Vec<Departure>) {
        self.settle(until, buffer, out);
    }

    fn next_start(&self) -> Option<Time> {
        self.inner.next_start()
    }

    fn pause(&mut self, queues: QueueSet, now: Time) {
        self.inner.pause(queues, now);
    }

    fn bytes(&self) -> u32 {
        self.inner.bytes()
    }

    fn packets(&self) -> u32 {
        self.inner.packets()
    }

    fn shares_queues(&self) -> bool {
        self.inner.shares_queues()
    }

    fn waiting(&self) -> Vec<(PktId, QueueId)> {
        self.inner.waiting()
    }

    fn queues(&self) -> u8 {
        self.inner.queues()
    }

    fn queue_stats(&self, queue: QueueId) -> Option<QueueStats> {
        self.inner.queue_stats(queue)
    }

    fn stats(&self) -> &PortStats {
        self.inner.stats()
    }

    fn last_drop(&self) -> Option<QueueId> {
        self.inner.last_drop()
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        self.inner.threshold(queue)
    }

    fn capacity(&self, queue: QueueId) -> Option<Rate> {
        self.inner.capacity(queue)
    }

    fn active_flows(&self) -> Option<u32> {
        self.inner.active_flows()
    }

    fn ignores_pool_below(&self) -> u32 {
        self.inner.ignores_pool_below()
    }
}

#[cfg(test)]
mod tests;
