//! Two schemes at once: a packet is marked if either of them asks for it.
//!
//! Both see every packet, so that the state of each is as if it were alone. When both ask, the mark
//! counts for the first.

use tidegate_units::{QueueId, Rate, Span, Time};

use super::{Cx, Marker, Queues, Verdict};
use crate::Pkt;
use crate::sched::Turn;

/// Marks when `first` or `second` does.
#[derive(Clone, Debug)]
pub struct Or<A, B> {
    /// The scheme whose rule is counted when both ask.
    pub first: A,
    /// The other scheme. If both map flows to queues, this one has the last word.
    pub second: B,
}

impl<A: Marker, B: Marker> Marker for Or<A, B> {
    #[inline]
    fn assign(&mut self, pkt: &Pkt, proposed: QueueId, queues: &impl Queues, now: Time) -> QueueId {
        let proposed = self.first.assign(pkt, proposed, queues, now);
        self.second.assign(pkt, proposed, queues, now)
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> Verdict {
        let first = self.first.on_enqueue(cx);
        first.or(self.second.on_enqueue(cx))
    }

    #[inline]
    fn on_queued(&mut self, cx: &Cx) {
        self.first.on_queued(cx);
        self.second.on_queued(cx);
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> Verdict {
        let first = self.first.on_dequeue(cx, sojourn);
        first.or(self.second.on_dequeue(cx, sojourn))
    }

    #[inline]
    fn on_turn(&mut self, turn: &Turn) {
        self.first.on_turn(turn);
        self.second.on_turn(turn);
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        self.first.threshold(queue).or(self.second.threshold(queue))
    }

    fn capacity(&self, queue: QueueId) -> Option<Rate> {
        self.first.capacity(queue).or(self.second.capacity(queue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;
    use crate::mark::Tcn;
    use crate::mark::testing::cx;

    #[test]
    fn either_scheme_marks() {
        let mut or = Or {
            first: Tcn::step(Span::from_us(20)),
            second: Tcn::step(Span::from_us(10)),
        };
        let verdicts = [10, 11, 21].map(|us| or.on_dequeue(&cx(), Span::from_us(us)));
        let mark = Verdict::Mark(Rule::Sojourn);
        assert_eq!(verdicts, [Verdict::Pass, mark, mark]);
    }
}
