//! Fat-tree: three tiers of switches with `k` ports each, and `k³/4` hosts.
//!
//! Al-Fares et al., "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008. There
//! are `k` pods, each with `k/2` edge and `k/2` aggregation switches; every edge switch is
//! connected to every aggregation switch of its pod. Aggregation switch `a` of each pod is
//! connected to the `k/2` core switches from `a·k/2` on.

use tidegate_units::{ConfigError, Rate, Span, settings};

use super::{Extent, check_delay};
use crate::network::{Network, NodeId};

/// Largest number of ports with at most [`MAX_HOSTS`](super::MAX_HOSTS) hosts.
const MAX_PORTS: u32 = 406;

settings! {
    /// Settings of a fat-tree. The defaults have the 128 hosts of DiffECN's count of active flows
    /// (section IV-B), with the speed and delay of its simulations.
    #[named("fat-tree", "three tiers of switches with k ports each", "topologies.md#fat-tree")]
    pub struct Config {
        /// Number of ports of a switch, even.
        pub k: u32 = 8,
        /// Speed of a host's cable.
        pub host_rate: Rate = Rate::from_gbps(40),
        /// Speed of a cable between switches.
        pub fabric_rate: Rate = Rate::from_gbps(40),
        /// One-way propagation delay between a host and its edge switch.
        pub host_delay: Span = Span::from_us(15),
        /// One-way propagation delay between switches.
        pub fabric_delay: Span = Span::from_us(15),
    }
}

impl Config {
    /// Size of the network.
    pub fn extent(&self) -> Extent {
        let k = u64::from(self.k).min(1 << 16);
        Extent { hosts: k * k * k / 4, fabric_cables: k * k * k / 2, field: "k" }
    }

    /// Builds the network. Edge switches come first, pod by pod, then aggregation switches, then
    /// core switches.
    pub fn build(&self) -> Result<Network, ConfigError> {
        if !(2..=MAX_PORTS).contains(&self.k) || !self.k.is_multiple_of(2) {
            let allowed = format!("an even number from 2 to {MAX_PORTS}");
            return Err(ConfigError::out_of_range("k", self.k, allowed));
        }
        check_delay("host_delay", self.host_delay)?;
        check_delay("fabric_delay", self.fabric_delay)?;
        let half = self.k / 2;
        let per_tier = self.k * half;
        let mut network = Network::new(per_tier * half, 2 * per_tier + half * half);
        network.name_switches(0, "edge");
        network.name_switches(per_tier, "agg");
        network.name_switches(2 * per_tier, "core");
        for host in 0..network.hosts() {
            let edge = network.switch(host / half);
            network.connect(NodeId(host), edge, self.host_rate, self.host_delay);
        }
        let fabric = |network: &mut Network, lower, upper| {
            let (lower, upper) = (network.switch(lower), network.switch(upper));
            network.connect(lower, upper, self.fabric_rate, self.fabric_delay);
        };
        for edge in 0..per_tier {
            let pod = edge / half;
            for index in 0..half {
                fabric(&mut network, edge, per_tier + pod * half + index);
            }
        }
        for aggregation in 0..per_tier {
            let group = aggregation % half;
            for index in 0..half {
                let core = 2 * per_tier + group * half + index;
                fabric(&mut network, per_tier + aggregation, core);
            }
        }
        Ok(network)
    }
}
