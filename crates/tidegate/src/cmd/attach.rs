//! `tidegate attach`: re-attaches to a cluster job.

use clap::Parser;
use tidegate_study::engine;

use crate::args::engine::Attach;
use crate::args::{Cli, Command, Target};
use crate::output::Error;
use crate::version::BUILD;

/// The command of the job, changed so that it resumes; the caller carries it out.
pub(crate) fn attach(arguments: &Attach) -> Result<Cli, Error> {
    let (folder, state) = engine::find(&arguments.folder, &BUILD).map_err(Error::new)?;
    let cannot = |why: &dyn std::fmt::Display| {
        let place = state.directory.display();
        Error::new(format!("cannot re-attach from {place}: {why}"))
    };
    // The command's file names are relative to this directory.
    std::env::set_current_dir(&state.directory).map_err(|error| cannot(&error))?;
    let mut cli = Cli::try_parse_from(&state.arguments).map_err(|error| cannot(&error))?;
    let target = match &mut cli.command {
        None => &mut cli.main.target,
        Some(Command::Run(run)) => &mut run.running.target,
        Some(Command::Reproduce(reproduce)) => &mut reproduce.target,
        Some(Command::Tune(tune)) => &mut tune.target,
        Some(_) => return Err(cannot(&"its command takes no --engine")),
    };
    *target = Target { out: Some(folder), resume: true };
    Ok(cli)
}
