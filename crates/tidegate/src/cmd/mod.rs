//! The commands, one file each.

pub(crate) mod check;
pub(crate) mod engine;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod host;
mod laboratory;
pub(crate) mod list;
#[cfg(all(target_os = "linux", feature = "live"))]
pub(crate) mod live;
pub(crate) mod merge;
pub(crate) mod outline;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod serve;
mod share;
pub(crate) mod source;
#[cfg(all(target_os = "linux", feature = "live"))]
pub(crate) mod testbed;
pub(crate) mod tune;
mod verify;

use crate::args::live::Live;
use crate::args::testbed::Testbed;
use crate::output::{Error, ExitStatus, Output};

/// `tidegate live`.
#[cfg(all(target_os = "linux", feature = "live"))]
pub(crate) fn live(arguments: &Live, output: Output) -> Result<ExitStatus, Error> {
    use crate::args::live::LiveCommand;
    match &arguments.command {
        LiveCommand::Run(run) => live::run(run, output),
        LiveCommand::Top(top) => live::top(top, output),
        LiveCommand::Bench(bench) => live::bench(bench, output),
    }
}

/// `tidegate testbed`, except `run`, which is `tidegate run --on live`.
#[cfg(all(target_os = "linux", feature = "live"))]
pub(crate) fn testbed(arguments: &Testbed, output: Output) -> Result<ExitStatus, Error> {
    use crate::args::testbed::TestbedCommand;
    match &arguments.command {
        TestbedCommand::Up(up) => testbed::up(up, output),
        TestbedCommand::Switch(up) => testbed::switch(up, output),
        TestbedCommand::Down(_) => testbed::down(output),
        TestbedCommand::Run(run) => {
            run::run(&run.files, &run.running, &run.on(), &run::Recorded::default(), output)
        }
        TestbedCommand::Twin(twin) => testbed::twin(twin, output),
    }
}

/// Refuses `tidegate live`.
#[cfg(not(all(target_os = "linux", feature = "live")))]
pub(crate) fn live(_: &Live, _: Output) -> Result<ExitStatus, Error> {
    Err(needs_linux("tidegate live"))
}

/// Refuses `tidegate testbed`.
#[cfg(not(all(target_os = "linux", feature = "live")))]
pub(crate) fn testbed(_: &Testbed, _: Output) -> Result<ExitStatus, Error> {
    Err(needs_linux("tidegate testbed"))
}

/// Error: this build has no real packets.
#[cfg(not(all(target_os = "linux", feature = "live")))]
pub(crate) fn needs_linux(what: &str) -> Error {
    Error::new(if cfg!(target_os = "linux") {
        format!("`{what}` is not in this build\nhint: build tidegate with its feature `live`")
    } else {
        format!("`{what}` needs Linux")
    })
}
