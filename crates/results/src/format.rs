//! Numbers for people: three digits and a fitting unit.
//!
//! All programs format numbers here. Pages format numbers that change while a reader looks at them
//! with [`SCRIPT`], a copy in JavaScript. `tests/numbers.json` holds the test cases of both.

/// The same formats for pages: `quantity`, `threeDigits` and `withStep`.
pub const SCRIPT: &str = include_str!("number.js");

/// Placeholder for a missing number.
pub const NOTHING: &str = "–";

/// A unit with its SI prefix, such as `µs` for seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix {
    /// Divisor of values.
    pub divisor: f64,
    /// Prefix letter.
    pub letter: &'static str,
    unit: &'static str,
}

/// Steps of a thousand. Seconds use the prefixes below one, all other units those above.
const STEPS: [(f64, &str); 9] = [
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "K"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
    (1e-12, "p"),
];

impl Prefix {
    /// The prefix that makes a value of this size a number from 1 to 999. `unit` is the unit of a
    /// [`crate::summary::Metric`]: `s`, `B`, `bit/s` or none.
    pub fn of(unit: &'static str, size: f64) -> Self {
        let steps = if unit == "s" { &STEPS[4..] } else { &STEPS[..5] };
        // 999.7 µs are 1.00 ms: a value that rounds up to a thousand belongs to the next unit.
        let fits = |step: &&(f64, &str)| size.abs() >= step.0 * 0.9995;
        let fitting = steps.iter().find(fits).or(steps.last());
        let &(divisor, letter) = fitting.filter(|_| size != 0.0).unwrap_or(&(1.0, ""));
        Self {
            divisor,
            letter: match letter {
                "K" if unit.is_empty() => "k",
                _ => letter,
            },
            unit: if unit == "bit/s" { "bps" } else { unit },
        }
    }

    /// As [`of`](Self::of), but without a prefix for plain numbers.
    pub fn of_unit(unit: &'static str, size: f64) -> Self {
        Self::of(unit, if unit.is_empty() { 1.0 } else { size })
    }

    /// The unit with its prefix, such as `µs`; empty for plain numbers without one.
    pub fn unit(&self) -> String {
        format!("{}{}", self.letter, self.unit)
    }

    /// Whether there is no unit, so that numbers carry the prefix themselves.
    pub const fn is_bare(&self) -> bool {
        self.unit.is_empty()
    }

    /// A value in this unit, without the unit's name: `1.23`.
    pub fn number(&self, value: f64) -> String {
        let value = value / self.divisor;
        // A value without a prefix may be a count.
        if self.letter.is_empty() && value.fract() == 0.0 {
            grouped(value)
        } else {
            three_digits(value)
        }
    }

    /// Appends the unit to one or more formatted numbers.
    pub fn after(&self, numbers: &str) -> String {
        let gap = if self.is_bare() { "" } else { " " };
        format!("{numbers}{gap}{}", self.unit())
    }
}

/// Unit and decimals that the numbers of a column share.
#[derive(Clone, Debug)]
pub struct Scale {
    /// The unit with its prefix; empty for plain numbers.
    pub unit: String,
    divisor: f64,
    decimals: usize,
}

impl Scale {
    /// For ratios to a baseline.
    pub const RATIO: Self = Self { unit: String::new(), divisor: 1.0, decimals: 3 };

    /// Shows four figures of the largest value, but no fractions of counts.
    pub fn of_largest(unit: &'static str, values: impl IntoIterator<Item = f64>) -> Self {
        let (mut largest, mut is_count) = (0.0_f64, unit.is_empty());
        for value in values {
            largest = largest.max(value.abs());
            is_count &= value.fract() == 0.0;
        }
        let prefix = Prefix::of_unit(unit, largest);
        let decimals = match largest / prefix.divisor {
            value if value >= 1000.0 || is_count => 0,
            value if value >= 100.0 => 1,
            value if value >= 10.0 => 2,
            _ => 3,
        };
        Self { unit: prefix.unit(), divisor: prefix.divisor, decimals }
    }

    /// Shows three figures of the median of the positive values.
    #[expect(clippy::cast_sign_loss, reason = "a count of decimals from 0 to 6")]
    pub fn of_median(unit: &'static str, values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().filter(|value| *value > 0.0).collect();
        values.sort_by(f64::total_cmp);
        let median = values.get(values.len() / 2).copied().unwrap_or(1.0);
        let prefix = Prefix::of_unit(unit, median);
        let digits = (median / prefix.divisor).log10().floor();
        let decimals = (2.0 - digits).clamp(0.0, 6.0) as usize;
        Self { unit: prefix.unit(), divisor: prefix.divisor, decimals }
    }

    /// A value without its unit.
    pub fn number(&self, value: f64) -> String {
        format!("{:.*}", self.decimals, value / self.divisor)
    }

    /// A value without its unit, and half the width of its interval: `1.234 ±0.056`.
    pub fn with_interval(&self, value: f64, interval: Option<(f64, f64)>) -> String {
        match interval.map(|(low, high)| (high - low) / 2.0) {
            Some(half) if half > 0.0 => format!("{} ±{}", self.number(value), self.number(half)),
            _ => self.number(value),
        }
    }
}

/// A value with half the width of its interval and its unit, with no more digits than the interval
/// allows: `1.23 ±0.05 ms`.
pub fn estimate(value: f64, half: Option<f64>, unit: &str) -> String {
    let known = ["s", "B", "bit/s"].into_iter().find(|known| *known == unit);
    let prefix = known.map(|unit| Prefix::of(unit, value));
    let (divisor, unit) = match &prefix {
        Some(prefix) => (prefix.divisor, prefix.unit()),
        None => (1.0, unit.to_owned()),
    };
    let value = value / divisor;
    let text = match half.map(|half| half / divisor) {
        Some(half) if half > 0.0 => {
            let decimals = decimals_of(half);
            format!("{} ±{}", to_decimals(value, decimals), to_decimals(half, decimals))
        }
        _ if value.fract() == 0.0 => format!("{value:.0}"),
        _ => three_digits(value),
    };
    format!("{text} {unit}").trim_end().to_owned()
}

/// Decimals that half an interval justifies: two digits of it if it begins with 1 or 2, else one.
/// Negative ones are digits before the point that are not known.
#[expect(clippy::cast_possible_truncation, reason = "the logarithm of a number is small")]
pub fn decimals_of(half: f64) -> i32 {
    let order = half.log10().floor();
    let is_short = half / 10_f64.powf(order) < 3.0;
    i32::from(is_short) - order as i32
}

/// A value with so many decimals, or rounded to tens and hundreds if they are negative.
pub fn to_decimals(value: f64, decimals: i32) -> String {
    match usize::try_from(decimals) {
        Ok(decimals) => format!("{value:.decimals$}"),
        Err(_) => {
            let step = 10_f64.powi(-decimals);
            format!("{:.0}", (value / step).round() * step)
        }
    }
}

/// A value with its unit, such as `1.23 ms`; plain numbers are written out, such as `12 346`.
pub fn quantity(value: f64, unit: &'static str) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    let prefix = Prefix::of_unit(unit, value);
    prefix.after(&prefix.number(value))
}

/// A value in three digits with its unit, such as `5.00 KB`.
pub fn three_figures(value: f64, unit: &'static str) -> String {
    let prefix = Prefix::of(unit, value);
    prefix.after(&three_digits(value / prefix.divisor))
}

/// A value, of which `base` are one `unit`, in up to three digits: `67.5 KB`, `5 KB`.
pub fn short_quantity(value: f64, base: f64, unit: &'static str) -> String {
    let prefix = Prefix::of(unit, value / base);
    // Whole: a product of powers of ten is off by less than a bit.
    let worth = (prefix.divisor * base).round();
    prefix.after(&trimmed(value / worth))
}

/// A number in up to three digits, without zeros at its end.
pub fn trimmed(value: f64) -> String {
    let decimals = match value {
        _ if value < 9.995 => 2,
        _ if value < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A number in three digits, or whole if it is 1000 or more.
pub fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if !size.is_finite() => return NOTHING.to_owned(),
        size if size >= 999.5 => return grouped(value),
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 || size == 0.0 => 2,
        size if size >= 0.099_95 => 3,
        size if size >= 0.009_999_5 => 4,
        _ => return format!("{value:.2e}"),
    };
    format!("{value:.decimals$}")
}

/// A part of one in percent: `12.3 %`.
pub fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// A ratio as a percentage change: `-12.3 %`.
pub fn change(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NOTHING.to_owned();
    }
    let percent = (ratio - 1.0) * 100.0;
    let text = three_digits(percent.abs());
    let is_none = text.bytes().all(|digit| matches!(digit, b'0' | b'.'));
    let sign = match percent {
        _ if is_none => "",
        percent if percent < 0.0 => "-",
        _ => "+",
    };
    format!("{sign}{text} %")
}

/// A number with as many decimals as its step needs.
#[expect(clippy::cast_sign_loss, reason = "a count of decimals from 0 to 12")]
pub fn with_step(value: f64, step: f64) -> String {
    let decimals = (-step.abs().log10() - 1e-9).ceil().clamp(0.0, 12.0);
    let text = format!("{value:.*}", decimals as usize);
    match text.trim_end_matches('0').trim_end_matches('.') {
        _ if !text.contains('.') => text,
        "-0" => "0".to_owned(),
        short => short.to_owned(),
    }
}

/// A whole number with a space between thousands.
fn grouped(value: f64) -> String {
    let text = format!("{:.0}", value.abs());
    if text.len() > 15 {
        return format!("{value:.2e}");
    }
    let mut grouped = String::from(if value < 0.0 { "-" } else { "" });
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index) % 3 == 0 && text.len() > 4 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const CASES: &str = include_str!("../tests/numbers.json");

    /// Test cases of a function: arguments and expected text.
    fn cases(function: &str) -> Vec<(Vec<Value>, String)> {
        let mut all: Value = serde_json::from_str(CASES).unwrap();
        let mut rows: Vec<Vec<Value>> = serde_json::from_value(all[function].take()).unwrap();
        let case = |row: &mut Vec<Value>| {
            let text = row.pop().unwrap();
            (std::mem::take(row), text.as_str().unwrap().to_owned())
        };
        rows.iter_mut().map(case).collect()
    }

    /// A number; `null` is not a number.
    fn real(value: &Value) -> f64 {
        value.as_f64().unwrap_or(f64::NAN)
    }

    #[test]
    fn quantities_match_the_test_cases() {
        for (case, text) in cases("quantity") {
            let unit = ["", "B", "bit/s", "s"].into_iter().find(|unit| case[1] == *unit);
            assert_eq!(quantity(real(&case[0]), unit.unwrap()), text, "{case:?}");
        }
        assert_eq!(quantity(f64::INFINITY, "B"), NOTHING);
    }

    #[test]
    fn labels_have_the_decimals_of_their_step() {
        for (case, text) in cases("with_step") {
            assert_eq!(with_step(real(&case[0]), real(&case[1])), text, "{case:?}");
        }
    }

    #[test]
    fn a_number_before_its_unit_has_three_digits() {
        for (case, text) in cases("three_digits") {
            assert_eq!(three_digits(real(&case[0])), text, "{case:?}");
        }
    }

    #[test]
    fn an_estimate_has_no_more_digits_than_its_interval() {
        let shown = |value, half, unit| estimate(value, Some(half), unit);
        assert_eq!(shown(1.234_567e-3, 0.051e-3, "s"), "1.23 ±0.05 ms");
        assert_eq!(shown(1.234_567e-3, 0.151e-3, "s"), "1.23 ±0.15 ms");
        assert_eq!(shown(12_345.0, 400.0, ""), "12300 ±400");
        assert_eq!(shown(67_512.0, 1_234.0, "B"), "67.5 ±1.2 KB");
        assert_eq!(shown(9.87e9, 2.2e9, "bit/s"), "9.9 ±2.2 Gbps");
        assert_eq!(estimate(3.0, None, ""), "3");
    }

    #[test]
    fn a_change_has_a_sign_unless_it_is_none() {
        assert_eq!(change(1.0), "0.00 %");
        assert_eq!(change(0.877), "-12.3 %");
        assert_eq!(change(2.0), "+100 %");
        assert_eq!(change(f64::NAN), NOTHING);
    }
}
