//! `tidegate plan --verify`: the formula's answer, today's setting and two neighbours, simulated.

use std::fmt::Write;

use tidegate_plan::Plan;
use tidegate_plan::current::Current;
use tidegate_plan::evidence::{Evidence, PACKET_HOPS, Trial};

use super::laboratory::{self, Laboratory};
use super::run;
use super::run::folder_lock::Others;
use crate::args::plan::{Plan as Arguments, Verify};
use crate::output::{Error, Output};

/// The page in the results folder.
pub(crate) const PAGE: &str = "plan.html";

/// Simulates a plan; `None` if that was stopped.
pub(crate) fn verify(
    arguments: &Arguments,
    plan: &Plan<'_>,
    current: Option<&Current>,
    output: Output,
) -> Result<Option<(Evidence, Laboratory)>, Error> {
    let options = &arguments.evidence;
    let seeds = (options.seed, options.runs.get());
    let hops = PACKET_HOPS * options.size;
    if !(options.size > 0.0 && options.size <= 100.0) {
        return Err(Error::new(format!(
            "--size {} is out of range\nhint: above 0 and at most 100; 1 is two minutes on two cores",
            options.size
        )));
    }
    let mut trial = Trial::new(plan, current, seeds, hops).map_err(Error::new)?;
    if arguments.others {
        trial.add_printed();
    }
    let command = command(arguments);
    let target = options.target();
    let laboratory = Laboratory::open(
        &trial.scenario(),
        &command,
        (&target, laboratory::alone(&target), Others::Kept),
        options.jobs,
        output,
    )?;
    run::watch(output);
    let all: Vec<usize> = (0..laboratory.plan().len()).collect();
    let board = laboratory.board(all.len());
    let records = laboratory.records(&all, &board)?;
    drop(board);
    let Some(records) = records else {
        let folder = run::quoted(&laboratory.path().display().to_string());
        laboratory.interrupted(&format!("{command} --results {folder}"));
        return Ok(None);
    };
    Ok(Some((Evidence::new(&trial, &records), laboratory)))
}

/// The command that gives the same evidence.
fn command(arguments: &Arguments) -> String {
    let mut command = format!("tidegate plan {} --verify", run::quoted(&arguments.network));
    if let Some(current) = &arguments.current {
        _ = write!(command, " --current {}", run::quoted(current));
    }
    let Verify { seed, runs, size, .. } = &arguments.evidence;
    _ = write!(command, " --seed {seed} --runs {runs}");
    #[expect(clippy::float_cmp, reason = "the default is a whole number")]
    if *size != 1.0 {
        _ = write!(command, " --size {size}");
    }
    command
}
