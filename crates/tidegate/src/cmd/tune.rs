//! `tidegate tune`: searches settings that are better than the formula's.

use std::fmt::Write;
use std::num::NonZeroUsize;

use tidegate_plan::evidence::measure::{self, Values};
use tidegate_plan::evidence::model::Model;
use tidegate_plan::screen::screen;
use tidegate_plan::tune::halving::Schedule;
use tidegate_plan::tune::space::{self, Candidate};
use tidegate_plan::tune::vary::Vary;
use tidegate_plan::tune::within::{Goal, Limit};
use tidegate_plan::tune::{self, Cell, Ending, Found, PACKET_HOPS, Request, Tuning};
use tidegate_plan::{Plan, answer};
use tidegate_report::Record;
use tidegate_scenario::Scenario;
use tidegate_units::{Bytes, Setting};

use super::laboratory::Laboratory;
use super::{plan, run, source};
use crate::args::tune::Tune;
use crate::output::{Error, Output, Verdict};

/// The page in the results folder.
const PAGE: &str = "tune.html";
/// What the screen shows.
const ON_SCREEN: [&str; 2] = ["verdict", "comparison"];
/// What is varied of a network if nobody says so.
const VARY: &str = "scale=0.25..4:9";

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

/// What is tuned, and where.
struct Subject {
    title: String,
    facts: Vec<String>,
    candidates: Vec<Candidate>,
    cells: Vec<Cell>,
    /// The scenario without its sweep, for so many seeds.
    base: Box<dyn Fn(u32) -> String>,
    /// From how many bytes on flows are large.
    large: Option<Bytes>,
}

pub(crate) fn tune(arguments: &Tune, output: Output) -> Result<Verdict, Error> {
    let request = request(arguments)?;
    let subject = subject(arguments, &request)?;
    let budget = budget(arguments, &subject, output)?;
    let tuning = schedule(arguments, request, &subject, budget)?;
    let text = tuning.scenario(&(subject.base)(tuning.seeds()));
    let command = command(arguments, budget);
    let laboratory = Laboratory::open(&text, &command, &arguments.target, arguments.jobs, output)?;
    run::watch(output);
    let board = laboratory.board(tuning.schedule.runs);
    let found = tuning.search(|numbers| {
        let records = laboratory.records(numbers, &board)?;
        let measured = |record: &Record| Values::of(record, subject.large);
        Ok::<_, Error>(records.map(|records| records.iter().map(measured).collect()))
    })?;
    drop(board);
    let Some(found) = found else {
        let folder = run::quoted(&laboratory.path().display().to_string());
        laboratory.interrupted(&format!("{command} --out {folder}"));
        return Ok(Verdict::Bad);
    };
    show(&tuning, &found, subject, &laboratory, output)?;
    Ok(match found.ending() {
        Ending::NothingKeeps => Verdict::Bad,
        _ => Verdict::Good,
    })
}

fn show(
    tuning: &Tuning,
    found: &Found,
    subject: Subject,
    laboratory: &Laboratory,
    output: Output,
) -> Result<(), Error> {
    let sheet = tune::sheet(tuning, found, &subject.title, subject.facts);
    laboratory.write_page(PAGE, &sheet.render())?;
    output.say(&format!("page: {}", laboratory.path().join(PAGE).display()));
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

/// Whether a file is a network and no scenario: only networks have a fabric.
fn is_network(file: &str) -> bool {
    let is_fabric = |line: &str| {
        let line = line.trim_start().trim_start_matches('[');
        line.starts_with("fabric")
    };
    match std::fs::read_to_string(file) {
        Ok(text) => text.lines().any(is_fabric),
        Err(_) => plan::is_builtin(file),
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
    let network = plan::read(&arguments.file)?;
    let answer = Plan::new(&network);
    if network.traffic.trace.is_some() && !(loads.is_empty() && sizes.is_empty()) {
        return Err(Error::new(
            "--load and --workload are of random flows, and this network has a trace\n\
             hint: leave them out, or give the network a workload",
        ));
    }
    let model = Model::new(&network, PACKET_HOPS * arguments.size).map_err(Error::new)?;
    let candidates = space::of_network(&answer, &model, &request.varies)?;
    let cells = Tuning::cells(
        loads,
        sizes,
        |load| model.with_load(load),
        |sizes| model.with_sizes(sizes),
    );
    let mut facts = answer::facts(&network);
    facts.extend(model.notes.iter().cloned());
    // The model borrows the network: its text is all that is needed later.
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
    let scenario = source::read(&file, &overrides).map_err(Error::new)?;
    if scenario.points() > 1 {
        return Err(Error::new(format!(
            "{file} has a sweep of its own, which cannot be tuned\n\
             hint: leave its [sweep] out, and give what it varies with --vary"
        )));
    }
    if request.varies.is_empty() {
        return Err(Error::new(
            "a scenario needs --vary: what is tuned\n\
             hint: such as --vary switch.marking.threshold=20KB..320KB",
        ));
    }
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
            "all that is tried is what the formula says\nhint: more values, such as --vary scale=0.25..4:9",
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
            run::count(budget, "run"),
            run::count(others, "candidate"),
        ))
    })?;
    Ok(Tuning {
        request,
        candidates: subject.candidates.clone(),
        cells: subject.cells.clone(),
        schedule,
    })
}

/// The budget in runs. Minutes are as many runs as the estimate gives, so that the search itself knows
/// nothing of time.
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
    let jobs = arguments
        .jobs
        .or_else(|| std::thread::available_parallelism().ok());
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
        run::count(runs, "run")
    ));
    Ok(runs)
}

/// The command that gives the same search.
fn command(arguments: &Tune, runs: usize) -> String {
    let mut command = format!(
        "tidegate tune {} --for {}",
        run::quoted(&arguments.file),
        arguments.goal
    );
    let mut add = |name: &str, value: &str| _ = write!(command, " --{name} {}", run::quoted(value));
    arguments
        .within
        .iter()
        .for_each(|limit| add("within", limit));
    arguments.vary.iter().for_each(|vary| add("vary", vary));
    arguments.load.iter().for_each(|load| add("load", load));
    arguments
        .workload
        .iter()
        .for_each(|sizes| add("workload", sizes));
    add("budget", &runs.to_string());
    add("seed", &arguments.seed.to_string());
    #[expect(clippy::float_cmp, reason = "the default is a whole number")]
    if arguments.size != 1.0 {
        add("size", &arguments.size.to_string());
    }
    command
}
