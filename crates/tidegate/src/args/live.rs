//! Arguments of `tidegate live`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tidegate_units::Span;

use super::Common;

#[derive(Debug, Args)]
pub(crate) struct Live {
    #[command(subcommand)]
    pub(crate) command: LiveCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LiveCommand {
    /// Runs a switch on the interfaces of this machine
    Run(LiveRun),
    /// Shows what a running switch does
    Top(Top),
    /// Measures the switch beside the kernel's bridge, in namespaces of its own
    Bench(Bench),
}

impl LiveCommand {
    pub(crate) fn common(&self) -> Common {
        match self {
            Self::Run(run) => run.common,
            Self::Top(top) => top.common,
            Self::Bench(bench) => bench.common,
        }
    }
}

/// Runs a switch on the interfaces of this machine, until Ctrl-C or for a time, and prints what it
/// has done. `kill -HUP` reads the file again: the marking may change, nothing else.
///
/// Needs `CAP_NET_RAW` and `CAP_NET_ADMIN`, and gives them up once the interfaces are open. Started
/// by root it becomes another user, and system calls that a switch does not need are refused.
#[derive(Debug, Args)]
pub(crate) struct LiveRun {
    /// The switch, as docs/live.md has it
    pub(crate) file: PathBuf,
    /// Stop after this time, such as 10s
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub(crate) limit: Option<Span>,
    /// Where the counters can be read: /counters and /metrics over HTTP
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS)]
    pub(crate) listen: SocketAddr,
    /// Do not listen at all
    #[arg(long, conflicts_with = "listen")]
    pub(crate) silent: bool,
    /// A name besides localhost by which the counters may be asked for; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// The user to become once the interfaces are open, if root started it [default: nobody]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Do not refuse system calls that a switch does not need
    #[arg(long)]
    pub(crate) no_filter: bool,
    /// Let a crash write the switch's memory to a file, with the packets in it
    #[arg(long)]
    pub(crate) core_dumps: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Where a switch can be asked, unless another address is given: on this machine alone.
const DEFAULT_ADDRESS: &str = "127.0.0.1:9755";

/// Shows what a running switch does: rates, queues, waiting times, marks, drops and lateness, by
/// port and queue. With --json, one line of all counters each time.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Where the switch listens
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS)]
    pub(crate) at: SocketAddr,
    /// How often to look
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = span)]
    pub(crate) every: Span,
    /// Stop after so many views
    #[arg(long, value_name = "COUNT")]
    pub(crate) count: Option<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Measures the switch beside the kernel's bridge, in namespaces of its own. Needs root and an idle
/// machine with two cores.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// How long each of the six measurements takes
    #[arg(long = "for", value_name = "TIME", default_value = "3s", value_parser = span)]
    pub(crate) span: Span,
    /// Only shape the wire, for so long, and look at every second of it
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with = "span")]
    pub(crate) steady: Option<Span>,
    /// Only see whether the switch stays whole, for so long, while links flap, thresholds and MTUs
    /// change, broadcasts storm and clients ask; a line each minute
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with_all = ["span", "steady"])]
    pub(crate) soak: Option<Span>,
    #[command(flatten)]
    pub(crate) common: Common,
}

fn span(text: &str) -> Result<Span, String> {
    match text.parse() {
        Ok(Span::ZERO) => Err("a time above zero, such as 10s".into()),
        other => other.map_err(|error: tidegate_units::ParseError| error.to_string()),
    }
}
