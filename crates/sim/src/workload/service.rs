//! Assignment of flows to services.

use tidegate_units::{ConfigError, Rng, choices};

use super::draw::below;
use super::pattern::Pairs;
use crate::network::HostId;

choices! {
    /// Assignment of a service to a flow.
    pub enum Assignment {
        /// All flows belong to the first service.
        Fixed = "fixed",
        /// By the pair of hosts, as in TCN's simulations. With S hosts and n services the number is
        /// ((dst + 1)·S + src + 1) mod n. Every pair carries the same bytes, so that services with
        /// small flows have more of them.
        Pair = "pair",
        /// Each flow draws a service uniformly.
        Uniform = "uniform",
        /// Each flow draws a service by `service_weights` (TrafficGenerator).
        Weights = "weights",
    }
}

/// Services of a source, numbered from zero.
#[derive(Clone, Debug)]
pub(super) struct Services {
    assignment: Assignment,
    /// Number of the first service.
    first: u8,
    count: u16,
    /// Cumulative weights by service.
    sums: Vec<u64>,
    /// Number of hosts of the network, for the pair's formula.
    hosts: u64,
}

impl Services {
    pub(super) fn new(
        assignment: Assignment,
        (first, count): (u8, u16),
        weights: &[u32],
        hosts: u32,
    ) -> Result<Self, ConfigError> {
        let most = 256 - u16::from(first);
        if !(1..=most).contains(&count) {
            let allowed = format!("1 to {most}, so that the last service is at most 255");
            return Err(ConfigError::out_of_range("services", count, allowed));
        }
        let mut sum = 0;
        let mut sums: Vec<u64> = Vec::new();
        if assignment == Assignment::Weights {
            for &weight in weights {
                sum += u64::from(weight);
                sums.push(sum);
            }
            if weights.len() != usize::from(count) || sum == 0 {
                let written: Vec<_> = weights.iter().map(ToString::to_string).collect();
                let allowed = format!("{count} weights, one for each service, not all zero");
                return Err(ConfigError::out_of_range(
                    "service_weights",
                    written.join(", "),
                    allowed,
                ));
            }
        }
        Ok(Self { assignment, first, count, sums, hosts: hosts.into() })
    }

    pub(super) const fn count(&self) -> u16 {
        self.count
    }

    pub(super) const fn assignment(&self) -> Assignment {
        self.assignment
    }

    /// Number of the service in flows.
    pub(super) const fn number(&self, service: u16) -> u8 {
        // The constructor ensures that it fits.
        (self.first as u16 + service) as u8
    }

    /// Service of a flow from `src` to `dst`.
    #[inline]
    pub(super) fn draw(&self, src: HostId, dst: HostId, rng: &mut Rng) -> u16 {
        match self.assignment {
            Assignment::Fixed => 0,
            Assignment::Pair => {
                ((self.of_receiver(dst) + of_sender(src)) % u64::from(self.count)) as u16
            }
            Assignment::Uniform => below(rng, self.count.into()) as u16,
            Assignment::Weights => {
                let all = self.sums.last().copied().unwrap_or(1);
                let drawn = below(rng, all);
                self.sums.partition_point(|&sum| sum <= drawn) as u16
            }
        }
    }

    /// Fraction of each service in the flows if all pairs had the same number of them, in units of
    /// 2^−32.
    pub(super) fn shares(&self, pairs: &Pairs) -> Vec<u64> {
        let count = u64::from(self.count);
        match self.assignment {
            Assignment::Fixed => {
                let mut shares = vec![0; self.count.into()];
                shares[0] = 1 << 32;
                shares
            }
            Assignment::Pair => pairs.shares(count, of_sender, |dst| self.of_receiver(dst)),
            Assignment::Uniform => vec![(1 << 32) / count; self.count.into()],
            Assignment::Weights => {
                let all = self.sums.last().copied().unwrap_or(1);
                let mut before = 0;
                let mut share = |&sum: &u64| {
                    let part = u128::from(sum - before) << 32;
                    before = sum;
                    (part / u128::from(all)) as u64
                };
                self.sums.iter().map(&mut share).collect()
            }
        }
    }

    fn of_receiver(&self, dst: HostId) -> u64 {
        // The product of two 32-bit numbers fits.
        (u64::from(dst.0) + 1) * self.hosts % u64::from(self.count)
    }
}

fn of_sender(src: HostId) -> u64 {
    u64::from(src.0) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_of_a_pair_follows_tcns_simulations() {
        // 144 hosts, 7 services from 1 on: service = ((dst + 1) · 144 + src + 1) mod 7 + 1.
        let services = Services::new(Assignment::Pair, (1, 7), &[], 144).unwrap();
        let mut rng = Rng::new(1, 0);
        for (src, dst, service) in [
            // (1 · 144 + 2) mod 7 = 146 mod 7 = 6
            (1, 0, 7),
            // (2 · 144 + 1) mod 7 = 289 mod 7 = 2
            (0, 1, 3),
            // (144 · 144 + 1) mod 7 = 20737 mod 7 = 3
            (0, 143, 4),
            // (1 · 144 + 144) mod 7 = 288 mod 7 = 1
            (143, 0, 2),
        ] {
            let drawn = services.draw(HostId(src), HostId(dst), &mut rng);
            assert_eq!(services.number(drawn), service, "{src} to {dst}");
        }
    }

    #[test]
    fn drawn_services_follow_their_weights() {
        let counts = |services: &Services| {
            let mut rng = Rng::new(2, 0);
            let mut counts = vec![0_u32; services.count().into()];
            for _ in 0..40_000 {
                counts[usize::from(services.draw(HostId(0), HostId(1), &mut rng))] += 1;
            }
            counts
        };
        let uniform = Services::new(Assignment::Uniform, (0, 4), &[], 9).unwrap();
        assert!(counts(&uniform).iter().all(|count| count.abs_diff(10_000) < 400));
        let weighted = Services::new(Assignment::Weights, (0, 3), &[1, 0, 3], 9).unwrap();
        let found = counts(&weighted);
        assert!(found[0].abs_diff(10_000) < 400 && found[1] == 0, "{found:?}");
        let fixed = Services::new(Assignment::Fixed, (5, 1), &[], 9).unwrap();
        assert_eq!((counts(&fixed), fixed.number(0)), (vec![40_000], 5));
    }

    #[test]
    fn impossible_services_are_refused() {
        let refused =
            |assignment, range, weights: &[u32]| match Services::new(assignment, range, weights, 9)
            {
                Err(ConfigError::OutOfRange { field, .. }) => field,
                other => panic!("{other:?}"),
            };
        assert_eq!(refused(Assignment::Uniform, (0, 0), &[]), "services");
        assert_eq!(refused(Assignment::Uniform, (0, 257), &[]), "services");
        assert_eq!(refused(Assignment::Pair, (250, 7), &[]), "services");
        assert_eq!(refused(Assignment::Weights, (0, 2), &[1]), "service_weights");
        assert_eq!(refused(Assignment::Weights, (0, 2), &[0, 0]), "service_weights");
        assert!(Services::new(Assignment::Uniform, (0, 256), &[], 9).is_ok());
    }
}
