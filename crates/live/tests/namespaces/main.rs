//! The switch between the kernels of network namespaces: real frames, real TCP.
//!
//! Needs root, and `ip` of the package iproute2. Every namespace is without a name and goes away
//! with this process. Without the privilege each test is reported as skipped, by name.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of a test fail as the test would"
)]
#![expect(
    clippy::print_stdout,
    reason = "this is the program that reports the tests"
)]

mod bed;
mod exactness;
mod links;
mod testbed;
mod wireshark;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use tidegate_live::namespace::Namespace;

/// A test and its name.
type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    (
        "a_congestion_control_that_the_kernel_lacks_is_named",
        testbed::a_congestion_control_that_the_kernel_lacks_is_named,
    ),
    (
        "a_link_that_goes_down_and_comes_back_is_used_again",
        links::a_link_that_goes_down_and_comes_back_is_used_again,
    ),
    (
        "a_plan_is_carried_out_and_all_marks_arrive",
        testbed::a_plan_is_carried_out_and_all_marks_arrive,
    ),
    (
        "a_run_that_is_interrupted_ends_and_leaves_nothing",
        testbed::a_run_that_is_interrupted_ends_and_leaves_nothing,
    ),
    (
        "an_interface_that_is_made_again_is_used_again",
        links::an_interface_that_is_made_again_is_used_again,
    ),
    (
        "every_frame_that_goes_out_arrives_in_order_or_has_a_reason",
        exactness::every_frame_that_goes_out_arrives_in_order_or_has_a_reason,
    ),
    (
        "marks_are_the_ce_packets_that_the_receivers_kernel_counts",
        exactness::marks_are_the_ce_packets_that_the_receivers_kernel_counts,
    ),
    (
        "marks_on_ipv6_are_counted_too",
        exactness::marks_on_ipv6_are_counted_too,
    ),
    (
        "tap_interfaces_are_ports_too",
        links::tap_interfaces_are_ports_too,
    ),
    (
        "the_queue_of_kernel_tcp_follows_the_threshold",
        exactness::the_queue_of_kernel_tcp_follows_the_threshold,
    ),
    (
        "what_leaves_is_whole_and_marked_as_wireshark_reads_it",
        wireshark::what_leaves_is_whole_and_marked_as_wireshark_reads_it,
    ),
    (
        "without_privilege_the_error_names_it",
        links::without_privilege_the_error_names_it,
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in TESTS {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let filters: Vec<_> = arguments
        .iter()
        .filter(|text| !text.starts_with('-'))
        .collect();
    let is_wanted = |name: &str| {
        filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
    };
    // Whatever hangs, this ends.
    thread::spawn(|| {
        thread::park_timeout(LIMIT);
        eprintln!("the tests took longer than {LIMIT:?}");
        std::process::exit(1);
    });
    let obstacle = Namespace::new().err().map(|error| error.to_string());
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, test) in TESTS.iter().filter(|(name, _)| is_wanted(name)) {
        if let Some(obstacle) = &obstacle {
            let reason = obstacle.lines().next().unwrap_or_default();
            println!("test {name} ... skipped: {reason}");
            skipped += 1;
        } else if catch_unwind(AssertUnwindSafe(test)).is_ok() {
            println!("test {name} ... ok");
            passed += 1;
        } else {
            println!("test {name} ... FAILED");
            failed += 1;
        }
    }
    println!("\ntest result: {passed} passed; {failed} failed; {skipped} skipped");
    ExitCode::from(u8::from(failed > 0))
}

const LIMIT: Duration = Duration::from_secs(300);
