//! Pairs of hosts: a sender drawn uniformly, and then one of its possible receivers.

use std::collections::BTreeMap;

use tidegate_units::{ConfigError, Rng, choices};

use super::draw::below;
use super::{Env, Hosts, Shares};
use crate::network::HostId;

choices! {
    /// Pairs of hosts between which flows go. A host never sends to itself.
    pub enum Pattern {
        /// Any sender to any receiver.
        AllToAll = "all-to-all",
        /// All senders to one receiver.
        AllToOne = "all-to-one",
        /// Any sender to any receiver in another rack.
        InterRack = "inter-rack",
        /// A client, the one receiver, fetches from the senders (TrafficGenerator). The flows are
        /// the same as with `all-to-one`: the time of a request to its server is not included.
        OneFromMany = "one-from-many",
    }
}

/// A sender with the receivers that it must skip: a range of the list of receivers.
#[derive(Clone, Copy, Debug)]
struct Sender {
    host: HostId,
    skip_from: u32,
    skip: u32,
}

/// Pairs of a source.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    senders: Vec<Sender>,
    /// Receivers by rack, and by number in each.
    receivers: Vec<HostId>,
    /// Start and number of the receivers of each rack.
    racks: BTreeMap<u32, (u32, u32)>,
}

impl Pairs {
    pub(super) fn new(
        pattern: Pattern,
        from: &Hosts,
        to: &Hosts,
        env: &Env,
    ) -> Result<Self, ConfigError> {
        let hosts = from.resolve("from", env.hosts)?;
        let mut receivers = match pattern {
            Pattern::AllToOne | Pattern::OneFromMany => vec![to.only("to", env.hosts)?],
            Pattern::AllToAll | Pattern::InterRack => to.resolve("to", env.hosts)?,
        };
        receivers.sort_by_key(|&host| ((env.rack)(host), host));
        let mut racks = BTreeMap::new();
        for (&host, index) in receivers.iter().zip(0_u32..) {
            racks.entry((env.rack)(host)).or_insert((index, 0)).1 += 1;
        }
        let count = receivers.len() as u32;
        let sender = |host: HostId| {
            let rack = (env.rack)(host);
            let (skip_from, skip) = match pattern {
                Pattern::InterRack => racks.get(&rack).copied().unwrap_or_default(),
                _ => {
                    let own = receivers.binary_search_by_key(&(rack, host), |&receiver| {
                        ((env.rack)(receiver), receiver)
                    });
                    own.map_or((0, 0), |index| (index as u32, 1))
                }
            };
            Sender { host, skip_from, skip }
        };
        let mut senders: Vec<Sender> = hosts.into_iter().map(sender).collect();
        senders.retain(|sender| sender.skip < count);
        if senders.is_empty() {
            let allowed = match pattern {
                Pattern::InterRack => "senders that have a receiver in another rack",
                _ => "senders that have a receiver other than themselves",
            };
            return Err(ConfigError::out_of_range("from", written(from), allowed));
        }
        Ok(Self { senders, receivers, racks })
    }

    /// Draws a pair.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> (HostId, HostId) {
        let sender = self.senders[below(rng, self.senders.len() as u64) as usize];
        let count = self.receivers.len() as u32 - sender.skip;
        let mut index = below(rng, u64::from(count)) as u32;
        if index >= sender.skip_from {
            index += sender.skip;
        }
        (sender.host, self.receivers[index as usize])
    }

    /// Number of senders.
    pub(super) const fn senders(&self) -> u64 {
        self.senders.len() as u64
    }

    /// Number of receivers.
    pub(super) const fn receivers(&self) -> u64 {
        self.receivers.len() as u64
    }

    /// Fraction of the flows that leave their rack, in units of 2^−32.
    pub(super) fn share_across_racks(&self, env: &Env) -> u64 {
        let all = self.receivers.len() as u64;
        let each = |sender: &Sender| {
            let rack = self.racks.get(&(env.rack)(sender.host));
            let own = rack.map_or(0, |&(_, count)| u64::from(count));
            // Receivers in its own rack that it may send to, apart from those skipped.
            let (allowed, across) = (all - u64::from(sender.skip), all - own);
            (across << 32) / allowed
        };
        let sum: u64 = self.senders.iter().map(each).sum();
        sum / self.senders()
    }

    /// Expected share of flows of one size for each host and each pair of switches.
    pub(super) fn even_shares(&self, env: &Env) -> Shares {
        let all = self.receivers.len() as u32;
        let sender_part = 1.0 / f64::from(self.senders.len() as u32);
        let mut shares = Shares::default();
        // The share of one receiver from all senders, and the share from its own rack.
        let mut everywhere = 0.0;
        let mut of_rack: BTreeMap<u32, f64> = BTreeMap::new();
        for one in &self.senders {
            let each = sender_part / f64::from(all - one.skip);
            let rack = (env.rack)(one.host);
            *shares.sent.entry(one.host).or_default() += sender_part;
            everywhere += each;
            *of_rack.entry(rack).or_default() += each;
            let skipped = one.skip_from as usize..(one.skip_from + one.skip) as usize;
            for &host in &self.receivers[skipped] {
                *shares.received.entry(host).or_default() -= each;
                *shares.between.entry((rack, rack)).or_default() -= each;
            }
        }
        for &host in &self.receivers {
            *shares.received.entry(host).or_default() += everywhere;
        }
        for (&from, &each) in &of_rack {
            for (&to, &(_, count)) in &self.racks {
                *shares.between.entry((from, to)).or_default() += each * f64::from(count);
            }
        }
        shares
    }

    /// Fraction of the flows in each of `classes`, in units of 2^−32. A pair is in the class
    /// (`sender(src)` + `receiver(dst)`) mod `classes`.
    pub(super) fn shares(
        &self,
        classes: u64,
        sender: impl Fn(HostId) -> u64,
        receiver: impl Fn(HostId) -> u64,
    ) -> Vec<u64> {
        let classes = classes.max(1);
        let class = |of: u64| (of % classes) as usize;
        let mut everywhere = vec![0_u64; classes as usize];
        for &host in &self.receivers {
            everywhere[class(receiver(host))] += 1;
        }
        let mut sums = vec![0_u64; classes as usize];
        for one in &self.senders {
            let mut counts = everywhere.clone();
            let skipped = one.skip_from as usize..(one.skip_from + one.skip) as usize;
            for &host in &self.receivers[skipped] {
                counts[class(receiver(host))] -= 1;
            }
            let allowed = self.receivers.len() as u64 - u64::from(one.skip);
            for (count, of_receiver) in counts.into_iter().zip(0..) {
                let both = sender(one.host) % classes + of_receiver;
                sums[class(both)] += (count << 32) / allowed;
            }
        }
        sums.iter().map(|sum| sum / self.senders()).collect()
    }
}

fn written(hosts: &Hosts) -> String {
    tidegate_units::Setting::write(hosts)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tidegate_units::Setting;

    use super::*;

    fn pairs(pattern: Pattern, from: &str, to: &str) -> Result<Pairs, ConfigError> {
        // Three racks of two hosts, in which neighbours are in different racks.
        let env = Env { hosts: 6, rack: &|host| host.0 % 3, seed: 1, stream: 0 };
        let hosts = |text| Hosts::read(text).unwrap();
        Pairs::new(pattern, &hosts(from), &hosts(to), &env)
    }

    fn drawn(pattern: Pattern, from: &str, to: &str) -> BTreeSet<(u32, u32)> {
        let pairs = pairs(pattern, from, to).unwrap();
        let mut rng = Rng::new(1, 0);
        (0..2000).map(|_| pairs.draw(&mut rng)).map(|(src, dst)| (src.0, dst.0)).collect()
    }

    fn allowed(keep: impl Fn(u32, u32) -> bool) -> BTreeSet<(u32, u32)> {
        (0..36).map(|i| (i / 6, i % 6)).filter(|&(src, dst)| src != dst && keep(src, dst)).collect()
    }

    #[test]
    fn each_pattern_draws_exactly_its_pairs() {
        assert_eq!(drawn(Pattern::AllToAll, "all", "all"), allowed(|_, _| true));
        assert_eq!(drawn(Pattern::AllToOne, "all", "4"), allowed(|_, dst| dst == 4));
        assert_eq!(
            drawn(Pattern::OneFromMany, "0-2", "5"),
            allowed(|src, dst| src < 3 && dst == 5)
        );
        assert_eq!(drawn(Pattern::InterRack, "all", "all"), allowed(|src, dst| src % 3 != dst % 3));
        assert_eq!(
            drawn(Pattern::InterRack, "0-3", "2-5"),
            allowed(|src, dst| src % 3 != dst % 3 && src < 4 && dst > 1)
        );
        assert_eq!(
            drawn(Pattern::AllToAll, "0-3", "2-3"),
            allowed(|src, dst| src < 4 && (dst == 2 || dst == 3))
        );
    }

    #[test]
    fn pairs_are_drawn_uniformly() {
        let pairs = pairs(Pattern::InterRack, "all", "all").unwrap();
        let mut rng = Rng::new(2, 0);
        let mut counts = BTreeMap::new();
        for _ in 0..24_000 {
            *counts.entry(pairs.draw(&mut rng)).or_insert(0_u32) += 1;
        }
        // 24 pairs, 1000 each with a standard deviation of 31.
        assert!(counts.values().all(|count| count.abs_diff(1000) < 140), "{counts:?}");
    }

    #[test]
    fn a_pattern_without_pairs_is_an_error() {
        let field = |pattern, from, to| match pairs(pattern, from, to) {
            Err(ConfigError::OutOfRange { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(field(Pattern::AllToAll, "3", "3"), "from");
        assert_eq!(field(Pattern::InterRack, "0", "3"), "from");
        assert_eq!(field(Pattern::AllToOne, "all", "all"), "to");
        assert_eq!(field(Pattern::OneFromMany, "all", "0-1"), "to");
        assert_eq!(field(Pattern::AllToAll, "0-6", "all"), "from");
    }

    #[test]
    fn shares_agree_with_the_pairs() {
        let env = Env { hosts: 6, rack: &|host| host.0 % 3, seed: 1, stream: 0 };
        let all = pairs(Pattern::AllToAll, "all", "all").unwrap();
        // Four of the five other hosts are in other racks.
        assert_eq!(all.share_across_racks(&env), (4 << 32) / 5);
        let across = pairs(Pattern::InterRack, "all", "all").unwrap();
        assert_eq!(across.share_across_racks(&env), 1 << 32);
        for pairs in [all, across] {
            let shares = pairs.shares(2, |src| u64::from(src.0), |dst| u64::from(dst.0) * 3 + 1);
            let mut rng = Rng::new(3, 0);
            let odd = (0..10_000)
                .map(|_| pairs.draw(&mut rng))
                .filter(|(src, dst)| (src.0 + dst.0 * 3 + 1) % 2 == 1)
                .count() as u64;
            let expected = (shares[1] * 10_000) >> 32;
            assert!(odd.abs_diff(expected) < 200, "{odd} {expected}");
            assert!(shares.iter().sum::<u64>().abs_diff(1 << 32) <= 12);
        }
    }
}
