//! A figure as PNG, for software without SVG.
//!
//! tiny-skia draws the pixels. The file format is written here, because a crate for it would add a
//! second compressor.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash,
    Transform,
};
use ttf_parser::OutlineBuilder;

use super::layout::figure;
use super::palette::rgb;
use super::scene::{Fill, Ink, Painter, Text, Turn};
use super::text::{face, glyphs};
use super::{Chart, Theme};

/// Pixels per unit of length: about 300 per inch at the width of a column.
const SCALE: f32 = 3.0;

/// The chart as a PNG file, or `None` if it is larger than an image can be.
pub fn png(chart: &Chart, theme: Theme) -> Option<Vec<u8>> {
    let scene = figure(chart);
    let size = |length: f64| (length * f64::from(SCALE)).ceil() as u32;
    let mut page = Page {
        pixels: Pixmap::new(size(scene.width), size(scene.height))?,
        theme,
        transform: Transform::from_scale(SCALE, SCALE),
    };
    page.pixels.fill(page.colour(Ink::Paper));
    scene.paint(&mut page);
    let pixels = page.pixels;
    // The background is opaque, so colours need no unpremultiplication.
    let rgb: Vec<&[u8]> = pixels.data().chunks_exact(4).map(|pixel| &pixel[..3]).collect();
    Some(encoded(pixels.width(), pixels.height(), &rgb.concat()))
}

/// The canvas, and the transform from units of length to pixels.
struct Page {
    pixels: Pixmap,
    theme: Theme,
    transform: Transform,
}

impl Page {
    fn colour(&self, ink: Ink) -> Color {
        let [red, green, blue] = rgb(ink, self.theme);
        Color::from_rgba8(red, green, blue, 255)
    }

    fn paint(&self, ink: Ink) -> Paint<'static> {
        let mut paint = Paint::default();
        paint.set_color(self.colour(ink));
        paint
    }

    fn stroked(&mut self, path: &Path, ink: Ink, stroke: &Stroke) {
        let paint = self.paint(ink);
        self.pixels.stroke_path(path, &paint, stroke, self.transform, None);
    }

    fn filled(&mut self, path: &Path, ink: Ink, transform: Transform) {
        let (paint, rule) = (self.paint(ink), FillRule::Winding);
        self.pixels.fill_path(path, &paint, rule, transform, None);
    }

    /// Draws an area with the inks of its inside and edge.
    fn bounded(&mut self, path: PathBuilder, ink: Ink, fill: Fill) {
        let Some(path) = path.finish() else { return };
        let (inside, edge, width) = fill.inks(ink);
        let stroke = Stroke { width: width as f32, ..Stroke::default() };
        self.filled(&path, inside, self.transform);
        self.stroked(&path, edge, &stroke);
    }
}

impl Painter for Page {
    fn area(&mut self, points: &[(f64, f64)], ink: Ink, fill: Fill) {
        let mut path = through(points);
        path.close();
        self.bounded(path, ink, fill);
    }

    fn disc(&mut self, (x, y): (f64, f64), radius: f64, ink: Ink, fill: Fill) {
        let mut path = PathBuilder::new();
        path.push_circle(x as f32, y as f32, radius as f32);
        self.bounded(path, ink, fill);
    }

    fn path(&mut self, points: &[(f64, f64)], ink: Ink, width: f64, dashes: &[f32]) {
        let stroke = Stroke {
            width: width as f32,
            line_cap: LineCap::Butt,
            line_join: LineJoin::Round,
            dash: StrokeDash::new(dashes.to_vec(), 0.0),
            ..Stroke::default()
        };
        if let Some(path) = through(points).finish() {
            self.stroked(&path, ink, &stroke);
        }
    }

    fn text(&mut self, text: &Text) {
        let Some(face) = face(text.weight) else {
            return;
        };
        let scale = text.size as f32 / f32::from(face.units_per_em());
        let angle = match text.turn {
            Turn::Level => 0.0,
            Turn::Up => -90.0,
        };
        let place = self
            .transform
            .pre_translate(text.x as f32, text.y as f32)
            .pre_concat(Transform::from_rotate(angle))
            .pre_translate(-text.lead() as f32, 0.0)
            // The font's y axis points up.
            .pre_scale(scale, -scale);
        let mut at = 0.0;
        for (glyph, advance) in glyphs(face, &text.words) {
            let mut outline = Outline(PathBuilder::new());
            face.outline_glyph(glyph, &mut outline);
            if let Some(path) = outline.0.finish() {
                self.filled(&path, Ink::Text, place.pre_translate(at, 0.0));
            }
            at += f32::from(advance);
        }
    }
}

fn through(points: &[(f64, f64)]) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (place, (x, y)) in points.iter().enumerate() {
        match place {
            0 => path.move_to(*x as f32, *y as f32),
            _ => path.line_to(*x as f32, *y as f32),
        }
    }
    path
}

struct Outline(PathBuilder);

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

/// Rows of three bytes per pixel as a PNG file (W3C, Portable Network Graphics, section 5).
fn encoded(width: u32, height: u32, rgb: &[u8]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // Eight bits, true colour, the only compression and filter method, not interlaced.
    header.extend([8, 2, 0, 0, 0]);
    chunk(&mut file, *b"IHDR", &header);
    // 300 dots per inch, in dots per metre.
    let density = (300.0 / 0.0254_f64).round() as u32;
    let density = [&density.to_be_bytes()[..], &density.to_be_bytes()[..], &[1]].concat();
    chunk(&mut file, *b"pHYs", &density);
    let row = 3 * width as usize;
    let mut filtered = Vec::with_capacity(rgb.len() + height as usize);
    let mut above = vec![0; row];
    for line in rgb.chunks_exact(row) {
        // Filter: difference to the row above, since figures have mostly vertical structure.
        filtered.push(2);
        filtered.extend(line.iter().zip(&above).map(|(byte, above)| byte.wrapping_sub(*above)));
        above.copy_from_slice(line);
    }
    chunk(&mut file, *b"IDAT", &miniz_oxide::deflate::compress_to_vec_zlib(&filtered, 6));
    chunk(&mut file, *b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).expect("an image is smaller than 4 GB");
    file.extend(length.to_be_bytes());
    let checked = file.len();
    file.extend(name);
    file.extend(data);
    let sum = crc(&file[checked..]);
    file.extend(sum.to_be_bytes());
}

/// The checksum of PNG chunks (annex D).
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_matches_the_standard() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc(b"IEND"), 0xae42_6082);
    }
}
