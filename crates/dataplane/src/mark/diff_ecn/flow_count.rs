//! The hardware flow count: the number of flows that sent in a period, from one register array.
//!
//! DiffECN, sections IV-C.3 and V-B, algorithm 1, lines 26 to 39. Each departing packet writes the
//! hash of its flow and the period's number to the register selected by the hash's low bits; if the
//! register held another value, a flow is counted. Because the hash includes the period's number,
//! values of earlier periods differ and the registers need no clearing. The result is the larger
//! count of this period and the last one.
//!
//! The low bits of the hash carry no information in the register that they select. Low bits of the
//! period's number take their place there, so that 2^b registers distinguish 2^b periods with
//! certainty. Only a value that is a multiple of 2^b periods old can be mistaken for a current one,
//! if its other 32 − b bits agree by chance. The paper leaves hash and width open.
//!
//! As printed: the packet that begins a period is not counted. A period begins only with a packet,
//! so after a silence the last count stands until then. The second argument of the maximum in line
//! 39 is misprinted; section IV-C.3 has it right.
//!
//! Flows whose hashes share a register displace each other, and are counted again each time they
//! alternate. Within a period no flow is missed because of another: different flows have different
//! hashes.

use alloc::boxed::Box;
use alloc::vec;

use tidegate_units::{FlowId, Span, Time};

use super::hash::mix;

/// Number of flows per period, as a switch chip counts them.
#[derive(Clone, Debug)]
pub(super) struct FlowCount {
    /// Value last written to each register; their number is a power of two.
    registers: Box<[u32]>,
    period: Span,
    /// Start of the current period.
    started: Time,
    /// Number of the current period; wraps.
    sequence: u32,
    /// Flows counted in the previous period.
    last: u32,
    /// Flows counted in this period so far.
    current: u32,
}

impl FlowCount {
    /// A count over periods of `period` with 2^`bits` registers; `bits` is 1 to 31.
    pub(super) fn new(bits: u32, period: Span) -> Self {
        Self {
            // Initial values, as if written in the period before the first.
            registers: vec![u32::MAX; 1 << bits].into(),
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
            let hash = hash(flow, self.sequence);
            // At most 2^31 − 1.
            let low = self.registers.len() as u32 - 1;
            let value = (hash & !low) | (self.sequence & low);
            let register = &mut self.registers[(hash & low) as usize];
            if core::mem::replace(register, value) != value {
                self.current = self.current.saturating_add(1);
            }
        }
    }

    /// Number of flows: the larger count of this period and the last one.
    #[inline]
    pub(super) fn flows(&self) -> u32 {
        self.last.max(self.current)
    }
}

/// Hash of a flow in a period: distinct for all flows of a period. The flow is mixed before the
/// period is added, and the sum is mixed again, so that neither differences nor sums of dense ids
/// and period numbers collide.
#[inline]
const fn hash(flow: FlowId, sequence: u32) -> u32 {
    mix(mix(flow.0).wrapping_add(sequence.wrapping_mul(GOLDEN)))
}

/// 2^32 divided by the golden ratio: its multiples lie far apart.
const GOLDEN: u32 = 0x9E37_79B9;

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
        // Strictly later than the period: flow 4 begins the next one and is not counted.
        assert_eq!(flows(4, 285_000_001), (3, 0, 3));
        assert_eq!(flows(4, 285_000_002), (3, 1, 3));
        // Flow 1 counts again, because the hash includes the period.
        assert_eq!(flows(1, 570_000_001), (3, 2, 3));
        assert_eq!(flows(1, 570_000_002), (2, 0, 2));
        // The period now starts at the packet that began it.
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
        let side = |flow| hash(FlowId(flow), 0) & 1;
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
        // Some of these flows use register 0, others register 1.
        for flow in 0..1_000 {
            let mut count = FlowCount::new(1, Span::MAX);
            count.on_packet(FlowId(flow), Time::ZERO);
            assert_eq!(count.flows(), 1, "{flow}");
        }
    }

    #[test]
    fn the_count_is_exact_without_shared_registers_and_too_high_with_them() {
        let mut shared = 0;
        for stream in 0..300 {
            let mut rng = Rng::new(3, stream);
            let mut count = FlowCount::new(10, Span::from_us(10));
            count.sequence = rng.next_u32();
            count.on_packet(FlowId(0), Time::from_us(11));
            let mut seen = BTreeSet::new();
            let mut registers = BTreeMap::<u32, BTreeSet<u32>>::new();
            for _ in 0..200 {
                let flow = rng.next_u32() % 20;
                count.on_packet(FlowId(flow), Time::from_us(12));
                seen.insert(flow);
                let register = hash(FlowId(flow), count.sequence) & 1023;
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
        // 20 flows in 1024 registers: some pair shares one with probability 1 − e^(−190/1024) = 17
        // %.
        assert!((30..75).contains(&shared), "{shared}");
    }

    /// Compares the count with a set, for flows of dense ids over many periods: returns how often
    /// the count is too low, of the periods checked.
    fn low_readings(bits: u32, flows: u32, periods: u64) -> usize {
        let period = Span::from_us(1);
        let mut count = FlowCount::new(bits, period);
        let mut rng = Rng::new(5, u64::from(bits));
        let mut low = 0;
        for number in 1..=periods {
            let now = Time::from_us(2 * number);
            // The packet that begins the period is not counted.
            count.on_packet(FlowId(0), now);
            let mut seen = BTreeSet::new();
            for _ in 0..40 {
                let flow = FlowId(rng.next_u32() % flows);
                seen.insert(flow);
                count.on_packet(flow, now);
            }
            low += usize::from((count.current as usize) < seen.len());
        }
        low
    }

    #[test]
    fn values_of_earlier_periods_hide_no_flow() {
        // A million packets. Many registers keep old values for a long time; within 2^18 and 2^20
        // periods none of them can be mistaken for a new one.
        assert_eq!(low_readings(18, 4_096, 25_000), 0);
        assert_eq!(low_readings(20, 1 << 16, 25_000), 0);
        // The switch program's size, and a far smaller one: an old enough value collides by chance
        // with 1 in 2^18 and 1 in 2^24.
        assert_eq!(low_readings(14, 4_096, 25_000), 0);
        assert_eq!(low_readings(8, 256, 25_000), 0);
    }

    #[test]
    fn no_shift_of_dense_ids_undoes_a_change_of_the_period() {
        // If the hashes of two periods collided for one relation of ids, a whole range of ids would
        // collide.
        for (a, b) in [(0, 1), (1, 2), (7, 4_096), (5, 5 + (1 << 14))] {
            let of = |sequence| (0..4_096).map(move |flow| hash(FlowId(flow), sequence));
            let first: BTreeSet<u32> = of(a).collect();
            let met = of(b).filter(|hash| first.contains(hash)).count();
            // 4096² pairs among 2^32 values: 0.004 on average.
            assert_eq!((first.len(), met), (4_096, 0), "periods {a} and {b}");
        }
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
