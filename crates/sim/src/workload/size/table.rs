//! Published distributions of flow sizes.
//!
//! Byte tables are from TrafficGenerator's and BCC's published files; ECN♯'s have the same numbers.
//! Packet tables are from TCN's simulations: the byte tables divided by 1500 and truncated, except
//! that data mining reaches 66 667 packets at 0.99, where the byte table has 100 MB at 0.98. A
//! repeated first knot makes many flows of exactly that size.

use tidegate_units::choices;

use super::{Distribution, Knot, ONE, Unit};

choices! {
    /// A published distribution.
    pub enum Table {
        /// Cache followers in bytes, from BCC's files. Roy et al., SIGCOMM 2015.
        Cache = "cache",
        /// Cache followers in packets, from TCN's simulations.
        CachePackets = "cache-packets",
        /// Data mining in bytes (VL2). Greenberg et al., SIGCOMM 2009.
        DataMining = "data-mining",
        /// Data mining in packets, from TCN's simulations.
        DataMiningPackets = "data-mining-packets",
        /// Hadoop in bytes, from its packet table. A packet counts 1460 bytes, because no byte
        /// table was published with these papers.
        Hadoop = "hadoop",
        /// Hadoop in packets, from TCN's simulations. Roy et al., SIGCOMM 2015.
        HadoopPackets = "hadoop-packets",
        /// Web search in bytes (DCTCP). Alizadeh et al., SIGCOMM 2010.
        WebSearch = "web-search",
        /// Web search in packets, from TCN's simulations.
        WebSearchPackets = "web-search-packets",
    }
}

/// (size, cumulative probability in percent)
type Knots = &'static [(u64, u8)];

const CACHE: Knots = &[
    (500, 0),
    (1_500, 35),
    (3_000, 40),
    (10_000, 46),
    (20_000, 50),
    (100_000, 60),
    (200_000, 70),
    (1_000_000, 78),
    (2_000_000, 80),
    (3_000_000, 90),
    (4_000_000, 99),
    (50_000_000, 100),
];

const CACHE_PACKETS: Knots = &[
    (1, 0),
    (1, 35),
    (2, 40),
    (7, 46),
    (13, 50),
    (67, 60),
    (133, 70),
    (667, 78),
    (1_333, 80),
    (2_000, 90),
    (2_667, 99),
    (33_333, 100),
];

const DATA_MINING: Knots = &[
    (0, 0),
    (180, 10),
    (216, 20),
    (560, 30),
    (900, 40),
    (1_100, 50),
    (1_870, 60),
    (3_160, 70),
    (10_000, 80),
    (400_000, 90),
    (3_160_000, 95),
    (100_000_000, 98),
    (1_000_000_000, 100),
];

const DATA_MINING_PACKETS: Knots = &[
    (1, 0),
    (1, 50),
    (2, 60),
    (3, 70),
    (7, 80),
    (267, 90),
    (2_107, 95),
    (66_667, 99),
    (666_667, 100),
];

const HADOOP_PACKETS: Knots = &[
    (1, 0),
    (24, 10),
    (30, 20),
    (33, 30),
    (33, 40),
    (50, 50),
    (53, 60),
    (67, 70),
    (120, 80),
    (160, 90),
    (200, 95),
    (667, 96),
    (6_667, 97),
    (66_667, 99),
    (333_333, 100),
];

const WEB_SEARCH: Knots = &[
    (0, 0),
    (10_000, 15),
    (20_000, 20),
    (30_000, 30),
    (50_000, 40),
    (80_000, 53),
    (200_000, 60),
    (1_000_000, 70),
    (2_000_000, 80),
    (5_000_000, 90),
    (10_000_000, 97),
    (30_000_000, 100),
];

const WEB_SEARCH_PACKETS: Knots = &[
    (6, 0),
    (6, 15),
    (13, 20),
    (19, 30),
    (33, 40),
    (53, 53),
    (133, 60),
    (667, 70),
    (1_333, 80),
    (3_333, 90),
    (6_667, 97),
    (20_000, 100),
];

/// Payload of a packet in TCN's simulations.
const PACKET: u64 = 1_460;

impl Table {
    /// The distribution.
    pub fn distribution(self) -> Distribution {
        let (knots, unit, scale) = match self {
            Self::Cache => (CACHE, Unit::Bytes, 1),
            Self::CachePackets => (CACHE_PACKETS, Unit::Packets, 1),
            Self::DataMining => (DATA_MINING, Unit::Bytes, 1),
            Self::DataMiningPackets => (DATA_MINING_PACKETS, Unit::Packets, 1),
            Self::Hadoop => (HADOOP_PACKETS, Unit::Bytes, PACKET),
            Self::HadoopPackets => (HADOOP_PACKETS, Unit::Packets, 1),
            Self::WebSearch => (WEB_SEARCH, Unit::Bytes, 1),
            Self::WebSearchPackets => (WEB_SEARCH_PACKETS, Unit::Packets, 1),
        };
        let knot = |&(size, percent): &(u64, u8)| Knot {
            size: size * scale,
            cdf: ONE / 100 * u64::from(percent),
        };
        Distribution { knots: knots.iter().map(knot).collect(), unit }
    }

    /// Mean in payload bytes that TCN's published script uses in its formula instead of the table's
    /// own: 0.3 % above it.
    pub(crate) const fn script_mean(self) -> Option<u64> {
        match self {
            Self::CachePackets => Some(913_703),
            Self::DataMiningPackets => Some(7_495_019),
            Self::HadoopPackets => Some(4_149_016),
            Self::WebSearchPackets => Some(1_671_357),
            Self::Cache | Self::DataMining | Self::Hadoop | Self::WebSearch => None,
        }
    }
}
