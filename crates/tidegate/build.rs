//! Finds out which revision of the source the program is made of, for the manifests of its results,
//! and puts the pages of all parts into it.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

/// Where the pages are, below `docs`.
const FOLDERS: [&str; 4] = ["", "flow-control/", "schemes/", "transports/"];

fn main() -> io::Result<()> {
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
    embed_pages()
}

/// Writes the table of all pages by their paths.
fn embed_pages() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let docs = Path::new(&manifest).join("../../docs").canonicalize()?;
    let mut code = String::from("const PAGES: &[(&str, &str)] = &[\n");
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={}", docs.join(folder).display());
        let mut names = Vec::new();
        for file in fs::read_dir(docs.join(folder))? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                names.extend(
                    path.file_name()
                        .map(|name| name.to_string_lossy().into_owned()),
                );
            }
        }
        names.sort();
        for name in names {
            let path = format!("{folder}{name}");
            let whole = docs.join(&path).to_string_lossy().into_owned();
            // Writing to a string does not fail.
            _ = writeln!(code, "    ({path:?}, include_str!({whole:?})),");
        }
    }
    code.push_str("];\n");
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("pages.rs"), code)
}

/// What git says, or nothing without git or outside a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
