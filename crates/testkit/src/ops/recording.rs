//! Parts that pass every call on and record it.

use tidegate_dataplane::buffer::{Buffer, Charge, Request};
use tidegate_dataplane::mark::{Cx, MarkDecision, Marker, Queues};
use tidegate_dataplane::sched::Turn;
use tidegate_dataplane::{DropReason, Pkt};
use tidegate_units::{PortId, QueueId, Rate, Span, Time};

/// A call of a scheme with its answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum MarkerCall {
    Dequeue(Cx, Span, MarkDecision),
    Enqueue(Cx, MarkDecision),
    Queued(Cx),
}

/// A scheme whose calls since the last [`RecordingMarker::take`] are recorded.
#[derive(Debug)]
pub(super) struct RecordingMarker<M> {
    marker: M,
    calls: Vec<MarkerCall>,
    /// Queue that it chose for the newest arrival.
    pub(super) assigned: Option<QueueId>,
}

impl<M> RecordingMarker<M> {
    pub(super) const fn new(marker: M) -> Self {
        Self { marker, calls: Vec::new(), assigned: None }
    }

    pub(super) fn take(&mut self) -> Vec<MarkerCall> {
        std::mem::take(&mut self.calls)
    }
}

impl<M: Marker> Marker for RecordingMarker<M> {
    /// It always reads the pool.
    fn reads_pool(&self) -> bool {
        true
    }

    fn assign(&mut self, pkt: &Pkt, proposed: QueueId, queues: &impl Queues, now: Time) -> QueueId {
        let queue = self.marker.assign(pkt, proposed, queues, now);
        self.assigned = Some(queue);
        queue
    }

    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        let decision = self.marker.on_enqueue(cx);
        self.calls.push(MarkerCall::Enqueue(*cx, decision));
        decision
    }

    fn on_queued(&mut self, cx: &Cx) {
        self.marker.on_queued(cx);
        self.calls.push(MarkerCall::Queued(*cx));
    }

    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        let decision = self.marker.on_dequeue(cx, sojourn);
        self.calls.push(MarkerCall::Dequeue(*cx, sojourn, decision));
        decision
    }

    fn on_turn(&mut self, turn: &Turn) {
        self.marker.on_turn(turn);
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        self.marker.threshold(queue)
    }

    fn capacity(&self, queue: QueueId) -> Option<Rate> {
        self.marker.capacity(queue)
    }
}

/// A buffer that counts outstanding receipts.
#[derive(Debug)]
pub(super) struct Ledger<B> {
    buffer: B,
    pub(super) receipts: u64,
    pub(super) bytes: u64,
    /// Whether a receipt ever had another length than its packet.
    pub(super) is_wrong: bool,
}

impl<B> Ledger<B> {
    pub(super) const fn new(buffer: B) -> Self {
        Self { buffer, receipts: 0, bytes: 0, is_wrong: false }
    }
}

impl<B: Buffer> Buffer for Ledger<B> {
    fn admit(&mut self, request: Request) -> Result<Charge, DropReason> {
        let charge = self.buffer.admit(request)?;
        self.is_wrong |= charge.bytes() != request.len;
        self.receipts += 1;
        self.bytes += u64::from(charge.bytes());
        Ok(charge)
    }

    fn release(&mut self, charge: Charge) {
        // Wraps if a receipt is released twice: the model notices at the next step.
        self.receipts = self.receipts.wrapping_sub(1);
        self.bytes = self.bytes.wrapping_sub(u64::from(charge.bytes()));
        self.buffer.release(charge);
    }

    fn pool_bytes(&self, port: PortId, queue: QueueId) -> u32 {
        self.buffer.pool_bytes(port, queue)
    }
}
