//! `tidegate serve` in a real browser: Debian's `chromium` without a screen, driven over its pipe.
//!
//! Without `chromium`, which `./test` installs, each test is reported as skipped, by name; that of
//! the playground too without what `crates/web/build` makes, and that of accessibility without
//! axe-core.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail as the test would")]

mod serve;
mod server;

use std::process::ExitCode;

use tidegate_harness::browser::{self, Need};
use tidegate_harness::{suite, tests};

const TESTS: &[suite::Test] = tests![
    serve::a_sweep_is_started_followed_stopped_and_resumed,
    serve::what_the_command_line_runs_is_followed,
    serve::mistakes_are_answered_in_words,
    serve::results_are_found_compared_and_shut_in,
    serve::networks_are_planned,
    serve::pages_fit_a_phone_and_keep_nobody_out,
    serve::the_playground_of_every_build_simulates_here,
    serve::the_playground_runs_under_its_policy,
];

fn main() -> ExitCode {
    suite::run(TESTS, |name| {
        browser::missing(match name {
            "the_playground_runs_under_its_policy" => &[Need::Playground],
            "pages_fit_a_phone_and_keep_nobody_out" => &[Need::Axe],
            _ => &[],
        })
    })
}
