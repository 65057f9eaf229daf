//! What thresholds cost, simulated: the ratios that verdicts about today's thresholds rest on.
//!
//! `src/measured.csv` holds them. To write it, in some minutes:
//! `TIDEGATE_BLESS=1 cargo test --release -p tidegate-plan --test measured`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod evidence;

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use tidegate_harness::golden;
use tidegate_plan::current::Current;
use tidegate_plan::evidence::estimate::Against;
use tidegate_plan::evidence::measure::{Measure, Values};
use tidegate_plan::evidence::{Marks, Trial, Variant};
use tidegate_plan::marking::{Marking, Ramp};
use tidegate_plan::measured::{TAIL, THROUGHPUT};
use tidegate_plan::{Network, Plan};
use tidegate_results::Record;
use tidegate_scenario::{Experiment, Scenario};
use tidegate_study::sweep::simulate;
use tidegate_units::{Bytes, Ratio, Rng};

/// Traces that differ in their small flows; intervals are over these.
const TRACES: u64 = 4;
const TRANSPORTS: [&str; 3] = ["dctcp", "rfc3168", "dcqcn"];
const SPEEDS: [u32; 2] = [25, 100];
/// Lengths at which all packets are marked, as factors of the formula's.
const STEPS: [f64; 8] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
const RAMPS: [f64; 4] = [0.25, 1.0, 4.0, 16.0];
/// Where ramps begin, as a part of where they end.
const BEGINS: [f64; 3] = [0.0, 0.25, 0.5];
/// Probabilities at the end of ramps, in percent.
const PERCENT: [u32; 4] = [1, 5, 20, 100];

/// Of each run: four long flows, of which none ends, keep one port busy, and small flows that start
/// within the window meet their queue.
const RUN: [&str; 5] = [
    "measure.drain=fixed-time",
    "measure.end=12ms",
    "observe.links=*>host0",
    "observe.window.from=1ms",
    "observe.window.to=8ms",
];

/// One switch with eight hosts and more buffer than any threshold. Hosts 1 to 4 send a long flow
/// each to host 0, and hosts 5 to 7 small ones with a tenth of its speed.
fn network(transport: &str, gbps: u32, trace: u64) -> Network {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let name = format!("measured-{transport}-{gbps}-{trace}");
    let (rtt, mtu) = if gbps < 50 { (20, 1500) } else { (12, 4200) };
    let text = format!(
        "mtu = {mtu}\ntransport = \"{transport}\"\n\
         fabric = {{ host_ports = \"8x{gbps}Gbps\" }}\nswitch = {{ buffer = \"1GB\" }}\n\
         rtt = {{ base = \"{rtt}us\" }}\ntraffic = {{ trace = \"{name}.csv\" }}\n"
    );
    fs::write(folder.join(format!("{name}.csv")), flows(gbps, trace)).unwrap();
    let file = folder.join(format!("{name}.toml"));
    fs::write(&file, text).unwrap();
    Network::read(&file).unwrap_or_else(|error| panic!("{error}"))
}

/// The flows of a trace.
#[expect(clippy::cast_sign_loss, reason = "sizes are positive")]
fn flows(gbps: u32, trace: u64) -> String {
    let bytes_per_ms = f64::from(gbps) * 125_000.0;
    let long = (bytes_per_ms * 15.0) as u64;
    let mut text = "id,start_s,src,dst,bytes\n".to_owned();
    for host in 1..=4 {
        let start = 0.2e-3 * f64::from(host - 1);
        writeln!(text, "long{host},{start:.9},{host},0,{long}").unwrap();
    }
    let largest = f64::from(gbps) * 200.0;
    let mut rng = Rng::new(trace, 0);
    let mut draw = || (f64::from(rng.next_u32()) + 0.5) / 2f64.powi(32);
    let every_ms = largest / 2.0 / (bytes_per_ms * 0.1);
    let mut at_ms = 1.0;
    for number in 0.. {
        at_ms -= every_ms * draw().ln();
        if at_ms > 8.0 {
            break;
        }
        let bytes = (largest * draw()).max(1.0) as u64;
        let host = 5 + number % 3;
        let start = at_ms / 1e3;
        writeln!(text, "small{number},{start:.9},{host},0,{bytes}").unwrap();
    }
    text
}

/// A threshold as the table names it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    /// Length above which all packets are marked, as a factor of the formula's.
    end: f64,
    /// Length at which marks begin, as a fraction of `end`.
    begin: f64,
    percent: u32,
}

fn shapes() -> Vec<Shape> {
    let step = |end: &f64| Shape { end: *end, begin: 1.0, percent: 100 };
    let mut shapes: Vec<Shape> = STEPS.iter().map(step).collect();
    for end in RAMPS {
        for begin in BEGINS {
            shapes.extend(PERCENT.map(|percent| Shape { end, begin, percent }));
        }
    }
    shapes
}

/// Thresholds of a network with one queue.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a length in bytes has ten digits"
)]
fn marks(formula: &Marks, shape: Shape) -> Marks {
    let [Marking::Length(ramp)] = formula.queues[..] else {
        panic!("{formula:?}");
    };
    let times = |bytes: u64, factor: f64| Bytes((bytes as f64 * factor).round() as u64);
    let max = times(ramp.max.0, shape.end);
    Marks {
        queues: vec![Marking::Length(Ramp {
            min: times(max.0, shape.begin),
            max,
            probability: Ratio::new(shape.percent, 100).unwrap(),
        })],
        ..formula.clone()
    }
}

/// Results of a run: the 99th percentile of small flows in seconds, and the goodput of the port in
/// bits per second.
type Pair = [f64; 2];

/// Results of runs, in the order of the formula and the shapes.
fn values(network: &Network, shapes: &[Shape]) -> Vec<Pair> {
    let plan = Plan::new(network);
    let mut trial = Trial::new(&plan, None, (1, 1), 1.0).unwrap();
    let formula = trial.variants[0].clone();
    let variant = |shape: &Shape| Variant {
        label: format!("{} {} {}", shape.end, shape.begin, shape.percent),
        marks: marks(&formula.marks, *shape),
    };
    trial.variants = shapes.iter().map(variant).collect();
    trial.variants.insert(0, formula);
    measured(&trial)
}

/// Results of the runs of a trial.
fn measured(trial: &Trial<'_>) -> Vec<Pair> {
    let pair = |record: &Record| {
        let tail = Values::of(record, None).get(Measure::P99Small);
        [tail.unwrap(), record.links[0].goodput_bps]
    };
    records(trial, &RUN).iter().map(pair).collect()
}

/// The records of all runs of a trial, in their order, simulated on all cores.
fn records(trial: &Trial<'_>, overrides: &[&str]) -> Vec<Record> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    let scenario = Scenario::parse("measured", &trial.scenario(), &overrides);
    let experiments = scenario.and_then(|scenario| scenario.plan());
    let experiments = experiments.unwrap_or_else(|error| panic!("{error}"));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let run = || {
        while let (number, Some(experiment)) = next_of(&experiments, &next) {
            let (built, never) = (experiment.build().unwrap(), AtomicBool::new(false));
            let record = simulate(experiment, built, String::new(), &never, &mut |_| {});
            done.lock().unwrap().push((number, record.unwrap().unwrap()));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(run);
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, record)| record).collect()
}

fn next_of<'a>(all: &'a [Experiment], next: &AtomicUsize) -> (usize, Option<&'a Experiment>) {
    let number = next.fetch_add(1, Ordering::Relaxed);
    (number, all.get(number))
}

/// The lines of the table for these shapes.
fn lines(transport: &str, gbps: u32, shapes: &[Shape]) -> String {
    let traces = (0..TRACES).map(|trace| values(&network(transport, gbps, trace), shapes));
    let traces: Vec<Vec<Pair>> = traces.collect();
    let mut text = String::new();
    for (place, shape) in shapes.iter().enumerate() {
        let Shape { end, begin, percent } = shape;
        write!(text, "{transport},{gbps},{end},{begin},{percent}").unwrap();
        for (column, measure) in [Measure::P99Small, Measure::Throughput].into_iter().enumerate() {
            let pair = |values: &Vec<Pair>| (values[place + 1][column], values[0][column]);
            let pairs: Vec<(f64, f64)> = traces.iter().map(pair).collect();
            let against = Against::of(measure, &pairs).unwrap();
            let (ratio, interval) = (against.ratio.unwrap(), against.interval.unwrap());
            write!(text, ",{ratio:.3},{:.3},{:.3}", interval.low, interval.high).unwrap();
        }
        text += "\n";
    }
    text
}

fn table() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/measured.csv")
}

const HEAD: &str =
    "transport,gbps,end,begin,percent,p99,p99_low,p99_high,large,large_low,large_high\n";

#[test]
fn the_table_has_a_line_for_each_threshold() {
    let text = fs::read_to_string(table()).unwrap();
    assert!(text.starts_with(HEAD));
    let mut lines = text.lines().skip(1);
    for transport in TRANSPORTS {
        for gbps in SPEEDS {
            for Shape { end, begin, percent } in shapes() {
                let line = lines.next().unwrap_or_default();
                let rest =
                    line.strip_prefix(&format!("{transport},{gbps},{end},{begin},{percent},"));
                let rest = rest.unwrap_or_else(|| panic!("{line}"));
                let numbers: Result<Vec<f64>, _> = rest.split(',').map(str::parse).collect();
                let numbers = numbers.unwrap_or_else(|error| panic!("{line}: {error}"));
                for ratio in numbers.chunks(3) {
                    assert!(ratio[1] <= ratio[0] && ratio[0] <= ratio[2], "{line}");
                }
            }
        }
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn measured_rows_are_reproduced_by_simulation() {
    if golden::blesses() {
        return write_table();
    }
    let committed = fs::read_to_string(table()).unwrap();
    let ramp = |percent| Shape { end: 4.0, begin: 0.5, percent };
    for line in lines("dcqcn", 100, &[ramp(5)]).lines() {
        assert!(
            committed.lines().any(|own| own == line),
            "src/measured.csv is out of date: it has no line {line}\nwrite it with\n\
             TIDEGATE_BLESS=1 cargo test --release -p tidegate-plan --test measured"
        );
    }
}

fn write_table() {
    let mut text = HEAD.to_owned();
    for transport in TRANSPORTS {
        for gbps in SPEEDS {
            text += &lines(transport, gbps, &shapes());
            fs::write(table(), &text).unwrap();
        }
    }
}

/// Settings that operators have, judged, and simulated under flows that the table has not seen.
#[test]
fn verdicts_agree_with_simulations() {
    for (transport, settings) in [
        ("dcqcn", ["1MiB/2MiB/5%", "2MB/10MB/5%", "300KB/1500KB/25%", "60KB"]),
        ("dctcp", ["1MiB/2MiB/5%", "150KB/3MB/7%", "110KB", "60KB"]),
    ] {
        let network = network(transport, 100, TRACES);
        let plan = Plan::new(&network);
        let mut trial = Trial::new(&plan, None, (1, 1), 1.0).unwrap();
        trial.variants.truncate(1);
        let mut judged = Vec::new();
        for given in settings {
            let current = Current::read(given, &network).unwrap();
            let row = current.rows(&plan).swap_remove(0);
            trial.variants.push(Variant {
                label: given.replace('/', " "),
                marks: Marks { queues: vec![row.marking], ..trial.variants[0].marks.clone() },
            });
            judged.push(row);
        }
        let pairs = measured(&trial);
        for (row, pair) in judged.iter().zip(&pairs[1..]) {
            let [tail, goodput] = [pair[0] / pairs[0][0], pair[1] / pairs[0][1]];
            let what =
                format!("{transport} {}: {tail} {goodput}, {:?}", row.marking, row.judgement);
            let costs = row.judgement.cost.unwrap();
            assert_eq!(costs.raises_tail(), tail >= TAIL, "{what}");
            assert_eq!(costs.loses_throughput(), goodput <= THROUGHPUT, "{what}");
            let is_faulty = tail >= TAIL || goodput <= THROUGHPUT;
            assert!(!is_faulty || row.severity.is_some(), "{what}");
        }
    }
}
