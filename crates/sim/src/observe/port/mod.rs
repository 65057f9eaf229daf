//! A port with observers, in place of the port itself.

use tidegate_dataplane::buffer::AnyBuffer;
use tidegate_dataplane::egress::{Egress, Offer, Sent, Served};
use tidegate_dataplane::observe::{
    DecisionObserver, Decisions, FlowObserver, ObservedQueue, PortObserver,
};
use tidegate_dataplane::sched::QueueSet;
use tidegate_dataplane::{Accepted, Action, Departure, DropReason, Pkt, PortStats, QueueStats};
use tidegate_units::{ByteTime, ConfigError, PktId, QueueId, Rate, Time};

use super::Observe;
use super::journal::PortJournal;
use crate::network::LinkId;

/// An observed port, which behaves exactly like the inner port.
pub(crate) struct ObservedPort {
    inner: Box<dyn Egress>,
    wire: ByteTime,
    observers: Observers,
    departures: Vec<Departure>,
}

/// Observers of a port.
#[derive(Debug, Default)]
pub(crate) struct Observers {
    /// Observer of the queues, if requested.
    queues: Option<PortObserver>,
    /// Observer of the flows, if requested.
    flows: Option<FlowObserver>,
    /// Comparison with the ideal marker, if requested.
    decisions: Option<DecisionObserver>,
    /// Journal of single packets, if requested.
    journal: Option<PortJournal>,
}

/// Wraps the port of a link in its observers, if there are any.
pub(crate) fn observed(
    port: Box<dyn Egress>,
    link: LinkId,
    rate: Rate,
    observe: &Observe,
) -> Result<Box<dyn Egress>, ConfigError> {
    Ok(match Observers::new(link, rate, observe, port.queues(), port.stats())? {
        None => port,
        Some(observers) => Box::new(ObservedPort::new(port, rate, observers)),
    })
}

impl Observers {
    /// Creates the observers of a link's port with `queues` queues and these counters so far, if
    /// any are requested.
    pub(crate) fn new(
        link: LinkId,
        rate: Rate,
        observe: &Observe,
        queues: u8,
        stats: &PortStats,
    ) -> Result<Option<Self>, ConfigError> {
        let has_queues = observe.ports.has(link);
        let flows = observe.port_flows.as_ref();
        let flows = flows.filter(|flows| flows.ports.has(link));
        let journal = observe.journal.as_ref();
        let journal = journal.filter(|journal| journal.ports.contains(&link));
        if !has_queues && flows.is_none() && journal.is_none() {
            return Ok(None);
        }
        let mut observers = Self {
            queues: has_queues.then(|| PortObserver::new(observe.window, queues, stats)),
            journal: journal.map(|journal| PortJournal::new(journal.limit)),
            ..Self::default()
        };
        if let Some(flows) = flows {
            observers.flows = Some(FlowObserver::new(observe.window, flows.period));
            if let Some(span) = flows.ideal {
                let decisions =
                    DecisionObserver::new(observe.window, span, rate).map_err(|_| {
                        let allowed = "long enough for a byte at the speed of each port";
                        ConfigError::out_of_range("observe.port_flows.ideal", span, allowed)
                    })?;
                observers.decisions = Some(decisions);
            }
        }
        Ok(Some(observers))
    }

    /// Observations of the port's queues until `now`.
    pub(crate) fn observed(&self, now: Time) -> impl Iterator<Item = ObservedQueue> {
        let queues = self.queues.iter();
        queues.flat_map(move |queues| queues.observed(now))
    }

    /// Comparison with the ideal marker, if requested.
    pub(crate) fn decisions(&self) -> Option<Decisions> {
        self.decisions.as_ref().map(DecisionObserver::seen)
    }

    /// Journal of the port's packets, if requested.
    pub(crate) const fn journal(&self) -> Option<&PortJournal> {
        self.journal.as_ref()
    }

    /// Flows of the port, if they are distinguished.
    pub(crate) const fn flows(&self) -> Option<&FlowObserver> {
        self.flows.as_ref()
    }

    /// Records an admitted packet, with the bytes waiting in its queue and at the port.
    pub(crate) fn on_accepted(
        &mut self,
        now: Time,
        (id, pkt): (PktId, &Pkt),
        accepted: Accepted,
        met: (u32, u32),
        stats: &PortStats,
    ) {
        if let Some(journal) = &mut self.journal {
            journal.on_accepted(now, id, pkt, accepted, met, stats);
        }
        if let Some(queues) = &mut self.queues {
            queues.on_accepted(now, accepted.queue, pkt.len, stats);
        }
        if let Some(flows) = &mut self.flows {
            flows.on_accepted(now, pkt.flow, pkt.len);
        }
        if let Some(decisions) = &mut self.decisions {
            decisions.on_accepted(now, id, pkt);
        }
    }

    /// Records packets that left the port, at most one of them onto the wire.
    pub(crate) fn on_departures(&mut self, departures: &[Departure], stats: &PortStats) {
        if let Some(queues) = &mut self.queues {
            for departure in departures {
                queues.on_departure(departure.at, departure);
            }
            // Only a packet that is sent is marked.
            if let Some(last) = departures.last() {
                queues.note_marks(last.at, last.queue, stats);
            }
        }
        if let Some(flows) = &mut self.flows {
            for departure in departures {
                flows.on_departure(departure.at, departure.flow, departure.len);
            }
        }
        if let Some(journal) = &mut self.journal {
            for departure in departures {
                journal.on_departure(departure, stats);
            }
        }
        if let Some(decisions) = &mut self.decisions {
            for departure in departures {
                decisions.on_departure(departure);
            }
        }
    }
}

impl ObservedPort {
    /// Wraps a port whose wire has this rate.
    fn new(inner: Box<dyn Egress>, rate: Rate, observers: Observers) -> Self {
        Self { inner, wire: ByteTime::new(rate), observers, departures: Vec::new() }
    }

    /// The observers.
    pub(crate) const fn observers(&self) -> &Observers {
        &self.observers
    }

    /// Takes the departures one start at a time, so that each mark can be attributed to its packet.
    fn settle(&mut self, until: Time, buffer: &mut AnyBuffer, out: &mut Vec<Departure>) {
        let is_due = |start: &Time| *start <= until;
        while let Some(start) = self.inner.next_start().filter(is_due) {
            let first = out.len();
            self.inner.drain(start, buffer, out);
            self.observers.on_departures(&out[first..], self.inner.stats());
        }
    }

    /// Passes the departures on as [`Egress::serve`] does.
    fn hand_over(&mut self, served: &mut Served) {
        for departure in self.departures.drain(..) {
            let Departure { at, id, ecn, .. } = departure;
            match departure.action {
                Action::Drop(_) => served.dropped.push((id, at)),
                Action::Send => {
                    served.sent.push(Sent { end: at + self.wire.span(departure.len), id, ecn });
                }
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
        let observers = &mut self.observers;
        let has_journal = observers.journal.is_some();
        let port_bytes = if has_journal { self.inner.bytes() } else { 0 };
        let taken = self.inner.arrive(id, pkt, queue, now, buffer, out);
        let inner = &*self.inner;
        // Only a journal records the queue lengths that a packet met.
        let held = |queue| {
            let stats = has_journal.then(|| inner.queue_stats(queue)).flatten();
            stats.map_or(0, |stats| stats.held_bytes)
        };
        match taken {
            Ok(accepted) => {
                let waiting = held(accepted.queue).saturating_sub(pkt.len);
                let met = (waiting, port_bytes);
                observers.on_accepted(now, (id, &pkt), accepted, met, inner.stats());
            }
            Err(reason) => {
                if let Some(journal) = &mut observers.journal {
                    let queue = inner.last_drop().unwrap_or(queue);
                    let met = (held(queue), port_bytes);
                    journal.on_refused(now, &pkt, queue, met, reason);
                }
                if let Some(queues) = &mut observers.queues {
                    queues.on_refused(now, inner.last_drop(), reason);
                }
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
