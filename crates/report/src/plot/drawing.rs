//! Lines, points, intervals and bars.

use super::layout::Field;
use super::palette::{COLOURS, dashes, outline};
use super::ruler::Ruler;
use super::scene::{Ink, Scene, Shape};
use super::{Kind, Line, Mark};

/// A line with its points and intervals; `place` says where a mark with a value is.
pub(super) fn draw_line(
    scene: &mut Scene,
    kind: Kind,
    line: &Line,
    values: &Ruler,
    place: impl Fn(&Mark, f64) -> Option<(f64, f64)>,
) {
    let ink = Ink::Hue(line.hue);
    let pointed = matches!(kind, Kind::Curves | Kind::Dots);
    if pointed {
        for mark in &line.marks {
            let Some(interval) = mark.interval else {
                continue;
            };
            let shown = (values.within(interval.0), values.within(interval.1));
            if let (Some(low), Some(high)) = (place(mark, shown.0), place(mark, shown.1)) {
                let ends = [(low, shown.0 == interval.0), (high, shown.1 == interval.1)];
                whisker(scene, ends, ink);
            }
        }
    }
    if kind != Kind::Dots {
        let dashes = dashes(kind, line);
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

/// The bar of a mark; `offset` and `thick` are across it.
pub(super) fn draw_bar(
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
}

/// An interval: a line with a short bar at each end that is there; the others are cut by the frame.
fn whisker(scene: &mut Scene, ends: [((f64, f64), bool); 2], ink: Ink) {
    let [(low, _), (high, _)] = ends;
    let level = (high.1 - low.1).abs() < (high.0 - low.0).abs();
    let (x, y) = if level { (0.0, 3.5) } else { (3.5, 0.0) };
    scene.line(low, high, ink, 1.1);
    for (end, _) in ends.into_iter().filter(|(_, whole)| *whole) {
        scene.line((end.0 - x, end.1 - y), (end.0 + x, end.1 + y), ink, 1.1);
    }
}

/// The sign of a point.
pub(super) fn point(x: f64, y: f64, hue: usize) -> Shape {
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
