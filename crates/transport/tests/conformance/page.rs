//! The page `docs/conformance.md`: which rule each subject keeps.

use std::fmt::Write;

use crate::script::{Case, Side, Verdict};
use crate::subject::subjects;
use crate::suite::Suite;

/// The page for all cases of `suite`.
pub(crate) fn render(suite: &Suite) -> String {
    let mut page = String::from(HEAD);
    for (side, title, about) in SIDES {
        let cases: Vec<&Case> = suite
            .cases
            .iter()
            .map(|(_, case)| case)
            .filter(|case| case.side == side)
            .collect();
        if cases.is_empty() {
            continue;
        }
        section(&mut page, title, about, &cases, &subjects(side))
            .expect("writing to a string succeeds");
    }
    page
}

const HEAD: &str = "\
# Conformance

<!-- Written by the suite from testdata/conformance; see the end. Do not edit. -->

Which rule of which document each transport keeps (✓) or breaks on purpose (✗, reasons below each
table). A dot means that the rule is not for it. Every mark is the result of a scripted exchange,
run twice, once with sequence numbers that wrap: a ✓ went exactly as the script says, a ✗ did not.

The scripts are in `testdata/conformance`. To check this page, and to write it anew:

```sh
cargo test -p tidegate-transport --test conformance
cargo test -p tidegate-transport --test conformance -- --ignored write_the_page
```
";

const SIDES: [(Side, &str, &str); 3] = [
    (
        Side::Sender,
        "Senders",
        "Window rules and DCTCP profiles, in a stack with the defaults of the RFCs.",
    ),
    (
        Side::Receiver,
        "Receivers",
        "Echo rules, in a stack with the defaults of the RFCs.",
    ),
    (
        Side::Stack,
        "Stacks",
        "The settings of the published experiments around the window.",
    ),
];

fn section(
    page: &mut String,
    title: &str,
    about: &str,
    cases: &[&Case],
    subjects: &[String],
) -> std::fmt::Result {
    writeln!(page, "\n## {title}\n\n{about}\n")?;
    write!(page, "| rule | source |")?;
    for subject in subjects {
        write!(page, " `{subject}` |")?;
    }
    writeln!(page, "\n|---|---|{}", ":-:|".repeat(subjects.len()))?;
    for case in cases {
        write!(page, "| {} | {} |", case.name, case.source)?;
        for subject in subjects {
            let mark = match case.verdict(subject) {
                Verdict::Breaks(_) => "✗",
                Verdict::Keeps => "✓",
                Verdict::NotAsked => "·",
            };
            write!(page, " {mark} |")?;
        }
        writeln!(page)?;
    }
    reasons(page, cases)
}

fn reasons(page: &mut String, cases: &[&Case]) -> std::fmt::Result {
    let explained = |case: &&&Case| !case.breaks.is_empty() || case.scope.is_some();
    for (index, case) in cases.iter().filter(explained).enumerate() {
        if index == 0 {
            writeln!(page, "\nWhy:\n")?;
        }
        write!(page, "- **{}.**", case.name)?;
        for (subject, why) in &case.breaks {
            write!(page, " ✗ `{subject}`: {why}.")?;
        }
        if let Some(scope) = &case.scope {
            write!(page, " · {scope}.")?;
        }
        writeln!(page)?;
    }
    Ok(())
}
