//! What a running switch has done beside it, by threads of their own: whatever a file or the reader
//! of standard error does, the switch goes on.

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

/// The longest file of a switch.
const LONGEST_FILE: u64 = 1 << 20;

/// The longest message in characters, and how many wait to be read. Those beyond are not said.
const LONGEST_MESSAGE: usize = 2_048;
const MESSAGES: usize = 64;

/// How long the last messages wait for a reader before the program ends.
const TIMEOUT: Duration = Duration::from_millis(500);

/// How long results do, which somebody may want to read in his own time.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file of a switch. This process moves into its folder, so that it is found there later,
/// whoever may look into the folders above.
pub(super) struct Source {
    /// As the user calls it.
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

    /// Reads it, whatever it is: at the start there is nothing to be held up.
    pub(super) fn read(&self) -> Result<Config, Error> {
        self.parse(&File::open(&self.path).map_err(|error| self.unreadable(&error))?)
    }

    /// Opens it without waiting for anything.
    pub(super) fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(NONBLOCKING);
        options.open(&self.path)
    }

    /// Reads it again, if it is a file and not something that may keep its reader waiting.
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

/// Prints the messages of a switch.
#[derive(Clone)]
pub(super) struct Logger {
    messages: SyncSender<Message>,
    output: Output,
}

enum Message {
    Say(String),
    Warn(String),
}

/// Waits until all is said, but not long.
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
            // If nobody waits for it any more, nobody misses it.
            let _ = done.send(());
        })?;
        Ok((Self { messages, output }, Flush(is_done)))
    }

    /// Says something, unless too much is unread already.
    pub(super) fn say(&self, text: &str) {
        if !self.output.quiet {
            let _ = self.messages.try_send(Message::Say(cut(text)));
        }
    }

    /// The same for what should not have happened.
    pub(super) fn warn(&self, text: &str) {
        let _ = self.messages.try_send(Message::Warn(cut(text)));
    }
}

impl Flush {
    /// To be called when no logger is left.
    pub(super) fn wait(self) {
        // An unread pipe is no reason to stay.
        let _ = self.0.recv_timeout(TIMEOUT);
    }
}

/// Does something that waits for a reader, but not for ever; `None` if it did not come to an end.
pub(super) fn patiently<T: Send + 'static>(
    action: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, Error> {
    let (done, is_done) = mpsc::channel();
    // If nobody waits for it any more, nobody misses it.
    start("printer", move || drop(done.send(action())))?;
    Ok(is_done.recv_timeout(PATIENCE).ok())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Reads the file of a running switch again when it is asked to.
pub(super) struct Reader {
    requests: SyncSender<()>,
    ready: Receiver<Markers>,
    used: SyncSender<Markers>,
}

impl Reader {
    /// For the switch that runs as `config` says.
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
                        // What the switch had before comes back when it has the new.
                        if prepared.send(markers).is_err() || returned.recv().is_err() {
                            return;
                        }
                        logger.say(&format!("read {} again", source.name));
                    }
                    Err(Error::Other(text)) => {
                        logger.warn(&format!("nothing has changed: {text}"));
                    }
                    Err(Error::ClosedPipe) => {}
                }
            }
        })?;
        Ok(Self { requests, ready, used })
    }

    /// Asks for the file to be read; once is enough if it was asked for before.
    pub(super) fn ask(&self) {
        let _ = self.requests.try_send(());
    }

    /// Has `exchange` put what is ready to use, if anything is, and give back what was used.
    pub(super) fn take(&self, exchange: impl FnOnce(&mut Markers)) {
        if let Ok(mut markers) = self.ready.try_recv() {
            exchange(&mut markers);
            // There is room: nothing is ready before the last came back.
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

/// A thread with the privileges of this one, for which nobody waits.
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
    fn messages_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = cut(&"é".repeat(2 * LONGEST_MESSAGE));
        assert_eq!(long.chars().count(), LONGEST_MESSAGE + 1);
        assert!(long.ends_with('…'));
    }
}
