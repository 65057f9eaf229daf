//! The commands for real packets, as users call them: real namespaces, real frames.
//!
//! Needs root, and `ip` of the package iproute2. Without the privilege each test is reported as
//! skipped, by name; any other obstacle fails it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod switch;
mod testbed;

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::Duration;

use tidegate_harness::{suite, tests};
use tidegate_live::Error;
use tidegate_live::namespace::Namespace;

const TESTS: &[suite::Test] = tests![
    switch::switch_ends_even_if_its_results_are_not_read,
    switch::switch_names_the_missing_privilege,
    switch::pipe_as_a_file_and_unread_messages_do_not_stop_the_switch,
    switch::root_that_cannot_change_its_user_runs_without_capabilities,
    switch::switch_runs_reloads_is_monitored_and_ends,
    switch::privileges_of_a_switch_can_be_chosen,
    testbed::a_scenario_runs_on_real_packets_and_leaves_a_report,
    testbed::testbed_starts_is_found_again_and_is_removed,
    testbed::interrupted_start_of_a_testbed_leaves_nothing,
    testbed::twin_compares_live_and_simulated,
    testbed::starting_a_testbed_removes_nothing_foreign,
    testbed::unsupported_scenarios_are_refused_with_a_hint,
];

fn main() -> ExitCode {
    let refused = Namespace::new().err().filter(Error::is_privilege);
    let reason = refused.map(|error| error.to_string());
    let obstacle = |name: &str| match name {
        _ if name.contains("comes_up") => testbed::obstacle(),
        _ if name.contains("become_nobody_else") => switch::obstacle(),
        _ => None,
    };
    suite::run(TESTS, move |name| reason.clone().or_else(|| obstacle(name)))
}

/// The program.
fn tidegate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(arguments).env("NO_COLOR", "1");
    command
}

/// Sends a signal to a process.
fn signal(name: &str, process: u32) {
    let command = format!("kill -{name} {process}");
    let status = Command::new("sh").args(["-c", &command]).status();
    assert!(status.unwrap().success());
}

/// Sends packets from one namespace to an address in another until one arrives.
fn reaches(from: &Namespace, to: &Namespace, address: &str) -> bool {
    let receiver = to.run(|| UdpSocket::bind((address, 9))).unwrap().unwrap();
    let timeout = Duration::from_millis(200);
    receiver.set_read_timeout(Some(timeout)).unwrap();
    let sender = from.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    suite::wait_until(|| {
        let _ = sender.send_to(b"hello", (address, 9));
        receiver.recv(&mut [0; 16]).is_ok()
    })
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder that is removed with this value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self::below(env!("CARGO_TARGET_TMPDIR").as_ref(), name)
    }

    /// A folder that other users can read.
    fn for_everybody(name: &str) -> Self {
        Self::below(&std::env::temp_dir(), name)
    }

    fn below(parent: &Path, name: &str) -> Self {
        let path = parent.join(format!("tidegate-live-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
