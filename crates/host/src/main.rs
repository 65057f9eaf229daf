//! `tidegate-host`, the program that `tidegate host` runs.

use std::process::ExitCode;

use clap::Parser;
use tidegate_host::args::Host;
use tidegate_host::commands;
use tidegate_host::error::Error;

/// DCTCP, ODCTCP and ECN* in this machine's kernel, loaded as BPF.
///
/// Results go to standard output, everything else to standard error. The exit code is 0 if all went
/// well and 2 if a command could not be carried out. Arguments, privileges and whether an algorithm
/// is in use are checked before any change; if the kernel refuses a later step, `status` shows the
/// changes made so far.
#[derive(Debug, Parser)]
#[command(name = "tidegate-host", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    host: Host,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match commands::run(&cli.host.command) {
        // A reader that closes the pipe has read enough.
        Ok(()) | Err(Error::ClosedPipe) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
