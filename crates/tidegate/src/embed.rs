//! What programs need that have Tidegate inside, such as the Python package: scenarios from names
//! and texts, their runs with or without a folder, and whole commands with what they print.
//!
//! It is the command line's own code, so that the same scenario and seed give the same bytes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use tidegate_dataplane::mark::custom;
use tidegate_report::Folder;
use tidegate_report::folder::Manifest;
use tidegate_results::record::Flow;
use tidegate_results::{Record, Summary};
use tidegate_scenario::{Coordinate, Experiment, Scenario};
use tidegate_sim::run::Status;
use tidegate_study::capture;
use tidegate_study::sweep::{Ending, Failure, Memory, Progress, Store, Sweep};

use crate::args::testbed::On;
use crate::args::{Cli, Command};
use crate::catalogue::nearest;
use crate::cmd::report::{self, Comparison};
use crate::cmd::run::folder_lock::{FolderLock, Others};
use crate::cmd::run::{self, INTERRUPT, Job};
use crate::cmd::{outline, source};
use crate::output::{Captured, Error, Output, Paint, captured};
use crate::progress::{Bars, ProgressBoard};

/// What a scenario that has no file is called in its folder, and in commands.
const SCENARIO: &str = "scenario.toml";

/// A scenario with its runs.
pub struct Study {
    job: Job,
    /// Its text, if it has no file.
    text: Option<String>,
}

/// How to run it.
#[derive(Default)]
pub struct Options<'a> {
    /// The results folder; without one, results stay in memory.
    pub out: Option<&'a Path>,
    /// Whether to go on in a folder that is not complete.
    pub resume: bool,
    /// Runs at a time; one for each core if it is not said.
    pub jobs: Option<NonZeroUsize>,
    /// At most so many threads for one run.
    pub threads: Option<NonZeroUsize>,
    /// The point that others are compared with; the scenario's own if it is not said.
    pub baseline: Option<&'a str>,
    /// A scheme in the place of the scenario's.
    pub custom: Option<Custom<'a>>,
    /// A file for the packets of links, of which there is at least one.
    pub capture: Option<Links<'a>>,
}

/// Links to capture.
pub struct Links<'a> {
    /// The pcapng file.
    pub file: &'a Path,
    /// Names of the links, separated by commas.
    pub at: &'a str,
    /// The most packets; about a gigabyte if it is not said.
    pub limit: Option<u64>,
}

/// A scheme that is not part of the library.
pub struct Custom<'a> {
    /// What results call it.
    pub name: String,
    /// What makes it for each port.
    pub maker: Arc<dyn custom::Make>,
    /// Does the work of a run, and around it what the scheme needs of the thread.
    pub within: &'a (dyn Fn(&mut (dyn FnMut() + Send)) + Sync),
}

impl Study {
    /// The scenario of a file, of the program, or of a published figure. Errors are what the
    /// command line says.
    pub fn named(name: &str, overrides: &[String]) -> Result<Self, String> {
        let scenario = source::read(name, overrides).map_err(|error| error.to_string())?;
        Self::new(name, scenario, overrides, None)
    }

    /// The scenario of a text.
    pub fn of_text(text: &str, overrides: &[String]) -> Result<Self, String> {
        let scenario = source::parse(SCENARIO, text, overrides);
        let scenario = scenario.map_err(|error| error.to_string())?;
        Self::new(SCENARIO, scenario, overrides, Some(text.to_owned()))
    }

    fn new(
        file: &str,
        scenario: Scenario,
        overrides: &[String],
        text: Option<String>,
    ) -> Result<Self, String> {
        let plan = scenario.plan().map_err(|problem| problem.to_string())?;
        let on = On::default();
        let job = Job {
            file: file.to_owned(),
            command: run::command(file, &on, overrides),
            scenario,
            plan,
            share: None,
            path: PathBuf::new(),
            on,
        };
        Ok(Self { job, text })
    }

    /// What it came to mean, in a few lines.
    pub fn outline(&self) -> String {
        let Job { file, scenario, plan, .. } = &self.job;
        outline::summary(file, scenario, plan)
    }

    /// The keys that its sweep varies.
    pub fn keys(&self) -> Vec<&str> {
        self.job.scenario.keys()
    }

    /// How many runs it has.
    pub fn runs(&self) -> usize {
        self.job.plan.len()
    }

    /// The whole scenario with every default written out.
    pub fn resolved(&self) -> String {
        self.job.scenario.resolved()
    }

    /// What overrides did to the sweep, and what makes results other than they seem.
    pub fn warnings(&self) -> Vec<String> {
        let mut texts = self.job.scenario.notes.clone();
        texts.extend(outline::warnings(&self.job.plan));
        texts
    }

    /// Runs what the folder lacks. `None` if `interrupt` was set: what is finished is then in the
    /// folder, if there is one.
    pub fn run(
        &self,
        options: &Options<'_>,
        progress: &dyn Progress,
        interrupt: &AtomicBool,
    ) -> Result<Option<Results>, String> {
        let baseline = options.baseline.or(self.job.scenario.baseline.as_deref());
        if let Some(name) = baseline {
            let points = self.job.plan.iter().map(|run| {
                let point = run.point.iter().map(Coordinate::pair).collect();
                (run.label.as_str(), point)
            });
            report::check_baseline(name, points).map_err(text_of)?;
        }
        let capture = match &options.capture {
            None => None,
            Some(links) if options.resume => {
                let file = links.file.display();
                return Err(format!(
                    "cannot capture finished runs into {file}\nhint: leave out resume"
                ));
            }
            Some(Links { file, at, limit }) => {
                let limit = limit.unwrap_or(capture::LIMIT);
                let opened = run::capture(&self.job.file, &self.job.plan, (file, at, limit));
                Some(opened.map_err(text_of)?)
            }
        };
        let mut manifest = run::manifest(&self.job);
        if let Some(custom) = &options.custom {
            manifest.by = format!("the marker {}", custom.name);
        }
        let (folder, _claim) = self.folder(options, &manifest)?.unzip();
        let memory = Memory::default();
        let board = ProgressBoard::new(0, Output::quiet());
        let observed =
            Observed { bars: folder.as_ref().map(|folder| Bars::new(folder, &board)), progress };
        let store: &dyn Store = match &folder {
            Some(folder) => folder,
            None => &memory,
        };
        let cores = || std::thread::available_parallelism().ok();
        let jobs = options.jobs.or_else(cores).unwrap_or(NonZeroUsize::MIN);
        let command =
            |run: &Experiment| run::command(&self.job.file, &self.job.on, &run.overrides());
        let sweep = Sweep {
            experiments: &self.job.plan,
            folder: store,
            jobs,
            threads: options.threads,
            command: &command,
            capture: capture.as_ref(),
            interrupt,
            progress: &observed,
        };
        let done = match &options.custom {
            None => sweep.run(),
            Some(custom) => sweep.run_with(|run| {
                let mut record = Ok(None);
                (custom.within)(&mut || record = simulate_custom(&sweep, run, custom));
                record
            }),
        };
        if let Some((id, failure)) = done.failures.first() {
            return Err(format!("run {id} failed: {failure}"));
        }
        if done.is_interrupted {
            return Ok(None);
        }
        drop(observed);
        let comparison = match folder {
            Some(folder) => {
                let page = folder.path().join(report::PAGE);
                let comparison = Comparison::of(vec![folder], baseline).map_err(text_of)?;
                let written = comparison.write(&page, None);
                written.map_err(|error| text_of(error.into()))?;
                comparison
            }
            None => {
                let mut records = memory.into_records();
                let ids = self.job.plan.iter().map(|run| &run.id);
                let records = ids.filter_map(|id| records.remove(id)).collect();
                let manifests = vec![manifest.clone()];
                Comparison::of_records(records, manifests, baseline).map_err(text_of)?
            }
        };
        Ok(Some(Results {
            points: manifest.points(),
            manifest,
            comparison,
            full: capture.and_then(|capture| capture.warning()),
        }))
    }

    /// The results folder, if there is to be one.
    fn folder(
        &self,
        options: &Options<'_>,
        manifest: &Manifest,
    ) -> Result<Option<(Folder, FolderLock)>, String> {
        let Some(path) = options.out else {
            return Ok(None);
        };
        let begin = if options.resume { Folder::resume } else { Folder::create };
        let opened = FolderLock::open(path, Others::Kept, || begin(path, manifest));
        let (folder, claim) = opened.map_err(text_of)?;
        if let Some(text) = &self.text {
            let written = folder.write_file(SCENARIO, text.as_bytes());
            written.map_err(|error| error.to_string())?;
        }
        Ok(Some((folder, claim)))
    }
}

/// Runs an experiment on one thread with another scheme at its switches.
fn simulate_custom(
    sweep: &Sweep<'_>,
    experiment: &Experiment,
    custom: &Custom<'_>,
) -> Result<Option<Record>, Failure> {
    let built = experiment.build();
    let mut built = built.map_err(|problem| Failure::Refused(problem.to_string()))?;
    built.setup.threads = NonZeroUsize::MIN;
    built.setup.custom = Some(Arc::clone(&custom.maker));
    // No command has the scheme.
    let record = sweep.simulate_built(experiment, built, String::new())?;
    // Once it is interrupted the scheme marks nothing, though the run may come to its end.
    let is_interrupted = sweep.interrupt.load(Ordering::Relaxed);
    Ok(record.filter(|_| !is_interrupted).map(|mut record| {
        record.run.scheme.clone_from(&custom.name);
        record
    }))
}

/// Tells the folder's log and whoever runs it.
struct Observed<'a> {
    bars: Option<Bars<'a>>,
    progress: &'a dyn Progress,
}

impl Progress for Observed<'_> {
    fn started(&self, experiment: &Experiment, flows: usize) {
        if let Some(bars) = &self.bars {
            bars.started(experiment, flows);
        }
        self.progress.started(experiment, flows);
    }

    fn advanced(&self, experiment: &Experiment, status: Status) {
        self.progress.advanced(experiment, status);
    }

    fn ended(&self, experiment: &Experiment, ending: Ending<'_>) {
        let end = match &ending {
            Ending::Failed(failure) => Ending::Failed(failure),
            Ending::Finished(record) => Ending::Finished(record),
            Ending::Interrupted => Ending::Interrupted,
        };
        if let Some(bars) = &self.bars {
            bars.ended(experiment, end);
        }
        self.progress.ended(experiment, ending);
    }
}

/// What the runs of a scenario left.
pub struct Results {
    manifest: Manifest,
    /// The number of each run's point.
    points: BTreeMap<String, u32>,
    comparison: Comparison<Flow>,
    /// A warning that a capture reached its limit.
    full: Option<String>,
}

impl Results {
    /// Its title.
    pub fn title(&self) -> &str {
        &self.manifest.title
    }

    /// The runs, in the order of the sweep.
    pub fn records(&self) -> &[Record] {
        &self.comparison.records
    }

    /// The number of a run's point.
    pub fn point_of(&self, record: &Record) -> u32 {
        self.points.get(&record.run.id).copied().unwrap_or(0)
    }

    /// All runs side by side.
    pub fn summary(&self) -> &Summary {
        &self.comparison.summary
    }

    /// What the command line prints of them.
    pub fn table(&self, width: usize) -> String {
        report::shown(&self.comparison, Paint::Plain, width)
    }

    /// Why some numbers should not be trusted; runs that stalled are among them.
    pub fn warnings(&self) -> Vec<String> {
        let stalled = run::stalled(self.records()).into_iter();
        let mut texts: Vec<String> =
            stalled.map(|failed| format!("run {}: {}", failed.run, failed.why)).collect();
        texts.extend(self.full.clone());
        texts.extend(report::warnings(&self.comparison));
        texts
    }

    /// Writes the report page.
    pub fn write_report(&self, path: &Path) -> Result<(), String> {
        let written = self.comparison.write(path, None);
        written.map_err(|error| text_of(error.into()))
    }
}

fn text_of(error: Error) -> String {
    match error {
        Error::ClosedPipe => "standard output is closed".to_owned(),
        Error::Other(text) => text,
    }
}

/// What a command came to.
pub struct Called {
    /// Its exit code.
    pub code: u8,
    /// What it printed.
    pub printed: String,
    /// What it said besides since [`Caller::said`] was last asked.
    pub said: Vec<String>,
    /// Why it could not be carried out, if it could not.
    pub error: Option<String>,
}

/// Somebody who has a command carried out. Commands of one process come one after the other: what a
/// caller says and does reaches its own command and no other.
#[derive(Debug)]
pub struct Caller {
    number: u64,
    has_given_up: AtomicBool,
}

/// The caller whose turn it is.
static TURN: Mutex<Option<u64>> = Mutex::new(None);

/// Told when the turn is over, and when somebody who waits for it gives up.
static CHANGED: Condvar = Condvar::new();

/// A command that panicked has left nothing half done here.
fn whose_turn() -> MutexGuard<'static, Option<u64>> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The turn of a caller, until it is dropped.
struct Turn;

impl Drop for Turn {
    fn drop(&mut self) {
        let mut whose = whose_turn();
        *captured() = None;
        *whose = None;
        CHANGED.notify_all();
    }
}

impl Caller {
    /// A caller of one command.
    #[expect(clippy::new_without_default, reason = "no two are the same")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), has_given_up: AtomicBool::new(false) }
    }

    /// Carries out a command whose output goes to the caller; the first word is the program's name.
    /// Those that serve real packets are for the program alone.
    pub fn call(&self, words: &[OsString]) -> Called {
        let Some(_turn) = self.turn() else {
            return Called {
                code: 2,
                printed: String::new(),
                said: Vec::new(),
                error: Some("stopped while waiting for another command".to_owned()),
            };
        };
        let answer =
            match Cli::read(words) {
                Err(error) => Err(error.to_string()),
                Ok(cli) => match cli.command {
                    Some(
                        Command::Host(_)
                        | Command::Live(_)
                        | Command::Simulate(_)
                        | Command::Testbed(_),
                    ) => Err("this command works only in the program `tidegate`, not from Python"
                        .to_owned()),
                    _ => crate::carry_out(&cli, words).1.map_err(text_of),
                },
            };
        let Captured { printed, said } = captured().take().unwrap_or_default();
        let (code, error) = match answer {
            Ok(verdict) => (verdict.code(), None),
            Err(text) => (2, Some(text)),
        };
        Called { code, printed, said, error }
    }

    /// Waits for the turn; `None` if the caller gave up before.
    fn turn(&self) -> Option<Turn> {
        let others =
            |whose: &mut Option<u64>| whose.is_some() && !self.has_given_up.load(Ordering::Relaxed);
        let waited = CHANGED.wait_while(whose_turn(), others);
        let mut whose = waited.unwrap_or_else(PoisonError::into_inner);
        if self.has_given_up.load(Ordering::Relaxed) {
            return None;
        }
        *whose = Some(self.number);
        INTERRUPT.store(false, Ordering::Relaxed);
        *captured() = Some(Captured::default());
        Some(Turn)
    }

    /// What its command has said besides its results since this was last asked.
    pub fn said(&self) -> Vec<String> {
        let whose = whose_turn();
        if *whose != Some(self.number) {
            return Vec::new();
        }
        let mut captured = captured();
        let said = captured.as_mut().map(|captured| &mut captured.said);
        said.map(std::mem::take).unwrap_or_default()
    }

    /// Ends its command, soon. One that waits for its turn does not begin.
    pub fn interrupt(&self) {
        let whose = whose_turn();
        self.has_given_up.store(true, Ordering::Relaxed);
        if *whose == Some(self.number) {
            INTERRUPT.store(true, Ordering::Relaxed);
        }
        CHANGED.notify_all();
    }
}

/// The names that are most like this one, closest first.
pub fn names_like<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    nearest(wrong, names)
}

static PROGRAM: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says how this program is started, if it is not a file of its own. The first answer stays.
pub fn set_program(words: Vec<OsString>) {
    // Whoever came first is the same program.
    _ = PROGRAM.set(words);
}

/// How this program is started.
pub(crate) fn program() -> io::Result<Vec<OsString>> {
    match PROGRAM.get() {
        Some(words) => Ok(words.clone()),
        None => Ok(vec![std::env::current_exe()?.into_os_string()]),
    }
}

/// What runs this program, if it is not a file of its own.
pub(crate) fn interpreter() -> Option<String> {
    let first = PROGRAM.get()?.first()?;
    Some(first.to_string_lossy().into_owned())
}

/// This program once more.
pub(crate) fn this_program() -> io::Result<process::Command> {
    let words = program()?;
    let mut command = process::Command::new(&words[0]);
    command.args(&words[1..]);
    Ok(command)
}

static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Notes the words of the program's command line, which an interpreter's are not.
pub(crate) fn set_arguments(words: &[OsString]) {
    // A process has one command line.
    _ = ARGUMENTS.set(words.to_vec());
}

/// The words of the program's command line, its name first.
pub(crate) fn arguments() -> Vec<OsString> {
    ARGUMENTS.get().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn words(command: &str) -> Vec<OsString> {
        command.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_caller_that_waits_stops_its_own_command_and_no_other() {
        let (first, second, third) = (Caller::new(), Caller::new(), Caller::new());
        let turn = first.turn().unwrap();
        crate::output::say("of the first");
        thread::scope(|scope| {
            let waits = scope.spawn(|| second.call(&words("tidegate list")));
            let goes_on = scope.spawn(|| third.call(&words("tidegate list scheme")));
            second.interrupt();
            // It gives up while the first still has its turn.
            let given_up = waits.join().unwrap();
            assert_eq!((given_up.code, given_up.printed.as_str()), (2, ""));
            assert!(given_up.error.unwrap().contains("another command"));
            assert!(!INTERRUPT.load(Ordering::Relaxed));
            // What a command says is for its caller.
            assert_eq!(second.said(), [""; 0]);
            assert_eq!(first.said(), ["of the first"]);
            first.interrupt();
            assert!(INTERRUPT.load(Ordering::Relaxed));
            drop(turn);
            // The next one is not stopped by what was meant for those before.
            let done = goes_on.join().unwrap();
            assert_eq!((done.code, done.error), (0, None));
            assert!(done.printed.contains("tcn"), "{}", done.printed);
        });
        assert!(captured().is_none());
        first.interrupt();
        assert!(!INTERRUPT.load(Ordering::Relaxed));
    }
}
