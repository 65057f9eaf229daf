//! Where text goes: results to standard output, talk to standard error, colour only where it is
//! wanted.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard};

use clap::ColorChoice;

use crate::args::Common;

/// What goes to a program that has this one inside, instead of to the streams of the process.
#[derive(Default)]
pub(crate) struct Captured {
    /// Results.
    pub(crate) printed: String,
    /// Everything else, line by line, until somebody takes it.
    pub(crate) said: Vec<String>,
}

static CAPTURED: Mutex<Option<Captured>> = Mutex::new(None);

/// What is captured, if anything is.
pub(crate) fn captured() -> MutexGuard<'static, Option<Captured>> {
    CAPTURED.lock().expect("nobody panics while holding it")
}

/// Whether standard error is a terminal that bars can be shown on.
pub(crate) fn is_on_terminal() -> bool {
    captured().is_none() && io::stderr().is_terminal()
}

/// How a command ended that could be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// All went well.
    Good,
    /// It ran, but something failed.
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

/// Why a command could not be carried out.
#[derive(Debug)]
pub(crate) enum Error {
    /// Nobody reads standard output any more, which is the reader's right.
    ClosedPipe,
    /// Something else; the text says what, and what would work.
    Other(String),
}

impl Error {
    pub(crate) fn new(text: impl Display) -> Self {
        Self::Other(text.to_string())
    }
}

impl From<io::Error> for Error {
    /// Errors of standard output: those of files are reported with their path.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::Other(format!("standard output: {error}"))
        }
    }
}

/// Whether text has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Colour,
}

impl Paint {
    fn new(choice: ColorChoice, stream: &impl IsTerminal) -> Self {
        let is_on = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => stream.is_terminal() && allows_colour(),
        };
        if is_on { Self::Colour } else { Self::Plain }
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub(crate) fn code(self, text: &str) -> String {
        self.wrap("36", text)
    }

    pub(crate) fn best(self, text: &str) -> String {
        self.wrap("1;32", text)
    }

    pub(crate) fn tied(self, text: &str) -> String {
        self.wrap("32", text)
    }

    fn warning(self, text: &str) -> String {
        self.wrap("33", text)
    }

    fn error(self, text: &str) -> String {
        self.wrap("1;31", text)
    }
}

/// <https://no-color.org>: any value but an empty one turns colour off.
fn allows_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// What a screen has that nobody knows anything of.
const COLUMNS: usize = 80;

/// Tables and plots need this many, and gain nothing from more.
const NARROWEST: usize = 40;
const WIDEST: usize = 120;

/// The columns of the terminal behind standard output. Where there is none, those that the variable
/// `COLUMNS` names.
fn columns() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout());
    let terminal = terminal.map(|(terminal_size::Width(columns), _)| usize::from(columns));
    let named = || std::env::var_os("COLUMNS")?.to_str()?.trim().parse().ok();
    let known = terminal.or_else(named).filter(|&columns| columns > 0);
    known.unwrap_or(COLUMNS).clamp(NARROWEST, WIDEST)
}

/// How a command speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// The paint of standard output.
    pub(crate) paint: Paint,
    /// The columns of standard output.
    pub(crate) width: usize,
    talk: Paint,
}

impl Output {
    pub(crate) fn new(common: Common) -> Self {
        Self {
            json: common.json,
            quiet: common.quiet,
            paint: Paint::new(common.color, &io::stdout()),
            width: columns(),
            talk: Paint::new(common.color, &io::stderr()),
        }
    }

    /// Says nothing but warnings.
    pub(crate) const fn quiet() -> Self {
        Self { json: false, quiet: true, paint: Paint::Plain, width: COLUMNS, talk: Paint::Plain }
    }

    /// The same, which says nothing but warnings and errors.
    pub(crate) fn silent(self) -> Self {
        Self { quiet: true, ..self }
    }

    /// Writes results.
    #[expect(clippy::unused_self, reason = "whoever prints has one")]
    pub(crate) fn print(self, text: &str) -> Result<(), Error> {
        if let Some(captured) = captured().as_mut() {
            captured.printed.push_str(text);
            return Ok(());
        }
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

    /// Says something that is no result.
    pub(crate) fn say(self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }

    /// Says why a number should not be trusted, or what went wrong with a part of the work.
    pub(crate) fn warn(self, text: &str) {
        say(&format!("{} {text}", self.talk.warning("warning:")));
    }

    /// Says why the command could not be carried out.
    pub(crate) fn fail(self, text: &str) {
        say(&format!("{} {text}", self.talk.error("error:")));
    }
}

/// A standard error that is closed is no reason to stop.
pub(crate) fn say(text: &str) {
    if let Some(captured) = captured().as_mut() {
        captured.said.push(text.to_owned());
        return;
    }
    let _ = writeln!(io::stderr().lock(), "{text}");
}
