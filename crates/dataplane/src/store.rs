//! The packets waiting at a port: one arena, linked into one list per queue.
//!
//! A port with many queues needs memory for the packets it holds, not for the longest backlog of
//! each queue, and a packet can be removed from any position. Slots are reused last in, first out,
//! so a port that holds few packets touches few cache lines. The arena grows and never shrinks: no
//! allocation once the port has seen its longest backlog.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tidegate_units::{Ecn, FlowId, PktId, QueueId, Time};

use crate::buffer::Charge;

/// Slot of a waiting packet in its port's store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(pub(crate) u32);

impl Slot {
    /// No slot: the end of a list.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// A waiting packet.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) arrival: Time,
    pub(crate) id: PktId,
    pub(crate) flow: FlowId,
    /// The buffer's charge for the packet, whose length is the packet's.
    pub(crate) charge: Charge,
    /// The packet behind it in the same list, or the next free slot.
    pub(crate) next: Slot,
    pub(crate) ecn: Ecn,
    /// Queue that the packet counts for. Schedulers that merge queues keep one list for several.
    pub(crate) queue: QueueId,
}

/// The ends of one list. If `head` is `NONE`, the list is empty and `tail` is undefined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: Slot,
    tail: Slot,
}

impl List {
    pub(crate) const EMPTY: Self = Self { head: Slot::NONE, tail: Slot::NONE };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.head == Slot::NONE
    }
}

/// Arena of waiting packets.
#[derive(Debug)]
pub(crate) struct Store {
    entries: Box<[Entry]>,
    free: Slot,
    packets: u32,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self { entries: Box::default(), free: Slot::NONE, packets: 0 }
    }

    /// Number of packets in the store.
    #[inline]
    pub(crate) const fn packets(&self) -> u32 {
        self.packets
    }

    /// All packets with their queues, in no order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (PktId, QueueId)> {
        let mut is_free = alloc::vec![false; self.entries.len()];
        let mut free = self.free;
        while let Some(entry) = self.entries.get(free.0 as usize) {
            is_free[free.0 as usize] = true;
            free = entry.next;
        }
        let entries = self.entries.iter().zip(is_free);
        let held = entries.filter(|(_, is_free)| !is_free);
        held.map(|(entry, _)| (entry.id, entry.queue))
    }

    /// Puts a packet into a free slot, in no list.
    #[inline]
    pub(crate) fn insert(&mut self, entry: Entry) -> Slot {
        loop {
            let slot = self.free;
            if let Some(place) = self.entries.get_mut(slot.0 as usize) {
                self.free = place.next;
                *place = entry;
                self.packets += 1;
                return slot;
            }
            // Growing in a separate function lets the entry go straight from registers to its slot.
            self.grow();
        }
    }

    /// Puts a packet at the end of a list. Returns whether the list was empty.
    #[inline]
    pub(crate) fn push(&mut self, list: &mut List, entry: Entry) -> bool {
        let slot = self.insert(entry);
        let was_empty = list.is_empty();
        if was_empty {
            list.head = slot;
        } else {
            self.entries[list.tail.0 as usize].next = slot;
        }
        list.tail = slot;
        was_empty
    }

    /// Adds free slots.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let old = u32::try_from(self.entries.len()).expect("a port holds fewer than 2^32 packets");
        // Grows by a quarter, because unused slots take memory too.
        let new = old.saturating_add((old / 4).max(4));
        let mut entries = Vec::with_capacity(new as usize);
        entries.extend(core::mem::take(&mut self.entries));
        // The lowest new slot is taken first.
        entries.extend((old..new).map(|slot| Entry {
            arrival: Time::ZERO,
            id: PktId(0),
            flow: FlowId(0),
            charge: Charge::new(0, 0),
            next: Slot(slot + 1),
            ecn: Ecn::NotEct,
            queue: QueueId(0),
        }));
        if let Some(last) = entries.last_mut() {
            last.next = Slot::NONE;
        }
        self.entries = entries.into();
        self.free = Slot(old);
    }

    /// Takes the first packet of a list that is not empty.
    #[inline]
    pub(crate) fn pop(&mut self, list: &mut List) -> Entry {
        let slot = list.head;
        let place = &mut self.entries[slot.0 as usize];
        list.head = place.next;
        self.packets -= 1;
        vacate(place, &mut self.free, slot)
    }

    /// Removes a packet that is in no list.
    #[inline]
    pub(crate) fn take(&mut self, slot: Slot) -> Entry {
        let place = &mut self.entries[slot.0 as usize];
        self.packets -= 1;
        vacate(place, &mut self.free, slot)
    }

    /// Queue of the first packet of a list that is not empty.
    #[inline]
    pub(crate) fn head_queue(&self, list: List) -> QueueId {
        self.entries[list.head.0 as usize].queue
    }

    /// Length of the first packet of a list, or `None` if the list is empty.
    #[inline]
    pub(crate) fn head_len(&self, list: List) -> Option<u32> {
        self.entries.get(list.head.0 as usize).map(|entry| entry.charge.bytes())
    }
}

/// Moves a packet out and links its slot into the free list.
#[inline]
fn vacate(place: &mut Entry, free: &mut Slot, slot: Slot) -> Entry {
    let entry = Entry { charge: place.charge.move_out(), ..*place };
    place.next = *free;
    *free = slot;
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u32) -> Entry {
        Entry {
            arrival: Time::ZERO,
            id: PktId(id),
            flow: FlowId(0),
            charge: Charge::new(id, 0),
            next: Slot::NONE,
            ecn: Ecn::NotEct,
            queue: QueueId(0),
        }
    }

    fn insert(store: &mut Store, id: u32) -> Slot {
        store.insert(entry(id))
    }

    #[test]
    fn lists_are_first_in_first_out_and_slots_are_reused() {
        let mut store = Store::new();
        let mut list = List::EMPTY;
        for id in 1..=3 {
            assert_eq!(store.push(&mut list, entry(id)), id == 1);
        }
        assert_eq!(store.head_len(list), Some(1));
        let ids = core::array::from_fn(|_| store.pop(&mut list).id.0);
        assert_eq!(ids, [1, 2, 3]);
        assert_eq!((list.is_empty(), store.head_len(list)), (true, None));
        let slots = core::array::from_fn(|_| insert(&mut store, 9).0);
        assert_eq!(slots, [2, 1, 0, 3], "last in, first out, then a new one");
    }

    #[test]
    fn a_packet_outside_the_lists_is_taken_by_its_slot() {
        let mut store = Store::new();
        let (first, second) = (insert(&mut store, 1), insert(&mut store, 2));
        assert_eq!(store.take(second).id, PktId(2));
        assert_eq!(store.take(first).charge.bytes(), 1);
    }

    #[test]
    fn an_entry_is_half_a_cache_line() {
        assert_eq!(size_of::<Entry>(), 32);
    }
}
