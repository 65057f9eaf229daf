//! What can go wrong, each in a sentence, with what would help.

use std::path::PathBuf;

/// Why a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such algorithm.
    #[error("there is no algorithm `{name}`{hint}\nknown: {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The nearest one, as a question.
        hint: String,
        /// All.
        known: String,
    },
    /// A parameter cannot be used.
    #[error("--set {text}: {why}")]
    Parameter {
        /// What was given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A privilege is missing.
    #[error("{missing} missing: run this as root, or with these capabilities")]
    Privilege {
        /// The capabilities, and a verb.
        missing: String,
    },
    /// The kernel does not describe its types.
    #[error(
        "this kernel has no type information at {0}\n\
         hint: it needs one built with CONFIG_DEBUG_INFO_BTF=y, as distributions ship since 2020"
    )]
    NoTypes(PathBuf),
    /// The kernel does not take congestion controls as BPF.
    #[error(
        "this kernel takes no congestion control as a BPF link (struct_ops)\n\
         hint: it needs Linux 6.4 or later with CONFIG_BPF_SYSCALL=y and CONFIG_BPF_JIT=y"
    )]
    NoStructOps,
    /// No BPF file system.
    #[error(
        "{0} is not in a BPF file system, where loaded algorithms stay\n\
         hint: mount -t bpf bpf /sys/fs/bpf, or --foreground"
    )]
    NoBpfFs(PathBuf),
    /// It is there already.
    #[error("{0} is already loaded\nhint: tidegate host status; tidegate host unload {0}")]
    Loaded(String),
    /// It is not there.
    #[error("{0} is not loaded\nhint: tidegate host load {0}")]
    NotLoaded(String),
    /// Nothing is there.
    #[error("no algorithm is loaded\nhint: tidegate host load tg_dctcp")]
    NothingLoaded,
    /// It lives with another process.
    #[error("{name} is loaded by {holder}, and goes when that ends")]
    Held {
        /// The algorithm.
        name: String,
        /// Whoever holds it.
        holder: String,
    },
    /// It is in use.
    #[error(
        "{name} is in use: {by}\nhint: --wait until that is over, or --force to give them another"
    )]
    InUse {
        /// The algorithm.
        name: String,
        /// What uses it.
        by: String,
    },
    /// Somebody else watches.
    #[error("another `tidegate host watch` runs: it takes each sample from all others")]
    Watched,
    /// Nobody is left to write for, which is no fault.
    #[error("nobody reads what is printed")]
    ClosedPipe,
    /// The kernel refused.
    #[error("cannot {action}: {why}")]
    System {
        /// What was to be done.
        action: String,
        /// What the kernel said.
        why: String,
    },
}

impl Error {
    /// An error of the system in doing `action`.
    pub fn system<E: std::fmt::Display>(action: impl Into<String>) -> impl FnOnce(E) -> Self {
        let action = action.into();
        move |why| Self::System { action, why: why.to_string() }
    }
}
