//! `tidegate tune`: searches settings that are better than the formula's.

use std::num::NonZeroUsize;
use std::path::Path;

use tidegate_plan::evidence::Marks;
use tidegate_plan::evidence::measure::{self, Values};
use tidegate_plan::evidence::model::Model;
use tidegate_plan::screen::screen;
use tidegate_plan::tune::halving::Schedule;
use tidegate_plan::tune::space::{self, Candidate};
use tidegate_plan::tune::vary::Vary;
use tidegate_plan::tune::within::{Goal, Limit};
use tidegate_plan::tune::{self, Cell, Ending, Found, PACKET_HOPS, Request, Tuning};
use tidegate_plan::{Plan, answer};
use tidegate_report::reading;
use tidegate_reproduce::source;
use tidegate_results::Record;
use tidegate_scenario::Scenario;
use tidegate_study::engine::{Cluster, Target, Work, is_taken};
use tidegate_study::lock::Writers;
use tidegate_study::study::Opening;
use tidegate_study::text::{count, quoted};
use tidegate_units::{Bytes, Setting};

use crate::args::tune::Tune;
use crate::engine;
use crate::evaluation::Evaluation;
use crate::interrupt;
use crate::network;
use crate::output::{Error, ExitStatus, Output};
use crate::progress::ProgressBoard;

/// Page in the results folder.
const PAGE: &str = "tune.html";
/// Parts of the page that the screen shows.
const ON_SCREEN: [&str; 2] = ["verdict", "comparison"];
/// Default variation of a network.
const VARY: &str = "scale=0.25..4:9";

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

/// Scenario or network that is tuned, and the cells in which candidates are compared.
struct Subject {
    title: String,
    facts: Vec<String>,
    candidates: Vec<Candidate>,
    cells: Vec<Cell>,
    /// Text of the scenario without its sweep, for a number of seeds.
    base: Box<dyn Fn(u32) -> String>,
    /// Size from which flows are large.
    large: Option<Bytes>,
    /// Traffic that would bring queues to their thresholds.
    reach: String,
}

pub(crate) fn tune(arguments: &Tune, output: Output) -> Result<ExitStatus, Error> {
    let request = request(arguments)?;
    let subject = subject(arguments, &request)?;
    let budget = budget(arguments, &subject, output)?;
    let tuning = schedule(arguments, request, &subject, budget)?;
    let text = tuning.scenario(&(subject.base)(tuning.seeds()));
    let words = words(arguments, budget);
    let command = command(&words);
    let measured = |record: &Record| Values::of(record, subject.large);
    if arguments.share.shard.is_some() {
        return run_shard(arguments, &tuning, (&text, &command), measured, output);
    }
    let is_elsewhere = arguments.engine.elsewhere().is_some();
    let opening = if is_elsewhere && arguments.target.resume {
        // Tasks may be writing to it.
        Opening::Join
    } else {
        Opening::resume_if(arguments.target.resume)
    };
    let writers = if is_elsewhere { Writers::Shards } else { Writers::One };
    let target = (&arguments.target, opening, writers);
    let evaluation = Evaluation::open(&text, &command, target, arguments.jobs, output)?;
    interrupt::watch(output);
    let found = match arguments.engine.elsewhere() {
        None => {
            let board = evaluation.board(tuning.schedule.runs);
            tuning.search(|numbers| {
                let records = evaluation.records(numbers, &board)?;
                Ok::<_, Error>(records.map(|records| records.iter().map(measured).collect()))
            })?
        }
        Some(cluster) => {
            let mut round = 0;
            tuning.search(|numbers| {
                round += 1;
                let part = format!("round-{round}");
                let is_there = evaluation.has(numbers)
                    || fill(&evaluation, numbers, part, (arguments, cluster, &words), output)?;
                if !is_there {
                    return Ok(None);
                }
                let records = evaluation.records(numbers, &silent(output))?;
                Ok::<_, Error>(records.map(|records| records.iter().map(measured).collect()))
            })?
        }
    };
    let Some(found) = found else {
        if !is_elsewhere {
            let folder = quoted(&evaluation.path().display().to_string());
            evaluation.interrupted(&format!("{command} --out {folder}"));
        }
        return Ok(ExitStatus::Bad);
    };
    if is_taken(evaluation.path()) {
        evaluation.clear()?;
        engine::clean(evaluation.path(), output);
    }
    show(&tuning, &found, subject, &evaluation, output)?;
    Ok(match found.ending() {
        Ending::NothingKeeps | Ending::Untested => ExitStatus::Bad,
        _ => ExitStatus::Good,
    })
}

/// Runs a shard of the first incomplete round: the rounds after it depend on its results. All
/// shards fill one folder.
fn run_shard(
    arguments: &Tune,
    tuning: &Tuning,
    (text, command): (&str, &str),
    measured: impl Fn(&Record) -> Values,
    output: Output,
) -> Result<ExitStatus, Error> {
    if arguments.target.out.is_none() {
        return Err(Error::new(
            "the shards of a search fill one folder\nhint: name it with --out, the same for all",
        ));
    }
    if arguments.budget.trim().ends_with("min") {
        return Err(Error::new(format!(
            "--budget {} is another number of runs on each machine\nhint: give all shards a number of runs",
            arguments.budget
        )));
    }
    let target = (&arguments.target, Opening::Join, Writers::Shards);
    let evaluation = Evaluation::open(text, command, target, arguments.jobs, output)?;
    interrupt::watch(output);
    let (mut round, mut ran) = (0, None);
    let found = tuning.search(|numbers| {
        round += 1;
        if evaluation.has(numbers) {
            let records = evaluation.records(numbers, &silent(output))?;
            return Ok(records.map(|records| records.iter().map(&measured).collect()));
        }
        let own = evaluation.own(numbers, &arguments.share)?;
        let board = ProgressBoard::new(own.len(), output)
            .with_status(arguments.share.status.as_deref(), own.len());
        ran = Some((own.len(), evaluation.records(&own, &board)?));
        Ok::<_, Error>(None)
    })?;
    let folder = evaluation.path().display();
    let hint = format!("`{command} --out {} --resume`", quoted(&folder.to_string()));
    match ran {
        Some((_, None)) => {
            let folder = quoted(&folder.to_string());
            evaluation.interrupted(&format!("{command} --out {folder}"));
            return Ok(ExitStatus::Bad);
        }
        Some((runs, _)) => output.say(&format!(
            "{} of round {round} are in {folder}\nhint: the same command runs the next round when all shards have \
             finished this one; {hint} runs the rest on one machine",
            count(runs, "run")
        )),
        None if found.is_some() => output.say(&format!(
            "all rounds are in {folder}\nhint: {hint} shows the result"
        )),
        None => return Ok(ExitStatus::Bad),
    }
    Ok(ExitStatus::Good)
}

/// Has an engine make the missing runs of a round. Returns true if the round is complete.
fn fill(
    evaluation: &Evaluation,
    numbers: &[usize],
    part: String,
    (arguments, cluster, words): (&Tune, Cluster<'_>, &[String]),
    output: Output,
) -> Result<bool, Error> {
    let mut task = words.to_vec();
    engine::add_learn(&mut task, &arguments.share)?;
    output.say(&format!("{}: {}", part.replace('-', " "), count(numbers.len(), "run")));
    let work = Work {
        name: "tune",
        folder: evaluation.path(),
        part,
        task,
        seconds: evaluation.seconds(numbers, &arguments.share)?,
        target: Target::Shared,
    };
    Ok(engine::run(&work, cluster, output)?.is_some())
}

/// Bars for runs that exist already.
fn silent(output: Output) -> ProgressBoard {
    ProgressBoard::new(0, output.silent())
}

fn show(
    tuning: &Tuning,
    found: &Found,
    subject: Subject,
    evaluation: &Evaluation,
    output: Output,
) -> Result<(), Error> {
    let sheet = tune::sheet(tuning, found, &subject.title, subject.facts);
    evaluation.write_page(PAGE, &sheet.render())?;
    output.say(&format!("page: {}", evaluation.path().join(PAGE).display()));
    if output.json {
        return output.print_json(&tune::json(tuning, found));
    }
    let bold = |text: &str| output.paint.bold(text);
    output.print(&screen(&sheet, &ON_SCREEN, output.width, bold))
}

fn request(arguments: &Tune) -> Result<Request, Error> {
    let limits = arguments.within.iter().map(|text| Limit::read(text));
    let varies = arguments.vary.iter().map(|text| Vary::read(text));
    let mut varies: Vec<Vary> = varies.collect::<Result<_, _>>()?;
    for (place, vary) in varies.iter().enumerate() {
        if varies[..place].iter().any(|other| other.key == vary.key) {
            return Err(Error::new(format!(
                "--vary {} is given twice\nhint: give all its values at once",
                vary.key
            )));
        }
    }
    if varies.is_empty() && is_network(&arguments.file) {
        varies.push(Vary::read(VARY)?);
    }
    if !(arguments.size > 0.0 && arguments.size <= 100.0) {
        return Err(Error::new(format!(
            "--size {} is out of range\nhint: above 0 and at most 100",
            arguments.size
        )));
    }
    Ok(Request {
        goal: Goal::read(&arguments.goal).map_err(Error::new)?,
        limits: limits.collect::<Result<_, _>>()?,
        varies,
        seed: arguments.seed,
    })
}

/// True if a file is a network, not a scenario: only networks have a fabric.
fn is_network(file: &str) -> bool {
    let is_fabric = |line: &str| {
        let line = line.trim_start().trim_start_matches('[');
        line.starts_with("fabric")
    };
    match reading::text(Path::new(file), reading::WRITTEN) {
        Ok(text) => text.lines().any(is_fabric),
        Err(_) => network::is_builtin(file),
    }
}

fn subject(arguments: &Tune, request: &Request) -> Result<Subject, Error> {
    let loads = match &arguments.load {
        Some(text) => space::loads(text)?,
        None => Vec::new(),
    };
    let sizes: Vec<String> = match &arguments.workload {
        Some(text) => text.split(',').map(|name| name.trim().to_owned()).collect(),
        None => Vec::new(),
    };
    if is_network(&arguments.file) {
        of_network(arguments, request, (&loads, &sizes))
    } else {
        of_scenario(arguments, request, (&loads, &sizes))
    }
}

fn of_network(
    arguments: &Tune,
    request: &Request,
    (loads, sizes): (&[f64], &[String]),
) -> Result<Subject, Error> {
    let network = network::read(&arguments.file)?;
    let answer = Plan::new(&network);
    if network.traffic.trace.is_some() && !(loads.is_empty() && sizes.is_empty()) {
        return Err(Error::new(
            "--load and --workload are of random flows, and this network has a trace\n\
             hint: leave them out, or give the network a workload",
        ));
    }
    let model = Model::new(&network, PACKET_HOPS * arguments.size).map_err(Error::new)?;
    let candidates = space::of_network(&answer, &model, &request.varies)?;
    let cells =
        Tuning::cells(loads, sizes, |load| model.with_load(load), |sizes| model.with_sizes(sizes));
    let mut facts = answer::facts(&network);
    facts.extend(model.notes.iter().cloned());
    let lowest = Marks::formula(&answer).lowest(&network);
    let reach = model.reach(lowest, arguments.size);
    // The model borrows the network: only its text is needed later.
    let seed = arguments.seed;
    let marker = model.scenario("tune", seed, u32::MAX);
    let runs = format!("runs = {}\n", u32::MAX);
    Ok(Subject {
        title: network.title.clone(),
        facts,
        candidates,
        cells,
        base: Box::new(move |seeds| marker.replacen(&runs, &format!("runs = {seeds}\n"), 1)),
        large: Some(measure::large(&network)),
        reach,
    })
}

fn of_scenario(
    arguments: &Tune,
    request: &Request,
    (loads, sizes): (&[f64], &[String]),
) -> Result<Subject, Error> {
    let seed = arguments.seed;
    let file = arguments.file.clone();
    let overrides = [format!("seed={seed}"), "runs=1".to_owned()];
    let mut scenario = source::read(&file, &overrides).map_err(Error::new)?;
    // A sweep of one value also counts: a scenario cannot have a second one.
    if !scenario.keys().is_empty() {
        return Err(Error::new(format!(
            "{file} has a sweep of its own, which cannot be tuned\n\
             hint: remove its [sweep], and give the varied settings with --vary"
        )));
    }
    if request.varies.is_empty() {
        return Err(Error::new(
            "a scenario needs --vary, the settings to tune\n\
             hint: for example --vary switch.marking.threshold=20KB..320KB",
        ));
    }
    // Its points are named like candidates: none of them is the file's baseline.
    scenario.baseline = None;
    let resolved = scenario.resolved();
    let candidates = space::of_scenario(&resolved, &request.varies)?;
    let cells = Tuning::cells(
        loads,
        sizes,
        |load| format!("\"traffic.0.load\" = {load}"),
        |sizes| format!("\"traffic.0.sizes\" = \"{sizes}\""),
    );
    Ok(Subject {
        title: scenario.title.clone(),
        facts: Vec::new(),
        candidates,
        cells,
        base: Box::new(move |seeds| {
            resolved.replacen("runs = 1\n", &format!("runs = {seeds}\n"), 1)
        }),
        large: None,
        reach: "raise the load of the traffic, or let more flows meet at one port".to_owned(),
    })
}

/// Spends the budget.
fn schedule(
    arguments: &Tune,
    request: Request,
    subject: &Subject,
    budget: usize,
) -> Result<Tuning, Error> {
    let others = subject.candidates.len() - 1;
    if others == 0 {
        return Err(Error::new(
            "there is no candidate but the formula's thresholds\nhint: give more values, for example --vary scale=0.25..4:9",
        ));
    }
    let cells = subject.cells.len();
    let schedule = Schedule::new(others, cells, budget).map_err(|needed| {
        let where_ = match cells {
            1 => String::new(),
            cells => format!(" at {cells} loads and sorts of traffic"),
        };
        Error::new(format!(
            "--budget {}: {} is too few for {}{where_}\nhint: --budget {needed} at least, or fewer values \
             with --vary",
            arguments.budget,
            count(budget, "run"),
            count(others, "candidate"),
        ))
    })?;
    Ok(Tuning {
        request,
        candidates: subject.candidates.clone(),
        cells: subject.cells.clone(),
        schedule,
        reach: subject.reach.clone(),
    })
}

/// The budget in runs. Minutes are as many runs as the estimate gives, so that the search itself
/// does not depend on time.
fn budget(arguments: &Tune, subject: &Subject, output: Output) -> Result<usize, Error> {
    let text = arguments.budget.trim();
    let bad = || {
        Error::new(format!(
            "--budget {text} is no budget\nhint: runs such as 200, or minutes such as 10min"
        ))
    };
    let Some(minutes) = text.strip_suffix("min") else {
        return match text.parse() {
            Ok(0) | Err(_) => Err(bad()),
            Ok(runs) => Ok(runs),
        };
    };
    let minutes: f64 = minutes.trim().parse().map_err(|_| bad())?;
    if !(minutes > 0.0 && minutes <= 1e5) {
        return Err(bad());
    }
    let sample = (subject.base)(1);
    let plan = Scenario::parse("estimate", &sample, &[]).and_then(|scenario| scenario.plan());
    let seconds = plan.map_err(Error::new)?[0].outline.seconds().max(1e-3);
    let jobs = arguments.jobs.or_else(|| std::thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, NonZeroUsize::get);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "an estimate of a positive number of runs"
    )]
    let runs = (minutes * 60.0 * jobs as f64 / seconds) as usize;
    output.say(&format!(
        "{text} are {}, {jobs} at a time, by estimate; --budget {runs} gives the same search anywhere",
        count(runs, "run")
    ));
    Ok(runs)
}

/// Words of the command that repeats the search, without the program.
fn words(arguments: &Tune, runs: usize) -> Vec<String> {
    let mut words = vec!["tune".to_owned(), arguments.file.clone()];
    let mut add = |name: &str, value: &str| {
        engine::add_options(&mut words, &format!("--{name}"), &[value.to_owned()]);
    };
    add("for", &arguments.goal);
    let within = arguments.within.iter();
    within.for_each(|limit| add("within", limit));
    arguments.vary.iter().for_each(|vary| add("vary", vary));
    arguments.load.iter().for_each(|load| add("load", load));
    let workload = arguments.workload.iter();
    workload.for_each(|sizes| add("workload", sizes));
    add("budget", &runs.to_string());
    add("seed", &arguments.seed.to_string());
    #[expect(clippy::float_cmp, reason = "the default is a whole number")]
    if arguments.size != 1.0 {
        add("size", &arguments.size.to_string());
    }
    words
}

/// The same command, quoted for a shell.
fn command(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("tidegate {}", words.join(" "))
}
