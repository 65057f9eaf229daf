//! The same experiment on real packets and in the simulator, number by number.

use std::sync::atomic::AtomicBool;

use serde::Serialize;
use tidegate_results::Record;
use tidegate_results::outcome::record;
use tidegate_results::record::{Distribution, End};
use tidegate_results::statistics::{P99, Percentile};
use tidegate_scenario::Experiment;
use tidegate_sim::observe::statistics::real;
use tidegate_sim::run;
use tidegate_study::sweep::Failure;

use crate::HostNoise;

/// A number in both worlds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Name with unit.
    pub what: String,
    /// On real packets.
    pub live: f64,
    /// In the simulator.
    pub simulated: f64,
}

impl Line {
    /// The live number divided by the simulated one, if that is not zero.
    pub fn ratio(&self) -> Option<f64> {
        (self.simulated.abs() > f64::EPSILON).then(|| self.live / self.simulated)
    }
}

/// Runs an experiment in both worlds; `None` if it was stopped.
pub fn twin(
    experiment: &Experiment,
    congestion: Option<&str>,
    interrupt: &AtomicBool,
) -> Result<Option<(Vec<Line>, HostNoise)>, Failure> {
    let refused = |why: &dyn std::fmt::Display| Failure::Refused(why.to_string());
    let Some((live, noise)) = crate::run(experiment, String::new(), congestion, interrupt)? else {
        return Ok(None);
    };
    let built = experiment.build().map_err(|problem| refused(&problem))?;
    let outcome = run::run(&built.setup, interrupt).map_err(|error| refused(&error))?;
    let simulated = record(experiment, String::new(), &built, &outcome);
    let simulated = simulated.map_err(|error| refused(&error))?;
    Ok((simulated.run.end != End::Interrupted).then(|| (compare(&live, &simulated), noise)))
}

/// Numbers of both records: goodput of observed links and services, observed queues, round trips
/// and completion times, marks and drops.
pub fn compare(live: &Record, simulated: &Record) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |what: String, live: Option<f64>, simulated: Option<f64>| {
        let known = |value: Option<f64>| value.filter(|value| value.is_finite());
        if let (Some(live), Some(simulated)) = (known(live), known(simulated)) {
            lines.push(Line { what, live, simulated });
        }
    };
    for (of_live, of_sim) in live.links.iter().zip(&simulated.links) {
        let goodput = |bps: f64| Some(bps / 1e6);
        let what = format!("{} goodput, Mb/s", of_live.name);
        add(what, goodput(of_live.goodput_bps), goodput(of_sim.goodput_bps));
    }
    let mut services: Vec<u8> = live.flows.iter().map(|flow| flow.service).collect();
    services.sort_unstable();
    services.dedup();
    for service in services {
        let what = format!("service {service} goodput, Mb/s");
        let [of_live, of_sim] = [live, simulated].map(|record| goodput(record, service));
        add(what, of_live, of_sim);
    }
    for (of_live, of_sim) in live.queues.iter().zip(&simulated.queues) {
        if of_live.sent == 0 && of_sim.sent == 0 {
            continue;
        }
        let name = format!("{} q{}", of_live.port, of_live.queue);
        let kilobytes = |bytes: f64| Some(bytes / 1e3);
        let [live_bytes, sim_bytes] = [of_live, of_sim].map(|queue| &queue.bytes);
        add(format!("{name} mean, KB"), kilobytes(live_bytes.mean), kilobytes(sim_bytes.mean));
        let [live_p95, sim_p95] = [live_bytes, sim_bytes].map(|bytes| quantile(bytes, 0.95));
        add(format!("{name} p95, KB"), live_p95.and_then(kilobytes), sim_p95.and_then(kilobytes));
        let marks = |queue: &tidegate_results::record::Queue| {
            let marks: u64 = queue.marks.values().sum();
            Some(100.0 * real(marks) / real(queue.sent.max(1)))
        };
        add(format!("{name} marked, %"), marks(of_live), marks(of_sim));
    }
    for (name, of) in
        [("round trip mean, us", mean as fn(&[f64]) -> Option<f64>), ("round trip p99, us", p99)]
    {
        let [of_live, of_sim] = [live, simulated].map(|record| of(&round_trips(record)));
        add(name.to_owned(), of_live, of_sim);
    }
    for (name, of) in [
        ("completion time mean, us", mean as fn(&[f64]) -> Option<f64>),
        ("completion time p99, us", p99),
    ] {
        let [of_live, of_sim] = [live, simulated].map(|record| of(&completions(record)));
        add(name.to_owned(), of_live, of_sim);
    }
    let drops = |record: &Record| Some(real(record.counters.drops.values().sum::<u64>()));
    add("drops".to_owned(), drops(live), drops(simulated));
    lines
}

/// Goodput of the observed flows of a service, in megabits per second.
fn goodput(record: &Record, service: u8) -> Option<f64> {
    let flows = record.flows.iter().filter(|flow| flow.service == service);
    let goodputs: Vec<u64> = flows.filter_map(|flow| flow.goodput_bps).collect();
    (!goodputs.is_empty()).then(|| real(goodputs.iter().sum::<u64>()) / 1e6)
}

fn round_trips(record: &Record) -> Vec<f64> {
    let trips = record.probes.iter().map(|probe| real(probe.rtt_ps) / 1e6);
    sorted(trips)
}

/// Of flows that count.
fn completions(record: &Record) -> Vec<f64> {
    let flows = record.flows.iter().filter(|flow| flow.counts);
    sorted(flows.filter_map(|flow| flow.fct_ps).map(|ps| real(ps) / 1e6))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / real(values.len() as u64))
}

/// The 99th percentile.
fn p99(values: &[f64]) -> Option<f64> {
    Percentile::NearestRank.of(values, P99)
}

/// The first written value whose probability is not below `probability`.
fn quantile(distribution: &Distribution, probability: f64) -> Option<f64> {
    let mut pairs = distribution.quantiles.iter();
    let found = pairs.find(|pair| pair.0 + 1e-9 >= probability);
    found.map(|pair| pair.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_needs_something_to_divide_by() {
        let line = |live, simulated| Line { what: String::new(), live, simulated };
        assert_eq!(line(3.0, 2.0).ratio(), Some(1.5));
        assert_eq!(line(3.0, 0.0).ratio(), None);
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(p99(&values), Some(198.0));
        assert_eq!(p99(&[7.0]), Some(7.0));
        assert_eq!((p99(&[]), mean(&[])), (None, None));
        let distribution = Distribution {
            mean: 0.0,
            max: 9.0,
            quantiles: vec![(0.5, 1.0), (0.95, 4.0), (1.0, 9.0)],
        };
        assert_eq!(quantile(&distribution, 0.95), Some(4.0));
        assert_eq!(quantile(&distribution, 0.96), Some(9.0));
    }
}
