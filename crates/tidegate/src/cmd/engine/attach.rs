//! `tidegate attach`: goes on following what an engine runs.

use std::path::{Path, PathBuf};

use clap::Parser;

use super::home::Home;
use crate::args::engine::Attach;
use crate::args::testbed::On;
use crate::args::{Cli, Command, Target};
use crate::builtin;
use crate::cmd::run::Recorded;
use crate::cmd::{reproduce, run, tune};
use crate::output::{Error, ExitStatus, Output};

pub(crate) fn attach(arguments: &Attach, output: Output) -> Result<ExitStatus, Error> {
    let folder = whole(&arguments.folder)?;
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
    // Files were named from there.
    std::env::set_current_dir(&state.directory).map_err(|error| cannot(&error))?;
    let cli = Cli::try_parse_from(&state.arguments).map_err(|error| cannot(&error))?;
    let target = Target { out: Some(folder), resume: true };
    match cli.command {
        None => {
            let mut main = cli.main;
            main.target = target;
            let files = [builtin::MAIN.to_owned()];
            let none = Recorded::default();
            run::run(&files, &main, &On::default(), &none, output)
        }
        Some(Command::Run(mut run)) => {
            run.running.target = target;
            let recorded = Recorded { trace: run.trace, capture: None };
            run::run(&run.files, &run.running, &run.on, &recorded, output)
        }
        Some(Command::Reproduce(mut reproduce)) => {
            reproduce.target = target;
            reproduce::reproduce(&reproduce, output)
        }
        Some(Command::Tune(mut tune)) => {
            tune.target = target;
            tune::tune(&tune, output)
        }
        Some(_) => Err(cannot(&"its command takes no --engine")),
    }
}

/// The results folder, from the root, whether it was named or what is beside it.
fn whole(folder: &Path) -> Result<PathBuf, Error> {
    let home = Home::of(folder)?;
    let folder = home.folder();
    let name = folder.file_name().and_then(|name| name.to_str());
    Ok(match name.and_then(|name| name.strip_suffix(".engine")) {
        Some(name) => folder.with_file_name(name),
        None => folder.to_owned(),
    })
}
