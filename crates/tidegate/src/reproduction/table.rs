//! Claims of a figure as a table on a terminal.

use std::fmt::Write;

use tidegate_reproduce::{Finding, Judged, Verdict};
use tidegate_study::text::{count, folded, width};

use crate::output::Paint;

/// Title of a figure, its version, and a row for each claim.
pub(super) fn figure(judged: &Judged, paint: Paint, screen: usize) -> String {
    let id = paint.code(&judged.id);
    let mut out = String::from("\n");
    for (place, line) in
        folded(&judged.title, screen.saturating_sub(width(&id) + 2)).iter().enumerate()
    {
        let (begin, line) = (" ".repeat(width(&id)), paint.bold(line));
        let begin = if place == 0 { &id } else { &begin };
        _ = writeln!(out, "{begin}  {line}");
    }
    let mut dim = |text: &str| {
        for line in folded(text, screen) {
            _ = writeln!(out, "{}", paint.dim(&line));
        }
    };
    if judged.runs < judged.planned {
        dim(&format!("version: {}", judged.extent()));
    }
    if !judged.cut.is_empty() {
        dim(&format!("cut: {}", judged.cut.join("; ")));
    }
    write_claims(&mut out, judged, paint, screen);
    for finding in &judged.findings {
        for (place, line) in folded(finding, screen - 2).iter().enumerate() {
            let begin = if place == 0 { "- " } else { "  " };
            _ = writeln!(out, "{begin}{line}");
        }
    }
    out
}

/// Minimum width of the column of claims.
const LEAST_CLAIM: usize = 24;

fn write_claims(out: &mut String, judged: &Judged, paint: Paint, screen: usize) {
    // Unfinished claims are shown.
    let is_left_out = |claim: &&Finding| claim.verdict == Verdict::NotRun && claim.unfinished == 0;
    let (left_out, claims): (Vec<&Finding>, Vec<&Finding>) =
        judged.claims.iter().partition(is_left_out);
    let rows = claims
        .iter()
        .map(|claim| [claim.claim.clone(), claim.paper.clone(), claim.shown(), claim.answer()]);
    let head = ["claim", "paper", "measured", "verdict"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
    let widest = |column: usize| {
        let widths = rows.iter().map(|row| width(&row[column]));
        widths.max().unwrap_or(0)
    };
    let numbers = [widest(1), widest(2), widest(3)];
    let needed = numbers.iter().sum::<usize>() + 2 * numbers.len();
    // If the numbers leave too little room, each claim gets a line above them.
    let is_stacked = needed + LEAST_CLAIM > screen;
    let room = if is_stacked { screen } else { (screen - needed).min(widest(0)) };
    for (number, row) in rows.iter().enumerate() {
        let verdict = number.checked_sub(1).map(|at| claims[at].verdict);
        let verdict = match verdict {
            Some(Verdict::Reproduced) => paint.best(&row[3]),
            Some(Verdict::NotTestable | Verdict::NotRun) => paint.dim(&row[3]),
            _ => row[3].clone(),
        };
        let mut lines = folded(&row[0], room);
        let cells = [&row[1], &row[2], &verdict];
        if needed > screen {
            // Numbers that do not fit side by side get a line each.
            for cell in cells {
                lines.extend(folded(cell, screen - 2).iter().map(|line| format!("  {line}")));
            }
        } else {
            let cells = cells.into_iter().zip(numbers);
            let cells = cells.map(|(cell, width)| format!("  {}", padded(cell, width)));
            let cells = cells.collect::<String>();
            if is_stacked {
                lines.push(cells);
            } else if let Some(first) = lines.first_mut() {
                *first = format!("{}{cells}", padded(first, room));
            }
        }
        for line in lines {
            let line = line.trim_end();
            let line = match number {
                0 => paint.dim(line),
                _ => line.to_owned(),
            };
            _ = writeln!(out, "{line}");
        }
    }
    if !left_out.is_empty() {
        let count = count(left_out.len(), "claim");
        let line = format!("{count} not run in this version");
        _ = writeln!(out, "{}", paint.dim(&line));
    }
}

fn padded(text: &str, most: usize) -> String {
    let space = most.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(space))
}
