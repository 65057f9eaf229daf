//! The playground in a real browser: Debian's headless `chromium`, driven over its pipe.
//!
//! Needs the result of `crates/web/build`, and `chromium`; `./test` provides both. Without one of
//! them each test is reported as skipped, by name; so is the accessibility test without axe-core.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail as the test would")]

mod page;
mod server;

use std::process::ExitCode;

use tidegate_harness::browser::{self, Need};
use tidegate_harness::{suite, tests};

const TESTS: &[suite::Test] = tests![
    page::every_lesson_has_the_numbers_of_the_native_run,
    page::error_is_shown_at_its_location,
    page::completions_are_offered_and_inserted,
    page::completions_arrive_even_if_late,
    page::arrow_keys_move_a_slider_visibly,
    page::axis_labels_are_not_cut_off,
    page::sliders_and_choices_edit_and_run_the_text,
    page::one_scheme_can_be_compared_with_another,
    page::click_on_a_packet_explains_it,
    page::a_shared_link_reproduces,
    page::broken_links_show_a_message,
    page::the_skip_link_only_moves_the_focus,
    page::page_without_a_run_does_not_fail,
    page::charts_continue_with_samples_behind_recorded_packets,
    page::times_have_enough_digits_to_differ,
    page::page_fits_a_phone_and_draws_fast,
    page::axe_finds_no_barriers,
];

fn main() -> ExitCode {
    suite::run(TESTS, |name| {
        browser::missing(match name {
            "axe_finds_no_barriers" => &[Need::Playground, Need::Axe],
            _ => &[Need::Playground],
        })
    })
}
