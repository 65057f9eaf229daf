//! ECN♯: marks on dequeue when the sojourn time exceeds a high threshold, and occasionally while it
//! has stayed at or above a low one for an interval.
//!
//! Zhang et al., "Enabling ECN for Datacenter Networks With RTT Variations", CoNEXT 2019 and IEEE
//! Transactions on Cloud Computing 2022, sections 3 and 4. The instantaneous part tames bursts, the
//! persistent part (Algorithm 1) drains queues that only flows with short round trips can build.
//!
//! The law of the authors' simulator differs from the paper's; see [`Law`]. Section 3.5 describes a
//! form with the queue length as the signal and one with probabilistic instantaneous marks; both
//! are options. Section 4 puts the scheme on a Tofino chip; see [`tofino`].
//!
//! Differs from the paper: "above the target" and "marking" are phases, where the paper has a time
//! that may be zero and a flag. The meaning is the same, but time zero is a valid time. Where
//! Algorithm 1 returns nothing (in the marking state, detected, not yet due), the packet passes.

pub mod tofino;

use alloc::boxed::Box;

use tidegate_units::{ConfigError, Rate, Ratio, Rng, Span, Time, choices, settings};

use self::tofino::Pipeline;
use super::ramp::{Ramp, Zone};
use super::{Cx, MarkDecision, Marker, PortInfo};
use crate::Rule;

choices! {
    /// Arithmetic of the persistent part.
    #[non_exhaustive]
    pub enum Arithmetic {
        /// Picoseconds and true division.
        Exact = "exact",
        /// The chip's clock of 1.024 µs ticks and its table for division (section 4).
        Tofino = "tofino",
    }
}

choices! {
    /// Due time of the next mark of the persistent part.
    #[non_exhaustive]
    pub enum Law {
        /// At or after `marking_next`; the following mark is due `pst_interval / √count` from now
        /// (the authors' simulator).
        Ns3 = "ns3",
        /// Strictly after `marking_next`; the following mark is due `pst_interval / count` after
        /// that (Algorithm 1 and the Tofino prototype).
        Paper = "paper",
    }
}

choices! {
    /// Signal that is compared with the targets.
    #[non_exhaustive]
    pub enum Signal {
        /// Bytes left in the queue behind the packet; the targets are multiplied by the port's rate
        /// (section 3.5).
        QueueLength = "queue-length",
        /// Sojourn time of the packet.
        Sojourn = "sojourn",
    }
}

settings! {
    /// Parameters of ECN♯.
    #[named("ecn-sharp", "marks long waits at once and standing queues slowly (ECN♯)",
        "schemes/ecn-sharp.md")]
    pub struct Config {
        /// Mark every packet strictly above this (`ins_target`), or `none` for λ × `rtt` (section
        /// 3.4). The default is from the testbed (section 5.2).
        #[is(threshold)]
        pub ins_target: Option<Span> = Some(Span::from_us(200)),
        /// A packet strictly below this ends a persistent queue (`pst_target`), or `none` for λ ×
        /// `mean_rtt`, the smallest recommended value (section 3.4). The default is from the
        /// testbed (section 5.2).
        #[is(threshold)]
        pub pst_target: Option<Span> = Some(Span::from_us(85)),
        /// Time for which a queue must persist before it is marked, and the distance of the first
        /// two marks (`pst_interval`), or `none` for `rtt` (section 3.4). The default is from the
        /// testbed (section 5.2).
        pub pst_interval: Option<Span> = Some(Span::from_us(200)),
        /// A high percentile of the base round-trip times, such as the 90th, for derived values.
        /// The default is the 90th percentile of the testbed, which gives 250 KB at 10 Gb/s
        /// (section 2.3).
        pub rtt: Span = Span::from_us(200),
        /// Mean of the base round-trip times, for derived values. The default gives the testbed's
        /// target of 85 µs (section 5.2).
        pub mean_rtt: Span = Span::from_us(85),
        /// Factor of derived targets (`λ`), which depends on the congestion control: 1 for ECN*
        /// (section 2.1).
        pub lambda: Ratio = Ratio::ONE,
        /// Mark with a rising probability from this value to `ins_target` (section 3.5, for DCQCN),
        /// or `none` for a single step.
        #[is(threshold)]
        pub ins_min_target: Option<Span> = None,
        /// The probability that the rise reaches at `ins_target` (section 3.5: 1). Not used by a
        /// step.
        pub max_probability: Ratio = Ratio::ONE,
        /// Due time of the next mark of the persistent part.
        pub law: Law = Law::Paper,
        /// Signal that is compared with the targets.
        pub signal: Signal = Signal::Sojourn,
        /// Arithmetic of the persistent part.
        pub arithmetic: Arithmetic = Arithmetic::Exact,
    }
}

/// ECN♯.
#[derive(Clone, Debug)]
pub struct EcnSharp {
    /// Targets, in units of the measure.
    ins_target: u64,
    pst_target: u64,
    /// Rise of the probability below `ins_target`, if configured.
    rise: Option<Box<(Ramp, Rng)>>,
    machine: Machine,
}

/// Unit of the signal.
#[derive(Clone, Copy, Debug)]
enum Measure {
    /// Bytes behind the packet.
    Bytes,
    /// Picoseconds of sojourn time.
    Picoseconds,
    /// Sojourn time in ticks of the chip, rounded down.
    Ticks,
}

/// Implementation of the persistent part. The measure fits in the padding beside the tag.
#[derive(Clone, Debug)]
enum Machine {
    Exact(Measure, Box<Exact>),
    Tofino(Measure, Box<Pipeline>),
}

#[derive(Clone, Debug)]
struct Exact {
    interval: Span,
    law: Law,
    queues: Box<[Phase]>,
}

/// State of a queue since its last packet below the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The last packet was below the target.
    Below,
    /// All packets since have been above it. The queue is persistent once a packet leaves strictly
    /// after `until`.
    Above { until: Time },
    /// The queue is persistent: `count` packets have been marked, and the next mark is due at
    /// `next`.
    Marking { next: Time, count: u32 },
}

impl EcnSharp {
    /// Builds ECN♯ with these parameters.
    pub fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        let derived = |rtt| config.lambda.of_span(rtt);
        let ins_target = config.ins_target.unwrap_or(derived(config.rtt));
        let pst_target = config.pst_target.unwrap_or(derived(config.mean_rtt));
        let interval = config.pst_interval.unwrap_or(config.rtt);
        let measure = match (config.signal, config.arithmetic) {
            (Signal::QueueLength, _) => Measure::Bytes,
            (Signal::Sojourn, Arithmetic::Exact) => Measure::Picoseconds,
            (Signal::Sojourn, Arithmetic::Tofino) => Measure::Ticks,
        };
        let down = |target: Span| match measure {
            Measure::Bytes => port.rate.bytes_in(target),
            Measure::Picoseconds => target.as_ps(),
            Measure::Ticks => tofino::ticks(target.as_ps()),
        };
        let pst_target = match measure {
            // Whole bytes are below a fractional target if and only if they are below the next
            // whole one.
            Measure::Bytes => bytes_rounded_up(port.rate, pst_target),
            Measure::Picoseconds | Measure::Ticks => down(pst_target),
        };
        let low = config.ins_min_target.unwrap_or(ins_target);
        if low > ins_target {
            let allowed = alloc::format!("at most ins_target, {ins_target}");
            return Err(ConfigError::out_of_range("ins_min_target", low, allowed));
        }
        let low = ("ins_min_target", down(low));
        let probability = ("max_probability", config.max_probability);
        let ramp = Ramp::new(low, down(ins_target), probability)?;
        let rise =
            (config.ins_min_target).map(|_| Box::new((ramp, Rng::new(port.seed, port.stream))));
        let machine = match config.arithmetic {
            Arithmetic::Exact => {
                let exact = Exact::new(interval, config.law, port.queues)?;
                Machine::Exact(measure, Box::new(exact))
            }
            Arithmetic::Tofino if config.law == Law::Ns3 => {
                let allowed = "paper, because the chip has no square root";
                return Err(ConfigError::out_of_range("law", "ns3", allowed));
            }
            Arithmetic::Tofino => {
                Machine::Tofino(measure, Box::new(Pipeline::new(interval, port.queues)?))
            }
        };
        Ok(Self { ins_target: down(ins_target), pst_target, rise, machine })
    }
}

impl Marker for EcnSharp {
    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        let (Machine::Exact(measure, _) | Machine::Tofino(measure, _)) = self.machine;
        let level = match measure {
            Measure::Bytes => u64::from(cx.queue_bytes),
            Measure::Picoseconds => sojourn.as_ps(),
            Measure::Ticks => tofino::ticks(sojourn.as_ps()),
        };
        let instantaneous = match &mut self.rise {
            None => level > self.ins_target,
            Some(rise) => hit(rise, level),
        };
        // The persistent part sees every packet, also packets already marked and packets that
        // cannot be marked.
        let is_below = level < self.pst_target;
        let persistent = match &mut self.machine {
            Machine::Exact(_, exact) => exact.mark(cx, is_below),
            Machine::Tofino(_, pipeline) => pipeline.mark(cx.queue, cx.now, is_below),
        };
        if instantaneous {
            let rule = match measure {
                Measure::Bytes => Rule::QueueLength,
                Measure::Picoseconds | Measure::Ticks => Rule::Sojourn,
            };
            return MarkDecision::Mark(rule);
        }
        MarkDecision::mark_if(persistent, Rule::Persistent)
    }
}

/// Whether a packet at this level is marked by the rising probability.
#[cold]
fn hit((ramp, rng): &mut (Ramp, Rng), level: u64) -> bool {
    match ramp.zone(level) {
        Zone::Below => false,
        Zone::Between(chance) => u64::from(rng.next_u32()) < chance,
        Zone::Above => true,
    }
}

impl Exact {
    fn new(interval: Span, law: Law, queues: u8) -> Result<Self, ConfigError> {
        if interval == Span::ZERO {
            return Err(ConfigError::out_of_range("pst_interval", interval, "above 0"));
        }
        Ok(Self { interval, law, queues: alloc::vec![Phase::Below; usize::from(queues)].into() })
    }

    /// Algorithm 1.
    #[inline]
    fn mark(&mut self, cx: &Cx, is_below: bool) -> bool {
        let Some(phase) = self.queues.get_mut(cx.queue.index()) else {
            return false;
        };
        if is_below {
            *phase = Phase::Below;
            return false;
        }
        let now = cx.now;
        match *phase {
            Phase::Below => {
                *phase = Phase::Above { until: now + self.interval };
                false
            }
            Phase::Above { until } => {
                let detected = now > until;
                if detected {
                    *phase = Phase::Marking { next: now + self.interval, count: 1 };
                }
                detected
            }
            Phase::Marking { next, count } => {
                let due = match self.law {
                    Law::Ns3 => now >= next,
                    Law::Paper => now > next,
                };
                if due {
                    let count = count.saturating_add(1);
                    let next = match self.law {
                        Law::Ns3 => now + over_sqrt(self.interval, count),
                        Law::Paper => {
                            next + Span::from_ps(self.interval.as_ps() / u64::from(count))
                        }
                    };
                    *phase = Phase::Marking { next, count };
                }
                due
            }
        }
    }
}

/// `span` / √`count`, rounded down. The count must not be zero.
#[cold]
fn over_sqrt(span: Span, count: u32) -> Span {
    let square = u128::from(span.as_ps()) * u128::from(span.as_ps());
    // At most `span`.
    Span::from_ps((square / u128::from(count)).isqrt() as u64)
}

/// Bytes sent in `span`, rounded up; saturates.
fn bytes_rounded_up(rate: Rate, span: Span) -> u64 {
    let bytes = (u128::from(span.as_ps()) * u128::from(rate.as_bps())).div_ceil(8_000_000_000_000);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
