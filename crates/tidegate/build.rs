//! Finds out which revision of the source the program is made of, for the manifests of its results.

use std::process::Command;

fn main() {
    // The sources of all crates, and the commit that they are compared with.
    println!("cargo::rerun-if-changed=..");
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    let revision = git(&["rev-parse", "--short=12", "HEAD"]);
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", ".."]);
    let revision = match (revision, changed) {
        (Some(revision), Some(changed)) if changed.is_empty() => revision,
        (Some(revision), _) => format!("{revision}-changed"),
        (None, _) => String::new(),
    };
    println!("cargo::rustc-env=TIDEGATE_REVISION={revision}");
}

/// What git says, or nothing without git or outside a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
