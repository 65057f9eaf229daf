//! Charts of each metric over the swept number, or by setting.

use tidegate_results::summary::{Estimate, Metric, Point};

use super::{Material, Panel, Section, slug};
use crate::plot::{Axis, Chart, Kind, Line, Mark, Scale, break_at_gaps};

/// Ratio of largest to smallest value above which an axis is logarithmic.
const WIDE: f64 = 40.0;

pub(super) fn section(material: &Material) -> Section {
    let metrics = material.summary.metrics.iter().enumerate();
    Section {
        id: "results",
        title: "Results",
        intro: "Each point is the mean over the seeds of one setting; bars are 95 % confidence intervals.",
        panels: metrics
            .map(|(place, metric)| Panel {
                chart: chart(material, place, metric),
                facets: Vec::new(),
            })
            .collect(),
    }
}

fn chart(material: &Material, place: usize, metric: &Metric) -> Chart {
    let sweep = &material.sweep;
    let points = &material.summary.points;
    let mark = |point: usize, x: f64| {
        let estimate = points[point].estimates.get(place).copied().flatten()?;
        Some(mark(x, &estimate))
    };
    let at = |point: usize, curve: usize| {
        sweep.along.as_ref().map_or(curve as f64, |along| along.values[point].0)
    };
    let lines: Vec<Line> = (0..material.curves())
        .map(|curve| {
            let own = (0..points.len()).filter(|point| sweep.curve_of[*point] == curve);
            let mut marks: Vec<Mark> =
                own.filter_map(|point| mark(point, at(point, curve))).collect();
            marks.sort_by(|a, b| a.x.total_cmp(&b.x));
            material.line(curve, marks)
        })
        .collect();
    let mut lines: Vec<Line> = lines.into_iter().filter(|line| !line.marks.is_empty()).collect();
    if sweep.along.is_some() {
        break_at_gaps(&mut lines);
    }
    let (kind, x) = match &sweep.along {
        Some(along) => {
            let values = along.values.iter().map(|value| value.0);
            (Kind::Curves, axis(&along.title, along.unit, values))
        }
        None => (Kind::Dots, Axis::names("", sweep.curves[..material.curves()].to_vec())),
    };
    let mut known = lines.iter().flat_map(|line| &line.marks).filter(|mark| !mark.y.is_nan());
    // The table shows metrics that are zero everywhere.
    let lines = if known.all(|mark| mark.y == 0.0) { Vec::new() } else { lines };
    let values = lines.iter().flat_map(|line| &line.marks).map(|mark| mark.y);
    let values = values.filter(|value| !value.is_nan());
    // Column names of tables are short.
    let short = metric.name.starts_with("fct_");
    let title = if short { format!("FCT, {}", metric.title) } else { metric.title.to_owned() };
    Chart {
        id: slug(metric.name),
        title: match &sweep.along {
            Some(along) => format!("{title} by {}", along.title),
            None => title.clone(),
        },
        kind,
        x,
        y: axis(&title, metric.unit, values),
        notes: Vec::new(),
        commands: points.iter().flat_map(|point: &Point| point.commands.clone()).collect(),
        lines,
    }
}

fn axis(title: &str, unit: &'static str, values: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
        (low.min(value), high.max(value))
    });
    Axis {
        title: title.to_owned(),
        unit,
        scale: if low > 0.0 && high > WIDE * low { Scale::Log } else { Scale::Linear },
    }
}

fn mark(x: f64, estimate: &Estimate) -> Mark {
    Mark { x, y: estimate.value, interval: estimate.interval(), samples: Some(estimate.samples) }
}
