//! Follows the guide's pages about additions on a copy of the repository: creates their files,
//! inserts their lines, runs their tests, and finds the results in the program: listed, explained,
//! run in a scenario, and the scheme read for a live switch.

#![expect(clippy::unwrap_used, reason = "a failing step fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders that the copy leaves out: builds, results, and hidden folders.
const LEFT_OUT: [&str; 3] = ["fuzz", "target", "tidegate-results"];

/// Pages that are followed, all on one copy, so that it is built once.
const PAGES: [&str; 7] = [
    "add-a-scheme.md",
    "add-a-congestion-control.md",
    "add-a-transport.md",
    "add-a-topology.md",
    "add-a-workload.md",
    "add-a-section.md",
    "add-a-dialect.md",
];

#[test]
fn additions_work_as_the_guide_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = root.join("docs/guide");
    let pages = PAGES.map(|page| fs::read_to_string(guide.join(page)).unwrap());
    let copy = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("guide");
    if copy.exists() {
        fs::remove_dir_all(&copy).unwrap();
    }
    copy_folder(&root, &copy);

    let steps = pages.iter().flat_map(|page| {
        let steps = steps(page);
        assert!(steps.len() >= 5, "the guide has lost steps: {steps:?}");
        steps
    });
    let (runs, edits): (Vec<_>, Vec<_>) = steps.partition(Step::is_run);
    for step in edits.iter().chain(&runs) {
        step.take(&copy);
    }
    fs::remove_dir_all(&copy).unwrap();
}

/// A code block of the guide, with the instruction in the comment before it.
#[derive(Debug)]
struct Step<'a> {
    instruction: &'a str,
    code: String,
}

/// Blocks with an instruction.
fn steps(guide: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        let Some(instruction) =
            line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"))
        else {
            continue;
        };
        let fence = lines.next().unwrap_or_default();
        assert!(fence.starts_with("```"), "no code after `{instruction}`");
        let code: Vec<&str> = lines.by_ref().take_while(|&line| line != "```").collect();
        steps.push(Step { instruction, code: code.join("\n") + "\n" });
    }
    steps
}

impl Step<'_> {
    fn is_run(&self) -> bool {
        self.instruction.starts_with("run")
    }

    fn take(&self, root: &Path) {
        if let Some(path) = self.instruction.strip_prefix("create ") {
            let path = root.join(path);
            assert!(!path.exists(), "{} exists", path.display());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &self.code).unwrap();
        } else if let Some(place) = self.instruction.strip_prefix("insert into ") {
            let (path, anchor) = place.split_once(" before ").unwrap();
            let anchor = anchor.trim_matches('"').replace("\\\"", "\"");
            let text = fs::read_to_string(root.join(path)).unwrap();
            assert_eq!(text.matches(&anchor).count(), 1, "`{anchor}` in {path}");
            let text = text.replace(&anchor, &format!("{}{anchor}", self.code));
            fs::write(root.join(path), text).unwrap();
        } else if let Some(what) = self.instruction.strip_prefix("run") {
            let outcome = Outcome::read(what.trim());
            self.code.lines().for_each(|command| run(command, root, outcome));
        } else {
            panic!("the test cannot do `{}`", self.instruction);
        }
    }
}

/// Expected outcome of a command.
#[derive(Clone, Copy, Debug)]
enum Outcome<'a> {
    /// Tests pass.
    Tests,
    /// The output contains this word.
    Finds(&'a str),
    /// The command fails, with an error about this word.
    FailsAt(&'a str),
}

impl<'a> Outcome<'a> {
    fn read(text: &'a str) -> Self {
        let word = text.split('"').nth(1).unwrap_or_default();
        match text.split('"').next().unwrap_or_default() {
            "" => Self::Tests,
            "and find " => Self::Finds(word),
            "and fail at " => Self::FailsAt(word),
            _ => panic!("the test cannot `run {text}`"),
        }
    }
}

/// Runs a command of the guide. Its build has a target folder of its own: in the tests' folder it
/// would replace their programs.
fn run(command: &str, root: &Path, outcome: Outcome<'_>) {
    let mut words = command.split_whitespace();
    let ours = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = ours.join("guide-target");
    let output = Command::new(words.next().unwrap())
        .args(words)
        .current_dir(root)
        .env("CARGO_TARGET_DIR", target)
        // Libraries from elsewhere are already built; a cargo before 1.91 builds them again.
        .env("CARGO_BUILD_BUILD_DIR", ours.parent().unwrap())
        .env("CARGO_NET_OFFLINE", "true")
        // Optimization is not worthwhile for a few quick tests.
        .env("CARGO_PROFILE_TEST_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_TEST_DEBUG", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    let said = said.concat();
    let fails = matches!(outcome, Outcome::FailsAt(_));
    assert_eq!(!output.status.success(), fails, "`{command}`:\n{said}");
    match outcome {
        Outcome::Tests => assert!(!said.contains("running 0 tests"), "`{command}`:\n{said}"),
        Outcome::Finds(word) => assert!(said.contains(word), "`{command}`:\n{said}"),
        Outcome::FailsAt(word) => {
            // The error is about something other than the file.
            let is_read = said.contains(word) && !said.contains("standing.toml:");
            assert!(is_read, "`{command}`:\n{said}");
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let is_hidden = name.to_string_lossy().starts_with('.');
        let is_left_out = LEFT_OUT.iter().any(|left_out| *left_out == name);
        let target = to.join(&name);
        if is_hidden || is_left_out {
            continue;
        }
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy_folder(&entry.path(), &target);
        } else if kind.is_symlink() {
            let place = fs::read_link(entry.path()).unwrap();
            std::os::unix::fs::symlink(place, target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
