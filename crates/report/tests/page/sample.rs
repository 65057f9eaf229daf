//! Synthetic, deterministic results that look real: seven schemes, five loads, three seeds, with
//! everything that a report can show.

use std::collections::BTreeMap;

use tidegate_report::manifest::{Manifest, Planned};
use tidegate_results::record::{
    Class, Counters, Distribution, End, Flow, Link, Probe, Quantity, Queue, Record, Run, Series,
    Setting, Trace,
};
use tidegate_results::statistics::Percentile;

/// Schemes, each with the delay of small flows and the loss of large flows.
pub(super) const SCHEMES: [(&str, f64, f64); 7] = [
    ("queue-red", 1.0, 1.0),
    ("codel", 0.92, 1.06),
    ("mq-ecn", 0.78, 1.01),
    ("tcn", 0.70, 1.02),
    ("ecn-sharp", 0.62, 1.0),
    ("bcc", 0.66, 0.98),
    ("diff-ecn", 0.55, 1.04),
];
pub(super) const LOADS: [&str; 5] = ["0.3", "0.5", "0.6", "0.7", "0.8"];
const PS: f64 = 1e12;

/// `SplitMix64`.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.next()).ln()
    }
}

/// The results of a sweep of schemes and loads.
pub(super) fn sweep(schemes: usize, loads: &[&str], seeds: u32) -> (Manifest, Vec<Record>) {
    let mut records = Vec::new();
    for (number, scheme) in SCHEMES.iter().cycle().take(schemes).enumerate() {
        let again = number / SCHEMES.len();
        let name = if again == 0 { scheme.0.to_owned() } else { format!("{}-{again}", scheme.0) };
        for load in loads {
            for replication in 0..seeds {
                records.push(record(&name, (scheme.1, scheme.2), load, replication, loads.len()));
            }
        }
    }
    (manifest(&records), records)
}

pub(super) fn manifest(records: &[Record]) -> Manifest {
    let planned = |record: &Record| Planned {
        id: record.run.id.clone(),
        label: record.run.label.clone(),
        point: record.run.point.clone(),
        replication: record.run.replication,
        seed: record.run.seed.clone(),
    };
    Manifest {
        format: 1,
        name: "leaf-spine".to_owned(),
        title: "Seven marking schemes on a leaf-spine fabric".to_owned(),
        baseline: None,
        scenario: "name = \"leaf-spine\"\nseed = 1\nruns = 3\n\n[topology]\nkind = \"leaf-spine\"\nleaves = 8\n"
            .to_owned(),
        setup: vec![
            setting("network", "leaf-spine, 128 hosts at 10Gbps"),
            setting("marking", "tcn: threshold 78us"),
            setting("marking", "codel: target 51.2us"),
            setting("hosts", "dctcp: initial window 10"),
            setting("load", "60.0 % of the busiest link"),
        ],
        command: "tidegate run leaf-spine.toml --out results".to_owned(),
        by: String::new(),
        version: "0.1.0".to_owned(),
        revision: "3777b8e".to_owned(),
        build: String::new(),
        seed: "1".to_owned(),
        runs: records.iter().map(planned).collect(),
    }
}

fn record(
    scheme: &str,
    (wait, large): (f64, f64),
    load: &str,
    replication: u32,
    loads: usize,
) -> Record {
    let seed = u64::from(replication) + 1;
    let busy: f64 = load.parse().unwrap();
    let hash = scheme.bytes().fold(seed * 1000 + (busy * 100.0) as u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    let mut chance = Chance(hash);
    let mut point = vec![setting("switch.marking.kind", scheme)];
    let mut label = scheme.to_owned();
    if loads > 1 {
        point.push(setting("traffic.0.load", load));
        label = format!("{scheme}, load {load}");
    }
    let delay = 60e-6 * wait * busy / (1.05 - busy);
    let flows: Vec<Flow> =
        (0..800).map(|number| flow(&mut chance, number, busy, delay, large)).collect();
    let timeouts = flows.iter().map(|flow| u64::from(flow.timeouts)).sum();
    let marks = (20_000.0 * busy * busy * (1.4 - wait) * (1.0 + chance.next() / 10.0)) as u64;
    Record {
        run: Run {
            id: format!("{scheme}-{load}-{replication}"),
            point,
            label,
            scheme: scheme.to_owned(),
            percentile: Percentile::default(),
            bins: Vec::new(),
            replication,
            seed: seed.to_string(),
            fingerprint: format!("{hash:016x}"),
            command: format!(
                "tidegate run leaf-spine.toml --set switch.marking.kind={scheme} --set traffic.0.load={load} --seed {seed}"
            ),
            end: End::Finished,
            ended_at_ps: 2 * PS as u64,
        },
        trace: Vec::new(),
        counters: Counters {
            marks: BTreeMap::from([(scheme.to_owned(), marks * 40)]),
            drops: BTreeMap::from([("full".to_owned(), (busy * 80.0) as u64)]),
            packet_hops: 9_000_000,
            started: 800,
            finished: flows.iter().filter(|flow| flow.fct_ps.is_some()).count() as u64,
            retransmissions: (busy * 200.0) as u64,
            timeouts,
            host_wait_percent: None,
            engine: BTreeMap::new(),
        },
        queues: (0..4).map(|host| queue(&mut chance, scheme, host, delay, marks)).collect(),
        links: (0..4)
            .map(|host| Link {
                name: format!("leaf0>host{host}"),
                rate_bps: 10_000_000_000,
                packets: 1_000_000,
                bytes: (1.5e9 * busy) as u64,
                utilisation: busy,
                goodput_bps: 9.4e9 * busy * (0.97 + chance.next() / 20.0) / large,
                paused: 0.0,
                paused_by_class: BTreeMap::new(),
            })
            .collect(),
        port_flows: vec![],
        pauses: None,
        probes: (0..500)
            .map(|number| Probe {
                series: 0,
                at_ps: number * 1_000_000_000,
                rtt_ps: ((80e-6 + chance.exponential(delay)) * PS) as u64,
            })
            .collect(),
        series: series(&mut chance, delay),
        flows,
    }
}

fn flow(chance: &mut Chance, number: u32, busy: f64, delay: f64, large: f64) -> Flow {
    // Half of the flows are small; a tenth carries most bytes.
    let draw = chance.next();
    let bytes = match draw {
        _ if draw < 0.55 => 2e3 + chance.exponential(25e3).min(97e3),
        _ if draw < 0.90 => 1e5 + chance.exponential(1.5e6).min(9.8e6),
        _ => 1e7 + chance.exponential(8e6).min(2e7),
    };
    let class = match bytes {
        _ if bytes <= 1e5 => Class::Small,
        _ if bytes < 1e7 => Class::Medium,
        _ => Class::Large,
    };
    let ideal = 80e-6 + bytes * 8.0 / 10e9;
    let timeouts = u32::from(chance.next() < 0.004 * busy);
    let shared = bytes * 8.0 / 10e9 * large * busy / (1.1 - busy) * (0.5 + chance.next());
    let fct = ideal + chance.exponential(2.0 * delay) + shared + f64::from(timeouts) * 5e-3;
    let unfinished = busy > 0.75 && chance.next() < 0.002;
    Flow {
        number,
        name: String::new(),
        source: 0,
        src: number % 128,
        dst: (number * 7 + 1) % 128,
        service: (number % 4) as u8,
        bytes: Some(bytes as u64),
        class,
        counts: number > 50,
        start_ps: u64::from(number) * 1_000_000_000,
        fct_ps: (!unfinished).then_some((fct * PS) as u64),
        ideal_ps: Some((ideal * PS) as u64),
        retransmissions: timeouts,
        timeouts,
        marks: (bytes / 1e5) as u32,
        received: None,
        goodput_bps: None,
        rtt_ps: None,
        rtt_variation_ps: None,
    }
}

fn queue(chance: &mut Chance, scheme: &str, host: u32, delay: f64, marks: u64) -> Queue {
    let spread = |mean: f64| {
        let shares = (0..=50).map(|n| f64::from(n) / 50.0).chain([0.995, 0.999, 0.9999]);
        let mut shares: Vec<f64> = shares.collect();
        shares.sort_by(f64::total_cmp);
        let value = |share: f64| -mean * (1.0 - share * 0.99995).ln();
        Distribution {
            mean,
            max: value(1.0),
            quantiles: shares.into_iter().map(|share| (share, value(share))).collect(),
        }
    };
    let bytes = delay * 10e9 / 8.0 * (0.9 + 0.2 * chance.next());
    let own = (marks as f64 * (0.5 + chance.next())) as u64;
    Queue {
        port: format!("leaf0>host{host}"),
        queue: 0,
        sent: 900_000 - u64::from(host),
        sent_bytes: 1_500 * (900_000 - u64::from(host)),
        bytes: spread(bytes),
        packets: spread(bytes / 1500.0),
        wait_ps: spread(delay * PS),
        marks: BTreeMap::from([(scheme.to_owned(), own)]),
        drops: BTreeMap::from([("full".to_owned(), own / 500)]),
    }
}

fn series(chance: &mut Chance, delay: f64) -> Series {
    let samples = 4000;
    let limit = delay * 10e9 / 8.0;
    let mut saw = |top: f64, speed: f64| {
        let mut level = 0.0;
        let step = |_| {
            level += top * speed * chance.next();
            if level > top {
                level *= 0.55 + 0.2 * chance.next();
            }
            level.round()
        };
        (0..samples).map(step).collect::<Vec<f64>>()
    };
    let mut traces = Vec::new();
    for host in 0..2 {
        traces.push(trace(
            &format!("leaf0>host{host} q0"),
            Quantity::QueueBytes,
            saw(2.0 * limit, 0.1),
        ));
    }
    for flow in 0..3 {
        let mut values = saw(120_000.0, 0.02);
        // The flow ends before the run.
        values.iter_mut().skip(samples * (5 + flow) / 8).for_each(|value| *value = f64::NAN);
        traces.push(trace(&format!("flow {flow}"), Quantity::Window, values));
        traces.push(trace(&format!("flow {flow}"), Quantity::Goodput, saw(4e9, 0.3)));
    }
    Series { from_ps: 0, interval_ps: 10_000_000, traces }
}

fn trace(of: &str, quantity: Quantity, values: Vec<f64>) -> Trace {
    Trace { of: of.to_owned(), quantity, values }
}

fn setting(key: &str, value: &str) -> Setting {
    Setting { key: key.to_owned(), value: value.to_owned() }
}
