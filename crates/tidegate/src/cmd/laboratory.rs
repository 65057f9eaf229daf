//! Runs that a command needs for its answer: a scenario in a results folder, of which some runs or
//! all are asked for.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;

use tidegate_report::Folder;
use tidegate_report::folder::{self, Manifest};
use tidegate_results::Record;
use tidegate_scenario::{Experiment, Scenario};
use tidegate_study::sweep::{Failure, Sweep};

use super::run::folder_lock::{FolderLock, Others};
use super::run::{self, INTERRUPT, Job, place};
use super::share;
use crate::args::testbed::On;
use crate::args::{Share, Target};
use crate::output::{Error, Output};
use crate::progress::{Bars, ProgressBoard};

/// What the scenario of the runs is called in their folder.
const SCENARIO: &str = "scenario.toml";

/// How a folder is opened.
pub(crate) type Begin = fn(&Path, &Manifest) -> Result<Folder, folder::Error>;

/// How it is by a program that has it to itself.
pub(crate) fn alone(target: &Target) -> Begin {
    if target.resume { Folder::resume } else { Folder::create }
}

/// A results folder with the runs of a scenario.
pub(crate) struct Laboratory {
    job: Job,
    folder: Folder,
    _claim: FolderLock,
    jobs: NonZeroUsize,
    output: Output,
}

impl Laboratory {
    /// Opens the folder of a scenario. `command` is what makes all of it.
    pub(crate) fn open(
        text: &str,
        command: &str,
        (target, begin, others): (&Target, Begin, Others),
        jobs: Option<NonZeroUsize>,
        output: Output,
    ) -> Result<Self, Error> {
        let scenario = Scenario::parse(SCENARIO, text, &[]).map_err(Error::new)?;
        let plan = scenario.plan().map_err(Error::new)?;
        let path = place::choose(&scenario.name, 1, target, &[])?;
        let job = Job {
            file: SCENARIO.to_owned(),
            scenario,
            plan,
            share: None,
            path,
            command: command.to_owned(),
            on: On::default(),
        };
        let begin = || begin(&job.path, &run::manifest(&job));
        let (folder, claim) = FolderLock::open(&job.path, others, begin)?;
        let written = folder.write_file(SCENARIO, text.as_bytes());
        written.map_err(Error::new)?;
        let jobs = jobs.or_else(|| std::thread::available_parallelism().ok());
        Ok(Self { job, folder, _claim: claim, jobs: jobs.unwrap_or(NonZeroUsize::MIN), output })
    }

    /// Removes what tasks have left unfinished that were lost.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        let cleared = Folder::resume(&self.job.path, self.folder.manifest());
        cleared.map(drop).map_err(Error::new)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.job.path
    }

    /// All runs of the scenario.
    pub(crate) fn plan(&self) -> &[Experiment] {
        &self.job.plan
    }

    /// Whether all of these runs are there.
    pub(crate) fn has(&self, numbers: &[usize]) -> bool {
        let is_there = |&number: &usize| self.folder.check(&self.plan()[number].id).is_ok();
        numbers.iter().all(is_there)
    }

    /// Those of these runs that a shard has.
    pub(crate) fn own(&self, numbers: &[usize], share: &Share) -> Result<Vec<usize>, Error> {
        let plan = self.of(numbers);
        let own = share::own(&[(Path::new(""), &plan)], share)?;
        let own = own.into_iter().flatten().flatten().map(|run| run.id);
        let own: BTreeSet<String> = own.collect();
        let is_own = |&&number: &&usize| own.contains(&self.plan()[number].id);
        Ok(numbers.iter().filter(is_own).copied().collect())
    }

    /// What each of these runs should take on a core, in seconds.
    pub(crate) fn seconds(&self, numbers: &[usize], share: &Share) -> Result<Vec<f64>, Error> {
        share::seconds(&[(Path::new(""), &self.of(numbers))], share)
    }

    fn of(&self, numbers: &[usize]) -> Vec<Experiment> {
        let runs = numbers.iter().map(|&number| self.plan()[number].clone());
        runs.collect()
    }

    /// Bars for so many runs, of which some may be done.
    pub(crate) fn board(&self, runs: usize) -> ProgressBoard {
        let open = runs.saturating_sub(self.folder.finished().len());
        self.output.say(&format!(
            "{}: {}, results in {}",
            self.job.scenario.title,
            run::count(open, "run"),
            self.path().display()
        ));
        ProgressBoard::new(open, self.output)
    }

    /// The records of the runs with these numbers, in their order; those that the folder lacks are
    /// run. `None` if that was stopped.
    pub(crate) fn records(
        &self,
        numbers: &[usize],
        board: &ProgressBoard,
    ) -> Result<Option<Vec<Record>>, Error> {
        let wanted: BTreeSet<usize> = numbers.iter().copied().collect();
        let experiments = self.of(&wanted.into_iter().collect::<Vec<_>>());
        let bars = Bars::new(&self.folder, board);
        let sweep = Sweep {
            experiments: &experiments,
            folder: &self.folder,
            jobs: self.jobs,
            threads: None,
            command: &|experiment| run::command(SCENARIO, &self.job.on, &experiment.overrides()),
            capture: None,
            interrupt: &INTERRUPT,
            progress: &bars,
        };
        let done = sweep.run();
        if let Some((id, failure)) = done.failures.first() {
            let text = match failure {
                Failure::Unwritten(error) => error.to_string(),
                failure => format!("run {id} failed: {failure}"),
            };
            return Err(Error::new(text));
        }
        if done.is_interrupted {
            return Ok(None);
        }
        let read = |&number: &usize| self.folder.read(&self.plan()[number].id).map_err(Error::new);
        let records: Vec<Record> = numbers.iter().map(read).collect::<Result<_, _>>()?;
        let stalled = run::stalled(&records);
        if let Some(first) = stalled.first() {
            self.output.warn(&format!(
                "{} of {} runs: {}",
                stalled.len(),
                records.len(),
                first.why
            ));
        }
        Ok(Some(records))
    }

    /// Says what is kept of runs that were stopped.
    pub(crate) fn interrupted(&self, command: &str) {
        self.output.warn(&format!(
            "interrupted: {} finished and kept in {}\nhint: resume with `{command} --resume`",
            run::count(self.folder.finished().len(), "run"),
            self.path().display()
        ));
    }

    /// Writes a page into the folder.
    pub(crate) fn write_page(&self, name: &str, page: &str) -> Result<(), Error> {
        let written = self.folder.write_file(name, page.as_bytes());
        written.map_err(Error::new)
    }
}
