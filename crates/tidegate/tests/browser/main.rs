//! `tidegate serve` in a real browser: Debian's headless `chromium`, driven over its pipe.
//!
//! Without `chromium`, which `./test` installs, each test is reported as skipped, by name. So is
//! the playground's test without the result of `crates/web/build`, and the accessibility test
//! without axe-core.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail as the test would")]

mod serve;
mod server;

use std::process::ExitCode;

use tidegate_harness::browser::{self, Need};
use tidegate_harness::{suite, tests};

const TESTS: &[suite::Test] = tests![
    serve::a_sweep_is_started_followed_stopped_and_resumed,
    serve::runs_of_the_command_line_are_followed,
    serve::errors_are_shown_on_the_page,
    serve::results_are_filtered_compared_and_sandboxed,
    serve::networks_are_planned,
    serve::pages_fit_a_phone_and_are_accessible,
    serve::playground_of_every_build_simulates_on_the_server,
    serve::the_playground_runs_under_its_policy,
];

fn main() -> ExitCode {
    suite::run(TESTS, |name| {
        browser::missing(match name {
            "the_playground_runs_under_its_policy" => &[Need::Playground],
            "pages_fit_a_phone_and_are_accessible" => &[Need::Axe],
            _ => &[],
        })
    })
}
