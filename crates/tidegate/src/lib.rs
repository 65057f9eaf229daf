//! Tidegate's command line, and what other programs need that have it inside: see [`embed`].

mod args;
mod builtin;
mod catalogue;
mod cmd;
pub mod embed;
mod labels;
mod markdown;
mod output;
mod process;
mod progress;
mod status;
mod table;

use std::ffi::OsString;

use args::testbed::On;
use args::{Cli, Command};
use cmd::run::Recorded;
use output::{Error, ExitStatus, Output};

/// Carries out a command line, whose first word is the program's name. Returns the exit code.
pub fn run(words: &[OsString]) -> u8 {
    embed::set_arguments(words);
    let cli = match Cli::read(words) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let (output, result) = carry_out(&cli, words);
    if let Some(path) = cli.status() {
        status::end(path, &result, output);
    }
    match result {
        Ok(verdict) => verdict.code(),
        Err(Error::ClosedPipe) => 0,
        Err(Error::Other(text)) => {
            output.fail(&text);
            2
        }
    }
}

fn carry_out(cli: &Cli, words: &[OsString]) -> Answer {
    match &cli.command {
        None => with(cli.main.common, |output| {
            cmd::run::run(
                &[builtin::MAIN.to_owned()],
                &cli.main,
                &On::default(),
                &Recorded::default(),
                output,
            )
        }),
        Some(Command::Run(run)) => with(run.running.common, |output| {
            let recorded = Recorded { trace: run.trace, capture: Some(&run.capture) };
            cmd::run::run(&run.files, &run.running, &run.on, &recorded, output)
        }),
        Some(Command::Reproduce(reproduce)) => {
            with(reproduce.common, |output| cmd::reproduce::reproduce(reproduce, output))
        }
        Some(Command::Attach(attach)) => {
            with(attach.common, |output| cmd::engine::attach::attach(attach, output))
        }
        Some(Command::Merge(merge)) => {
            with(merge.common, |output| cmd::merge::merge(merge, output))
        }
        Some(Command::Report(report)) => {
            with(report.common, |output| cmd::report::report(report, output))
        }
        Some(Command::Serve(serve)) => {
            with(serve.common, |output| cmd::serve::serve(serve, output))
        }
        Some(Command::Plan(plan)) => with(plan.common, |output| cmd::plan::plan(plan, output)),
        Some(Command::Tune(tune)) => with(tune.common, |output| cmd::tune::tune(tune, output)),
        Some(Command::Live(live)) => with(live.command.common(), |output| cmd::live(live, output)),
        Some(Command::Testbed(testbed)) => {
            with(testbed.command.common(), |output| cmd::testbed(testbed, output))
        }
        Some(Command::Host(host)) => {
            let common = host.command.common();
            let common =
                args::Common { json: common.json, quiet: common.quiet, color: common.color };
            with(common, |_| cmd::host::host(words))
        }
        Some(Command::List(list)) => with(list.common, |output| cmd::list::list(list, output)),
        Some(Command::Explain(explain)) => {
            with(explain.common, |output| cmd::explain::explain(explain, output))
        }
        Some(Command::Check(check)) => {
            with(check.common, |output| cmd::check::check(check, output))
        }
        Some(Command::Schema(schema)) => with(schema.common, cmd::generate::schema),
        Some(Command::Completions(completions)) => {
            with(completions.common, |output| cmd::generate::completions(completions.shell, output))
        }
        Some(Command::Man(man)) => {
            with(man.common, |output| cmd::generate::man(man.out.as_deref(), output))
        }
        Some(Command::Simulate(simulate)) => {
            with(simulate.common, |_| cmd::serve::playground::simulate())
        }
    }
}

type Answer = (Output, Result<ExitStatus, Error>);

fn with(common: args::Common, command: impl FnOnce(Output) -> Result<ExitStatus, Error>) -> Answer {
    let output = Output::new(common);
    (output, command(output))
}

/// Help and version go to standard output and are no error; everything else is.
fn usage(error: &clap::Error) -> u8 {
    let is_help = !error.use_stderr();
    match error.print() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => 2,
        _ if is_help => 0,
        _ => 2,
    }
}
