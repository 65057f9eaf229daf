use std::collections::BTreeMap;

use tidegate_units::Rng;

use super::*;
use crate::PackedRecord;
use crate::record::{
    Class, ClassPauses, Counters, Deadlock, Distribution, End, Flow, Link, LinkClass, Pauses,
    Probe, Queue, Record, Run, Series,
};
use crate::statistics::Percentile;

fn setting(key: &str, value: &str) -> Setting {
    Setting { key: key.to_owned(), value: value.to_owned() }
}

/// A run of a scheme at a load, without flows.
fn run(scheme: &str, load: &str, seed: u32) -> Record {
    Record {
        run: Run {
            id: format!("{scheme}-{load}-{seed}"),
            point: vec![setting("switch.marking", scheme), setting("traffic.0.load", load)],
            label: format!("{scheme}, load {load}"),
            scheme: scheme.to_owned(),
            percentile: Percentile::default(),
            bins: Vec::new(),
            replication: seed,
            seed: seed.to_string(),
            fingerprint: String::new(),
            command: format!("tidegate run --seed {seed}"),
            end: End::Finished,
            ended_at_ps: 1,
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

const MS: u64 = 1_000_000_000;

/// A flow with this completion time in milliseconds, twice the time in an empty network.
fn flow(number: u32, class: Class, ms: u64) -> Flow {
    Flow {
        number,
        name: String::new(),
        source: 0,
        src: 0,
        dst: 1,
        service: 0,
        bytes: Some(1_000),
        class,
        counts: true,
        start_ps: u64::from(number) * MS,
        fct_ps: Some(ms * MS),
        ideal_ps: Some(ms * MS / 2),
        retransmissions: 0,
        timeouts: 0,
        marks: 0,
        received: None,
        goodput_bps: None,
        rtt_ps: None,
        rtt_variation_ps: None,
    }
}

fn with_flows(record: Record, flows: impl IntoIterator<Item = Flow>) -> Record {
    Record { flows: flows.into_iter().collect(), ..record }
}

/// Small flows with these completion times in milliseconds.
fn small(record: Record, ms: &[u64]) -> Record {
    let flows = ms.iter().zip(0..).map(|(&ms, number)| flow(number, Class::Small, ms));
    with_flows(record, flows)
}

fn get(summary: &Summary, point: usize, name: &str) -> Option<Estimate> {
    let index = summary.metrics.iter().position(|metric| metric.name == name)?;
    summary.points[point].estimates[index]
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= b.abs() * 1e-4
}

#[test]
fn percentiles_follow_the_rule_of_the_run() {
    let flows = (1..=100).map(|number| flow(number, Class::Small, u64::from(number)));
    let mut record = with_flows(run("tcn", "0.5", 0), flows);
    let p99 = Metric::all().find(|metric| metric.name == "fct_small_p99");
    let mut tail = |rule| {
        record.run.percentile = rule;
        value(p99.unwrap(), &record)
    };
    assert_eq!(tail(Percentile::NearestRank), Some(0.099));
    assert_eq!(tail(Percentile::ScriptFloat), Some(0.1));
    assert_eq!(tail(Percentile::ScriptInteger), Some(0.1));
}

#[test]
fn packed_flows_give_the_same_summary() {
    let flows = |seed: u64| (0..200).map(move |number| flow(number, Class::Small, 1 + seed));
    let run = |scheme, seed: u32| with_flows(run(scheme, "0.5", seed), flows(seed.into()));
    let mut records = vec![run("tcn", 0), run("tcn", 1), run("codel", 0)];
    records[2].flows[7].fct_ps = None;
    let full = serde_json::to_string(&Summary::new(&records, Some("tcn"))).unwrap();
    let records: Vec<PackedRecord> = records.into_iter().map(PackedRecord::from).collect();
    assert_eq!(serde_json::to_string(&Summary::new(&records, Some("tcn"))).unwrap(), full);
}

#[test]
fn no_records_give_an_empty_summary() {
    let summary = Summary::new::<Flow>(&[], Some("tcn"));
    assert!(summary.points.is_empty() && summary.metrics.is_empty());
    assert_eq!(summary.baseline, None);
}

#[test]
fn times_cover_only_counted_and_finished_flows() {
    let mut flows = vec![
        flow(0, Class::Small, 1_000),
        flow(1, Class::Small, 1),
        flow(2, Class::Small, 3),
        flow(3, Class::Medium, 10),
        flow(4, Class::Large, 100),
        flow(5, Class::Large, 0),
    ];
    flows[0].counts = false;
    flows[5].fct_ps = None;
    let mut record = with_flows(run("tcn", "0.6", 1), flows);
    record.counters.marks = BTreeMap::from([("a".to_owned(), 3), ("b".to_owned(), 4)]);
    record.counters.timeouts = 2;
    let summary = Summary::new(&[record], None);
    let value = |name| get(&summary, 0, name).unwrap().value;
    assert!(near(value("fct_mean"), 0.114 / 4.0));
    assert!(near(value("fct_small_mean"), 0.002));
    assert!(near(value("fct_small_p99"), 0.003));
    assert!(near(value("fct_medium_mean"), 0.010));
    assert!(near(value("fct_large_mean"), 0.100));
    assert!(near(value("slowdown_mean"), 2.0));
    assert!(near(value("marks"), 7.0) && near(value("timeouts"), 2.0));
    assert!(near(value("unfinished"), 1.0) && value("drops") == 0.0);
    assert_eq!(get(&summary, 0, "fct_mean").unwrap().samples, 4);
    assert_eq!(get(&summary, 0, "queue_mean"), None, "there are no queues");
    let warnings = &summary.points[0].warnings;
    assert!(warnings[0].starts_with("1 of 5 flows (20.00 %) did not finish"), "{warnings:?}");
}

#[test]
fn runs_of_a_point_give_their_mean_and_students_interval() {
    let runs = [1, 2, 3].map(|seed| small(run("tcn", "0.6", seed), &[u64::from(seed) * 2]));
    let summary = Summary::new(&runs, None);
    assert_eq!(summary.points.len(), 1);
    let Estimate { value, low, high, method, samples, relative } =
        get(&summary, 0, "fct_mean").unwrap();
    // 2, 4 and 6 ms: mean 4, deviation 2, 4.3027 · 2 / √3 = 4.968; the interval is cut off at zero.
    assert!(near(value, 0.004) && low == 0.0 && near(high, 0.008_968_4), "{value} {low} {high}");
    assert_eq!((method, samples, relative), (Method::Runs, 3, None));
    let point = &summary.points[0];
    assert_eq!((point.runs, point.commands.len()), (3, 3));
    assert_eq!(point.commands[2], "tidegate run --seed 3");
}

#[test]
fn a_single_run_has_block_intervals_except_for_counts() {
    let times: Vec<u64> = (1..=1_000).collect();
    let summary = Summary::new(&[small(run("tcn", "0.6", 1), &times)], None);
    let mean = get(&summary, 0, "fct_mean").unwrap();
    assert_eq!(mean.method, Method::Blocks);
    let (low, high) = mean.interval().unwrap();
    assert!(low < mean.value && mean.value < high);
    let marks = get(&summary, 0, "marks").unwrap();
    assert_eq!((marks.method, marks.interval()), (Method::None, None));
    assert!(summary.warnings[0].contains("set runs = 5 or more"), "{:?}", summary.warnings);
}

#[test]
fn points_are_compared_by_seed_with_the_most_similar_baseline() {
    let mut runs = Vec::new();
    for load in ["0.3", "0.6"] {
        for (scheme, factor) in [("tcn", 2), ("codel", 3)] {
            for seed in [1, 2] {
                let slow = if load == "0.6" { 10 } else { 1 };
                let ms = u64::from(seed) * factor * slow;
                runs.push(small(run(scheme, load, seed), &[ms]));
            }
        }
    }
    for name in ["tcn", "TCN", "switch.marking=tcn"] {
        let summary = Summary::new(&runs, Some(name));
        let places: Vec<_> = summary.points.iter().map(|point| point.baseline).collect();
        assert_eq!(places, [Some(0), Some(0), Some(2), Some(2)]);
        assert_eq!(summary.baseline, None, "there are two");
        for (point, ratio) in [(0, 1.0), (1, 1.5), (2, 1.0), (3, 1.5)] {
            let relative = get(&summary, point, "fct_mean").unwrap().relative.unwrap();
            assert!(near(relative.ratio, ratio) && relative.method == Method::Runs);
            let (low, high) = relative.interval().unwrap();
            assert!(near(low, ratio) && near(high, ratio), "seeds differ alike under both");
        }
    }
    let summary = Summary::new(&runs, Some("codel, load 0.3"));
    assert_eq!(summary.baseline, Some(1));
    let relative = get(&summary, 2, "fct_mean").unwrap().relative.unwrap();
    assert!(near(relative.ratio, 20.0 / 3.0));
    // Without any drops there is no ratio.
    assert_eq!(get(&summary, 2, "drops").unwrap().relative, None);

    let summary = Summary::new(&runs, Some("red"));
    assert_eq!(summary.baseline, None);
    let warning = "no point is called red, so there is no baseline; the points are: tcn, load 0.3;";
    assert!(summary.warnings[0].starts_with(warning), "{:?}", summary.warnings);
}

#[test]
fn a_single_pair_is_compared_block_by_block() {
    let times: Vec<u64> = (1..=500).map(|n| 1 + n * n % 97).collect();
    let doubled: Vec<u64> = times.iter().map(|ms| ms * 2).collect();
    let runs = [small(run("a", "1", 1), &times), small(run("b", "1", 1), &doubled)];
    let summary = Summary::new(&runs, Some("a"));
    let relative = get(&summary, 1, "fct_small_p99").unwrap().relative.unwrap();
    assert!(near(relative.ratio, 2.0) && near(relative.low, 2.0) && near(relative.high, 2.0));
    assert_eq!(relative.method, Method::Blocks);

    // Different flows cannot be paired.
    let runs = [small(run("a", "1", 1), &times), small(run("b", "1", 1), &doubled[1..])];
    let summary = Summary::new(&runs, Some("a"));
    let relative = get(&summary, 1, "fct_mean").unwrap().relative.unwrap();
    assert_eq!((relative.method, relative.interval()), (Method::None, None));
}

#[test]
fn two_copies_of_a_sweep_stay_separate() {
    let runs = [1, 2, 1, 2].map(|seed| small(run("tcn", "0.6", seed), &[1]));
    let summary = Summary::new(&runs, None);
    let labels: Vec<_> = summary.points.iter().map(|point| &*point.label).collect();
    assert_eq!(labels, ["tcn, load 0.6", "tcn, load 0.6 (2)"]);
    assert_eq!(summary.points[1].runs, 2);
}

fn queue(mean: f64, quantiles: &[(f64, f64)], max: f64) -> Queue {
    Queue {
        port: String::new(),
        queue: 0,
        sent: 0,
        sent_bytes: 0,
        bytes: Distribution { mean, max, quantiles: quantiles.to_vec() },
        packets: Distribution::default(),
        wait_ps: Distribution::default(),
        marks: BTreeMap::new(),
        drops: BTreeMap::new(),
    }
}

#[test]
fn queue_distributions_are_merged() {
    let mut record = run("tcn", "0.6", 1);
    // One is empty half of the time and then at 100; the other is at 1000 in 4 of 100 moments.
    record.queues = vec![
        queue(50.0, &[(0.5, 0.0), (1.0, 100.0)], 100.0),
        queue(40.0, &[(0.0, 0.0), (0.96, 0.0)], 1_000.0),
    ];
    let summary = Summary::new(std::slice::from_ref(&record), None);
    let mean = get(&summary, 0, "queue_mean").unwrap();
    assert!(near(mean.value, 45.0) && mean.samples == 2);
    // 2 of 100 moments of both together are at 1000.
    assert!(near(get(&summary, 0, "queue_p99").unwrap().value, 1_000.0));
    record.queues[1] = queue(5.0, &[(0.995, 0.0)], 1_000.0);
    record.queues.push(queue(f64::NAN, &[], 0.0));
    let summary = Summary::new(&[record], None);
    assert!(near(get(&summary, 0, "queue_mean").unwrap().value, 27.5));
    assert!(near(get(&summary, 0, "queue_p99").unwrap().value, 100.0));
}

#[test]
fn links_probes_and_endless_flows_have_metrics() {
    let mut record = small(run("tcn", "0.6", 1), &[]);
    let link = |utilisation| Link {
        name: String::new(),
        rate_bps: 1,
        packets: 0,
        bytes: 0,
        utilisation,
        goodput_bps: 0.0,
        paused: 0.0,
        paused_by_class: BTreeMap::new(),
    };
    record.links = vec![link(0.25), link(f64::NAN), link(0.75)];
    record.probes =
        (1..=200).map(|us| Probe { series: 0, at_ps: us, rtt_ps: us * 1_000_000 }).collect();
    let endless = |number, goodput| Flow {
        bytes: None,
        fct_ps: None,
        goodput_bps: Some(goodput),
        ..flow(number, Class::Large, 1)
    };
    record.flows = vec![endless(0, 1_000), endless(1, 3_000)];
    let summary = Summary::new(&[record], None);
    let value = |name| get(&summary, 0, name).unwrap().value;
    assert!(near(value("utilisation"), 0.5));
    assert!(near(value("rtt_mean"), 100.5e-6) && near(value("rtt_p99"), 198e-6));
    assert!(near(value("goodput"), 2_000.0) && near(value("fairness"), 0.8));
    assert_eq!(get(&summary, 0, "unfinished"), None, "nothing could have finished");
    assert_eq!(get(&summary, 0, "fct_mean"), None);
    assert!(summary.points[0].warnings.is_empty(), "{:?}", summary.points[0].warnings);
}

/// A run of 10 ms in which two classes of links were paused.
fn paused() -> Record {
    let mut record = small(run("tcn", "0.6", 1), &[1; 1_000]);
    record.flows[0].service = 3;
    record.run.ended_at_ps = 10 * MS;
    let class = |link: &str, class, pauses, paused_ms, longest_ms| ClassPauses {
        of: of_link(link, class),
        pauses,
        paused_ps: paused_ms * MS,
        longest_ps: longest_ms * MS,
    };
    record.pauses = Some(Pauses {
        storm_ps: 3 * MS,
        classes: vec![
            class("a>b", 3, 200, 4, 3),
            class("b>c", 3, 50, 2, 1),
            class("b>c", 4, 6, 5, 4),
        ],
        deadlocks: Vec::new(),
    });
    record
}

fn of_link(link: &str, class: u8) -> LinkClass {
    LinkClass { link: link.to_owned(), class }
}

#[test]
fn pauses_are_summed_in_total_and_by_class() {
    let summary = Summary::new(&[paused()], None);
    let value = |name| get(&summary, 0, name).unwrap().value;
    assert!(near(value("pauses"), 256.0));
    // 256 frames of 64 bytes in 10 ms.
    assert!(near(value("pause_rate"), 256.0 * 512.0 / 0.01));
    assert!(near(value("pause_time"), 0.011));
    assert!(near(value("pause_longest"), 0.004));
    let services = summary.services.as_ref().unwrap();
    assert!(near(value_of(services, 3, 0, "pauses").unwrap(), 250.0));
    assert!(near(value_of(services, 3, 0, "pause_longest").unwrap(), 0.003));
    assert!(near(value_of(services, 0, 0, "pauses").unwrap(), 0.0));
    // Without PFC there are no pause metrics.
    let summary = Summary::new(&[small(run("tcn", "0.6", 1), &[1; 1_000])], None);
    assert_eq!(get(&summary, 0, "pauses"), None);
}

#[test]
fn small_flows_that_wait_at_their_own_hosts_are_warned_of() {
    let record = |seed, percent| {
        let mut record = small(run("tcn", "0.6", seed), &[1; 1_000]);
        record.counters.host_wait_percent = percent;
        record
    };
    let warnings = |records: &[Record]| Summary::new(records, None).points[0].warnings.clone();
    let of_hosts = |warning: &&String| warning.contains("their own host");
    let others = warnings(&[record(1, None), record(2, None)]);
    assert_eq!(others.iter().find(of_hosts), None);
    // One run of the point is enough, and the warning names the worst.
    let warned = warnings(&[record(1, Some(61)), record(2, None), record(3, Some(83))]);
    assert_eq!(
        warned.iter().filter(of_hosts).collect::<Vec<_>>(),
        [
            "the slowest small flows spend 83 % of their time in the queue of their own host, before the \
             first switch, where no marking scheme helps; set transport.qdisc = \"fq\", as on Linux hosts, \
             or describe the hosts' ports in [nic]; observe.ports accepts names such as \"host0>*\""
        ]
    );
}

#[test]
fn storms_and_deadlocks_are_warned_of() {
    let warnings = |record| Summary::new(&[record], None).points[0].warnings.clone();
    let storm = &warnings(paused())[0];
    assert_eq!(
        storm,
        "pause storm in the run with seed 1: b>c (class 4) was paused for 4.00 ms without a break, longer \
         than 3.00 ms (observe.storm); if nothing drains, check the receivers and look for deadlocks"
    );
    let mut record = paused();
    let pauses = record.pauses.as_mut().unwrap();
    pauses.storm_ps = 4 * MS;
    assert_eq!(warnings(record.clone()).len(), 0, "as long as allowed is no storm");
    record.pauses.as_mut().unwrap().deadlocks = vec![Deadlock {
        cycle: vec![of_link("a>b", 3), of_link("b>a", 4)],
        behind: vec![of_link("h>a", 3)],
        since_ps: 5 * MS,
    }];
    assert_eq!(
        warnings(record)[0],
        "PFC deadlock in the run with seed 1, since 5.00 ms: a>b (class 3) waits for b>a (class 4) waits \
         for a>b (class 3), and one more class of a link waits behind this cycle; break the cycle with \
         routes that never go up again after going down, or with other classes"
    );
}

#[test]
fn stalled_and_interrupted_runs_are_warned_of() {
    let mut stalled = small(run("tcn", "0.6", 1), &[1; 1_000]);
    stalled.run.end = End::Stalled("port 3 is paused".to_owned());
    let mut stopped = small(run("tcn", "0.6", 2), &[1; 1_000]);
    stopped.run.end = End::Interrupted;
    let summary = Summary::new(&[stalled, stopped], None);
    let warnings = &summary.points[0].warnings;
    assert!(warnings[0].contains("seed 1 stalled (port 3 is paused)"), "{warnings:?}");
    assert!(warnings[1].contains("seed 2 was interrupted"), "{warnings:?}");
    assert_eq!(warnings.len(), 2);
}

#[test]
fn percentiles_of_few_flows_are_warned_of() {
    let warnings = |flows: usize, runs: u32| {
        let runs: Vec<_> =
            (1..=runs).map(|seed| small(run("tcn", "0.6", seed), &vec![1; flows])).collect();
        Summary::new(&runs, None).points[0].warnings.clone()
    };
    assert!(warnings(99, 20)[0].contains("comes from only 99 flows in a run"));
    assert!(warnings(100, 9)[0].contains("comes from only 900 flows, fewer than ten"));
    assert!(warnings(100, 10).is_empty());
    assert!(warnings(1_000, 1).is_empty());
}

#[test]
fn a_run_without_counted_flows_is_warned_of() {
    let mut record = small(run("tcn", "0.6", 7), &[1]);
    record.flows[0].counts = false;
    let warnings = &Summary::new(&[record], None).points[0].warnings;
    assert!(warnings[0].starts_with("no flow of the run with seed 7 counts"), "{warnings:?}");
}

/// Two thousand flows with random slowdowns around a level that may change with the flow's number.
fn drifting(seed: u32, level: fn(u32) -> f64) -> Record {
    let mut rng = Rng::new(u64::from(seed), 0);
    let flows = (0..2_000).map(|number| {
        let noise = f64::from(rng.next_u32()) / f64::from(u32::MAX);
        let slowdown = level(number) * (1.0 + 10.0 * noise.powi(4));
        #[expect(clippy::cast_sign_loss, reason = "a slowdown is not negative")]
        let fct = (slowdown * 1e9) as u64;
        Flow { fct_ps: Some(fct), ideal_ps: Some(MS), ..flow(number, Class::Small, 1) }
    });
    with_flows(run("tcn", "0.6", seed), flows)
}

fn has_trend(records: &[Record]) -> bool {
    let summary = Summary::new(records, None);
    summary.points[0].warnings.iter().any(|warning| warning.contains("raise measure.warm_up"))
}

#[test]
fn a_short_warm_up_is_warned_of() {
    let filling = |number| if number < 300 { 1.0 } else { 1.5 };
    assert!(has_trend(&[drifting(1, filling)]));
    assert!(has_trend(&[1, 2, 3].map(|seed| drifting(seed, filling))));
    let summary = Summary::new(&[drifting(1, filling)], None);
    let warning = summary.points[0].warnings.last().unwrap();
    assert!(warning.contains("% less time than the next ones"), "{warning}");
    // A change while the network drains is unrelated to the warm-up.
    assert!(!has_trend(&[drifting(1, |number| if number > 1_700 { 0.5 } else { 1.0 })]));
}

/// The number of flows that a warning about the warm-up names.
fn advised(records: &[Record]) -> u32 {
    let summary = Summary::new(records, None);
    let warning = summary.points[0].warnings.last().unwrap();
    let rest = warning.split("warm_up_flows to about ").nth(1);
    let number = rest.and_then(|rest| rest.split(' ').next());
    match number.and_then(|number| number.parse().ok()) {
        Some(number) => number,
        None => panic!("{warning}"),
    }
}

#[test]
fn the_advised_warm_up_is_long_enough() {
    let filling = |number| if number < 300 { 1.0 } else { 1.5 };
    for runs in [1, 3] {
        let records: Vec<Record> = (1..=runs).map(|seed| drifting(seed, filling)).collect();
        let flows = advised(&records);
        assert!((280..=600).contains(&flows), "{flows} flows of {runs} runs");
        // The advised warm-up removes the warning.
        let mut later = records;
        for flow in later.iter_mut().flat_map(|record| &mut record.flows) {
            flow.counts = flow.number >= flows;
        }
        assert!(!has_trend(&later));
    }
    // The advised number includes flows that already do not count.
    let mut late = drifting(1, |number| if number < 800 { 1.0 } else { 1.5 });
    for flow in &mut late.flows {
        flow.counts = flow.number >= 500;
    }
    let flows = advised(&[late]);
    assert!((780..=1100).contains(&flows), "{flows}");
}

#[test]
fn no_warm_up_is_advised_without_steady_state() {
    let growing = |number: u32| 1.0 + f64::from(number) / 500.0;
    let summary = Summary::new(&[drifting(1, growing)], None);
    let warning = summary.points[0].warnings.last().unwrap();
    assert!(
        warning.contains("raise measure.warm_up_flows until this warning disappears"),
        "{warning}"
    );
    assert!(warning.contains("half of the 2000 flows"), "{warning}");
}

#[test]
fn one_or_two_runs_are_warned_of() {
    let of = |runs: u32| {
        let records: Vec<Record> = (1..=runs).map(|seed| drifting(seed, |_| 1.0)).collect();
        Summary::new(&records, None).warnings
    };
    assert!(of(1)[0].contains("set runs = 5"), "{:?}", of(1));
    assert!(of(2)[0].contains("set runs = 5"), "{:?}", of(2));
    assert!(of(3).is_empty(), "{:?}", of(3));
}

#[test]
fn steady_state_seldom_raises_a_false_alarm() {
    let alarms = (0..300).filter(|&seed| has_trend(&[drifting(seed, |_| 1.0)])).count();
    assert!(alarms <= 3, "{alarms} of 300");
}

fn part(breakdown: &Breakdown, number: u8) -> &Part {
    let mut parts = breakdown.parts.iter();
    parts.find(|part| part.number == number).unwrap()
}

fn value_of(breakdown: &Breakdown, number: u8, point: usize, name: &str) -> Option<f64> {
    let mut metrics = breakdown.metrics.iter();
    let place = metrics.position(|metric| metric.name == name)?;
    part(breakdown, number).points[point][place].map(|estimate| estimate.value)
}

#[test]
fn classes_of_service_have_their_own_times_and_shares() {
    let of = |service: u8, class, ms: u64| Flow {
        service,
        bytes: Some(ms * 1_000),
        marks: 2,
        ..flow(0, class, ms)
    };
    let flows = [
        of(0, Class::Small, 1),
        of(0, Class::Small, 3),
        of(2, Class::Small, 6),
        of(2, Class::Large, 10),
        Flow { fct_ps: None, ..of(2, Class::Large, 50) },
        // This flow started in the warm-up: a class with only such flows is left out.
        Flow { counts: false, ..of(7, Class::Small, 1) },
    ];
    let run = with_flows(run("tcn", "0.6", 1), flows);
    let summary = Summary::new(&[run], None);
    let services = summary.services.as_ref().unwrap();
    let numbers: Vec<u8> = services.parts.iter().map(|part| part.number).collect();
    assert_eq!(numbers, [0, 2]);
    let value = |service, name| value_of(services, service, 0, name);
    assert!(near(value(0, "fct_small_mean").unwrap(), 0.002));
    assert!(near(value(0, "fct_small_p99").unwrap(), 0.003));
    assert!(near(value(2, "fct_mean").unwrap(), 0.008));
    assert!(near(value(2, "fct_large_mean").unwrap(), 0.010));
    assert_eq!(value(0, "fct_large_mean"), None, "it has no large flows");
    assert_eq!(value(0, "fct_medium_mean"), None, "none has");
    // 4 of the 20 KB of finished flows.
    assert!(near(value(0, "byte_share").unwrap(), 0.2));
    assert!(near(value(2, "byte_share").unwrap(), 0.8));
    assert_eq!((value(0, "marks"), value(2, "marks")), (Some(4.0), Some(6.0)));
    assert_eq!(value(2, "unfinished"), Some(1.0));
    assert_eq!(value(2, "goodput_share"), None, "no flow was observed");

    let alone = services.summary(part(services, 2), &summary);
    assert!(near(get(&alone, 0, "fct_mean").unwrap().value, 0.008));
    assert_eq!(alone.points[0].label, summary.points[0].label);
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["services"]["parts"][1]["number"], 2);
}

#[test]
fn a_single_class_of_service_has_no_breakdown() {
    let summary = Summary::new(&[small(run("tcn", "0.6", 1), &[1, 2])], None);
    assert_eq!((summary.services, summary.queues), (None, None));
}

#[test]
fn classes_are_compared_with_the_same_class_of_the_baseline() {
    let with = |scheme: &str, ms: [u64; 2]| {
        let flows = [0, 1].map(|service| Flow {
            service,
            ..flow(u32::from(service), Class::Small, ms[usize::from(service)])
        });
        with_flows(run(scheme, "0.6", 1), flows)
    };
    let summary = Summary::new(&[with("red", [2, 4]), with("tcn", [1, 8])], Some("red"));
    let services = summary.services.as_ref().unwrap();
    let ratio = |service| {
        let first = part(services, service).points[1][0].unwrap();
        first.relative.unwrap().ratio
    };
    assert_eq!(services.metrics[0].name, "fct_mean");
    assert!(near(ratio(0), 0.5) && near(ratio(1), 2.0));
}

#[test]
fn queues_of_one_number_are_merged() {
    let of = |number: u8, sent: u64, wait_us: f64| Queue {
        queue: number,
        sent,
        sent_bytes: sent * 1_000,
        wait_ps: Distribution {
            mean: wait_us * 1e6,
            max: wait_us * 1e6,
            quantiles: vec![(1.0, wait_us * 1e6)],
        },
        marks: BTreeMap::from([("tcn".to_owned(), sent / 10)]),
        ..queue(100.0 * f64::from(number), &[(1.0, 200.0)], 200.0)
    };
    let mut record = run("tcn", "0.6", 1);
    record.queues = vec![of(0, 100, 1.0), of(1, 100, 4.0), of(1, 200, 7.0), of(2, 0, 0.0)];
    let summary = Summary::new(&[record], None);
    let queues = summary.queues.as_ref().unwrap();
    assert_eq!(queues.parts.len(), 2, "the last one was never used");
    let value = |number, name| value_of(queues, number, 0, name).unwrap();
    assert!(near(value(0, "throughput_share"), 0.25) && near(value(1, "throughput_share"), 0.75));
    assert!(near(value(1, "wait_mean"), 6e-6) && near(value(1, "wait_p99"), 7e-6));
    assert!(near(value(1, "queue_mean"), 100.0) && near(value(1, "queue_p99"), 200.0));
    assert!(near(value(1, "queue_marks"), 30.0) && near(value(1, "mark_share"), 0.1));
}

#[test]
fn custom_size_bins_have_metrics() {
    let flow_of = |bytes, ms| Flow { bytes: Some(bytes), ..flow(0, Class::Small, ms) };
    let flows = [flow_of(1_000, 2), flow_of(10_000, 4), flow_of(10_001, 8), flow_of(100_001, 16)];
    let mut run = with_flows(run("tcn", "0.6", 1), flows);
    run.run.bins = vec![10_000, 100_000];
    let summary = Summary::new(&[run], None);
    let sizes = summary.sizes.as_ref().unwrap();
    let names: Vec<String> = sizes.parts.iter().map(|part| part.title("size")).collect();
    assert_eq!(names, ["up to 10KB", "10KB to 100KB", "above 100KB"]);
    for (bin, mean) in [(0, 0.003), (1, 0.008), (2, 0.016)] {
        assert!(near(value_of(sizes, bin, 0, "fct_mean").unwrap(), mean));
    }
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["sizes"]["parts"][1]["name"], "10KB to 100KB");
}
