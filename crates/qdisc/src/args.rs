//! Arguments of `tidegate qdisc`.

#![expect(
    clippy::doc_markdown,
    reason = "these texts appear on a terminal, where names have no backticks"
)]

use std::path::PathBuf;

use clap::{Args, ColorChoice, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};
use tidegate_units::Rate;

/// Marking schemes in this machine's kernel, as a queueing discipline loaded as BPF
#[derive(Clone, Debug, Args)]
pub struct Qdisc {
    /// Command.
    #[command(subcommand)]
    pub command: QdiscCommand,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum QdiscCommand {
    /// Queue, pace and mark the packets that leave a device
    Load(Load),
    /// Give devices back as they were
    Unload(Unload),
    /// List loaded devices with their settings and counters
    Status(Status),
}

impl QdiscCommand {
    /// Options of every command.
    pub const fn common(&self) -> Common {
        match self {
            Self::Load(load) => load.common,
            Self::Unload(unload) => unload.common,
            Self::Status(status) => status.common,
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

/// Part of a packet that selects its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// DSCP of its IP header
    Dscp,
    /// Its priority in the kernel: SO_PRIORITY, tc's skbedit, iptables' CLASSIFY
    Priority,
}

/// Way in which a kernel queues and marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// A BPF qdisc: all schemes and schedulers; Linux 6.16 and later
    Qdisc,
    /// Departure times at fq: TCN over FIFO, marked on arrival; Linux 6.1 and later
    Edt,
}

/// Queue, pace and mark the packets that leave a device, until it is unloaded or the machine is
/// restarted.
///
/// Needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, a kernel with BTF, and the programs ip and tc.
#[derive(Clone, Debug, Args)]
pub struct Load {
    /// Devices; a pool serves all that are loaded together
    #[arg(value_name = "DEV", required_unless_present = "file")]
    pub devices: Vec<String>,
    /// A live switch's file, which names ports, scheme, scheduler and buffer; only DEV of it if
    /// named
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "scheme", "threshold", "rate", "scheduler", "buffer", "limit", "set",
    ])]
    pub file: Option<PathBuf>,
    /// bcc, codel, diff-ecn, ecn-sharp, none, port-red, queue-red, tcn [default: tcn]
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// The scheme's threshold, a time or an amount; the same as --set threshold=
    #[arg(long, value_name = "VALUE")]
    pub threshold: Option<String>,
    /// Rate at which packets leave [default: the device's own]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,
    /// fifo, sp, dwrr, sp-dwrr [default: fifo]
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// per-port, dynamic-threshold [default: per-port]
    #[arg(long, value_name = "NAME")]
    pub buffer: Option<String>,
    /// Maximum length of all queues of a port together; the same as --set buffer.limit=
    #[arg(long, value_name = "SIZE")]
    pub limit: Option<String>,
    /// A parameter of the scheme, or with a prefix of another part: scheduler.quanta=1500,3000
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Classify packets by DSCP or by the kernel's priority
    #[arg(long, value_name = "FIELD", value_enum, default_value_t = By::Dscp)]
    pub by: By,
    /// Way to queue and mark [default: qdisc if the kernel has it]
    #[arg(long, value_name = "WAY", value_enum)]
    pub way: Option<Way>,
    /// Load a device that already has a qdisc, which is kept
    #[arg(long)]
    pub replace: bool,
    /// Run all checks and print the actions without doing them
    #[arg(long)]
    pub dry_run: bool,
    /// Folder for the pins of loaded devices
    #[arg(long, value_name = "FOLDER", default_value = PINS)]
    pub pins: PathBuf,
    /// File with the kernel's type descriptions (BTF)
    #[arg(long, value_name = "FILE", default_value = TYPES, hide = true)]
    pub types: PathBuf,
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
}

/// Default folder of pins.
pub const PINS: &str = "/sys/fs/bpf/tidegate-qdisc";

/// Default file of the kernel's type descriptions (BTF); tests use another.
pub const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Give devices back as they were. Packets that wait are sent first. Needs CAP_BPF and
/// CAP_NET_ADMIN.
#[derive(Clone, Debug, Args)]
pub struct Unload {
    /// The devices [default: all that are loaded]
    #[arg(value_name = "DEV")]
    pub devices: Vec<String>,
    /// Folder for the pins of loaded devices
    #[arg(long, value_name = "FOLDER", default_value = PINS)]
    pub pins: PathBuf,
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
}

/// List loaded devices with their settings and counters. Needs CAP_BPF.
#[derive(Clone, Debug, Args)]
pub struct Status {
    /// Folder for the pins of loaded devices
    #[arg(long, value_name = "FOLDER", default_value = PINS)]
    pub pins: PathBuf,
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
}
