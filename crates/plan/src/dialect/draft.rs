//! A configuration in progress, with helpers that several dialects use.

use std::ops::RangeInclusive;

use tidegate_units::{Bytes, Rate, Ratio};

use super::{Change, Configuration};
use crate::formula::limit::alpha_of_exponent;
use crate::marking::{self, Ramp, bytes};
use crate::network::{Chip, Ports, Queue, Role};
use crate::plan::{Plan, Row};

/// Greatest of these exponents of two that is not above `alpha`, or the least of them.
pub(super) fn exponent_below(alpha: Ratio, exponents: RangeInclusive<i32>) -> i32 {
    let least = *exponents.start();
    let fits = |&exponent: &i32| alpha_of_exponent(exponent) <= alpha;
    exponents.rev().find(fits).unwrap_or(least)
}

/// Cells that Trident 3 requires between the thresholds of a ramp.
const TRIDENT3_CELLS: u64 = 500;

/// An unfinished configuration.
pub(super) struct Draft {
    text: String,
    changes: Vec<Change>,
    notes: Vec<String>,
    cell: u64,
    is_trident3: bool,
}

impl Draft {
    pub(super) fn new(plan: &Plan<'_>) -> Self {
        let chip = plan.network.switch.chip;
        Self {
            text: String::new(),
            changes: Vec::new(),
            notes: Vec::new(),
            cell: u64::from(plan.network.switch.cell),
            is_trident3: chip == Some(Chip::Trident3),
        }
    }

    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(super) fn change(
        &mut self,
        what: String,
        asked: String,
        emitted: String,
        why: impl Into<String>,
    ) {
        let change = Change { what, asked, emitted, why: why.into() };
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    /// Rounds a length to whole cells, at least one.
    pub(super) fn cells(&mut self, what: &str, length: Bytes) -> Bytes {
        let cell = self.cell;
        let why = format!("the memory has cells of {cell} B");
        self.multiple(what, length, cell, why)
    }

    /// Rounds a length up to whole cells.
    pub(super) fn cells_above(&mut self, what: &str, length: Bytes) -> Bytes {
        let cell = self.cell;
        let rounded = Bytes(length.0.div_ceil(cell) * cell);
        if rounded != length {
            let why = format!("the memory has cells of {cell} B");
            self.change(what.to_owned(), exact(length), exact(rounded), why);
        }
        rounded
    }

    /// Rounds a ramp to whole cells and whole percent: both thresholds in bytes, and the
    /// probability.
    pub(super) fn ramp(&mut self, row: &Row<'_>, ramp: &Ramp) -> (u64, u64, u32) {
        let percent = self.percent(&of_row(row, "probability"), ramp.probability);
        if ramp.is_step() {
            if self.is_trident3 {
                self.note(format!(
                    "Trident 3 requires {TRIDENT3_CELLS} cells between the thresholds of a ramp; here a step is intended"
                ));
            }
            let threshold = self.cells(&of_row(row, "threshold"), ramp.min).0;
            return (threshold, threshold, percent);
        }
        let min = self.cells(&of_row(row, "minimum"), ramp.min);
        let max = self.cells(&of_row(row, "maximum"), ramp.max).max(min);
        let between = (max.0 - min.0) / self.cell;
        if self.is_trident3 && between < TRIDENT3_CELLS {
            let what = of_row(row, "ramp");
            self.note(format!(
                "{what}: {between} cells between the thresholds, and Trident 3 requires {TRIDENT3_CELLS}"
            ));
        }
        (min.0, max.0, percent)
    }

    /// Rounds a length to a multiple of `unit`, at least one.
    pub(super) fn multiple(
        &mut self,
        what: &str,
        length: Bytes,
        unit: u64,
        why: impl Into<String>,
    ) -> Bytes {
        let rounded = Bytes(((length.0 + unit / 2) / unit).max(1) * unit);
        if rounded != length {
            self.change(what.to_owned(), exact(length), exact(rounded), why);
        }
        rounded
    }

    /// Rounds a probability to whole percent, at least one.
    pub(super) fn percent(&mut self, what: &str, probability: Ratio) -> u32 {
        let (n, d) = (u64::from(probability.numerator()), u64::from(probability.denominator()));
        let percent = ((n * 100 + d / 2) / d).clamp(1, 100);
        if percent * d != n * 100 {
            let asked = marking::percent(probability);
            self.change(what.to_owned(), asked, format!("{percent}%"), "whole percent");
        }
        u32::try_from(percent).unwrap_or(100)
    }

    /// Rounds `alpha` down to one of these powers of two; returns the exponent.
    pub(super) fn exponent(&mut self, alpha: Ratio, exponents: RangeInclusive<i32>) -> i32 {
        let ends = (exponents.start(), exponents.end());
        let why = format!("powers of two from 2^{} to 2^{}", ends.0, ends.1);
        let exponent = exponent_below(alpha, exponents);
        let emitted = alpha_of_exponent(exponent);
        if emitted != alpha {
            self.change("α".to_owned(), alpha.to_string(), emitted.to_string(), why);
        }
        exponent
    }

    pub(super) fn done(self) -> Configuration {
        Configuration {
            text: self.text,
            changes: self.changes,
            summary: Vec::new(),
            notes: self.notes,
        }
    }
}

/// Length of the longest cable in whole metres, at 5 ns of propagation delay each.
pub(super) fn cable_metres(plan: &Plan<'_>) -> u64 {
    plan.network.link_delay.as_ps().div_ceil(5_000).max(1)
}

/// Notes the headroom that lossless classes need, where the configuration cannot set it.
pub(super) fn headroom_note(plan: &Plan<'_>, out: &mut Draft) {
    let Some(room) = &plan.headroom else {
        return;
    };
    let needed = room.of_port.iter();
    let needed = needed.map(|&(speed, bytes)| format!("{} at {speed}", exact(bytes)));
    out.note(format!(
        "headroom is not set: each port needs {} for each lossless class",
        needed.collect::<Vec<_>>().join(", ")
    ));
}

/// A size to the byte.
pub(super) fn exact(size: Bytes) -> String {
    if size.0 < 1000 { bytes(size) } else { format!("{} B", size.0) }
}

/// Name of a value of a row, for the list of changes.
pub(super) fn of_row(row: &Row<'_>, what: &str) -> String {
    format!("{what} of queue {} at {}", row.queue.id, row.speed)
}

/// A speed as part of a name: `25G`.
pub(super) fn short(speed: Rate) -> String {
    let bps = speed.as_bps();
    match (bps % 1_000_000_000, bps % 1_000_000) {
        (0, _) => format!("{}G", bps / 1_000_000_000),
        (_, 0) => format!("{}M", bps / 1_000_000),
        _ => format!("{bps}"),
    }
}

/// Groups of ports, with the number of the first.
pub(super) fn groups(plan: &Plan<'_>) -> Vec<(Role, Ports, u32)> {
    let mut first = 0;
    let group = |(role, ports): (Role, Ports)| {
        let group = (role, ports, first);
        first += ports.count;
        group
    };
    plan.network.ports().map(group).collect()
}

/// The rows of one speed.
pub(super) fn rows<'p>(plan: &'p Plan<'_>, speed: Rate) -> impl Iterator<Item = &'p Row<'p>> {
    plan.rows.iter().filter(move |row| row.speed == speed)
}

/// Code points of a queue; the default queue also has all unclaimed ones.
pub(super) fn points(plan: &Plan<'_>, queue: &Queue) -> Vec<u8> {
    let is_default = queue.id == plan.network.default_queue().id;
    let queues = &plan.network.queues;
    let claimed = |point: u8| queues.iter().any(|queue| queue.dscp.contains(&point));
    let is_of = |point: &u8| queue.dscp.contains(point) || (is_default && !claimed(*point));
    (0..64).filter(is_of).collect()
}
