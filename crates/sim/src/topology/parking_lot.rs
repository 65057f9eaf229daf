//! Parking lot: a chain of switches with hosts, connected by pipes with individual speeds and
//! delays.
//!
//! A flow that crosses several pipes competes with new traffic at each of them, as in the
//! multi-bottleneck network of the ODCTCP thesis (section 6.4.2).

use tidegate_units::{ConfigError, Rate, Span, settings};

use super::{Extent, MAX_HOSTS, check_delay};
use crate::network::{Network, NodeId};

/// Most switches of a chain.
const MAX_SWITCHES: usize = 4096;

settings! {
    /// Settings of a parking lot. The defaults are the thesis's: 0 (`S1`) and 1 (`S2`) send through
    /// pipe 1, 2 (`R2`) and 3 (`S3`) are between pipes 2 and 3, and 4 (`R1`) is at the end. `S1` to
    /// `R1` crosses both slow pipes, `S2` to `R2` the first and `S3` to `R1` the second.
    #[named("parking-lot", "a chain of switches with hosts at each", "topologies.md#parking-lot")]
    pub struct Config {
        /// Number of hosts at each switch, from one end to the other; the length of the list is the
        /// number of switches.
        pub hosts: Vec<u32> = vec![2, 0, 2, 1],
        /// Speed of each pipe, one fewer than switches; a single value is for all.
        pub pipe_rates: Vec<Rate> = vec![megabits(100), megabits(1000), megabits(100)],
        /// One-way propagation delay of each pipe, half of the RTT given in the thesis; a single
        /// value is for all.
        pub pipe_delays: Vec<Span> = vec![
            Span::from_ms(5), Span::from_us(500), Span::from_ms(5),
        ],
        /// Speed of a host's cable.
        pub host_rate: Rate = Rate::from_gbps(1),
        /// One-way propagation delay between a host and its switch. In the thesis only the pipes
        /// have delays.
        pub host_delay: Span = Span::ZERO,
    }
}

impl Config {
    /// Size of the network.
    pub fn extent(&self) -> Extent {
        Extent {
            hosts: self.hosts.iter().copied().map(u64::from).sum(),
            fabric_cables: self.hosts.len() as u64,
            field: "hosts",
        }
    }

    /// Builds the network.
    pub fn build(&self) -> Result<Network, ConfigError> {
        let hosts = self.check()?;
        let switches = self.hosts.len() as u32; // at most MAX_SWITCHES
        let mut network = Network::new(hosts, switches);
        let mut host = 0;
        for (switch, &count) in (0..).zip(&self.hosts) {
            let switch = network.switch(switch);
            for _ in 0..count {
                network.connect(NodeId(host), switch, self.host_rate, self.host_delay);
                host += 1;
            }
        }
        for pipe in 0..switches - 1 {
            let (a, b) = (network.switch(pipe), network.switch(pipe + 1));
            let rate = *of_pipe(&self.pipe_rates, pipe);
            let delay = *of_pipe(&self.pipe_delays, pipe);
            network.connect(a, b, rate, delay);
        }
        Ok(network)
    }

    /// Checks all settings and returns the number of hosts.
    fn check(&self) -> Result<u32, ConfigError> {
        let switches = self.hosts.len();
        if !(2..=MAX_SWITCHES).contains(&switches) {
            let allowed = format!("2 to {MAX_SWITCHES} switches");
            let found = format!("{switches} switches");
            return Err(ConfigError::out_of_range("hosts", found, allowed));
        }
        let hosts: u64 = self.hosts.iter().copied().map(u64::from).sum();
        if !(2..=u64::from(MAX_HOSTS)).contains(&hosts) {
            let allowed = format!("2 to {MAX_HOSTS} hosts in all");
            let found = format!("{hosts} hosts in all");
            return Err(ConfigError::out_of_range("hosts", found, allowed));
        }
        let pipes = switches - 1;
        let lists =
            [("pipe_rates", self.pipe_rates.len()), ("pipe_delays", self.pipe_delays.len())];
        for (field, values) in lists {
            if values != 1 && values != pipes {
                let allowed = format!("{pipes} values, one for each pipe, or a single one");
                let found = format!("{values} values");
                return Err(ConfigError::out_of_range(field, found, allowed));
            }
        }
        for &delay in &self.pipe_delays {
            check_delay("pipe_delays", delay)?;
        }
        check_delay("host_delay", self.host_delay)?;
        Ok(hosts as u32) // at most MAX_HOSTS
    }
}

/// Value of one pipe in a checked list.
fn of_pipe<T>(list: &[T], pipe: u32) -> &T {
    list.get(pipe as usize).unwrap_or(&list[0])
}

const fn megabits(mbps: u64) -> Rate {
    Rate::from_bps(mbps * 1_000_000).expect("the defaults are not zero")
}
