//! What a scenario may ask for at most, checked before anything is made.

use tidegate_dataplane::mark;
use tidegate_sim::topology::{self, Extent};
use tidegate_sim::workload::{Hosts, Source};

use super::reader::Located;
use crate::text::problem::Problem;

/// Bounds on what a scenario makes the program allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Hosts of a network.
    pub hosts: u64,
    /// Cables of a network.
    pub cables: u64,
    /// Flows of a run.
    pub flows: u64,
    /// Runs of a sweep, replications included.
    pub runs: u64,
    /// Queues whose distributions are kept, 50 KiB each.
    pub queues: u64,
    /// Samples of all series of a run, about 40 bytes each.
    pub samples: u64,
    /// Entries of all hardware tables that schemes have at their ports, up to 32 bytes each.
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
        let Extent {
            hosts,
            fabric_cables,
            field,
        } = topology.item.extent();
        let cables = hosts.saturating_add(fabric_cables);
        for (what, found, most) in [
            ("hosts", hosts, self.hosts),
            ("cables", cables, self.cables),
        ] {
            if found > most {
                let message = format!("{found} {what} are more than the {most} allowed");
                return Err(Problem::new(message).at(topology.locs.of(field)));
            }
        }
        Ok(())
    }

    /// Refuses schemes whose hardware tables would be too large at so many `ports`.
    pub(crate) fn check_tables(
        &self,
        marking: &Located<mark::Config>,
        queues: u8,
        ports: u64,
    ) -> Result<(), Problem> {
        let number = |field: &str| -> u64 {
            let text = marking.item.value(field);
            text.and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        let is = |field: &str, text: &str| marking.item.value(field).as_deref() == Some(text);
        let by_profile = is("tables", "none") && is("profile", "testbed");
        if !by_profile && !is("tables", "hardware") {
            return Ok(());
        }
        let map = number("map_entries").saturating_mul(queues.into());
        // The sizes of tables are powers of two.
        let each = map.checked_next_power_of_two().unwrap_or(u64::MAX);
        let entries = each
            .saturating_add(number("count_registers"))
            .saturating_mul(ports);
        if entries <= self.entries {
            return Ok(());
        }
        let message = format!(
            "the tables of {ports} ports have {entries} entries, more than the {} allowed",
            self.entries
        );
        Err(Problem::new(message)
            .at(marking.locs.of("map_entries"))
            .help("lower `map_entries` or `count_registers`, or set tables = \"exact\""))
    }

    /// Refuses sources that would make too many flows. Those that end by time are made to end one flow
    /// beyond the limit.
    pub(crate) fn check_source(
        &self,
        source: &mut Located<Source>,
        hosts: u32,
    ) -> Result<(), Problem> {
        let all = u64::from(hosts);
        // Ranges may overlap: a set has no more hosts than the network.
        let count = |hosts: &Hosts| match hosts {
            Hosts::All => all,
            Hosts::Ranges(ranges) => {
                let lengths = ranges
                    .iter()
                    .map(|&(first, last)| u64::from(last - first) + 1);
                lengths.sum::<u64>().min(all)
            }
        };
        let (flows, field) = match &mut source.item {
            Source::Burst(config) => {
                let each = config.fan_in.map_or_else(|| count(&config.from), u64::from);
                (each.saturating_mul(config.bursts.into()), "bursts")
            }
            Source::List(list) => (list.entries.len() as u64, "file"),
            Source::LongLived(config) => (
                count(&config.from).saturating_mul(config.flows.into()),
                "flows",
            ),
            Source::Poisson(config) => match config.flows {
                Some(flows) => (flows, "flows"),
                None if config.until.is_some() => {
                    config.flows = Some(self.flows + 1);
                    (0, "until")
                }
                None => (0, "flows"),
            },
        };
        if flows > self.flows {
            return Err(self.too_many_flows(flows).at(source.locs.of(field)));
        }
        Ok(())
    }

    pub(crate) fn too_many_flows(&self, flows: u64) -> Problem {
        let most = self.flows;
        Problem::new(if flows > most + 1 {
            format!("{flows} flows are more than the {most} allowed in a run")
        } else {
            format!("the sources make more than {most} flows, the most of a run")
        })
    }
}
