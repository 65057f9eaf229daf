//! Studies: each is this program in a process of its own, with the arguments of a command line. Its
//! only result is an ordinary results folder.

#![expect(
    clippy::disallowed_methods,
    reason = "the program's edge: processes take their time, and have only so much of it"
)]

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tidegate_report::folder::Folder;
use tidegate_study::lock::is_locked;
use tidegate_study::process::in_own_group;
use tidegate_study::text::{count, quoted};

use super::playground::{Lanes, Simulation};
use super::results::file_name;
use crate::args::Serve;
use crate::process;

/// Time limit of checking a scenario.
const CHECK_TIME: Duration = Duration::from_secs(20);

/// Time of a study to stop on request before it is killed.
const STOP_TIME: Duration = Duration::from_secs(20);

/// Interval between checks of processes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Number of kept lines of a study's messages.
const KEPT_LINES: usize = 30;

/// Most bytes read from a process.
const MOST_OUTPUT: u64 = 8 << 20;

/// Studies of this server. Clones share them.
#[derive(Clone)]
pub(super) struct Studies {
    limits: Limits,
    by_folder: Arc<Mutex<BTreeMap<PathBuf, Arc<Study>>>>,
    /// Held while a scenario is checked: one at a time.
    checking: Arc<Mutex<()>>,
    simulating: Lanes,
    /// No further process may start.
    is_ending: Arc<AtomicBool>,
}

/// Limits of studies.
#[derive(Clone)]
struct Limits {
    is_read_only: bool,
    runs: usize,
    time: Duration,
    memory: u64,
    jobs: Option<NonZeroUsize>,
}

/// A process that runs the missing runs of a folder.
struct Study {
    process: Mutex<Child>,
    messages: Mutex<VecDeque<String>>,
    state: Mutex<State>,
}

#[derive(Clone, Copy)]
enum State {
    /// Time and reason of the request to stop.
    Running {
        until: Instant,
        stopped: Option<(Instant, StopReason)>,
    },
    Ended {
        status: Option<ExitStatus>,
        stopped: Option<StopReason>,
    },
}

/// Source of a study's scenario.
enum Source<'a> {
    File(&'a Path),
    /// Text for standard input, so that no file is written.
    Input(String),
}

/// Why a study was stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopReason {
    Requested,
    TimeLimit,
}

/// State of a process for a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ProcessState {
    /// Whether it was started here and is running.
    pub(super) is_running: bool,
    /// Its last message, or why it ended.
    pub(super) message: String,
}

/// Reason of a refusal, for the page.
pub(super) type Refusal = String;

impl Studies {
    pub(super) fn new(arguments: &Serve) -> Self {
        Self {
            limits: Limits {
                is_read_only: arguments.read_only,
                runs: arguments.most_runs,
                time: Duration::from_secs(60 * u64::from(arguments.most_minutes)),
                memory: u64::from(arguments.most_memory) << 30,
                jobs: arguments.jobs,
            },
            by_folder: Arc::default(),
            checking: Arc::default(),
            simulating: Lanes::default(),
            is_ending: Arc::default(),
        }
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.limits.is_read_only
    }

    /// Limits of studies in words.
    pub(super) fn limits(&self) -> String {
        let minutes = self.limits.time.as_secs() / 60;
        let memory = if process::CAN_LIMIT_MEMORY {
            format!("{} GiB of memory, ", self.limits.memory >> 30)
        } else {
            String::new()
        };
        format!(
            "up to {}, {}, {memory}one study at a time",
            count(self.limits.runs, "run"),
            count(usize::try_from(minutes).unwrap_or(usize::MAX), "minute"),
        )
    }

    /// Result of `tidegate check --json` for a scenario.
    pub(super) fn check(&self, text: &str) -> Result<Value, Refusal> {
        self.refuse_read_only()?;
        let Ok(_alone) = self.checking.try_lock() else {
            return Err("another scenario is being checked: try again".to_owned());
        };
        let arguments = ["check", "-", "--json"].map(OsString::from);
        let mut child = self.start_process(&arguments, Stdio::piped(), Stdio::piped())?;
        let output = thread::scope(|scope| {
            if let Some(mut input) = child.stdin.take() {
                // A process that stops reading reports why.
                scope.spawn(move || drop(input.write_all(text.as_bytes())));
            }
            let (output, errors) = (child.stdout.take(), child.stderr.take());
            let output = scope.spawn(move || read_all(output));
            let errors = scope.spawn(move || read_all(errors));
            let limit = Instant::now() + CHECK_TIME;
            while matches!(child.try_wait(), Ok(None))
                && Instant::now() < limit
                && !self.is_ending.load(Ordering::Relaxed)
            {
                thread::sleep(POLL_INTERVAL);
            }
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
            [output, errors].map(|text| text.join().unwrap_or_default())
        });
        let checked: Option<Vec<Value>> = serde_json::from_str(&output[0]).ok();
        let checked = checked.and_then(|all| all.into_iter().next());
        checked.ok_or_else(|| match output[1].trim() {
            "" => "checking the scenario exceeded 20 seconds or the memory limit".to_owned(),
            why => why.to_owned(),
        })
    }

    /// A request of the playground, which leaves nothing behind.
    pub(super) fn simulation(&self, request: &[u8]) -> Simulation {
        let studies = self.clone();
        Simulation {
            request: request.to_vec(),
            lanes: self.simulating.clone(),
            start: Box::new(move || {
                studies.start_process(&["simulate".into()], Stdio::piped(), Stdio::null())
            }),
        }
    }

    /// Starts a scenario in a new folder in `parent`. Returns the folder.
    pub(super) fn start(&self, text: &str, parent: &Path) -> Result<PathBuf, Refusal> {
        refuse_if_running(&self.lock())?;
        let checked = self.check(text)?;
        if checked["ok"] != true {
            return Err(problems(&checked));
        }
        self.refuse_too_many(&checked)?;
        let name = file_name(checked["name"].as_str().unwrap_or_default());
        fs::create_dir_all(parent).map_err(|error| cannot_write(parent, &error))?;
        // No other study can start until this is done.
        let mut studies = self.lock();
        refuse_if_running(&studies)?;
        let (file, folder) = create_file(parent, &name, text)?;
        self.spawn(&mut studies, Source::File(&file), &folder, false)?;
        Ok(folder)
    }

    /// Resumes the missing runs of a folder.
    pub(super) fn resume(&self, path: &Path) -> Result<(), Refusal> {
        self.refuse_read_only()?;
        let folder = Folder::open(path).map_err(|error| error.to_string())?;
        let manifest = folder.manifest();
        // Testbeds, figures and searches have commands of their own.
        let is_simple = manifest.command.starts_with("tidegate run ") && manifest.by.is_empty();
        if !is_simple {
            return Err(format!(
                "another command wrote these results; resume them with it: {}",
                manifest.command
            ));
        }
        let is_whole = path.join("summary.json").is_file();
        if is_whole && folder.finished().len() == manifest.runs.len() {
            return Err("all runs are finished".to_owned());
        }
        if manifest.runs.len() > self.limits.runs {
            return Err(self.too_many(manifest.runs.len()));
        }
        let mut studies = self.lock();
        let is_own = studies.get(path).is_some_and(|study| study.is_running());
        if is_own || is_locked(path) {
            return Err("the study is already running".to_owned());
        }
        refuse_if_running(&studies)?;
        // The text that the study started with here, which its runs name; else the equivalent text
        // of the manifest.
        let mut begun = path.as_os_str().to_owned();
        begun.push(".toml");
        let begun = PathBuf::from(begun);
        let command = format!("tidegate run {}", quoted(&begun.display().to_string()));
        let source = if manifest.command == command && begun.is_file() {
            Source::File(&begun)
        } else {
            Source::Input(manifest.scenario.clone())
        };
        self.spawn(&mut studies, source, path, true)
    }

    /// Asks a study that was started here to stop; finished runs are kept.
    pub(super) fn stop(&self, folder: &Path) -> Result<(), Refusal> {
        self.refuse_read_only()?;
        let study = self.lock().get(folder).cloned();
        match study {
            Some(study) if study.is_running() => {
                study.stop(StopReason::Requested);
                Ok(())
            }
            _ if is_locked(folder) => {
                Err("the study was started elsewhere: stop it there with Ctrl-C".to_owned())
            }
            _ => Err("the study is not running".to_owned()),
        }
    }

    /// State of the process that was started for a folder.
    pub(super) fn state(&self, folder: &Path) -> ProcessState {
        let study = self.lock().get(folder).cloned();
        study.map_or_else(ProcessState::default, |study| study.state(self.limits.time))
    }

    /// Stops everything and waits for it.
    pub(super) fn end(&self) {
        let all: Vec<Arc<Study>> = {
            let studies = self.lock();
            self.is_ending.store(true, Ordering::Relaxed);
            studies.values().cloned().collect()
        };
        drop(lock(&self.checking));
        for study in all.iter().filter(|study| study.is_running()) {
            study.stop(StopReason::Requested);
        }
        let limit = Instant::now() + STOP_TIME;
        while all.iter().any(|study| study.is_running()) && Instant::now() < limit {
            thread::sleep(POLL_INTERVAL);
        }
        for study in all.iter().filter(|study| study.is_running()) {
            // Its time to stop is over.
            let _ = lock(&study.process).kill();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<Study>>> {
        lock(&self.by_folder)
    }

    fn refuse_read_only(&self) -> Result<(), Refusal> {
        if self.limits.is_read_only {
            return Err("started with --read-only: studies cannot be started, stopped or resumed"
                .to_owned());
        }
        Ok(())
    }

    fn refuse_too_many(&self, checked: &Value) -> Result<(), Refusal> {
        let runs = checked["runs"].as_u64().unwrap_or(u64::MAX);
        match usize::try_from(runs) {
            Ok(runs) if runs <= self.limits.runs => Ok(()),
            _ => Err(self.too_many(usize::try_from(runs).unwrap_or(usize::MAX))),
        }
    }

    fn too_many(&self, runs: usize) -> Refusal {
        format!(
            "{} are more than the limit of {}\nhint: raise it with `tidegate serve --most-runs`, or use \
             `tidegate run`, which has no limit",
            count(runs, "run"),
            self.limits.runs
        )
    }

    /// Starts this program with limits.
    fn start_process(
        &self,
        arguments: &[OsString],
        input: Stdio,
        errors: Stdio,
    ) -> Result<Child, Refusal> {
        let cannot = |error: io::Error| format!("cannot start tidegate: {error}");
        if self.is_ending.load(Ordering::Relaxed) {
            return Err("the server is shutting down".to_owned());
        }
        let mut command = process::this_program().map_err(cannot)?;
        command.args(arguments).stdin(input).stdout(Stdio::piped()).stderr(errors);
        // The server passes one Ctrl-C on; a second one would kill the process.
        let child = in_own_group(&mut command).spawn().map_err(cannot)?;
        process::limit_memory(&child, self.limits.memory);
        Ok(child)
    }

    fn spawn(
        &self,
        studies: &mut BTreeMap<PathBuf, Arc<Study>>,
        source: Source<'_>,
        folder: &Path,
        resume: bool,
    ) -> Result<(), Refusal> {
        let (file, input) = match &source {
            Source::File(file) => (file.as_os_str(), Stdio::null()),
            Source::Input(_) => (OsStr::new("-"), Stdio::piped()),
        };
        let mut arguments: Vec<OsString> =
            vec!["run".into(), file.into(), "--out".into(), folder.into()];
        if resume {
            arguments.push("--resume".into());
        }
        if let Some(jobs) = self.limits.jobs {
            arguments.extend(["--jobs".into(), jobs.to_string().into()]);
        }
        let mut child = self.start_process(&arguments, input, Stdio::piped())?;
        if let (Some(mut input), Source::Input(text)) = (child.stdin.take(), source) {
            // A process that stops reading reports why.
            thread::spawn(move || drop(input.write_all(text.as_bytes())));
        }
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let study = Arc::new(Study {
            process: Mutex::new(child),
            messages: Mutex::default(),
            state: Mutex::new(State::Running {
                until: Instant::now() + self.limits.time,
                stopped: None,
            }),
        });
        studies.insert(folder.to_owned(), Arc::clone(&study));
        // The page renders its table from the folder.
        thread::spawn(move || output.map(|mut output| io::copy(&mut output, &mut io::sink())));
        thread::spawn(move || {
            let reader = {
                let study = Arc::clone(&study);
                thread::spawn(move || study.listen(errors))
            };
            study.watch();
            // The last messages may arrive after its end.
            drop(reader.join());
        });
        Ok(())
    }
}

impl Study {
    /// Keeps its last messages.
    fn listen(&self, errors: Option<impl Read>) {
        let Some(errors) = errors else { return };
        for line in BufReader::new(errors.take(MOST_OUTPUT)).lines().map_while(Result::ok) {
            let mut messages = lock(&self.messages);
            messages.push_back(line);
            if messages.len() > KEPT_LINES {
                messages.pop_front();
            }
        }
    }

    /// Waits for its end, and enforces the time limits.
    fn watch(&self) {
        loop {
            let over = lock(&self.process).try_wait();
            if !matches!(over, Ok(None)) {
                let mut state = lock(&self.state);
                let stopped = match *state {
                    State::Running { stopped, .. } => stopped.map(|(_, why)| why),
                    State::Ended { stopped, .. } => stopped,
                };
                *state = State::Ended { status: over.ok().flatten(), stopped };
                return;
            }
            let now = Instant::now();
            let state = *lock(&self.state);
            match state {
                State::Running { stopped: Some((since, _)), .. } if now > since + STOP_TIME => {
                    // It may have ended.
                    let _ = lock(&self.process).kill();
                }
                State::Running { stopped: None, until } if now > until => {
                    self.stop(StopReason::TimeLimit);
                }
                _ => {}
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn is_running(&self) -> bool {
        matches!(*lock(&self.state), State::Running { .. })
    }

    /// Interrupts it like Ctrl-C, once.
    fn stop(&self, why: StopReason) {
        if let State::Running { stopped, .. } = &mut *lock(&self.state)
            && stopped.is_none()
        {
            *stopped = Some((Instant::now(), why));
            process::interrupt(&mut lock(&self.process));
        }
    }

    fn state(&self, time: Duration) -> ProcessState {
        let state = *lock(&self.state);
        let last = lock(&self.messages).back().cloned().unwrap_or_default();
        // All last messages explain a failure.
        let all = || {
            let kept = lock(&self.messages);
            let lines: Vec<&str> = kept.iter().map(String::as_str).collect();
            lines.join("\n")
        };
        let minutes = time.as_secs() / 60;
        let message = match state {
            State::Running { stopped: Some(_), .. } => {
                "stopping; finished runs are kept".to_owned()
            }
            State::Running { .. } => last,
            State::Ended { stopped: Some(StopReason::Requested), .. } => {
                "stopped; finished runs are kept".to_owned()
            }
            State::Ended { stopped: Some(StopReason::TimeLimit), .. } => {
                format!("stopped at the limit of {minutes} minutes; finished runs are kept")
            }
            State::Ended { status: Some(status), .. } if status.success() => String::new(),
            State::Ended { status: Some(status), .. } if status.code().is_none() => {
                format!("{}\nthe process was killed: {status}", all())
            }
            State::Ended { .. } => all(),
        };
        ProcessState {
            is_running: matches!(state, State::Running { .. }),
            message: message.trim().to_owned(),
        }
    }
}

/// Refuses if another study is running.
fn refuse_if_running(studies: &BTreeMap<PathBuf, Arc<Study>>) -> Result<(), Refusal> {
    match studies.iter().find(|(_, study)| study.is_running()) {
        Some((folder, _)) => {
            Err(format!("{} is already running: wait for it, or stop it", folder.display()))
        }
        None => Ok(()),
    }
}

/// Writes a text to a file whose name is free, like the name of the folder beside it.
fn create_file(parent: &Path, name: &str, text: &str) -> Result<(PathBuf, PathBuf), Refusal> {
    for number in 1.. {
        let name = match number {
            1 => name.to_owned(),
            number => format!("{name}-{number}"),
        };
        let folder = parent.join(&name);
        let file = parent.join(format!("{name}.toml"));
        if folder.exists() {
            continue;
        }
        match File::create_new(&file) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => {
                let written = created.and_then(|mut created| created.write_all(text.as_bytes()));
                written.map_err(|error| cannot_write(&file, &error))?;
                return Ok((file, folder));
            }
        }
    }
    unreachable!("there are more numbers than files")
}

fn cannot_write(path: &Path, error: &io::Error) -> Refusal {
    format!("cannot write {}: {error}", path.display())
}

/// Errors of a scenario, a line for each.
pub(super) fn problems(checked: &Value) -> Refusal {
    #[derive(Deserialize)]
    struct Problem {
        message: String,
        help: Option<String>,
        line: Option<u64>,
    }
    let problems = serde_json::from_value(checked["problems"].clone());
    let problems: Vec<Problem> = problems.unwrap_or_default();
    let line = |problem: &Problem| {
        let place = problem.line.map(|line| format!("line {line}: "));
        let help = problem.help.as_ref().map(|help| format!("\n  {help}"));
        format!("{}{}{}", place.unwrap_or_default(), problem.message, help.unwrap_or_default())
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Summary of a checked scenario for the page.
pub(super) fn outline(checked: &Value) -> Value {
    json!({ "title": checked["title"], "runs": checked["runs"], "name": checked["name"] })
}

fn read_all(stream: Option<impl Read>) -> String {
    let mut text = String::new();
    if let Some(stream) = stream {
        // Output that is not text is ignored.
        drop(stream.take(MOST_OUTPUT).read_to_string(&mut text));
    }
    text
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while holding it")
}
