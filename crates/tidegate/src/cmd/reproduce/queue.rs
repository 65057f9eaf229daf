//! Runs figures: the runs of all figures and their trials share one queue.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use tidegate_reproduce::{Entry, Version};
use tidegate_scenario::Scenario;
use tidegate_study::compare::{PAGE, stalled};
use tidegate_study::cost::{self, Plan};
use tidegate_study::engine::{Cluster, Target, Work, check_free, is_taken};
use tidegate_study::lock::{FolderLock, Writers};
use tidegate_study::study::{Opening, Options, run_all as run_studies};
use tidegate_study::sweep::{self, Failure};
use tidegate_study::text::count;
use tidegate_study::{OpenStudy, Study, outline};

use super::decide;
use crate::args::Reproduce;
use crate::engine;
use crate::interrupt::{self, INTERRUPT, is_interrupted};
use crate::outline::note;
use crate::output::{Error, ExitStatus, Output};
use crate::progress::{Bars, ProgressBoard};
use crate::reproduction::done::FinishedFigures;
use crate::reproduction::judging::{self, Note, Results, TRIALS, command};
use crate::reproduction::{ReproductionRequest, entry};
use crate::version::BUILD;
use crate::{place, shards};

/// Figure that is planned.
struct Planned {
    /// Its id, or the path of a file.
    name: String,
    entry: Entry,
    /// The command that makes it.
    command: String,
    /// Runs of the figure, then of its trials.
    jobs: Vec<Job>,
}

/// Runs with their folder.
struct Job {
    study: Study,
    folder: PathBuf,
}

/// Figure whose folders are open.
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) entry: Entry,
    pub(super) command: String,
    /// Runs of the figure, then of its trials.
    pub(super) parts: Vec<OpenStudy>,
}

/// State of a figure while its runs go on.
struct Open {
    /// Parts with open runs.
    left: usize,
    failed: Vec<String>,
}

pub(super) fn run_all(
    names: &[String],
    arguments: &Reproduce,
    output: Output,
) -> Result<FinishedFigures, Error> {
    let asked = ReproductionRequest {
        figures: names.to_vec(),
        quick: arguments.quick,
        set: arguments.set.clone(),
    };
    let version = asked.version();
    let folder = place::choose("reproduction", 1, &arguments.target, &[])?;
    let shard = arguments.share.shard;
    let is_new = shard.is_some() || is_taken(&folder);
    if arguments.target.resume && !folder.is_dir() && !is_new {
        let folder = folder.display();
        return Err(Error::new(format!(
            "nothing to resume: {folder} does not exist\nhint: leave out --resume"
        )));
    }
    let mut done = FinishedFigures::new(&folder, BUILD.revision);
    // All files are read before the first is run: a mistake in the last one is reported at once.
    let planned = names.iter().map(|name| plan(name, version, arguments, &folder, output));
    let mut planned = planned.collect::<Result<Vec<_>, Error>>()?;
    if let Some(shard) = shard {
        let learn = arguments.share.learn.as_deref();
        let own = cost::share(&plans(&planned, &folder), shard, learn).map_err(Error::new)?;
        let jobs = planned.iter_mut().flat_map(|figure| &mut figure.jobs);
        jobs.zip(own).for_each(|(job, own)| job.study.set_shard(own));
    }
    let is_filled = match arguments.engine.elsewhere() {
        None => false,
        Some(cluster) => {
            interrupt::watch(output);
            if !fill(&planned, names, &folder, (arguments, cluster), output)? {
                done.status = ExitStatus::Bad;
                done.is_elsewhere = true;
                return Ok(done);
            }
            true
        }
    };
    let writers = if shard.is_some() { Writers::Shards } else { Writers::One };
    let lock = FolderLock::take(&folder, writers).map_err(Error::new)?;
    let wanted = planned.into_iter().map(|Planned { name, entry, command, jobs }| {
        // A shard has no folders for figures of which it runs nothing: there may be a thousand
        // shards.
        let parts = jobs.into_iter().filter(|job| !job.study.runs().is_empty());
        let parts = parts.map(|job| open(job, &entry, version, arguments));
        let parts = parts.collect::<Result<Vec<_>, Error>>()?;
        Ok(Wanted { name, entry, command, parts })
    });
    let wanted = wanted.collect::<Result<Vec<_>, Error>>()?;
    asked.write(&folder)?;
    let _lock = lock.or_take(&folder, writers).map_err(Error::new)?;
    if is_filled {
        engine::clean(&folder, output);
    } else {
        interrupt::watch(output);
    }
    let mut done = execute(&wanted, version, arguments, done, output)?;
    if arguments.decide && !done.is_interrupted {
        decide::decide(&wanted, version, arguments, &mut done, output)?;
    }
    if done.is_interrupted {
        done.status = ExitStatus::Bad;
        output.warn(&format!(
            "interrupted: finished runs are kept in {}\nhint: resume with the same command and \
             `--out {0} --resume`",
            folder.display()
        ));
    }
    Ok(done)
}

/// Runs of all figures, with the paths of their folders below the whole.
fn plans<'a>(planned: &'a [Planned], root: &Path) -> Vec<Plan<'a>> {
    let jobs = planned.iter().flat_map(|figure| &figure.jobs);
    jobs.map(|job| {
        let place = job.folder.strip_prefix(root).unwrap_or(&job.folder);
        (place, job.study.plan.as_slice())
    })
    .collect()
}

/// Fills the folder by an engine. Returns whether all results are there.
fn fill(
    planned: &[Planned],
    names: &[String],
    folder: &Path,
    (arguments, cluster): (&Reproduce, Cluster<'_>),
    output: Output,
) -> Result<bool, Error> {
    check_free(folder).map_err(Error::new)?;
    let mut task = vec!["reproduce".to_owned()];
    task.extend(names.iter().cloned());
    if arguments.quick {
        task.push("--quick".to_owned());
    }
    engine::add_options(&mut task, "--set", &arguments.set);
    engine::add_learn(&mut task, &arguments.share)?;
    let seconds = cost::seconds(&plans(planned, folder), arguments.share.learn.as_deref());
    let work = Work {
        name: "reproduction",
        folder,
        part: "all".to_owned(),
        task,
        seconds: seconds.map_err(Error::new)?,
        target: Target::Own,
    };
    let Some(parts) = engine::run(&work, cluster, output)? else {
        return Ok(false);
    };
    shards::join(&parts, folder)?;
    Ok(true)
}

/// Plans the runs of a figure and its trials.
fn plan(
    name: &str,
    version: Version,
    arguments: &Reproduce,
    root: &Path,
    output: Output,
) -> Result<Planned, Error> {
    let entry = entry(name, version, &arguments.set)?;
    let command = command(name, version, &arguments.set);
    let mut jobs = Vec::new();
    if !entry.figure.is_computed {
        note(&entry.scenario, output);
        let own = root.join(&entry.figure.id);
        let job = |scenario: &Scenario, folder, command| -> Result<Job, Error> {
            let mut study = Study::new(name, scenario.clone(), &[]).map_err(Error::new)?;
            study.command = command;
            Ok(Job { study, folder })
        };
        jobs.push(job(&entry.scenario, own.clone(), command.clone())?);
        for tried in &entry.trials {
            let folder = own.join(TRIALS).join(&tried.trial.name);
            let command = judging::command(name, version, &tried.trial.set);
            jobs.push(job(&tried.scenario, folder, command)?);
        }
    }
    Ok(Planned { name: name.to_owned(), entry, command, jobs })
}

/// Opens the folder of a job, and notes the figure and version in it.
fn open(
    job: Job,
    entry: &Entry,
    version: Version,
    arguments: &Reproduce,
) -> Result<OpenStudy, Error> {
    let Job { study, folder } = job;
    // An interrupted reproduction may not have begun this folder.
    let is_filled = arguments.engine.elsewhere().is_some();
    let opening = if arguments.share.shard.is_some() && arguments.target.resume {
        Opening::Join
    } else {
        Opening::resume_if(is_filled || arguments.target.resume && folder.is_dir())
    };
    let open = study.open_unlocked(&folder, opening, &BUILD).map_err(Error::new)?;
    Note::new(entry, version).write(open.folder())?;
    Ok(open)
}

/// Runs the missing runs, and judges each figure as soon as its runs are over.
fn execute(
    wanted: &[Wanted],
    version: Version,
    arguments: &Reproduce,
    done: FinishedFigures,
    output: Output,
) -> Result<FinishedFigures, Error> {
    let parts = || wanted.iter().flat_map(|figure| &figure.parts);
    let options = Options { jobs: arguments.jobs, ..Options::new(&INTERRUPT) };
    let runs = parts().map(OpenStudy::lacking).sum();
    let jobs: NonZeroUsize = options.jobs();
    let plans = parts().map(|part| (part.study().runs(), part.lacking()));
    output.say(&format!(
        "{}: {}, results in {}; estimated time {} with {}",
        count(wanted.len(), "figure"),
        count(runs, "run"),
        done.folder.display(),
        outline::estimate(plans, jobs),
        count(jobs.get(), "job")
    ));
    let asked = parts().map(|part| part.study().runs().len()).sum();
    let status = arguments.share.status.as_deref();
    let board = ProgressBoard::new(runs, output).with_status(status, asked);
    let studies: Vec<_> = parts().map(|part| (part, Bars::new(&board))).collect();
    let figures = wanted.iter().enumerate();
    let figures = figures.flat_map(|(number, figure)| figure.parts.iter().map(move |_| number));
    let figures: Vec<usize> = figures.collect();
    let judging = Judging {
        wanted,
        version,
        is_shard: arguments.share.shard.is_some(),
        open: wanted.iter().map(Open::new).collect(),
        done: Mutex::new(done),
        problem: Mutex::new(None),
        board: &board,
        output,
    };
    for (number, figure) in wanted.iter().enumerate() {
        if figure.parts.is_empty() && !judging.is_shard {
            judging.finish(number);
        }
    }
    run_studies(&studies, &options, |part, ended| judging.end_part(figures[part], ended));
    // Figures that are compared with others are judged last.
    for (number, figure) in wanted.iter().enumerate() {
        let is_over =
            lock(&judging.open[number]).left == 0 && (figure.is_whole() || !is_interrupted());
        if judging::compares_figures(&figure.entry) && is_over && !judging.is_shard {
            judging.finish(number);
        }
    }
    let Judging { done, problem, .. } = judging;
    drop(studies);
    drop(board);
    match problem.into_inner().expect(UNBROKEN) {
        Some(problem) => Err(problem),
        None => {
            let mut done = done.into_inner().expect(UNBROKEN);
            done.sort(wanted.iter().map(|figure| figure.entry.figure.id.as_str()));
            Ok(done)
        }
    }
}

/// Judges figures while other runs go on.
struct Judging<'a> {
    wanted: &'a [Wanted],
    version: Version,
    /// A shard judges nothing.
    is_shard: bool,
    open: Vec<Mutex<Open>>,
    done: Mutex<FinishedFigures>,
    /// The first error.
    problem: Mutex<Option<Error>>,
    board: &'a ProgressBoard,
    output: Output,
}

const UNBROKEN: &str = "no thread panics while holding it";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect(UNBROKEN)
}

impl Wanted {
    /// Path of its report below the folder of all figures, if it has runs.
    pub(super) fn report(&self) -> Option<String> {
        (!self.parts.is_empty()).then(|| format!("{}/{PAGE}", self.entry.figure.id))
    }

    /// Whether all of its runs are finished.
    fn is_whole(&self) -> bool {
        self.parts.iter().all(|part| part.lacking() == 0)
    }
}

impl Open {
    fn new(wanted: &Wanted) -> Mutex<Self> {
        Mutex::new(Self { left: wanted.parts.len(), failed: Vec::new() })
    }
}

impl Judging<'_> {
    /// Called when the runs of a part of a figure are over.
    fn end_part(&self, figure: usize, ended: sweep::Done) {
        let left = {
            let mut open = lock(&self.open[figure]);
            for (run, failure) in ended.failures {
                match failure {
                    Failure::Unwritten(error) => self.fail(Error::new(error)),
                    failure => open.failed.push(format!("{run}: {failure}")),
                }
            }
            open.left -= 1;
            open.left
        };
        if ended.is_interrupted && !self.wanted[figure].is_whole() {
            lock(&self.done).is_interrupted = true;
        } else if left == 0 && self.is_shard {
            for failed in std::mem::take(&mut lock(&self.open[figure]).failed) {
                lock(&self.done).status = ExitStatus::Bad;
                self.board.suspend(|| self.output.warn(&failed));
            }
        } else if left == 0 && !judging::compares_figures(&self.wanted[figure].entry) {
            self.finish(figure);
        }
    }

    fn fail(&self, error: Error) {
        lock(&self.problem).get_or_insert(error);
    }

    /// Judges a figure whose runs are over.
    fn finish(&self, number: usize) {
        let figure = &self.wanted[number];
        let failed = std::mem::take(&mut lock(&self.open[number]).failed);
        if let Err(error) = self.judge(figure, &failed) {
            self.fail(error);
        }
    }

    fn judge(&self, figure: &Wanted, failed: &[String]) -> Result<(), Error> {
        let Wanted { name, entry, command, parts } = figure;
        let mut results = Vec::new();
        for part in parts {
            let comparison = part.compare_in_full(None).map_err(Error::new)?;
            comparison.write(&part.path().join(PAGE), None).map_err(Error::new)?;
            results.push(Results::of(comparison));
        }
        if let (Some(own), Some(part)) = (results.first_mut(), parts.first()) {
            own.add_seeds(part.path())?;
        }
        let stalled = results.iter().flat_map(|results| stalled(&results.records));
        let stalled = stalled.map(|(run, why)| format!("{run}: {why}"));
        let failed: Vec<String> = failed.iter().cloned().chain(stalled).collect();
        let root = lock(&self.done).folder.clone();
        let made_by = (BUILD.revision, command.as_str());
        let measured = judging::measure((name, entry), self.version, made_by, &results, &root)?;
        let report = figure.report();
        let own = results.first().map_or(&[][..], |results| &results.records);
        let mut done = lock(&self.done);
        self.board.suspend(|| {
            for text in &failed {
                self.output.warn(text);
            }
            done.add(entry, measured, own, report, self.output);
        });
        if !failed.is_empty() {
            done.status = ExitStatus::Bad;
        }
        Ok(())
    }
}
