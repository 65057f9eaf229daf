//! A folder with a server in it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tidegate_harness::browser::Browser;
use tidegate_harness::folder::files;

/// Folder of a test, with a browser.
pub(super) struct Room {
    pub(super) path: PathBuf,
    pub(super) browser: Browser,
}

/// A server that ends with the test.
pub(super) struct Server {
    process: Child,
    pub(super) address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Two points with some seeds, and enough flows to take a while.
pub(super) fn sweep(name: &str, seeds: u32, flows: u32) -> String {
    format!(
        r#"name = "{name}"
title = "Two schemes on a star"
runs = {seeds}

[topology]
kind = "star"
hosts = 4

[switch]
buffer = {{ kind = "per-port", limit = "30KB" }}

[transport]
profile = "tcn-sim"
rule = {{ kind = "dctcp" }}

[[traffic]]
kind = "poisson"
from = "0-2"
to = "3"
load = 0.7
sizes = "web-search"
flows = {flows}

[sweep]
"switch.marking" = [{{ kind = "tcn", threshold = "20us" }}, {{ kind = "none" }}]
"#
    )
}

impl Room {
    pub(super) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("serve-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let browser = Browser::start();
        Self { path, browser }
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.path.join(name), text).unwrap();
    }

    /// The program in this folder, with arguments separated by spaces.
    pub(super) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command
            .args(line.split(' '))
            .current_dir(&self.path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    pub(super) fn run(&self, line: &str) {
        assert!(self.command(line).status().unwrap().success(), "{line}");
    }

    pub(super) fn serve(&self, more: &str) -> Server {
        let line = format!("serve --port 0 --quiet{more}");
        let mut command = self.command(&line);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut address).unwrap();
        Server { process, address: address.trim().to_owned() }
    }

    /// All files of a results folder except the log, whose times differ.
    pub(super) fn results(&self, folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
        files(&self.path.join(folder), "log.jsonl")
    }

    /// Path of a screenshot for visual checks.
    pub(super) fn picture(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.png"))
    }
}
