//! Follows tasks until all shards are finished: shows progress, and resubmits lost tasks.

#![expect(clippy::disallowed_methods, reason = "the program's edge: it waits for other machines")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Engine, Home, Job, Observer, State, Target, Work};
use crate::Error;
use crate::status::{Ended, Report, STEPS};
use crate::text::{count, quoted};

/// Interval between reads of the status files.
const LOOK: Duration = Duration::from_secs(1);

/// Minimum interval between queries of the engine, doubled for a thousand tasks: all users of a
/// cluster share its scheduler.
const ASK: Duration = Duration::from_secs(6);

/// Consecutive queries that an engine may leave unanswered.
const SILENCES: u32 = 50;

/// Attempts per shard.
const ATTEMPTS: u32 = 3;

/// Maximum number of failed shards that a message names.
const NAMED: usize = 3;

pub(super) struct Follower<'a> {
    work: &'a Work<'a>,
    home: &'a Home,
    state: State,
    engine: &'a mut dyn Engine,
    part: PathBuf,
    /// Shards that were cancelled before this process attached.
    forgiven: BTreeSet<u32>,
    /// Last status of each shard.
    reports: BTreeMap<u32, Report>,
    observer: &'a dyn Observer,
}

/// Reason why a shard will not finish.
enum Wrong {
    /// Its process refused the work.
    Refused(String),
    /// Some of its runs failed.
    Failed,
    /// It was lost in every attempt.
    Lost,
    /// It was cancelled at the engine.
    Cancelled,
}

impl<'a> Follower<'a> {
    pub(super) fn new(
        work: &'a Work<'a>,
        home: &'a Home,
        state: State,
        engine: &'a mut dyn Engine,
        observer: &'a dyn Observer,
    ) -> Self {
        Self {
            part: home.part(&work.part),
            work,
            home,
            state,
            engine,
            forgiven: BTreeSet::new(),
            reports: BTreeMap::new(),
            observer,
        }
    }

    /// Follows the tasks and returns the folders of all shards; `None` if some are missing.
    pub(super) fn run(mut self, interrupt: &AtomicBool) -> Result<Option<Vec<PathBuf>>, Error> {
        for folder in ["status", "log"] {
            let path = self.part.join(folder);
            fs::create_dir_all(&path).map_err(Error::write(&path))?;
        }
        if self.state.jobs.is_empty() {
            let all: Vec<u32> = self.state.shards().collect();
            self.submit(&all)?;
            self.observer.say(&format!(
                "submitted {} in {}; `tidegate attach {}` follows them from another terminal",
                count(self.work.seconds.len(), "run"),
                count(all.len(), "task"),
                quoted(&self.home.folder().display().to_string())
            ));
        } else {
            self.go_on()?;
        }
        match self.follow(interrupt)? {
            None => {
                self.observer.warn(&format!(
                    "detached: the tasks continue without this program\nhint: follow them with `tidegate attach {}`; {}",
                    quoted(&self.home.folder().display().to_string()),
                    self.engine.cancel(&self.state.jobs)
                ));
                Ok(None)
            }
            Some(wrong) if wrong.is_empty() => Ok(Some(self.folders())),
            Some(wrong) => self.fail(&wrong),
        }
    }

    fn folders(&self) -> Vec<PathBuf> {
        match self.work.target {
            Target::Shared => vec![self.home.folder().to_owned()],
            Target::Own => {
                let shards = self.state.shards();
                shards.map(|shard| self.part.join(format!("shards/{shard}"))).collect()
            }
        }
    }

    fn status(&self, shard: u32) -> PathBuf {
        self.part.join(format!("status/{shard}.json"))
    }

    /// Submits shards, and records that before their state is read.
    fn submit(&mut self, shards: &[u32]) -> Result<(), Error> {
        for &shard in shards {
            // The status of the previous attempt.
            drop(fs::remove_file(self.status(shard)));
            self.reports.remove(&shard);
            *self.state.attempts.entry(shard).or_insert(0) += 1;
        }
        let job =
            Job { name: self.work.name, part: &self.part, home: self.home, state: &self.state };
        let id = self.engine.submit(&job, shards)?;
        self.state.jobs.push(id);
        self.home.keep(&self.state)
    }

    /// Attaches to tasks of another process, and resubmits those that failed.
    fn go_on(&mut self) -> Result<(), Error> {
        let failed: Vec<u32> = self
            .state
            .shards()
            .filter(|&shard| {
                let report = Report::read(&self.status(shard));
                let ended = report.and_then(|report| report.ended);
                matches!(ended, Some(Ended::Failed | Ended::Refused))
            })
            .collect();
        self.state.attempts.clear();
        let known = self.engine.ask(&self.state.jobs)?;
        let shards = self.state.shards();
        self.forgiven = shards.filter(|&shard| known.is_cancelled(shard)).collect();
        if !failed.is_empty() {
            self.observer.say(&format!("resubmitting {}", count(failed.len(), "task")));
            self.submit(&failed)?;
        }
        Ok(())
    }

    /// Waits until every shard has finished or failed; `None` if interrupted.
    fn follow(&mut self, interrupt: &AtomicBool) -> Result<Option<BTreeMap<u32, Wrong>>, Error> {
        let mut wrong = BTreeMap::new();
        let mut missed = BTreeSet::new();
        let mut silences = 0;
        let mut asked = Instant::now();
        let pause = ASK * (1 + self.state.shards / 1000);
        loop {
            let open = self.look(&mut wrong);
            self.show();
            if open.is_empty() {
                return Ok(Some(wrong));
            }
            if interrupt.load(Ordering::Relaxed) {
                return Ok(None);
            }
            thread::sleep(LOOK * (1 + self.state.shards / 500));
            if asked.elapsed() < pause {
                continue;
            }
            asked = Instant::now();
            let known = match self.engine.ask(&self.state.jobs) {
                Ok(known) => known,
                Err(error) if silences == SILENCES => return Err(self.silent(&error)),
                Err(_) => {
                    silences += 1;
                    continue;
                }
            };
            silences = 0;
            // Files of other machines appear with a delay: a task is lost if it is missing twice.
            let missing: BTreeSet<u32> = open.difference(&known.open).copied().collect();
            let lost: Vec<u32> = missing.intersection(&missed).copied().collect();
            missed = missing;
            // It may have ended since its status was read.
            let still = self.look(&mut wrong);
            let is_cancelled =
                |shard: &u32| known.is_cancelled(*shard) && !self.forgiven.contains(shard);
            let (cancelled, lost): (Vec<u32>, Vec<u32>) =
                lost.into_iter().filter(|shard| still.contains(shard)).partition(is_cancelled);
            wrong.extend(cancelled.into_iter().map(|shard| (shard, Wrong::Cancelled)));
            self.requeue(lost, &mut wrong)?;
        }
    }

    /// Reads the status files, and returns the shards that have not ended.
    fn look(&mut self, wrong: &mut BTreeMap<u32, Wrong>) -> BTreeSet<u32> {
        let mut open = BTreeSet::new();
        for shard in self.state.shards() {
            let known = self.reports.get(&shard).and_then(|report| report.ended);
            if known != Some(Ended::Finished)
                && let Some(report) = Report::read(&self.status(shard))
            {
                self.reports.insert(shard, report);
            }
            let report = self.reports.get(&shard);
            match report.and_then(|report| report.ended) {
                Some(Ended::Finished) => {
                    wrong.remove(&shard);
                }
                Some(Ended::Failed) => {
                    wrong.insert(shard, Wrong::Failed);
                }
                Some(Ended::Refused) => {
                    let why = report.and_then(|report| report.why.clone());
                    wrong.insert(shard, Wrong::Refused(why.unwrap_or_default()));
                }
                Some(Ended::Interrupted) | None => {
                    if !wrong.contains_key(&shard) {
                        open.insert(shard);
                    }
                }
            }
        }
        open
    }

    fn show(&self) {
        let done = self.reports.values().map(|report| report.done).sum();
        let steps: u64 = self.reports.values().map(|report| report.steps).sum();
        let most = self.work.seconds.len() as u64 * STEPS;
        let ended = self.reports.values().filter(|report| report.ended.is_some());
        let ended = ended.count();
        let running = self.reports.len() - ended;
        let waiting = self.state.shards as usize - self.reports.len();
        self.observer.show(
            done,
            steps.min(most),
            &format!("tasks: {running} running, {waiting} waiting, {ended} ended"),
        );
    }

    fn requeue(&mut self, lost: Vec<u32>, wrong: &mut BTreeMap<u32, Wrong>) -> Result<(), Error> {
        let attempts = |shard: &u32| self.state.attempts.get(shard).copied().unwrap_or(0);
        let (again, gone): (Vec<u32>, Vec<u32>) =
            lost.into_iter().partition(|shard| attempts(shard) < ATTEMPTS);
        wrong.extend(gone.into_iter().map(|shard| (shard, Wrong::Lost)));
        if again.is_empty() {
            return Ok(());
        }
        let (first, tasks) = (again[0], count(again.len(), "task"));
        self.observer.say(&format!("{tasks} lost, the first is shard {first}; resubmitted"));
        self.submit(&again)
    }

    fn silent(&self, error: &Error) -> Error {
        Error::engine(format!(
            "{error}\nhint: the tasks may still be running; follow them later with `tidegate attach {}`",
            quoted(&self.home.folder().display().to_string())
        ))
    }

    /// Reports which shards failed, and why.
    fn fail(&self, wrong: &BTreeMap<u32, Wrong>) -> Result<Option<Vec<PathBuf>>, Error> {
        let mut lines = Vec::new();
        let mut is_refused = false;
        for (shard, why) in wrong.iter().take(NAMED) {
            let log = self.part.join(format!("log/{shard}.txt"));
            lines.push(match why {
                Wrong::Refused(why) => {
                    // The hint after the first line concerns shards run by hand.
                    let why = why.lines().next().unwrap_or_default();
                    format!("shard {shard}: {why}")
                }
                Wrong::Failed => format!("runs of shard {shard} failed{}", tail(&log)),
                Wrong::Cancelled => format!("shard {shard} was cancelled"),
                Wrong::Lost => format!("shard {shard} was lost {ATTEMPTS} times{}", tail(&log)),
            });
            is_refused |= matches!(why, Wrong::Refused(_) | Wrong::Lost);
        }
        if wrong.len() > NAMED {
            lines.push(format!("and {} more", wrong.len() - NAMED));
        }
        let text = format!(
            "{}\nhint: all others are kept; resubmit these with `tidegate attach {}`",
            lines.join("\n"),
            quoted(&self.home.folder().display().to_string())
        );
        if is_refused {
            return Err(Error::engine(text));
        }
        self.observer.warn(&text);
        Ok(None)
    }
}

/// Last lines of a log.
fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(3)..];
    if last.is_empty() {
        return format!("; {} is empty", log.display());
    }
    format!("; last lines of {}:\n  {}", log.display(), last.join("\n  "))
}
