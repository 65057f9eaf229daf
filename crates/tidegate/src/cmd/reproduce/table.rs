//! The claims of a figure as a table for a terminal.

use std::fmt::Write;

use tidegate_lab::reproduce::{Finding, Judged, Verdict};

use crate::markdown::WIDTH;
use crate::output::Paint;

/// The figure's title, what was cut, and a row for each claim.
pub(super) fn figure(judged: &Judged, paint: Paint) -> String {
    let mut out = format!(
        "\n{}  {}\n",
        paint.code(&judged.id),
        paint.bold(&judged.title)
    );
    if !judged.cut.is_empty() {
        let cut = format!("cut: {}", judged.cut.join("; "));
        _ = writeln!(out, "{}", paint.dim(&cut));
    }
    let (left_out, claims): (Vec<&Finding>, Vec<&Finding>) =
        (judged.claims.iter()).partition(|claim| claim.verdict == Verdict::NotRun);
    let rows = claims.iter().map(|claim| {
        [
            claim.claim.clone(),
            claim.paper.clone(),
            claim.shown(),
            claim.answer().to_owned(),
        ]
    });
    let head = ["claim", "paper", "measured", "verdict"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
    let widest = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths = [widest(1), widest(2), widest(3)];
    // What the numbers leave, but never too narrow to read.
    let room = WIDTH.saturating_sub(widths.iter().sum::<usize>() + 8);
    let room = room.clamp(28, widest(0).max(28));
    for (number, row) in rows.iter().enumerate() {
        let lines = wrapped(&row[0], room);
        for (place, line) in lines.iter().enumerate() {
            let padded = |text: &str, width: usize| {
                let space = width.saturating_sub(text.chars().count());
                format!("{text}{}", " ".repeat(space))
            };
            let mut text = padded(line, room);
            if place == 0 {
                for (cell, width) in row[1..3].iter().zip(widths) {
                    text.push_str("  ");
                    text.push_str(&padded(cell, width));
                }
                let verdict = match number.checked_sub(1).map(|number| claims[number].verdict) {
                    Some(Verdict::Reproduced) => paint.best(&row[3]),
                    Some(Verdict::NotTestable) => paint.dim(&row[3]),
                    _ => row[3].clone(),
                };
                text.push_str("  ");
                text.push_str(&verdict);
            }
            let text = text.trim_end();
            if number == 0 {
                _ = writeln!(out, "{}", paint.dim(text));
            } else {
                _ = writeln!(out, "{text}");
            }
        }
    }
    if !left_out.is_empty() {
        let count = crate::cmd::run::count(left_out.len(), "claim");
        let told = format!("{count} not run in this version");
        _ = writeln!(out, "{}", paint.dim(&told));
    }
    for finding in &judged.findings {
        for (place, line) in wrapped(finding, WIDTH - 2).iter().enumerate() {
            let begin = if place == 0 { "- " } else { "  " };
            _ = writeln!(out, "{begin}{line}");
        }
    }
    out
}

/// A text in lines that are not wider, cut between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is one from the start");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("extraordinary", 4), ["extraordinary"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
