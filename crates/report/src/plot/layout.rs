//! From chart to shapes: a figure for a paper.

use super::drawing::{draw_bar, draw_line, point};
use super::palette::dashes;
use super::scale::{AxisScale, Begin, Tick};
use super::scene::{Anchor, Fill, Ink, Scene, Shape, Text, Turn, Weight};
use super::text::{fitted, width};
use super::{Chart, Kind, Scale};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const SMALL: f64 = 12.0;
const NORMAL: f64 = 13.0;
const EDGE: f64 = 10.0;
/// Margins: the title above, if there is one, the labels and the axis title below.
const TOP: f64 = 36.0;
const TOP_WITHOUT_TITLE: f64 = 12.0;
const BOTTOM: f64 = 50.0;
/// Limit for names and the legend, so that the data keeps most of the figure.
const WIDEST_NAME: f64 = 190.0;

/// The rectangle of the data.
#[derive(Clone, Copy)]
pub(super) struct Field {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Field {
    pub(super) fn across(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    pub(super) fn up(&self, share: f64) -> f64 {
        self.bottom - share * (self.bottom - self.top)
    }

    pub(super) fn down(&self, share: f64) -> f64 {
        self.top + share * (self.bottom - self.top)
    }
}

/// The chart as a figure.
pub(super) fn figure(chart: &Chart) -> Scene {
    if chart.is_horizontal() { on_its_side(chart) } else { upright(chart) }
}

fn upright(chart: &Chart) -> Scene {
    let mut scene = Scene { width: WIDTH, height: HEIGHT - TOP + top(chart), shapes: Vec::new() };
    let y = value_scale(chart, 7);
    let x = along_scale(chart, 6);
    let labels = y.ticks.iter().map(|tick| width(&tick.label, SMALL, Weight::Regular));
    let field = Field {
        left: EDGE + NORMAL + 10.0 + labels.fold(0.0, f64::max) + 7.0,
        right: WIDTH - EDGE - legend_width(chart),
        top: top(chart),
        bottom: HEIGHT - TOP + top(chart) - BOTTOM,
    };
    title(&mut scene, chart);
    for tick in &y.ticks {
        let at = field.up(y.position(tick.at));
        scene.line((field.left, at), (field.right, at), Ink::Grid, 1.0);
        scene.text(field.left - 7.0, at + 4.0, &tick.label, SMALL, Anchor::End);
    }
    for tick in &x.ticks {
        let at = field.across(x.position(tick.at));
        scene.line((at, field.top), (at, field.bottom), Ink::Grid, 1.0);
    }
    for at in y.minors.iter().map(|at| field.up(y.position(*at))) {
        scene.line((field.left, at), (field.left + 3.0, at), Ink::Frame, 0.8);
    }
    below(&mut scene, &field, &x);
    let turned = Shape::Text(Text {
        x: EDGE + NORMAL - 2.0,
        y: field.up(0.5),
        words: fitted(&y.title, NORMAL, field.bottom - field.top + 40.0),
        size: NORMAL,
        anchor: Anchor::Middle,
        weight: Weight::Regular,
        turn: Turn::Up,
    });
    scene.shapes.push(turned);
    frame(&mut scene, &field);
    let apart = apart(chart, &y);
    for (number, line) in chart.lines.iter().enumerate() {
        let aside = apart * (number as f64 - (chart.lines.len() as f64 - 1.0) / 2.0);
        draw_line(&mut scene, chart.kind, line, &y, |mark, value| {
            // Values that are not positive have no position on a log axis; their share is the start
            // of the curve.
            let x = if chart.kind == Kind::Cdf && mark.x <= 0.0 {
                x.position_within(mark.x)
            } else {
                x.position(mark.x)
            };
            let y = y.position(value);
            (x.is_finite() && y.is_finite()).then(|| (field.across(x) + aside, field.up(y)))
        });
    }
    legend(&mut scene, chart, &field);
    scene
}

fn on_its_side(chart: &Chart) -> Scene {
    let x = value_scale(chart, 5);
    let names = along_scale(chart, 0);
    let bars = chart.kind == Kind::Bars;
    let each = if bars { 8.0 * chart.lines.len() as f64 + 10.0 } else { 22.0 };
    let each = each.max(22.0);
    let legend_height = 20.0 * chart.lines.len().min(24) as f64;
    let rows = each * names.ticks.len().max(1) as f64;
    let height =
        top(chart) + BOTTOM + if chart.names_itself() { rows } else { rows.max(legend_height) };
    let mut scene = Scene { width: WIDTH, height, shapes: Vec::new() };
    let label = |tick: &Tick| fitted(&tick.label, SMALL, WIDEST_NAME);
    let widths = names.ticks.iter().map(|tick| width(&label(tick), SMALL, Weight::Regular));
    let field = Field {
        left: EDGE + widths.fold(0.0, f64::max) + 8.0,
        right: WIDTH - EDGE - if chart.names_itself() { 8.0 } else { legend_width(chart) },
        top: top(chart),
        bottom: height - BOTTOM,
    };
    title(&mut scene, chart);
    for tick in &x.ticks {
        let at = field.across(x.position(tick.at));
        scene.line((at, field.top), (at, field.bottom), Ink::Grid, 1.0);
    }
    for tick in &names.ticks {
        let at = field.down(names.position(tick.at));
        if !bars {
            scene.line((field.left, at), (field.right, at), Ink::Grid, 1.0);
        }
        scene.text(field.left - 8.0, at + 4.0, &label(tick), SMALL, Anchor::End);
    }
    below(&mut scene, &field, &x);
    frame(&mut scene, &field);
    let thick = (field.bottom - field.top) / names.ticks.len().max(1) as f64;
    for (place, line) in chart.lines.iter().enumerate() {
        if bars {
            let count = chart.lines.len() as f64;
            let bar = (0.8 * thick / count).min(18.0);
            let offset = (place as f64 - (count - 1.0) / 2.0) * bar;
            for mark in &line.marks {
                draw_bar(&mut scene, line, mark, (&x, &names), &field, (offset, bar));
            }
        } else {
            draw_line(&mut scene, chart.kind, line, &x, |mark, value| {
                let (x, y) = (x.position(value), names.position(mark.x));
                (x.is_finite() && y.is_finite()).then(|| (field.across(x), field.down(y)))
            });
        }
    }
    if !chart.names_itself() {
        legend(&mut scene, chart, &field);
    }
    scene
}

/// Offset between lines, so that points and intervals at the same position can be told apart.
fn apart(chart: &Chart, values: &AxisScale) -> f64 {
    let mut marks = chart.lines.iter().flat_map(|line| &line.marks);
    let has_intervals = marks.any(|mark| mark.interval.is_some_and(|(low, high)| high > low));
    if chart.kind == Kind::Curves && (has_intervals || lie_on_each_other(chart, values)) {
        (18.0 / chart.lines.len() as f64).min(3.0)
    } else {
        0.0
    }
}

/// Whether points of two lines overlap: within a hundredth of the axis at the same x.
fn lie_on_each_other(chart: &Chart, values: &AxisScale) -> bool {
    let mut places: Vec<(f64, f64)> =
        chart.marks().map(|mark| (mark.x, values.position(mark.y))).collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let near = |pair: &[(f64, f64)]| pair[0].0 == pair[1].0 && pair[1].1 - pair[0].1 < 0.01;
    places.windows(2).any(near)
}

/// The space above the data.
fn top(chart: &Chart) -> f64 {
    if chart.title.is_empty() { TOP_WITHOUT_TITLE } else { TOP }
}

/// The axis of the measured quantity.
pub(super) fn value_scale(chart: &Chart, about: usize) -> AxisScale {
    let values = || chart.marks().map(|mark| mark.y);
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    // Intervals much longer than the data are cut, and so are intervals below zero if values cannot
    // be negative.
    let least = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    let most = if high > 0.0 { 1.6 * high } else { f64::INFINITY };
    let least = if chart.y.scale == Scale::Log { low / 4.0 } else { least };
    let intervals = chart.marks().filter_map(|mark| mark.interval);
    let ends = intervals.flat_map(|(low, high)| [low.clamp(least, most), high.clamp(least, most)]);
    let begin = match chart.kind {
        Kind::Bars => Begin::Zero,
        Kind::Cdf => Begin::Exact,
        Kind::Curves | Kind::Dots | Kind::Trace => Begin::Data,
    };
    let edges: &[f64] = if chart.kind == Kind::Cdf { &[0.0, 1.0] } else { &[] };
    AxisScale::new(&chart.y, values().chain(ends).chain(edges.iter().copied()), begin, about)
}

/// The axis of the independent variable.
pub(super) fn along_scale(chart: &Chart, about: usize) -> AxisScale {
    let values = || chart.marks().map(|mark| mark.x);
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    // Points keep a small distance from the frame.
    let room = if chart.kind == Kind::Curves && chart.x.scale == Scale::Linear {
        0.04 * (high - low)
    } else {
        0.0
    };
    let begin = if chart.kind == Kind::Cdf { Begin::Data } else { Begin::Exact };
    AxisScale::new(&chart.x, [low - room, high + room].into_iter(), begin, about)
}

fn title(scene: &mut Scene, chart: &Chart) {
    if chart.title.is_empty() {
        return;
    }
    let shape = Shape::Text(Text {
        x: EDGE,
        y: EDGE + 12.0,
        words: fitted(&chart.title, NORMAL + 1.0, WIDTH - 40.0),
        size: NORMAL + 1.0,
        anchor: Anchor::Start,
        weight: Weight::Bold,
        turn: Turn::Level,
    });
    scene.shapes.push(shape);
}

/// Ticks, labels and title of the horizontal axis.
fn below(scene: &mut Scene, field: &Field, scale: &AxisScale) {
    for at in scale.minors.iter().map(|at| field.across(scale.position(*at))) {
        scene.line((at, field.bottom), (at, field.bottom - 3.0), Ink::Frame, 0.8);
    }
    let mut free = f64::NEG_INFINITY;
    for tick in &scale.ticks {
        let at = field.across(scale.position(tick.at));
        scene.line((at, field.bottom), (at, field.bottom + 4.0), Ink::Frame, 1.0);
        let half = width(&tick.label, SMALL, Weight::Regular) / 2.0;
        if at - half > free {
            scene.text(at, field.bottom + 17.0, &tick.label, SMALL, Anchor::Middle);
            free = at + half + 6.0;
        }
    }
    let middle = field.across(0.5);
    scene.text(middle, field.bottom + 38.0, &scale.title, NORMAL, Anchor::Middle);
}

fn frame(scene: &mut Scene, field: &Field) {
    let points =
        vec![(field.left, field.top), (field.left, field.bottom), (field.right, field.bottom)];
    let (ink, dashes) = (Ink::Frame, &[] as &[f32]);
    scene.shapes.push(Shape::Path { points, ink, width: 1.0, dashes });
}

fn legend_width(chart: &Chart) -> f64 {
    if chart.names_itself() {
        return 6.0;
    }
    let widths = chart.lines.iter().map(|line| width(&line.name, SMALL, Weight::Regular));
    widths.fold(0.0, f64::max).min(WIDEST_NAME) + 46.0
}

/// The names of the lines, to the right of the data.
fn legend(scene: &mut Scene, chart: &Chart, field: &Field) {
    if chart.names_itself() {
        return;
    }
    let room = ((field.bottom - field.top) / 20.0).floor().max(2.0) as usize;
    let shown = if chart.lines.len() > room { room - 1 } else { chart.lines.len() };
    let x = field.right + 14.0;
    for (place, line) in chart.lines.iter().take(shown).enumerate() {
        let y = field.top + 8.0 + 20.0 * place as f64;
        let ink = Ink::Hue(line.hue);
        if chart.kind == Kind::Bars {
            let points = vec![
                (x + 8.0, y - 5.0),
                (x + 18.0, y - 5.0),
                (x + 18.0, y + 5.0),
                (x + 8.0, y + 5.0),
            ];
            let fill = Fill::Solid;
            scene.shapes.push(Shape::Area { points, ink, fill });
        } else if chart.kind != Kind::Dots {
            let dashes = dashes(chart.kind, line);
            let points = vec![(x, y), (x + 24.0, y)];
            scene.shapes.push(Shape::Path { points, ink, width: 1.8, dashes });
        }
        if matches!(chart.kind, Kind::Curves | Kind::Dots) {
            scene.shapes.push(point(x + 12.0, y, line));
        }
        let name = fitted(&line.name, SMALL, WIDEST_NAME);
        scene.text(x + 30.0, y + 4.0, &name, SMALL, Anchor::Start);
    }
    if shown < chart.lines.len() {
        let more = format!("and {} more", chart.lines.len() - shown);
        let y = field.top + 12.0 + 20.0 * shown as f64;
        scene.text(x + 30.0, y, &more, SMALL, Anchor::Start);
    }
}
