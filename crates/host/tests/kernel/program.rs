//! `tidegate-host` as users run it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Folder of the tests' links, in a private BPF file system.
pub(crate) const PINS: &str = "/run/tidegate";

/// Mounts it.
pub(crate) fn mount_pins() {
    for (kind, place) in [("tmpfs", "/run"), ("bpf", PINS)] {
        std::fs::create_dir_all(place).unwrap();
        let mounted = Command::new("mount").args(["-t", kind, kind, place]).status();
        assert!(mounted.unwrap().success(), "{kind} at {place}");
    }
}

/// The folder of links.
pub(crate) fn pins() -> PathBuf {
    Path::new(PINS).join("links")
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate-host"));
    command.args(arguments);
    if arguments[0] != "watch" {
        command.arg("--pins").arg(pins());
    }
    command.stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// Output of a command, which must succeed.
pub(crate) fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Error of a command, which must be refused with exit code 2, in one sentence and a hint.
pub(crate) fn refused(mut command: Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{command:?}: {errors}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "{command:?}");
    assert!(errors.starts_with("error: "), "{errors}");
    errors
}

/// An algorithm that is loaded as long as this value lives.
pub(crate) struct Loaded(&'static str);

impl Loaded {
    pub(crate) fn new(name: &'static str, settings: &[&str]) -> Self {
        let mut arguments = vec!["load", "--quiet", name];
        for setting in settings {
            arguments.extend(["--set", setting]);
        }
        succeed(&arguments);
        Self(name)
    }

    /// Its entry in `status`.
    pub(crate) fn status(&self) -> Value {
        status(self.0).unwrap()
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        run(&["unload", "--quiet", "--force", self.0]);
    }
}

/// Entry of an algorithm in `status`, if it is loaded. One that was unloaded may still have
/// connections that end by themselves.
pub(crate) fn status(name: &str) -> Option<Value> {
    let all: Value = serde_json::from_str(&succeed(&["status", "--json"])).unwrap();
    let all = all.as_array().unwrap().iter();
    all.into_iter().find(|one| one["name"] == name && one["holder"] != "connections").cloned()
}
