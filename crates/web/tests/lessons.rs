//! Every lesson shows its effect, with the numbers of the command line.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail as the test would")]

use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use tidegate_results::record::Record;
use tidegate_scenario::Scenario;
use tidegate_sim::run;
use tidegate_web::answer;
use tidegate_web::lessons::LESSONS;

/// Header of an answer.
fn asked(request: &Value) -> Value {
    let answer = answer(&request.to_string(), &mut |_| true);
    let length = u32::from_le_bytes(answer[..4].try_into().unwrap()) as usize;
    serde_json::from_slice(&answer[8..8 + length]).unwrap()
}

fn shown(text: &str, point: usize) -> Value {
    asked(&json!({ "do": "run", "text": text, "point": point }))
}

/// Column of whole numbers of a run with a watched port.
fn column(text: &str, watch: &str, name: &str) -> Vec<i32> {
    let request = json!({ "do": "run", "text": text, "point": 0, "watch": watch });
    let answer = answer(&request.to_string(), &mut |_| true);
    let length = u32::from_le_bytes(answer[..4].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&answer[8..8 + length]).unwrap();
    let place = &header["columns"][name];
    assert_eq!(place[0], "Int32", "{name}: {header}");
    let [begin, count] = [1, 2].map(|part| place[part].as_u64().unwrap() as usize);
    let bytes = &answer[8 + length + begin..][..4 * count];
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| i32::from_le_bytes(*word)).collect()
}

/// The page draws packets on the links that they really took to the watched port.
#[test]
fn packets_are_drawn_on_their_real_links() {
    let text = r#"name = "fabric"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
[[traffic]]
kind = "poisson"
from = "0-3"
to = "4"
load = 0.6
sizes = "web-search"
flows = 60
"#;
    let header = asked(&json!({ "do": "run", "text": text, "point": 0, "watch": "leaf1>host4" }));
    let names: Vec<&str> = header["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| link["name"].as_str().unwrap())
        .collect();
    let mut via = column(text, "leaf1>host4", "flow_via");
    assert_eq!(via.len(), 60);
    for spine in ["spine0>leaf1", "spine1>leaf1"] {
        let link = names.iter().position(|name| *name == spine).unwrap();
        let link = i32::try_from(link).unwrap();
        let flows = (0..).zip(&via).filter(|(_, via)| **via == link);
        let own: Vec<i32> = flows.map(|(flow, _)| flow).collect();
        let mut seen = column(text, spine, "p_flow");
        seen.sort_unstable();
        seen.dedup();
        assert!(!own.is_empty() && seen == own, "{spine}: {seen:?} and {own:?}");
        via.iter_mut().filter(|via| **via == link).for_each(|via| *via = -1);
    }
    assert!(via.iter().all(|via| *via == -1), "{via:?}");
}

fn lesson(id: &str) -> &'static str {
    LESSONS.iter().find(|lesson| lesson.id == id).unwrap().text
}

/// A number of a point of a lesson.
fn number(id: &str, point: usize, name: &str) -> f64 {
    let header = shown(lesson(id), point);
    let numbers = header["numbers"].as_array().unwrap();
    let found = numbers.iter().find(|number| number["name"] == name);
    found.unwrap_or_else(|| panic!("{id}: no {name} in {header}"))["value"].as_f64().unwrap()
}

/// Records of the command line for a text, by point.
fn records(text: &str) -> Vec<Record> {
    let scenario = Scenario::parse("scenario.toml", text, &[]).unwrap();
    let plan = scenario.plan().unwrap();
    let one = |experiment: &tidegate_scenario::Experiment| {
        let built = experiment.build().unwrap();
        let outcome = run::run(&built.setup, &AtomicBool::new(false)).unwrap();
        tidegate_results::outcome::record(experiment, String::new(), &built, &outcome).unwrap()
    };
    plan.iter().map(one).collect()
}

#[test]
fn runs_equal_the_command_line() {
    for lesson in LESSONS {
        for (point, record) in records(lesson.text).iter().enumerate() {
            let header = shown(lesson.text, point);
            assert_eq!(header["fingerprint"], json!(record.run.fingerprint), "{}", lesson.id);
            let numbers = header["numbers"].as_array().unwrap();
            assert!(numbers.len() >= 5, "{}: {numbers:?}", lesson.id);
        }
    }
}

#[test]
fn low_threshold_idles_and_high_threshold_queues() {
    let of = |point, name| number("threshold", point, name);
    assert!(of(0, "utilisation") < 0.85);
    assert!(of(1, "utilisation") > 0.99 && of(2, "utilisation") > 0.99);
    assert!(of(1, "queue_mean") > 1.5 * of(2, "queue_mean"));
}

#[test]
fn tcn_keeps_half_of_the_queue_under_dwrr() {
    let of = |point, name| number("tcn-dwrr", point, name);
    // Half of the rate for 78 us are 48.75 KB; 65 packets are 97.5.
    assert!((of(0, "queue_mean") - 48_750.0).abs() < 0.15 * 48_750.0);
    assert!((of(1, "queue_mean") - 97_500.0).abs() < 0.15 * 97_500.0);
    assert!(of(0, "utilisation") > 0.99);
}

#[test]
fn ecn_sharp_ends_the_standing_queue() {
    let of = |point, name| number("ecn-sharp", point, name);
    assert!(of(1, "queue_mean") < 0.4 * of(0, "queue_mean"));
    assert!(of(1, "fct_mean") < of(0, "fct_mean"));
    assert!(of(1, "utilisation") > 0.99);
}

#[test]
fn bcc_drops_less_of_the_incast() {
    let of = |point, name| number("bcc-incast", point, name);
    assert!(of(1, "drops") < 0.3 * of(0, "drops"));
    assert!(of(1, "fct_mean") < of(0, "fct_mean"));
}

#[test]
fn diff_ecn_spares_short_flows() {
    let of = |point, name| number("diff-ecn", point, name);
    assert!(of(1, "fct_mean") < 0.7 * of(0, "fct_mean"));
    assert!(of(1, "marks") < of(0, "marks"));
    assert!(of(1, "utilisation") > 0.98);
}

#[test]
fn dctcp_starves_without_cwr_and_takes_most_with_it() {
    let goodput = |point, flows: &str| {
        let text =
            lesson("one-sided").replace("flows = \"all\"", &format!("flows = [\"{flows}\"]"));
        let header = shown(&text, point);
        let numbers = header["numbers"].as_array().unwrap();
        let found = numbers.iter().find(|number| number["name"] == "goodput");
        found.unwrap()["value"].as_f64().unwrap()
    };
    assert!(goodput(0, "0-3") > 4.0 * goodput(0, "4-7"));
    assert!(goodput(1, "0-3") < 0.25 * goodput(1, "4-7"));
}

#[test]
fn incast_collapses_without_marks() {
    let of = |point, name| number("incast", point, name);
    assert!(of(0, "drops") > 100.0 && of(0, "timeouts") >= 1.0);
    assert!(of(1, "drops") < 0.5 && of(1, "timeouts") < 0.5);
    assert!(of(1, "fct_mean") < of(0, "fct_mean"));
}

/// Each lesson is small enough for a phone, and its header has everything for the page.
#[test]
fn lessons_are_small() {
    for lesson in LESSONS {
        let described = asked(&json!({ "do": "describe", "text": lesson.text }));
        assert!(described.get("problems").is_none(), "{described}");
        let points = described["points"].as_array().unwrap();
        assert!(points.len() > 1, "{}", lesson.id);
        for point in 0..points.len() {
            let header = shown(lesson.text, point);
            assert!(header["hops"].as_u64().unwrap() < 500_000, "{}", lesson.id);
            assert_eq!(header["beyond"], 0, "{}", lesson.id);
            assert!(header["hosts"].as_u64().unwrap() <= 32, "{}", lesson.id);
        }
    }
}

#[test]
fn invalid_requests_are_refused_with_a_reason() {
    let problem = |request: Value| {
        let header = asked(&request);
        let problem = &header["problems"][0];
        assert!(problem["message"].as_str().is_some_and(|text| text.len() > 10), "{header}");
        problem.clone()
    };
    problem(json!({}));
    problem(json!({ "do": "dance" }));
    problem(json!({ "do": "run", "text": "", "point": 0 }));
    problem(json!({ "do": "run", "text": lesson("incast"), "point": 9 }));
    problem(json!({ "do": "run", "text": lesson("incast"), "point": 0, "watch": "host0>switch0" }));
    problem(json!({ "do": "describe", "text": "x".repeat(70_000) }));
    let large = lesson("incast").replace("hosts = 32", "hosts = 3200");
    assert!(
        problem(json!({ "do": "describe", "text": large }))["message"]
            .as_str()
            .unwrap()
            .contains("256")
    );
    let wrong = lesson("incast").replace("host_rate", "host_rat");
    let problem = problem(json!({ "do": "describe", "text": wrong }));
    assert_eq!(problem["at"], json!([8, 1]));
    assert!(problem["help"].as_str().unwrap().contains("host_rate"));
}

/// A port that the scenario does not observe can be watched; the command names it.
#[test]
fn any_port_can_be_watched() {
    let text = lesson("bcc-incast");
    let request = json!({ "do": "run", "text": text, "point": 1, "watch": "switch0>host10" });
    let other = asked(&request);
    assert_eq!(other["fingerprint"], shown(text, 1)["fingerprint"]);
    let command = other["command"].as_str().unwrap();
    assert!(command.contains("--set 'observe.ports=[\"switch0>host10\"]'"), "{command}");
    assert!(other["packets"].as_u64().unwrap() > 1_000);
}

/// A port that no longer exists is ignored.
#[test]
fn watched_port_may_be_gone() {
    let text = lesson("incast");
    let gone = json!({ "do": "run", "text": text, "point": 0, "watch": "switch0>host99" });
    let gone = asked(&gone);
    let plain = shown(text, 0);
    for what in ["watched", "fingerprint", "command", "packets"] {
        assert!(!plain[what].is_null(), "{plain}");
        assert_eq!(gone[what], plain[what]);
    }
}

/// Texts from a stranger's link, such as comments in a list of flows, cannot break the quoting of
/// the command.
#[test]
fn command_is_safe_to_paste() {
    let text = r#"name = "list"
[topology]
kind = "star"
hosts = 3
[[traffic]]
kind = "list"
flows = "0,0,0,2,1000"
[sweep]
"traffic.0.flows" = ["0,0,1,2,20000 # a'; touch b; '"]
"#;
    let header = shown(text, 0);
    let command = header["command"].as_str();
    let command = command.unwrap_or_else(|| panic!("{header}"));
    assert!(command.contains(r"# a'\''; touch b; '\''"), "{command}");
    let plain = shown(lesson("incast"), 0);
    assert!(!plain["command"].as_str().unwrap().contains(r"\'"));
}

/// A run stops on request and reports it.
#[test]
fn a_run_can_be_stopped() {
    let text = lesson("threshold").replace("end = \"30ms\"", "end = \"3s\"");
    let request = json!({ "do": "run", "text": text, "point": 0 });
    let answer = answer(&request.to_string(), &mut |status| status.now.as_ps() < 10_000_000_000);
    let length = u32::from_le_bytes(answer[..4].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&answer[8..8 + length]).unwrap();
    assert!(header["end"].as_str().unwrap().starts_with("stopped"), "{header}");
    assert!(header["ended"].as_f64().unwrap() < 1e6);
}
