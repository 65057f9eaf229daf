//! Errors, each in a sentence, with a hint.

use std::path::PathBuf;

/// Reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The algorithm does not exist.
    #[error("no algorithm is named `{name}`{hint}\nknown: {known}")]
    Unknown {
        /// The given name.
        name: String,
        /// The nearest name, as a question.
        hint: String,
        /// All names.
        known: String,
    },
    /// A parameter cannot be used.
    #[error("--set {text}: {why}")]
    Parameter {
        /// The given text.
        text: String,
        /// The problem with it.
        why: String,
    },
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
    /// The kernel does not support congestion controls in BPF.
    #[error(
        "this kernel does not support congestion controls as BPF links (struct_ops)\n\
         hint: use Linux 6.4 or later with CONFIG_BPF_SYSCALL=y and CONFIG_BPF_JIT=y"
    )]
    NoStructOps,
    /// The folder is not in a BPF file system.
    #[error(
        "{0} is not in a BPF file system, which keeps loaded algorithms\n\
         hint: mount -t bpf bpf /sys/fs/bpf, or --foreground"
    )]
    NoBpfFs(PathBuf),
    /// The algorithm is already loaded.
    #[error("{0} is already loaded\nhint: tidegate host status; tidegate host unload {0}")]
    Loaded(String),
    /// The algorithm is not loaded.
    #[error("{0} is not loaded\nhint: tidegate host load {0}")]
    NotLoaded(String),
    /// No algorithm is loaded.
    #[error("no algorithm is loaded\nhint: tidegate host load tg_dctcp")]
    NothingLoaded,
    /// Another process holds the algorithm.
    #[error("{name} is loaded by {holder}, and is removed when that ends")]
    Held {
        /// The algorithm.
        name: String,
        /// The holder.
        holder: String,
    },
    /// The algorithm is in use.
    #[error(
        "{name} is in use: {by}\nhint: --wait until they have ended, or --force to move them to another algorithm"
    )]
    InUse {
        /// The algorithm.
        name: String,
        /// Its users.
        by: String,
    },
    /// Another `watch` is running.
    #[error("another `tidegate host watch` is running: only one can read the samples")]
    Watched,
    /// The reader of the output is gone, which is no failure.
    #[error("the reader has closed the pipe")]
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
