//! A figure as SVG.

use std::fmt::Write;

use super::layout::figure;
use super::palette::colour;
use super::scene::{Anchor, Fill, Ink, Painter, Text, Turn, Weight, short};
use super::{Chart, Theme};
use crate::html::escaped;

/// The chart as an SVG file.
pub fn svg(chart: &Chart, theme: Theme) -> String {
    let scene = figure(chart);
    let (width, height) = (scene.width, scene.height);
    let title = escaped(&chart.title);
    let paper = colour(Ink::Paper, theme);
    let out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="'Noto Sans', Helvetica, Arial, sans-serif">
<title>{title}</title>
<rect width="100%" height="100%" fill="{paper}"/>
"#
    );
    let mut page = Page { out, theme };
    scene.paint(&mut page);
    page.out + "</svg>\n"
}

struct Page {
    out: String,
    theme: Theme,
}

impl Page {
    fn put(&mut self, element: &str) {
        self.out.push_str(element);
        self.out.push('\n');
    }

    fn inks(&self, ink: Ink, fill: Fill) -> String {
        let (inside, edge, width) = fill.inks(ink);
        let (inside, edge) = (colour(inside, self.theme), colour(edge, self.theme));
        format!(r#"fill="{inside}" stroke="{edge}" stroke-width="{width}""#)
    }
}

impl Painter for Page {
    fn area(&mut self, points: &[(f64, f64)], ink: Ink, fill: Fill) {
        let inks = self.inks(ink, fill);
        self.put(&format!(r#"<path d="{}Z" {inks}/>"#, path(points)));
    }

    fn disc(&mut self, (x, y): (f64, f64), radius: f64, ink: Ink, fill: Fill) {
        let (x, y, inks) = (short(x), short(y), self.inks(ink, fill));
        self.put(&format!(r#"<circle cx="{x}" cy="{y}" r="{radius}" {inks}/>"#));
    }

    fn path(&mut self, points: &[(f64, f64)], ink: Ink, width: f64, dashes: &[f32]) {
        let (path, stroke) = (path(points), colour(ink, self.theme));
        let dashes: Vec<String> = dashes.iter().map(f32::to_string).collect();
        let dashes = match dashes.join(" ") {
            none if none.is_empty() => none,
            some => format!(r#" stroke-dasharray="{some}""#),
        };
        self.put(&format!(
            r#"<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round"{dashes}/>"#
        ));
    }

    fn text(&mut self, text: &Text) {
        let (x, y, words, size) = (short(text.x), short(text.y), escaped(&text.words), text.size);
        let fill = colour(Ink::Text, self.theme);
        let anchor = match text.anchor {
            Anchor::End => "end",
            Anchor::Middle => "middle",
            Anchor::Start => "start",
        };
        let bold = match text.weight {
            Weight::Bold => r#" font-weight="bold""#,
            Weight::Regular => "",
        };
        let turn = match text.turn {
            Turn::Level => String::new(),
            Turn::Up => format!(r#" transform="rotate(-90 {x} {y})""#),
        };
        self.put(&format!(
            r#"<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{fill}"{bold}{turn}>{words}</text>"#
        ));
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (place, (x, y)) in points.iter().enumerate() {
        let letter = if place == 0 { 'M' } else { 'L' };
        write!(path, "{letter}{} {}", short(*x), short(*y))
            .expect("writing to a string cannot fail");
    }
    path
}
