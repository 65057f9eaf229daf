//! Errors, each in a sentence, with a hint.

use std::path::PathBuf;

use tidegate_units::ConfigError;

/// Reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting cannot be used.
    #[error("{0}")]
    Setting(#[from] ConfigError),
    /// The file of a switch cannot be used.
    #[error("{0}")]
    File(String),
    /// A setting on the command line cannot be used.
    #[error("--set {text}: {why}")]
    Parameter {
        /// The given text.
        text: String,
        /// The problem with it.
        why: String,
    },
    /// A part does not exist.
    #[error("no {kind} is named `{name}`\nknown: {known}")]
    Unknown {
        /// Kind of part.
        kind: &'static str,
        /// The given name.
        name: String,
        /// All names.
        known: &'static str,
    },
    /// The device does not exist.
    #[error("there is no device {name}\ndevices here: {known}")]
    NoDevice {
        /// The given name.
        name: String,
        /// All devices of this network namespace.
        known: String,
    },
    /// The device does not report its rate.
    #[error("{0} does not report its rate\nhint: --rate, such as --rate 10Gbps")]
    NoRate(String),
    /// The device already has a qdisc.
    #[error("{device} already has the qdisc {kind} {handle}\nhint: --replace {effect}")]
    HasQdisc {
        /// The device.
        device: String,
        /// Kind of its qdisc.
        kind: String,
        /// Handle of its qdisc.
        handle: String,
        /// Effect of `--replace`.
        effect: &'static str,
    },
    /// Another program's filters would hide, or be hidden by, the ones of a port.
    #[error("{device} already has {what}, beside which a port cannot work\nhint: {hint}")]
    HasFilters {
        /// The device.
        device: String,
        /// Filter or qdisc that it already has.
        what: String,
        /// Command that shows or removes it.
        hint: String,
    },
    /// The device is already loaded.
    #[error("{0} is already loaded\nhint: tidegate qdisc status; tidegate qdisc unload {0}")]
    Loaded(String),
    /// The device is not loaded.
    #[error("{0} is not loaded\nhint: tidegate qdisc load {0}")]
    NotLoaded(String),
    /// No device is loaded.
    #[error("no device is loaded\nhint: tidegate qdisc load DEV --rate 10Gbps")]
    NothingLoaded,
    /// The device is of another network namespace.
    #[error(
        "{0} is loaded in another network namespace, by its number {1}\n\
         hint: run the command there: nsenter --net=… tidegate qdisc unload {0}"
    )]
    Elsewhere(String, u64),
    /// A privilege is missing.
    #[error("{missing} missing: run as root or with these capabilities")]
    Privilege {
        /// Missing capabilities, with a verb.
        missing: String,
    },
    /// The kernel does not describe its types.
    #[error(
        "this kernel has no type information at {0}\n\
         hint: use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions ship since 2020"
    )]
    NoTypes(PathBuf),
    /// The kernel does not support qdiscs in BPF.
    #[error(
        "this kernel has no BPF qdiscs (CONFIG_NET_SCH_BPF)\n\
         hint: use Linux 6.16 or later with CONFIG_NET_SCH_BPF=y, or --way edt"
    )]
    NoBpfQdisc,
    /// The kernel lacks a feature.
    #[error(
        "this kernel has no {feature} ({option})\nhint: use a kernel built with {option}=y or =m"
    )]
    NoFeature {
        /// The feature, in the plural.
        feature: &'static str,
        /// Option of the kernel's configuration.
        option: &'static str,
    },
    /// A program is missing.
    #[error("no program {0}\nhint: on Debian: apt-get install iproute2")]
    NoProgram(&'static str),
    /// The folder is not in a BPF file system.
    #[error(
        "{0} is not in a BPF file system, which keeps loaded ports\n\
         hint: mount -t bpf bpf /sys/fs/bpf"
    )]
    NoBpfFs(PathBuf),
    /// The reader of the results has closed the pipe.
    #[error("the reader of the results is gone")]
    ClosedPipe,
    /// The kernel refused a call.
    #[error("cannot {action}: {why}")]
    System {
        /// The attempted action.
        action: String,
        /// Error from the kernel.
        why: String,
    },
}

impl Error {
    /// Error of the system during `action`.
    pub fn system<E: std::fmt::Display>(action: impl Into<String>) -> impl FnOnce(E) -> Self {
        let action = action.into();
        move |why| Self::System { action, why: why.to_string() }
    }
}
