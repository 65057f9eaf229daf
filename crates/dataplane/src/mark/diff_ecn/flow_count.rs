//! The hardware flow count: how many flows have sent in a period, from one register array.
//!
//! DiffECN, sections IV-C.3 and V-B, algorithm 1, lines 26 to 39. Each departing packet writes the
//! hash of its flow and the period's number to the register that the hash's low bits name; if
//! another value was there, a flow is counted. The number in the hash makes what an earlier period
//! wrote differ, so the registers need no clearing. The answer is the larger count of this period
//! and the last one.
//!
//! As printed: the packet that begins a period is not counted, and a period begins only with a
//! packet, so that after silence the last count stands until then. The second argument of the
//! maximum in line 39 is misprinted; section IV-C.3 has it right.
//!
//! Flows whose hashes share a register displace each other, and are counted again each time they
//! alternate. Within a period a flow is never missed for another: different flows have different
//! hashes.

use alloc::boxed::Box;

use tidegate_units::{FlowId, Span, Time};

use super::hash::mix;

/// Flows per period, as a switch chip counts them.
#[derive(Clone, Debug)]
pub(super) struct FlowCount {
    /// The last hash written to each; a power of two of them.
    registers: Box<[u32]>,
    period: Span,
    /// When the present period began.
    started: Time,
    /// The number of the present period; wraps.
    sequence: u32,
    /// Flows counted in the period before.
    last: u32,
    /// Flows counted in this period so far.
    current: u32,
}

impl FlowCount {
    /// A count over periods of `period` with 2^`bits` registers; `bits` is 1 to 31.
    pub(super) fn new(bits: u32, period: Span) -> Self {
        Self {
            // No hash whose low bits name register i is equal to !i: the first one always counts.
            registers: (0..1_u32 << bits).map(|register| !register).collect(),
            period,
            started: Time::ZERO,
            sequence: 0,
            last: 0,
            current: 0,
        }
    }

    /// Counts a departing packet of `flow`.
    #[inline]
    pub(super) fn on_packet(&mut self, flow: FlowId, now: Time) {
        if now - self.started > self.period {
            self.sequence = self.sequence.wrapping_add(1);
            self.last = self.current;
            self.current = 0;
            self.started = now;
        } else {
            let hash = mix(flow.0 ^ mix(self.sequence));
            let register = hash as usize & (self.registers.len() - 1);
            if core::mem::replace(&mut self.registers[register], hash) != hash {
                self.current = self.current.saturating_add(1);
            }
        }
    }

    /// The number of flows: the larger one of this period and the last.
    #[inline]
    pub(super) fn flows(&self) -> u32 {
        self.last.max(self.current)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::{BTreeMap, BTreeSet};

    use tidegate_units::Rng;

    use super::*;

    #[test]
    fn the_packet_that_begins_a_period_is_not_counted() {
        let mut count = FlowCount::new(14, Span::from_us(285));
        let mut flows = |flow, ps| {
            count.on_packet(FlowId(flow), Time::from_ps(ps));
            (count.last, count.current, count.flows())
        };
        assert_eq!(flows(1, 0), (0, 1, 1));
        assert_eq!(flows(1, 1), (0, 1, 1));
        assert_eq!(flows(2, 284_999_999), (0, 2, 2));
        assert_eq!(flows(3, 285_000_000), (0, 3, 3));
        // Strictly later than the period: flow 4 begins the next one uncounted.
        assert_eq!(flows(4, 285_000_001), (3, 0, 3));
        assert_eq!(flows(4, 285_000_002), (3, 1, 3));
        // Flow 1 counts again, because the period is part of the hash.
        assert_eq!(flows(1, 570_000_001), (3, 2, 3));
        assert_eq!(flows(1, 570_000_002), (2, 0, 2));
        // The period's start moved with the packet that began it.
        assert_eq!(flows(1, 855_000_002), (2, 1, 2));
        assert_eq!(flows(1, 855_000_003), (1, 0, 1));
    }

    #[test]
    fn the_larger_of_two_periods_is_the_answer() {
        let mut count = FlowCount::new(14, Span::from_us(1));
        for flow in 0..5 {
            count.on_packet(FlowId(flow), Time::ZERO);
        }
        count.on_packet(FlowId(0), Time::from_us(2));
        for (flow, expected) in [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5), (5, 6)] {
            count.on_packet(FlowId(flow), Time::from_us(2));
            assert_eq!(count.flows(), expected);
        }
    }

    #[test]
    fn flows_that_share_a_register_count_each_time_they_alternate() {
        // Two registers and three flows: two of them share one.
        let mut count = FlowCount::new(1, Span::MAX);
        let side = |flow| mix(flow ^ mix(0)) & 1;
        let (a, b) = match (side(1) == side(2), side(1) == side(3)) {
            (true, _) => (1, 2),
            (_, true) => (1, 3),
            _ => (2, 3),
        };
        for (flow, expected) in [(a, 1), (b, 2), (a, 3), (a, 3), (b, 4), (b, 4)] {
            count.on_packet(FlowId(flow), Time::ZERO);
            assert_eq!(count.flows(), expected);
        }
    }

    #[test]
    fn the_first_packet_counts_in_every_register() {
        // Flow `f` hashes to mix(f ^ mix(0)) = mix(f): some of these land in register 0 and 1.
        for flow in 0..1_000 {
            let mut count = FlowCount::new(1, Span::MAX);
            count.on_packet(FlowId(flow), Time::ZERO);
            assert_eq!(count.flows(), 1, "{flow}");
        }
    }

    #[test]
    fn the_count_is_exact_without_shared_registers_and_too_high_with_them() {
        let mut shared = 0;
        for place in 0..300 {
            let mut rng = Rng::new(3, place);
            let mut count = FlowCount::new(10, Span::from_us(10));
            count.sequence = rng.next_u32();
            count.on_packet(FlowId(0), Time::from_us(11));
            let mut seen = BTreeSet::new();
            let mut registers = BTreeMap::<u32, BTreeSet<u32>>::new();
            for _ in 0..200 {
                let flow = rng.next_u32() % 20;
                count.on_packet(FlowId(flow), Time::from_us(12));
                seen.insert(flow);
                let register = mix(flow ^ mix(count.sequence)) & 1023;
                registers.entry(register).or_default().insert(flow);
            }
            let exact = seen.len() as u32;
            if registers.values().all(|flows| flows.len() == 1) {
                assert_eq!(count.flows(), exact);
            } else {
                assert!(count.flows() >= exact);
                shared += 1;
            }
        }
        // 20 flows in 1024 registers: some pair shares with probability 1 − e^(−190/1024) = 17 %.
        assert!((30..75).contains(&shared), "{shared}");
    }

    #[test]
    fn the_extremes_do_not_overflow() {
        let mut count = FlowCount::new(1, Span::ZERO);
        count.sequence = u32::MAX;
        count.on_packet(FlowId(1), Time::MAX);
        assert_eq!((count.sequence, count.flows()), (0, 0));
        count.current = u32::MAX;
        count.on_packet(FlowId(1), Time::MAX);
        assert_eq!(count.flows(), u32::MAX);
    }
}
