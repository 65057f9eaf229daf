//! A figure with its claims judged, and the page of all figures.

use std::fmt::Write;

use serde::Serialize;
use tidegate_report::Record;
use tidegate_report::format;
use tidegate_report::gallery::{NOT_RUN, Row, Shown};

use super::chart;
use super::figure::Figure;
use super::library::{Entry, Version};
use super::trial::Varied;
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
    /// What was varied to find it out, and what that moved.
    pub varied: Vec<Varied>,
    /// How many runs it rests on.
    pub runs: usize,
    /// How many it would rest on if all were finished.
    pub planned: usize,
    /// Its claims.
    pub claims: Vec<Finding>,
    /// The command that makes it.
    pub command: String,
}

impl Judged {
    /// Judges the claims of a figure by its records. `unfinished` are the labels of runs that left no
    /// results, one for each run.
    pub fn new(
        entry: &Entry,
        version: Version,
        command: &str,
        records: &[Record],
        unfinished: &[&str],
        varied: Vec<Varied>,
    ) -> Self {
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
            varied,
            runs: records.len(),
            planned: records.len() + unfinished.len(),
            claims: figure
                .claims
                .iter()
                .map(|claim| judge(claim, records, unfinished))
                .collect(),
            command: command.to_owned(),
        }
    }

    /// A figure that has no results yet: its claims stand there without a measured number.
    pub fn without_results(figure: &Figure, title: &str) -> Self {
        let claim = |claim| match judge(claim, &[], &[]) {
            finding if finding.verdict != Verdict::NotRun => finding,
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
            varied: Vec::new(),
            runs: 0,
            planned: 0,
            claims: figure.claims.iter().map(claim).collect(),
            command: String::new(),
        }
    }

    /// The version that was run, and how much of it is there if that is not all.
    pub fn extent(&self) -> String {
        if self.runs == self.planned {
            return self.version.to_owned();
        }
        format!(
            "{}, {} of {} runs finished",
            self.version, self.runs, self.planned
        )
    }

    /// The figure for the gallery.
    pub fn shown(&self, entry: &Entry, records: &[Record], report: Option<String>) -> Shown {
        let row = |finding: &Finding| Row {
            claim: finding.claim.clone(),
            paper: finding.paper.clone(),
            measured: finding.shown(),
            verdict: finding.answer().to_owned(),
            class: finding.verdict.class(),
            note: finding.note.clone(),
        };
        let intro = format!(
            "{}; {} (version: {}).",
            self.shows,
            self.source,
            self.extent()
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
                (VARIED, self.varied.iter().map(Varied::line).collect()),
                ("Assumptions", self.assumptions.clone()),
            ],
            command: self.command.clone(),
            report,
        }
    }
}

/// The heading of what was varied.
const VARIED: &str = "One assumption changed";

/// How many claims have each verdict.
pub fn tally<'a>(findings: impl Iterator<Item = &'a Finding>) -> [(Verdict, usize); 5] {
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
            Self::NotRun => NOT_RUN,
        }
    }
}

impl Finding {
    /// The verdict in words.
    pub const fn answer(&self) -> &'static str {
        if self.is_within_chance {
            return "not reproduced, within chance";
        }
        if self.measured.is_none() && self.unfinished > 0 {
            return "not finished";
        }
        self.verdict.title()
    }

    /// What was measured, with its interval.
    pub fn shown(&self) -> String {
        let Some(Measured {
            value, interval, ..
        }) = self.measured
        else {
            return format::NOTHING.to_owned();
        };
        let shown = |value: f64| match (self.unit, self.written_in) {
            (CHANGE, _) => format::change(1.0 + value),
            // Beside a published number it has the same unit, so that both can be compared at a glance.
            (_, (unit, scale)) if !unit.is_empty() => {
                format!("{} {unit}", format::three_digits(value / scale))
            }
            (unit, _) => plain(value, unit),
        };
        match interval {
            None => shown(value),
            Some((low, high)) => format!("{} [{}, {}]", shown(value), shown(low), shown(high)),
        }
    }
}

/// A number without a published one beside it that would say its unit.
fn plain(value: f64, unit: &'static str) -> String {
    match unit {
        "" if value.abs() < 0.1 && value != 0.0 => format!("{:.3} %", 100.0 * value),
        unit => format::quantity(value, unit),
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
- **not reproduced**: anything else that was measured; *within chance* if its interval has a number
  with which it would be reproduced, so that more flows or repetitions may decide otherwise.
- **not testable**: the claim says why.

Claims about points that the version leaves out are *not run*: they are folded and not counted with the
others. They are *not finished* if the runs of their points have left no results yet.

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
    let all = tally(figures.iter().flat_map(|figure| &figure.claims));
    let has_column = |verdict: Verdict| {
        let count = all.iter().find(|(other, _)| *other == verdict);
        verdict != Verdict::NotRun || count.is_some_and(|(_, count)| *count > 0)
    };
    let columns = Verdict::ALL
        .into_iter()
        .filter(|verdict| has_column(*verdict));
    let columns: Vec<Verdict> = columns.collect();
    out.push_str("\n| figure | version | runs |");
    for verdict in &columns {
        write!(out, " {} |", verdict.title())?;
    }
    writeln!(out, "\n|---|---|--:|{}", "--:|".repeat(columns.len()))?;
    let counts = |figures: &[Judged]| {
        let counts = tally(figures.iter().flat_map(|figure| &figure.claims));
        counts
            .into_iter()
            .filter(|(verdict, _)| has_column(*verdict))
    };
    for figure in figures {
        let id = &figure.id;
        write!(
            out,
            "| [{id}](#{id}) | {} | {} |",
            figure.extent(),
            figure.runs
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
    let claims = figures.iter().flat_map(|figure| &figure.claims);
    let within_chance = claims.filter(|claim| claim.is_within_chance).count();
    writeln!(
        out,
        "\nOf those that are not reproduced, {within_chance} are within chance."
    )?;
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
    let is_run = |claim: &&Finding| claim.verdict != Verdict::NotRun;
    for claim in figure.claims.iter().filter(is_run) {
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
            claim.answer()
        )?;
    }
    let left_out = figure.claims.iter().filter(|claim| !is_run(claim));
    let left_out: Vec<&Finding> = left_out.collect();
    if !left_out.is_empty() {
        let count = left_out.len();
        let plural = if count == 1 { "" } else { "s" };
        writeln!(
            out,
            "\n<details><summary>{count} claim{plural} not run in this version</summary>\n"
        )?;
        for claim in left_out {
            writeln!(out, "- {} ({})", claim.claim, claim.paper)?;
        }
        writeln!(out, "\n</details>")?;
    }
    write_remarks(out, "Cut", &figure.cut)?;
    write_remarks(out, "Findings", &figure.findings)?;
    write_varied(out, &figure.varied)?;
    write_remarks(out, "Assumptions", &figure.assumptions)
}

fn write_remarks(out: &mut String, heading: &str, remarks: &[String]) -> std::fmt::Result {
    if !remarks.is_empty() {
        writeln!(out, "\n{heading}:\n")?;
        for remark in remarks {
            writeln!(out, "- {remark}")?;
        }
    }
    Ok(())
}

fn write_varied(out: &mut String, varied: &[Varied]) -> std::fmt::Result {
    if varied.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{VARIED}:\n")?;
    out.push_str("| changed | claim | paper | before | after |\n|---|---|---|---|---|\n");
    let mut last = None;
    for varied in varied {
        // Once for all claims of a trial.
        let mut changed = String::new();
        if last != Some(&varied.trial) {
            changed = format!("{} `{}`", varied.changed, varied.command);
        }
        last = Some(&varied.trial);
        writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            cell(&changed),
            cell(&varied.after.claim),
            cell(&varied.after.paper),
            varied.before.shown(),
            varied.after.shown()
        )?;
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
            written_in: ("", 1.0),
            verdict: Verdict::Reproduced,
            is_within_chance: false,
            unfinished: 0,
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
    fn a_number_has_the_unit_of_the_published_one_beside_it() {
        let kibibytes = Finding {
            written_in: ("KiB", 1024.0),
            measured: Some(Measured {
                value: 87_400.0,
                interval: None,
                runs: 1,
            }),
            ..finding(0.0, "B")
        };
        assert_eq!(kibibytes.shown(), "85.4 KiB");
        let micros = Finding {
            written_in: ("µs", 1e-6),
            ..finding(0.05, "s")
        };
        assert_eq!(micros.shown(), "50 000 µs [40 000 µs, 60 000 µs]");
        // A relative change has its sign and its own unit.
        let change = Finding {
            written_in: ("%", 0.01),
            ..finding(-0.38, CHANGE)
        };
        assert_eq!(change.shown(), "-38.0 % [-39.0 %, -37.0 %]");
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
            varied: vec![Varied {
                trial: "flows".into(),
                changed: "more flows".into(),
                command: "tidegate reproduce tcn-f1 --set flows=2".into(),
                before: finding(-0.01, CHANGE),
                after: finding(-0.3, CHANGE),
            }],
            runs: 3,
            planned: 3,
            claims: vec![
                finding(-0.38, CHANGE),
                Finding {
                    claim: "left out".into(),
                    measured: None,
                    verdict: Verdict::NotRun,
                    ..finding(0.0, CHANGE)
                },
            ],
            command: String::new(),
        };
        let page = markdown(&[figure], &["fact".into()]);
        for part in [
            "## tcn-f1",
            "a \\| b",
            "it hinges on x",
            "| more flows `tidegate reproduce tcn-f1 --set flows=2` | a \\| b | -38% | -1.00 % ",
            "| not testable | not run |\n|---|---|--:|--:|--:|--:|--:|--:|\n",
            "| [tcn-f1](#tcn-f1) | quick | 3 | 1 | 0 | 0 | 0 | 1 |",
            "<summary>1 claim not run in this version</summary>\n\n- left out (-38%)\n\n</details>",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(!page.contains("| left out |"), "it is not among the others");
    }
}
