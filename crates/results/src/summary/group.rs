//! Runs grouped by point, and the baseline of each point.

use super::measure::{Column, Found};
use crate::View;
use crate::record::Setting;

/// The runs of one point, in the order given.
pub(super) struct Group<'a> {
    pub(super) label: String,
    pub(super) settings: &'a [Setting],
    pub(super) records: Vec<View<'a>>,
}

impl<'a> Group<'a> {
    /// Groups runs with the same settings and label. A repeated seed, as when two folders hold the
    /// same sweep, starts another point: results of two folders are never mixed.
    pub(super) fn all(records: impl IntoIterator<Item = View<'a>>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for record in records {
            let mut alike = 0;
            let group = groups.iter_mut().find(|group| {
                let first = &group.records[0].run;
                let same = first.point == record.run.point && first.label == record.run.label;
                alike += usize::from(same);
                same && group.records.iter().all(|other| other.run.seed != record.run.seed)
            });
            match group {
                Some(group) => group.records.push(record),
                None => groups.push(Self {
                    label: match alike {
                        0 => record.run.label.clone(),
                        _ => format!("{} ({})", record.run.label, alike + 1),
                    },
                    settings: &record.run.point,
                    records: vec![record],
                }),
            }
        }
        groups
    }

    /// The value of each run for a column.
    pub(super) fn found(&self, column: Column) -> Vec<Option<Found>> {
        let found = self.records.iter().map(|&record| column.found(record));
        found.collect()
    }

    fn shared(&self, other: &Self) -> usize {
        self.settings.iter().filter(|setting| other.settings.contains(setting)).count()
    }
}

/// The label, the settings and the runs of each point.
pub fn grouped<'a>(records: &[View<'a>]) -> Vec<(String, &'a [Setting], Vec<View<'a>>)> {
    let groups = Group::all(records.iter().copied()).into_iter();
    groups.map(|group| (group.label, group.settings, group.records)).collect()
}

/// A point and the values of its runs for one column.
#[derive(Clone, Copy)]
pub(super) struct Measured<'a> {
    pub(super) group: &'a Group<'a>,
    pub(super) found: &'a [Option<Found>],
}

impl<'a> Measured<'a> {
    /// The pairs of runs with the same seed, with both values.
    pub(super) fn pairs(self, other: Self) -> Vec<Pair<'a>> {
        let pair = |(place, &run): (usize, &View<'a>)| {
            let mut bases = other.group.records.iter();
            let base = bases.position(|base| base.run.seed == run.run.seed)?;
            let values = (self.found[place]?.value, other.found[base]?.value);
            Some(Pair { run, base: other.group.records[base], values })
        };
        let records = self.group.records.iter().enumerate();
        records.filter_map(pair).collect()
    }
}

/// Two runs under one seed.
pub(super) struct Pair<'a> {
    pub(super) run: View<'a>,
    pub(super) base: View<'a>,
    pub(super) values: (f64, f64),
}

/// The index of each point's baseline. `name` is a label, part of labels, a value or `key=value`.
/// If several points match, such as a scheme at several loads, each point is compared with the
/// match that shares most settings.
pub(super) fn baselines(groups: &[Group<'_>], name: &str) -> Vec<Option<usize>> {
    let name = name.trim();
    let any = |matches: &dyn Fn(&Group<'_>) -> bool| {
        let places = groups.iter().enumerate().filter(|(_, group)| matches(group));
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        (!places.is_empty()).then_some(places)
    };
    let found = any(&|group| group.label.eq_ignore_ascii_case(name))
        .or_else(|| any(&|group| group.settings.iter().any(|setting| is_named(setting, name))))
        .or_else(|| {
            any(&|group| group.label.split(',').any(|part| part.trim().eq_ignore_ascii_case(name)))
        })
        .unwrap_or_default();
    let nearest = |group: &Group<'_>| {
        // The first of those that share most.
        found.iter().copied().rev().max_by_key(|&place| group.shared(&groups[place]))
    };
    groups.iter().map(nearest).collect()
}

fn is_named(setting: &Setting, name: &str) -> bool {
    let full = name.split_once('=').is_some_and(|(key, value)| {
        setting.key == key.trim() && setting.value.eq_ignore_ascii_case(value.trim())
    });
    full || setting.value.eq_ignore_ascii_case(name)
}
