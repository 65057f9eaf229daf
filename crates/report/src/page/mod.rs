//! The report: one self-contained HTML file with the results as tables and charts.
//!
//! The page's own script draws the charts from embedded data, so that readers can zoom, read values
//! and switch lines; [`crate::figures`] writes the same charts for papers.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "drawing needs no more digits than a float has, and equal values are copies"
)]

mod budget;
pub(crate) mod data;
mod order;
mod section;
mod sweep;
mod table;
mod terms;
pub mod thin;

use std::fmt::Write;

use crate::html::escaped;
use crate::manifest::Manifest;
use crate::plot::Chart;
use tidegate_results::View;
use tidegate_results::record::Setting;
use tidegate_results::summary::Summary;

pub use order::in_numeric_order;
pub use section::{Facet, Panel, Section};
pub use sweep::{Group, Row, groups, measure as swept_value, title_of as swept_title};
pub use terms::TERMS;

/// Style sheet of reports, also for other pages.
pub const STYLE: &str = include_str!("style.css");
/// In order of dependency.
const SCRIPTS: [&str; 5] = [
    tidegate_results::format::SCRIPT,
    include_str!("scale.js"),
    include_str!("draw.js"),
    include_str!("interact.js"),
    include_str!("page.js"),
];

/// Input of a report.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// Heading.
    pub title: &'a str,
    /// Manifests of the folders of the records.
    pub manifests: &'a [Manifest],
    /// Runs.
    pub records: Vec<View<'a>>,
    /// Summary of the runs.
    pub summary: &'a Summary,
}

impl Page<'_> {
    /// The page.
    pub fn render(&self) -> String {
        let sections = self.sections();
        let mut out = String::new();
        self.write(&mut out, &sections).expect("writing to a string cannot fail");
        out
    }

    /// The charts of the page, in its order.
    pub fn sections(&self) -> Vec<Section> {
        section::all(self)
    }

    /// The chart of a metric in the section of results.
    pub fn chart_of(&self, metric: &str) -> Option<Chart> {
        let results = self.sections().into_iter().find(|section| section.id == "results")?;
        let mut charts = results.panels.into_iter().map(|panel| panel.chart);
        charts.find(|chart| chart.id == metric.replace('_', "-"))
    }

    fn write(&self, out: &mut String, sections: &[Section]) -> std::fmt::Result {
        begin(out, self.title)?;
        self.write_facts(out)?;
        write_navigation(out, sections)?;
        out.push_str("</header>\n<main>\n");
        table::warnings(out, self.summary)?;
        table::headline(out, self.summary)?;
        out.push_str(CHARTS_BEGIN);
        for section in sections {
            let (id, title) = (section.id, escaped(section.title));
            writeln!(
                out,
                r#"<section id="{id}"><h2>{title}</h2><p>{}</p>"#,
                escaped(section.intro)
            )?;
            if section.id == "classes" {
                table::classes(out, self.summary)?;
            }
            out.push_str("<div class=\"choices\"></div><div class=\"charts\"></div></section>\n");
        }
        self.write_origin(out)?;
        terms::write(out)?;
        let sweeps: Vec<&str> =
            self.manifests.iter().map(|manifest| manifest.command.as_str()).collect();
        let panels = sections.iter().map(|section| (section.id, section.panels.as_slice()));
        end(out, &data::embedded(self.title, &sweeps, panels))
    }

    /// Writes the facts of the study in one line.
    fn write_facts(&self, out: &mut String) -> std::fmt::Result {
        let runs = self.records.len();
        let planned: usize = self.manifests.iter().map(|it| it.runs.len()).sum();
        let of_planned = match planned {
            planned if planned > runs => format!(" of {planned}"),
            _ => String::new(),
        };
        let points = self.summary.points.len();
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        write!(
            out,
            "<p class=\"facts\"><span>{points} setting{}, {runs}{of_planned} run{}</span>",
            plural(points),
            plural(runs.max(planned))
        )?;
        for manifest in self.manifests {
            if manifest.title != self.title && !manifest.title.is_empty() {
                write!(out, "<span>{}</span>", escaped(&manifest.title))?;
            }
            write!(out, "<span>tidegate {}", escaped(&manifest.version))?;
            if !manifest.revision.is_empty() {
                write!(out, " <code>{}</code>", escaped(&manifest.revision))?;
            }
            write!(out, "</span><span>seed {}</span>", escaped(&manifest.seed))?;
        }
        out.push_str("</p>\n");
        self.write_setups(out)
    }

    /// Writes network, hosts, traffic and load of each folder, once for folders with the same
    /// setup.
    fn write_setups(&self, out: &mut String) -> std::fmt::Result {
        let mut seen: Vec<&[Setting]> = Vec::new();
        for manifest in self.manifests {
            let setup = manifest.setup.as_slice();
            if setup.is_empty() || seen.contains(&setup) {
                continue;
            }
            seen.push(setup);
            out.push_str("<dl class=\"setup\">");
            let mut above = "";
            for Setting { key, value } in setup {
                if key != above {
                    write!(out, "<dt>{}</dt>", escaped(key))?;
                    above = key;
                }
                write!(out, "<dd>{}</dd>", escaped(value))?;
            }
            out.push_str("</dl>\n");
        }
        Ok(())
    }

    /// Writes how to reproduce the results.
    fn write_origin(&self, out: &mut String) -> std::fmt::Result {
        out.push_str("<section id=\"origin\"><h2>Reproduce</h2>\n");
        for manifest in self.manifests {
            let facts = [
                ("scenario", &manifest.name),
                ("title", &manifest.title),
                ("version", &manifest.version),
                ("revision", &manifest.revision),
                ("first seed", &manifest.seed),
            ];
            out.push_str("<dl>");
            for (name, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
                write!(out, "<dt>{name}</dt><dd>{}</dd>", escaped(value))?;
            }
            let finished = format!("{} planned", manifest.runs.len());
            write!(out, "<dt>runs</dt><dd>{finished}</dd>")?;
            writeln!(
                out,
                "<dt>command</dt><dd><pre class=\"command\">{}</pre></dd></dl>",
                escaped(&manifest.command)
            )?;
            writeln!(
                out,
                "<details><summary>Full scenario with all defaults</summary><pre>{}</pre></details>",
                escaped(&manifest.scenario)
            )?;
        }
        out.push_str("<details><summary>All runs</summary><div class=\"wide\"><table class=\"runs\"><thead><tr><th>run<th>seed<th>fingerprint<th>ended<th>command</tr></thead><tbody>\n");
        for record in self.records.iter().take(budget::ROWS) {
            let run = &record.run;
            writeln!(
                out,
                "<tr><td>{}<td>{}<td><code>{}</code><td>{}<td><code>{}</code>",
                escaped(&run.id),
                escaped(&run.seed),
                escaped(&run.fingerprint),
                escaped(&table::ending(run)),
                escaped(&run.command)
            )?;
        }
        out.push_str("</tbody></table></div>");
        table::write_rest(out, self.records.len(), "runs", "runs/*/run.json")?;
        out.push_str("</details>\n</section>\n");
        Ok(())
    }
}

/// Markup before the first chart: a note for browsers without scripts, and the container of the
/// common legend.
pub(crate) const CHARTS_BEGIN: &str = "<noscript><p class=\"warning\">Charts need JavaScript. The page loads nothing from elsewhere.</p></noscript>\n<div id=\"lines\"></div>\n";

/// Writes the start of a page up to the heading.
pub(crate) fn begin(out: &mut String, title: &str) -> std::fmt::Result {
    let title = escaped(title);
    // The policy guarantees that the page loads nothing.
    write!(
        out,
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="tidegate">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<h1>{title}</h1>
"#
    )
}

/// A page in the style of reports, without charts. `body` is HTML.
pub fn document(title: &str, body: &str) -> String {
    let mut out = String::new();
    begin(&mut out, title).expect("writing to a string cannot fail");
    out.push_str("</header>\n<main>\n");
    out.push_str(body);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// The inline style sheet and script of every page. With their hashes, a content security policy
/// can allow only them.
pub fn inline() -> [String; 2] {
    [format!("\n{STYLE}"), script()]
}

fn script() -> String {
    let scripts = SCRIPTS.concat();
    format!("\n(() => {{\n'use strict';\n{scripts}}})();\n")
}

/// The part of a page that changes while runs finish: warnings and the table of results.
pub fn table(summary: &Summary) -> String {
    let mut out = String::new();
    table::warnings(&mut out, summary)
        .and_then(|()| table::headline(&mut out, summary))
        .expect("writing to a string cannot fail");
    out
}

/// Writes the end of a page with the data of its charts.
pub(crate) fn end(out: &mut String, data: &str) -> std::fmt::Result {
    out.push_str("</main>\n");
    writeln!(out, r#"<script type="application/json" id="data">{data}</script>"#)?;
    writeln!(out, "<script>{}</script>\n</body>\n</html>", script())
}

fn write_navigation(out: &mut String, sections: &[Section]) -> std::fmt::Result {
    out.push_str("<nav aria-label=\"Sections\"><a href=\"#table\">Table</a>");
    for section in sections {
        write!(out, r##"<a href="#{}">{}</a>"##, section.id, escaped(section.title))?;
    }
    out.push_str("<a href=\"#origin\">Reproduce</a></nav>\n");
    Ok(())
}
