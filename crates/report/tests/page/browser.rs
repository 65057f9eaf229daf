//! The report in a real browser: Debian's `chromium`, headless, which `./test` installs.
//!
//! The page is opened from disk with a test script at its end. The script uses the page like a
//! reader and records the results; the browser then prints the document.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tidegate_report::Page;
use tidegate_results::{Summary, View};

use super::sample;

const STEPS: &str = include_str!("browser.js");
/// The page's number formatter and its test cases.
const WRITER: &str = tidegate_results::format::SCRIPT;
const NUMBERS: &str = include_str!("../../../results/tests/numbers.json");

/// Opens a page, runs the steps and returns their output lines.
fn seen(name: &str, page: &str) -> Vec<String> {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{name}"));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join("report.html");
    // One script runs before all others, to catch every error, and one after everything is drawn.
    let listen = "<script>window.faults = []; \
        addEventListener('error', event => faults.push(event.message)); \
        console.error = console.warn = (...words) => faults.push(words.join(' '));</script>";
    let page = page.replacen("<title>", &format!("{listen}<title>"), 1);
    let steps = format!(
        "<script>{{{WRITER}\nwindow.writes = {{ quantity, three_digits: threeDigits, with_step: withStep }};}}\n\
         const numbers = {NUMBERS};\n{STEPS}</script></body>"
    );
    let page = page.replacen("</body>", &steps, 1);
    fs::write(&file, page).unwrap();
    let text = printed(&mut begun(&dir.join("profile"), (1200, 900)), &file);
    between(&text, "<pre id=\"seen\">", "</pre>").lines().map(str::to_owned).collect()
}

/// The text between two markers.
pub(super) fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let from = text.find(begin).expect("the steps ran to their end") + begin.len();
    let to = from + text[from..].find(end).unwrap();
    &text[from..to]
}

/// A browser with its own profile and a window of this size.
pub(super) fn begun(profile: &Path, (width, height): (u32, u32)) -> Command {
    let mut command = Command::new("chromium");
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--hide-scrollbars",
        ])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--user-data-dir={}", profile.display()));
    command
}

/// The document of a file after all its scripts have run.
pub(super) fn printed(command: &mut Command, file: &Path) -> String {
    let mut address = "file://".to_owned();
    address.push_str(file.to_str().unwrap());
    let output = command
        .arg("--dump-dom")
        .arg(address)
        .output()
        .expect("chromium is installed; on Debian: apt-get install chromium");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn check(name: &str, page: &Page) {
    let seen = seen(name, &page.render());
    let wrong: Vec<&String> = seen.iter().filter(|line| !line.starts_with("ok ")).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen.len() > 20, "{seen:#?}");
}

#[test]
fn charts_are_drawn_and_interactive() {
    let (manifest, records) = sample::sweep(7, &["0.5", "0.8"], 2);
    let summary = Summary::new(&records, Some("queue-red"));
    check(
        "sweep",
        &Page {
            title: "Leaf-spine at two loads",
            manifests: &[manifest],
            records: records.iter().map(View::from).collect(),
            summary: &summary,
        },
    );
}

#[test]
fn a_page_without_swept_number_and_with_hostile_names_works() {
    let (manifest, mut records) = sample::sweep(3, &["0.6"], 2);
    for record in &mut records {
        record.run.label = record.run.label.replace("codel", "</script><b>");
        record.queues[0].port = "\"><img onerror=x>".to_owned();
    }
    let summary = Summary::new(&records, Some("queue-red"));
    check(
        "names",
        &Page {
            title: "</script><script>console.error('run')</script>",
            manifests: &[manifest],
            records: records.iter().map(View::from).collect(),
            summary: &summary,
        },
    );
}
