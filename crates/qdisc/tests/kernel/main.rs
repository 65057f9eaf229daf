//! The programs in this machine's kernel, compared with the library.
//!
//! Needs root and a kernel with BTF, but no BPF qdiscs. Without the privilege each test is reported
//! as skipped, by name.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail as the test would")]

mod marker;
mod scheduler;
mod schemes;

use std::process::ExitCode;

use tidegate_dataplane::mark;
use tidegate_harness::{suite, tests};
use tidegate_qdisc::kernel::replay::Replay;
use tidegate_qdisc::setup;
use tidegate_units::Rate;

const TESTS: &[suite::Test] = tests![
    scheduler::the_scheduler_serves_the_library_s_queues,
    schemes::golden_vectors_hold_in_the_kernel,
    schemes::options_without_a_program_are_refused_by_name,
    schemes::random_steps_have_the_library_s_answers,
];

fn main() -> ExitCode {
    let missing = missing();
    suite::run(TESTS, move |_| missing.clone())
}

/// Why no program can be loaded.
fn missing() -> Option<String> {
    let none = mark::Config::named("none").unwrap();
    let setup = setup::encode_scheme(&none, Rate::from_gbps(10), 1).unwrap();
    Replay::new(&setup).err().map(|error| error.to_string())
}
