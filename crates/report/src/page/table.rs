//! The headline table and the warnings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Result, Write};

use tidegate_results::format::Prefix;
use tidegate_results::record::{End, Run};
use tidegate_results::summary::{Better, Estimate, Extent, Metric, Rank, Relative, Summary};

use super::budget::ROWS;
use super::sweep::{Row, Sweep};
use crate::html::escaped;

/// Why numbers should not be trusted: each reason once, with where it holds. Reasons that differ in
/// their numbers only are one, shown with the first's.
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
    out.push_str(
        "<section class=\"warning\" aria-label=\"Warnings\"><h2>Read with care</h2><ul>\n",
    );
    for (text, places) in reasons {
        write!(out, "<li>{}", escaped(text))?;
        let is_same = places.iter().all(|(_, other)| *other == text);
        match places.as_slice() {
            [] => {}
            [(label, _)] => write!(out, " <em>({})</em>", escaped(label))?,
            places if is_same && places.len() == summary.points.len() => {
                out.push_str(" <em>(everywhere)</em>");
            }
            places => {
                let (there, all) = (places.len(), summary.points.len());
                let what = if is_same { "in" } else { "and alike in" };
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

/// A text with a `#` in place of each number.
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

/// All points and metrics, the best of each group marked.
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

/// The numbers of each class of service, and of the queues of each number.
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

/// Tables of more classes than this are folded at first.
const FOLDED: usize = 4;

/// Begins a table with the names of its columns.
fn begin(out: &mut String, summary: &Summary, columns: &[Column]) -> Result {
    out.push_str("<div class=\"wide\" tabindex=\"0\"><table class=\"headline\"><thead><tr><th scope=\"col\">setting</th>");
    for (metric, column) in summary.metrics.iter().zip(columns) {
        let unit = column.prefix.unit();
        let unit = if unit.is_empty() {
            String::new()
        } else {
            format!(" <small>{}</small>", escaped(&unit))
        };
        write!(out, "<th scope=\"col\">{}{unit}</th>", escaped(metric.title))?;
    }
    out.push_str("</tr></thead>\n");
    Ok(())
}

/// The rows of a summary, those at one value of the sweep together. `part` is what they are of
/// beside that, if it is not the whole; `rows` counts those of the table.
fn write_groups(
    out: &mut String,
    summary: &Summary,
    sweep: &Sweep,
    columns: &[Column],
    (part, rows): (&str, &mut usize),
) -> Result {
    for group in sweep.groups() {
        let count = group.rows.len();
        // The best is that of the whole group, so a group is shown whole or, if it is the first, in
        // part.
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

/// Says that a table is not the whole.
pub(super) fn write_rest(out: &mut String, known: usize, what: &str, place: &str) -> Result {
    if known > ROWS {
        write!(
            out,
            "<p class=\"note\">At most {ROWS} of {known} {what} are shown, to keep the page small; \
             <code>{place}</code> in the results folder has all.</p>"
        )?;
    }
    Ok(())
}

fn write_key(out: &mut String, summary: &Summary, sweep: &Sweep) -> Result {
    out.push_str(
        "<p>Value ± half of its 95 % confidence interval. <span class=\"best\">Best of its \
         group</span>; <span class=\"tied\">not distinguishable from the best</span>: the intervals meet.",
    );
    let baselines = summary.points.iter().filter_map(|point| point.baseline);
    let names: BTreeSet<&str> =
        baselines.map(|place| sweep.curves[sweep.curve_of[place]].as_str()).collect();
    if !names.is_empty() {
        let names: Vec<&str> = names.into_iter().collect();
        write!(
            out,
            " × is relative to <strong>{}</strong>, seed by seed.",
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
    columns: &[Column],
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
    column: &Column,
    class: &str,
) -> Result {
    let known = estimate.interval();
    let interval = known.map_or_else(
        || "interval not known".to_owned(),
        |(low, high)| format!("{} to {}", column.text(low), column.text(high)),
    );
    write!(
        out,
        "<td class=\"{class}\" title=\"{interval} {}, from {} samples\">{}",
        escaped(&column.prefix.unit()),
        estimate.samples,
        column.text(estimate.value)
    )?;
    out.push_str("<span class=\"more\">");
    if let Some((low, high)) = known.filter(|(low, high)| high > low) {
        write!(out, "±{}", column.text((high - low) / 2.0))?;
    }
    if let Some(relative) = estimate.relative.filter(|relative| relative.ratio.is_finite()) {
        let (ratio, class) = (relative.ratio, verdict(&relative, metric.better));
        write!(out, " <span class=\"ratio {class}\">×{ratio:.2}</span>")?;
    }
    out.push_str("</span></td>");
    Ok(())
}

/// Whether a point is surely better or worse than its baseline.
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

/// How the numbers of a column are written: all with the same prefix and decimals, so that they can
/// be compared at a glance.
struct Column {
    prefix: Prefix,
    decimals: usize,
}

/// The columns of a table, whose rows are those of all these summaries.
fn columns(first: &Summary, all: &[Summary]) -> Vec<Column> {
    let column = |(place, metric): (usize, &Metric)| {
        let values = all.iter().flat_map(|summary| {
            let points = 0..summary.points.len();
            points.filter_map(move |point| Some(estimate(summary, point, place)?.value.abs()))
        });
        Column::new(metric.unit, values)
    };
    first.metrics.iter().enumerate().map(column).collect()
}

impl Column {
    /// As it suits the middle value: three digits of it.
    fn new(unit: &'static str, values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.get(values.len() / 2).copied().unwrap_or(1.0);
        let prefix = Prefix::of_unit(unit, middle);
        let digits = (middle / prefix.divisor).log10().floor();
        Self { prefix, decimals: (2.0 - digits).clamp(0.0, 6.0) as usize }
    }

    fn text(&self, value: f64) -> String {
        format!("{:.*}", self.decimals, value / self.prefix.divisor)
    }
}

/// How a run ended, in words.
pub(super) fn ending(run: &Run) -> String {
    match &run.end {
        End::Finished => "finished".to_owned(),
        End::Interrupted => "interrupted".to_owned(),
        End::Stalled(why) => format!("stalled: {why}"),
        End::TimeUp => "time up".to_owned(),
    }
}
