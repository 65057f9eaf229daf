//! Marking thresholds of a queue.

use std::fmt::{self, Display, Formatter};

use tidegate_results::format::{short_quantity, trimmed};
use tidegate_units::{Bytes, Ratio, Span};

/// Marking threshold of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// On the queue length.
    Length(Ramp),
    /// No marking.
    Off,
    /// On the sojourn time of packets.
    Sojourn(Span),
}

/// Ramp of the marking probability: 0 up to `min`, 1 above `max`, and a linear rise to
/// `probability` in between. Equal ends are a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// Length at and below which no packet is marked.
    pub min: Bytes,
    /// Length above which every packet is marked; not below `min`.
    pub max: Bytes,
    /// Probability at `max`, at most 1.
    pub probability: Ratio,
}

impl Ramp {
    /// Step: every packet above `at`, and none below.
    pub const fn step(at: Bytes) -> Self {
        Self { min: at, max: at, probability: Ratio::ONE }
    }

    /// Whether the ramp is a step.
    pub fn is_step(self) -> bool {
        self.min == self.max
    }

    /// Whether the ramp acts as a step: some switches require two different thresholds.
    pub fn acts_as_step(self) -> bool {
        self.max.0 - self.min.0 <= self.min.0 / 50
    }
}

impl Display for Marking {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(ramp) if ramp.acts_as_step() => f.write_str(&bytes(ramp.min)),
            Self::Length(ramp) => write!(
                f,
                "{} {}",
                span(&bytes(ramp.min), &bytes(ramp.max)),
                percent(ramp.probability)
            ),
            Self::Off => f.write_str("off"),
            Self::Sojourn(span) => f.write_str(&time(*span)),
        }
    }
}

/// A size with three digits: `67.5 KB`.
pub fn bytes(bytes: Bytes) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let value = bytes.0 as f64;
    short_quantity(value, 1.0, "B")
}

/// A time with three digits: `21.6 µs`.
pub fn time(span: Span) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let value = span.as_ps() as f64;
    short_quantity(value, 1e12, "s")
}

/// Range of two quantities, with the unit once if it is the same: `100-400 KB`.
pub fn span(from: &str, to: &str) -> String {
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((from, unit)), Some((_, same))) if unit == same => format!("{from}-{to}"),
        _ => format!("{from}-{to}"),
    }
}

/// A fraction as a number.
pub(crate) fn real(ratio: Ratio) -> f64 {
    f64::from(ratio.numerator()) / f64::from(ratio.denominator())
}

/// A fraction as percent: `20%`.
pub fn percent(ratio: Ratio) -> String {
    let value = 100.0 * f64::from(ratio.numerator()) / f64::from(ratio.denominator());
    format!("{}%", trimmed(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits_and_a_unit() {
        assert_eq!(bytes(Bytes(67_500)), "67.5 KB");
        assert_eq!(bytes(Bytes(999_900)), "1 MB");
        assert_eq!(bytes(Bytes(1_048_576)), "1.05 MB");
        assert_eq!(bytes(Bytes(64)), "64 B");
        assert_eq!(span("100 KB", "400 KB"), "100-400 KB");
        assert_eq!(span("400 KB", "1.6 MB"), "400 KB-1.6 MB");
        assert_eq!(time(Span::from_ns(21_600)), "21.6 µs");
        assert_eq!(time(Span::from_ns(335_544)), "336 µs");
        assert_eq!(percent(Ratio::new(1, 5).unwrap()), "20%");
        assert_eq!(percent(Ratio::new(1, 300).unwrap()), "0.33%");
    }
}
