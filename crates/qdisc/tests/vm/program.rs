//! `tidegate-qdisc` as users run it.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::machine::TESTED;

pub(crate) fn command(words: &str) -> Command {
    let mut command = Command::new(TESTED);
    command.args(words.split_ascii_whitespace()).stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub(crate) fn run(words: &str) -> Output {
    command(words).output().unwrap()
}

/// Output of a command, which must succeed.
pub(crate) fn succeed(words: &str) -> String {
    let output = run(words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// A device that is loaded as long as this value lives.
pub(crate) struct Loaded(&'static str);

impl Loaded {
    pub(crate) fn new(device: &'static str, words: &str) -> Self {
        succeed(&format!("load {device} {words}"));
        Self(device)
    }

    /// A device that a command has loaded.
    pub(crate) const fn of(device: &'static str) -> Self {
        Self(device)
    }

    /// Its entry in `status`.
    pub(crate) fn status(&self) -> Value {
        let all: Value = serde_json::from_str(&succeed("status --json")).unwrap();
        let all = all.as_array().unwrap().iter();
        all.into_iter().find(|one| one["device"] == self.0).unwrap().clone()
    }

    /// Unloads it. Returns its last counters.
    pub(crate) fn unload(self) -> Value {
        let text = succeed(&format!("unload --json {}", self.0));
        std::mem::forget(self);
        let mut all: Value = serde_json::from_str(&text).unwrap();
        all[0]["counters"].take()
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        run(&format!("unload --quiet {}", self.0));
    }
}
