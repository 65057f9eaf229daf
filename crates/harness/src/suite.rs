//! Tests that need something the machine may not give, such as a privilege, one after the other.
//! The standard runner knows no test that finds out that it cannot run: it would have to pass.
//!
//! A target with such tests has `harness = false`, and a `main` that calls [`run`].

#![expect(clippy::disallowed_methods, reason = "a test that hangs is found by the clock alone")]

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Completion, Trial};

/// A test and its name.
pub type Test = (&'static str, fn());

/// A list of [`Test`]s from their paths, each of a module and a function.
#[macro_export]
macro_rules! tests {
    ($($module:ident :: $name:ident),+ $(,)?) => {
        &[$((stringify!($name), $module::$name as fn())),+]
    };
}

/// The ceiling of one test: far beyond any machine that works on it, so that it ends only what
/// hangs.
pub const CEILING: Duration = Duration::from_secs(30 * 60);

/// How often the test that runs is looked at.
const TICK: Duration = Duration::from_secs(1);

/// The test that runs, and since when.
static RUNNING: Mutex<Option<(&'static str, Instant)>> = Mutex::new(None);

fn set_running(name: Option<&'static str>) {
    let running = name.map(|name| (name, Instant::now()));
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = running;
}

/// The test that takes longer than the ceiling, if one does.
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

/// Runs the tests that the command line asks for, as the standard runner would. A test for which
/// `obstacle` has a reason is reported as ignored, with its name and the first line of the reason.
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
    fn a_test_has_a_ceiling_and_a_suite_has_none() {
        let began = Instant::now();
        assert_eq!(overdue(None, began + 9 * CEILING), None);
        assert_eq!(overdue(Some(("a", began)), began + CEILING), None);
        let late = began + CEILING + Duration::from_secs(1);
        assert_eq!(overdue(Some(("a", began)), late), Some("a"));
        // A test that began late has all of its time.
        assert_eq!(overdue(Some(("b", late)), late + CEILING), None);
    }
}
