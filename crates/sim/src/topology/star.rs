//! Star: hosts around one switch.
//!
//! The microbenchmarks and the testbeds of all papers are stars: senders and one receiver, often
//! with individual delays. Use the last host as the receiver, because lists shorter than the number
//! of hosts leave it at the common value.

use tidegate_units::{ConfigError, Rate, Span, settings};

use super::{Extent, HostCables, MAX_HOSTS, check_count};
use crate::network::{HostId, Network};

settings! {
    /// Settings of a star. The defaults are TCN's microbenchmark with eight senders and a base RTT
    /// of 100 µs (section 4.3, figure 3).
    #[named("star", "hosts around one switch", "topologies.md#star")]
    pub struct Config {
        /// Number of hosts.
        pub hosts: u32 = 9,
        /// Speed of a host's cable.
        pub host_rate: Rate = Rate::from_gbps(10),
        /// One-way propagation delay between a host and the switch.
        pub host_delay: Span = Span::from_us(25),
        /// Speeds of the first hosts' cables; hosts beyond the list have `host_rate`.
        pub host_rates: Vec<Rate> = Vec::new(),
        /// Delays of the first hosts' cables; hosts beyond the list have `host_delay`.
        pub host_delays: Vec<Span> = Vec::new(),
    }
}

impl Config {
    /// Size of the network.
    pub fn extent(&self) -> Extent {
        Extent { hosts: self.hosts.into(), fabric_cables: 0, field: "hosts" }
    }

    /// Builds the network.
    pub fn build(&self) -> Result<Network, ConfigError> {
        check_count("hosts", self.hosts, 2..=MAX_HOSTS)?;
        let cables = HostCables {
            rate: self.host_rate,
            delay: self.host_delay,
            rates: &self.host_rates,
            delays: &self.host_delays,
        };
        cables.check(self.hosts)?;
        let mut network = Network::new(self.hosts, 1);
        let switch = network.switch(0);
        for host in 0..self.hosts {
            cables.connect(&mut network, HostId(host), switch);
        }
        Ok(network)
    }
}
