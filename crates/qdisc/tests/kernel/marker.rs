//! A marking scheme that runs in the kernel, beside the library's.

use tidegate_dataplane::Pkt;
use tidegate_dataplane::Rule;
use tidegate_dataplane::mark::{AnyMarker, Config, Cx, MarkDecision, Marker, PortInfo, Queues};
use tidegate_qdisc::kernel::replay::{Call, Replay, Step};
use tidegate_qdisc::setup;
use tidegate_units::{ConfigError, QueueId, Rng, Span, Time};

/// A scheme in the kernel, which draws the library's random numbers. Answers are the kernel's.
pub(crate) struct InKernel {
    replay: Replay,
    rng: Rng,
    /// Sees the same packets, for thresholds, which the programs do not tell.
    library: AnyMarker,
}

impl InKernel {
    /// Builds a scheme with settings that both have; the library's refusals come first.
    pub(crate) fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        let library = config.build(port)?;
        let setup = setup::encode_scheme(config, port.rate, port.queues)?;
        let rng = Rng::new(port.seed, port.stream);
        Ok(Self { replay: Replay::new(&setup).unwrap(), rng, library })
    }

    fn call(&mut self, step: Step) -> u32 {
        let mut rng = self.rng.clone();
        let draw = rng.next_u32();
        let step = self.replay.step(&Step { draw, ..step }).unwrap();
        assert!(step.used <= 1, "{step:?}");
        if step.used > 0 {
            self.rng = rng;
        }
        step.answer
    }

    fn decide(&mut self, call: Call, cx: &Cx, sojourn: Span) -> MarkDecision {
        let rule = self.call(Step {
            call,
            now: cx.now.as_ps(),
            sojourn: sojourn.as_ps(),
            queue: u32::from(cx.queue.0),
            queue_bytes: cx.queue_bytes,
            queue_packets: cx.queue_packets,
            port_bytes: cx.port_bytes,
            port_packets: cx.port_packets,
            pool_bytes: cx.pool_bytes,
            len: cx.pkt.len,
            flow: cx.pkt.flow.0,
            capable: cx.pkt.ecn.is_capable().into(),
            ..Step::default()
        });
        match rule.checked_sub(1) {
            None => MarkDecision::Pass,
            Some(rule) => MarkDecision::Mark(Rule::ALL[rule as usize]),
        }
    }
}

impl Marker for InKernel {
    fn assign(&mut self, pkt: &Pkt, proposed: QueueId, queues: &impl Queues, now: Time) -> QueueId {
        self.library.assign(pkt, proposed, queues, now);
        let mut step = Step {
            call: Call::Assign,
            now: now.as_ps(),
            queue: u32::from(proposed.0),
            len: pkt.len,
            flow: pkt.flow.0,
            ..Step::default()
        };
        for queue in 0..queues.count().min(step.lengths.len() as u8) {
            step.lengths[usize::from(queue)] = queues.bytes(QueueId(queue));
        }
        QueueId(self.call(step) as u8)
    }

    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        self.library.on_enqueue(cx);
        self.decide(Call::Enqueue, cx, Span::ZERO)
    }

    /// The programs have queued the packet with their decision.
    fn on_queued(&mut self, cx: &Cx) {
        self.library.on_queued(cx);
    }

    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        self.library.on_dequeue(cx, sojourn);
        self.decide(Call::Dequeue, cx, sojourn)
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        self.library.threshold(queue)
    }
}
