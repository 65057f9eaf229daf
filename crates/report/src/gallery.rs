//! Gallery of published figures: each redrawn, with the claims of its paper and the measured
//! values.
//!
//! One HTML file with the style, script and charts of a report page.

use std::fmt::Write;

use crate::html::escaped;
use crate::page::{self, Panel};
use crate::plot::Chart;

/// Figures on a page.
#[derive(Clone, Debug)]
pub struct Gallery<'a> {
    /// Heading.
    pub title: &'a str,
    /// Short facts about the runs and the program.
    pub facts: &'a [String],
    /// Verdicts with their number of claims.
    pub verdicts: &'a [(&'a str, usize)],
    /// Main claims of each paper.
    pub headlines: &'a [Headlines],
    /// Figures.
    pub figures: &'a [Shown],
}

/// Main claims of a paper, with verdicts.
#[derive(Clone, Debug)]
pub struct Headlines {
    /// Title of the paper.
    pub title: String,
    /// Claims, each with its figure and a note that explains the verdict.
    pub claims: Vec<(String, Row)>,
}

/// A figure, with the verdicts on its claims.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Name, such as `tcn-f10`.
    pub id: String,
    /// Title.
    pub title: String,
    /// Content and source of the figure.
    pub intro: String,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Claims that count.
    pub claims: Vec<Row>,
    /// Claims that do not count: variants, inputs, arithmetic.
    pub outside: Vec<Row>,
    /// Lists of remarks with headings. Empty lists are left out.
    pub remarks: Vec<(&'static str, Vec<String>)>,
    /// Command that reproduces the figure.
    pub command: String,
    /// Relative path of the report of its runs, if there is one.
    pub report: Option<String>,
}

/// A claim with its verdict.
#[derive(Clone, Debug)]
pub struct Row {
    /// Claim in words.
    pub claim: String,
    /// Published value.
    pub paper: String,
    /// Measured value.
    pub measured: String,
    /// Verdict.
    pub verdict: String,
    /// Verdict as a CSS class.
    pub class: &'static str,
    /// Remark.
    pub note: Option<String>,
}

impl Gallery<'_> {
    /// The page.
    pub fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("writing to a string cannot fail");
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        page::begin(out, self.title)?;
        out.push_str("<p class=\"facts\">");
        for fact in self.facts {
            write!(out, "<span>{}</span>", escaped(fact))?;
        }
        out.push_str("</p>\n<p>");
        for (verdict, count) in self.verdicts.iter().filter(|(_, count)| *count > 0) {
            write!(out, "<span class=\"tied\">{count} {}</span> ", escaped(verdict))?;
        }
        out.push_str("</p>\n<nav aria-label=\"Figures\">");
        for figure in self.figures {
            let id = escaped(&figure.id);
            write!(out, r##"<a href="#{id}">{id}</a>"##)?;
        }
        out.push_str("</nav>\n</header>\n<main>\n");
        self.write_headlines(out)?;
        out.push_str(page::CHARTS_BEGIN);
        for figure in self.figures {
            figure.write(out)?;
        }
        let panels: Vec<(String, Vec<Panel>)> = self.figures.iter().map(Shown::panels).collect();
        let sections = panels.iter().map(|(id, panels)| (id.as_str(), panels.as_slice()));
        page::end(out, &page::data::embedded(self.title, &[], sections))
    }

    fn write_headlines(&self, out: &mut String) -> std::fmt::Result {
        for paper in self.headlines.iter().filter(|paper| !paper.claims.is_empty()) {
            write!(out, "<section class=\"headlines\"><h2>{}</h2>", escaped(&paper.title))?;
            begin_claims(out);
            for (figure, row) in &paper.claims {
                row.write(out, Some(figure))?;
            }
            end_claims(out);
            out.push_str("</section>\n");
        }
        Ok(())
    }
}

impl Shown {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        let (id, title) = (escaped(&self.id), escaped(&self.title));
        write!(
            out,
            r#"<section id="{id}" class="figure"><h2>{title}</h2><p>{}"#,
            escaped(&self.intro)
        )?;
        if let Some(report) = &self.report {
            write!(out, r#" <a href="{}">All runs.</a>"#, escaped(report))?;
        }
        out.push_str("</p><div class=\"choices\"></div><div class=\"charts\"></div>\n");
        let is_run = |row: &&Row| row.class != NOT_RUN;
        let claims: Vec<&Row> = self.claims.iter().filter(is_run).collect();
        if !claims.is_empty() {
            write_claims(out, &claims)?;
        }
        let outside: Vec<&Row> = self.outside.iter().filter(is_run).collect();
        if !outside.is_empty() {
            out.push_str("<h3>Outside the tally</h3>");
            write_claims(out, &outside)?;
        }
        let all = self.claims.iter().chain(&self.outside);
        let not_run: Vec<&Row> = all.filter(|row| !is_run(row)).collect();
        if !not_run.is_empty() {
            let count = not_run.len();
            let plural = if count == 1 { "" } else { "s" };
            write!(
                out,
                "<details><summary>{count} claim{plural} not run in this version</summary>"
            )?;
            write_claims(out, &not_run)?;
            out.push_str("</details>\n");
        }
        for (heading, remarks) in self.remarks.iter().filter(|(_, items)| !items.is_empty()) {
            write!(out, "<h3>{heading}</h3><ul>")?;
            for remark in remarks {
                write!(out, "<li>{}", escaped(remark))?;
            }
            out.push_str("</ul>\n");
        }
        writeln!(out, "<pre class=\"command\">{}</pre></section>", escaped(&self.command))
    }

    /// The charts, with ids that are unique on the page.
    fn panels(&self) -> (String, Vec<Panel>) {
        let panel = |chart: &Chart| {
            let mut chart = chart.clone();
            chart.id = format!("{}-{}", self.id, chart.id);
            Panel { chart, facets: Vec::new() }
        };
        (self.id.clone(), self.charts.iter().map(panel).collect())
    }
}

/// CSS class of claims that a version does not run; they are folded.
pub const NOT_RUN: &str = "not-run";

fn write_claims(out: &mut String, rows: &[&Row]) -> std::fmt::Result {
    begin_claims(out);
    for row in rows {
        row.write(out, None)?;
    }
    end_claims(out);
    Ok(())
}

fn begin_claims(out: &mut String) {
    out.push_str("<div class=\"wide\" tabindex=\"0\"><table class=\"claims\"><thead><tr><th>claim<th>paper<th>measured<th>verdict</tr></thead><tbody>\n");
}

fn end_claims(out: &mut String) {
    out.push_str("</tbody></table></div>\n");
}

impl Row {
    /// Writes a table row, with a link to the figure if the table covers several.
    fn write(&self, out: &mut String, figure: Option<&str>) -> std::fmt::Result {
        write!(out, "<tr><td>{}", escaped(&self.claim))?;
        if let Some(figure) = figure {
            let id = escaped(figure);
            write!(out, r##" <a href="#{id}">{id}</a>"##)?;
        }
        if let Some(note) = &self.note {
            write!(out, "<small>{}</small>", escaped(note))?;
        }
        writeln!(
            out,
            r#"<td data-name="paper">{}<td data-name="measured">{}<td data-name="verdict" class="verdict {}">{}"#,
            escaped(&self.paper),
            escaped(&self.measured),
            self.class,
            escaped(&self.verdict)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Kind, Line, Mark, Origin};

    #[test]
    fn a_gallery_loads_nothing_and_escapes_its_input() {
        let line = Line {
            name: "A <b>".into(),
            hue: 0,
            marks: vec![Mark::new(0.0, 1.0)],
            origin: Origin::Published,
        };
        let chart = Chart {
            id: "c1".into(),
            title: "title".into(),
            kind: Kind::Curves,
            x: Axis::linear("x", ""),
            y: Axis::linear("y", ""),
            lines: vec![line],
            notes: Vec::new(),
            commands: Vec::new(),
        };
        let row = Row {
            claim: "<script>".into(),
            paper: "1".into(),
            measured: "2 ± 1".into(),
            verdict: "reproduced".into(),
            class: "reproduced",
            note: None,
        };
        let left_out = Row { claim: "left out".into(), class: NOT_RUN, ..row.clone() };
        let figure = Shown {
            id: "tcn-f1".into(),
            title: "Figure".into(),
            intro: "Intro.".into(),
            charts: vec![chart],
            claims: vec![row.clone(), left_out],
            outside: vec![Row { claim: "a variant".into(), ..row.clone() }],
            remarks: vec![("Findings", vec!["a & b".into()]), ("Empty", Vec::new())],
            command: "tidegate reproduce tcn-f1".into(),
            report: None,
        };
        let headlines = Headlines {
            title: "Paper".into(),
            claims: vec![("tcn-f1".into(), Row { claim: "first of all".into(), ..row })],
        };
        let gallery = Gallery {
            title: "Gallery",
            facts: &[],
            headlines: &[headlines],
            verdicts: &[("reproduced", 1), ("not run", 0)],
            figures: &[figure],
        };
        let page = gallery.render();
        assert!(page.contains("&lt;script&gt;") && page.contains("a &amp; b"));
        assert!(page.contains(r#""id":"tcn-f1-c1""#) && page.contains(r#""published":true"#));
        assert!(!page.contains("<h3>Empty") && !page.contains("http:") || !page.contains("src="));
        assert!(page.contains(r#"<section id="tcn-f1""#));
        let place = |text: &str| page.find(text).unwrap();
        assert!(place("first of all") < place(r#"<section id="tcn-f1""#));
        assert!(place("Outside the tally") < place("a variant"));
        let folded = page.find("<summary>1 claim not run in this version").unwrap();
        assert!(page.find("left out").unwrap() > folded && !page.contains("0 not run"));
    }
}
