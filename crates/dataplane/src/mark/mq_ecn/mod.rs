//! MQ-ECN: marks on enqueue when the queue exceeds its share of the port's threshold. The share is
//! the fraction of the link that the queue gets in a round of the scheduler.
//!
//! Bai et al., "Enabling ECN in Multi-Service Multi-Queue Data Centers", NSDI 2016. A queue that
//! may send `quantum` bytes per round of `T_round` has the capacity `quantum / T_round`, so its
//! threshold is `K_i = min(quantum / (T_round · C), 1) · K`. `T_round` is a moving average over the
//! turns of all queues that share the rounds, and decays while the port is idle.
//!
//! Three versions have been published and no two agree. The defaults are the rules of MQ-ECN's own
//! simulator. The rules of TCN's simulator and of TCN's kernel module are options, one per
//! difference; the scheme's page lists which options belong together.
//!
//! Differs from the authors' code: the average is in fixed point (picoseconds, weights in units of
//! 2^−32) instead of floating point. Queues served without rounds, such as the strict-priority
//! queues before DWRR, have the port's threshold unless they are given their own.

mod average;
mod service;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tidegate_units::{
    ByteTime, ConfigError, QueueId, Rate, Ratio, Size, Span, Time, choices, settings,
};

use self::average::{Average, ONE_SLOT, slots, whole_slots};
use self::service::Service;
use super::{Cx, MarkDecision, Marker, PortInfo};
use crate::Rule;
use crate::sched::{Turn, TurnEvent};

/// Bytes of a full packet, the unit of thresholds and idle slots.
const PACKET: u32 = 1500;

choices! {
    /// Arithmetic of the average round time and of the rate derived from it.
    #[non_exhaustive]
    pub enum Arithmetic {
        /// Picoseconds, and weights in units of 2^−32.
        Exact = "exact",
        /// Whole nanoseconds, weights in units of 1/1024, and a rate of quantum · 2^33 / T_round:
        /// 7.4 % too high, because 2^30 replaces 10^9 (TCN's kernel module).
        Kernel = "kernel",
    }
}

choices! {
    /// End of the sample of a queue that empties.
    #[non_exhaustive]
    pub enum Emptying {
        /// The end of its last packet's transmission.
        Once = "tx",
        /// One more transmission time after that: it counts twice (TCN's simulator).
        Twice = "double-tx",
    }
}

choices! {
    /// Decay of the round time in idle periods.
    #[non_exhaustive]
    pub enum IdleDecay {
        /// When a packet arrives at any queue while no round-based queue holds packets, by β^(idle
        /// time ÷ slot), not rounded, if the idle time is a slot or more. The idle time counts from
        /// the start of the last packet. Each further arrival at a priority queue repeats the whole
        /// decay (TCN's simulator).
        Fractional = "fractional",
        /// When a packet arrives at a round-based queue while no queue of its group holds packets,
        /// by one step of the average per whole slot; after more than ten the round time is zero
        /// (TCN's kernel module).
        Steps = "steps",
        /// When a packet arrives at an empty port, by β per whole slot.
        WholeSlots = "whole-slots",
    }
}

choices! {
    /// Start of a queue's first turn.
    #[non_exhaustive]
    pub enum Start {
        /// When the queue becomes active, but not before the transmission of its last packet has
        /// ended.
        AfterOwnPacket = "after-own-packet",
        /// When the queue becomes active.
        Now = "now",
    }
}

choices! {
    /// End of a turn that leaves packets behind.
    #[non_exhaustive]
    pub enum TurnEnd {
        /// The end of the group's last transmission (TCN's kernel module). Without shaping this is
        /// the same as `now`. Not with `idle_decay = fractional`.
        LastPacket = "last-packet",
        /// The moment at which the scheduler moves on.
        Now = "now",
    }
}

settings! {
    /// Parameters of MQ-ECN.
    #[named("mq-ecn", "marks by queue length, threshold by the queue's rate in rounds",
        "schemes/mq-ecn.md",
        "scheduler = { kind = \"dwrr\", quanta = [1500, 1500, 1500, 1500] }\n")]
    pub struct Config {
        /// Threshold of a queue that has the link to itself (`K`): C × RTT × λ. Packets have 1500
        /// bytes. The default is from the authors' simulations at 10 Gb/s with DCTCP.
        #[is(threshold)]
        pub threshold: Size = Size::Packets(65),
        /// Thresholds of queues that are served without rounds: one value for all of them, or one
        /// per queue of the port, of which the entries of queues with rounds are ignored (TCN's
        /// simulator); empty for `threshold`.
        #[is(threshold)]
        pub strict_threshold: Vec<Size> = Vec::new(),
        /// Weight of the old round time in the average (`β`; TCN, section 6).
        pub old_weight: Ratio = THREE_QUARTERS,
        /// Time after which an idle port has forgotten one sample (`T_idle`), or `none` for the
        /// time of 1500 bytes at the port's rate (TCN, section 6).
        pub idle_slot: Option<Span> = None,
        /// Arithmetic of the average round time and of the rate derived from it.
        pub arithmetic: Arithmetic = Arithmetic::Exact,
        /// End of the sample of a queue that empties.
        pub emptying: Emptying = Emptying::Once,
        /// Decay of the round time in idle periods.
        pub idle_decay: IdleDecay = IdleDecay::WholeSlots,
        /// Start of a queue's first turn.
        pub start: Start = Start::AfterOwnPacket,
        /// End of a turn that leaves packets behind.
        pub turn_end: TurnEnd = TurnEnd::Now,
    }
}

const THREE_QUARTERS: Ratio = match Ratio::new(3, 4) {
    Some(ratio) => ratio,
    None => Ratio::ZERO,
};

/// MQ-ECN.
#[derive(Clone, Debug)]
pub struct MqEcn {
    queues: Box<[Queue]>,
    groups: Box<[Group]>,
    rules: Box<Rules>,
}

#[derive(Clone, Debug)]
struct Queue {
    /// Start of the turn being measured; for an inactive queue, the time at which its last packet
    /// was off the wire.
    start: Time,
    service: Service,
}

/// Queues that take turns.
#[derive(Clone, Debug)]
struct Group {
    /// `T_round`, in units of the arithmetic.
    round: u64,
    /// Time at which the last packet was off the wire or, with [`IdleDecay::Fractional`], left;
    /// with [`TurnEnd::Now`], the last packet that emptied a queue.
    last: Time,
}

/// State of the whole port.
#[derive(Clone, Debug)]
struct Rules {
    /// Time at which the port's last packet was off the wire, if the port has been empty since.
    idle_since: Time,
    /// Threshold in bytes.
    threshold: u32,
    idle_decay: IdleDecay,
    wire: ByteTime,
    average: Average,
    /// Threshold of a queue times the round time, per byte of its quantum: `K / C` in units of
    /// time, with 32 fractional bits; rounded up.
    share: u128,
    idle_slot: Span,
    emptying: Emptying,
    start: Start,
    turn_end: TurnEnd,
}

impl MqEcn {
    /// Builds MQ-ECN with these parameters. The scheduler must have rounds.
    pub fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        let threshold = config.threshold.in_bytes(PACKET);
        let threshold = u32::try_from(threshold)
            .map_err(|_| ConfigError::out_of_range("threshold", config.threshold, "below 4GiB"))?;
        if config.old_weight >= Ratio::ONE {
            let allowed = "0 to below 1";
            return Err(ConfigError::out_of_range("old_weight", config.old_weight, allowed));
        }
        let idle_slot = config.idle_slot.unwrap_or_else(|| port.rate.time_for(PACKET));
        if idle_slot == Span::ZERO {
            return Err(ConfigError::out_of_range("idle_slot", idle_slot, "above 0"));
        }
        if config.idle_decay == IdleDecay::Fractional && config.turn_end == TurnEnd::LastPacket {
            let allowed = "now with idle_decay = fractional: no published version has both";
            return Err(ConfigError::out_of_range("turn_end", "last-packet", allowed));
        }
        let average = Average::new(config.arithmetic, config.old_weight);
        let queue = |service| Queue { start: Time::ZERO, service };
        let services = Service::of_queues(config, port)?;
        let queues: Box<[Queue]> = services.into_iter().map(queue).collect();
        let Some(last_group) = queues.iter().filter_map(|queue| queue.service.group()).max() else {
            let allowed = "one with rounds: dwrr, wrr, sp-dwrr, sp-wrr";
            return Err(ConfigError::out_of_range("scheduler", port.scheduler, allowed));
        };
        let group = Group { round: 0, last: Time::ZERO };
        Ok(Self {
            queues,
            groups: vec![group; last_group + 1].into(),
            rules: Box::new(Rules {
                idle_since: Time::ZERO,
                threshold,
                idle_decay: config.idle_decay,
                wire: ByteTime::new(port.rate),
                // Less than 2^(43 + 32 + 32).
                share: ((average.rate_scale() * u128::from(threshold)) << 32)
                    .div_ceil(u128::from(port.rate.as_bps())),
                average,
                idle_slot,
                emptying: config.emptying,
                start: config.start,
                turn_end: config.turn_end,
            }),
        })
    }

    /// Decays the round times before the decision on an arrival, as the variant prescribes.
    #[cold]
    fn decay(&mut self, queue: QueueId, now: Time) {
        let rules = &*self.rules;
        let own = self.queues.get(queue.index()).and_then(|queue| queue.service.group());
        for (number, group) in self.groups.iter_mut().enumerate() {
            let is_idle = || is_idle(&self.queues, number);
            match self.rules.idle_decay {
                IdleDecay::WholeSlots => {
                    let slots = whole_slots(now - self.rules.idle_since, rules.idle_slot);
                    group.round = rules.average.decayed(group.round, u128::from(slots) << 32);
                }
                IdleDecay::Fractional if is_idle() => {
                    let slots = slots(now - group.last, rules.idle_slot);
                    if slots >= ONE_SLOT {
                        group.round = rules.average.decayed(group.round, slots);
                    }
                }
                IdleDecay::Steps if own == Some(number) && is_idle() => {
                    let slots = whole_slots(now - group.last, rules.idle_slot);
                    if slots > 10 {
                        group.round = 0;
                    }
                    for _ in 0..slots.min(10) {
                        group.round = rules.average.with_sample(group.round, Span::ZERO);
                    }
                }
                IdleDecay::Fractional | IdleDecay::Steps => {}
            }
        }
    }
}

/// Whether no queue of a group holds packets.
fn is_idle(queues: &[Queue], group: usize) -> bool {
    !queues.iter().any(|queue| queue.service.is_active_in(group))
}

impl Rules {
    /// Threshold of a queue times the round time: `quantum · K / C`, in bytes × units of time.
    /// Rounded down; a value that is not whole may be rounded up to the next one.
    #[inline]
    fn share(&self, quantum: u32) -> u128 {
        // A product above 2^128 needs a link below 4 kb/s, and is far beyond any length × round
        // time.
        self.share.saturating_mul(u128::from(quantum)) >> 32
    }
}

impl Marker for MqEcn {
    #[inline]
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        if cx.port_packets == 0 || self.rules.idle_decay != IdleDecay::WholeSlots {
            self.decay(cx.queue, cx.now);
        }
        let Some(queue) = self.queues.get(cx.queue.index()) else {
            return MarkDecision::Pass;
        };
        let length = u64::from(cx.queue_bytes) + u64::from(cx.pkt.len);
        let rules = &*self.rules;
        let hit = match queue.service {
            Service::Rounds { group, quantum, .. } => {
                let round = self.groups[usize::from(group)].round;
                // `length > share / round`; no queue's share exceeds the threshold.
                let above_share = rules.average.is_measured(round)
                    && u128::from(length) * u128::from(round) > rules.share(quantum);
                above_share || length > u64::from(rules.threshold)
            }
            Service::Strict { threshold } => length > u64::from(threshold),
        };
        MarkDecision::mark_if(hit, Rule::QueueLength)
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, _: Span) -> MarkDecision {
        if cx.port_packets == 0 {
            self.rules.idle_since = cx.now + self.rules.wire.span(cx.pkt.len);
        }
        if self.rules.turn_end == TurnEnd::LastPacket
            && let Some(queue) = self.queues.get(cx.queue.index())
            && let Some(group) = queue.service.group()
        {
            self.groups[group].last = cx.now + self.rules.wire.span(cx.pkt.len);
        }
        MarkDecision::Pass
    }

    #[inline]
    fn on_turn(&mut self, turn: &Turn) {
        let rules = &*self.rules;
        let Some(queue) = self.queues.get_mut(turn.queue.index()) else {
            return;
        };
        let Some(group) = queue.service.group() else {
            return;
        };
        let group = &mut self.groups[group];
        match turn.event {
            TurnEvent::Joined => {
                queue.service.set_active(true);
                queue.start = match rules.start {
                    Start::AfterOwnPacket => queue.start.max(turn.now),
                    Start::Now => turn.now,
                };
            }
            TurnEvent::Ended => {
                let end = match rules.turn_end {
                    TurnEnd::LastPacket => group.last,
                    TurnEnd::Now => turn.now,
                };
                group.round = rules.average.with_sample(group.round, end - queue.start);
                queue.start = end;
            }
            TurnEvent::Emptied { len } => {
                queue.service.set_active(false);
                let transmission = rules.wire.span(len);
                let end = turn.now + transmission;
                let sample = match rules.emptying {
                    Emptying::Once => end - queue.start,
                    Emptying::Twice => end + transmission - queue.start,
                };
                group.round = rules.average.with_sample(group.round, sample);
                queue.start = end;
                group.last = match rules.idle_decay {
                    IdleDecay::Fractional => turn.now,
                    IdleDecay::Steps | IdleDecay::WholeSlots => end,
                };
            }
            // A round in which the queue was paused gives no sample.
            TurnEvent::Withdrawn => queue.service.set_active(false),
            TurnEvent::Skipped => queue.start = turn.now,
        }
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        let queue = self.queues.get(queue.index())?;
        let (round, quantum) = match queue.service {
            Service::Rounds { group, quantum, .. } => {
                (self.groups[usize::from(group)].round, quantum)
            }
            Service::Strict { threshold } => return Some(threshold),
        };
        if !self.rules.average.is_measured(round) {
            return Some(self.rules.threshold);
        }
        let share = self.rules.share(quantum) / u128::from(round);
        Some(
            u32::try_from(share)
                .map_or(self.rules.threshold, |share| share.min(self.rules.threshold)),
        )
    }

    fn capacity(&self, queue: QueueId) -> Option<Rate> {
        let queue = self.queues.get(queue.index())?;
        let Service::Rounds { group, quantum, .. } = queue.service else {
            return None;
        };
        let round = self.groups[usize::from(group)].round;
        let (average, link) = (&self.rules.average, self.rules.wire.rate());
        if !average.is_measured(round) {
            return Some(link);
        }
        let rate = u128::from(quantum) * average.rate_scale() / u128::from(round);
        u64::try_from(rate).map_or(Some(link), |bps| Rate::from_bps(bps).map(|rate| rate.min(link)))
    }
}

#[cfg(test)]
mod tests;
