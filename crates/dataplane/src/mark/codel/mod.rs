//! CoDel in marking mode: marks on dequeue, at a rising rate, while every packet of the last
//! interval has waited longer than a target.
//!
//! Nichols and Jacobson, "Controlling Queue Delay", ACM Queue 2012, with the arithmetic of Linux's
//! `codel`: time in units of 1024 ns in 32 bits, and the next mark `interval / √count` later by a
//! 16-bit reciprocal square root that takes one Newton step per mark. TCN's kernel module runs it
//! per queue (Bai et al., CoNEXT 2016, section 5). The forks differ in four places; see
//! [`Profile`].
//!
//! Differs from Linux:
//! - A packet is never dropped here. Linux drops a packet that it cannot mark; here the port
//!   decides.
//! - "Above the target" and "marking" are phases, where Linux has a time that may be zero and a
//!   flag. The meaning is the same, but no time is mistaken for "none". A queue that stays above
//!   its target for more than 36 minutes keeps being marked, although its first time above has left
//!   the 32-bit horizon.
//! - A sojourn time of more than 36 minutes counts as long, not as negative.

use alloc::boxed::Box;

use tidegate_units::{ConfigError, Span, choices, settings};

use super::{Cx, MarkDecision, Marker, PortInfo};
use crate::Rule;

choices! {
    /// Published version to follow where versions differ.
    #[non_exhaustive]
    pub enum Profile {
        /// ECN♯'s simulator: a backlog strictly below `mtu` is small, and a packet that cannot be
        /// marked does not advance the schedule.
        Es3 = "es3",
        /// Linux and TCN's kernel module: a backlog of at most `mtu` is small, the next mark counts
        /// from the due time of the last, and every due packet counts.
        Linux = "linux",
        /// ns-3: a backlog strictly below `mtu` is small, and the next mark counts from the last
        /// one.
        Ns3 = "ns3",
    }
}

settings! {
    /// Parameters of CoDel.
    #[named("codel", "marks at a rising rate while packets wait too long (CoDel)",
        "schemes/codel.md")]
    pub struct Config {
        /// Sojourn time below which a packet is below the target. The default is from TCN's
        /// testbed, 50 units of 1.024 µs (TCN, section 6.1). Rounded down to such units.
        #[is(threshold)]
        pub target: Span = Span::from_ns(51_200),
        /// Time for which all packets must stay at or above the target before the first mark. The
        /// default is from TCN's testbed, 1000 units (TCN, section 6.1). Rounded down to such
        /// units.
        pub interval: Span = Span::from_us(1_024),
        /// A queue with at most this many bytes left behind the packet is below the target: one
        /// full packet, as the host counts lengths. TCN's kernel module has 1538 wire bytes.
        pub mtu: u32 = 1500,
        /// Published version to follow where versions differ.
        pub profile: Profile = Profile::Linux,
    }
}

/// CoDel.
#[derive(Clone, Debug)]
pub struct Codel {
    /// Target in ticks, as is `interval`.
    target: u64,
    interval: u32,
    /// Smallest backlog in bytes that is not exempt.
    backlog: u64,
    anchor: Anchor,
    unmarkable: Unmarkable,
    queues: Box<[State]>,
}

/// Start of the distance to the next mark.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    /// Time of the mark.
    Now,
    /// Time at which the mark was due.
    Schedule,
}

/// Effect on the schedule of a due packet that is not ECN-capable.
#[derive(Clone, Copy, Debug)]
enum Unmarkable {
    /// Counts as a mark.
    Counts,
    /// No effect: the next packet is due instead.
    Waits,
}

#[derive(Clone, Debug)]
struct State {
    phase: Phase,
    /// 1/√`count` in units of 2^−16.
    inverse_sqrt: u16,
    /// Marks in the current marking phase, or in the last one.
    count: u32,
    /// Value of `count` when that phase began.
    first_count: u32,
    /// Time at which a phase above the target is long enough for a mark.
    above_until: u32,
    /// Due time of the next mark.
    mark_next: u32,
}

/// State of a queue since its last packet below the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The last packet was below the target.
    Below,
    /// All packets since have been above it, for at most an interval.
    Above,
    /// All packets since have been above it, for longer than an interval.
    Marking,
}

impl Codel {
    /// Builds CoDel with these parameters.
    pub fn new(config: &Config, port: &PortInfo) -> Result<Self, ConfigError> {
        // Sixteen intervals must lie within the 2^31 ticks that can be distinguished.
        let interval = ticks(config.interval.as_ps());
        if !(1..1 << 27).contains(&interval) {
            let allowed = "1.024us to 137.4s";
            return Err(ConfigError::out_of_range("interval", config.interval, allowed));
        }
        // With at least one byte, the last packet of a queue is below the target in every profile,
        // so the versions' different rules for a dequeue from an empty queue have the same effect.
        if config.mtu == 0 {
            return Err(ConfigError::out_of_range("mtu", config.mtu, "1 byte or more"));
        }
        let mtu = u64::from(config.mtu);
        let (backlog, anchor, unmarkable) = match config.profile {
            Profile::Es3 => (mtu, Anchor::Schedule, Unmarkable::Waits),
            Profile::Linux => (mtu + 1, Anchor::Schedule, Unmarkable::Counts),
            Profile::Ns3 => (mtu, Anchor::Now, Unmarkable::Counts),
        };
        let state = State {
            phase: Phase::Below,
            inverse_sqrt: 0,
            count: 0,
            first_count: 0,
            above_until: 0,
            mark_next: 0,
        };
        Ok(Self {
            target: ticks(config.target.as_ps()),
            // Below 2^27, as checked above.
            interval: interval as u32,
            backlog,
            anchor,
            unmarkable,
            queues: alloc::vec![state; usize::from(port.queues)].into(),
        })
    }
}

impl Marker for Codel {
    #[inline]
    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        let Some(state) = self.queues.get_mut(cx.queue.index()) else {
            return MarkDecision::Pass;
        };
        let now = ticks(cx.now.as_ps());
        // Both ends are rounded down, like stamps of the same clock.
        let delay = now - ticks((cx.now - sojourn).as_ps());
        if delay < self.target || u64::from(cx.queue_bytes) < self.backlog {
            state.phase = Phase::Below;
            return MarkDecision::Pass;
        }
        // The clock keeps 32 bits and wraps every 73 minutes.
        let now = now as u32;
        match state.phase {
            Phase::Below => {
                state.phase = Phase::Above;
                state.above_until = now.wrapping_add(self.interval);
                MarkDecision::Pass
            }
            Phase::Above if since(now, state.above_until) > 0 => {
                state.start_marking(now, self.interval);
                MarkDecision::Mark(Rule::Persistent)
            }
            Phase::Marking if since(now, state.mark_next) >= 0 => {
                if matches!(self.unmarkable, Unmarkable::Counts) || cx.pkt.ecn.is_capable() {
                    state.count = state.count.saturating_add(1);
                    state.newton_step();
                    let anchor = match self.anchor {
                        Anchor::Now => now,
                        Anchor::Schedule => state.mark_next,
                    };
                    state.schedule(anchor, self.interval);
                }
                MarkDecision::Mark(Rule::Persistent)
            }
            Phase::Above | Phase::Marking => MarkDecision::Pass,
        }
    }
}

impl State {
    #[cold]
    fn start_marking(&mut self, now: u32, interval: u32) {
        self.phase = Phase::Marking;
        // If the last marking phase ended recently, its rate of marks is a good start.
        let marks = self.count - self.first_count;
        let horizon = 16 * i64::from(interval);
        if marks > 1 && i64::from(since(now, self.mark_next)) < horizon {
            self.count = marks;
            self.newton_step();
        } else {
            self.count = 1;
            self.inverse_sqrt = u16::MAX;
        }
        self.first_count = self.count;
        self.schedule(now, interval);
    }

    /// Brings `inverse_sqrt` closer to 1/√`count`: x ← x·(3 − count·x²)/2.
    #[inline]
    fn newton_step(&mut self) {
        // Q0.32 from its upper half.
        let inverse = u64::from(self.inverse_sqrt) << 16;
        let square = (inverse * inverse) >> 32;
        let correction = (3_u64 << 32).saturating_sub(u64::from(self.count) * square);
        // Gives up two bits of the correction so that the product fits 64 bits.
        let next = ((correction >> 2) * inverse) >> (32 - 2 + 1);
        // Below one: x·(3 − count·x²)/2 is at most 1/√count for every x.
        self.inverse_sqrt = (next >> 16) as u16;
    }

    /// Sets the next mark to `interval / √count` after `anchor`, rounded down to ticks.
    #[inline]
    fn schedule(&mut self, anchor: u32, interval: u32) {
        // At most `interval`, because the inverse is below one.
        let distance = (u64::from(interval) * (u64::from(self.inverse_sqrt) << 16)) >> 32;
        self.mark_next = anchor.wrapping_add(distance as u32);
    }
}

/// Whole units of 1024 ns, rounded down.
#[inline]
const fn ticks(ps: u64) -> u64 {
    ps / 1_024_000
}

/// Ticks from `then` to `now`, which lie within 36 minutes of each other; negative if `then` is in
/// the future.
#[inline]
const fn since(now: u32, then: u32) -> i32 {
    now.wrapping_sub(then).cast_signed()
}

#[cfg(test)]
mod tests;
