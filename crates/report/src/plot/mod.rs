//! Charts as data, and their drawings: PDF, SVG and PNG for papers, characters for a terminal. The
//! report page's script draws the same data.
//!
//! No chart library draws them: the same few rules about axes and labels hold on paper, in the
//! browser and in the terminal, and the page's script is a tenth of the size of a chart library.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "places on a page: a float has more digits than a screen, and equal ones are copies"
)]

mod drawing;
mod layout;
mod palette;
mod pdf;
mod png;
mod scale;
mod scene;
mod svg;
mod terminal;
mod text;

pub use pdf::pdf;
pub use png::png;
pub use svg::svg;
pub use terminal::{Colour, terminal};

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Id, valid as a file name and unique on a page.
    pub id: String,
    /// Short title; empty for a figure with a caption.
    pub title: String,
    /// Kind of drawing.
    pub kind: Kind,
    /// Independent variable. Charts of names are horizontal: this axis runs down the left edge.
    pub x: Axis,
    /// Measured quantity.
    pub y: Axis,
    /// Lines, in the order of the legend.
    pub lines: Vec<Line>,
    /// Notes for the reader, such as the thinning of the data.
    pub notes: Vec<String>,
    /// Commands that reproduce the chart.
    pub commands: Vec<String>,
}

/// Kind of drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bars at each name, one for each line.
    Bars,
    /// Cumulative distribution: x is the value, y the share of values that are not larger, from 0
    /// to 1.
    Cdf,
    /// Points with intervals, joined in order of x.
    Curves,
    /// A point with its interval at each name.
    Dots,
    /// Samples over time.
    Trace,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Title, without the unit.
    pub title: String,
    /// Unit of the values: `s`, `bit/s`, `B` or empty.
    pub unit: &'static str,
    /// Scale.
    pub scale: Scale,
}

/// Scale of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic. Values that are not positive are not drawn.
    Log,
    /// Names at 0, 1, 2, …
    Names(Vec<String>),
}

/// One line, or the points and bars of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Colour number: a scheme has the same colour in all charts of a page.
    pub hue: usize,
    /// Points, x rising.
    pub marks: Vec<Mark>,
    /// Origin.
    pub origin: Origin,
}

/// Origin of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Own runs.
    #[default]
    Measured,
    /// A publication, drawn with hollow points and dotted lines; intervals are the tolerance of the
    /// comparison.
    Published,
}

/// A point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Independent variable.
    pub x: f64,
    /// Measured value; NaN breaks a line.
    pub y: f64,
    /// Ends of the 95 % confidence interval.
    pub interval: Option<(f64, f64)>,
    /// Number of flows, packets or runs behind the value.
    pub samples: Option<u64>,
}

/// Background of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Light lines on a dark background.
    Dark,
    /// Dark lines on a white background, for paper.
    Light,
}

impl Axis {
    /// A linear axis.
    pub fn linear(title: impl Into<String>, unit: &'static str) -> Self {
        Self { title: title.into(), unit, scale: Scale::Linear }
    }

    /// A logarithmic axis.
    pub fn log(title: impl Into<String>, unit: &'static str) -> Self {
        Self { title: title.into(), unit, scale: Scale::Log }
    }

    /// An axis of names.
    pub fn names(title: impl Into<String>, names: Vec<String>) -> Self {
        Self { title: title.into(), unit: "", scale: Scale::Names(names) }
    }
}

impl Chart {
    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.marks().next().is_none()
    }

    /// Whether names run down the left edge.
    pub(crate) fn is_horizontal(&self) -> bool {
        matches!(self.x.scale, Scale::Names(_))
    }

    /// Whether the legend would only repeat the axis of names.
    pub(crate) fn names_itself(&self) -> bool {
        self.is_horizontal() && self.lines.iter().all(|line| line.marks.len() == 1)
            || self.lines.len() < 2 && self.lines.iter().all(|line| line.name.is_empty())
    }

    /// The drawable points.
    pub(crate) fn marks(&self) -> impl Iterator<Item = &Mark> {
        let drawable = |axis: &Axis, value: f64| {
            value.is_finite() && (axis.scale != Scale::Log || value > 0.0)
        };
        let marks = self.lines.iter().flat_map(|line| &line.marks);
        marks.filter(move |mark| drawable(&self.x, mark.x) && drawable(&self.y, mark.y))
    }
}

/// Breaks measured lines at x values where only other lines have a point, so that no line crosses a
/// setting that was not run.
pub fn break_at_gaps(lines: &mut [Line]) {
    let measured = |line: &&Line| line.origin == Origin::Measured;
    let all = lines.iter().filter(measured).flat_map(|line| &line.marks);
    let mut places: Vec<f64> = all.map(|mark| mark.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    for line in lines.iter_mut().filter(|line| line.origin == Origin::Measured) {
        let (Some(first), Some(last)) = (line.marks.first(), line.marks.last()) else {
            continue;
        };
        let within = first.x..last.x;
        let is_gap = |x: &&f64| within.contains(*x) && line.marks.iter().all(|mark| mark.x != **x);
        let gaps: Vec<Mark> =
            places.iter().filter(is_gap).map(|&x| Mark::new(x, f64::NAN)).collect();
        line.marks.extend(gaps);
        line.marks.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
}

impl Mark {
    /// A bare point.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None, samples: None }
    }
}
