//! How much fits into a page that stays below 5 MB.

use super::section::Panel;

/// Lines that a chart shows; of more, none could be distinguished from another.
pub(super) const CURVES: usize = 48;
/// Rows of a table.
pub(super) const ROWS: usize = 300;
/// Commands beside a chart.
pub(super) const COMMANDS: usize = 150;

/// What a section may draw.
pub(super) struct Room {
    /// Points of a line.
    pub(super) points: usize,
    /// How many of the first values of the sweep are left out: the last are the busiest.
    pub(super) left_out: usize,
}

impl Room {
    /// Shares points among the lines of all stops: first the lines get shorter, then stops are left
    /// out.
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

    /// Says below the charts what is left out.
    pub(super) fn note_omissions(&self, panels: &mut [Panel]) {
        if self.left_out > 0 {
            let note = format!(
                "The first {} values of the sweep are not shown, to keep the page small.",
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
    fn lines_get_shorter_before_stops_are_left_out() {
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
