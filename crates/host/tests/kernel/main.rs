//! The algorithms in this machine's kernel: loaded, used between namespaces, compared with the
//! rules of `tidegate-transport`, removed.
//!
//! Needs root and a kernel with BTF. Without the privilege, or while a user of this machine has one
//! of the algorithms loaded, each test is reported as skipped, by name. Everything happens in a
//! mount namespace of its own, whose BPF file system goes away with this process, and all that was
//! loaded with it.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail as the test would")]

mod bad_input;
mod bed;
mod echo;
mod life;
mod negotiation;
mod program;
mod rules;
mod testbed;
mod traces;

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::fs::{FlockOperation, flock};
use tidegate_harness::{suite, tests};
use tidegate_host::algorithm::Algorithm;
use tidegate_host::args::TYPES;
use tidegate_host::{kernel, machine};

const TESTS: &[suite::Test] = tests![
    bad_input::a_bad_name_or_parameter_is_one_sentence_and_exit_2,
    bad_input::a_kernel_without_types_or_struct_ops_is_named,
    bad_input::a_second_load_is_refused_and_the_first_stays,
    bad_input::an_unprivileged_user_is_refused,
    bad_input::without_a_bpf_file_system_the_mount_is_named,
    bad_input::without_privilege_every_test_is_skipped_by_name,
    echo::a_segment_with_cwr_waits_for_its_ack_as_the_variant_has_it,
    echo::each_ack_echoes_the_last_segment_that_it_acknowledges,
    life::a_dry_run_changes_nothing,
    life::a_reader_that_leaves_ends_the_watch_and_its_samples,
    life::steps_of_an_earlier_time_are_not_shown,
    life::connections_out_of_reach_are_counted_and_warned_of,
    life::a_load_that_is_killed_leaves_nothing_or_is_cleaned_up,
    life::in_the_foreground_it_goes_with_the_process,
    life::parameters_are_read_back_from_the_kernel,
    life::ten_thousand_connections_leave_nothing_behind,
    life::under_traffic_unload_waits_or_forces_and_no_connection_is_lost,
    life::watch_shows_connections_as_json_and_for_prometheus,
    negotiation::one_sided_algorithms_negotiate_with_a_stock_peer,
    negotiation::tg_dctcp_is_refused_by_a_stock_listener_and_is_reno_then,
    rules::dctcp_is_the_rule_of_transport_step_by_step,
    rules::ecn_star_is_the_rule_of_transport_step_by_step,
    rules::odctcp_is_the_rule_of_transport_step_by_step,
    testbed::scenarios_on_real_packets_run_with_each_algorithm,
    traces::dctcp_in_the_kernel_follows_transport_ack_by_ack,
    traces::ecn_star_in_the_kernel_follows_transport_ack_by_ack,
    traces::odctcp_in_the_kernel_follows_transport_ack_by_ack,
    traces::odctcp_in_the_kernel_starts_over_after_an_idle_time,
    traces::a_window_stays_within_the_limit_of_the_route,
];

/// Set in the process that has a mount namespace of its own.
const INSIDE: &str = "TIDEGATE_TESTS_INSIDE";

fn main() -> ExitCode {
    kernel::silence();
    if let Some(reason) = missing() {
        return suite::run(TESTS, move |_| Some(reason.clone()));
    }
    if std::env::var_os(INSIDE).is_none() {
        return enter();
    }
    let _lock = lock();
    let taken = taken();
    program::mount_pins();
    suite::run(TESTS, move |_| taken.clone())
}

/// Requirements that the machine lacks.
fn missing() -> Option<String> {
    let checked = machine::check_privileges(machine::TO_LOAD)
        .and_then(|()| machine::check_privileges(machine::TO_REMOVE))
        .and_then(|()| machine::check_kernel(Path::new(TYPES)));
    checked.err().map(|error| error.to_string())
}

/// The kernel has each name once, so concurrent runs of these tests wait for each other.
fn lock() -> File {
    let path = std::env::temp_dir().join("tidegate-host-tests.lock");
    let file = File::create(path).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    file
}

/// A user of this machine has one of the algorithms.
fn taken() -> Option<String> {
    let available = machine::available();
    let is_there = |name: &&&str| available.iter().any(|there| there == **name);
    let taken = Algorithm::NAMES.iter().find(is_there);
    taken.map(|name| format!("{name} is loaded on this machine"))
}

/// Runs these tests again, in a mount namespace of their own.
fn enter() -> ExitCode {
    let own = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]).arg(own);
    let error = command.args(std::env::args_os().skip(1)).env(INSIDE, "1").exec();
    eprintln!("unshare of util-linux cannot be run: {error}");
    ExitCode::FAILURE
}
