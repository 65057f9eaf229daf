//! Sorting of arrivals that are nearly in order: a counting pass, then insertion.

use tidegate_units::Time;

use super::{Arrival, Rank};
use crate::packet::Packet;
use crate::slab::Slab;

/// Brings arrivals that are nearly in order into order; those that are equal keep their order.
#[inline]
pub(crate) fn insertion(arrivals: &mut [Arrival], packets: &Slab<Packet>) {
    for end in 1..arrivals.len() {
        let arrival = arrivals[end];
        let mut place = end;
        while place > 0 && is_later(&arrivals[place - 1], &arrival, packets) {
            arrivals[place] = arrivals[place - 1];
            place -= 1;
        }
        arrivals[place] = arrival;
    }
}

#[inline]
fn is_later(a: &Arrival, b: &Arrival, packets: &Slab<Packet>) -> bool {
    a.at > b.at || (a.at == b.at && has_later_rank(a, b, packets))
}

#[cold]
fn has_later_rank(a: &Arrival, b: &Arrival, packets: &Slab<Packet>) -> bool {
    let [a, b] = [a, b].map(|arrival| Rank::of(&packets[arrival.packet]));
    a > b
}

/// Sorts the arrivals of a bucket, with memory of its own that it uses again.
#[derive(Debug, Default)]
pub(crate) struct ByTime {
    sorted: Vec<Arrival>,
    places: Vec<u32>,
}

impl ByTime {
    /// The arrivals in order. All of them are within 2^`width` picoseconds from `begin` on.
    pub(crate) fn sort(
        &mut self,
        arrivals: &[Arrival],
        (begin, width): (Time, u32),
        packets: &Slab<Packet>,
    ) -> &[Arrival] {
        let count = arrivals.len();
        self.sorted.clear();
        if count <= 8 {
            self.sorted.extend_from_slice(arrivals);
            insertion(&mut self.sorted, packets);
            return &self.sorted;
        }
        // About one slot of time for each arrival.
        let slots = count.next_power_of_two().min(1 << width);
        let shift = width - slots.ilog2();
        let slot = |arrival: &Arrival| ((arrival.at - begin).as_ps() >> shift) as usize;
        self.places.clear();
        self.places.resize(slots, 0);
        for arrival in arrivals {
            self.places[slot(arrival)] += 1;
        }
        let mut before = 0;
        for place in &mut self.places {
            before += std::mem::replace(place, before);
        }
        self.sorted.resize(count, Arrival::default());
        for arrival in arrivals {
            let place = &mut self.places[slot(arrival)];
            self.sorted[*place as usize] = *arrival;
            *place += 1;
        }
        insertion(&mut self.sorted, packets);
        &self.sorted
    }
}

/// Sorts arrivals by the place that serves them, and for each place by time.
#[derive(Debug, Default)]
pub(crate) struct ByPlace {
    /// How many arrivals each place has, and after the scatter where they end.
    counts: Vec<u32>,
    ends: Vec<u32>,
    touched: Vec<u32>,
    sorted: Vec<Arrival>,
}

impl ByPlace {
    pub(crate) fn new(places: usize) -> Self {
        Self {
            counts: vec![0; places],
            ends: vec![0; places],
            touched: Vec::new(),
            sorted: Vec::new(),
        }
    }

    /// Sorts, and forgets what was sorted before.
    pub(crate) fn sort(&mut self, arrivals: &[Arrival], packets: &Slab<Packet>) {
        for &place in &self.touched {
            self.counts[place as usize] = 0;
        }
        self.touched.clear();
        for arrival in arrivals {
            let count = &mut self.counts[arrival.place as usize];
            if *count == 0 {
                self.touched.push(arrival.place);
            }
            *count += 1;
        }
        let mut before = 0;
        for &place in &self.touched {
            self.ends[place as usize] = before;
            before += self.counts[place as usize];
        }
        self.sorted.resize(arrivals.len(), Arrival::default());
        for arrival in arrivals {
            let end = &mut self.ends[arrival.place as usize];
            self.sorted[*end as usize] = *arrival;
            *end += 1;
        }
        for &place in &self.touched {
            let end = self.ends[place as usize];
            let begin = end - self.counts[place as usize];
            insertion(&mut self.sorted[begin as usize..end as usize], packets);
        }
    }

    /// How many places have arrivals.
    pub(crate) fn places(&self) -> usize {
        self.touched.len()
    }

    /// A place with arrivals, and these in order.
    #[inline]
    pub(crate) fn place(&self, index: usize) -> (u32, &[Arrival]) {
        let place = self.touched[index];
        let end = self.ends[place as usize];
        let begin = end - self.counts[place as usize];
        (place, &self.sorted[begin as usize..end as usize])
    }

    /// Whether a place had arrivals.
    #[inline]
    pub(crate) fn has(&self, place: u32) -> bool {
        self.counts[place as usize] > 0
    }
}
