//! Background threads of a running switch, for its file and its messages: neither a slow file nor
//! an unread standard error holds the switch up.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use tidegate_live::Config;
use tidegate_live::switch::Markers;
use tidegate_testbed::read_switch;

use crate::output::{Error, Output};

/// Longest file of a switch.
const LONGEST_FILE: u64 = 1 << 20;

/// Longest message in characters, and most unread messages. Further ones are lost.
const LONGEST_MESSAGE: usize = 2_048;
const MESSAGES: usize = 64;

/// How long the last messages wait for a reader before the program ends.
const TIMEOUT: Duration = Duration::from_millis(500);

/// How long results wait for a reader, such as a pager.
const PATIENCE: Duration = Duration::from_secs(5);

/// File of a switch. This process moves into its folder, to find it there later even if it cannot
/// read the folders above.
pub(super) struct Source {
    /// Name that the user gave.
    pub(super) name: String,
    path: PathBuf,
}

impl Source {
    pub(super) fn new(file: &Path) -> Self {
        let name = file.display().to_string();
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let path = match (folder.map(std::env::set_current_dir), file.file_name()) {
            (Some(Ok(())), Some(name)) => name.into(),
            _ => file.into(),
        };
        Self { name, path }
    }

    /// Reads any kind of file: at the start it can hold nothing up.
    pub(super) fn read(&self) -> Result<Config, Error> {
        self.parse(&File::open(&self.path).map_err(|error| self.unreadable(&error))?)
    }

    /// Opens the file without blocking.
    pub(super) fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(NONBLOCKING);
        options.open(&self.path)
    }

    /// Reloads the file if it is a regular one. Others might block.
    fn read_again(&self) -> Result<Config, Error> {
        let opened = self.open().map_err(|error| self.unreadable(&error))?;
        let found = opened.metadata().map_err(|error| self.unreadable(&error))?;
        if !found.is_file() {
            return Err(Error::new(format!("{} is not a regular file", self.name)));
        }
        self.parse(&opened)
    }

    fn parse(&self, opened: &File) -> Result<Config, Error> {
        let name = &self.name;
        let mut text = String::new();
        let read = opened.take(LONGEST_FILE + 1).read_to_string(&mut text);
        read.map_err(|error| self.unreadable(&error))?;
        if text.len() as u64 > LONGEST_FILE {
            let limit = LONGEST_FILE >> 20;
            return Err(Error::new(format!("{name} is longer than {limit} MiB")));
        }
        read_switch(name, &text).map_err(Error::new)
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        Error::new(format!("cannot read {}: {error}", self.name))
    }
}

/// Linux' `O_NONBLOCK`: opening a pipe does not wait for its writer.
const NONBLOCKING: i32 = 0o4000;

/// Prints messages of a switch.
#[derive(Clone)]
pub(super) struct Logger {
    messages: SyncSender<Message>,
    output: Output,
}

enum Message {
    Say(String),
    Warn(String),
}

/// Waits a limited time for the last messages.
pub(super) struct Flush(Receiver<()>);

impl Logger {
    pub(super) fn start(output: Output) -> Result<(Self, Flush), Error> {
        let (messages, waiting) = mpsc::sync_channel(MESSAGES);
        let (done, is_done) = mpsc::channel();
        start("logger", move || {
            for message in waiting {
                match message {
                    Message::Say(text) => output.say(&text),
                    Message::Warn(text) => output.warn(&text),
                }
            }
            // The program may have stopped waiting.
            let _ = done.send(());
        })?;
        Ok((Self { messages, output }, Flush(is_done)))
    }

    /// Prints a message, unless too many are unread.
    pub(super) fn say(&self, text: &str) {
        if !self.output.quiet {
            let _ = self.messages.try_send(Message::Say(cut(text)));
        }
    }

    /// Prints a warning, unless too many messages are unread.
    pub(super) fn warn(&self, text: &str) {
        let _ = self.messages.try_send(Message::Warn(cut(text)));
    }
}

impl Flush {
    /// Call it when no logger is left.
    pub(super) fn wait(self) {
        // An unread pipe does not hold up the end.
        let _ = self.0.recv_timeout(TIMEOUT);
    }
}

/// Waits a limited time for an action that needs a reader; `None` if it did not finish.
pub(super) fn patiently<T: Send + 'static>(
    action: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, Error> {
    let (done, is_done) = mpsc::channel();
    // The program may have stopped waiting.
    start("printer", move || drop(done.send(action())))?;
    Ok(is_done.recv_timeout(PATIENCE).ok())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Reloads the file of a running switch on request.
pub(super) struct Reader {
    requests: SyncSender<()>,
    ready: Receiver<Markers>,
    used: SyncSender<Markers>,
}

impl Reader {
    /// For a switch that runs with `config`.
    pub(super) fn start(source: Source, config: Config, logger: Logger) -> Result<Self, Error> {
        let (requests, asked) = mpsc::sync_channel(1);
        let (prepared, ready) = mpsc::sync_channel(1);
        let (used, returned) = mpsc::sync_channel(1);
        start("reader", move || {
            let mut config = config;
            while asked.recv().is_ok() {
                match prepare(&source, &config) {
                    Ok((new, markers)) => {
                        config = new;
                        // The switch returns the old schemes when it takes the new ones.
                        if prepared.send(markers).is_err() || returned.recv().is_err() {
                            return;
                        }
                        logger.say(&format!("reloaded {}", source.name));
                    }
                    Err(Error::Other(text)) => {
                        logger.warn(&format!("reload refused: {text}"));
                    }
                    Err(Error::ClosedPipe) => {}
                }
            }
        })?;
        Ok(Self { requests, ready, used })
    }

    /// Requests a reload; repeated requests count once.
    pub(super) fn ask(&self) {
        let _ = self.requests.try_send(());
    }

    /// Lets `exchange` swap in schemes that are ready, if any, and takes the old ones back.
    pub(super) fn take(&self, exchange: impl FnOnce(&mut Markers)) {
        if let Ok(mut markers) = self.ready.try_recv() {
            exchange(&mut markers);
            // There is room: nothing is ready before the last ones were returned.
            let _ = self.used.try_send(markers);
        }
    }
}

fn prepare(source: &Source, config: &Config) -> Result<(Config, Markers), Error> {
    let new = source.read_again()?;
    config.reload(&new).map_err(Error::new)?;
    let markers = Markers::new(&new).map_err(Error::new)?;
    Ok((new, markers))
}

/// Starts a thread with the privileges of this one, which is never joined.
fn start(name: &str, action: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let thread = thread::Builder::new().name(name.into());
    let started = thread.spawn(|| {
        tidegate_live::lower_priority();
        action();
    });
    started.map(drop).map_err(Error::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = cut(&"é".repeat(2 * LONGEST_MESSAGE));
        assert_eq!(long.chars().count(), LONGEST_MESSAGE + 1);
        assert!(long.ends_with('…'));
    }
}
