//! The scenario files of this repository and of its guide: their link loads, and that any TOML 1.0
//! reader can read them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use tidegate_harness::allocation::{Counting, most_bytes};
use tidegate_scenario::{Experiment, Scenario};
use tidegate_study::read_scenario;

#[global_allocator]
static COUNTING: Counting = Counting;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All scenario files, by their path.
fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join("scenarios")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "toml")
                // Files with settings of a whole paper are not scenarios.
                && path.file_name().is_none_or(|name| name != "paper.toml")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The scenarios of the guide: every block of TOML that has a name.
fn guide() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("docs/guide")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else {
            continue; // a picture
        };
        let blocks = text.split("```toml\n").skip(1);
        let blocks = blocks.filter_map(|block| block.split("```").next());
        for block in blocks.filter(|block| block.starts_with("name = ")) {
            found.push((path.display().to_string(), block.to_owned()));
        }
    }
    found
}

/// The first runs of some points of a scenario, the last ones among them; none if it
/// sends nothing, as a part of others does.
fn points(path: &Path) -> Vec<Experiment> {
    let scenario = read_scenario(path, &[]);
    let mut scenario = scenario.unwrap_or_else(|problem| panic!("{problem}"));
    let left = Cell::new(scenario.points());
    // Schemes have the same flows, and loads rise.
    scenario.keep(|_| {
        left.set(left.get() - 1);
        left.get() < 3 || left.get().is_multiple_of(5)
    });
    match scenario.plan() {
        Ok(plan) => plan.into_iter().filter(|run| run.replication == 0).collect(),
        Err(problem) => {
            let message = problem.message();
            assert!(message.starts_with("the scenario sends nothing"), "{problem}");
            Vec::new()
        }
    }
}

/// Files with intended overload, and the reason.
const ON_PURPOSE: [(&str, &str); 1] = [(
    "live/messages.toml",
    "four senders wait for one cable, which the comparison of both worlds was made with",
)];

/// The highest load that a published figure may have: chance gives a few flows more than their
/// mean.
const MOST: f64 = 1.1;

#[test]
fn no_scenario_offers_a_link_more_than_it_carries_without_saying_so() {
    let scenarios = root().join("scenarios");
    for path in files() {
        let name = path.strip_prefix(&scenarios).unwrap().display().to_string();
        let on_purpose = ON_PURPOSE.iter().any(|(file, _)| *file == name);
        let is_published = path.parent() != Some(&scenarios);
        let mut is_full = false;
        for run in points(&path) {
            let Some((_, load)) = run.outline.offered.overload() else {
                continue;
            };
            is_full |= load > MOST;
            assert!(on_purpose || (is_published && load <= MOST), "{name}, {}: {load}", run.label);
        }
        assert_eq!(is_full, on_purpose, "{name}: the list of this test is wrong");
    }
}

#[test]
fn the_scenarios_of_the_guide_run_without_a_warning() {
    let found = guide();
    assert!(!found.is_empty());
    for (file, text) in found {
        let scenario = Scenario::parse(&file, &text, &[]);
        let plan = scenario.and_then(|scenario| scenario.plan());
        for run in plan.unwrap_or_else(|problem| panic!("{problem}")) {
            assert!(run.outline.warnings.is_empty(), "{:?}", run.outline.warnings);
            let (link, load) = run.outline.busiest.clone().unwrap();
            assert!((0.3..0.9).contains(&load), "{file}, {link}: {load}");
        }
    }
}

#[test]
fn keys_set_in_the_documents_exist() {
    let (_, rack) = guide().into_iter().find(|(_, text)| text.contains("\"rack\"")).unwrap();
    let mut commands = 0;
    for file in ["README.md", "docs/guide/first-run.md", "docs/guide/your-network.md"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let lines = text.lines().map(str::trim);
        for line in lines.filter(|line| line.starts_with("tidegate ") && line.contains(" --set ")) {
            // Neither the commands nor their values have spaces in quotes, but for whole tables.
            let sets = line.split(" --set ").skip(1);
            let set = |text: &str| match text.strip_prefix('\'') {
                Some(quoted) => quoted.split('\'').next().unwrap().to_owned(),
                None => text.split(' ').next().unwrap().to_owned(),
            };
            let sets: Vec<String> = sets.map(set).collect();
            let scenario = if line.contains("rack.toml") {
                Scenario::parse("rack.toml", &rack, &sets)
            } else {
                let named = line.split(' ').nth(2).unwrap();
                read_scenario(&root().join(named), &sets)
            };
            let plan = scenario.and_then(|scenario| scenario.plan());
            plan.unwrap_or_else(|problem| panic!("{file}: {line}\n{problem}"));
            commands += 1;
        }
    }
    assert!(commands >= 3, "{commands} commands");
}

/// The line of the first inline table that TOML 1.0 does not allow: one with a line break outside
/// of its values, or a comma before its end.
fn line_of_bad_table(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let line = text[..text.len() - rest.len()].matches('\n').count() + 1;
        let is_inline = open.last() == Some(&'{');
        let end = match c {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => string_length(rest, c),
            _ => c.len_utf8(),
        };
        match c {
            '[' | '{' => open.push(c),
            '\n' if is_inline => return Some(line),
            '}' if before == ',' => return Some(line),
            ']' | '}' => _ = open.pop(),
            _ => {}
        }
        if !c.is_whitespace() {
            before = c;
        }
        rest = &rest[end..];
    }
    None
}

/// The length of the string that a text begins with, quotes included.
fn string_length(text: &str, quote: char) -> usize {
    let triple = quote.to_string().repeat(3);
    if let Some(rest) = text.strip_prefix(&triple) {
        return 6 + rest.find(&triple).unwrap_or(rest.len() - 3);
    }
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if quote == '"' => is_escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[test]
fn scenario_files_are_toml_1_0() {
    for (text, line) in [
        ("a = { b = 1 }\n", None),
        ("a = { b = [\n1,\n] }\n", None),
        ("a = { b = \"{\" } # {\n", None),
        ("a = 1\nb = {\n c = 1 }\n", Some(2)),
        ("a = { b = 1, }\n", Some(1)),
        ("a = { b = 'x\\' }\nc = 1\n", None),
    ] {
        assert_eq!(line_of_bad_table(text), line, "{text}");
    }
    for path in files() {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(line_of_bad_table(&text), None, "{}", path.display());
    }
}

#[test]
fn reading_a_flow_list_takes_at_most_200_bytes_a_row() {
    const ROWS: usize = 130_000;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("flow-list");
    fs::create_dir_all(&folder).unwrap();
    let rows = (0..ROWS).map(|row| format!("{row},{row}e-6,{},9,1000\n", row % 9));
    fs::write(folder.join("flows.csv"), rows.collect::<String>()).unwrap();
    let path = folder.join("list.toml");
    let text = "[topology]\nkind = \"star\"\nhosts = 10\n[[traffic]]\nkind = \"list\"\nfile = \"flows.csv\"\n";
    fs::write(&path, text).unwrap();
    let (plan, most) = most_bytes(|| read_scenario(&path, &[]).unwrap().plan().unwrap());
    assert_eq!(plan[0].outline.offered.flows, ROWS as u64);
    assert!(most <= 200 * ROWS, "{} bytes a row", most / ROWS);
    fs::remove_dir_all(&folder).unwrap();
}
