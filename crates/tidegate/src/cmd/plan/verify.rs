//! `tidegate plan --verify`: the formula's answer, today's setting and two neighbours, simulated.

use std::fmt::Write;

use tidegate_plan::Plan;
use tidegate_plan::current::Current;
use tidegate_plan::evidence::{Evidence, PACKET_HOPS, Trial};
use tidegate_study::lock::Writers;
use tidegate_study::study::Opening;
use tidegate_study::text::quoted;

use crate::args::plan::{Plan as Arguments, Verify};
use crate::evaluation::Evaluation;
use crate::interrupt;
use crate::output::{Error, Output};

/// The page in the results folder.
pub(super) const PAGE: &str = "plan.html";

/// Simulates a plan; `None` if that was stopped.
pub(super) fn verify(
    arguments: &Arguments,
    plan: &Plan<'_>,
    current: Option<&Current>,
    output: Output,
) -> Result<Option<(Evidence, Evaluation)>, Error> {
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
    let evaluation = Evaluation::open(
        &trial.scenario(),
        &command,
        (&target, Opening::resume_if(target.resume), Writers::One),
        options.jobs,
        output,
    )?;
    interrupt::watch(output);
    let all: Vec<usize> = (0..evaluation.plan().len()).collect();
    let board = evaluation.board(all.len());
    let records = evaluation.records(&all, &board)?;
    drop(board);
    let Some(records) = records else {
        let folder = quoted(&evaluation.path().display().to_string());
        evaluation.interrupted(&format!("{command} --results {folder}"));
        return Ok(None);
    };
    Ok(Some((Evidence::new(&trial, &records), evaluation)))
}

/// The command that gives the same evidence.
fn command(arguments: &Arguments) -> String {
    let mut command = format!("tidegate plan {} --verify", quoted(&arguments.network));
    if let Some(current) = &arguments.current {
        _ = write!(command, " --current {}", quoted(current));
    }
    if arguments.others {
        command += " --others";
    }
    let Verify { seed, runs, size, .. } = &arguments.evidence;
    _ = write!(command, " --seed {seed} --runs {runs}");
    #[expect(clippy::float_cmp, reason = "the default is a whole number")]
    if *size != 1.0 {
        _ = write!(command, " --size {size}");
    }
    command
}
