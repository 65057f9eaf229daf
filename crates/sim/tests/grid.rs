//! A grid of small runs against the committed table `testdata/sim/grid.txt`, byte for byte.
//!
//! A change of the table is a change of results: it must be deliberate, made with
//! `TIDEGATE_BLESS=1 cargo test -p tidegate-sim --test grid`, and explained in the commit.

mod common;

use std::fmt::Write as _;
use std::thread;

use common::{Dice, flow, ports, run, setup, stack, tcp};
use tidegate_dataplane::{NonEct, PortStats, mark};
use tidegate_sim::setup::{Accounting, Delayed, HostDelay, Opening, Ports, Transport};
use tidegate_sim::topology::{dumbbell, fat_tree, leaf_spine, parking_lot};
use tidegate_sim::{Flow, Network, Outcome, Setup};
use tidegate_transport::pias;
use tidegate_transport::protocol::dcqcn;
use tidegate_units::{Rate, Span, Time};

fn fabric() -> Network {
    let config = leaf_spine::Config {
        leaves: 3,
        spines: 2,
        hosts_per_leaf: 4,
        host_delay: Span::from_us(5),
        ..leaf_spine::Config::default()
    };
    config.build().expect("the topology's settings are valid")
}

/// Random flows of four services, some of them large.
fn traffic(hosts: u32) -> Vec<Flow> {
    let mut dice = Dice::new(42);
    let mut start = Time::ZERO;
    let flows = (0..120).map(|_| {
        start += dice.until_next(Span::from_us(12));
        let src = dice.below(u64::from(hosts)) as u32;
        let dst = (src + 1 + dice.below(u64::from(hosts) - 1) as u32) % hosts;
        let bytes = *dice.pick(&[700, 9_000, 20_000, 60_000, 300_000]);
        Flow {
            service: dice.below(4) as u8,
            group: dice.below(2) as u8,
            ..flow(start, src, dst, bytes)
        }
    });
    flows.collect()
}

fn base(network: Network) -> Setup {
    let flows = traffic(network.hosts());
    Setup {
        switch: ports(
            "queue-red threshold=30pkts",
            "dwrr quanta=1500,1500,1500,1500",
            "per-port limit=150KB",
        ),
        ..setup(network, flows)
    }
}

fn with_ports(switch: Ports) -> Setup {
    Setup { switch, ..base(fabric()) }
}

fn with_transport(transport: Transport) -> Setup {
    Setup { transports: vec![transport], ..base(fabric()) }
}

/// All runs, by name.
fn grid() -> Vec<(String, Setup)> {
    let mut grid: Vec<(String, Setup)> = Vec::new();
    for scheme in mark::Config::NAMES {
        // MQ-ECN needs rounds for all queues; the other schemes run below a strict queue, which
        // DiffECN needs.
        let scheduler = match *scheme {
            "mq-ecn" => "dwrr quanta=1500,1500,1500,1500",
            _ => "sp-dwrr strict=1 quanta=1500,1500,1500",
        };
        // Schemes that would never mark at these speeds get lower thresholds.
        let marks = match *scheme {
            "codel" => "codel target=10us interval=100us",
            "diff-ecn" => "diff-ecn threshold=40800B",
            "per-flow-tcn" => "per-flow-tcn threshold=30us",
            "pool-red" => "pool-red threshold=40KB",
            other => other,
        };
        let buffer = "dynamic-threshold pool_size=300KB reserve_size=3KB";
        let switch = ports(marks, scheduler, buffer);
        grid.push((format!("scheme-{scheme}"), with_ports(switch)));
    }
    for (name, scheduler) in [
        ("fifo", "fifo"),
        ("wfq", "wfq weights=1,2,3,4"),
        ("sp", "sp queues=4"),
        ("pifo", "pifo rank=srpt weights=1,1,1,1"),
        ("pfabric", "pifo rank=pfabric weights=1,1,1,1"),
    ] {
        let switch = ports("tcn threshold=30us", scheduler, "per-queue limit=60KB");
        grid.push((format!("scheduler-{name}"), with_ports(switch)));
    }
    for (profile, cc) in [
        ("rfc", "dctcp"),
        ("tcn-sim", "ecn-star"),
        ("odctcp-testbed", "odctcp"),
        ("rfc", "rfc3168"),
        ("rfc", "reno"),
    ] {
        let name = format!("transport-{profile}-{cc}");
        grid.push((name, with_transport(tcp(stack(profile, cc)))));
    }
    let lossless = Setup {
        nic: Some(ports("none", "fifo", "unlimited")),
        switch: Ports {
            non_ect: NonEct::Pass,
            ..ports(
                "queue-red threshold=60KB min_threshold=10KB max_probability=1/10",
                "sp queues=4",
                "pfc buffer=1MB classes=4 headroom=60KB rule=static xoff=20KB xon=15KB",
            )
        },
        ..with_transport(Transport::other(dcqcn::Config::default()))
    };
    grid.push(("dcqcn-pfc".to_owned(), lossless));
    let handshakes =
        Setup { opening: Opening::Handshake, accounting: Accounting::ETHERNET, ..base(fabric()) };
    grid.push(("handshakes-on-ethernet".to_owned(), handshakes));
    let tagged = Setup {
        tagging: Some(pias::Config::default()),
        opening: Opening::Persistent,
        ..base(fabric())
    };
    grid.push(("pias-persistent".to_owned(), tagged));
    let delays = Setup {
        host_delay: HostDelay {
            values: [0, 20, 80, 200].map(Span::from_us).to_vec(),
            packets: Delayed::Both,
        },
        ..base(fabric())
    };
    grid.push(("host-delays".to_owned(), delays));
    let networks = [
        ("dumbbell", dumbbell::Config::default().build()),
        ("fat-tree", fat_tree::Config { k: 4, ..fat_tree::Config::default() }.build()),
        (
            "parking-lot",
            parking_lot::Config {
                pipe_rates: vec![Rate::from_gbps(1)],
                pipe_delays: vec![Span::from_us(50)],
                ..parking_lot::Config::default()
            }
            .build(),
        ),
    ];
    for (name, network) in networks {
        let network = network.expect("the topology's settings are valid");
        grid.push((format!("network-{name}"), base(network)));
    }
    grid
}

/// The row of a run: integers only, so that it does not depend on a machine's rounding.
fn row(name: &str, setup: &Setup, outcome: &Outcome) -> String {
    let times = outcome.flows.iter().zip(&setup.flows);
    let times = times.filter_map(|(result, flow)| result.completion(flow));
    let (mut finished, mut sum) = (0, 0);
    for time in times {
        finished += 1;
        sum += time.as_ps();
    }
    let mean = sum / u64::max(finished, 1);
    let ports = outcome.ports.iter().flatten();
    let marks: u64 = ports.clone().map(PortStats::total_marks).sum();
    let drops: u64 = ports.map(PortStats::total_drops).sum();
    let print = outcome.fingerprint();
    format!("{name:<32} {print:016x} {finished:>8} {mean:>14} {marks:>6} {drops:>6}\n")
}

fn table() -> String {
    let mut table = String::new();
    let columns = ["fingerprint", "received", "mean-fct-ps", "marks", "drops"];
    let [print, received, mean, marks, drops] = columns;
    writeln!(table, "{:<32} {print:<16} {received:>8} {mean:>14} {marks:>6} {drops:>6}", "# run")
        .expect("writing to a string cannot fail");
    for (name, setup) in grid() {
        table += &row(&name, &setup, &run(&setup));
    }
    table
}

#[test]
fn results_agree_with_the_committed_table() {
    tidegate_harness::golden::check("testdata/sim/grid.txt", &table());
}

#[test]
fn a_run_is_repeatable_also_beside_others() {
    let (_, setup) = grid().swap_remove(0);
    let once = run(&setup);
    assert_eq!(run(&setup), once, "the second run differs");
    let beside = thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(|| run(&setup)));
        threads.map(|thread| thread.join().expect("no thread has panicked"))
    });
    assert!(beside.iter().all(|outcome| *outcome == once));
}

#[test]
fn another_seed_gives_other_results() {
    let (_, setup) = grid().swap_remove(0);
    let other = Setup { seed: setup.seed + 1, ..setup.clone() };
    assert_ne!(run(&setup).fingerprint(), run(&other).fingerprint());
}
