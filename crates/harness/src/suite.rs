//! Tests that need something the machine may not give, such as a privilege, one after the other. The
//! standard runner knows no test that finds out that it cannot run: it would have to pass.
//!
//! A target with such tests has `harness = false`, and a `main` that calls [`run`].

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

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

/// Whatever hangs, a suite ends by then.
const LIMIT: Duration = Duration::from_secs(300);

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
            test();
            Ok(Completion::Completed)
        })
    });
    thread::spawn(|| {
        thread::park_timeout(LIMIT);
        eprintln!("the tests took longer than {LIMIT:?}");
        std::process::exit(1);
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
