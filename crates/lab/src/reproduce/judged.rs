//! A figure with its claims judged, and the page of all figures.

use std::fmt::Write;

use serde::Serialize;
use tidegate_report::Record;
use tidegate_report::format;
use tidegate_report::gallery::{Row, Shown};

use super::chart;
use super::figure::Figure;
use super::library::{Entry, Version};
use super::verdict::{CHANGE, Finding, Measured, Verdict, judge};

/// A figure, and what became of its claims.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it shows.
    pub shows: String,
    /// Where it was published.
    pub source: String,
    /// The version that was run.
    pub version: &'static str,
    /// What this version leaves out.
    pub cut: Vec<String>,
    /// How ambiguities were resolved.
    pub assumptions: Vec<String>,
    /// What was found out about claims that do not hold.
    pub findings: Vec<String>,
    /// How many runs it rests on.
    pub runs: usize,
    /// Its claims.
    pub claims: Vec<Finding>,
    /// The command that makes it.
    pub command: String,
}

impl Judged {
    /// Judges the claims of a figure by its records.
    pub fn new(entry: &Entry, version: Version, command: &str, records: &[Record]) -> Self {
        let figure = &entry.figure;
        Self {
            id: figure.id.clone(),
            title: entry.scenario.title.clone(),
            shows: figure.shows.clone(),
            source: figure.source.clone(),
            version: if figure.is_computed {
                "computed"
            } else {
                version.name()
            },
            cut: entry.cut.clone(),
            assumptions: figure.assumptions.clone(),
            findings: figure.findings.clone(),
            runs: records.len(),
            claims: figure
                .claims
                .iter()
                .map(|claim| judge(claim, records))
                .collect(),
            command: command.to_owned(),
        }
    }

    /// A figure that has no results yet: its claims stand there without a measured number.
    pub fn without_results(figure: &Figure, title: &str) -> Self {
        let claim = |claim| match judge(claim, &[]) {
            finding if finding.measured.is_some() => finding,
            finding => Finding {
                note: Some("not run yet".to_owned()),
                ..finding
            },
        };
        Self {
            id: figure.id.clone(),
            title: title.to_owned(),
            shows: figure.shows.clone(),
            source: figure.source.clone(),
            version: if figure.is_computed {
                "computed"
            } else {
                "not run yet"
            },
            cut: Vec::new(),
            assumptions: figure.assumptions.clone(),
            findings: figure.findings.clone(),
            runs: 0,
            claims: figure.claims.iter().map(claim).collect(),
            command: String::new(),
        }
    }

    /// The figure for the gallery.
    pub fn shown(&self, entry: &Entry, records: &[Record], report: Option<String>) -> Shown {
        let row = |finding: &Finding| Row {
            claim: finding.claim.clone(),
            paper: finding.paper.clone(),
            measured: finding.shown(),
            verdict: finding.verdict.title().to_owned(),
            class: finding.verdict.class(),
            note: finding.note.clone(),
        };
        let intro = format!(
            "{}; {} ({} version).",
            self.shows, self.source, self.version
        );
        Shown {
            id: self.id.clone(),
            title: self.title.clone(),
            intro: capitalised(&intro),
            charts: chart::charts(&entry.figure, records),
            claims: self.claims.iter().map(row).collect(),
            remarks: vec![
                ("What was cut", self.cut.clone()),
                ("Findings", self.findings.clone()),
                ("Assumptions", self.assumptions.clone()),
            ],
            command: self.command.clone(),
            report,
        }
    }
}

/// How many claims have each verdict.
pub fn tally<'a>(findings: impl Iterator<Item = &'a Finding>) -> [(Verdict, usize); 4] {
    let mut counts = Verdict::ALL.map(|verdict| (verdict, 0));
    for finding in findings {
        for (verdict, count) in &mut counts {
            *count += usize::from(*verdict == finding.verdict);
        }
    }
    counts
}

impl Verdict {
    /// Its name in style sheets.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::SameDirection => "same-direction",
            Self::NotReproduced => "not-reproduced",
            Self::NotTestable => "not-testable",
        }
    }
}

impl Finding {
    /// What was measured, with its interval.
    pub fn shown(&self) -> String {
        let Some(Measured {
            value, interval, ..
        }) = self.measured
        else {
            return "–".to_owned();
        };
        let shown = |value: f64| match self.unit {
            CHANGE => format::change(1.0 + value),
            "" if value.abs() < 0.1 && value != 0.0 => format!("{:.3} %", 100.0 * value),
            unit => format::quantity(value, unit),
        };
        match interval {
            None => shown(value),
            Some((low, high)) => format!("{} [{}, {}]", shown(value), shown(low), shown(high)),
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// What a reader has to know before the tables.
const INTRODUCTION: &str = "\
# Reproduction

What becomes of the claims of published figures when their experiments are run here. This page is made by

```
tidegate reproduce --all --write-docs docs/reproduction.md
```

from the claims in `scenarios/*/*.toml` and the results of their runs; `tidegate reproduce ID` makes one
figure again and draws it.

## Verdicts

- **reproduced**: the number is within the claim's tolerance of the published one, and not on the other
  side of no difference by more than a tenth of the tolerance; of a bound, that it holds.
- **same direction, other size**: it is outside the tolerance, but on the same side of no difference, and
  so is its whole 95 % interval, if it has one.
- **not reproduced**: anything else that was measured.
- **not testable**: the claim says why, or the version that was run has no such point.

Measured numbers are followed by their 95 % interval: over repetitions with other seeds, or, of a single
run, from blocks of its flows. A change is relative to what the claim compares with. The tolerance of a
change is a difference, of anything else a part of the published number.

";

/// The page of all claims, as Markdown.
pub fn markdown(figures: &[Judged], facts: &[String]) -> String {
    let mut out = String::from(INTRODUCTION);
    write(&mut out, figures, facts).expect("writing to a string cannot fail");
    out
}

fn write(out: &mut String, figures: &[Judged], facts: &[String]) -> std::fmt::Result {
    out.push_str("## All figures\n\n");
    for fact in facts {
        writeln!(out, "- {fact}")?;
    }
    out.push_str("\n| figure | version | runs |");
    for verdict in Verdict::ALL {
        write!(out, " {} |", verdict.title())?;
    }
    out.push_str("\n|---|---|--:|--:|--:|--:|--:|\n");
    let counts = |figures: &[Judged]| tally(figures.iter().flat_map(|figure| &figure.claims));
    for figure in figures {
        let id = &figure.id;
        write!(
            out,
            "| [{id}](#{id}) | {} | {} |",
            figure.version, figure.runs
        )?;
        for (_, count) in counts(std::slice::from_ref(figure)) {
            write!(out, " {count} |")?;
        }
        out.push('\n');
    }
    let runs: usize = figures.iter().map(|figure| figure.runs).sum();
    write!(out, "| **all** | | {runs} |")?;
    for (_, count) in counts(figures) {
        write!(out, " **{count}** |")?;
    }
    out.push('\n');
    for figure in figures {
        write_figure(out, figure)?;
    }
    Ok(())
}

fn write_figure(out: &mut String, figure: &Judged) -> std::fmt::Result {
    writeln!(out, "\n## {}\n", figure.id)?;
    writeln!(
        out,
        "{}. {}; {}.\n",
        figure.title,
        capitalised(&figure.shows),
        figure.source
    )?;
    out.push_str("| claim | paper | measured | verdict |\n|---|---|---|---|\n");
    for claim in &figure.claims {
        let note = claim.note.as_ref();
        let note = note.filter(|_| claim.verdict != Verdict::Reproduced);
        let note = note.map_or_else(String::new, |note| format!(" ({note})"));
        writeln!(
            out,
            "| {}{} | {} | {} | {} |",
            cell(&claim.claim),
            cell(&note),
            cell(&claim.paper),
            claim.shown(),
            claim.verdict.title()
        )?;
    }
    for (heading, remarks) in [
        ("Cut", &figure.cut),
        ("Findings", &figure.findings),
        ("Assumptions", &figure.assumptions),
    ] {
        if !remarks.is_empty() {
            writeln!(out, "\n{heading}:\n")?;
            for remark in remarks {
                writeln!(out, "- {remark}")?;
            }
        }
    }
    Ok(())
}

/// Text in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(value: f64, unit: &'static str) -> Finding {
        Finding {
            claim: "a | b".into(),
            paper: "-38%".into(),
            measured: Some(Measured {
                value,
                interval: Some((value - 0.01, value + 0.01)),
                runs: 3,
            }),
            unit,
            verdict: Verdict::Reproduced,
            note: None,
            is_main: false,
        }
    }

    #[test]
    fn numbers_are_shown_in_their_units_with_their_intervals() {
        assert_eq!(finding(-0.38, CHANGE).shown(), "-38.0 % [-39.0 %, -37.0 %]");
        assert_eq!(finding(0.05, "s").shown(), "50.0 ms [40.0 ms, 60.0 ms]");
    }

    #[test]
    fn the_page_has_every_figure_and_claim() {
        let figure = Judged {
            id: "tcn-f1".into(),
            title: "Title".into(),
            shows: "what".into(),
            source: "where".into(),
            version: "quick",
            cut: vec!["runs=1".into()],
            assumptions: Vec::new(),
            findings: vec!["it hinges on x".into()],
            runs: 3,
            claims: vec![finding(-0.38, CHANGE)],
            command: String::new(),
        };
        let page = markdown(&[figure], &["fact".into()]);
        for part in [
            "## tcn-f1",
            "a \\| b",
            "it hinges on x",
            "| [tcn-f1](#tcn-f1) | quick | 3 | 1 | 0 | 0 | 0 |",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }
}
