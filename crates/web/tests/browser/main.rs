//! The playground in a real browser: Debian's `chromium` without a screen, driven over its pipe.
//!
//! Needs what `crates/web/build` makes, and `chromium`: `./test` sees to both. Without one of them
//! each test is reported as skipped, by name; that of accessibility too without axe-core.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail as the test would")]

mod page;
mod server;

use std::process::ExitCode;

use tidegate_harness::browser::{self, Need};
use tidegate_harness::{suite, tests};

const TESTS: &[suite::Test] = tests![
    page::every_lesson_has_the_numbers_of_the_native_run,
    page::a_wrong_key_is_shown_at_its_place,
    page::words_are_offered_and_taken,
    page::words_come_however_late,
    page::arrow_keys_move_a_slider_by_what_can_be_seen,
    page::numbers_of_axes_are_whole,
    page::sliders_and_choices_write_the_text_and_run_it,
    page::one_scheme_can_be_compared_with_another,
    page::a_packet_tells_its_fate,
    page::a_shared_link_reproduces,
    page::broken_links_are_answered_in_words,
    page::the_skip_link_only_moves_the_focus,
    page::without_a_run_nothing_fails,
    page::beyond_single_packets_pictures_go_on_by_samples,
    page::times_have_as_many_digits_as_tell_them_apart,
    page::it_fits_a_phone_and_draws_little,
    page::axe_finds_nothing,
];

fn main() -> ExitCode {
    suite::run(TESTS, |name| {
        browser::missing(match name {
            "axe_finds_nothing" => &[Need::Playground, Need::Axe],
            _ => &[Need::Playground],
        })
    })
}
