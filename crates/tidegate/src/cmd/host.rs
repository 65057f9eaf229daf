//! `tidegate host`: runs the program `tidegate-host`, which needs more tools to build than this
//! one.

use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::{convert::Infallible, io, path::PathBuf, process::Command};

use crate::output::{Error, ExitStatus};

#[cfg(target_os = "linux")]
const PROGRAM: &str = "tidegate-host";

/// Replaces this process with `tidegate-host` and the same arguments. They are parsed first, so
/// that errors in them are reported even without `tidegate-host`.
#[cfg(target_os = "linux")]
pub(crate) fn host(words: &[OsString]) -> Result<ExitStatus, Error> {
    match become_program(words.get(2..).unwrap_or_default()) {
        Ok(never) => match never {},
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::new(MISSING)),
        Err(error) => Err(Error::new(format!("cannot run {PROGRAM}: {error}"))),
    }
}

#[cfg(target_os = "linux")]
const MISSING: &str = "`tidegate host` needs the program tidegate-host, beside tidegate or on the PATH\n\
    hint: on Debian: apt-get install clang libbpf-dev libelf-dev zlib1g-dev bpftool make pkg-config, then: \
    cargo build --release --package tidegate-host --features bpf";

/// Returns only on failure.
#[cfg(target_os = "linux")]
fn become_program(words: &[OsString]) -> io::Result<Infallible> {
    let beside = std::env::current_exe()
        .ok()
        .map(|own| own.with_file_name(PROGRAM))
        .filter(|path| path.exists());
    let program = beside.unwrap_or_else(|| PathBuf::from(PROGRAM));
    Err(std::os::unix::process::CommandExt::exec(Command::new(program).args(words)))
}

/// Refuses `tidegate host`.
#[cfg(not(target_os = "linux"))]
pub(crate) fn host(_: &[OsString]) -> Result<ExitStatus, Error> {
    Err(Error::new("`tidegate host` needs Linux"))
}
