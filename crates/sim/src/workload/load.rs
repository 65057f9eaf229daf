//! Meaning of a load: from a load and a mean size to the mean gap between flows.
//!
//! The papers' programs agree on "load × speed ÷ mean size" and on nothing else. They differ in the
//! links that the load refers to ([`LoadOn`]), in whether headers count ([`Counts`]), in the mean
//! that they divide by ([`MeanSize`]) and in the rounding of the gap ([`Period`]). Each is a
//! setting; [`Published`](super::Published) names the combinations that were used.

use std::collections::BTreeSet;

use tidegate_units::{ConfigError, Rate, Ratio, Setting, choices};

use super::Env;
use super::draw::MeanGap;
use super::exact::quotient;
use super::pattern::Pairs;
use super::size::Mean;
use crate::network::HostId;

choices! {
    /// Links that the load refers to.
    pub enum LoadOn {
        /// Each receiver's link. DiffECN's bottleneck, ECN♯'s queue tracking, TrafficGenerator's
        /// client.
        Receivers = "receivers",
        /// Each sender's link. TCN, HPCC.
        Senders = "senders",
        /// The links from the racks into the core: the senders' speed divided by
        /// `oversubscription`. Only flows that leave their rack count, by the exact fraction of
        /// such pairs. DiffECN's fabric; with `inter-rack` traffic also ECN♯'s simulations.
        Uplinks = "uplinks",
        /// The same, with the fraction that leaves its rack taken as (racks − 1) / racks. BCC,
        /// where that is 7/8 and the exact fraction 112/127.
        UplinksApproximate = "uplinks-approximate",
    }
}

choices! {
    /// Bytes that count towards the load.
    pub enum Counts {
        /// Application bytes. TCN's and ECN♯'s simulations.
        Payload = "payload",
        /// All bytes on the wire of an Ethernet with 1500-byte packets: × 1538/1448.
        /// TrafficGenerator.
        Wire = "wire",
        /// Packets with their TCP and IP headers: × (mss + 40)/mss. BCC, with an MSS of 8960.
        WireMss = "wire-mss",
    }
}

choices! {
    /// Mean size by which the load is divided.
    pub enum MeanSize {
        /// Mean of the table's lines, before rounding.
        Linear = "linear",
        /// Mean of the sizes as drawn.
        Sampled = "sampled",
        /// Number in TCN's published script, available for packet tables.
        Script = "script",
    }
}

choices! {
    /// Precision of the mean gap.
    pub enum Period {
        /// 2^−32 ps.
        Exact = "exact",
        /// Whole microseconds, rounded down. TrafficGenerator.
        WholeMicroseconds = "whole-us",
    }
}

/// Parameters that determine the gap between flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) load: Ratio,
    pub(super) on: LoadOn,
    pub(super) counts: Counts,
    pub(super) period: Period,
    pub(super) link: Rate,
    pub(super) oversubscription: Ratio,
    pub(super) mss: u32,
}

impl Demand {
    /// Mean gap between the flows of all pairs together, for flows of this mean size.
    pub(super) fn gap(&self, mean: Mean, pairs: &Pairs, env: &Env) -> Result<MeanGap, ConfigError> {
        // gap = 8 · mean · headers / (load · speed · links).
        let (above, below) = (&mut vec![8], &mut vec![Mean::PER_BYTE]);
        above.push(self.load.denominator().into());
        below.extend([self.load.numerator().into(), self.link.as_bps()]);
        match self.counts {
            Counts::Payload => {}
            Counts::Wire => {
                above.push(1_538);
                below.push(1_448);
            }
            Counts::WireMss => {
                above.push(u64::from(self.mss) + 40);
                below.push(self.mss.into());
            }
        }
        match self.on {
            LoadOn::Receivers => below.push(pairs.receivers()),
            LoadOn::Senders => below.push(pairs.senders()),
            LoadOn::Uplinks | LoadOn::UplinksApproximate => {
                let (part, whole) = self.across_racks(pairs, env)?;
                above.extend([self.oversubscription.numerator().into(), part]);
                below.extend([self.oversubscription.denominator().into(), pairs.senders(), whole]);
            }
        }
        let units = match self.period {
            Period::Exact => {
                above.extend([1_000_000_000_000, 1 << 32]);
                quotient(mean.units(), above, below)
            }
            Period::WholeMicroseconds => {
                above.push(1_000_000);
                let microseconds = quotient(mean.units(), above, below);
                microseconds.and_then(|us| us.checked_mul(1_000_000 << 32))
            }
        };
        units.and_then(MeanGap::new).ok_or_else(|| match self.period {
            Period::WholeMicroseconds => ConfigError::out_of_range(
                "period",
                self.period.write(),
                "exact, because the mean gap is below a microsecond or above 106 days",
            ),
            Period::Exact => ConfigError::out_of_range(
                "load",
                self.load,
                "a load at which flows are 2^-32 ps to 106 days apart",
            ),
        })
    }

    /// Fraction of the flows that leave their rack.
    fn across_racks(&self, pairs: &Pairs, env: &Env) -> Result<(u64, u64), ConfigError> {
        if self.oversubscription.numerator() == 0 {
            let allowed = "above 0: the speed of a rack's hosts divided by the speed of its links to the core";
            return Err(ConfigError::out_of_range("oversubscription", 0, allowed));
        }
        let part = match self.on {
            LoadOn::UplinksApproximate => {
                let racks: BTreeSet<u32> =
                    (0..env.hosts).map(|host| (env.rack)(HostId(host))).collect();
                let racks = racks.len() as u64;
                (racks.saturating_sub(1), racks)
            }
            _ => (pairs.share_across_racks(env), 1 << 32),
        };
        if part.0 == 0 {
            let allowed = "senders or receivers, because no flow leaves its rack";
            return Err(ConfigError::out_of_range("load_on", self.on.write(), allowed));
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Hosts, Pattern};

    const WEB_SEARCH: Mean = Mean::whole(1_711_250);

    fn demand(load: &str, link: &str) -> Demand {
        Demand {
            load: load.parse().unwrap(),
            on: LoadOn::Senders,
            counts: Counts::Payload,
            period: Period::Exact,
            link: link.parse().unwrap(),
            oversubscription: Ratio::ONE,
            mss: 1460,
        }
    }

    /// `racks` racks of 16, or one rack of 9 hosts.
    fn env(racks: u32) -> Env<'static> {
        Env {
            hosts: if racks == 1 { 9 } else { racks * 16 },
            rack: if racks == 1 { &|_| 0 } else { &|host| host.0 / 16 },
            seed: 1,
            stream: 0,
        }
    }

    /// Gap in whole picoseconds.
    fn gap(demand: Demand, pattern: Pattern, env: &Env) -> u64 {
        let to = match pattern {
            Pattern::AllToOne | Pattern::OneFromMany => Hosts::one(0),
            _ => Hosts::All,
        };
        let pairs = Pairs::new(pattern, &Hosts::All, &to, env).unwrap();
        let gap = demand.gap(WEB_SEARCH, &pairs, env).unwrap();
        (gap.units() >> 32) as u64
    }

    #[test]
    fn traffic_generator_rounds_to_whole_microseconds() {
        // 1 711 250 · 8 / 900 · 1538/1448 = 16 156.4 µs, and at 100 Mb/s: 145 408.1 µs.
        for (load, us) in [("0.9", 16_156), ("0.1", 145_408)] {
            let demand = Demand {
                on: LoadOn::Receivers,
                counts: Counts::Wire,
                period: Period::WholeMicroseconds,
                ..demand(load, "1Gbps")
            };
            let found = gap(demand, Pattern::OneFromMany, &env(1));
            assert_eq!(found, us * 1_000_000, "{load}");
        }
    }

    #[test]
    fn ecn_sharp_divides_by_the_oversubscription() {
        // 0.6 · 10 Gb/s / 2 / (8 · 1 711 250) = 219.1 flows a second and server, 128 servers:
        // 1 / 28 049.7 s = 35.651 041 666… µs.
        let demand = Demand {
            on: LoadOn::Uplinks,
            oversubscription: Ratio::whole(2),
            ..demand("0.6", "10Gbps")
        };
        assert_eq!(gap(demand, Pattern::InterRack, &env(8)), 35_651_041);
        let per_server = 1e12 / (35_651_041.0 * 128.0);
        assert!((per_server - 219.1_f64).abs() < 0.05, "{per_server}");
    }

    #[test]
    fn a_load_on_senders_counts_payload() {
        // 8 · 1 711 250 / (0.6 · 10e9) = 2281.666… µs per host; over 128 hosts 17.825 520 833 µs.
        let demand = demand("0.6", "10Gbps");
        assert_eq!(gap(demand, Pattern::AllToAll, &env(8)), 17_825_520);
    }

    #[test]
    fn load_can_count_headers() {
        let plain = demand("0.5", "10Gbps");
        let env = env(1);
        // 8 · 1 711 250 / 5e9 = 2738 µs over 8 senders.
        assert_eq!(gap(plain, Pattern::AllToOne, &env), 342_250_000);
        let wire = Demand { counts: Counts::Wire, ..plain };
        // 342.25 · 1538/1448 = 363.522 444 751 µs
        assert_eq!(gap(wire, Pattern::AllToOne, &env), 363_522_444);
        let wire_mss = Demand { counts: Counts::WireMss, ..plain };
        // 342.25 · 1500/1460 = 351.626 712 328 µs
        assert_eq!(gap(wire_mss, Pattern::AllToOne, &env), 351_626_712);
    }

    #[test]
    fn a_load_on_the_receiver_does_not_grow_with_the_senders() {
        let demand = Demand { on: LoadOn::Receivers, ..demand("0.5", "10Gbps") };
        assert_eq!(gap(demand, Pattern::AllToOne, &env(1)), 2_738_000_000);
        assert_eq!(gap(demand, Pattern::AllToOne, &env(8)), 2_738_000_000);
    }

    #[test]
    fn bcc_uses_an_approximate_fraction_for_the_core_load() {
        // edge = 0.7 / 2 · 8/7 = 0.4; 8 · 1 711 250 · 9000/8960 / (0.4 · 100e9) = 343.777 901 786
        // µs per host, over 128 hosts 2.685 764 857 7 µs.
        let demand = Demand {
            on: LoadOn::UplinksApproximate,
            counts: Counts::WireMss,
            oversubscription: Ratio::whole(2),
            mss: 8960,
            ..demand("0.7", "100Gbps")
        };
        assert_eq!(gap(demand, Pattern::AllToAll, &env(8)), 2_685_764);
    }

    #[test]
    fn the_exact_fraction_leaving_a_rack_follows_from_the_pairs() {
        // 8 · 1 711 250 / (0.7 · 40e9 / 2) · 112/127 / 128 = 6.737 204 724 µs
        let demand = Demand {
            on: LoadOn::Uplinks,
            oversubscription: Ratio::whole(2),
            ..demand("0.7", "40Gbps")
        };
        assert_eq!(gap(demand, Pattern::AllToAll, &env(8)), 6_737_204);
    }

    #[test]
    fn a_load_on_links_that_carry_nothing_is_refused() {
        let env = env(1);
        let pairs = Pairs::new(Pattern::AllToAll, &Hosts::All, &Hosts::All, &env).unwrap();
        let field = |demand: Demand| match demand.gap(WEB_SEARCH, &pairs, &env) {
            Err(ConfigError::OutOfRange { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        for on in [LoadOn::Uplinks, LoadOn::UplinksApproximate] {
            assert_eq!(field(Demand { on, ..demand("0.5", "10Gbps") }), "load_on");
            let oversubscription = Ratio::ZERO;
            assert_eq!(
                field(Demand { on, oversubscription, ..demand("0.5", "10Gbps") }),
                "oversubscription"
            );
        }
        let period = Period::WholeMicroseconds;
        assert_eq!(field(Demand { period, ..demand("1", "400Tbps") }), "period");
        assert_eq!(field(demand("0.00000001", "1bps")), "load");
        assert_eq!(field(demand("0", "1Gbps")), "load");
    }
}
