//! Runs all figures that are asked for: the runs of all of them and of their trials share one
//! queue.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use tidegate_report::Folder;
use tidegate_reproduce::{Entry, Version};
use tidegate_scenario::{Experiment, Scenario};
use tidegate_study::sweep::{self, Failure, Queue, Sweep};

use super::super::engine::{self, Target, Work};
use super::super::report::{self, Comparison};
use super::super::run::folder_lock::{FolderLock, Others};
use super::super::run::{self, Job, place};
use super::super::{merge, outline, share};
use super::done::Done;
use super::judging::{self, Note, Results, TRIALS};
use super::{Asked, entry, write_asked};
use crate::args::Reproduce;
use crate::args::engine::EngineName;
use crate::args::testbed::On;
use crate::output::{Error, ExitStatus, Output};
use crate::progress::{Bars, ProgressBoard};

/// A figure, and where its results go.
struct Wanted {
    /// Its id, or the path of a file.
    name: String,
    entry: Entry,
    /// The command that makes it.
    command: String,
    /// Its own runs, and then those of its trials.
    parts: Vec<Part>,
}

/// Runs that have a folder of their own.
struct Part {
    job: Job,
    folder: Folder,
}

/// What is known of a figure while its runs go on.
struct Open {
    /// Parts whose runs are not all over.
    left: usize,
    failed: Vec<String>,
}

pub(super) fn run_all(
    names: &[String],
    arguments: &Reproduce,
    output: Output,
) -> Result<Done, Error> {
    let asked =
        Asked { figures: names.to_vec(), quick: arguments.quick, set: arguments.set.clone() };
    let version = asked.version();
    let folder = place::choose("reproduction", 1, &arguments.target, &[])?;
    let is_new = arguments.share.shard.is_some() || engine::is_taken(&folder);
    if arguments.target.resume && !folder.is_dir() && !is_new {
        let folder = folder.display();
        return Err(Error::new(format!(
            "nothing to resume: {folder} does not exist\nhint: leave out --resume"
        )));
    }
    let mut done = Done::new(&folder, env!("TIDEGATE_REVISION"));
    // All files are read before the first is run: a mistake in the last one is reported at once.
    let planned = names.iter().map(|name| plan(name, version, arguments, &done, output));
    let mut planned = planned.collect::<Result<Vec<_>, Error>>()?;
    share_out(&mut planned, &done.folder, arguments)?;
    let is_filled = match arguments.engine.elsewhere() {
        None => false,
        Some(name) => {
            run::watch(output);
            if !fill(&planned, names, &done.folder, (arguments, name), output)? {
                done.verdict = ExitStatus::Bad;
                done.is_elsewhere = true;
                return Ok(done);
            }
            true
        }
    };
    let others = Others::of(&arguments.share);
    let claim = FolderLock::take(&done.folder, others)?;
    let wanted = planned.into_iter().zip(names).map(|((entry, command, jobs), name)| {
        // A shard has no folder for figures of which it runs nothing: there may be a thousand
        // shards.
        let parts = jobs.into_iter().filter(|job| !job.asked().is_empty());
        let parts = parts.map(|job| open(job, &entry, version, arguments));
        let parts = parts.collect::<Result<Vec<_>, Error>>()?;
        Ok(Wanted { name: name.clone(), entry, command, parts })
    });
    let wanted = wanted.collect::<Result<Vec<_>, Error>>()?;
    write_asked(&done.folder, &asked)?;
    let _claim = claim.or_taken(&done.folder, others)?;
    if is_filled {
        engine::clean(&done.folder, output);
    } else {
        run::watch(output);
    }
    let mut done = execute(&wanted, version, arguments, done, output)?;
    if done.is_interrupted {
        done.verdict = ExitStatus::Bad;
        output.warn(&format!(
            "interrupted: finished runs are kept in {}\nhint: resume with the same command and \
             `--out {0} --resume`",
            done.folder.display()
        ));
    }
    Ok(done)
}

/// The runs of all figures, with the places of their folders.
fn plans<'a>(planned: &'a [Planned], root: &Path) -> Vec<(&'a Path, &'a [Experiment])> {
    let jobs = planned.iter().flat_map(|(_, _, jobs)| jobs);
    jobs.map(|job| {
        let place = job.path.strip_prefix(root).unwrap_or(&job.path);
        (place, job.plan.as_slice())
    })
    .collect()
}

/// Has an engine run all of it, and whether all results are in the folder.
fn fill(
    planned: &[Planned],
    names: &[String],
    folder: &Path,
    (arguments, name): (&Reproduce, EngineName),
    output: Output,
) -> Result<bool, Error> {
    if !engine::is_taken(folder) && folder.exists() {
        return Err(run::occupied(folder));
    }
    let mut task = vec!["reproduce".to_owned()];
    task.extend(names.iter().cloned());
    if arguments.quick {
        task.push("--quick".to_owned());
    }
    run::add_options(&mut task, "--set", &arguments.set);
    run::add_learn(&mut task, &arguments.share)?;
    let work = Work {
        name: "reproduction",
        folder,
        part: "all".to_owned(),
        task,
        seconds: share::seconds(&plans(planned, folder), &arguments.share)?,
        target: Target::Own,
    };
    let Some(shards) = engine::run(&work, &arguments.engine, name, output)? else {
        return Ok(false);
    };
    merge::join(&shards, folder)?;
    Ok(true)
}

/// Leaves each job with the runs of the shard that is asked for.
fn share_out(planned: &mut [Planned], root: &Path, arguments: &Reproduce) -> Result<(), Error> {
    if let Some(own) = share::own(&plans(planned, root), &arguments.share)? {
        let jobs = planned.iter_mut().flat_map(|(_, _, jobs)| jobs);
        for (job, own) in jobs.zip(own) {
            job.share = Some(own);
        }
    }
    Ok(())
}

/// A figure, the command that makes it, and its runs and those of its trials.
type Planned = (Entry, String, Vec<Job>);

/// What there is to run for a figure.
fn plan(
    name: &str,
    version: Version,
    arguments: &Reproduce,
    done: &Done,
    output: Output,
) -> Result<Planned, Error> {
    let entry = entry(name, version, &arguments.set)?;
    let command = command(name, version, &arguments.set);
    if entry.figure.is_computed {
        return Ok((entry, command, Vec::new()));
    }
    outline::note(&entry.scenario, output);
    let own = done.folder.join(&entry.figure.id);
    let job = |scenario: &Scenario, path, command| -> Result<Job, Error> {
        Ok(Job {
            file: name.to_owned(),
            plan: scenario.plan().map_err(Error::new)?,
            share: None,
            scenario: scenario.clone(),
            path,
            command,
            on: On::default(),
        })
    };
    let mut jobs = vec![job(&entry.scenario, own.clone(), command.clone())?];
    for tried in &entry.trials {
        let path = own.join(TRIALS).join(&tried.trial.name);
        let command = self::command(name, version, &tried.trial.set);
        jobs.push(job(&tried.scenario, path, command)?);
    }
    Ok((entry, command, jobs))
}

/// The command that makes a figure with some settings changed.
pub(super) fn command(name: &str, version: Version, set: &[String]) -> String {
    let mut command = format!("tidegate reproduce {}", run::quoted(name));
    if version == Version::Quick {
        command.push_str(" --quick");
    }
    for change in set {
        _ = write!(command, " --set {}", run::quoted(change));
    }
    command
}

/// Makes the folder of a job, or goes on with it.
fn open(job: Job, entry: &Entry, version: Version, arguments: &Reproduce) -> Result<Part, Error> {
    let manifest = run::manifest(&job);
    // A reproduction that was interrupted may not have come to this folder.
    let is_filled = arguments.engine.elsewhere().is_some();
    let folder = if arguments.share.shard.is_some() && arguments.target.resume {
        Folder::join(&job.path, &manifest)
    } else if is_filled || arguments.target.resume && job.path.is_dir() {
        Folder::resume(&job.path, &manifest)
    } else {
        Folder::create(&job.path, &manifest)
    };
    let folder = folder.map_err(Error::new)?;
    Note::new(entry, version).write(&folder)?;
    Ok(Part { job, folder })
}

/// Runs what the folders lack, and judges each figure as soon as its runs are over.
fn execute(
    wanted: &[Wanted],
    version: Version,
    arguments: &Reproduce,
    done: Done,
    output: Output,
) -> Result<Done, Error> {
    let parts = || {
        let figures = wanted.iter().enumerate();
        figures.flat_map(|(figure, wanted)| wanted.parts.iter().map(move |part| (figure, part)))
    };
    let lacking = |part: &Part| part.job.lacking(&part.folder);
    let runs = parts().map(|(_, part)| lacking(part)).sum();
    let jobs = arguments.jobs.or_else(|| std::thread::available_parallelism().ok());
    let jobs = jobs.unwrap_or(NonZeroUsize::MIN);
    let plans = parts().map(|(_, part)| (part.job.asked(), lacking(part)));
    output.say(&format!(
        "{}: {}, results in {}; estimated time {} with {}",
        run::count(wanted.len(), "figure"),
        run::count(runs, "run"),
        done.folder.display(),
        outline::estimate(plans, jobs),
        run::count(jobs.get(), "job")
    ));
    let asked = parts().map(|(_, part)| part.job.asked().len()).sum();
    let board = ProgressBoard::new(runs, output).told(arguments.share.status.as_deref(), asked);
    let bars: Vec<Bars<'_>> = parts().map(|(_, part)| Bars::new(&part.folder, &board)).collect();
    let commands: Vec<_> = parts()
        .map(|(_, part)| {
            |experiment: &Experiment| {
                run::command(&part.job.file, &part.job.on, &experiment.overrides())
            }
        })
        .collect();
    let sweeps: Vec<Sweep<'_>> = parts()
        .zip(bars.iter().zip(&commands))
        .map(|((_, part), (bars, command))| Sweep {
            experiments: part.job.asked(),
            folder: &part.folder,
            jobs,
            threads: None,
            command,
            capture: None,
            interrupt: &run::INTERRUPT,
            progress: bars,
        })
        .collect();
    let figures: Vec<usize> = parts().map(|(figure, _)| figure).collect();
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
    let queue = Queue { sweeps: &sweeps, jobs, interrupt: &run::INTERRUPT };
    queue.run(|number, ended| judging.end_part(figures[number], ended));
    // A figure that is compared with others is judged when all of them are there.
    for (number, figure) in wanted.iter().enumerate() {
        let is_over =
            lock(&judging.open[number]).left == 0 && (figure.is_whole() || !run::is_interrupted());
        if judging::compares_figures(&figure.entry) && is_over && !judging.is_shard {
            judging.finish(number);
        }
    }
    let Judging { done, problem, .. } = judging;
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
    /// Nothing is judged by a part of its runs.
    is_shard: bool,
    open: Vec<Mutex<Open>>,
    done: Mutex<Done>,
    /// The first thing that went wrong.
    problem: Mutex<Option<Error>>,
    board: &'a ProgressBoard,
    output: Output,
}

const UNBROKEN: &str = "nobody panics while holding it";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect(UNBROKEN)
}

impl Wanted {
    /// Whether all of its runs are finished.
    fn is_whole(&self) -> bool {
        let is_whole = |part: &Part| part.job.lacking(&part.folder) == 0;
        self.parts.iter().all(is_whole)
    }
}

impl Open {
    fn new(wanted: &Wanted) -> Mutex<Self> {
        Mutex::new(Self { left: wanted.parts.len(), failed: Vec::new() })
    }
}

impl Judging<'_> {
    /// The runs of a part of a figure are over.
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
                lock(&self.done).verdict = ExitStatus::Bad;
                self.board.suspend(|| self.output.warn(&failed));
            }
        } else if left == 0 && !judging::compares_figures(&self.wanted[figure].entry) {
            self.finish(figure);
        }
    }

    fn fail(&self, error: Error) {
        lock(&self.problem).get_or_insert(error);
    }

    /// All runs of a figure are over.
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
            let comparison = Comparison::of(vec![part.folder.clone()], None)?;
            comparison.write(&part.job.path.join(report::PAGE), None)?;
            results.push(Results::of(comparison));
        }
        let stalled = results.iter().flat_map(|results| run::stalled(&results.records));
        let stalled = stalled.map(|failed| format!("{}: {}", failed.run, failed.why));
        let failed: Vec<String> = failed.iter().cloned().chain(stalled).collect();
        let root = lock(&self.done).folder.clone();
        let made_by = (env!("TIDEGATE_REVISION"), command.as_str());
        let measured = judging::measure((name, entry), self.version, made_by, &results, &root)?;
        let report = (!parts.is_empty()).then(|| format!("{}/{}", entry.figure.id, report::PAGE));
        let own = results.first().map_or(&[][..], |results| &results.records);
        let mut done = lock(&self.done);
        self.board.suspend(|| {
            for text in &failed {
                self.output.warn(text);
            }
            done.add(entry, measured, own, report, self.output);
        });
        if !failed.is_empty() {
            done.verdict = ExitStatus::Bad;
        }
        Ok(())
    }
}
