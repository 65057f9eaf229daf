//! Runs every golden vector of `testdata/`, and checks that there are enough of them.
#![expect(clippy::print_stdout, reason = "the list of files, shown with --nocapture")]

use std::fs;
use std::path::{Path, PathBuf};

use tidegate_dataplane::{buffer, mark, sched};
use tidegate_testkit::vector::{Summary, VectorError, run_buffer, run_mark, run_sched};

/// Fewest cases: fewer cannot cover every boundary of a scheme.
const FEWEST_CASES: usize = 8;

#[test]
fn every_marking_scheme_answers_its_vectors() {
    run_all("mark", mark::Config::NAMES, run_mark);
}

#[test]
fn every_scheduler_answers_its_vectors() {
    run_all("sched", sched::Config::NAMES, run_sched);
}

#[test]
fn every_buffer_answers_its_vectors() {
    run_all("buffer", buffer::Config::NAMES, run_buffer);
}

/// Runs every file of `testdata/KIND`; there must be one file per name, called after it.
fn run_all(kind: &str, names: &[&str], run: fn(&str) -> Result<Summary, VectorError>) {
    let mut problems = Vec::new();
    let files = files(kind);
    for path in &files {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(path).expect("the files of testdata are readable");
        match run(&text) {
            Ok(Summary { subject, cases, steps }) => {
                println!("{kind}/{file}: {cases} cases, {steps} steps");
                if file != format!("{subject}.toml") {
                    problems.push(format!("{file}: tests `{subject}`, which is not its name"));
                }
                if cases < FEWEST_CASES {
                    problems.push(format!("{file}: {cases} cases, {FEWEST_CASES} are needed"));
                }
            }
            Err(error) => problems.push(format!("{file}: {error}")),
        }
    }
    for name in names {
        let file = format!("{name}.toml");
        if !files.iter().any(|path| path.ends_with(&file)) {
            problems.push(format!("{file}: there is no such file in testdata/{kind}"));
        }
    }
    assert!(problems.is_empty(), "testdata/{kind}:\n{}", problems.join("\n"));
}

/// The files of `testdata/KIND`, in order of name.
fn files(kind: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(kind);
    let entries =
        fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the entries of testdata are readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}
