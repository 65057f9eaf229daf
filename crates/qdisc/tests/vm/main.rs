//! The qdiscs in a kernel that has BPF qdiscs: Debian's, in an emulated machine.
//!
//! This program boots the machine with itself in its memory, and runs its tests there. Where the
//! emulator or the kernel is missing, each test is reported as skipped, by name.

#![expect(clippy::unwrap_used, reason = "a failing helper fails the test")]
#![expect(clippy::print_stdout, reason = "the machine's console is this program's output")]

mod bad_input;
mod bed;
mod initramfs;
mod life;
mod machine;
mod marks;
mod program;
mod scheduling;
mod schemes;
mod stock;

use std::process::ExitCode;

use tidegate_harness::{suite, tests};

const TESTS: &[suite::Test] = tests![
    bad_input::a_bad_device_or_setting_is_one_sentence_and_nothing_changes,
    bad_input::a_device_that_does_not_report_its_rate_needs_one,
    bad_input::a_kernel_that_lacks_a_feature_is_named_with_its_option,
    bad_input::a_second_load_is_refused_and_the_first_stays,
    bad_input::an_unprivileged_user_is_refused,
    life::a_dry_run_changes_nothing,
    life::a_load_that_is_killed_leaves_nothing_or_is_cleaned_up,
    life::a_qdisc_and_filters_of_others_are_named_and_kept,
    life::after_unload_nothing_is_left,
    life::unload_under_load_loses_no_packet,
    marks::every_mark_that_is_decided_is_set_and_received,
    scheduling::a_pool_that_another_port_has_filled_marks,
    scheduling::a_scheduler_serves_classes_by_dscp_and_by_priority,
    scheduling::packets_leave_at_the_rate,
    schemes::every_scheme_marks_by_its_rule_what_the_receiver_counts,
    stock::marks_of_the_kernels_own_qdisc_are_the_ce_packets_that_the_receiver_counts,
];

/// Set in the emulated machine.
const INSIDE: &str = "TIDEGATE_TESTS_INSIDE";

fn main() -> ExitCode {
    let lists = std::env::args().any(|argument| argument == "--list");
    if lists || std::env::var_os(INSIDE).is_some() {
        return suite::run(TESTS, |_| None);
    }
    match machine::missing() {
        Some(reason) => suite::run(TESTS, move |_| Some(reason.clone())),
        None => machine::run(),
    }
}
