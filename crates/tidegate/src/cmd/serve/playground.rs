//! The playground: its page, and its simulator, which is this program in a process per request.

#![expect(
    clippy::disallowed_methods,
    reason = "the program's edge: a run has so much time, and ends with the page that asked for it"
)]

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tidegate_report::page::STYLE;
use tidegate_web::page;

use super::TEXT;
use crate::output::{Error, ExitStatus};
use crate::process;

/// Message about an export without the playground.
pub(super) const NONE: &str = "the export has no playground: a static web server needs the simulator as WebAssembly. Build it with \
                               `crates/web/build` or take it from a release, and name its folder: --playground FOLDER";

/// Address of the simulator, beside the page.
pub(super) const SIMULATOR: &str = "simulate";

/// File that identifies a folder with the playground.
const WASM: &str = "tidegate.wasm";
const INDEX: &str = "index.html";

/// The program's own files by name. The server simulates.
pub(super) fn embedded() -> Vec<(String, Vec<u8>)> {
    let style = [("report.css", STYLE)];
    let files = page::FILES.iter().chain(&style);
    let bytes = |name: &str, text: &str| match name {
        INDEX => page::served(text, Some(SIMULATOR)).into_bytes(),
        _ => text.as_bytes().to_vec(),
    };
    let files = files.map(|&(name, text)| (name.to_owned(), bytes(name, text)));
    files.collect()
}

/// Files of a folder that `crates/web/build` made. The browser simulates.
pub(super) fn from_folder(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, Error> {
    if !folder.join(WASM).is_file() {
        let folder = folder.display();
        return Err(Error::new(format!(
            "no playground in {folder}\nhint: build one with crates/web/build"
        )));
    }
    let cannot = Error::read(folder);
    let mut files = Vec::new();
    for file in fs::read_dir(folder).map_err(cannot)? {
        let path = file.map_err(cannot)?.path();
        if let Some(name) = path.file_name().and_then(|name| name.to_str())
            && path.is_file()
        {
            let mut bytes = fs::read(&path).map_err(cannot)?;
            if name == INDEX {
                bytes = page::served(&String::from_utf8_lossy(&bytes), None).into_bytes();
            }
            files.push((name.to_owned(), bytes));
        }
    }
    Ok(files)
}

/// Time limit of a simulation; its results so far are shown.
const RUN_TIME: Duration = Duration::from_secs(20);

/// Time limit of a request, including reading the scenario and sending the answer.
const REQUEST_TIME: Duration = Duration::from_secs(40);

/// Interval between checks of a waiting request.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Longest answer in bytes: far above the limits of the page.
const MOST_OUTPUT: u64 = 256 << 20;

/// Answers the request on standard input: `tidegate simulate`, which a server starts.
pub(crate) fn simulate() -> Result<ExitStatus, Error> {
    process::end_with_parent();
    let mut request = String::new();
    let mut input = io::stdin().lock().take(2 * TEXT as u64);
    input.read_to_string(&mut request).map_err(Error::new)?;
    let limit = Instant::now() + RUN_TIME;
    let answer = tidegate_web::answer(&request, &mut |_| Instant::now() < limit);
    // A reader that closes the pipe is no error.
    drop(io::stdout().lock().write_all(&answer));
    Ok(ExitStatus::Good)
}

/// Limits the requests answered at once. Others wait.
#[derive(Clone)]
pub(super) struct Lanes(Arc<(Mutex<usize>, Condvar)>);

const LANES: usize = 4;

impl Default for Lanes {
    fn default() -> Self {
        Self(Arc::new((Mutex::new(LANES), Condvar::new())))
    }
}

impl Lanes {
    /// Waits for a lane. Nothing if the client leaves meanwhile.
    fn take(&self, is_gone: &dyn Fn() -> bool) -> Option<Lane<'_>> {
        let (free, changed) = &*self.0;
        let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            if is_gone() {
                return None;
            }
            let waited = changed.wait_timeout(free, POLL_INTERVAL);
            free = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Some(Lane(self))
    }
}

struct Lane<'a>(&'a Lanes);

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        let (free, changed) = &*self.0.0;
        *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        changed.notify_one();
    }
}

/// A request of the page.
pub(super) struct Simulation {
    pub(super) request: Vec<u8>,
    pub(super) lanes: Lanes,
    /// Starts `tidegate simulate`.
    pub(super) start: Box<dyn Fn() -> Result<Child, String>>,
}

impl Simulation {
    /// Returns the answer. Nothing if the client leaves meanwhile.
    pub(super) fn answer(self, is_gone: &dyn Fn() -> bool) -> Option<Vec<u8>> {
        let _lane = self.lanes.take(is_gone)?;
        let mut child = match (self.start)() {
            Ok(child) => child,
            Err(why) => return Some(tidegate_web::refusal(&why)),
        };
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (send, receive) = mpsc::channel();
        let request = self.request;
        thread::spawn(move || input.map(|mut input| input.write_all(&request)));
        thread::spawn(move || {
            let mut answer = Vec::new();
            let read = output.map(|output| output.take(MOST_OUTPUT).read_to_end(&mut answer));
            // The client may have left.
            drop(read.and_then(Result::ok).map(|_| send.send(answer)));
        });
        let limit = Instant::now() + REQUEST_TIME;
        let answer = loop {
            match receive.recv_timeout(POLL_INTERVAL) {
                Err(RecvTimeoutError::Timeout) if is_gone() => break None,
                Err(RecvTimeoutError::Timeout) if Instant::now() < limit => {}
                answer => break Some(answer.unwrap_or_default()),
            }
        };
        // It may have ended.
        drop(child.kill());
        let status = child.wait();
        let is_whole = status.is_ok_and(|status| status.success());
        let answer = answer?;
        if is_whole && !answer.is_empty() {
            return Some(answer);
        }
        Some(tidegate_web::refusal(
            "the simulation exceeded its limit of time or memory: make the scenario smaller, or run it with \
             `tidegate run`",
        ))
    }
}
