//! Command-line arguments.

pub(crate) mod engine;
pub(crate) mod live;
pub(crate) mod plan;
pub(crate) mod testbed;
pub(crate) mod tune;

use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr};
use std::num::{IntErrorKind, NonZeroU32, NonZeroU64, NonZeroUsize, ParseIntError};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, ColorChoice, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use tidegate_report::figures::Titles;
use tidegate_study::Shard;
use tidegate_study::text::nearest;
use tidegate_units::{Bytes, Span};

use crate::catalogue::Kind;

/// Datacenter ECN, from paper to packet.
///
/// Without a command, Tidegate compares seven marking schemes on a leaf-spine fabric, which takes
/// about 15 seconds on two cores. It prints a table and writes a folder with all results and a
/// report page.
///
/// Results go to standard output, everything else to standard error. Exit code 0: success. 1: a run
/// failed or was interrupted, or a checked file has errors. 2: the command could not be carried
/// out. A closed output pipe is not an error.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) main: Running,
}

impl Cli {
    /// Parses a command line, whose first word is the program's name.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        Self::try_parse_from(words).map_err(|error| with_command(error, words))
    }

    /// The progress file of a shard.
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
    /// Run scenario files and compare the results
    Run(Run),
    /// Reproduce figures of published papers and check the papers' claims against them
    Reproduce(Reproduce),
    /// Re-attach to a cluster job and merge its results when it finishes
    Attach(engine::Attach),
    /// Merge the results of shards into one results folder
    Merge(Merge),
    /// Write the report page of one or more results folders
    Report(Report),
    /// Serve results, documentation and the playground to a browser on this machine
    Serve(Serve),
    /// Calculate a network's marking thresholds and print the switch configuration
    Plan(plan::Plan),
    /// Search for settings better than the formula's, and report whether any exist
    Tune(tune::Tune),
    /// Run, monitor and benchmark a switch on real interfaces
    Live(live::Live),
    /// Run hosts and a switch on this machine with real packets
    Testbed(testbed::Testbed),
    /// Load DCTCP, ODCTCP and ECN* into this machine's kernel as BPF
    Host(tidegate_host::args::Host),
    /// Queue and mark packets in this machine's kernel, as a qdisc in BPF
    Qdisc(tidegate_qdisc::args::Qdisc),
    /// List the names that scenario files can use
    List(List),
    /// Explain a scheme, scheduler, buffer, transport, topology, traffic source or key
    Explain(Explain),
    /// Validate scenario files and summarize the resolved configuration; run nothing
    Check(Check),
    /// Print the JSON Schema of scenario files, for editors
    Schema(Schema),
    /// Print shell completions
    Completions(Completions),
    /// Print the manual page
    Man(Man),
    /// Answer a playground request (internal, for `serve`)
    #[command(hide = true)]
    Simulate(Simulate),
}

/// Options of every command.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Common {
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only warnings and errors on standard error; no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[arg(
        long,
        value_name = "WHEN",
        default_value_t = ColorChoice::Auto,
        help = "When to use color; the environment variable NO_COLOR turns it off too"
    )]
    pub(crate) color: ColorChoice,
}

/// Options of a command that runs scenarios.
#[derive(Debug, Args)]
pub(crate) struct Running {
    /// Override a key of the scenario, such as traffic.0.load=0.8; overriding a swept key ends its
    /// sweep
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// First seed; repetitions use the following ones
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Runs per point, each with its own seed
    #[arg(long, value_name = "COUNT", value_parser = count::<NonZeroU32>)]
    pub(crate) runs: Option<NonZeroU32>,
    /// Concurrent runs [default: one per core]
    #[arg(long, short, value_name = "COUNT", value_parser = count::<NonZeroUsize>)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Maximum threads per run, used if there are fewer runs than cores [default: set by the
    /// scenario]
    #[arg(long, value_name = "COUNT", value_parser = count::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) share: Share,
    #[command(flatten)]
    pub(crate) engine: engine::Engine,
    /// Label of the point that all others are compared with
    #[arg(long, value_name = "LABEL")]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) figures: Figures,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Options of reading a scenario.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Reading {
    /// Maximum size of a flow list or a table of sizes, such as 1GiB [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_file: Option<Bytes>,
}

/// As an option of the command line, with a space before it.
impl Display for Reading {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.max_file.map_or(Ok(()), |size| write!(f, " --max-file {size}"))
    }
}

/// Division of the runs among machines.
#[derive(Debug, Args)]
pub(crate) struct Share {
    /// Run only one shard, such as 2/5 for the second of five; join shards with `tidegate merge`.
    /// Shards of a search share one folder instead. With --resume, a missing folder is created
    #[arg(long, value_name = "I/N", group = "division")]
    pub(crate) shard: Option<Shard>,
    /// Balance shards by the run times measured in this results folder, instead of estimates
    #[arg(long, value_name = "FOLDER", requires = "division")]
    pub(crate) learn: Option<PathBuf>,
    /// Write the shard's progress to this file, for the engine's follower
    #[arg(long, value_name = "FILE", requires = "shard", hide = true)]
    pub(crate) status: Option<PathBuf>,
}

/// Charts as files.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Figures {
    /// Write the figures as PDF, SVG and PNG too, into the folder `figures` beside the page
    #[arg(long)]
    pub(crate) figures: bool,
    /// Write figures without titles, for papers with captions
    #[arg(long, requires = "figures")]
    pub(crate) no_titles: bool,
}

impl Figures {
    /// Titles of the figures to write; `None` if no figures are wanted.
    pub(crate) fn titles(self) -> Option<Titles> {
        let titles = if self.no_titles { Titles::LeftOut } else { Titles::Shown };
        self.figures.then_some(titles)
    }
}

/// Results folder options.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Results folder [default: a new one in tidegate-results]
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Resume an incomplete results folder: run only the missing runs
    #[arg(long)]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Scenario files or built-in scenarios; `-` reads one from standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) on: testbed::On,
    /// Trace every segment and ACK of one flow, numbered in order of start. Writes trace.parquet, a
    /// chart on the report and SVG files in the folder `trace`. Same as `--set observe.trace=FLOW`
    #[arg(long, value_name = "FLOW", value_parser = flow, allow_negative_numbers = true)]
    pub(crate) trace: Option<u32>,
    #[command(flatten)]
    pub(crate) capture: Capture,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) running: Running,
}

/// Packet capture options.
#[derive(Debug, Default, Args)]
pub(crate) struct Capture {
    /// Capture the packets of some links as pcapng, for Wireshark and tshark; single runs only
    #[arg(long = "capture", id = "capture", value_name = "FILE", requires = "at", conflicts_with_all = ["trace", "resume", "shard", "engine"])]
    pub(crate) file: Option<PathBuf>,
    /// Links to capture, such as 'leaf0>host3,host3>leaf0'; `*` matches anything, `all` is every
    /// link
    #[arg(long, value_name = "LINK[,LINK...]", requires = "capture")]
    pub(crate) at: Option<String>,
    /// Maximum packets in the capture; the run continues without capturing later ones [default:
    /// 10000000, about 1 GB]
    #[arg(long = "capture-limit", value_name = "COUNT", requires = "capture", value_parser = count::<NonZeroU64>)]
    pub(crate) limit: Option<NonZeroU64>,
}

#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// Figures such as tcn-f10, or your own scenario files with a table `figure`
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// All figures of a paper: tcn, ecn-sharp, bcc, odctcp, diff-ecn
    #[arg(long, value_name = "NAME")]
    pub(crate) paper: Vec<String>,
    /// All figures
    #[arg(long)]
    pub(crate) all: bool,
    /// Run fewer loads, flows and seeds; each figure lists the reductions
    #[arg(long)]
    pub(crate) quick: bool,
    /// Check the claims against an earlier reproduction's results; run nothing
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["out", "resume", "quick", "set", "shard", "engine"])]
    pub(crate) from: Option<PathBuf>,
    /// Override a key of each scenario, to see which claims depend on it
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Add seeds to undecided claims, the cheapest first, until they are decided or the budget is
    /// spent
    #[arg(long, conflicts_with_all = ["from", "shard", "engine"])]
    pub(crate) decide: bool,
    /// Estimated time on one core that --decide may take
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "2h", requires = "decide")]
    pub(crate) budget: Span,
    /// Concurrent runs [default: one per core]
    #[arg(long, short, value_name = "COUNT", value_parser = count::<NonZeroUsize>)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Write the page of all claims and verdicts as Markdown, and the measurements into the folder
    /// beside it; figures that are not run keep their entries
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
    /// Folders of the shards; they are only read
    #[arg(required = true, value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
    /// Results folder of the merged study
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
    /// Report page; the results folders are then only read [default: report.html in the folder, or
    /// tidegate-report.html here for several folders]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Label of the point that all others are compared with
    #[arg(long, value_name = "LABEL")]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) figures: Figures,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Results folders, or folders that contain some [default: tidegate-results, if it exists].
    /// Studies started on the page go into the first folder that is not itself a results folder
    #[arg(value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
    /// TCP port; 0 picks a free one
    #[arg(long, value_name = "NUMBER", default_value_t = 7_117)]
    pub(crate) port: u16,
    /// Address to listen on. Off loopback, clients need the token printed at startup
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub(crate) listen: IpAddr,
    /// Host name that browsers may use besides the address; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Read-only: studies cannot be started, stopped or resumed
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Maximum runs of a study started on the page
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    pub(crate) most_runs: usize,
    /// Time limit of a study started on the page; finished runs are kept
    #[arg(long, value_name = "MINUTES", default_value_t = 60)]
    pub(crate) most_minutes: u32,
    /// Memory limit of a study started on the page
    #[arg(long, value_name = "GIB", default_value_t = 4)]
    pub(crate) most_memory: u32,
    /// Concurrent runs of a study started on the page [default: one per core]
    #[arg(long, short, value_name = "COUNT", value_parser = count::<NonZeroUsize>)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Serve the playground in this folder, built by crates/web/build. It simulates in the browser;
    /// the built-in one simulates on this machine
    #[arg(long, value_name = "FOLDER")]
    pub(crate) playground: Option<PathBuf>,
    /// Export a static site for any web server instead of serving: the galleries of published
    /// figures, all pages except results, and the playground of --playground
    #[arg(long, value_name = "FOLDER")]
    pub(crate) export: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Answer a playground request on standard input (internal, for `serve`).
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// List only this kind
    #[arg(value_enum, value_name = "KIND")]
    pub(crate) kind: Option<Kind>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A name from `tidegate list`, a key of scenario files, or a common synonym of either
    #[arg(required = true, value_name = "NAME")]
    pub(crate) name: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Scenario files or built-in scenarios
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Override a key of the scenario, such as traffic.0.load=0.8; overriding a swept key ends its
    /// sweep
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print the whole scenario with every default written out
    #[arg(long)]
    pub(crate) resolved: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
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
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write this page and one per command into a folder
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Adds similar commands to the error about an unknown one, if the parser suggests none.
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

/// A count above zero.
/// A time above zero.
fn time(text: &str) -> Result<Span, String> {
    match text.parse() {
        Ok(Span::ZERO) => Err("allowed: a time above 0, such as 10s".into()),
        other => other.map_err(|error: tidegate_units::ParseError| error.to_string()),
    }
}

fn count<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "it is too large".to_owned(),
        _ => "allowed: a whole number above 0".to_owned(),
    })
}

/// A flow's number.
fn flow(text: &str) -> Result<u32, String> {
    let number = text.parse();
    number.map_err(|_| "allowed: a flow's number in order of start, from 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_has_no_contradictions() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_without_a_command_apply_to_the_main_job() {
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
