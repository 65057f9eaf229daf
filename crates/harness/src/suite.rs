//! Tests that need something the machine may lack, such as a privilege, run one after the other.
//! The standard runner does not support a test that finds out that it cannot run: it would have to
//! pass.
//!
//! A target with such tests has `harness = false`, and a `main` that calls [`run`].

#![expect(clippy::disallowed_methods, reason = "only the clock can detect a test that hangs")]

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Completion, Trial};

/// A test and its name.
pub type Test = (&'static str, fn());

/// Creates a list of [`Test`]s from their paths, each of a module and a function.
#[macro_export]
macro_rules! tests {
    ($($module:ident :: $name:ident),+ $(,)?) => {
        &[$((stringify!($name), $module::$name as fn())),+]
    };
}

/// Time limit of one test: far beyond the time on any machine, so that it ends only tests that
/// hang.
pub const CEILING: Duration = Duration::from_secs(30 * 60);

/// Interval between checks of the running test.
const TICK: Duration = Duration::from_secs(1);

/// Waits until a condition holds. Returns whether it did within the time limit of a test.
pub fn wait_until(mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < CEILING {
        if holds() {
            return true;
        }
        thread::park_timeout(Duration::from_millis(10));
    }
    false
}

/// The running test, with its start time.
static RUNNING: Mutex<Option<(&'static str, Instant)>> = Mutex::new(None);

fn set_running(name: Option<&'static str>) {
    let running = name.map(|name| (name, Instant::now()));
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = running;
}

/// The running test, if it exceeds the time limit.
fn overdue(running: Option<(&'static str, Instant)>, now: Instant) -> Option<&'static str> {
    let (name, began) = running?;
    (now.saturating_duration_since(began) > CEILING).then_some(name)
}

/// Ends the process if a test hangs.
fn watch() {
    loop {
        thread::park_timeout(TICK);
        let running = *RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = overdue(running, Instant::now()) {
            eprintln!("{name} takes longer than {CEILING:?}: it hangs");
            std::process::exit(1);
        }
    }
}

/// Runs the tests selected on the command line, like the standard runner. A test for which
/// `obstacle` returns a reason is reported as ignored, with its name and the first line of the
/// reason.
pub fn run(
    tests: &[Test],
    obstacle: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let obstacle = Arc::new(obstacle);
    let trials = tests.iter().map(|&(name, test)| {
        let obstacle = Arc::clone(&obstacle);
        Trial::ignorable_test(name, move || {
            if let Some(reason) = obstacle(name) {
                let reason = reason.lines().next().unwrap_or_default();
                return Ok(Completion::ignored_with(reason));
            }
            set_running(Some(name));
            test();
            set_running(None);
            Ok(Completion::Completed)
        })
    });
    thread::spawn(watch);
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_checked_until_it_holds() {
        let mut checks = 0;
        let holds = || {
            checks += 1;
            checks == 3
        };
        assert!(wait_until(holds));
        assert_eq!(checks, 3);
    }

    #[test]
    fn a_test_has_a_time_limit_and_a_suite_has_none() {
        let began = Instant::now();
        assert_eq!(overdue(None, began + 9 * CEILING), None);
        assert_eq!(overdue(Some(("a", began)), began + CEILING), None);
        let late = began + CEILING + Duration::from_secs(1);
        assert_eq!(overdue(Some(("a", began)), late), Some("a"));
        // A test that starts late has its full time.
        assert_eq!(overdue(Some(("b", late)), late + CEILING), None);
    }
}
