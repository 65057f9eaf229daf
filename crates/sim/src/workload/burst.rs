//! Incast: many hosts send to one at the same time, once or repeatedly.

use tidegate_units::{Bytes, ConfigError, Rng, Setting, Span, Time, choices, settings};

use super::draw::below;
use super::size::{Rounding, Sizes};
use super::{Env, Extent, Hosts, MAX_FLOWS};
use crate::flow::Flow;
use crate::network::HostId;

choices! {
    /// Choice of the hosts in a burst.
    pub enum Choose {
        /// One after the other, starting over after the last one: senders start over with each
        /// burst, receivers continue from burst to burst.
        InTurn = "in-turn",
        /// At random: senders are distinct while there are enough, and each burst draws a receiver.
        Random = "random",
    }
}

settings! {
    /// Parameters of bursts.
    #[named("burst", "incast: fan_in flows to one receiver, once or every so often",
        "workloads.md#Sizes", "start = \"1ms\"\nfan_in = 8\n")]
    pub struct Config {
        /// Start of the first burst.
        pub start: Span = Span::ZERO,
        /// Time from one burst to the next; `none` for a single burst. ECN♯'s queue tracking has
        /// 0.1 s.
        pub every: Option<Span> = None,
        /// Number of bursts.
        pub bursts: u32 = 1,
        /// Hosts that may send.
        pub from: Hosts = Hosts::All,
        /// Hosts that may receive; each burst goes to one of them.
        pub to: Hosts = Hosts::one(0),
        /// Number of flows in a burst; `none` for one from every sender. With more flows than
        /// senders, some hosts send several. ECN♯'s figure 16 has 100 flows from 16 hosts.
        pub fan_in: Option<u32> = None,
        /// Choice of the senders of a burst.
        pub senders: Choose = Choose::InTurn,
        /// Choice of the receiver of a burst.
        pub receiver: Choose = Choose::InTurn,
        /// Sizes of the flows: uniform from 3 to 60 KB in ECN♯'s queries.
        pub sizes: Sizes = Sizes::Uniform(Bytes(3_000), Bytes(60_000)),
        /// Rounding of sizes; `none` as for Poisson arrivals.
        pub rounding: Option<Rounding> = None,
        /// Payload of a full packet, for tables of packets.
        pub mss: u32 = 1460,
        /// Range of start times: each flow starts uniformly within this time after its burst.
        pub spread: Span = Span::ZERO,
        /// Service of the flows.
        pub service: u8 = 0,
        /// Group that their results belong to.
        pub group: u8 = 1,
    }
}

impl Config {
    /// Number of flows in a network of `hosts`.
    pub(super) fn extent(&self, hosts: u32) -> Extent {
        let senders = self.fan_in.unwrap_or_else(|| self.from.most(hosts));
        Extent { flows: Some(u64::from(senders) * u64::from(self.bursts)), field: "bursts" }
    }

    /// The flows, burst by burst.
    pub(super) fn flows(&self, env: &Env) -> Result<Vec<Flow>, ConfigError> {
        let from = self.from.resolve("from", env.hosts)?;
        let to = self.to.resolve("to", env.hosts)?;
        let sampler = self.sizes.distribution().sampler(self.rounding, self.mss)?;
        self.check(&from, &to)?;
        let mut rng = Rng::new(env.seed, env.stream);
        let mut flows = Vec::new();
        for burst in 0..self.bursts {
            let period = self.every.unwrap_or(Span::ZERO) * u64::from(burst);
            let start = Time::ZERO + self.start + period;
            let dst = match self.receiver {
                Choose::InTurn => to[burst as usize % to.len()],
                Choose::Random => to[below(&mut rng, to.len() as u64) as usize],
            };
            let mut senders: Vec<HostId> = from.iter().copied().filter(|&src| src != dst).collect();
            let count = self.fan_in.unwrap_or(senders.len() as u32);
            for i in 0..count as usize {
                let index = i % senders.len();
                if self.senders == Choose::Random {
                    // A shuffle that goes only as far as needed, and starts over when all have
                    // sent.
                    let left = (senders.len() - index) as u64;
                    senders.swap(index, index + below(&mut rng, left) as usize);
                }
                let delay = match self.spread.as_ps() {
                    0 => 0,
                    spread => below(&mut rng, spread),
                };
                flows.push(Flow {
                    start: start + Span::from_ps(delay),
                    bytes: sampler.draw(&mut rng).max(1),
                    src: senders[index],
                    dst,
                    rate: None,
                    service: self.service,
                    group: self.group,
                });
            }
        }
        Ok(flows)
    }

    fn check(&self, from: &[HostId], to: &[HostId]) -> Result<(), ConfigError> {
        let alone = |dst: &HostId| from.iter().all(|src| src == dst);
        if to.is_empty() || to.iter().any(alone) {
            let allowed = "hosts other than the receiver";
            return Err(ConfigError::out_of_range("from", self.from.write(), allowed));
        }
        if self.bursts == 0 {
            return Err(ConfigError::out_of_range("bursts", 0, "at least 1"));
        }
        if self.bursts > 1 && self.every.is_none_or(|every| every == Span::ZERO) {
            let written = self.every.map_or("none".into(), |every| every.write());
            let allowed = "a time above zero if there is more than one burst";
            return Err(ConfigError::out_of_range("every", written, allowed));
        }
        if self.fan_in == Some(0) {
            return Err(ConfigError::out_of_range("fan_in", 0, "at least 1, or none"));
        }
        let each = self.fan_in.map_or(from.len() as u64, u64::from);
        if each * u64::from(self.bursts) > MAX_FLOWS {
            let allowed = format!("at most {MAX_FLOWS} flows in all bursts");
            return Err(ConfigError::out_of_range("bursts", self.bursts, allowed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tidegate_units::Settings;

    use super::*;

    fn flows(config: &Config, seed: u64) -> Result<Vec<Flow>, ConfigError> {
        config.flows(&Env { hosts: 17, rack: &|_| 0, seed, stream: 3 })
    }

    #[test]
    fn a_query_of_100_flows_is_shared_by_16_senders() {
        let config = Config {
            start: Span::from_secs(4),
            to: Hosts::one(16),
            fan_in: Some(100),
            ..Config::default()
        };
        let flows = flows(&config, 1).unwrap();
        assert_eq!(flows.len(), 100);
        assert!(flows.iter().all(|flow| flow.start == Time::from_secs(4)));
        assert!(flows.iter().all(|flow| flow.dst == HostId(16) && flow.group == 1));
        assert!(flows.iter().all(|flow| (3_000..=60_000).contains(&flow.bytes)));
        // 100 = 6 · 16 + 4: the first four send once more.
        let of = |host| flows.iter().filter(|flow| flow.src == HostId(host)).count();
        assert_eq!([of(0), of(3), of(4), of(15), of(16)], [7, 7, 6, 6, 0]);
        let mean = flows.iter().map(|flow| flow.bytes).sum::<u64>() / 100;
        assert!((26_000..37_000).contains(&mean), "{mean}");
    }

    #[test]
    fn bursts_repeat_and_receivers_take_turns() {
        let config = Config {
            start: Span::from_ms(5),
            every: Some(Span::from_ms(100)),
            bursts: 3,
            to: Hosts::Ranges(vec![(15, 16)]),
            from: Hosts::Ranges(vec![(0, 1)]),
            sizes: Sizes::fixed(Bytes(28_000)),
            ..Config::default()
        };
        let flows = flows(&config, 1).unwrap();
        let found: Vec<_> =
            flows.iter().map(|flow| (flow.start, flow.src.0, flow.dst.0, flow.bytes)).collect();
        let at = Time::from_ms;
        assert_eq!(
            found,
            [
                (at(5), 0, 15, 28_000),
                (at(5), 1, 15, 28_000),
                (at(105), 0, 16, 28_000),
                (at(105), 1, 16, 28_000),
                (at(205), 0, 15, 28_000),
                (at(205), 1, 15, 28_000)
            ]
        );
    }

    #[test]
    fn random_senders_differ_within_a_burst() {
        let config = Config {
            fan_in: Some(5),
            every: Some(Span::from_ms(1)),
            bursts: 200,
            senders: Choose::Random,
            receiver: Choose::Random,
            to: Hosts::All,
            spread: Span::from_us(10),
            ..Config::default()
        };
        let all = flows(&config, 1).unwrap();
        let mut seen = BTreeSet::new();
        for burst in all.chunks(5) {
            let senders: BTreeSet<_> = burst.iter().map(|flow| flow.src).collect();
            assert_eq!(senders.len(), 5);
            assert!(!senders.contains(&burst[0].dst));
            assert!(burst.iter().all(|flow| flow.dst == burst[0].dst));
            seen.extend(senders);
        }
        assert_eq!(seen.len(), 17, "every host takes part");
        for (flow, i) in all.iter().zip(0..) {
            let burst = Time::from_ms(i / 5);
            assert!(flow.start >= burst && flow.start < burst + Span::from_us(10));
        }
        assert_eq!(all, flows(&config, 1).unwrap());
        assert_ne!(all, flows(&config, 2).unwrap());
    }

    #[test]
    fn a_network_without_hosts_has_no_bursts() {
        let config = Config { to: Hosts::All, ..Config::default() };
        for hosts in 0..2 {
            let env = Env { hosts, rack: &|_| 0, seed: 1, stream: 0 };
            assert!(config.flows(&env).is_err());
        }
    }

    #[test]
    fn impossible_bursts_are_refused() {
        for (settings, named) in [
            (&[("from", "0")][..], "from"),
            (&[("bursts", "0")], "bursts"),
            (&[("bursts", "2")], "every"),
            (&[("bursts", "2"), ("every", "0s")], "every"),
            (&[("bursts", "4294967295"), ("every", "1ms")], "bursts"),
            (&[("fan_in", "0")], "fan_in"),
            (&[("to", "17")], "to"),
            (&[("mss", "0")], "mss"),
        ] {
            let mut config = Config::default();
            for (field, text) in settings {
                config.set(field, text).unwrap();
            }
            match flows(&config, 1) {
                Err(ConfigError::OutOfRange { field, .. }) => assert_eq!(field, named),
                other => panic!("{settings:?}: {other:?}"),
            }
        }
    }
}
