//! Reading folders for comparison.

#![expect(clippy::unwrap_used, reason = "a failing helper fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

/// All files in a folder and its subfolders, with their relative paths and their bytes, except
/// files with the name `but`.
pub fn files(top: &Path, but: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![top.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).unwrap();
            open.extend(entries.map(|entry| entry.unwrap().path()));
        } else if !path.ends_with(but) {
            let name = path.strip_prefix(top).unwrap().to_owned();
            found.push((name, fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}
