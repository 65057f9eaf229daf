//! A drawing as a list of shapes, before it becomes a PDF, SVG or pixels.

use super::text::width;

/// Shapes on a page with its origin at the top left.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    pub(super) width: f64,
    pub(super) height: f64,
    /// In the order of drawing.
    pub(super) shapes: Vec<Shape>,
}

/// A shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// An outline with its fill.
    Area { points: Vec<(f64, f64)>, ink: Ink, fill: Fill },
    /// A circle with its fill.
    Disc { x: f64, y: f64, radius: f64, ink: Ink, fill: Fill },
    /// A line through points.
    Path { points: Vec<(f64, f64)>, ink: Ink, width: f64, dashes: &'static [f32] },
    /// A line of text.
    Text(Text),
}

/// A line of text; x and y are its anchor on the base line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) words: String,
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    pub(super) weight: Weight,
    pub(super) turn: Turn,
}

impl Text {
    /// Distance from the start of the text to its anchor.
    pub(super) fn lead(&self) -> f64 {
        let part = match self.anchor {
            Anchor::End => 1.0,
            Anchor::Middle => 0.5,
            Anchor::Start => 0.0,
        };
        width(&self.words, self.size, self.weight) * part
    }
}

/// Draws shapes.
pub(super) trait Painter {
    /// An outline with its fill.
    fn area(&mut self, points: &[(f64, f64)], ink: Ink, fill: Fill);
    /// A circle with its fill.
    fn disc(&mut self, centre: (f64, f64), radius: f64, ink: Ink, fill: Fill);
    /// A line through points.
    fn path(&mut self, points: &[(f64, f64)], ink: Ink, width: f64, dashes: &[f32]);
    /// A line of text.
    fn text(&mut self, text: &Text);
}

/// A length rounded to a hundredth of a unit.
pub(super) fn short(length: f64) -> f64 {
    (length * 100.0).round() / 100.0
}

/// Fill of an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// Filled with the paper's colour; the edge has the ink.
    Hollow,
    /// Filled with the ink; the edge has the paper's colour, which separates points.
    Solid,
}

impl Fill {
    /// The inks of inside and edge, and the width of the edge.
    pub(super) const fn inks(self, ink: Ink) -> (Ink, Ink, f64) {
        match self {
            Self::Hollow => (Ink::Paper, ink, 1.4),
            Self::Solid => (ink, Ink::Paper, 0.7),
        }
    }
}

/// Role of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Axes.
    Frame,
    /// Grid lines.
    Grid,
    /// Data, by number.
    Hue(usize),
    /// Background.
    Paper,
    /// Text.
    Text,
}

/// Alignment of a text at its anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    End,
    Middle,
    Start,
}

/// Font weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Bold,
    Regular,
}

/// Direction of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Level,
    Up,
}

impl Scene {
    /// A straight line.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        let points = vec![from, to];
        self.shapes.push(Shape::Path { points, ink, width, dashes: &[] });
    }

    /// Horizontal text.
    pub(super) fn text(&mut self, x: f64, y: f64, text: &str, size: f64, anchor: Anchor) {
        self.shapes.push(Shape::Text(Text {
            x,
            y,
            words: text.to_owned(),
            size,
            anchor,
            weight: Weight::Regular,
            turn: Turn::Level,
        }));
    }

    /// Draws all shapes.
    pub(super) fn paint(&self, painter: &mut impl Painter) {
        for shape in &self.shapes {
            match shape {
                Shape::Area { points, ink, fill } => painter.area(points, *ink, *fill),
                &Shape::Disc { x, y, radius, ink, fill } => painter.disc((x, y), radius, ink, fill),
                Shape::Path { points, ink, width, dashes } => {
                    painter.path(points, *ink, *width, dashes);
                }
                Shape::Text(text) => painter.text(text),
            }
        }
    }
}
