//! Reads and writes flow lists: `id,start_s,src,dst,bytes[,spine[,ack_spine]]`.

use std::fmt::Write as _;
use std::fs;

use tidegate_sim::workload::{List, Published, Source, Traffic, poisson};
use tidegate_sim::{Flow, HostId};
use tidegate_units::{Rate, Ratio, Setting};

use crate::options::{Options, Scenario};
use crate::scenario::QUEUES;

/// A flow list in the order that a run needs.
pub(crate) struct FlowList {
    /// Ids of the flows, in the order of the file.
    pub(crate) ids: Vec<Box<str>>,
    /// The flows, by start.
    pub(crate) by_start: Vec<Flow>,
    /// Spine of each flow, by start; empty if there is no choice.
    pub(crate) spines: Vec<u32>,
    /// Index of each flow in the file, by start.
    pub(crate) places: Vec<usize>,
}

/// The racks of a leaf-spine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Racks {
    pub(crate) leaves: u32,
    pub(crate) spines: u32,
    pub(crate) hosts_per_leaf: u32,
}

impl Racks {
    pub(crate) fn of(options: &Options) -> Result<Self, String> {
        Ok(Self {
            leaves: options.number("leaves", 1, 1000)?,
            spines: options.number("spines", 1, 1000)?,
            hosts_per_leaf: options.number("hosts-per-leaf", 1, 10_000)?,
        })
    }

    pub(crate) const fn of_host(self, host: HostId) -> u32 {
        host.0 / self.hosts_per_leaf
    }

    /// Web search flows between the racks. The load is defined as in ECN♯'s simulations: payload,
    /// as a fraction of the capacity between leaves and spines.
    pub(crate) fn web_search(
        self,
        load: Ratio,
        link: Rate,
        count: u64,
        seed: u64,
    ) -> Result<Vec<Flow>, String> {
        let oversubscription = Ratio::new(self.hosts_per_leaf, self.spines);
        let config = poisson::Config {
            load,
            link,
            oversubscription: oversubscription.expect("there is at least one spine"),
            flows: Some(count),
            until: None,
            ..Published::EcnSharp.config()
        };
        let traffic = Traffic { sources: vec![Source::Poisson(config)], probes: Vec::new() };
        let hosts = self.leaves * self.hosts_per_leaf;
        let flows = traffic.flows(hosts, &|host| self.of_host(host), seed);
        flows.map_err(|error| error.to_string())
    }

    /// Spine of a flow without one in the list: the choice of ns-3's program.
    fn spine_by_hash(self, flow: &Flow, place: usize) -> u32 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for word in [flow.src.0, flow.dst.0, place as u32] {
            for byte in word.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        (hash >> 32) as u32 % self.spines
    }
}

/// Reads the list of `--flows`. The simulator checks the hosts.
pub(crate) fn read(options: &Options) -> Result<FlowList, String> {
    let path = options.text("flows")?;
    let text = fs::read_to_string(path)
        .map_err(|error| format!("cannot read --flows '{path}': {error}"))?;
    let list = List::parse(&text).map_err(|error| format!("{path}: {error}"))?;
    let racks = match options.scenario()? {
        Scenario::LeafSpine => Some(Racks::of(options)?),
        Scenario::Star => None,
    };
    let mut order: Vec<usize> = (0..list.entries.len()).collect();
    // Stable: flows that start together keep the order of the file, as in ns-3's program.
    order.sort_by_key(|&place| list.entries[place].flow.start);
    let mut spines = Vec::new();
    if let Some(racks) = racks {
        for &place in &order {
            let entry = &list.entries[place];
            let spine = entry.path;
            let spine = spine.unwrap_or_else(|| racks.spine_by_hash(&entry.flow, place));
            let line = entry.line;
            if spine >= racks.spines {
                let most = racks.spines - 1;
                return Err(format!(
                    "{path}: line {line}: spine is '{spine}', allowed is 0 to {most}"
                ));
            }
            if entry.ack_path.is_some_and(|ack_spine| ack_spine != spine) {
                return Err(format!(
                    "{path}: line {line}: ack_spine differs from spine, but ACKs go the way of \
                     their data here"
                ));
            }
            // Within a rack there is no choice.
            let crosses = racks.of_host(entry.flow.src) != racks.of_host(entry.flow.dst);
            spines.push(if crosses { spine } else { 0 });
        }
    }
    let queues = if options.has_tcn()? { usize::from(QUEUES) } else { 1 };
    let in_order = order
        .iter()
        .map(|&place| Flow { service: (place % queues) as u8, ..list.entries[place].flow });
    Ok(FlowList {
        by_start: in_order.collect(),
        ids: (0..list.entries.len()).map(|place| list.id(place).into()).collect(),
        spines,
        places: order,
    })
}

/// Writes a list of web search flows between racks to `--write-flows`.
pub(crate) fn write(options: &Options) -> Result<(), String> {
    if options.scenario()? != Scenario::LeafSpine {
        return Err("--write-flows needs --scenario leaf-spine".to_owned());
    }
    let racks = Racks::of(options)?;
    let load = options.text("load")?;
    let load = Ratio::read(load).map_err(|error| format!("--load: {error}"))?;
    let count = options.number("flow-count", 1, 10_000_000)?;
    let seed = options.number("seed", 0, u64::MAX)?;
    let flows = racks.web_search(load, options.rate()?, count, seed)?;
    let mut text = String::from("id,start_s,src,dst,bytes,spine\n");
    for (place, flow) in flows.iter().enumerate() {
        let ps = flow.start.as_ps();
        let (seconds, rest) = (ps / 1_000_000_000_000, ps % 1_000_000_000_000);
        let spine = racks.spine_by_hash(flow, place);
        let Flow { src, dst, bytes, .. } = flow;
        writeln!(text, "{place},{seconds}.{rest:012},{src},{dst},{bytes},{spine}")
            .expect("writing to a string cannot fail");
    }
    let path = options.text("write-flows")?;
    fs::write(path, text).map_err(|error| format!("cannot write --write-flows '{path}': {error}"))
}
