//! What can be said after `tidegate host`.

#![expect(
    clippy::doc_markdown,
    reason = "these are what a terminal shows, where names have no backticks"
)]

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ColorChoice, Subcommand};
use tidegate_units::Span;

/// DCTCP, ODCTCP and ECN* in this machine's kernel, loaded as BPF
#[derive(Clone, Debug, Args)]
pub struct Host {
    /// What to do.
    #[command(subcommand)]
    pub command: HostCommand,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum HostCommand {
    /// Loads algorithms: any program of this machine can then choose them
    Load(Load),
    /// Removes algorithms
    Unload(Unload),
    /// Lists what is loaded, by whom, with which parameters and on how many connections
    Status(Status),
    /// Shows what connections do, once a second
    Watch(Watch),
}

impl HostCommand {
    /// What every command understands.
    pub const fn common(&self) -> Common {
        match self {
            Self::Load(load) => load.common,
            Self::Unload(unload) => unload.common,
            Self::Status(status) => status.common,
            Self::Watch(watch) => watch.common,
        }
    }
}

/// What every command understands.
#[derive(Clone, Copy, Debug, Args)]
pub struct Common {
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error but warnings and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// When to use colour; NO_COLOR in the environment turns it off too
    #[arg(long, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

/// Loads algorithms, which stay until they are unloaded or the machine is restarted. A program
/// chooses one by TCP_CONGESTION, a namespace by net.ipv4.tcp_congestion_control, a route by
/// congctl.
///
/// Needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, and a kernel with BTF.
#[derive(Clone, Debug, Args)]
pub struct Load {
    /// tg_dctcp, tg_ecn_star, tg_odctcp_rcv, tg_odctcp_snd
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// A parameter, such as gain=1/8, for all names or for one: tg_dctcp.gain=1/8
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Keep them only as long as this command runs
    #[arg(long)]
    pub foreground: bool,
    /// Say what would be done, after all checks, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Where the links of loaded algorithms are kept
    #[arg(long, value_name = "FOLDER", default_value = PINS)]
    pub pins: PathBuf,
    /// Where the kernel describes its types
    #[arg(long, value_name = "FILE", default_value = TYPES, hide = true)]
    pub types: PathBuf,
    /// What every command understands.
    #[command(flatten)]
    pub common: Common,
}

/// Where links are pinned, unless another folder is given.
pub const PINS: &str = "/sys/fs/bpf/tidegate";

/// Where the kernel describes its types; tests have one elsewhere.
pub const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Removes algorithms. While connections, listeners or namespaces use one, it says so and does
/// nothing, unless it should wait or force. Needs CAP_SYS_ADMIN and CAP_NET_ADMIN.
#[derive(Clone, Debug, Args)]
pub struct Unload {
    /// The algorithms [default: all that are loaded]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Nobody can choose it any more from now on; wait until its last connection has ended
    #[arg(long, conflicts_with = "force")]
    pub wait: bool,
    /// Give its connections another algorithm, without a break, and remove it
    #[arg(long)]
    pub force: bool,
    /// What takes its place where it is in use [default: the kernel's own default, else cubic, else
    /// reno]
    #[arg(long, value_name = "NAME")]
    pub to: Option<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Where the links of loaded algorithms are kept
    #[arg(long, value_name = "FOLDER", default_value = PINS)]
    pub pins: PathBuf,
    /// Where the kernel describes its types
    #[arg(long, value_name = "FILE", default_value = TYPES, hide = true)]
    pub types: PathBuf,
    /// What every command understands.
    #[command(flatten)]
    pub common: Common,
}

/// Lists what is loaded, by whom, with which parameters and on how many connections. Needs
/// CAP_SYS_ADMIN.
#[derive(Clone, Debug, Args)]
pub struct Status {
    /// Where the links of loaded algorithms are kept
    #[arg(long, value_name = "FOLDER", default_value = PINS)]
    pub pins: PathBuf,
    /// What every command understands.
    #[command(flatten)]
    pub common: Common,
}

/// Shows α, window, echoes, marks and round trip of each connection. With --json, one line for each
/// connection each time. Needs CAP_SYS_ADMIN.
#[derive(Clone, Debug, Args)]
pub struct Watch {
    /// The algorithms [default: all that are loaded]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// How often to look at a connection
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = span)]
    pub every: Span,
    /// Every step of the rule instead, as lines of JSON
    #[arg(long, conflicts_with_all = ["every", "listen"])]
    pub steps: bool,
    /// Stop after this time, such as 10s
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub limit: Option<Span>,
    /// Where the same can be read: /counters and /metrics over HTTP
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// What every command understands.
    #[command(flatten)]
    pub common: Common,
}

fn span(text: &str) -> Result<Span, String> {
    match text.parse() {
        Ok(Span::ZERO) => Err("a time above zero, such as 10s".into()),
        other => other.map_err(|error: tidegate_units::ParseError| error.to_string()),
    }
}
