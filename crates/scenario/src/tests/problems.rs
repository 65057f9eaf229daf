//! Errors of invalid scenarios.

use tidegate_harness::golden;

use super::*;

const FILE: &str = "crates/scenario/testdata/problems.txt";

#[test]
fn problems_are_shown_with_file_line_caret_and_advice() {
    let before = std::fs::read_to_string(golden::path(FILE)).unwrap();
    let (head, cases) = before.split_once("\n=== ").unwrap();
    let mut after = head.to_owned();
    for case in cases.split("\n=== ") {
        let (given, _) = case.split_once("\n>>>").unwrap();
        let (title, given) = given.split_once('\n').unwrap();
        let is_override = |line: &&str| line.starts_with("--set ");
        let overrides: Vec<String> = given
            .lines()
            .filter(is_override)
            .map(|line| line["--set ".len()..].to_owned())
            .collect();
        let lines: Vec<&str> = given.lines().filter(|line| !is_override(line)).collect();
        let result = Scenario::parse("case.toml", &lines.join("\n"), &overrides);
        let said = match result.and_then(|scenario| scenario.plan()) {
            Ok(_) => panic!("{title}: nothing is wrong"),
            Err(problem) => problem.to_string(),
        };
        after += &["\n=== ", title, "\n", given, "\n>>>\n", &said, "\n"].concat();
    }
    golden::check(FILE, &after);
}

#[test]
fn texts_too_deep_for_the_stack_are_refused() {
    // The parser accepts 80 nested tables, and 80 words in each key.
    let key = ["a"; 79].join(".");
    let (begin, end) = (format!("{key} = {{ "), " }");
    let deep = [begin.repeat(70).as_str(), "b = 1", end.repeat(70).as_str()].concat();
    let said = Scenario::parse("case.toml", &deep, &[]).unwrap_err();
    assert!(said.to_string().contains("more than 64 deep"), "{said}");
    let far = [vec!["a"; 100_000].join("."), "=1".to_owned()].concat();
    let said = Scenario::parse("case.toml", "", &[far]).unwrap_err();
    assert!(said.to_string().contains("more than 64 words"), "{said}");
}
