//! The page of all figures, as Markdown: headlines first, then every claim.

use std::fmt::Write;

use super::judged::{Judged, VARIED, capitalised, counted, tally};
use super::paper::{Paper, Setup};
use super::score::{Score, quoted};
use super::varied::Varied;
use super::verdict::{Finding, Verdict};

const INTRODUCTION: &str = "\
# Reproduction

The claims of published figures, and the results of running their experiments here. This command writes the page:

```
tidegate reproduce --all --write-docs docs/reproduction.md
```

It uses the claims in `scenarios/*/*.toml` and the measurements in [`reproduction/`](reproduction), a file for
each figure. `tidegate reproduce ID` runs and draws one figure again; with `--write-docs` it also replaces the
figure's part of this page.

";

/// Rules of the verdicts, before the tables of all claims.
const RULES: &str = "\
## Verdicts

- **reproduced**: the whole 95 % interval is within the accepted range around the published number, or on
  the bound's side.
- **inconclusive**: the interval lies partly inside and partly outside. The verdict names the number of
  repetitions that would decide, if they vary like the present ones.
- **same direction, different size**: the interval is outside, but wholly on the same side of no difference as
  the published number.
- **not reproduced**: the interval is outside and does not lie wholly on that side.
- **not testable**: the claim gives the reason.

One rule gives the accepted range of all published numbers ([the table](guide/reproduce.md)): half of a
published difference on a logarithmic scale, at most a factor of 1.5; a factor of 1.05 for \"the same\" and for
rates, 1.2 for times and lengths. A claim about several points, such as \"at all loads\", has the worst verdict
of its points, and the table shows the point that deviates most. A claim about the best of several, \"up to\",
names that point; its interval holds for all of them jointly. A curve is one claim: reproduced if all of its points are,
inconclusive if none is excluded. If some points are excluded, it has the same direction if its shape is the
same (a rank correlation of 0.8 or more). A number without an interval is judged by itself. If finished runs
lack the number of a claim, such as the time until an event that never happens in them, the claim is
inconclusive at best. A growth from zero is an infinite change.

Each published number counts once, at the base setup of its figure. Variants of the setup, inputs and
arithmetic are shown outside the tally. Claims about points that the version leaves out are *not run*: they
are folded. They are *not finished* if the runs of their points have left no results yet.

Measured numbers are followed by their 95 % interval over repetitions with other seeds. It holds over all
looks at a claim: each doubling of the seeds halves the probability that the interval misses. A single
repetition of several decides nothing. The interval is cut at impossible values: at 0, or at -100 % for a
change. A change is relative to the claim's reference.

";

/// The page of all claims.
pub fn markdown(papers: &[Paper], figures: &[Judged]) -> String {
    let mut out = String::from(INTRODUCTION);
    write(&mut out, papers, figures).expect("writing to a string cannot fail");
    out
}

fn write(out: &mut String, papers: &[Paper], figures: &[Judged]) -> std::fmt::Result {
    let quick = figures.iter().filter(|figure| figure.version == "quick");
    let quick = quick.count();
    if quick > 0 {
        let all = figures.len();
        writeln!(
            out,
            "**{quick} of the {all} figures are here in their quick version, with fewer flows, points and seeds than\n\
             published: many claims below are inconclusive for lack of runs.**\n"
        )?;
    }
    out.push_str("## Headlines\n");
    for paper in papers {
        write_headlines(out, paper, figures)?;
    }
    out.push('\n');
    out.push_str(RULES);
    write_tally(out, figures)?;
    let setups = papers.iter().flat_map(|paper| paper.setups.iter().map(move |s| (paper, s)));
    out.push_str("\n## Setups\n\nAssumptions that several figures share.\n");
    for (paper, setup) in setups {
        let of = setup.figures.iter().map(|figure| link(figure.get_ref()));
        let of = of.collect::<Vec<_>>().join(", ");
        write!(out, "\n### {}, {}\n\nOf {of}:\n\n", paper.name, setup.name)?;
        for assumption in &setup.assumptions {
            writeln!(out, "- {assumption}")?;
        }
        if !setup.joint.is_empty() {
            write_joint(out, setup, figures)?;
        }
    }
    for figure in figures {
        let setup = papers.iter().find_map(|paper| {
            let setup = paper.setup_of(&figure.id)?;
            Some((paper.name.as_str(), setup.name.as_str()))
        });
        write_figure(out, figure, setup)?;
    }
    Ok(())
}

/// Writes the effect of one change on all figures of a setup.
fn write_joint(out: &mut String, setup: &Setup, figures: &[Judged]) -> std::fmt::Result {
    out.push_str(
        "\nOne change applied to all of these figures: the number of claims that are then reproduced, of those \
         judged again, and in\nbrackets the number that are inconclusive. The setup as assumed remains the \
         base in any case.\n\n| changed |",
    );
    for figure in &setup.figures {
        write!(out, " {} |", link(figure.get_ref()))?;
    }
    writeln!(out, " all |\n|---|{}", "--:|".repeat(setup.figures.len() + 1))?;
    let mut row = |name: &str, trial: Option<&str>| {
        let scores = setup.jointly(trial, figures);
        let all = scores.iter().fold(Score::default(), |sum, score| sum + *score);
        write!(out, "| {} |", cell(name))?;
        for score in scores.iter().chain([&all]) {
            match score.inconclusive {
                0 => write!(out, " {} of {} |", score.reproduced, score.claims)?,
                open => write!(out, " {} (+{open}) of {} |", score.reproduced, score.claims)?,
            }
        }
        writeln!(out)
    };
    row("nothing", None)?;
    for trial in &setup.joint {
        row(&trial.changed, Some(trial.name.get_ref()))?;
    }
    if let Some(decided) = &setup.decided {
        writeln!(out, "\n{}", capitalised(&quoted(decided.get_ref(), figures)))?;
    }
    Ok(())
}

fn link(id: &str) -> String {
    format!("[{id}](#{})", id.replace('.', "")) // as the anchors of headings are made
}

fn write_headlines(out: &mut String, paper: &Paper, figures: &[Judged]) -> std::fmt::Result {
    let Paper { name, title, source, .. } = paper;
    write!(out, "\n### {name}\n\n{title} ({source}).\n\n")?;
    out.push_str(
        "| claim | figure | paper | measured | verdict | why |\n|---|---|---|---|---|---|\n",
    );
    for answered in paper.answered(figures) {
        let finding = &answered.finding;
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            cell(&capitalised(&finding.claim)),
            link(&answered.figure),
            cell(&finding.paper),
            finding.shown(),
            bold(finding),
            cell(&answered.cause)
        )?;
    }
    Ok(())
}

fn bold(finding: &Finding) -> String {
    format!("**{}**", finding.answer())
}

fn write_tally(out: &mut String, figures: &[Judged]) -> std::fmt::Result {
    out.push_str("## All figures\n\n");
    writeln!(out, "{} figures, {}.", figures.len(), counted(figures))?;
    let all = tally(figures.iter().flat_map(|figure| &figure.claims));
    let has_column = |verdict: Verdict| {
        let count = all.iter().find(|(other, _)| *other == verdict);
        verdict != Verdict::NotRun || count.is_some_and(|(_, count)| *count > 0)
    };
    let columns = Verdict::ALL.into_iter().filter(|verdict| has_column(*verdict));
    let columns: Vec<Verdict> = columns.collect();
    out.push_str("\n| figure | version | runs |");
    for verdict in &columns {
        write!(out, " {} |", verdict.title())?;
    }
    out.push_str(" outside the tally |");
    writeln!(out, "\n|---|---|--:|{}", "--:|".repeat(columns.len() + 1))?;
    let counts = |figures: &[Judged]| {
        let counts = tally(figures.iter().flat_map(|figure| &figure.claims));
        counts.into_iter().filter(|(verdict, _)| has_column(*verdict))
    };
    let outside = |figures: &[Judged]| {
        let outside = figures.iter().flat_map(|figure| figure.claims(false));
        outside.count()
    };
    for figure in figures {
        let (link, extent, runs) = (link(&figure.id), figure.extent(), figure.runs);
        write!(out, "| {link} | {extent} | {runs} |")?;
        for (_, count) in counts(std::slice::from_ref(figure)) {
            write!(out, " {count} |")?;
        }
        writeln!(out, " {} |", outside(std::slice::from_ref(figure)))?;
    }
    let runs: usize = figures.iter().map(|figure| figure.runs).sum();
    write!(out, "| **all** | | {runs} |")?;
    for (_, count) in counts(figures) {
        write!(out, " **{count}** |")?;
    }
    writeln!(out, " **{}** |", outside(figures))
}

fn write_figure(
    out: &mut String,
    figure: &Judged,
    setup: Option<(&str, &str)>,
) -> std::fmt::Result {
    writeln!(out, "\n## {}\n", figure.id)?;
    writeln!(out, "{}. {}; {}.\n", figure.title, capitalised(&figure.shows), figure.source)?;
    if !figure.revision.is_empty() {
        writeln!(out, "Run by revision {}: `{}`.\n", figure.revision, figure.command)?;
    }
    let is_run = |claim: &&Finding| claim.verdict != Verdict::NotRun;
    let counted: Vec<&Finding> = figure.claims(true).filter(is_run).collect();
    if !counted.is_empty() {
        write_claims(out, &counted)?;
    }
    let outside: Vec<&Finding> = figure.claims(false).filter(is_run).collect();
    if !outside.is_empty() {
        if !counted.is_empty() {
            out.push('\n');
        }
        out.push_str("Outside the tally:\n\n");
        write_claims(out, &outside)?;
    }
    write_left_out(out, figure)?;
    write_curves(out, figure)?;
    write_remarks(out, "Cut", &figure.cut)?;
    write_remarks(out, "Findings", &figure.findings)?;
    write_varied(out, &figure.varied)?;
    let mut assumptions = figure.assumptions.clone();
    if let Some((paper, setup)) = setup {
        assumptions.insert(0, format!("{paper}, {setup} ([shared setup](#setups))"));
    }
    write_remarks(out, "Assumptions", &assumptions)
}

fn write_claims(out: &mut String, claims: &[&Finding]) -> std::fmt::Result {
    out.push_str("| claim | paper | measured | verdict |\n|---|---|---|---|\n");
    for claim in claims {
        let note = claim.note.as_ref();
        let note = note.filter(|_| claim.verdict != Verdict::Reproduced);
        let reason = claim.untallied.as_ref();
        let notes: Vec<&str> = reason.into_iter().chain(note).map(String::as_str).collect();
        let notes = match notes.join("; ") {
            empty if empty.is_empty() => empty,
            notes => format!(" ({notes})"),
        };
        writeln!(
            out,
            "| {}{} | {} | {} | {} |",
            cell(&claim.claim),
            cell(&notes),
            cell(&claim.paper),
            claim.shown(),
            claim.answer()
        )?;
    }
    Ok(())
}

fn write_left_out(out: &mut String, figure: &Judged) -> std::fmt::Result {
    let left_out = figure.claims.iter().filter(|claim| claim.verdict == Verdict::NotRun);
    let left_out: Vec<&Finding> = left_out.collect();
    if left_out.is_empty() {
        return Ok(());
    }
    let count = left_out.len();
    let plural = if count == 1 { "" } else { "s" };
    writeln!(out, "\n<details><summary>{count} claim{plural} not run in this version</summary>\n")?;
    for claim in left_out {
        writeln!(out, "- {} ({})", claim.claim, claim.paper)?;
    }
    writeln!(out, "\n</details>")
}

/// The points of curves, folded.
fn write_curves(out: &mut String, figure: &Judged) -> std::fmt::Result {
    for claim in &figure.claims {
        let Some(fit) = &claim.curve else { continue };
        writeln!(
            out,
            "\n<details><summary>{}: {} points</summary>\n",
            claim.claim,
            fit.points.len()
        )?;
        out.push_str("| at | paper | measured | verdict |\n|---|---|---|---|\n");
        for point in &fit.points {
            writeln!(
                out,
                "| {} | {} | {} | {} |",
                point.at,
                point.paper,
                claim.with_interval(&point.measured),
                point.verdict.title()
            )?;
        }
        writeln!(out, "\n</details>")?;
    }
    Ok(())
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
    writeln!(out, "\n{VARIED}, in runs of the same version at the same points:\n")?;
    out.push_str(
        "| changed | claim | paper | before | after | verdict |\n|---|---|---|---|---|---|\n",
    );
    let mut last = None;
    for one in varied {
        // Once for all claims of a trial.
        let changed = if last == Some(&one.trial) {
            String::new()
        } else {
            format!("{} ({})", one.changed, one.trial)
        };
        last = Some(&one.trial);
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            cell(&changed),
            cell(&one.after.claim),
            cell(&one.after.paper),
            one.before.shown(),
            one.after.shown(),
            one.after.answer()
        )?;
    }
    out.push_str("\n```\n");
    last = None;
    for one in varied {
        if last != Some(&one.trial) {
            writeln!(out, "{}", one.command)?;
        }
        last = Some(&one.trial);
    }
    out.push_str("```\n");
    Ok(())
}

/// Text in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::super::judged::tests::finding;
    use super::super::verdict::{CHANGE, Fit, FitPoint, Measured};
    use super::*;

    fn figure() -> Judged {
        let point = FitPoint {
            at: "0.4".into(),
            paper: "-38%".into(),
            published: -0.38,
            accepted: (-0.5, -0.2),
            measured: Measured { value: -0.5, interval: None, runs: 1 },
            verdict: Verdict::SameDirection,
        };
        Judged {
            id: "tcn-f1".into(),
            title: "Title".into(),
            shows: "what".into(),
            source: "where".into(),
            version: "quick".into(),
            revision: "abc".into(),
            cut: vec!["runs=1".into()],
            assumptions: Vec::new(),
            findings: vec!["it hinges on x".into()],
            varied: vec![Varied {
                trial: "flows".into(),
                changed: "more flows".into(),
                command: "tidegate reproduce tcn-f1 --set flows=2".into(),
                before: Finding { verdict: Verdict::NotReproduced, ..finding(-0.01, CHANGE) },
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
                Finding {
                    claim: "variant".into(),
                    untallied: Some("another buffer".into()),
                    ..finding(-0.2, CHANGE)
                },
                Finding {
                    claim: "curve".into(),
                    at: Some("0.4".into()),
                    curve: Some(Fit {
                        inside: 0,
                        rank_correlation: Some(0.5),
                        points: vec![point],
                    }),
                    verdict: Verdict::NotReproduced,
                    ..finding(-0.5, CHANGE)
                },
            ],
            command: "tidegate reproduce tcn-f1".into(),
        }
    }

    fn paper() -> Paper {
        let text = "[paper]\nid = \"tcn\"\nname = \"TCN\"\ntitle = \"T\"\nsource = \"S\"\n\
            [[paper.headline]]\nclaim = \"tcn-f1/mean\"\ncause = \"as {tcn-f1/mean} shows\"\n\
            [[paper.setup]]\nname = \"testbed\"\nfigures = [\"tcn-f1\"]\nassumptions = [\"once\"]\n\
            decided = \"more flows: {tcn-f1/mean@flows}\"\n\
            [[paper.setup.trial]]\nname = \"flows\"\nchanged = \"more flows\"\nset = []\n";
        Paper::parse(text).unwrap()
    }

    #[test]
    fn the_page_has_headlines_first_and_then_every_figure_and_claim() {
        let page = markdown(&[paper()], &[figure()]);
        let parts = [
            "**1 of the 1 figures are here in their quick version",
            "### TCN\n\nT (S).\n",
            "| A \\| b | [tcn-f1](#tcn-f1) | -38% | -38.0 % [-39.0 %, -37.0 %] | **reproduced** | \
             as -38.0 % shows |",
            "## Verdicts",
            "| not testable | not run | outside the tally |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            "| [tcn-f1](#tcn-f1) | quick | 3 | 1 | 0 | 0 | 1 | 0 | 1 | 1 |",
            "### TCN, testbed\n\nOf [tcn-f1](#tcn-f1):\n\n- once\n",
            "| changed | [tcn-f1](#tcn-f1) | all |\n|---|--:|--:|\n",
            "| nothing | 0 of 1 | 0 of 1 |\n| more flows | 1 of 1 | 1 of 1 |\n\nMore flows: -30.0 %\n",
            "## tcn-f1",
            "Run by revision abc: `tidegate reproduce tcn-f1`.",
            "a \\| b",
            "| curve | -38% | 0 of 1 points inside; farthest at 0.4: -50.0 %, published -38%; rank \
             correlation 0.50 | not reproduced |",
            "Outside the tally:",
            "| variant (another buffer) |",
            "<summary>1 claim not run in this version</summary>\n\n- left out (-38%)\n\n</details>",
            "| 0.4 | -38% | -50.0 % | same direction, different size |",
            "it hinges on x",
            "| more flows (flows) | a \\| b | -38% | -1.00 % ",
            "```\ntidegate reproduce tcn-f1 --set flows=2\n```",
            "- TCN, testbed ([shared setup]",
        ];
        let mut from = 0;
        for part in parts {
            let place = page[from..].find(part);
            let place =
                place.unwrap_or_else(|| panic!("{part} is not there, or not in order\n{page}"));
            from += place;
        }
        assert!(!page.contains("| left out |"), "it is not among the others");
    }
}
