use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use tidegate_report::folder::{FORMAT, Manifest, Planned};

use super::*;
use tidegate_scenario::Scenario;

const SMALL: &str = r#"
    name = "small"
    runs = 3
    [topology]
    kind = "star"
    hosts = 4
    [[traffic]]
    kind = "poisson"
    to = "3"
    from = "0-2"
    load = 0.5
    load_on = "senders"
    sizes = "20KB"
    flows = 40
    [observe]
    ports = "all"
    series = { interval = "100us", flows = [0, 1] }
    [sweep]
    "switch.marking" = [{ kind = "tcn" }, { kind = "queue-red" }]
"#;

/// Says nothing, but counts.
#[derive(Default)]
struct Silent {
    started: AtomicUsize,
    finished: AtomicUsize,
    failed: AtomicUsize,
    interrupted: AtomicUsize,
}

impl Progress for Silent {
    fn started(&self, _: &Experiment, flows: usize) {
        assert_eq!(flows, 40);
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    fn advanced(&self, _: &Experiment, _: Status) {}

    fn ended(&self, _: &Experiment, ending: Ending<'_>) {
        let counter = match ending {
            Ending::Failed(_) => &self.failed,
            Ending::Finished(_) => &self.finished,
            Ending::Interrupted => &self.interrupted,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn warn(&self, text: &str) {
        panic!("{text}");
    }
}

impl Silent {
    fn counts(&self) -> [usize; 4] {
        [&self.started, &self.finished, &self.failed, &self.interrupted]
            .map(|counter| counter.load(Ordering::Relaxed))
    }
}

fn manifest(scenario: &Scenario, plan: &[Experiment]) -> Manifest {
    let planned = |experiment: &Experiment| Planned {
        id: experiment.id.clone(),
        label: experiment.label.clone(),
        point: tidegate_results::outcome::point(experiment),
        replication: experiment.replication,
        seed: experiment.seed.to_string(),
    };
    Manifest {
        format: FORMAT,
        name: scenario.name.clone(),
        title: scenario.title.clone(),
        baseline: None,
        scenario: scenario.resolved(),
        setup: Vec::new(),
        command: "test".to_owned(),
        by: String::new(),
        version: "0".to_owned(),
        revision: String::new(),
        build: String::new(),
        seed: "1".to_owned(),
        runs: plan.iter().map(planned).collect(),
    }
}

/// A place for the results of one test, which is gone after it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("tidegate-sweep-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// All files below a folder.
fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// The files of a folder by their names in it.
fn results(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files(&place.0).into_iter();
    let named = files.map(|(path, bytes)| (path.strip_prefix(&place.0).unwrap().to_owned(), bytes));
    named.filter(|(path, _)| path != Path::new("log.jsonl")).collect()
}

/// Parts of a sweep that tests need.
struct Bench {
    plan: Vec<Experiment>,
    folder: Folder,
    interrupt: AtomicBool,
    progress: Silent,
}

impl Bench {
    fn new(place: &Place) -> Self {
        let (plan, manifest) = Self::plan();
        Self::with(plan, Folder::create(&place.0, &manifest).unwrap())
    }

    fn resumed(place: &Place) -> Self {
        let (plan, manifest) = Self::plan();
        Self::with(plan, Folder::resume(&place.0, &manifest).unwrap())
    }

    fn plan() -> (Vec<Experiment>, Manifest) {
        let scenario = Scenario::parse("small.toml", SMALL, &[]).unwrap();
        let plan = scenario.plan().unwrap();
        let manifest = manifest(&scenario, &plan);
        (plan, manifest)
    }

    fn with(plan: Vec<Experiment>, folder: Folder) -> Self {
        Self { plan, folder, interrupt: AtomicBool::new(false), progress: Silent::default() }
    }

    fn sweep(&self, jobs: usize) -> Sweep<'_> {
        Sweep {
            experiments: &self.plan,
            folder: &self.folder,
            jobs: NonZeroUsize::new(jobs).unwrap(),
            threads: None,
            command: &|experiment| format!("repeat {}", experiment.id),
            capture: None,
            interrupt: &self.interrupt,
            progress: &self.progress,
        }
    }
}

#[test]
fn the_number_of_jobs_changes_no_byte() {
    let (one, four) = (Place::new("one"), Place::new("four"));
    for (place, jobs) in [(&one, 1), (&four, 4)] {
        let bench = Bench::new(place);
        let done = bench.sweep(jobs).run();
        assert!(done.failures.is_empty() && !done.is_interrupted, "{done:?}");
        assert_eq!(bench.progress.counts(), [6, 6, 0, 0]);
    }
    let (one, four) = (results(&one), results(&four));
    assert!(one.len() > 12, "{:?}", one.keys());
    assert!(one == four, "the folders differ");
}

#[test]
fn a_run_among_few_hosts_has_one_thread() {
    let threads = |hosts, threads| worthwhile(hosts, NonZeroUsize::new(threads).unwrap()).get();
    assert_eq!([threads(255, 8), threads(256, 8), threads(256, 1)], [1, 8, 1]);
}

#[test]
fn runs_come_seed_by_seed_so_that_a_stopped_sweep_compares_its_points() {
    let place = Place::new("order");
    let bench = Bench::new(&place);
    let order = Mutex::new(Vec::new());
    bench.sweep(1).run_with(|experiment| {
        order.lock().unwrap().push(experiment.id.clone());
        Err(Failure::Refused("not now".to_owned()))
    });
    let of_seed = |replication| {
        let runs = bench.plan.iter();
        runs.filter(move |run| run.replication == replication).map(|run| run.id.clone())
    };
    let expected: Vec<String> = (0..3).flat_map(of_seed).collect();
    assert_eq!(expected.len(), bench.plan.len());
    assert_eq!(order.into_inner().unwrap(), expected);
    let planned: Vec<String> = bench.plan.iter().map(|run| run.id.clone()).collect();
    assert_ne!(planned, expected, "the plan is in another order");
}

#[test]
fn finished_runs_of_a_folder_are_not_repeated() {
    let (place, whole) = (Place::new("resumed"), Place::new("whole"));
    let bench = Bench::new(&place);
    let only = &bench.plan[2];
    // The others fail, as if the first attempt had been cut off.
    let done = bench.sweep(2).run_with(|experiment| {
        if experiment.id == only.id {
            return bench.sweep(1).simulate(experiment, NonZeroUsize::MIN);
        }
        Err(Failure::Refused("not now".to_owned()))
    });
    assert_eq!(done.failures.len(), 5);
    assert_eq!(bench.folder.finished(), std::slice::from_ref(&only.id));
    let bench = Bench::resumed(&place);
    assert!(bench.sweep(2).run().failures.is_empty());
    assert_eq!(bench.progress.counts(), [5, 5, 0, 0]);
    Bench::new(&whole).sweep(2).run();
    assert!(results(&place) == results(&whole), "a resumed folder differs");
}

#[test]
fn a_run_that_panics_is_reported_and_the_rest_go_on() {
    let place = Place::new("panics");
    let bench = Bench::new(&place);
    let bad = bench.plan[1].id.clone();
    let done = bench.sweep(2).run_with(|experiment| {
        assert!(experiment.id != bad, "this run is {}", "unlucky");
        bench.sweep(1).simulate(experiment, NonZeroUsize::MIN)
    });
    assert_eq!(done.failures.len(), 1);
    assert_eq!(done.failures[0].0, bad);
    assert_eq!(done.failures[0].1.to_string(), "panicked: this run is unlucky");
    assert_eq!(bench.progress.counts(), [5, 5, 1, 0]);
    assert_eq!(bench.folder.finished().len(), 5);
}

#[test]
fn interrupt_keeps_finished_runs() {
    let place = Place::new("interrupted");
    let bench = Bench::new(&place);
    let done = bench.sweep(1).run_with(|experiment| {
        let record = bench.sweep(1).simulate(experiment, NonZeroUsize::MIN);
        // Heard while the second run goes on, which still counts here as it had finished.
        if experiment.id == bench.plan[3].id {
            bench.interrupt.store(true, Ordering::Relaxed);
        }
        record
    });
    assert!(done.is_interrupted && done.failures.is_empty());
    assert_eq!(bench.folder.finished().len(), 2);
    assert_eq!(bench.progress.counts(), [2, 2, 0, 0]);
}

#[test]
fn stopped_run_leaves_no_files() {
    let place = Place::new("stopped");
    let bench = Bench::new(&place);
    let stop = AtomicBool::new(true);
    let stopped = Sweep { interrupt: &stop, ..bench.sweep(1) };
    assert!(matches!(stopped.simulate(&bench.plan[0], NonZeroUsize::MIN), Ok(None)));
    // With the flag set from the start nothing is begun at all.
    let done = stopped.run();
    assert!(done.is_interrupted);
    assert_eq!(bench.progress.counts(), [0, 0, 0, 0]);
    assert!(bench.folder.finished().is_empty());
}

#[test]
fn a_folder_that_cannot_be_written_to_ends_the_sweep() {
    let place = Place::new("gone");
    let bench = Bench::new(&place);
    // A file stands where the runs should go: not even root can write there.
    fs::remove_dir(place.0.join("runs")).unwrap();
    fs::write(place.0.join("runs"), "").unwrap();
    let done = bench.sweep(1).run();
    assert_eq!(done.failures.len(), 1, "no further run is started");
    assert!(matches!(done.failures[0].1, Failure::Unwritten(_)));
    assert_eq!(bench.progress.counts(), [1, 0, 1, 0]);
}

#[test]
fn sweeps_share_a_queue_and_each_ends_once() {
    let places = [Place::new("queue-1"), Place::new("queue-2")];
    let benches = [Bench::new(&places[0]), Bench::new(&places[1])];
    // The first sweep has one run left, the second one all of them.
    for experiment in &benches[0].plan[1..] {
        let record = benches[0].sweep(1).simulate(experiment, NonZeroUsize::MIN).unwrap().unwrap();
        benches[0].folder.write(&record).unwrap();
    }
    let sweeps = [benches[0].sweep(1), benches[1].sweep(1)];
    let interrupt = AtomicBool::new(false);
    let queue =
        Queue { sweeps: &sweeps, jobs: NonZeroUsize::new(2).unwrap(), interrupt: &interrupt };
    let ended = Mutex::new(Vec::new());
    queue.run(|number, done| {
        assert!(done.failures.is_empty() && !done.is_interrupted, "{done:?}");
        // All of its runs are there by then.
        assert_eq!(benches[number].folder.finished().len(), 6);
        ended.lock().unwrap().push(number);
    });
    assert_eq!(ended.into_inner().unwrap(), [0, 1]);
    assert!(results(&places[0]) == results(&places[1]));
    // Nothing is left: each still ends.
    let ended = AtomicUsize::new(0);
    queue.run(|_, _| {
        ended.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(ended.into_inner(), 2);
}

#[test]
fn an_interrupt_ends_every_sweep_of_a_queue() {
    let places = [Place::new("queue-stopped-1"), Place::new("queue-stopped-2")];
    let benches = [Bench::new(&places[0]), Bench::new(&places[1])];
    let sweeps = [benches[0].sweep(1), benches[1].sweep(1)];
    let interrupt = AtomicBool::new(false);
    let queue = Queue { sweeps: &sweeps, jobs: NonZeroUsize::MIN, interrupt: &interrupt };
    let ended = Mutex::new(Vec::new());
    let simulate = |number: usize, experiment: &Experiment| {
        interrupt.store(true, Ordering::Relaxed);
        sweeps[number].simulate(experiment, NonZeroUsize::MIN)
    };
    queue.run_with(simulate, |number, done| {
        ended.lock().unwrap().push((number, done.is_interrupted));
    });
    assert_eq!(ended.into_inner().unwrap(), [(0, true), (1, true)]);
    assert_eq!(benches[0].folder.finished().len(), 1);
    assert!(benches[1].folder.finished().is_empty());
}
