//! Programs in the kernel.

pub mod port;
pub mod replay;

use std::sync::{Mutex, PoisonError};

use libbpf_rs::{ObjectBuilder, OpenObject, PrintLevel};

use crate::error::Error;

/// Reads compiled programs, and gives them their settings.
fn open(name: &str, programs: &[u8], setup: &[u8]) -> Result<OpenObject, Error> {
    // libbpf requires alignment, which a copy has.
    let aligned = programs.to_vec();
    let opened =
        ObjectBuilder::default().name(name).and_then(|builder| builder.open_memory(&aligned));
    let mut object = opened.map_err(Error::system(format!("read the programs of {name}")))?;
    let mut map = object.maps_mut().find(|map| map.name() == SETUP);
    let words = map.as_mut().and_then(|map| map.initial_value_mut());
    match words.and_then(|words| words.get_mut(..setup.len())) {
        Some(place) => place.copy_from_slice(setup),
        None => return Err(Error::system("set up the programs")("they have other settings")),
    }
    Ok(object)
}

/// Section of the settings.
const SETUP: &str = ".rodata.setup";

/// Output of libbpf, including the kernel's reasons. Errors quote the end of it.
static PRINTED: Mutex<String> = Mutex::new(String::new());

/// Keeps libbpf's output off the screen.
pub fn silence() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
        printed.push_str(&text);
    })));
}

/// Error: the kernel refused programs.
fn refused(what: &str, error: &libbpf_rs::Error) -> Error {
    let printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lines: Vec<_> = printed.lines().rev().take(REASONS).collect();
    lines.push("");
    lines.reverse();
    let reasons = lines.join("\n  ");
    Error::System { action: format!("load {what}"), why: format!("{error}{reasons}") }
}

/// Number of lines quoted: the important reasons come last.
const REASONS: usize = 12;
