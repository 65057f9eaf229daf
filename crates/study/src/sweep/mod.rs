//! Runs experiments concurrently and writes each to its folder as soon as it has finished.
//!
//! Runs are independent, so results do not depend on their concurrency. If one fails, the others
//! continue.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use rayon::ThreadPoolBuilder;
use rayon::iter::{ParallelBridge, ParallelIterator};
use tidegate_report::folder::{self, Folder};
use tidegate_results::Record;
use tidegate_scenario::{Built, Experiment};
use tidegate_sim::run::{self, Status};
use tidegate_units::ConfigError;

use crate::capture::Capture;
pub use crate::error::Failure;
use crate::outcome::finished;
use crate::trace;

/// Experiments of a scenario with the store of their results.
pub struct Sweep<'a> {
    /// Experiments: the first repetition of each runs first, then the second, and so on.
    pub experiments: &'a [Experiment],
    /// Store of the results. Runs that it has are not run again.
    pub folder: &'a dyn Store,
    /// Concurrent runs.
    pub jobs: NonZeroUsize,
    /// Maximum threads per run; `None` for the scenario's.
    pub threads: Option<NonZeroUsize>,
    /// Command that repeats a single run.
    pub command: &'a (dyn Fn(&Experiment) -> String + Sync),
    /// Capture of the sweep's only run.
    pub capture: Option<&'a Capture>,
    /// Ends all runs soon once it is set; unfinished runs are discarded.
    pub interrupt: &'a AtomicBool,
    /// Observer.
    pub progress: &'a dyn Progress,
}

/// Fewest hosts among which a run is divided. Two threads run 128 hosts more slowly than one, for
/// half as much CPU time again, and 1,024 hosts 1.7 times as fast.
const LEAST_HOSTS: u32 = 256;

/// Number of threads for a run among `hosts` hosts that may have `threads`.
const fn worthwhile(hosts: u32, threads: NonZeroUsize) -> NonZeroUsize {
    if hosts < LEAST_HOSTS { NonZeroUsize::MIN } else { threads }
}

/// Store of records, used by several threads.
pub trait Store: Sync {
    /// Ids of the runs that it has.
    fn finished(&self) -> Vec<String>;

    /// Stores the record of a run.
    fn write(&self, record: &Record) -> Result<(), folder::Error>;
}

impl Store for Folder {
    fn finished(&self) -> Vec<String> {
        self.finished()
    }

    fn write(&self, record: &Record) -> Result<(), folder::Error> {
        self.write(record)
    }
}

/// Records in memory, by run id.
#[derive(Debug, Default)]
pub struct Memory(Mutex<BTreeMap<String, Record>>);

impl Memory {
    /// All records.
    pub fn into_records(self) -> BTreeMap<String, Record> {
        self.0.into_inner().expect("no thread panics while holding it")
    }
}

impl Store for Memory {
    fn finished(&self) -> Vec<String> {
        lock(&self.0).keys().cloned().collect()
    }

    fn write(&self, record: &Record) -> Result<(), folder::Error> {
        lock(&self.0).insert(record.run.id.clone(), record.clone());
        Ok(())
    }
}

/// Observer of a sweep, called from several threads.
pub trait Progress: Sync {
    /// A run with so many flows begins.
    fn started(&self, experiment: &Experiment, flows: usize);

    /// Progress of a run, reported often.
    fn advanced(&self, experiment: &Experiment, status: Status);

    /// A run is over.
    fn ended(&self, experiment: &Experiment, ending: Ending<'_>);

    /// Something went wrong that does not affect results.
    fn warn(&self, text: &str);
}

/// Ending of a run.
#[derive(Debug)]
pub enum Ending<'a> {
    /// Failed, without a record.
    Failed(&'a Failure),
    /// Finished, with a record in the store. A stalled run has a record too.
    Finished(&'a Record),
    /// Interrupted, without a record.
    Interrupted,
}

/// Outcome of a sweep.
#[derive(Debug, Default)]
pub struct Done {
    /// Ids of failed runs, with the reason.
    pub failures: Vec<(String, Failure)>,
    /// Whether it was interrupted.
    pub is_interrupted: bool,
}

impl Sweep<'_> {
    /// Runs the experiments that the store lacks.
    ///
    /// A failed write ends the sweep: no further run is started.
    pub fn run(&self) -> Done {
        let threads = per_run(self.jobs, self.lacking().count());
        self.run_with(|experiment| self.simulate(experiment, threads))
    }

    /// Experiments that the store lacks.
    fn lacking(&self) -> impl Iterator<Item = &Experiment> {
        let finished = self.folder.finished();
        let experiments = self.experiments.iter();
        experiments.filter(move |experiment| !finished.contains(&experiment.id))
    }

    /// The same with another function that runs an experiment; `None` if interrupted.
    pub fn run_with<F>(&self, run: F) -> Done
    where
        F: Fn(&Experiment) -> Result<Option<Record>, Failure> + Sync,
    {
        let done = Mutex::new(Done::default());
        let queue = Queue {
            sweeps: std::slice::from_ref(self),
            jobs: self.jobs,
            interrupt: self.interrupt,
        };
        queue.run_with(|_, experiment| run(experiment), |_, of_sweep| *lock(&done) = of_sweep);
        done.into_inner().expect("no thread panics while writing it")
    }

    /// Stores the record of a run, and reports its ending.
    fn keep(
        &self,
        experiment: &Experiment,
        result: Result<Option<Record>, Failure>,
    ) -> Result<(), Failure> {
        let result = result.and_then(|record| {
            if let Some(record) = &record {
                self.folder.write(record).map_err(Failure::Unwritten)?;
            }
            Ok(record)
        });
        match result {
            Ok(Some(record)) => self.progress.ended(experiment, Ending::Finished(&record)),
            Ok(None) => self.progress.ended(experiment, Ending::Interrupted),
            Err(failure) => {
                self.progress.ended(experiment, Ending::Failed(&failure));
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Runs an experiment with a maximum of threads; `None` if interrupted.
    fn simulate(
        &self,
        experiment: &Experiment,
        threads: NonZeroUsize,
    ) -> Result<Option<Record>, Failure> {
        let Some(mut built) = build(experiment, self.interrupt)? else {
            return Ok(None);
        };
        let wanted = self.threads.unwrap_or(built.setup.threads);
        built.setup.threads = worthwhile(built.setup.network.hosts(), wanted.min(threads));
        self.simulate_built(experiment, built, (self.command)(experiment))
    }

    /// Runs an experiment from its setup, with the capture if there is one; `None` if interrupted.
    pub fn simulate_built(
        &self,
        experiment: &Experiment,
        built: Built,
        command: String,
    ) -> Result<Option<Record>, Failure> {
        self.progress.started(experiment, built.setup.flows.len());
        let mut report = |status| self.progress.advanced(experiment, status);
        let interrupt = self.interrupt;
        match self.capture {
            Some(capture) => capture.run(experiment, &built, command, interrupt, &mut report),
            None => simulate(experiment, built, command, interrupt, &mut report)
                .map_err(|error| Failure::Refused(error.to_string())),
        }
    }
}

/// Builds a run; `None` if interrupted. Millions of flows take seconds, which no flag is checked
/// in: an interrupted build goes on alone, and its result is dropped.
pub fn build(experiment: &Experiment, interrupt: &AtomicBool) -> Result<Option<Built>, Failure> {
    let own = experiment.clone();
    let (sender, built) = channel();
    let builder = thread::Builder::new().name(format!("{THREADS}build"));
    let worker = builder.spawn(move || _ = sender.send(own.build()));
    let Ok(worker) = worker else {
        // Without another thread, build here.
        let built = experiment.build().map_err(|problem| Failure::Refused(problem.to_string()));
        return built.map(Some);
    };
    while !interrupt.load(Ordering::Relaxed) {
        match built.recv_timeout(TICK) {
            Ok(built) => {
                let built = built.map_err(|problem| Failure::Refused(problem.to_string()));
                return built.map(Some);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => panic::resume_unwind(panic),
                Ok(()) => unreachable!("it sends before it ends"),
            },
        }
    }
    Ok(None)
}

/// Interval of checks for interrupts while a run is built.
const TICK: Duration = Duration::from_millis(50);

/// Runs an experiment, with a trace if it asks for one; `None` if interrupted.
pub fn simulate(
    experiment: &Experiment,
    built: Built,
    command: String,
    interrupt: &AtomicBool,
    report: &mut dyn FnMut(Status),
) -> Result<Option<Record>, ConfigError> {
    match built.trace {
        Some(flow) => trace::run(experiment, built, flow, command, interrupt, report),
        None => {
            let outcome = run::run_watched(&built.setup, interrupt, report)?;
            finished(experiment, command, &built, &outcome)
        }
    }
}

/// Several sweeps whose runs share one queue, so that no core waits for the last run of a sweep.
pub struct Queue<'a> {
    /// Sweeps. Their runs are started in this order.
    pub sweeps: &'a [Sweep<'a>],
    /// Concurrent runs of all sweeps together.
    pub jobs: NonZeroUsize,
    /// Ends all runs soon once it is set; unfinished runs are discarded.
    pub interrupt: &'a AtomicBool,
}

/// Run of a queue.
#[derive(Clone, Copy)]
struct Queued<'a> {
    sweep: usize,
    place: usize,
    experiment: &'a Experiment,
}

/// State of a sweep while its runs go on.
struct Open {
    /// Open runs.
    left: usize,
    failures: Vec<(usize, (String, Failure))>,
}

impl Queue<'_> {
    /// Runs the experiments that the stores lack. `ended` is called with the index of each sweep as
    /// soon as all of its runs are over, from the thread of the last one, while others continue.
    ///
    /// A failed write ends the queue: no further run is started.
    pub fn run(&self, ended: impl Fn(usize, Done) + Sync) {
        let runs = self.sweeps.iter().map(|sweep| sweep.lacking().count());
        let threads = per_run(self.jobs, runs.sum());
        self.run_with(|sweep, experiment| self.sweeps[sweep].simulate(experiment, threads), ended);
    }

    fn run_with<F, E>(&self, simulate: F, ended: E)
    where
        F: Fn(usize, &Experiment) -> Result<Option<Record>, Failure> + Sync,
        E: Fn(usize, Done) + Sync,
    {
        let mut queued = Vec::new();
        let mut open = Vec::new();
        for (number, sweep) in self.sweeps.iter().enumerate() {
            let lacking = sweep.lacking().enumerate();
            let mut runs: Vec<_> = lacking
                .map(|(place, experiment)| Queued { sweep: number, place, experiment })
                .collect();
            // An interrupted sweep has some seeds of all points, rather than all seeds of some
            // points.
            runs.sort_by_key(|run| run.experiment.replication);
            open.push(Mutex::new(Open { left: runs.len(), failures: Vec::new() }));
            queued.append(&mut runs);
        }
        let end = |number: usize| {
            let mut failures = std::mem::take(&mut lock(&open[number]).failures);
            failures.sort_unstable_by_key(|&(place, _)| place);
            ended(
                number,
                Done {
                    failures: failures.into_iter().map(|(_, failure)| failure).collect(),
                    is_interrupted: self.interrupt.load(Ordering::Relaxed),
                },
            );
        };
        for (number, open) in open.iter().enumerate() {
            let left = lock(open).left;
            if left == 0 {
                end(number);
            }
        }
        let is_full = AtomicBool::new(false);
        let one = |run: Queued<'_>| {
            if !self.interrupt.load(Ordering::Relaxed) && !is_full.load(Ordering::Relaxed) {
                let sweep = &self.sweeps[run.sweep];
                let result = catch(|| simulate(run.sweep, run.experiment));
                if let Err(failure) = sweep.keep(run.experiment, result) {
                    let is_last = matches!(failure, Failure::Unwritten(_));
                    is_full.fetch_or(is_last, Ordering::Relaxed);
                    let failure = (run.place, (run.experiment.id.clone(), failure));
                    lock(&open[run.sweep]).failures.push(failure);
                }
            }
            let left = {
                let mut open = lock(&open[run.sweep]);
                open.left -= 1;
                open.left
            };
            if left == 0 {
                end(run.sweep);
            }
        };
        let threads = ThreadPoolBuilder::new()
            .num_threads(self.jobs.get())
            .thread_name(|number| format!("{THREADS}{number}"))
            .build();
        match threads {
            // The bridge hands out the runs one by one, in order.
            Ok(threads) => threads.install(|| queued.into_iter().par_bridge().for_each(one)),
            // Without a thread pool, run here.
            Err(_) => queued.into_iter().for_each(one),
        }
    }
}

/// Threads per run so that no core is shared, with so many runs to go.
fn per_run(jobs: NonZeroUsize, runs: usize) -> NonZeroUsize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let at_a_time = jobs.get().min(runs).max(1);
    NonZeroUsize::new(cores / at_a_time).unwrap_or(NonZeroUsize::MIN)
}

/// Locks a mutex.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while holding it")
}

/// Prefix of the names of threads that run experiments.
pub const THREADS: &str = "run-";

/// Turns a panic into a failure of this run.
fn catch<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // The state of the run is dropped with it.
    panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(Failure::Panicked(message(payload.as_ref()))))
}

/// Text of a panic.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").to_owned()
}
