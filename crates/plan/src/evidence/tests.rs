use tidegate_scenario::Scenario;

use super::*;

const STAR: &str = r#"
name = "star"
fabric = { host_ports = "4x10Gbps" }
switch = { buffer = "4MB" }
rtt = { base = "40us" }
traffic = { workload = "web-search", load = 0.5, incast = 3 }
"#;

fn trial(text: &str, current: Option<&str>) -> String {
    let network = Network::parse("network.toml", text).unwrap();
    let plan = Plan::new(&network);
    let current = current.map(|given| Current::read(given, &network).unwrap());
    let trial = Trial::new(&plan, current.as_ref(), (1, 2), 1e5).unwrap();
    trial.scenario()
}

/// The labels of the points of a scenario, which can all be built.
fn points(text: &str) -> Vec<String> {
    let scenario =
        Scenario::parse("evidence.toml", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let plan = scenario.plan().unwrap_or_else(|e| panic!("{e}\n{text}"));
    for run in &plan {
        run.build().unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
    let mut labels: Vec<String> = plan.into_iter().map(|run| run.label).collect();
    labels.dedup();
    labels
}

#[test]
fn formula_and_neighbours_are_tried_and_today_if_it_is_known() {
    assert_eq!(points(&trial(STAR, None)), ["formula", "half", "double"]);
    let text = trial(STAR, Some("1MB/2MB/5%"));
    assert_eq!(points(&text), ["formula", "today", "half", "double"]);
    // 0.72 × 10 Gb/s × 40 µs.
    assert!(text.contains("threshold = [\"36000B\"]"), "{text}");
    assert!(text.contains("threshold = [\"18000B\"]"));
    assert!(text.contains("min_threshold = [\"1000000B\"], max_probability = \"1/20\""));
}

#[test]
fn the_simulated_round_trip_is_that_of_the_network() {
    for (rtt, least, most) in [
        ("{ base = \"40us\" }", 39.0, 41.0),
        ("{ mean = \"40us\", p90 = \"60us\" }", 15.0, 67.0),
    ] {
        let text = STAR.replace("{ base = \"40us\" }", rtt);
        let scenario = Scenario::parse("evidence.toml", &trial(&text, None), &[]).unwrap();
        let plan = scenario.plan().unwrap();
        let (low, high) = plan[0].outline.base_rtt.unwrap();
        #[expect(clippy::cast_precision_loss, reason = "microseconds")]
        let us = |span: Span| span.as_ps() as f64 / 1e6;
        assert!(us(low) >= least && us(high) <= most, "{rtt}: {low} {high}");
    }
}

#[test]
fn every_worked_network_can_be_simulated() {
    for text in [
        include_str!("../../../../networks/web.toml"),
        include_str!("../../../../networks/storage.toml"),
        include_str!("../../../../networks/training.toml"),
    ] {
        assert_eq!(points(&trial(text, None)).len(), 3);
    }
}

#[test]
fn what_others_print_is_tried_too() {
    let text = include_str!("../../../../networks/web.toml");
    let network = Network::parse("web.toml", text).unwrap();
    let plan = Plan::new(&network);
    let mut trial = Trial::new(&plan, None, (1, 1), 1e5).unwrap();
    trial.add_printed();
    let text = trial.scenario();
    assert!(points(&text).len() > 8, "{text}");
    // One threshold for all speeds, and one by speed.
    let of = |label: &str| {
        let variant = trial.variants.iter().find(|variant| variant.label == label);
        variant.unwrap().marks.in_proportion
    };
    assert!(!of("SONiC template") && of("HPCC for DCQCN"));
}

#[test]
fn a_network_without_marks_has_nothing_to_verify() {
    let network = Network::parse("n.toml", &format!("transport = \"reno\"\n{STAR}")).unwrap();
    let plan = Plan::new(&network);
    let error = Trial::new(&plan, None, (1, 2), 1e5).unwrap_err();
    assert!(
        error.to_string().contains("no threshold to verify"),
        "{error}"
    );
}
