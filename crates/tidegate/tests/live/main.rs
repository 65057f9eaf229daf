//! The commands about real packets, as a user calls them: real namespaces, real frames.
//!
//! Needs root, and `ip` of the package iproute2. Without the privilege each test is reported as
//! skipped, by name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(
    clippy::print_stdout,
    reason = "this is the program that reports the tests"
)]

mod switch;
mod testbed;

use std::net::UdpSocket;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::thread;
use std::time::Duration;

use tidegate_live::namespace::Namespace;

/// A test and its name.
type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    (
        "a_scenario_runs_on_real_packets_and_leaves_a_report",
        testbed::a_scenario_runs_on_real_packets_and_leaves_a_report,
    ),
    (
        "a_switch_without_privilege_says_which_is_missing",
        switch::a_switch_without_privilege_says_which_is_missing,
    ),
    (
        "a_testbed_comes_up_is_found_again_and_goes_down",
        testbed::a_testbed_comes_up_is_found_again_and_goes_down,
    ),
    (
        "a_twin_compares_both_worlds",
        testbed::a_twin_compares_both_worlds,
    ),
    (
        "the_switch_runs_reloads_is_seen_and_ends",
        switch::the_switch_runs_reloads_is_seen_and_ends,
    ),
    (
        "what_a_testbed_cannot_do_is_refused_with_a_hint",
        testbed::what_a_testbed_cannot_do_is_refused_with_a_hint,
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
    let filters = arguments.iter().filter(|text| !text.starts_with('-'));
    let filters: Vec<&String> = filters.collect();
    let is_wanted = |name: &str| {
        filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
    };
    // Whatever hangs, this ends.
    thread::spawn(|| {
        thread::park_timeout(LIMIT);
        eprintln!("the tests took longer than {LIMIT:?}");
        std::process::exit(1);
    });
    let privilege = Namespace::new().err().map(|error| error.to_string());
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, test) in TESTS.iter().filter(|(name, _)| is_wanted(name)) {
        let taken = || name.contains("comes_up").then(testbed::obstacle).flatten();
        if let Some(obstacle) = privilege.clone().or_else(taken) {
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

/// Sends a packet from one namespace to an address in another until one arrives.
fn reaches(from: &Namespace, to: &Namespace, address: &str) -> bool {
    let receiver = to.run(|| UdpSocket::bind((address, 9))).unwrap().unwrap();
    let patience = Duration::from_millis(200);
    receiver.set_read_timeout(Some(patience)).unwrap();
    let sender = from.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    (0..50).any(|_| {
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

    /// One that other users can look into, too.
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
