//! `tidegate run`: runs scenarios and compares their results.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tidegate_reproduce::source;
use tidegate_results::Summary;
use tidegate_scenario::Experiment;
use tidegate_study::capture::Capture;
use tidegate_study::compare::PAGE;
use tidegate_study::engine::{Cluster, Target, Work, check_free};
use tidegate_study::lock::Writers;
use tidegate_study::study::{Opening, Options, StudyOutcome};
use tidegate_study::sweep::{Done, Sweep};
use tidegate_study::text::{count, quoted};
use tidegate_study::{OpenStudy, Study, cost};

use crate::args::testbed::{On, World};
use crate::args::{self, Reading, Running};
use crate::engine;
use crate::interrupt::{self, INTERRUPT, is_interrupted};
use crate::output::{Error, ExitStatus, Output};
use crate::progress::{Bars, ProgressBoard};
use crate::report::{self, Failed};
use crate::version::BUILD;
use crate::{outline, place, shards};

/// A scenario that is ready to run.
struct Job {
    study: Study,
    folder: PathBuf,
}

/// Recordings of a run beside its results.
#[derive(Default)]
pub(crate) struct Recorded<'a> {
    /// The flow to trace.
    pub(crate) trace: Option<u32>,
    /// The links to capture.
    pub(crate) capture: Option<&'a args::Capture>,
}

/// Result of a scenario for `--json`.
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

pub(crate) fn run(
    files: &[String],
    running: &Running,
    on: &On,
    reading: Reading,
    recorded: &Recorded<'_>,
    output: Output,
) -> Result<ExitStatus, Error> {
    #[cfg(not(all(target_os = "linux", feature = "live")))]
    if on.world == World::Live {
        return Err(crate::needs_linux("--on live"));
    }
    let captured =
        recorded.capture.and_then(|it| Some((it, it.file.as_deref()?, it.at.as_deref()?)));
    if captured.is_some() {
        check_capturable(files, on)?;
    }
    let mut capture = None;
    let mut overrides = running.set.clone();
    overrides.extend(running.seed.map(|seed| format!("seed={seed}")));
    overrides.extend(running.runs.map(|runs| format!("runs={runs}")));
    overrides.extend(recorded.trace.map(|flow| format!("observe.trace={flow}")));
    let mut jobs: Vec<Job> = Vec::new();
    // All files are read before the first is run: a mistake in the last one is reported at once.
    for file in files {
        let scenario = source::read_up_to(file, &overrides, reading.max_file);
        let scenario = scenario.map_err(Error::new)?;
        let mut study = Study::new(file, scenario, &overrides).map_err(Error::new)?;
        study.set_options(&on.to_string(), &reading.to_string(), &overrides);
        study.baseline(running.baseline.as_deref()).map_err(Error::new)?;
        if on.world == World::Live {
            check_untraced(&study.plan)?;
        }
        if let Some((asked, path, links)) = captured {
            let limit = asked.limit.map(NonZeroU64::get);
            capture = Some(study.capture(path, links, limit).map_err(Error::new)?);
        }
        outline::warn(&study, output);
        let taken = jobs.iter().map(|job| job.folder.as_path()).collect::<Vec<_>>();
        let folder = place::choose(&study.scenario.name, files.len(), &running.target, &taken)?;
        if let Some(shard) = running.share.shard {
            study.take_shard(shard, running.share.learn.as_deref()).map_err(Error::new)?;
        }
        jobs.push(Job { study, folder });
    }
    interrupt::watch(output);
    if let Some(cluster) = running.engine.elsewhere()
        && !fill(&jobs, running, on, reading, (cluster, &overrides), output)?
    {
        return Ok(ExitStatus::Bad);
    }
    let mut status = ExitStatus::Good;
    let mut results = Vec::new();
    for job in jobs {
        if is_interrupted() {
            status = ExitStatus::Bad;
            output.warn(&format!("interrupted: {} was not started", job.study.file));
            continue;
        }
        let (of_job, value) = run_job(job, running, on, capture.as_ref(), output)?;
        if of_job == ExitStatus::Bad {
            status = ExitStatus::Bad;
        }
        results.push(value);
    }
    if output.json {
        output.print_json(&serde_json::json!({ "results": results }))?;
    }
    Ok(status)
}

/// Fills the folder of a scenario by an engine. Returns whether all results are there.
fn fill(
    jobs: &[Job],
    running: &Running,
    on: &On,
    reading: Reading,
    (cluster, overrides): (Cluster<'_>, &[String]),
    output: Output,
) -> Result<bool, Error> {
    let refused = |what: &str, hint: &str| Error::new(format!("{what}\nhint: {hint}"));
    let [Job { study, folder }] = jobs else {
        let what = "an engine runs one scenario at a time";
        return Err(refused(what, "run each file with its own command and --out"));
    };
    if on.world == World::Live {
        let what = "a testbed runs on this machine only, so it cannot use an engine";
        return Err(refused(what, "leave out --engine"));
    }
    if study.file == "-" {
        let what = "an engine's tasks cannot read standard input";
        return Err(refused(what, "give the scenario as a file that all machines can read"));
    }
    check_free(folder).map_err(Error::new)?;
    let mut task = vec!["run".to_owned(), study.file.clone()];
    engine::add_options(&mut task, "--set", overrides);
    if let Some(size) = reading.max_file {
        engine::add_options(&mut task, "--max-file", &[size.to_string()]);
    }
    if let Some(threads) = running.threads {
        engine::add_options(&mut task, "--threads", &[threads.to_string()]);
    }
    engine::add_learn(&mut task, &running.share)?;
    let seconds = cost::seconds(&[(Path::new(""), &study.plan)], running.share.learn.as_deref());
    let work = Work {
        name: &study.scenario.name,
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
    engine::clean(folder, output);
    Ok(true)
}

/// Refuses a trace of a testbed.
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
        let text = "--capture works only in the simulator\n\
                    hint: capture a testbed's packets with tcpdump";
        return Err(Error::new(text));
    }
    if files.len() > 1 {
        let text = format!("--capture takes one scenario, and {} files are given", files.len());
        return Err(Error::new(format!("{text}\nhint: run them separately")));
    }
    Ok(())
}

/// Reports a finished capture.
fn say_capture(capture: &Capture, output: Output) {
    if let Some(taken) = capture.taken() {
        let packets = usize::try_from(taken.packets).unwrap_or(usize::MAX);
        output.say(&format!("{} in {}", count(packets, "packet"), capture.path().display()));
    }
    if let Some(warning) = capture.warning() {
        output.warn(&warning);
    }
}

fn run_job(
    job: Job,
    running: &Running,
    on: &On,
    capture: Option<&Capture>,
    output: Output,
) -> Result<(ExitStatus, serde_json::Value), Error> {
    let Job { study, folder } = job;
    let share = &running.share;
    let opening = if share.shard.is_some() && running.target.resume {
        // A shard may be run again without knowing how far it came, or twice at once.
        Opening::Join
    } else {
        Opening::resume_if(running.target.resume || running.engine.elsewhere().is_some())
    };
    let writers = if share.shard.is_some() { Writers::Shards } else { Writers::One };
    let open = study.open(&folder, (opening, writers), &BUILD).map_err(Error::new)?;
    let study = open.study();
    let asked = study.runs().len();
    let board =
        ProgressBoard::new(open.lacking(), output).with_status(share.status.as_deref(), asked);
    let StudyOutcome { finished, failures, is_interrupted } =
        execute(&open, running, on, capture, &board, output)?;
    drop(board);
    if let Some(capture) = capture {
        say_capture(capture, output);
    }
    let failed = failures.into_iter().map(|(run, failure)| (run, failure.to_string()).into());
    let mut result = JsonResult {
        scenario: &study.scenario.name,
        folder: folder.display().to_string(),
        report: None,
        planned: asked,
        finished,
        failed: failed.collect(),
        interrupted: is_interrupted,
        summary: None,
    };
    let say_interrupted = || {
        output.warn(&format!(
            "interrupted: {finished} of {} finished and kept in {}\nhint: resume with `{}`",
            count(asked, "run"),
            folder.display(),
            resume_command(&open, running)
        ));
    };
    if is_interrupted && (finished == 0 || share.shard.is_some()) {
        say_interrupted();
        return Ok((ExitStatus::Bad, serde_json::to_value(&result).map_err(Error::new)?));
    }
    if let Some(shard) = share.shard {
        output.say(&format!(
            "shard {shard}: {finished} of {} in {}\nhint: merge all shards with `tidegate merge`",
            count(study.plan.len(), "run"),
            folder.display()
        ));
        let is_whole = result.failed.is_empty();
        let status = if is_whole { ExitStatus::Good } else { ExitStatus::Bad };
        return Ok((status, serde_json::to_value(&result).map_err(Error::new)?));
    }
    let baseline = study.baseline(running.baseline.as_deref()).map_err(Error::new)?;
    let mut comparison = open.compare(baseline).map_err(Error::new)?;
    let page = folder.join(PAGE);
    comparison.write(&page, running.figures.titles()).map_err(Error::new)?;
    report::draw_trace(&comparison, &folder, output)?;
    if is_interrupted {
        // The message about the interruption has the number and the whole command.
        comparison.missing.clear();
    }
    let stalled = report::stalled(&comparison);
    let is_good = result.failed.is_empty() && stalled.is_empty() && !is_interrupted;
    let status = if is_good { ExitStatus::Good } else { ExitStatus::Bad };
    result.failed.extend(stalled);
    result.report = Some(page.display().to_string());
    result.summary = Some(&comparison.summary);
    if !output.json {
        report::print(&comparison, &page, output)?;
    }
    report::warn(&comparison, output);
    if is_interrupted {
        say_interrupted();
    }
    Ok((status, serde_json::to_value(&result).map_err(Error::new)?))
}

/// Runs the missing runs of a study.
fn execute(
    open: &OpenStudy,
    running: &Running,
    on: &On,
    capture: Option<&Capture>,
    board: &ProgressBoard,
    output: Output,
) -> Result<StudyOutcome, Error> {
    let jobs = match on.world {
        World::Simulator => running.jobs,
        // Concurrent live runs would disturb each other.
        World::Live => Some(std::num::NonZeroUsize::MIN),
    };
    let options = Options { jobs, threads: running.threads, capture, interrupt: &INTERRUPT };
    let study = open.study();
    let lacking = open.lacking();
    let begin = format!(
        "{}: {}, results in {}",
        study.scenario.title,
        count(lacking, "run"),
        open.path().display()
    );
    board.suspend(|| {
        output.say(&begin);
        if on.world == World::Simulator && lacking > 0 {
            outline::announce(study.runs(), lacking, options.jobs(), output);
        }
    });
    let bars = Bars::new(board);
    let run: &dyn Fn(&Sweep<'_>) -> Done = match on.world {
        #[cfg(all(target_os = "linux", feature = "live"))]
        World::Live => {
            let congestion = on.congestion.as_deref();
            &move |sweep| {
                tidegate_testbed::sweep(sweep, congestion, &|experiment, complaint| {
                    let text = format!("{}: {complaint}", experiment.label);
                    board.suspend(|| output.warn(&text));
                })
            }
        }
        #[cfg(not(all(target_os = "linux", feature = "live")))]
        World::Live => return Err(crate::needs_linux("--on live")),
        World::Simulator => &|sweep| sweep.run(),
    };
    open.run(&options, &bars, run).map_err(Error::new)
}

/// The command that resumes a study.
fn resume_command(open: &OpenStudy, running: &Running) -> String {
    let folder = quoted(&open.path().display().to_string());
    let baseline = running.baseline.as_deref();
    let baseline = baseline.map(|label| format!(" --baseline {}", quoted(label)));
    let shard = running.share.shard;
    let shard = shard.map(|shard| format!(" --shard {shard}"));
    let learn = running.share.learn.as_ref();
    let learn = learn.map(|from| format!(" --learn {}", quoted(&from.display().to_string())));
    let options = [baseline, shard, learn].map(Option::unwrap_or_default);
    format!("{}{} --out {folder} --resume", open.study().command, options.concat())
}
