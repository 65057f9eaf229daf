//! Runs the same web-search traffic through a leaf-spine fabric under different marking schemes and
//! prints what became of the flows.
//!
//! `cargo run --release -p tidegate-sim --example compare [LOAD [FLOWS]]`

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program at the edge: it prints, and it times itself"
)]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tidegate_dataplane::{mark, sched};
use tidegate_sim::observe::completion::{Completions, Convention, SizeClass};
use tidegate_sim::workload::{Source, Traffic};
use tidegate_sim::{Outcome, Setup, run, topology};
use tidegate_units::Ratio;

/// Schemes with their thresholds for 10 Gb/s and a round trip of 80 to 100 µs.
const SCHEMES: [(&str, &[(&str, &str)]); 6] = [
    ("none", &[]),
    ("queue-red", &[("threshold", "65pkts")]),
    ("tcn", &[("threshold", "78us")]),
    ("codel", &[("target", "85us"), ("interval", "200us")]),
    ("ecn-sharp", &[]),
    ("diff-ecn", &[]),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let load = arguments.next().unwrap_or_else(|| "0.6".to_owned());
    let flows = arguments.next().unwrap_or_else(|| "1000".to_owned());
    match compare(&load, &flows) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::from(2)
        }
    }
}

fn compare(load: &str, flows: &str) -> Result<(), Box<dyn Error>> {
    let mut setup = setup(load, flows)?;
    println!(
        "{} web-search flows between 128 hosts at {load} of the fabric's capacity, DCTCP\n",
        setup.flows.len()
    );
    println!(
        "{:<10} {:>10} {:>10} {:>10} {:>10} {:>9} {:>7} {:>6}",
        "scheme", "mean ms", "small us", "p99 us", "large ms", "marks", "drops", "Mhop/s"
    );
    for (name, settings) in SCHEMES {
        setup.switch.marking = mark::Config::named(name).ok_or("no such scheme")?;
        for (field, value) in settings {
            setup.switch.marking.set(field, value)?;
        }
        if name == "diff-ecn" {
            // It maps flows to queues, so it needs some; the paper has 32.
            setup.switch.scheduling = sched::Config::named("dwrr").ok_or("no DWRR")?;
            let quanta = ["1500"; 32].join(", ");
            setup.switch.scheduling.set("quanta", &quanta)?;
        }
        let begin = Instant::now();
        let outcome = run::run(&setup, &AtomicBool::new(false))?;
        let seconds = begin.elapsed().as_secs_f64();
        println!("{}", row(name, &setup, &outcome, seconds)?);
    }
    Ok(())
}

/// The fabric of ECN♯'s and BCC's simulations, and its traffic.
fn setup(load: &str, flows: &str) -> Result<Setup, Box<dyn Error>> {
    let mut fabric = topology::Config::named("leaf-spine").ok_or("no leaf-spine")?;
    for (field, value) in [
        ("leaves", "8"),
        ("spines", "8"),
        ("hosts_per_leaf", "16"),
        ("host_delay", "10us"),
        ("fabric_delay", "10us"),
    ] {
        fabric.set(field, value)?;
    }
    let network = fabric.build()?;
    let mut source = Source::named("ecn-sharp").ok_or("no such traffic")?;
    source.set("load", load)?;
    source.set("until", "none")?;
    source.set("flows", flows)?;
    let traffic = Traffic {
        sources: vec![source],
        probes: Vec::new(),
    };
    let flows = traffic.flows(network.hosts(), &|host| host.0 / 16, 1)?;
    let mut setup = Setup::new(network, flows);
    setup.switch.buffer.set("limit", "1.5MB")?;
    Ok(setup)
}

fn row(
    name: &str,
    setup: &Setup,
    outcome: &Outcome,
    seconds: f64,
) -> Result<String, Box<dyn Error>> {
    let of = |class: Option<SizeClass>| {
        Completions::new(setup, outcome, Convention::TcnPaper, |_, size| {
            class.is_none_or(|class| class == size)
        })
    };
    let small = of(Some(SizeClass::Small))?;
    let micros = |picos: Option<f64>| picos.unwrap_or(f64::NAN) / 1e6;
    let tail = Ratio::new(99, 100).and_then(|tail| small.percentile(tail));
    let ports = outcome.ports.iter().flatten();
    let (marks, drops) = ports.fold((0, 0), |(marks, drops), port| {
        (marks + port.total_marks(), drops + port.total_drops())
    });
    let hops = outcome.links.iter().map(|link| link.packets).sum::<u64>();
    Ok(format!(
        "{name:<10} {:>10.2} {:>10.0} {:>10.0} {:>10.2} {marks:>9} {drops:>7} {:>6.1}",
        micros(of(None)?.mean()) / 1e3,
        micros(small.mean()),
        micros(tail.map(|tail| tail.as_ps() as f64)),
        micros(of(Some(SizeClass::Large))?.mean()) / 1e3,
        hops as f64 / seconds / 1e6,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_of_the_list_runs() {
        compare("0.6", "8").unwrap();
    }

    #[test]
    fn a_wrong_number_is_refused_with_what_is_accepted() {
        for (load, flows, field) in [("abc", "8", "load"), ("0.6", "0", "flows")] {
            let message = compare(load, flows).unwrap_err().to_string();
            assert!(message.starts_with(field), "{message}");
        }
    }
}
