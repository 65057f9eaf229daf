//! Result of a flow.

use tidegate_units::{Span, Time};

use crate::flow::Flow;

/// Result of one flow. Results are in the order of the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowResult {
    /// Time at which the receiver had the last byte; [`Time::MAX`] if it never did.
    pub received_at: Time,
    /// Time at which the sender knew it; [`Time::MAX`] if it never did.
    pub acked_at: Time,
    /// Segments retransmitted; with DCQCN, times that the sender went back after a NACK.
    pub retransmissions: u32,
    /// Expirations of the retransmission timer.
    pub timeouts: u32,
    /// Data packets that arrived marked; with DCQCN, congestion notifications that the sender
    /// received.
    pub marks: u32,
    /// The sender's smoothed round-trip time at the end; [`Span::MAX`] if it has none.
    pub rtt: Span,
    /// The sender's round-trip time variation at the end.
    pub rtt_variation: Span,
}

impl FlowResult {
    /// Result of a flow that has not started.
    pub const PENDING: Self = Self {
        received_at: Time::MAX,
        acked_at: Time::MAX,
        retransmissions: 0,
        timeouts: 0,
        marks: 0,
        rtt: Span::MAX,
        rtt_variation: Span::ZERO,
    };

    /// Adds the counts of the flow's other end.
    pub(crate) fn add(&mut self, other: &Self) {
        self.received_at = self.received_at.min(other.received_at);
        self.acked_at = self.acked_at.min(other.acked_at);
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.marks += other.marks;
        self.rtt = self.rtt.min(other.rtt);
        self.rtt_variation = self.rtt_variation.max(other.rtt_variation);
    }

    /// The sender's smoothed round-trip time at the end and its variation, if it has them.
    pub fn round_trip(&self) -> Option<(Span, Span)> {
        (self.rtt != Span::MAX).then_some((self.rtt, self.rtt_variation))
    }

    /// Flow completion time: from the application's write until the receiver has the last byte.
    pub fn completion(&self, flow: &Flow) -> Option<Span> {
        (self.received_at != Time::MAX).then(|| self.received_at - flow.start)
    }

    /// Time from the application's write until the sender has the ACK of the last byte: the measure
    /// of TCN's and BCC's simulations.
    pub fn acknowledged(&self, flow: &Flow) -> Option<Span> {
        (self.acked_at != Time::MAX).then(|| self.acked_at - flow.start)
    }
}

const _: () = assert!(size_of::<FlowResult>() + size_of::<Flow>() <= 100);
