//! The ECN conformance suite: scripted exchanges that say which rule of which document every
//! transport keeps, and which it breaks on purpose.
//!
//! A script (`testdata/conformance/*.toml`) plays the application, the network and the peer against
//! one endpoint, as packetdrill does against a kernel. It names the writes, the arrivals, the
//! segments that must leave and when, and the window and α afterwards.
//! `testdata/conformance/README.md` describes the format. Every case names the subjects that keep
//! the rule and those that break it, with the reason; the suite checks both, and that
//! `docs/conformance.md` says the same.
//!
//! To write that page anew:
//!
//! ```sh
//! TIDEGATE_BLESS=1 cargo test -p tidegate-transport --test conformance
//! ```

mod bench;
mod page;
mod requirements;
mod robustness;
mod script;
mod subject;
mod suite;
mod wire;

use std::fs;
use std::path::PathBuf;

use requirements::Document;
use suite::Suite;

const PAGE: &str = "docs/conformance.md";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every script of `testdata/conformance`, in order of name.
fn suite() -> Suite {
    let directory = root().join("testdata/conformance");
    let mut paths: Vec<PathBuf> = fs::read_dir(&directory)
        .expect("the folder of scripts is readable")
        .map(|entry| entry.expect("the folder of scripts is readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    paths.sort();
    let mut suite = Suite::default();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&path).expect("scripts are text");
        suite.add(&name, &text).unwrap_or_else(|error| panic!("{error}"));
    }
    suite
}

fn documents() -> Vec<Document> {
    requirements::read(&root().join("testdata/conformance/requirements"))
        .expect("the lists of requirements are readable")
}

#[test]
fn every_requirement_names_a_place_in_the_code_and_a_script() {
    let suite = suite();
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let problems: Vec<String> =
        documents().iter().flat_map(|document| document.problems(&suite, &package)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_subject_keeps_its_rules_and_breaks_the_declared_ones() {
    let suite = suite();
    let problems = suite.check();
    assert!(
        problems.is_empty(),
        "{} of {} verdicts are wrong:\n{}",
        problems.len(),
        suite.verdicts(),
        problems.join("\n")
    );
}

#[test]
fn the_page_agrees_with_the_scripts() {
    tidegate_harness::golden::check(PAGE, &page::render(&suite(), &documents()));
}
