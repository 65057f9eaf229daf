//! Record of a run that has ended.

use tidegate_results::Record;
use tidegate_results::outcome::record;
use tidegate_scenario::{Built, Experiment};
use tidegate_sim::run::{End, Outcome};
use tidegate_units::ConfigError;

/// Record of a run; `None` if interrupted. The records of millions of flows take seconds.
pub(crate) fn finished(
    experiment: &Experiment,
    command: String,
    built: &Built,
    outcome: &Outcome,
) -> Result<Option<Record>, ConfigError> {
    if outcome.end == End::Interrupted {
        return Ok(None);
    }
    record(experiment, command, built, outcome).map(Some)
}
