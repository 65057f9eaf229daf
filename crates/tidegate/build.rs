//! Finds out which revision of the source the program is made of and what tells this build from others, for
//! the manifests of its results, and puts the pages of all parts into it, and the playground if it is there.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Where the pages are, below `docs`.
const FOLDERS: [&str; 4] = ["", "flow-control/", "schemes/", "transports/"];

/// What else of the workspace the program is made of.
const BESIDE: [&str; 3] = ["../../Cargo.lock", "../../Cargo.toml", "../../networks"];

fn main() -> io::Result<()> {
    // The sources of all crates, and the commit that they are compared with.
    println!("cargo::rerun-if-changed=..");
    for path in BESIDE {
        println!("cargo::rerun-if-changed={path}");
    }
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    let revision = git(&["rev-parse", "--short=12", "HEAD"]);
    let status = ["status", "--porcelain", "--untracked-files=no", "--", ".."];
    let changed = git(&[&status[..], &BESIDE].concat());
    let revision = match (revision, changed) {
        (Some(revision), Some(changed)) if changed.is_empty() => revision,
        (Some(revision), _) => format!("{revision}-changed"),
        (None, _) => String::new(),
    };
    println!("cargo::rustc-env=TIDEGATE_REVISION={revision}");
    println!("cargo::rustc-env=TIDEGATE_BUILD={:016x}", fingerprint()?);
    embed_playground()?;
    embed_pages()
}

/// Writes the table of the files of the playground, which is empty where `crates/web/build` has not been run: the
/// program is built without it.
fn embed_playground() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let folder = Path::new(&manifest).join("../../target/playground");
    // A folder that is not there could not be watched. One that cannot be made stays empty.
    drop(fs::create_dir_all(&folder));
    let mut files = Vec::new();
    if let Ok(folder) = folder.canonicalize() {
        println!("cargo::rerun-if-changed={}", folder.display());
        for file in fs::read_dir(folder)? {
            let path = file?.path();
            if let Some(name) = path.file_name().filter(|_| path.is_file()) {
                let name = name.to_string_lossy().into_owned();
                files.push((name, path.to_string_lossy().into_owned()));
            }
        }
    }
    if !files.iter().any(|(name, _)| name == "tidegate.wasm") {
        files.clear();
    }
    files.sort();
    let mut code = String::from("const EMBEDDED: &[(&str, &[u8])] = &[\n");
    for (name, path) in files {
        // Writing to a string does not fail.
        _ = writeln!(code, "    ({name:?}, include_bytes!({path:?})),");
    }
    code.push_str("];\n");
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("playground.rs"), code)
}

/// What results may depend on: a sum of all sources with those of libraries as `Cargo.lock` names them, of the
/// compiler, its target and how it optimises. A revision alone does not tell two changed trees apart.
fn fingerprint() -> io::Result<u64> {
    let mut sum = Fnv::default();
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let mut open: Vec<PathBuf> = SOURCES.iter().map(PathBuf::from).collect();
    let mut files = Vec::new();
    while let Some(place) = open.pop() {
        let path = root.join(&place);
        if path.is_file() {
            files.push(place);
        } else if path.is_dir() && !place.ends_with("tests") && !place.ends_with("target") {
            for entry in fs::read_dir(&path)? {
                open.push(place.join(entry?.file_name()));
            }
        }
    }
    files.sort();
    for place in files {
        sum.add(place.to_string_lossy().as_bytes());
        sum.add(&fs::read(root.join(place))?);
    }
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    sum.add(&Command::new(compiler).arg("-vV").output()?.stdout);
    for name in ["TARGET", "OPT_LEVEL", "PROFILE"] {
        let value = env::var_os(name).unwrap_or_default();
        sum.add(value.to_string_lossy().as_bytes());
    }
    // Where the source lay makes no difference.
    let flags = env::var_os("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let flags = flags.to_string_lossy();
    let flags = flags.split('\u{1f}');
    for flag in flags.filter(|flag| !flag.starts_with("--remap-path-prefix")) {
        sum.add(flag.as_bytes());
    }
    Ok(sum.0)
}

/// What the program is made of, below the workspace.
const SOURCES: [&str; 5] = [
    "Cargo.lock",
    "Cargo.toml",
    "crates",
    "networks",
    "scenarios",
];

/// FNV-1a: the same on every machine, which the standard library's sums need not be.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds some bytes, and how many they are.
    fn add(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        for byte in length.to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
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
