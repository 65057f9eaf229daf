//! Finds the revision of the source, and calculates the fingerprint of the build.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    watch()?;
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    let revision = git(&["rev-parse", "--short=12", "HEAD"]);
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let sources = SOURCES.map(|place| format!(":(top){place}"));
    let sources = sources.iter().map(String::as_str);
    let beside = BESIDE.map(|package| format!(":(top,exclude){CRATES}/{package}"));
    let beside = beside.iter().map(String::as_str);
    let words = status.into_iter().chain(sources).chain([TESTS]).chain(beside);
    let changed = git(&words.collect::<Vec<_>>());
    let revision = match (revision, changed) {
        (Some(revision), Some(changed)) if changed.is_empty() => revision,
        (Some(revision), _) => format!("{revision}-changed"),
        (None, _) => String::new(),
    };
    println!("cargo::rustc-env=TIDEGATE_REVISION={revision}");
    println!("cargo::rustc-env=TIDEGATE_BUILD={:016x}", fingerprint()?);
    Ok(())
}

/// Runs this script again when a source of the program changes, but not for tests and build files.
fn watch() -> io::Result<()> {
    let root = root();
    for place in SOURCES {
        if place != CRATES {
            println!("cargo::rerun-if-changed={}", root.join(place).display());
            continue;
        }
        for package in fs::read_dir(root.join(place))? {
            let package = package?.path();
            if !package.is_dir() || is_beside(&package) {
                continue;
            }
            for entry in fs::read_dir(package)? {
                let path = entry?.path();
                if !is_beside(&path) {
                    println!("cargo::rerun-if-changed={}", path.display());
                }
            }
        }
    }
    Ok(())
}

/// Whether a folder holds no source of the program.
fn is_beside(path: &Path) -> bool {
    let packages = BESIDE.iter().any(|package| path.ends_with(Path::new(CRATES).join(package)));
    packages || path.ends_with("tests") || path.ends_with("target")
}

fn root() -> PathBuf {
    Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..")
}

/// Hash of everything that results may depend on: all sources, the libraries in `Cargo.lock`, the
/// compiler, its target and its optimization. The revision alone does not tell two edited trees
/// apart.
fn fingerprint() -> io::Result<u64> {
    let mut sum = Fnv::default();
    let root = root();
    let mut open: Vec<PathBuf> = SOURCES.iter().map(PathBuf::from).collect();
    let mut files = Vec::new();
    while let Some(place) = open.pop() {
        let path = root.join(&place);
        if path.is_file() {
            files.push(place);
        } else if path.is_dir() && !is_beside(&place) {
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
    // The location of the source does not matter.
    let flags = env::var_os("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let flags = flags.to_string_lossy();
    let flags = flags.split('\u{1f}');
    for flag in flags.filter(|flag| !flag.starts_with("--remap-path-prefix")) {
        sum.add(flag.as_bytes());
    }
    Ok(sum.0)
}

/// Sources of the program, below the workspace.
const SOURCES: [&str; 5] = ["Cargo.lock", "Cargo.toml", CRATES, "networks", "scenarios"];
const CRATES: &str = "crates";

/// Packages that the program does not contain: the Python module and the tests' own.
const BESIDE: [&str; 3] = ["harness", "python", "testkit"];

/// Pattern by which git leaves out the tests.
const TESTS: &str = ":(top,exclude,glob)crates/*/tests/**";

/// FNV-1a: the same on every machine, unlike the standard library's hashes.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds some bytes and their number.
    fn add(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        for byte in length.to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// Git's output, or nothing without git or outside a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
