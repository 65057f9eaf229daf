//! The scripts that check the project's documents: links, and patterns of translated English.

use std::path::Path;
use std::process::Command;

#[test]
fn links_lead_to_files_and_headings() {
    run("links", &[]);
}

#[test]
fn prose_is_below_the_limits() {
    run("prose", &[]);
}

#[test]
fn prose_script_counts_its_own_cases_right() {
    run("prose", &["--self-test"]);
}

/// Runs a script of `.ci` and fails with its output.
fn run(script: &str, arguments: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("python3")
        .arg(root.join(".ci").join(script))
        .args(arguments)
        .output()
        .expect("python3 is installed, as for the tests of the Python package");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{complained}");
}
