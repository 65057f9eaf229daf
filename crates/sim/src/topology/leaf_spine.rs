//! Leaf-spine: every leaf has a cable to every spine, and hosts.
//!
//! Speeds and counts are free, so that any oversubscription is possible: a leaf's hosts can send
//! `hosts_per_leaf × host_rate`, and its spines carry `spines × fabric_rate`.

use tidegate_units::{ConfigError, Rate, Span, settings};

use super::{Extent, MAX_HOSTS, check_count, check_delay};
use crate::network::{Network, NodeId};

settings! {
    /// Settings of a leaf-spine fabric. The defaults are TCN's simulations, which do not
    /// oversubscribe (section 6.2): the propagation RTT between racks is 81.6 µs.
    #[named("leaf-spine", "two tiers, every leaf connected to every spine",
        "topologies.md#leaf-spine")]
    pub struct Config {
        /// Number of leaves. BCC, ECN♯ and DiffECN have 8.
        pub leaves: u32 = 12,
        /// Number of spines. BCC, ECN♯ and DiffECN have 8.
        pub spines: u32 = 12,
        /// Number of hosts at each leaf. BCC, ECN♯ and DiffECN have 16.
        pub hosts_per_leaf: u32 = 12,
        /// Speed of a host's cable. BCC has 100 Gb/s, ECN♯ 10 Gb/s, DiffECN 40 Gb/s.
        pub host_rate: Rate = Rate::from_gbps(10),
        /// Speed of a cable between leaf and spine. In all papers it equals the hosts' speed.
        pub fabric_rate: Rate = Rate::from_gbps(10),
        /// One-way propagation delay between a host and its leaf. BCC has 19 µs, ECN♯ 10 µs,
        /// DiffECN 15 µs.
        pub host_delay: Span = Span::from_ns(20_200),
        /// One-way propagation delay between leaf and spine. BCC has 1 µs, ECN♯ 10 µs, DiffECN 15
        /// µs.
        pub fabric_delay: Span = Span::from_ns(200),
    }
}

impl Config {
    /// Size of the network.
    pub fn extent(&self) -> Extent {
        let leaves = u64::from(self.leaves);
        Extent {
            hosts: leaves.saturating_mul(self.hosts_per_leaf.into()),
            fabric_cables: leaves.saturating_mul(self.spines.into()),
            field: "leaves",
        }
    }

    /// Builds the network. Leaves come first among the switches, then spines.
    pub fn build(&self) -> Result<Network, ConfigError> {
        check_count("leaves", self.leaves, 1..=MAX_HOSTS)?;
        check_count("spines", self.spines, 1..=MAX_HOSTS / self.leaves)?;
        let fewest = if self.leaves == 1 { 2 } else { 1 };
        let most = MAX_HOSTS / self.leaves;
        check_count("hosts_per_leaf", self.hosts_per_leaf, fewest..=most)?;
        check_delay("host_delay", self.host_delay)?;
        check_delay("fabric_delay", self.fabric_delay)?;
        let mut network =
            Network::new(self.leaves * self.hosts_per_leaf, self.leaves + self.spines);
        network.name_switches(0, "leaf");
        network.name_switches(self.leaves, "spine");
        for host in 0..network.hosts() {
            let leaf = network.switch(host / self.hosts_per_leaf);
            network.connect(NodeId(host), leaf, self.host_rate, self.host_delay);
        }
        for leaf in 0..self.leaves {
            for spine in 0..self.spines {
                let (leaf, spine) = (network.switch(leaf), network.switch(self.leaves + spine));
                network.connect(leaf, spine, self.fabric_rate, self.fabric_delay);
            }
        }
        Ok(network)
    }
}
