//! The inputs that fuzzing has found to cover all it covers, on any toolchain.

#![expect(
    clippy::unwrap_used,
    reason = "a file that is not there fails the test"
)]

use std::fs;
use std::path::Path;

use tidegate_testkit::fuzz;

/// Calls `target` with every input that is kept for it.
fn replay(name: &str, target: impl Fn(&[u8]) -> Result<(), String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut count = 0;
    for entry in fs::read_dir(folder.join(name)).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        if let Err(problem) = target(&bytes) {
            panic!("{}: {problem}", path.display());
        }
        count += 1;
    }
    assert!(count > 0, "{name} has a corpus");
}

#[test]
fn every_kept_input_of_frames_passes() {
    replay("frames", fuzz::frames);
}

#[test]
fn every_kept_input_of_port_passes() {
    replay("port", fuzz::port);
}

#[test]
fn every_kept_input_of_transport_passes() {
    replay("transport", fuzz::transport);
}

#[test]
fn every_kept_input_of_vectors_passes() {
    replay("vectors", |bytes| {
        fuzz::vectors(bytes);
        Ok(())
    });
}

#[test]
fn every_kept_input_of_workload_passes() {
    replay("workload", fuzz::workload);
}
