//! `tidegate run`: scenarios from file to table.

pub(crate) mod folder_lock;
pub(crate) mod place;

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use tidegate_report::folder::{FORMAT, Folder, Manifest, Planned};
use tidegate_results::{Record, Summary};
use tidegate_scenario::{Coordinate, Experiment, Scenario};
use tidegate_study::capture::{Capture, LIMIT};
use tidegate_study::sweep::{Done, Failure, Sweep};

use self::folder_lock::{FolderLock, Others};
use super::engine::{self, Target, Work};
use super::report::{self, Comparison};
use super::{merge, outline, share, source};
use crate::args::engine::EngineName;
use crate::args::testbed::{On, World};
use crate::args::{Running, Share};
use crate::output::{self, Error, ExitStatus, Output};
use crate::progress::{Bars, ProgressBoard};

/// A scenario that can be run, and where its results go.
pub(crate) struct Job {
    /// The file, as commands name it.
    pub(crate) file: String,
    pub(crate) scenario: Scenario,
    pub(crate) plan: Vec<Experiment>,
    /// The runs of the plan that a shard has, if there is one.
    pub(crate) share: Option<Vec<Experiment>>,
    pub(crate) path: PathBuf,
    /// The command that makes all of it.
    pub(crate) command: String,
    /// In which world it runs.
    pub(crate) on: On,
}

impl Job {
    /// The runs that are asked for.
    pub(crate) fn asked(&self) -> &[Experiment] {
        self.share.as_deref().unwrap_or(&self.plan)
    }

    /// How many of them a folder lacks.
    pub(crate) fn lacking(&self, folder: &Folder) -> usize {
        let finished = folder.finished();
        let lacks = |run: &&Experiment| !finished.contains(&run.id);
        self.asked().iter().filter(lacks).count()
    }
}

/// Recordings of a run beside its results.
#[derive(Default)]
pub(crate) struct Recorded<'a> {
    /// The flow to trace.
    pub(crate) trace: Option<u32>,
    /// The links to capture.
    pub(crate) capture: Option<&'a crate::args::Capture>,
}

/// What became of the runs of a job.
pub(crate) struct JobResult {
    pub(crate) finished: usize,
    pub(crate) failed: Vec<Failed>,
    pub(crate) is_interrupted: bool,
}

/// What `--json` prints of each scenario.
#[derive(Serialize)]
struct JsonResult<'a> {
    scenario: &'a str,
    folder: String,
    report: Option<String>,
    planned: usize,
    finished: usize,
    failed: Vec<Failed>,
    interrupted: bool,
    summary: Option<&'a Summary>,
}

#[derive(Serialize)]
pub(crate) struct Failed {
    pub(crate) run: String,
    pub(crate) why: String,
}

/// The folder for the charts of a trace, in that of the results.
const TRACES: &str = "trace";

/// Set by Ctrl-C.
pub(crate) static INTERRUPT: AtomicBool = AtomicBool::new(false);

pub(crate) fn run(
    files: &[String],
    running: &Running,
    on: &On,
    recorded: &Recorded<'_>,
    output: Output,
) -> Result<ExitStatus, Error> {
    #[cfg(not(all(target_os = "linux", feature = "live")))]
    if on.world == World::Live {
        return Err(super::needs_linux("--on live"));
    }
    let trace = recorded.trace;
    let captured = recorded.capture;
    let captured =
        captured.and_then(|it| Some((it.file.as_deref()?, it.at.as_deref()?, limit(it))));
    if captured.is_some() {
        check_capturable(files, on)?;
    }
    let mut capture = None;
    let mut overrides = running.set.clone();
    overrides.extend(running.seed.map(|seed| format!("seed={seed}")));
    overrides.extend(running.runs.map(|runs| format!("runs={runs}")));
    overrides.extend(trace.map(|flow| format!("observe.trace={flow}")));
    let mut jobs: Vec<Job> = Vec::new();
    // All files are read before the first is run: a mistake in the last one is reported at once.
    for file in files {
        let scenario = source::read(file, &overrides).map_err(Error::new)?;
        let plan = scenario.plan().map_err(Error::new)?;
        if let Some(name) = baseline(running, &scenario) {
            let points = plan.iter().map(|run| {
                let point = run.point.iter().map(Coordinate::pair).collect();
                (run.label.as_str(), point)
            });
            report::check_baseline(name, points)?;
        }
        if on.world == World::Live {
            check_untraced(&plan)?;
        }
        if let Some(asked) = captured {
            capture = Some(self::capture(file, &plan, asked)?);
        }
        outline::warn(&scenario, &plan, output);
        let taken = jobs.iter().map(|job| job.path.as_path()).collect::<Vec<_>>();
        let path = place::choose(&scenario.name, files.len(), &running.target, &taken)?;
        let share = share::own(&[(Path::new(""), &plan)], &running.share)?;
        jobs.push(Job {
            share: share.map(|mut of_plans| of_plans.remove(0)),
            command: command(file, on, &overrides),
            on: on.clone(),
            file: file.clone(),
            scenario,
            plan,
            path,
        });
    }
    watch(output);
    if let Some(engine) = running.engine.elsewhere()
        && !fill(&jobs, running, (engine, &overrides), output)?
    {
        return Ok(ExitStatus::Bad);
    }
    let mut verdict = ExitStatus::Good;
    let mut results = Vec::new();
    for job in &jobs {
        if is_interrupted() {
            verdict = ExitStatus::Bad;
            output.warn(&format!("interrupted: {} was not started", job.file));
            continue;
        }
        let (of_job, value) = run_job(job, running, capture.as_ref(), output)?;
        if of_job == ExitStatus::Bad {
            verdict = ExitStatus::Bad;
        }
        results.push(value);
    }
    if output.json {
        output.print_json(&serde_json::json!({ "results": results }))?;
    }
    Ok(verdict)
}

/// Has an engine run a scenario, and whether all results are in its folder.
fn fill(
    jobs: &[Job],
    running: &Running,
    (engine, overrides): (EngineName, &[String]),
    output: Output,
) -> Result<bool, Error> {
    let refused = |what: &str, hint: &str| Error::new(format!("{what}\nhint: {hint}"));
    let [job] = jobs else {
        let what = "an engine runs one scenario at a time";
        return Err(refused(what, "run each file with its own command and --out"));
    };
    if job.on.world == World::Live {
        let what = "a testbed runs on this machine only, so it cannot use an engine";
        return Err(refused(what, "leave out --engine"));
    }
    if job.file == "-" {
        let what = "an engine's tasks cannot read standard input";
        return Err(refused(what, "give the scenario as a file that all machines can read"));
    }
    if !engine::is_taken(&job.path) && job.path.exists() {
        return Err(occupied(&job.path));
    }
    let mut task = vec!["run".to_owned(), job.file.clone()];
    add_options(&mut task, "--set", overrides);
    if let Some(threads) = running.threads {
        add_options(&mut task, "--threads", &[threads.to_string()]);
    }
    add_learn(&mut task, &running.share)?;
    let work = Work {
        name: &job.scenario.name,
        folder: &job.path,
        part: "all".to_owned(),
        task,
        seconds: share::seconds(&[(Path::new(""), &job.plan)], &running.share)?,
        target: Target::Own,
    };
    let Some(shards) = engine::run(&work, &running.engine, engine, output)? else {
        return Ok(false);
    };
    merge::join(&shards, &job.path)?;
    engine::clean(&job.path, output);
    Ok(true)
}

/// Adds an option once for each of its values.
pub(crate) fn add_options(words: &mut Vec<String>, name: &str, values: &[String]) {
    for value in values {
        words.extend([name.to_owned(), value.clone()]);
    }
}

/// Adds the folder that costs of runs are learnt from.
pub(crate) fn add_learn(words: &mut Vec<String>, share: &Share) -> Result<(), Error> {
    if let Some(folder) = &share.learn {
        let folder = std::path::absolute(folder)
            .map_err(|error| Error::new(format!("cannot read {}: {error}", folder.display())))?;
        add_options(words, "--learn", &[folder.display().to_string()]);
    }
    Ok(())
}

/// That a folder is there which an engine would fill.
pub(crate) fn occupied(folder: &Path) -> Error {
    Error::new(format!(
        "{} already exists\nhint: choose another folder with --out, or run its missing runs on this machine \
         with --resume and without --engine",
        folder.display()
    ))
}

/// That a testbed is asked for no trace, which it has not.
fn check_untraced(plan: &[Experiment]) -> Result<(), Error> {
    for experiment in plan.iter().filter(|experiment| experiment.replication == 0) {
        if experiment.build().map_err(Error::new)?.trace.is_some() {
            let text = "`observe.trace` and --trace work only in the simulator\n\
                        hint: capture a testbed's packets with tcpdump";
            return Err(Error::new(text));
        }
    }
    Ok(())
}

/// Checks that a capture is of one scenario in the simulator.
fn check_capturable(files: &[String], on: &On) -> Result<(), Error> {
    if on.world == World::Live {
        let text =
            "--capture works only in the simulator\nhint: capture a testbed's packets with tcpdump";
        return Err(Error::new(text));
    }
    if files.len() > 1 {
        let text = format!("--capture takes one scenario, and {} files are given", files.len());
        return Err(Error::new(format!("{text}\nhint: run them separately")));
    }
    Ok(())
}

/// The limit of a capture.
fn limit(capture: &crate::args::Capture) -> u64 {
    capture.limit.map_or(LIMIT, NonZeroU64::get)
}

/// The capture of a plan's only run: its file, its links and its limit.
pub(crate) fn capture(
    file: &str,
    plan: &[Experiment],
    (path, links, limit): (&Path, &str, u64),
) -> Result<Capture, Error> {
    let [run] = plan else {
        let first = plan.first().map(|run| command(file, &On::default(), &run.overrides()));
        let runs = count(plan.len(), "run");
        return Err(Error::new(format!(
            "--capture takes a single run, and {file} has {runs}\nhint: choose one, such as the first: {}",
            first.unwrap_or_default()
        )));
    };
    Capture::new(path.to_owned(), links, limit, run).map_err(Error::new)
}

/// Says what a capture holds.
fn say_capture(capture: &Capture, output: Output) {
    if let Some(taken) = capture.taken() {
        let packets = usize::try_from(taken.packets).unwrap_or(usize::MAX);
        output.say(&format!("{} in {}", count(packets, "packet"), capture.path().display()));
    }
    if let Some(warning) = capture.warning() {
        output.warn(&warning);
    }
}

/// The point that others are compared with: the command's, else the scenario's.
fn baseline<'a>(running: &'a Running, scenario: &'a Scenario) -> Option<&'a str> {
    let named = running.baseline.as_ref().or(scenario.baseline.as_ref());
    named.map(String::as_str)
}

fn run_job(
    job: &Job,
    running: &Running,
    capture: Option<&Capture>,
    output: Output,
) -> Result<(ExitStatus, serde_json::Value), Error> {
    let manifest = manifest(job);
    let begin = if running.share.shard.is_some() && running.target.resume {
        // It may be run again without knowing how far it came, or twice at once.
        Folder::join
    } else if running.target.resume || running.engine.elsewhere().is_some() {
        Folder::resume
    } else {
        Folder::create
    };
    let others = Others::of(&running.share);
    let (folder, _claim) = FolderLock::open(&job.path, others, || begin(&job.path, &manifest))?;
    let board = ProgressBoard::new(job.lacking(&folder), output)
        .told(running.share.status.as_deref(), job.asked().len());
    let ran = execute(job, &folder, (running.jobs, running.threads), capture, &board, output)?;
    drop(board);
    if let Some(capture) = capture {
        say_capture(capture, output);
    }
    let finished = ran.finished;
    let mut result = JsonResult {
        scenario: &job.scenario.name,
        folder: job.path.display().to_string(),
        report: None,
        planned: job.asked().len(),
        finished,
        failed: ran.failed,
        interrupted: ran.is_interrupted,
        summary: None,
    };
    let is_interrupted = result.interrupted;
    let say_interrupted = || {
        let again = again(job, running);
        output.warn(&format!(
            "interrupted: {finished} of {} finished and kept in {}\nhint: resume with `{again}`",
            count(job.asked().len(), "run"),
            job.path.display()
        ));
    };
    if is_interrupted && (finished == 0 || running.share.shard.is_some()) {
        say_interrupted();
        return Ok((ExitStatus::Bad, serde_json::to_value(&result).map_err(Error::new)?));
    }
    if let Some(shard) = running.share.shard {
        output.say(&format!(
            "shard {shard}: {finished} of {} in {}\nhint: merge all shards with `tidegate merge`",
            count(job.plan.len(), "run"),
            job.path.display()
        ));
        let is_whole = result.failed.is_empty();
        let verdict = if is_whole { ExitStatus::Good } else { ExitStatus::Bad };
        return Ok((verdict, serde_json::to_value(&result).map_err(Error::new)?));
    }
    let mut comparison = Comparison::packed(vec![folder], baseline(running, &job.scenario))?;
    let page = job.path.join(report::PAGE);
    comparison.write(&page, running.figures.titles())?;
    draw_trace(&comparison, &job.path, output)?;
    if is_interrupted {
        // The interruption says it, with the whole command.
        comparison.missing.clear();
    }
    let stalled = stalled(&comparison.records);
    let verdict = if result.failed.is_empty() && stalled.is_empty() && !is_interrupted {
        ExitStatus::Good
    } else {
        ExitStatus::Bad
    };
    result.failed.extend(stalled);
    result.report = Some(page.display().to_string());
    result.summary = Some(&comparison.summary);
    if !output.json {
        report::print(&comparison, Some(&page), output)?;
    }
    report::warn(&comparison, output);
    if is_interrupted {
        say_interrupted();
    }
    Ok((verdict, serde_json::to_value(&result).map_err(Error::new)?))
}

/// Draws the trace into a results folder, if there is one.
pub(crate) fn draw_trace(
    comparison: &Comparison,
    folder: &Path,
    output: Output,
) -> Result<(), Error> {
    let mut records = comparison.records.iter();
    if records.any(|record| !record.trace.is_empty()) {
        let folder = folder.join(TRACES);
        let drawn = comparison.write_trace(&folder)?;
        output.say(&format!("{drawn} trace charts in {}", folder.display()));
    }
    Ok(())
}

/// Runs what the folder of a job lacks.
pub(crate) fn execute(
    job: &Job,
    folder: &Folder,
    (jobs, threads): (Option<NonZeroUsize>, Option<NonZeroUsize>),
    capture: Option<&Capture>,
    board: &ProgressBoard,
    output: Output,
) -> Result<JobResult, Error> {
    let jobs = jobs.or_else(|| std::thread::available_parallelism().ok());
    let open = job.lacking(folder);
    let begin = format!(
        "{}: {}, results in {}",
        job.scenario.title,
        count(open, "run"),
        job.path.display()
    );
    board.suspend(|| {
        output.say(&begin);
        if job.on.world == World::Simulator && open > 0 {
            outline::announce(job.asked(), open, jobs.unwrap_or(NonZeroUsize::MIN), output);
        }
    });
    let bars = Bars::new(folder, board);
    let command = |experiment: &Experiment| command(&job.file, &job.on, &experiment.overrides());
    let sweep = Sweep {
        experiments: job.asked(),
        folder,
        jobs: match job.on.world {
            // Packets of one run would be in the way of those of another.
            World::Live => NonZeroUsize::MIN,
            World::Simulator => jobs.unwrap_or(NonZeroUsize::MIN),
        },
        threads,
        command: &command,
        capture,
        interrupt: &INTERRUPT,
        progress: &bars,
    };
    let done = match job.on.world {
        #[cfg(all(target_os = "linux", feature = "live"))]
        World::Live => {
            let congestion = job.on.congestion.as_deref();
            tidegate_testbed::sweep(&sweep, congestion, &|experiment, complaint| {
                let text = format!("{}: {complaint}", experiment.label);
                board.suspend(|| output.warn(&text));
            })
        }
        #[cfg(not(all(target_os = "linux", feature = "live")))]
        World::Live => return Err(super::needs_linux("--on live")),
        World::Simulator => sweep.run(),
    };
    let unwritten = done.failures.iter().find_map(|(_, failure)| match failure {
        Failure::Unwritten(error) => Some(error.to_string()),
        Failure::Uncaptured { .. } => Some(failure.to_string()),
        _ => None,
    });
    if let Some(text) = unwritten {
        return Err(Error::new(text));
    }
    let finished = folder.finished().len();
    Ok(JobResult {
        finished,
        failed: failed(&done),
        is_interrupted: job.lacking(folder) > 0 && done.is_interrupted,
    })
}

pub(crate) fn manifest(job: &Job) -> Manifest {
    let planned = |experiment: &Experiment| Planned {
        id: experiment.id.clone(),
        label: experiment.label.clone(),
        point: tidegate_results::outcome::point(experiment),
        replication: experiment.replication,
        seed: experiment.seed.to_string(),
    };
    Manifest {
        format: FORMAT,
        name: job.scenario.name.clone(),
        title: job.scenario.title.clone(),
        baseline: job.scenario.baseline.clone(),
        scenario: job.scenario.resolved(),
        setup: outline::setup(&job.plan),
        command: job.command.clone(),
        by: job.on.to_string().trim().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: env!("TIDEGATE_REVISION").to_owned(),
        build: env!("TIDEGATE_BUILD").to_owned(),
        seed: job.plan.first().map_or_else(String::new, |first| first.seed.to_string()),
        runs: job.plan.iter().map(planned).collect(),
    }
}

fn failed(done: &Done) -> Vec<Failed> {
    let failures = done
        .failures
        .iter()
        .map(|(run, failure)| Failed { run: run.clone(), why: failure.to_string() });
    failures.collect()
}

/// Runs that ended because nothing moved any more: they have a record, but no trust.
pub(crate) fn stalled<F>(records: &[Record<F>]) -> Vec<Failed> {
    let stalled = records.iter().filter_map(|record| match &record.run.end {
        tidegate_results::record::End::Stalled(why) => {
            Some(Failed { run: record.run.id.clone(), why: format!("stalled: {why}") })
        }
        _ => None,
    });
    stalled.collect()
}

/// The command that runs a scenario with these changes. What does not change the results, such as
/// the number of jobs, is no part of it.
pub(crate) fn command(file: &str, on: &On, overrides: &[String]) -> String {
    let mut command = format!("tidegate run {}{on}", quoted(file));
    for change in overrides {
        command.push_str(" --set ");
        command.push_str(&quoted(change));
    }
    command
}

/// The command that goes on.
fn again(job: &Job, running: &Running) -> String {
    let folder = quoted(&job.path.display().to_string());
    let baseline = running.baseline.as_deref();
    let baseline = baseline.map(|label| format!(" --baseline {}", quoted(label)));
    let shard = running.share.shard;
    let shard = shard.map(|shard| format!(" --shard {shard}"));
    let learn = running.share.learn.as_ref();
    let learn = learn.map(|from| format!(" --learn {}", quoted(&from.display().to_string())));
    let options = [baseline, shard, learn].map(Option::unwrap_or_default);
    format!("{}{} --out {folder} --resume", job.command, options.concat())
}

/// A word that a shell takes as it is.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+%@^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Listens for Ctrl-C, and for runs that panic. Once for a program; one that has this one inside
/// listens itself.
pub(crate) fn watch(output: Output) {
    if output::captured().is_some() {
        return;
    }
    listen(output);
    watch_panics();
}

/// Whether somebody asked to stop.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPT.load(Ordering::Relaxed)
}

/// The first Ctrl-C ends the runs soon, the second one ends the program.
pub(super) fn listen(output: Output) {
    let set = ctrlc::set_handler(move || {
        if INTERRUPT.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        output.say("stopping; finished runs are kept (press Ctrl-C again to exit immediately)");
    });
    if let Err(error) = set {
        output.warn(&format!("cannot catch Ctrl-C, which will lose unfinished runs: {error}"));
    }
}

/// A run that panics is reported with its name: here only where it happened is reported.
fn watch_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        let is_run = |name: &str| name.starts_with(tidegate_study::sweep::THREADS);
        match panic.location() {
            Some(place) if thread.name().is_some_and(is_run) => {
                output::say(&format!("a run panicked at {place}"));
            }
            _ => usual(panic),
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell_only_where_needed() {
        assert_eq!(quoted("a/b-c.toml"), "a/b-c.toml");
        assert_eq!(
            quoted("switch.marking={ kind = \"tcn\" }"),
            "'switch.marking={ kind = \"tcn\" }'"
        );
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
        let overrides = ["seed=2".to_owned()];
        let command = |on: &On| command("my file.toml", on, &overrides);
        let expected = "tidegate run 'my file.toml' --set seed=2";
        assert_eq!(command(&On::default()), expected);
        let on = On { world: World::Live, congestion: Some("cubic".to_owned()) };
        let expected = "tidegate run 'my file.toml' --on live --congestion cubic --set seed=2";
        assert_eq!(command(&on), expected);
    }
}
