//! Dumbbell: two switches with hosts, and one cable between them shared by all cross traffic.

use tidegate_units::{ConfigError, Rate, Span, settings};

use super::{Extent, HostCables, MAX_HOSTS, check_count, check_delay};
use crate::network::{HostId, Network};

settings! {
    /// Settings of a dumbbell. No paper prints one; the defaults have the speed of TCN's
    /// microbenchmark and its base RTT, 100 µs, across the cable.
    #[named("dumbbell", "two switches with hosts, and one cable between them",
        "topologies.md#dumbbell")]
    pub struct Config {
        /// Number of hosts at the left switch, which have the lower numbers.
        pub left: u32 = 8,
        /// Number of hosts at the right switch.
        pub right: u32 = 8,
        /// Speed of a host's cable.
        pub host_rate: Rate = Rate::from_gbps(10),
        /// One-way propagation delay between a host and its switch.
        pub host_delay: Span = Span::from_us(15),
        /// Speeds of the first hosts' cables; hosts beyond the list have `host_rate`.
        pub host_rates: Vec<Rate> = Vec::new(),
        /// Delays of the first hosts' cables; hosts beyond the list have `host_delay`.
        pub host_delays: Vec<Span> = Vec::new(),
        /// Speed of the cable between the switches.
        pub bottleneck_rate: Rate = Rate::from_gbps(10),
        /// One-way propagation delay between the switches.
        pub bottleneck_delay: Span = Span::from_us(20),
    }
}

impl Config {
    /// Size of the network.
    pub fn extent(&self) -> Extent {
        Extent {
            hosts: u64::from(self.left) + u64::from(self.right),
            fabric_cables: 1,
            field: "left",
        }
    }

    /// Builds the network.
    pub fn build(&self) -> Result<Network, ConfigError> {
        check_count("left", self.left, 1..=MAX_HOSTS - 1)?;
        check_count("right", self.right, 1..=MAX_HOSTS - self.left)?;
        check_delay("bottleneck_delay", self.bottleneck_delay)?;
        let hosts = self.left + self.right;
        let cables = HostCables {
            rate: self.host_rate,
            delay: self.host_delay,
            rates: &self.host_rates,
            delays: &self.host_delays,
        };
        cables.check(hosts)?;
        let mut network = Network::new(hosts, 2);
        let (left, right) = (network.switch(0), network.switch(1));
        for host in 0..hosts {
            let switch = if host < self.left { left } else { right };
            cables.connect(&mut network, HostId(host), switch);
        }
        network.connect(left, right, self.bottleneck_rate, self.bottleneck_delay);
        Ok(network)
    }
}
