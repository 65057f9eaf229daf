//! A drawing as a list of shapes, before it becomes SVG or pixels.

/// Shapes on a page whose corner is at the top left.
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
    /// An outline and how it is filled.
    Area {
        points: Vec<(f64, f64)>,
        ink: Ink,
        fill: Fill,
    },
    /// A circle, likewise.
    Disc {
        x: f64,
        y: f64,
        radius: f64,
        ink: Ink,
        fill: Fill,
    },
    /// A line through points.
    Path {
        points: Vec<(f64, f64)>,
        ink: Ink,
        width: f64,
        dashes: &'static [f32],
    },
    /// A line of text; x and y are its anchor on the base line.
    Text {
        x: f64,
        y: f64,
        text: String,
        size: f64,
        anchor: Anchor,
        weight: Weight,
        turn: Turn,
    },
}

/// How an outline is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// With the colour of the paper, and the edge has the ink.
    Hollow,
    /// With the ink, and the edge has the colour of the paper, which keeps points apart.
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

/// A colour by its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Axes.
    Frame,
    /// The lines behind the data.
    Grid,
    /// Data, by number.
    Hue(usize),
    /// The ground.
    Paper,
    /// Words.
    Text,
}

/// Which part of a text is at its anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    End,
    Middle,
    Start,
}

/// How thick letters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Bold,
    Regular,
}

/// The direction of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Level,
    Up,
}

impl Scene {
    /// A straight line.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        let points = vec![from, to];
        self.shapes.push(Shape::Path {
            points,
            ink,
            width,
            dashes: &[],
        });
    }

    /// Text that is not turned.
    pub(super) fn text(&mut self, x: f64, y: f64, text: &str, size: f64, anchor: Anchor) {
        let (weight, turn) = (Weight::Regular, Turn::Level);
        let text = text.to_owned();
        self.shapes.push(Shape::Text {
            x,
            y,
            text,
            size,
            anchor,
            weight,
            turn,
        });
    }
}
