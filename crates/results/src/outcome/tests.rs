use std::sync::atomic::AtomicBool;

use crate::Record;
use crate::record::{Class, End, Quantity};
use crate::statistics::Percentile;
use tidegate_dataplane::PortStats;
use tidegate_sim::observe::completion::{Completions, SizeClass};
use tidegate_sim::observe::{Convention, Ideals};
use tidegate_sim::{Outcome, run};
use tidegate_units::Span;

use super::{PROBABILITIES, distribution, record, weighted_mean};
use tidegate_scenario::{Built, Experiment, Scenario};

/// A small network that marks, drops and times out, with everything observed.
const BUSY: &str = r#"
    name = "busy"
    [topology]
    kind = "star"
    hosts = 5
    [switch]
    marking = { kind = "mq-ecn", threshold = "20pkts" }
    scheduler = { kind = "dwrr", quanta = [1500, 1500] }
    buffer = { kind = "per-port", limit = "40KB" }
    [transport]
    profile = "tcn-sim"
    rule = { kind = "dctcp" }
    [[traffic]]
    kind = "poisson"
    to = "4"
    from = "0-3"
    load = 0.8
    load_on = "senders"
    sizes = "web-search"
    services = 2
    assignment = "pair"
    flows = 60
    [[traffic]]
    kind = "long-lived"
    from = "0"
    to = "4"
    [[probe]]
    from = "1"
    to = "4"
    every = "1ms"
    [measure]
    warm_up_flows = 5
    end = "60ms"
    [observe]
    ports = "all"
    links = "all"
    flows = "all"
    series = { interval = "100us", queues = "all", links = "all", flows = "all" }
"#;

fn made(text: &str, overrides: &[&str]) -> (Experiment, Built, Outcome, Record) {
    let overrides = overrides.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let scenario = Scenario::parse("test", text, &overrides).unwrap();
    let experiment = scenario.plan().unwrap().remove(0);
    let built = experiment.build().unwrap();
    let outcome = run::run(&built.setup, &AtomicBool::new(false)).unwrap();
    let record = record(&experiment, "again".to_owned(), &built, &outcome).unwrap();
    (experiment, built, outcome, record)
}

#[test]
fn flow_classes_and_times_match_the_simulators_statistics() {
    for &convention in Convention::NAMES {
        let set = format!("measure.convention={convention}");
        let (_, built, outcome, record) = made(BUSY, &[&set]);
        let mut seen = 0;
        for (class, size) in [
            (Class::Small, SizeClass::Small),
            (Class::Medium, SizeClass::Medium),
            (Class::Large, SizeClass::Large),
        ] {
            let own =
                Completions::new(&built.setup, &outcome, built.convention, |_, of| of == size);
            let own = own.unwrap();
            let flows = || record.flows.iter().filter(|flow| flow.class == class);
            let mut times = flows().filter_map(|flow| flow.fct_ps).collect::<Vec<_>>();
            times.sort_unstable();
            let expected = own.times().iter().copied().map(Span::as_ps).collect::<Vec<_>>();
            assert_eq!(times, expected, "{convention}");
            assert_eq!(flows().count() - times.len(), own.unfinished(), "{convention}");
            seen += usize::from(!times.is_empty());
        }
        assert!(seen >= 2, "{convention} has flows of {seen} classes only");
    }
}

#[test]
fn the_convention_chooses_the_percentile() {
    let rules = [
        ("bcc-script", Percentile::ScriptFloat),
        ("ecn-sharp-paper", Percentile::NearestRank),
        ("ecn-sharp-script", Percentile::ScriptFloat),
        ("tcn-paper", Percentile::NearestRank),
        ("tcn-script", Percentile::ScriptInteger),
        ("traffic-generator", Percentile::ScriptFloat),
    ];
    for (convention, rule) in rules {
        let (.., record) = made(BUSY, &[&format!("measure.convention={convention}")]);
        assert_eq!(record.run.percentile, rule, "{convention}");
    }
}

#[test]
fn shared_buffer_modes_are_counted() {
    let (.., apart) = made(BUSY, &[]);
    assert!(apart.counters.engine.is_empty(), "per-port buffers share nothing");
    let (.., record) = made(BUSY, &["switch.buffer.kind=dynamic-threshold"]);
    let steps = ["bounded-steps", "coupled-steps", "wide-buckets"];
    assert!(!record.counters.engine.is_empty());
    assert!(record.counters.engine.keys().all(|key| steps.contains(&key.as_str())));
}

#[test]
fn counters_match_the_run() {
    let (experiment, built, outcome, record) = made(BUSY, &[]);
    assert_eq!(record.run.id, experiment.id);
    assert_eq!(record.run.command, "again");
    assert_eq!(record.run.fingerprint, format!("{:016x}", outcome.fingerprint()));
    assert_eq!(record.run.end, End::TimeUp);
    assert_eq!(record.run.ended_at_ps, 60_000_000_000);
    let ports = || outcome.ports.iter().flatten();
    let marks = ports().map(PortStats::total_marks).sum::<u64>();
    let drops = ports().map(PortStats::total_drops).sum::<u64>();
    assert!(marks > 0 && drops > 0, "{marks} marks and {drops} drops");
    assert_eq!(record.counters.marks.values().sum::<u64>(), marks);
    assert_eq!(record.counters.drops.values().sum::<u64>(), drops);
    assert!(record.counters.marks.values().all(|&count| count > 0));
    assert_eq!(record.counters.started, 61);
    let retransmissions = record.flows.iter().map(|flow| u64::from(flow.retransmissions));
    assert_eq!(record.counters.retransmissions, retransmissions.sum::<u64>());
    // All queues are observed, so together they account for all marks and drops.
    let by_queues = record.queues.iter().flat_map(|queue| queue.marks.values()).sum::<u64>();
    assert_eq!(by_queues, marks);
    assert_eq!(record.queues[0].port, built.ports[outcome.observed.queues[0].0.index()]);
    assert_eq!(record.links.len(), outcome.links.len());
    assert_eq!(record.run.scheme, "mq-ecn");
    // A link carries exactly the bytes that the queues of its port send.
    let mut checked = 0;
    for link in &record.links {
        let queues = record.queues.iter().filter(|queue| queue.port == link.name);
        let sent: Vec<u64> = queues.map(|queue| queue.sent_bytes).collect();
        if !sent.is_empty() {
            assert_eq!(sent.iter().sum::<u64>(), link.bytes, "{}", link.name);
            checked += 1;
        }
    }
    assert_eq!(checked, 5);
}

#[test]
fn flows_are_measured_against_the_ideal_and_by_the_window() {
    let (_, built, outcome, record) = made(BUSY, &[]);
    let ideals = Ideals::new(&built.setup).unwrap();
    let endless = record.flows.iter().filter(|flow| flow.bytes.is_none()).collect::<Vec<_>>();
    assert_eq!(endless.len(), 1);
    assert_eq!((endless[0].ideal_ps, endless[0].fct_ps), (None, None));
    for flow in &record.flows {
        assert_eq!(flow.ideal_ps, ideals.time(flow.number).map(Span::as_ps));
        assert!(flow.fct_ps.is_none_or(|fct| Some(fct) >= flow.ideal_ps), "{flow:?}");
        assert_eq!(flow.counts, flow.number >= 5);
        assert_eq!(flow.src, built.setup.flows[flow.number as usize].src.0);
    }
    assert_eq!(record.flows.iter().filter(|flow| flow.source == 1).count(), 1);
    for (flow, seen) in record.flows.iter().zip(&outcome.observed.flows) {
        assert_eq!(flow.received, Some(seen.received));
    }
}

#[test]
fn values_outside_the_window_are_missing() {
    // The first flow ends before the window, the second is endless, and the third starts later.
    let early = r#"
        [topology]
        kind = "star"
        hosts = 4
        [switch]
        [transport]
        [[traffic]]
        kind = "long-lived"
        from = "0"
        to = "2"
        bytes = "10KB"
        [[traffic]]
        kind = "long-lived"
        from = "1"
        to = "2"
        [[traffic]]
        kind = "long-lived"
        from = "0"
        to = "1"
        bytes = "10KB"
        start = "15ms"
        [measure]
        end = "20ms"
        [observe]
        ports = "all"
        links = "all"
        flows = "all"
        window = { from = "10ms" }
    "#;
    let (.., record) = made(early, &[]);
    assert_eq!(record.flows[0].goodput_bps, None);
    assert_eq!(record.flows[0].received, Some(0));
    assert!(record.flows[1].goodput_bps.is_some_and(|rate| rate > 0));
    let idle = record.queues.iter().find(|queue| queue.sent == 0).unwrap();
    assert!(idle.wait_ps.mean.is_nan(), "no packet waited");
    assert!(idle.bytes.mean.abs() < 1e-12, "but it was empty");
    // Nothing is observed if the run ends before the window.
    let (.., record) = made(early, &["measure.end=5ms"]);
    assert!(record.flows.iter().all(|flow| flow.goodput_bps.is_none()));
    for link in &record.links {
        let shares = [link.utilisation, link.goodput_bps, link.paused];
        assert!(shares.iter().all(|share| share.is_nan()), "{link:?}");
    }
    assert!(record.queues.iter().all(|queue| queue.bytes.mean.is_nan()));
    let text = serde_json::to_string(&record).unwrap();
    let read: Record = serde_json::from_str(&text).unwrap();
    assert!(read.links[0].utilisation.is_nan() && read.queues[0].bytes.mean.is_nan());
}

#[test]
fn all_traces_have_the_same_length() {
    let (_, _, outcome, record) = made(BUSY, &[]);
    let samples = outcome.observed.series.as_ref().unwrap().len();
    assert!(samples > 100);
    assert!(record.series.traces.iter().all(|trace| trace.values.len() == samples));
    let has = |quantity| record.series.traces.iter().any(|trace| trace.quantity == quantity);
    for quantity in [
        Quantity::ActiveFlows,
        Quantity::Alpha,
        Quantity::Capacity,
        Quantity::Goodput,
        Quantity::QueueBytes,
        Quantity::QueuePackets,
        Quantity::Rate,
        Quantity::Rtt,
        Quantity::Threshold,
        Quantity::Window,
    ] {
        assert!(has(quantity), "{quantity:?}");
    }
    let active = &record.series.traces[0];
    assert_eq!((active.of.as_str(), active.quantity), ("network", Quantity::ActiveFlows));
    // The long flow never ends; the congestion window of a finished flow is NaN.
    let windows = record.series.traces.iter().filter(|trace| trace.quantity == Quantity::Window);
    let over = windows.filter(|trace| trace.values.last().is_some_and(|value| value.is_nan()));
    assert!(over.count() > 5);
}

#[test]
fn probes_are_distinguished_by_their_series() {
    let (_, _, outcome, record) = made(BUSY, &[]);
    assert_eq!(record.probes.len(), outcome.probes[0].len());
    assert!(record.probes.len() > 50);
    assert!(record.probes.iter().all(|probe| probe.series == 0 && probe.rtt_ps >= 100_000_000));
}

#[test]
fn a_distribution_rises_and_ends_at_its_largest_value() {
    let (_, _, outcome, record) = made(BUSY, &[]);
    for (queue, (_, seen)) in record.queues.iter().zip(&outcome.observed.queues) {
        let pairs = &queue.bytes.quantiles;
        assert!(pairs.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{pairs:?}");
        assert_eq!(pairs.last().map(|pair| pair.0), Some(1.0));
        assert_eq!(pairs.last().map(|pair| pair.1), Some(queue.bytes.max));
        assert_eq!(Some(queue.bytes.mean), weighted_mean(&seen.bytes));
    }
    assert!(record.queues.iter().any(|queue| queue.bytes.quantiles.len() > 10));
    let empty = distribution(&tidegate_sim::observe::Histogram::default());
    assert!(empty.quantiles.is_empty() && empty.max.total_cmp(&0.0).is_eq());
    assert!(PROBABILITIES.is_sorted());
}

#[test]
fn a_stalled_run_names_the_cause() {
    // Only ACKs fit into the buffer, not even a probe, so no data is delivered.
    let (_, _, _, record) =
        made(BUSY, &["switch.buffer={ kind = \"per-port\", limit = \"50B\" }", "measure.end=none"]);
    let End::Stalled(why) = &record.run.end else {
        panic!("{:?}", record.run.end);
    };
    assert!(why.contains("flows wait"), "{why}");
}

/// Small flows of a host that also has an endless flow.
const SHARED_HOST: &str = r#"
    name = "shared-host"
    [topology]
    kind = "star"
    hosts = 3
    [switch]
    [transport]
    profile = "linux"
    opening = "ready"
    rule = { kind = "dctcp" }
    [[traffic]]
    kind = "long-lived"
    from = "0"
    to = "1"
    [[traffic]]
    kind = "poisson"
    from = "0"
    to = "2"
    load = 0.02
    sizes = "10KB"
    flows = 200
    [measure]
    warm_up_flows = 20
"#;

#[test]
fn host_waits_above_half_of_small_flow_times_are_recorded() {
    let percent = |overrides: &[&str]| {
        let (_, _, outcome, record) = made(SHARED_HOST, overrides);
        let noted = record.counters.host_wait_percent;
        (noted, outcome.observed.host_waits.iter().max().copied())
    };
    let (fifo, waited) = percent(&["transport.qdisc=fifo"]);
    assert!(fifo > Some(90) && fifo <= Some(100), "{fifo:?}");
    assert!(waited > Some(Span::from_ms(1)), "{waited:?}");
    // The endless flow, which does not count, has one packet at a time in the queue.
    let (fq, waited) = percent(&[]);
    assert_eq!(fq, None);
    assert!(waited > Some(Span::ZERO) && waited < Some(Span::from_us(10)), "{waited:?}");
    // Host ports that the scenario describes are not measured.
    assert_eq!(percent(&["nic={}"]), (None, None));
}
