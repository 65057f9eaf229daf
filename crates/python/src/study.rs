//! Scenarios and their runs.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate::embed::{Custom, Links, Options, Results, Study};
use tidegate_dataplane::mark::custom::Make;
use tidegate_results::record::End;
use tidegate_scenario::Experiment;
use tidegate_sim::run::Status;
use tidegate_study::sweep::{Ending, Progress};

use crate::error::error;
use crate::marker::{Failure, Maker};
use crate::table::{Kind, Table};
use crate::waiting::wait;

/// Reads a scenario: by its name, or its text.
fn read(source: &str, is_text: bool, overrides: &[String]) -> PyResult<Study> {
    let study =
        if is_text { Study::of_text(source, overrides) } else { Study::named(source, overrides) };
    study.map_err(error)
}

/// What a scenario came to mean, or its whole text with every default written out; and warnings.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    source: &str,
    is_text: bool,
    overrides: Vec<String>,
    resolved: bool,
) -> PyResult<(String, Vec<String>)> {
    py.detach(|| {
        let study = read(source, is_text, &overrides)?;
        let text = if resolved { study.resolved() } else { study.outline() };
        Ok((text, study.warnings()))
    })
}

/// Runs a scenario. `tick` is called with the number of runs that are done, that of all runs, and
/// the part of the work that is done.
#[pyfunction]
#[pyo3(signature = (source, is_text, overrides, *, out, resume, jobs, threads, baseline, marker, capture, tick))]
#[expect(clippy::too_many_arguments, reason = "they are those of tidegate.run")]
pub(crate) fn run(
    py: Python<'_>,
    source: &str,
    is_text: bool,
    overrides: Vec<String>,
    out: Option<PathBuf>,
    resume: bool,
    jobs: Option<NonZeroUsize>,
    threads: Option<NonZeroUsize>,
    baseline: Option<String>,
    marker: Option<Bound<'_, PyAny>>,
    capture: Option<(PathBuf, String, Option<NonZeroU64>)>,
    tick: Py<PyAny>,
) -> PyResult<RunResult> {
    let study = py.detach(|| read(source, is_text, &overrides))?;
    let failure = Arc::new(Failure::default());
    let custom = match &marker {
        None => None,
        Some(factory) => {
            let varies = |key: &&str| *key == MARKING || key.starts_with("switch.marking.");
            if let Some(key) = study.keys().into_iter().find(varies) {
                return Err(error(format!(
                    "the sweep varies `{key}`, and the marker takes its place\n\
                     hint: sets={{\"sweep\": {{}}}} leaves the sweep out"
                )));
            }
            let schemes: Arc<dyn Make> = Arc::new(Maker::new(factory, &failure)?);
            let name = factory.getattr("__name__");
            let name = name.and_then(|name| name.extract());
            let name = name.unwrap_or_else(|_| "Python".to_owned());
            Some(Custom { name, maker: schemes, within: &known_to_python })
        }
    };
    let options = Options {
        out: out.as_deref(),
        resume,
        jobs,
        threads,
        baseline: baseline.as_deref(),
        custom,
        capture: capture.as_ref().map(|(file, at, limit)| Links {
            file,
            at,
            limit: limit.map(NonZeroU64::get),
        }),
    };
    let tally = Tally::new(study.runs());
    let tell = |py: Python<'_>| -> PyResult<()> {
        tick.call1(py, (tally.done(), study.runs(), tally.part()))?;
        Ok(())
    };
    let work = || study.run(&options, &tally, &failure.interrupt);
    let stop = || failure.interrupt.store(true, Ordering::Relaxed);
    let results = wait(py, work, tell, stop);
    if let Some(raised) = failure.take() {
        return Err(raised);
    }
    let results = results?.map_err(error)?;
    tick.call1(py, (study.runs(), study.runs(), 1.0))?;
    let results = results.ok_or_else(|| error("the runs were interrupted"))?;
    let mut warnings = study.warnings();
    warnings.extend(results.warnings());
    Ok(RunResult { results: Arc::new(results), warnings, folder: out })
}

/// Does something on a thread that Python knows for as long. It would get to know it for each call
/// otherwise, which takes ten times as long as the call.
fn known_to_python(work: &mut (dyn FnMut() + Send)) {
    Python::attach(|py| py.detach(work));
}

/// What a marker takes the place of.
const MARKING: &str = "switch.marking";

/// How far the runs are.
struct Tally {
    runs: usize,
    done: AtomicUsize,
    /// Of runs that go on: flows, and those that are finished.
    running: Mutex<BTreeMap<String, (usize, u32)>>,
}

impl Tally {
    fn new(runs: usize) -> Self {
        Self { runs, done: AtomicUsize::new(0), running: Mutex::default() }
    }

    fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// The part of all runs that is done.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    fn part(&self) -> f64 {
        let running = self.running.lock().expect("nobody panics while holding it");
        let parts = running
            .values()
            .map(|&(flows, finished)| (f64::from(finished) / flows.max(1) as f64).min(1.0));
        (self.done() as f64 + parts.sum::<f64>()) / self.runs.max(1) as f64
    }

    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<String, (usize, u32)>) -> T) -> T {
        work(&mut self.running.lock().expect("nobody panics while holding it"))
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
}

/// What runs left: tables of all flows, queues, links and samples, and their summary.
///
/// The tables are taken by everything that knows Arrow, without copies:
/// `polars.DataFrame(result.flows)`, `pyarrow.table(result.flows)`,
/// `duckdb.from_arrow(result.flows)`.
#[pyclass(name = "Result", frozen, module = "tidegate")]
pub(crate) struct RunResult {
    results: Arc<Results>,
    /// Why some numbers should not be trusted.
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
        self.results.title()
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

    /// One row for each sample of what was written down again and again.
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

    /// Each run as a dictionary: its id, label, seed, fingerprint, how it ended, and the command
    /// that repeats it.
    #[getter]
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let run = |record: &tidegate_results::Record| {
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

    /// All runs side by side, with intervals: the numbers that `tidegate run --json` has as
    /// `summary`.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(self.results.summary()).map_err(error)?;
        py.import("json")?.call_method1("loads", (text,))
    }

    /// What the command line prints, in so many columns.
    #[pyo3(signature = (width = 100))]
    fn table(&self, py: Python<'_>, width: usize) -> String {
        let results = &self.results;
        py.detach(|| results.table(width.clamp(40, 1000)))
    }

    /// Writes the report page, which needs no network and no other file, and returns its path.
    #[pyo3(signature = (path = None), text_signature = "($self, path='report.html')")]
    fn report(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<PathBuf> {
        let path = path.unwrap_or_else(|| PathBuf::from("report.html"));
        let results = &self.results;
        py.detach(|| results.write_report(&path)).map_err(error)?;
        Ok(path)
    }

    fn __str__(&self, py: Python<'_>) -> String {
        self.table(py, 100)
    }

    fn __repr__(&self) -> String {
        let runs = self.results.records().len();
        format!("<tidegate.Result of {runs} runs: {}>", self.results.title())
    }
}
