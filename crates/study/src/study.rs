//! A study: the runs of one scenario, and the results folder that they fill.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use tidegate_report::Folder;
use tidegate_report::folder::{self, FORMAT, Manifest, Planned};
use tidegate_results::Record;
use tidegate_results::record::Flow;
use tidegate_scenario::{Coordinate, Experiment, Scenario, means_same};

use crate::capture::{self, Capture};
use crate::compare::{Comparison, check_baseline};
use crate::lock::{FolderLock, Writers};
use crate::log::Logged;
use crate::sweep::{Done, Failure, Memory, Progress, Queue, Sweep};
use crate::text::quoted;
use crate::{Error, Shard, cost, outline};

/// Name of a scenario that has no file, in its results folder and in commands.
pub const SCENARIO: &str = "scenario.toml";

/// The build of the program, as manifests name it.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// Version of the program.
    pub version: &'static str,
    /// Revision of its source; empty if it is unknown.
    pub revision: &'static str,
    /// Fingerprint of its source, libraries and compiler.
    pub fingerprint: &'static str,
}

/// The runs of one scenario.
#[derive(Debug)]
pub struct Study {
    /// The scenario file or name, as commands give it.
    pub file: String,
    /// The scenario.
    pub scenario: Scenario,
    /// All of its runs.
    pub plan: Vec<Experiment>,
    /// The command that makes the whole study.
    pub command: String,
    /// Options that follow the scenario in the command of a run, such as ` --on live`.
    pub options: String,
    /// Scheme or testbed that takes the simulator's place, for the manifest; empty if none does.
    pub by: String,
    /// Text of a scenario without a file, which the results folder keeps.
    text: Option<String>,
    /// Runs of the shard, if the study is one.
    shard: Option<Vec<Experiment>>,
}

/// Options of a run.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Concurrent runs; `None` for one per core.
    pub jobs: Option<NonZeroUsize>,
    /// Maximum threads per run; `None` for the scenario's.
    pub threads: Option<NonZeroUsize>,
    /// Capture of the only run.
    pub capture: Option<&'a Capture>,
    /// Ends all runs soon once it is set.
    pub interrupt: &'a AtomicBool,
}

impl<'a> Options<'a> {
    /// Defaults, with a flag that ends the runs.
    pub fn new(interrupt: &'a AtomicBool) -> Self {
        Self { jobs: None, threads: None, capture: None, interrupt }
    }

    /// Concurrent runs.
    pub fn jobs(&self) -> NonZeroUsize {
        let cores = || std::thread::available_parallelism().ok();
        self.jobs.or_else(cores).unwrap_or(NonZeroUsize::MIN)
    }
}

/// How a results folder is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A new folder.
    New,
    /// An existing folder whose unfinished runs are discarded.
    Resume,
    /// A new or existing folder that other programs may fill too.
    Join,
}

impl Opening {
    /// [`Self::Resume`] or [`Self::New`].
    pub fn resume_if(is_resumed: bool) -> Self {
        if is_resumed { Self::Resume } else { Self::New }
    }

    /// Opens a folder.
    pub fn open(self, path: &Path, manifest: &Manifest) -> Result<Folder, folder::Error> {
        match self {
            Self::New => Folder::create(path, manifest),
            Self::Resume => Folder::resume(path, manifest),
            Self::Join => Folder::join(path, manifest),
        }
    }
}

impl Study {
    /// A study of a scenario. `file` names it in commands, and `overrides` have changed it.
    pub fn new(file: &str, scenario: Scenario, overrides: &[String]) -> Result<Self, Error> {
        Ok(Self {
            plan: scenario.plan()?,
            file: file.to_owned(),
            command: command(file, "", overrides),
            scenario,
            options: String::new(),
            by: String::new(),
            text: None,
            shard: None,
        })
    }

    /// A study of a scenario without a file.
    pub fn of_text(text: &str, scenario: Scenario, overrides: &[String]) -> Result<Self, Error> {
        let study = Self::new(SCENARIO, scenario, overrides)?;
        Ok(Self { text: Some(text.to_owned()), ..study })
    }

    /// Adds options to the commands of the runs. The manifest names the world in ` --on live`.
    pub fn set_options(&mut self, world: &str, reading: &str, overrides: &[String]) {
        self.options = format!("{world}{reading}");
        self.command = command(&self.file, &self.options, overrides);
        world.trim().clone_into(&mut self.by);
    }

    /// Reduces the study to the runs of a shard.
    pub fn take_shard(&mut self, shard: Shard, learn: Option<&Path>) -> Result<(), Error> {
        let mut own = cost::share(&[(Path::new(""), &self.plan)], shard, learn)?;
        self.set_shard(own.pop().unwrap_or_default());
        Ok(())
    }

    /// Reduces the study to some of its runs.
    pub fn set_shard(&mut self, runs: Vec<Experiment>) {
        self.shard = Some(runs);
    }

    /// Summary of the scenario and its runs.
    pub fn summary(&self) -> String {
        outline::summary(&self.file, &self.scenario, &self.plan)
    }

    /// The runs of the study, or of its shard.
    pub fn runs(&self) -> &[Experiment] {
        self.shard.as_deref().unwrap_or(&self.plan)
    }

    /// Number of runs that a folder lacks.
    fn lacking(&self, folder: &Folder) -> usize {
        let finished = folder.finished();
        let lacks = |run: &&Experiment| !finished.contains(&run.id);
        self.runs().iter().filter(lacks).count()
    }

    /// Returns the given baseline, or the scenario's. It has to name a point.
    pub fn baseline<'a>(&'a self, named: Option<&'a str>) -> Result<Option<&'a str>, Error> {
        let baseline = named.or(self.scenario.baseline.as_deref());
        if let Some(name) = baseline {
            let points = self.plan.iter().map(|run| {
                let point = run.point.iter().map(Coordinate::pair).collect();
                (run.label.as_str(), point)
            });
            check_baseline(name, points)?;
        }
        Ok(baseline)
    }

    /// A capture of the study's only run.
    pub fn capture(&self, path: &Path, links: &str, limit: Option<u64>) -> Result<Capture, Error> {
        let [run] = self.plan.as_slice() else {
            let first = self.plan.first().map(|run| command(&self.file, "", &run.overrides()));
            return Err(Error::CaptureOfSeveral {
                file: self.file.clone(),
                runs: self.plan.len(),
                first: first.unwrap_or_default(),
            });
        };
        let limit = limit.unwrap_or(capture::LIMIT);
        Ok(Capture::new(path.to_owned(), links, limit, run)?)
    }

    /// Manifest of the results.
    pub fn manifest(&self, build: &Build) -> Manifest {
        let planned = |experiment: &Experiment| Planned {
            id: experiment.id.clone(),
            label: experiment.label.clone(),
            point: tidegate_results::outcome::point(experiment),
            replication: experiment.replication,
            seed: experiment.seed.to_string(),
        };
        Manifest {
            format: FORMAT,
            name: self.scenario.name.clone(),
            title: self.scenario.title.clone(),
            baseline: self.scenario.baseline.clone(),
            scenario: self.scenario.resolved(),
            setup: outline::setup(&self.plan),
            command: self.command.clone(),
            by: self.by.clone(),
            version: build.version.to_owned(),
            revision: build.revision.to_owned(),
            build: build.fingerprint.to_owned(),
            seed: self.plan.first().map_or_else(String::new, |first| first.seed.to_string()),
            runs: self.plan.iter().map(planned).collect(),
        }
    }

    /// Locks and opens the results folder. The lock of an existing folder comes first, before
    /// anything in it is discarded.
    pub fn open(
        self,
        path: &Path,
        (opening, writers): (Opening, Writers),
        build: &Build,
    ) -> Result<OpenStudy, Error> {
        let lock = FolderLock::take(path, writers)?;
        let mut open = self.open_unlocked(path, opening, build)?;
        open.lock = Some(lock.or_take(path, writers)?);
        Ok(open)
    }

    /// Opens the results folder, below one that the caller has locked.
    pub fn open_unlocked(
        mut self,
        path: &Path,
        opening: Opening,
        build: &Build,
    ) -> Result<OpenStudy, Error> {
        let mut manifest = self.manifest(build);
        if opening != Opening::New
            && let Ok(begun) = Folder::open(path)
        {
            self.take_spelling(&mut manifest, begun.manifest());
        }
        let folder = opening.open(path, &manifest)?;
        if let Some(text) = &self.text {
            folder.write_file(SCENARIO, text.as_bytes())?;
        }
        Ok(OpenStudy { study: self, folder, lock: None })
    }

    /// Takes over the spelling of a folder whose scenario means the same, so that all records of
    /// the folder name their points alike.
    fn take_spelling(&mut self, own: &mut Manifest, begun: &Manifest) {
        if own.scenario == begun.scenario
            || own.runs.len() != begun.runs.len()
            || !means_same(&own.scenario, &begun.scenario)
        {
            return;
        }
        let ids = own.runs.iter().map(|run| run.id.clone());
        let known: BTreeMap<String, &Planned> = ids.zip(&begun.runs).collect();
        for run in self.plan.iter_mut().chain(self.shard.iter_mut().flatten()) {
            if let Some(begun) = known.get(&run.id) {
                run.id.clone_from(&begun.id);
                run.label.clone_from(&begun.label);
                for (own, begun) in run.point.iter_mut().zip(&begun.point) {
                    own.key.clone_from(&begun.key);
                }
            }
        }
        own.scenario.clone_from(&begun.scenario);
        own.runs.clone_from(&begun.runs);
    }

    /// Runs the study without a folder. Records are in the order of the plan; `None` if it was
    /// interrupted.
    pub fn run_in_memory(
        &self,
        options: &Options<'_>,
        progress: &dyn Progress,
        run: &dyn Fn(&Sweep<'_>) -> Done,
    ) -> Result<Option<Vec<Record>>, Error> {
        let memory = Memory::default();
        let done = {
            let command = |run: &Experiment| self.command_of(run);
            run(&Sweep {
                experiments: self.runs(),
                folder: &memory,
                jobs: options.jobs(),
                threads: options.threads,
                command: &command,
                capture: options.capture,
                interrupt: options.interrupt,
                progress,
            })
        };
        if !all_finished(done)? {
            return Ok(None);
        }
        let mut records = memory.into_records();
        Ok(Some(self.runs().iter().filter_map(|run| records.remove(&run.id)).collect()))
    }

    /// The command that repeats a run.
    fn command_of(&self, run: &Experiment) -> String {
        command(&self.file, &self.options, &run.overrides())
    }
}

/// A study with its results folder, locked while it is open.
#[derive(Debug)]
pub struct OpenStudy {
    study: Study,
    folder: Folder,
    /// `None` if the folder above is locked.
    lock: Option<FolderLock>,
}

/// Outcome of a study's runs.
#[derive(Debug)]
pub struct StudyOutcome {
    /// Number of finished runs in the folder.
    pub finished: usize,
    /// Runs that failed, with the reason.
    pub failures: Vec<(String, Failure)>,
    /// Whether an interruption left runs undone.
    pub is_interrupted: bool,
}

impl OpenStudy {
    /// The study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// The results folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The results folder's path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Number of runs that the folder lacks.
    pub fn lacking(&self) -> usize {
        self.study.lacking(&self.folder)
    }

    /// Runs the missing runs and logs them. `run` executes the sweep: [`Sweep::run`], or
    /// another way.
    pub fn sweep(
        &self,
        experiments: &[Experiment],
        options: &Options<'_>,
        progress: &dyn Progress,
        run: &dyn Fn(&Sweep<'_>) -> Done,
    ) -> Done {
        let logged = Logged::new(&self.folder, progress);
        run(&Sweep {
            experiments,
            folder: &self.folder,
            jobs: options.jobs(),
            threads: options.threads,
            command: &|run| self.study.command_of(run),
            capture: options.capture,
            interrupt: options.interrupt,
            progress: &logged,
        })
    }

    /// Runs the missing runs. Fails if results cannot be written; runs that fail are part of
    /// the outcome.
    pub fn run(
        &self,
        options: &Options<'_>,
        progress: &dyn Progress,
        run: &dyn Fn(&Sweep<'_>) -> Done,
    ) -> Result<StudyOutcome, Error> {
        let Done { failures, is_interrupted } =
            self.sweep(self.study.runs(), options, progress, run);
        let is_fatal = |failure: &Failure| {
            matches!(failure, Failure::Unwritten(_) | Failure::Uncaptured { .. })
        };
        let mut failed = Vec::new();
        for (id, failure) in failures {
            if is_fatal(&failure) {
                return Err(Error::Failed(failure));
            }
            failed.push((id, failure));
        }
        Ok(StudyOutcome {
            finished: self.folder.finished().len(),
            failures: failed,
            is_interrupted: is_interrupted && self.lacking() > 0,
        })
    }

    /// Whether the folder has all of these runs, given by their numbers.
    pub fn has(&self, numbers: &[usize]) -> bool {
        let is_there = |&number: &usize| self.folder.check(&self.study.plan[number].id).is_ok();
        numbers.iter().all(is_there)
    }

    /// The runs among these that belong to a shard.
    pub fn share(
        &self,
        numbers: &[usize],
        shard: Shard,
        learn: Option<&Path>,
    ) -> Result<Vec<usize>, Error> {
        let own = cost::share(&[(Path::new(""), &self.of(numbers))], shard, learn)?;
        let own: BTreeSet<String> = own.into_iter().flatten().map(|run| run.id).collect();
        let is_own = |&&number: &&usize| own.contains(&self.study.plan[number].id);
        Ok(numbers.iter().filter(is_own).copied().collect())
    }

    /// Expected time of each of these runs on one core, in seconds.
    pub fn seconds(&self, numbers: &[usize], learn: Option<&Path>) -> Result<Vec<f64>, Error> {
        cost::seconds(&[(Path::new(""), &self.of(numbers))], learn)
    }

    fn of(&self, numbers: &[usize]) -> Vec<Experiment> {
        numbers.iter().map(|&number| self.study.plan[number].clone()).collect()
    }

    /// Records of these runs, in the order of their numbers. Runs that the folder lacks are run
    /// first; `None` if that was interrupted.
    pub fn records(
        &self,
        numbers: &[usize],
        options: &Options<'_>,
        progress: &dyn Progress,
    ) -> Result<Option<Vec<Record>>, Error> {
        let wanted: BTreeSet<usize> = numbers.iter().copied().collect();
        let runs = self.of(&wanted.into_iter().collect::<Vec<_>>());
        if !all_finished(self.sweep(&runs, options, progress, &|sweep| sweep.run()))? {
            return Ok(None);
        }
        let read = |&number: &usize| self.folder.read(&self.study.plan[number].id);
        Ok(Some(numbers.iter().map(read).collect::<Result<_, _>>()?))
    }

    /// Discards runs that other programs have left unfinished.
    pub fn clear(&self) -> Result<(), Error> {
        Folder::resume(self.path(), self.folder.manifest())?;
        Ok(())
    }

    /// Reads the results and compares them, with packed flows.
    pub fn compare(&self, baseline: Option<&str>) -> Result<Comparison, Error> {
        Comparison::packed(vec![self.folder.clone()], baseline)
    }

    /// Reads the results and compares them, with every flow.
    pub fn compare_in_full(&self, baseline: Option<&str>) -> Result<Comparison<Flow>, Error> {
        Comparison::of(vec![self.folder.clone()], baseline)
    }
}

/// Runs the missing runs of several studies. Their runs share one queue, so that no core waits
/// for the last run of a study. `ended` gets the number of each study whose runs are over, from the
/// thread of the last one, while others continue.
pub fn run_all<P: Progress>(
    studies: &[(&OpenStudy, P)],
    options: &Options<'_>,
    ended: impl Fn(usize, Done) + Sync,
) {
    let logs: Vec<Logged<'_>> =
        studies.iter().map(|(open, progress)| Logged::new(&open.folder, progress)).collect();
    let commands: Vec<_> =
        studies.iter().map(|(open, _)| |run: &Experiment| open.study.command_of(run)).collect();
    let jobs = options.jobs();
    let sweeps: Vec<Sweep<'_>> = studies
        .iter()
        .zip(logs.iter().zip(&commands))
        .map(|((open, _), (log, command))| Sweep {
            experiments: open.study.runs(),
            folder: &open.folder,
            jobs,
            threads: options.threads,
            command,
            capture: None,
            interrupt: options.interrupt,
            progress: log,
        })
        .collect();
    Queue { sweeps: &sweeps, jobs, interrupt: options.interrupt }.run(ended);
}

/// Whether all runs of a sweep have finished; an error if one has failed.
fn all_finished(done: Done) -> Result<bool, Error> {
    match done.failures.into_iter().next() {
        Some((_, failure @ Failure::Unwritten(_))) => Err(Error::Failed(failure)),
        Some((id, failure)) => Err(Error::Run { id, failure }),
        None => Ok(!done.is_interrupted),
    }
}

/// The command that runs a scenario with overrides. Options that do not change results, such as the
/// number of jobs, are left out.
pub fn command(file: &str, options: &str, overrides: &[String]) -> String {
    let mut command = format!("tidegate run {}{options}", quoted(file));
    for change in overrides {
        command.push_str(" --set ");
        command.push_str(&quoted(change));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_resumes_with_the_new_name_of_a_renamed_table() {
        let text = "runs = 2\n[topology]\nkind = \"star\"\nhosts = 3\n\
            [switch]\nmarking = { kind = \"tcn\" }\n[[traffic]]\nkind = \"long-lived\"\n\
            from = \"0-1\"\nto = 2\nbytes = \"10KB\"\n[sweep]\n\
            \"transport.rule\" = [{ kind = \"dctcp\" }, { kind = \"rfc3168\" }]\n";
        let path = std::env::temp_dir().join(format!("tidegate-names-{}", std::process::id()));
        let build = Build { version: "1", revision: "", fingerprint: "" };
        let study = |text: &str| {
            let scenario = Scenario::parse("names.toml", text, &[]).unwrap();
            Study::new("names.toml", scenario, &[]).unwrap()
        };
        let begun = study(text).open(&path, (Opening::New, Writers::One), &build).unwrap();
        let first = begun.folder().manifest().clone();
        drop(begun);
        let renamed = text.replace("transport.rule", "transport.cc");
        let resume = |text: &str| study(text).open(&path, (Opening::Resume, Writers::One), &build);
        let resumed = resume(&renamed).unwrap();
        assert_eq!(*resumed.folder().manifest(), first);
        let keys = resumed.study().runs().iter().map(|run| run.point[0].key.as_str());
        assert_eq!(keys.collect::<Vec<_>>(), ["transport.rule.kind"; 4]);
        drop(resumed);
        let error = resume(&renamed.replace("rfc3168", "cubic")).unwrap_err().to_string();
        assert!(error.contains("transport.cc"), "{error}");
        std::fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn commands_quote_their_words() {
        let overrides = ["seed=2".to_owned()];
        let expected = "tidegate run 'my file.toml' --set seed=2";
        assert_eq!(command("my file.toml", "", &overrides), expected);
        let expected = "tidegate run 'my file.toml' --on live --set seed=2";
        assert_eq!(command("my file.toml", " --on live", &overrides), expected);
    }
}
