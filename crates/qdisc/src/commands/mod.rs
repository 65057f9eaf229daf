//! Commands of `tidegate-qdisc`: results go to standard output, messages to standard error.

mod load;
mod status;
mod unload;

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

use crate::args::{Common, QdiscCommand};
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

    /// Writes results.
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
pub fn run(command: &QdiscCommand) -> Result<(), Error> {
    kernel::silence();
    let output = Output::new(command.common());
    match command {
        QdiscCommand::Load(arguments) => load::load(arguments, output),
        QdiscCommand::Unload(arguments) => unload::unload(arguments, output),
        QdiscCommand::Status(arguments) => status::status(arguments, output),
    }
}
