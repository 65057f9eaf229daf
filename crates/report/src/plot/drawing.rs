//! Lines, points, intervals and bars.

use super::layout::Field;
use super::palette::{COLOURS, dashes, outline};
use super::scale::AxisScale;
use super::scene::{Fill, Ink, Scene, Shape};
use super::{Kind, Line, Mark, Origin};

/// Draws a line with its points and intervals; `place` gives the position of a mark.
pub(super) fn draw_line(
    scene: &mut Scene,
    kind: Kind,
    line: &Line,
    values: &AxisScale,
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
        // A repeated colour has another line width.
        let again = (line.hue / COLOURS) as f64;
        let width = match (kind, line.origin) {
            (Kind::Trace, _) | (_, Origin::Published) => 1.2,
            _ => 1.8,
        } + again;
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
        if kind == Kind::Trace {
            pieces = strokes(pieces);
        }
        for points in pieces.into_iter().filter(|points| points.len() > 1) {
            scene.shapes.push(Shape::Path { points, ink, width, dashes });
        }
    }
    if pointed {
        for mark in &line.marks {
            if let Some((x, y)) = place(mark, mark.y) {
                scene.shapes.push(point(x, y, line));
            }
        }
    }
}

/// Vertical strokes in order of time. Strokes that touch in one column are merged, since they look
/// the same.
fn strokes(pieces: Vec<Vec<(f64, f64)>>) -> Vec<Vec<(f64, f64)>> {
    let mut seen: Vec<Vec<(f64, f64)>> = Vec::new();
    for piece in pieces {
        let &[(x, from), (_, to)] = piece.as_slice() else {
            seen.push(piece);
            continue;
        };
        let x = (x / COLUMN).round() * COLUMN;
        let (top, bottom) = (from.min(to), from.max(to));
        match seen.last_mut().map(Vec::as_mut_slice) {
            Some([first, last])
                if first.0 == x && top <= last.1 + COLUMN && first.1 <= bottom + COLUMN =>
            {
                first.1 = first.1.min(top);
                last.1 = last.1.max(bottom);
            }
            _ => seen.push(vec![(x, top), (x, bottom)]),
        }
    }
    seen
}

/// Smallest visible distance of strokes: a quarter of a point.
const COLUMN: f64 = 0.25;

/// The bar of a mark; `offset` and `thick` are measured across it.
pub(super) fn draw_bar(
    scene: &mut Scene,
    line: &Line,
    mark: &Mark,
    (x, names): (&AxisScale, &AxisScale),
    field: &Field,
    (offset, thick): (f64, f64),
) {
    let middle = field.down(names.position(mark.x)) + offset;
    let (from, to) =
        (field.across(x.position_within(0.0)), field.across(x.position_within(mark.y)));
    if !middle.is_finite() || !to.is_finite() {
        return;
    }
    let (top, bottom) = (middle - thick / 2.0, middle + thick / 2.0);
    let points = vec![(from, top), (to, top), (to, bottom), (from, bottom)];
    let ink = Ink::Hue(line.hue);
    let fill = Fill::Solid;
    scene.shapes.push(Shape::Area { points, ink, fill });
}

/// An interval: a line with a short bar at each visible end, and an arrow where it extends beyond
/// the axis.
fn whisker(scene: &mut Scene, ends: [((f64, f64), bool); 2], ink: Ink) {
    let [(low, _), (high, _)] = ends;
    let level = (high.1 - low.1).abs() < (high.0 - low.0).abs();
    let (x, y) = if level { (0.0, 3.5) } else { (3.5, 0.0) };
    scene.line(low, high, ink, 1.1);
    // Values rise to the right, or upwards, where y falls.
    let outwards = if level { (1.0, 0.0) } else { (0.0, -1.0) };
    for ((end, whole), sense) in ends.into_iter().zip([-1.0, 1.0]) {
        if whole {
            scene.line((end.0 - x, end.1 - y), (end.0 + x, end.1 + y), ink, 1.1);
            continue;
        }
        let back = (end.0 - 5.0 * sense * outwards.0, end.1 - 5.0 * sense * outwards.1);
        let points = vec![(back.0 - x, back.1 - y), end, (back.0 + x, back.1 + y)];
        scene.shapes.push(Shape::Path { points, ink, width: 1.3, dashes: &[] });
    }
}

/// The symbol of a point: hollow if published.
pub(super) fn point(x: f64, y: f64, line: &Line) -> Shape {
    let ink = Ink::Hue(line.hue);
    let fill = match line.origin {
        Origin::Measured => Fill::Solid,
        Origin::Published => Fill::Hollow,
    };
    let shape = outline(line.hue);
    if shape.is_empty() {
        return Shape::Disc { x, y, radius: 4.0, ink, fill };
    }
    let points = shape.iter().map(|step| (x + 4.0 * step.0, y + 4.0 * step.1)).collect();
    Shape::Area { points, ink, fill }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Chart, Theme, break_at_gaps, svg};
    use super::*;

    fn chart(lines: Vec<Line>) -> Chart {
        Chart {
            id: "c".into(),
            title: "t".into(),
            kind: Kind::Curves,
            x: Axis::linear("load", ""),
            y: Axis::linear("time", "s"),
            lines,
            notes: Vec::new(),
            commands: Vec::new(),
        }
    }

    fn line(hue: usize, origin: Origin, marks: Vec<Mark>) -> Line {
        Line { name: format!("line {hue}"), hue, marks, origin }
    }

    fn with_interval(x: f64, y: f64, interval: (f64, f64)) -> Mark {
        Mark { interval: Some(interval), ..Mark::new(x, y) }
    }

    /// Paths of three points, such as the tip of an arrow.
    fn arrows(drawing: &str) -> usize {
        let strokes = drawing.lines().filter(|line| line.contains("stroke-width=\"1.3\""));
        strokes.count()
    }

    #[test]
    fn an_interval_beyond_the_axis_ends_in_an_arrow() {
        let within = chart(vec![line(
            0,
            Origin::Measured,
            vec![with_interval(0.0, 1.0, (0.9, 1.1)), Mark::new(1.0, 2.0)],
        )]);
        assert_eq!(arrows(&svg(&within, Theme::Light)), 0);
        let beyond = chart(vec![line(
            0,
            Origin::Measured,
            vec![with_interval(0.0, 1.0, (-5.0, 50.0)), Mark::new(1.0, 2.0)],
        )]);
        assert_eq!(arrows(&svg(&beyond, Theme::Light)), 2);
    }

    #[test]
    fn published_points_are_hollow() {
        let marks = || vec![Mark::new(0.0, 1.0), Mark::new(1.0, 2.0)];
        let of = |origin| svg(&chart(vec![line(0, origin, marks())]), Theme::Light);
        let hollow = r##"fill="#ffffff" stroke="#0072b2""##;
        assert!(of(Origin::Published).contains(hollow));
        assert!(!of(Origin::Measured).contains(hollow));
    }

    #[test]
    fn overlapping_lines_are_shifted_and_dashed() {
        let marks = |shift: f64| vec![Mark::new(0.0, 1.0 + shift), Mark::new(1.0, 2.0 + shift)];
        let discs = |shift: f64| {
            let lines = [0, 8].map(|hue| line(hue, Origin::Measured, marks(shift * hue as f64)));
            let drawing = svg(&chart(lines.into()), Theme::Light);
            let left = drawing.lines().filter(|line| line.starts_with("<circle"));
            let left = left.map(|line| line.split('"').nth(1).unwrap().to_owned());
            left.collect::<Vec<String>>()
        };
        // Both lines have discs: two points each and one in the legend.
        let (same, apart) = (discs(0.0), discs(0.1));
        assert_ne!(same[0], same[2], "{same:?}");
        assert_eq!(apart[0], apart[2], "{apart:?}");
        let lines = [0, 1].map(|hue| line(hue, Origin::Measured, marks(0.0)));
        assert!(svg(&chart(lines.into()), Theme::Light).contains("stroke-dasharray"));
    }

    #[test]
    fn only_measured_lines_break_and_only_between_their_ends() {
        let at = |places: &[f64]| places.iter().map(|&x| Mark::new(x, 1.0)).collect();
        let mut lines = vec![
            line(0, Origin::Measured, at(&[1.0, 2.0, 3.0, 4.0])),
            line(1, Origin::Measured, at(&[1.0, 3.0])),
            line(1, Origin::Published, at(&[1.0, 4.0])),
        ];
        break_at_gaps(&mut lines);
        let places = |line: &Line| line.marks.iter().map(|mark| mark.x).collect::<Vec<_>>();
        assert_eq!(places(&lines[0]), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(places(&lines[1]), [1.0, 2.0, 3.0]);
        assert!(lines[1].marks[1].y.is_nan());
        assert_eq!(places(&lines[2]), [1.0, 4.0]);
    }
}
