//! Sorting of arrivals that are nearly in order: a counting pass, then insertion.

use tidegate_units::Time;

use super::{Arrival, Rank};
use crate::packet::Packet;
use crate::slab::Slab;

/// Brings arrivals that are nearly in order into order; those that are equal keep their order.
#[inline]
pub(crate) fn insertion(arrivals: &mut [Arrival], packets: &Slab<Packet>) {
    for end in 1..arrivals.len() {
        let sorted = &mut arrivals[..=end];
        if !is_later(&sorted[end - 1], &sorted[end], packets) {
            continue;
        }
        let arrival = sorted[end];
        let mut place = end;
        while let Some(before) = place.checked_sub(1)
            && is_later(&sorted[before], &arrival, packets)
        {
            sorted[place] = sorted[before];
            place = before;
        }
        sorted[place] = arrival;
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
    places: Vec<Place>,
    /// Places with arrivals.
    touched: Vec<u32>,
    sorted: Vec<Arrival>,
}

/// Where the arrivals of one place are in `sorted`.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    count: u32,
    end: u32,
}

impl ByPlace {
    pub(crate) fn new(places: usize) -> Self {
        Self {
            places: vec![Place::default(); places],
            ..Self::default()
        }
    }

    /// Sorts, and forgets what was sorted before.
    pub(crate) fn sort(&mut self, arrivals: &[Arrival], packets: &Slab<Packet>) {
        let Self {
            places,
            touched,
            sorted,
        } = self;
        for place in touched.drain(..) {
            places[place as usize].count = 0;
        }
        for arrival in arrivals {
            let place = &mut places[arrival.place as usize];
            if place.count == 0 {
                touched.push(arrival.place);
            }
            place.count += 1;
        }
        let mut before = 0;
        for &place in &*touched {
            let place = &mut places[place as usize];
            place.end = before;
            before += place.count;
        }
        // It only grows: what is left behind the last place is not looked at.
        if sorted.len() < arrivals.len() {
            sorted.resize(arrivals.len(), Arrival::default());
        }
        for arrival in arrivals {
            let place = &mut places[arrival.place as usize];
            sorted[place.end as usize] = *arrival;
            place.end += 1;
        }
        for &place in &*touched {
            let Place { count, end } = places[place as usize];
            if count > 1 {
                insertion(&mut sorted[(end - count) as usize..end as usize], packets);
            }
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
        let Place { count, end } = self.places[place as usize];
        (place, &self.sorted[(end - count) as usize..end as usize])
    }

    /// Whether a place had arrivals.
    #[inline]
    pub(crate) fn has(&self, place: u32) -> bool {
        self.places[place as usize].count > 0
    }
}
