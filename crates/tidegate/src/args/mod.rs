//! What can be said on the command line.

pub(crate) mod engine;
pub(crate) mod live;
pub(crate) mod plan;
pub(crate) mod testbed;
pub(crate) mod tune;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::num::{IntErrorKind, NonZeroU32, NonZeroU64, NonZeroUsize, ParseIntError};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, ColorChoice, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use tidegate_report::figures::Titles;
use tidegate_study::Shard;

use crate::catalogue::{Kind, nearest};

/// Datacenter ECN, from paper to packet.
///
/// Without a command, compares seven marking schemes on a leaf-spine fabric: a quarter of a minute
/// on two cores. It prints a table and writes a folder with all results and a report page.
///
/// Results go to standard output, everything else to standard error. The exit code is 0 if all went
/// well, 1 if something ran but failed, was interrupted or is wrong with a checked file, and 2 if a
/// command could not be carried out. A reader that closes the pipe is no error.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) main: Running,
}

impl Cli {
    /// Reads a command line, whose first word is the program's name.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        Self::try_parse_from(words).map_err(|error| with_command(error, words))
    }

    /// The file that says how far a shard is.
    pub(crate) fn status(&self) -> Option<&Path> {
        let share = match &self.command {
            None => &self.main.share,
            Some(Command::Run(run)) => &run.running.share,
            Some(Command::Reproduce(reproduce)) => &reproduce.share,
            Some(Command::Tune(tune)) => &tune.share,
            Some(_) => return None,
        };
        share.status.as_deref()
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs scenario files and compares their results
    Run(Run),
    /// Runs the figures of published papers again, and says what holds of their claims
    Reproduce(Reproduce),
    /// Goes on following what an engine runs, and joins it when it is done
    Attach(engine::Attach),
    /// Joins what the shards of a command have left into one results folder
    Merge(Merge),
    /// Makes the report page of one or more results folders
    Report(Report),
    /// Shows results, explanations and the playground in a browser on this machine
    Serve(Serve),
    /// Answers which thresholds a network needs, and prints its switch configuration
    Plan(plan::Plan),
    /// Searches settings that are better than the formula's, and says if there are any
    Tune(tune::Tune),
    /// A switch on real interfaces: runs it, shows what it does, measures it
    Live(live::Live),
    /// Hosts and a switch on this machine, with real packets
    Testbed(testbed::Testbed),
    /// DCTCP, ODCTCP and ECN* in this machine's kernel, loaded as BPF
    Host(tidegate_host::args::Host),
    /// Lists the names that scenario files can use
    List(List),
    /// Explains a scheme, scheduler, buffer, transport, topology, traffic source or key
    Explain(Explain),
    /// Shows what scenario files came to mean, or all that is wrong with them, without running them
    Check(Check),
    /// Prints the JSON Schema of scenario files, for editors
    Schema(Schema),
    /// Prints the completions for a shell
    Completions(Completions),
    /// Prints the manual page
    Man(Man),
    /// Answers a request of the playground, for `serve`
    #[command(hide = true)]
    Simulate(Simulate),
}

/// What every command understands.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Common {
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing on standard error but warnings and errors, and show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[arg(
        long,
        value_name = "WHEN",
        default_value_t = ColorChoice::Auto,
        help = "When to use colour; NO_COLOR in the environment turns it off too"
    )]
    pub(crate) color: ColorChoice,
}

/// How to run.
#[derive(Debug, Args)]
pub(crate) struct Running {
    /// Change a key of the scenario, such as traffic.0.load=0.8; a swept key is then swept no more
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The first seed; repetitions use the ones after it
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// How often each point is run, each time with another seed
    #[arg(long, value_name = "COUNT", value_parser = count::<NonZeroU32>)]
    pub(crate) runs: Option<NonZeroU32>,
    /// Runs at a time [default: one for each core]
    #[arg(long, short, value_name = "COUNT", value_parser = count::<NonZeroUsize>)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// At most so many threads for one run, if there are fewer runs than cores [default: what the
    /// scenario says]
    #[arg(long, value_name = "COUNT", value_parser = count::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) share: Share,
    #[command(flatten)]
    pub(crate) engine: engine::Engine,
    /// Compare all points with this one, by its label
    #[arg(long, value_name = "LABEL")]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) figures: Figures,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// A part of the runs.
#[derive(Debug, Args)]
pub(crate) struct Share {
    /// Run a part of the runs only, such as 2/5 for the second of five; `tidegate merge` joins
    /// them, but those of a search fill one folder. With --resume, a folder that is not there is
    /// begun
    #[arg(long, value_name = "I/N", group = "division")]
    pub(crate) shard: Option<Shard>,
    /// Balance shards by how long runs took in this results folder, instead of by estimate
    #[arg(long, value_name = "FOLDER", requires = "division")]
    pub(crate) learn: Option<PathBuf>,
    /// Keep a file that says how far this shard is, for whoever follows it
    #[arg(long, value_name = "FILE", requires = "shard", hide = true)]
    pub(crate) status: Option<PathBuf>,
}

/// Charts as files.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Figures {
    /// Write the figures too, as PDF, SVG and PNG, into the folder `figures` beside the page
    #[arg(long)]
    pub(crate) figures: bool,
    /// Write figures without their titles, for papers whose captions say it
    #[arg(long, requires = "figures")]
    pub(crate) no_titles: bool,
}

impl Figures {
    /// Whether figures are written, and with their titles or without.
    pub(crate) fn titles(self) -> Option<Titles> {
        let titles = if self.no_titles { Titles::LeftOut } else { Titles::Shown };
        self.figures.then_some(titles)
    }
}

/// Where results go.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The results folder [default: a new one in tidegate-results]
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Go on in a folder that is not complete
    #[arg(long)]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Scenario files, or the names of built-in scenarios; `-` reads one from standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) on: testbed::On,
    /// Trace this flow, by its number in order of start: every segment and ACK, as trace.parquet,
    /// on the report and as SVG into the folder `trace`; as `--set observe.trace=FLOW`
    #[arg(long, value_name = "FLOW", value_parser = flow, allow_negative_numbers = true)]
    pub(crate) trace: Option<u32>,
    #[command(flatten)]
    pub(crate) capture: Capture,
    #[command(flatten)]
    pub(crate) running: Running,
}

/// Packets for Wireshark.
#[derive(Debug, Default, Args)]
pub(crate) struct Capture {
    /// Write the packets of some links as pcapng, which Wireshark and tshark read; for a single run
    #[arg(long = "capture", id = "capture", value_name = "FILE", requires = "at", conflicts_with_all = ["trace", "resume", "shard", "engine"])]
    pub(crate) file: Option<PathBuf>,
    /// Links to capture, such as 'leaf0>host3,host3>leaf0'; `*` matches anything, `all` is every
    /// link
    #[arg(long, value_name = "LINK[,LINK...]", requires = "capture")]
    pub(crate) at: Option<String>,
    /// Most packets in the capture; the run goes on without later ones [default: 10000000, about 1
    /// GB]
    #[arg(long = "capture-limit", value_name = "COUNT", requires = "capture", value_parser = count::<NonZeroU64>)]
    pub(crate) limit: Option<NonZeroU64>,
}

#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// Figures such as tcn-f10, or scenario files of your own that have a table `figure`
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// All figures of a paper: tcn, ecn-sharp, bcc, odctcp, diff-ecn
    #[arg(long, value_name = "NAME")]
    pub(crate) paper: Vec<String>,
    /// All figures
    #[arg(long)]
    pub(crate) all: bool,
    /// Run fewer loads, flows and seeds, and say which
    #[arg(long)]
    pub(crate) quick: bool,
    /// Judge the results of an earlier reproduction, and run nothing
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["out", "resume", "quick", "set", "shard", "engine"])]
    pub(crate) from: Option<PathBuf>,
    /// Change a key of each scenario, to see what hinges on it
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Runs at a time [default: one for each core]
    #[arg(long, short, value_name = "COUNT", value_parser = count::<NonZeroUsize>)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Write the page of all claims and verdicts as Markdown, and what was measured into the folder
    /// beside it: figures that are not run keep their place
    #[arg(long, value_name = "FILE", conflicts_with = "set")]
    pub(crate) write_docs: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) share: Share,
    #[command(flatten)]
    pub(crate) engine: engine::Engine,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The folders of the shards; they are only read
    #[arg(required = true, value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
    /// The results folder of the whole
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Results folders
    #[arg(required = true, value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
    /// The page; folders are then only read [default: report.html in the folder;
    /// tidegate-report.html here for several]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Compare all points with this one, by its label
    #[arg(long, value_name = "LABEL")]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) figures: Figures,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Results folders, or folders with some in them; tidegate-results if there is one. What is
    /// started on the page goes into the first that is no results folder itself
    #[arg(value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
    /// The port; 0 for any that is free
    #[arg(long, value_name = "NUMBER", default_value_t = 7_117)]
    pub(crate) port: u16,
    /// The address to listen on; others than this machine need the token then that is printed
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub(crate) listen: IpAddr,
    /// A name by which browsers may ask for it, beside its address
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Show only: nothing can be started, stopped or gone on with
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The most runs that can be started at once
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    pub(crate) most_runs: usize,
    /// How long what was started may take; what is finished then is kept
    #[arg(long, value_name = "MINUTES", default_value_t = 60)]
    pub(crate) most_minutes: u32,
    /// How much memory it may have
    #[arg(long, value_name = "GIB", default_value_t = 4)]
    pub(crate) most_memory: u32,
    /// Runs at a time of what is started [default: one for each core]
    #[arg(long, short, value_name = "COUNT", value_parser = count::<NonZeroUsize>)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Serve the playground in this folder, which crates/web/build has made: it simulates in the
    /// browser, the program's own on this machine
    #[arg(long, value_name = "FOLDER")]
    pub(crate) playground: Option<PathBuf>,
    /// Write the galleries of published figures, all pages but results, and the playground of
    /// --playground into a folder instead, for any web server
    #[arg(long, value_name = "FOLDER")]
    pub(crate) export: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Answers a request of the playground on standard input, which is what `serve` needs.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only this kind
    #[arg(value_enum, value_name = "KIND")]
    pub(crate) kind: Option<Kind>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A name that `tidegate list` shows, a key of scenario files, or another word for either
    #[arg(required = true, value_name = "NAME")]
    pub(crate) name: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Scenario files, or the names of built-in scenarios
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Change a key of the scenario, such as traffic.0.load=0.8; a swept key is then swept no more
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print the scenario with every default written out
    #[arg(long)]
    pub(crate) resolved: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write this page and one for each command into a folder
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The error with the commands that a wrong one is like, if the parser knows none.
fn with_command(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let suggested = error.get(ContextKind::SuggestedSubcommand).is_some();
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let mut level = Cli::command();
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = level.find_subcommand(word) {
            level = below.clone();
        }
    }
    let names = level.get_subcommands().filter(|command| !command.is_hide_set());
    let near = nearest(wrong, names.map(clap::Command::get_name));
    let near: Vec<String> = near.into_iter().map(str::to_owned).collect();
    if !suggested && !near.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
    }
    error
}

/// A count, which is not zero.
fn count<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "it is too large".to_owned(),
        _ => "allowed: a whole number above 0".to_owned(),
    })
}

/// The number of a flow.
fn flow(text: &str) -> Result<u32, String> {
    let number = text.parse();
    number.map_err(|_| "allowed: the number of a flow in order of start, from 0 on".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_has_no_contradictions() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_without_a_command_are_those_of_the_main_job() {
        let cli = Cli::try_parse_from(["tidegate", "--runs", "1", "--json"]).unwrap();
        assert!(cli.command.is_none() && cli.main.common.json);
        assert_eq!(cli.main.runs.map(NonZeroU32::get), Some(1));
    }

    #[test]
    fn a_misspelt_command_has_a_suggestion() {
        let said = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            Cli::read(&words).unwrap_err().to_string()
        };
        for (line, tip) in [
            ("tidegate rnu", "'run'"),
            ("tidegate plna", "'plan'"),
            ("tidegate live rnu", "'run'"),
            ("tidegate reprot", "'report'"),
        ] {
            let said = said(line);
            assert!(said.contains("tip: ") && said.contains(tip), "{said}");
        }
        let strange = said("tidegate xyzzy");
        assert!(!strange.contains("tip: "), "{strange}");
    }

    #[test]
    fn a_count_of_zero_is_refused_in_words() {
        let refused = |runs: &str| {
            let cli = Cli::try_parse_from(["tidegate", "--runs", runs]);
            cli.unwrap_err().to_string()
        };
        let said = refused("0");
        assert!(said.contains("allowed: a whole number above 0"), "{said}");
        assert!(refused("5000000000").contains("it is too large"));
    }

    #[test]
    fn every_command_takes_json_and_quiet() {
        let cli = Cli::command();
        let commands = cli.get_subcommands().flat_map(|command| {
            let below: Vec<_> = command.get_subcommands().collect();
            if below.is_empty() { vec![command] } else { below }
        });
        for command in commands {
            for flag in ["json", "quiet"] {
                let has = command.get_arguments().any(|a| a.get_id() == flag);
                assert!(has, "{} has no --{flag}", command.get_name());
            }
        }
    }
}
