//! Arguments of `tidegate host`.

#![expect(
    clippy::doc_markdown,
    reason = "these texts appear on a terminal, where names have no backticks"
)]

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ColorChoice, Subcommand};
use tidegate_units::Span;

/// DCTCP, ODCTCP and ECN* in this machine's kernel, loaded as BPF
#[derive(Clone, Debug, Args)]
pub struct Host {
    /// Command.
    #[command(subcommand)]
    pub command: HostCommand,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum HostCommand {
    /// Load algorithms, so that any program of this machine can choose them
    Load(Load),
    /// Remove algorithms
    Unload(Unload),
    /// List loaded algorithms with their owners, parameters and numbers of connections
    Status(Status),
    /// Show connections once a second
    Watch(Watch),
}

impl HostCommand {
    /// Options of every command.
    pub const fn common(&self) -> Common {
        match self {
            Self::Load(load) => load.common,
            Self::Unload(unload) => unload.common,
            Self::Status(status) => status.common,
            Self::Watch(watch) => watch.common,
        }
    }
}

/// Options of every command.
#[derive(Clone, Copy, Debug, Args)]
pub struct Common {
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// Print only warnings and errors on standard error
    #[arg(long, short)]
    pub quiet: bool,
    /// When to use colour; NO_COLOR in the environment turns it off too
    #[arg(long, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

/// Load algorithms, which stay until they are unloaded or the machine is restarted. A program
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
    /// Run all checks and print the actions without doing them
    #[arg(long)]
    pub dry_run: bool,
    /// Folder for the links of loaded algorithms
    #[arg(long, value_name = "FOLDER", default_value = PINS)]
    pub pins: PathBuf,
    /// File with the kernel's type descriptions (BTF)
    #[arg(long, value_name = "FILE", default_value = TYPES, hide = true)]
    pub types: PathBuf,
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
}

/// Default folder of pinned links.
pub const PINS: &str = "/sys/fs/bpf/tidegate";

/// Default file of the kernel's type descriptions (BTF); tests use another.
pub const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Remove algorithms. If connections, listeners or namespaces use one, name them and do nothing,
/// unless --wait or --force is given. Needs CAP_SYS_ADMIN and CAP_NET_ADMIN.
#[derive(Clone, Debug, Args)]
pub struct Unload {
    /// The algorithms [default: all that are loaded]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Make them unavailable to new connections and wait until their last connection has ended
    #[arg(long, conflicts_with = "force")]
    pub wait: bool,
    /// Switch their connections to another algorithm, without interruption, and remove them
    #[arg(long)]
    pub force: bool,
    /// Replacement where an algorithm is in use [default: the kernel's own default, else cubic,
    /// else reno]
    #[arg(long, value_name = "NAME")]
    pub to: Option<String>,
    /// Print the actions without doing them
    #[arg(long)]
    pub dry_run: bool,
    /// Folder for the links of loaded algorithms
    #[arg(long, value_name = "FOLDER", default_value = PINS)]
    pub pins: PathBuf,
    /// File with the kernel's type descriptions (BTF)
    #[arg(long, value_name = "FILE", default_value = TYPES, hide = true)]
    pub types: PathBuf,
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
}

/// List loaded algorithms with their owners, parameters and numbers of connections. Needs
/// CAP_SYS_ADMIN.
#[derive(Clone, Debug, Args)]
pub struct Status {
    /// Folder for the links of loaded algorithms
    #[arg(long, value_name = "FOLDER", default_value = PINS)]
    pub pins: PathBuf,
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
}

/// Show α, window, echoes, marks and round trip of each connection. With --json, one line per
/// connection each time. Needs CAP_SYS_ADMIN.
#[derive(Clone, Debug, Args)]
pub struct Watch {
    /// The algorithms [default: all that are loaded]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Sampling interval of a connection
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = span)]
    pub every: Span,
    /// Show every step of the algorithm instead, as lines of JSON
    #[arg(long, conflicts_with_all = ["every", "listen"])]
    pub steps: bool,
    /// Stop after this time, such as 10s
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub limit: Option<Span>,
    /// Address for /counters and /metrics over HTTP
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
}

fn span(text: &str) -> Result<Span, String> {
    match text.parse() {
        Ok(Span::ZERO) => Err("a time above zero, such as 10s".into()),
        other => other.map_err(|error: tidegate_units::ParseError| error.to_string()),
    }
}
