//! `tidegate attach`: re-attaches to a cluster job.

use std::path::{Path, PathBuf};

use clap::Parser;

use crate::args::engine::Attach;
use crate::args::{Cli, Command, Target};
use crate::engine::home::Home;
use crate::output::Error;

/// The command of the job, changed so that it resumes; the caller carries it out.
pub(crate) fn attach(arguments: &Attach) -> Result<Cli, Error> {
    let folder = results_folder(&arguments.folder)?;
    let home = Home::of(&folder)?;
    let Some(state) = home.state()? else {
        let folder = folder.display();
        return Err(Error::new(format!(
            "no cluster job for {folder}\nhint: start one with --engine; a finished and merged job \
             leaves nothing to attach to"
        )));
    };
    state.check_build()?;
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

/// Absolute path of the results folder, also from the path of the job's folder beside it.
fn results_folder(folder: &Path) -> Result<PathBuf, Error> {
    let home = Home::of(folder)?;
    let folder = home.folder();
    let name = folder.file_name().and_then(|name| name.to_str());
    Ok(match name.and_then(|name| name.strip_suffix(".engine")) {
        Some(name) => folder.with_file_name(name),
        None => folder.to_owned(),
    })
}
