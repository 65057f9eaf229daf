//! Every scheme, scheduler and buffer of a port, for tests that try them all.
//!
//! Each is listed at least with its defaults. Further settings reach the other branches in short
//! random runs: thresholds of a few packets, small limits, the named variants.

use tidegate_dataplane::buffer::{self, AnyBuffer};
use tidegate_dataplane::mark::{self, AnyMarker, PortInfo};
use tidegate_dataplane::sched::{self, AnyScheduler, Scheduler};
use tidegate_units::{ConfigError, Rate};

/// Number of queues of every port built here.
pub const QUEUES: u8 = 8;
/// Number of ports of every switch built here.
pub const PORTS: u16 = 4;

/// A part by name, with settings that differ from its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// Fields with their text values.
    pub settings: &'static [(&'static str, &'static str)],
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)?;
        self.settings.iter().try_for_each(|(field, text)| write!(f, " {field}={text}"))
    }
}

const fn choice(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Choice {
    Choice { name, settings }
}

/// All schemes.
pub fn schemes() -> Vec<Choice> {
    with_defaults(mark::Config::NAMES, SCHEMES)
}

/// All schedulers, for [`QUEUES`] queues.
pub fn schedulers() -> Vec<Choice> {
    SCHEDULERS.to_vec()
}

/// All buffers.
pub fn buffers() -> Vec<Choice> {
    with_defaults(buffer::Config::NAMES, BUFFERS)
}

fn with_defaults(names: &'static [&'static str], others: &[Choice]) -> Vec<Choice> {
    let defaults = names.iter().map(|name| choice(name, &[]));
    defaults.chain(others.iter().copied()).collect()
}

/// Builds the parts of one port, or `None` if the scheme cannot work with the scheduler.
pub fn make(
    scheme: Choice,
    scheduler: Choice,
    buffer: Choice,
) -> Result<Option<(AnyMarker, AnyScheduler, AnyBuffer)>, ConfigError> {
    let scheduler_name = scheduler.name;
    let scheduler = make_scheduler(scheduler)?;
    let Some(marker) = make_marker(scheme, &scheduler, scheduler_name)? else {
        return Ok(None);
    };
    let mut config = buffer::Config::named(buffer.name).ok_or_else(|| unknown(buffer))?;
    configure(buffer, |field, text| config.set(field, text))?;
    Ok(Some((marker, scheduler, config.build(PORTS, QUEUES)?)))
}

/// Builds a scheduler.
pub fn make_scheduler(scheduler: Choice) -> Result<AnyScheduler, ConfigError> {
    let mut config = sched::Config::named(scheduler.name).ok_or_else(|| unknown(scheduler))?;
    configure(scheduler, |field, text| config.set(field, text))?;
    config.build()
}

/// Builds a scheme for a 10 Gb/s port, or `None` if it cannot work with the scheduler.
pub fn make_marker(
    scheme: Choice,
    scheduler: &AnyScheduler,
    scheduler_name: &'static str,
) -> Result<Option<AnyMarker>, ConfigError> {
    let mut config = mark::Config::named(scheme.name).ok_or_else(|| unknown(scheme))?;
    configure(scheme, |field, text| config.set(field, text))?;
    let port = PortInfo {
        rate: Rate::from_gbps(10),
        queues: scheduler.queues(),
        round: &|queue| scheduler.round(queue),
        first: scheduler.first(),
        scheduler: scheduler_name,
        seed: 1,
        stream: 0,
    };
    match config.build(&port) {
        Ok(marker) => Ok(Some(marker)),
        Err(ConfigError::OutOfRange { field: "scheduler" | "priority_queue", .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn configure(
    choice: Choice,
    mut set: impl FnMut(&str, &str) -> Result<(), ConfigError>,
) -> Result<(), ConfigError> {
    choice.settings.iter().try_for_each(|(field, text)| set(field, text))
}

fn unknown(choice: Choice) -> ConfigError {
    ConfigError::out_of_range("name", choice.name, "a known name")
}

const SCHEMES: &[Choice] = &[
    choice(
        "bcc",
        &[("port_threshold", "9KB"), ("pool_threshold", "12KB"), ("pool_min_threshold", "3KB")],
    ),
    choice("codel", &[("target", "2.048us"), ("interval", "10.24us")]),
    choice("codel", &[("target", "2us"), ("interval", "10us"), ("profile", "ns3")]),
    choice("diff-ecn", &[("threshold", "6KB"), ("pass_limit", "2pkts"), ("tables", "hardware")]),
    choice("ecn-sharp", &[("ins_target", "20us"), ("pst_target", "3us"), ("pst_interval", "10us")]),
    choice(
        "ecn-sharp",
        &[
            ("ins_target", "20us"),
            ("pst_target", "3us"),
            ("pst_interval", "10us"),
            ("arithmetic", "tofino"),
        ],
    ),
    choice("ideal-share", &[("window", "10us"), ("pass_limit", "2pkts")]),
    choice("mq-ecn", &[("threshold", "9pkts")]),
    choice(
        "mq-ecn",
        &[("threshold", "9pkts"), ("arithmetic", "kernel"), ("emptying", "double-tx")],
    ),
    choice("per-flow-tcn", &[("threshold", "3us"), ("pass_limit", "2pkts")]),
    choice(
        "pool-red",
        &[("threshold", "9KB"), ("min_threshold", "2KB"), ("max_probability", "1/2")],
    ),
    choice("port-red", &[("threshold", "6pkts"), ("decide", "dequeue"), ("reading", "exclusive")]),
    choice("queue-red", &[("threshold", "3pkts"), ("compare", "at-least"), ("unit", "packets")]),
    choice(
        "queue-red",
        &[
            ("threshold", "9KB"),
            ("min_threshold", "1KB"),
            ("average_weight", "1/4"),
            ("correction", "packets"),
        ],
    ),
    choice("rate-red", &[("port_threshold", "9KB"), ("measure_threshold", "4KB")]),
    choice("tcn", &[("threshold", "3us")]),
    choice("tcn", &[("threshold", "9us"), ("min_threshold", "1us"), ("max_probability", "1/2")]),
    choice("tcn", &[("threshold", "5us"), ("clock", "stamp-4ns")]),
];

const SCHEDULERS: &[Choice] = &[
    choice("dwrr", &[("quanta", "1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500")]),
    choice("dwrr", &[("quanta", "1, 100, 1500, 3000, 9000, 18000, 1, 4294967295")]),
    choice("fifo", &[("queues", "8")]),
    choice("pifo", &[("weights", "1, 2, 3, 4, 5, 6, 7, 65535")]),
    choice("pifo", &[("rank", "lstf"), ("weights", "1, 1, 1, 1, 1, 1, 1, 1")]),
    choice("pifo", &[("rank", "pfabric"), ("weights", "1, 1, 1, 1, 1, 1, 1, 1")]),
    choice("pifo", &[("rank", "srpt"), ("weights", "1, 1, 1, 1, 1, 1, 1, 1")]),
    choice("sp", &[("queues", "8")]),
    choice("sp", &[("queues", "8"), ("order", "highest-first")]),
    choice("sp-dwrr", &[("quanta", "1500, 1500, 1500, 1500, 1500, 1500, 1500")]),
    choice(
        "sp-dwrr",
        &[("quanta", "1, 100, 1500, 3000, 9000, 18000"), ("strict", "2"), ("groups", "2, 4")],
    ),
    choice("sp-pifo", &[("weights", "1, 1, 1, 1, 1, 1, 1")]),
    choice("sp-wfq", &[("weights", "1, 1, 1, 1, 1, 1, 1")]),
    choice("sp-wrr", &[("quanta", "1500, 1500, 1500, 1500, 1500, 1500, 1500")]),
    choice("wfq", &[("weights", "1, 1, 1, 1, 1, 1, 1, 1")]),
    choice("wfq", &[("weights", "1, 2, 3, 4, 5, 6, 7, 65535"), ("clock", "scfq")]),
    choice("wfq", &[("weights", "1, 2, 3, 4, 5, 6, 7, 8"), ("division", "integer")]),
    choice("wrr", &[("quanta", "1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500")]),
    choice(
        "wrr",
        &[("quanta", "1, 100, 1500, 3000, 9000, 18000, 1, 4294967295"), ("order", "active-list")],
    ),
];

const BUFFERS: &[Choice] = &[
    choice(
        "dynamic-threshold",
        &[("pool_size", "40KB"), ("reserve_size", "3KB"), ("alpha", "1/2")],
    ),
    choice(
        "dynamic-threshold",
        &[("reserve", "per-queue"), ("reserve_size", "2KB"), ("pool_size", "30KB")],
    ),
    choice("per-port", &[("limit", "20KB")]),
    choice("per-queue", &[("limit", "6KB"), ("port_limit", "30KB")]),
    choice("pfc", &[("rule", "static"), ("xoff", "3KB"), ("xon", "2KB"), ("headroom", "4KB")]),
    choice("pfc", &[("rule", "factor"), ("factor", "1/4"), ("buffer", "200KB"), ("classes", "2")]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_can_be_built_and_every_name_is_listed() {
        let fifo = choice("fifo", &[("queues", "8")]);
        let unlimited = choice("unlimited", &[]);
        // Rounds below a queue that is served first, which satisfies every scheme.
        let mut schedulers_of = SCHEDULERS.iter();
        let rounds = schedulers_of.find(|choice| choice.name == "sp-dwrr");
        let rounds = *rounds.expect("the scheduler is in the list");
        for scheme in schemes() {
            let made = make(scheme, rounds, unlimited).unwrap_or_else(|e| panic!("{scheme}: {e}"));
            assert!(made.is_some(), "{scheme} works with no scheduler");
        }
        for scheduler in schedulers() {
            let made = make_scheduler(scheduler).unwrap_or_else(|e| panic!("{scheduler}: {e}"));
            assert_eq!(made.queues(), QUEUES, "{scheduler}");
        }
        for buffer in buffers() {
            make(choice("none", &[]), fifo, buffer).unwrap_or_else(|e| panic!("{buffer}: {e}"));
        }
        for name in sched::Config::NAMES {
            assert!(SCHEDULERS.iter().any(|choice| choice.name == *name), "{name}");
        }
    }
}
