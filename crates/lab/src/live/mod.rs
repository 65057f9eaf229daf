//! Scenarios on real packets: the same file, the same plan, the same record as in the simulator, from
//! a testbed of hosts with the kernel's TCP around a live switch.

mod plan;
mod record;
mod twin;

use std::fmt::Display;
use std::sync::atomic::AtomicBool;

use tidegate_live::testbed::{self, Bed};
use tidegate_report::Record;

use crate::scenario::{Built, Experiment};
use crate::sweep::Failure;

pub use plan::{Rig, rig};
pub use twin::{Line, compare, twin};

/// Runs an experiment on a testbed of its own; `None` if it was stopped. `congestion` is the kernel's
/// name of a congestion control to use instead of the scenario's.
pub fn run(
    experiment: &Experiment,
    command: String,
    congestion: Option<&str>,
    interrupt: &AtomicBool,
) -> Result<Option<Record>, Failure> {
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
    record.map(Some).map_err(|error| refused(&error))
}

fn measure(
    built: &Built,
    rig: &Rig,
    interrupt: &AtomicBool,
) -> Result<testbed::Outcome, tidegate_live::Error> {
    let bed = Bed::new(built.setup.network.hosts() as usize)?;
    testbed::run(&bed, &rig.config, &rig.plan, interrupt)
}
