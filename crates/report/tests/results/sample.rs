//! Records with awkward values.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tidegate_report::folder::{FORMAT, Manifest, Planned};
use tidegate_results::record::{
    Class, ClassPauses, Counters, Deadlock, Decisions, Distribution, End, Flow, Link, LinkClass,
    Pauses, PortFlows, Probe, Quantity, Queue, Record, Run, Series, Setting, Trace, TraceEvent,
    Traced,
};
use tidegate_results::statistics::Percentile;

/// An empty directory for a test.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    path
}

pub(crate) fn manifest(ids: &[&str]) -> Manifest {
    let planned = |(replication, id): (usize, &&str)| Planned {
        id: (*id).to_owned(),
        label: "tcn, load 0.6".to_owned(),
        point: point(),
        replication: u32::try_from(replication).unwrap(),
        seed: u64::MAX.to_string(),
    };
    Manifest {
        format: FORMAT,
        name: "star".to_owned(),
        title: "a star of \"three\" hosts".to_owned(),
        baseline: None,
        scenario: "name = \"star\"\n[switch]\nmarking = \"tcn\"\n".to_owned(),
        setup: Vec::new(),
        command: "tidegate run star.toml".to_owned(),
        by: String::new(),
        version: "0.1.0".to_owned(),
        revision: "0123abc".to_owned(),
        build: String::new(),
        seed: "1".to_owned(),
        runs: ids.iter().enumerate().map(planned).collect(),
    }
}

fn point() -> Vec<Setting> {
    let setting = |key: &str, value: &str| Setting { key: key.to_owned(), value: value.to_owned() };
    vec![setting("switch.marking.kind", "tcn"), setting("traffic.0.load", "0.6")]
}

/// A record without rows.
pub(crate) fn empty(id: &str) -> Record {
    Record {
        run: Run {
            id: id.to_owned(),
            point: point(),
            label: "tcn, load 0.6".to_owned(),
            scheme: "tcn".to_owned(),
            percentile: Percentile::default(),
            bins: Vec::new(),
            replication: 0,
            seed: u64::MAX.to_string(),
            fingerprint: "00ff".to_owned(),
            command: "tidegate run star.toml".to_owned(),
            end: End::Finished,
            ended_at_ps: 0,
        },
        counters: Counters::default(),
        queues: Vec::new(),
        links: Vec::new(),
        port_flows: vec![],
        pauses: None,
        flows: Vec::new(),
        probes: Vec::new(),
        series: Series::default(),
        trace: Vec::new(),
    }
}

/// A record with extreme values.
pub(crate) fn awkward(id: &str) -> Record {
    let counts = || BTreeMap::from([("wait > \"T\"".to_owned(), u64::MAX), (String::new(), 0)]);
    let distribution = |mean, max| Distribution {
        mean,
        max,
        quantiles: vec![(0.0, f64::MIN_POSITIVE), (0.1 + 0.2, f64::NAN), (1.0, 1e308)],
    };
    let class = |class| LinkClass { link: "tést ✓".to_owned(), class };
    Record {
        run: Run {
            end: End::Stalled("a \"pause\"\nthat never ends\\".to_owned()),
            ended_at_ps: u64::MAX,
            ..empty(id).run
        },
        counters: Counters {
            marks: counts(),
            drops: counts(),
            packet_hops: u64::MAX,
            started: (1 << 53) + 1,
            finished: 0,
            retransmissions: u64::MAX - 1,
            timeouts: 1,
            host_wait_percent: Some(u8::MAX),
            engine: counts(),
        },
        queues: vec![Queue {
            port: "leaf0>host3".to_owned(),
            queue: u8::MAX,
            sent: u64::MAX,
            sent_bytes: u64::MAX,
            bytes: distribution(f64::NAN, 0.1),
            packets: distribution(1.0 / 3.0, 5e-324),
            wait_ps: Distribution::default(),
            marks: counts(),
            drops: BTreeMap::new(),
        }],
        links: vec![Link {
            name: "tést ✓".to_owned(),
            rate_bps: u64::MAX,
            packets: 1,
            bytes: 2,
            utilisation: f64::NAN,
            goodput_bps: 9.007_199_254_740_993e15,
            paused: -0.0,
            paused_by_class: BTreeMap::from([(0, 0.25), (7, f64::MIN_POSITIVE)]),
        }],
        port_flows: vec![PortFlows {
            port: "leaf0>host3".to_owned(),
            active: Distribution::default(),
            decisions: Some(Decisions {
                both: 1,
                only_ideal: u64::MAX,
                only_scheme: 0,
                neither: 3,
            }),
        }],
        pauses: Some(Pauses {
            storm_ps: 0,
            classes: vec![ClassPauses {
                of: class(u8::MAX),
                pauses: u64::MAX,
                paused_ps: 1,
                longest_ps: (1 << 53) + 1,
            }],
            deadlocks: vec![Deadlock {
                cycle: vec![class(3), class(4)],
                behind: vec![],
                since_ps: u64::MAX,
            }],
        }),
        trace: vec![
            event(0, Traced::Sent, false),
            event(1, Traced::Lost, true),
            event(u64::MAX, Traced::Acked, true),
        ],
        flows: flows(),
        probes: probes(),
        series: series(),
    }
}

fn probes() -> Vec<Probe> {
    vec![
        Probe { series: u32::MAX, at_ps: u64::MAX, rtt_ps: 0 },
        Probe { series: 0, at_ps: 0, rtt_ps: u64::MAX },
        Probe { series: 1, at_ps: 1 << 63, rtt_ps: 1 << 63 },
    ]
}

fn flows() -> Vec<Flow> {
    let plain = Flow {
        number: 0,
        name: String::new(),
        source: 0,
        src: 0,
        dst: 1,
        service: 0,
        bytes: Some(0),
        class: Class::Small,
        counts: true,
        start_ps: 0,
        fct_ps: Some(1),
        ideal_ps: Some(1),
        retransmissions: 0,
        timeouts: 0,
        marks: 0,
        received: Some(0),
        goodput_bps: Some(0),
        rtt_ps: Some(0),
        rtt_variation_ps: Some(0),
    };
    let nothing = Flow {
        number: 1,
        name: "a,\"b\"\n\t\u{1f}é✓".to_owned(),
        bytes: None,
        class: Class::Medium,
        counts: false,
        fct_ps: None,
        ideal_ps: None,
        received: None,
        goodput_bps: None,
        rtt_ps: None,
        rtt_variation_ps: None,
        ..plain.clone()
    };
    let largest = Flow {
        number: u32::MAX,
        name: "x".repeat(3_000),
        source: u32::MAX,
        src: u32::MAX,
        dst: u32::MAX,
        service: u8::MAX,
        bytes: Some(u64::MAX),
        class: Class::Large,
        start_ps: u64::MAX,
        fct_ps: Some(u64::MAX),
        ideal_ps: Some(1 << 63),
        retransmissions: u32::MAX,
        timeouts: 1 << 31,
        marks: u32::MAX - 1,
        received: Some(u64::MAX),
        goodput_bps: Some(u64::MAX),
        rtt_ps: Some(u64::MAX),
        rtt_variation_ps: Some(1),
        ..plain.clone()
    };
    vec![plain.clone(), nothing, largest, plain]
}

fn series() -> Series {
    let trace = |of: &str, quantity, values: &[f64]| Trace {
        of: of.to_owned(),
        quantity,
        values: values.to_vec(),
    };
    let odd = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 5e-324];
    Series {
        from_ps: 3,
        interval_ps: 10_000_000,
        traces: vec![
            trace("leaf0>host3 q0", Quantity::QueueBytes, &odd),
            trace("nothing", Quantity::Window, &[]),
            trace("flow 7", Quantity::Window, &[f64::NAN, f64::NAN]),
            trace("", Quantity::Alpha, &[1.0 / 3.0]),
            trace("flow 7", Quantity::Window, &[1e300]),
        ],
    }
}

fn event(at_ps: u64, event: Traced, flag: bool) -> TraceEvent {
    TraceEvent { at_ps, flow: u32::MAX, event, seq: u64::MAX, len: 1448, flag }
}
