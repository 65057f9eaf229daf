//! The exact flow table: one entry for each flow that has a packet queued.
//!
//! DiffECN, section IV-B: an active flow has one or more packets in the switch. The table counts
//! each flow's packets and removes the flow with the last one, so that its length is the number of
//! active flows.
//!
//! Open addressing with linear probing. Removing an entry shifts later ones back to close the gap,
//! so that no tombstones pile up. The table is at most half full. It doubles when a new flow would
//! make it fuller and never shrinks, so a warm table does not allocate.
//!
//! Most packets find their port empty. A flow that is alone therefore has a place of its own, and
//! only the second flow moves both into the slots.

use alloc::boxed::Box;
use alloc::vec;

use tidegate_units::{FlowId, QueueId};

/// Table of the flows that have packets queued.
#[derive(Clone, Debug)]
pub(super) struct FlowTable {
    /// Slots, a power of two of them.
    slots: Box<[Slot]>,
    /// The hash's upper bits select the home slot: 64 − log2(slots).
    shift: u32,
    flows: u32,
    /// The only flow, if it came to an empty table. All slots are then free.
    sole: Slot,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    flow: FlowId,
    /// Queued packets of the flow; zero for a free slot.
    packets: u32,
    /// Bytes of the flow that passed through the high-priority queue since it became active;
    /// saturates.
    passed: u32,
    queue: QueueId,
}

impl FlowTable {
    /// An empty table with room for half of 2^`bits` flows before it grows; `bits` is 1 to 31.
    pub(super) fn new(bits: u32) -> Self {
        Self {
            slots: vec![Slot::FREE; 1 << bits].into(),
            shift: u64::BITS - bits,
            flows: 0,
            sole: Slot::FREE,
        }
    }

    /// Records a packet of `flow` queued in `queue`, which becomes the flow's queue. `passed` of
    /// its bytes go through the high-priority queue.
    #[inline]
    pub(super) fn on_queued(&mut self, flow: FlowId, queue: QueueId, passed: u32) {
        if self.flows == 0 {
            self.flows = 1;
            self.sole = Slot { flow, ..Slot::FREE };
        } else if self.sole.packets == 0 {
            return self.on_queued_among_others(flow, queue, passed);
        } else if self.sole.flow != flow {
            self.join();
            return self.on_queued_among_others(flow, queue, passed);
        }
        self.sole.add(queue, passed);
    }

    /// Moves the flow that was alone to a normal slot.
    fn join(&mut self) {
        let index = self.home(self.sole.flow);
        self.slots[index] = self.sole;
        self.sole = Slot::FREE;
    }

    #[inline(never)]
    fn on_queued_among_others(&mut self, flow: FlowId, queue: QueueId, passed: u32) {
        let mut index = self.position(flow);
        if self.slots[index].packets == 0 {
            if (self.flows as usize + 1) * 2 > self.slots.len() {
                self.grow();
                index = self.position(flow);
            }
            self.flows += 1;
            self.slots[index] = Slot { flow, ..Slot::FREE };
        }
        self.slots[index].add(queue, passed);
    }

    /// Records the departure of a packet of `flow`. A flow that is not in the table is ignored.
    #[inline]
    pub(super) fn on_departed(&mut self, flow: FlowId) {
        if self.sole.packets > 0 {
            if self.sole.flow == flow {
                self.sole.packets -= 1;
                self.flows = u32::from(self.sole.packets > 0);
            }
            return;
        }
        self.on_departed_from_others(flow);
    }

    #[inline(never)]
    fn on_departed_from_others(&mut self, flow: FlowId) {
        let index = self.position(flow);
        match self.slots[index].packets {
            0 => {}
            1 => self.remove(index),
            _ => self.slots[index].packets -= 1,
        }
    }

    /// Queue of `flow` and its bytes that passed through the high-priority queue, or `None` if it
    /// has no packet queued.
    #[inline]
    pub(super) fn find(&self, flow: FlowId) -> Option<(QueueId, u32)> {
        if self.flows == 0 {
            return None;
        }
        let slot =
            if self.sole.packets > 0 { &self.sole } else { &self.slots[self.position(flow)] };
        (slot.packets > 0 && slot.flow == flow).then_some((slot.queue, slot.passed))
    }

    /// Number of flows that have packets queued.
    #[inline]
    pub(super) const fn flows(&self) -> u32 {
        self.flows
    }

    /// Slot of `flow`, or the free slot where its search ends.
    #[inline]
    fn position(&self, flow: FlowId) -> usize {
        let mut index = self.home(flow);
        loop {
            let slot = &self.slots[index];
            if slot.packets == 0 || slot.flow == flow {
                return index;
            }
            index = self.after(index);
        }
    }

    /// Fibonacci hashing: dense ids spread evenly, and the upper bits of the product depend on all
    /// bits of the id.
    #[inline]
    const fn home(&self, flow: FlowId) -> usize {
        ((flow.0 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    #[inline]
    const fn after(&self, index: usize) -> usize {
        (index + 1) & (self.slots.len() - 1)
    }

    #[inline]
    fn remove(&mut self, index: usize) {
        self.flows -= 1;
        let mut gap = index;
        let mut index = self.after(gap);
        while self.slots[index].packets > 0 {
            // An entry moves into the gap unless its home lies after the gap: a search that starts
            // there would miss it. Distances are counted backwards from the entry, around the end.
            let distance = |from: usize| index.wrapping_sub(from) & (self.slots.len() - 1);
            if distance(self.home(self.slots[index].flow)) >= distance(gap) {
                self.slots[gap] = self.slots[index];
                gap = index;
            }
            index = self.after(index);
        }
        self.slots[gap] = Slot::FREE;
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Self::new(u64::BITS - self.shift + 1);
        for &slot in self.slots.iter().filter(|slot| slot.packets > 0) {
            let index = larger.position(slot.flow);
            larger.slots[index] = slot;
        }
        larger.flows = self.flows;
        *self = larger;
    }
}

impl Slot {
    const FREE: Self = Self { flow: FlowId(0), packets: 0, passed: 0, queue: QueueId(0) };

    /// Adds a packet in `queue`.
    #[inline]
    const fn add(&mut self, queue: QueueId, passed: u32) {
        self.packets += 1;
        self.passed = self.passed.saturating_add(passed);
        self.queue = queue;
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    use tidegate_units::Rng;

    use super::*;

    #[test]
    fn a_flow_lives_while_it_has_a_packet_queued() {
        let mut table = FlowTable::new(3);
        let flow = FlowId(7);
        assert_eq!((table.find(flow), table.flows()), (None, 0));
        table.on_queued(flow, QueueId(0), 1500);
        table.on_queued(flow, QueueId(0), 64);
        assert_eq!(table.find(flow), Some((QueueId(0), 1564)));
        table.on_queued(flow, QueueId(3), 0);
        assert_eq!(table.find(flow), Some((QueueId(3), 1564)));
        assert_eq!(table.flows(), 1);
        table.on_departed(flow);
        table.on_departed(flow);
        assert_eq!(table.find(flow), Some((QueueId(3), 1564)));
        table.on_departed(flow);
        assert_eq!((table.find(flow), table.flows()), (None, 0));
        table.on_departed(flow);
        assert_eq!(table.flows(), 0);
        table.on_queued(flow, QueueId(0), 1);
        assert_eq!(table.find(flow), Some((QueueId(0), 1)), "the flow is new again");
    }

    #[test]
    fn a_second_flow_leaves_the_entry_of_the_first_unchanged() {
        let mut table = FlowTable::new(3);
        let (first, second) = (FlowId(0), FlowId(9));
        table.on_queued(first, QueueId(0), 100);
        table.on_departed(second);
        assert_eq!((table.find(second), table.flows()), (None, 1));
        table.on_queued(second, QueueId(2), 0);
        assert_eq!(table.find(first), Some((QueueId(0), 100)));
        assert_eq!(table.find(second), Some((QueueId(2), 0)));
        table.on_departed(first);
        // The second flow is alone now, but in a slot: only a flow that came to an empty table has
        // the sole place.
        assert_eq!((table.find(first), table.flows()), (None, 1));
        table.on_queued(second, QueueId(2), 0);
        table.on_departed(second);
        assert_eq!(table.find(second), Some((QueueId(2), 0)));
        table.on_departed(second);
        assert_eq!((table.find(second), table.flows()), (None, 0));
    }

    #[test]
    fn a_slot_takes_16_bytes() {
        assert_eq!(size_of::<Slot>(), 16);
    }

    #[test]
    fn passed_bytes_saturate() {
        let mut table = FlowTable::new(1);
        table.on_queued(FlowId(0), QueueId(0), u32::MAX - 1);
        table.on_queued(FlowId(0), QueueId(0), 2);
        assert_eq!(table.find(FlowId(0)), Some((QueueId(0), u32::MAX)));
    }

    #[test]
    fn the_table_doubles_when_half_full_and_keeps_its_size() {
        let mut table = FlowTable::new(2);
        let sizes = [0, 1, 2, 3, 4].map(|flow| {
            table.on_queued(FlowId(flow), QueueId(1), 0);
            table.slots.len()
        });
        assert_eq!(sizes, [4, 4, 8, 8, 16]);
        // A packet of a known flow does not count as another flow.
        for _ in 0..20 {
            table.on_queued(FlowId(0), QueueId(1), 0);
        }
        assert_eq!(table.slots.len(), 16);
        for flow in 1..5 {
            table.on_departed(FlowId(flow));
        }
        assert_eq!((table.slots.len(), table.flows()), (16, 1));
    }

    #[test]
    fn dense_ids_spread_over_the_table() {
        let table = FlowTable::new(6);
        let mut homes: Vec<usize> = (0..32).map(|f| table.home(FlowId(f))).collect();
        homes.sort_unstable();
        homes.dedup();
        assert_eq!(homes.len(), 32);
    }

    #[test]
    fn random_operations_agree_with_a_map() {
        for (stream, flows) in [(0, 3), (1, 12), (2, 400)] {
            let mut rng = Rng::new(1, stream);
            let mut table = FlowTable::new(2);
            let mut model = BTreeMap::<FlowId, (u32, QueueId, u32)>::new();
            for step in 0..20_000 {
                let flow = FlowId(rng.next_u32() % flows);
                // Phases of growth and of decay, so that chains form and dissolve.
                if rng.next_u32() % 8 < if step / 1_000 % 2 == 0 { 5 } else { 3 } {
                    let queue = QueueId(rng.next_u32() as u8);
                    let passed = rng.next_u32() % 2_000;
                    table.on_queued(flow, queue, passed);
                    let entry = model.entry(flow).or_insert((0, queue, 0));
                    *entry = (entry.0 + 1, queue, entry.2 + passed);
                } else {
                    table.on_departed(flow);
                    if let Some(entry) = model.get_mut(&flow) {
                        entry.0 -= 1;
                        if entry.0 == 0 {
                            model.remove(&flow);
                        }
                    }
                }
                assert_eq!(table.flows() as usize, model.len());
                assert!(table.flows() as usize * 2 <= table.slots.len());
                let check = FlowId(rng.next_u32() % flows);
                let expected = model.get(&check).map(|&(_, queue, passed)| (queue, passed));
                assert_eq!(table.find(check), expected, "step {step}");
            }
            for flow in (0..flows).map(FlowId) {
                let expected = model.get(&flow).map(|&(_, queue, passed)| (queue, passed));
                assert_eq!(table.find(flow), expected);
            }
        }
    }
}
