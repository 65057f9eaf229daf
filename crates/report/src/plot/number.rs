//! Numbers with units, for people.

/// A unit as it is shown: `µs` for seconds that are better read as millionths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prefix {
    /// What a value is divided by.
    pub(crate) divisor: f64,
    /// What stands before the unit.
    pub(crate) letter: &'static str,
    unit: &'static str,
}

/// Steps of a thousand. Seconds go down, everything else goes up.
const SMALL: [(f64, &str); 5] = [
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
    (1e-12, "p"),
];
const LARGE: [(f64, &str); 5] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];

impl Prefix {
    /// The one in which a value of this size is a number from 1 to 999.
    pub(crate) fn of(unit: &'static str, size: f64) -> Self {
        let steps = if unit == "s" { SMALL } else { LARGE };
        // A hair below, so that 999.9999 ns, which is 1 µs but for its last bit, is one.
        let fits = |step: &&(f64, &str)| size.abs() >= step.0 * (1.0 - 1e-9);
        let none = (1.0, "");
        let (divisor, letter) = match steps.iter().find(fits) {
            Some(step) => *step,
            None if unit == "s" && size != 0.0 => SMALL[4],
            None => none,
        };
        Self {
            divisor,
            // As scenario files write it.
            letter: if letter == "k" && !unit.is_empty() {
                "K"
            } else {
                letter
            },
            unit: if unit == "bit/s" { "bps" } else { unit },
        }
    }

    /// The unit with its prefix, such as `µs`; empty for plain numbers without one.
    pub(crate) fn unit(&self) -> String {
        format!("{}{}", self.letter, self.unit)
    }

    /// Whether numbers carry their prefix themselves, since there is no unit to put it before.
    pub(crate) fn is_bare(&self) -> bool {
        self.unit.is_empty()
    }
}

/// A value with its unit in three digits, such as `1.23 ms`.
pub(super) fn quantity(value: f64, unit: &'static str) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let prefix = Prefix::of(unit, value);
    let number = digits(value / prefix.divisor);
    if prefix.is_bare() {
        format!("{number}{}", prefix.letter)
    } else {
        format!("{number} {}", prefix.unit())
    }
}

/// A number in three digits or, if it is larger, in whole ones.
pub(super) fn digits(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        _ if size == 0.0 => return "0".to_owned(),
        _ if size >= 99.95 => format!("{value:.0}"),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.995 => format!("{value:.2}"),
        _ if size >= 0.0995 => format!("{value:.3}"),
        _ if size >= 1e-4 => format!("{value:.5}"),
        _ => format!("{value:.2e}"),
    };
    without_trailing_zeros(&text)
}

/// A number with as many decimals as its step needs.
pub(super) fn with_step(value: f64, step: f64) -> String {
    let decimals = (-step.abs().log10() - 1e-9).ceil().clamp(0.0, 12.0);
    let text = format!("{value:.*}", decimals as usize);
    let text = without_trailing_zeros(&text);
    if text == "-0" { "0".to_owned() } else { text }
}

/// The nearest number with six digits: enough for any chart, and short in a file.
pub(crate) fn rounded(value: f64) -> f64 {
    if !value.is_finite() {
        return f64::NAN;
    }
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn without_trailing_zeros(text: &str) -> String {
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits_and_the_prefix_that_fits() {
        for (value, unit, text) in [
            (0.001_234, "s", "1.23 ms"),
            (0.000_999_999_999_9, "s", "1 ms"),
            (812e-6, "s", "812 µs"),
            (12.0, "s", "12 s"),
            (1234.0, "s", "1234 s"),
            (3e-13, "s", "0.3 ps"),
            (0.0, "s", "0 s"),
            (300_000.0, "B", "300 KB"),
            (10e9, "bit/s", "10 Gbps"),
            (0.25, "", "0.25"),
            (12_345.0, "", "12.3k"),
            (-2_000_000.0, "", "-2M"),
            (f64::NAN, "s", "–"),
            (f64::INFINITY, "B", "–"),
        ] {
            assert_eq!(quantity(value, unit), text, "{value} {unit}");
        }
    }

    #[test]
    fn a_label_has_the_decimals_of_its_step() {
        assert_eq!(with_step(0.3, 0.1), "0.3");
        assert_eq!(with_step(0.1 + 0.2, 0.05), "0.3");
        assert_eq!(with_step(2500.0, 500.0), "2500");
        assert_eq!(with_step(-1e-17, 0.2), "0");
    }

    #[test]
    fn rounding_keeps_six_digits() {
        assert!((rounded(123.456_789) - 123.457).abs() < 1e-12);
        assert!(rounded(f64::INFINITY).is_nan());
    }
}
