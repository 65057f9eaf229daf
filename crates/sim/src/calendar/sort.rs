//! Sorting of arrivals that are nearly in order.

use tidegate_units::Time;

use super::{Arrival, Rank};
use crate::packet::Packet;
use crate::slab::Slab;

/// Sorts a nearly sorted list; equal entries keep their order. `key` gives the time of an entry and
/// its packet's number.
#[inline(never)]
pub(crate) fn insertion<T: Copy>(
    list: &mut [T],
    packets: &Slab<Packet>,
    key: impl Fn(&T) -> (Time, u32),
) {
    let is_later = later(packets, key);
    for end in 1..list.len() {
        let sorted = &mut list[..=end];
        if !is_later(&sorted[end - 1], &sorted[end]) {
            continue;
        }
        let item = sorted[end];
        let mut at = end;
        while let Some(before) = at.checked_sub(1)
            && is_later(&sorted[before], &item)
        {
            sorted[at] = sorted[before];
            at = before;
        }
        sorted[at] = item;
    }
}

/// Sorts a list that consists of sorted runs, as arrivals from several links do; equal entries keep
/// their order. `spare` is working memory.
#[inline(never)]
pub(crate) fn merge_runs<T: Copy>(
    list: &mut [T],
    spare: &mut Vec<T>,
    packets: &Slab<Packet>,
    key: impl Fn(&T) -> (Time, u32),
) {
    let is_later = later(packets, key);
    // End of the first run of a list.
    let run = |list: &[T]| {
        let mut pairs = list.windows(2);
        let end = pairs.position(|pair| is_later(&pair[0], &pair[1]));
        end.map_or(list.len(), |last| last + 1)
    };
    let mut runs = usize::MAX;
    while runs > 1 {
        runs = 0;
        spare.clear();
        let mut rest = &*list;
        while !rest.is_empty() {
            let (mut first, others) = rest.split_at(run(rest));
            let (mut second, others) = others.split_at(run(others));
            while let ([a, behind_a @ ..], [b, behind_b @ ..]) = (first, second) {
                if is_later(a, b) {
                    spare.push(*b);
                    second = behind_b;
                } else {
                    spare.push(*a);
                    first = behind_a;
                }
            }
            spare.extend_from_slice(first);
            spare.extend_from_slice(second);
            rest = others;
            runs += 1;
        }
        list.copy_from_slice(spare);
    }
}

/// Whether one entry comes after another.
fn later<T>(packets: &Slab<Packet>, key: impl Fn(&T) -> (Time, u32)) -> impl Fn(&T, &T) -> bool {
    move |a, b| {
        let ((a, first), (b, second)) = (key(a), key(b));
        a > b || (a == b && has_later_rank(first, second, packets))
    }
}

#[cold]
fn has_later_rank(a: u32, b: u32, packets: &Slab<Packet>) -> bool {
    let [a, b] = [a, b].map(|packet| Rank::of(&packets[packet]));
    a > b
}

/// Sorts the arrivals of a bucket with a counting pass, then insertion. Reuses its memory.
#[derive(Debug, Default)]
pub(crate) struct ByTime {
    sorted: Vec<Arrival>,
    offsets: Vec<u32>,
}

impl ByTime {
    /// Result of the last sort.
    pub(crate) fn sorted(&self) -> &[Arrival] {
        &self.sorted
    }

    /// Sorts arrivals that are all within 2^`width` picoseconds from `begin`.
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
            insertion(&mut self.sorted, packets, Arrival::key);
            return &self.sorted;
        }
        // About one slot of time per arrival.
        let slots = count.next_power_of_two().min(1 << width);
        let shift = width - slots.ilog2();
        let slot = |arrival: &Arrival| ((arrival.at - begin).as_ps() >> shift) as usize;
        self.offsets.clear();
        self.offsets.resize(slots, 0);
        for arrival in arrivals {
            self.offsets[slot(arrival)] += 1;
        }
        let mut before = 0;
        for offset in &mut self.offsets {
            before += std::mem::replace(offset, before);
        }
        self.sorted.resize(count, Arrival::default());
        for arrival in arrivals {
            let offset = &mut self.offsets[slot(arrival)];
            self.sorted[*offset as usize] = *arrival;
            *offset += 1;
        }
        insertion(&mut self.sorted, packets, Arrival::key);
        &self.sorted
    }
}

/// Arrivals grouped by target: a chain for each target, in the order of the list.
#[derive(Debug, Default)]
pub(crate) struct ByTarget {
    targets: Vec<Chain>,
    /// Targets with arrivals.
    touched: Vec<u32>,
    /// Index of the next arrival at the same target, unless it is the last.
    next: Vec<u32>,
}

/// Arrivals of a target: their number, and the indices of the first and the last.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    count: u32,
    first: u32,
    last: u32,
}

impl ByTarget {
    pub(crate) fn new(targets: usize) -> Self {
        Self { targets: vec![Chain::default(); targets], ..Self::default() }
    }

    /// Builds the chains and discards the previous ones.
    pub(crate) fn chain(&mut self, arrivals: &[Arrival]) {
        let Self { targets, touched, next } = self;
        for target in touched.drain(..) {
            targets[target as usize].count = 0;
        }
        // The list only grows: entries behind the last arrival are ignored.
        if next.len() < arrivals.len() {
            next.resize(arrivals.len(), 0);
        }
        let (targets, next) = (targets.as_mut_slice(), next.as_mut_slice());
        for (index, arrival) in (0..).zip(arrivals) {
            let chain = &mut targets[arrival.target as usize];
            if chain.count == 0 {
                chain.first = index;
                touched.push(arrival.target);
            } else {
                next[chain.last as usize] = index;
            }
            chain.count += 1;
            chain.last = index;
        }
    }

    /// Number of targets with arrivals.
    pub(crate) fn targets(&self) -> usize {
        self.touched.len()
    }

    /// The target at this position among the targets with arrivals.
    #[inline]
    pub(crate) fn target(&self, index: usize) -> u32 {
        self.touched[index]
    }

    /// Number of arrivals at a target.
    #[inline]
    pub(crate) fn count(&self, target: u32) -> usize {
        self.targets[target as usize].count as usize
    }

    /// Writes the arrivals of a target to `out`, which has room for them, each converted by `make`.
    /// `arrivals` is the list that the chains were built from. Returns whether each arrival is
    /// later than the one before it.
    #[inline]
    pub(crate) fn write<T>(
        &self,
        target: u32,
        arrivals: &[Arrival],
        out: &mut [T],
        mut make: impl FnMut(&Arrival) -> T,
    ) -> bool {
        let next = &self.next[..arrivals.len()];
        let mut index = self.targets[target as usize].first as usize;
        let (mut latest, mut in_order) = (Time::ZERO, true);
        for out in out {
            let arrival = &arrivals[index];
            index = next[index] as usize;
            in_order &= latest < arrival.at;
            latest = arrival.at;
            *out = make(arrival);
        }
        in_order
    }

    /// Whether a target has arrivals.
    #[inline]
    pub(crate) fn has(&self, target: u32) -> bool {
        self.count(target) > 0
    }
}

/// A list whose memory is reused without being cleared.
#[derive(Debug, Default)]
pub(crate) struct Batch<T> {
    all: Vec<T>,
    count: usize,
}

impl<T: Copy + Default> Batch<T> {
    /// Starts a new list with `count` entries.
    #[inline]
    pub(crate) fn room(&mut self, count: usize) -> &mut [T] {
        if self.all.len() < count {
            self.all.resize(count, T::default());
        }
        self.count = count;
        &mut self.all[..count]
    }

    /// The current list.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.all[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::Rng;

    use super::*;
    use crate::network::LinkId;

    /// Arrivals in runs of random length with many ties, which are broken by the packet's link and
    /// then by the order of the list.
    #[test]
    fn lists_of_runs_are_sorted() {
        let mut rng = Rng::new(3, 0);
        let mut packets = Slab::new();
        for link in [2, 0, 1, 0] {
            packets.insert(Packet { link: LinkId(link), ..Packet::default() });
        }
        for case in 0..300 {
            let count = rng.next_u32() % 200;
            let mut at = 0;
            let list = (0..count).map(|target| {
                at = if rng.next_u32().is_multiple_of(1 + case % 30) {
                    0
                } else {
                    at + u64::from(rng.next_u32() % 3)
                };
                Arrival { at: Time::from_ps(at), target, packet: rng.next_u32() % 4 }
            });
            let mut list = list.collect::<Vec<_>>();
            let mut expected = list.clone();
            expected.sort_by_key(|it| (it.at, Rank::of(&packets[it.packet])));
            let mut inserted = list.clone();
            insertion(&mut inserted, &packets, Arrival::key);
            merge_runs(&mut list, &mut Vec::new(), &packets, Arrival::key);
            let targets = |list: &[Arrival]| list.iter().map(|it| it.target).collect::<Vec<_>>();
            assert_eq!(targets(&list), targets(&expected), "case {case}");
            assert_eq!(targets(&inserted), targets(&expected), "case {case}");
        }
    }
}
