//! Scenarios as a whole: what they give, and that they read back.

use super::*;

pub(super) const FILES: [(&str, &str); 5] = [
    ("everything.toml", include_str!("testdata/everything.toml")),
    ("lossless.toml", include_str!("testdata/lossless.toml")),
    ("minimal.toml", include_str!("testdata/minimal.toml")),
    ("profiles.toml", include_str!("testdata/profiles.toml")),
    ("sweep.toml", include_str!("testdata/sweep.toml")),
];

fn read(name: &str, overrides: &[&str]) -> Result<Scenario, Problem> {
    let (_, text) = FILES.iter().find(|(file, _)| *file == name).unwrap();
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    Scenario::parse(name, text, &overrides)
}

/// What a plan comes to: everything that the simulator is told, for each run.
fn told(scenario: &Scenario) -> Vec<String> {
    let runs = scenario
        .plan()
        .unwrap_or_else(|problem| panic!("{problem}"));
    let one = |run: Experiment| {
        let built = run.build().unwrap_or_else(|problem| panic!("{problem}"));
        format!(
            "{} {} {:?} {} {built:?}",
            run.id, run.label, run.point, run.seed
        )
    };
    runs.into_iter().map(one).collect()
}

#[test]
fn what_is_resolved_reads_back_as_the_same_runs() {
    for (name, text) in FILES {
        let scenario =
            Scenario::parse(name, text, &[]).unwrap_or_else(|problem| panic!("{problem}"));
        let resolved = scenario.resolved();
        let again = Scenario::parse("resolved.toml", &resolved, &[]);
        let again = again.unwrap_or_else(|problem| panic!("{problem}\n{resolved}"));
        assert_eq!(again.resolved(), resolved, "{name}");
        let (before, after) = (told(&scenario), told(&again));
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            assert!(before == after, "{name}:\n{before}\n\n{after}");
        }
    }
}

#[test]
fn the_runs_of_a_sweep_are_in_its_order_with_labels_and_ids() {
    let scenario = read("sweep.toml", &[]).unwrap();
    let runs = scenario.plan().unwrap();
    let found: Vec<_> = runs
        .iter()
        .map(|run| (run.id.as_str(), run.label.as_str()))
        .collect();
    let expected = [
        ("tcn-load-0.3-s7", "TCN, load 0.3"),
        ("tcn-load-0.3-s8", "TCN, load 0.3"),
        ("tcn-load-0.6-s7", "TCN, load 0.6"),
        ("tcn-load-0.6-s8", "TCN, load 0.6"),
        ("codel-load-0.3-s7", "CoDel, load 0.3"),
    ];
    assert_eq!(found[..5], expected);
    assert_eq!(runs.len(), 12);
    assert_eq!(
        runs[11].overrides()[..2],
        ["sweep={}", "switch.marking={ kind = \"mq-ecn\" }"]
    );
}
