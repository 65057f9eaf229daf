//! Runs the program and compares its output.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tidegate_harness::folder::files;
use tidegate_harness::golden;

/// A folder for one test, with a scenario or two in it.
pub(crate) struct Room(PathBuf);

/// A scenario that takes a moment: two schemes, two seeds, a hundred small flows each.
pub(crate) const TINY: &str = r#"name = "tiny"
title = "Two schemes on a star"
runs = 2

[topology]
kind = "star"
hosts = 4

[switch]
buffer = { kind = "per-port", limit = "30KB" }

[transport]
profile = "tcn-sim"
rule = { kind = "dctcp" }

[[traffic]]
kind = "poisson"
from = "0-2"
to = "3"
load = 0.7
sizes = "web-search"
flows = 100

[sweep]
"switch.marking" = [{ kind = "tcn", threshold = "20us" }, { kind = "none" }]
"#;

impl Room {
    /// An empty folder.
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A folder with the tiny scenario.
    pub(crate) fn with_tiny(name: &str) -> Self {
        let room = Self::new(name);
        room.write("tiny.toml", TINY);
        room
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    /// The program in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(arguments).current_dir(&self.0).env_remove("NO_COLOR");
        command
    }

    /// Runs the program with these words, cut at spaces.
    pub(crate) fn run(&self, line: &str) -> Said {
        let words = line.split(' ').collect::<Vec<_>>();
        Said::new(line, &self.command(&words).output().unwrap())
    }

    /// Runs the program with these words until it is so far, and interrupts it then as Ctrl-C does.
    pub(crate) fn interrupted(&self, line: &str, is_so_far: impl Fn() -> bool) -> Said {
        let words = line.split(' ').collect::<Vec<_>>();
        let mut child =
            self.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !is_so_far() && child.try_wait().unwrap().is_none() {
            #[expect(clippy::disallowed_methods, reason = "waits for another program")]
            std::thread::sleep(Duration::from_millis(2));
        }
        // A shell has a `kill` of its own.
        let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
        assert!(kill.unwrap().success(), "`{line}` was over too soon");
        Said::new(line, &child.wait_with_output().unwrap())
    }

    /// All files of a results folder but the log, whose times differ.
    pub(crate) fn results(&self, folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
        files(&self.0.join(folder), "log.jsonl")
    }
}

/// A slow machine makes the program say how far it is.
fn without_progress(stderr: &str) -> String {
    let lines = stderr.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("progress: ")).collect()
}

/// Output and exit code of the program.
pub(crate) struct Said {
    line: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Said {
    pub(crate) fn new(line: &str, output: &Output) -> Self {
        Self {
            line: line.to_owned(),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: without_progress(&String::from_utf8(output.stderr.clone()).unwrap()),
            code: output.status.code(),
        }
    }

    /// Compares all of it with a snapshot.
    #[track_caller]
    pub(crate) fn is(&self, snapshot: &str) {
        let code = self.code.map_or_else(|| "by a signal".to_owned(), |code| code.to_string());
        let found = format!(
            "$ tidegate {}\n--- exit {code}\n--- stdout\n{}--- stderr\n{}",
            self.line, self.stdout, self.stderr
        );
        golden::check(&format!("crates/tidegate/tests/cli/snapshots/{snapshot}.txt"), &found);
    }

    #[track_caller]
    pub(crate) fn ended(&self, code: i32) {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
    }

    /// Checks that standard error contains `text`.
    #[track_caller]
    pub(crate) fn reports(&self, text: &str) {
        assert!(self.stderr.contains(text), "{}", self.stderr);
    }
}
