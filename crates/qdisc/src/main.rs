//! `tidegate-qdisc`, the program that `tidegate qdisc` runs.

use std::process::ExitCode;

use clap::Parser;
use tidegate_qdisc::args::Qdisc;
use tidegate_qdisc::commands;
use tidegate_qdisc::error::Error;

/// Marking schemes in this machine's kernel, as a queueing discipline loaded as BPF.
///
/// Results go to standard output, everything else to standard error. The exit code is 0 if all went
/// well and 2 if a command could not be carried out. A load that fails leaves nothing behind.
#[derive(Debug, Parser)]
#[command(name = "tidegate-qdisc", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    qdisc: Qdisc,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match commands::run(&cli.qdisc.command) {
        // A reader that closes the pipe has read enough.
        Ok(()) | Err(Error::ClosedPipe) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
