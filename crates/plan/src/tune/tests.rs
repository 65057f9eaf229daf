use tidegate_results::record::Record;
use tidegate_scenario::Scenario;

use super::*;
use crate::evidence::model::Model;
use crate::plan::Plan;
use crate::{Network, evidence};

const STAR: &str = r#"
name = "star"
fabric = { host_ports = "4x10Gbps" }
switch = { buffer = "4MB" }
rtt = { base = "40us" }
traffic = { workload = "web-search", load = 0.5, incast = 3 }
"#;

fn request(goal: Goal, limits: &[&str], varies: &[&str]) -> Request {
    Request {
        goal,
        limits: limits.iter().map(|text| Limit::read(text).unwrap()).collect(),
        varies: varies.iter().map(|text| Vary::read(text).unwrap()).collect(),
        seed: 1,
    }
}

fn tuning(request: Request, budget: usize, loads: &[f64]) -> Tuning {
    let network = Network::parse("star.toml", STAR).unwrap();
    let plan = Plan::new(&network);
    let model = Model::new(&network, 1e5).unwrap();
    let candidates = space::of_network(&plan, &model, &request.varies).unwrap();
    let cells =
        Tuning::cells(loads, &[], |load| model.with_load(load), |sizes| model.with_sizes(sizes));
    let schedule = Schedule::new(candidates.len() - 1, cells.len(), budget).unwrap();
    Tuning {
        request,
        candidates,
        cells,
        schedule,
        reach: model.reach(tidegate_units::Bytes(36_000), 1.0),
    }
}

/// Measured values of such a run.
fn values(us: f64, drops: u64) -> Values {
    Values::of(&record(us, drops), None)
}

/// A run whose small flow took so many microseconds, with so many drops.
fn record(us: f64, drops: u64) -> Record {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "some microseconds"
    )]
    let fct = (us * 1e6) as u64;
    let mut record: Record = serde_json::from_value(serde_json::json!({
        "run": {
            "id": "a", "point": [], "label": "a", "replication": 0, "seed": "1", "fingerprint": "",
            "command": "", "end": { "reason": "finished" }, "ended_at_ps": 1,
        },
        "counters": {
            "marks": {}, "drops": { "pool-full": drops }, "packet_hops": 1, "started": 1, "finished": 1,
            "retransmissions": 0, "timeouts": 0,
        },
        "queues": [], "links": [],
    }))
    .unwrap();
    record.flows.push(tidegate_results::record::Flow {
        number: 0,
        name: String::new(),
        source: 0,
        src: 0,
        dst: 1,
        service: 0,
        bytes: Some(1_000),
        class: tidegate_results::record::Class::Small,
        counts: true,
        start_ps: 0,
        fct_ps: Some(fct),
        ideal_ps: None,
        retransmissions: 0,
        timeouts: 0,
        marks: 0,
        received: None,
        goodput_bps: None,
        rtt_ps: None,
        rtt_variation_ps: None,
    });
    record
}

/// Runs of a world in which a candidate of the scale s takes 100 + 50·|log2(s / best)| µs, more or
/// less by seed, and drops as many packets as s is above 2.
fn run(tuning: &Tuning, best: f64, numbers: &[usize], asked: &mut Vec<usize>) -> Vec<Values> {
    asked.extend(numbers);
    let seeds = tuning.seeds() as usize;
    let one = |&number: &usize| {
        let candidate = &tuning.candidates[number / seeds / tuning.cells.len()];
        let scale: f64 = candidate.values.first().map_or(1.0, |value| value.parse().unwrap());
        #[expect(clippy::cast_precision_loss, reason = "a few seeds")]
        let noise =
            1.0 + 0.3 * ((number % seeds) as f64 * 1.7).sin() + 0.002 * (number as f64 * 0.7).cos();
        values(noise * (100.0 + 50.0 * (scale / best).log2().abs()), u64::from(scale > 2.0) * 5)
    };
    numbers.iter().map(one).collect()
}

fn search(tuning: &Tuning, best: f64) -> (Found, Vec<usize>) {
    let mut asked = Vec::new();
    let found = tuning
        .search(|numbers| Ok::<_, String>(Some(run(tuning, best, numbers, &mut asked))))
        .unwrap();
    (found.unwrap(), asked)
}

#[test]
fn the_optimum_is_found_and_shown_to_beat_the_formula() {
    let tuning = tuning(request(Goal::P99Small, &[], &["scale=0.25..4:9"]), 100, &[]);
    assert_eq!(tuning.candidates[0].values, ["1"], "the formula is not tried twice");
    assert_eq!(tuning.candidates.len(), 9);
    let (found, asked) = search(&tuning, 0.5);
    assert_eq!(tuning.candidates[found.best].label, "scale 0.5");
    assert_eq!(found.ending(), Ending::Beaten);
    assert_eq!(asked.len(), tuning.schedule.runs);
    let mut once = asked.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), asked.len(), "no run is asked for twice");
}

#[test]
fn nothing_beats_the_formula_where_it_is_the_optimum() {
    let tuning = tuning(request(Goal::P99Small, &[], &["scale=0.25..4:9"]), 100, &[0.3, 0.6]);
    let (found, _) = search(&tuning, 1.0);
    assert_eq!(found.ending(), Ending::FormulaStays);
    assert_eq!(found.cells.len(), 2);
    let page = sheet(&tuning, &found, "Star", Vec::new());
    assert!(page.parts[0].title.starts_with("Nothing beats formula"));
    assert_eq!(page.render(), sheet(&tuning, &found, "Star", Vec::new()).render());
}

#[test]
fn a_candidate_that_misses_a_limit_does_not_win() {
    let free = tuning(request(Goal::P99Small, &[], &["scale=1..8:4"]), 60, &[]);
    assert_eq!(free.candidates[search(&free, 8.0).0.best].label, "scale 8");
    let kept = tuning(request(Goal::P99Small, &["drops<1"], &["scale=1..8:4"]), 60, &[]);
    let (found, _) = search(&kept, 8.0);
    assert_eq!(kept.candidates[found.best].label, "scale 2");
    let never = tuning(request(Goal::P99Small, &["p99-small<1us"], &["scale=1..8:4"]), 60, &[]);
    assert_eq!(search(&never, 8.0).0.ending(), Ending::NothingKeeps);
}

#[test]
fn a_search_that_is_stopped_finds_nothing() {
    let tuning = tuning(request(Goal::P99Small, &[], &["scale=0.5,2"]), 40, &[]);
    let found = tuning.search(|_| Ok::<_, String>(None)).unwrap();
    assert!(found.is_none());
}

#[test]
fn goal_without_flows_of_its_size_is_an_error() {
    let tuning = tuning(request(Goal::Throughput, &[], &["scale=0.5,2"]), 40, &[]);
    let error = tuning
        .search(|numbers| Ok::<_, String>(Some(vec![values(1.0, 0); numbers.len()])))
        .unwrap_err();
    assert!(error.contains("large flows"), "{error}");
}

#[test]
fn a_limit_that_is_not_measured_is_an_error() {
    for (limit, why) in [
        ("queue<100KB", "observe.ports"),
        ("pauses<1%", "observe.links"),
        ("throughput>95%", "no such flows"),
    ] {
        let limits = &[limit];
        let tuning = tuning(request(Goal::P99Small, limits, &["scale=0.5,2"]), 80, &[0.3, 0.6]);
        let error = tuning
            .search(|numbers| Ok::<_, String>(Some(vec![values(1.0, 0); numbers.len()])))
            .unwrap_err();
        assert!(error.contains(why) && error.contains("load 0.3"), "{error}");
    }
}

#[test]
fn a_candidate_without_a_number_does_not_win() {
    // The small flow of scale 0.5 never ends; the one of scale 2 is slower than the formula's.
    let without = {
        let mut record = record(1.0, 0);
        record.flows[0].fct_ps = None;
        Values::of(&record, None)
    };
    for limits in [&[][..], &["mean<1s"]] {
        let tuning = tuning(request(Goal::P99Small, limits, &["scale=0.5,2"]), 40, &[]);
        let seeds = tuning.seeds() as usize;
        let one = |&number: &usize| match tuning.candidates[number / seeds].label.as_str() {
            "scale 0.5" => without,
            "scale 2" => values(200.0, 0),
            _ => values(100.0, 0),
        };
        let found =
            tuning.search(|numbers| Ok::<_, String>(Some(numbers.iter().map(one).collect())));
        let found = found.unwrap().unwrap();
        assert_eq!(tuning.candidates[found.best].label, "scale 2");
        assert_eq!(found.ending(), Ending::FormulaStays);
        let half = &found.tried[1];
        assert_eq!(half.keeps_limits, limits.is_empty());
    }
}

#[test]
fn every_run_of_the_search_is_in_the_scenario_in_its_place() {
    let varies = ["scale=0.5,2", "scheme=queue-red,tcn,ecn-sharp", "alpha=1/2,2"];
    let tuning = tuning(request(Goal::Mean, &[], &varies), 300, &[0.3, 0.5]);
    let network = Network::parse("star.toml", STAR).unwrap();
    let model = evidence::model(&network, 1e5).unwrap();
    let text = tuning.scenario(&model.scenario("tune", 1, tuning.seeds()));
    let scenario =
        Scenario::parse("tune.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let plan = scenario.plan().unwrap();
    assert_eq!(plan.len(), 13 * 2 * tuning.seeds() as usize);
    for candidate in 0..tuning.candidates.len() {
        for cell in 0..2 {
            let place = Place { candidate, cell, seed: 1 };
            let run = &plan[tuning.number(place)];
            let label =
                format!("{}, {}", tuning.candidates[candidate].label, tuning.cells[cell].label);
            assert_eq!((run.label.as_str(), run.replication), (label.as_str(), 1));
        }
    }
}

#[test]
fn the_probability_of_one_queue_is_varied_alone() {
    let text = STAR
        .replace("rtt =", "queue = [{ transport = \"dcqcn\" }, { transport = \"dcqcn\" }]\nrtt =");
    let network = Network::parse("star.toml", &text).unwrap();
    let plan = Plan::new(&network);
    let model = Model::new(&network, 1e5).unwrap();
    let varies = [Vary::read("probability.1=0.05").unwrap()];
    let candidates = space::of_network(&plan, &model, &varies).unwrap();
    assert_eq!(candidates[1].label, "probability.1 0.05");
    let list = "max_probability = [\"1\", \"1/5\", \"1/20\"]";
    assert!(candidates[1].sets.contains(list), "{}", candidates[1].sets);
}

#[test]
fn unknown_keys_of_networks_are_named() {
    let network = Network::parse("star.toml", STAR).unwrap();
    let plan = Plan::new(&network);
    let model = Model::new(&network, 1e5).unwrap();
    for (text, why) in [
        ("speed=1,2", "keys are scale"),
        ("scale=1KB,2KB", "number above 0"),
        ("threshold=fast", "fast"),
        ("threshold.7=1KB", "there are 0"),
        ("probability=0.1", "which has no probability"),
        ("alpha=0", "above 0"),
        ("weight.0=100", "1 to 99"),
        ("scheme=codel", "queue-red, tcn or ecn-sharp"),
    ] {
        let varies = [Vary::read(text).unwrap()];
        let error = space::of_network(&plan, &model, &varies).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}
