//! Every published figure in a version that takes seconds: its main claims still point the way of the
//! paper. And the page of all claims, as far as it can be checked without running anything.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use tidegate_lab::reproduce::verdict::has_direction;
use tidegate_lab::reproduce::{Entry, Version, judge, library};
use tidegate_lab::sweep::simulate;
use tidegate_report::Record;
use tidegate_scenario::{Experiment, Scenario};

/// Nobody asks these runs to stop.
static NEVER: AtomicBool = AtomicBool::new(false);

fn records(scenario: &Scenario) -> Vec<Record> {
    let plan = scenario
        .plan()
        .unwrap_or_else(|problem| panic!("{problem}"));
    let one = |experiment: &Experiment| {
        let built = experiment.build().unwrap();
        simulate(experiment, built, String::new(), &NEVER, &mut |_| {}).unwrap()
    };
    plan.iter().map(one).collect()
}

/// Asserts the direction of all main claims of the figures that are chosen.
fn assert_direction(is_chosen: impl Fn(&str) -> bool) {
    let mut wrong = String::new();
    for id in library::ids().into_iter().filter(|id| is_chosen(id)) {
        let entry = Entry::embedded(id, Version::Reduced, &[]).unwrap();
        let entry = entry.unwrap_or_else(|problem| panic!("{problem}"));
        let records = if entry.figure.is_computed {
            Vec::new()
        } else {
            records(&entry.scenario)
        };
        for claim in entry.figure.claims.iter().filter(|claim| claim.is_main) {
            if !has_direction(claim, &records) {
                let finding = judge(claim, &records, &[]);
                _ = writeln!(wrong, "{id}: {}: {}", claim.says, finding.shown());
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_microbenchmarks_of_tcn_point_the_way_of_the_paper() {
    assert_direction(|id| ["tcn-f1", "tcn-f2", "tcn-f3", "tcn-f5"].contains(&id));
}

#[test]
fn the_testbed_of_tcn_points_the_way_of_the_paper() {
    assert_direction(|id| ["tcn-f6", "tcn-f7", "tcn-f8", "tcn-f9"].contains(&id));
}

#[test]
fn the_simulations_of_tcn_point_the_way_of_the_paper() {
    assert_direction(|id| id.starts_with("tcn-f1") && id.len() == "tcn-f10".len());
}

#[test]
fn bcc_points_the_way_of_the_paper() {
    assert_direction(|id| id.starts_with("bcc-"));
}

#[test]
fn odctcp_points_the_way_of_the_thesis() {
    assert_direction(|id| id.starts_with("odctcp-"));
}

#[test]
fn other_papers_point_their_way() {
    let apart = ["tcn-", "bcc-", "odctcp-"];
    assert_direction(|id| !apart.iter().any(|paper| id.starts_with(paper)));
}

#[test]
fn the_page_of_all_claims_has_every_figure_and_every_claim() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduction.md");
    let page = std::fs::read_to_string(path).unwrap();
    let hint = "make it again: tidegate reproduce --all --write-docs docs/reproduction.md";
    for file in library::files() {
        let heading = format!("\n## {}\n", file.id);
        assert!(
            page.contains(&heading),
            "{} is not on the page; {hint}",
            file.id
        );
        for claim in library::figure(file).unwrap().claims {
            let says = claim.says.replace('|', "\\|");
            assert!(
                page.contains(&says),
                "{}: `{says}` is not on the page; {hint}",
                file.id
            );
        }
    }
}
