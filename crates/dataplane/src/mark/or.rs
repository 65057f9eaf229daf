//! Two schemes at once: a packet is marked if either of them marks it.
//!
//! Both see every packet, so that the state of each is the same as if it were alone. If both mark,
//! the mark counts for the first.

use tidegate_units::{About, Piece, QueueId, Rate, Span, Time};

use super::{Cx, MarkDecision, Marker, Queues};
use crate::Pkt;
use crate::sched::Turn;

/// Description of a pair. A pair has no fields: each scheme has its own.
pub(super) const ABOUT: About =
    About::new("or", "marks a packet if either of two schemes marks it", "schemes/or.md").made_of(
        &[
            Piece {
                key: "first",
                doc: "The scheme whose rule is counted when both mark.",
                example: Some("port-red"),
            },
            Piece { key: "second", doc: "The other scheme.", example: Some("tcn") },
        ],
    );

/// Marks a packet if `first` or `second` marks it.
#[derive(Clone, Debug)]
pub struct Or<A, B> {
    /// The scheme whose rule is counted when both mark.
    pub first: A,
    /// The other scheme. If both map flows to queues, this one decides last.
    pub second: B,
}

impl<A: Marker, B: Marker> Marker for Or<A, B> {
    #[inline]
    fn assign(&mut self, pkt: &Pkt, proposed: QueueId, queues: &impl Queues, now: Time) -> QueueId {
        let proposed = self.first.assign(pkt, proposed, queues, now);
        self.second.assign(pkt, proposed, queues, now)
    }

    fn chooses_queues(&self) -> bool {
        self.first.chooses_queues() || self.second.chooses_queues()
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        let first = self.first.on_enqueue(cx);
        first.or(self.second.on_enqueue(cx))
    }

    #[inline]
    fn on_queued(&mut self, cx: &Cx) {
        self.first.on_queued(cx);
        self.second.on_queued(cx);
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
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

    fn flows(&self) -> Option<u32> {
        self.first.flows().or(self.second.flows())
    }

    #[inline]
    fn reads_pool(&self) -> bool {
        self.first.reads_pool() || self.second.reads_pool()
    }

    fn ignores_pool_below(&self) -> u32 {
        let first = self.first.ignores_pool_below();
        first.min(self.second.ignores_pool_below())
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;

    use tidegate_units::{ConfigError, Rate};

    use super::*;
    use crate::Rule;
    use crate::mark::testing::{cx, port_info};
    use crate::mark::{Config, DropTail, Tcn, tcn};
    use crate::sched::TurnEvent;

    /// A scheme that counts its calls, marks everything, and moves each packet one queue up.
    #[derive(Default)]
    struct Probe {
        enqueued: u32,
        queued: u32,
        dequeued: u32,
        turns: u32,
        estimate: u32,
    }

    impl Marker for Probe {
        fn assign(&mut self, _: &Pkt, proposed: QueueId, _: &impl Queues, _: Time) -> QueueId {
            QueueId(proposed.0 + 1)
        }

        fn on_enqueue(&mut self, _: &Cx) -> MarkDecision {
            self.enqueued += 1;
            MarkDecision::Mark(Rule::QueueLength)
        }

        fn on_queued(&mut self, _: &Cx) {
            self.queued += 1;
        }

        fn on_dequeue(&mut self, _: &Cx, _: Span) -> MarkDecision {
            self.dequeued += 1;
            MarkDecision::Mark(Rule::PortLength)
        }

        fn on_turn(&mut self, _: &Turn) {
            self.turns += 1;
        }

        fn threshold(&self, _: QueueId) -> Option<u32> {
            Some(self.estimate)
        }

        fn capacity(&self, _: QueueId) -> Option<Rate> {
            Some(Rate::from_gbps(self.estimate))
        }
    }

    /// A port without queues.
    struct NoQueues;

    impl Queues for NoQueues {
        fn count(&self) -> u8 {
            0
        }

        fn bytes(&self, _: QueueId) -> u32 {
            0
        }

        fn packets(&self, _: QueueId) -> u32 {
            0
        }
    }

    #[test]
    fn either_scheme_marks() {
        let mut or =
            Or { first: Tcn::step(Span::from_us(20)), second: Tcn::step(Span::from_us(10)) };
        let verdicts = [10, 11, 21].map(|us| or.on_dequeue(&cx(), Span::from_us(us)));
        let mark = MarkDecision::Mark(Rule::Sojourn);
        assert_eq!(verdicts, [MarkDecision::Pass, mark, mark]);
    }

    #[test]
    fn the_schemes_of_nested_pairs_draw_independently() {
        // Half way between its thresholds, each marks every other packet.
        let half = || {
            Config::Tcn(tcn::Config {
                threshold: Some(Span::from_us(20)),
                min_threshold: Some(Span::ZERO),
                ..tcn::Config::default()
            })
        };
        let or = |first, second| Config::Or(Box::new((first, second)));
        let pairs = [or(or(half(), half()), half()), or(half(), or(half(), half()))];
        for pair in pairs {
            let mut scheme = pair.build(&port_info(1)).unwrap();
            let hit = |_: &u32| scheme.on_dequeue(&cx(), Span::from_us(10)) != MarkDecision::Pass;
            let hits = (0..8_000).filter(hit).count();
            // All three spare one packet in eight.
            assert!(hits.abs_diff(7_000) < 150, "{hits}");
        }
    }

    #[test]
    fn both_schemes_see_everything_although_the_first_marks() {
        let mut or = Or { first: Probe::default(), second: Probe::default() };
        assert_eq!(or.on_enqueue(&cx()), MarkDecision::Mark(Rule::QueueLength));
        or.on_queued(&cx());
        assert_eq!(or.on_dequeue(&cx(), Span::ZERO), MarkDecision::Mark(Rule::PortLength));
        or.on_turn(&Turn { queue: QueueId(0), now: Time::ZERO, event: TurnEvent::Joined });
        for probe in [&or.first, &or.second] {
            let calls = [probe.enqueued, probe.queued, probe.dequeued, probe.turns];
            assert_eq!(calls, [1; 4]);
        }
        let queue = or.assign(&cx().pkt, QueueId(5), &NoQueues, Time::ZERO);
        assert_eq!(queue, QueueId(7));
    }

    #[test]
    fn the_first_estimate_is_shown() {
        let probe = |estimate| Probe { estimate, ..Probe::default() };
        let both = Or { first: probe(1), second: probe(2) };
        let second = Or { first: DropTail, second: probe(2) };
        let queue = QueueId(0);
        assert_eq!([both.threshold(queue), second.threshold(queue)], [Some(1), Some(2)]);
        let rates = [1, 2].map(|gbps| Some(Rate::from_gbps(gbps)));
        assert_eq!([both.capacity(queue), second.capacity(queue)], rates);
    }

    #[test]
    fn a_pair_of_parameters_has_a_name_and_no_fields() {
        let tcn = || Config::named("tcn").unwrap();
        let mut pair = Config::Or(Box::new((tcn(), tcn())));
        assert_eq!((pair.name(), pair.fields().len()), ("or", 0));
        assert_eq!(pair.value("threshold"), None);
        let error = pair.set("threshold", "1us").unwrap_err();
        let unknown = ConfigError::UnknownField { field: "threshold".into(), known: &[] };
        assert_eq!(error, unknown);
    }
}
