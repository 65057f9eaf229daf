//! A figure as SVG.

use std::fmt::Write;

use super::layout::figure;
use super::palette::colour;
use super::scene::{Anchor, Fill, Ink, Scene, Shape, Turn, Weight};
use super::{Chart, Theme};
use crate::html::escaped;

/// The chart as an SVG file.
pub fn svg(chart: &Chart, theme: Theme) -> String {
    let scene = figure(chart);
    let mut out = String::new();
    write(&mut out, &scene, chart, theme).expect("writing to a string cannot fail");
    out
}

fn write(out: &mut String, scene: &Scene, chart: &Chart, theme: Theme) -> std::fmt::Result {
    let (width, height) = (scene.width, scene.height);
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="'Noto Sans', Helvetica, Arial, sans-serif">"#
    )?;
    writeln!(out, "<title>{}</title>", escaped(&chart.title))?;
    let paper = colour(Ink::Paper, theme);
    writeln!(out, r#"<rect width="100%" height="100%" fill="{paper}"/>"#)?;
    for shape in &scene.shapes {
        write_shape(out, shape, theme)?;
    }
    out.push_str("</svg>\n");
    Ok(())
}

fn write_shape(out: &mut String, shape: &Shape, theme: Theme) -> std::fmt::Result {
    let painted = |fill: Fill, ink: Ink| {
        let (inside, edge, width) = fill.inks(ink);
        let (inside, edge) = (colour(inside, theme), colour(edge, theme));
        format!(r#"fill="{inside}" stroke="{edge}" stroke-width="{width}""#)
    };
    match shape {
        Shape::Area { points, ink, fill } => {
            let (path, paint) = (path(points), painted(*fill, *ink));
            writeln!(out, r#"<path d="{path}Z" {paint}/>"#)
        }
        Shape::Disc {
            x,
            y,
            radius,
            ink,
            fill,
        } => {
            let (x, y, paint) = (short(*x), short(*y), painted(*fill, *ink));
            writeln!(out, r#"<circle cx="{x}" cy="{y}" r="{radius}" {paint}/>"#)
        }
        Shape::Path {
            points,
            ink,
            width,
            dashes,
        } => {
            let (path, stroke) = (path(points), colour(*ink, theme));
            write!(
                out,
                r#"<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round""#
            )?;
            if !dashes.is_empty() {
                let dashes: Vec<String> = dashes.iter().map(f32::to_string).collect();
                write!(out, r#" stroke-dasharray="{}""#, dashes.join(" "))?;
            }
            out.push_str("/>\n");
            Ok(())
        }
        Shape::Text {
            x,
            y,
            text,
            size,
            anchor,
            weight,
            turn,
        } => {
            let (x, y, text) = (short(*x), short(*y), escaped(text));
            let fill = colour(Ink::Text, theme);
            let anchor = match anchor {
                Anchor::End => "end",
                Anchor::Middle => "middle",
                Anchor::Start => "start",
            };
            let bold = if *weight == Weight::Bold {
                r#" font-weight="bold""#
            } else {
                ""
            };
            let turn = match turn {
                Turn::Level => String::new(),
                Turn::Up => format!(r#" transform="rotate(-90 {x} {y})""#),
            };
            writeln!(
                out,
                r#"<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{fill}"{bold}{turn}>{text}</text>"#
            )
        }
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

/// A length to a hundredth of a pixel.
fn short(length: f64) -> f64 {
    (length * 100.0).round() / 100.0
}
