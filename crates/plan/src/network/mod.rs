//! Description of a network, read from a file of ten lines.
//!
//! ```toml
//! fabric = { host_ports = "48x25Gbps", uplinks = "8x100Gbps" }
//! switch = { chip = "trident3", alpha = 1, os = "sonic" }
//! rtt = { mean = "20us", p90 = "30us" }
//! transport = "dctcp"
//! traffic = { workload = "web-search", load = 0.5 }
//!
//! [[queue]]
//! name = "web"
//! dscp = [0, 8]
//! weight = 70
//!
//! [[queue]]
//! name = "bulk"
//! dscp = 10
//! weight = 30
//! ```
//!
//! [`keys`] declares the keys and their meaning. Files are read like scenarios: an error shows its
//! line, a caret and the accepted values.

mod check;
pub mod chip;
pub mod keys;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tidegate_report::reading;
use tidegate_scenario::{Problem, SettingsTable};
use tidegate_sim::workload::{List, Sizes};
use tidegate_units::{Bytes, Field, Rate, Ratio, Settings, Span};

pub use chip::Chip;
pub use keys::Ports;

pub use crate::transport::Transport;

use crate::formula::headroom::{self, Reaction};
use crate::os::Os;

/// A valid network: every value is present and in range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Name used in file names.
    pub name: String,
    /// Title on pages.
    pub title: String,
    /// Host ports of a leaf.
    pub host_ports: Ports,
    /// Uplinks of a leaf.
    pub uplinks: Option<Ports>,
    /// Layers of switches, 1 to 3.
    pub layers: u32,
    /// Number of hosts, at least 2.
    pub hosts: u32,
    /// One-way propagation delay of the longest cable.
    pub link_delay: Span,
    /// Bytes of the largest packet.
    pub mtu: u32,
    /// The buffer of a leaf.
    pub switch: Switch,
    /// The round-trip time without queueing.
    pub rtt: Rtt,
    /// The queues of a port, by number; at least one.
    pub queues: Vec<Queue>,
    /// Flows of the network.
    pub traffic: Traffic,
    /// Assumptions where the file left a choice open, a sentence each.
    pub assumptions: Vec<String>,
}

/// The buffer of a switch and who configures it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The chip, if the file names one.
    pub chip: Option<Chip>,
    /// All packet memory.
    pub buffer: Bytes,
    /// Number of parts that the memory is divided into.
    pub parts: u32,
    /// Factor of the dynamic threshold, above zero.
    pub alpha: Ratio,
    /// Memory reserved for each queue.
    pub reserve: Bytes,
    /// Bytes of a memory cell, at least one.
    pub cell: u32,
    /// The operating system, if the file names one.
    pub os: Option<Os>,
    /// Properties that PFC headroom depends on beside speed and cable.
    pub reaction: Reaction,
    /// PFC headroom that a running switch reserves; it replaces the computed headroom.
    pub reservation: Reservation,
}

/// PFC headroom that a running switch reserves, instead of the computed one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    /// Headroom of each lossless class of each port, by the speed of the port.
    pub of_ports: BTreeMap<Rate, Vec<Bytes>>,
    /// Headroom pool of all ports and classes, if they share one that is smaller than their sum.
    pub pool: Option<Bytes>,
}

/// Packet memory that some ports share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Size without the memory reserved for queues.
    pub size: Bytes,
    /// Number of ports that share it.
    pub ports: u32,
}

/// Round-trip times without queueing; the mean is not above the percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    /// Mean.
    pub mean: Span,
    /// 90th percentile.
    pub p90: Span,
}

/// A queue of each port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Name of the queue.
    pub name: String,
    /// Number at the switch, 0 to 7.
    pub id: u8,
    /// Code points that use the queue.
    pub dscp: Vec<u8>,
    /// Share of the port in percent; `None` for strict priority.
    pub weight: Option<u32>,
    /// Whether PFC protects the queue from drops.
    pub lossless: bool,
    /// Transport of the flows.
    pub transport: Transport,
    /// The transport's `λ` with its source; `None` if no threshold follows from it.
    pub lambda: Option<(Ratio, &'static str)>,
    /// Whether packets that are not ECN-capable share the queue.
    pub not_ecn: bool,
}

/// Flows of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Flow sizes; `None` with a trace.
    pub workload: Option<Sizes>,
    /// Trace of flows, all between hosts of the network.
    pub trace: Option<Trace>,
    /// Load of the host links, above 0 and at most 1.
    pub load: Ratio,
    /// Number of hosts that answer one host at the same moment.
    pub incast: u32,
}

/// A trace of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Flows in the order of the file.
    pub flows: Arc<List>,
    /// Whether each flow names its queue, by id, in a column `service`.
    pub has_services: bool,
}

/// Role of a leaf's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// To a host.
    Host,
    /// To a switch above.
    Uplink,
}

impl Role {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Uplink => "up",
        }
    }
}

impl Network {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let name = path.display().to_string();
        let text = reading::text(path, reading::WRITTEN)
            .map_err(|error| Problem::new(format!("`{name}` cannot be read: {error}")))?;
        check::network(&SettingsTable::parse(&name, &text)?, path.parent())
    }

    /// Reads a text that has no file: it cannot name a trace.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, Problem> {
        check::network(&SettingsTable::parse(file_name, text)?, None)
    }

    /// Groups of ports of a leaf.
    pub fn ports(&self) -> impl Iterator<Item = (Role, Ports)> {
        let hosts = (Role::Host, self.host_ports);
        let uplinks = self.uplinks.map(|ports| (Role::Uplink, ports));
        [Some(hosts), uplinks].into_iter().flatten()
    }

    /// Port speeds, each once, slowest first.
    pub fn speeds(&self) -> Vec<Rate> {
        let mut speeds: Vec<Rate> = self.ports().map(|(_, ports)| ports.speed).collect();
        speeds.sort_unstable();
        speeds.dedup();
        speeds
    }

    /// Number of ports of a leaf.
    pub fn port_count(&self) -> u32 {
        self.ports().map(|(_, ports)| ports.count).sum()
    }

    /// Number of ports of this speed that share one pool.
    pub fn ports_of(&self, speed: Rate) -> u32 {
        self.ports_with(speed).div_ceil(self.switch.parts)
    }

    /// Number of ports of this speed.
    fn ports_with(&self, speed: Rate) -> u32 {
        let of_speed = self.ports().filter(|(_, ports)| ports.speed == speed);
        of_speed.map(|(_, ports)| ports.count).sum()
    }

    /// Oversubscription: host capacity of a leaf over its uplink capacity; `None` for a single
    /// switch.
    pub fn oversubscription(&self) -> Option<f64> {
        let uplinks = self.uplinks?;
        #[expect(clippy::cast_precision_loss, reason = "it is shown with one decimal")]
        Some(self.host_ports.capacity() as f64 / uplinks.capacity() as f64)
    }

    /// Memory that a port shares with others: one part of the whole.
    pub fn pool(&self) -> Pool {
        let divisor = self.switch.parts;
        let ports = self.port_count().div_ceil(divisor);
        let queues = u64::from(ports) * self.queues.len() as u64;
        let reserved = self.switch.reserve.0.saturating_mul(queues);
        let size = Bytes((self.switch.buffer.0 / u64::from(divisor)).saturating_sub(reserved));
        Pool { size, ports }
    }

    /// Headroom that most ports of this speed reserve for one lossless class: the running switch's,
    /// else the computed one. All users of headroom ask here.
    pub fn headroom_of_port(&self, speed: Rate) -> Bytes {
        let mut counts: BTreeMap<Bytes, usize> = BTreeMap::new();
        let today = self.switch.reservation.of_ports.get(&speed);
        for &reserved in today.into_iter().flatten() {
            *counts.entry(reserved).or_default() += 1;
        }
        let usual = counts.into_iter().max_by_key(|&(reserved, count)| (count, reserved));
        usual.map_or_else(|| self.computed_headroom(speed), |(reserved, _)| reserved)
    }

    /// Adopts the headroom that a running switch reserves. With `is_computed`, no port has less
    /// than the formula asks for.
    pub fn reserve(&mut self, today: &Reservation, is_computed: bool) {
        self.switch.reservation = today.clone();
        if !is_computed {
            return;
        }
        let mut of_ports = today.of_ports.clone();
        let classes = self.lossless().count();
        for speed in self.speeds() {
            let of_speed = of_ports.entry(speed).or_default();
            let computed = self.computed_headroom(speed);
            for reserved in of_speed.iter_mut() {
                *reserved = (*reserved).max(computed);
            }
            let all = self.ports_with(speed) as usize * classes;
            of_speed.resize(of_speed.len().max(all), computed);
        }
        self.switch.reservation = Reservation { of_ports, pool: None };
        let needed = self.headroom_of_switch();
        self.switch.reservation.pool = today.pool.map(|shared| shared.max(needed));
    }

    /// Headroom that one port of this speed needs for one lossless class: by the formula, and not
    /// less than SONiC ships for a platform with the chip.
    pub fn computed_headroom(&self, speed: Rate) -> Bytes {
        let Switch { cell, reaction, chip, .. } = self.switch;
        let computed = headroom::of_port(speed, self.link_delay, self.mtu, cell, reaction);
        let shipped = chip.and_then(|chip| chip.shipped_headroom(speed, self.link_delay));
        shipped.map_or(computed, |(shipped, _)| shipped.max(computed))
    }

    /// Headroom that all ports and lossless classes of the switch reserve.
    pub fn headroom_of_switch(&self) -> Bytes {
        if let Some(pool) = self.switch.reservation.pool {
            return pool;
        }
        let classes = self.lossless().count() as u64;
        let mut all = 0_u64;
        for speed in self.speeds() {
            let count = u64::from(self.ports_with(speed));
            let known = self.switch.reservation.of_ports.get(&speed);
            let known = known.map_or(&[][..], Vec::as_slice);
            // Ports that the switch's configuration leaves out have as much as most others.
            let others = count.saturating_mul(classes).saturating_sub(known.len() as u64);
            let usual = self.headroom_of_port(speed).0;
            all = known.iter().fold(all, |all, reserved| all.saturating_add(reserved.0));
            all = all.saturating_add(usual.saturating_mul(others));
        }
        Bytes(all)
    }

    /// Headroom of all lossless classes and ports of a pool.
    pub fn headroom_of_pool(&self) -> Bytes {
        Bytes(self.headroom_of_switch().0.div_ceil(u64::from(self.switch.parts)))
    }

    /// Memory left to queues after the headroom of lossless classes.
    pub fn shared_memory(&self) -> Bytes {
        Bytes(self.pool().size.0.saturating_sub(self.headroom_of_pool().0))
    }

    /// Speed of the port with this number, counted from 0 with host ports first; the only speed of
    /// the network if the number does not tell.
    pub(crate) fn speed_of_port(&self, number: Option<u32>) -> Option<Rate> {
        let mut first = 0;
        for (_, ports) in self.ports() {
            first += ports.count;
            if number.is_some_and(|number| number < first) {
                return Some(ports.speed);
            }
        }
        match self.speeds().as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// Queue of packets whose code point no queue claims: the one of DSCP 0, else the first that is
    /// neither strict nor lossless.
    pub fn default_queue(&self) -> &Queue {
        let of_zero = self.queues.iter().find(|queue| queue.dscp.contains(&0));
        let ordinary =
            || self.queues.iter().find(|queue| queue.weight.is_some() && !queue.lossless);
        of_zero.or_else(ordinary).unwrap_or(&self.queues[0])
    }

    /// The queues that PFC protects.
    pub fn lossless(&self) -> impl Iterator<Item = &Queue> {
        self.queues.iter().filter(|queue| queue.lossless)
    }
}

/// Table of all keys of a network file, in Markdown.
pub fn reference() -> String {
    let tables = [
        ("", keys::Root::FIELDS),
        ("fabric.", keys::Fabric::FIELDS),
        ("switch.", keys::Switch::FIELDS),
        ("rtt.", keys::Rtt::FIELDS),
        ("queue.", keys::Queue::FIELDS),
        ("traffic.", keys::Traffic::FIELDS),
    ];
    let rows = tables.iter().flat_map(|(table, fields)| {
        let row = move |field: &Field| {
            let doc = field.doc.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("| `{table}{}` | {} |\n", field.name, doc.replace('|', "\\|"))
        };
        fields.iter().map(row)
    });
    format!("| key | meaning |\n|---|---|\n{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests;
