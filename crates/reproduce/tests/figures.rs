//! Every published figure in a version that takes seconds: its main claims still point the way of
//! the paper. And the page of all claims, as far as it can be checked without running anything.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tidegate_reproduce::claim::{Published, Side};
use tidegate_reproduce::estimate::Looks;
use tidegate_reproduce::measurements::{Answer, NOT_RUN_YET, Runs};
use tidegate_reproduce::verdict::has_direction;
use tidegate_reproduce::{
    Entry, Figure, Judged, Measurements, Version, judge, library, page, paper,
};
use tidegate_results::Record;
use tidegate_scenario::{Experiment, Scenario};
use tidegate_study::sweep::simulate;

/// Never set: these runs are not interrupted.
static NEVER: AtomicBool = AtomicBool::new(false);

fn records(scenario: &Scenario) -> Vec<Record> {
    let plan = scenario.plan().unwrap_or_else(|problem| panic!("{problem}"));
    let one = |experiment: &Experiment| {
        let built = experiment.build().unwrap();
        let record = simulate(experiment, built, String::new(), &NEVER, &mut |_| {});
        record.unwrap().expect("nothing interrupts it")
    };
    plan.iter().map(one).collect()
}

/// Asserts the direction of all main claims of the figures that are chosen.
fn assert_direction(is_chosen: impl Fn(&str) -> bool) {
    let mut wrong = String::new();
    for id in library::ids().into_iter().filter(|id| is_chosen(id)) {
        let entry = Entry::embedded(id, Version::Reduced, &[]).unwrap();
        let entry = entry.unwrap_or_else(|problem| panic!("{problem}"));
        let records = if entry.figure.is_computed { Vec::new() } else { records(&entry.scenario) };
        for claim in entry.figure.claims.iter().filter(|claim| claim.is_main) {
            let runs = Runs { records: &records, unfinished: &[] };
            let looks = Looks::new(entry.scenario.runs() as usize);
            let answer = Answer::new(claim, &entry.figure.claims, runs, looks);
            if answer.numberless > 0 || !has_direction(claim, &answer) {
                let finding = judge(claim, &answer);
                _ = writeln!(wrong, "{id}: {}: {}", claim.says, finding.shown());
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn tcn_microbenchmarks_agree_in_direction_with_the_paper() {
    assert_direction(|id| ["tcn-f1", "tcn-f2", "tcn-f3", "tcn-f5"].contains(&id));
}

#[test]
fn tcn_testbed_agrees_in_direction_with_the_paper() {
    assert_direction(|id| ["tcn-f6", "tcn-f7", "tcn-f8", "tcn-f9"].contains(&id));
}

#[test]
fn tcn_simulations_agree_in_direction_with_the_paper() {
    assert_direction(|id| id.starts_with("tcn-f1") && id.len() == "tcn-f10".len());
}

#[test]
fn bcc_agrees_in_direction_with_the_paper() {
    assert_direction(|id| id.starts_with("bcc-"));
}

#[test]
fn odctcp_agrees_in_direction_with_the_thesis() {
    assert_direction(|id| id.starts_with("odctcp-"));
}

#[test]
fn diff_ecn_and_ecn_sharp_agree_in_direction_with_the_papers() {
    let apart = ["tcn-", "bcc-", "odctcp-"];
    assert_direction(|id| !apart.iter().any(|paper| id.starts_with(paper)));
}

/// Folder of the kept measurements.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduction")
}

#[test]
fn the_page_of_all_claims_follows_from_the_stored_measurements() {
    let path = kept().with_extension("md");
    let page = page::markdown(&paper::papers(), &Judged::kept(&kept()).unwrap());
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(committed == page, "write docs/reproduction.md again with TIDEGATE_BLESS=1");
}

#[test]
fn kept_measurements_are_full_runs() {
    for figure in Judged::kept(&kept()).unwrap() {
        let id = &figure.id;
        let hint = format!("run it: tidegate reproduce {id} --write-docs docs/reproduction.md");
        // The page names figures and claims that wait for their runs.
        let is_known =
            [Version::Full.name(), "computed", NOT_RUN_YET].contains(&figure.extent().as_str());
        assert!(is_known, "{id}: {}; {hint}", figure.extent());
    }
}

/// Factor by which a measured number may keep to a bound. A bound that is farther away says nothing
/// about the simulated network: any marking scheme would satisfy it.
const IDLE: f64 = 8.0;

#[test]
fn bounds_can_fail() {
    let mut idle = String::new();
    for id in library::ids() {
        let figure = Figure::of_file(library::file(id).unwrap()).unwrap();
        let judged = Judged::kept_one(&kept(), id).unwrap();
        for (claim, finding) in figure.claims.iter().zip(&judged.claims) {
            let Published::Bound { side, number, .. } = &claim.paper else { continue };
            let is_absolute =
                claim.against.is_none() && !claim.joins_points() && number.value > 0.0;
            let (true, Some(measured)) = (is_absolute, &finding.measured) else { continue };
            let factor = match side {
                Side::AtMost => number.value / measured.value,
                Side::AtLeast => measured.value / number.value,
            };
            if finding.untallied.is_none() && factor > IDLE {
                _ = writeln!(idle, "{id}: {}: {}", claim.says, finding.shown());
            }
        }
    }
    assert!(idle.is_empty(), "these bounds cannot fail:\n{idle}");
}

#[test]
fn stored_and_fresh_measurements_get_equal_verdicts() {
    let id = "tcn-f5";
    let entry = Entry::embedded(id, Version::Reduced, &[]).unwrap().unwrap();
    let own = records(&entry.scenario);
    let runs = Runs { records: &own, unfinished: &[] };
    let made = Measurements::new(&entry, Version::Reduced, "abc", "command", runs, &[]);
    let folder = std::env::temp_dir().join(format!("tidegate-kept-{}", std::process::id()));
    made.write(&folder).unwrap();
    let read = Measurements::read(&folder, id).unwrap().unwrap();
    let (before, after) = (Judged::new(&entry, &made), Judged::new(&entry, &read));
    assert!(before.claims.iter().any(|claim| claim.measured.is_some()));
    for (before, after) in before.claims.iter().zip(&after.claims) {
        assert_eq!(before.shown(), after.shown());
        assert_eq!(before.verdict, after.verdict);
    }
    // Of other settings they say nothing about this figure.
    let mut other = made;
    other.settings = "other".into();
    other.write(&folder).unwrap();
    assert_eq!(Measurements::read(&folder, id).unwrap(), None);
    assert_eq!(Measurements::read(&folder, "tcn-f1").unwrap(), None);
    std::fs::remove_dir_all(&folder).unwrap();
}
