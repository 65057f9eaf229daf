//! Golden files: text that a test makes, compared with its committed copy.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail as the test would")]

use std::fs;
use std::path::{Path, PathBuf};

/// Environment variable that makes tests write golden files instead of comparing them.
const BLESS: &str = "TIDEGATE_BLESS";

/// Whether tests write golden files in this run.
pub fn blesses() -> bool {
    std::env::var_os(BLESS).is_some()
}

/// Path of a file of the repository.
pub fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

/// Compares `found` with a golden file, given by its path in the repository. With `TIDEGATE_BLESS`
/// set, writes the file instead.
#[track_caller]
pub fn check(file: &str, found: &str) {
    let path = path(file);
    if blesses() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        return fs::write(path, found).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    if committed == found {
        return;
    }
    let (mut old, mut new) = (committed.lines(), found.lines());
    let mut number = 0;
    let (old, new) = loop {
        number += 1;
        match (old.next(), new.next()) {
            (None, None) => break (None, None),
            (one, other) if one == other => {}
            different => break different,
        }
    };
    let shown = |line: Option<&str>| line.unwrap_or("(end of file)").to_owned();
    panic!(
        "{file} is out of date at line {number}\n  committed: {}\n  found:     {}\n\
         run the test again with {BLESS}=1 to write the file, and look at the diff\n\
         all that was found:\n{found}",
        shown(old),
        shown(new)
    );
}
