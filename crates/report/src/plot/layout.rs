//! From chart to shapes: a figure for a paper.

use super::palette::{COLOURS, dashes, outline};
use super::ruler::{Begin, Ruler, Tick};
use super::scene::{Anchor, Ink, Scene, Shape, Turn, Weight};
use super::text::{fitted, width};
use super::{Chart, Kind, Line, Mark};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const SMALL: f64 = 12.0;
const NORMAL: f64 = 13.0;
const EDGE: f64 = 10.0;
/// From the edge to the data: the title above, the labels and the axis title below.
const TOP: f64 = 36.0;
const BOTTOM: f64 = 50.0;
/// Names and the legend get no more, so that the data keeps most of the figure.
const WIDEST_NAME: f64 = 190.0;

/// The rectangle of the data.
#[derive(Clone, Copy)]
struct Field {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Field {
    fn across(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    fn up(&self, share: f64) -> f64 {
        self.bottom - share * (self.bottom - self.top)
    }

    fn down(&self, share: f64) -> f64 {
        self.top + share * (self.bottom - self.top)
    }
}

/// The chart as a figure.
pub(super) fn figure(chart: &Chart) -> Scene {
    if chart.lies_on_its_side() {
        on_its_side(chart)
    } else {
        upright(chart)
    }
}

fn upright(chart: &Chart) -> Scene {
    let mut scene = Scene {
        width: WIDTH,
        height: HEIGHT,
        shapes: Vec::new(),
    };
    let y = value_ruler(chart, 6);
    let x = along_ruler(chart, 6);
    let labels = y
        .ticks
        .iter()
        .map(|tick| width(&tick.label, SMALL, Weight::Regular));
    let field = Field {
        left: EDGE + NORMAL + 10.0 + labels.fold(0.0, f64::max) + 7.0,
        right: WIDTH - EDGE - legend_width(chart),
        top: TOP,
        bottom: HEIGHT - BOTTOM,
    };
    title(&mut scene, chart);
    for tick in &y.ticks {
        let at = field.up(y.place(tick.at));
        scene.line((field.left, at), (field.right, at), Ink::Grid, 1.0);
        scene.text(field.left - 7.0, at + 4.0, &tick.label, SMALL, Anchor::End);
    }
    for tick in &x.ticks {
        let at = field.across(x.place(tick.at));
        scene.line((at, field.top), (at, field.bottom), Ink::Grid, 1.0);
    }
    for at in y.minors.iter().map(|at| field.up(y.place(*at))) {
        scene.line((field.left, at), (field.left + 3.0, at), Ink::Frame, 0.8);
    }
    below(&mut scene, &field, &x);
    let turned = Shape::Text {
        x: EDGE + NORMAL - 2.0,
        y: field.up(0.5),
        text: fitted(&y.title, NORMAL, field.bottom - field.top + 40.0),
        size: NORMAL,
        anchor: Anchor::Middle,
        weight: Weight::Regular,
        turn: Turn::Up,
    };
    scene.shapes.push(turned);
    frame(&mut scene, &field);
    for line in &chart.lines {
        draw_line(&mut scene, chart.kind, line, |mark, value| {
            let (x, y) = (x.place(mark.x), y.place(value));
            (x.is_finite() && y.is_finite()).then(|| (field.across(x), field.up(y)))
        });
    }
    legend(&mut scene, chart, &field);
    scene
}

fn on_its_side(chart: &Chart) -> Scene {
    let x = value_ruler(chart, 5);
    let names = along_ruler(chart, 0);
    let bars = chart.kind == Kind::Bars;
    let each = if bars {
        8.0 * chart.lines.len() as f64 + 10.0
    } else {
        22.0
    };
    let each = each.max(22.0);
    let legend_height = 20.0 * chart.lines.len().min(24) as f64;
    let rows = each * names.ticks.len().max(1) as f64;
    let height = TOP
        + BOTTOM
        + if chart.names_itself() {
            rows
        } else {
            rows.max(legend_height)
        };
    let mut scene = Scene {
        width: WIDTH,
        height,
        shapes: Vec::new(),
    };
    let label = |tick: &Tick| fitted(&tick.label, SMALL, WIDEST_NAME);
    let widths = names
        .ticks
        .iter()
        .map(|tick| width(&label(tick), SMALL, Weight::Regular));
    let field = Field {
        left: EDGE + widths.fold(0.0, f64::max) + 8.0,
        right: WIDTH
            - EDGE
            - if chart.names_itself() {
                8.0
            } else {
                legend_width(chart)
            },
        top: TOP,
        bottom: height - BOTTOM,
    };
    title(&mut scene, chart);
    for tick in &x.ticks {
        let at = field.across(x.place(tick.at));
        scene.line((at, field.top), (at, field.bottom), Ink::Grid, 1.0);
    }
    for tick in &names.ticks {
        let at = field.down(names.place(tick.at));
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
            draw_line(&mut scene, chart.kind, line, |mark, value| {
                let (x, y) = (x.place(value), names.place(mark.x));
                (x.is_finite() && y.is_finite()).then(|| (field.across(x), field.down(y)))
            });
        }
    }
    if !chart.names_itself() {
        legend(&mut scene, chart, &field);
    }
    scene
}

/// The axis of what was measured.
pub(super) fn value_ruler(chart: &Chart, about: usize) -> Ruler {
    let ends = |mark: &Mark| {
        let (low, high) = mark.interval.unwrap_or((mark.y, mark.y));
        [low, mark.y, high]
    };
    let begin = match chart.kind {
        Kind::Bars => Begin::Zero,
        Kind::Cdf => Begin::Exact,
        Kind::Curves | Kind::Dots | Kind::Trace => Begin::Data,
    };
    let edges: &[f64] = if chart.kind == Kind::Cdf {
        &[0.0, 1.0]
    } else {
        &[]
    };
    let values = chart.marks().flat_map(ends).chain(edges.iter().copied());
    Ruler::new(&chart.y, values, begin, about)
}

/// The axis of what was varied.
pub(super) fn along_ruler(chart: &Chart, about: usize) -> Ruler {
    let values = || chart.marks().map(|mark| mark.x);
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    // Points stand a little off the frame.
    let room = if chart.kind == Kind::Curves && chart.x.scale == super::Scale::Linear {
        0.04 * (high - low)
    } else {
        0.0
    };
    let begin = if chart.kind == Kind::Cdf {
        Begin::Data
    } else {
        Begin::Exact
    };
    Ruler::new(
        &chart.x,
        [low - room, high + room].into_iter(),
        begin,
        about,
    )
}

fn title(scene: &mut Scene, chart: &Chart) {
    let shape = Shape::Text {
        x: EDGE,
        y: EDGE + 12.0,
        text: fitted(&chart.title, NORMAL + 1.0, WIDTH - 40.0),
        size: NORMAL + 1.0,
        anchor: Anchor::Start,
        weight: Weight::Bold,
        turn: Turn::Level,
    };
    scene.shapes.push(shape);
}

/// Ticks, labels and title of the horizontal axis.
fn below(scene: &mut Scene, field: &Field, ruler: &Ruler) {
    for at in ruler.minors.iter().map(|at| field.across(ruler.place(*at))) {
        scene.line(
            (at, field.bottom),
            (at, field.bottom - 3.0),
            Ink::Frame,
            0.8,
        );
    }
    let mut free = f64::NEG_INFINITY;
    for tick in &ruler.ticks {
        let at = field.across(ruler.place(tick.at));
        scene.line(
            (at, field.bottom),
            (at, field.bottom + 4.0),
            Ink::Frame,
            1.0,
        );
        let half = width(&tick.label, SMALL, Weight::Regular) / 2.0;
        if at - half > free {
            scene.text(at, field.bottom + 17.0, &tick.label, SMALL, Anchor::Middle);
            free = at + half + 6.0;
        }
    }
    let middle = field.across(0.5);
    scene.text(
        middle,
        field.bottom + 38.0,
        &ruler.title,
        NORMAL,
        Anchor::Middle,
    );
}

fn frame(scene: &mut Scene, field: &Field) {
    let points = vec![
        (field.left, field.top),
        (field.left, field.bottom),
        (field.right, field.bottom),
    ];
    let (ink, dashes) = (Ink::Frame, &[] as &[f32]);
    scene.shapes.push(Shape::Path {
        points,
        ink,
        width: 1.0,
        dashes,
    });
}

/// A line with its points and intervals; `place` says where a mark with a value is.
fn draw_line(
    scene: &mut Scene,
    kind: Kind,
    line: &Line,
    place: impl Fn(&Mark, f64) -> Option<(f64, f64)>,
) {
    let ink = Ink::Hue(line.hue);
    let pointed = matches!(kind, Kind::Curves | Kind::Dots);
    if pointed {
        for mark in &line.marks {
            if let Some((low, high)) = mark.interval
                && let (Some(low), Some(high)) = (place(mark, low), place(mark, high))
            {
                whisker(scene, low, high, ink);
            }
        }
    }
    if kind != Kind::Dots {
        let dashes = if kind == Kind::Cdf {
            dashes(line.hue)
        } else {
            &[]
        };
        // A colour that comes again is told apart by its width.
        let again = (line.hue / COLOURS) as f64;
        let width = if kind == Kind::Trace { 1.2 } else { 1.8 } + again;
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut pieces = Vec::new();
        for mark in &line.marks {
            match place(mark, mark.y) {
                Some(point) => {
                    if kind == Kind::Cdf
                        && let Some(last) = points.last()
                    {
                        points.push((point.0, last.1));
                    }
                    points.push(point);
                }
                None => pieces.push(std::mem::take(&mut points)),
            }
        }
        pieces.push(points);
        for points in pieces.into_iter().filter(|points| points.len() > 1) {
            scene.shapes.push(Shape::Path {
                points,
                ink,
                width,
                dashes,
            });
        }
    }
    if pointed {
        for mark in &line.marks {
            if let Some((x, y)) = place(mark, mark.y) {
                scene.shapes.push(point(x, y, line.hue));
            }
        }
    }
}

fn draw_bar(
    scene: &mut Scene,
    line: &Line,
    mark: &Mark,
    (x, names): (&Ruler, &Ruler),
    field: &Field,
    (offset, thick): (f64, f64),
) {
    let middle = field.down(names.place(mark.x)) + offset;
    let (from, to) = (
        field.across(x.place_within(0.0)),
        field.across(x.place_within(mark.y)),
    );
    if !middle.is_finite() || !to.is_finite() {
        return;
    }
    let (top, bottom) = (middle - thick / 2.0, middle + thick / 2.0);
    let points = vec![(from, top), (to, top), (to, bottom), (from, bottom)];
    let ink = Ink::Hue(line.hue);
    scene.shapes.push(Shape::Area { points, ink });
    if let Some((low, high)) = mark.interval {
        let place = |value| (field.across(x.place_within(value)), middle);
        whisker(scene, place(low), place(high), Ink::Frame);
    }
}

/// An interval: a line with a short bar at each end.
fn whisker(scene: &mut Scene, low: (f64, f64), high: (f64, f64), ink: Ink) {
    let level = (high.1 - low.1).abs() < (high.0 - low.0).abs();
    let (x, y) = if level { (0.0, 3.5) } else { (3.5, 0.0) };
    scene.line(low, high, ink, 1.1);
    for end in [low, high] {
        scene.line((end.0 - x, end.1 - y), (end.0 + x, end.1 + y), ink, 1.1);
    }
}

fn point(x: f64, y: f64, hue: usize) -> Shape {
    let ink = Ink::Hue(hue);
    let shape = outline(hue);
    if shape.is_empty() {
        return Shape::Disc {
            x,
            y,
            radius: 4.0,
            ink,
        };
    }
    let points = shape
        .iter()
        .map(|step| (x + 4.0 * step.0, y + 4.0 * step.1))
        .collect();
    Shape::Area { points, ink }
}

fn legend_width(chart: &Chart) -> f64 {
    if chart.names_itself() {
        return 6.0;
    }
    let widths = chart
        .lines
        .iter()
        .map(|line| width(&line.name, SMALL, Weight::Regular));
    widths.fold(0.0, f64::max).min(WIDEST_NAME) + 46.0
}

/// The names of the lines, to the right of the data.
fn legend(scene: &mut Scene, chart: &Chart, field: &Field) {
    if chart.names_itself() {
        return;
    }
    let room = ((field.bottom - field.top) / 20.0).floor().max(2.0) as usize;
    let shown = if chart.lines.len() > room {
        room - 1
    } else {
        chart.lines.len()
    };
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
            scene.shapes.push(Shape::Area { points, ink });
        } else if chart.kind != Kind::Dots {
            let dashes = if chart.kind == Kind::Cdf {
                dashes(line.hue)
            } else {
                &[]
            };
            let points = vec![(x, y), (x + 24.0, y)];
            scene.shapes.push(Shape::Path {
                points,
                ink,
                width: 1.8,
                dashes,
            });
        }
        if matches!(chart.kind, Kind::Curves | Kind::Dots) {
            scene.shapes.push(point(x + 12.0, y, line.hue));
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
