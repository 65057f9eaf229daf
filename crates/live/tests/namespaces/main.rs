//! The switch between the kernels of network namespaces: real frames, real TCP.
//!
//! Needs root, and `ip` from the package iproute2. All namespaces are unnamed and disappear with
//! this process. Without the privilege each test is reported as skipped, by name; any other
//! obstacle is a failure.

#![expect(clippy::unwrap_used, reason = "a failing helper fails the test")]

mod bed;
mod bench;
mod exactness;
mod links;
mod offloads;
mod privilege;
mod reload;
mod testbed;
mod wireshark;

use std::process::ExitCode;

use tidegate_harness::{suite, tests};
use tidegate_live::Error;
use tidegate_live::namespace::Namespace;

const TESTS: &[suite::Test] = tests![
    bench::a_shaped_wire_never_exceeds_its_rate_in_any_second,
    bench::under_everything_at_once_every_frame_is_accounted_for,
    exactness::every_frame_that_goes_out_arrives_in_order_or_has_a_reason,
    exactness::marks_are_the_ce_packets_that_the_receivers_kernel_counts,
    exactness::marks_on_ipv6_are_counted_too,
    exactness::the_queue_of_kernel_tcp_follows_the_threshold,
    links::a_frame_longer_than_a_hosts_mtu_stops_no_port,
    links::a_link_that_goes_down_and_comes_back_is_used_again,
    links::a_link_that_was_down_for_a_moment_costs_no_frame_later,
    links::a_tap_interface_that_is_removed_is_left_alone_and_used_again,
    links::an_interface_that_is_made_again_is_used_again,
    links::an_interface_that_was_elsewhere_for_a_moment_is_used_again,
    links::tap_interfaces_are_ports_too,
    links::an_interface_of_another_switch_is_refused_until_that_one_ends,
    links::interfaces_that_cannot_be_ports_are_refused,
    offloads::checksums_that_hosts_leave_to_hardware_are_finished_on_request,
    offloads::service_tags_pass_besides_the_longest_packet,
    privilege::without_privilege_every_test_is_skipped_by_name,
    privilege::without_privilege_the_error_names_it,
    reload::thresholds_change_under_load_and_no_packet_is_lost,
    testbed::a_congestion_control_that_the_kernel_lacks_is_named,
    testbed::a_plan_is_carried_out_and_all_marks_arrive,
    testbed::a_run_that_is_interrupted_ends_and_leaves_nothing,
    wireshark::frames_leave_whole_and_wireshark_reads_their_marks,
];

fn main() -> ExitCode {
    let refused = Namespace::new().err().filter(Error::is_privilege);
    let reason = refused.map(|error| error.to_string());
    suite::run(TESTS, move |_| reason.clone())
}
