//! The page `docs/conformance.md`: which rule each subject keeps.

use std::fmt::Write;

use crate::bench::play;
use crate::requirements::Document;
use crate::script::{Case, Side, Verdict};
use crate::subject::{is_match, subjects};
use crate::suite::{ORIGINS, Suite};

/// The page for all cases of `suite`, and the requirements of `documents`.
pub(crate) fn render(suite: &Suite, documents: &[Document]) -> String {
    let mut page = String::from(HEAD);
    for (side, title, about) in SIDES {
        let cases: Vec<&Case> =
            suite.cases.iter().map(|(_, case)| case).filter(|case| case.side == side).collect();
        if cases.is_empty() {
            continue;
        }
        section(&mut page, title, about, &cases, &subjects(side))
            .expect("writing to a string succeeds");
    }
    page.push_str(REQUIREMENTS);
    for document in documents {
        document.render(&mut page).expect("writing to a string succeeds");
    }
    page
}

const HEAD: &str = "\
# Conformance

<!-- Written by the suite from testdata/conformance; see the end. Do not edit. -->

The tables show which rule of which document each transport keeps (✓) or breaks on purpose (✗, with
reasons below each table). A dot means that the rule does not apply. Every mark is the result of a
scripted exchange, run twice, once with sequence numbers that wrap: a ✓ went exactly as the script
says, a ✗ did not.

The scripts are in `testdata/conformance`. Check this page, or write it anew:

```sh
cargo test -p tidegate-transport --test conformance
TIDEGATE_BLESS=1 cargo test -p tidegate-transport --test conformance
```
";

const REQUIREMENTS: &str = "
## Line by line

Every MUST and SHOULD for the ends of a connection, the place in the code that keeps it (files of
`crates/transport`), and the scripts above that show it. Italics name exceptions.
";

const SIDES: [(Side, &str, &str); 3] = [
    (
        Side::Sender,
        "Senders",
        "Congestion controls and DCTCP profiles, in a stack with the defaults of the RFCs.",
    ),
    (Side::Receiver, "Receivers", "Echo rules, in a stack with the defaults of the RFCs."),
    (
        Side::Stack,
        "Stacks",
        "Settings of the published experiments, apart from congestion control.",
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
    reasons(page, cases, subjects)
}

/// Each reason is followed by the observed deviation, so that a rule that is broken for another
/// reason than the stated one does not go unnoticed.
fn reasons(page: &mut String, cases: &[&Case], subjects: &[String]) -> std::fmt::Result {
    let explained = |case: &&&Case| !case.breaks.is_empty() || case.scope.is_some();
    for (index, case) in cases.iter().filter(explained).enumerate() {
        if index == 0 {
            writeln!(page, "\nReasons:\n")?;
        }
        writeln!(page, "- **{}**", case.name)?;
        let mut broken: Vec<(String, String)> = Vec::new();
        for (pattern, why) in &case.breaks {
            let reason = format!("{why}. Seen: {}.", seen(case, pattern, subjects));
            match broken.iter_mut().find(|(_, other)| *other == reason) {
                Some((patterns, _)) => write!(patterns, ", `{pattern}`")?,
                None => broken.push((format!("`{pattern}`"), reason)),
            }
        }
        for (patterns, reason) in broken {
            writeln!(page, "  - ✗ {patterns}: {reason}")?;
        }
        if let Some(scope) = &case.scope {
            writeln!(page, "  - · {scope}.")?;
        }
    }
    Ok(())
}

/// The deviations of the subjects that `pattern` names among those that break the rule, each once.
fn seen(case: &Case, pattern: &str, subjects: &[String]) -> String {
    let mut deviations: Vec<String> = Vec::new();
    for subject in subjects {
        let breaks = matches!(case.verdict(subject), Verdict::Breaks(_));
        if !breaks || !is_match(pattern, subject) {
            continue;
        }
        let deviation = match play(case, subject, ORIGINS[0]) {
            Ok(Err(deviation)) => deviation.to_string(),
            Ok(Ok(())) => "no deviation".to_owned(),
            Err(problem) => problem,
        };
        if !deviations.contains(&deviation) {
            deviations.push(deviation);
        }
    }
    deviations.join("; or ")
}
