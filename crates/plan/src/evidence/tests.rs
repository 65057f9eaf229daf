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
    for (rtt, least, most) in
        [("{ base = \"40us\" }", 39.0, 41.0), ("{ mean = \"40us\", p90 = \"60us\" }", 15.0, 67.0)]
    {
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
fn printed_settings_are_simulated_too() {
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
    assert!(error.to_string().contains("no threshold to verify"), "{error}");
}

/// Notes of the evidence for the current setting, or the reason why there is none.
fn today(text: &str, current: &str) -> Result<Vec<String>, String> {
    let network = Network::parse("network.toml", text).unwrap();
    let plan = Plan::new(&network);
    let current = Current::read(current, &network).unwrap();
    let trial = Trial::new(&plan, Some(&current), (1, 2), 1e5);
    trial.map(|trial| trial.model.notes).map_err(|problem| problem.to_string())
}

#[test]
fn todays_setting_is_simulated_as_it_is_or_refused_or_noted() {
    let two = format!("{STAR}[[queue]]\n[[queue]]\n");
    let without = today(&two, "80KB").unwrap();
    // A ramp beside a step, and equal ramps, can be simulated as they are.
    for same in [
        "0=10KB/20KB/5%,1=80KB",
        "10KB/20KB/5%",
        "50us",
        "0=80KB,1=off",
        "0=10KB/20KB/5%,1=10KB/20KB/20%",
    ] {
        assert_eq!(today(&two, same), Ok(without.clone()), "{same}");
    }
    for (other, why) in [
        ("0=50us,1=60us", "differ by queue (50 µs, 60 µs)"),
        ("0=50us,1=off", "by time and others not at all"),
    ] {
        let error = today(&two, other).unwrap_err();
        assert!(error.contains(why) && error.contains("help"), "{error}");
    }
    let notes = today(&two, "0=50us,1=80KB").unwrap();
    let note =
        "today's times are simulated as lengths at 10Gbps, like the thresholds of other queues";
    assert!(notes.iter().any(|one| one == note), "{notes:?}");
    let fabric = "fabric = { host_ports = \"4x10Gbps\", uplinks = \"2x40Gbps\" }";
    let faster = two.replace("fabric = { host_ports = \"4x10Gbps\" }", fabric);
    let error = today(&faster, "0=50us,1=80KB").unwrap_err();
    assert!(error.contains("by time and others by length"), "{error}");
    assert!(today(&faster, "50us").is_ok());
    // A queue that ignores marks needs none.
    let reno = two.replacen("[[queue]]\n", "[[queue]]\ntransport = \"reno\"\n", 1);
    assert!(today(&reno, "0=off,1=50us").is_ok());
}

#[test]
fn ramps_of_queues_are_simulated_each_with_its_own_probability() {
    let text = include_str!("../../../../networks/storage.toml");
    // A lossy and a lossless profile, as switches ship them.
    let scenario = trial(text, Some("0=1MiB/2MiB/5%,3=400KB/1600KB/20%,6=off"));
    let line = scenario.lines().find(|line| line.contains("\"today\""));
    let line = line.unwrap_or_else(|| panic!("{scenario}"));
    for list in [
        "threshold = [\"4000000000B\", \"2097152B\", \"1600000B\"]",
        "min_threshold = [\"4000000000B\", \"1048576B\", \"400000B\"]",
        "max_probability = [\"1\", \"1/20\", \"1/5\"]",
    ] {
        assert!(line.contains(list), "{line}");
    }
    assert_eq!(points(&scenario), ["formula", "today", "half", "double"]);
}

#[test]
fn todays_alpha_of_one_queue_is_not_taken_for_that_of_another_in_silence() {
    let network = Network::parse("n.toml", &format!("{STAR}[[queue]]\n[[queue]]\n")).unwrap();
    let plan = Plan::new(&network);
    let mut current = Current::read("0=80KB,1=90KB", &network).unwrap();
    let notes = |current: &Current| {
        let trial = Trial::new(&plan, Some(current), (1, 2), 1e5).unwrap();
        trial.model.notes
    };
    let is_said = |notes: Vec<String>| {
        let note = "today's α is 1/8, 2, by queue or port: 1/8 is simulated for all";
        notes.iter().any(|one| one == note)
    };
    current.settings[0].alpha = Ratio::new(1, 8);
    assert!(!is_said(notes(&current)));
    current.settings[1].alpha = Ratio::new(2, 1);
    assert!(is_said(notes(&current)), "{:?}", notes(&current));
}

/// The network of a trace over a strict queue 6, a lossless queue 3 and queue 0.
fn traced(flows: &str) -> Network {
    let folder = std::env::temp_dir().join(format!("tidegate-traced-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("net.toml");
    let text = "fabric = { host_ports = \"4x10Gbps\" }\nswitch = { buffer = \"4MB\" }\n\
                rtt = { base = \"40us\" }\ntraffic = { trace = \"flows.csv\" }\nqueue = [\n\
                { id = 0, transport = \"dctcp\" },\n\
                { id = 3, transport = \"dcqcn\", lossless = true },\n\
                { id = 6, strict = true } ]\n";
    std::fs::write(&file, text).unwrap();
    std::fs::write(folder.join("flows.csv"), flows).unwrap();
    let network = Network::read(&file).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    network
}

#[test]
fn flows_of_a_trace_use_the_queue_and_the_transport_of_their_service() {
    let network = traced("id,start_s,src,dst,bytes,service\na,0,0,1,1000,0\nb,1e-6,1,2,5000,3\n");
    let plan = Plan::new(&network);
    let trial = Trial::new(&plan, None, (1, 1), 1e5).unwrap();
    assert!(!trial.model.notes.iter().any(|note| note.contains("service")));
    let scenario = trial.scenario();
    // Queue 6 is served first: it is simulated queue 0, and queues 0 and 3 follow.
    let lists: Vec<&str> = scenario.split("kind = \"list\"\n").skip(1).collect();
    assert!(lists[0].starts_with("group = 0\n") && lists[1].starts_with("group = 1\n"));
    assert!(lists[0].contains("\na,0.000000000000,0,1,1000,1,,\n"), "{}", lists[0]);
    assert!(lists[1].contains("\nb,0.000001000000,1,2,5000,2,,\n"), "{}", lists[1]);
    points(&scenario);
}

#[test]
fn a_trace_without_services_uses_the_default_queue_and_says_so() {
    let network = traced("a,0,0,1,1000\n");
    let plan = Plan::new(&network);
    let trial = Trial::new(&plan, None, (1, 1), 1e5).unwrap();
    let note = "the trace has no column `service`: all its flows use queue 0";
    assert!(trial.model.notes.iter().any(|own| own == note), "{:?}", trial.model.notes);
    assert!(trial.scenario().contains("\na,0.000000000000,0,1,1000,1,,\n"));
    points(&trial.scenario());
}
