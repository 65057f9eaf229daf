//! Tests that need something the machine may not give, such as a privilege, one after the other. The
//! standard runner knows no test that could not run: it would have to pass.
//!
//! A target with such tests has `harness = false`, and a `main` that calls [`run`].

#![expect(
    clippy::print_stdout,
    reason = "this is the part of the programs that reports the tests"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

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
/// `obstacle` has a reason is reported as skipped, with its name and the first line of the reason.
pub fn run(tests: &[Test], obstacle: impl Fn(&str) -> Option<String>) -> ExitCode {
    let choice = Choice::new(std::env::args().skip(1));
    let chosen = tests.iter().filter(|(name, _)| choice.has(name));
    if choice.is_list {
        for (name, _) in chosen {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    thread::spawn(|| {
        thread::park_timeout(LIMIT);
        eprintln!("the tests took longer than {LIMIT:?}");
        std::process::exit(1);
    });
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, test) in chosen {
        if let Some(reason) = obstacle(name) {
            let reason = reason.lines().next().unwrap_or_default();
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
    let others = tests.len() - passed - failed - skipped;
    println!(
        "\ntest result: {passed} passed; {failed} failed; {skipped} skipped; {others} filtered out"
    );
    ExitCode::from(u8::from(failed > 0))
}

/// What the command line asks for. It may be meant for the standard runner of other targets too.
#[derive(Debug, Default)]
struct Choice {
    wanted: Vec<String>,
    unwanted: Vec<String>,
    is_exact: bool,
    is_list: bool,
    /// Whether only tests are meant that are off by default: there are none here.
    is_ignored_only: bool,
}

impl Choice {
    fn new(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut choice = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--exact" => choice.is_exact = true,
                "--ignored" => choice.is_ignored_only = true,
                "--list" => choice.is_list = true,
                "--skip" => choice.unwanted.extend(arguments.next()),
                // Their values are not names.
                "--color" | "--format" | "--logfile" | "--shuffle-seed" | "--test-threads"
                | "-Z" => drop(arguments.next()),
                option if option.starts_with('-') => {}
                _ => choice.wanted.push(argument),
            }
        }
        choice
    }

    fn has(&self, name: &str) -> bool {
        let fits = |filter: &String| {
            if self.is_exact {
                name == filter
            } else {
                name.contains(filter.as_str())
            }
        };
        !self.is_ignored_only
            && (self.wanted.is_empty() || self.wanted.iter().any(fits))
            && !self.unwanted.iter().any(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_means_what_it_means_to_the_standard_runner() {
        let chosen = |line: &str| {
            let choice = Choice::new(line.split_whitespace().map(str::to_owned));
            let names = ["links", "links_again", "marks"];
            names.into_iter().filter(move |name| choice.has(name))
        };
        let cases: [(&str, &[&str]); 9] = [
            ("", &["links", "links_again", "marks"]),
            ("links", &["links", "links_again"]),
            ("--exact links", &["links"]),
            ("again marks", &["links_again", "marks"]),
            ("--skip links", &["marks"]),
            ("links --skip again", &["links"]),
            (
                "--test-threads 1 --nocapture",
                &["links", "links_again", "marks"],
            ),
            ("--ignored", &[]),
            ("absent", &[]),
        ];
        for (line, expected) in cases {
            assert!(chosen(line).eq(expected.iter().copied()), "{line}");
        }
    }
}
