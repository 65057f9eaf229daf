//! `tidegate serve` in a real browser: Debian's `chromium` without a screen, driven over its pipe.
//!
//! Without `chromium`, which `./test` installs, each test is reported as skipped, by name; that of the playground too
//! without what `crates/web/build` makes, and that of accessibility without axe-core.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of a test fail as the test would"
)]

mod serve;
mod server;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tidegate_harness::{browser, suite, tests};

const TESTS: &[suite::Test] = tests![
    serve::a_sweep_is_started_followed_stopped_and_resumed,
    serve::what_the_command_line_runs_is_followed,
    serve::mistakes_are_answered_in_words,
    serve::results_are_found_compared_and_shut_in,
    serve::networks_are_planned,
    serve::pages_fit_a_phone_and_keep_nobody_out,
    serve::the_playground_runs_under_its_policy,
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn playground() -> PathBuf {
    root().join("target/playground")
}

/// Where `./test` puts axe-core.
fn axe() -> PathBuf {
    root().join("target/axe/package/axe.min.js")
}

fn main() -> ExitCode {
    let has_chromium = browser::is_installed();
    suite::run(TESTS, move |name| {
        if !has_chromium {
            Some("no chromium; on Debian: apt-get install chromium".to_owned())
        } else if name.contains("playground") && !playground().join("tidegate.wasm").exists() {
            Some("the playground is not built: crates/web/build".to_owned())
        } else if name.contains("keep_nobody_out") && !axe().exists() {
            Some("no axe-core; ./test takes it from npm".to_owned())
        } else {
            None
        }
    })
}
