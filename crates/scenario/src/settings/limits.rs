//! Upper bounds of a scenario, checked before anything is built.

use tidegate_dataplane::mark;
use tidegate_sim::topology;
use tidegate_sim::workload::{Extent, Source};

use super::reader::{Located, Locations};
use crate::text::problem::Problem;

/// Bounds on the memory that a scenario can make the program allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Hosts of a network.
    pub hosts: u64,
    /// Links of a network, both directions as one.
    pub cables: u64,
    /// Flows of a run.
    pub flows: u64,
    /// Runs of a sweep, replications included.
    pub runs: u64,
    /// Queues with recorded distributions, 50 KiB each.
    pub queues: u64,
    /// Samples of all series of a run, about 40 bytes each.
    pub samples: u64,
    /// Entries in the hardware tables of all ports' schemes, up to 32 bytes each.
    pub entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hosts: 1 << 17,
            cables: 1 << 20,
            flows: 20_000_000,
            runs: 100_000,
            queues: 1 << 16,
            samples: 100_000_000,
            entries: 1 << 26,
        }
    }
}

impl Limits {
    /// Small enough for thousands of random scenarios in a minute.
    pub const FUZZING: Self = Self {
        hosts: 512,
        cables: 2_048,
        flows: 5_000,
        runs: 64,
        queues: 4_096,
        samples: 1_000_000,
        entries: 1 << 18,
    };

    /// Refuses networks that are too large.
    pub(crate) fn check_topology(
        &self,
        topology: &Located<topology::Config>,
    ) -> Result<(), Problem> {
        let topology::Extent { hosts, fabric_cables, field } = topology.item.extent();
        let cables = hosts.saturating_add(fabric_cables);
        for (what, found, most) in [("hosts", hosts, self.hosts), ("cables", cables, self.cables)] {
            if found > most {
                let message = format!("{found} {what} are more than the maximum of {most}");
                return Err(Problem::new(message).at(topology.locs.of(field)));
            }
        }
        Ok(())
    }

    /// Refuses schemes whose hardware tables are too large for this number of ports.
    pub(crate) fn check_tables(
        &self,
        marking: &mark::Config,
        locs: &Locations,
        queues: u8,
        ports: u64,
    ) -> Result<(), Problem> {
        let entries = marking.table_entries(queues).saturating_mul(ports);
        if entries <= self.entries {
            return Ok(());
        }
        let message = format!(
            "the tables of {ports} ports have {entries} entries, more than the maximum of {}",
            self.entries
        );
        Err(Problem::new(message)
            .at(locs.of("map_entries"))
            .help("lower `map_entries` or `count_registers`, or set tables = \"exact\""))
    }

    /// Refuses sources with too many flows. A source that ends by time is cut off one flow beyond
    /// the limit.
    pub(crate) fn check_source(
        &self,
        source: &mut Source,
        locs: &Locations,
        hosts: u32,
    ) -> Result<(), Problem> {
        let Extent { flows, field } = source.extent(hosts);
        match flows {
            Some(flows) if flows > self.flows => {
                return Err(self.too_many_flows(flows).at(locs.of(field)));
            }
            Some(_) => {}
            None => source.end_after(self.flows + 1),
        }
        Ok(())
    }

    pub(crate) fn too_many_flows(&self, flows: u64) -> Problem {
        let most = self.flows;
        Problem::new(if flows > most + 1 {
            format!("{flows} flows are more than the maximum of {most} in a run")
        } else {
            format!("the sources generate more than {most} flows, the maximum of a run")
        })
    }
}
