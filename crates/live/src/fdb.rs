//! Where stations are: learned from the sources of frames, forgotten after a while.
//!
//! A table of fixed size, in sets of four entries that fill a cache line. A set without room for
//! another live address learns none until one has aged: the frames for it are flooded, and counted
//! as not learned. So a stranger who makes up addresses costs bandwidth, not memory, and pushes no
//! station out that is heard of.

use tidegate_units::{ConfigError, PortId, Span, Time};

use crate::frame::Mac;

/// The forwarding table of a switch.
#[derive(Clone, Debug)]
pub struct Fdb {
    sets: Box<[Set]>,
    ageing: Span,
    not_learned: u64,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Set([Entry; WAYS]);

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The address in the low 48 bits, the port above. The address zero is nobody's: a free entry.
    station: u64,
    heard: Time,
}

const WAYS: usize = 4;
const FREE: Entry = Entry {
    station: 0,
    heard: Time::ZERO,
};
const ADDRESS: u64 = (1 << 48) - 1;

impl Fdb {
    /// An empty table for `addresses` stations, rounded up to a power of two, each forgotten
    /// `ageing` after it was last heard of.
    pub fn new(addresses: u32, ageing: Span) -> Result<Self, ConfigError> {
        if !(WAYS as u32..=MAX_ADDRESSES).contains(&addresses) {
            let allowed = format!("{WAYS} to {MAX_ADDRESSES}");
            return Err(ConfigError::out_of_range("addresses", addresses, allowed));
        }
        let sets = addresses.next_power_of_two() as usize / WAYS;
        Ok(Self {
            sets: vec![Set([FREE; WAYS]); sets].into(),
            ageing,
            not_learned: 0,
        })
    }

    /// A frame from `source` came in at `port`.
    #[inline]
    pub fn learn(&mut self, source: Mac, port: PortId, now: Time) {
        let address = source.number();
        if source.is_group() || address == 0 {
            return;
        }
        let ageing = self.ageing;
        let set = self.set(source);
        let entries = &mut self.sets[set].0;
        let known = entries.iter().position(|entry| entry.is(source));
        let place = known.or_else(|| entries.iter().position(|entry| entry.is_old(now, ageing)));
        match place {
            Some(way) => {
                entries[way] = Entry {
                    station: address | u64::from(port.0) << 48,
                    // Frames of several ports may be taken out of order.
                    heard: now.max(entries[way].heard),
                }
            }
            None => self.not_learned += 1,
        }
    }

    /// Where `station` is, if it was heard of lately.
    #[inline]
    pub fn lookup(&self, station: Mac, now: Time) -> Option<PortId> {
        let entries = &self.sets[self.set(station)].0;
        let entry = entries.iter().find(|entry| entry.is(station))?;
        let port = PortId((entry.station >> 48) as u16);
        (!entry.is_old(now, self.ageing)).then_some(port)
    }

    /// Forgets the stations at `port`, whose link went down.
    pub fn forget(&mut self, port: PortId) {
        let entries = self.sets.iter_mut().flat_map(|set| &mut set.0);
        for entry in entries.filter(|entry| entry.station >> 48 == u64::from(port.0)) {
            *entry = FREE;
        }
    }

    /// How many stations were heard of lately.
    pub fn stations(&self, now: Time) -> usize {
        let entries = self.sets.iter().flat_map(|set| &set.0);
        entries
            .filter(|entry| !entry.is_old(now, self.ageing))
            .count()
    }

    /// Frames whose source found no room.
    pub const fn not_learned(&self) -> u64 {
        self.not_learned
    }

    #[inline]
    fn set(&self, station: Mac) -> usize {
        // Vendors count up the low bits and share the high ones: multiply, take from the top.
        let mixed = station.number().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        mixed as usize & (self.sets.len() - 1)
    }
}

impl Entry {
    #[inline]
    const fn is(&self, station: Mac) -> bool {
        self.station & ADDRESS == station.number()
    }

    /// Whether it is free to be used: never was, or not heard of for too long.
    #[inline]
    fn is_old(&self, now: Time, ageing: Span) -> bool {
        self.station == 0 || now - self.heard > ageing
    }
}

const MAX_ADDRESSES: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const AGEING: Span = Span::from_secs(300);

    fn mac(number: u64) -> Mac {
        let [_, _, bytes @ ..] = (0x0200_0000_0000 | number).to_be_bytes();
        Mac::new(bytes)
    }

    #[test]
    fn a_station_is_found_where_it_was_last_heard_until_it_ages() {
        let mut fdb = Fdb::new(64, AGEING).unwrap();
        assert_eq!(fdb.lookup(mac(1), Time::ZERO), None);
        fdb.learn(mac(1), PortId(3), Time::ZERO);
        let limit = Time::ZERO + AGEING;
        assert_eq!(fdb.lookup(mac(1), limit), Some(PortId(3)));
        assert_eq!(fdb.lookup(mac(1), limit + Span::from_ps(1)), None);
        fdb.learn(mac(1), PortId(4), limit);
        assert_eq!(fdb.lookup(mac(1), limit + AGEING), Some(PortId(4)));
        assert_eq!(fdb.stations(limit), 1);
    }

    #[test]
    fn groups_and_the_address_zero_are_not_learned() {
        let mut fdb = Fdb::new(64, AGEING).unwrap();
        for address in [
            Mac::new([0xFF; 6]),
            Mac::new([1, 0, 0x5E, 0, 0, 1]),
            Mac::new([0; 6]),
        ] {
            fdb.learn(address, PortId(0), Time::ZERO);
            assert_eq!(fdb.lookup(address, Time::ZERO), None);
        }
        assert_eq!((fdb.stations(Time::ZERO), fdb.not_learned()), (0, 0));
    }

    #[test]
    fn a_full_table_learns_nothing_new_and_loses_nothing_old() {
        let mut fdb = Fdb::new(64, AGEING).unwrap();
        for number in 0..10_000 {
            fdb.learn(mac(number), PortId(1), Time::ZERO);
        }
        assert_eq!(fdb.stations(Time::ZERO), 64);
        assert_eq!(fdb.not_learned(), 10_000 - 64);
        let known = (0..10_000).filter(|&n| fdb.lookup(mac(n), Time::ZERO).is_some());
        assert_eq!(known.count(), 64);
        // When all have aged there is room again.
        let later = Time::ZERO + AGEING + Span::from_ps(1);
        assert_eq!(fdb.stations(later), 0);
        fdb.learn(mac(20_000), PortId(2), later);
        assert_eq!(fdb.lookup(mac(20_000), later), Some(PortId(2)));
    }

    #[test]
    fn neighbouring_addresses_spread_over_the_table() {
        let mut fdb = Fdb::new(8_192, AGEING).unwrap();
        for number in 0..2_000 {
            fdb.learn(mac(number), PortId(1), Time::ZERO);
        }
        assert_eq!((fdb.stations(Time::ZERO), fdb.not_learned()), (2_000, 0));
    }

    #[test]
    fn a_port_that_went_down_is_forgotten() {
        let mut fdb = Fdb::new(64, AGEING).unwrap();
        fdb.learn(mac(1), PortId(0), Time::ZERO);
        fdb.learn(mac(2), PortId(1), Time::ZERO);
        fdb.forget(PortId(0));
        assert_eq!(fdb.lookup(mac(1), Time::ZERO), None);
        assert_eq!(fdb.lookup(mac(2), Time::ZERO), Some(PortId(1)));
        assert_eq!(fdb.stations(Time::ZERO), 1);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for addresses in [0, 3, MAX_ADDRESSES + 1] {
            assert!(Fdb::new(addresses, AGEING).is_err());
        }
        assert!(Fdb::new(4, AGEING).is_ok() && Fdb::new(1_000, AGEING).is_ok());
    }
}
