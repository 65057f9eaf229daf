//! `tidegate host`: a program of its own carries it out, because it takes more to build than this
//! one.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::output::{Error, ExitStatus};

const PROGRAM: &str = "tidegate-host";

/// Becomes `tidegate-host`, with the same words. They were read once already, so that mistakes in
/// them are reported whether it is there or not.
pub(crate) fn host(words: &[OsString]) -> Result<ExitStatus, Error> {
    match become_program(words.get(2..).unwrap_or_default()) {
        Ok(never) => match never {},
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::new(MISSING)),
        Err(error) => Err(Error::new(format!("cannot run {PROGRAM}: {error}"))),
    }
}

const MISSING: &str = "`tidegate host` needs the program tidegate-host, beside tidegate or on the PATH\n\
    hint: on Debian: apt-get install clang libbpf-dev libelf-dev zlib1g-dev bpftool make pkg-config, then: \
    cargo build --release --package tidegate-host --features bpf";

/// Returns only if that fails.
fn become_program(words: &[OsString]) -> io::Result<Infallible> {
    let beside = std::env::current_exe()
        .ok()
        .map(|own| own.with_file_name(PROGRAM))
        .filter(|path| path.exists());
    let program = beside.unwrap_or_else(|| PathBuf::from(PROGRAM));
    Err(Command::new(program).args(words).exec())
}
