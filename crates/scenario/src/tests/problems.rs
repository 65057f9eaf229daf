//! What is said of scenarios that cannot be.

use super::*;

#[test]
fn problems_are_shown_with_file_line_caret_and_advice() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/problems.txt");
    let before = std::fs::read_to_string(&path).unwrap();
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
    if std::env::var_os("TIDEGATE_WRITE_REFERENCE").is_some() {
        std::fs::write(&path, after).unwrap();
        return;
    }
    for (line, (before, after)) in (1..).zip(before.lines().zip(after.lines())) {
        assert_eq!(before, after, "line {line} of problems.txt");
    }
    assert_eq!(before, after);
}

#[test]
fn what_is_too_deep_for_the_stack_is_refused() {
    // The parser takes 80 tables in each other, and 80 words in each key.
    let key = ["a"; 79].join(".");
    let (begin, end) = (format!("{key} = {{ "), " }");
    let deep = [begin.repeat(70).as_str(), "b = 1", end.repeat(70).as_str()].concat();
    let said = Scenario::parse("case.toml", &deep, &[]).unwrap_err();
    assert!(said.to_string().contains("more than 64 deep"), "{said}");
    let far = [vec!["a"; 100_000].join("."), "=1".to_owned()].concat();
    let said = Scenario::parse("case.toml", "", &[far]).unwrap_err();
    assert!(said.to_string().contains("more than 64 words"), "{said}");
}
