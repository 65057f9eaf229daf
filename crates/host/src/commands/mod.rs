//! Commands of `tidegate-host`: results go to standard output, messages to standard error.

mod load;
mod status;
mod unload;
mod watch;

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

use crate::algorithm::Algorithm;
use crate::args::{Common, HostCommand};
use crate::error::Error;
use crate::kernel;

/// Output settings of a command.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
    quiet: bool,
}

impl Output {
    /// Output settings from the command line.
    pub const fn new(common: Common) -> Self {
        Self { json: common.json, quiet: common.quiet }
    }

    /// Writes results. A reader that closes the pipe ends the command, which still cleans up.
    #[expect(clippy::unused_self, reason = "called on the settings like the other methods")]
    fn print(self, text: &str) -> Result<(), Error> {
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Error::ClosedPipe),
            other => other.map_err(Error::system("write to standard output")),
        }
    }

    fn print_json(self, value: &impl Serialize) -> Result<(), Error> {
        let text = serde_json::to_string(value);
        let text = text.map_err(Error::system("write JSON"))?;
        self.print(&format!("{text}\n"))
    }

    /// Prints an optional message.
    fn say(self, text: impl Display) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }

    /// Prints a warning.
    #[expect(clippy::unused_self, reason = "called on the settings like the other methods")]
    fn warn(self, text: impl Display) {
        eprintln!("warning: {text}");
    }
}

/// Runs a command.
pub fn run(command: &HostCommand) -> Result<(), Error> {
    kernel::silence();
    let output = Output::new(command.common());
    match command {
        HostCommand::Load(arguments) => load::load(arguments, output),
        HostCommand::Unload(arguments) => unload::unload(arguments, output),
        HostCommand::Status(arguments) => status::status(arguments, output),
        HostCommand::Watch(arguments) => watch::watch(arguments, output),
    }
}

/// The algorithm with this name, with its default parameters.
fn find(name: &str) -> Result<Algorithm, Error> {
    Algorithm::named(name).ok_or_else(|| {
        let near = |known: &&&str| strsim::damerau_levenshtein(known, name);
        let near = Algorithm::NAMES.iter().min_by_key(near);
        let near = near.filter(|known| strsim::damerau_levenshtein(known, name) <= 4);
        Error::Unknown {
            name: name.to_owned(),
            hint: near.map_or(String::new(), |near| format!("; did you mean {near}?")),
            known: Algorithm::NAMES.join(", "),
        }
    })
}

/// The given names without duplicates, or those from `otherwise` if none are given.
fn chosen(names: &[String], otherwise: impl FnOnce() -> Vec<String>) -> Vec<String> {
    let mut names = if names.is_empty() { otherwise() } else { names.to_vec() };
    names.sort();
    names.dedup();
    names
}
