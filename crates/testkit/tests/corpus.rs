//! Inputs kept by fuzzing, which together cover everything it has reached, and mutations of them,
//! on any toolchain: a thousand for each target, or as many as fit in `TIDEGATE_FUZZ_SECONDS`.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a missing file fails the test, whose duration can be set and whose progress is printed"
)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tidegate_testkit::fuzz;
use tidegate_testkit::mutate::{cross, mutate};
use tidegate_units::Rng;

/// End of the mutations.
enum Bound {
    Inputs(u64),
    Time(Duration),
}

impl Bound {
    fn from_environment() -> Self {
        match env::var("TIDEGATE_FUZZ_SECONDS") {
            Ok(text) => Self::Time(Duration::from_secs(text.parse().expect("seconds"))),
            Err(_) => Self::Inputs(1_000),
        }
    }

    fn is_reached(&self, tried: u64, begun: Instant) -> bool {
        match *self {
            Self::Inputs(most) => tried >= most,
            Self::Time(longest) => begun.elapsed() >= longest,
        }
    }
}

/// The folder with the kept inputs of a target, unpacked anew.
fn unpacked(name: &str) -> PathBuf {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus");
    let folder = place.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&place).unwrap();
    let archive = corpus.join(format!("{name}.tar.gz"));
    let tar = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&place).status().unwrap();
    assert!(tar.success(), "tar cannot unpack {}", archive.display());
    folder
}

/// Calls `target` with every input kept for it, then with mutations of them. The order is the same
/// each time, so that a failure repeats.
fn explore(name: &str, target: impl Fn(&[u8]) -> Result<(), String>) {
    let mut paths: Vec<_> =
        fs::read_dir(unpacked(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let kept: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(!kept.is_empty(), "{name} has a corpus");
    for (path, input) in paths.iter().zip(&kept) {
        if let Err(problem) = target(input) {
            panic!("{}: {problem}", path.display());
        }
    }
    let (bound, begun) = (Bound::from_environment(), Instant::now());
    let mut tried = 0;
    while !bound.is_reached(tried, begun) {
        let mut rng = Rng::new(tried, 0);
        let mut any = || &kept[rng.next_u32() as usize % kept.len()];
        let (head, tail) = (any(), any());
        let mut input = match rng.next_u32() % 4 {
            0 => cross(&mut rng, head, tail),
            _ => head.clone(),
        };
        mutate(&mut rng, &mut input);
        if let Err(problem) = target(&input) {
            panic!("mutation {tried}: {}: {problem}", input.escape_ascii());
        }
        tried += 1;
    }
    println!("{name}: {} kept and {tried} mutated inputs pass", kept.len());
}

#[test]
fn inputs_near_those_kept_for_frames_pass() {
    explore("frames", fuzz::frames);
}

#[test]
fn inputs_near_those_kept_for_port_pass() {
    explore("port", fuzz::port);
}

#[test]
fn inputs_near_those_kept_for_scenario_pass() {
    explore("scenario", tidegate_scenario::fuzz::scenario);
}

#[test]
fn inputs_near_those_kept_for_transport_pass() {
    explore("transport", fuzz::transport);
}

#[test]
fn inputs_near_those_kept_for_vectors_pass() {
    explore("vectors", |bytes| {
        fuzz::vectors(bytes);
        Ok(())
    });
}

#[test]
fn inputs_near_those_kept_for_workload_pass() {
    explore("workload", fuzz::workload);
}
