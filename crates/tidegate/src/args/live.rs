//! Arguments of `tidegate live`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tidegate_units::Span;

use super::{Common, time};

#[derive(Debug, Args)]
pub(crate) struct Live {
    #[command(subcommand)]
    pub(crate) command: LiveCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LiveCommand {
    /// Run a switch on this machine's interfaces
    Run(LiveRun),
    /// Show the rates, queues and marks of a running switch
    Top(Top),
    /// Benchmark the switch against the kernel's bridge, in private namespaces
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

/// Run a switch on this machine's interfaces until Ctrl-C or for a given time, then print its
/// counters. `kill -HUP` reloads the file: only marking may change.
///
/// Needs `CAP_NET_RAW` and `CAP_NET_ADMIN`, and drops them once the interfaces are open. If root
/// starts it, it switches to another user. A filter refuses system calls that a switch does not
/// need.
#[derive(Debug, Args)]
pub(crate) struct LiveRun {
    /// Switch configuration file, see docs/live.md
    pub(crate) file: PathBuf,
    /// Stop after this time, such as 10s
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub(crate) limit: Option<Span>,
    /// Address that serves the counters over HTTP, as /counters and /metrics
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS)]
    pub(crate) listen: SocketAddr,
    /// Do not serve counters
    #[arg(long, conflicts_with = "listen")]
    pub(crate) silent: bool,
    /// Host name besides localhost that HTTP clients may use; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// User to switch to once the interfaces are open, if started by root [default: nobody]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Do not filter system calls
    #[arg(long)]
    pub(crate) no_filter: bool,
    /// Allow core dumps, which contain packets
    #[arg(long)]
    pub(crate) core_dumps: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Default address of a switch's counters: reachable from this machine only.
const DEFAULT_ADDRESS: &str = "127.0.0.1:9755";

/// Show rates, queue lengths, waiting times, marks, drops and lateness of a running switch by port
/// and queue. With --json, print one line of all counters per refresh.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Address of the switch's counters
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS)]
    pub(crate) at: SocketAddr,
    /// Refresh interval
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    pub(crate) every: Span,
    /// Stop after this many refreshes
    #[arg(long, value_name = "COUNT")]
    pub(crate) count: Option<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Benchmark the switch against the kernel's bridge, in private namespaces. Needs root and an idle
/// machine with two cores.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Duration of each of the six measurements
    #[arg(long = "for", value_name = "TIME", default_value = "3s", value_parser = time)]
    pub(crate) span: Span,
    /// Only measure rate shaping, second by second, for this time
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "span")]
    pub(crate) steady: Option<Span>,
    /// Only run a soak test for this time: link flaps, threshold and MTU changes, broadcast storms
    /// and HTTP clients; prints a line per minute
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with_all = ["span", "steady"])]
    pub(crate) soak: Option<Span>,
    #[command(flatten)]
    pub(crate) common: Common,
}
