//! Output: results to standard output, messages to standard error, colors only on terminals.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use clap::ColorChoice;
pub(crate) use tidegate_study::terminal::Paint;

use crate::args::Common;

/// Status of a command that could be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Success.
    Good,
    /// Something failed or was interrupted.
    Bad,
}

impl ExitStatus {
    /// The exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Bad => 1,
        }
    }
}

/// Reason why a command could not be carried out.
#[derive(Debug)]
pub(crate) enum Error {
    /// The reader of standard output has closed it, which is not an error.
    ClosedPipe,
    /// Anything else, with a text that may end with a hint.
    Other(String),
}

impl Error {
    pub(crate) fn new(text: impl Display) -> Self {
        Self::Other(text.to_string())
    }

    /// Makes an error of a file or folder that cannot be read.
    pub(crate) fn read<E: Display>(path: &Path) -> impl Fn(E) -> Self + Copy {
        move |error| Self::new(format!("cannot read {}: {error}", path.display()))
    }

    /// Makes an error of a file or folder that cannot be written.
    pub(crate) fn write<E: Display>(path: &Path) -> impl Fn(E) -> Self + Copy {
        move |error| Self::new(format!("cannot write {}: {error}", path.display()))
    }
}

impl From<io::Error> for Error {
    /// Error of standard output. Errors of files are reported with their path.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::Other(format!("standard output: {error}"))
        }
    }
}

/// The paint of a stream.
fn paint(choice: ColorChoice, stream: &impl IsTerminal) -> Paint {
    let is_on = match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => stream.is_terminal() && allows_color(),
    };
    if is_on { Paint::Colour } else { Paint::Plain }
}

/// <https://no-color.org>: any value but an empty one turns colors off.
fn allows_color() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Columns of an unknown terminal.
const COLUMNS: usize = 80;

/// Tables and plots need the first, and gain nothing beyond the second.
const NARROWEST: usize = 40;
const WIDEST: usize = 120;

/// Columns of the terminal of standard output, or without one the variable `COLUMNS`.
fn columns() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout());
    let terminal = terminal.map(|(terminal_size::Width(columns), _)| usize::from(columns));
    let named = || std::env::var_os("COLUMNS")?.to_str()?.trim().parse().ok();
    let known = terminal.or_else(named).filter(|&columns| columns > 0);
    known.unwrap_or(COLUMNS).clamp(NARROWEST, WIDEST)
}

/// Output of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// Paint of standard output.
    pub(crate) paint: Paint,
    /// Columns of standard output.
    pub(crate) width: usize,
    /// Paint of standard error.
    messages: Paint,
}

impl Output {
    pub(crate) fn new(common: Common) -> Self {
        Self {
            json: common.json,
            quiet: common.quiet,
            paint: paint(common.color, &io::stdout()),
            width: columns(),
            messages: paint(common.color, &io::stderr()),
        }
    }

    /// The same, but with warnings and errors only.
    pub(crate) fn silent(self) -> Self {
        Self { quiet: true, ..self }
    }

    /// Writes results.
    #[expect(clippy::unused_self, reason = "callers that may print have an output")]
    pub(crate) fn print(self, text: &str) -> Result<(), Error> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Writes a value as JSON.
    pub(crate) fn print_json(self, value: &impl serde::Serialize) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(value).map_err(Error::new)?;
        text.push('\n');
        self.print(&text)
    }

    /// Prints a message.
    pub(crate) fn say(self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }

    /// Prints a warning: a reason not to trust a number, or a failure of a part of the work.
    pub(crate) fn warn(self, text: &str) {
        say(&format!("{} {text}", self.messages.warning("warning:")));
    }

    /// Prints the reason why the command could not be carried out.
    pub(crate) fn fail(self, text: &str) {
        say(&format!("{} {text}", self.messages.error("error:")));
    }
}

/// Prints a line to standard error, which may be closed.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
