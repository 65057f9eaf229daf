//! Scripts of `.ci`: links of documents, patterns of translated English, and the list of failures
//! at the end of `./test`.

use std::path::{Path, PathBuf};
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

#[test]
fn failures_of_all_suites_are_listed_in_one_block() {
    let cargo = "     Running unittests src/lib.rs (target/debug/deps/tidegate_sim-0a1b)\n\
        test run::stops ... FAILED\ntest run::goes_on ... ok\n\
        \x20    Running tests/browser/main.rs (target/debug/deps/browser-0a1b)\n\
        test a_page_is_shown   ... FAILED\nerror: test failed, to rerun pass `-p tidegate-sim --lib`\n\
        error: 2 targets failed:\n    `-p tidegate-sim --lib`\n    `-p tidegate-web --test browser`\n";
    let python = "FAIL: test_run (test_run.Runs.test_run)\nerror: no such command\n";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let logs = [("cargo", cargo), ("python", python)].map(|(name, text)| {
        let log = folder.join(name);
        std::fs::write(&log, text).expect("the folder is writable");
        log
    });
    let output = Command::new(root().join(".ci/failures")).args(&logs).output();
    let listed = output.expect("bash and awk are installed").stdout;
    let expected = "  cargo: tidegate_sim: run::stops\n  cargo: browser: a_page_is_shown\n  \
        cargo:     `-p tidegate-sim --lib`\n  cargo:     `-p tidegate-web --test browser`\n  \
        python: test_run (test_run.Runs.test_run)\n  python: error: no such command\n";
    assert_eq!(String::from_utf8_lossy(&listed), expected);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a script of `.ci` and fails with its output.
fn run(script: &str, arguments: &[&str]) {
    let output = Command::new("python3")
        .arg(root().join(".ci").join(script))
        .args(arguments)
        .output()
        .expect("python3 is installed, as for the tests of the Python package");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{complained}");
}
