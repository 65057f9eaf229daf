//! Positions of values on an axis, and its labels.

use tidegate_results::format::{Prefix, with_step};

use super::{Axis, Scale};

/// An axis laid out for its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AxisScale {
    low: f64,
    high: f64,
    steps: Steps,
    /// Labelled values.
    pub(super) ticks: Vec<Tick>,
    /// Values with a tick only.
    pub(super) minors: Vec<f64>,
    /// Title with unit.
    pub(super) title: String,
}

/// A labelled value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// Start of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// The smallest value, or 0 if it is near.
    Data,
    /// Exactly the ends of the values.
    Exact,
    /// Zero: the length of a bar is its value.
    Zero,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steps {
    Linear,
    Log,
}

impl AxisScale {
    /// An axis for these values with about this many labels.
    pub(super) fn new(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        begin: Begin,
        about: usize,
    ) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite() && (axis.scale != Scale::Log || *value > 0.0))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        match &axis.scale {
            Scale::Linear if low <= high => Self::linear(axis, low, high, begin, about),
            Scale::Linear => Self::linear(axis, 0.0, 1.0, begin, about),
            Scale::Log if low <= high => Self::log(axis, low, high, about),
            Scale::Log => Self::log(axis, 1.0, 10.0, about),
            Scale::Names(names) => Self::names(axis, names),
        }
    }

    fn linear(axis: &Axis, low: f64, high: f64, begin: Begin, about: usize) -> Self {
        let reaches_down = match begin {
            Begin::Data => low >= 0.0 && low < 0.5 * high,
            Begin::Exact => false,
            Begin::Zero => low >= 0.0,
        };
        let low = if reaches_down { 0.0 } else { low };
        let high = if begin == Begin::Zero { high.max(0.0) } else { high };
        let (low, high) = if high > low {
            (low, high)
        } else if high == 0.0 {
            (0.0, 1.0)
        } else {
            (low - 0.1 * low.abs(), high + 0.1 * high.abs())
        };
        let step = round_step((high - low) / about.max(1) as f64);
        let (low, high) = if begin == Begin::Exact {
            (low, high)
        } else {
            ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step)
        };
        let prefix = Prefix::of(axis.unit, low.abs().max(high.abs()));
        let first = (low / step - 1e-9).ceil();
        let count = ((high / step + 1e-9).floor() - first).max(0.0) as usize;
        let ticks = (0..=count).map(|n| {
            let at = (first + n as f64) * step;
            let number = with_step(at / prefix.divisor, step / prefix.divisor);
            let bare = prefix.is_bare() && number != "0";
            let letter = if bare { prefix.letter } else { "" };
            Tick { at, label: format!("{number}{letter}") }
        });
        Self {
            low,
            high,
            steps: Steps::Linear,
            ticks: ticks.collect(),
            minors: Vec::new(),
            title: titled(&axis.title, prefix),
        }
    }

    fn log(axis: &Axis, low: f64, high: f64, about: usize) -> Self {
        // A small margin, so that no point lies on the frame.
        let (low, high) = (low / 1.15, high * 1.15);
        let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let inside = |value: &f64| *value >= low && *value <= high;
        let multiples = |of: &'static [f64]| {
            let decades = from..=to;
            decades.flat_map(move |n| of.iter().map(move |times| times * 10_f64.powi(n)))
        };
        let count = |of| multiples(of).filter(inside).count();
        let (labelled, every) = if count(DECADES) >= 3 {
            (DECADES, count(DECADES).div_ceil(about.max(2)))
        } else if count(ROUND) >= 3 {
            (ROUND, 1)
        } else {
            (ALL, 1)
        };
        let ticks = multiples(labelled).filter(inside).step_by(every);
        let label = |at: f64| {
            let prefix = Prefix::of(axis.unit, at);
            let number = with_step(at / prefix.divisor, at / prefix.divisor);
            Tick { at, label: prefix.after(&number) }
        };
        Self {
            low,
            high,
            steps: Steps::Log,
            ticks: ticks.map(label).collect(),
            minors: multiples(ALL).filter(inside).collect(),
            title: axis.title.clone(),
        }
    }

    fn names(axis: &Axis, names: &[String]) -> Self {
        let label =
            |(place, name): (usize, &String)| Tick { at: place as f64, label: name.clone() };
        Self {
            low: -0.5,
            high: names.len().max(1) as f64 - 0.5,
            steps: Steps::Linear,
            ticks: names.iter().enumerate().map(label).collect(),
            minors: Vec::new(),
            title: axis.title.clone(),
        }
    }

    /// Position of a value, from 0 at the start of the axis to 1 at its end; NaN if it has none.
    pub(super) fn position(&self, value: f64) -> f64 {
        match self.steps {
            Steps::Linear => (value - self.low) / (self.high - self.low),
            Steps::Log if value > 0.0 => (value / self.low).ln() / (self.high / self.low).ln(),
            Steps::Log => f64::NAN,
        }
    }

    /// The nearest value with a position.
    pub(super) fn within(&self, value: f64) -> f64 {
        value.clamp(self.low, self.high)
    }

    /// As [`position`](Self::position), but clamped to the ends.
    pub(super) fn position_within(&self, value: f64) -> f64 {
        self.position(self.within(value))
    }
}

/// Labels within each decade, from the coarsest to the finest.
const DECADES: &[f64] = &[1.0];
const ROUND: &[f64] = &[1.0, 2.0, 5.0];
const ALL: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];

/// The smallest of 1, 2, 5, 10, 20, … that is not below `step`.
fn round_step(step: f64) -> f64 {
    let decade = 10_f64.powf(step.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * decade);
    let fits = |candidate: &f64| *candidate >= step * (1.0 - 1e-9);
    steps.into_iter().find(fits).unwrap_or(10.0 * decade)
}

fn titled(title: &str, prefix: Prefix) -> String {
    if prefix.is_bare() {
        return title.to_owned();
    }
    format!("{title} ({})", prefix.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &AxisScale) -> Vec<&str> {
        scale.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn a_linear_axis_has_round_labels_and_one_prefix() {
        let axis = Axis::linear("small p99", "s");
        let scale = AxisScale::new(&axis, [210e-6, 1.31e-3].into_iter(), Begin::Data, 5);
        assert_eq!(labels(&scale), ["0", "0.5", "1", "1.5"]);
        assert_eq!(scale.title, "small p99 (ms)");
        assert!((scale.position(0.75e-3) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn an_axis_far_from_zero_starts_at_zero_only_for_bars() {
        let axis = Axis::linear("rate", "bit/s");
        let values = || [9.1e9, 9.4e9].into_iter();
        let scale = AxisScale::new(&axis, values(), Begin::Data, 4);
        assert_eq!(labels(&scale), ["9.1", "9.2", "9.3", "9.4"]);
        let scale = AxisScale::new(&axis, values(), Begin::Zero, 5);
        assert_eq!(labels(&scale), ["0", "2", "4", "6", "8", "10"]);
    }

    #[test]
    fn a_log_axis_labels_decades_each_with_its_own_prefix() {
        let axis = Axis::log("completion time", "s");
        let scale = AxisScale::new(&axis, [30e-6, 0.2].into_iter(), Begin::Data, 6);
        assert_eq!(labels(&scale), ["100 µs", "1 ms", "10 ms", "100 ms"]);
        assert!(scale.minors.iter().any(|at| (at - 0.03).abs() < 1e-12));
        assert!(scale.position(0.0).is_nan());
        assert_eq!(scale.position_within(0.0), 0.0);
    }

    #[test]
    fn a_short_log_axis_labels_more_than_decades() {
        let axis = Axis::log("slowdown", "");
        let scale = AxisScale::new(&axis, [1.5, 12.0].into_iter(), Begin::Data, 6);
        assert_eq!(labels(&scale), ["2", "5", "10"]);
        let scale = AxisScale::new(&axis, [300.0, 400.0].into_iter(), Begin::Data, 6);
        assert_eq!(labels(&scale), ["300", "400"]);
    }

    #[test]
    fn an_axis_with_no_or_one_value_is_valid() {
        for value in [None, Some(0.0), Some(5.0), Some(-5.0), Some(f64::NAN), Some(1e-300)] {
            for axis in [Axis::linear("a", "s"), Axis::log("a", "s")] {
                for begin in [Begin::Data, Begin::Exact, Begin::Zero] {
                    let scale = AxisScale::new(&axis, value.into_iter(), begin, 5);
                    assert!(scale.high > scale.low, "{axis:?} {value:?} {begin:?}");
                    assert!(scale.ticks.len() < 40, "{axis:?} {value:?} {begin:?}");
                }
            }
        }
    }
}
