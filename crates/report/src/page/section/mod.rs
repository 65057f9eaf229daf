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
    /// Its anchor in the page.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What it shows, in a sentence or two.
    pub intro: &'static str,
    /// Its charts.
    pub panels: Vec<Panel>,
}

/// A chart, and for which part of the sweep it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The chart.
    pub chart: Chart,
    /// What a reader chooses to see it among others of its kind, such as the load.
    pub facets: Vec<Facet>,
}

/// A choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facet {
    /// Of what, such as `load`.
    pub name: String,
    /// Which, such as `0.6`.
    pub value: String,
}

/// What charts are made from.
struct Material<'a> {
    summary: &'a Summary,
    sweep: Sweep,
    /// The records of each point.
    records: Vec<Vec<View<'a>>>,
}

/// The sections that have something to show.
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
            format!("The first {CURVES} of {known} settings; all are in the results folder.");
        for panel in sections.iter_mut().flat_map(|section| &mut section.panels) {
            panel.chart.notes.push(note.clone());
        }
    }
    make_unique(&mut sections);
    sections
}

/// File systems that ignore case must keep the charts apart.
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

/// Where on the swept axis a chart stands.
type Stop = Option<(f64, String)>;

impl<'a> Material<'a> {
    /// The choice that a stop is; none if nothing was swept or it has one value only.
    fn facet(&self, stop: &Stop) -> Option<Facet> {
        let (along, (_, value)) = (self.sweep.along.as_ref()?, stop.as_ref()?);
        (self.sweep.stops().len() > 1)
            .then(|| Facet { name: along.title.clone(), value: value.clone() })
    }

    /// The lines at a stop, each with its point.
    fn points(&self, stop: &Stop) -> Vec<(usize, usize)> {
        let curves = 0..self.curves();
        let point = |curve| self.sweep.point(curve, stop.as_ref()).map(|point| (curve, point));
        curves.filter_map(point).collect()
    }

    /// The lines at a stop, each with its records.
    fn at(&self, stop: &Stop) -> Vec<(usize, &[View<'a>])> {
        let found = self.points(stop).into_iter();
        found.map(|(curve, point)| (curve, self.records[point].as_slice())).collect()
    }

    /// How many lines are drawn.
    fn curves(&self) -> usize {
        self.sweep.curves.len().min(CURVES)
    }

    fn line(&self, curve: usize, marks: Vec<Mark>) -> Line {
        Line { origin: Origin::Measured, name: self.sweep.curves[curve].clone(), hue: curve, marks }
    }
}

/// A title with what was chosen, and a name for files.
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

/// The commands behind records.
fn commands<'a>(records: impl Iterator<Item = &'a View<'a>>) -> Vec<String> {
    records.map(|record| record.run.command.clone()).collect()
}

/// The items with the largest weights, heaviest first; of equal ones those that come first.
fn heaviest<T: Ord + Clone>(weights: std::collections::BTreeMap<T, u64>, most: usize) -> Vec<T> {
    let mut items: Vec<(T, u64)> = weights.into_iter().collect();
    items.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    items.into_iter().take(most).map(|(item, _)| item).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
