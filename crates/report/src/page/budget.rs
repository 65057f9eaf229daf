//! Limits that keep a page below 5 MB.

use super::section::Panel;

/// Lines in a chart; more could not be told apart.
pub(super) const CURVES: usize = 48;
/// Rows in a table.
pub(super) const ROWS: usize = 300;
/// Commands below a chart.
pub(super) const COMMANDS: usize = 150;

/// Drawing limits of a section.
pub(super) struct Room {
    /// Points per line.
    pub(super) points: usize,
    /// Number of leading swept values to leave out; the last values are the busiest.
    pub(super) left_out: usize,
}

impl Room {
    /// Divides the budget among the lines of all swept values: lines get fewer points first, then
    /// values are left out.
    pub(super) fn new(
        budget: usize,
        stops: usize,
        lines: usize,
        least: usize,
        most: usize,
    ) -> Self {
        let lines = lines.max(1);
        let points = (budget / (stops * lines).max(1)).clamp(least, most);
        let shown = (budget / (lines * points)).clamp(1, stops.max(1));
        Self { points, left_out: stops.saturating_sub(shown) }
    }

    /// Adds notes about omitted values to the charts.
    pub(super) fn note_omissions(&self, panels: &mut [Panel]) {
        if self.left_out > 0 {
            let note = format!(
                "To keep the page small, the first {} values of the sweep are not shown.",
                self.left_out
            );
            for panel in panels {
                panel.chart.notes.push(note.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_get_fewer_points_before_values_are_left_out() {
        for (stops, lines, points, left_out) in [
            (1, 7, 200, 0),
            (5, 56, 200, 0),
            (10, 100, 80, 0),
            (40, 100, 40, 20),
            (9, 100_000, 40, 8),
            (1, 0, 200, 0),
        ] {
            let room = Room::new(80_000, stops, lines, 40, 200);
            assert_eq!((room.points, room.left_out), (points, left_out), "{stops} {lines}");
        }
    }
}
