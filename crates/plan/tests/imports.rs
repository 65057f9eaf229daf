//! Imports between the modules of the crate have no cycles, and dialects are formatted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All files of a module, without its tests.
fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let kept = entries.filter(|path| path.file_stem().is_some_and(|stem| stem != "tests"));
    kept.flat_map(|path| files(&path))
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// Names that follow `crate::` outside tests; `Network` and `Plan` are in modules of their names.
fn imports(path: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files(path) {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for rest in code.split("crate::").skip(1) {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            assert!(end > 0, "{}: name one module in an import", file.display());
            found.insert(rest[..end].to_lowercase());
        }
    }
    found
}

#[test]
fn imports_between_modules_have_no_cycle() {
    let modules = fs::read_dir(source()).unwrap().map(|entry| entry.unwrap().path());
    let modules =
        modules.filter(|path| path.is_dir() || path.extension().is_some_and(|e| e == "rs"));
    let mut open: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in modules.filter(|path| !path.ends_with("lib.rs")) {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut imported = imports(&path);
        imported.remove(&name);
        open.insert(name, imported);
    }
    assert!(open.len() > 15 && open["judge"].contains("network"), "{open:?}");
    // Take modules away that import none of the others, until nothing is left.
    while !open.is_empty() {
        let names: BTreeSet<String> = open.keys().cloned().collect();
        open.retain(|_, imported| !imported.is_disjoint(&names));
        assert!(open.len() < names.len(), "these modules import each other: {open:?}");
    }
}

/// `cargo fmt` does not see modules that a macro declares.
#[test]
fn dialects_are_formatted() {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--check", "--edition", "2024"]).args(files(&source().join("dialect")));
    // Where rustfmt is missing, there is nothing to check with.
    if let Ok(output) = rustfmt.output() {
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "run rustfmt on these files:\n{said}");
    }
}
