//! The papers' background traffic by name.

use tidegate_units::{Rate, Ratio, Span, choices};

use super::Hosts;
use super::load::{Counts, LoadOn, MeanSize, Period};
use super::pattern::Pattern;
use super::poisson::Config;
use super::service::Assignment;
use super::size::{Rounding, Sizes, Table};

choices! {
    /// A published setup of Poisson arrivals. `load` must still be chosen and, if the paper does
    /// not say when arrivals end, `flows` or `until`.
    pub enum Published {
        /// BCC's simulations: 128 hosts in 8 racks, 2:1, 100 Gb/s; the load refers to the core.
        Bcc = "bcc",
        /// DiffECN, all senders to host 0, with the load on its link. The paper does not mention
        /// headers; they do not count.
        DiffEcnBottleneck = "diff-ecn-bottleneck",
        /// DiffECN's fabric: 128 hosts in 8 racks, 2:1, 40 Gb/s; the load refers to the links
        /// between leaves and spines.
        DiffEcnFabric = "diff-ecn-fabric",
        /// ECN♯'s simulations: like BCC's, at 10 Gb/s and only between racks, for 0.2 s.
        EcnSharp = "ecn-sharp",
        /// ECN♯'s queue tracking: 16 senders to host 16, data mining, about 1000 flows. Its limit
        /// of 62 flows per sender is 992 flows in total here.
        EcnSharpQueueTrack = "ecn-sharp-queue-track",
        /// HPCC: a load on each host's link, any host to any other.
        Hpcc = "hpcc",
        /// TCN's simulations: 144 hosts, every ordered pair with its own service and sizes, 50 000
        /// flows. The published script has 100 000.
        TcnSimulation = "tcn-simulation",
        /// TrafficGenerator as used in TCN's testbed: host 0 fetches from the others at 1 Gb/s, one
        /// of four services at random, 5000 flows.
        TrafficGenerator = "traffic-generator",
    }
}

impl Published {
    /// Parameters of the setup.
    pub fn config(self) -> Config {
        let plain = Config::default();
        match self {
            Self::Bcc => Config {
                link: Rate::from_gbps(100),
                load_on: Some(LoadOn::UplinksApproximate),
                counts: Counts::WireMss,
                oversubscription: Ratio::whole(2),
                rounding: Some(Rounding::CeilBytes),
                mss: 8_960,
                flows: Some(100_000),
                ..plain
            },
            Self::DiffEcnBottleneck => Config {
                link: Rate::from_gbps(40),
                load_on: Some(LoadOn::Receivers),
                pattern: Pattern::AllToOne,
                to: Hosts::one(0),
                ..plain
            },
            Self::DiffEcnFabric => Config {
                link: Rate::from_gbps(40),
                load_on: Some(LoadOn::Uplinks),
                oversubscription: Ratio::whole(2),
                ..plain
            },
            Self::EcnSharp => Config {
                load_on: Some(LoadOn::Uplinks),
                oversubscription: Ratio::whole(2),
                pattern: Pattern::InterRack,
                rounding: Some(Rounding::TruncBytes),
                mss: 1_400,
                until: Some(Span::from_ms(200)),
                ..plain
            },
            Self::EcnSharpQueueTrack => Config {
                load: Ratio::new(9, 10).expect("the denominator is not zero"),
                load_on: Some(LoadOn::Receivers),
                pattern: Pattern::AllToOne,
                to: Hosts::one(16),
                from: Hosts::Ranges(vec![(0, 15)]),
                sizes: vec![Sizes::Published(Table::DataMining)],
                rounding: Some(Rounding::TruncBytes),
                mss: 1_400,
                flows: Some(992),
                ..plain
            },
            Self::Hpcc => Config {
                link: Rate::from_gbps(100),
                load_on: Some(LoadOn::Senders),
                rounding: Some(Rounding::TruncBytes),
                mss: 1_000,
                ..plain
            },
            Self::TcnSimulation => Config {
                load_on: Some(LoadOn::Senders),
                mean: MeanSize::Script,
                // A service's number modulo four: cache 0, web search 1, Hadoop 2, data mining 3.
                sizes: [
                    Table::CachePackets,
                    Table::WebSearchPackets,
                    Table::HadoopPackets,
                    Table::DataMiningPackets,
                ]
                .map(Sizes::Published)
                .into(),
                assignment: Assignment::Pair,
                services: 7,
                first_service: 1,
                flows: Some(50_000),
                ..plain
            },
            Self::TrafficGenerator => Config {
                link: Rate::from_gbps(1),
                load_on: Some(LoadOn::Receivers),
                counts: Counts::Wire,
                period: Period::WholeMicroseconds,
                pattern: Pattern::OneFromMany,
                to: Hosts::one(0),
                rounding: Some(Rounding::TruncBytes),
                mss: 1_448,
                assignment: Assignment::Uniform,
                services: 4,
                flows: Some(5_000),
                ..plain
            },
        }
    }
}
