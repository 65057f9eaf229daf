//! Growth of memory and time with the size of a run.
//!
//! Memory is the growth of the process's peak from a smaller run to a larger one, divided by the
//! number of additional objects. Each run has a process of its own: the fixed cost of a run cancels
//! out.

use std::env;
use std::process::Command;

use tidegate_dataplane::buffer::{self, pfc};
use tidegate_dataplane::sched::{self, dwrr};
use tidegate_sim::setup::{Opening, Ports, Setup, Transport};
use tidegate_sim::topology::{fat_tree, leaf_spine, star};
use tidegate_sim::workload::{Published, Sizes, Source, Traffic};
use tidegate_sim::{Flow, FlowResult, HostId};
use tidegate_transport::Endpoint;
use tidegate_transport::protocol::dcqcn;
use tidegate_units::{Bytes, Rate, Ratio, Size, Span, Time};

use crate::flows::Racks;
use crate::measure;
use crate::options::Options;
use crate::process;
use crate::report::{self, float};
use crate::scenario::{self, QUEUES};

/// A measured case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    /// Web search between 128 hosts, with eight queues at each port.
    Classes,
    /// Open and idle connections.
    Connections,
    /// Flows in a fat-tree of 128 hosts.
    FewHosts,
    /// Flows of one packet, one after the other.
    FinishedFlows,
    /// Flows in a fat-tree of 11 664 hosts.
    Hosts,
    /// Web search between 1024 hosts.
    LeafSpine,
    /// As with eight queues, with DCQCN and switches that pause.
    Lossless,
    /// Packets at the port of a switch.
    PacketsInQueue,
    /// Packets on a link.
    PacketsOnWire,
    /// Scenario A.
    Star,
}

const CASES: [(&str, Case); 10] = [
    ("classes", Case::Classes),
    ("connections", Case::Connections),
    ("few-hosts", Case::FewHosts),
    ("finished-flows", Case::FinishedFlows),
    ("hosts", Case::Hosts),
    ("leaf-spine", Case::LeafSpine),
    ("lossless", Case::Lossless),
    ("packets-in-queue", Case::PacketsInQueue),
    ("packets-on-wire", Case::PacketsOnWire),
    ("star", Case::Star),
];

/// Report of a child.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// Peak memory with the setup ready, in bytes.
    before: f64,
    /// Peak memory at the end, in bytes.
    after: f64,
    cpu_seconds: f64,
    hops: f64,
    finished: f64,
}

/// A line of the table.
struct Row {
    check: &'static str,
    value: f64,
    unit: &'static str,
    /// Most that meets the target; `None` for a line of comparison without a target.
    target: Option<f64>,
}

/// Runs all checks and prints them. Returns whether all targets are met.
pub(crate) fn check(is_json: bool) -> Result<bool, String> {
    let rows = rows()?;
    let met = |row: &Row| row.target.is_none_or(|target| row.value <= target);
    if is_json {
        let objects: Vec<String> = rows
            .iter()
            .map(|row| {
                let target = row.target.map_or("null".to_owned(), |at| at.to_string());
                format!(
                    "{{\"check\":\"{}\",\"value\":{},\"unit\":\"{}\",\"at_most\":{target},\
                     \"met\":{}}}",
                    row.check,
                    row.value,
                    row.unit,
                    met(row)
                )
            })
            .collect();
        println!("[{}]", objects.join(","));
    } else {
        for row in &rows {
            let verdict = match row.target {
                None => String::new(),
                Some(target) => {
                    let word = if met(row) { "met" } else { "missed" };
                    format!("at most {target}: {word}")
                }
            };
            println!("{:<58} {:>10.2} {:<12} {verdict}", row.check, row.value, row.unit);
        }
    }
    Ok(rows.iter().all(met))
}

fn rows() -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    let mut add = |check, value, unit, target| {
        rows.push(Row { check, value, unit, target });
    };
    let on_wire = growth(Case::PacketsOnWire, 100_000, 600_000)?;
    let in_queue = growth(Case::PacketsInQueue, 100_000, 600_000)?;
    add("a packet on a link", on_wire.whole, "bytes", Some(200.0));
    add("a packet in a queue", in_queue.whole, "bytes", Some(200.0));
    let connection = growth(Case::Connections, 20_000, 100_000)?;
    let endpoints = 2 * size_of::<Endpoint>() as u64;
    add("  its two TCP endpoints", float(endpoints), "bytes", None);
    add("a live connection with its flow", connection.whole, "bytes", Some(2048.0));
    let finished = growth(Case::FinishedFlows, 50_000, 450_000)?;
    let kept = (size_of::<Flow>() + size_of::<FlowResult>()) as u64;
    add("  a flow and its result", float(kept), "bytes", None);
    add("a finished flow", finished.during_run, "bytes", Some(100.0));
    add("  with the caller's own list of flows", finished.whole, "bytes", None);
    let hosts = child(Case::Hosts, 100_000)?;
    if hosts.finished < 100_000.0 {
        return Err(format!("only {} of 100000 flows finished", hosts.finished));
    }
    let gib = hosts.after / float(1 << 30);
    add("11 664 hosts, 100 000 flows", gib, "GiB", Some(4.0));
    add("  CPU time", hosts.cpu_seconds, "s", None);
    let (many, few) = (hosts.nanoseconds_a_hop(), child(Case::FewHosts, 100_000)?);
    add("  per packet-hop", many, "ns", None);
    add("  over that among 128 hosts", many / few.nanoseconds_a_hop(), "times", Some(2.0));
    let star = child(Case::Star, 50_000_000)?.nanoseconds_a_hop();
    let large = child(Case::LeafSpine, 3_000)?.nanoseconds_a_hop();
    add("a packet-hop in the star", star, "ns", None);
    add("a packet-hop among 1024 hosts", large, "ns", None);
    add("  over that in the star", large / star, "times", Some(2.0));
    let plain = child(Case::Classes, 2_000)?.nanoseconds_a_hop();
    let lossless = child(Case::Lossless, 2_000)?.nanoseconds_a_hop();
    add("a packet-hop among 128 hosts, 8 queues", plain, "ns", None);
    add("  with PFC and DCQCN, over that", lossless / plain, "times", Some(2.5));
    Ok(rows)
}

impl Cost {
    fn nanoseconds_a_hop(&self) -> f64 {
        self.cpu_seconds * 1e9 / self.hops
    }
}

/// Bytes of memory for one more object.
struct Growth {
    /// Including the setup's memory.
    whole: f64,
    /// From the start of the run to its end.
    during_run: f64,
}

fn growth(case: Case, few: u32, many: u32) -> Result<Growth, String> {
    let (small, large) = (child(case, few)?, child(case, many)?);
    let more = f64::from(many - few);
    let run = |cost: &Cost| cost.after - cost.before;
    Ok(Growth {
        whole: (large.after - small.after) / more,
        during_run: (run(&large) - run(&small)) / more,
    })
}

/// Runs a case in a child process.
fn child(case: Case, count: u32) -> Result<Cost, String> {
    let own = env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let name = CASES.iter().find(|(_, known)| *known == case);
    let name = name.expect("every case has a name").0;
    let output = Command::new(own)
        .args(["--scale-case", name, &count.to_string()])
        .output()
        .map_err(|error| format!("cannot run this program again: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [before, after, cpu_seconds, hops, finished] = numbers[..] else {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name} with {count}: {}", error.trim()));
    };
    Ok(Cost { before, after, cpu_seconds, hops, finished })
}

/// Child process: runs a case and prints its cost.
pub(crate) fn run_case(words: &[String]) -> Result<(), String> {
    let [name, count] = words else {
        return Err("--scale-case needs a name and a count".to_owned());
    };
    let case = CASES.iter().find(|(known, _)| known == name);
    let case = case.ok_or_else(|| format!("unknown case '{name}'"))?.1;
    let count = count
        .parse()
        .ok()
        .filter(|&count| count > 0)
        .ok_or_else(|| format!("the count is '{count}', allowed is 1 to {}", u32::MAX))?;
    let setup = case.setup(count)?;
    let before = process::peak_memory_kib()? * 1024;
    let cpu_before = process::cpu_seconds()?;
    let outcome = measure::run(&setup)?;
    let cpu_seconds = process::cpu_seconds()? - cpu_before;
    let after = process::peak_memory_kib()? * 1024;
    let hops = report::hops(&outcome);
    let finished = outcome.tally.finished;
    println!("{before} {after} {cpu_seconds} {hops} {finished}");
    Ok(())
}

impl Case {
    fn setup(self, count: u32) -> Result<Setup, String> {
        match self {
            Self::Classes => classes(count),
            Self::Connections => connections(count),
            Self::FewHosts => hosts(8, count),
            Self::FinishedFlows => finished_flows(count),
            Self::Hosts => hosts(36, count),
            Self::LeafSpine => racks(count),
            Self::Lossless => lossless(count),
            Self::PacketsInQueue => {
                // Input is a hundred times as fast as output: nearly all packets wait.
                let rates = vec![Rate::from_gbps(100), Rate::from_gbps(1)];
                burst(count, rates, Span::from_us(1), Time::from_ms(100))
            }
            Self::PacketsOnWire => {
                let rates = vec![Rate::from_gbps(100); 2];
                burst(count, rates, Span::from_secs(1), Time::from_ms(500))
            }
            Self::Star => {
                let flow = |host| flow(host, 8, Time::ZERO, u64::from(count));
                of("--scenario star", (0..8).map(flow).collect())
            }
        }
    }
}

/// Setup of a scenario with these flows.
fn of(arguments: &str, flows: Vec<Flow>) -> Result<Setup, String> {
    let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    scenario::setup(&Options::parse(&words)?, flows, Vec::new())
}

const fn flow(src: u32, dst: u32, start: Time, bytes: u64) -> Flow {
    Flow { start, bytes, src: HostId(src), dst: HostId(dst), rate: None, service: 0, group: 0 }
}

fn connections(count: u32) -> Result<Setup, String> {
    // An application that writes a little and then nothing for longer than the run lasts.
    let slow = Rate::from_bps(100).expect("the rate is not zero");
    let each = |number| Flow {
        rate: Some(slow),
        ..flow(0, 1, Time::from_us(10 * u64::from(number)), 1 << 20)
    };
    let mut setup = of("--scenario star", (0..count).map(each).collect())?;
    setup.stop.at = Time::from_us(10 * u64::from(count) + 1_000);
    Ok(setup)
}

fn finished_flows(count: u32) -> Result<Setup, String> {
    let each = |number| flow(0, 1, Time::from_us(20 * u64::from(number)), 1460);
    let flows = (0..count).map(each).collect();
    of("--scenario star --delay-us 1", flows)
}

/// One window of `count` packets, sent at once on an established connection.
fn burst(count: u32, rates: Vec<Rate>, delay: Span, stop: Time) -> Result<Setup, String> {
    let bytes = u64::from(count) * 1460;
    let one = vec![flow(0, 1, Time::ZERO, bytes)];
    let mut setup = of("--scenario star --buffer-packets 1000000", one)?;
    setup.network =
        star::Config { hosts: 2, host_rates: rates, host_delay: delay, ..star::Config::default() }
            .build()
            .map_err(|error| error.to_string())?;
    let Transport::Tcp(tcp) = &mut setup.transports[0] else {
        return Err("the scenarios use TCP".to_owned());
    };
    for stack in [&mut tcp.source, &mut tcp.sink] {
        stack.config.initial_window = Size::Packets(count);
        stack.config.receive_window = Bytes(1 << 30);
        stack.config.rto_initial = Span::from_secs(10);
    }
    setup.opening = Opening::Ready;
    setup.stop.at = stop;
    Ok(setup)
}

/// Short flows between any two hosts of a fat-tree with `k` ports a switch.
fn hosts(k: u32, count: u32) -> Result<Setup, String> {
    let network = fat_tree::Config { k, ..fat_tree::Config::default() };
    let network = network.build().map_err(|error| error.to_string())?;
    let mut config = Published::Hpcc.config();
    config.link = Rate::from_gbps(40);
    config.load = Ratio::new(1, 2).expect("the denominator is not zero");
    config.sizes = vec![Sizes::Uniform(Bytes(1_000), Bytes(100_000))];
    config.flows = Some(u64::from(count));
    let traffic = Traffic { sources: vec![Source::Poisson(config)], probes: Vec::new() };
    let flows = traffic.flows(network.hosts(), &|host| host.0 / (k / 2), 1);
    let flows = flows.map_err(|error| error.to_string())?;
    let mut setup = of("--scenario star", flows)?;
    setup.network = network;
    Ok(setup)
}

/// Web search between the racks of a leaf-spine with 1024 hosts.
fn racks(count: u32) -> Result<Setup, String> {
    let racks = Racks { leaves: 64, spines: 8, hosts_per_leaf: 16 };
    let load = Ratio::new(3, 5).expect("the denominator is not zero");
    let flows = racks.web_search(load, Rate::from_gbps(10), u64::from(count), 1)?;
    let arguments = "--scenario leaf-spine --leaves 64 --delay-us 10";
    of(arguments, flows)
}

/// Web search between 128 hosts in eight classes, with short links between the switches.
fn classes(count: u32) -> Result<Setup, String> {
    let racks = Racks { leaves: 8, spines: 8, hosts_per_leaf: 16 };
    let load = Ratio::new(3, 5).expect("the denominator is not zero");
    let mut flows = racks.web_search(load, Rate::from_gbps(10), u64::from(count), 1)?;
    for (flow, service) in flows.iter_mut().zip((0..QUEUES).cycle()) {
        flow.service = service;
    }
    let mut setup = of("--scenario leaf-spine", flows)?;
    let network = leaf_spine::Config {
        leaves: racks.leaves,
        spines: racks.spines,
        hosts_per_leaf: racks.hosts_per_leaf,
        ..leaf_spine::Config::default()
    };
    setup.network = network.build().map_err(|error| error.to_string())?;
    setup.switch.scheduling =
        sched::Config::Dwrr(dwrr::Config { quanta: vec![1500; usize::from(QUEUES)] });
    Ok(setup)
}

fn lossless(count: u32) -> Result<Setup, String> {
    let mut setup = classes(count)?;
    setup.nic = Some(Ports {
        buffer: buffer::Config::named("unlimited").expect("`unlimited` is the name of a buffer"),
        ..setup.switch.clone()
    });
    setup.switch.buffer = buffer::Config::Pfc(pfc::Config {
        headroom: vec![Bytes(40_000)],
        ..pfc::Config::default()
    });
    setup.transports = vec![Transport::other(dcqcn::Config::default())];
    Ok(setup)
}
