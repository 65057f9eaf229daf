//! A figure as PDF, for papers.
//!
//! One page of the size of the figure. Text is drawn as glyph outlines, as in the PNG: no font
//! needs embedding, which publishers check, and every letter has its measured width.

use std::fmt::Write;

use ttf_parser::OutlineBuilder;

use super::layout::figure;
use super::palette::rgb;
use super::scene::{Fill, Ink, Painter, Scene, Text, Turn, short};
use super::text::{face, glyphs};
use super::{Chart, Theme};

/// Points (72 per inch) for each unit of length (96 per inch).
const SCALE: f64 = 0.75;
/// Distance of the handles from the ends of a cubic curve that draws a quarter circle.
const QUARTER: f64 = 0.552_285;

/// The chart as a PDF file.
pub fn pdf(chart: &Chart, theme: Theme) -> Vec<u8> {
    let scene = figure(chart);
    let content = Content::of(&scene, theme).out;
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(content.as_bytes(), 6);
    let (width, height) = (short(scene.width * SCALE), short(scene.height * SCALE));
    let stream = format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", packed.len());
    let mut stream = stream.into_bytes();
    stream.extend(packed);
    stream.extend(b"\nendstream");
    let page = format!(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Resources << >> /Contents 4 0 R >>"
    );
    file(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        page.into_bytes(),
        stream,
    ])
}

/// Objects as a file (ISO 32000-1, section 7.5): the header, the objects, the table of their
/// offsets, and the offset of the table.
fn file(objects: &[Vec<u8>]) -> Vec<u8> {
    // Bytes above 127 mark the file as binary.
    let mut out = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(objects) {
        places.push(out.len());
        out.extend(format!("{number} 0 obj\n").into_bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let table = out.len();
    let count = objects.len() + 1;
    let mut end = format!("xref\n0 {count}\n0000000000 65535 f \n");
    for place in places {
        writeln!(end, "{place:010} 00000 n ").expect("writing to a string cannot fail");
    }
    out.extend(end.into_bytes());
    let trailer = format!("trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n");
    out.extend(trailer.into_bytes());
    out
}

/// The drawing, in the operators of section 8.
struct Content {
    out: String,
    theme: Theme,
}

impl Content {
    fn of(scene: &Scene, theme: Theme) -> Self {
        let out = String::new();
        let mut content = Self { out, theme };
        // The scene's origin is at the top left, with y downwards.
        let lift = scene.height * SCALE;
        content.put(&format!("{SCALE} 0 0 -{SCALE} 0 {} cm 1 j", short(lift)));
        content.ink(Ink::Paper, "rg");
        content.put(&format!("0 0 {} {} re f", scene.width, scene.height));
        scene.paint(&mut content);
        content
    }

    fn put(&mut self, operators: &str) {
        self.out.push_str(operators);
        self.out.push('\n');
    }

    fn ink(&mut self, ink: Ink, operator: &str) {
        let [red, green, blue] = rgb(ink, self.theme).map(|part| f64::from(part) / 255.0);
        self.put(&format!("{red:.3} {green:.3} {blue:.3} {operator}"));
    }

    fn filled(&mut self, path: &str, ink: Ink, fill: Fill) {
        let (inside, edge, width) = fill.inks(ink);
        self.ink(inside, "rg");
        self.ink(edge, "RG");
        self.put(&format!("{width} w [] 0 d {path}b"));
    }

    /// Draws letters along the base line.
    fn letters(&mut self, text: &Text) {
        let Some(face) = face(text.weight) else {
            return;
        };
        let scale = text.size / f64::from(face.units_per_em());
        let mut at = -text.lead();
        for (glyph, advance) in glyphs(face, &text.words) {
            let mut outline = Outline { out: String::new(), scale, x: at, last: (0.0, 0.0) };
            face.outline_glyph(glyph, &mut outline);
            if !outline.out.is_empty() {
                self.put(&format!("{}f", outline.out));
            }
            at += f64::from(advance) * scale;
        }
    }
}

impl Painter for Content {
    fn area(&mut self, points: &[(f64, f64)], ink: Ink, fill: Fill) {
        self.filled(&path(points), ink, fill);
    }

    fn disc(&mut self, (x, y): (f64, f64), radius: f64, ink: Ink, fill: Fill) {
        self.filled(&circle(x, y, radius), ink, fill);
    }

    fn path(&mut self, points: &[(f64, f64)], ink: Ink, width: f64, dashes: &[f32]) {
        self.ink(ink, "RG");
        let dashes: Vec<String> = dashes.iter().map(f32::to_string).collect();
        let path = path(points);
        self.put(&format!("{width} w [{}] 0 d {path}S", dashes.join(" ")));
    }

    fn text(&mut self, text: &Text) {
        let (x, y) = (short(text.x), short(text.y));
        self.ink(Ink::Text, "rg");
        self.put(&match text.turn {
            Turn::Level => format!("q 1 0 0 1 {x} {y} cm"),
            Turn::Up => format!("q 0 -1 1 0 {x} {y} cm"),
        });
        self.letters(text);
        self.put("Q");
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (place, (x, y)) in points.iter().enumerate() {
        let operator = if place == 0 { 'm' } else { 'l' };
        step(&mut path, &[(*x, *y)], operator);
    }
    path
}

fn circle(x: f64, y: f64, radius: f64) -> String {
    let at = |right: f64, down: f64| (x + right * radius, y + down * radius);
    let mut path = String::new();
    step(&mut path, &[at(1.0, 0.0)], 'm');
    let mut from = (1.0, 0.0);
    for to in [(0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (1.0, 0.0)] {
        let first = (from.0 + QUARTER * to.0, from.1 + QUARTER * to.1);
        let second = (to.0 + QUARTER * from.0, to.1 + QUARTER * from.1);
        let points = [at(first.0, first.1), at(second.0, second.1), at(to.0, to.1)];
        step(&mut path, &points, 'c');
        from = to;
    }
    path
}

fn step(path: &mut String, points: &[(f64, f64)], operator: char) {
    for (x, y) in points {
        write!(path, "{} {} ", short(*x), short(*y)).expect("writing to a string cannot fail");
    }
    path.push(operator);
    path.push(' ');
}

/// A glyph, whose y axis points up.
struct Outline {
    out: String,
    scale: f64,
    x: f64,
    last: (f64, f64),
}

impl Outline {
    fn at(&self, x: f32, y: f32) -> (f64, f64) {
        (self.x + f64::from(x) * self.scale, -f64::from(y) * self.scale)
    }

    fn go(&mut self, points: &[(f64, f64)], operator: char) {
        step(&mut self.out, points, operator);
        self.last = points.last().copied().unwrap_or(self.last);
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let to = self.at(x, y);
        self.go(&[to], 'm');
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let to = self.at(x, y);
        self.go(&[to], 'l');
    }

    /// PDF has only cubic curves.
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (handle, to) = (self.at(x1, y1), self.at(x, y));
        let towards = |from: (f64, f64)| {
            (from.0 + (handle.0 - from.0) * 2.0 / 3.0, from.1 + (handle.1 - from.1) * 2.0 / 3.0)
        };
        self.go(&[towards(self.last), towards(to), to], 'c');
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let points = [self.at(x1, y1), self.at(x2, y2), self.at(x, y)];
        self.go(&points, 'c');
    }

    fn close(&mut self) {
        self.out.push_str("h ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Kind, Line, Mark, Origin};

    fn chart() -> Chart {
        Chart {
            id: "c".into(),
            title: "ECN♯ at 10 µs ± 1".into(),
            kind: Kind::Curves,
            x: Axis::linear("load", ""),
            y: Axis::linear("small p99", "s"),
            lines: vec![Line {
                name: "ECN♯".into(),
                hue: 0,
                marks: vec![Mark::new(0.1, 1e-5), Mark::new(0.9, 2e-5)],
                origin: Origin::Measured,
            }],
            notes: Vec::new(),
            commands: Vec::new(),
        }
    }

    /// The objects of the file, located by its table.
    fn objects(file: &[u8]) -> Vec<&[u8]> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let tail = text(&file[file.len() - 60..]);
        let table = tail.split("startxref\n").nth(1).unwrap();
        let table: usize = table.lines().next().unwrap().parse().unwrap();
        let lines = text(&file[table..]);
        let entries = lines.lines().skip(3).take_while(|line| line.ends_with(" n "));
        let places: Vec<usize> = entries.map(|line| line[..10].parse().unwrap()).collect();
        let ends = places[1..].iter().copied().chain([table]);
        let objects = places.iter().zip(ends);
        objects.map(|(&begin, end)| &file[begin..end]).collect()
    }

    #[test]
    fn the_offset_table_locates_all_objects() {
        let file = pdf(&chart(), Theme::Light);
        let objects = objects(&file);
        assert_eq!(objects.len(), 4);
        for (number, object) in (1..).zip(&objects) {
            assert!(object.starts_with(format!("{number} 0 obj\n").as_bytes()));
            assert!(object.ends_with(b"\nendobj\n"));
        }
        assert!(objects[2].windows(22).any(|part| part == b"/MediaBox [0 0 480 270"));
        let body = objects[3];
        let at = |what: &[u8]| body.windows(what.len()).position(|part| part == what);
        let begin = at(b"stream\n").unwrap() + 7;
        let end = at(b"\nendstream").unwrap();
        let content = miniz_oxide::inflate::decompress_to_vec_zlib(&body[begin..end]).unwrap();
        let content = String::from_utf8(content).unwrap();
        let length = String::from_utf8_lossy(&body[..begin]).into_owned();
        assert!(length.contains(&format!("/Length {} ", end - begin)), "{length}");
        assert!(!content.contains("NaN") && content.matches(" c ").count() > 100);
        assert_eq!(content.matches("\nq ").count(), content.matches("\nQ").count());
    }

    #[test]
    fn a_figure_without_title_is_lower_and_has_fewer_letters() {
        let with = pdf(&chart(), Theme::Light);
        let bare = Chart { title: String::new(), ..chart() };
        let without = pdf(&bare, Theme::Light);
        assert!(without.len() < with.len());
        assert!(objects(&without)[2].windows(22).any(|part| part == b"/MediaBox [0 0 480 252"));
    }
}
