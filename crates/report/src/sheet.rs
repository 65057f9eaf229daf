//! A page of tables, lists, texts and charts, with the style and the script of a report page.

use std::fmt::Write;

use crate::html::escaped;
use crate::page::{self, Panel};
use crate::plot::Chart;

/// A page of parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// Heading.
    pub title: String,
    /// Short facts below the heading.
    pub facts: Vec<String>,
    /// Parts of the page.
    pub parts: Vec<Part>,
}

/// A part of a page. Empty fields are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Anchor in the page, valid as a file name.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Introduction of one or two sentences.
    pub intro: String,
    /// Column heads of the table.
    pub head: Vec<String>,
    /// Rows of the table; cells beyond the head are remarks below their row.
    pub rows: Vec<Row>,
    /// A list.
    pub lines: Vec<String>,
    /// Preformatted text, such as a configuration.
    pub text: String,
    /// Charts.
    pub charts: Vec<Chart>,
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Cells.
    pub cells: Vec<String>,
    /// Remark below the first cell.
    pub note: String,
    /// CSS class: `good`, `bad`, or empty.
    pub class: &'static str,
}

impl Sheet {
    /// The page.
    pub fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("writing to a string cannot fail");
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        page::begin(out, &self.title)?;
        out.push_str("<p class=\"facts\">");
        for fact in &self.facts {
            write!(out, "<span>{}</span>", escaped(fact))?;
        }
        out.push_str("</p>\n<nav aria-label=\"Parts\">");
        for part in &self.parts {
            let (id, title) = (escaped(&part.id), escaped(&part.title));
            write!(out, r##"<a href="#{id}">{title}</a>"##)?;
        }
        out.push_str("</nav>\n</header>\n<main>\n");
        if self.parts.iter().any(|part| !part.charts.is_empty()) {
            out.push_str(page::CHARTS_BEGIN);
        }
        for part in &self.parts {
            part.write(out)?;
        }
        let panels: Vec<(String, Vec<Panel>)> = self.parts.iter().map(Part::panels).collect();
        let sections = panels.iter().map(|(id, panels)| (id.as_str(), panels.as_slice()));
        page::end(out, &page::data::embedded(&self.title, &[], sections))
    }
}

impl Part {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        let (id, title) = (escaped(&self.id), escaped(&self.title));
        write!(out, r#"<section id="{id}" class="figure"><h2>{title}</h2>"#)?;
        if !self.intro.is_empty() {
            write!(out, "<p>{}</p>", escaped(&self.intro))?;
        }
        out.push_str("<div class=\"choices\"></div><div class=\"charts\"></div>\n");
        if !self.rows.is_empty() {
            self.write_table(out)?;
        }
        if !self.lines.is_empty() {
            out.push_str("<ul>");
            for line in &self.lines {
                write!(out, "<li>{}", escaped(line))?;
            }
            out.push_str("</ul>\n");
        }
        if !self.text.is_empty() {
            writeln!(out, "<pre>{}</pre>", escaped(&self.text))?;
        }
        out.push_str("</section>\n");
        Ok(())
    }

    fn write_table(&self, out: &mut String) -> std::fmt::Result {
        out.push_str(
            "<div class=\"wide\" tabindex=\"0\"><table class=\"claims sheet\"><thead><tr>",
        );
        for name in &self.head {
            write!(out, "<th>{}", escaped(name))?;
        }
        out.push_str("</tr></thead><tbody>\n");
        for row in &self.rows {
            write!(out, r#"<tr class="{}">"#, row.class)?;
            let names = self.head.iter().map(String::as_str);
            for (place, (cell, name)) in row.cells.iter().zip(names).enumerate() {
                write!(out, r#"<td data-name="{}">{}"#, escaped(name), escaped(cell))?;
                if place == 0 && !row.note.is_empty() {
                    write!(out, "<small>{}</small>", escaped(&row.note))?;
                }
            }
            out.push('\n');
        }
        out.push_str("</tbody></table></div>\n");
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_loads_nothing_and_escapes_its_input() {
        let part = Part {
            id: "answer".into(),
            title: "Answer".into(),
            head: vec!["queue".into(), "mark at".into()],
            rows: vec![Row {
                cells: vec!["<b>".into(), "67.5 KB".into()],
                note: "a & b".into(),
                class: "bad",
            }],
            lines: vec!["one line".into()],
            text: "{ \"QUEUE\": {} }".into(),
            ..Part::default()
        };
        let sheet =
            Sheet { title: "Plan".into(), facts: vec!["25 Gb/s".into()], parts: vec![part] };
        let page = sheet.render();
        assert!(page.contains("&lt;b&gt;") && page.contains("<small>a &amp; b</small>"));
        assert!(page.contains(r##"<a href="#answer">Answer</a>"##));
        assert!(!page.contains("src=") && !page.contains("CHARTS"));
        assert_eq!(page, sheet.render(), "the same page to the byte");
    }
}
