//! The charts of a page, from a summary and its records.

mod class;
mod distribution;
mod link;
mod probe;
mod queue;
mod result;
mod time;
mod trace;

use tidegate_results::View;
use tidegate_results::summary::Summary;

use super::Page;
use super::budget::CURVES;
use super::sweep::Sweep;
use crate::plot::{Chart, Line, Mark, Origin};

/// Charts that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Anchor in the page.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// Introduction of one or two sentences.
    pub intro: &'static str,
    /// Charts.
    pub panels: Vec<Panel>,
}

/// A chart, and the part of the sweep that it shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Chart.
    pub chart: Chart,
    /// Choices that select the chart among others of its kind, such as the load.
    pub facets: Vec<Facet>,
}

/// A choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facet {
    /// Name, such as `load`.
    pub name: String,
    /// Value, such as `0.6`.
    pub value: String,
}

/// Input of the charts.
struct Material<'a> {
    summary: &'a Summary,
    sweep: Sweep,
    /// The records of each point.
    records: Vec<Vec<View<'a>>>,
}

/// The sections with at least one chart.
pub(super) fn all(page: &Page) -> Vec<Section> {
    let material = Material {
        summary: page.summary,
        sweep: Sweep::new(page.summary),
        records: Sweep::records(page.summary, &page.records),
    };
    let sections = [
        result::section(&material),
        class::section(&material),
        distribution::section(&material),
        queue::section(&material),
        trace::section(&material),
        time::section(&material),
        link::section(&material),
        probe::section(&material),
    ];
    let mut sections: Vec<Section> = sections.into_iter().collect();
    for section in &mut sections {
        section.panels.retain(|panel| !panel.chart.is_empty());
    }
    sections.retain(|section| !section.panels.is_empty());
    let known = material.sweep.curves.len();
    if known > CURVES {
        let note =
            format!("Shows the first {CURVES} of {known} settings; the results folder has all.");
        for panel in sections.iter_mut().flat_map(|section| &mut section.panels) {
            panel.chart.notes.push(note.clone());
        }
    }
    make_unique(&mut sections);
    sections
}

/// Makes chart ids unique, also on case-insensitive file systems.
fn make_unique(sections: &mut [Section]) {
    let mut seen = std::collections::BTreeSet::new();
    for panel in sections.iter_mut().flat_map(|section| &mut section.panels) {
        let wanted = panel.chart.id.clone();
        let mut again = 2;
        while !seen.insert(panel.chart.id.clone()) {
            panel.chart.id = format!("{wanted}-{again}");
            again += 1;
        }
    }
}

/// A swept value: number and text.
type Stop = Option<(f64, String)>;

impl<'a> Material<'a> {
    /// The choice for a swept value; `None` if there is only one.
    fn facet(&self, stop: &Stop) -> Option<Facet> {
        let (along, (_, value)) = (self.sweep.along.as_ref()?, stop.as_ref()?);
        (self.sweep.stops().len() > 1)
            .then(|| Facet { name: along.title.clone(), value: value.clone() })
    }

    /// The lines at a swept value, each with its point.
    fn points(&self, stop: &Stop) -> Vec<(usize, usize)> {
        let curves = 0..self.curves();
        let point = |curve| self.sweep.point(curve, stop.as_ref()).map(|point| (curve, point));
        curves.filter_map(point).collect()
    }

    /// The lines at a swept value, each with its records.
    fn at(&self, stop: &Stop) -> Vec<(usize, &[View<'a>])> {
        let found = self.points(stop).into_iter();
        found.map(|(curve, point)| (curve, self.records[point].as_slice())).collect()
    }

    /// Number of lines drawn.
    fn curves(&self) -> usize {
        self.sweep.curves.len().min(CURVES)
    }

    fn line(&self, curve: usize, marks: Vec<Mark>) -> Line {
        Line { origin: Origin::Measured, name: self.sweep.curves[curve].clone(), hue: curve, marks }
    }
}

/// The id and title of a chart with its choices.
fn named(kind: &str, title: &str, facets: &[Facet]) -> (String, String) {
    let chosen = facets.iter().map(|facet| format!("{} {}", facet.name, facet.value));
    let title = [title.to_owned()].into_iter().chain(chosen);
    let id = [kind.to_owned()].into_iter().chain(facets.iter().map(|facet| facet.value.clone()));
    (slug(&id.collect::<Vec<_>>().join("-")), title.collect::<Vec<_>>().join(", "))
}

/// A text as a file name.
fn slug(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars().take(100) {
        match letter {
            'a'..='z' | '0'..='9' | '.' => out.push(letter),
            'A'..='Z' => out.push(letter.to_ascii_lowercase()),
            _ if out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    out.trim_matches(['-', '.']).to_owned()
}

/// The commands of records.
fn commands<'a>(records: impl Iterator<Item = &'a View<'a>>) -> Vec<String> {
    records.map(|record| record.run.command.clone()).collect()
}

/// The items with the largest weights, heaviest first; ties keep their order.
fn heaviest<T: Ord + Clone>(weights: std::collections::BTreeMap<T, u64>, most: usize) -> Vec<T> {
    let mut items: Vec<(T, u64)> = weights.into_iter().collect();
    items.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    items.into_iter().take(most).map(|(item, _)| item).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
