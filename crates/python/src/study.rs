//! Scenarios and their runs.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate_dataplane::mark::custom::Make;
use tidegate_reproduce::source;
use tidegate_results::Record;
use tidegate_results::record::{End, Flow};
use tidegate_scenario::Experiment;
use tidegate_sim::run::Status;
use tidegate_study::compare::PAGE;
use tidegate_study::lock::Writers;
use tidegate_study::study::{Build, Opening, Options, SCENARIO};
use tidegate_study::sweep::{self, Ending, Progress, Sweep};
use tidegate_study::terminal::{self, Paint};
use tidegate_study::{Comparison, Study, outline};
use tidegate_units::Bytes;

use crate::error::error;
use crate::marker::{Failure, Maker};
use crate::table::{Kind, Table};
use crate::waiting::{wait, wait_or_leave};

/// The build of this package, for manifests.
const BUILD: Build = Build {
    version: tidegate_version::VERSION,
    revision: tidegate_version::REVISION,
    fingerprint: tidegate_version::FINGERPRINT,
};

/// A scenario to read: its name, or its text.
struct Source {
    text: String,
    is_text: bool,
    overrides: Vec<String>,
    max_file: Option<Bytes>,
}

impl Source {
    fn new(
        text: String,
        is_text: bool,
        overrides: Vec<String>,
        max_file: Option<&str>,
    ) -> PyResult<Self> {
        let max_file = max_file.map(|size| {
            size.parse::<Bytes>().map_err(|problem| error(format!("max_file: {problem}")))
        });
        Ok(Self { text, is_text, overrides, max_file: max_file.transpose()? })
    }

    /// Reads the scenario. Ctrl-C is answered meanwhile.
    fn read<T: Send + 'static>(
        self,
        py: Python<'_>,
        then: impl FnOnce(Study) -> T + Send + 'static,
    ) -> PyResult<T> {
        wait_or_leave(py, move || self.study().map(then))?
    }

    fn study(&self) -> PyResult<Study> {
        let Self { text, is_text, overrides, max_file } = self;
        let study = if *is_text {
            let scenario = source::parse(SCENARIO, text, overrides).map_err(error)?;
            Study::of_text(text, scenario, overrides)
        } else {
            let scenario = source::read_up_to(text, overrides, *max_file).map_err(error)?;
            Study::new(text, scenario, overrides)
        };
        let mut study = study.map_err(error)?;
        if let Some(size) = max_file {
            study.set_options("", &format!(" --max-file {size}"), overrides);
        }
        Ok(study)
    }
}

/// Notes about overrides, and reasons not to trust results.
fn notes(study: &Study) -> Vec<String> {
    let mut texts = study.scenario.notes.clone();
    texts.extend(outline::warnings(&study.plan));
    texts
}

/// Validates a scenario. Returns its summary, or its whole text with all defaults; and warnings.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    source: String,
    is_text: bool,
    overrides: Vec<String>,
    resolved: bool,
    max_file: Option<&str>,
) -> PyResult<(String, Vec<String>)> {
    Source::new(source, is_text, overrides, max_file)?.read(py, move |study| {
        let text = if resolved { study.scenario.resolved() } else { study.summary() };
        (text, notes(&study))
    })
}

/// Runs a scenario. `tick` is called with the number of finished runs, the number of all runs, and
/// the finished fraction of the work.
#[pyfunction]
#[pyo3(signature = (source, is_text, overrides, *, max_file, out, resume, jobs, threads, baseline, marker, capture, tick))]
#[expect(clippy::too_many_arguments, reason = "the arguments of tidegate.run")]
pub(crate) fn run(
    py: Python<'_>,
    source: String,
    is_text: bool,
    overrides: Vec<String>,
    max_file: Option<&str>,
    out: Option<PathBuf>,
    resume: bool,
    jobs: Option<NonZeroUsize>,
    threads: Option<NonZeroUsize>,
    baseline: Option<String>,
    marker: Option<Bound<'_, PyAny>>,
    capture: Option<(PathBuf, String, Option<NonZeroU64>)>,
    tick: Py<PyAny>,
) -> PyResult<RunResult> {
    let source = Source::new(source, is_text, overrides, max_file)?;
    let mut study = source.read(py, |study| study)?;
    let failure = Arc::new(Failure::default());
    let custom = match &marker {
        None => None,
        Some(factory) => {
            let varies = |key: &&str| *key == MARKING || key.starts_with("switch.marking.");
            if let Some(key) = study.scenario.keys().into_iter().find(varies) {
                return Err(error(format!(
                    "the sweep varies `{key}`, which the marker replaces\n\
                     hint: leave out the sweep with sets={{\"sweep\": {{}}}}"
                )));
            }
            let own: Arc<dyn Make> = Arc::new(Maker::new(factory, &failure)?);
            let name = factory.getattr("__name__");
            let name = name.and_then(|name| name.extract());
            let name = name.unwrap_or_else(|_| "Python".to_owned());
            study.by = format!("the marker {name}");
            Some(Custom { name, maker: own })
        }
    };
    let mut warnings = notes(&study);
    let runs = study.plan.len();
    let tally = Tally::new(runs);
    let tell = |py: Python<'_>| -> PyResult<()> {
        tick.call1(py, (tally.done(), runs, tally.part()))?;
        Ok(())
    };
    let job = Job {
        out: out.as_deref(),
        resume,
        baseline: baseline.as_deref(),
        custom,
        capture: capture.as_ref(),
    };
    let options = Options { jobs, threads, ..Options::new(&failure.interrupt) };
    let work = || job.run(study, options, &tally);
    let stop = || failure.interrupt.store(true, Ordering::Relaxed);
    let results = wait(py, work, tell, stop);
    if let Some(raised) = failure.take() {
        return Err(raised);
    }
    let results = results?.map_err(error)?;
    tick.call1(py, (runs, runs, 1.0))?;
    let mut results = results.ok_or_else(|| error("the runs were interrupted"))?;
    warnings.append(&mut results.warnings);
    warnings.extend(tally.warnings());
    Ok(RunResult { results: Arc::new(results), warnings, folder: out })
}

/// A study to run, with the options that the program does not have in common.
struct Job<'a> {
    out: Option<&'a Path>,
    resume: bool,
    baseline: Option<&'a str>,
    custom: Option<Custom>,
    capture: Option<&'a (PathBuf, String, Option<NonZeroU64>)>,
}

/// Marking scheme that replaces the scenario's.
struct Custom {
    name: String,
    maker: Arc<dyn Make>,
}

impl Job<'_> {
    /// Runs the study; `None` if interrupted.
    fn run(
        &self,
        study: Study,
        options: Options<'_>,
        tally: &Tally,
    ) -> Result<Option<Results>, String> {
        let text = |error: tidegate_study::Error| error.to_string();
        let baseline = study.baseline(self.baseline).map_err(text)?.map(str::to_owned);
        let baseline = baseline.as_deref();
        let capture = match self.capture {
            None => None,
            Some((file, ..)) if self.resume => {
                let file = file.display();
                return Err(format!(
                    "cannot capture finished runs into {file}\nhint: leave out resume"
                ));
            }
            Some((file, at, limit)) => {
                Some(study.capture(file, at, limit.map(NonZeroU64::get)).map_err(text)?)
            }
        };
        let options = Options { capture: capture.as_ref(), ..options };
        let execute = |sweep: &Sweep<'_>| match &self.custom {
            None => sweep.run(),
            Some(custom) => sweep.run_with(|run| custom.simulate(sweep, run)),
        };
        let manifest = study.manifest(&BUILD);
        let comparison = match self.out {
            Some(out) => {
                let opening = (Opening::resume_if(self.resume), Writers::One);
                let open = study.open(out, opening, &BUILD).map_err(text)?;
                let ran = open.run(&options, tally, &execute).map_err(text)?;
                if let Some((id, failure)) = ran.failures.first() {
                    return Err(format!("run {id} failed: {failure}"));
                }
                if options.interrupt.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                let comparison = open.compare_in_full(baseline).map_err(text)?;
                comparison.write(&open.path().join(PAGE), None).map_err(text)?;
                comparison
            }
            None => {
                let ran = study.run_in_memory(&options, tally, &execute).map_err(text)?;
                let Some(records) = ran else {
                    return Ok(None);
                };
                Comparison::of_records(records, vec![manifest.clone()], baseline).map_err(text)?
            }
        };
        let mut warnings: Vec<String> = comparison
            .stalled()
            .into_iter()
            .map(|(run, why)| format!("run {run}: {why}"))
            .collect();
        warnings.extend(capture.and_then(|capture| capture.warning()));
        warnings.extend(comparison.warnings());
        Ok(Some(Results { points: manifest.points(), comparison, warnings }))
    }
}

impl Custom {
    /// Runs an experiment with this scheme at its switches, on a thread that Python knows.
    fn simulate(
        &self,
        sweep: &Sweep<'_>,
        experiment: &Experiment,
    ) -> Result<Option<Record>, sweep::Failure> {
        let mut record = Ok(None);
        known_to_python(&mut || record = self.simulate_here(sweep, experiment));
        record
    }

    fn simulate_here(
        &self,
        sweep: &Sweep<'_>,
        experiment: &Experiment,
    ) -> Result<Option<Record>, sweep::Failure> {
        let Some(mut built) = sweep::build(experiment, sweep.interrupt)? else {
            return Ok(None);
        };
        built.setup.threads = NonZeroUsize::MIN;
        built.setup.custom = Some(Arc::clone(&self.maker));
        // No command has the scheme.
        let record = sweep.simulate_built(experiment, built, String::new())?;
        // An interrupted scheme marks nothing, although the run may come to its end.
        let is_interrupted = sweep.interrupt.load(Ordering::Relaxed);
        Ok(record.filter(|_| !is_interrupted).map(|mut record| {
            record.run.scheme.clone_from(&self.name);
            record
        }))
    }
}

/// Results of a study.
pub(crate) struct Results {
    /// Point number of each run.
    points: BTreeMap<String, u32>,
    comparison: Comparison<Flow>,
    warnings: Vec<String>,
}

impl Results {
    /// Records, in the order of the sweep.
    pub(crate) fn records(&self) -> &[Record] {
        &self.comparison.records
    }

    /// Point number of a run.
    pub(crate) fn point_of(&self, record: &Record) -> u32 {
        self.points.get(&record.run.id).copied().unwrap_or(0)
    }
}

/// Does some work on a thread that is attached to Python meanwhile. Attaching it for each call
/// takes ten times as long as the call.
fn known_to_python(work: &mut (dyn FnMut() + Send)) {
    Python::attach(|py| py.detach(work));
}

/// The key that a marker replaces.
const MARKING: &str = "switch.marking";

/// Progress of the runs.
struct Tally {
    runs: usize,
    done: AtomicUsize,
    /// Flows and finished flows of runs that go on.
    running: Mutex<BTreeMap<String, (usize, u32)>>,
    warnings: Mutex<Vec<String>>,
}

impl Tally {
    fn new(runs: usize) -> Self {
        Self {
            runs,
            done: AtomicUsize::new(0),
            running: Mutex::default(),
            warnings: Mutex::default(),
        }
    }

    fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Warnings of the runs.
    fn warnings(self) -> Vec<String> {
        self.warnings.into_inner().expect("no thread panics while holding it")
    }

    /// Finished fraction of the work.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    fn part(&self) -> f64 {
        let running = self.running.lock().expect("no thread panics while holding it");
        let parts = running
            .values()
            .map(|&(flows, finished)| (f64::from(finished) / flows.max(1) as f64).min(1.0));
        (self.done() as f64 + parts.sum::<f64>()) / self.runs.max(1) as f64
    }

    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<String, (usize, u32)>) -> T) -> T {
        work(&mut self.running.lock().expect("no thread panics while holding it"))
    }
}

impl Progress for Tally {
    fn started(&self, experiment: &Experiment, flows: usize) {
        self.with(|running| running.insert(experiment.id.clone(), (flows, 0)));
    }

    fn advanced(&self, experiment: &Experiment, status: Status) {
        self.with(|running| {
            if let Some((_, finished)) = running.get_mut(&experiment.id) {
                *finished = status.finished;
            }
        });
    }

    fn ended(&self, experiment: &Experiment, _: Ending<'_>) {
        self.with(|running| running.remove(&experiment.id));
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn warn(&self, text: &str) {
        let mut warnings = self.warnings.lock().expect("no thread panics while holding it");
        warnings.push(text.to_owned());
    }
}

/// Results of a study: tables of all flows, queues, links and samples, and their summary.
///
/// Any library that knows Arrow takes the tables without copies:
/// `polars.DataFrame(result.flows)`, `pyarrow.table(result.flows)`,
/// `duckdb.from_arrow(result.flows)`.
#[pyclass(name = "Result", frozen, module = "tidegate")]
pub(crate) struct RunResult {
    results: Arc<Results>,
    /// Reasons not to trust some numbers.
    #[pyo3(get)]
    warnings: Vec<String>,
    /// The results folder, or None.
    #[pyo3(get)]
    folder: Option<PathBuf>,
}

impl RunResult {
    fn rows(&self, kind: Kind) -> Table {
        Table::new(&self.results, kind)
    }
}

#[pymethods]
impl RunResult {
    /// The scenario's title.
    #[getter]
    fn title(&self) -> &str {
        &self.results.comparison.title
    }

    /// One row for each flow.
    #[getter]
    fn flows(&self) -> Table {
        self.rows(Kind::Flows)
    }

    /// One row for each observed queue.
    #[getter]
    fn queues(&self) -> Table {
        self.rows(Kind::Queues)
    }

    /// One row for each observed link.
    #[getter]
    fn links(&self) -> Table {
        self.rows(Kind::Links)
    }

    /// One row for each sample of a quantity that was recorded at an interval.
    #[getter]
    fn series(&self) -> Table {
        self.rows(Kind::Series)
    }

    /// One row for each answered probe.
    #[getter]
    fn probes(&self) -> Table {
        self.rows(Kind::Probes)
    }

    /// One row for each segment and ACK of a traced flow.
    #[getter]
    fn trace(&self) -> Table {
        self.rows(Kind::Trace)
    }

    /// Each run as a dictionary: id, label, seed, fingerprint, ending, and the command that repeats
    /// it.
    #[getter]
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let run = |record: &Record| {
            let of = &record.run;
            let run = PyDict::new(py);
            run.set_item("id", &of.id)?;
            run.set_item("label", &of.label)?;
            run.set_item("scheme", &of.scheme)?;
            run.set_item("seed", of.seed.parse::<u64>().ok())?;
            run.set_item("fingerprint", &of.fingerprint)?;
            let end = match &of.end {
                End::Finished => "finished",
                End::Interrupted => "interrupted",
                End::Stalled(_) => "stalled",
                End::TimeUp => "time-up",
            };
            run.set_item("end", end)?;
            run.set_item("ended_at_ps", of.ended_at_ps)?;
            run.set_item("marks", record.counters.marks.clone())?;
            run.set_item("drops", record.counters.drops.clone())?;
            run.set_item("command", &of.command)?;
            Ok(run)
        };
        self.results.records().iter().map(run).collect()
    }

    /// Summary of all runs with confidence intervals, as in `tidegate run --json`.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(&self.results.comparison.summary).map_err(error)?;
        py.import("json")?.call_method1("loads", (text,))
    }

    /// The table and plot that the command line prints, for so many columns.
    #[pyo3(signature = (width = 100))]
    fn table(&self, py: Python<'_>, width: usize) -> String {
        let results = &self.results;
        let width = width.clamp(40, 1000);
        py.detach(|| terminal::show(&results.comparison, Paint::Plain, width))
    }

    /// Writes the report page, a self-contained file, and returns its path.
    #[pyo3(signature = (path = None), text_signature = "($self, path='report.html')")]
    fn report(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<PathBuf> {
        let path = path.unwrap_or_else(|| PathBuf::from("report.html"));
        let results = &self.results;
        py.detach(|| results.comparison.write(&path, None)).map_err(error)?;
        Ok(path)
    }

    fn __str__(&self, py: Python<'_>) -> String {
        self.table(py, 100)
    }

    fn __repr__(&self) -> String {
        let runs = self.results.records().len();
        format!("<tidegate.Result of {runs} runs: {}>", &self.results.comparison.title)
    }
}
