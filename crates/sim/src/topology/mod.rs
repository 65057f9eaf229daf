//! Topologies: common shapes of networks, built from settings.
//!
//! [`Config`] is any of them by name. Each has its own file, with a `Config` whose defaults are a
//! setup of the papers, and a `build` that creates the [`Network`] or names the setting that cannot
//! be used. Hosts are numbered in the order of their switches, and cables in the order of the
//! nodes, so that equal-cost paths have the same order at every switch of a kind.

use std::ops::RangeInclusive;

use tidegate_units::{ConfigError, Rate, Span, catalogue};

use crate::network::{HostId, Network, NodeId};

/// Most hosts of a topology, and most cables of each tier.
pub const MAX_HOSTS: u32 = 1 << 24;

/// Longest delay of a cable. Light circles the earth more than 50 times in it: a longer delay is a
/// mistake.
pub const MAX_DELAY: Span = Span::from_secs(10);

/// Size of a network, checked before the network is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of hosts, each of which has a cable.
    pub hosts: u64,
    /// Cables between switches.
    pub fabric_cables: u64,
    /// The setting that increases both most.
    pub field: &'static str,
}

/// Declares the modules of all topologies and the enum of their settings. A module holds a `Config`
/// with the methods `build` and `extent`.
macro_rules! topologies {
    ($($variant:ident($module:ident),)*) => {
        $(pub mod $module;)*

        catalogue! {
            /// Settings of any topology.
            pub enum Config {
                []
                $($variant($module::Config),)*
            }
        }

        impl Config {
            /// Builds the network, or names the setting that cannot be used.
            pub fn build(&self) -> Result<Network, ConfigError> {
                match self {
                    $(Self::$variant(config) => config.build(),)*
                }
            }

            /// Size of the network.
            pub fn extent(&self) -> Extent {
                match self {
                    $(Self::$variant(config) => config.extent(),)*
                }
            }
        }
    };
}

topologies! {
    Dumbbell(dumbbell),
    FatTree(fat_tree),
    LeafSpine(leaf_spine),
    ParkingLot(parking_lot),
    Star(star),
}

/// Cables of hosts that may differ: lists for the first hosts, and one value for the rest.
struct HostCables<'a> {
    rate: Rate,
    delay: Span,
    rates: &'a [Rate],
    delays: &'a [Span],
}

impl HostCables<'_> {
    fn check(&self, hosts: u32) -> Result<(), ConfigError> {
        check_delay("host_delay", self.delay)?;
        for &delay in self.delays {
            check_delay("host_delays", delay)?;
        }
        let lists = [("host_rates", self.rates.len()), ("host_delays", self.delays.len())];
        for (field, values) in lists {
            if values > hosts as usize {
                let allowed = format!("at most {hosts} values, one for each host");
                return Err(ConfigError::out_of_range(field, format!("{values} values"), allowed));
            }
        }
        Ok(())
    }

    fn connect(&self, network: &mut Network, host: HostId, switch: NodeId) {
        let rate = self.rates.get(host.index()).unwrap_or(&self.rate);
        let delay = self.delays.get(host.index()).unwrap_or(&self.delay);
        network.connect(host.node(), switch, *rate, *delay);
    }
}

fn check_count(
    field: &'static str,
    value: u32,
    allowed: RangeInclusive<u32>,
) -> Result<(), ConfigError> {
    if allowed.contains(&value) {
        return Ok(());
    }
    let range = format!("{} to {}", allowed.start(), allowed.end());
    Err(ConfigError::out_of_range(field, value, range))
}

fn check_delay(field: &'static str, delay: Span) -> Result<(), ConfigError> {
    if delay <= MAX_DELAY {
        return Ok(());
    }
    let allowed = format!("at most {MAX_DELAY}");
    Err(ConfigError::out_of_range(field, delay, allowed))
}

#[cfg(test)]
mod tests;
