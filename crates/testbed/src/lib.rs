//! Scenarios on real packets: a testbed of hosts with the kernel's TCP around a live switch. It
//! runs the same file by the same plan and leaves the same kind of record as the simulator. Linux
//! only.

#![cfg(target_os = "linux")]

mod file;
mod plan;
mod record;
mod twin;

use std::fmt::Display;
use std::sync::atomic::AtomicBool;

use tidegate_live::testbed::{self, Bed};
use tidegate_results::Record;
use tidegate_scenario::{Built, Experiment};
use tidegate_study::sweep::{Done, Failure, Sweep};
use tidegate_units::Span;

pub use file::read_switch;
pub use plan::{Rig, rig};
pub use twin::{Line, compare, twin};

/// Disturbances by the machine during a run, which limit the trust in a measurement in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostNoise {
    /// 99th percentile of the lateness of packets, at the port where it is largest.
    pub lateness: Span,
    /// Time in which packets waited and the wire was idle because the switch did not run, at the
    /// port that lost most.
    pub lost: Span,
    /// Steal time: processor time that a hypervisor gave to other guests, in thousandths.
    pub stolen: u32,
    /// Frames that the kernel had no room for.
    pub missed: u64,
    /// Frames that the switch had no memory for, though the scenario's buffer had room.
    pub beyond_memory: u64,
}

impl HostNoise {
    fn of(outcome: &testbed::Outcome) -> Self {
        let ports = || outcome.counters.ports.iter();
        let lateness = ports().map(|port| port.lateness.p99_ns).max();
        let lost = ports().map(|port| port.lost_ns).max();
        Self {
            lateness: Span::from_ns(lateness.unwrap_or(0)),
            lost: Span::from_ns(lost.unwrap_or(0)),
            stolen: outcome.stolen,
            missed: ports().map(|port| port.missed).sum(),
            beyond_memory: ports().filter_map(|port| port.drops.get("no-memory")).sum(),
        }
    }

    /// Warning about the disturbances, if they are too large.
    pub fn complaint(&self) -> Option<String> {
        let Self { lateness, lost, stolen, missed, beyond_memory } = *self;
        if beyond_memory > 0 {
            return Some(format!(
                "{beyond_memory} frames were dropped that the scenario's buffer had room for: the switch keeps {} \
                 of them\nhint: a smaller buffer",
                plan::FRAMES
            ));
        }
        let is_quiet = lateness < LATE && lost < LOST && stolen < 20 && missed == 0;
        (!is_quiet).then(|| {
            format!(
                "the machine was busy: packets left up to {} us late, {} ms of the wire were lost, \
                 {}.{} % of the processors were stolen, {missed} frames missed",
                lateness.as_ns() / 1_000,
                lost.as_ns() / 1_000_000,
                stolen / 10,
                stolen % 10
            )
        })
    }
}

/// Lateness of packets from which a run is reported.
const LATE: Span = Span::from_us(200);

/// Lost wire time from which a run is reported.
const LOST: Span = Span::from_ms(10);

/// Runs an experiment on a testbed of its own; `None` if it was stopped. `congestion` is the
/// kernel's name of a congestion control to use instead of the scenario's.
pub fn run(
    experiment: &Experiment,
    command: String,
    congestion: Option<&str>,
    interrupt: &AtomicBool,
) -> Result<Option<(Record, HostNoise)>, Failure> {
    let refused = |why: &dyn Display| Failure::Refused(why.to_string());
    let built = experiment.build().map_err(|problem| refused(&problem))?;
    let mut rig = rig(&built).map_err(|why| refused(&why))?;
    if let Some(congestion) = congestion {
        congestion.clone_into(&mut rig.plan.tcp.congestion);
    }
    let outcome = measure(&built, &rig, interrupt).map_err(|error| refused(&error))?;
    if outcome.end == testbed::End::Interrupted {
        return Ok(None);
    }
    let record = record::record(experiment, command, &built, &outcome);
    let record = record.map_err(|error| refused(&error))?;
    Ok(Some((record, HostNoise::of(&outcome))))
}

/// Runs the missing runs of a sweep's folder on real packets, one after the other. `complain` gets
/// the runs that a busy machine has spoiled.
pub fn sweep(
    sweep: &Sweep<'_>,
    congestion: Option<&str>,
    complain: &(dyn Fn(&Experiment, &str) + Sync),
) -> Done {
    sweep.run_with(|experiment| {
        sweep.progress.started(experiment, 0);
        let command = (sweep.command)(experiment);
        let result = run(experiment, command, congestion, sweep.interrupt)?;
        Ok(result.map(|(record, noise)| {
            if let Some(complaint) = noise.complaint() {
                complain(experiment, &complaint);
            }
            record
        }))
    })
}

fn measure(
    built: &Built,
    rig: &Rig,
    interrupt: &AtomicBool,
) -> Result<testbed::Outcome, tidegate_live::Error> {
    let bed = Bed::new(built.setup.network.hosts() as usize)?;
    testbed::run(&bed, &rig.config, &rig.plan, interrupt)
}
