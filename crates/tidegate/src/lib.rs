//! Tidegate's command line.

mod args;
mod builtin;
mod catalogue;
mod cmd;
mod engine;
mod evaluation;
mod interrupt;
mod markdown;
mod network;
mod outline;
mod output;
mod place;
mod process;
mod progress;
mod report;
mod reproduction;
mod shards;
mod version;

use std::ffi::OsString;
use std::path::Path;

use args::live::Live;
use args::testbed::{On, Testbed};
use args::{Cli, Command, Common, Reading};
use cmd::run::Recorded;
use output::{Error, ExitStatus, Output};
use tidegate_study::status::{self, Ended};

/// Carries out a command line, whose first word is the program's name. Returns the exit code.
pub fn run(words: &[OsString]) -> u8 {
    process::stop_with_parent();
    let cli = match Cli::read(words) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let output = Output::new(common(&cli));
    let result = carry_out(&cli, words, output);
    if let Some(path) = cli.status() {
        end(path, &result, output);
    }
    match result {
        Ok(status) => status.code(),
        Err(Error::ClosedPipe) => 0,
        Err(Error::Other(text)) => {
            output.fail(&text);
            2
        }
    }
}

/// Records the ending of a shard in its status file.
fn end(path: &Path, result: &Result<ExitStatus, Error>, output: Output) {
    let (ended, why) = match result {
        Ok(_) if interrupt::is_interrupted() => (Ended::Interrupted, None),
        Ok(ExitStatus::Good) | Err(Error::ClosedPipe) => (Ended::Finished, None),
        Ok(ExitStatus::Bad) => (Ended::Failed, None),
        Err(Error::Other(why)) => (Ended::Refused, Some(why.as_str())),
    };
    if let Err(error) = status::end(path, ended, why) {
        output.warn(&error.to_string());
    }
}

/// Options that every command has.
fn common(cli: &Cli) -> Common {
    match &cli.command {
        None => cli.main.common,
        Some(Command::Run(run)) => run.running.common,
        Some(Command::Reproduce(reproduce)) => reproduce.common,
        Some(Command::Attach(attach)) => attach.common,
        Some(Command::Merge(merge)) => merge.common,
        Some(Command::Report(report)) => report.common,
        Some(Command::Serve(serve)) => serve.common,
        Some(Command::Plan(plan)) => plan.common,
        Some(Command::Tune(tune)) => tune.common,
        Some(Command::Live(live)) => live.command.common(),
        Some(Command::Testbed(testbed)) => testbed.command.common(),
        Some(Command::Host(host)) => {
            let tidegate_host::args::Common { json, quiet, color } = host.command.common();
            Common { json, quiet, color }
        }
        Some(Command::Qdisc(qdisc)) => {
            let tidegate_qdisc::args::Common { json, quiet, color } = qdisc.command.common();
            Common { json, quiet, color }
        }
        Some(Command::List(list)) => list.common,
        Some(Command::Explain(explain)) => explain.common,
        Some(Command::Check(check)) => check.common,
        Some(Command::Schema(schema)) => schema.common,
        Some(Command::Completions(completions)) => completions.common,
        Some(Command::Man(man)) => man.common,
        Some(Command::Simulate(simulate)) => simulate.common,
    }
}

fn carry_out(cli: &Cli, words: &[OsString], output: Output) -> Result<ExitStatus, Error> {
    match &cli.command {
        None => {
            let files = [builtin::MAIN.to_owned()];
            let (on, reading) = (On::default(), Reading::default());
            cmd::run::run(&files, &cli.main, &on, reading, &Recorded::default(), output)
        }
        Some(Command::Run(run)) => {
            let recorded = Recorded { trace: run.trace, capture: Some(&run.capture) };
            cmd::run::run(&run.files, &run.running, &run.on, run.reading, &recorded, output)
        }
        Some(Command::Reproduce(reproduce)) => cmd::reproduce::reproduce(reproduce, output),
        Some(Command::Attach(attach)) => carry_out(&cmd::attach::attach(attach)?, words, output),
        Some(Command::Merge(merge)) => cmd::merge::merge(merge, output),
        Some(Command::Report(report)) => cmd::report::report(report, output),
        Some(Command::Serve(serve)) => cmd::serve::serve(serve, output),
        Some(Command::Plan(plan)) => cmd::plan::plan(plan, output),
        Some(Command::Tune(tune)) => cmd::tune::tune(tune, output),
        Some(Command::Live(live)) => self::live(live, output),
        Some(Command::Testbed(testbed)) => self::testbed(testbed, output),
        Some(Command::Host(_)) => cmd::kernel::HOST.run(words),
        Some(Command::Qdisc(_)) => cmd::kernel::QDISC.run(words),
        Some(Command::List(list)) => cmd::list::list(list, output),
        Some(Command::Explain(explain)) => cmd::explain::explain(explain, output),
        Some(Command::Check(check)) => cmd::check::check(check, output),
        Some(Command::Schema(_)) => cmd::generate::schema(output),
        Some(Command::Completions(completions)) => {
            cmd::generate::completions(completions.shell, output)
        }
        Some(Command::Man(man)) => cmd::generate::man(man.out.as_deref(), output),
        Some(Command::Simulate(_)) => cmd::serve::playground::simulate(),
    }
}

#[cfg(all(target_os = "linux", feature = "live"))]
fn live(arguments: &Live, output: Output) -> Result<ExitStatus, Error> {
    use args::live::LiveCommand;
    match &arguments.command {
        LiveCommand::Run(run) => cmd::live::run(run, output),
        LiveCommand::Top(top) => cmd::live::top(top, output),
        LiveCommand::Bench(bench) => cmd::live::bench(bench, output),
    }
}

#[cfg(all(target_os = "linux", feature = "live"))]
fn testbed(arguments: &Testbed, output: Output) -> Result<ExitStatus, Error> {
    use args::testbed::TestbedCommand;
    match &arguments.command {
        TestbedCommand::Up(up) => cmd::testbed::up(up, output),
        TestbedCommand::Switch(up) => cmd::testbed::switch(up, output),
        TestbedCommand::Down(_) => cmd::testbed::down(output),
        TestbedCommand::Run(run) => {
            let (on, reading) = (run.on(), Reading::default());
            cmd::run::run(&run.files, &run.running, &on, reading, &Recorded::default(), output)
        }
        TestbedCommand::Twin(twin) => cmd::testbed::twin(twin, output),
    }
}

#[cfg(not(all(target_os = "linux", feature = "live")))]
fn live(_: &Live, _: Output) -> Result<ExitStatus, Error> {
    Err(needs_linux("tidegate live"))
}

#[cfg(not(all(target_os = "linux", feature = "live")))]
fn testbed(_: &Testbed, _: Output) -> Result<ExitStatus, Error> {
    Err(needs_linux("tidegate testbed"))
}

/// Error: this build cannot process real packets.
#[cfg(not(all(target_os = "linux", feature = "live")))]
pub(crate) fn needs_linux(what: &str) -> Error {
    Error::new(if cfg!(target_os = "linux") {
        format!("`{what}` is not in this build\nhint: build tidegate with its feature `live`")
    } else {
        format!("`{what}` needs Linux")
    })
}

/// Prints help, the version or a usage error. Only the error goes to standard error.
fn usage(error: &clap::Error) -> u8 {
    let is_help = !error.use_stderr();
    match error.print() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => 2,
        _ if is_help => 0,
        _ => 2,
    }
}
