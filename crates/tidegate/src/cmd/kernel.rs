//! `tidegate host` and `tidegate qdisc`: run programs that need more tools to build than this one.

use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::{convert::Infallible, io, path::PathBuf, process::Command};

use crate::output::{Error, ExitStatus};

/// A command that another program carries out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// Second word of the command.
    command: &'static str,
    /// Packages of Debian that building it needs.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "it is built on Linux only"))]
    packages: &'static str,
}

/// Runs `tidegate-host`.
pub(crate) const HOST: Program = Program {
    command: "host",
    packages: "clang libbpf-dev libelf-dev zlib1g-dev bpftool make pkg-config",
};

/// Runs `tidegate-qdisc`.
pub(crate) const QDISC: Program = Program {
    command: "qdisc",
    packages: "clang-19 libbpf-dev libelf-dev zlib1g-dev bpftool make pkg-config",
};

impl Program {
    /// Replaces this process with the program and the same arguments. They are parsed first, so
    /// that errors in them are reported even without the program.
    #[cfg(target_os = "linux")]
    pub(crate) fn run(self, words: &[OsString]) -> Result<ExitStatus, Error> {
        let Self { command, packages } = self;
        let name = format!("tidegate-{command}");
        match become_program(&name, words.get(2..).unwrap_or_default()) {
            Ok(never) => match never {},
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::new(format!(
                "`tidegate {command}` needs the program {name}, beside tidegate or on the PATH\n\
                 hint: on Debian: apt-get install {packages}, then: \
                 cargo build --release --package {name} --features bpf"
            ))),
            Err(error) => Err(Error::new(format!("cannot run {name}: {error}"))),
        }
    }

    /// Refuses the command.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn run(self, _: &[OsString]) -> Result<ExitStatus, Error> {
        Err(Error::new(format!("`tidegate {}` needs Linux", self.command)))
    }
}

/// Returns only on failure.
#[cfg(target_os = "linux")]
fn become_program(name: &str, words: &[OsString]) -> io::Result<Infallible> {
    let beside = std::env::current_exe()
        .ok()
        .map(|own| own.with_file_name(name))
        .filter(|path| path.exists());
    let program = beside.unwrap_or_else(|| PathBuf::from(name));
    Err(std::os::unix::process::CommandExt::exec(Command::new(program).args(words)))
}
