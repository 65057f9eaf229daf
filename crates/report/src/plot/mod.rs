//! Charts as data, and their drawings: PDF, SVG and PNG for papers, characters for a terminal. The
//! report page's script draws the same data.
//!
//! The drawing is ours, not a library's: the same few rules about axes and labels then hold on
//! paper, in the browser and in the terminal, and a report is a tenth of the size of the script
//! that a chart library would add to it.

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

/// What a drawing shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Fit for a file name, and unique among the charts of a page.
    pub id: String,
    /// What it shows, in a few words; empty for a figure whose caption says it.
    pub title: String,
    /// How it is drawn.
    pub kind: Kind,
    /// What was varied. Charts of names lie on their side: this axis goes down the left edge.
    pub x: Axis,
    /// What was measured.
    pub y: Axis,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
    /// What a reader should know, such as how the data was thinned out.
    pub notes: Vec<String>,
    /// The commands that repeat what is shown.
    pub commands: Vec<String>,
}

/// How a chart is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bars beside each name, one for each line.
    Bars,
    /// The shares of values that are not larger: x is the value, y the share from 0 to 1.
    Cdf,
    /// Points with their intervals, joined in order of x.
    Curves,
    /// A point with its interval beside each name.
    Dots,
    /// Samples over time.
    Trace,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it measures, without the unit.
    pub title: String,
    /// The unit of the values: `s`, `bit/s`, `B` or empty.
    pub unit: &'static str,
    /// How values are laid out.
    pub scale: Scale,
}

/// How an axis lays out values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal ratios. Values that are not positive are not drawn.
    Log,
    /// Names at 0, 1, 2 …
    Names(Vec<String>),
}

/// One line, or the points and bars of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its colour, by number: the same scheme has the same in all charts of a page.
    pub hue: usize,
    /// Its points, x rising.
    pub marks: Vec<Mark>,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a line comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Runs of our own.
    #[default]
    Measured,
    /// A publication. It is drawn with hollow points and dots between them; intervals are what
    /// counts as the same.
    Published,
}

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// What was varied.
    pub x: f64,
    /// What was measured; not a number where there is nothing, which breaks a line.
    pub y: f64,
    /// The ends of its 95 % confidence interval.
    pub interval: Option<(f64, f64)>,
    /// How many flows, packets or runs it rests on.
    pub samples: Option<u64>,
}

/// The ground that a drawing is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Light lines on a dark ground.
    Dark,
    /// Dark lines on a white ground, for paper.
    Light,
}

impl Axis {
    /// An axis with equal steps for equal differences.
    pub fn linear(title: impl Into<String>, unit: &'static str) -> Self {
        Self { title: title.into(), unit, scale: Scale::Linear }
    }

    /// An axis with equal steps for equal ratios.
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

    /// Whether names go down the left edge.
    pub(crate) fn is_horizontal(&self) -> bool {
        matches!(self.x.scale, Scale::Names(_))
    }

    /// Whether the legend would only repeat what the axis of names says.
    pub(crate) fn names_itself(&self) -> bool {
        self.is_horizontal() && self.lines.iter().all(|line| line.marks.len() == 1)
            || self.lines.len() < 2 && self.lines.iter().all(|line| line.name.is_empty())
    }

    /// The points that can be drawn.
    pub(crate) fn marks(&self) -> impl Iterator<Item = &Mark> {
        let drawable = |axis: &Axis, value: f64| {
            value.is_finite() && (axis.scale != Scale::Log || value > 0.0)
        };
        let marks = self.lines.iter().flat_map(|line| &line.marks);
        marks.filter(move |mark| drawable(&self.x, mark.x) && drawable(&self.y, mark.y))
    }
}

/// Breaks measured lines where they have no point and another has one, so that nothing is drawn
/// through what was not run.
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
