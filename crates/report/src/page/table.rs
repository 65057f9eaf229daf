//! The headline table and the warnings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Result, Write};

use tidegate_results::format::Scale;
use tidegate_results::record::{End, Run};
use tidegate_results::summary::{Better, Estimate, Extent, Metric, Rank, Relative, Summary};

use super::budget::ROWS;
use super::sweep::{Row, Sweep};
use crate::html::escaped;

/// Writes the warnings, each once with its points. Warnings that differ only in numbers are merged
/// under the first.
pub(super) fn warnings(out: &mut String, summary: &Summary) -> Result {
    let mut reasons: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for text in &summary.warnings {
        reasons.push((text, Vec::new()));
    }
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for point in &summary.points {
        for text in &point.warnings {
            let place = *known.entry(without_numbers(text)).or_insert_with(|| {
                reasons.push((text, Vec::new()));
                reasons.len() - 1
            });
            reasons[place].1.push((&point.label, text));
        }
    }
    if reasons.is_empty() {
        return Ok(());
    }
    out.push_str("<section class=\"warning\" aria-label=\"Warnings\"><h2>Warnings</h2><ul>\n");
    for (text, places) in reasons {
        write!(out, "<li>{}", escaped(text))?;
        let is_same = places.iter().all(|(_, other)| *other == text);
        match places.as_slice() {
            [] => {}
            [(label, _)] => write!(out, " <em>({})</em>", escaped(label))?,
            places if is_same && places.len() == summary.points.len() => {
                out.push_str(" <em>(all settings)</em>");
            }
            places => {
                let (there, all) = (places.len(), summary.points.len());
                let what = if is_same { "in" } else { "similar in" };
                write!(out, " <details><summary>{what} {there} of {all} settings</summary><ul>")?;
                for (label, own) in places.iter().take(ROWS) {
                    write!(out, "<li><em>{}</em>", escaped(label))?;
                    if !is_same {
                        write!(out, ": {}", escaped(own))?;
                    }
                }
                out.push_str("</ul></details>");
            }
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul></section>\n");
    Ok(())
}

/// A text with `#` for each number.
fn without_numbers(text: &str) -> String {
    let mut frame = String::new();
    for letter in text.chars() {
        let is_number = letter.is_ascii_digit() || letter == '.' && frame.ends_with('#');
        if !is_number {
            frame.push(letter);
        } else if !frame.ends_with('#') {
            frame.push('#');
        }
    }
    frame
}

/// Writes the table of all points and metrics, with the best value of each group marked.
pub(super) fn headline(out: &mut String, summary: &Summary) -> Result {
    let sweep = Sweep::new(summary);
    out.push_str("<section id=\"table\"><h2>Table</h2>\n");
    write_key(out, summary, &sweep)?;
    let columns = columns(summary, std::slice::from_ref(summary));
    begin(out, summary, &columns)?;
    let mut rows = 0;
    write_groups(out, summary, &sweep, &columns, ("", &mut rows))?;
    out.push_str("</table></div>");
    write_rest(out, summary.points.len(), "settings", "summary.csv")?;
    out.push_str("</section>\n");
    Ok(())
}

/// Writes the tables by flow size, class of service and queue number.
pub(super) fn classes(out: &mut String, summary: &Summary) -> Result {
    let sweep = Sweep::new(summary);
    let kinds = [
        ("size", "Flows by size", &summary.sizes),
        ("class", "Flows by class of service", &summary.services),
        ("queue", "Observed queues by number", &summary.queues),
    ];
    for (kind, title, breakdown) in kinds {
        let Some(breakdown) = breakdown else { continue };
        let parts = breakdown.parts.iter();
        let parts: Vec<Summary> = parts.map(|part| breakdown.summary(part, summary)).collect();
        let Some(first) = parts.first() else { continue };
        let open = if parts.len() > FOLDED { "" } else { " open" };
        write!(out, "<details{open}><summary>{title}</summary>")?;
        let columns = columns(first, &parts);
        begin(out, first, &columns)?;
        let mut rows = 0;
        for (part, of) in breakdown.parts.iter().zip(&parts) {
            let name = part.title(kind);
            write_groups(out, of, &sweep, &columns, (&name, &mut rows))?;
        }
        out.push_str("</table></div>");
        write_rest(out, parts.len() * summary.points.len(), "rows", "summary.json")?;
        out.push_str("</details>\n");
    }
    Ok(())
}

/// Tables with more classes are folded at first.
const FOLDED: usize = 4;

/// Writes the head of a table.
fn begin(out: &mut String, summary: &Summary, columns: &[Scale]) -> Result {
    out.push_str("<div class=\"wide\" tabindex=\"0\"><table class=\"headline\"><thead><tr><th scope=\"col\">setting</th>");
    for (metric, column) in summary.metrics.iter().zip(columns) {
        let unit = &column.unit;
        let unit = if unit.is_empty() {
            String::new()
        } else {
            format!(" <small>{}</small>", escaped(unit))
        };
        write!(out, "<th scope=\"col\">{}{unit}</th>", escaped(metric.title))?;
    }
    out.push_str("</tr></thead>\n");
    Ok(())
}

/// Writes the rows of a summary, grouped by the swept value. `part` names a part of the network, if
/// the table shows one; `rows` counts the rows of the table.
fn write_groups(
    out: &mut String,
    summary: &Summary,
    sweep: &Sweep,
    columns: &[Scale],
    (part, rows): (&str, &mut usize),
) -> Result {
    for group in sweep.groups() {
        let count = group.rows.len();
        // The best value refers to the whole group, so a group is shown whole or, if it is the
        // first, in part.
        if *rows > 0 && *rows + count > ROWS {
            break;
        }
        *rows += count;
        out.push_str("<tbody>");
        let names = [Some(part.to_owned()), group.title].into_iter().flatten();
        let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        if !names.is_empty() {
            let span = summary.metrics.len() + 1;
            write!(
                out,
                "<tr class=\"group\"><th colspan=\"{span}\" scope=\"rowgroup\"><span>{}</span></th></tr>",
                escaped(&names.join(", "))
            )?;
        }
        for row in group.rows.iter().take(ROWS) {
            write_row(out, summary, row, &group.rows, columns)?;
        }
        out.push_str("</tbody>\n");
    }
    Ok(())
}

/// Writes a note if the table is cut.
pub(super) fn write_rest(out: &mut String, known: usize, what: &str, place: &str) -> Result {
    if known > ROWS {
        write!(
            out,
            "<p class=\"note\">Shows at most {ROWS} of {known} {what}, to keep the page small; \
             <code>{place}</code> in the results folder has all.</p>"
        )?;
    }
    Ok(())
}

fn write_key(out: &mut String, summary: &Summary, sweep: &Sweep) -> Result {
    out.push_str(
        "<p>Value ± half the width of its 95 % confidence interval. <span class=\"best\">Best of its \
         group</span>; <span class=\"tied\">tied with the best</span>: 95 % intervals overlap.",
    );
    let baselines = summary.points.iter().filter_map(|point| point.baseline);
    let names: BTreeSet<&str> =
        baselines.map(|place| sweep.curves[sweep.curve_of[place]].as_str()).collect();
    if !names.is_empty() {
        let names: Vec<&str> = names.into_iter().collect();
        write!(
            out,
            " × is the ratio to <strong>{}</strong>, paired by seed.",
            escaped(&names.join(", "))
        )?;
    }
    out.push_str("</p>\n");
    Ok(())
}

fn write_row(
    out: &mut String,
    summary: &Summary,
    row: &Row,
    group: &[Row],
    columns: &[Scale],
) -> Result {
    let (place, name) = (row.point, &row.name);
    let point = &summary.points[place];
    let is_baseline = summary.points.iter().any(|point| point.baseline == Some(place));
    let base = if is_baseline { " <small>baseline</small>" } else { "" };
    let care = if point.warnings.is_empty() {
        String::new()
    } else {
        format!(" <abbr class=\"care\" title=\"{}\">!</abbr>", escaped(&point.warnings.join("\n")))
    };
    write!(out, "<tr><th scope=\"row\">{}{base}{care}</th>", escaped(name))?;
    for (number, metric) in summary.metrics.iter().enumerate() {
        let Some(estimate) = estimate(summary, place, number) else {
            out.push_str("<td class=\"none\">–</td>");
            continue;
        };
        let others = group.iter().filter_map(|row| self::estimate(summary, row.point, number));
        let others: Vec<Extent> = others.map(Extent::from).collect();
        let class = match Rank::of(estimate.into(), metric.better, &others) {
            Some(Rank::Best) => "best",
            Some(Rank::Tied) => "tied",
            Some(Rank::Behind) | None => "",
        };
        write_cell(out, &estimate, metric, &columns[number], class)?;
    }
    out.push_str("</tr>\n");
    Ok(())
}

fn write_cell(
    out: &mut String,
    estimate: &Estimate,
    metric: &Metric,
    column: &Scale,
    class: &str,
) -> Result {
    let known = estimate.interval();
    let interval = known.map_or_else(
        || "interval unknown".to_owned(),
        |(low, high)| format!("{} to {}", column.number(low), column.number(high)),
    );
    write!(
        out,
        "<td class=\"{class}\" title=\"{interval} {}, from {} samples\">{}",
        escaped(&column.unit),
        estimate.samples,
        column.number(estimate.value)
    )?;
    out.push_str("<span class=\"more\">");
    if let Some((low, high)) = known.filter(|(low, high)| high > low) {
        write!(out, "±{}", column.number((high - low) / 2.0))?;
    }
    if let Some(relative) = estimate.relative.filter(|relative| relative.ratio.is_finite()) {
        let (ratio, class) = (relative.ratio, verdict(&relative, metric.better));
        write!(out, " <span class=\"ratio {class}\">×{ratio:.2}</span>")?;
    }
    out.push_str("</span></td>");
    Ok(())
}

/// CSS class of a ratio that differs significantly from one.
fn verdict(relative: &Relative, better: Better) -> &'static str {
    let Some((low, high)) = relative.interval() else {
        return "";
    };
    match better {
        Better::Higher if low > 1.0 => "good",
        Better::Higher if high < 1.0 => "bad",
        Better::Lower if high < 1.0 => "good",
        Better::Lower if low > 1.0 => "bad",
        Better::Higher | Better::Lower | Better::Neither => "",
    }
}

fn estimate(summary: &Summary, point: usize, metric: usize) -> Option<Estimate> {
    let estimate = summary.points[point].estimates.get(metric).copied().flatten();
    estimate.filter(|estimate| estimate.value.is_finite())
}

/// The scale of each column over all these summaries: the same prefix and decimals for all rows, so
/// that numbers are easy to compare.
fn columns(first: &Summary, all: &[Summary]) -> Vec<Scale> {
    let column = |(place, metric): (usize, &Metric)| {
        let values = all.iter().flat_map(|summary| {
            let points = 0..summary.points.len();
            points.filter_map(move |point| Some(estimate(summary, point, place)?.value.abs()))
        });
        Scale::of_median(metric.unit, values)
    };
    first.metrics.iter().enumerate().map(column).collect()
}

/// The end of a run in words.
pub(super) fn ending(run: &Run) -> String {
    match &run.end {
        End::Finished => "finished".to_owned(),
        End::Interrupted => "interrupted".to_owned(),
        End::Stalled(why) => format!("stalled: {why}"),
        End::TimeUp => "time up".to_owned(),
    }
}
