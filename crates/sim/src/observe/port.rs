//! A port that is watched: how long its queues are, how long packets wait in them, and what is marked
//! and dropped.
//!
//! A queue's length is that of the waiting packets: without the one on the wire, which left the queue
//! when its first bit did. Lengths are weighted with the time for which they lasted, so that a packet
//! which passes through an idle port leaves no trace in them.

use tidegate_dataplane::buffer::AnyBuffer;
use tidegate_dataplane::egress::{Egress, Offer, Sent, Served};
use tidegate_dataplane::{
    Accepted, Action, Departure, DropReason, Pkt, PortStats, QueueStats, Rule,
};
use tidegate_units::{ByteTime, PktId, QueueId, Rate, Time};

use super::{Histogram, Window};
use crate::network::LinkId;

/// What was seen of one queue in the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedQueue {
    /// The link that its port sends on.
    pub link: LinkId,
    /// Its number at the port.
    pub queue: QueueId,
    /// How long it was: bytes, weighted with picoseconds.
    pub bytes: Histogram,
    /// How long it was: packets, weighted with picoseconds.
    pub packets: Histogram,
    /// How long packets waited that left in the window, in picoseconds, each with weight one. Those
    /// that were dropped on the way out are left out.
    pub waits: Histogram,
    /// Bytes of the packets that were sent in the window.
    pub sent_bytes: u64,
    /// Packets that were marked here, by rule; see [`marks`](Self::marks).
    marks: [u64; Rule::ALL.len()],
    /// Packets that were dropped here, by reason; see [`drops`](Self::drops).
    drops: [u64; DropReason::ALL.len()],
}

impl ObservedQueue {
    fn new(link: LinkId, queue: u8) -> Self {
        Self {
            link,
            queue: QueueId(queue),
            bytes: Histogram::default(),
            packets: Histogram::default(),
            waits: Histogram::default(),
            sent_bytes: 0,
            marks: [0; Rule::ALL.len()],
            drops: [0; DropReason::ALL.len()],
        }
    }

    /// Packets that were set to CE here because of `rule`.
    pub const fn marks(&self, rule: Rule) -> u64 {
        self.marks[rule as usize]
    }

    /// Packets that were dropped here because of `reason`, on arrival or on the way out.
    pub const fn drops(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }

    /// Packets that were sent.
    pub const fn sent(&self) -> u64 {
        self.waits.total()
    }
}

/// The port, which does what it would do alone.
pub(crate) struct ObservedPort {
    inner: Box<dyn Egress>,
    wire: ByteTime,
    window: Window,
    queues: Box<[Queue]>,
    /// The port's marks, as far as they have been put down to a queue.
    marks: [u64; Rule::ALL.len()],
    departures: Vec<Departure>,
}

struct Queue {
    seen: ObservedQueue,
    bytes: u32,
    packets: u32,
    /// Since when it has this length.
    since: Time,
}

impl Queue {
    /// The length stays as it is until `now`.
    #[inline]
    fn last_until(&mut self, now: Time, window: Window) {
        let span = window.overlap(self.since, now).as_ps();
        self.seen.bytes.add(u64::from(self.bytes), span);
        self.seen.packets.add(u64::from(self.packets), span);
        self.since = now;
    }
}

impl ObservedPort {
    /// Watches the port of `link`, whose wire has this rate.
    pub(crate) fn new(inner: Box<dyn Egress>, link: LinkId, rate: Rate, window: Window) -> Self {
        let queue = |queue| Queue {
            seen: ObservedQueue::new(link, queue),
            bytes: 0,
            packets: 0,
            since: Time::ZERO,
        };
        Self {
            queues: (0..inner.queues()).map(queue).collect(),
            inner,
            wire: ByteTime::new(rate),
            window,
            marks: [0; Rule::ALL.len()],
            departures: Vec::new(),
        }
    }

    /// What was seen by `now`.
    pub(crate) fn seen(&self, now: Time) -> impl Iterator<Item = ObservedQueue> {
        self.queues.iter().map(move |queue| {
            let mut queue = Queue {
                seen: queue.seen.clone(),
                ..*queue
            };
            queue.last_until(now, self.window);
            queue.seen
        })
    }

    /// Takes the departures one start at a time, so that each mark has its packet.
    fn settle(&mut self, until: Time, buffer: &mut AnyBuffer, out: &mut Vec<Departure>) {
        let is_due = |start: &Time| *start <= until;
        while let Some(start) = self.inner.next_start().filter(is_due) {
            let first = out.len();
            self.inner.drain(start, buffer, out);
            for departure in &out[first..] {
                self.on_departure(departure);
            }
            // At most one of them was sent, and only what is sent is marked.
            if let Some(last) = out[first..].last() {
                self.note_marks(last.queue, last.at);
            }
        }
    }

    fn on_departure(&mut self, departure: &Departure) {
        let queue = &mut self.queues[departure.queue.index()];
        queue.last_until(departure.at, self.window);
        queue.bytes -= departure.len;
        queue.packets -= 1;
        let belongs = self.window.contains(departure.at);
        match departure.action {
            Action::Drop(reason) => queue.seen.drops[reason as usize] += u64::from(belongs),
            Action::Send => {
                let weight = u64::from(belongs);
                queue.seen.waits.add(departure.sojourn.as_ps(), weight);
                queue.seen.sent_bytes += weight * u64::from(departure.len);
            }
        }
    }

    /// Puts the marks that the port has made since the last time down to `queue`.
    #[inline]
    fn note_marks(&mut self, queue: QueueId, at: Time) {
        let belongs = self.window.contains(at);
        for (&rule, known) in Rule::ALL.iter().zip(&mut self.marks) {
            let marks = self.inner.stats().marks(rule);
            if belongs {
                self.queues[queue.index()].seen.marks[rule as usize] += marks - *known;
            }
            *known = marks;
        }
    }

    /// Puts a drop on arrival down to the queue that the packet was meant for: the one that it asked
    /// for, or another that the scheme has chosen.
    #[cold]
    fn note_drop(&mut self, reason: DropReason, at: Time) {
        let belongs = self.window.contains(at);
        let queue = self.inner.last_drop();
        if let Some(queue) = queue.and_then(|queue| self.queues.get_mut(queue.index())) {
            queue.seen.drops[reason as usize] += u64::from(belongs);
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
                let queue = &mut self.queues[accepted.queue.index()];
                queue.last_until(now, self.window);
                queue.bytes += pkt.len;
                queue.packets += 1;
                self.note_marks(accepted.queue, now);
            }
            Err(reason) => self.note_drop(reason, now),
        }
        taken
    }

    fn drain(&mut self, until: Time, buffer: &mut AnyBuffer, out: &mut Vec<Departure>) {
        self.settle(until, buffer, out);
    }

    fn next_start(&self) -> Option<Time> {
        self.inner.next_start()
    }

    fn hold(&mut self, at: Time) {
        self.inner.hold(at);
    }

    fn bytes(&self) -> u32 {
        self.inner.bytes()
    }

    fn packets(&self) -> u32 {
        self.inner.packets()
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
