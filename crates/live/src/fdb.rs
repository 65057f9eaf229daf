//! Locations of stations: learned from the sources of frames, forgotten after a while.
//!
//! A table of fixed size, in sets of four entries that fill a cache line. The set of an address
//! depends on a key drawn when the table is created, so that addresses cannot be chosen to collide.
//! When a set is full, a new station evicts an entry of the port that holds most of the set, its
//! own port first, and of those the one seen longest ago. So a host that forges addresses mostly
//! evicts its own forgeries.
//!
//! The number of stations at a port can be limited. Further stations are not learned, and the
//! switch does not forward their frames.

use std::cmp::Reverse;

use tidegate_units::{ConfigError, PortId, Rng, Span, Time};

use crate::frame::Mac;

/// The forwarding table of a switch.
#[derive(Clone, Debug)]
pub struct Fdb {
    sets: Box<[Set]>,
    hash: Box<Tables>,
    ageing: Span,
    ports: Box<[Members]>,
    evicted: u64,
    moved: u64,
    /// The next set to sweep.
    next_swept: usize,
}

/// Stations of a port.
#[derive(Clone, Copy, Debug)]
struct Members {
    /// Number of entries, including aged ones that were not yet swept.
    stations: u32,
    limit: u32,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Set([Entry; WAYS]);

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Address in the low 48 bits, port above. The address zero belongs to no station: a free
    /// entry.
    station: u64,
    last_seen: Time,
}

/// Random words by position and value of an address's bytes: tabulation hashing.
type Tables = [[u32; 256]; 6];

const WAYS: usize = 4;
const FREE: Entry = Entry { station: 0, last_seen: Time::ZERO };
const ADDRESS: u64 = (1 << 48) - 1;

/// Limit of a port without a limit of its stations.
pub const NO_LIMIT: u32 = u32::MAX;

/// Error: a station is not learned because its port has reached its limit, or because it is at
/// another port and this one has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// Checks the size of a table.
pub(crate) fn check(addresses: u32) -> Result<(), ConfigError> {
    if !(WAYS as u32..=MAX_ADDRESSES).contains(&addresses) {
        let allowed = format!("{WAYS} to {MAX_ADDRESSES}");
        return Err(ConfigError::out_of_range("addresses", addresses, allowed));
    }
    Ok(())
}

impl Fdb {
    /// Creates an empty table for `addresses` stations, rounded up to a power of two, each
    /// forgotten `ageing` after it was last seen. `limits` are the most stations of each port; keep
    /// `key` secret.
    pub fn new(
        addresses: u32,
        ageing: Span,
        limits: &[u32],
        key: u64,
    ) -> Result<Self, ConfigError> {
        check(addresses)?;
        let sets = addresses.next_power_of_two() as usize / WAYS;
        let mut rng = Rng::new(key, 0);
        let mut hash = Box::new([[0; 256]; 6]);
        for word in hash.as_flattened_mut() {
            *word = rng.next_u32();
        }
        let members = |&limit: &u32| Members { stations: 0, limit };
        Ok(Self {
            sets: vec![Set([FREE; WAYS]); sets].into(),
            hash,
            ageing,
            ports: limits.iter().map(members).collect(),
            evicted: 0,
            moved: 0,
            next_swept: 0,
        })
    }

    /// Learns the port of a frame's source.
    #[inline]
    pub fn learn(&mut self, source: Mac, port: PortId, now: Time) -> Result<(), TooMany> {
        let station = source.number() | u64::from(port.0) << 48;
        let set = self.set(source);
        let entries = &mut self.sets[set].0;
        match entries.iter_mut().find(|entry| entry.station == station) {
            Some(entry) if source.number() != 0 => {
                // Frames of different ports may be read out of order.
                entry.last_seen = entry.last_seen.max(now);
                Ok(())
            }
            _ => self.learn_anew(set, source, port, now),
        }
    }

    /// Learns a station that was not at this port.
    #[cold]
    fn learn_anew(
        &mut self,
        set: usize,
        source: Mac,
        port: PortId,
        now: Time,
    ) -> Result<(), TooMany> {
        let members = self.ports[port.index()];
        let is_nobodys = source.is_group() || source.number() == 0;
        if is_nobodys && members.limit == NO_LIMIT {
            return Ok(());
        }
        // At a port with a limit, every sender must be a station.
        if is_nobodys || members.stations >= members.limit {
            return Err(TooMany);
        }
        let entries = &mut self.sets[set].0;
        let known = entries.iter().position(|entry| entry.is(source));
        let old = |entry: &Entry| entry.is_old(now, self.ageing);
        if let Some(way) = known.filter(|&way| !old(&entries[way])) {
            // At a port with a limit, no station is taken over from another port.
            if members.limit != NO_LIMIT {
                return Err(TooMany);
            }
            // A station is neither taken over nor kept from the owner of its address elsewhere: it
            // has no location until one of them sends again.
            let holder = entries[way];
            if self.ports[holder.port().index()].limit != NO_LIMIT {
                entries[way] = FREE;
                self.moved += 1;
                self.leave(holder);
                return Ok(());
            }
        }
        let way = known
            .or_else(|| entries.iter().position(old))
            .unwrap_or_else(|| place_of_another(entries, port));
        let before = entries[way];
        entries[way] = Entry { station: source.number() | u64::from(port.0) << 48, last_seen: now };
        if !before.is_old(now, self.ageing) {
            match known {
                Some(_) => self.moved += 1,
                None => self.evicted += 1,
            }
        }
        self.leave(before);
        self.ports[port.index()].stations += 1;
        Ok(())
    }

    /// Records that an entry left the table.
    fn leave(&mut self, entry: Entry) {
        if entry.station != 0 {
            self.ports[entry.port().index()].stations -= 1;
        }
    }

    /// Port of `station`, if it was seen recently.
    #[inline]
    pub fn lookup(&self, station: Mac, now: Time) -> Option<PortId> {
        let entries = &self.sets[self.set(station)].0;
        let entry = entries.iter().find(|entry| entry.is(station))?;
        (!entry.is_old(now, self.ageing)).then_some(entry.port())
    }

    /// Forgets the stations at `port`, whose link went down.
    pub fn forget(&mut self, port: PortId) {
        let entries = self.sets.iter_mut().flat_map(|set| &mut set.0);
        for entry in entries.filter(|entry| entry.station != 0 && entry.port() == port) {
            *entry = FREE;
        }
        self.ports[port.index()].stations = 0;
    }

    /// Frees entries of aged stations in a part of the table. Call it some times a second.
    pub fn sweep(&mut self, now: Time) {
        for _ in 0..SWEPT.min(self.sets.len()) {
            for way in 0..WAYS {
                let entry = self.sets[self.next_swept].0[way];
                if entry.station != 0 && entry.is_old(now, self.ageing) {
                    self.sets[self.next_swept].0[way] = FREE;
                    self.leave(entry);
                }
            }
            self.next_swept = (self.next_swept + 1) % self.sets.len();
        }
    }

    /// Number of stations in the table.
    pub fn stations(&self) -> u64 {
        let ports = self.ports.iter();
        ports.map(|members| u64::from(members.stations)).sum()
    }

    /// Number of stations at `port`.
    pub fn stations_at(&self, port: PortId) -> u64 {
        self.ports[port.index()].stations.into()
    }

    /// Number of stations that replaced another one that had not aged.
    pub const fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Number of stations seen at a different port than before.
    pub const fn moved(&self) -> u64 {
        self.moved
    }

    #[inline]
    fn set(&self, station: Mac) -> usize {
        let bytes = station.number().to_le_bytes();
        let words = self.hash.iter().zip(bytes);
        let hash = words.fold(0, |hash, (words, byte)| hash ^ words[usize::from(byte)]);
        hash as usize & (self.sets.len() - 1)
    }
}

/// Entry of a full set that a station at `port` replaces: of the port with most entries, of its own
/// port in a tie, and of those the one seen longest ago.
fn place_of_another(entries: &[Entry; WAYS], port: PortId) -> usize {
    let weight = |way: &usize| {
        let entry = &entries[*way];
        let same = entries.iter().filter(|other| other.port() == entry.port());
        (same.count(), entry.port() == port, Reverse(entry.last_seen))
    };
    (0..WAYS).max_by_key(weight).unwrap_or_default()
}

impl Entry {
    #[inline]
    const fn is(&self, station: Mac) -> bool {
        self.station & ADDRESS == station.number()
    }

    #[inline]
    const fn port(&self) -> PortId {
        PortId((self.station >> 48) as u16)
    }

    /// Whether the entry may be reused: free, or not seen for too long.
    #[inline]
    fn is_old(&self, now: Time, ageing: Span) -> bool {
        self.station == 0 || now - self.last_seen > ageing
    }
}

const MAX_ADDRESSES: u32 = 1 << 20;

/// Sets swept at once: some tens of microseconds. At ten sweeps per second the largest table takes
/// seven seconds.
const SWEPT: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    const AGEING: Span = Span::from_secs(300);

    fn mac(number: u64) -> Mac {
        let [_, _, bytes @ ..] = (0x0200_0000_0000 | number).to_be_bytes();
        Mac::new(bytes)
    }

    fn table(addresses: u32) -> Fdb {
        Fdb::new(addresses, AGEING, &[NO_LIMIT; 8], 7).unwrap()
    }

    fn learn(fdb: &mut Fdb, number: u64, port: u16, now: Time) {
        fdb.learn(mac(number), PortId(port), now).unwrap();
    }

    #[test]
    fn a_station_is_found_where_it_was_last_heard_until_it_ages() {
        let mut fdb = table(64);
        assert_eq!(fdb.lookup(mac(1), Time::ZERO), None);
        learn(&mut fdb, 1, 3, Time::ZERO);
        let limit = Time::ZERO + AGEING;
        assert_eq!(fdb.lookup(mac(1), limit), Some(PortId(3)));
        assert_eq!(fdb.lookup(mac(1), limit + Span::from_ps(1)), None);
        learn(&mut fdb, 1, 4, limit);
        assert_eq!(fdb.lookup(mac(1), limit + AGEING), Some(PortId(4)));
        assert_eq!((fdb.stations(), fdb.moved(), fdb.evicted()), (1, 1, 0));
    }

    #[test]
    fn groups_and_the_address_zero_are_not_learned() {
        let mut fdb = table(64);
        for address in [Mac::new([0xFF; 6]), Mac::new([1, 0, 0x5E, 0, 0, 1]), Mac::new([0; 6])] {
            assert_eq!(fdb.learn(address, PortId(0), Time::ZERO), Ok(()));
            assert_eq!(fdb.lookup(address, Time::ZERO), None);
        }
        assert_eq!((fdb.stations(), fdb.evicted()), (0, 0));
    }

    #[test]
    fn the_newest_station_has_an_entry_in_a_full_table() {
        let mut fdb = table(64);
        for number in 0..10_000 {
            learn(&mut fdb, number, 1, Time::from_us(number));
            assert_eq!(fdb.lookup(mac(number), Time::from_us(number)), Some(PortId(1)));
        }
        assert_eq!(fdb.stations(), 64);
        assert_eq!(fdb.evicted(), 10_000 - 64);
        // After all entries have aged there is room again.
        let later = Time::from_ms(10) + AGEING;
        fdb.sweep(later);
        assert_eq!(fdb.stations(), 0);
        learn(&mut fdb, 20_000, 2, later);
        assert_eq!(fdb.lookup(mac(20_000), later), Some(PortId(2)));
        assert_eq!(fdb.evicted(), 10_000 - 64);
    }

    #[test]
    fn forged_addresses_at_one_port_do_not_evict_active_stations_at_another() {
        // So many that every set is full of forged addresses again and again.
        let mut fdb = table(1_024);
        for station in 0..16 {
            learn(&mut fdb, station, (station % 4) as u16, Time::ZERO);
        }
        for number in 0..100_000 {
            learn(&mut fdb, 1_000 + number, 5, Time::from_us(number));
        }
        assert!(fdb.evicted() > 90_000);
        let now = Time::from_us(100_000);
        for station in 0..16 {
            let port = PortId((station % 4) as u16);
            assert_eq!(fdb.lookup(mac(station), now), Some(port), "{station}");
        }
        // A station that comes later gets an entry at once.
        learn(&mut fdb, 17, 1, now);
        learn(&mut fdb, 200_000, 5, now);
        assert_eq!(fdb.lookup(mac(17), now), Some(PortId(1)));
    }

    #[test]
    fn addresses_that_collide_in_one_table_do_not_in_another() {
        // As many as fill the set of a station, found in a table with a known key.
        let known = Fdb::new(8_192, AGEING, &[NO_LIMIT; 8], 1).unwrap();
        let meeting = (1..).map(mac).filter(|&mac| known.set(mac) == known.set(self::mac(0)));
        let meeting: Vec<Mac> = meeting.take(100).collect();
        let other = Fdb::new(8_192, AGEING, &[NO_LIMIT; 8], 2).unwrap();
        let still = meeting.iter().filter(|&&mac| other.set(mac) == other.set(self::mac(0)));
        assert!(still.count() <= 1);
    }

    #[test]
    fn neighbouring_addresses_spread_over_the_table() {
        let mut fdb = table(8_192);
        for number in 0..1_000 {
            learn(&mut fdb, number, 1, Time::ZERO);
        }
        // Of 2,048 sets, with half a station each on average, hardly any gets a fifth station.
        assert!(fdb.evicted() < 3, "{}", fdb.evicted());
    }

    #[test]
    fn a_port_has_at_most_its_limit_of_stations() {
        let mut fdb = Fdb::new(64, AGEING, &[2, NO_LIMIT], 7).unwrap();
        // A station of another port cannot be taken over, even if there is room.
        learn(&mut fdb, 4, 1, Time::ZERO);
        assert_eq!(fdb.learn(mac(4), PortId(0), Time::ZERO), Err(TooMany));
        assert_eq!(fdb.lookup(mac(4), Time::ZERO), Some(PortId(1)));
        let mut at_limited = |number, now| fdb.learn(mac(number), PortId(0), now);
        assert_eq!(at_limited(1, Time::ZERO), Ok(()));
        assert_eq!(at_limited(2, Time::ZERO), Ok(()));
        assert_eq!(at_limited(3, Time::ZERO), Err(TooMany));
        assert_eq!(at_limited(1, Time::from_us(1)), Ok(()));
        // One of its own stations that is heard elsewhere has no location, and then the one where
        // it sends next.
        learn(&mut fdb, 2, 1, Time::from_us(2));
        assert_eq!(fdb.lookup(mac(2), Time::from_us(2)), None);
        assert_eq!([0, 1].map(|port| fdb.stations_at(PortId(port))), [1, 1]);
        assert_eq!(fdb.moved(), 1);
        learn(&mut fdb, 2, 0, Time::from_us(3));
        assert_eq!(fdb.lookup(mac(2), Time::from_us(3)), Some(PortId(0)));
        // So no station is kept away forever by an earlier one: its second frame gets an entry.
        learn(&mut fdb, 2, 1, Time::from_us(3));
        learn(&mut fdb, 2, 1, Time::from_us(3));
        assert_eq!(fdb.learn(mac(2), PortId(0), Time::from_us(3)), Err(TooMany));
        assert_eq!(fdb.lookup(mac(2), Time::from_us(3)), Some(PortId(1)));
        assert_eq!([0, 1].map(|port| fdb.stations_at(PortId(port))), [1, 2]);
        // A station that ages makes room.
        let later = Time::from_us(3) + AGEING;
        fdb.sweep(later);
        assert_eq!(fdb.learn(mac(5), PortId(0), later), Ok(()));
        assert_eq!(fdb.stations_at(PortId(0)), 1);
        // So does a station that was silent that long elsewhere.
        let much_later = later + AGEING + AGEING;
        fdb.sweep(much_later);
        learn(&mut fdb, 4, 1, much_later - AGEING - AGEING);
        assert_eq!(fdb.learn(mac(4), PortId(0), much_later), Ok(()));
    }

    #[test]
    fn a_port_with_a_limit_refuses_invalid_source_addresses() {
        let mut fdb = Fdb::new(64, AGEING, &[2, NO_LIMIT], 7).unwrap();
        for source in [0, 0x0100_5E00_0001, ADDRESS] {
            let [_, _, bytes @ ..] = u64::to_be_bytes(source);
            let mut learn = |port| fdb.learn(Mac::new(bytes), PortId(port), Time::ZERO);
            assert_eq!([learn(0), learn(1)], [Err(TooMany), Ok(())]);
        }
        assert_eq!(fdb.stations(), 0);
    }

    #[test]
    fn a_port_that_went_down_is_forgotten() {
        let mut fdb = table(64);
        learn(&mut fdb, 1, 0, Time::ZERO);
        learn(&mut fdb, 2, 1, Time::ZERO);
        fdb.forget(PortId(0));
        assert_eq!(fdb.lookup(mac(1), Time::ZERO), None);
        assert_eq!(fdb.lookup(mac(2), Time::ZERO), Some(PortId(1)));
        assert_eq!(fdb.stations(), 1);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let made = |addresses| Fdb::new(addresses, AGEING, &[], 1);
        for addresses in [0, 3, MAX_ADDRESSES + 1] {
            assert!(made(addresses).is_err());
        }
        assert!(made(4).is_ok() && made(1_000).is_ok());
    }
}
